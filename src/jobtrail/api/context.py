"""What every route is handed: the application, its queries, a bounded number of threads, and the ways to log in."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread

from jobtrail.database.statement_timeout import time_limit
from jobtrail.queries.read_cache import ReadCache

from .auth.sessions import TokenLogins

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from jobtrail import JobTrail
    from jobtrail.queries.facade import Queries
    from jobtrail.store import Store

    from .auth.access import Access

T = TypeVar("T")
THREADS = 8
SEARCH_SECONDS = 5.0


@dataclass(slots=True)
class ApiContext:
    """The application as the routes see it.

    Attributes:
        jobs: the application.
        access: the ways in which somebody may be known.
        search_seconds: the time limit of searches, in seconds.
        cache: keeps answers that many clients ask for at once.
        topics: what can be watched live, by name; see `topics`.
        shutdown_hooks: called in the server's event loop when it stops.
    """

    jobs: JobTrail
    access: Access
    search_seconds: float = SEARCH_SECONDS
    cache: ReadCache = field(default_factory=ReadCache)
    topics: dict[str, Any] = field(default_factory=dict)
    shutdown_hooks: list[Callable[[], None]] = field(default_factory=list)
    queries: Queries = field(init=False)
    logins: TokenLogins = field(init=False)
    _limiter: Any = None

    def __post_init__(self) -> None:
        """Share the application's queries among all clients."""
        self.queries = self.jobs.queries.shared(self.cache, lambda: self.search_seconds)
        self.logins = TokenLogins(self.store, self.call)

    @property
    def store(self) -> Store:
        """Where the jobs are."""
        return self.jobs.store

    async def call(self, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Call a function that blocks, in one of a bounded number of threads that nobody else uses."""
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(THREADS)
        work = partial(function, *args, **kwargs)
        return await anyio.to_thread.run_sync(partial(self._ready, work), limiter=self._limiter)

    async def cached(self, key: Any, function: Callable[[], T]) -> T:
        """`call` for an answer that many clients ask for: it is read at most once a second."""
        found: T = await self.call(self.cache.read, key, function)
        return found

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
        """`read` for queries that may read many rows.

        Raises:
            TooSlow: if a statement takes longer than ``search_seconds``.
        """
        return await self.read(self._within_time, function, args, kwargs)

    def _within_time(
        self, conn: Connection, function: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> T:
        with time_limit(conn, self.search_seconds):
            return function(conn, *args, **kwargs)

    def marked(self, task: str) -> frozenset[str]:
        """The arguments of a task that the task declares secret."""
        return self.queries.context.marked(task)

