"""What this process has to write, in memory and within a limit."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

from jobtrail.fork_lock import ForkLock

from .task_run import RunBegins, SeenFromOutside

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .journal import Journal
    from .task_run import Report


class Buffer:
    """Records on their way to the store.

    When ``limit`` records wait, new runs are not recorded and are counted; those that were taken are written to their end.

    Args:
        limit: How many records may wait.
        journal: Where they are kept beside memory.
    """

    def __init__(self, limit: int, journal: Journal) -> None:
        self._limit = limit
        self.journal = journal
        self._lock = ForkLock()
        self._waiting: deque[Report] = deque()
        self._lost = 0
        self.wanted = threading.Event()

    def put(self, report: Report) -> None:
        """Add a record. Takes a microsecond and never blocks on the store."""
        with self._lock:
            if isinstance(report, (RunBegins, SeenFromOutside)) and len(self._waiting) >= self._limit:
                report.run.skipped = True
                self._lost += 1
                return
            self.journal.add(report)
            self._waiting.append(report)
        if not self.wanted.is_set():
            self.wanted.set()

    def take(self, most: int) -> list[Report]:
        """Take the oldest records, up to the first that continues a job of this same batch."""
        taken: list[Report] = []
        seen: set[str] = set()
        with self._lock:
            while self._waiting and len(taken) < most:
                first = self._waiting[0]
                if first.run.celery_id in seen and isinstance(first, (RunBegins, SeenFromOutside)):
                    break
                seen.add(first.run.celery_id)
                taken.append(self._waiting.popleft())
        return taken

    def give_back(self, reports: Sequence[Report]) -> None:
        """Put records back in front, because they could not be written."""
        with self._lock:
            self._waiting.extendleft(reversed(reports))
        self.wanted.set()

    def written(self) -> None:
        """All that was taken is written or given back; the journal is emptied when nothing waits."""
        with self._lock:
            if not self._waiting:
                self.journal.clear()

    def count_lost(self, number: int = 1) -> None:
        """Count runs that cannot be recorded."""
        with self._lock:
            self._lost += number

    def take_lost(self) -> int:
        """How many runs were lost since the last call."""
        with self._lock:
            lost, self._lost = self._lost, 0
        return lost

    def __len__(self) -> int:
        """How many records wait."""
        return len(self._waiting)
