"""What becomes of times that were missed: after downtime, by each rule, exactly; and what a late run is late for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from ticking import NOON, Ticking, at, minutes

from jobtrail.errors import InvalidSchedule
from jobtrail.messages import use_language

DOWN = minutes("12:20", "15:10", 10)  # times that pass between a turn at 12:10 and one at 15:15


@pytest.fixture
def ticking(make_jobs):
    return Ticking(make_jobs)


def three_hours_down(ticking, **options):
    """One run at 12:10, then nothing until 15:15, which is five minutes behind a time."""
    ticking.declare("*/10 * * * *", **options)
    ticking.turn("12:10:01")
    ticking.turn("15:15")
    ticking.settle()


def test_one_run_makes_up_for_three_hours_and_the_rest_are_rows(ticking):
    three_hours_down(ticking)
    assert ticking.told() == [("12:10", "ran"), *[(time, "no scheduler was running") for time in DOWN[:-1]], ("15:10", "ran")]


def test_all_are_made_up_for_one_after_the_other(ticking):
    three_hours_down(ticking, catch_up="all")
    assert ticking.told() == [("12:10", "ran"), *[(time, "ran") for time in DOWN]]
    assert ticking.slots_seen == [at(time) for time in ["12:10", *DOWN]]


def test_all_at_once_where_runs_may_overlap(ticking):
    ticking.declare("*/10 * * * *", catch_up="all", overlap="allow")
    ticking.turn("12:10:01")
    assert ticking.turn("15:15", run=False).submitted == len(DOWN)


def test_none_is_made_up_for(ticking):
    three_hours_down(ticking, catch_up="skip")
    assert ticking.told() == [("12:10", "ran"), *[(time, "no scheduler was running") for time in DOWN]]
    ticking.turn("15:20")
    assert ticking.ran() == ["12:10", "15:20"]


def test_one_that_is_in_time_is_the_one(ticking):
    ticking.declare("*/10 * * * *")
    ticking.turn("12:10:01")
    ticking.turn("15:10:30")
    assert ticking.ran() == ["12:10", "15:10"]


def test_what_lies_before_the_window_is_too_late(ticking):
    three_hours_down(ticking, catch_up="all", window=3600)
    old, young = minutes("12:20", "14:10", 10), minutes("14:20", "15:10", 10)
    assert ticking.told() == [
        ("12:10", "ran"), *[(time, "too late") for time in old], *[(time, "ran") for time in young],
    ]  # fmt: skip


def test_an_outage_of_a_year_is_told_in_few_rows(ticking):
    ticking.declare("* * * * *")
    ticking.turn("12:01:01")
    ticking.turn(NOON + timedelta(days=365, seconds=5))
    rows = ticking.jobs.schedules.slots("s", limit=10_000)
    summed = [row for row in rows if row.through is not None]
    assert len(rows) < 3000
    assert {row.reason for row in rows if row.state == "missed"} == {"too late", "no scheduler was running"}
    assert summed[-1].planned_at == at("12:02")
    assert ticking.get().next_at == NOON + timedelta(days=365, minutes=1)


def test_every_second_for_three_hours_is_told_in_few_rows(ticking):
    ticking.declare("every 1 second")
    ticking.turn("12:00:01")
    ticking.turn("15:00:00")
    rows = ticking.jobs.schedules.slots("s", limit=10_000)
    assert len(rows) < 1100
    assert ticking.slots_seen == [at("12:00:01"), at("14:59:00")]


def test_the_rows_are_noted_and_shown_for_all_schedules(ticking):
    three_hours_down(ticking)
    missed = ticking.jobs.schedules.missed(limit=1000)
    assert {name for name, _ in missed} == {"s"}
    assert len(missed) == len(DOWN) - 1
    assert "slot_missed" in ticking.events()


@pytest.mark.parametrize(("grace", "made_up"), [(1, False), (60, False), (900, True), (None, True)])
def test_c62_a_run_within_its_grace_is_in_time(ticking, grace, made_up):
    """Six minutes late, of a schedule that makes up for nothing."""
    ticking.declare("0 13 * * *", catch_up="skip", grace=grace)
    ticking.turn("13:06")
    assert ticking.told() == [("13:00", "ran" if made_up else "no scheduler was running")]


def test_c62_no_grace_at_all_is_refused(ticking):
    with pytest.raises(InvalidSchedule, match="grace must be a number of seconds, at least 1"):
        ticking.declare("0 13 * * *", grace=0)


def test_c62_the_default_loses_nothing_for_a_few_seconds(ticking):
    """Fifty schedules due in one second, and a scheduler that comes five seconds late: all run."""
    for number in range(50):
        ticking.jobs.schedule("0 13 * * *", name=f"s{number}", args={"number": number})(ticking.work)
    ticking.jobs.schedules.sync()
    assert ticking.turn("13:00:05").submitted == 50
    assert len(ticking.slots_seen) == 50


def test_c62_a_daily_run_whose_machine_slept_runs_once_on_waking(ticking):
    ticking.declare("0 3 * * *")
    wakes = datetime(2026, 3, 5, 7, tzinfo=UTC)
    ticking.turn(wakes)
    assert ticking.slots_seen == [wakes.replace(hour=3)]
    assert [what for _, what in ticking.told()] == ["too late", "too late", "ran"]


def test_c62_a_single_time_that_passed_runs_or_is_told(ticking):
    ticking.jobs.schedule(at("13:00"), name="made up")(ticking.work)
    ticking.jobs.schedule(at("13:00"), name="let go", catch_up="skip")(ticking.work)
    ticking.jobs.schedules.sync()
    ticking.turn("14:00")
    assert ticking.told("made up") == [("13:00", "ran")]
    assert ticking.told("let go") == [("13:00", "no scheduler was running")]
    assert {ticking.get(name).state for name in ("made up", "let go")} == {"finished"}


def test_c62_unknown_options_are_refused(ticking):
    with pytest.raises(InvalidSchedule, match="a schedule has no option 'misfire_grace_time'; the options are: tz, name, rule"):
        ticking.declare("0 13 * * *", misfire_grace_time=5)


def test_a_job_knows_its_planned_time_however_late_it_runs(ticking):
    ticking.declare("*/10 * * * *", tz="Europe/Moscow")
    ticking.turn("13:34")
    assert ticking.slots_seen == [at("13:30")]
    assert ticking.slots_seen[0].tzinfo is not None


@pytest.mark.parametrize("language", ["en", "ru"])
def test_times_that_were_missed_on_purpose_need_nobody(ticking, language):
    """The reason of a slot is read in the reader's language, and tells the two apart in each."""
    ticking.declare("*/10 * * * *", name="down")
    ticking.declare("*/10 * * * *", name="paused")
    ticking.turn("12:10:01")
    ticking.jobs.schedules.pause("paused")
    ticking.turn("12:45")
    with use_language(language):
        reasons = {slot.reason for slot in ticking.jobs.schedules.slots("paused") if slot.state == "missed"}
        assert reasons == {"paused" if language == "en" else "пауза"}
        needs = [one for one in ticking.jobs.queries.attention().needs if one.kind == "missed"]
    assert [(one.schedule, one.count) for one in needs] == [("down", 2)]
    assert needs[0].text == ("no scheduler was running" if language == "en" else "планировщик не работал")
