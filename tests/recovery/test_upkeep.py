"""Upkeep: what the dead left is taken up once, by guarded moves; its turns are called by hand, the time is handed in."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import closing, contextmanager
from datetime import timedelta

import pytest
from making import Maker, subject
from sqlalchemy import update
from trails import event, names, until

from jobtrail import StoreUnavailable
from jobtrail.commands.job_fields import stored_row
from jobtrail.database.tables import jobs as table
from jobtrail.database.tables import workers as worker_table
from jobtrail.job import transitions
from jobtrail.job.model import Status, StopCause, new_id
from jobtrail.recovery import upkeep as module
from jobtrail.recovery.upkeep import Swept, Upkeep
from jobtrail.store import jobs as store_jobs
from jobtrail.store import workers
from jobtrail.testing import MovableClock, drain

HOW = "its worker's process is gone"


class Beat:
    """Says that its beats are written, as long as they are."""

    written = True

    def written_within(self, seconds):
        return self.written and seconds > 0


@pytest.fixture
def clock():
    return MovableClock()


@pytest.fixture
def jobs(make_jobs, clock):
    return ready(make_jobs(clock=clock))


def ready(jobs, **options):
    jobs.service.make_ready()
    jobs.work = jobs.task(name="work", **options)(lambda: "done")
    return jobs


@pytest.fixture
def make(jobs):
    """A maker whose worker is registered and lives."""
    return worker_of(jobs)


def worker_of(jobs) -> Maker:
    maker = Maker(jobs.store)
    jobs.store.write(
        lambda conn: workers.register(conn, jobs.store.dialect, maker.worker, ["default"], 20, jobs.store.now())
    )
    return maker


def keeper(jobs, own="nobody") -> Upkeep:
    return Upkeep(jobs.store, jobs.tasks, jobs.settings, Beat(), lambda: own)


def bury(jobs, maker, how=HOW):
    assert jobs.store.write(lambda conn: workers.mark_dead(conn, maker.worker, how, jobs.store.now()))


def change(jobs, job, **values):
    jobs.store.write(lambda conn: conn.execute(update(table).where(table.c.id == job.id).values(values)))


def unit(jobs, period="2013-02", **options):
    return jobs.work.using(source="weather/EWR", period=period, **options)


def lock(job):
    return stored_row(job.refresh()).unit_lock


# -- who is dead ---------------------------------------------------------------------------------------


def test_a_silent_worker_is_found_and_its_job_runs_again(jobs, make):
    job = jobs.work.enqueue()
    make.claim()
    upkeep = keeper(jobs)
    for at in range(0, 15, 2):
        assert not upkeep.run_once(float(at))
    assert job.refresh().status == "running"
    assert upkeep.run_once(15.5) == Swept(dead=1, recovered=1)
    row = stored_row(job.refresh())
    assert (row.status, row.run_no, row.attempt, row.suspect, row.strikes) == ("pending", 1, 1, True, 1)
    assert names(job) == ["interrupted", "recovered"]
    told = event(job, "interrupted")
    assert (told.reason, told.actor, told.from_status, told.to_status) == (
        "its worker was silent for 16 s", "upkeep", "running", "interrupted",
    )  # fmt: skip
    assert told.detail["worker"] == make.worker
    assert not upkeep.run_once(17.0), "there is nothing left to do"
    drain(jobs)
    assert (job.refresh().status, job.run_no, job.attempt) == ("completed", 2, 2)


def test_a_process_that_is_gone_is_found_at_once(jobs, make):
    job = jobs.work.enqueue()
    make.claim()
    jobs.store.write(lambda conn: conn.execute(update(worker_table).values(process_start="1")))
    assert keeper(jobs).run_once(0.0) == Swept(dead=1, recovered=1)
    assert event(job, "interrupted").reason == f"its worker's process {os.getpid()} is gone"


def test_a_beating_worker_is_left_alone_whatever_the_clocks_say(jobs, make, clock):
    """C-13: two hours back, two forward, and a minute between the hosts."""
    job = jobs.work.enqueue()
    make.claim()
    upkeep = keeper(jobs)
    for tick, jump in enumerate([0, -7200, 0, 7200, 60, -60, 0, 7200, 0, 0] * 3):
        clock.move(seconds=jump)
        at = clock.now() - timedelta(seconds=60)
        jobs.store.write(lambda conn, at=at: workers.beat(conn, make.worker, at))
        assert not upkeep.run_once(tick * 2.0)
    assert job.refresh().status == "running"


def test_nobody_judges_himself_nor_when_his_own_beats_are_not_written(jobs, make):
    jobs.work.enqueue()
    make.claim()
    mine, blind = keeper(jobs, own=make.worker), keeper(jobs)
    blind._beat.written = False
    for at in range(0, 60, 2):
        assert not mine.run_once(float(at))
        assert not blind.run_once(float(at))
    blind._beat.written = True
    found = [at for at in range(60, 90, 2) if blind.run_once(float(at))]
    assert found == [76], "it watches anew for 15 s"


def test_who_beats_between_verdict_and_writing_lives(jobs, make):
    upkeep = keeper(jobs)
    for at in range(0, 15, 2):
        upkeep.run_once(float(at))
    mark = upkeep._mark_dead

    def paused(verdict, conn):
        assert workers.beat(conn, make.worker, jobs.store.now())
        return mark(verdict, conn)

    upkeep._mark_dead = paused
    assert not upkeep.run_once(15.5)
    with jobs.store.read() as conn:
        assert workers.state_of(conn, make.worker) == "alive"


# -- what becomes of the jobs --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("on_interrupt", "status", "trail"),
    [
        ("requeue", "pending", ["interrupted", "recovered"]),
        ("fail", "failed", ["interrupted", "recovered"]),
        ("hold", "interrupted", ["interrupted"]),
    ],
)
def test_the_task_says_what_becomes_of_an_interrupted_job(make_jobs, on_interrupt, status, trail):
    jobs = ready(make_jobs(), on_interrupt=on_interrupt)
    maker = worker_of(jobs)
    job = unit(jobs).enqueue()
    behind = unit(jobs, if_active="queue").enqueue()
    maker.claim()
    bury(jobs, maker)
    upkeep = keeper(jobs)
    upkeep.run_once(0.0)
    assert (job.refresh().status, names(job)) == (status, trail)
    held = upkeep.run_once(2.0).held
    assert held == (1 if on_interrupt == "hold" else 0)
    assert names(job) == trail, "a held job is not touched again"
    if on_interrupt == "fail":
        assert job.error["message"] == f"worker lost ({HOW})"
        assert lock(job) is None
        assert lock(behind) == behind.unit, "whoever waits behind takes the unit over"
    else:
        assert lock(job) == job.unit, "the unit stays taken while the job is interrupted or waits"
        assert behind.refresh().waits_for == job.id


def test_a_held_job_is_retried_or_cancelled_by_a_person(make_jobs):
    jobs = ready(make_jobs(), on_interrupt="hold")
    maker = worker_of(jobs)
    one, two = unit(jobs, "2013-01").enqueue(), unit(jobs, "2013-02").enqueue()
    behind = unit(jobs, "2013-02", if_active="queue").enqueue()
    maker.claim()
    bury(jobs, maker)
    keeper(jobs).run_once(0.0)
    assert one.retry(actor="ann").status == "pending"
    assert two.cancel(actor="ann").status == "cancelled"
    assert behind.refresh().waits_for is None
    drain(jobs)
    assert (one.refresh().status, behind.refresh().status) == ("completed", "completed")


def test_a_job_that_an_upkeep_left_half_way_is_taken_up_by_the_next(jobs, make):
    job = jobs.work.enqueue()
    (claim,) = make.claim()
    make.apply(transitions.interrupted(subject(claim), reason=HOW))
    assert keeper(jobs).run_once(0.0).recovered == 1
    assert job.refresh().status == "pending"
    assert event(job, "recovered").reason == "it was left interrupted"


def test_a_running_job_that_is_nobodys_runs_again_and_is_not_charged_with_a_death(jobs, make):
    job = jobs.work.enqueue()
    make.claim()
    change(jobs, job, worker=None)
    assert keeper(jobs).run_once(0.0).recovered == 1
    assert (job.refresh().status, stored_row(job).strikes) == ("pending", 0)
    assert event(job, "interrupted").reason == "no worker holds it"


def test_a_running_job_whose_worker_nobody_knows_runs_again(jobs, make):
    job = jobs.work.enqueue()
    make.claim()
    change(jobs, job, worker=new_id())
    assert keeper(jobs).run_once(0.0).recovered == 1
    assert event(job, "interrupted").reason == "its worker is not known"


@pytest.mark.parametrize("number", [2, module.PAGE + 1])
def test_who_died_beside_others_is_not_charged_also_where_one_is_left_on_the_last_page(jobs, make, number):
    jobs.work.enqueue_many([{}] * number)
    assert len(make.claim(number)) == number
    bury(jobs, make)
    assert keeper(jobs).run_once(0.0).recovered == number
    assert make.count(table, table.c.strikes > 0) == 0
    assert make.count(table, table.c.suspect, table.c.status == "pending") == number


@pytest.mark.parametrize(("wanted", "end"), [("requeue", "pending"), ("fail", "failed"), ("hold", "interrupted")])
def test_a_body_that_outlived_its_worker_and_then_ended_with_the_process_is_as_after_a_shutdown(jobs, make, wanted, end):
    job = jobs.work.using(on_shutdown=wanted, on_interrupt="fail").enqueue()
    make.claim()
    jobs.store.write(lambda conn: workers.set_state(conn, make.worker, "leaving"))
    bury(jobs, make)
    assert keeper(jobs).run_once(0.0).recovered == 1
    assert job.refresh().status == end
    assert keeper(jobs).run_once(0.0).recovered == 0
    assert job.refresh().status == end, "what is held waits for a person, whatever on_interrupt says"


def test_three_deaths_alone_and_it_has_failed(jobs):
    job = jobs.work.enqueue()
    for death in range(1, 4):
        maker = worker_of(jobs)
        now = jobs.store.now()
        claims = maker.claim() if death == 1 else jobs.store.write(
            lambda conn, m=maker, now=now: store_jobs.claim_suspect(conn, jobs.store.dialect, ["default"], m.worker, now)
        )
        assert [claim.run_no for claim in claims] == [death]
        bury(jobs, maker)
        keeper(jobs).run_once(0.0)
        assert stored_row(job.refresh()).strikes == death
    assert job.status == "failed"
    assert job.error["message"] == f"killed its worker 3 times ({HOW})"


def test_a_cancel_under_way_is_a_cancel_when_its_worker_dies(jobs, make):
    job = unit(jobs).enqueue()
    make.claim()
    job.cancel(actor="ann")
    bury(jobs, make)
    assert keeper(jobs).run_once(0.0).recovered == 1
    assert (job.refresh().status, job.note, lock(job)) == ("cancelled", HOW, None)
    assert names(job) == ["stop_requested", "stopped"]


# -- guarded, whoever else writes ----------------------------------------------------------------------


def test_a_pass_that_was_paused_between_reading_and_writing_does_no_harm(jobs, make):
    """C-21: A finishes in the gap, B is given back and claimed afresh by a living worker, C is truly dead."""
    a, b, c = jobs.work.enqueue(), jobs.work.enqueue(), jobs.work.enqueue()
    claims = {claim.id: claim for claim in make.claim()}
    bury(jobs, make)
    other = worker_of(jobs)
    upkeep = keeper(jobs)
    write = upkeep._handle

    def paused(rows, planned):
        assert set(planned) == {a.id, b.id, c.id}
        assert make.finish(claims[a.id], result='"kept"') == []
        assert make.apply(transitions.handed_back(subject(claims[b.id]), jobs.store.now(), reason="shutdown")) == []
        assert [claim.run_no for claim in other.claim()] == [2]
        upkeep._handle = write
        return write(rows, planned)

    upkeep._handle = paused
    assert upkeep.run_once(0.0).recovered == 1
    assert (a.refresh().status, a.result()) == ("completed", "kept")
    assert (b.refresh().status, b.run_no, b.worker) == ("running", 2, other.worker)
    assert (c.refresh().status, c.run_no) == ("pending", 1)
    assert names(a) == ["refused"]
    assert names(b) == ["handed_back", "refused"]
    assert names(c) == ["interrupted", "recovered"]
    assert not keeper(jobs).run_once(0.0)


def test_two_upkeeps_at_once_take_each_job_up_once_and_touch_nothing_alive(make_jobs):
    """C-59 in small: 250 jobs of a dead worker, 50 of a living one."""
    jobs = ready(make_jobs())
    dead, alive = worker_of(jobs), worker_of(jobs)
    jobs.work.enqueue_many([{}] * 250)
    lost = {claim.id for claim in dead.claim(250)}
    jobs.work.enqueue_many([{}] * 50)
    kept = {claim.id for claim in alive.claim(50)}
    bury(jobs, dead)
    keepers, swept, barrier = [keeper(ready(make_jobs())) for _ in range(2)], [], threading.Barrier(2)

    def sweep(one):
        barrier.wait()
        for _ in range(3):
            swept.append(one.run_once(0.0))

    threads = [threading.Thread(target=sweep, args=(one,)) for one in keepers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(swept) == 6
    assert sum(one.recovered for one in swept) == 250
    assert alive.count(table, table.c.status == "running", table.c.id.in_(kept)) == 50
    assert alive.count(table, table.c.status == "pending", table.c.id.in_(lost), table.c.strikes == 0) == 250
    with jobs.store.read() as conn:
        moved = conn.exec_driver_sql(
            "SELECT job_id, name, count(*) FROM jobtrail_events WHERE name <> 'refused' GROUP BY job_id, name"
        ).all()
    assert {(name, number) for _, name, number in moved} == {("interrupted", 1), ("recovered", 1)}
    assert {str(job) for job, _, _ in moved} == lost


def test_a_row_that_cannot_be_written_does_not_hold_up_the_others(jobs, make, caplog):
    found = [jobs.work.enqueue() for _ in range(5)]
    make.claim()
    bury(jobs, make)
    upkeep = keeper(jobs)
    write = upkeep._apply

    def refuse(conn, planned):
        if any(one.job_id == found[2].id for one in planned):
            raise RuntimeError("this row is bad")
        return write(conn, planned)

    upkeep._apply = refuse
    swept = upkeep.run_once(0.0)
    assert (swept.recovered, swept.skipped) == (4, 1)
    assert [one.refresh().status for one in found] == ["pending", "pending", "running", "pending", "pending"]
    assert f"job {found[2].id} could not be written: this row is bad" in caplog.text
    upkeep._apply = write
    assert upkeep.run_once(2.0).recovered == 1, "the next turn tries again"


def test_a_row_that_cannot_be_read_runs_again_and_fails_where_it_is_seen(jobs, make):
    bad, good = jobs.work.enqueue(), jobs.work.enqueue()
    make.claim()
    bury(jobs, make)
    change(jobs, bad, options="{not json")
    assert keeper(jobs).run_once(0.0).recovered == 2
    drain(jobs)
    until("both have run", lambda: drain(jobs) is not None and good.refresh().status == "completed")
    until("the bad one has ended", lambda: drain(jobs) is not None and bad.refresh().status == "failed")
    assert bad.error["message"]


# -- stops over their time, and bodies that are gone -----------------------------------------------------


@pytest.mark.parametrize(("cause", "status"), [("cancel", "cancelled"), ("timeout", "failed"), ("stall", "failed")])
def test_a_stop_over_its_time_is_forced_and_the_unit_waits_for_the_body(jobs, make, clock, cause, status):
    job = unit(jobs).enqueue()
    behind = unit(jobs, if_active="queue").enqueue()
    (claim,) = make.claim()
    make.apply(transitions.stop_requested(subject(claim), clock.now(), cause=StopCause(cause), actor="x"))
    upkeep = keeper(jobs)
    clock.move(seconds=59)
    assert not upkeep.run_once(0.0)
    clock.move(seconds=2)
    assert upkeep.run_once(2.0).forced == 1
    row = stored_row(job.refresh())
    assert (row.status, row.body_running, row.unit_lock) == (status, True, row.unit)
    assert (job.error is None) is (cause == "cancel")
    assert behind.refresh().waits_for == job.id
    assert not upkeep.run_once(4.0), "its worker lives, so its body does"

    assert make.finish(claim) != [], "what the body still says is refused"
    ended = subject(claim, status=Status(status), stop_cause=cause)
    assert make.apply(transitions.body_returned(ended)) == []
    row = stored_row(job.refresh())
    assert (row.status, row.body_running, row.unit_lock) == (status, False, None)
    assert lock(behind) == behind.unit
    assert names(job) == ["stop_requested", "forced", "refused", "body_returned"]


def test_the_body_of_a_forced_end_is_gone_when_its_process_is(jobs, make, clock):
    job = unit(jobs).enqueue()
    behind = unit(jobs, if_active="queue").enqueue()
    make.claim()
    job.cancel(actor="ann")
    assert job.cancel(actor="ann").body_running
    bury(jobs, make)
    upkeep = keeper(jobs)
    assert upkeep.run_once(0.0) == Swept(freed=1)
    row = stored_row(job.refresh())
    assert (row.status, row.body_running, row.unit_lock) == ("cancelled", False, None)
    assert (event(job, "body_returned").actor, event(job, "body_returned").reason) == ("upkeep", HOW)
    assert lock(behind) == behind.unit
    assert not upkeep.run_once(2.0)


def test_a_forced_end_without_a_unit_does_not_say_for_ever_that_its_body_runs(jobs, make):
    job = jobs.work.enqueue()
    make.claim()
    job.cancel()
    job.cancel()
    bury(jobs, make)
    keeper(jobs).run_once(0.0)
    assert job.refresh().body_running is False


# -- outages -------------------------------------------------------------------------------------------


def test_an_outage_leaves_nothing_out(jobs, make, monkeypatch):
    """C-59: the database goes away in the middle of a pass; the next one begins anew."""
    found = [jobs.work.enqueue() for _ in range(3)]
    make.claim()
    bury(jobs, make)
    upkeep = keeper(jobs)
    apply = store_jobs.apply
    def away(*args, **rest):
        raise StoreUnavailable("the server has gone")

    monkeypatch.setattr(module.jobs, "apply", away)
    with pytest.raises(StoreUnavailable):
        upkeep.run_once(0.0)
    monkeypatch.setattr(module.jobs, "apply", apply)
    assert upkeep.run_once(2.0).recovered == 3
    assert {one.refresh().status for one in found} == {"pending"}


# -- declared dead wrongly: a real process that is stopped, and goes on -----------------------------------

APP = """
    import asyncio, os, sys, time
    from jobtrail import Context, JobTrail

    jobs = JobTrail(sys.argv[1])

    def say(word):
        with open(sys.argv[2], "a") as file:
            file.write(word + "\\n")

    @jobs.task(name="slow")
    def slow(ctx: Context):
        say("enter")
        try:
            while True:
                time.sleep(0.02)
                ctx.set_progress(50)
        except BaseException as error:
            say(f"left by {type(error).__name__}")
            raise

    jobs.service.make_ready()
    worker = jobs.worker(beat="thread")
    asyncio.run(worker.run())
"""
SHORT = {"beat_interval": 0.2, "silent_after": 3.0, "sweep_interval": 0.3}


@contextmanager
def process(tmp_path, url):
    script, said = tmp_path / "app.py", tmp_path / "said"
    script.write_text(textwrap.dedent(APP))
    said.touch()
    environment = {f"JOBTRAIL_{name.upper()}": str(value) for name, value in SHORT.items()}
    one = subprocess.Popen([sys.executable, script, url, said], env={**os.environ, **environment})
    try:
        yield one, said
    finally:
        one.kill()
        one.wait()


def stop(process, url):
    """SIGSTOP, but not in the middle of a write: SQLite has one writer at a time, so nobody could write any more."""
    process.send_signal(signal.SIGSTOP)
    while url.startswith("sqlite") and not writable(url.removeprefix("sqlite:///")):
        process.send_signal(signal.SIGCONT)
        time.sleep(0.01)
        process.send_signal(signal.SIGSTOP)


def writable(file):
    with closing(sqlite3.connect(file, timeout=0)) as conn:
        try:
            conn.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return False
    return True


def test_a_worker_that_was_stopped_and_declared_dead_lives_on_and_its_old_bodies_leave(make_jobs, url, tmp_path):
    """C-21 from end to end: SIGSTOP for longer than the silence, the job runs elsewhere, SIGCONT."""
    jobs = make_jobs(**SHORT)
    done = []

    @jobs.task(name="slow")
    def slow():
        done.append(1)
        return "by the second"

    async def second(job):
        worker = jobs.worker(beat="thread")
        running = asyncio.create_task(worker.run())
        await asyncio.to_thread(until, "the second has done it", lambda: job.refresh().status == "completed", timeout=40)
        worker.stop()
        await running

    job = slow.enqueue()
    with process(tmp_path, url) as (first, said):
        until("the body runs", lambda: said.read_text() == "enter\n", timeout=30)
        old = job.refresh().worker
        stop(first, url)
        asyncio.run(second(job))
        assert names(job)[:2] == ["interrupted", "recovered"]
        assert "silent" in event(job, "interrupted").reason
        assert said.read_text() == "enter\n", "the first is stopped and cannot have left"
        first.send_signal(signal.SIGCONT)
        until("the old body has left", lambda: "left by StopSignal" in said.read_text(), timeout=20)
        until("its late word is refused", lambda: "refused" in names(job), timeout=20)

        def renewed():
            with jobs.store.read() as conn:
                mine = [one for one in workers.everyone(conn) if one["pid"] == first.pid]
            return {one["state"] for one in mine} == {"dead", "alive"} and mine

        known = until("it has a new identity", renewed, timeout=20)
        assert [one["id"] for one in known if one["state"] == "dead"] == [old]
    row = stored_row(job.refresh())
    assert (row.status, row.run_no, done, job.result()) == ("completed", 2, [1], "by the second")
    assert said.read_text().count("enter") == 1
