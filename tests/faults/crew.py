"""Workers of Celery as real processes over one broker and one database: `fleet.Fleet` with another kind of worker."""

from __future__ import annotations

import contextlib
import os
import signal
from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import warm
from celery import Celery
from celery_works import Elsewhere, declare
from fleet import HERE, Fleet, Process, balance, until
from sqlalchemy import select

from jobtrail import JobTrail
from jobtrail.database.tables import jobs as table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SETTINGS = {
    "beat_interval": 0.5, "silent_after": 3.0, "sweep_interval": 0.3, "poll_interval": 0.2, "cancel_timeout": 0.5,
    "scheduler_lease": 3, "graceful_shutdown_timeout": 3,
}  # fmt: skip
EVENTS = "delivered_again"
RIGHT_WITHIN = 20.0  # seconds from the end of a fault until the record is right


@dataclass
class Crew(Fleet):
    """Celery workers over one database and one broker."""

    broker: str = ""
    celery: str = ""

    def __post_init__(self) -> None:
        """Declare the tasks here too, so that this process can submit."""
        self.diary_path = self.folder / "diary"
        self.diary_path.touch()
        self.jobs = declare(JobTrail(self.url, poll_interval=0.1, migrate=True, executor=Elsewhere()))
        self.jobs.make_ready()
        self.client = Celery(broker=self.broker)

    def environment(self) -> dict[str, str]:
        """What a worker is started with."""
        return {**super().environment(), "FAULTS_BROKER": self.broker, "FAULTS_CELERY": self.celery}

    def start(
        self, *arguments: str, wait: bool = True, pool: str = "prefork", number: int = 2, **environment: str
    ) -> Process:
        """Start a Celery worker; its processes are registered when this returns."""
        index = len(self.processes)
        log = self.folder / f"worker-{index}.log"
        popen = warm.start(
            "-m", "celery", "-A", "celery_works", "worker", "-P", pool, "-c", str(number), "-l", "INFO",
            "--without-mingle", "--without-gossip", "-n", f"w{index}-{os.getpid()}@here", *arguments,
            cwd=HERE, env={**self.environment(), **environment}, log=log, imported=warm.CELERY,
        )  # fmt: skip
        process = Process(popen, log)
        self.processes.append(process)
        if wait:
            self.ready(process, number if pool == "prefork" else 0)
        return process

    def ready(self, process: Process, children: int) -> None:
        """Wait until a worker and its children are registered."""

        def is_ready() -> bool:
            assert process.popen.poll() is None, process.said()
            known = [pid for pid in children_of(process.pid) if self.state_of(pid) == "alive"]
            return self.state_of(process.pid) == "alive" and len(known) >= children

        until(f"worker {process.pid} is ready", is_ready, timeout=40, every=0.1)

    def submit(
        self,
        task: str,
        *,
        queue: str = "default",
        timeout: float | None = None,
        delay: float | None = None,
        **args: Any,
    ) -> str:
        """Submit by a task's name; the job's id. ``timeout`` and ``delay`` are in seconds."""
        options: dict[str, Any] = {"queue": queue}
        if timeout is not None:
            options["timeout"] = timeout
        if delay is not None:
            options["delay"] = timedelta(seconds=delay)
        return str(self.jobs.task_named(task).using(**options).enqueue(**args).id)

    def begun(self, job: str, run: int = 1, *, timeout: float = 20.0) -> int:
        """Wait until the body of a run has begun; the process that runs it."""

        def look() -> int | None:
            return next((x["pid"] for x in self.diary("start") if (x["job"], x["run"]) == (job, run)), None)

        try:
            return int(until(f"run {run} of {job} begins", look, timeout=timeout, every=0.05))
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.told()}") from None

    def ended(self, *jobs: str, status: str = "completed", timeout: float = RIGHT_WITHIN) -> None:
        """Wait until jobs have a status."""
        try:
            until(
                f"{len(jobs)} jobs are {status}",
                lambda: {self.rows()[job].status for job in jobs} == {status},
                timeout=timeout,
            )
        except AssertionError as error:
            left = Counter(self.rows()[job].status for job in jobs)
            raise AssertionError(f"{error}: {left}\n{self.told()}") from None

    def told(self) -> str:
        """The last lines of all workers, and of the trail."""
        logs = "\n".join(f"== {one.log.name}\n{one.said()[-2500:]}" for one in self.processes)
        trail = "\n".join(
            f"{event.at:%T.%f} {job[-6:]} {event.name} run={event.run_no} {event.actor} {event.reason or ''}"
            for job in list(self.rows())[-6:] for event in self.jobs.get(job).events()
        )  # fmt: skip
        return f"{logs}\n{trail}"

    def handed_run(self, job: str) -> int | None:
        """The number of the last run before the one whose ticket was sent; None where none was."""
        with self.jobs.store.read() as conn:
            found: int | None = conn.execute(select(table.c.handed_run).where(table.c.id == job)).scalar()
        return found

    def are_sent(self, *jobs: str) -> bool:
        """Whether the tickets of jobs were sent; one that begins before the mark is written has none."""
        return all(self.handed_run(job) is not None or self.rows()[job].run_no > 0 for job in jobs)

    def are_known(self, *jobs: str) -> bool:
        """Whether Celery's main process knows that these jobs run; a cold shutdown waits for what it does not know."""
        active = self.client.control.inspect(timeout=1.0).active() or {}
        begun = {one["id"].rpartition("-")[0] for found in active.values() for one in found if one.get("time_start")}
        return set(jobs) <= begun

    def events(self, job: str, name: str = EVENTS) -> list[Any]:
        """Lines of a job's trail with a name."""
        return [event for event in self.jobs.get(job).events() if event.name == name]

    def stop(self, *, timeout: float = 20.0) -> None:
        """Kill what is left: these tests have looked at orderly ends before."""
        del timeout
        for one in self.processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(one.pid, signal.SIGKILL)
            one.popen.wait()
        self.client.close()
        self.jobs.close()


def children_of(pid: int) -> list[int]:
    """The processes that a process has started and that live."""
    with contextlib.suppress(psutil.Error):
        return [one.pid for one in psutil.Process(pid).children() if one.status() != psutil.STATUS_ZOMBIE]
    return []


def check(one: Crew, jobs: Iterable[str]) -> None:
    """Nothing lost, no body begun beyond the record."""
    wanted = list(jobs)
    found = balance(one, wanted)
    assert (found.lost, found.overstarted) == (0, 0), f"{found}\n{one.told()}"


@contextlib.contextmanager
def crew(url: str, broker: str, folder: Path, *, celery: str = "", **settings: Any) -> Iterator[Crew]:
    """Celery workers; what was started is ended."""
    one = Crew(url, folder, {**SETTINGS, **settings}, broker=broker, celery=celery)
    try:
        yield one
    finally:
        one.stop()
