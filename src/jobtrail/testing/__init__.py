"""Helpers for the tests of applications: a movable clock, draining, inline execution, assertions, crashes.

clock = MovableClock()
jobs = JobTrail(f"sqlite:///{tmp_path}/jobs.db", clock=clock)
...
drain(jobs)                      # run due jobs, in this thread
clock.move(hours=1); drain(jobs) # a retry planned for later is due now
tick(jobs); drain(jobs)          # submit and run the jobs of due schedules

crash(jobs, app="myproject.jobs:jobs", at="item:3")  # kill a real worker process after the third item
recover(jobs)                                        # recover its jobs and run them
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

from jobtrail.job.period import Period
from jobtrail.recovery.upkeep import Upkeep

from . import fault_injection

if TYPE_CHECKING:
    from jobtrail.app import JobTrail
    from jobtrail.commands.job_handle import Job
    from jobtrail.commands.task_handle import BoundTask


class MovableClock:
    """Clock that stands still until it is moved; pass it to ``JobTrail(clock=…)``.

    Args:
        start: First time, an aware datetime; default: the current time.

    Example:
        ```python
        clock = MovableClock()
        jobs = JobTrail("sqlite:///test.db", clock=clock)
        clock.move(hours=1)
        drain(jobs)
        ```
    """

    def __init__(self, start: datetime | None = None) -> None:
        self._now = start or datetime.now(UTC)

    def now(self) -> datetime:
        """Return the time of the clock, in UTC."""
        return self._now

    def move(self, **by: float) -> datetime:
        """Move the clock and return the new time.

        Args:
            **by: ``days``, ``hours``, ``minutes``, ``seconds``; negative values move it back.
        """
        self._now += timedelta(**by)
        return self._now

    def set(self, moment: datetime) -> None:
        """Set the clock.

        Args:
            moment: The new time, an aware datetime.
        """
        self._now = moment.astimezone(UTC)


def drain(jobs: JobTrail, *, delayed: bool = False, **worker: Any) -> list[Job]:
    """Run due jobs in this thread until none is due.

    Inside a running event loop use `adrain`.

    Args:
        jobs: The application.
        delayed: Also wait, in real time, for delayed jobs and planned retries.
        **worker: Options of the worker: ``queues``, ``slots``.

    Returns:
        The jobs that ran or ended, oldest first.
    """
    ran: list[Job] = _in_own_loop(lambda: adrain(jobs, delayed=delayed, **worker))
    return ran


async def adrain(jobs: JobTrail, *, delayed: bool = False, **worker: Any) -> list[Job]:
    """`drain` for an event loop.

    Args:
        jobs: As for `drain`.
        delayed: As for `drain`.
        **worker: As for `drain`.
    """
    await asyncio.to_thread(jobs.make_ready)
    runner = jobs.worker(**{"beat": None, **worker})
    ran = runner.runs.started = []
    await runner.run(burst=True, due_only=not delayed)
    return [jobs.get(job_id) for job_id in sorted(set(ran))]


def tick(jobs: JobTrail) -> int:
    """Store the declared schedules and submit the jobs that are due at the time of the clock; `drain` runs them.

    Times that were missed since the last call are caught up by the rule of each schedule.

    Args:
        jobs: The application.

    Returns:
        Number of submitted jobs.
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
    """Run each job before ``enqueue`` returns, inside a ``with`` block. The store is used as in production.

    Args:
        jobs: The application.
    """
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
    """A killed worker process.

    Attributes:
        at: Point at which it died.
        pid: Its process id.
        log: What it wrote to standard error.
    """

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
    """Run a worker process and kill it with SIGKILL when it first reaches a named point.

    Args:
        jobs: The application; the worker uses its database.
        app: Name of the application for the other process, as for ``jobtrail --app``.
        at: claim_answer_lost, claimed, step:NAME, item:N, before_settle, settle_answer_lost,
            after_settle or released.
        timeout: Longest wait in seconds.
        environment: Additional environment variables.
        arguments: Additional arguments of ``jobtrail worker``.

    Returns:
        The killed process; `recover` continues.

    Raises:
        AssertionError: If the worker ends without reaching the point, or does not reach it within ``timeout``.
    """
    fault_injection.check(at)
    jobs.make_ready()
    url = jobs.store.database.url.render_as_string(hide_password=False)
    paths = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
    variables = {**os.environ, "PYTHONPATH": paths, **(environment or {}), "JOBTRAIL_URL": url}
    command = [sys.executable, "-m", fault_injection.__name__, at, "--app", app, "--database", url, "worker", "--burst", *arguments]
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
    """Run one turn of upkeep, which finds the dead process, and then `drain`.

    Args:
        jobs: The application.
        delayed: As for `drain`.
        **worker: As for `drain`.

    Returns:
        The jobs that ran.
    """
    Upkeep(jobs.store, jobs.tasks, jobs.settings, _Beating(), str).run_once(time.monotonic())
    return drain(jobs, delayed=delayed, **worker)


class _Beating:
    """The heartbeat of a living worker, for one turn of upkeep."""

    def start(self, worker: str) -> None:
        """Do nothing."""

    def tick(self, running: Sequence[str], children: Sequence[int], told: dict[str, Any]) -> None:
        """Do nothing."""

    def written_within(self, seconds: float) -> bool:
        """Return True: the caller is alive."""
        return seconds > 0

    def stop(self) -> None:
        """Do nothing."""

    def health(self) -> None:
        """Do nothing."""


def assert_enqueued(
    jobs: JobTrail, task: BoundTask | str, *, args: Mapping[str, Any] | None = None, **fields: Any
) -> Job:
    """Check that a job of a task is stored.

    Args:
        jobs: The application.
        task: Task, or its name.
        args: Arguments that the job has at least.
        **fields: Attributes of the job: ``status``, ``source``, ``period``, ``attempt``, ….

    Returns:
        The job.

    Raises:
        AssertionError: If there is none; the message lists the jobs of the task.
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
    """Run a coroutine, also if this thread already has an event loop."""
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
