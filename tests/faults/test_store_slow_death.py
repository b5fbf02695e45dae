"""The store away while a body ends, connections cut in a row, and a forgotten transaction."""

from __future__ import annotations

import asyncio
import threading
import time

import psycopg
import pytest
from trails import until

from jobtrail import JobTrail, ResultTimeout, StoreUnavailable
from jobtrail.commands.job_fields import stored_row
from jobtrail.job import transitions
from jobtrail.job.model import Status, new_id
from jobtrail.job.transitions import Subject
from jobtrail.store import jobs as rows
from jobtrail.store.jobs import Marks


def _store_away(address, server, bodies_out):
    """Run one job whose body ends while the server is stopped; what the store says afterwards."""
    jobs = JobTrail(address, migrate=True, poll_interval=0.1)
    bodies, go = [], threading.Event()

    @jobs.task
    def load():
        bodies.append(1)
        go.wait(30)
        return "done"

    job = load.enqueue()

    async def host():
        async with jobs.running():
            await asyncio.to_thread(until, "the body runs", lambda: bodies)
            await asyncio.to_thread(server.stop)
            go.set()
            with pytest.raises((StoreUnavailable, ResultTimeout)):
                await asyncio.to_thread(job.result, 0.3)
            await asyncio.sleep(bodies_out)
            await asyncio.to_thread(server.start)
            await asyncio.to_thread(until, "the end is written", lambda: _status(job) == "completed", timeout=30)

    asyncio.run(host())
    return stored_row(job.refresh()), bodies


def _status(job):
    try:
        return job.refresh().status
    except StoreUnavailable:
        return None


def test_c43_the_store_is_away_when_the_work_is_done(own_url, own_server):
    row, bodies = _store_away(own_url, own_server, bodies_out=1.0)
    assert (row.status, row.run_no, row.result, bodies) == ("completed", 1, '"done"', [1])


def test_c46_connections_cut_three_times_in_a_row_leave_no_worker_that_only_seems_to_work(own_url):
    jobs = JobTrail(own_url, migrate=True, poll_interval=0.2)

    @jobs.task
    async def quick(n):
        return n

    async def host():
        async with jobs.running():
            assert await (await quick.aenqueue(n=0)).aresult(20) == 0
            for _ in range(3):
                await asyncio.to_thread(_cut, own_url)
                await asyncio.sleep(0.5)
            made = [await quick.aenqueue(n=n) for n in range(5)]
            return [await job.aresult(30) for job in made]

    assert asyncio.run(host()) == [0, 1, 2, 3, 4]


def _cut(address):
    with psycopg.connect(address, autocommit=True) as conn:
        conn.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> %s",
            [conn.info.backend_pid],
        )


def test_c38_a_forgotten_transaction_does_not_slow_the_claims_down(own_url):
    """With 20,000 jobs done behind a forgotten snapshot, a claim from the mark reads a fraction of what a full look must."""
    jobs = JobTrail(own_url, migrate=True)

    @jobs.task
    async def quick(n):
        return n

    jobs.service.make_ready()
    quick.enqueue_many({"n": n} for n in range(20_200))
    store, worker, marks = jobs.store, new_id(), Marks(full_look_every=3600)

    def turn(conn, limit, with_marks=marks):
        began = time.perf_counter()
        claims = rows.claim(conn, store.dialect, "default", limit, worker, store.now(), with_marks, 1.0)
        took = time.perf_counter() - began
        ends = [
            transitions.finished(Subject(one.id, one.run_no, one.attempt), store.now(), Status.COMPLETED, result="1")
            for one in claims
        ]
        rows.apply(conn, store.dialect, ends, store.now())
        return len(claims), took

    with psycopg.connect(own_url) as forgotten:
        forgotten.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        forgotten.execute("SELECT count(*) FROM jobtrail_jobs").fetchone()
        for _ in range(20):
            assert store.write(lambda conn: turn(conn, 1_000))[0] == 1_000
        marked = min(store.write(lambda conn: turn(conn, 1))[1] for _ in range(15))
        full = min(store.write(lambda conn: turn(conn, 1, None))[1] for _ in range(15))
    assert marked < 0.5 * full, f"{marked * 1000:.2f} ms from the mark, {full * 1000:.2f} ms for a full look"
