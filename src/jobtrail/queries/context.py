"""What queries need of an application: its store, tasks and schedules, a cache, and a time limit for searches."""

from __future__ import annotations

import operator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from jobtrail.database.statement_timeout import time_limit
from jobtrail.job.masking import masking_names
from jobtrail.job.model import Status
from jobtrail.store.queues import waiting_queues
from jobtrail.store.search import search as job_search
from jobtrail.store.search.masked_view import MaskedView

from .monitoring import charts, statistics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.commands.service import Service
    from jobtrail.job.task import Tasks
    from jobtrail.schedules.service import Schedules

    from .read_cache import ReadCache

LONG = 10_000  # jobs that wait in a queue: counts above change little


@dataclass(slots=True)
class QueryContext:
    """The application as queries see it.

    Attributes:
        service: the application's service, with its store and settings.
        find_tasks: returns the registered tasks; plug-ins are loaded at the first call.
        find_schedules: returns the schedules.
        cache: keeps counts for a second where many clients read; None reads each time.
        search_seconds: returns the time limit of `search`, in seconds; None for no limit.
    """

    service: Service
    find_tasks: Callable[[], Tasks]
    find_schedules: Callable[[], Schedules]
    cache: ReadCache | None = None
    search_seconds: Callable[[], float] | None = None

    @property
    def tasks(self) -> Tasks:
        """The registered tasks."""
        return self.find_tasks()

    @property
    def schedules(self) -> Schedules:
        """The schedules."""
        return self.find_schedules()

    @property
    def silent_after(self) -> float:
        """Seconds without a beat after which a worker is shown as silent."""
        return self.service.settings.silent_after

    def now(self) -> datetime:
        """The database's time, UTC."""
        return self.service.store.now()

    def marked(self, task: str) -> frozenset[str]:
        """The names whose values are secret: those that the task declares, and those of the setting."""
        found = self.tasks.find(task)
        named = frozenset(self.service.settings.secret_names)
        return named | found.secret if found is not None else named

    def view(self, role: str | None) -> MaskedView | None:
        """What a filter is compared with: masked values for roles below admin; None for the stored ones."""
        if role in {None, "admin"}:
            return None
        return MaskedView(self.marked, self.secret_names())

    def secret_names(self) -> frozenset[str]:
        """The names that any task or the setting marks as secret; texts may hold them whatever task they are from."""
        return self.tasks.secret_names().union(self.service.settings.secret_names)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a connection for reading."""
        self.service.make_readable()
        with self.service.store.read() as conn, masking_names(self.secret_names):
            yield conn

    @contextmanager
    def search(self) -> Iterator[Connection]:
        """`read` for queries that may read many rows.

        Raises:
            TooSlow: if a statement takes longer than ``search_seconds``.
        """
        with self.read() as conn:
            if self.search_seconds is None:
                yield conn
            else:
                with time_limit(conn, self.search_seconds()):
                    yield conn

    # -- counts that several queries share ------------------------------------------------------------

    def cached(self, key: Any, look: Callable[[], Any], is_steady: Callable[[Any], bool] | None = None) -> Any:
        """The value of a key from the cache, or as ``look`` reads it now."""
        return look() if self.cache is None else self.cache.read(key, look, is_steady)

    def waiting(self, conn: Connection, now: datetime) -> list[statistics.QueueBacklog]:
        """What waits in each queue."""
        queues: list[str] = self.cached("queues", lambda: waiting_queues(conn))
        return [
            self.cached(("waiting", queue), partial(statistics.waiting_in, conn, queue, now), _is_long)
            for queue in queues
        ]

    def aside(self, conn: Connection) -> dict[str, statistics.Aside]:
        """What is pending in each queue beside what `waiting` counts."""
        found: dict[str, statistics.Aside] = self.cached("aside", lambda: statistics.aside(conn))
        return found

    def statuses(self, conn: Connection, now: datetime | None = None) -> dict[str, job_search.Counted]:
        """How many jobs have each status. What is pending is the sum of what the queues show, so that both agree."""
        return {
            status.value: self._pending(conn, now or self.now())
            if status is Status.PENDING
            else self.cached(
                ("status", status.value), partial(job_search.in_status, conn, status), operator.attrgetter("more")
            )
            for status in Status
        }

    def _pending(self, conn: Connection, now: datetime) -> job_search.Counted:
        number = sum(one.due + one.later for one in self.waiting(conn, now))
        number += sum(one.behind + one.alone for one in self.aside(conn).values())
        return job_search.together([job_search.Counted(number, more=False)])

    def rates(self, conn: Connection, now: datetime) -> dict[str, float]:
        """How many jobs of each queue ended per second in the last minutes."""
        found: dict[str, float] = self.cached("rates", lambda: charts.rates(conn, now))
        return found


def _is_long(one: statistics.QueueBacklog) -> bool:
    return one.due + one.later >= LONG
