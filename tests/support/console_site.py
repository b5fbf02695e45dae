"""A real server with a real worker in a process of its own, and the browser of this machine; for tests of the console and screenshots."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

import warm

from jobtrail import JobTrail

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
APPS = ROOT / "tests" / "apps"
STATIC = ROOT / "src" / "jobtrail" / "api" / "static"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
WAIT = 30.0  # seconds


def browser_path() -> str | None:
    """The browser of this machine."""
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class Site:
    """`jobtrail serve` of an application in this folder, on a database and in a folder of its own."""

    def __init__(self, folder: Path, url: str | None = None, *extra: str, app: str = "console_app:jobs", forked: bool = True) -> None:
        self.folder = folder
        self.app = app
        self.database = url or f"sqlite:///{folder / 'jobs.db'}"
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}/"
        self.extra = extra
        self.forked = forked
        self.process: subprocess.Popen[bytes] | warm.Started | None = None

    @property
    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "CONSOLE_FOLDER": str(self.folder),
            "CONSOLE_DATABASE": self.database,
            "JOBTRAIL_INPUT_ROOTS": str(self.folder / "incoming"),
            "PYTHONPATH": os.pathsep.join([str(APPS), str(ROOT / "src")]),
        }

    def start(self) -> Site:
        words = ("-m", "jobtrail", "serve", "--port", str(self.port), "--app", self.app, *self.extra)
        path = self.folder / "serve.log"
        if self.forked:
            self.process = warm.start(*words, cwd=self.folder, env=self.environment, log=path)
        else:
            with path.open("ab") as log:
                self.process = subprocess.Popen([sys.executable, *words], cwd=self.folder, env=self.environment, stdout=log, stderr=log)
        self.wait("the server answers", self.answers)
        return self

    def stop(self, how: int = signal.SIGTERM) -> None:
        if self.process is None:
            return
        self.process.send_signal(how)
        try:
            self.process.wait(WAIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(WAIT)
        self.process = None

    def answers(self) -> bool:
        assert self.process is None or self.process.poll() is None, (self.folder / "serve.log").read_text()
        try:
            with urllib.request.urlopen(f"{self.address}healthz", timeout=2) as answer:
                return answer.status == 200
        except OSError:
            return False

    def wait(self, what: str, fact: Any, seconds: float = WAIT) -> Any:
        end = time.monotonic() + seconds
        while not (found := fact()):
            assert time.monotonic() < end, f"waited {seconds:g} s in vain until {what}"
            time.sleep(0.05)
        return found

    # -- its jobs --------------------------------------------------------------------------------------

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        request = urllib.request.Request(
            f"{self.address}api/{path}",
            json.dumps(body).encode(),
            {"Content-Type": "application/json", "X-Jobtrail": "1"},
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)

    def get(self, path: str) -> dict[str, Any]:
        with urllib.request.urlopen(f"{self.address}api/{path}", timeout=10) as answer:
            return json.load(answer)

    def submit(self, task: str, args: dict[str, Any] | None = None, **more: Any) -> str:
        return self.post("jobs", {"task": task, "args": args or {}, **more})["job"]["id"]

    def upload(self, name: str, content: bytes) -> dict[str, Any]:
        request = urllib.request.Request(f"{self.address}api/files?name={name}", content, {"X-Jobtrail": "1"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)

    def until(self, job: str, *statuses: str) -> dict[str, Any]:
        return self.wait(
            f"job {job[-8:]} is {' or '.join(statuses)}",
            lambda: (found := self.get(f"jobs/{job}"))["status"] in statuses and found,
        )

    def weather(self, airport: str, period: str, *, wait: bool = True, **args: Any) -> str:
        job = self.submit("sync_weather", {"airport": airport, **args}, source=f"weather/{airport}", period=period)
        if wait:
            self.until(job, "completed", "partial", "failed")
        return job


@contextlib.contextmanager
def running(folder: Path, url: str | None = None, *extra: str, app: str = "console_app:jobs", forked: bool = True) -> Iterator[Site]:
    site = Site(folder, url, *extra, app=app, forked=forked)
    (folder / "incoming").mkdir(exist_ok=True)
    with contextlib.closing(JobTrail(site.database)) as jobs:
        jobs.migrate()
    try:
        yield site.start()
    finally:
        site.stop()
