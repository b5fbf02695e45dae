"""The clock: APScheduler, driven one turn at a time over our own table. Nothing else knows it."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Any

from apscheduler.executors.base import BaseExecutor
from apscheduler.job import Job
from apscheduler.jobstores.base import BaseJobStore
from apscheduler.schedulers.base import BaseScheduler
from apscheduler.triggers.base import BaseTrigger

from jobtrail.store import schedules

from .state import Broken, Due, Standings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobtrail.job.task import Tasks
    from jobtrail.store import Store

AT_ONCE = 1000  # schedules in one turn; more follow in the next one
_TICK = timedelta(microseconds=1)
_REFUSED = "schedules are added, changed and removed by jobs.schedules, which checks them"
_log = logging.getLogger("jobtrail.schedules.clock")


class StoreTime(tzinfo):
    """A zone in which it is always the moment that was handed in.

    APScheduler asks for the time in its zone; that is how a turn is given the store's time (and a test its own),
    and why a wall clock that jumps moves nothing.
    """

    def __init__(self) -> None:
        self.moment = datetime.now(UTC)

    def fromutc(self, dt: datetime) -> datetime:
        """Whatever the wall clock shows, it is the moment handed in."""
        del dt
        return self.moment.astimezone(UTC).replace(tzinfo=self)

    def utcoffset(self, dt: datetime | None) -> timedelta:
        """The moment is told in UTC."""
        del dt
        return timedelta(0)

    def dst(self, dt: datetime | None) -> timedelta:
        """There is none."""
        del dt
        return timedelta(0)

    def tzname(self, dt: datetime | None) -> str:
        """What it is called."""
        del dt
        return "UTC"


class RuleTrigger(BaseTrigger):  # type: ignore[misc]  # APScheduler has no types
    """When a schedule is due next: as its plan says, which knows of missed times, pauses and runs that still go on."""

    __slots__ = ("due",)

    def __init__(self, due: Due) -> None:
        self.due = due

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime | None:
        """Always later than now: what is left of the past is taken up by the next turn."""
        del previous_fire_time
        at = self.due.plan.due_at
        return None if at is None else max(at, now + _TICK)


class TableJobStore(BaseJobStore):  # type: ignore[misc]  # APScheduler has no types
    """APScheduler's view of our table: rows of JSON that any process may read and change; nothing is pickled.

    It is filled by `load` before each turn, so that an error of the database meets our own loop. What a turn comes to
    is written by `firing`, jobs and next times in one transaction, so there is nothing to write here.
    """

    def __init__(self, store: Store, tasks: Tasks, time: StoreTime) -> None:
        super().__init__()
        self._store = store
        self._standings = Standings(tasks)
        self._time = time
        self._due: dict[str, Due] = {}
        self._later: datetime | None = None
        self.broken: list[Broken] = []

    def load(self, tasks: Sequence[str], now: datetime) -> None:
        """Read what is due of these tasks.

        Raises: StoreUnavailable.
        """
        with self._store.read() as conn:
            rows = schedules.due(conn, tasks, now, AT_ONCE)
            due, self.broken = self._standings.of(conn, rows, now)
            more = len(rows) == AT_ONCE
            self._later = now if more else schedules.next_due(conn, tasks, now)
        self._due = {one.row.id: one for one in due}

    def get_due_jobs(self, now: datetime) -> list[Job]:
        """What was loaded."""
        return [self._job(one, now) for one in self._due.values()]

    def get_next_run_time(self) -> datetime | None:
        """The first of what is not due yet and of what follows what was."""
        planned = [one.plan.due_at for one in self._due.values() if one.plan.due_at is not None]
        found = min([*planned, *([self._later] if self._later else [])], default=None)
        return None if found is None else found.replace(tzinfo=self._time)

    def lookup_job(self, job_id: str) -> Job | None:
        """A schedule by its id, if it is due."""
        one = self._due.get(job_id)
        return None if one is None else self._job(one, self._time.moment)

    def get_all_jobs(self) -> list[Job]:
        """What was loaded."""
        return self.get_due_jobs(self._time.moment)

    def update_job(self, job: Job) -> None:
        """The next time is part of the plan."""

    def remove_job(self, job_id: str) -> None:
        """There is no next time: that is part of the plan too. The row stays."""

    def add_job(self, job: Job) -> None:
        """Not this way."""
        del job
        raise TypeError(_REFUSED)

    def remove_all_jobs(self) -> None:
        """Not this way."""
        raise TypeError(_REFUSED)

    def _job(self, one: Due, now: datetime) -> Job:
        """As APScheduler's own stores make jobs from what they keep, but for the function, which is not ours to import."""
        job = Job.__new__(Job)
        job.id = job.name = one.row.id
        job.trigger = RuleTrigger(one)
        job.executor = "default"
        job.func = job.func_ref = None
        job.args, job.kwargs = (), {}
        job.misfire_grace_time, job.coalesce, job.max_instances = None, False, 1
        job.next_run_time = min(one.row.due_at or now, now)
        job._scheduler, job._jobstore_alias = self._scheduler, self._alias
        return job


class Collector(BaseExecutor):  # type: ignore[misc]  # APScheduler has no types
    """Takes what is to run; who runs it is the business of the workers."""

    def __init__(self) -> None:
        super().__init__()
        self.taken: list[Due] = []

    def submit_job(self, job: Job, run_times: list[datetime]) -> None:
        """Remember it; the plan has the times."""
        del run_times
        self.taken.append(job.trigger.due)

    def _do_submit_job(self, job: Job, run_times: list[datetime]) -> None:
        self.submit_job(job, run_times)


class Clock(BaseScheduler):  # type: ignore[misc]  # APScheduler has no types
    """One turn of APScheduler's loop by hand, with the time handed in."""

    def __init__(self, store: Store, tasks: Tasks) -> None:
        self._time = StoreTime()
        self._table = TableJobStore(store, tasks, self._time)
        self._collector = Collector()
        super().__init__(
            timezone=self._time,
            jobstores={"default": self._table},
            executors={"default": self._collector},
            logger=_log,
        )
        self.start()

    def turn(self, tasks: Sequence[str], now: datetime) -> tuple[list[Due], list[Broken], float | None]:
        """Schedules of these tasks that are due, those that cannot be read, and the seconds until the next is due.

        Raises: StoreUnavailable.
        """
        self._table.load(tasks, now)
        self._time.moment, self._collector.taken = now, []
        seconds: float | None = self._process_jobs()
        return self._collector.taken, self._table.broken, seconds

    def shutdown(self, wait: bool = True) -> None:
        """End."""
        super().shutdown(wait)

    def wakeup(self) -> Any:
        """Whoever repeats the turns decides when."""
