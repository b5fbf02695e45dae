"""Deadlines are times in the row, so that any process finds what its own worker cannot stop; what has no limit has none (C-19)."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import contextmanager
from datetime import timedelta

import pytest
from making import Maker, subject
from sqlalchemy import update
from trails import event, names, until

from jobtrail import Context
from jobtrail.commands.job_fields import stored_row
from jobtrail.database.tables import jobs as table
from jobtrail.job import transitions
from jobtrail.job.model import Status
from jobtrail.recovery import overdue
from jobtrail.recovery.beat_child import BeatChild
from jobtrail.recovery.overdue import MARGIN, WATCHED, Overdue
from jobtrail.recovery.upkeep import Upkeep
from jobtrail.runtime import time_limits
from jobtrail.runtime.time_limits import Limits
from jobtrail.store import runs, workers
from jobtrail.testing import MovableClock, drain


async def soon(what, fact, timeout=15.0):
    return await asyncio.to_thread(until, what, fact, timeout=timeout)


def status(job):
    return job.refresh().status


# -- what is written, and when -----------------------------------------------------------------------------


def test_a_timeout_is_written_once_and_a_stall_when_it_has_moved(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time_limits.time, "monotonic", lambda: now[0])
    one = Limits(60.0, None)
    assert not one.due(100.0), "most bodies end before it would be of use"
    now[0] = 100.5
    assert one.due(100.0)
    assert one.take(100.0) == (59.5, "timeout")
    now[0] = 150.0
    assert not one.due(150.0)
    one.not_written()
    assert one.due(150.0)

    now[0] = 100.0
    two = Limits(60.0, 20.0)
    now[0] = 101.0
    assert two.take(100.0) == (19.0, "stall")
    assert not two.due(100.9)
    assert two.due(101.0)
    now[0] = 145.0
    assert two.due(145.0)
    assert two.take(145.0) == (15.0, "timeout"), "the one that comes first"


async def test_a_deadline_stands_in_the_row_of_what_has_a_limit_and_runs(make_jobs):
    jobs, gate = make_jobs(), threading.Event()

    @jobs.task(timeout=300)
    def limited():
        assert gate.wait(20)

    @jobs.task(stall_timeout=200)
    def silent():
        assert gate.wait(20)

    @jobs.task
    def free(ctx: Context):
        ctx.set_progress(1)
        assert gate.wait(20)

    quick = jobs.task(name="quick", timeout=300)(lambda: None)
    held, short = [task.enqueue() for task in (limited, silent, free)], quick.enqueue()
    async with jobs.running(beat=None):
        await soon("deadlines are written", lambda: [job.refresh().deadline is not None for job in held] == [True, True, False])
        rows = [stored_row(job) for job in held]
        assert [row.deadline_cause for row in rows] == ["timeout", "stall", None]
        for row, seconds in zip(rows, (300, 200), strict=False):
            assert abs((row.deadline - row.started_at).total_seconds() - seconds) < 5
        await soon("the short one has ended", lambda: status(short) == "completed")
        assert stored_row(short).deadline_at is None, "it costs nothing where nothing hangs"
        gate.set()
        await soon("all have ended", lambda: {str(status(job)) for job in held} == {"completed"})
    assert held[0].deadline is None, "it is over"


async def test_signs_of_life_move_the_deadline_and_nobody_else_stops_the_job(make_jobs, monkeypatch):
    monkeypatch.setattr(overdue, "MARGIN", 0.3)
    monkeypatch.setattr(overdue, "WATCHED", 0.3)
    jobs, over = make_jobs(), threading.Event()

    @jobs.task(stall_timeout=1.0)
    def lively(ctx: Context):
        while not over.is_set():
            time.sleep(0.05)
            ctx.heartbeat()

    job = lively.enqueue()
    async with jobs.running(beat=None):
        first = await soon("it has a deadline", lambda: job.refresh().deadline)
        other = Overdue(jobs.store)

        def moved_twice():
            assert other.run_once(time.monotonic()) == 0
            return job.refresh().deadline > first + timedelta(seconds=2)

        await soon("it has moved on", moved_twice)
        over.set()
        await soon("it has ended", lambda: status(job) == "completed")
    assert names(job) == []


# -- who finds it, turn by turn ------------------------------------------------------------------------------


@pytest.fixture
def clock():
    return MovableClock()


@pytest.fixture
def jobs(make_jobs, clock):
    made = make_jobs(clock=clock)
    made.service.make_ready()
    made.work = made.task(name="work")(lambda: "done")
    return made


@pytest.fixture
def make(jobs):
    maker = Maker(jobs.store)
    jobs.store.write(
        lambda conn: workers.register(conn, jobs.store.dialect, maker.worker, ["default"], 20, jobs.store.now())
    )
    return maker


def put(jobs, claim, seconds, cause="timeout", run_no=None):
    at = jobs.store.now() + timedelta(seconds=seconds)
    run = claim.run_no if run_no is None else run_no
    return jobs.store.write(lambda conn: runs.set_deadline(conn, claim.id, run, at, cause))


class Beat:
    def written_within(self, seconds):
        return True


@pytest.mark.parametrize("cause", ["timeout", "stall"])
def test_what_is_past_its_deadline_is_asked_to_stop_and_then_forced(jobs, make, clock, cause):
    job = jobs.work.using(source="s", period="2013").enqueue()
    (claim,) = make.claim()
    assert put(jobs, claim, 10, cause)
    upkeep = Upkeep(jobs.store, jobs.tasks, jobs.settings, Beat(), lambda: make.worker)
    clock.move(seconds=10 + MARGIN / 2)
    assert not upkeep.run_once(0.0)
    clock.move(seconds=MARGIN)
    assert not upkeep.run_once(2.0), "its own worker may have been kept from writing, so it is watched first"
    assert upkeep.run_once(2.0 + WATCHED).overdue == 1
    row = stored_row(job.refresh())
    assert (row.status, row.stop_cause, row.stop_at) == ("cancelling", cause, clock.now() + timedelta(seconds=60))
    assert names(job) == ["stuck", "stop_requested"]
    assert event(job, "stuck").reason == f"over its {cause} limit for 3 s, and its worker did not stop it"
    assert (event(job, "stop_requested").actor, event(job, "stop_requested").reason) == ("upkeep", f"{cause} limit")
    assert not upkeep.run_once(9.0)
    clock.move(seconds=61)
    assert upkeep.run_once(11.0).forced == 1
    row = stored_row(job.refresh())
    assert (row.status, row.body_running, row.unit_lock) == ("failed", True, row.unit)


def test_a_deadline_that_moves_while_it_is_watched_stops_nothing(jobs, make, clock):
    job = jobs.work.enqueue()
    (claim,) = make.claim()
    put(jobs, claim, 1, "stall")
    one = Overdue(jobs.store)
    clock.move(seconds=60)
    assert one.run_once(0.0) == 0
    put(jobs, claim, -30, "stall")
    assert one.run_once(10.0) == 0, "another one, though it has passed as well"
    put(jobs, claim, 1, "stall")
    assert one.run_once(20.0) == 0
    assert (status(job), names(job)) == ("running", [])


def test_it_may_move_between_the_look_and_the_write(jobs, make, clock, monkeypatch):
    job = jobs.work.enqueue()
    (claim,) = make.claim()
    put(jobs, claim, 1, "stall")
    one = Overdue(jobs.store)
    clock.move(seconds=60)
    one.run_once(0.0)
    stop = one._stop

    def moved(row, conn):
        runs.set_deadline(conn, claim.id, claim.run_no, jobs.store.now() + timedelta(seconds=1), "stall")
        return stop(row, conn)

    monkeypatch.setattr(one, "_stop", moved)
    assert one.run_once(10.0) == 0
    assert (status(job), names(job)) == ("running", [])


def test_what_an_earlier_run_left_says_nothing_about_this_one(jobs, make, clock):
    job = jobs.work.enqueue()
    (first,) = make.claim()
    put(jobs, first, 1)
    make.apply(transitions.handed_back(subject(first), jobs.store.now(), reason="shutdown"))
    (second,) = make.claim()
    assert not put(jobs, first, 1), "an old body writes nothing"
    one = Overdue(jobs.store)
    clock.move(seconds=60)
    assert (one.run_once(0.0), one.run_once(10.0)) == (0, 0)
    assert job.refresh().deadline is None
    assert put(jobs, second, -5)
    assert (one.run_once(20.0), one.run_once(30.0)) == (0, 1)


def test_a_person_may_have_asked_already(jobs, make, clock):
    job = jobs.work.enqueue()
    (claim,) = make.claim()
    put(jobs, claim, -60)
    job.cancel(actor="ann")
    one = Overdue(jobs.store)
    assert (one.run_once(0.0), one.run_once(10.0)) == (0, 0)
    assert names(job) == ["stop_requested"]


# -- the beat process of a worker that is to be ended when it is blocked -------------------------------------------


def test_only_what_passed_while_the_loop_was_blocked_is_a_reason_to_end_it(jobs, make):
    """A thread past its limit is no reason: the loop turned, and its job could not be stopped."""
    database = jobs.store.database
    address = {"path": str(database.path)} if database.path else {"arguments": database.driver_arguments()}
    orders = {**address, "worker": make.worker, "interval": 5.0}
    child = BeatChild({**orders, "parent": os.getppid(), "end_blocked": True})
    jobs.work.enqueue_many([{}] * 3)
    before, within, later = make.claim()
    now = time.monotonic()
    child.detail.heard_at = now - 12.0
    assert put(jobs, before, -20)
    assert put(jobs, later, -1)
    assert child._over_its_time(now) is None
    assert put(jobs, within, -8)
    assert child._over_its_time(now) == within.id


# -- from end to end: a real worker whose loop stands still ---------------------------------------------------------

APP = """
    import asyncio, sys, time
    from pathlib import Path
    from jobtrail import AsyncContext, JobTrail

    jobs = JobTrail(sys.argv[1], poll_interval=0.1, sweep_interval=600)

    @jobs.task(timeout=1)
    async def blocks(ctx: AsyncContext):
        while not Path(sys.argv[2]).exists():
            time.sleep(0.05)
        return "late"

    jobs.service.make_ready()
    asyncio.run(jobs.worker(beat="thread").run())
"""


@contextmanager
def process(tmp_path, url):
    script, gate = tmp_path / "app.py", tmp_path / "gate"
    script.write_text(textwrap.dedent(APP))
    one = subprocess.Popen([sys.executable, script, url, gate])
    try:
        yield gate
    finally:
        one.kill()
        one.wait()


def test_c19_a_loop_that_stands_still_enforces_no_limit_so_another_process_does(make_jobs, url, tmp_path, monkeypatch):
    monkeypatch.setattr(overdue, "MARGIN", 0.5)
    monkeypatch.setattr(overdue, "WATCHED", 0.5)
    jobs = make_jobs()
    jobs.service.make_ready()
    job = jobs.task(name="blocks", timeout=1)(lambda: None).using(source="s", period="2013").enqueue()
    upkeep = Upkeep(jobs.store, jobs.tasks, jobs.settings, Beat(), lambda: "nobody")

    def swept(what):
        upkeep.run_once(time.monotonic())
        return job.refresh().status == what

    with process(tmp_path, url) as gate:
        until("it runs", lambda: status(job) == "running", timeout=30)
        until("it is asked to stop from outside", lambda: swept("cancelling"), every=0.1)
        assert names(job)[:2] == ["stuck", "stop_requested"]
        back = jobs.store.now() - timedelta(seconds=1)
        jobs.store.write(lambda conn: conn.execute(update(table).where(table.c.id == job.id).values(stop_at=back)))
        until("its end is forced", lambda: swept("failed"), every=0.1)
        assert (job.body_running, stored_row(job).unit_lock) == (True, job.unit)
        assert "asked to stop (timeout) and did not" in job.error["message"]
        gate.touch()
        until("its body has ended", lambda: not job.refresh().body_running, timeout=20)
    assert (job.status, stored_row(job).unit_lock, job.run_no) == ("failed", None, 1)
    assert names(job)[-1] == "body_returned"
    drain(jobs)
    assert job.refresh().status == Status.FAILED
