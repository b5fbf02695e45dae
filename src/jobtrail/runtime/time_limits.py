"""The time limits of one run: its deadline, which a sign of life moves, and when the deadline is written."""

from __future__ import annotations

import time

FIRST_AFTER = 0.5  # seconds: a body that ends sooner writes no deadline
STEP = 1.0  # seconds: a deadline that moves is written so late at most, or a quarter of a shorter limit


class Limits:
    """``timeout`` counts from now, ``stall`` from the last sign of life; both in seconds of the monotonic clock."""

    def __init__(self, timeout: float | None, stall: float | None) -> None:
        now = time.monotonic()
        self._ends_at = now + timeout if timeout is not None else None
        self._stall = stall
        self._first_at = now + min(FIRST_AFTER, *(limit / 2 for limit in (timeout, stall) if limit is not None))
        self._written: tuple[float, str] | None = None

    def deadline(self, last_sign: float) -> tuple[float, str]:
        """The time of the limit that is reached first, and its cause."""
        silent_at = last_sign + self._stall if self._stall is not None else float("inf")
        if self._ends_at is not None and self._ends_at <= silent_at:
            return self._ends_at, "timeout"
        return silent_at, "stall"

    def due(self, last_sign: float) -> bool:
        """Whether the deadline must be written now; a sign of life moves a stall's."""
        now = time.monotonic()
        if self._written is None:
            return now >= self._first_at
        at, cause = self.deadline(last_sign)
        step = STEP if self._stall is None else min(STEP, self._stall / 4)
        return cause != self._written[1] or at - self._written[0] >= step

    def take(self, last_sign: float) -> tuple[float, str]:
        """Seconds from now until the deadline, and its cause; the caller writes them."""
        self._written = self.deadline(last_sign)
        return self._written[0] - time.monotonic(), self._written[1]

    def not_written(self) -> None:
        """The write failed: the deadline is due again."""
        self._written = None
