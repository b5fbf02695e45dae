"""The end of a job with 10,000 successors, and a group of 10,000 members, beside other jobs of the same worker.

    python -m bench.successors sqlite:////tmp/bench.db
    python -m bench.successors postgresql://postgres@localhost/bench --count 10000

A worker runs in this process, and a small job is submitted every 10 ms. Printed are the seconds until all successors are
stored, and how long the small jobs waited from their submission to the first line of their body, without and with the release.
The database must be empty.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from statistics import quantiles
from typing import Any

from sqlalchemy import func, select

from jobtrail import JobTrail
from jobtrail.commands.using import SuccessorRequest
from jobtrail.database import tables

LATER = 3600  # seconds: what came does not run, so that its release alone is measured


async def probe(small: Any, over: asyncio.Event) -> None:
    """Submit a small job every 10 ms."""
    while not over.is_set():
        await small.aenqueue(since=time.monotonic())
        await asyncio.sleep(0.01)


def told(what: str, waited: list[float]) -> None:
    """Print how long the small jobs waited."""
    p99 = quantiles(waited, n=100)[98]
    print(f"{what}: {len(waited)} small jobs waited p50 {quantiles(waited, n=2)[0]:.0f} ms, p99 {p99:.0f} ms, longest {max(waited):.0f} ms")


def stored(jobs: JobTrail) -> int:
    """How many jobs that do nothing there are."""
    with jobs.store.read() as conn:
        return conn.execute(select(func.count()).where(tables.jobs.c.task == "nothing")).scalar_one()


async def measure(url: str, count: int) -> None:
    """Release successors, then open and end a group."""
    jobs, waited = JobTrail(url, plugins=[], executor="local"), []

    @jobs.task(priority=1)
    async def small(since: float) -> None:
        waited.append(1000 * (time.monotonic() - since))

    @jobs.task
    async def nothing() -> None:
        pass

    await asyncio.to_thread(jobs.migrate)
    following = SuccessorRequest(*nothing._to_follow(), {}, "ended", LATER)
    many = nothing.using(then=(following,) * count, priority=0)
    async with jobs.running(slots=20):
        for what in ("alone", "released"):
            over, begin = asyncio.Event(), time.monotonic()
            waited.clear()
            probing = asyncio.create_task(probe(small, over))
            if what == "alone":
                await asyncio.sleep(3)
            else:
                job = await asyncio.to_thread(many.using(delay=2).enqueue)
                while not await asyncio.to_thread(lambda: job.refresh().finished_at):
                    await asyncio.sleep(0.005)
                waited.clear()
                begin = time.monotonic()
                while await asyncio.to_thread(stored, jobs) < count + 1:
                    await asyncio.sleep(0.05)
            took = time.monotonic() - begin
            over.set()
            await probing
            told(what, waited)
            if what == "released":
                print(f"{count:,} successors came {took:.2f} s after the end")
        over, begin = asyncio.Event(), time.monotonic()
        waited.clear()
        probing = asyncio.create_task(probe(small, over))
        group = await asyncio.to_thread(lambda: jobs.group([(nothing, {})] * count, then=nothing, when=LATER))
        print(f"a group of {count:,} was opened in {time.monotonic() - begin:.2f} s")
        told("while it was opened", waited)
        waited.clear()
        begin = time.monotonic()
        while await asyncio.to_thread(group.outcome) is None:
            await asyncio.sleep(0.1)
        print(f"its members ran in {time.monotonic() - begin:.2f} s")
        over.set()
        await probing
        told("while they ran", waited)
    jobs.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("--count", type=int, default=10_000)
    given = parser.parse_args()
    asyncio.run(measure(given.url, given.count))
