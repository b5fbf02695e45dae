"""Bodies that outlive their worker, or whoever waits for them: their ends are written, once, and none runs beside itself (C-41)."""

from __future__ import annotations

import asyncio
import gc
import threading

import pytest
from tenacity import wait_none
from trails import event, names, until

from jobtrail import AsyncContext, Context, PermanentError, Retry
from jobtrail.commands.job_fields import stored_row
from jobtrail.errors import StoreUnavailable
from jobtrail.recovery import orphaned_bodies
from jobtrail.store import workers
from jobtrail.testing import recover

SHORT = {"graceful_shutdown_timeout": 0.1, "cancel_timeout": 0.1, "beat_interval": 0.1, "sweep_interval": 0.2}


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(orphaned_bodies, "TURN", 0.05)


async def soon(what, fact, timeout=15.0):
    return await asyncio.to_thread(until, what, fact, timeout=timeout)


def status(job):
    return job.refresh().status


def state(jobs, worker):
    with jobs.store.read() as conn:
        return workers.state_of(conn, worker.id)


class Held:
    """A body that ignores everything until it is let go; counts how often it was begun."""

    def __init__(self):
        self.begun, self.gate = [], threading.Event()

    def __call__(self, *names):
        self.begun.append(threading.get_ident())
        assert self.gate.wait(30)


async def left(jobs, job, **options):
    """A worker that has begun the job and has left it behind."""
    await asyncio.to_thread(jobs.service.make_ready)
    worker = jobs.worker(**options)
    running = asyncio.create_task(worker.run())
    await soon("it runs", lambda: status(job) == "running" and worker.running)
    await asyncio.sleep(0.05)
    worker.stop()
    await running
    assert (status(job), state(jobs, worker)) == ("running", "leaving")
    return worker


def left_without_loop(jobs, job):
    """`left`, and its event loop is closed."""
    return asyncio.run(left(jobs, job))


@pytest.mark.parametrize("beat", ["thread", "child"])
async def test_c41_the_end_is_written_once_and_no_second_body_ran(make_jobs, beat):
    jobs, held = make_jobs(**SHORT), Held()

    @jobs.task
    def stubborn(ctx: Context):
        held()
        ctx.log.info("still here")
        return "late"

    job = stubborn.using(source="s", period="2013").enqueue()
    worker = await left(jobs, job, beat=beat)
    async with jobs.running(beat="thread"):
        await asyncio.sleep(0.6)
        assert (status(job), len(held.begun)) == ("running", 1)
        held.gate.set()
        await soon("its end is written", lambda: status(job) == "completed")
        await soon("its worker has ended", lambda: state(jobs, worker) == "stopped")
    assert (job.result(), job.run_no, job.attempt, stored_row(job).unit_lock) == ("late", 1, 1, None)
    assert "still here" in job.log()
    assert (len(held.begun), names(job)) == (1, [])


async def test_a_body_that_listens_late_leaves_late_and_runs_again_elsewhere(make_jobs):
    jobs, held = make_jobs(**SHORT), Held()

    @jobs.task
    def late(ctx: Context):
        held()
        for item in ctx.items(["a", "b"]):
            with item:
                pass

    job = late.enqueue()
    await left(jobs, job)
    async with jobs.running():
        held.gate.set()
        await soon("it is done", lambda: status(job) == "completed")
    assert (len(held.begun), names(job), job.attempt) == (2, ["handed_back"], 1)
    assert event(job, "handed_back").reason == "interrupted by shutdown"


@pytest.mark.parametrize(
    ("task", "using", "end", "trail"),
    [
        ("requeue", None, "pending", "handed_back"),
        ("fail", None, "failed", "finished"),
        ("hold", None, "interrupted", "held"),
        ("fail", "hold", "interrupted", "held"),
    ],
)
async def test_what_becomes_of_a_body_that_a_shutdown_has_ended(make_jobs, task, using, end, trail):
    jobs, begun = make_jobs(**SHORT), []

    @jobs.task(on_shutdown=task)
    async def waits(ctx: AsyncContext):
        begun.append(ctx.attempt)
        for item in ctx.items(["a", "b"]):
            with item:
                if len(begun) == 1 and item.value == "b":
                    await asyncio.sleep(30)

    job = waits.using(on_shutdown=using).enqueue()
    async with jobs.running():
        await soon("it runs", lambda: begun)
    row = stored_row(job.refresh())
    assert (row.status, row.suspect, names(job)) == (end, False, [trail])
    assert row.attempt == (1 if end == "failed" else 0), "only what has ended is charged"
    if end == "failed":
        assert (row.items_ok, job.error["message"]) == (1, "not finished: interrupted by shutdown")
        assert row.unit_lock is None
    if end == "interrupted":
        recover(jobs)
        assert status(job) == "interrupted", "upkeep leaves it to a person"
    if end != "pending":
        job.retry(actor="ann")
    async with jobs.running():
        await soon("it is done", lambda: status(job) == "completed")
    assert (begun, job.item_counts()["ok"]) == ([1, 2 if end == "failed" else 1], 2)


def test_a_thread_that_outlives_the_event_loop_is_heard(make_jobs):
    jobs, held, cleaned = make_jobs(**SHORT), Held(), []

    @jobs.task
    def stubborn(ctx: Context):
        ctx.on_cleanup(lambda: cleaned.append(1))
        held()
        return "late"

    job = stubborn.enqueue()
    worker = left_without_loop(jobs, job)
    gc.collect()
    assert (status(job), cleaned) == ("running", [])
    held.gate.set()
    until("its end is written", lambda: status(job) == "completed")
    until("its worker has ended", lambda: state(jobs, worker) == "stopped")
    assert (job.result(), job.run_no, len(held.begun), cleaned) == ("late", 1, 1, [1])


@pytest.mark.parametrize(("error", "end"), [(OSError("again"), "pending"), (PermanentError("no"), "failed")])
def test_how_a_late_body_failed_is_judged_by_its_policy(make_jobs, error, end):
    jobs, held = make_jobs(**SHORT), Held()

    @jobs.task(retry=Retry(attempts=3))
    def stubborn():
        held()
        raise error

    job = stubborn.enqueue()
    left_without_loop(jobs, job)
    held.gate.set()
    until("its end is written", lambda: status(job) == end)
    assert str(error) in (event(job, "retry_planned").reason if end == "pending" else job.error["message"])


async def test_a_coroutine_that_ignores_its_cancel_is_heard_while_its_loop_turns(make_jobs):
    jobs = make_jobs(**SHORT)
    gate = asyncio.Event()

    @jobs.task
    async def stubborn(ctx: AsyncContext):
        while not gate.is_set():
            try:
                await gate.wait()
            except asyncio.CancelledError:
                continue
        return "late"

    job = stubborn.enqueue()
    worker = await left(jobs, job)
    gate.set()
    await soon("its end is written", lambda: status(job) == "completed")
    await soon("its worker has ended", lambda: state(jobs, worker) == "stopped")
    assert (job.result(), job.run_no) == ("late", 1)


def test_a_coroutine_whose_loop_has_ended_can_never_go_on_and_is_given_back_at_once(make_jobs):
    jobs, begun = make_jobs(**SHORT), []

    @jobs.task
    async def stubborn():
        begun.append(1)
        while len(begun) == 1:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                continue

    job = stubborn.enqueue()
    loop = asyncio.new_event_loop()
    worker = loop.run_until_complete(left(jobs, job))
    loop.close()
    until("it is given back", lambda: status(job) == "pending")
    until("its worker has ended", lambda: state(jobs, worker) == "stopped")
    assert event(job, "handed_back").reason == "its event loop has ended before it"
    assert job.attempt == 0, "it is not charged"


@pytest.mark.parametrize(("cancels", "trail"), [(1, ["stop_requested", "refused", "stopped"]), (2, None)])
def test_who_cancels_it_meanwhile_is_obeyed(make_jobs, cancels, trail):
    jobs, held = make_jobs(**SHORT), Held()

    @jobs.task(retry=Retry(attempts=3))
    def stubborn():
        held()
        raise OSError("again")

    job = stubborn.using(source="s", period="2013").enqueue()
    left_without_loop(jobs, job)
    for _ in range(cancels):
        job.cancel(actor="ann")
    assert job.refresh().body_running == (cancels == 2)
    held.gate.set()
    until("it has really ended", lambda: status(job) == "cancelled" and not job.body_running)
    assert stored_row(job).unit_lock is None
    assert names(job) == (trail or ["stop_requested", "forced", "refused", "body_returned"])


def test_an_end_waits_for_a_store_that_is_away(make_jobs, monkeypatch):
    jobs, held = make_jobs(**SHORT), Held()

    @jobs.task
    def stubborn():
        held()

    job = stubborn.enqueue()
    left_without_loop(jobs, job)
    write, tries = jobs.store.write, []

    def away(operation, **rest):
        tries.append(1)
        if len(tries) < 3:
            raise StoreUnavailable("the server has gone")
        return write(operation, **rest)

    monkeypatch.setattr(jobs.store, "write", away)
    held.gate.set()
    until("its end is written", lambda: status(job) == "completed")
    assert len(tries) >= 3


def test_what_a_worker_owed_when_it_left_is_paid_by_the_same_process(make_jobs, monkeypatch):
    """The store was away while the worker left; nothing restarts, and still nothing hangs as running."""
    jobs, gate = make_jobs(**SHORT), threading.Event()

    @jobs.task
    def work():
        assert gate.wait(30)
        return "done"

    job, away = work.enqueue(), threading.Event()

    def refuse(plain):
        def call(*args, **rest):
            if away.is_set():
                raise StoreUnavailable("the server has gone")
            return plain(*args, **rest)

        async def acall(*args, **rest):
            return await call(*args, **rest)

        return acall if asyncio.iscoroutinefunction(plain) else call

    async def go():
        await asyncio.to_thread(jobs.service.make_ready)
        worker = jobs.worker()
        running = asyncio.create_task(worker.run())
        await soon("it runs", lambda: status(job) == "running" and worker.running)
        for name in ("awrite", "write"):
            monkeypatch.setattr(jobs.store, name, refuse(getattr(jobs.store, name)))
        monkeypatch.setattr("jobtrail.worker.turns.BACK_OFF", (0.01, 0.02))
        away.set()
        gate.set()
        await asyncio.sleep(0.1)
        worker.stop()
        await running
        return worker

    worker = asyncio.run(go())
    assert (status(job), state(jobs, worker)) == ("running", "alive")
    away.clear()
    until("its end is written", lambda: status(job) == "completed")
    until("its worker has ended", lambda: state(jobs, worker) == "stopped")
    assert (job.result(), job.run_no) == ("done", 1)


@pytest.mark.parametrize("how", ["timeout", "wait_for"])
async def test_who_gives_up_waiting_for_a_thread_does_not_have_a_second_body_beside_it(make_jobs, how):
    """C-65: a middleware's own time limit ends no thread, so what the body says in the end counts, once."""
    jobs = make_jobs()
    held = Held()

    async def impatient(run, call_next):
        if how == "wait_for":
            return await asyncio.wait_for(call_next(run), 0.1)
        async with asyncio.timeout(0.1):
            return await call_next(run)

    @jobs.task(middleware=[impatient], retry=Retry(attempts=3, wait=wait_none()))
    def deaf():
        held()
        return "late"

    job = deaf.enqueue()
    async with jobs.running():
        await soon("it runs", lambda: held.begun)
        await asyncio.sleep(0.5)
        assert (status(job), len(held.begun)) == ("running", 1)
        held.gate.set()
        await soon("its end is written", lambda: status(job) == "completed")
    assert (job.result(), job.run_no, len(held.begun)) == ("late", 1, 1)
