"""A Celery beat schedule is carried over entry by entry, and what cannot be is refused by its name."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import pytest
from celery import Celery
from celery.schedules import crontab, schedule
from hypothesis import given, settings
from hypothesis import strategies as st

from jobtrail.errors import InvalidSchedule
from jobtrail.schedules.rules.celery_beat import read_beat_schedule
from jobtrail.schedules.rules.rules import At, Cron, Every, calendar_interval, every

MOSCOW = "Europe/Moscow"


def read(when, tz=None, **entry):
    [found] = read_beat_schedule({"nightly": {"task": "shop.report", "schedule": when, **entry}}, tz)
    return found


def alike(*fields):
    """What only looks like a crontab: minute, hour, day of month, month, day of week."""
    names = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")
    return SimpleNamespace(**{f"_orig_{name}": value for name, value in zip(names, fields, strict=True)})


def test_a_whole_schedule():
    entries = read_beat_schedule(
        {
            "report": {
                "task": "shop.report",
                "schedule": crontab(minute=0, hour=3),
                "args": ("EWR",),
                "kwargs": {"full": True},
                "options": {
                    "queue": "slow",
                    "priority": 9,
                    "expires": 3600,
                    "countdown": timedelta(minutes=1),
                    "eta": None,
                },
            },
            "ping": {"task": "shop.ping", "schedule": 30.0, "enabled": False},
        },
        MOSCOW,
    )
    report, ping = entries
    assert (report.name, report.task, report.args, report.kwargs) == ("report", "shop.report", ("EWR",), {"full": True})
    assert report.rule == Cron("0 3 * * *", MOSCOW)
    assert (report.queue, report.priority, report.expires, report.countdown) == ("slow", 0, 3600.0, 60.0)
    assert (ping.rule, ping.enabled, ping.queue, ping.args, ping.kwargs) == (
        every(seconds=30, tz=MOSCOW),
        False,
        None,
        (),
        {},
    )
    assert report.enabled
    assert read_beat_schedule({}) == []


@pytest.mark.parametrize(
    ("when", "text"),
    [
        (crontab(), "* * * * *"),
        (crontab(minute="*/15"), "*/15 * * * *"),
        (crontab(minute=[0, 30], hour="*/2"), "0,30 */2 * * *"),
        (crontab(0, "0,12", day_of_week="mon-fri"), "0 0,12 * * MON-FRI"),
        (crontab(0, 0, day_of_week="sun"), "0 0 * * SUN"),
        (crontab(0, 0, day_of_week="fri-mon"), "0 0 * * 0,1,5,6"),
        (crontab("5-5/10"), "5 * * * *"),
        (crontab(0, "22-2"), "0 0,1,2,22,23 * * *"),
        (crontab(0, 0, day_of_month="2-30/2", month_of_year="*/3"), "0 0 2-30/2 */3 *"),
        (crontab.from_string("0 4 * * 1"), "0 4 * * 1"),
        (alike([0, 30], "8, 9", "*", "*", "mon"), "0,30 8,9 * * MON"),
    ],
)
def test_crontabs(when, text):
    assert read(when).rule.text == text


def test_a_crontab_asks_for_day_of_month_and_weekday_at_once():
    """As Celery reads it: the first Monday of the month, where crontab itself would mean the first week and every Monday."""
    rule = read(crontab(0, 0, day_of_month="1-7", day_of_week="mon")).rule
    moments = islice(rule.between(datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)), 3)
    assert [f"{moment:%a %d.%m}" for moment in moments] == ["Mon 05.01", "Mon 02.02", "Mon 02.03"]


numbers = st.integers(0, 6).flatmap(lambda low: st.integers(low, 6).map(lambda high: f"{low}-{high}"))
field = st.sampled_from(["*", "*/2", "*/5", "1", "3,5", "1-4", "2-10/3"])


@settings(max_examples=80, deadline=None)
@given(
    field,
    field,
    st.sampled_from(["*", "*/2", "1-7", "13"]),
    field,
    st.one_of(st.just("*"), numbers, st.just("sat,sun")),
)
def test_what_celery_would_run_next(minute, hour, day, month, weekday):
    """Celery's own answer, from one moment to the next, in UTC."""
    theirs = crontab(
        minute, hour, day_of_month=day, month_of_year=month, day_of_week=weekday, app=Celery(set_as_current=False)
    )
    ours = read(theirs).rule
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    for _ in range(5):
        theirs.nowfun = lambda moment=moment: moment
        expected = moment + theirs.remaining_estimate(moment)
        moment = ours.next_after(moment)
        assert moment == expected


@pytest.mark.parametrize(
    ("when", "rule"),
    [
        (300, every(minutes=5, tz=MOSCOW)),
        (1.5, every(seconds=1.5, tz=MOSCOW)),
        (timedelta(hours=2), every(hours=2, tz=MOSCOW)),
        (schedule(timedelta(minutes=5)), every(minutes=5, tz=MOSCOW)),
        (schedule(run_every=10), every(seconds=10, tz=MOSCOW)),
        (schedule(timedelta(days=2), relative=True), calendar_interval(days=2, start=date(2000, 1, 1), tz=MOSCOW)),
        (SimpleNamespace(clocked_time=datetime(2030, 1, 1, tzinfo=UTC)), At(datetime(2030, 1, 1, tzinfo=UTC), "UTC")),
    ],
)
def test_other_schedules(when, rule):
    assert read(when, MOSCOW).rule == rule


def test_relative_is_at_whole_hours_and_minutes_of_the_zone():
    hours = read(timedelta(hours=2), "Asia/Kathmandu", relative=True).rule
    moments = islice(hours.between(datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)), 12)
    assert {f"{moment.astimezone(ZoneInfo('Asia/Kathmandu')):%H:%M}" for moment in moments} == {
        f"{hour:02}:00" for hour in range(0, 24, 2)
    }
    minutes = read(timedelta(minutes=10), relative=True).rule
    assert minutes.next_after(datetime(2026, 1, 1, 0, 1, tzinfo=UTC)) == datetime(2026, 1, 1, 0, 10, tzinfo=UTC)
    assert read(5, relative=True).rule == Every(timedelta(seconds=5))


def test_the_zone_of_a_crontab():
    """Its own, else its application's, else that of the call; and no application is started to ask it."""
    own = crontab(0, 3)
    own.tz = ZoneInfo("Asia/Almaty")
    app = Celery(set_as_current=False)
    app.conf.timezone = "Europe/Berlin"
    assert read(own, MOSCOW).rule.zone == "Asia/Almaty"
    assert read(crontab(0, 3, app=app), MOSCOW).rule.zone == "Europe/Berlin"
    assert read(crontab(0, 3), MOSCOW).rule.zone == MOSCOW
    assert read(crontab(0, 3)).rule.zone == "UTC"


@pytest.mark.parametrize(("most_urgent", "theirs", "ours"), [(9, 9, 0), (9, 0, 9), (0, 0, 0), (0, 9, 9)])
def test_priority_is_turned_for_rabbitmq(most_urgent, theirs, ours):
    entry = {"task": "t", "schedule": 5, "options": {"priority": theirs}}
    assert read_beat_schedule({"x": entry}, most_urgent=most_urgent)[0].priority == ours


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        (None, "dictionary with 'task'"),
        ({"schedule": 5}, "'task' must be the name"),
        ({"task": "", "schedule": 5}, "'task' must be the name"),
        ({"task": "t"}, "'schedule' must be a crontab"),
        ({"task": "t", "schedule": True}, "'schedule' must be a crontab"),
        ({"task": "t", "shedule": 5}, "the key 'shedule' is unknown; the keys are: task"),
        ({"task": "t", "schedule": 0}, "at least one second"),
        ({"task": "t", "schedule": timedelta(seconds=-5)}, "seconds must be a number, at least 0"),
        ({"task": "t", "schedule": float("nan")}, "seconds must be a number, at least 0"),
        ({"task": "t", "schedule": 1e300}, "longer than Python can represent"),
        ({"task": "t", "schedule": 0.1}, "at least one second"),
        ({"task": "t", "schedule": "* * * * *"}, "of the type str is not supported"),
        ({"task": "t", "schedule": object()}, "of the type object is not supported"),
        (
            {"task": "t", "schedule": SimpleNamespace(event="sunset", lat=1, lon=2)},
            "write the event sunset as a time of day",
        ),
        ({"task": "t", "schedule": crontab(nowfun=datetime.now)}, "clock of its own"),
        ({"task": "t", "schedule": alike(0, 0, 31, 2, "*")}, "never matches"),
        ({"task": "t", "schedule": timedelta(minutes=90), "relative": True}, "whole hours"),
        ({"task": "t", "schedule": 5, "args": "EWR"}, "'args' must be a list"),
        ({"task": "t", "schedule": 5, "kwargs": [1]}, "'kwargs' must be a dictionary"),
        ({"task": "t", "schedule": 5, "kwargs": {1: 1}}, "'kwargs' must be a dictionary"),
        ({"task": "t", "schedule": 5, "options": [1]}, "'options' must be a dictionary"),
        (
            {"task": "t", "schedule": 5, "options": {"routing_key": "x"}},
            "the option 'routing_key' is not supported; the options are: queue",
        ),
        ({"task": "t", "schedule": 5, "options": {"queue": ""}}, "'queue' must be the name"),
        ({"task": "t", "schedule": 5, "options": {"priority": 10}}, "from 0 to 9"),
        (
            {"task": "t", "schedule": 5, "options": {"expires": datetime(2030, 1, 1, tzinfo=UTC)}},
            "'expires' must be a number of seconds",
        ),
        ({"task": "t", "schedule": 5, "options": {"countdown": -1}}, "'countdown' must be a number of seconds"),
    ],
)
def test_what_cannot_be_carried_over_is_refused_by_its_name(entry, told):
    with pytest.raises(InvalidSchedule) as caught:
        read_beat_schedule({"good": {"task": "t", "schedule": 5}, "nightly": entry})
    assert str(caught.value).startswith("an entry of the beat schedule cannot be converted: 'nightly': ")
    assert told in str(caught.value)


def test_all_that_is_wrong_is_told_at_once():
    with pytest.raises(InvalidSchedule) as caught:
        read_beat_schedule(
            {"one": {"task": "t", "schedule": 0}, "two": {"task": "t", "schedule": 5}, "three": {"schedule": 5}}
        )
    assert str(caught.value).startswith("2 entries of the beat schedule cannot be converted: 'one': ")
    assert "; 'three': 'task' must be the name of a task" in str(caught.value)


@pytest.mark.parametrize("mapping", [None, [], "x", crontab()])
def test_what_is_no_beat_schedule(mapping):
    with pytest.raises(InvalidSchedule, match="must be a dictionary"):
        read_beat_schedule(mapping)


def test_other_arguments_are_checked():
    with pytest.raises(InvalidSchedule, match="zone"):
        read_beat_schedule({}, "Nowhere")
    with pytest.raises(InvalidSchedule, match="RabbitMQ"):
        read_beat_schedule({}, most_urgent=5)
    with pytest.raises(InvalidSchedule, match="name of an entry"):
        read_beat_schedule({5: {"task": "t", "schedule": 5}})


def test_celery_is_not_loaded():
    code = (
        "import sys\n"
        "from datetime import timedelta\n"
        "from jobtrail.schedules.rules.celery_beat import read_beat_schedule\n"
        "read_beat_schedule({'x': {'task': 't', 'schedule': timedelta(minutes=5)}})\n"
        "print([name for name in sys.modules if name in {'celery', 'kombu'}])"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout.strip() == "[]"
    )
