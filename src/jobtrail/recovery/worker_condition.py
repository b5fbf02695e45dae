"""A worker's health as its row shows it to others: nothing where all is well."""

from __future__ import annotations

import contextlib
import logging
import threading
from typing import TYPE_CHECKING, Any

from jobtrail.errors import StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
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
        self._failing: dict[str, str] = {}

    def away(self, why: str) -> None:
        """The store does not answer any more."""
        with self._lock:
            self._away = {"since": self._now().isoformat(), "until": None, "why": why}

    def back(self) -> None:
        """The store answers again; the outage is shown until the next one."""
        with self._lock:
            if self._away is not None and self._away["until"] is None:
                self._away = {**self._away, "until": self._now().isoformat()}

    @contextlib.contextmanager
    def tolerate(self, part: str) -> Iterator[None]:
        """Let a part of the worker fail: the worker goes on, and says so once for each new reason.

        An outage of the store is not said here: the turn of the worker does.
        """
        try:
            yield
        except StoreUnavailable:
            return
        except Exception as error:
            self.fails(part, error)
            return
        self.works(part)

    def report(self, part: str, error: Exception | None) -> None:
        """Note how a part of the worker is that repeats by itself: its failure, or None."""
        if error is None:
            self.works(part)
        else:
            self.fails(part, error)

    def fails(self, part: str, error: Exception) -> None:
        """Note that a part of the worker failed, and log it if the reason is new."""
        reason = f"{type(error).__name__}: {error}"
        with self._lock:
            known, self._failing[part] = self._failing.get(part), reason
        if known != reason:
            _log.error("%s failed and is repeated: %s", part, reason, exc_info=error)

    def works(self, part: str) -> None:
        """Note that a part of the worker works."""
        with self._lock:
            known = self._failing.pop(part, None)
        if known is not None:
            _log.warning("%s works again", part)

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
        with self._lock:
            failing = dict(self._failing)
        failing |= {one.name: one.failing for one in loops if one.failing is not None}
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
