"""One campaign: people, programs and faults on a deployment for some seconds, then the dust settles and every table is judged."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import evidence
import invariants
from deployment import Deployment, deploy
from faults import Faults
from fleet import until
from people import Operator, Submitter
from sqlalchemy import text

from jobtrail.commands.queues import set_paused
from jobtrail.errors import Conflict, NotFound, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SEED, SECONDS = "JOBTRAIL_CAMPAIGN_SEED", "JOBTRAIL_CAMPAIGN_SECONDS"
SETTLE_WITHIN = 120.0  # seconds


@dataclass(frozen=True)
class Plan:
    """How big a campaign is. Rates are things a second; ``keep`` are the seconds for which retention keeps ended jobs,
    ``children`` says whether workers have child processes.
    """

    seconds: float
    workers: int = 3
    submissions: float = 6.0
    presses: float = 4.0
    faults: float = 0.7
    keep: float = 60.0
    children: bool = True


SHORT = Plan(seconds=15, workers=2, submissions=4, presses=3, faults=0.6, keep=6, children=False)
WHOLE = Plan(seconds=600)


@dataclass
class Result:
    """What came of it; ``broken`` has by invariant what breaks it, ``surprises`` are errors that nobody may see."""

    database: str
    seed: int
    seconds: float
    jobs: int = 0
    acknowledged: int = 0
    given_up: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    ended: dict[str, int] = field(default_factory=dict)
    broken: dict[str, list[str]] = field(default_factory=dict)
    surprises: list[str] = field(default_factory=list)
    trails: list[str] = field(default_factory=list)

    def count(self, *names: str) -> int:
        """How many break these invariants."""
        return sum(len(self.broken.get(name, ())) for name in names)

    def __str__(self) -> str:
        kinds = ", ".join(f"{number} × {name}" for name, number in sorted(self.faults.items()))
        told = f"{self.jobs} jobs {self.ended}, {self.acknowledged} acknowledged, {self.given_up} given up; {kinds}"
        lines = [f"seed {self.seed}, {self.database}, {self.seconds:g} s: {told}"]
        lines += [f"{len(rows)} break '{name}': {rows[:5]}" for name, rows in self.broken.items()]
        return "\n".join([*lines, *self.surprises[:10], *self.trails])


def chosen_seed() -> int:
    """From the environment, or a new one."""
    return int(os.environ.get(SEED) or random.SystemRandom().randrange(1_000_000))


def run(kind: str, plan: Plan, seed: int, folder: Path) -> Result:
    """A campaign on "sqlite" or "postgresql"; the seed decides what is done, the machine how it falls out."""
    print(f"campaign on {kind}: {SEED}={seed}", flush=True)
    rng = random.Random(seed)
    result = Result("SQLite" if kind == "sqlite" else "PostgreSQL", seed, plan.seconds)
    with deploy(kind, folder, children=plan.children) as one:
        submitter = Submitter(one.jobs, _branch(rng), rate=plan.submissions, folder=folder)
        operator = Operator(one.jobs, _branch(rng), rate=plan.presses, submitter=submitter)
        faults = Faults(one, _branch(rng), workers=plan.workers, keep=plan.keep)
        _rage(one, plan, rng, faults, [submitter, operator])
        settle(one)
        result.faults, result.acknowledged = faults.began, len({told.job for told in submitter.told})
        result.surprises = [*submitter.surprises, *operator.surprises]
        with evidence.transaction(one.direct) as conn:
            evidence.load(conn, submitter.told, one.diary_path, one.spool())
            judge(conn, result)
    print(result, flush=True)
    return result


def _branch(rng: random.Random) -> random.Random:
    """A generator for one thread, so that its choices do not depend on how fast the others are."""
    return random.Random(rng.random())


def _rage(one: Deployment, plan: Plan, rng: random.Random, faults: Faults, people: list[Any]) -> None:
    started = [one.begin("both") for _ in range(plan.workers)]
    until("a worker is registered", lambda: one.state_of(started[0].pid) == "alive", timeout=40)
    for person in people:
        person.start()
    end = time.monotonic() + plan.seconds
    due = time.monotonic()
    while time.monotonic() < end:
        faults.heal()
        if time.monotonic() >= due:
            faults.begin_one()
            due = time.monotonic() + rng.expovariate(plan.faults)
        time.sleep(0.05)
    faults.heal(everything=True)
    for person in people:
        person.stop()


# -- the dust settles ----------------------------------------------------------------------------------


def settle(one: Deployment) -> None:
    """Workers that know all tasks, no schedule and no paused queue; questions are answered until every job has ended."""
    jobs = one.jobs
    leaving = one.living()
    for process in leaving:
        process.signal(signal.SIGCONT)
    for schedule in _patiently(jobs.schedules.list):
        if schedule.state == "active":
            _patiently(lambda name=schedule.name: jobs.schedules.pause(name))
    _patiently(lambda: [set_paused(jobs.service, queue, paused=False, actor="end") for queue in ("default", "bulk")])
    for _ in range(2):
        one.begin("both")
    for process in leaving:
        process.signal(signal.SIGTERM)
    until("every job has ended", lambda: _bring_on(one), timeout=SETTLE_WITHIN, every=0.2)
    for process in one.living():
        process.signal(signal.SIGTERM)
    until("all workers have left", lambda: not one.living(), timeout=30)


def _patiently(action: Callable[[], Any]) -> Any:
    """Connections may still be broken by the last fault."""
    end = time.monotonic() + 30
    while True:
        try:
            return action()
        except (StoreError, Conflict):
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


def _bring_on(one: Deployment) -> bool:
    """Answer what is asked and retry what waits for a person; True once nothing is left."""
    with contextlib.suppress(StoreError):
        for asked in one.jobs.queries.questions().questions:
            with contextlib.suppress(Conflict, NotFound):
                one.jobs.get(asked.job).answer(1)
        for job in one.jobs.find("status:interrupted"):
            with contextlib.suppress(Conflict):
                job.retry()
        return one.unfinished() == 0
    return False


def judge(conn: Any, result: Result) -> None:
    """All invariants, and the trails of the first jobs that break one."""
    result.broken = invariants.broken(conn)
    counts = "SELECT j.status, COUNT(*), SUM(CASE WHEN j.status = 'failed' AND j.strikes >= 3 THEN 1 ELSE 0 END)"
    rows = conn.execute(text(f"{counts} FROM jobtrail_jobs j GROUP BY j.status")).all()
    removed = conn.execute(text("SELECT COUNT(*) FROM campaign_removed")).scalar()
    result.ended = {**{row[0]: row[1] for row in rows}, "removed": removed}
    result.jobs, result.given_up = sum(result.ended.values()), sum(int(row[2] or 0) for row in rows)
    for job in [row for rows in result.broken.values() for row in rows[:2]]:
        trail = "SELECT name, from_status, to_status, run_no, reason, at FROM jobtrail_events WHERE CAST(job_id AS TEXT) = :job"
        mine = "SELECT status, task, run_no, attempt, strikes, mode, error FROM jobtrail_jobs WHERE CAST(id AS TEXT) = :job"
        marks = "SELECT seq, what, run, name FROM campaign_marks WHERE job = :job ORDER BY seq"
        for told in (mine, f"{trail} ORDER BY id", marks):
            result.trails += [f"  {job[-8:]} {tuple(row)}"[:400] for row in conn.execute(text(told), {"job": job})]
