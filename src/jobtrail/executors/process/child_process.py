"""A child process as its worker holds it: its signals, its memory limit, and how it ended."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from typing import TYPE_CHECKING

from jobtrail.messages import Message

if TYPE_CHECKING:
    from .wire import Wire

TERM_TO_KILL = 0.5  # seconds from SIGTERM, which raises inside the body, to SIGKILL


class ChildGone(Exception):
    """The child ended before its job; ``how`` says how, ``cause`` why it was ended on purpose, if it was."""

    def __init__(self, how: Message, *, cause: str | None = None, memory: bool = False) -> None:
        super().__init__(how)
        self.how = how
        self.cause = cause
        self.memory = memory


class ChildProcess:
    """One child process, as its worker holds it."""

    def __init__(self, process: subprocess.Popen[bytes], wire: Wire) -> None:
        self.pid = process.pid
        self.wire = wire
        self.jobs = 0
        self.memory_limit: int | None = None
        self.why: ChildGone | None = None
        self.since = time.monotonic()
        self._process = process
        self._signals: list[tuple[float, int, str | None]] = []

    @property
    def lives(self) -> bool:
        """Whether its process runs."""
        return self._process.poll() is None

    @property
    def spent(self) -> bool:
        """Whether it was interrupted in the middle of something; then it is given no other job."""
        return bool(self._signals) or self.why is not None

    def arm(self, cause: str | None, grace: float) -> None:
        """SIGTERM after ``grace`` seconds, SIGKILL a moment later, unless the job has ended by then."""
        at = time.monotonic() + grace
        self._signals = [(at, signal.SIGTERM, cause), (at + TERM_TO_KILL, signal.SIGKILL, cause)]

    def disarm(self) -> None:
        """The job has ended in time. Where the body was interrupted by SIGTERM, the child stays spent."""
        if len(self._signals) > 1:
            self._signals = []

    def look(self, now: float) -> None:
        """Send the signals that are due, and end it above its memory limit."""
        while self._signals and self._signals[0][0] <= now:
            _, number, cause = self._signals[0]
            if number == signal.SIGKILL:
                self.kill(ChildGone(Message("executors.killed", cause=cause), cause=cause))
                return
            self._signals = self._signals[1:]
            self._signal(number)
        used = _resident(self.pid) if self.memory_limit is not None else None
        if used is not None and self.memory_limit is not None and used > self.memory_limit:
            limit = whole_mb(self.memory_limit)
            self.kill(ChildGone(Message("executors.over-memory-limit", limit=limit, used=whole_mb(used)), memory=True))

    def kill(self, why: ChildGone) -> None:
        """SIGKILL for it and for what it started."""
        if self.why is None:
            self.why = why
        if self.lives:
            try:
                os.killpg(self.pid, signal.SIGKILL)
            except OSError:
                self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        if self.lives:
            with contextlib.suppress(OSError):
                os.kill(self.pid, number)

    def leave(self) -> None:
        """Tell it to end by itself."""
        self.since = time.monotonic()
        with contextlib.suppress(OSError):
            self.wire.close()

    def end(self) -> ChildGone:
        """How it ended, after its line broke."""
        try:
            code = self._process.wait(timeout=1.0)
        except subprocess.TimeoutExpired:
            self.kill(ChildGone(Message("executors.closed-line")))
            code = self._process.wait()
        return self.why or ChildGone(_how_it_ended(code))


def _resident(pid: int) -> int | None:
    """Bytes of its own that a process holds in memory (no mapped files); None where that cannot be read."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:  # noqa: PTH123
            lines = [line.split() for line in file if line.startswith(("RssAnon:", "RssShmem:"))]
        return sum(int(line[1]) for line in lines) * 1024 if lines else None
    except (OSError, IndexError, ValueError):
        return None


def _how_it_ended(code: int) -> Message:
    if code >= 0:
        return Message("executors.exited", status=code) if code else Message("executors.exited-early")
    with contextlib.suppress(ValueError):
        return Message("executors.signal", number=-code, name=signal.Signals(-code).name)
    return Message("executors.unknown-signal", number=-code)


def whole_mb(count: int) -> int:
    """Bytes in whole MB, as people write a limit."""
    return round(count / 1_048_576)
