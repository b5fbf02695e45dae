"""For the tests of applications: a movable clock, draining, inline execution, and a look at what was enqueued.

    clock = MovableClock()
    jobs = JobTrail(f"sqlite:///{tmp_path}/jobs.db", clock=clock)
    ...
    drain(jobs)                      # run what is due, in this thread
    clock.move(hours=1); drain(jobs) # a retry planned for later is due now
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jobtrail.app import JobTrail
    from jobtrail.engine.handle import BoundTask, Job


class MovableClock:
    """A clock that stands still until it is moved; hand it to ``JobTrail(clock=…)``."""

    def __init__(self, start: datetime | None = None) -> None:
        self._now = start or datetime.now(UTC)

    def now(self) -> datetime:
        """The moment it shows, UTC."""
        return self._now

    def move(self, **by: float) -> datetime:
        """Move by hours=, minutes=, seconds=, days= (also back); the new moment."""
        self._now += timedelta(**by)
        return self._now

    def set(self, moment: datetime) -> None:
        """Show this moment (aware)."""
        self._now = moment.astimezone(UTC)


def drain(jobs: JobTrail, *, delayed: bool = False, **worker: Any) -> list[Job]:
    """Run what is due until nothing is, in a worker of this thread; the jobs that ran or ended, oldest first.

    ``delayed=True`` waits for delayed jobs and planned retries too (in real time). Other keywords go to
    the worker (``queues``, ``slots``). Inside a running event loop use `adrain`.
    """
    ran: list[Job] = _in_own_loop(lambda: adrain(jobs, delayed=delayed, **worker))
    return ran


async def adrain(jobs: JobTrail, *, delayed: bool = False, **worker: Any) -> list[Job]:
    """`drain` for an event loop."""
    await asyncio.to_thread(jobs.service.make_ready)
    runner = jobs.worker(**{"beat": None, **worker})
    ran = runner.seen = []
    await runner.run(burst=True, due_only=not delayed)
    return [jobs.get(job_id) for job_id in sorted(set(ran))]


@contextlib.contextmanager
def inline(jobs: JobTrail) -> Iterator[None]:
    """Inside the block every submission is run before ``enqueue`` returns, through the store as in production."""
    service = jobs.service
    plain = service.store_prepared

    def store_and_run(prepared: Any) -> Job:
        job = plain(prepared)
        drain(jobs)
        return job.refresh()

    service.store_prepared = store_and_run  # type: ignore[method-assign]
    try:
        yield
    finally:
        service.store_prepared = plain  # type: ignore[method-assign]


def assert_enqueued(
    jobs: JobTrail, task: BoundTask | str, *, args: Mapping[str, Any] | None = None, **fields: Any
) -> Job:
    """A job of this task is stored, with at least these arguments and columns (status=, source=, period=, …).

    Raises: AssertionError that lists what there is instead.
    """
    name = task if isinstance(task, str) else task.name
    found = jobs.find(f"task:{name}", limit=1000)
    for job in found:
        row, arguments = job.row, job.arguments
        fits = all(getattr(row, field) == value for field, value in fields.items())
        if fits and all(arguments.get(key) == value for key, value in (args or {}).items()):
            return job
    there = "\n".join(f"  {job.row.status} {job.row.source} {job.row.period} {job.arguments}" for job in found[:20])
    message = f"no job of '{name}' has {fields or ''} and the arguments {dict(args or {})}; there are:\n{there or '  none'}"
    raise AssertionError(message)


def _in_own_loop(make: Any) -> Any:
    """Run a coroutine whether or not this thread has a loop of its own already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(make())
    answer: list[Any] = []
    error: list[BaseException] = []

    def run() -> None:
        try:
            answer.append(asyncio.run(make()))
        except BaseException as caught:  # noqa: BLE001 - handed to the caller
            error.append(caught)

    thread = threading.Thread(target=run, name="jobtrail-testing")
    thread.start()
    thread.join()
    if error:
        raise error[0]
    return answer[0]
