"""Cron over years and over every change of the clock: against cronsim, and against looking at every minute."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from cronsim import CronSim
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from jobtrail.errors import InvalidSchedule
from jobtrail.schedules.rules.rules import cron

# Their clocks change by whole hours and not at midnight, which is where cronsim is right as well.
PLAIN_ZONES = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Europe/Moscow",
    "Asia/Kathmandu",
    "Australia/Sydney",
    "Europe/London",
]
# Half an hour, at midnight, over the date line, often, and long ago by odd amounts.
ODD_CHANGES = [
    ("Australia/Lord_Howe", datetime(2024, 4, 6, 15, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2024, 10, 5, 15, 30, tzinfo=UTC)),
    ("Europe/Berlin", datetime(2024, 3, 31, 1, tzinfo=UTC)),
    ("Europe/Berlin", datetime(2024, 10, 27, 1, tzinfo=UTC)),
    ("America/New_York", datetime(2025, 3, 9, 7, tzinfo=UTC)),
    ("America/New_York", datetime(2025, 11, 2, 6, tzinfo=UTC)),
    ("America/Sao_Paulo", datetime(2018, 11, 4, 3, tzinfo=UTC)),
    ("America/Havana", datetime(2024, 11, 3, 5, tzinfo=UTC)),
    ("Pacific/Apia", datetime(2011, 12, 30, 10, tzinfo=UTC)),
    ("Africa/Casablanca", datetime(2024, 3, 10, 2, tzinfo=UTC)),
    ("Antarctica/Troll", datetime(2024, 10, 27, 1, tzinfo=UTC)),
]
YEARS = timedelta(days=3653)


def field(low, high):
    number = st.integers(low, high)
    numbers = st.sets(number, min_size=1, max_size=4).map(lambda some: ",".join(map(str, sorted(some))))
    run = st.tuples(st.integers(low, high - 1), st.integers(1, high - low)).map(
        lambda two: f"{two[0]}-{min(sum(two), high)}"
    )
    step = st.integers(1, max(2, high // 2)).map(lambda by: f"*/{by}")
    return st.one_of(
        st.just("*"), numbers, run, step, st.tuples(run, st.integers(1, 5)).map(lambda two: f"{two[0]}/{two[1]}")
    )


weekday = st.one_of(st.just("*"), field(0, 7), st.sampled_from(["5#2", "1L", "MON-FRI", "0#1,3L"]))
day = st.one_of(st.just("*"), st.just("*"), field(1, 31), st.sampled_from(["L", "LW", "1,L"]))
five_fields = st.tuples(field(0, 59), field(0, 23), day, st.one_of(st.just("*"), field(1, 12)), weekday).map(" ".join)
starts = st.datetimes(datetime(2010, 1, 1), datetime(2026, 1, 1), timezones=st.just(UTC))


def rule_of(text, zone):
    try:
        return cron(text, zone)
    except InvalidSchedule as error:
        assume("never matches" not in str(error))
        raise


def theirs(text, zone, start, until, limit):
    found = []
    for moment in CronSim(text, start.astimezone(ZoneInfo(zone))):
        moment = moment.astimezone(UTC)
        if moment > until or len(found) == limit:
            break
        if moment > start:  # cronsim forgets in which of two equal hours it was asked
            found.append(moment)
    return found


@settings(max_examples=100, deadline=None)
@given(five_fields, st.sampled_from(PLAIN_ZONES), starts)
def test_every_match_once_over_ten_years(text, zone, start):
    rule = rule_of(text, zone)
    moments = list(rule.between(start, start + YEARS, limit=150))
    assert all(one < two for one, two in pairwise([start, *moments]))
    assert moments == theirs(text, zone, start, start + YEARS, 150)


@settings(max_examples=6, deadline=None)
@given(
    st.sampled_from(["30 2 * * *", "0 3 * * 1-5", "15 1,2 L * *", "30 1 * 3,10,11 0"]),
    st.sampled_from(PLAIN_ZONES),
    starts,
)
def test_days_over_ten_years(text, zone, start):
    """Twenty changes of the clock, and none of them loses or doubles a day."""
    moments = list(cron(text, zone).between(start, start + YEARS))
    assert all(one < two for one, two in pairwise(moments))
    assert moments == theirs(text, zone, start, start + YEARS, 4000)


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(ODD_CHANGES),
    st.one_of(st.just("*"), field(0, 59)),
    st.one_of(st.just("*"), field(0, 5), field(0, 23)),
    st.integers(-36 * 60, 6 * 60),
)
def test_around_a_change_of_the_clock_nothing_is_forgotten(change, minute, hour, minutes_away):
    """Against looking at every minute of two days, with a reading of the two fields that knows nothing of zones."""
    zone, when = change
    start = when + timedelta(minutes=minutes_away)
    until = start + timedelta(days=2)
    rule = cron(f"{minute} {hour} * * *", zone)
    assert list(rule.between(start, until)) == _by_looking(rule, start, until, ZoneInfo(zone))


def _by_looking(rule, start, until, zone):
    minutes, hours = values(rule.text.split()[0], 60), values(rule.text.split()[1], 24)
    moments = [start + timedelta(minutes=minute) for minute in range(-26 * 60, 74 * 60)]
    clock = [(moment.astimezone(zone).replace(tzinfo=None), moment) for moment in moments]
    if rule.fixed:
        clock = _each_time_once(clock)
    found = {moment for shown, moment in clock if shown.minute in minutes and shown.hour in hours}
    return sorted(moment for moment in found if start < moment <= until)


def _each_time_once(clock):
    """A time that came twice at its first, and one that never came at the moment after it."""
    highest = clock[0][0]
    for shown, moment in clock:
        while highest <= shown:
            yield highest, moment
            highest += timedelta(minutes=1)


def values(text, size):
    found = set()
    for term in text.split(","):
        base, _, step = term.partition("/")
        low, _, high = base.partition("-")
        every = range(size) if base == "*" else range(int(low), int(high or low) + 1)
        found |= set(every[:: int(step or 1)])
    return found
