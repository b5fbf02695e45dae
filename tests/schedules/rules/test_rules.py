"""A rule of time is read, refused in a sentence, kept as JSON, and gives its moments one after the other."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from datetime import UTC, date, datetime, timedelta, timezone
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobtrail.errors import InvalidSchedule, UsageError
from jobtrail.messages import render
from jobtrail.schedules.rules.rules import (
    At,
    Cron,
    Every,
    Rule,
    at,
    calendar_interval,
    cron,
    every,
    jittered,
    parse_rule,
)

START = datetime(2026, 1, 1, tzinfo=UTC)


def utc(*parts):
    return datetime(*parts, tzinfo=UTC)


def first(rule, count, after=START):
    """The first moments of the rule, as the clock of its zone shows them."""
    moments = islice(rule.between(after, utc(2100, 1, 1)), count)
    return [f"{moment.astimezone(ZoneInfo(rule.zone)):%a %Y-%m-%d %H:%M}" for moment in moments]


# -- cron ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("zone", ["UTC", "Asia/Almaty"])
@pytest.mark.parametrize(
    ("text", "weekdays"),
    [
        ("0 0 * * 0", "Sun"),
        ("0 0 * * 7", "Sun"),
        ("0 0 * * 1-5", "Mon Tue Wed Thu Fri"),
        ("0 0 * * 5-7", "Fri Sat Sun"),
        ("0 0 * * */2", "Tue Thu Sat Sun"),
        ("0 0 * * mon,Wed,FRI", "Mon Wed Fri"),
        ("0 0 * * SUN-TUE", "Mon Tue Sun"),
        ("@weekly", "Sun"),
        ("0 0 0 * * 6", "Sat"),
    ],
)
def test_c66_weekdays_are_those_of_crontab(text, weekdays, zone):
    """Over five years, on these weekdays and on each of them."""
    rule = cron(text, zone)
    moments = list(rule.between(START, utc(2031, 1, 1)))
    days = [moment.astimezone(ZoneInfo(zone)).date() for moment in moments]
    assert {f"{day:%a}" for day in days} == set(weekdays.split())
    assert len(set(days)) == len(days)
    assert abs(len(days) - 1826 * len(weekdays.split()) / 7) < 7


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 0 29 2 *", ["Tue 2028-02-29 00:00", "Sun 2032-02-29 00:00"]),
        (
            "0 0 13 * 5",
            ["Fri 2026-01-02 00:00", "Fri 2026-01-09 00:00", "Tue 2026-01-13 00:00", "Fri 2026-01-16 00:00"],
        ),
        ("0 0 */2 * 1", ["Mon 2026-01-05 00:00", "Mon 2026-01-19 00:00", "Mon 2026-02-09 00:00"]),
        ("0 0 * * 5#2", ["Fri 2026-01-09 00:00", "Fri 2026-02-13 00:00"]),
        ("0 0 * * 5L", ["Fri 2026-01-30 00:00", "Fri 2026-02-27 00:00"]),
        ("0 0 L * *", ["Sat 2026-01-31 00:00", "Sat 2026-02-28 00:00"]),
        ("0 0 LW * *", ["Fri 2026-01-30 00:00", "Fri 2026-02-27 00:00"]),
        ("30 4 1 jan,JUL *", ["Thu 2026-01-01 04:30", "Wed 2026-07-01 04:30"]),
        ("@hourly", ["Thu 2026-01-01 01:00", "Thu 2026-01-01 02:00"]),
        ("@daily", ["Fri 2026-01-02 00:00", "Sat 2026-01-03 00:00"]),
        ("@midnight", ["Fri 2026-01-02 00:00"]),
        ("@monthly", ["Sun 2026-02-01 00:00", "Sun 2026-03-01 00:00"]),
        ("@Yearly", ["Fri 2027-01-01 00:00"]),
        ("@annually", ["Fri 2027-01-01 00:00"]),
        ("30 0 12 * * *", ["Thu 2026-01-01 12:00"]),
    ],
)
def test_c66_what_cron_text_means(text, expected):
    assert first(cron(text), len(expected)) == expected


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "every day at 03:00"),
        ("   ", "every day at 03:00"),
        ("* * * *", "has 4 fields"),
        ("* * * * * * *", "has 7 fields"),
        ("nonsense", "has 1 field;"),
        ("60 * * * *", "minute '60'"),
        ("* 24 * * *", "hour '24'"),
        ("* * 0 * *", "day-of-month '0'"),
        ("* * 32 * *", "day-of-month '32'"),
        ("* * * 13 *", "month '13'"),
        ("* * * * 8", "day-of-week '8'"),
        ("60 * * * * *", "second '60'"),
        ("5-1 * * * *", "from low to high"),
        ("0 0 * * FRI-MON", "day-of-week 'FRI-MON'"),
        ("*/0 * * * *", "minute '*/0'"),
        ("-1 * * * *", "minute '-1'"),
        ("1,,2 * * * *", "minute '1,,2'"),
        ("0 0 ? * *", "day-of-month '?'"),
        ("0 0 15W * *", "day-of-month '15W'"),
        ("0 0 * * 5#6", "day-of-week '5#6'"),
        ("* * * * ١", "day-of-week"),
        ("*/90 * * * *", "every 90 minutes"),
        ("0 */36 * * *", "has the step 36"),
        ("0 0 31 2 *", "never matches"),
        ("0 0 31 2,4,6,9,11 *", "never matches"),
        ("0 0 */30 2 3#5", "never matches"),
        ("@reboot", "is not a time"),
        ("@fortnightly", "the aliases are: @yearly"),
        ("*" * 2000, "characters long"),
    ],
)
def test_c66_what_is_no_cron_text_is_refused_by_its_field(text, told):
    with pytest.raises(InvalidSchedule) as caught:
        cron(text)
    assert told in str(caught.value)
    assert isinstance(caught.value, UsageError)


@pytest.mark.parametrize(
    "zone", ["Nowhere/Town", "", "../etc", "Europe", 5, b"UTC", "UTC+3", timezone(timedelta(hours=3))]
)
def test_c66_an_unknown_zone_is_refused(zone):
    with pytest.raises(InvalidSchedule, match="zone"):
        cron("@daily", zone)


def test_a_misspelt_zone_is_told_its_neighbour():
    with pytest.raises(InvalidSchedule, match="did you mean Europe/Moscow"):
        every(minutes=5, tz="Europe/Moskow")


def test_a_zone_may_be_an_object():
    assert cron("@daily", ZoneInfo("Asia/Almaty")) == cron("0 0 * * *", "Asia/Almaty")
    assert cron("@daily", UTC) == cron("@daily")


def test_c66_the_zone_of_the_host_does_not_matter():
    code = (
        "from datetime import datetime, UTC, timedelta\n"
        "from jobtrail.schedules.rules.rules import *\n"
        "start = datetime(2026, 3, 27, tzinfo=UTC)\n"
        "for rule in (cron('30 2 * * *', 'Asia/Almaty'), cron('*/45 * * * *', 'Europe/Berlin'),\n"
        "             calendar_interval(days=1, hour=2, start=start.date(), tz='Europe/Berlin'), every(hours=5, start=start)):\n"
        "    print(*rule.between(start, start + timedelta(days=4)))\n"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "TZ": zone}, capture_output=True, check=True
        ).stdout
        for zone in ("UTC", "America/New_York", "Australia/Lord_Howe")
    }
    assert len(told) == 1
    assert len(told.pop()) > 1000


def test_c66_no_more_often_than_its_resolution():
    for text, shortest in (("* * * * *", 60), ("* * * * * *", 1)):
        moments = list(cron(text, "Europe/Berlin").between(utc(2026, 10, 25), utc(2026, 10, 25, 4), limit=500))
        assert {(two - one).total_seconds() for one, two in pairwise(moments)} == {shortest}


def test_texts_of_one_meaning_are_equal():
    assert cron(" 0  3 * * mon ") == cron("0 3 * * MON")
    assert cron("@daily").text == "0 0 * * *"
    assert cron("@daily") != cron("@daily", "Europe/Berlin")


def test_between_day_and_weekday_both_or_either():
    either, both = Cron("0 0 1-7 * 1"), Cron("0 0 1-7 * 1", both_days=True)
    assert first(both, 2) == ["Mon 2026-01-05 00:00", "Mon 2026-02-02 00:00"]
    assert first(either, 2) == ["Fri 2026-01-02 00:00", "Sat 2026-01-03 00:00"]
    assert Rule.from_json(both.to_json()) == both != either
    assert Cron("0 0 1 * *", both_days=True) == Cron("0 0 1 * *")
    with pytest.raises(InvalidSchedule, match="never matches"):
        Cron("0 0 29-31 2 1#1", both_days=True)


# -- intervals, dates, calendar steps --------------------------------------------------------------------


def test_an_interval_counts_from_its_start():
    rule = every(minutes=5, start=utc(2026, 1, 1, 0, 2))
    assert rule.next_after(utc(2025, 1, 1)) == utc(2026, 1, 1, 0, 2)
    assert rule.next_after(utc(2026, 1, 1, 0, 2)) == utc(2026, 1, 1, 0, 7)
    assert rule.next_after(utc(2026, 1, 1, 0, 6, 59, 999_999)) == utc(2026, 1, 1, 0, 7)
    assert rule.next_after(utc(2027, 1, 1)) == utc(2027, 1, 1, 0, 2)


@pytest.mark.parametrize("rule", [every(hours=1), calendar_interval(days=1)])
def test_without_a_start_it_is_anchored_once(rule):
    with pytest.raises(InvalidSchedule, match="anchored"):
        rule.next_after(START)
    anchored = rule.anchored(utc(2026, 5, 4, 12, 30))
    assert anchored.anchored(utc(2027, 1, 1)) == anchored
    assert anchored.next_after(utc(2026, 5, 4, 12, 30)) > utc(2026, 5, 4, 12, 30)
    assert cron("@daily").anchored(START) == cron("@daily")


def test_the_day_of_an_anchor_is_that_of_the_zone():
    rule = calendar_interval(days=2, hour=9, tz="Asia/Almaty").anchored(utc(2026, 5, 4, 23))
    assert rule.start == date(2026, 5, 5)
    assert rule.next_after(utc(2026, 5, 4, 23)) == utc(2026, 5, 5, 4)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (calendar_interval(months=1, start=date(2026, 1, 31)), ["01-31", "02-28", "03-31", "04-30", "05-31"]),
        (calendar_interval(months=3, start=date(2026, 1, 29)), ["01-29", "04-29", "07-29", "10-29"]),
        (calendar_interval(weeks=2, start=date(2026, 1, 5)), ["01-05", "01-19", "02-02"]),
        (calendar_interval(days=10, start=date(2026, 1, 25)), ["01-25", "02-04", "02-14"]),
        (calendar_interval(months=1, days=1, start=date(2026, 1, 31)), ["01-31", "03-01", "04-02", "05-03"]),
    ],
)
def test_calendar_steps(rule, expected):
    moments = rule.between(START, utc(2027, 1, 1))
    assert [f"{moment:%m-%d}" for moment in islice(moments, len(expected))] == expected


def test_a_leap_day_is_kept_for_the_years_that_have_it():
    rule = calendar_interval(years=1, hour=6, start=date(2024, 2, 29))
    assert [f"{m:%Y-%m-%d}" for m in rule.between(START, utc(2029, 1, 1))] == ["2026-02-28", "2027-02-28", "2028-02-29"]


@settings(deadline=None)
@given(
    st.integers(0, 30),
    st.integers(0, 400),
    st.dates(date(1990, 1, 1), date(2030, 1, 1)),
    st.integers(0, 100),
    st.timedeltas(timedelta(days=-40), timedelta(days=40)),
    st.sampled_from(["UTC", "Europe/Berlin", "Pacific/Apia", "America/Sao_Paulo", "Australia/Lord_Howe"]),
)
def test_a_calendar_finds_the_first_of_all_its_moments(months, days, start, number, away, zone):
    rule = calendar_interval(months=months, days=days or 1, hour=2, minute=15, start=start, tz=zone)
    all_of_them = [rule._moment(k, ZoneInfo(zone)) for k in range(number + 45)]
    moment = all_of_them[number] + away
    assert rule.next_after(moment) == next(one for one in all_of_them if one > moment)
    assert rule.next_after(all_of_them[number]) == next(one for one in all_of_them if one > all_of_them[number])


def test_a_date_comes_once():
    rule = at(utc(2030, 1, 1))
    assert list(rule.between(START, utc(2040, 1, 1))) == [utc(2030, 1, 1)]
    assert rule.next_after(utc(2030, 1, 1)) is None
    assert at(datetime(2030, 1, 1, 3, tzinfo=ZoneInfo("Europe/Moscow"))) == At(utc(2030, 1, 1), "Europe/Moscow")


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: every(), "at least one second"),
        (lambda: every(seconds=0), "at least one second"),
        (lambda: every(seconds=0.5), "at least one second"),
        (lambda: every(minutes=-5), "minutes must be a number, at least 0"),
        (lambda: every(seconds=math.nan), "seconds must be a number, at least 0"),
        (lambda: every(seconds=math.inf), "seconds must be a number, at least 0"),
        (lambda: every(minutes="5"), "minutes must be a number, at least 0"),
        (lambda: every(minutes=True), "minutes must be a number, at least 0"),
        (lambda: every(weeks=1e300), "longer than Python can represent"),
        (lambda: every(minutes=5, start=datetime(2026, 1, 1)), "start must be a datetime with a time zone"),
        (lambda: every(minutes=5, start=date(2026, 1, 1)), "start must be a datetime with a time zone"),
        (lambda: at(datetime(2026, 1, 1)), "must be a datetime with a time zone"),
        (lambda: at("tomorrow"), "must be a datetime with a time zone"),
        (lambda: calendar_interval(), "at least one day"),
        (lambda: calendar_interval(days=-1), "days must be a whole number, at least 0"),
        (lambda: calendar_interval(days=1.5), "days must be a whole number, at least 0"),
        (lambda: calendar_interval(days=1, hour=24), "is not a time of day"),
        (lambda: calendar_interval(days=1, minute=60), "is not a time of day"),
        (lambda: calendar_interval(days=1, start=START), "start must be a date"),
        (lambda: calendar_interval(days=1, start="2026-01-01"), "start must be a date"),
        (lambda: calendar_interval(years=1001), "thousand years"),
        (lambda: cron("@daily").next_after(datetime(2026, 1, 1)), "must be a datetime with a time zone"),
        (lambda: list(cron("@daily").between(START, datetime(2026, 1, 1))), "must be a datetime with a time zone"),
        (lambda: parse_rule(5), "is not a time rule"),
        (lambda: parse_rule(None), "is not a time rule"),
        (lambda: parse_rule(date(2026, 1, 1)), "is not a time rule"),
        (lambda: parse_rule(timedelta(0)), "at least one second"),
        (lambda: parse_rule(datetime(2026, 1, 1)), "must be a datetime with a time zone"),
        (lambda: parse_rule(""), "cron text is needed"),
        (lambda: parse_rule("every"), "is not an interval"),
        (lambda: parse_rule("every month"), "calendar_interval()"),
        (lambda: parse_rule("every 0 minutes"), "at least one second"),
        (lambda: parse_rule("every 5 minutes sharp"), "is not an interval"),
        (lambda: parse_rule("every 5 minutes 5 minutes"), "is not an interval"),
        (lambda: parse_rule("every -5 minutes"), "is not an interval"),
        (lambda: parse_rule("at noon"), "is not a moment"),
        (lambda: parse_rule("at 2030-01-01T00:00"), "is not a moment"),
        (lambda: jittered(START, -1, "key"), "jitter"),
        (lambda: jittered(START, math.nan, "key"), "jitter"),
    ],
)
def test_what_is_no_rule_is_refused_in_a_sentence(make, told):
    with pytest.raises(InvalidSchedule) as caught:
        make()
    assert told in str(caught.value)
    assert len(str(caught.value)) > 25


@pytest.mark.parametrize(
    ("make", "russian"),
    [
        (
            lambda: cron("0 0 * * 9"),
            ("поле «день недели» '9' текста cron '0 0 * * 9' неверно; подходят 0-7 или SUN-SAT (0 и 7 — воскресенье), "
            "5#2 — вторая пятница, 5L — последняя, * — все, списки (1,15), диапазоны от меньшего к большему (1-5) и шаги (*/15)"),
        ),
        (
            lambda: cron("* * *"),
            "в тексте cron '* * *' 3 поля, а нужно 5: минута, час, день месяца, месяц, день недели (или 6, с секундой впереди)",
        ),
        (lambda: every(minutes=5, tz="Europe/Moskow"), "часового пояса 'Europe/Moskow' нет; может быть, Europe/Moscow?"),
        (lambda: every(seconds=0.5), "интервал должен быть не короче секунды, а не 0,5 с"),
    ],
)
def test_a_reader_of_russian_is_told_in_russian(make, russian):
    with pytest.raises(InvalidSchedule) as caught:
        make()
    assert render(caught.value, "ru") == russian


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        ("0 3 * * *", Cron("0 3 * * *", "Europe/Moscow")),
        ("@daily", Cron("0 0 * * *", "Europe/Moscow")),
        ("every 5 minutes", Every(timedelta(minutes=5), None, "Europe/Moscow")),
        ("Every minute", Every(timedelta(minutes=1), None, "Europe/Moscow")),
        ("every 1 hour 30 minutes", Every(timedelta(minutes=90), None, "Europe/Moscow")),
        ("every 1 hour and 30 min", Every(timedelta(minutes=90), None, "Europe/Moscow")),
        ("every 1h30m", Every(timedelta(minutes=90), None, "Europe/Moscow")),
        ("every 1.5 days", Every(timedelta(hours=36), None, "Europe/Moscow")),
        (timedelta(seconds=90), Every(timedelta(seconds=90), None, "Europe/Moscow")),
        ("at 2030-01-01T03:00+03:00", At(utc(2030, 1, 1), "Europe/Moscow")),
        (utc(2030, 1, 1), At(utc(2030, 1, 1), "Europe/Moscow")),
        (cron("@daily"), Cron("0 0 * * *", "UTC")),
    ],
)
def test_what_stands_for_a_rule(value, rule):
    assert parse_rule(value, "Europe/Moscow") == rule


RULES = [
    cron("*/5 9-17 * * 1-5", "Europe/Moscow"),
    cron("15 30 2 L * *"),
    every(seconds=1.5, start=utc(2026, 1, 1, 0, 0, 0, 123_456), tz="Europe/Berlin"),
    every(weeks=2),
    at(utc(2030, 1, 1), "Asia/Almaty"),
    calendar_interval(months=1, days=3, hour=3, minute=4, second=5, start=date(2026, 1, 31), tz="America/New_York"),
    calendar_interval(days=1),
]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_rule_is_the_same_after_its_json(rule):
    import json
    import pickle

    stored = json.loads(json.dumps(rule.to_json()))
    assert Rule.from_json(stored) == rule
    assert type(Rule.from_json(stored)) is type(rule)
    assert pickle.loads(pickle.dumps(rule)) == rule
    assert hash(Rule.from_json(stored)) == hash(rule)
    later = rule.anchored(START).next_after(START)
    assert Rule.from_json(stored).anchored(START).next_after(START) == later


@pytest.mark.parametrize(
    "stored",
    [
        *(
            None,
            [],
            "x",
            5,
            {},
            {"kind": "moon"},
            {"kind": []},
            {"kind": "cron"},
            {"kind": "cron", "text": 5, "zone": "UTC"},
        ),
        {"kind": "cron", "text": "* * * * *", "zone": "UTC", "of_a_later_version": 1},
        {"kind": "every", "seconds": "x", "start": None, "zone": "UTC"},
        {"kind": "every", "seconds": 5, "start": "2026-01-01", "zone": "UTC"},
        {"kind": "every", "seconds": 1e300, "start": None, "zone": "UTC"},
        {"kind": "at", "moment": "soon", "zone": "UTC"},
        {"kind": "at", "moment": None, "zone": "UTC"},
        {"kind": "calendar", "months": 0, "days": 0, "at": "00:00", "start": None, "zone": "UTC"},
        {"kind": "calendar", "months": 1, "days": 0, "at": "25:00", "start": None, "zone": "UTC"},
        {"kind": "calendar", "months": 1, "days": 0, "at": "00:00", "start": 5, "zone": "UTC"},
        {"kind": "cron", "text": "* * * * *", "zone": "Nowhere"},
    ],
)
def test_c61_what_was_stored_and_cannot_be_read_is_told_in_one_error(stored):
    """So that whoever reads the store can put it aside instead of dying of it."""
    with pytest.raises(InvalidSchedule):
        Rule.from_json(stored)


# -- what every rule keeps to ----------------------------------------------------------------------------


@pytest.mark.parametrize("rule", [rule.anchored(START) for rule in RULES], ids=str)
def test_what_between_gives(rule):
    after, until = utc(2026, 1, 30), utc(2030, 6, 1)
    moments = list(rule.between(after, until, limit=50))
    assert moments
    assert all(moment.tzinfo is UTC and after < moment <= until for moment in moments)
    assert all(one < two for one, two in pairwise(moments))
    last = moments[-1]
    assert list(rule.between(after, last)) == moments
    assert moments == [] or list(rule.between(moments[0], last)) == moments[1:]
    assert list(rule.between(after, until, limit=2)) == moments[:2]
    assert list(rule.between(after, until, limit=0)) == []
    assert list(rule.between(until, after)) == []


@pytest.mark.parametrize("rule", [rule.anchored(START) for rule in RULES], ids=str)
def test_the_calendar_has_ends(rule):
    edge = datetime.max.replace(tzinfo=UTC)
    assert rule.next_after(edge - timedelta(seconds=1)) is None
    assert rule.next_after(edge) is None
    assert rule.next_after(datetime.min.replace(tzinfo=UTC)) > datetime.min.replace(tzinfo=UTC)


def test_c13_a_clock_that_jumps_changes_no_moment():
    """The moments are the rule's own: looked for from an earlier time again, they are the same ones."""
    rule = every(seconds=10, start=START)
    ahead = list(rule.between(START, START + timedelta(hours=4)))
    back = list(rule.between(START + timedelta(hours=2, seconds=3), START + timedelta(hours=4)))
    assert back == [moment for moment in ahead if moment > START + timedelta(hours=2, seconds=3)]


def test_ten_thousand_next_moments_are_quick():
    rule = cron("*/5 * * * *", "Europe/Berlin")
    started = time.process_time()
    moment = START
    for _ in range(10_000):
        moment = rule.next_after(moment)
    assert moment == START + timedelta(minutes=50_000)
    assert time.process_time() - started < 5  # typically 0.2; the bound leaves room for a loaded machine


# -- jitter ----------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(
    st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1), timezones=st.just(UTC)),
    st.timedeltas(timedelta(microseconds=10), timedelta(days=2)),
    st.floats(0.1, 100_000),
    st.text(max_size=5),
)
def test_jitter_keeps_bounds_and_order(planned, later, jitter, key):
    one, two = jittered(planned, jitter, key), jittered(planned + later, jitter, key)
    assert planned <= one <= planned + timedelta(seconds=jitter, microseconds=1)
    assert one <= two
    assert one == jittered(planned.astimezone(ZoneInfo("Asia/Tokyo")), jitter, key)


def test_jitter_spreads():
    days = [START + timedelta(days=day) for day in range(1000)]
    delays = [(jittered(day, 10, "nightly") - day).total_seconds() for day in days]
    assert min(delays) < 1
    assert max(delays) > 9
    assert abs(sum(delays) / len(delays) - 5) < 1
    others = [(jittered(START, 10, f"key {number}") - START).total_seconds() for number in range(1000)]
    assert len({round(delay, 1) for delay in others}) > 80
    assert jittered(START, 0, "key") == START


def test_jitter_is_the_same_in_another_process():
    code = "from jobtrail.schedules.rules.rules import *; print(jittered(datetime(2026, 1, 1, tzinfo=UTC), 60, 'ключ').isoformat())"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout.strip()
    assert told == jittered(START, 60, "ключ").isoformat()
