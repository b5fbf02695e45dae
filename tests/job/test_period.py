"""A period is a span of time: written in many ways, one by its key, and at home in its zone."""

from __future__ import annotations

import time
from datetime import UTC, date, datetime, timedelta, timezone
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobtrail.errors import InvalidPeriod
from jobtrail.job.period import UNITS, Period, periods_from_rule

P = Period.parse
BERLIN = "Europe/Berlin"


def utc(*parts):
    return datetime(*parts, tzinfo=UTC)


# -- reading -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "key", "unit"),
    [
        ("2013", "2013-01-01T00:00:00Z/2014-01-01T00:00:00Z", "year"),
        ("2013-02", "2013-02-01T00:00:00Z/2013-03-01T00:00:00Z", "month"),
        ("2013-12", "2013-12-01T00:00:00Z/2014-01-01T00:00:00Z", "month"),
        ("2013-02-12", "2013-02-12T00:00:00Z/2013-02-13T00:00:00Z", "day"),
        ("2013-02-12T05", "2013-02-12T05:00:00Z/2013-02-12T06:00:00Z", "hour"),
        ("2013-02-12T23Z", "2013-02-12T23:00:00Z/2013-02-13T00:00:00Z", "hour"),
        ("2013-W07", "2013-02-11T00:00:00Z/2013-02-18T00:00:00Z", "week"),
        ("2013-W01", "2012-12-31T00:00:00Z/2013-01-07T00:00:00Z", "week"),
        ("2020-W53", "2020-12-28T00:00:00Z/2021-01-04T00:00:00Z", "week"),
        ("2013-02-11/2013-02-18", "2013-02-11T00:00:00Z/2013-02-18T00:00:00Z", "week"),
        ("2013-02-12/2013-02-19", "2013-02-12T00:00:00Z/2013-02-19T00:00:00Z", "span"),
        ("2013-02-12T05:30Z/2013-02-12T06:30Z", "2013-02-12T05:30:00Z/2013-02-12T06:30:00Z", "span"),
        ("2013-02-12T05:00+02:00/2013-02-12T05:00Z", "2013-02-12T03:00:00Z/2013-02-12T05:00:00Z", "span"),
        ("2013-02-12T05:00:00.5Z/2013-02-13", "2013-02-12T05:00:00.500000Z/2013-02-13T00:00:00Z", "span"),
        ("2013-02[Europe/Moscow]", "2013-01-31T20:00:00Z/2013-02-28T20:00:00Z", "month"),
        ("2013-02-12T05:30/2013-02-12T06:30[Europe/Moscow]", "2013-02-12T01:30:00Z/2013-02-12T02:30:00Z", "span"),
        ("  2013-02  ", "2013-02-01T00:00:00Z/2013-03-01T00:00:00Z", "month"),
    ],
)
def test_texts(text, key, unit):
    period = P(text)
    assert (period.key, period.unit) == (key, unit)


@pytest.mark.parametrize(
    ("value", "same"),
    [
        (date(2013, 2, 12), "2013-02-12"),
        ((date(2013, 2, 1), date(2013, 3, 1)), "2013-02"),
        ([utc(2013, 2, 1), datetime(2013, 3, 1, 3, tzinfo=timezone(timedelta(hours=3)))], "2013-02"),
        (("2013-02-01", "2013-03-01"), "2013-02"),
        (P("2013-02"), "2013-02"),
    ],
)
def test_values(value, same):
    assert P(value) == P(same)


def test_one_span_is_one_period():
    assert P("2013-W07") == P("2013-02-11/2013-02-18")
    assert P("2013-W07").key == P("2013-02-11/2013-02-18").key
    assert len({P("2013-02"), P("2013-02-01/2013-03-01")}) == 1
    assert P("2013-02") != P("2013-02", BERLIN)


def test_the_zone_of_the_text_goes_before_the_callers():
    assert P("2013-02", "Europe/Moscow") == P("2013-02[Europe/Moscow]")
    assert P("2013-02[UTC]", "Europe/Moscow") == P("2013-02")
    assert P(date(2013, 2, 12), BERLIN).start == utc(2013, 2, 11, 23)
    assert P((datetime(2013, 2, 1), datetime(2013, 3, 1)), BERLIN) == P("2013-02", BERLIN)


@pytest.mark.parametrize(
    "bad",
    [
        *(
            "",
            " ",
            "x",
            "13",
            "2013-13",
            "2013-00",
            "2013-02-30",
            "2013-2-1",
            "2013-W54",
            "2013-W00",
            "2021-W53",
            "2013-02-12T24",
        ),
        *(
            "2013-02-12T5",
            "2013-02-12T05:30",
            "0000",
            "9999-12-31T23",
            "9999",
            "2013-02/2013-03",
            "2013-02-01/",
            "/",
            "a/b",
        ),
        *(
            "2013-03-01/2013-02-01",
            "2013-02-01/2013-02-01",
            "2013-02-30/2013-03-01",
            "2013-02[Nowhere/Town]",
            "2013-02[]",
        ),
        *("2013-02[Europe]", "2013-02[../etc]", "2013-02]", "2013-02[UTC", "٢٠١٣", "2013-02-01/2013-02-02/2013-02-03"),
        *("2013-03-31T02[Europe/Berlin]", "0001[Europe/Berlin]", "2013\x00"),
        *(None, 2013, 2013.5, b"2013", [], ("2013-02-01",), (1, 2), {}, utc(2013, 1, 1), (date(2013, 2, 1), None)),
    ],
)
def test_refused_in_a_sentence(bad):
    with pytest.raises(InvalidPeriod) as caught:
        P(bad)
    assert len(str(caught.value)) > 30
    assert "Error" not in str(caught.value)


@pytest.mark.parametrize(
    "bad",
    ["2013-02-12T05:00/2013-02-13T05:00", "2013-02-12 05:00/2013-02-13", (datetime(2013, 1, 1), datetime(2013, 1, 2))],
)
def test_a_naive_time_needs_a_zone(bad):
    with pytest.raises(InvalidPeriod, match="no time zone"):
        P(bad)
    assert P(bad, "Europe/Moscow").zone == "Europe/Moscow"


@pytest.mark.parametrize("zone", ["Nowhere", "", "../x", "Europe"])
def test_an_unknown_zone(zone):
    with pytest.raises(InvalidPeriod, match="zone"):
        Period(utc(2013, 1, 1), utc(2013, 1, 2), zone)


def test_direct_construction_is_checked():
    with pytest.raises(InvalidPeriod, match="no time zone"):
        Period(datetime(2013, 1, 1), utc(2013, 1, 2))
    with pytest.raises(InvalidPeriod, match="ends before"):
        Period(utc(2013, 1, 2), utc(2013, 1, 2))
    local = Period(datetime(2013, 1, 1, tzinfo=ZoneInfo(BERLIN)), utc(2013, 1, 2))
    assert local.start == utc(2012, 12, 31, 23)
    assert local.start.tzinfo is UTC


# -- writing -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given_", "text"),
    [
        ("2013-01-01/2014-01-01", "2013"),
        ("2013-02-01/2013-03-01", "2013-02"),
        ("2013-02-11/2013-02-18", "2013-W07"),
        ("2013-02-12/2013-02-13", "2013-02-12"),
        ("2013-02-12T05:00Z/2013-02-12T06:00Z", "2013-02-12T05"),
        ("2013-02-12/2013-02-15", "2013-02-12/2013-02-15"),
        ("2013-02-12T05:30Z/2013-02-13T00:00:01Z", "2013-02-12T05:30Z/2013-02-13T00:00:01Z"),
        ("2013-02-01/2013-03-01[Europe/Berlin]", "2013-02[Europe/Berlin]"),
        ("2013-02-12/2013-02-15[Europe/Berlin]", "2013-02-12/2013-02-15[Europe/Berlin]"),
        ("2013-02-12T05:30/2013-02-13[Europe/Berlin]", "2013-02-12T05:30+01:00/2013-02-13T00:00+01:00[Europe/Berlin]"),
        ("0001-02", "0001-02"),
    ],
)
def test_text(given_, text):
    assert P(given_).text == str(P(given_)) == text


zones = st.sampled_from(["UTC", BERLIN, "America/Sao_Paulo", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Apia"])
moments = st.datetimes(datetime(1900, 1, 1), datetime(2037, 1, 1), timezones=st.just(UTC))


@given(moments, zones, st.sampled_from(UNITS), st.sampled_from(["current", "previous"]))
def test_rules_give_periods_that_read_back(at, zone, unit, which):
    period = periods_from_rule(f"{which} {unit}", at, zone)
    assert period.contains(at) == (which == "current")
    assert P(period.text) == period
    assert P(period.key) == period
    assert P(period.text).zone == zone


@given(moments, st.timedeltas(timedelta(microseconds=1), timedelta(days=400)), zones)
def test_every_span_reads_back(start, length, zone):
    period = Period(start, start + length, zone)
    assert P(period.text) == period
    assert P(period.key).key == period.key


# -- neighbours --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "following"),
    [
        ("2013", "2014"),
        ("2013-12", "2014-01"),
        ("2013-02-28", "2013-03-01"),
        ("2013-02-12T23", "2013-02-13T00"),
        ("2020-W53", "2021-W01"),
        ("2013-02-12/2013-02-15", "2013-02-15/2013-02-18"),
        ("2013-02-12T05:30Z/2013-02-12T06:00Z", "2013-02-12T06:00Z/2013-02-12T06:30Z"),
        ("2026-03-28/2026-03-30[Europe/Berlin]", "2026-03-30/2026-04-01[Europe/Berlin]"),
        ("2026-10-25T01[Europe/Berlin]", "2026-10-25T02[Europe/Berlin]"),
    ],
)
def test_neighbours(text, following):
    assert P(text).next().text == P(following).text
    assert P(following).previous() == P(text)


@given(moments, zones, st.sampled_from(UNITS))
def test_neighbours_meet(at, zone, unit):
    period = periods_from_rule(f"current {unit}", at, zone)
    assert period.next().start == period.end
    assert period.previous().end == period.start


@pytest.mark.parametrize(
    ("zone", "before", "skipped", "after"),
    [
        ("Pacific/Apia", "2011-12-29", "2011-12-30", "2011-12-31"),
        ("Pacific/Kwajalein", "1993-08-20", "1993-08-21", "1993-08-22"),
        ("Pacific/Kiritimati", "1994-12-30", "1994-12-31", "1995-01-01"),
    ],
)
def test_a_day_that_the_zone_skipped_is_between_no_others(zone, before, skipped, after):
    first, last = P(before, zone), P(after, zone)
    assert first.next() == last
    assert last.previous() == first
    assert [one.text for one in Period.range(first, last)] == [f"{before}[{zone}]", f"{after}[{zone}]"]
    assert [one.unit for one in P(before[:7], zone).split("day")[-2:]] == ["day", "day"]
    with pytest.raises(InvalidPeriod, match=f"the day {skipped} does not exist in {zone}"):
        P(skipped, zone)


@pytest.mark.parametrize("text", ["0001", "0001-01", "0001-01-01", "0001-01-01T00"])
def test_time_has_a_beginning(text):
    with pytest.raises(InvalidPeriod, match="years 1 to 9999"):
        P(text).previous()


def test_time_has_an_end():
    with pytest.raises(InvalidPeriod, match="years 1 to 9999"):
        P("9998").next()


# -- clock changes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("day", "hours"), [("2026-03-29", 23), ("2026-10-25", 25), ("2026-06-01", 24)])
def test_a_day_has_as_many_hours_as_it_has(day, hours):
    period = P(day, BERLIN)
    assert period.unit == "day"
    assert period.end - period.start == timedelta(hours=hours)
    parts = period.split("hour")
    assert len(parts) == hours
    assert len({part.text for part in parts}) == hours
    assert [P(part.text) for part in parts] == parts


def test_a_midnight_that_does_not_exist():
    day = P("2018-11-04", "America/Sao_Paulo")
    assert day.end - day.start == timedelta(hours=23)
    assert P("2018-11-03", "America/Sao_Paulo").next() == day
    assert P(day.text) == day


# -- parts and ranges --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "into", "texts"),
    [
        ("2013-W07", "day", [f"2013-02-{day}" for day in range(11, 18)]),
        ("2013-01-15/2013-03-10", "month", ["2013-01-15/2013-02-01", "2013-02", "2013-03-01/2013-03-10"]),
        ("2013-02-12/2013-02-20", "week", ["2013-02-12/2013-02-18", "2013-02-18/2013-02-20"]),
        ("2013-02-12T05", "day", ["2013-02-12T05"]),
    ],
)
def test_split(text, into, texts):
    assert [part.text for part in P(text).split(into)] == texts


@given(moments, st.timedeltas(timedelta(minutes=1), timedelta(days=40)), zones, st.sampled_from(UNITS))
def test_parts_cover_the_whole_without_overlap(start, length, zone, unit):
    whole = Period(start, start + length, zone)
    parts = whole.split(unit)
    assert parts[0].start == whole.start
    assert parts[-1].end == whole.end
    assert all(one.end == two.start for one, two in pairwise(parts))


def test_too_many_parts_are_refused_soon():
    for attempt in (
        lambda: P("0002-01-01/9000-01-01").split("hour"),
        lambda: Period.range(P("1000-01-01"), P("9000-01-01")),
    ):
        with pytest.raises(InvalidPeriod, match="more than 100,000"):
            attempt()
    with pytest.raises(InvalidPeriod, match="split into"):
        P("2013").split("minute")


def test_range():
    assert [p.text for p in Period.range(P("2012-11"), P("2013-02"))] == ["2012-11", "2012-12", "2013-01", "2013-02"]
    assert Period.range(P("2013"), P("2013")) == [P("2013")]
    assert len(Period.range(P("2013-02-01/2013-02-03"), P("2013-02-05/2013-02-07"))) == 3


@pytest.mark.parametrize(
    ("first", "last"),
    [
        ("2013", "2013-02"),
        ("2013-03", "2013-02"),
        ("2013-02", "2013-04[Europe/Berlin]"),
        ("2013-02-01/2013-02-03", "2013-02-04/2013-02-06"),
        ("2013-02-01/2013-02-03", "2013-02-03/2013-02-06"),
    ],
)
def test_ranges_that_are_none(first, last):
    with pytest.raises(InvalidPeriod):
        Period.range(P(first), P(last))


@pytest.mark.parametrize("last", ["2013-03-01", "2013-02[Europe/London]"])
def test_a_range_keeps_to_one_grain_and_zone(last):
    with pytest.raises(InvalidPeriod, match="differ in grain or time zone"):
        Period.range(P("2013-01"), P(last))


def test_contains_and_overlaps():
    february = P("2013-02")
    assert february.contains(utc(2013, 2, 1))
    assert not february.contains(utc(2013, 3, 1))
    assert february.overlaps(P("2013-W05"))
    assert not february.overlaps(P("2013-03"))
    assert not P("2013-03").overlaps(february)
    with pytest.raises(InvalidPeriod, match="no time zone"):
        february.contains(datetime(2013, 2, 1))


def test_order_is_by_start():
    assert sorted([P("2014"), P("2013-02"), P("2013")]) == [P("2013"), P("2013-02"), P("2014")]


# -- rules -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "zone", "text"),
    [
        ("previous day", "UTC", "2013-02-28"),
        ("current day", "UTC", "2013-03-01"),
        ("previous month", "UTC", "2013-02"),
        ("previous week", "UTC", "2013-W08"),
        ("previous year", "UTC", "2012"),
        ("current hour", "UTC", "2013-03-01T03"),
        ("previous month", "America/New_York", "2013-01[America/New_York]"),
        ("current day", "America/New_York", "2013-02-28[America/New_York]"),
        ("current hour", "Asia/Kathmandu", "2013-03-01T08[Asia/Kathmandu]"),
    ],
)
def test_rules(rule, zone, text):
    assert periods_from_rule(rule, utc(2013, 3, 1, 3, 5), zone).text == text


@pytest.mark.parametrize("rule", ["", "next day", "previous", "previous minute", "day", None])
def test_rules_that_are_none(rule):
    with pytest.raises(InvalidPeriod, match="rule"):
        periods_from_rule(rule, utc(2013, 1, 1))


def test_a_rule_needs_a_moment():
    with pytest.raises(InvalidPeriod, match="no time zone"):
        periods_from_rule("previous day", datetime(2013, 1, 1))


def test_reading_is_cheap():
    P("2013-02", BERLIN)
    best = min(_seconds(1_000) for _ in range(5)) / 1_000
    assert best < 300e-6  # typically 6; the bound leaves room for a loaded machine


def _seconds(times):
    started = time.perf_counter()
    for _ in range(times):
        _ = P("2013-02[Europe/Berlin]").key
    return time.perf_counter() - started
