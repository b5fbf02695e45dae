"""Loops of plug-ins: beside every worker or beside one, with leases, and what happens when they fail."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from trails import until

from jobtrail import InvalidOption, JobTrail, Plugin
from jobtrail.cli import main
from jobtrail.database import leases
from jobtrail.job.model import new_id
from jobtrail.plugins.loops import LeaseKeeper, LoopRunner, accompany
from jobtrail.testing import MovableClock, drain

if TYPE_CHECKING:
    from collections.abc import Callable

LEASE = "plugin:office:look"
FIRST, SECOND = new_id(), new_id()


def office(turn: Callable[[JobTrail], None], **options: Any) -> Plugin:
    """A plug-in with one loop, which calls ``turn``."""
    plugin = Plugin("office")

    @plugin.loop(**{"every": 0.02, **options})
    def look(jobs: JobTrail) -> None:
        turn(jobs)

    return plugin


def holders(jobs: JobTrail) -> dict[str, str]:
    with jobs.store.read() as conn:
        return {name: holder for name, holder, _ in leases.everyone(conn, jobs.store.now())}


async def fact(what: str, true: Callable[[], Any]) -> Any:
    return await asyncio.to_thread(until, what, true)


# -- beside workers --------------------------------------------------------------------------------------


async def test_a_loop_runs_beside_a_worker_and_ends_with_it(make_jobs: Callable[..., JobTrail]) -> None:
    turns: list[JobTrail] = []
    jobs = make_jobs(plugins=[office(turns.append, leader=False)])
    async with jobs.running():
        await fact("it has turned three times", lambda: len(turns) >= 3)
        assert LEASE not in holders(jobs)
    seen = len(turns)
    assert set(turns) == {jobs}
    await asyncio.sleep(0.1)
    assert len(turns) == seen
    assert "jobtrail-office.look" not in {one.name for one in threading.enumerate()}


@pytest.mark.both_databases
async def test_one_of_two_workers_leads_and_the_other_goes_on_at_once(make_jobs: Callable[..., JobTrail]) -> None:
    """The lease lasts for an hour: only its release lets the other one begin."""
    turns: list[JobTrail] = []
    plugin = office(turns.append)
    one, two = (make_jobs(plugins=[plugin], scheduler_lease=lease) for lease in (3600.0, 3.0))
    async with contextlib.AsyncExitStack() as first, contextlib.AsyncExitStack() as second:
        await first.enter_async_context(one.running())
        await fact("the first leads", lambda: len(turns) > 3)
        await second.enter_async_context(two.running())
        await asyncio.to_thread(LeaseKeeper.run_once, keeper_of(two, FIRST)[0])  # a third one does not get it either
        seen = len(turns)
        await fact("the first goes on", lambda: len(turns) > seen + 3)
        assert (set(turns), list(holders(one))) == ({one}, [LEASE])
        await first.aclose()
        seen = len(turns)
        await fact("the second leads", lambda: len(turns) > seen + 3)
        assert set(turns[seen:]) == {two}


def test_a_worker_of_a_test_has_no_loops(make_jobs: Callable[..., JobTrail]) -> None:
    turns: list[JobTrail] = []
    jobs = make_jobs(plugins=[office(turns.append, leader=False)])
    drain(jobs)
    worker = jobs.worker(beat=None)
    assert (turns, accompany(worker, jobs, jobs.plugins.loops())) == ([], worker)
    ((plugin, loop),) = jobs.plugins.loops()
    loop.function(jobs)
    assert (plugin, loop.name, turns) == ("office", "look", [jobs])


async def test_an_error_is_logged_once_and_shown_by_doctor_until_it_is_over(
    make_jobs: Callable[..., JobTrail], caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    broken = threading.Event()
    broken.set()
    turns: list[int] = []

    def turn(_: JobTrail) -> None:
        turns.append(1)
        if broken.is_set():
            raise SystemExit("no way")

    jobs = make_jobs(plugins=[office(turn)], beat_interval=0.1)
    monkeypatch.setenv("JOBTRAIL_URL", jobs.store.database.url.render_as_string(hide_password=False))
    worker = jobs.worker()
    with caplog.at_level(logging.WARNING, "jobtrail.worker"):
        async with jobs.service.running(worker):
            await fact("it has failed three times", lambda: len(turns) >= 3)
            assert {one.name: one.failing for one in worker.session.health()}["office.look"] == "SystemExit: no way"
            await fact("doctor says so", lambda: main(["doctor"]) == 1 and "office.look" in capsys.readouterr().out)
            broken.clear()
            await fact("it works again", lambda: "office.look works again" in caplog.text)
            assert all(one.failing is None for one in worker.session.health())
    told = [one.getMessage() for one in caplog.records if "office.look failed" in one.getMessage()]
    assert told == ["office.look failed and is repeated: SystemExit: no way"]


# -- leases ----------------------------------------------------------------------------------------------


def keeper_of(jobs: JobTrail, holder: str, turn: Callable[[JobTrail], None] = lambda _: None) -> tuple[LeaseKeeper, LoopRunner]:
    keeper = LeaseKeeper(jobs.store, 10.0, lambda: holder)
    ((plugin, part),) = make_parts(turn)
    runner = LoopRunner(jobs, plugin, part, keeper)
    keeper.keep_for([runner])
    return keeper, runner


def make_parts(turn: Callable[[JobTrail], None]) -> list[tuple[str, Any]]:
    return [("office", loop) for loop in office(turn).loops.values()]


@pytest.mark.both_databases
def test_a_lease_is_renewed_while_its_holder_lives_and_taken_when_it_is_silent(make_jobs: Callable[..., JobTrail]) -> None:
    clock = MovableClock(datetime(2013, 2, 1, tzinfo=UTC))
    jobs = make_jobs(clock=clock)
    (one, _), (two, _) = keeper_of(jobs, FIRST), keeper_of(jobs, SECOND)
    for keeper in (one, two):
        keeper.run_once()
    assert (one.holds(LEASE), two.holds(LEASE)) == (True, False)
    for _ in range(4):
        clock.move(seconds=8)
        one.run_once()
        two.run_once()
    assert (one.holds(LEASE), two.holds(LEASE)) == (True, False)
    clock.move(seconds=11)
    two.run_once()
    one.run_once()
    assert (one.holds(LEASE), two.holds(LEASE)) == (False, True)
    two.stop()
    one.run_once()
    assert (one.holds(LEASE), two.holds(LEASE)) == (True, False)


def test_a_lease_that_could_not_be_renewed_is_not_relied_on(make_jobs: Callable[..., JobTrail], monkeypatch: pytest.MonkeyPatch) -> None:
    from jobtrail.plugins import loops

    keeper, _ = keeper_of(make_jobs(), FIRST)
    at = 100.0
    monkeypatch.setattr(loops.time, "monotonic", lambda: at)
    keeper.run_once()
    at += 9.9
    assert keeper.holds(LEASE)
    at += 0.2
    assert not keeper.holds(LEASE)


def test_a_worker_with_a_new_identity_holds_nothing_of_the_old_one(make_jobs: Callable[..., JobTrail]) -> None:
    names = [FIRST]
    keeper = LeaseKeeper(make_jobs().store, 10.0, lambda: names[-1])
    keeper.keep_for(keeper_of(make_jobs(), SECOND)[0]._runners)
    keeper.run_once()
    assert keeper.holds(LEASE)
    names.append(SECOND)
    assert not keeper.holds(LEASE)


def test_the_lease_of_a_turn_that_does_not_end_is_not_given_up(
    make_jobs: Callable[..., JobTrail], monkeypatch: pytest.MonkeyPatch
) -> None:
    from jobtrail.plugins import loops

    monkeypatch.setattr(loops, "STOP_SECONDS", 0.05)
    within, go_on = threading.Event(), threading.Event()

    def turn(_: JobTrail) -> None:
        within.set()
        go_on.wait(20)

    jobs = make_jobs()
    keeper, runner = keeper_of(jobs, FIRST, turn)
    keeper.run_once()
    runner.start()
    assert within.wait(10)
    try:
        runner.stop()
        keeper.stop()
        assert holders(jobs) == {LEASE: FIRST}
    finally:
        go_on.set()


# -- refused ---------------------------------------------------------------------------------------------


async def asleep(jobs: JobTrail) -> None:
    """A function that no thread can repeat."""


def awake(jobs: JobTrail) -> None:
    """A function that a thread can repeat."""


@pytest.mark.parametrize(
    ("declare", "words"),
    [
        (lambda p: p.loop(every=0)(awake), "every must be a number of seconds above 0"),
        (lambda p: p.loop(every=0.001)(awake), "must be at least 0.01; they are 0.001"),
        (lambda p: p.loop(every=None)(awake), "they are None"),
        (lambda p: p.loop()(asleep), "'asleep' of the plug-in 'office' is 'async def'"),
        (lambda p: p.loop()(5), "needs a function here; it has 5"),
        (lambda p: (p.loop()(awake), p.loop()(awake)), "two loops called 'awake'"),
    ],
)
def test_what_cannot_be_repeated_is_refused(declare: Any, words: str) -> None:
    with pytest.raises(InvalidOption, match=words):
        declare(Plugin("office"))
