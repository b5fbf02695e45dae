"""The executor around the host's own, and `track_apscheduler`, which puts it around all of a scheduler."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from apscheduler.events import (
    EVENT_EXECUTOR_ADDED,
    EVENT_JOB_MAX_INSTANCES,
    EVENT_JOB_MISSED,
    EVENT_SCHEDULER_SHUTDOWN,
    EVENT_SCHEDULER_STARTED,
)
from apscheduler.executors.base import BaseExecutor
from apscheduler.executors.pool import ProcessPoolExecutor, ThreadPoolExecutor
from apscheduler.job import Job as ScheduledJob
from apscheduler.schedulers.base import STATE_STOPPED
from apscheduler.util import iscoroutinefunction_partial

from .job_json import KeptJob
from .plugin import mount_on
from .tracker import ApsRecorder, recorder_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_log = logging.getLogger("jobtrail.aps")
_SLOTS = [name for name in ScheduledJob.__slots__ if name != "__weakref__"]


class JobTrailExecutor(BaseExecutor):  # type: ignore[misc]  # APScheduler has no types
    """An executor of APScheduler that makes each firing a job of the application; the function runs where it ran before.

    Args:
        jobs: The application.
        inner: The executor that runs the functions; default: APScheduler's thread pool.

    Example:
        ```python
        scheduler = BackgroundScheduler(executors={"default": JobTrailExecutor(jobs, ThreadPoolExecutor(20))})
        ```
    """

    def __init__(self, jobs: Any, inner: Any = None) -> None:
        super().__init__()
        self.inner = ThreadPoolExecutor() if inner is None else inner
        mount_on(jobs)
        self._recorder = recorder_of(jobs)

    def start(self, scheduler: Any, alias: str) -> None:
        """Start the executor inside. Called by the scheduler."""
        super().start(scheduler, alias)
        self.inner.start(scheduler, alias)
        _listen(scheduler, self._recorder)

    def shutdown(self, wait: bool = True) -> None:
        """Shut down the executor inside. Called by the scheduler."""
        self.inner.shutdown(wait)

    def submit_job(self, job: Any, run_times: list[datetime]) -> None:
        """Have the executor inside run the job, with its function recorded. Called by the scheduler."""
        self.inner.submit_job(self._recorded(job, run_times), run_times)
        if job.coalesce and not isinstance(job, KeptJob):
            self._recorder.coalesced(job, _left_out(job, run_times[0]))

    def _do_submit_job(self, job: Any, run_times: list[datetime]) -> None:
        self.inner._do_submit_job(job, run_times)

    def _recorded(self, job: Any, run_times: Sequence[datetime]) -> Any:
        """A copy of the job whose function is recorded; the job itself stays as it is."""
        twin = ScheduledJob.__new__(ScheduledJob)
        for name in _SLOTS:
            setattr(twin, name, getattr(job, name))
        planned = _PlannedTimes(run_times, job.misfire_grace_time)
        twin.func = (_awaited if iscoroutinefunction_partial(job.func) else _called)(job, planned, self._recorder)
        return twin


def _called(job: Any, planned: _PlannedTimes, recorder: ApsRecorder) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        firing = recorder.fire(job, planned.next())
        if firing is None:
            return job.func(*args, **kwargs)
        firing.wait_for_record()
        return firing.run(job.func, args, kwargs)

    return call


def _awaited(job: Any, planned: _PlannedTimes, recorder: ApsRecorder) -> Callable[..., Any]:
    async def call(*args: Any, **kwargs: Any) -> Any:
        firing = await asyncio.to_thread(recorder.fire, job, planned.next())
        if firing is None:
            return await job.func(*args, **kwargs)
        await asyncio.to_thread(firing.wait_for_record)
        return await firing.arun(job.func, args, kwargs)

    return call


class _PlannedTimes:
    """Which planned time a call is for: APScheduler calls in their order, and leaves out those beyond the misfire grace."""

    def __init__(self, times: Sequence[datetime], grace: int | None) -> None:
        self._left = list(times)
        self._grace = None if grace is None else timedelta(seconds=grace)

    def next(self) -> datetime:
        now = datetime.now(UTC)
        while len(self._left) > 1 and self._grace is not None and now - self._left[0] > self._grace:
            del self._left[0]
        return self._left.pop(0) if len(self._left) > 1 else self._left[0]


def _left_out(job: Any, first: datetime) -> Iterator[datetime]:
    """The planned times from the job's next one to the one that runs, which is not among them."""
    at = job.next_run_time
    while at is not None and at < first:
        yield at
        at = job.trigger.get_next_fire_time(at, first)


# -- an existing scheduler -------------------------------------------------------------------------------


def track_apscheduler(scheduler: Any, jobs: Any) -> None:
    """Record everything that a scheduler runs as jobs of an application; job stores, jobs and functions stay as they are.

    It may be called before or after ``scheduler.start()``, once or again.

    Args:
        scheduler: A scheduler of APScheduler 3.11.
        jobs: The application.

    Example:
        ```python
        scheduler = BackgroundScheduler()
        track_apscheduler(scheduler, jobs)
        scheduler.start()
        ```
    """

    def wrap(alias: str) -> None:
        with scheduler._executors_lock:
            inner = scheduler._executors[alias]
            if isinstance(inner, JobTrailExecutor):
                return
            if isinstance(inner, ProcessPoolExecutor):
                _log.warning("the executor '%s' runs functions in other processes, so they are not recorded", alias)
                return
            scheduler._executors[alias] = JobTrailExecutor(jobs, inner)

    mount_on(jobs)
    for alias in list(scheduler._executors):
        wrap(alias)
    scheduler.add_listener(lambda event: wrap(event.alias), EVENT_EXECUTOR_ADDED)
    _listen(scheduler, recorder_of(jobs))


def _listen(scheduler: Any, recorder: ApsRecorder) -> None:
    """Tell a recorder what the scheduler does, once."""
    if any(getattr(callback, "__self__", None) is recorder for callback, _ in scheduler._listeners):
        return
    scheduler.add_listener(recorder.too_late, EVENT_JOB_MISSED)
    scheduler.add_listener(recorder.in_the_way, EVENT_JOB_MAX_INSTANCES)
    scheduler.add_listener(lambda event: recorder.begin(scheduler), EVENT_SCHEDULER_STARTED)  # noqa: ARG005
    scheduler.add_listener(lambda event: recorder.end(scheduler), EVENT_SCHEDULER_SHUTDOWN)  # noqa: ARG005
    if scheduler.state != STATE_STOPPED:
        recorder.begin(scheduler)
