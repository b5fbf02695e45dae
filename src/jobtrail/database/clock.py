"""The time of the database, known without asking it each time."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """Tells the time in UTC."""

    def now(self) -> datetime:
        """The moment now, aware, in UTC."""


class DatabaseClock:
    """Runs on this machine's monotonic clock from the last reading of the database's clock.

    A jump of this machine's wall clock moves nothing, and all processes of one database agree.
    """

    def __init__(self) -> None:
        self._base = datetime.now(UTC)
        self._at = time.monotonic()

    def now(self) -> datetime:
        """The database's time, as well as it is known."""
        return self._base + timedelta(seconds=time.monotonic() - self._at)

    def read(self, database_now: datetime, asked_at: float, answered_at: float) -> None:
        """Take over a reading of the database's clock, made between two monotonic times."""
        self._base = database_now.astimezone(UTC)
        self._at = (asked_at + answered_at) / 2
