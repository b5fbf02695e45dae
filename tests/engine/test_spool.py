"""Ends that the store would not take before the worker had to leave: kept, and written by the next one."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
import threading

import pytest
from trails import names

from jobtrail import Context, JobTrail
from jobtrail.engine import spool, worker
from jobtrail.store import database


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(database, "SQLITE_BUSY_SECONDS", 0.05)
    monkeypatch.setattr(worker, "BACK_OFF", (0.01, 0.05))


def test_c63_an_end_that_cannot_be_written_waits_in_a_file_and_is_not_repeated(sqlite_url, impatient):
    jobs = JobTrail(sqlite_url, poll_interval=0.1, graceful_shutdown_timeout=0.3, cancel_timeout=0.1)
    bodies, may_end = [], threading.Event()

    @jobs.task
    def load(ctx: Context):
        bodies.append(1)
        for item in ctx.items(["a", "b"]):
            with item:
                if item.value == "b":
                    raise ValueError("b is bad")
        may_end.wait(10)
        return {"rows": 2}

    job = load.using(source="s", period="2013-02").enqueue()
    stranger = sqlite3.connect(jobs.store.database.path, isolation_level=None, timeout=5, check_same_thread=False)

    async def locked_at_the_end():
        async with jobs.running():
            while not bodies:
                await asyncio.sleep(0.01)
            await asyncio.to_thread(stranger.execute, "BEGIN IMMEDIATE")
            may_end.set()

    asyncio.run(locked_at_the_end())
    (kept,) = spool.folder_of(jobs.store).glob("*.jsonl")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert job.refresh().status == "running"
    stranger.execute("ROLLBACK")

    async def next_one():
        await jobs.worker().run(burst=True)

    asyncio.run(next_one())
    assert (job.refresh().status, job.row.run_no, bodies) == ("partial", 1, [1])
    assert job.item_counts() == {"ok": 1, "failed": 1, "skipped": 0}
    assert names(job) == ["finished"]
    assert not kept.exists()
    jobs.close()


def test_what_was_given_away_meanwhile_is_refused(sqlite_url, impatient):
    jobs = JobTrail(sqlite_url)

    @jobs.task
    def load():
        return "new"

    job = load.enqueue()

    async def burst():
        await jobs.worker(beat=None).run(burst=True)

    asyncio.run(burst())
    row = job.refresh().row
    from jobtrail.engine.rerun import subject
    from jobtrail.engine.settle import Ended
    from jobtrail.job import moves
    from jobtrail.job.model import Status

    late = moves.finished(subject(row), row.finished_at, Status.COMPLETED, result='"old"')
    spool.keep(jobs.store, [Ended(late)])
    assert spool.replay(jobs.store, "w") == 0
    assert job.refresh().result() == "new"
    assert list(spool.folder_of(jobs.store).parent.glob("*-spool")) == []
    jobs.close()
