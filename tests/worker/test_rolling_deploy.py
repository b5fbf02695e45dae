"""Workers of two versions beside each other: jobs of a new task run in the workers that know it, at once and uncharged."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import pytest
from trails import names

from jobtrail.database.tables import workers
from jobtrail.testing import drain

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobtrail import JobTrail

pytestmark = [pytest.mark.timeout(60), pytest.mark.both_databases]
JOBS = 40


def version(make_jobs: Callable[..., JobTrail], *tasks: str) -> tuple[JobTrail, Any]:
    """An application, and its last task."""
    made = make_jobs(poll_interval=0.2, graceful_shutdown_timeout=1)
    return made, [made.task(name=name)(lambda: None) for name in tasks][-1]


async def until_all_ended(jobs: JobTrail, query: str, number: int) -> float:
    begun = time.monotonic()
    while jobs.count(f"{query} status:completed").number < number:
        await asyncio.sleep(0.05)
        assert time.monotonic() - begun < 30, [(job.status, names(job)) for job in jobs.find(f"{query} -status:completed")]
    return time.monotonic() - begun


def test_two_old_workers_leave_the_jobs_of_a_new_task_to_the_new_one(make_jobs: Callable[..., JobTrail]) -> None:
    (first, gone), (second, _) = [version(make_jobs, "kept", "gone") for _ in range(2)]
    new, fresh = version(make_jobs, "kept", "fresh")

    async def main() -> None:
        async with first.running(), second.running(), new.running():
            await asyncio.gather(*(asyncio.to_thread(fresh.enqueue) for _ in range(JOBS)))
            await asyncio.to_thread(gone.enqueue_many, [{}] * JOBS)
            await until_all_ended(new, "task:fresh", JOBS)
            await until_all_ended(new, "task:gone", JOBS)

    asyncio.run(main())
    for job in new.find("task:fresh,gone", limit=2 * JOBS):
        assert (job.attempt, "put_back" in names(job)) == (1, False)
        assert names(job).count("handed_back") <= 2, "each worker has learned it after one turn"


def test_a_task_that_no_other_worker_knows_is_put_back_and_charged(make_jobs: Callable[..., JobTrail]) -> None:
    (_, fresh), (old, _) = version(make_jobs, "fresh"), version(make_jobs, "kept")
    job = fresh.enqueue()
    drain(old)
    assert names(job)[-1] == "put_back"


def test_a_worker_that_has_stopped_knows_nothing(make_jobs: Callable[..., JobTrail]) -> None:
    (new, fresh), (old, _) = version(make_jobs, "fresh"), version(make_jobs, "kept")

    async def main() -> None:
        async with new.running():
            pass

    asyncio.run(main())
    with new.store.read() as conn:
        assert [row.state for row in conn.execute(workers.select())] == ["stopped"]
    job = fresh.enqueue()
    drain(old)
    assert names(job)[-1] == "put_back"
