"""The worker's beat: a number in the store that rises every few seconds, from outside the event loop.

Embedded, a thread does it. Under `jobtrail worker` it is a small child process, which goes on while the loop
computes and while a C call holds the interpreter's lock; it watches the parent, and when that is gone it ends
the parent's executor children and marks the worker dead in the same second.

Run as ``python -m jobtrail.recovery.heartbeat``, with its orders as one JSON line on standard input.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import select
import signal
import subprocess
import sys
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Protocol

from jobtrail.database.wakeup import DEAD
from jobtrail.errors import StoreUnavailable
from jobtrail.store import Store, jobs, runs, workers

from .background_loop import BackgroundLoop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from .background_loop import Health

BLOCKED_AFTER = 3.0  # seconds without a turn of the loop, or two beats where that is more: 10 by default
LAST_WORD = 60.0  # seconds in which the child tries to write that its parent is dead
MARGIN = 2.0  # seconds past a deadline
TICK = 1.0  # seconds between two words of the parent
_log = logging.getLogger("jobtrail.worker")


def blocked_after(interval: float) -> float:
    """Seconds without a turn after which a loop is called blocked."""
    return max(BLOCKED_AFTER, 2 * interval)


class Beat(Protocol):
    """What a worker knows of its beat."""

    def start(self, worker: str) -> None:
        """Begin to beat for this identity."""

    def tick(self, running: Sequence[str], children: Sequence[int], told: dict[str, Any]) -> None:
        """The loop turns; these jobs run, these executor children live, and this is not well."""

    def written_within(self, seconds: float) -> bool:
        """Was a beat written lately? Else this process cannot judge others."""

    def stop(self) -> None:
        """End; nothing is said about the worker."""

    def health(self) -> Health | None:
        """How the beat stands, where it is a loop of this process."""


class Row:
    """What stands about a worker in its row beside its beat; written when it has changed, and only then."""

    def __init__(self, store: Store, interval: float) -> None:
        self._store = store
        self._blocked_after = blocked_after(interval)
        self._written: dict[str, Any] = {}
        self.heard_at = time.monotonic()
        self.running: list[str] = []
        self.told: dict[str, Any] = {}
        self.blocked: dict[str, Any] = {}

    def hear(self, running: Sequence[str], told: dict[str, Any]) -> None:
        """The event loop turns."""
        self.heard_at, self.running, self.told = time.monotonic(), list(running)[:5], told

    def write(self, conn: Connection, worker: str) -> None:
        """Beside a beat, in its transaction."""
        self._look(conn, worker, time.monotonic() - self.heard_at)
        detail = {**self.told, **self.blocked}
        if detail != self._written:
            workers.note(conn, worker, detail)
            self._written = detail

    def _look(self, conn: Connection, worker: str, silent: float) -> None:
        if silent <= self._blocked_after:
            self.blocked = {}
        elif not self.blocked:
            since = self._store.now().timestamp() - silent
            # From the store: a body that blocks at its first breath is not in the worker's last word.
            held = [job for job, _ in jobs.held_by(conn, worker)]
            self.blocked = {"loop_blocked_since": since, "by": held[:5] or self.running}


class ThreadBeat:
    """Beats in a thread, on a connection of its own."""

    def __init__(self, store: Store, interval: float) -> None:
        self._store = store
        self._interval = interval
        self._worker = ""
        self._written_at = float("-inf")
        self._loop: BackgroundLoop | None = None
        self._conn: Connection | None = None
        self._row = Row(store, interval)

    def start(self, worker: str) -> None:
        """Begin to beat for this identity."""
        self._worker = worker
        self._row = Row(self._store, self._interval)
        self._written_at = time.monotonic()
        if self._loop is None:
            self._loop = BackgroundLoop("beat", self._turn, self._interval)
            self._loop.start()

    def _turn(self) -> None:
        try:
            if self._conn is None:
                self._conn = self._store.database.own_connection()
            workers.beat(self._conn, self._worker, self._store.now())
            self._row.write(self._conn, self._worker)
        except BaseException:
            self._drop()
            raise
        self._written_at = time.monotonic()

    def tick(self, running: Sequence[str], children: Sequence[int], told: dict[str, Any]) -> None:  # noqa: ARG002
        """The loop turns; children die with this process."""
        self._row.hear(running, told)

    def written_within(self, seconds: float) -> bool:
        """Was a beat written lately?"""
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
        """How the thread stands."""
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
        """Start the child for this identity (and end the one before)."""
        self.stop()
        self._worker = worker
        self._process = subprocess.Popen(
            [sys.executable, "-m", "jobtrail.recovery.heartbeat"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        orders = {
            "url": self._store.database.url.render_as_string(hide_password=False),
            "worker": worker,
            "interval": self._interval,
            "parent": os.getpid(),
            "end_blocked": self._end_blocked,
        }
        self._say(json.dumps(orders))

    def tick(self, running: Sequence[str], children: Sequence[int], told: dict[str, Any]) -> None:
        """Tell the child that the loop turns; a child that died is replaced."""
        if self._process is None:
            return  # not begun, or stopped
        if self._process.poll() is not None:
            _log.warning("the beat process ended and is started again")
            self.start(self._worker)
        self._say(json.dumps({"running": list(running)[:5], "children": list(children), "told": told}))

    def written_within(self, seconds: float) -> bool:
        """The child's word is in the store; asking there is what counts."""
        with self._store.read() as conn:
            at = workers.beat_age(conn, self._worker, self._store.now())
        return at is not None and at < seconds

    def stop(self) -> None:
        """End the child in order."""
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

    def _say(self, line: str) -> None:
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError, ValueError):
                self._process.stdin.write(line.encode() + b"\n")
                self._process.stdin.flush()

    def _close_in_fork(self) -> None:
        process, self._process = self._process, None
        if process is not None and process.stdin is not None:
            with contextlib.suppress(OSError):
                os.close(process.stdin.fileno())


# -- the child ---------------------------------------------------------------------------------------


class Watch:
    """The child's side: beat, listen to the parent, notice its death."""

    def __init__(self, orders: dict[str, Any]) -> None:
        self.store = Store(orders["url"])
        self.worker: str = orders["worker"]
        self.interval: float = orders["interval"]
        self.parent: int = orders["parent"]
        self.children: list[int] = []
        self.row = Row(self.store, self.interval)
        self.beat_at = float("-inf")
        self.end_blocked: bool = orders.get("end_blocked", False)
        self.how = f"its worker's process {self.parent} is gone"
        self.stopped = False
        self._pidfd = _pidfd(self.parent)
        self._buffer = b""
        self._listening = True

    def run(self) -> None:
        """Until the parent says stop, or is gone."""
        while not self.stopped:
            if self._parent_is_gone():
                self._last_word()
                return
            if self._store_exists():
                with contextlib.suppress(Exception):
                    self._beat_if_due()
            self._listen(min(0.5, self.interval))

    def _parent_is_gone(self) -> bool:
        if self._pidfd is not None:
            return bool(select.select([self._pidfd], [], [], 0)[0])
        return os.getppid() != self.parent

    def _listen(self, seconds: float) -> None:
        sources = [self._pidfd] if self._pidfd is not None else []
        if self._listening:
            sources.append(0)
        ready, _, _ = select.select(sources, [], [], seconds)
        if 0 in ready:
            self._read()

    def _read(self) -> None:
        data = os.read(0, 65536)
        if not data:
            self._listening = False  # the parent closed the pipe; whether it lives the pidfd tells
            return
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        for line in lines:
            self._hear(json.loads(line))

    def _hear(self, said: dict[str, Any]) -> None:
        self.row.hear(said.get("running", self.row.running), said.get("told", self.row.told))
        self.stopped = self.stopped or bool(said.get("stop"))
        self.children = said.get("children", self.children)

    def _beat_if_due(self) -> None:
        now = time.monotonic()
        if now - self.beat_at < self.interval:
            return
        self.beat_at = now
        with self.store.read() as conn:
            workers.beat(conn, self.worker, self.store.now())
            self.row.write(conn, self.worker)
            over = self._over_its_time(conn, now) if self.end_blocked and self.row.blocked else None
        if over is not None:
            self._end_parent(over, now - self.row.heard_at)

    def _over_its_time(self, conn: Any, now: float) -> str | None:
        """A job whose deadline passed while the loop was blocked, so that the worker could not stop it itself."""
        at = self.store.now()
        since = at - timedelta(seconds=now - self.row.heard_at)
        late = at - timedelta(seconds=MARGIN)
        return next((job for job, end in runs.deadlines_of_worker(conn, self.worker) if since <= end <= late), None)

    def _end_parent(self, job: str, seconds: float) -> None:
        """Its death is then seen and told as any other."""
        what = f"its event loop was blocked for {seconds:.0f} s, past the deadline of job {job}"
        self.how = f"its worker's process {self.parent} was ended: {what}"
        _log.error("worker %s is ended: %s", self.worker, what)
        with contextlib.suppress(OSError):
            if self._pidfd is not None:
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
            elif os.getppid() == self.parent:
                os.kill(self.parent, signal.SIGKILL)

    def _last_word(self) -> None:
        for pid in self.children:  # each leads a group of its own, with whatever its body has started
            with contextlib.suppress(OSError):
                os.killpg(pid, signal.SIGKILL)
        end = time.monotonic() + LAST_WORD
        while time.monotonic() < end and self._store_exists():
            try:
                self.store.write(self._mark)
            except StoreUnavailable:
                time.sleep(0.5)
            else:
                return

    def _store_exists(self) -> bool:
        """A SQLite file that was removed must not come back empty."""
        path = self.store.database.path
        return path is None or path.exists()

    def _mark(self, conn: Any) -> None:
        workers.mark_dead(conn, self.worker, self.how, self.store.now())
        self.store.wake.need(DEAD)


def _pidfd(pid: int) -> int | None:
    if os.getppid() != pid or not hasattr(os, "pidfd_open"):
        return None
    with contextlib.suppress(OSError):
        return os.pidfd_open(pid)
    return None


def main() -> None:
    """Read the orders, then watch."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(0, 1)
        if not byte:
            return
        line += byte
    Watch(json.loads(line)).run()


if __name__ == "__main__":
    main()
