"""Run a Python program as a process of its own without paying for its imports: it is forked from an interpreter that has them.

For programs that are not about starting: examples of the documentation and commands of a page, which are run to their end,
and the servers of the console's tests and workers of Celery, which go on.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

IMPORTED = (
    "jobtrail", "jobtrail.app", "jobtrail.worker.worker", "jobtrail.testing", "jobtrail.notify", "jobtrail.cli.program", "jobtrail.cli.entry",
    "jobtrail.database.migration", "sqlalchemy.dialects.sqlite", "rich.console", "typer", "pydantic", "jsonschema",
    "alembic.command", "psycopg",
)  # fmt: skip
SERVED = ("jobtrail.api.server", "jobtrail.api.serving", "jobtrail.cli.operate.serve", "jobtrail.cli.operate.worker", "websockets.sync.client")
CELERY = (
    "celery.bin.celery", "celery.apps.worker", "celery.apps.beat", "celery.concurrency.prefork", "celery.app.amqp",
    "kombu.transport.redis", "kombu.transport.pyamqp", "celery.backends.redis", "jobtrail.integrations.celery", "jobtrail.celery",
)  # fmt: skip
_interpreters: dict[tuple[str, ...], subprocess.Popen[str]] = {}


def run(*words: str, cwd: Path, env: dict[str, str], timeout: float = 50.0) -> subprocess.CompletedProcess[str]:
    """Run ``python WORDS`` (a script, or ``-m`` and a module) in a folder with this environment and no standard input.

    Raises: subprocess.TimeoutExpired; the process is killed then.
    """
    server = _interpreter()
    assert server.stdout is not None
    with tempfile.TemporaryDirectory() as folder:
        order = {"words": words, "cwd": str(cwd), "env": env, "out": f"{folder}/out", "err": f"{folder}/err"}
        pid = int(_answer(server, order))
        too_late = threading.Event()
        timer = threading.Timer(timeout, _kill, [pid, too_late])
        timer.start()
        code = int(server.stdout.readline())
        timer.cancel()
        if too_late.is_set():
            raise subprocess.TimeoutExpired(words, timeout)
        out, err = (Path(order[name]).read_bytes().decode("utf-8", "replace") for name in ("out", "err"))
    return subprocess.CompletedProcess(words, code, out, err)


class Run:
    """In the place of `subprocess.Popen` where a program of Python is run to its end by `communicate`."""

    pid = 0

    def __init__(self, command: list[str], *, env: dict[str, str], **_: Any) -> None:
        self._words, self._env = command[1:], env
        self.returncode: int | None = None

    def communicate(self, timeout: float) -> tuple[bytes, bytes]:
        """Run it; what it said.

        Raises: subprocess.TimeoutExpired.
        """
        done = run(*self._words, cwd=Path.cwd(), env=self._env, timeout=timeout)
        self.returncode = done.returncode
        return done.stdout.encode(), done.stderr.encode()


def crashes() -> Any:
    """A block in which `jobtrail.testing.crash` forks its workers."""
    names = ("DEVNULL", "PIPE", "TimeoutExpired")
    return mock.patch("jobtrail.testing.subprocess", SimpleNamespace(Popen=Run, **{name: getattr(subprocess, name) for name in names}))


def _kill(pid: int, too_late: threading.Event) -> None:
    too_late.set()
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGKILL)


class Started:
    """A program that goes on; it is used as a `subprocess.Popen` is."""

    def __init__(self, server: subprocess.Popen[str], pid: int) -> None:
        self.pid = pid
        self._server = server
        self._code: int | None = None

    def poll(self) -> int | None:
        """How it ended, None as long as it runs."""
        if self._code is None:
            said = _answer(self._server, {"ended": self.pid})
            self._code = int(said) if said.strip() else None
        return self._code

    @property
    def returncode(self) -> int | None:
        """How it ended, as it was asked last."""
        return self._code

    def wait(self, timeout: float = 30.0) -> int:
        """Wait until it has ended.

        Raises: subprocess.TimeoutExpired.
        """
        end = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired(str(self.pid), timeout)
            time.sleep(0.02)
        return code

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)


def start(*words: str, cwd: Path, env: dict[str, str], log: Path, imported: tuple[str, ...] = SERVED) -> Started:
    """Start ``python WORDS``, which goes on; its output goes to the end of the file ``log``, ``imported`` is what it needs."""
    server = _interpreter(*imported)
    order = {"words": words, "cwd": str(cwd), "env": env, "out": str(log), "err": str(log), "goes_on": True}
    return Started(server, int(_answer(server, order)))


def _answer(server: subprocess.Popen[str], order: dict[str, Any]) -> str:
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(json.dumps(order) + "\n")
    server.stdin.flush()
    return server.stdout.readline()


def _interpreter(*more: str) -> subprocess.Popen[str]:
    """The interpreter that has the imports, and those of ``more``; a program that is run to its end must not find them."""
    if more not in _interpreters or _interpreters[more].poll() is not None:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("JOBTRAIL_")}
        environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
        _interpreters[more] = subprocess.Popen(
            [sys.executable, __file__, *more], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        atexit.register(_end, _interpreters[more])
    return _interpreters[more]


def _end(server: subprocess.Popen[str]) -> None:
    if server.stdin is not None:
        server.stdin.close()
        server.wait(10)


# -- in the interpreter that is forked -------------------------------------------------------------------


def serve() -> None:
    """Fork for each order, until there are no more; nothing here starts a thread."""
    from importlib import import_module

    for name in (*IMPORTED, *sys.argv[1:]):
        with contextlib.suppress(ImportError):
            import_module(name)
    base = [path for path in sys.path if path != str(Path(__file__).parent)]
    for line in sys.stdin:
        order = json.loads(line)
        if "ended" in order:
            pid, status = os.waitpid(order["ended"], os.WNOHANG)
            print(os.waitstatus_to_exitcode(status) if pid else "", flush=True)
            continue
        pid = os.fork()
        if pid == 0:
            _become(order, base)
        print(pid, flush=True)
        if not order.get("goes_on"):
            print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


def _become(order: dict[str, Any], base: list[str]) -> None:
    """Be the program that was ordered, and end as it ends."""
    code = 1
    try:
        os.setsid()
        writes = os.O_CREAT | os.O_WRONLY | os.O_APPEND
        for number, name, mode in ((0, os.devnull, os.O_RDONLY), (1, order["out"], writes), (2, order["err"], writes)):
            os.dup2(os.open(name, mode, 0o600), number)
        for stream, number in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
            setattr(sys, stream, open(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False))
        os.chdir(order["cwd"])
        os.environ.clear()
        os.environ.update(order["env"])
        words = list(order["words"])
        module = words.pop(1) if words[0] == "-m" else None
        sys.argv = words
        first = "" if module else str(Path(order["cwd"]) / Path(words[0]).parent)
        sys.path[:] = [first, *filter(None, order["env"].get("PYTHONPATH", "").split(os.pathsep)), *base]
        code = _ends(module, words[0])
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _ends(module: str | None, script: str) -> int:
    try:
        if module:
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    serve()
