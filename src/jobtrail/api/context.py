"""What every route is handed: the application, its store behind a bounded number of threads, and the limits that count here."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread

from jobtrail.job.model import Status
from jobtrail.queries import statistics
from jobtrail.queries.charts import Series
from jobtrail.store.queues import waiting_queues
from jobtrail.store.search import search

from .auth.sessions import Attempts
from .read_cache import Fresh

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail import JobTrail
    from jobtrail.store import Store

    from .auth.access import Access

T = TypeVar("T")
THREADS = 8
SEARCH_SECONDS = 5.0
LONG = 10_000  # jobs that wait in a queue


@dataclass(slots=True)
class Desk:
    """The application as the routes see it. ``secret`` is mixed into the signature of sessions."""

    jobs: JobTrail
    access: Access
    secret: str = ""
    search_seconds: float = SEARCH_SECONDS
    attempts: Attempts = field(default_factory=Attempts)
    series: Series = field(default_factory=Series)
    fresh: Fresh = field(default_factory=Fresh)
    topics: dict[str, Any] = field(default_factory=dict)  # what can be watched live, by name; see `topics`
    farewells: list[Callable[[], None]] = field(default_factory=list)  # called in its loop when the server stops
    _limiter: Any = None

    @property
    def store(self) -> Store:
        """Where the jobs are."""
        return self.jobs.store

    def waiting(self, conn: Connection, now: datetime) -> list[statistics.Waiting]:
        """What waits in each queue, as it was within this second; where very many do, some seconds ago."""
        queues: list[str] = self.fresh.read("queues", lambda: waiting_queues(conn))
        return [
            self.fresh.read(("waiting", queue), partial(statistics.waiting_in, conn, queue, now), _is_long)
            for queue in queues
        ]

    def statuses(self, conn: Connection) -> dict[str, search.Counted]:
        """How many jobs stand in each status, as it was within this second; where it is more than is counted, lately."""
        return {
            status.value: self.fresh.read(
                ("status", status.value), partial(search.in_status, conn, status), operator.attrgetter("more")
            )
            for status in Status
        }

    def rates(self, conn: Connection, now: datetime) -> dict[str, float]:
        """How many jobs of each queue ended in a second lately."""
        heads = statistics.heads(self.waiting(conn, now))
        found: dict[str, float] = self.fresh.read("rates", lambda: self.series.rates(conn, now, heads))
        return found

    async def call(self, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Call what blocks, in one of a bounded number of threads that nobody else uses."""
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(THREADS)
        work = partial(function, *args, **kwargs)
        return await anyio.to_thread.run_sync(partial(self._ready, work), limiter=self._limiter)

    def _ready(self, work: Callable[[], T]) -> T:
        self.jobs.service.make_readable()
        return work()

    async def read(self, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Call ``function(conn, …)`` with a connection for reading, in a thread."""
        return await self.call(self._with_connection, function, args, kwargs)

    def _with_connection(self, function: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]) -> T:
        with self.store.read() as conn:
            return function(conn, *args, **kwargs)

    async def search(self, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """`read` for what may have to look at much: given up after ``search_seconds``.

        Raises: TooSlow.
        """
        return await self.read(self._within_time, function, args, kwargs)

    def _within_time(
        self, conn: Connection, function: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> T:
        from jobtrail.database.statement_timeout import time_limit

        with time_limit(conn, self.search_seconds):
            return function(conn, *args, **kwargs)

    def marked(self, task: str) -> frozenset[str]:
        """The arguments of a task that are secret because the task says so."""
        found = self.jobs.tasks.find(task)
        return found.secret if found is not None else frozenset()


def _is_long(one: statistics.Waiting) -> bool:
    return one.due + one.later >= LONG
