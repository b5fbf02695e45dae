"""Submission: when, how urgent, where, once; many at once; the embedded worker; the helpers for tests."""

from __future__ import annotations

import asyncio
import threading
import time
from datetime import UTC, datetime, timedelta, timezone

import pytest
from sqlalchemy import select
from trails import count_rows, event, until

from jobtrail import AlreadyActive, AlreadyDone, IdempotencyConflict, InvalidArguments, InvalidOption, NotFound
from jobtrail.commands.job_fields import stored_row
from jobtrail.database.tables import submitters
from jobtrail.testing import MovableClock, adrain, assert_enqueued, drain, inline


@pytest.fixture
def clock():
    return MovableClock(datetime(2026, 5, 1, 12, tzinfo=UTC))


@pytest.fixture
def jobs(make_jobs, clock):
    made = make_jobs(clock=clock)
    made.ran = []

    @made.task
    def note(what="x"):
        made.ran.append(what)
        return what

    made.note = note
    return made


def test_a_task_stays_callable_as_itself(jobs):
    assert jobs.note("direct") == "direct"
    assert jobs.find() == []


def test_run_at_and_delay(jobs, clock):
    at = jobs.note.using(run_at=clock.now() + timedelta(minutes=5)).enqueue("at")
    later = jobs.note.using(delay=600).enqueue("delay")
    delta = jobs.note.using(delay=timedelta(hours=1)).enqueue("delta")
    assert at.run_at == clock.now() + timedelta(minutes=5)
    for minutes, ran in ((0, []), (6, ["at"]), (5, ["at", "delay"]), (60, ["at", "delay", "delta"])):
        clock.move(minutes=minutes)
        drain(jobs)
        assert jobs.ran == ran
    assert {at.refresh().status, later.refresh().status, delta.refresh().status} == {"completed"}


def test_run_now(jobs):
    job = jobs.note.using(delay=600).enqueue("now")
    job.run_now(actor="anna")
    drain(jobs)
    assert jobs.ran == ["now"]
    assert event(job, "run_now").actor == "anna"


@pytest.mark.parametrize(
    "options",
    [
        {"run_at": datetime(2026, 5, 1)},
        {"run_at": "tomorrow"},
        {"run_at": datetime.now(UTC), "delay": 5},
        {"delay": -1},
        {"delay": float("nan")},
        {"delay": "5"},
        {"delay": True},
        {"priority": 10},
        {"priority": -1},
        {"priority": "high"},
        {"queue": ""},
        {"queue": "a\nb"},
        {"source": ""},
        {"source": "a\x00"},
        {"labels": {"a": 5}},
        {"labels": {"a=b": "c"}},
        {"labels": ["a"]},
        {"labels": {f"l{n}": "x" for n in range(21)}},
        {"idempotency": "args"},
        {"idempotency": "params"},
        {"idempotency": "params", "window": timedelta(0)},
        {"idempotency": "params", "window": timedelta(1), "idempotency_key": "k"},
        {"idempotency_key": ""},
        {"idempotency_key": 5},
        {"if_active": "wait"},
        {"if_done": "again"},
        {"timeout": 0},
        {"period": "2013-01", "file": __file__},
        {"file": 5},
        {"context": {"a": {1}}},
        {"connection": object()},
        {"run_at": datetime(9999, 12, 31, 23, tzinfo=timezone(-timedelta(hours=12)))},
        {"run_at": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=12)))},
    ],
    ids=",".join,
)
def test_a_wrong_option_of_a_submission_is_refused_and_nothing_stored(jobs, options):
    with pytest.raises((InvalidOption, InvalidArguments)) as error:
        jobs.note.using(**options).enqueue()
    assert len(str(error.value)) > 15
    assert count_rows(jobs) == 0


def test_an_option_that_there_is_not_is_refused_with_those_that_there_are(jobs):
    with pytest.raises(InvalidOption, match=r"has no option 'prio'.*priority"):
        jobs.note.using(prio=3)
    with pytest.raises(InvalidOption, match=r"no option 'retries'.*retry"):
        jobs.task(retries=3)(lambda: None)


def test_the_most_urgent_runs_first_then_the_oldest(jobs):
    for what, priority in (("a", 9), ("b", 5), ("c", 0), ("d", 5), ("e", None)):
        jobs.note.using(priority=priority).enqueue(what)
    drain(jobs, slots=1)
    assert jobs.ran == ["c", "b", "d", "e", "a"]


def test_a_worker_works_on_its_queues_only(jobs):
    jobs.note.enqueue("default")
    jobs.note.using(queue="slow").enqueue("slow")
    drain(jobs)
    assert jobs.ran == ["default"]
    drain(jobs, queues=["slow"])
    assert jobs.ran == ["default", "slow"]


def test_a_queues_slots_limit_it(make_jobs):
    jobs = make_jobs()
    lock, now, most = threading.Lock(), {"slow": 0}, {"slow": 0}

    @jobs.task(queue="slow")
    def work():
        with lock:
            now["slow"] += 1
            most["slow"] = max(most["slow"], now["slow"])
        threading.Event().wait(0.02)
        with lock:
            now["slow"] -= 1

    for _ in range(8):
        work.enqueue()
    drain(jobs, queues={"default": 5, "slow": 2})
    assert most["slow"] == 2


# -- once ----------------------------------------------------------------------------------------------


def test_the_same_key_and_payload_is_the_same_job_another_payload_a_conflict(jobs):
    first = jobs.note.using(idempotency_key="k").enqueue("a")
    again = jobs.note.using(idempotency_key="k").enqueue("a")
    assert (first.created, again.created, again.id) == (True, False, first.id)
    with pytest.raises(IdempotencyConflict) as conflict:
        jobs.note.using(idempotency_key="k").enqueue("b")
    assert conflict.value.job_id == first.id
    drain(jobs)
    assert jobs.note.using(idempotency_key="k").enqueue("a").id == first.id
    assert count_rows(jobs) == 1


def test_a_key_belongs_to_its_task(jobs):
    @jobs.task
    def other(what):
        pass

    first = jobs.note.using(idempotency_key="k").enqueue("a")
    assert other.using(idempotency_key="k").enqueue("a").id != first.id


def test_a_key_lives_for_its_time(jobs, clock):
    keyed = jobs.note.using(idempotency_key="k", window=timedelta(hours=1))
    first = keyed.enqueue("a")
    clock.move(minutes=59)
    assert keyed.enqueue("a").id == first.id
    clock.move(minutes=2)
    second = keyed.enqueue("b")
    assert second.created
    assert second.id != first.id


def test_a_key_from_the_arguments_within_a_window(jobs, clock):
    once = jobs.note.using(idempotency="params", window=timedelta(hours=1))
    first = once.enqueue("a")
    assert once.enqueue(what="a").id == first.id
    assert once.enqueue("b").id != first.id
    clock.move(minutes=61)
    assert once.enqueue("a").id != first.id


# -- the unit ------------------------------------------------------------------------------------------


def test_if_active_same_raise_and_queue(jobs):
    unit = jobs.note.using(source="weather/EWR", period="2013-02")
    first = unit.enqueue("a")
    again = unit.enqueue("a")
    assert (again.id, again.created) == (first.id, False)
    with pytest.raises(AlreadyActive) as other:
        unit.enqueue("b")
    assert other.value.job_id == first.id
    with pytest.raises(AlreadyActive) as same:
        unit.using(if_active="raise").enqueue("a")
    assert same.value.job_id == first.id
    behind = unit.using(if_active="queue").enqueue("b")
    assert behind.created
    assert (behind.waits_for, behind.status) == (first.id, "pending")
    assert unit.using(if_active="queue").enqueue("b").id == behind.id
    with pytest.raises(AlreadyActive) as third:
        unit.using(if_active="queue").enqueue("c")
    assert third.value.job_id == behind.id
    drain(jobs)
    assert jobs.ran == ["a", "b"]
    assert event(behind, "released").detail == {"after": first.id}
    assert {first.refresh().status, behind.refresh().status} == {"completed"}


def test_what_is_queued_is_released_also_when_the_first_fails_or_is_cancelled(jobs):
    @jobs.task
    def load(how):
        if how == "fail":
            raise ValueError

    unit = load.using(period="2013-02")
    unit.enqueue("fail")
    second = unit.using(if_active="queue").enqueue("two")
    drain(jobs)
    assert second.refresh().status == "completed"
    first = unit.using(delay=1000).enqueue("x")
    second = unit.using(if_active="queue").enqueue("y")
    first.cancel(reason="not needed")
    drain(jobs)
    assert (first.refresh().status, second.refresh().status) == ("cancelled", "completed")


def test_cancelling_what_is_queued_leaves_the_first_alone(jobs):
    unit = jobs.note.using(period="2013-02")
    first = unit.enqueue("a")
    behind = unit.using(if_active="queue").enqueue("b")
    behind.cancel()
    third = unit.using(if_active="queue").enqueue("c")
    assert third.created
    drain(jobs)
    assert jobs.ran == ["a", "c"]
    assert first.refresh().status == "completed"


def test_if_done_run_skip_and_raise(jobs):
    unit = jobs.note.using(source="s", period="2013-02")
    first = unit.enqueue("a")
    drain(jobs)
    skipped = unit.using(if_done="skip").enqueue("a")
    assert (skipped.id, skipped.created) == (first.id, False)
    with pytest.raises(AlreadyDone) as done:
        unit.using(if_done="raise").enqueue("a")
    assert done.value.job_id == first.id
    assert unit.enqueue("a").id != first.id


def test_equal_spans_are_one_unit_and_other_sources_another(jobs):
    week = jobs.note.using(source="s", period="2013-W07").enqueue()
    assert jobs.note.using(source="s", period="2013-02-11/2013-02-18").enqueue().id == week.id
    assert jobs.note.using(source="t", period="2013-W07").enqueue().id != week.id
    assert jobs.note.using(source="s").enqueue().id != jobs.note.using(source="s").enqueue().id


# -- many ----------------------------------------------------------------------------------------------


def test_enqueue_many_stores_all_or_none(jobs):
    made = jobs.note.enqueue_many({"what": n} for n in range(500))
    assert len({job.id for job in made}) == 500
    assert all(job.created for job in made)
    with pytest.raises(InvalidArguments):
        jobs.note.enqueue_many([{"what": 1}, {"what": {1, 2}}])
    with pytest.raises(InvalidArguments):
        jobs.note.enqueue_many([{"what": 1}, {"how": 1}])
    assert count_rows(jobs) == 500
    assert jobs.note.enqueue_many([]) == []
    drain(jobs)
    assert sorted(jobs.ran) == list(range(500))


def test_enqueue_many_of_a_task_with_required_arguments(jobs):
    @jobs.task(queue="many")
    def load(*, airport: str):
        jobs.ran.append(airport)

    load.using(priority=2).enqueue_many([{"airport": "EWR"}, {"airport": "JFK"}])
    assert_enqueued(jobs, load, args={"airport": "JFK"}, priority=2, queue="many")
    drain(jobs, queues=["many"])
    assert sorted(jobs.ran) == ["EWR", "JFK"]


def test_enqueue_each_is_all_or_none(jobs):
    units = [jobs.note.using(source="s", period=f"2013-{month:02d}") for month in (1, 2, 3)]
    made = jobs.enqueue_each((unit, {"what": "a"}) for unit in units)
    assert [stored_row(job).period for job in made] == ["2013-01", "2013-02", "2013-03"]
    fourth = jobs.note.using(source="s", period="2013-04")
    with pytest.raises(AlreadyActive):
        jobs.enqueue_each([(fourth, {"what": "a"}), (units[0], {"what": "other"})])
    assert count_rows(jobs) == 3


# -- embedded ------------------------------------------------------------------------------------------


def test_an_application_runs_its_worker_inside_async_with(make_jobs):
    jobs = make_jobs()

    @jobs.task
    async def double(n):
        return 2 * n

    async def host():
        async with jobs.running():
            made = [await double.aenqueue(n) for n in range(5)]
            made += await double.aenqueue_many({"n": n} for n in range(5, 8))
            return [await job.aresult(timeout=10) for job in made]

    assert asyncio.run(host()) == [0, 2, 4, 6, 8, 10, 12, 14]


def test_the_end_of_the_block_lets_running_bodies_finish(make_jobs):
    jobs = make_jobs()
    began = threading.Event()

    @jobs.task
    async def slow():
        began.set()
        await asyncio.sleep(0.3)
        return "whole"

    async def host():
        async with jobs.running():
            job = await slow.aenqueue()
            await asyncio.to_thread(began.wait, 10)
        return job

    job = asyncio.run(host())
    assert job.refresh().status == "completed"


def test_a_body_that_does_not_end_is_handed_back_uncharged_in_bounded_time(make_jobs):
    jobs = make_jobs(graceful_shutdown_timeout=0.2, cancel_timeout=0.2)
    began, go = threading.Event(), threading.Event()

    @jobs.task
    def stubborn():
        began.set()
        go.wait(60)

    @jobs.task
    async def asleep():
        await asyncio.sleep(60)

    async def host():
        async with jobs.running(leaves_process=True):
            made = await stubborn.aenqueue(), await asleep.aenqueue()
            await asyncio.to_thread(began.wait, 10)
            await asyncio.to_thread(until, "both run", lambda: made[1].refresh().status == "running")
            left = time.monotonic()
        assert time.monotonic() - left < 15
        for job in made:
            assert (job.refresh().status, job.attempt, stored_row(job).hand_backs) == ("pending", 0, 1)
            assert "shutdown" in event(job, "handed_back").reason
        go.set()  # the event loop ends with the thread of the body

    try:
        asyncio.run(host())
    finally:
        go.set()


def test_ctx_state_is_the_applications(jobs):
    @jobs.task
    def use(ctx):
        return ctx.state.price

    jobs.state.price = 42
    job = use.enqueue()
    drain(jobs)
    assert job.result() == 42


# -- helpers -------------------------------------------------------------------------------------------


def test_inline_runs_every_submission_before_enqueue_returns(jobs):
    with inline(jobs):
        job = jobs.note.enqueue("now")
        assert (job.status, jobs.ran) == ("completed", ["now"])
        unit = jobs.note.using(period="2013-02").enqueue("unit")
        assert unit.status == "completed"
    assert jobs.note.enqueue("later").status == "pending"


def test_adrain_inside_a_running_loop(jobs):
    async def main():
        job = await jobs.note.aenqueue("a")
        ran = await adrain(jobs)
        return job, ran

    job, ran = asyncio.run(main())
    assert [one.id for one in ran] == [job.id]
    assert ran[0].status == "completed"


def test_assert_enqueued_finds_and_tells_what_there_is_instead(jobs):
    job = jobs.note.using(source="s").enqueue("a")
    assert assert_enqueued(jobs, jobs.note, args={"what": "a"}, status="pending", source="s").id == job.id
    with pytest.raises(AssertionError, match="there are:\n  pending s"):
        assert_enqueued(jobs, "note", args={"what": "b"})


def test_a_job_is_found_by_the_end_of_its_id(jobs):
    job = jobs.note.enqueue("a")
    assert jobs.get(job.id[-8:]).id == job.id
    with pytest.raises(NotFound, match="no job"):
        jobs.get("ffffffffffff")


async def test_an_idle_worker_begins_a_delayed_job_when_it_is_due_and_not_at_the_next_poll(make_jobs):
    jobs = make_jobs(poll_interval=30)
    began = []

    @jobs.task
    async def note():
        began.append(time.monotonic())

    async with jobs.running():
        asked = time.monotonic()
        await note.using(delay=0.5).aenqueue()
        while not began and time.monotonic() - asked < 10:
            await asyncio.sleep(0.01)
    assert 0.4 < began[0] - asked < 5


async def test_who_submits_says_so_once_a_day_so_that_its_row_is_kept(jobs, clock):
    def heard():
        with jobs.store.read() as conn:
            return conn.execute(select(submitters.c.at).where(submitters.c.id == jobs.service.submitter)).scalar()

    jobs.note.enqueue()
    first = heard()
    clock.move(days=2)
    jobs.note.enqueue()
    assert heard() == first
    jobs.service._introduced_at -= 2 * 86_400
    await jobs.note.aenqueue()
    assert heard() == first + timedelta(days=2)
