"""The beat child: beats for its parent, watches it, and marks its worker dead when it is gone.

It goes on while the parent's loop computes and while a C call holds its interpreter's lock. When the parent is gone it
ends the parent's executor children, and marks the worker dead in the same second.

Run as ``python -m jobtrail.recovery.beat_child``, with its orders as one JSON line on standard input. It imports next to
nothing: every worker has one.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

from jobtrail.database.beats import connection_for

from .worker_detail import WorkerDetail, blocked_after

if TYPE_CHECKING:
    from collections.abc import Callable

MARK_FOR = 60.0  # seconds in which the child tries to write that its parent is dead
MARGIN = 2.0  # seconds past a deadline


def _stored(code: str, **params: str) -> str:
    """What `Message.stored` gives, without the import of the catalogue."""
    return f"@{code} {json.dumps(params)}"


class BeatChild:
    """The child's side: beat, listen to the parent, notice its death.

    Args:
        orders: ``worker`` (id), ``interval`` (seconds), ``parent`` (pid), ``end_blocked``, and the database: ``path`` of a
            SQLite file or ``arguments`` of PostgreSQL's driver.
    """

    def __init__(self, orders: dict[str, Any]) -> None:
        self.store = connection_for(orders.get("path"), orders.get("arguments"))
        self.worker: str = orders["worker"]
        self.interval: float = orders["interval"]
        self.parent: int = orders["parent"]
        self.children: list[int] = []
        self.detail = WorkerDetail(self.interval)
        self.beat_at = float("-inf")
        self.end_blocked: bool = orders.get("end_blocked", False)
        self.how = _stored("recovery.process-gone", pid=str(self.parent))
        self.stopped = False
        self._pidfd = _pidfd(self.parent)
        self._buffer = b""
        self._listening = True

    def run(self) -> None:
        """Beat until the parent says stop, or is gone."""
        while not self.stopped:
            if self._parent_is_gone():
                self._bury()
                return
            self._tolerate(self._beat_if_due)
            self._tolerate(self._listen)

    def _tolerate(self, part: Callable[[], None]) -> None:
        """Call a part, whatever it raises: a dead child would look like a dead worker.

        An error of the driver is an outage, and the worker says that; any other is said here, once for each new reason.
        """
        name = part.__name__.strip("_")
        try:
            part()
        except Exception as error:
            if type(error).__module__.partition(".")[0] not in {"psycopg", "sqlite3"}:
                self.detail.fails(name, f"{type(error).__name__}: {error}")
            time.sleep(min(0.5, self.interval))
        else:
            self.detail.works(name)

    def _parent_is_gone(self) -> bool:
        if self._pidfd is not None:
            return bool(select.select([self._pidfd], [], [], 0)[0])
        return os.getppid() != self.parent

    # -- what the parent says ------------------------------------------------------------------------

    def _listen(self) -> None:
        sources = [self._pidfd] if self._pidfd is not None else []
        if self._listening:
            sources.append(0)
        ready, _, _ = select.select(sources, [], [], min(0.5, self.interval))
        if 0 in ready:
            self._read()

    def _read(self) -> None:
        data = os.read(0, 65536)
        if not data:
            self._listening = False  # the parent closed the pipe; the pidfd tells whether it lives
            return
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        for line in lines:
            self._hear(json.loads(line))

    def _hear(self, message: dict[str, Any]) -> None:
        self.detail.hear(message.get("running", self.detail.running), message.get("detail", self.detail.reported))
        self.stopped = self.stopped or bool(message.get("stop"))
        self.children = message.get("children", self.children)

    # -- beats ---------------------------------------------------------------------------------------

    def _beat_if_due(self) -> None:
        now = time.monotonic()
        if now - self.beat_at < self.interval or not self.store.exists():
            return
        self.beat_at = now
        self.store.beat(self.worker)
        self.detail.process_stopped = _is_stopped(self.parent)
        self.detail.write(self.store, self.worker)
        blocked = now - self.detail.heard_at > blocked_after(self.interval)
        over = self._over_its_time(now) if self.end_blocked and blocked else None
        if over is not None:
            self._end_parent(over, now - self.detail.heard_at)

    def _over_its_time(self, now: float) -> str | None:
        """A job whose deadline passed while the loop was blocked or the process stopped: the worker could not stop it itself."""
        at = self.store.now()
        since, late = at - (now - self.detail.heard_at), at - MARGIN
        return next((job for job, end in self.store.deadlines(self.worker) if since <= end <= late), None)

    def _end_parent(self, job: str, seconds: float) -> None:
        """Kill the parent; its death is then noticed as any other."""
        code = "recovery.process-stopped" if self.detail.process_stopped else "recovery.loop-blocked"
        what = _stored(code, seconds=f"{seconds:.0f}", job=job)
        self.how = _stored("recovery.process-ended", pid=str(self.parent), what=what)
        which = "process was stopped" if self.detail.process_stopped else "event loop was blocked"
        sys.stderr.write(f"worker {self.worker} is ended: its {which} for {seconds:.0f} s, job {job}\n")
        with contextlib.suppress(OSError):
            if self._pidfd is not None:
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
            elif os.getppid() == self.parent:
                os.kill(self.parent, signal.SIGKILL)

    def _bury(self) -> None:
        """End what the parent has started, and mark its worker dead."""
        for pid in self.children:  # each leads a group of its own, with what its body has started
            with contextlib.suppress(OSError):
                os.killpg(pid, signal.SIGKILL)
        end = time.monotonic() + MARK_FOR
        while time.monotonic() < end and self.store.exists():
            try:
                self.store.mark_dead(self.worker, self.how)
            except Exception:
                time.sleep(0.5)
            else:
                return


def _is_stopped(pid: int) -> bool:
    """Whether a process is stopped (SIGSTOP, Ctrl-Z); False where the system does not say."""
    with contextlib.suppress(OSError, IndexError), open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
        return file.read().rpartition(b")")[2].split()[0] == b"T"
    return False


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
    BeatChild(json.loads(line)).run()


if __name__ == "__main__":
    main()
