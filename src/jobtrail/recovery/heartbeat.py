"""The worker's beat: a number in the store that rises every few seconds, from outside the event loop.

Where jobtrail is embedded, a thread beats. Under `jobtrail worker` a small child process does (`beat_child`), which goes
on while the loop computes and while a C call holds the interpreter's lock, and which notices the death of its parent.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any, Protocol

from jobtrail.store import jobs, workers

from .background_loop import BackgroundLoop
from .worker_detail import WorkerDetail

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

    from jobtrail.store import Store

    from .background_loop import Health

TICK = 1.0  # seconds between two reports of the event loop
CHILD = "jobtrail.recovery.beat_child"
_log = logging.getLogger("jobtrail.worker")


class Beat(Protocol):
    """The beat of a worker, wherever it comes from."""

    def start(self, worker: str) -> None:
        """Begin to beat under this id."""

    def tick(self, running: Sequence[str], children: Sequence[int], detail: dict[str, Any]) -> None:
        """The event loop turns: these jobs run, these executor children live, and this is wrong."""

    def written_within(self, seconds: float) -> bool:
        """Whether a beat was written within ``seconds``; if not, this process cannot judge others."""

    def stop(self) -> None:
        """Stop beating; the worker's row is left as it is."""

    def health(self) -> Health | None:
        """The health of the beat, where it is a background loop of this process."""


class StoreDetail:
    """A `DetailStore` on a connection of the store."""

    def __init__(self, store: Store, conn: Connection) -> None:
        self._store = store
        self._conn = conn

    def now(self) -> float:
        """The store's time, in seconds since 1970."""
        return self._store.now().timestamp()

    def write_detail(self, worker: str, detail: Mapping[str, Any]) -> None:
        """Write what is wrong with the worker."""
        workers.note(self._conn, worker, detail)

    def jobs_held(self, worker: str) -> list[str]:
        """The ids of the jobs that run on the worker."""
        return [job for job, _ in jobs.held_by(self._conn, worker)]


class ThreadBeat:
    """Beats in a thread, on a connection of its own."""

    def __init__(self, store: Store, interval: float) -> None:
        self._store = store
        self._interval = interval
        self._worker = ""
        self._written_at = float("-inf")
        self._loop: BackgroundLoop | None = None
        self._conn: Connection | None = None
        self._detail = WorkerDetail(interval)

    def start(self, worker: str) -> None:
        """Begin to beat under this id."""
        self._worker = worker
        self._detail = WorkerDetail(self._interval)
        self._written_at = time.monotonic()
        if self._loop is None:
            self._loop = BackgroundLoop("beat", self._turn, self._interval)
            self._loop.start()

    def _turn(self) -> None:
        try:
            if self._conn is not None and self._store.database.has_ended(self._conn):
                self._drop()
            if self._conn is None:
                self._conn = self._store.database.own_connection()
            workers.beat(self._conn, self._worker, self._store.now())
            self._detail.write(StoreDetail(self._store, self._conn), self._worker)
        except BaseException:
            self._drop()
            raise
        self._written_at = time.monotonic()

    def tick(self, running: Sequence[str], children: Sequence[int], detail: dict[str, Any]) -> None:  # noqa: ARG002
        """The event loop turns; executor children die with this process."""
        self._detail.hear(running, detail)

    def written_within(self, seconds: float) -> bool:
        """Whether a beat was written within ``seconds``."""
        return time.monotonic() - self._written_at < seconds

    def stop(self) -> None:
        """End the thread."""
        if self._loop is not None:
            self._loop.stop()
        self._drop()

    def _drop(self) -> None:
        conn, self._conn = self._conn, None
        if conn is not None:
            with contextlib.suppress(Exception):
                conn.close()

    def health(self) -> Health | None:
        """The health of the thread."""
        return self._loop.health() if self._loop is not None else None


class ChildBeat:
    """Beats in a child process; the pipe to it is closed in every fork that the host's code makes."""

    def __init__(self, store: Store, interval: float, *, end_blocked: bool = False) -> None:
        self._store = store
        self._interval = interval
        self._end_blocked = end_blocked
        self._process: subprocess.Popen[bytes] | None = None
        self._worker = ""
        os.register_at_fork(after_in_child=self._close_in_fork)

    def start(self, worker: str) -> None:
        """Start a child for this id, and end the one before."""
        self.stop()
        self._worker = worker
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter
            [sys.executable, "-m", CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        orders = {
            **self._address(),
            "worker": worker,
            "interval": self._interval,
            "parent": os.getpid(),
            "end_blocked": self._end_blocked,
        }
        self._send(json.dumps(orders))

    def _address(self) -> dict[str, Any]:
        database = self._store.database
        return {"path": str(database.path.absolute())} if database.path is not None else {"arguments": database.driver_arguments()}

    def tick(self, running: Sequence[str], children: Sequence[int], detail: dict[str, Any]) -> None:
        """Report to the child that the event loop turns; a child that has died is replaced."""
        if self._process is None:
            return  # not begun, or stopped
        if self._process.poll() is not None:
            _log.warning("the beat process ended and is started again")
            self.start(self._worker)
        self._send(json.dumps({"running": list(running)[:5], "children": list(children), "detail": detail}))

    def written_within(self, seconds: float) -> bool:
        """Whether the child wrote a beat within ``seconds``, as the store says."""
        with self._store.read() as conn:
            at = workers.beat_age(conn, self._worker, self._store.now())
        return at is not None and at < seconds

    def stop(self) -> None:
        """Let the child end in order."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(OSError, ValueError):
            if process.stdin is not None:
                process.stdin.write(b'{"stop": true}\n')
                process.stdin.close()
        try:
            process.wait(3)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def health(self) -> Health | None:
        """It is no background loop of this process."""
        return None

    def _send(self, line: str) -> None:
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError, ValueError):
                self._process.stdin.write(line.encode() + b"\n")
                self._process.stdin.flush()

    def _close_in_fork(self) -> None:
        process, self._process = self._process, None
        if process is not None and process.stdin is not None:
            with contextlib.suppress(OSError):
                os.close(process.stdin.fileno())
