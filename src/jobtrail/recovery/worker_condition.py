"""A worker's health as its row shows it to others: nothing where all is well."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from .background_loop import Health

_log = logging.getLogger("jobtrail.worker")


class Condition:
    """What is wrong with one worker: a store that is or was away, slots that are lost, failing background loops."""

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
        """The store answers again; the outage is shown until the next one."""
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

    def detail(self, loops: Sequence[Health]) -> dict[str, Any]:
        """What is wrong, for the worker's row. It is written when it changes, so it contains no durations."""
        found: dict[str, Any] = {}
        failing = {one.name: one.failing for one in loops if one.failing is not None}
        late = sorted(one.name for one in loops if one.late)
        if failing:
            found["failing"] = failing
        if late:
            found["late"] = late
        if self._away is not None:
            found["store_away"] = self._away
        if self._lost:
            found["slots_lost"] = {"lost": len(self._lost), "of": self._slots, "by": list(self._lost[:5])}
        return found
