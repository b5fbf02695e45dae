"""The job store: APScheduler's jobs as JSON in the application's database, fired once however many processes share it."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from apscheduler.events import EVENT_JOB_MAX_INSTANCES, EVENT_JOB_MISSED
from apscheduler.jobstores.base import BaseJobStore, ConflictingIdError, JobLookupError
from apscheduler.util import maybe_ref
from sqlalchemy import delete, func, insert, select, update

from jobtrail.errors import DuplicateRow, StoreError
from jobtrail.job.task import name_option, seconds_option

from .job_json import KeptJob, job_from_json, job_to_json
from .plugin import mount_on
from .slots import OVERLAP, TOO_LATE, miss_runs, planned_runs, put_runs
from .tables import aps_jobs

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection

_SELECT = select(aps_jobs.c.id, aps_jobs.c.next_run_time, aps_jobs.c.definition, aps_jobs.c.version)


class JobTrailJobStore(BaseJobStore):  # type: ignore[misc]  # APScheduler has no types
    """A job store for APScheduler 3.11 in the database of an application, without pickle.

    Several schedulers may share it: each planned time is claimed by one of them, in one guarded statement, before it runs.
    What does not run (coalesced, later than the misfire grace, too many instances) is recorded with its reason in
    ``jobs.aps``.

    Args:
        jobs: The application, or a reference to it ("module:name").
        name: Name of the store; schedulers with the same name share their jobs.
        poll: Seconds between two looks for jobs that another process has added.

    Raises:
        InvalidOption: If the name or ``poll`` is not valid.

    Example:
        ```python
        scheduler = BackgroundScheduler(jobstores={"default": JobTrailJobStore(jobs)})
        ```
    """

    keeps_slots = True  # it records itself what does not run

    def __init__(self, jobs: Any, name: str = "jobtrail", poll: float = 1.0) -> None:
        super().__init__()
        self.name = name_option("name", name)
        self._jobs = maybe_ref(jobs)
        self._poll = seconds_option("poll", poll)
        self._finished: set[str] = set()
        self._unreadable: dict[str, int] = {}  # id to version
        self._known_next: datetime | None = None
        self._stopped = threading.Event()
        mount_on(self._jobs)

    # -- begin and end -------------------------------------------------------------------------------

    def start(self, scheduler: Any, alias: str) -> None:
        """Create the tables where that is automatic, and look for what other processes add. Called by the scheduler."""
        super().start(scheduler, alias)
        self._jobs.make_ready()
        self._stopped.clear()
        if scheduler is not None:
            scheduler.add_listener(self._note_missed, EVENT_JOB_MISSED | EVENT_JOB_MAX_INSTANCES)
            threading.Thread(target=self._watch, name="jobtrail-aps-watch", daemon=True).start()

    def shutdown(self) -> None:
        """Stop looking; the application stays open. Called by the scheduler."""
        self._stopped.set()
        if self._scheduler is not None:
            self._scheduler.remove_listener(self._note_missed)

    def _watch(self) -> None:
        """Wake the scheduler if another process has added a job that is due before all that it knows."""
        while not self._stopped.wait(self._poll):
            try:
                found = self._next()
            except StoreError:
                continue  # said by whoever needs the store
            if found is not None and (self._known_next is None or found < self._known_next):
                self._known_next = found
                self._scheduler.wakeup()

    def _note_missed(self, event: Any) -> None:
        if event.jobstore != self._alias:
            return
        if event.code == EVENT_JOB_MISSED:
            times, reason = [event.scheduled_run_time], TOO_LATE
        else:
            times, reason = event.scheduled_run_times, OVERLAP
        store, now = self._jobs.store, self._jobs.store.now()
        try:
            store.write(lambda conn: miss_runs(conn, store.dialect, self.name, event.job_id, times, reason, now))
        except StoreError as error:
            self._logger.warning("a missed time of %s was not recorded: %s", event.job_id, error)

    # -- reading -------------------------------------------------------------------------------------

    def lookup_job(self, job_id: str) -> KeptJob | None:
        """Return a job, or None."""
        found = self._read(aps_jobs.c.id == job_id)
        return found[0][0] if found else None

    def get_all_jobs(self) -> list[KeptJob]:
        """Return all jobs, the next one first, paused ones last. One whose function is not known here is left out."""
        jobs = [job for job, _ in self._read()]
        return sorted(jobs, key=lambda job: (job.next_run_time is None, job.next_run_time or job.id))

    def get_next_run_time(self) -> datetime | None:
        """Return the next planned time of all jobs, or None. While the store is away: when to look again."""
        try:
            self._known_next = self._next()
        except StoreError as error:
            self._logger.warning("the next time of %r is not known: %s", self._alias, error)
            wait = getattr(self._scheduler, "jobstore_retry_interval", 10)
            self._known_next = datetime.now(UTC) + timedelta(seconds=wait)
        return self._known_next

    def _next(self) -> datetime | None:
        query = select(func.min(aps_jobs.c.next_run_time)).where(aps_jobs.c.store == self.name)
        if self._unreadable:
            query = query.where(aps_jobs.c.id.not_in(list(self._unreadable)))
        with self._jobs.store.read() as conn:
            found: datetime | None = conn.execute(query).scalar()
        return found

    def _read(self, *conditions: ColumnElement[bool]) -> list[tuple[KeptJob, int]]:
        """Return jobs with their versions, the next one first."""
        query = _SELECT.where(aps_jobs.c.store == self.name, *conditions)
        with self._jobs.store.read() as conn:
            rows = conn.execute(query.order_by(aps_jobs.c.next_run_time, aps_jobs.c.id)).all()
        jobs = []
        for row in rows:
            try:
                job = job_from_json(row.id, json.loads(row.definition), row.next_run_time)
            except Exception as error:
                self._cannot_read(row.id, row.version, error)
                continue
            self._unreadable.pop(row.id, None)
            job._scheduler, job._jobstore_alias = self._scheduler, self._alias
            jobs.append((job, row.version))
        return jobs

    def _cannot_read(self, job_id: str, version: int, error: Exception) -> None:
        """Leave a job to the processes that know its function; it is logged once for each version of it."""
        if self._unreadable.get(job_id) != version:
            self._logger.error("the job %s cannot be run here: %s", job_id, error)
        self._unreadable[job_id] = version

    # -- claiming ------------------------------------------------------------------------------------

    def get_due_jobs(self, now: datetime) -> list[KeptJob]:
        """Claim the jobs that are due: each is given to one scheduler, and its next time is stored before it runs.

        Returns:
            The claimed jobs, the oldest planned time first.
        """
        found = []
        for job, version in self._read(aps_jobs.c.next_run_time <= now.astimezone(UTC)):
            times = job._get_run_times(now)
            if times:
                found.append((job, version, times, job.trigger.get_next_fire_time(times[-1], now)))
        if not found:
            return []
        claimed: list[KeptJob] = self._jobs.store.write(partial(self._claim, found))
        return claimed

    def _claim(self, found: list[tuple[Any, ...]], conn: Connection) -> list[KeptJob]:
        claimed = []
        for job, version, times, following in found:
            same = self._same(job.id) & (aps_jobs.c.version == version)
            advanced = update(aps_jobs).where(same).values(next_run_time=following, version=version + 1)
            if conn.execute(advanced if following else delete(aps_jobs).where(same)).rowcount != 1:
                continue  # another scheduler has it, or it was changed just now
            rows = planned_runs(self.name, job.id, times, self._jobs.store.now(), coalesce=job.coalesce)
            put_runs(conn, self._jobs.store.dialect, rows)
            job.claimed = times
            if following is None:
                self._finished.add(job.id)
            claimed.append(job)
        return claimed

    # -- changing ------------------------------------------------------------------------------------

    def add_job(self, job: Any) -> None:
        """Store a job.

        Raises:
            ConflictingIdError: If the id is taken.
            UsageError: If the job is not JSON: its function, its arguments or its trigger.
        """
        values = {"store": self.name, "id": job.id, "version": 1, **self._values(job)}
        try:
            self._jobs.store.write(lambda conn: conn.execute(insert(aps_jobs).values(values)))
        except DuplicateRow:
            raise ConflictingIdError(job.id) from None
        self._finished.discard(job.id)

    def update_job(self, job: Any) -> None:
        """Store what has changed of a job since it was read; what others have changed meanwhile stays.

        Raises:
            JobLookupError: If the job is not there.
            UsageError: If the job is not JSON.
        """
        if isinstance(job, KeptJob) and job.claimed is not None:
            return  # its next time was stored when it was claimed
        values = self._values(job)
        if not self._jobs.store.write(partial(self._update, job, values)):
            raise JobLookupError(job.id)

    def _update(self, job: Any, values: dict[str, Any], conn: Connection) -> bool:
        row = conn.execute(_SELECT.where(self._same(job.id)).with_for_update()).first()
        if row is None:
            return False
        if isinstance(job, KeptJob):
            before, next_before = job.stored
            new = json.loads(values.pop("definition"))
            changed = {name: value for name, value in new.items() if value != before.get(name)}
            if changed:
                values["definition"] = json.dumps({**json.loads(row.definition), **changed})
            if job.next_run_time == next_before:
                del values["next_run_time"]
        if values:
            conn.execute(update(aps_jobs).where(self._same(job.id)).values(version=row.version + 1, **values))
        return True

    def remove_job(self, job_id: str) -> None:
        """Remove a job.

        Raises:
            JobLookupError: If the job is not there.
        """
        if job_id in self._finished:  # it went with its last planned time
            self._finished.discard(job_id)
            return
        removed = self._jobs.store.write(lambda conn: conn.execute(delete(aps_jobs).where(self._same(job_id))).rowcount)
        if removed == 0:
            raise JobLookupError(job_id)

    def remove_all_jobs(self) -> None:
        """Remove all jobs of this store; what became of their planned times stays."""
        self._jobs.store.write(lambda conn: conn.execute(delete(aps_jobs).where(aps_jobs.c.store == self.name)))

    def _same(self, job_id: str) -> ColumnElement[bool]:
        return (aps_jobs.c.store == self.name) & (aps_jobs.c.id == job_id)

    def _values(self, job: Any) -> dict[str, Any]:
        definition = job_to_json(job, self._jobs.settings.argument_limit)
        moment = job.next_run_time
        return {
            "definition": json.dumps(definition),
            "next_run_time": None if moment is None else moment.astimezone(UTC),
        }

    def __repr__(self) -> str:
        """Its name."""
        return f"<{type(self).__name__} {self.name}>"
