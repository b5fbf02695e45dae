"""Who decides: one process at a time for each task, and none that has lost its lease fires anything."""

from __future__ import annotations

from datetime import timedelta

import pytest
from ticking import NOON, Ticking, at

from jobtrail.database import leases
from jobtrail.errors import InvalidOption
from jobtrail.store import schedules, workers


@pytest.fixture
def ticking(make_jobs):
    ticking = Ticking(make_jobs, poll_interval=1.0, scheduler_lease=30.0)
    ticking.declare("every 15 seconds")
    return ticking


def other(ticking):
    """Another process beside it: a scheduler of its own over the same store."""
    return ticking.jobs.schedules.scheduler()


def test_one_decides_and_the_others_wait(ticking):
    second = other(ticking)
    assert ticking.turn("12:00:15").leads == ("work",)
    ticking.clock.set(at("12:00:16"))
    assert second.run_once().leads == ()


def test_c10_a_leader_that_is_gone_is_followed_within_the_life_of_its_lease(ticking):
    second = other(ticking)
    ticking.turn("12:00:15")
    for second_ in range(16, 44):
        ticking.clock.set(NOON + timedelta(seconds=second_))
        assert second.run_once().leads == ()
    ticking.clock.set(NOON + timedelta(seconds=46))
    turn = second.run_once()
    assert (turn.leads, turn.submitted) == (("work",), 1)
    assert [slot.planned_at.second for slot in ticking.jobs.schedules.slots("s")][:3] == [45, 30, 15]


def test_c10_a_leader_that_slept_past_its_lease_fires_nothing(ticking):
    """It had read what is due, slept, and goes on to write: another one has decided meanwhile."""
    second = other(ticking)
    ticking.turn("12:00:01")
    ticking.clock.set(at("12:00:15"))
    planner, dispatcher = ticking.scheduler._planner, ticking.scheduler._dispatcher
    due = planner.load(["work"], ticking.clock.now()).due
    ticking.clock.set(at("12:00:45"))
    assert second.run_once().leads == ("work",)
    written = dispatcher.dispatch(due, ticking.clock.now())
    assert (written.lost, written.submitted) == (True, 0)
    ran = [slot.planned_at for slot in ticking.jobs.schedules.slots("s") if slot.state == "submitted"]
    assert len(ran) == len(set(ran)) == len(ticking.jobs.find("task:work"))
    assert ticking.scheduler.run_once().leads == ()


def test_a_leader_that_reads_and_is_overtaken_on_the_row_writes_nothing(ticking):
    """A person has edited the schedule between the look and the write: the next turn takes what he made of it."""
    planner, dispatcher = ticking.scheduler._planner, ticking.scheduler._dispatcher
    ticking.turn("12:00:01")
    ticking.clock.set(at("12:00:15"))
    due = planner.load(["work"], ticking.clock.now()).due
    ticking.jobs.schedules.pause("s")
    assert dispatcher.dispatch(due, ticking.clock.now()).submitted == 0
    assert ticking.jobs.find("task:work") == []


def test_a_leader_that_ends_in_order_lets_another_go_on_at_once(ticking):
    second = other(ticking)
    ticking.turn("12:00:15")
    ticking.scheduler.give_up()
    assert second.run_once().leads == ("work",)


def test_a_leader_whose_worker_is_known_to_be_dead_is_followed_at_once(ticking):
    store, dead = ticking.jobs.store, ticking.get().id  # any id will do
    store.write(lambda conn: workers.register(conn, store.dialect, dead, ["default"], 1, store.now()))
    first = ticking.jobs.schedules.scheduler(lambda: dead)
    assert first.run_once().leads == ("work",)
    second = other(ticking)
    assert second.run_once().leads == ()
    store.write(lambda conn: workers.mark_dead(conn, dead, "killed", store.now()))
    assert second.run_once().leads == ("work",)
    assert set(ticking.jobs.schedules.leaders().values()) == {second._leader._holder}


def test_a_worker_that_goes_on_under_a_new_identity_takes_its_leases_anew(ticking):
    names = ["0" * 8 + "-0000-7000-8000-" + "0" * 12, "1" * 8 + "-0000-7000-8000-" + "1" * 12]
    own = [names[0]]
    scheduler = ticking.jobs.schedules.scheduler(lambda: own[0])
    assert scheduler.run_once().leads == ("work",)
    own[0] = names[1]
    assert scheduler.run_once().leads == ()
    ticking.clock.move(seconds=31)
    assert scheduler.run_once().leads == ("work",)


def test_the_token_rises_when_a_lease_changes_hands_and_stays_when_it_is_renewed(ticking):
    store = ticking.jobs.store
    a, b = ticking.get().id, ticking.jobs.service.submitter

    def take(holder, moment):
        return store.write(
            lambda conn: leases.take(conn, store.dialect, ["x"], holder, moment, moment + timedelta(seconds=30))
        )

    assert take(a, NOON) == {"x": 1}
    assert take(a, NOON + timedelta(seconds=20)) == {"x": 1}
    assert take(b, NOON + timedelta(seconds=49)) == {}
    assert take(b, NOON + timedelta(seconds=50)) == {"x": 2}
    with store.read() as conn:
        assert leases.are_held(conn, {"x": 2})
        assert not leases.are_held(conn, {"x": 1})


@pytest.mark.parametrize("lifetime", [0, -5])
def test_c10_a_lease_of_no_time_is_refused(make_jobs, lifetime):
    with pytest.raises(InvalidOption, match="scheduler_lease must be a number above 0"):
        make_jobs(scheduler_lease=lifetime)


def test_c10_a_lease_that_runs_out_between_two_turns_is_refused_where_a_worker_would_start(make_jobs):
    with pytest.raises(InvalidOption, match="scheduler_lease must be at least 1 second"):
        make_jobs(scheduler_lease=0.5).worker()


def test_c10_turns_come_often_enough_for_the_lease_whatever_else_is_set(make_jobs):
    """A worker that polls rarely still renews in time, and still sees within 5 s what others have changed."""
    assert make_jobs(poll_interval=60.0).schedules.scheduler().run_once().wait == pytest.approx(10 / 3)
    assert make_jobs(poll_interval=60.0, scheduler_lease=300.0).schedules.scheduler().run_once().wait == 5.0
    assert make_jobs(poll_interval=0.5).schedules.scheduler().run_once().wait == 0.5


def test_the_slots_key_keeps_two_that_both_believe_to_lead_from_doubling(ticking, monkeypatch):
    """Should the lease fail altogether, the key of the slot still has the last word."""
    second = other(ticking)
    monkeypatch.setattr(leases, "are_held", lambda _conn, _tokens: True)
    monkeypatch.setattr(schedules, "unchanged", lambda _conn, rows: {row.id for row in rows})
    ticking.turn("12:00:01")
    ticking.clock.set(at("12:00:15"))
    due = ticking.scheduler._planner.load(["work"], ticking.clock.now()).due
    second._leader._tokens = {"schedules:work": 1}
    assert ticking.scheduler._dispatcher.dispatch(due, ticking.clock.now()).submitted == 1
    assert second._dispatcher.dispatch(due, ticking.clock.now()).submitted == 0
    assert len(ticking.jobs.find("task:work")) == 1


def test_who_begins_to_lead_late_does_not_take_a_next_time_for_one_of_a_clock_that_went_back(ticking):
    """Between its look at the clock and its look at the rows, the one before has moved the next times on."""
    second = other(ticking)
    ticking.turn("12:00:45")
    ticking.scheduler.give_up()
    anchor = ticking.get().row.anchor
    assert second.run_once(at("12:00:20")).leads == ("work",)
    assert (ticking.get().row.anchor, ticking.get().next_at) == (anchor, at("12:01:00"))
