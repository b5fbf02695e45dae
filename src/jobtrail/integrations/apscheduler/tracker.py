"""The recorder of a process: a worker in a thread of its own, which keeps the record of what APScheduler runs."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import threading
import time
import weakref
from dataclasses import replace
from datetime import UTC, datetime
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any

from apscheduler.util import ref_to_obj
from sqlalchemy import update

from jobtrail.commands.submit import prepare
from jobtrail.commands.using import Using
from jobtrail.errors import JobTrailError, PermanentError, StoreError, UsageError
from jobtrail.fork_lock import ForkLock
from jobtrail.job.json_value import encode_arguments
from jobtrail.job.task import name_option
from jobtrail.messages import Message
from jobtrail.store import jobs as job_rows
from jobtrail.store import submissions
from jobtrail.worker.worker import Worker

from .firing import FIRING_TASK, QUEUE, Firing
from .slots import COALESCED, OVERLAP, TOO_LATE, miss_runs
from .tables import aps_slots

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Connection

    from jobtrail.job.model import Claim, NewJob

_log = logging.getLogger("jobtrail.aps")
_RANDOM_ID = re.compile(r"[0-9a-f]{32}")
START_WITHIN = 10.0  # seconds from the start of the scheduler until functions run although the worker has not begun
PAUSE = 1.0  # seconds between two tries to begin
STOP_WITHIN = 10.0  # seconds
_recorders: weakref.WeakKeyDictionary[Any, ApsRecorder] = weakref.WeakKeyDictionary()
_lock = ForkLock()


class ApsRecorder:
    """Keeps the record of the firings in this process; made by `recorder_of`.

    Args:
        jobs: The application.

    """

    def __init__(self, jobs: Any) -> None:
        self._jobs = weakref.ref(jobs)
        self.firings: dict[str, Firing] = {}
        self.lost = 0  # firings that ran without a record
        self._schedulers: weakref.WeakSet[Any] = weakref.WeakSet()
        self._worker: Worker | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._ready = threading.Event()
        self._ends = False
        self._wait_until = 0.0  # seconds of the monotonic clock
        self._lock = ForkLock()

    @property
    def jobs(self) -> Any:
        """The application."""
        return self._jobs()

    # -- begin and end -------------------------------------------------------------------------------

    def begin(self, scheduler: Any) -> None:
        """Keep the record of a scheduler that starts."""
        with self._lock:
            self._schedulers.add(scheduler)
            self._ends = False
            if self._thread is None or not self._thread.is_alive():
                self._ready.clear()
                self._wait_until = time.monotonic() + START_WITHIN
                self._thread = threading.Thread(target=self._serve, args=(self.jobs,), name="jobtrail-aps", daemon=True)
                self._thread.start()

    def end(self, scheduler: Any) -> None:
        """A scheduler has shut down; with the last one the worker ends, as soon as nothing runs any more."""
        with self._lock:
            self._schedulers.discard(scheduler)
            self._ends = not self._schedulers
            thread = self._thread
        if self._ends and thread is not None and not self.firings:
            thread.join(STOP_WITHIN)

    def _serve(self, jobs: Any) -> None:
        while not self._ends:
            try:
                jobs.make_ready()
                asyncio.run(self._work(jobs))
            except Exception as error:
                _log.warning("what APScheduler runs is not recorded now: %s", error)
                time.sleep(PAUSE)
            finally:
                self._ready.clear()

    async def _work(self, jobs: Any) -> None:
        middleware = [*jobs.middleware, *jobs.plugins.middleware()]
        worker = self._worker = Worker.of_service(jobs.service, middleware, jobs.state, queues=[QUEUE])
        self._loop = asyncio.get_running_loop()
        running = self._loop.create_task(worker.run())
        while not running.done():
            if worker.ready.is_set():
                self._ready.set()
            with self._lock:
                if self._ends and not self.firings:
                    self._ready.clear()
                    break
            await asyncio.sleep(0.05)
        worker.stop()
        await running

    # -- one firing ----------------------------------------------------------------------------------

    def fire(self, job: Any, planned: datetime) -> Firing | None:
        """Store the job that records a firing, as running in this process.

        Args:
            job: The APScheduler job.
            planned: The planned time.

        Returns:
            The firing; None where it cannot be recorded, which is logged and counted.
        """
        try:
            self._ready.wait(max(0.0, self._wait_until - time.monotonic()))
            new, firing = self._new_job(job, planned), Firing()
            with self._lock:
                if not self._ready.is_set() or self._worker is None or self._loop is None:
                    raise StoreError(Message("integrations.aps-not-begun"))
                self.firings[new.id] = firing
            try:
                claims = self.jobs.store.write(lambda conn: self._insert(conn, new, job, planned))
                self._loop.call_soon_threadsafe(self._worker.runs.start, claims)
            except BaseException:
                del self.firings[new.id]
                raise
        except (JobTrailError, RuntimeError) as error:
            self.lost += 1
            _log.warning("a run of %s at %s is not recorded (%d so far): %s", job.name, planned, self.lost, error)
            return None
        return firing

    def _insert(self, conn: Connection, new: NewJob, job: Any, planned: datetime) -> list[Claim]:
        store, worker = self.jobs.store, self._worker
        now = store.now()
        submissions.insert_plain(conn, store.dialect, [new], now)
        kept = getattr(self._store_of(job._jobstore_alias), "name", None)
        if kept is not None:
            same = (aps_slots.c.store == kept) & (aps_slots.c.schedule == job.id) & (aps_slots.c.planned_at == planned)
            conn.execute(update(aps_slots).where(same).values(job_id=new.id))
        return job_rows.claim_one(conn, new.id, worker.id if worker is not None else "", now)

    def _new_job(self, job: Any, planned: datetime) -> NewJob:
        jobs = self.jobs
        task = jobs.tasks.get(FIRING_TASK)
        given = {
            "job": job.id,
            "name": job.name,
            "function": job.func_ref,
            "args": list(job.args),
            "kwargs": dict(job.kwargs),
        }
        try:
            encode_arguments(given, jobs.settings.argument_limit)
        except UsageError:
            given |= {"args": None, "kwargs": None}
        using = Using(source=_source(job), actor=f"apscheduler:{job._jobstore_alias}"[:100])
        settings, service = jobs.settings, jobs.service
        new = prepare(task, given, using, settings, jobs.store.now(), service.submitter).new
        options = {"slot": planned.astimezone(UTC).isoformat(), "on_interrupt": "fail"}
        return replace(new, options=json.dumps(options))

    async def run_again(self, function: str | None, args: Sequence[Any] | None, kwargs: dict[str, Any] | None) -> Any:
        """Run a firing once more, because a person asked for it: by the reference of its function.

        Raises:
            PermanentError: If function or arguments could not be stored, or the function is not there.
        """
        if function is None or args is None or kwargs is None:
            raise PermanentError(Message("integrations.aps-not-again"))
        try:
            target = ref_to_obj(function)
        except (LookupError, ValueError) as error:
            raise PermanentError(Message("integrations.aps-not-here", function=function, error=str(error))) from None
        if not iscoroutinefunction(target):
            return await asyncio.to_thread(target, *args, **kwargs)
        loops = [getattr(one, "_eventloop", None) for one in self._schedulers]
        host = next((one for one in loops if one is not None and one.is_running()), None)
        if host is None:
            return await target(*args, **kwargs)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(target(*args, **kwargs), host))

    # -- what did not run ----------------------------------------------------------------------------

    def _store_of(self, alias: str | None) -> Any:
        """Our own job store of that alias; None where it is another one."""
        found = (one._jobstores.get(alias) for one in self._schedulers)
        return next((one for one in found if getattr(one, "keeps_slots", False)), None)

    def missed(self, alias: str, schedule: str, times: Iterable[datetime], reason: str) -> None:
        """Record planned times that did not run; our own job stores do it themselves."""
        times = list(times)
        if not times or self._store_of(alias) is not None:
            return
        store = self.jobs.store
        try:
            store.write(lambda conn: miss_runs(conn, store.dialect, alias, schedule, times, reason, store.now()))
        except StoreError as error:
            _log.warning("%d missed times of %s were not recorded: %s", len(times), schedule, error)

    def too_late(self, event: Any) -> None:
        """Listen to EVENT_JOB_MISSED."""
        self.missed(event.jobstore, event.job_id, [event.scheduled_run_time], TOO_LATE)

    def in_the_way(self, event: Any) -> None:
        """Listen to EVENT_JOB_MAX_INSTANCES."""
        self.missed(event.jobstore, event.job_id, event.scheduled_run_times, OVERLAP)

    def coalesced(self, job: Any, times: Iterable[datetime]) -> None:
        """Record the times that run together with a later one."""
        self.missed(job._jobstore_alias, job.id, times, COALESCED)


def _source(job: Any) -> str | None:
    """The id of an APScheduler job, or its name where the id is random."""
    try:
        return name_option("source", job.name if _RANDOM_ID.fullmatch(job.id) else job.id)
    except JobTrailError:
        return None


def recorder_of(jobs: Any) -> ApsRecorder:
    """Return the recorder of an application in this process."""
    with _lock:
        found = _recorders.get(jobs)
        if found is None:
            found = _recorders[jobs] = ApsRecorder(jobs)
        return found
