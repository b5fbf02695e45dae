"""What limits by key cost, and what a used-up key does to others.   python -m bench.limits [--jobs 6000] [--rounds 3] [--big 100000]

On each database, with one worker of 20 slots in this process:

- drain: jobs of three keys without limits, with a limit that lets them run, and with a rate beside it, in turns; jobs/s.
- claim: the claim of one job while a used-up key has no other job, and while it has many; milliseconds.
- latency: from the submission of a small tenant's job to its start, alone, and beside a tenant with many jobs that may fill
  half of the slots; milliseconds. Each with the load of the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sqlalchemy import text

from bench.run import postgresql, sqlite
from jobtrail import JobTrail, Limit
from jobtrail.database import migration
from jobtrail.job.model import new_id
from jobtrail.store.limits.claims import LimitedClaims
from jobtrail.testing import drain

if TYPE_CHECKING:
    from collections.abc import Iterator

SLOTS = 20
KEYS = "abc"
CLAIMS, LATENCIES = 60, 200


class Undo(Exception):
    """Leaves a transaction without a trace."""


def application(url: str) -> JobTrail:
    """The application and its tasks."""
    app = JobTrail(url, slots=SLOTS)
    migration.upgrade(app.store.database)

    async def nothing(key: str) -> None:
        """Do nothing."""

    async def little(tenant: str) -> None:
        await asyncio.sleep(0.005)

    app.task(name="plain")(nothing)
    app.task(name="running", limits=[Limit("key:{key}", running=SLOTS)])(nothing)
    app.task(name="rated", limits=[Limit("also:{key}", running=SLOTS), Limit("rate:{key}", rate=1_000_000, per=1)])(nothing)
    app.task(name="tenant", limits=[Limit("tenant:{tenant}", running=SLOTS // 2)])(little)
    app.make_ready()
    return app


def drained(app: JobTrail, task: str, number: int) -> float:
    """Jobs a second."""
    app.task_named(task).enqueue_many({"key": KEYS[one % 3]} for one in range(number))
    begun = time.perf_counter()
    assert len(drain(app)) == number
    return number / (time.perf_counter() - begun)


def claimed(app: JobTrail) -> float:
    """The median of a claim of one job in milliseconds, of which each is undone."""
    store, taken = app.store, []

    def claim(conn: Any) -> None:
        claims = LimitedClaims(lambda: True)
        begun = time.perf_counter()
        found = claims.claim(conn, [("default", 1)], 1, new_id(), store.now(), dialect=store.dialect)
        taken.append(1000 * (time.perf_counter() - begun))
        assert len(found) == 1
        raise Undo

    for _ in range(CLAIMS):
        try:
            store.write(claim)
        except Undo:
            continue
    return statistics.median(taken)


def used_up(app: JobTrail, big: int) -> tuple[float, float]:
    """The claim of one job beside a key that is used up: with nothing else of it, and with many jobs."""
    task = app.task_named("tenant")
    task.enqueue_many([{"tenant": "big"}] * (SLOTS // 2))
    app.store.write(lambda conn: conn.execute(text("UPDATE jobtrail_jobs SET status = 'running' WHERE task = 'tenant'")))
    task.enqueue(tenant="small")
    without = claimed(app)
    task.enqueue_many({"tenant": "big"} for _ in range(big))
    analyze(app)
    with_ = claimed(app)
    app.store.write(lambda conn: conn.execute(text("DELETE FROM jobtrail_jobs WHERE task = 'tenant'")))
    return without, with_


def analyze(app: JobTrail) -> None:
    with app.store.database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
        conn.exec_driver_sql("ANALYZE")


@contextmanager
def working(app: JobTrail) -> Iterator[None]:
    """A worker in a thread."""
    worker = app.worker(beat=None)
    thread = threading.Thread(target=lambda: asyncio.run(worker.run()))
    thread.start()
    while not worker.ready.is_set():
        time.sleep(0.01)
    try:
        yield
    finally:
        worker.stop()
        thread.join()


def latencies(app: JobTrail) -> tuple[float, float]:
    """p50 and p99 of a small tenant's jobs, in milliseconds."""
    task, found = app.task_named("tenant"), []
    for number in range(LATENCIES):
        job = task.enqueue(tenant=f"small{number % 10}")
        while job.refresh().active:
            time.sleep(0.005)
        found.append(1000 * (job.started_at - job.created_at).total_seconds())
        time.sleep(0.01)
    found.sort()
    return found[len(found) // 2], found[int(len(found) * 0.99)]


def beside(app: JobTrail, big: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """Latencies of the small tenant: alone, and beside a big one."""
    with working(app):
        alone = latencies(app)
        app.task_named("tenant").enqueue_many({"tenant": "big"} for _ in range(big))
        analyze(app)
        with_big = latencies(app)
    return alone, with_big


def main() -> None:
    """Print the figures of each database."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=6000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--big", type=int, default=100_000)
    given = parser.parse_args()
    for name, server in (("SQLite", sqlite), ("PostgreSQL", postgresql)):
        with server() as make:
            app = application(make(0))
            seen: dict[str, list[float]] = {"plain": [], "running": [], "rated": []}
            drained(app, "plain", given.jobs // 4)
            for _ in range(given.rounds):
                for task, speeds in seen.items():
                    speeds.append(drained(app, task, given.jobs))
            plain = statistics.median(seen["plain"])
            said = ", ".join(
                f"{task} {statistics.median(speeds):,.0f}/s ({statistics.median(speeds) / plain:.2f})" for task, speeds in seen.items()
            )
            print(f"{name}: drain {said}; load {os.getloadavg()[0]:.1f}", flush=True)
            without, with_ = used_up(app, given.big)
            print(f"{name}: claim {without:.2f} ms, beside {given.big:,} of a used-up key {with_:.2f} ms", flush=True)
            alone, big = beside(app, given.big)
            print(
                f"{name}: latency p50 {alone[0]:.1f} p99 {alone[1]:.1f} ms, beside {given.big:,} of another tenant "
                f"p50 {big[0]:.1f} p99 {big[1]:.1f} ms; load {os.getloadavg()[0]:.1f}",
                flush=True,
            )
            app.close()


if __name__ == "__main__":
    main()
