"""Limits by key in a worker: what runs, what waits and why, and that everything goes on by itself."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta

import pytest
from trails import until

from jobtrail import AsyncContext, Context, InvalidArguments, InvalidOption, Limit
from jobtrail.database import tables
from jobtrail.job.model import Status
from jobtrail.testing import MovableClock, drain


def most_at_once(spans):
    """The largest number of spans that overlap."""
    steps = sorted([(begin, 1) for begin, _ in spans] + [(end, -1) for _, end in spans])
    now = most = 0
    for _, step in steps:
        now += step
        most = max(most, now)
    return most


def spans(jobs, **same):
    return [(job.started_at, job.finished_at) for job in jobs if not same or job.arguments == same]


def test_no_more_than_the_limit_run_and_all_end(jobs):
    @jobs.task(limits=[Limit("tenant:{tenant}", running=2)])
    async def work(ctx: AsyncContext, *, tenant: str) -> None:
        await asyncio.sleep(0.02)

    given = work.enqueue_many([{"tenant": tenant} for tenant in "aaaaaabbb"])
    free = jobs.task(name="free")(lambda: None).enqueue()
    drain(jobs, slots=8)
    ended = [job.refresh() for job in given]
    assert {job.status for job in (*ended, free.refresh())} == {Status.COMPLETED}
    assert most_at_once(spans(ended, tenant="a")) == 2
    assert most_at_once(spans(ended)) > 2


def test_a_rate_is_kept_in_real_time_and_the_worker_wakes_for_the_next_start(make_jobs):
    jobs = make_jobs(poll_interval=30.0)

    @jobs.task(limits=[Limit("api", rate=2, per=0.3)])
    def call(ctx: Context) -> None: ...

    given = call.enqueue_many([{}] * 5)
    worker = jobs.worker(beat=None)
    thread = threading.Thread(target=lambda: asyncio.run(worker.run()))
    thread.start()
    try:
        until("all have run", lambda: all(job.refresh().status is Status.COMPLETED for job in given))
    finally:
        worker.stop()
        thread.join()
    begun = sorted(job.started_at for job in given)
    assert all(later - earlier >= timedelta(seconds=0.3) for earlier, later in zip(begun, begun[2:], strict=False))


def test_draining_stops_at_a_rate_and_a_moved_clock_goes_on(make_jobs):
    clock = MovableClock()
    jobs = make_jobs(clock=clock)

    @jobs.task(limits=[Limit("api", rate=2, per=60)])
    def call(ctx: Context) -> None: ...

    call.enqueue_many([{}] * 5)
    assert [len(drain(jobs)), len(drain(jobs))] == [2, 0]
    clock.move(seconds=60)
    assert len(drain(jobs)) == 2


def test_a_retry_keeps_its_keys_and_a_rerun_too(jobs):
    @jobs.task(limits=[Limit("tenant:{tenant}", running=1)], retry=2)
    def work(ctx: Context, *, tenant: str) -> None:
        if ctx.attempt == 1:
            raise ValueError(tenant)

    job = work.enqueue(tenant="a")
    drain(jobs, delayed=True)
    assert job.refresh().status is Status.COMPLETED
    again = job.rerun()
    with jobs.store.read() as conn:
        kept = conn.execute(tables.jobs.select().where(tables.jobs.c.id == again.id)).one().limits
    assert kept == '{"tenant:{tenant}": "tenant:a"}'


def test_a_question_frees_the_place(jobs):
    from pydantic import BaseModel

    class Number(BaseModel):
        number: int

    @jobs.task(limits=[Limit("tenant:{tenant}", running=1)])
    def work(ctx: Context, *, tenant: str, asks: bool) -> None:
        if asks:
            ctx.ask("how_many", "How many?", Number)

    asking, other = work.enqueue(tenant="a", asks=True), work.enqueue(tenant="a", asks=False)
    drain(jobs)
    assert (asking.refresh().status, other.refresh().status) == (Status.AWAITING_INPUT, Status.COMPLETED)


def test_a_successor_has_the_keys_of_its_own_arguments(jobs):
    @jobs.task(limits=[Limit("tenant:{tenant}", running=1)])
    def work(ctx: Context, *, tenant: str) -> str:
        return tenant

    work.then(work, {"tenant": "b"}).enqueue(tenant="a")
    drain(jobs)
    with jobs.store.read() as conn:
        kept = conn.execute(tables.jobs.select().order_by(tables.jobs.c.id)).all()
    assert [row.limits for row in kept] == ['{"tenant:{tenant}": "tenant:a"}', '{"tenant:{tenant}": "tenant:b"}']
    with pytest.raises(InvalidOption, match="filled with the result"):
        work.then(work, result_as="tenant").enqueue(tenant="a")


def test_an_argument_that_is_no_key_is_refused_at_submission(jobs):
    @jobs.task(limits=[Limit("tenant:{tenant}", running=1)])
    def work(ctx: Context, *, tenant: object) -> None: ...

    for submit in (lambda: work.enqueue(tenant=[1]), lambda: work.enqueue_many([{"tenant": {"a": 1}}])):
        with pytest.raises(InvalidArguments, match="to be part of a key"):
            submit()
