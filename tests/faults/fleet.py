"""Workers as real processes over one database, the diary of their bodies, and what must be true afterwards."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import warm
from sqlalchemy import select

from jobtrail import JobTrail
from jobtrail.database.tables import jobs as jobs_table
from jobtrail.database.tables import workers as workers_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

HERE = Path(__file__).parent
FINAL = ("completed", "partial", "failed", "cancelled")


class Waited(AssertionError):
    """A fact did not come true in time."""


def until(what: str, fact: Callable[[], Any], *, timeout: float = 20.0, every: float = 0.02) -> Any:
    """Wait until ``fact()`` is true and give what it gave."""
    end = time.monotonic() + timeout
    while not (found := fact()):
        if time.monotonic() > end:
            message = f"waited {timeout:g} s in vain until {what}"
            raise Waited(message)
        time.sleep(every)
    return found


@dataclass
class Process:
    """One `jobtrail worker`."""

    popen: subprocess.Popen[bytes] | warm.Started
    log: Path

    @property
    def pid(self) -> int:
        return self.popen.pid

    def signal(self, number: int) -> None:
        self.popen.send_signal(number)

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        self.popen.kill()
        self.popen.wait()

    def beat_child(self) -> int | None:
        """The pid of its beat process."""
        for child in _children(self.pid):
            with contextlib.suppress(OSError):
                if b"jobtrail.recovery.beat_child" in Path(f"/proc/{child}/cmdline").read_bytes():
                    return child
        return None

    def said(self) -> str:
        return self.log.read_text(errors="replace")


@dataclass
class Fleet:
    """Workers over one database."""

    url: str
    folder: Path
    settings: dict[str, Any] = field(default_factory=dict)
    processes: list[Process] = field(default_factory=list)
    app: str = "works:jobs"

    def __post_init__(self) -> None:
        self.diary_path = self.folder / "diary"
        self.diary_path.touch()
        self.jobs = JobTrail(self.url, poll_interval=0.1, migrate=True)
        self.jobs.service.make_ready()

    # -- processes -----------------------------------------------------------------------------------

    def environment(self) -> dict[str, str]:
        """What a worker of this fleet is started with."""
        ours = {f"JOBTRAIL_{name.upper()}": str(value) for name, value in self.settings.items()}
        paths = os.pathsep.join([str(HERE), *(path for path in sys.path if path)])
        return {
            **os.environ, **ours, "JOBTRAIL_URL": self.url, "FAULTS_DIARY": str(self.diary_path), "PYTHONPATH": paths,
            "PYTHONDONTWRITEBYTECODE": "",
        }  # fmt: skip

    def start(self, *arguments: str, wait: bool = True) -> Process:
        """Start a worker; it is registered when this returns."""
        log = self.folder / f"worker-{len(self.processes)}.log"
        with log.open("wb") as out:
            popen = subprocess.Popen(
                [sys.executable, "-m", "jobtrail", "--app", self.app, "worker", *arguments],
                env=self.environment(), stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=self.folder,
            )  # fmt: skip
        process = Process(popen, log)
        self.processes.append(process)
        if wait:
            until(f"worker {popen.pid} is registered", lambda: self.state_of(popen.pid) == "alive" or popen.poll())
            assert popen.poll() is None, process.said()
        return process

    def start_many(self, number: int, *arguments: str) -> list[Process]:
        started = [self.start(*arguments, wait=False) for _ in range(number)]
        for one in started:
            until("all workers are registered", lambda one=one: self.state_of(one.pid) == "alive", timeout=40)
        return started

    def state_of(self, pid: int) -> str | None:
        """What the store says of the worker with this pid, its newest life."""
        row = self.worker(pid)
        return None if row is None else str(row.state)

    def worker(self, pid: int) -> Any:
        table = workers_table
        query = select(table).where(table.c.pid == pid).order_by(table.c.started_at.desc()).limit(1)
        with self.jobs.store.read() as conn:
            return conn.execute(query).first()

    def living(self) -> list[Process]:
        return [one for one in self.processes if one.popen.poll() is None]

    def stop(self, *, timeout: float = 20.0) -> None:
        """End what is still there, in order where that helps."""
        for one in self.living():
            one.signal(signal.SIGTERM)
        end = time.monotonic() + timeout
        for one in self.living():
            with contextlib.suppress(subprocess.TimeoutExpired):
                one.popen.wait(max(0.1, end - time.monotonic()))
        for one in self.living():
            one.kill()
        self.jobs.close()

    # -- what happened -------------------------------------------------------------------------------

    def diary(self, what: str | None = None) -> list[dict[str, Any]]:
        """What the bodies wrote, in order."""
        lines = [json.loads(line) for line in self.diary_path.read_text().splitlines()]
        return [line for line in lines if what is None or line["what"] == what]

    def submit(self, task: str, *, queue: str = "default", **args: Any) -> str:
        """Submit by a task's name; the job's id."""
        import works

        works.jobs.store = works.jobs.service.store = self.jobs.store
        works.jobs.service._ready = True
        job_id: str = works.jobs.task_named(task).using(queue=queue).enqueue(**args).id
        return job_id

    def rows(self) -> dict[str, Any]:
        """All jobs by id: status, attempt, run_no."""
        table = jobs_table
        query = select(table.c.id, table.c.status, table.c.attempt, table.c.run_no, table.c.strikes, table.c.error)
        with self.jobs.store.read() as conn:
            return {row.id: row for row in conn.execute(query)}

    def unfinished(self) -> int:
        """How many jobs have not ended."""
        from sqlalchemy import func

        query = select(func.count()).where(jobs_table.c.status.not_in(FINAL))
        with self.jobs.store.read() as conn:
            return int(conn.execute(query).scalar() or 0)

    def drained(self, *, timeout: float = 60.0) -> None:
        until("every job has ended", lambda: self.unfinished() == 0, timeout=timeout, every=0.05)


@contextlib.contextmanager
def fleet(url: str, folder: Path, **settings: Any) -> Iterator[Fleet]:
    """Workers with these settings; what was started is stopped."""
    one = Fleet(url, folder, settings)
    try:
        yield one
    finally:
        one.stop()


# -- what must be true -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Balance:
    """What was submitted, and what became of it."""

    submitted: int
    completed: int
    given_up: int
    lost: int
    overstarted: int
    restarted: int


def balance(one: Fleet, ids: Iterable[str]) -> Balance:
    """Count. ``overstarted``: jobs whose body started more often than runs are recorded, or twice in one run.

    ``given_up``: failed, visibly, because they were struck down three times; ``lost`` is neither.
    """
    rows, wanted = one.rows(), list(ids)
    starts = Counter((line["job"], line["run"]) for line in one.diary("start"))
    of_job = Counter(job for job, _ in starts.elements())
    over = {job for (job, _), number in starts.items() if number > 1}
    over |= {job for job, number in of_job.items() if job in rows and number > rows[job].run_no}
    completed = sum(1 for job in wanted if job in rows and rows[job].status == "completed")
    given_up = sum(1 for job in wanted if job in rows and rows[job].status == "failed" and rows[job].strikes == 3)
    lost = len(wanted) - completed - given_up
    return Balance(len(wanted), completed, given_up, lost, len(over), sum(n > 1 for n in of_job.values()))


def check(one: Fleet, ids: Iterable[str]) -> Balance:
    """Nothing lost, nothing started behind the record's back; completed means that a body came to its end."""
    found = balance(one, ids)
    assert found.lost == 0, found
    assert found.overstarted == 0, found
    ended = {line["job"] for line in one.diary("end")}
    assert not [job for job, row in one.rows().items() if row.status == "completed" and job not in ended]
    return found


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            found += [int(child) for child in (thread / "children").read_text().split()]
    return found
