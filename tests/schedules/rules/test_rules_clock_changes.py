"""Every kind of rule on the nights when clocks change, against lists written by hand: the real time, and what the clock shows."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest

from jobtrail.schedules.rules.rules import calendar_interval, cron, every, jittered
from jobtrail.schedules.rules.wording import shown

BERLIN, NEW_YORK, LORD_HOWE, MOSCOW = "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Europe/Moscow"


def utc(*parts):
    return datetime(*parts, tzinfo=UTC)


def told(rule, after, count):
    """Of each moment the real time, and what the clock shows: "31 01:00Z = 03:00+0200"."""
    moments = list(islice(rule.between(after, after + timedelta(days=800)), count))
    assert all(one < two for one, two in pairwise(moments))
    return [f"{moment:%d %H:%M}Z = {moment.astimezone(ZoneInfo(rule.zone)):%H:%M%z}" for moment in moments]


# The clock is put forward from 02:00 to 03:00 (in Lord Howe to 02:30), and back from 03:00, or 02:00, to the beginning of that span.
NIGHTS = {
    "Berlin, forward": (
        BERLIN,
        utc(2024, 3, 30, 12),
        {
            cron("30 2 * * *"): ["31 01:00Z = 03:00+0200", "01 00:30Z = 02:30+0200", "02 00:30Z = 02:30+0200"],
            cron("0 30 2 * * *"): ["31 01:00Z = 03:00+0200", "01 00:30Z = 02:30+0200", "02 00:30Z = 02:30+0200"],
            cron("20 30 2 * * *"): ["31 01:00Z = 03:00+0200", "01 00:30Z = 02:30+0200"],
            cron("0,30 2 * * *"): ["31 01:00Z = 03:00+0200", "01 00:00Z = 02:00+0200", "01 00:30Z = 02:30+0200"],
            cron("0 2,3 * * *"): ["31 01:00Z = 03:00+0200", "01 00:00Z = 02:00+0200", "01 01:00Z = 03:00+0200"],
            cron("45 1-3 31 3 *"): ["31 00:45Z = 01:45+0100", "31 01:00Z = 03:00+0200", "31 01:45Z = 03:45+0200"],
            cron("0 12 * * *"): ["31 10:00Z = 12:00+0200", "01 10:00Z = 12:00+0200"],
            cron("*/30 0-3 31 3 *"): [
                "30 23:00Z = 00:00+0100",
                "30 23:30Z = 00:30+0100",
                "31 00:00Z = 01:00+0100",
                "31 00:30Z = 01:30+0100",
                "31 01:00Z = 03:00+0200",
                "31 01:30Z = 03:30+0200",
            ],
            cron("*/30 2 * * *"): ["01 00:00Z = 02:00+0200", "01 00:30Z = 02:30+0200"],
            cron("0 */2 31 3 *"): [
                "30 23:00Z = 00:00+0100",
                "31 02:00Z = 04:00+0200",
                "31 04:00Z = 06:00+0200",
            ],
            calendar_interval(days=1, hour=2, minute=30, start=date(2024, 3, 31)): [
                "31 01:00Z = 03:00+0200",
                "01 00:30Z = 02:30+0200",
            ],
            calendar_interval(months=1, hour=2, minute=30, start=date(2024, 1, 31)): [
                "31 01:00Z = 03:00+0200",
                "30 00:30Z = 02:30+0200",
                "31 00:30Z = 02:30+0200",
            ],
            every(hours=24, start=utc(2024, 3, 30, 1, 30)): ["31 01:30Z = 03:30+0200", "01 01:30Z = 03:30+0200"],
            every(minutes=40, start=utc(2024, 3, 31)): [
                "31 00:00Z = 01:00+0100",
                "31 00:40Z = 01:40+0100",
                "31 01:20Z = 03:20+0200",
                "31 02:00Z = 04:00+0200",
            ],
        },
    ),
    "Berlin, back": (
        BERLIN,
        utc(2024, 10, 26, 12),
        {
            cron("30 2 * * *"): ["27 00:30Z = 02:30+0200", "28 01:30Z = 02:30+0100", "29 01:30Z = 02:30+0100"],
            cron("0 30 2 * * *"): ["27 00:30Z = 02:30+0200", "28 01:30Z = 02:30+0100"],
            cron("20 30 2 * * *"): ["27 00:30Z = 02:30+0200", "28 01:30Z = 02:30+0100"],
            cron("0 3 * * *"): ["27 02:00Z = 03:00+0100", "28 02:00Z = 03:00+0100"],
            cron("*/30 2 * * *"): [
                "27 00:00Z = 02:00+0200",
                "27 00:30Z = 02:30+0200",
                "27 01:00Z = 02:00+0100",
                "27 01:30Z = 02:30+0100",
                "28 01:00Z = 02:00+0100",
            ],
            cron("15 1-3 27 10 *"): ["26 23:15Z = 01:15+0200", "27 00:15Z = 02:15+0200", "27 02:15Z = 03:15+0100"],
            cron("15 * 27 10 *"): [
                "26 22:15Z = 00:15+0200",
                "26 23:15Z = 01:15+0200",
                "27 00:15Z = 02:15+0200",
                "27 01:15Z = 02:15+0100",
                "27 02:15Z = 03:15+0100",
            ],
            calendar_interval(days=1, hour=2, minute=30, start=date(2024, 10, 27)): [
                "27 00:30Z = 02:30+0200",
                "28 01:30Z = 02:30+0100",
            ],
            every(hours=24, start=utc(2024, 10, 26, 0, 30)): ["27 00:30Z = 02:30+0200", "28 00:30Z = 01:30+0100"],
            every(minutes=40, start=utc(2024, 10, 27)): [
                "27 00:00Z = 02:00+0200",
                "27 00:40Z = 02:40+0200",
                "27 01:20Z = 02:20+0100",
                "27 02:00Z = 03:00+0100",
            ],
        },
    ),
    "New York, forward": (
        NEW_YORK,
        utc(2025, 3, 8, 4),
        {
            cron("30 2 * * *"): ["08 07:30Z = 02:30-0500", "09 07:00Z = 03:00-0400", "10 06:30Z = 02:30-0400"],
            cron("0 0 * * *"): ["08 05:00Z = 00:00-0500", "09 05:00Z = 00:00-0500", "10 04:00Z = 00:00-0400"],
            cron("4 16 * * *"): ["08 21:04Z = 16:04-0500", "09 20:04Z = 16:04-0400", "10 20:04Z = 16:04-0400"],
            cron("*/30 1-3 9 3 *"): [
                "09 06:00Z = 01:00-0500",
                "09 06:30Z = 01:30-0500",
                "09 07:00Z = 03:00-0400",
                "09 07:30Z = 03:30-0400",
            ],
            calendar_interval(weeks=1, hour=2, start=date(2025, 3, 2)): ["09 07:00Z = 03:00-0400", "16 06:00Z = 02:00-0400"],
            every(hours=12, start=utc(2025, 3, 9, 7)): ["09 07:00Z = 03:00-0400", "09 19:00Z = 15:00-0400"],
        },
    ),
    "New York, back": (
        NEW_YORK,
        utc(2025, 11, 1, 12),
        {
            cron("30 1 * * *"): ["02 05:30Z = 01:30-0400", "03 06:30Z = 01:30-0500"],
            cron("0 2 * * *"): ["02 07:00Z = 02:00-0500", "03 07:00Z = 02:00-0500"],
            cron("*/30 1 2 11 *"): [
                "02 05:00Z = 01:00-0400",
                "02 05:30Z = 01:30-0400",
                "02 06:00Z = 01:00-0500",
                "02 06:30Z = 01:30-0500",
            ],
            calendar_interval(years=1, hour=1, start=date(2024, 11, 2)): ["02 05:00Z = 01:00-0400", "02 06:00Z = 01:00-0500"],
            every(hours=1, start=utc(2025, 11, 2, 5)): [
                "02 05:00Z = 01:00-0400",
                "02 06:00Z = 01:00-0500",
                "02 07:00Z = 02:00-0500",
            ],
        },
    ),
    "Lord Howe, forward by half an hour": (
        LORD_HOWE,
        utc(2024, 10, 4, 12),
        {
            cron("15 2 * * *"): ["04 15:45Z = 02:15+1030", "05 15:30Z = 02:30+1100", "06 15:15Z = 02:15+1100"],
            cron("30 2 * * *"): ["04 16:00Z = 02:30+1030", "05 15:30Z = 02:30+1100", "06 15:30Z = 02:30+1100"],
            cron("*/30 1-3 6 10 *"): [
                "05 14:30Z = 01:00+1030",
                "05 15:00Z = 01:30+1030",
                "05 15:30Z = 02:30+1100",
                "05 16:00Z = 03:00+1100",
                "05 16:30Z = 03:30+1100",
            ],
            cron("0 */2 6 10 *"): ["05 13:30Z = 00:00+1030", "05 17:00Z = 04:00+1100"],
            cron("45 * 6 10 *"): [
                "05 14:15Z = 00:45+1030",
                "05 15:15Z = 01:45+1030",
                "05 15:45Z = 02:45+1100",
                "05 16:45Z = 03:45+1100",
            ],
            calendar_interval(days=1, hour=2, minute=15, start=date(2024, 10, 6)): [
                "05 15:30Z = 02:30+1100",
                "06 15:15Z = 02:15+1100",
            ],
            every(minutes=30, start=utc(2024, 10, 5, 15, 15)): [
                "05 15:15Z = 01:45+1030",
                "05 15:45Z = 02:45+1100",
            ],
        },
    ),
    "Lord Howe, back by half an hour": (
        LORD_HOWE,
        utc(2024, 4, 5, 12),
        {
            cron("45 1 * * *"): ["05 14:45Z = 01:45+1100", "06 14:45Z = 01:45+1100", "07 15:15Z = 01:45+1030"],
            cron("0 2 * * *"): ["05 15:00Z = 02:00+1100", "06 15:30Z = 02:00+1030", "07 15:30Z = 02:00+1030"],
            cron("*/30 1-2 7 4 *"): [
                "06 14:00Z = 01:00+1100",
                "06 14:30Z = 01:30+1100",
                "06 15:00Z = 01:30+1030",
                "06 15:30Z = 02:00+1030",
                "06 16:00Z = 02:30+1030",
            ],
            cron("0 */2 7 4 *"): ["06 13:00Z = 00:00+1100", "06 15:30Z = 02:00+1030", "06 17:30Z = 04:00+1030"],
            cron("45 * 7 4 *"): [
                "06 13:45Z = 00:45+1100",
                "06 14:45Z = 01:45+1100",
                "06 15:15Z = 01:45+1030",
                "06 16:15Z = 02:45+1030",
            ],
            calendar_interval(days=1, hour=1, minute=30, start=date(2024, 4, 7)): [
                "06 14:30Z = 01:30+1100",
                "07 15:00Z = 01:30+1030",
            ],
            every(minutes=45, start=utc(2024, 4, 6, 14)): [
                "06 14:00Z = 01:00+1100",
                "06 14:45Z = 01:45+1100",
                "06 15:30Z = 02:00+1030",
            ],
        },
    ),
    "Moscow, where nothing changes": (
        MOSCOW,
        utc(2024, 3, 30, 12),
        {
            cron("30 2 * * *"): ["30 23:30Z = 02:30+0300", "31 23:30Z = 02:30+0300", "01 23:30Z = 02:30+0300"],
            cron("*/30 2 * * *"): ["30 23:00Z = 02:00+0300", "30 23:30Z = 02:30+0300", "31 23:00Z = 02:00+0300"],
            cron("0 */12 * * *"): ["30 21:00Z = 00:00+0300", "31 09:00Z = 12:00+0300"],
            calendar_interval(days=1, hour=2, minute=30, start=date(2024, 3, 31)): ["30 23:30Z = 02:30+0300"],
            every(hours=12, start=utc(2024, 3, 30, 23)): ["30 23:00Z = 02:00+0300", "31 11:00Z = 14:00+0300"],
        },
    ),
}
CASES = [
    pytest.param(rule, zone, after, expected, id=f"{name}: {getattr(rule, 'text', rule)}")
    for name, (zone, after, rules) in NIGHTS.items()
    for rule, expected in rules.items()
]


@pytest.mark.parametrize(("rule", "zone", "after", "expected"), CASES)
def test_the_night(rule, zone, after, expected):
    rule = replace(rule, zone=zone)
    assert told(rule, after, len(expected)) == expected


@pytest.mark.parametrize(("rule", "zone", "after", "expected"), CASES)
def test_whenever_one_asks_the_answer_is_the_next_of_the_list(rule, zone, after, expected):
    """From every quarter of an hour of the two nights, so also from within the gap's end and both halves of a doubled hour."""
    rule = replace(rule, zone=zone)
    until = after + timedelta(days=2)
    moments = list(rule.between(after, until))
    for quarter in range(4 * 48):
        asked = after + timedelta(minutes=15 * quarter)
        following = next((moment for moment in moments if moment > asked), None)
        assert next(rule.between(asked, until), None) == following
        assert next(rule.between(asked - timedelta(microseconds=1), until), None) in {following, asked}


def test_c06_the_autumn_change_in_berlin():
    after, until = utc(2024, 10, 26, 18), utc(2024, 10, 28, 3)
    daily = list(cron("30 2 * * *", BERLIN).between(after, until))
    halves = list(cron("*/30 * * * *", BERLIN).between(after, until))
    second_hours = list(cron("0 */2 * * *", BERLIN).between(after, until))
    noon = list(cron("0 12 * * *", BERLIN).between(after, until))
    assert daily == [utc(2024, 10, 27, 0, 30), utc(2024, 10, 28, 1, 30)]
    assert {two - one for one, two in pairwise(halves)} == {timedelta(minutes=30)}
    in_the_doubled_hour = [moment for moment in halves if utc(2024, 10, 27) <= moment < utc(2024, 10, 27, 2)]
    assert [f"{moment.astimezone(ZoneInfo(BERLIN)):%H:%M %z}" for moment in in_the_doubled_hour] == [
        "02:00 +0200",
        "02:30 +0200",
        "02:00 +0100",
        "02:30 +0100",
    ]
    assert all(one < two for one, two in pairwise(second_hours))
    assert noon == [utc(2024, 10, 27, 11)]


@pytest.mark.parametrize("text", ["30 2 * * *", "*/30 * * * *", "0 */2 * * *", "0 12 * * *"])
def test_c06_two_hundred_next_moments_from_within_the_doubled_hour(text):
    rule = cron(text, BERLIN)
    moment = datetime(2024, 10, 27, 2, 15, fold=1, tzinfo=ZoneInfo(BERLIN))
    for _ in range(200):
        following = rule.next_after(moment)
        assert following > moment.astimezone(UTC)
        assert following.astimezone(ZoneInfo(BERLIN)).astimezone(UTC) == following
        moment = following


def test_c07_the_spring_change_in_new_york():
    after, until = utc(2025, 3, 8, 4, 59), utc(2025, 3, 11, 4)
    zone = ZoneInfo(NEW_YORK)
    midnights = [
        jittered(moment, 10, "nightly")
        for moment in cron("0 0 * * *", NEW_YORK).between(after, until - timedelta(seconds=1))
    ]
    assert [moment.astimezone(zone).date() for moment in midnights] == [
        date(2025, 3, 8),
        date(2025, 3, 9),
        date(2025, 3, 10),
    ]
    assert all(moment.astimezone(zone).strftime("%H:%M") == "00:00" for moment in midnights)
    assert all(moment.astimezone(zone).second <= 10 for moment in midnights)
    afternoons = list(cron("4 16 * * *", NEW_YORK).between(after, until))
    assert [shown(moment, NEW_YORK) for moment in afternoons] == [
        "2025-03-08 16:04 -05:00 (America/New_York)",
        "2025-03-09 16:04 -04:00 (America/New_York)",
        "2025-03-10 16:04 -04:00 (America/New_York)",
    ]
    missing = list(cron("30 2 * * *", NEW_YORK).between(after, until))
    assert [shown(moment, NEW_YORK) for moment in missing] == [
        "2025-03-08 02:30 -05:00 (America/New_York)",
        "2025-03-09 03:00 -04:00 (America/New_York)",
        "2025-03-10 02:30 -04:00 (America/New_York)",
    ]
    for moment in (*midnights, *afternoons, *missing):
        assert moment.astimezone(zone).astimezone(UTC) == moment


def test_a_day_that_a_zone_left_out():
    """Samoa went over the date line at the end of 29 December 2011: there was no 30th."""
    rule = cron("0 9 * * *", "Pacific/Apia")
    assert told(rule, utc(2011, 12, 29, 12), 3) == [
        "29 19:00Z = 09:00-1000",
        "30 10:00Z = 00:00+1400",
        "30 19:00Z = 09:00+1400",
    ]
    assert told(cron("0 */12 * * *", "Pacific/Apia"), utc(2011, 12, 29, 12), 4) == [
        "29 22:00Z = 12:00-1000",
        "30 10:00Z = 00:00+1400",
        "30 22:00Z = 12:00+1400",
        "31 10:00Z = 00:00+1400",
    ]
    far = cron("* 5-16 * 1 2", "Pacific/Apia")
    assert told(far, utc(2011, 2, 1), 2) == ["02 15:00Z = 05:00+1400", "02 15:01Z = 05:01+1400"]


def test_a_midnight_that_does_not_exist():
    """In Casablanca the clock went from 00:00 to 01:00 on 1 June 2008."""
    zone = "Africa/Casablanca"
    assert told(cron("0 0 1 6 *", zone), utc(2008, 5, 30), 1) == ["01 00:00Z = 01:00+0100"]
    assert told(cron("*/30 0,15 1 6 *", zone), utc(2008, 5, 30), 2) == [
        "01 14:00Z = 15:00+0100",
        "01 14:30Z = 15:30+0100",
    ]


def test_what_is_shown():
    assert shown(utc(2024, 10, 27, 0, 30), BERLIN) == "2024-10-27 02:30 +02:00 (Europe/Berlin)"
    assert shown(utc(2024, 10, 27, 1, 30), BERLIN) == "2024-10-27 02:30 +01:00 (Europe/Berlin)"
    assert shown(utc(2024, 10, 27, 1, 30, 5), LORD_HOWE) == "2024-10-27 12:30:05 +11:00 (Australia/Lord_Howe)"
