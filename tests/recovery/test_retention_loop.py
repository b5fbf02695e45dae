"""What is old goes once an hour, and nobody waits for it: neither the jobs of the dead nor those that end."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest
from making import Maker
from trails import names, until

from jobtrail import InvalidOption
from jobtrail.recovery import retention as module
from jobtrail.recovery.retention import RetentionLoop
from jobtrail.store import workers
from jobtrail.testing import MovableClock, drain


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
    monkeypatch.setattr(module.retention, "run_once", lambda store, policy, now, wait, before: calls.append((policy, now)))
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

    def long(_store, _policy, _now, wait, before):
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


@pytest.mark.both_databases
def test_a_task_keeps_its_jobs_for_a_time_of_its_own_in_every_process(make_jobs, clock):
    jobs = make_jobs(clock=clock, keep_completed=30)
    names = {"short": {"keep_completed": 1}, "ever": {"keep_completed": None}, "usual": {}}
    for name, kept in names.items():
        jobs.task(name=name, **kept)(lambda: None)
    for name in names:
        jobs.task_named(name).enqueue()
    drain(jobs)

    def pass_of(one):
        RetentionLoop(one.store, one.settings, one.tasks).run_once(float("inf"))
        return sorted(job.task for job in jobs.find())

    assert pass_of(jobs) == ["ever", "short", "usual"]
    clock.move(days=2)
    other = make_jobs(clock=clock, keep_completed=30)  # another program, which knows none of these tasks
    assert pass_of(other) == ["ever", "usual"]
    clock.move(days=40)
    assert pass_of(other) == ["ever"]
    changed = make_jobs(clock=clock, keep_completed=30)
    changed.task(name="ever")(lambda: None)
    assert pass_of(changed) == []


@pytest.mark.both_databases
def test_a_function_before_retention_sees_the_jobs_and_keeps_them_where_it_raises(make_jobs, clock, caplog):
    jobs = make_jobs(clock=clock, keep_completed=1)
    jobs.task(name="work")(lambda: None)
    one = jobs.task_named("work").enqueue()
    drain(jobs)
    clock.move(days=2)
    archived, away = [], [True]

    @jobs.before_removal
    def archive(removal):
        if away[0]:
            raise OSError("the archive is away")
        archived.append((removal.cause, [jobs.get(job).id for job in removal.ids]))

    def a_pass():
        loop = RetentionLoop(jobs.store, jobs.settings, jobs.tasks, jobs.service.announces)
        loop.run_once(float("inf"))

    a_pass()
    assert len(jobs.find()) == 1
    assert "1 ended jobs stay" in caplog.text
    away[0] = False
    a_pass()
    assert archived == [("retention", [one.id])]
    assert jobs.find() == []


def test_a_worker_calls_what_the_application_wants_to_be_called(jobs):
    jobs.before_removal(lambda removal: None)
    assert jobs.worker().session.retention.announces("retention") is not None


@pytest.mark.parametrize("wrong", [-1, True, "for ever", float("nan")])
def test_days_of_a_task_are_checked(jobs, wrong):
    with pytest.raises(InvalidOption, match="keep_failed must be a number of days"):
        jobs.task(name="x", keep_failed=wrong)(lambda: None)
