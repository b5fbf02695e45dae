"""The rules of a module's status, without a database."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from jobtrail.errors import InvalidOption
from jobtrail.office import rules
from jobtrail.office.quiet import is_quiet, parse_quiet_hours, reached
from jobtrail.office.rules import ERROR, NEW, OK, PAUSED, WARNING, ModuleBeat, ModuleLimits, WatchedModule

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)  # a Monday


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def module(status=OK, last=0.0, **more) -> WatchedModule:
    activity = None if last is None else after(last)
    return WatchedModule("parser", status, NOON, NOON, NOON, last_activity=activity, **more)


def clock(one, seconds):
    done = rules.by_clock(one, after(seconds))
    return None if done is None else done.module.status


@pytest.mark.parametrize(
    ("seconds", "status"),
    [(299.999999, None), (300, WARNING), (899.999999, WARNING), (900, ERROR), (86400, ERROR)],
)
def test_exactly_at_the_limit_the_status_has_turned(seconds, status):
    assert clock(module(), seconds) == status


@pytest.mark.parametrize(("seconds", "status"), [(299, None), (300, WARNING), (900, ERROR)])
def test_a_module_that_never_reported_turns_after_its_first_limit(seconds, status):
    done = rules.by_clock(module(NEW, None), after(seconds))
    assert (done and done.module.status) == status
    assert done is None or done.reason.code == "office.never-reported"


def test_silence_never_improves_a_status():
    assert clock(module(ERROR, 0), 10) is None
    assert clock(module(ERROR, 0), 500) is None
    assert clock(module(WARNING, 0), 500) is None
    assert clock(module(WARNING, 0), 900) is ERROR


@pytest.mark.parametrize("limits", [(300, 300), (900, 300), (0, 5), (-1, 5), (float("nan"), 5), (5, float("inf")), (True, 5), ("5", 9), (5, 1e9)])
def test_wrong_limits_are_refused(limits):
    with pytest.raises(InvalidOption):
        ModuleLimits(*limits)


@pytest.mark.parametrize("beats", [0, -1, 1.5, True, 5000, "2"])
def test_wrong_numbers_of_recovery_beats_are_refused(beats):
    with pytest.raises(InvalidOption):
        ModuleLimits(5, 9, beats)


# -- beats -------------------------------------------------------------------------------------------------


def beat(one, seconds, status=None, at=None):
    return rules.by_beat(one, ModuleBeat(after(seconds if at is None else at), status), after(seconds)).module


@pytest.mark.parametrize("status", [NEW, WARNING, ERROR])
def test_one_beat_brings_a_module_back(status):
    assert beat(module(status, None if status is NEW else 0), 1000).status is OK


def test_as_many_beats_in_a_row_as_are_asked_for():
    one = module(ERROR, 0, limits=ModuleLimits(recovery_beats=3))
    one = beat(beat(one, 1000), 1010)
    assert (one.status, one.streak) == (ERROR, 2)
    one = beat(one, 1400)  # 390 s later: not in a row
    assert (one.status, one.streak) == (ERROR, 1)
    assert beat(beat(one, 1410), 1420).status is OK


def test_a_new_module_needs_no_recovery():
    assert beat(module(NEW, None, limits=ModuleLimits(recovery_beats=5)), 10).status is OK


def test_what_a_module_reports_about_itself_stands_until_it_reports_otherwise():
    one = beat(module(), 10, WARNING)
    assert (one.status, one.reported) == (WARNING, WARNING)
    one = beat(one, 20)
    assert one.status is WARNING
    one = beat(one, 30, ERROR)
    assert one.status is ERROR
    one = beat(one, 40, WARNING)
    assert one.status is WARNING
    one = beat(one, 50, OK)
    assert (one.status, one.reported) == (OK, None)


def test_silence_counts_on_top_of_a_reported_warning():
    one = beat(module(), 10, WARNING)
    assert rules.due_times(one).due_at == after(910)
    assert clock(one, 910) is ERROR


def test_an_activity_in_the_future_counts_as_now_and_is_said():
    assert rules.counted(after(3600), NOON) == (NOON, 3600.0)
    assert rules.counted(after(0.5), NOON) == (NOON, 0.0)  # clocks differ by this much
    assert rules.counted(after(-5), NOON) == (after(-5), 0.0)
    assert rules.counted(None, NOON) == (NOON, 0.0)
    assert beat(module(), 10, at=3600).last_activity == after(10)


def test_an_activity_of_the_past_moves_nothing_back_and_saves_nobody():
    assert beat(module(OK, 100), 200, at=50).last_activity == after(100)
    one = beat(module(ERROR, 0), 2000, at=1000)  # it came late: 1000 s ago
    assert (one.status, one.last_activity) == (ERROR, after(1000))
    assert beat(module(NEW, None), 2000, at=1000).status is NEW


def test_a_stored_activity_of_the_future_is_corrected():
    one = rules.clock_corrected(module(OK, 3600), NOON)
    assert one is not None
    assert one.last_activity == NOON
    assert rules.clock_corrected(module(OK, 1), NOON) is None
    assert rules.clock_corrected(module(NEW, None), NOON) is None


# -- pauses ------------------------------------------------------------------------------------------------


def paused(one, seconds, until=None):
    return rules.pause(one, None if until is None else after(until), after(seconds)).module


def test_a_pause_holds_until_its_end_whatever_comes():
    one = paused(module(), 100, until=5000)
    assert clock(one, 4999) is None
    assert beat(one, 200).status is PAUSED
    assert beat(one, 200, ERROR).status is PAUSED
    assert clock(one, 5000) is OK


def test_a_pause_without_an_end_never_ends_by_itself():
    assert clock(paused(module(), 0), 10**8) is None
    assert rules.due_times(paused(module(), 0)).due_at is None


def test_after_a_pause_silence_counts_from_its_end():
    one = rules.by_clock(paused(module(), 100, until=5000), after(5001)).module
    assert rules.due_times(one).warn_at == after(5300)
    assert clock(one, 5299) is None
    assert clock(one, 5300) is WARNING


def test_a_pause_that_ended_unseen_is_judged_from_its_end():
    done = rules.by_clock(paused(module(), 100, until=5000), after(6000))
    assert (done.was, done.module.status) == (PAUSED, ERROR)


def test_a_problem_outlives_a_pause_unless_the_module_reports():
    one = paused(module(ERROR, 0), 1000, until=2000)
    assert clock(one, 2000) is ERROR
    assert clock(beat(one, 1500), 2000) is OK
    assert clock(beat(one, 1500, WARNING), 2000) is WARNING
    assert clock(paused(module(NEW, None), 10, until=20), 20) is NEW


def test_a_second_pause_changes_the_end():
    one = paused(paused(module(ERROR, 0), 10, until=20), 15, until=500)
    assert (one.paused_until, one.before_pause, one.since) == (after(500), ERROR, after(10))


# -- settings and the watcher ------------------------------------------------------------------------------


def with_limits(one, seconds, *limits):
    return rules.with_settings(one, ModuleLimits(*limits), "", after(seconds)).module.status


def test_other_limits_are_judged_at_once_for_better_or_worse():
    assert with_limits(module(ERROR, 0), 1000, 2000, 3000) is OK
    assert with_limits(module(ERROR, 0), 1000, 500, 3000) is WARNING
    assert with_limits(module(OK, 0), 100, 50, 80) is ERROR
    assert with_limits(module(NEW, None), 100, 50, 300) is WARNING
    assert with_limits(module(ERROR, None), 100, 500, 600) is NEW
    assert with_limits(module(ERROR, 0, reported=ERROR), 10, 500, 600) is ERROR
    assert with_limits(paused(module(ERROR, 0), 10), 20, 500, 600) is PAUSED


def test_after_an_outage_of_the_watcher_one_full_limit_must_pass():
    one = rules.watcher_returns(module(OK, 0), after(10_000))
    assert clock(one, 10_299) is None
    assert clock(one, 10_300) is WARNING
    assert clock(one, 10_900) is ERROR
    assert one.last_activity == NOON


def test_an_outage_of_the_watcher_heals_nobody():
    one = rules.watcher_returns(module(ERROR, 0), after(10_000))
    assert one.status is ERROR
    assert with_limits(one, 10_001, 200, 300) is ERROR


# -- quiet hours -------------------------------------------------------------------------------------------


def quiet(text):
    return parse_quiet_hours(text)


def test_nobody_is_declared_in_quiet_hours_and_silence_counts_from_their_end():
    night = quiet("22:00-06:00")
    evening = NOON.replace(hour=21, minute=58)
    assert reached(evening, 300, night) == datetime(2026, 3, 3, 6, 5, tzinfo=UTC)
    assert reached(evening - timedelta(minutes=3), 300, night) == evening + timedelta(minutes=2)  # exactly at their start
    assert reached(NOON, 300, night) == after(300)
    assert reached(NOON.replace(hour=23), 900, night) == datetime(2026, 3, 3, 6, 15, tzinfo=UTC)


def test_days_whole_days_and_windows_that_touch():
    weekend = quiet("sat,sun 00:00-24:00; fri 18:00-24:00")
    friday = datetime(2026, 3, 6, 17, 58, tzinfo=UTC)
    assert reached(friday, 300, weekend) == datetime(2026, 3, 9, 0, 5, tzinfo=UTC)
    assert is_quiet(datetime(2026, 3, 7, 12, tzinfo=UTC), weekend)
    assert not is_quiet(datetime(2026, 3, 9, 0, tzinfo=UTC), weekend)
    assert quiet("fri-mon 10:00-11:00")[0].days == {4, 5, 6, 0}


def test_quiet_hours_are_local_times_also_when_the_clock_changes():
    night = quiet("01:00-04:00 Europe/Berlin")
    assert reached(datetime(2026, 10, 24, 23, 30, tzinfo=UTC), 300, night) == datetime(2026, 10, 25, 3, 5, tzinfo=UTC)
    assert reached(datetime(2026, 3, 29, 0, 30, tzinfo=UTC), 300, night) == datetime(2026, 3, 29, 2, 5, tzinfo=UTC)


def test_quiet_hours_that_leave_no_room_are_never_over():
    assert reached(NOON, 300, quiet("00:00-24:00")) is None
    always = module(OK, 0, quiet_hours="00:00-24:00")
    assert rules.due_times(always).due_at is None
    assert clock(always, 10**7) is None


def test_quiet_hours_shift_the_due_times_of_a_module():
    one = module(OK, 0, quiet_hours="12:02-13:00")
    assert rules.due_times(one).warn_at == NOON.replace(hour=13, minute=5)
    assert clock(one, 600) is None
    assert clock(replace(one, quiet_hours=""), 600) is WARNING


@pytest.mark.parametrize("text", ["night", "25:00-06:00", "10:00", "foo 10:00-11:00", "10:00-11:00 Mars/Base", "mon-x 10:00-11:00", "; ".join(["10:00-11:00"] * 30)])
def test_wrong_quiet_hours_are_refused(text):
    with pytest.raises(InvalidOption):
        quiet(text)
