"""What a worker says of its own health in its row, so that others can read it: nothing where all is well."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from jobtrail.recovery.background_loop import Health

_log = logging.getLogger("jobtrail.worker")


class Condition:
    """The troubles of one worker beside its chores: a store that is or was away, slots that are lost."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._away: dict[str, Any] | None = None
        self._lost: tuple[str, ...] = ()
        self._slots = 0

    def away(self, why: str) -> None:
        """The store does not answer any more."""
        with self._lock:
            self._away = {"since": self._now().isoformat(), "until": None, "why": why}

    def back(self) -> None:
        """It answers again; when it was away is told until the next time."""
        with self._lock:
            if self._away is not None and self._away["until"] is None:
                self._away = {**self._away, "until": self._now().isoformat()}

    def slots_lost(self, jobs: Sequence[str], slots: int) -> None:
        """These jobs were asked to stop and their bodies do not; a thread cannot be ended, so its slot is lost."""
        lost = tuple(jobs)
        if len(lost) > len(self._lost):
            _log.warning("%d of %d slots are lost to bodies that do not stop: %s", len(lost), slots, ", ".join(lost))
        elif self._lost and not lost:
            _log.warning("all slots are back")
        self._lost, self._slots = lost, slots

    def told(self, chores: Sequence[Health]) -> dict[str, Any]:
        """All that is not as it should be, for the worker's row. It changes seldom, so it names no durations."""
        found: dict[str, Any] = {}
        failing = {one.name: one.failing for one in chores if one.failing is not None}
        late = sorted(one.name for one in chores if one.late)
        if failing:
            found["failing"] = failing
        if late:
            found["late"] = late
        if self._away is not None:
            found["store_away"] = self._away
        if self._lost:
            found["slots_lost"] = {"lost": len(self._lost), "of": self._slots, "by": list(self._lost[:5])}
        return found
