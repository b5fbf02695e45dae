"""What a worker's row says about its health beside its beat; written when it has changed, and only then.

Thread and beat child share it, so it imports nothing that the child does not need.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

BLOCKED_AFTER = 3.0  # seconds without a turn of the loop, or two beats where that is more: 10 by default


def blocked_after(interval: float) -> float:
    """Seconds without a turn after which a loop is called blocked, for beats every ``interval`` seconds."""
    return max(BLOCKED_AFTER, 2 * interval)


class DetailStore(Protocol):
    """Where the detail is written."""

    def now(self) -> float:
        """The time, in seconds since 1970."""

    def write_detail(self, worker: str, detail: Mapping[str, Any]) -> None:
        """Write what is wrong with the worker."""

    def jobs_held(self, worker: str) -> list[str]:
        """The ids of the jobs that run on the worker."""


class WorkerDetail:
    """The health of one worker, as its event loop reports it, and whether that loop is blocked or its process stopped.

    Args:
        interval: seconds between two beats.
    """

    def __init__(self, interval: float) -> None:
        self._blocked_after = blocked_after(interval)
        self._written: dict[str, Any] = {}
        self.heard_at = time.monotonic()
        self.running: list[str] = []
        self.reported: dict[str, Any] = {}
        self.blocked: dict[str, Any] = {}
        self.process_stopped = False  # by SIGSTOP or Ctrl-Z, as the beat child sees it
        self._failing: dict[str, str] = {}

    def fails(self, part: str, reason: str) -> None:
        """Note that a part of the beat process failed, and say so if the reason is new."""
        if self._failing.get(part) != reason:
            sys.stderr.write(f"the beat process: {part} failed and is repeated: {reason}\n")
        self._failing[part] = reason

    def works(self, part: str) -> None:
        """Note that a part of the beat process works."""
        self._failing.pop(part, None)

    def hear(self, running: Sequence[str], reported: dict[str, Any]) -> None:
        """The event loop turns: these jobs run, and this is wrong."""
        self.heard_at, self.running, self.reported = time.monotonic(), list(running)[:5], reported

    def write(self, store: DetailStore, worker: str) -> None:
        """Write the detail if it has changed."""
        self._look(store, worker, time.monotonic() - self.heard_at)
        detail = {**self.reported, **self.blocked}
        if self._failing:
            detail["failing"] = {**detail.get("failing", {}), **self._failing}
        if detail != self._written:
            store.write_detail(worker, detail)
            self._written = detail

    def _look(self, store: DetailStore, worker: str, silent: float) -> None:
        if self.process_stopped:
            why = "process_stopped_since"
        elif silent > self._blocked_after:
            why = "loop_blocked_since"
        else:
            self.blocked = {}
            return
        if why not in self.blocked:
            # From the store: the worker's last report does not name a body that blocks at once.
            self.blocked = {why: store.now() - silent, "by": store.jobs_held(worker)[:5] or self.running}
