"""Real Celery workers over a real broker, for tests: processes that are ended."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import warm
from celery import Celery

from jobtrail import JobTrail

APPS = Path(__file__).parents[1] / "apps"
SOURCES = Path(__file__).parents[2] / "src"
T = TypeVar("T")


@dataclass
class Site:
    """One broker and one store, with the Celery workers that a test starts."""

    broker: str
    url: str
    folder: Path
    app: str = "celery_app"
    workers: list[warm.Started] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.jobs = JobTrail(self.url)
        self.jobs.make_ready()

        self.client = Celery(broker=self.broker)
        self.client.conf.task_ignore_result = True

    @property
    def environment(self) -> dict[str, str]:
        return {
            **os.environ, "BROKER": self.broker, "STORE": self.url, "FOLDER": str(self.folder),
            "PYTHONPATH": f"{SOURCES}{os.pathsep}{APPS}",
        }  # fmt: skip

    def worker(self, pool: str = "prefork", concurrency: int = 2, **environment: str) -> warm.Started:
        """Start a worker and wait until its main process is registered."""
        before = len(self.living())
        name = f"w{len(self.workers)}-{os.getpid()}@here"
        process = self._start(
            "worker", "-P", pool, "-c", str(concurrency), "-l", "INFO", "--without-mingle", "--without-gossip", "-n", name, **environment
        )
        if "AWAY" not in environment:
            self.until(lambda: len(self.living()) > before and any(w.queues for w in self.living()), "the worker is ready")
        return process

    def beat(self, **environment: str) -> warm.Started:
        """Start ``celery beat`` on our schedules and wait until it is registered."""
        before = {one.id for one in self.living()}
        file = str(self.folder / f"beat-{len(self.workers)}.pid")
        process = self._start("beat", "-S", "jobtrail.celery:Scheduler", "-l", "INFO", "--pidfile", file, **environment)

        def ready() -> bool:
            new = any(one.id not in before and one.pid == process.pid for one in self.living())
            return process.poll() is not None or (new and bool(self.jobs.schedules.list()))

        self.until(ready, "the beat has stored its schedules, or has ended")
        return process

    def _start(self, command: str, *words: str, **environment: str) -> warm.Started:
        log = self.folder / f"worker-{len(self.workers)}{'-beat' if command == 'beat' else ''}.log"
        process = warm.start(
            "-m", "celery", "-A", self.app, command, *words,
            cwd=self.folder, env={**self.environment, **environment}, log=log, imported=warm.CELERY,
        )  # fmt: skip
        self.workers.append(process)
        return process

    def living(self) -> list[Any]:
        return [one for one in self.jobs.queries.workers().workers if one.state == "alive"]

    def send(self, task: str, *args: Any, **kwargs: Any) -> str:
        """Send a task as a program that does not know jobtrail; returns Celery's id."""
        return str(self.client.send_task(task, args, kwargs).id)

    def job(self, celery_id: str) -> Any:
        found = list(self.jobs.find(f"celery:{celery_id}"))
        return found[0] if found else None

    def ended(self, celery_id: str, seconds: float = 20.0) -> Any:
        def look() -> Any:
            job = self.job(celery_id)
            return job if job is not None and job.status in {"completed", "partial", "failed", "cancelled"} else None

        return self.until(look, f"the job of {celery_id} has ended", seconds)

    def until(self, look: Callable[[], T], what: str, seconds: float = 20.0) -> T:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = look()
            if found:
                return found
            time.sleep(0.05)
        logs = "\n".join(path.read_text(errors="replace")[-3000:] for path in sorted(self.folder.glob("worker-*.log")))
        raise AssertionError(f"not within {seconds} s: {what}\n{logs}")

    def stop(self, process: warm.Started, how: int = signal.SIGTERM) -> None:
        process.send_signal(how)
        process.wait(15)

    def close(self) -> None:
        for process in self.workers:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self.client.close()
        self.jobs.close()
