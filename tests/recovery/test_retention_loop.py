"""What is old goes once an hour, and nobody waits for it: neither the jobs of the dead nor those that end."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest
from making import Maker
from trails import names, until

from jobtrail.recovery import retention as module
from jobtrail.recovery.retention import RetentionLoop
from jobtrail.store import workers
from jobtrail.testing import MovableClock


@pytest.fixture
def clock():
    return MovableClock()


@pytest.fixture
def jobs(make_jobs, clock):
    jobs = make_jobs(clock=clock)
    jobs.service.make_ready()
    jobs.work = jobs.task(name="work")(lambda: "done")
    return jobs


def dead_worker(jobs) -> Maker:
    maker = Maker(jobs.store)
    jobs.store.write(lambda conn: workers.register(conn, jobs.store.dialect, maker.worker, ["default"], 20, jobs.store.now()))
    return maker


def bury(jobs, *makers):
    for one in makers:
        jobs.store.write(lambda conn, one=one: workers.mark_dead(conn, one.worker, "gone", jobs.store.now()))


def test_what_is_old_is_forgotten_once_an_hour(jobs, clock, monkeypatch):
    calls = []
    monkeypatch.setattr(module.retention, "run_once", lambda store, policy, now, wait: calls.append((policy, now)))
    forgetting, start = RetentionLoop(jobs.store, jobs.settings), time.monotonic()
    assert not any(forgetting.run_once(start + at) for at in (0, 30, 59)), "not in the first minute, when all processes start"
    assert [forgetting.run_once(start + at) for at in (62, 64, 3600)] == [True, False, False]
    assert forgetting.run_once(start + 3700)
    assert len(calls) == 2
    policy, now = calls[0]
    assert (policy.completed, policy.failed, now) == (30, 90, clock.now())


def test_rows_of_workers_long_dead_are_forgotten_unless_a_job_is_theirs(jobs, clock):
    make, other = dead_worker(jobs), dead_worker(jobs)
    jobs.work.enqueue()
    make.claim()
    bury(jobs, make, other)
    clock.move(days=8)
    RetentionLoop(jobs.store, jobs.settings).run_once(float("inf"))
    with jobs.store.read() as conn:
        assert [one["id"] for one in workers.everyone(conn)] == [make.worker]


async def test_c35_a_long_pass_keeps_the_jobs_of_the_dead_from_nothing(make_jobs, monkeypatch):
    """A first pass over a million old jobs takes many minutes; whoever dies meanwhile is found as always."""
    jobs = make_jobs(sweep_interval=0.1)
    jobs.service.make_ready()
    inside = threading.Event()

    def long(_store, _policy, _now, wait):
        inside.set()
        while not wait(0.1):
            pass

    monkeypatch.setattr(module.retention, "run_once", long)
    monkeypatch.setattr(module, "FIRST_AFTER", 0.0)
    job = jobs.task(name="work")(lambda: "done").enqueue()
    worker = jobs.worker()
    running = asyncio.create_task(worker.run())
    await asyncio.to_thread(until, "the pass goes on", inside.is_set)
    make = dead_worker(jobs)
    jobs.task(name="slow", queue="slow")(lambda: None)
    left = jobs.task_named("slow").enqueue()
    make.claim(queue="slow")
    bury(jobs, make)
    await asyncio.to_thread(until, "it was taken up", lambda: "recovered" in names(left))
    await asyncio.to_thread(until, "jobs go on, too", lambda: job.refresh().status == "completed")
    began = time.monotonic()
    worker.stop()
    await running
    assert time.monotonic() - began < 5, "the pass ends with its worker"
