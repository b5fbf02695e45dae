"""For the tests of applications: a movable clock, draining, inline execution, a look at what was enqueued, and crashes.

clock = MovableClock()
jobs = JobTrail(f"sqlite:///{tmp_path}/jobs.db", clock=clock)
...
drain(jobs)                      # run what is due, in this thread
clock.move(hours=1); drain(jobs) # a retry planned for later is due now
tick(jobs); drain(jobs)          # the schedules whose time has come, and their jobs

crash(jobs, app="myproject.jobs:jobs", at="item:3")  # a real worker process dies after the third item
recover(jobs)                                        # what stands when its jobs have been taken up again
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .job.period import Period
from .recovery.upkeep import Upkeep
from .worker import fault_injection

if TYPE_CHECKING:
    from .app import JobTrail
    from .commands.job_handle import Job
    from .commands.task_handle import BoundTask


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


def tick(jobs: JobTrail) -> int:
    """Store the declared schedules and make the jobs that are due at the clock's moment: how many; `drain` runs them.

    What was missed since the last call is made up for by each schedule's own rule, as after a downtime.
    """
    jobs.schedules.sync()
    scheduler = jobs.schedules.scheduler(lambda: jobs.service.submitter)
    made = 0
    while True:
        turn = scheduler.run_once(jobs.store.now())
        made += turn.submitted
        if turn.wait > 0:
            return made


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


# -- crashes -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Crash:
    """A worker process that is dead: where it died, its pid, and what it had written on standard error."""

    at: str
    pid: int
    log: str


def crash(
    jobs: JobTrail,
    *,
    app: str,
    at: str,
    timeout: float = 60.0,
    environment: Mapping[str, str] | None = None,
    arguments: Sequence[str] = (),
) -> Crash:
    """Run a worker process on the jobs that wait; at the first time it reaches ``at`` it is killed with SIGKILL.

    ``app`` names the application for the other process, as for ``jobtrail --app``; it works on the database
    of ``jobs``. ``at``: claim_answer_lost, claimed, step:NAME, item:N, before_settle, settle_answer_lost,
    after_settle. ``arguments`` go to ``jobtrail worker``. Returns when the process is dead; `recover` goes on.

    Raises: AssertionError when the worker ended without having reached the point, or not within ``timeout``.
    """
    fault_injection.check(at)
    jobs.service.make_ready()
    url = jobs.store.database.url.render_as_string(hide_password=False)
    paths = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
    variables = {**os.environ, "PYTHONPATH": paths, **(environment or {}), fault_injection.VARIABLE: at, "JOBTRAIL_URL": url}
    command = [sys.executable, "-m", "jobtrail", "--app", app, "--database", url, "worker", "--burst", *arguments]
    process = subprocess.Popen(  # noqa: S603 - our own command
        command, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    try:
        _, said = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        message = f"the worker did not reach the point '{at}' within {timeout:g} s"
        raise AssertionError(message) from None
    log = said.decode(errors="replace")
    if process.returncode != -signal.SIGKILL:
        message = f"the worker ended with code {process.returncode} and did not reach the point '{at}':\n{log}"
        raise AssertionError(message)
    return Crash(at, process.pid, log)


def recover(jobs: JobTrail, *, delayed: bool = True, **worker: Any) -> list[Job]:
    """One turn of upkeep, which finds that the process is gone, and `drain`: the jobs that ran in it."""
    Upkeep(jobs.store, jobs.tasks, jobs.settings, _Beating(), str).run_once(time.monotonic())
    return drain(jobs, delayed=delayed, **worker)


class _Beating:
    """The beat of somebody who is alive, for a turn of upkeep made by hand."""

    def start(self, worker: str) -> None:
        """Nothing to begin."""

    def tick(self, running: Sequence[str], children: Sequence[int], told: dict[str, Any]) -> None:
        """Nothing to tell."""

    def written_within(self, seconds: float) -> bool:
        """Whoever calls by hand lives."""
        return seconds > 0

    def stop(self) -> None:
        """Nothing to end."""

    def health(self) -> None:
        """It is no chore."""


def assert_enqueued(
    jobs: JobTrail, task: BoundTask | str, *, args: Mapping[str, Any] | None = None, **fields: Any
) -> Job:
    """A job of this task is stored, with at least these arguments and columns (status=, source=, period=, …).

    Raises: AssertionError that lists what there is instead.
    """
    name = task if isinstance(task, str) else task.name
    found = jobs.find(f"task:{name}", limit=1000)
    expected = {**fields, "period": Period.parse(fields["period"])} if fields.get("period") else fields
    for job in found:
        fits = all(getattr(job, field) == value for field, value in expected.items())
        if fits and all(job.arguments.get(key) == value for key, value in (args or {}).items()):
            return job
    there = "\n".join(f"  {job.status} {job.source} {job.period} {job.arguments}" for job in found[:20])
    message = f"no job of '{name}' has {fields or ''} and the arguments {dict(args or {})}; there are:\n{there or '  none'}"
    raise AssertionError(message)


def _has_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _in_own_loop(make: Any) -> Any:
    """Run a coroutine whether or not this thread has a loop of its own already."""
    if not _has_loop():
        return asyncio.run(make())
    answer: list[Any] = []
    error: list[BaseException] = []

    def run() -> None:
        try:
            answer.append(asyncio.run(make()))
        except BaseException as caught:
            error.append(caught)

    thread = threading.Thread(target=run, name="jobtrail-testing")
    thread.start()
    thread.join()
    if error:
        raise error[0]
    return answer[0]
