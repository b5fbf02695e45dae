"""How long an idle worker sleeps: until the next job is due, at most a poll interval."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from jobtrail.errors import StoreError
from jobtrail.store import jobs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from jobtrail.store import Store

SOON = 0.002  # seconds


class Idle:
    """Asks the store which job is due next.

    A job that is due and was not handed out (somebody holds its row; the clock of its submitter is a
    millisecond ahead of ours) is looked for once more at once, then at the next poll. ``blocked_until`` gives when a job
    that a limit blocks may start for time alone.
    """

    def __init__(
        self, store: Store, queues: Callable[[], Sequence[str]], poll_interval: float,
        blocked_until: Callable[[], datetime | None] = lambda: None,
    ) -> None:  # fmt: skip
        self._store = store
        self._queues = queues
        self._poll = poll_interval
        self._blocked_until = blocked_until
        self._looked_again = False

    async def seconds(self) -> float:
        """How many seconds to sleep, unless woken; where jobs come by tickets, no queue is looked at."""
        if not self._queues():
            return self._poll
        with contextlib.suppress(StoreError):
            due = await asyncio.to_thread(self._next_due)
            seconds = self._poll if due is None else self._until(due)
            blocked = self._blocked_until()
            return seconds if blocked is None else min(seconds, max((blocked - self._store.now()).total_seconds(), SOON))
        return self._poll

    def _until(self, due: datetime) -> float:
        left = (due - self._store.now()).total_seconds()
        first = not self._looked_again
        self._looked_again = left <= 0
        if left > 0:
            return min(left, self._poll)
        return SOON if first else self._poll

    def _next_due(self) -> datetime | None:
        with self._store.read() as conn:
            return jobs.next_due(conn, self._queues())
