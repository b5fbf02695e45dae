"""A backfill's plan: which units, in which state, what is done with each, and what is refused before anything is stored."""

from __future__ import annotations

import pytest
from trails import count_rows

from jobtrail import Context, InvalidArguments, InvalidOption, InvalidPeriod, JobTrail, UnknownTask, UsageError
from jobtrail.commands.job_fields import stored_row
from jobtrail.job.period import Period
from jobtrail.schedules.backfill.backfill import MOST_UNITS, BackfillSelection
from jobtrail.testing import drain


def add_load(jobs: JobTrail, **options):
    """A task whose period decides how it ends: -02 fails, -03 comes in partly, all else is complete."""

    def load(ctx: Context, *, airport: str, rows: int = 2):
        if str(ctx.period).endswith("-02"):
            raise RuntimeError("no answer")
        for item in ctx.items(range(rows)):
            with item:
                if str(ctx.period).endswith("-03") and item.value == 0:
                    raise ValueError("bad row")

    return jobs.task(**options)(load)


def loaded(jobs: JobTrail, load, periods, airports=("EWR",)):
    for airport in airports:
        for period in periods:
            load.using(source=f"weather/{airport}", period=period).enqueue(airport=airport)
    drain(jobs)


def keys(plan):
    return [unit.key for unit in plan.chosen]


def test_every_state_is_counted_and_only_what_was_asked_for_is_chosen(jobs):
    load = add_load(jobs)
    loaded(jobs, load, ["2013-01", "2013-02", "2013-03"])
    load.using(source="weather/EWR", period="2013-05", delay=3600).enqueue(airport="EWR")
    plan = jobs.backfill_plan(load, first="2013-01", last="2013-06")
    assert plan.counts == {"missing": 2, "failed": 1, "partial": 1, "complete": 1, "active": 1}
    assert keys(plan) == ["weather/EWR 2013-06", "weather/EWR 2013-04"]
    assert plan.ways == {"submit": 2}

    again = jobs.backfill_plan("load", first="2013-01", last="2013-06", only="failed,partial", order="oldest")
    assert [(unit.period.text, unit.way) for unit in again.chosen] == [("2013-02", "full"), ("2013-03", "failed_items")]
    assert all(stored_row(jobs.get(unit.job)).period == unit.period.text for unit in again.chosen)

    everything = jobs.backfill_plan("load", first="2013-01", last="2013-06", only="all")
    assert everything.ways == {"submit": 2, "full": 2, "failed_items": 1}, "what is active is left alone"
    resumed = jobs.backfill_plan("load", first="2013-01", last="2013-06", only=["failed", "partial"], mode="resume")
    assert resumed.ways == {"resume": 2}


def test_all_known_sources_are_meant_unless_some_are_named(jobs):
    load = add_load(jobs)
    loaded(jobs, load, ["2013-01"], ("JFK", "EWR"))
    plan = jobs.backfill_plan(load, first="2013-04", last="2013-05")
    assert keys(plan) == [
        "weather/EWR 2013-05", "weather/JFK 2013-05", "weather/EWR 2013-04", "weather/JFK 2013-04",
    ]  # fmt: skip
    assert plan.new_sources == ()
    assert plan.counts_by_source["weather/JFK"]["chosen"] == 2
    named = jobs.backfill_plan(load, first="2013-04", last="2013-04", sources="weather/LGA", args={"airport": "LGA"})
    assert keys(named) == ["weather/LGA 2013-04"]
    assert named.new_sources == ("weather/LGA",)


def test_looking_writes_nothing(jobs):
    loaded(jobs, add_load(jobs), ["2013-01"])
    tables = ("jobs", "units", "events", "items")
    before = [count_rows(jobs, table) for table in tables]
    jobs.backfill_plan("load", first="2013-01", last="2013-12", only="all")
    assert [count_rows(jobs, table) for table in tables] == before


def test_a_unit_whose_only_job_was_cancelled_is_missing(jobs):
    load = add_load(jobs)
    load.using(source="s", period="2013-01").enqueue(airport="EWR").cancel()
    assert jobs.backfill_plan(load, first="2013-01", last="2013-01").counts["missing"] == 1


def test_units_are_known_by_their_span_however_they_are_called(jobs):
    load = add_load(jobs)
    loaded(jobs, load, ["2013-02-11/2013-02-18"])
    assert jobs.backfill_plan(load, first="2013-W07", last="2013-W08", step="week").counts["complete"] == 1


# -- periods -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "last", "step", "number", "grain"),
    [
        ("2013-01", "2013-12", None, 12, "month"),
        ("2013", "2014", None, 2, "year"),
        ("2013", "2013", "month", 12, "month"),
        ("2013-02", "2013-02", "day", 28, "day"),
        ("2013-01-31", "2013-02-01", None, 2, "day"),
        ("2013-02-12T00", "2013-02-12T23", None, 24, "hour"),
        ("2013-01-01/2013-01-11", "2013-01-21/2013-01-31", None, 3, "span"),
    ],
)
def test_the_step_is_that_of_the_first_period_or_as_said(jobs, first, last, step, number, grain):
    load = add_load(jobs)
    plan = jobs.backfill_plan(load, first=first, last=last, step=step, sources="s", args={"airport": "x"})
    assert (len(plan.units), plan.selection.step) == (number, grain)
    again = BackfillSelection.from_json(plan.selection.to_json())
    assert again == plan.selection


def test_the_step_is_what_the_units_of_the_task_are(jobs):
    load = add_load(jobs)
    loaded(jobs, load, ["2013-01", "2013-04"])
    assert jobs.backfill_plan(load, first="2012", last="2012").selection.step == "month"
    assert jobs.backfill_plan(load, first="2012", last="2012", step="year").selection.step == "year"
    loaded(jobs, load, ["2011"])
    assert jobs.backfill_plan(load, first="2012", last="2012").selection.step == "year", "of two grains neither is it"


def test_periods_are_read_in_the_zone_of_the_task(jobs):
    load = add_load(jobs, zone="Europe/Berlin")
    plan = jobs.backfill_plan(load, first="2013-03", last="2013-03", step="day", sources="s", args={"airport": "x"})
    assert len(plan.units) == 31
    assert plan.units[0].period == Period.parse("2013-03-31[Europe/Berlin]")
    assert (plan.units[0].period.end - plan.units[0].period.start).total_seconds() == 23 * 3600


@pytest.mark.parametrize(
    ("words", "error", "sentence"),
    [
        ({"first": "2013-05", "last": "2013-04"}, InvalidPeriod, "begins before the first"),
        ({"first": "2013-W01", "last": "2013-W02", "step": "month"}, InvalidPeriod, "is not a whole number of months"),
        ({"first": "2013-01", "last": "2013-02-12"}, InvalidPeriod, "differ in grain or time zone"),
        ({"first": "2013-13", "last": "2013-14"}, InvalidPeriod, "not in the calendar"),
        ({"first": "2013", "last": "2014", "step": "decade"}, InvalidOption, "step must be one of year, month"),
        ({"first": "2013", "last": "2013", "only": "broken"}, InvalidOption, "only must be one of missing, failed"),
        ({"first": "2013", "last": "2013", "only": []}, InvalidOption, "only must be one or more"),
        ({"first": "2013", "last": "2013", "order": "up"}, InvalidOption, "order must be one of newest, oldest"),
        ({"first": "2013", "last": "2013", "mode": "half"}, InvalidOption, "mode must be one of full"),
        ({"first": "2013", "last": "2013", "sources": []}, InvalidOption, "name at least one source"),
        ({"first": "2013", "last": "2013", "sources": [""]}, InvalidOption, "source must be a printable text"),
        ({"first": "2013", "last": "2013", "args": {"plane": 1}}, InvalidArguments, "has no argument 'plane'"),
        ({"first": "1990", "last": "2013", "step": "hour"}, InvalidPeriod, "more than 100,000 periods"),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence(jobs, words, error, sentence):
    load = add_load(jobs)
    given = {"sources": ["s"], "args": {"airport": "x"}, **words}
    with pytest.raises(error, match=sentence):
        jobs.backfill_plan(load, **given)
    with pytest.raises(UsageError):
        jobs.backfill(load, **given)
    assert count_rows(jobs) == 0


def test_more_than_a_hundred_thousand_units_are_refused(jobs):
    load = add_load(jobs)
    words = {"first": "1800-01-01", "last": "2000-12-31", "args": {"airport": "x"}}
    with pytest.raises(InvalidOption, match=r"2 sources × 73,414 periods make 146,828 units, more than 100,000"):
        jobs.backfill_plan(load, sources=["a", "b"], **words)
    assert len(jobs.backfill_plan(load, sources=["a"], **words).units) == 73_414 < MOST_UNITS


def test_an_unknown_task_and_the_task_of_backfills_itself_are_refused(jobs):
    add_load(jobs)
    with pytest.raises(UnknownTask, match="no task is called 'lod'; the tasks are: load"):
        jobs.backfill_plan("lod", first="2013", last="2013")
    with pytest.raises(InvalidOption, match="has none of its own to fill"):
        jobs.backfill_plan("jobtrail.backfill", first="2013", last="2013")
    with pytest.raises(InvalidOption, match=r"two tasks are called 'jobtrail\.backfill'"):
        jobs.task(name="jobtrail.backfill")(lambda: None)


@pytest.mark.parametrize("parallel", [0, -1, 1.5, True, "4", 1001])
def test_parallel_is_a_whole_number(jobs, parallel):
    load = add_load(jobs)
    with pytest.raises(InvalidOption, match="parallel must be a whole number from 1 to 1,000"):
        jobs.backfill(load, first="2013", last="2013", sources="s", args={"airport": "x"}, parallel=parallel)
    assert count_rows(jobs) == 0


def test_a_plan_says_all(jobs):
    load = add_load(jobs)
    plan = jobs.backfill_plan(load, first="2013", last="2013", sources="s", args={"airport": "x"})
    with pytest.raises(InvalidOption, match=r"'only' belongs to backfill_plan\(\)"):
        jobs.backfill(plan, only="all")


# -- arguments ---------------------------------------------------------------------------------------


def test_arguments_come_from_the_newest_job_of_the_same_source(jobs):
    load = add_load(jobs)
    loaded(jobs, load, ["2013-01"], ("EWR", "JFK"))
    load.using(source="weather/EWR", period="2012-12").enqueue(airport="EWR", rows=5)
    plan = jobs.backfill_plan(load, first="2013-04", last="2013-04")
    assert plan.args == {"weather/EWR": {"airport": "EWR", "rows": 5}, "weather/JFK": {"airport": "JFK"}}
    given = jobs.backfill_plan(load, first="2013-04", last="2013-04", args={"airport": "all"})
    assert set(given.args) == {"weather/EWR", "weather/JFK"}
    assert all(args == {"airport": "all"} for args in given.args.values())


def test_arguments_of_another_source_are_never_taken(jobs):
    load = add_load(jobs)
    loaded(jobs, load, ["2013-01"])
    with pytest.raises(InvalidArguments, match=r"the source 'weather/LGA' are not known.*needs the argument 'airport'"):
        jobs.backfill(load, first="2013-01", last="2013-02", sources=["weather/LGA"])
    with pytest.raises(InvalidArguments, match=r"units without a source.*needs the argument 'airport'"):
        jobs.backfill_plan(load, first="2013-04", last="2013-04", sources=[None])


def test_without_any_unit_a_source_is_asked_for(jobs):
    load = add_load(jobs)
    with pytest.raises(InvalidArguments, match=r"no source of 'load' is recorded yet; name it.*'airport'"):
        jobs.backfill_plan(load, first="2013", last="2013")


def test_arguments_that_no_longer_fit_are_refused(make_jobs):
    old, new = make_jobs(), make_jobs()
    loaded(old, add_load(old), ["2013-01"])

    @new.task(name="load")
    def changed(ctx: Context, *, station: str):
        pass

    with pytest.raises(InvalidArguments, match=r"those of its newest job do not fit.*no argument 'airport'"):
        new.backfill_plan("load", first="2013-04", last="2013-04")
    assert new.backfill_plan("load", first="2013-01", last="2013-01").chosen == [], "nothing is to be submitted"


def test_a_task_without_arguments_needs_none(jobs):
    @jobs.task
    def rates(ctx: Context):
        pass

    assert keys(jobs.backfill_plan(rates, first="2013-01", last="2013-02")) == ["2013-02", "2013-01"]
