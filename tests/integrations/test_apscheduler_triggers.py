"""A trigger of APScheduler is a time rule with APScheduler's own times, and comes back from JSON as it was."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from apscheduler.triggers.base import BaseTrigger
from apscheduler.triggers.calendarinterval import CalendarIntervalTrigger
from apscheduler.triggers.combining import AndTrigger, OrTrigger
from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.date import DateTrigger
from apscheduler.triggers.interval import IntervalTrigger

from jobtrail.errors import InvalidSchedule, UsageError
from jobtrail.schedules.rules.apscheduler_trigger import TriggerRule, trigger_from_json, trigger_to_json
from jobtrail.schedules.rules.rules import Every, Rule, parse_rule

BERLIN = "Europe/Berlin"
NOW = datetime(2024, 3, 29, 20, 0, 0, 5, tzinfo=UTC)
START = datetime(2024, 1, 31, 2, 30, tzinfo=UTC)
WORKING = CronTrigger(day_of_week="mon-fri", hour="*", timezone=BERLIN)
TRIGGERS = [
    CronTrigger(hour=2, minute="*/30", timezone=BERLIN),
    CronTrigger(day="last", month="1-6", timezone="Asia/Tokyo", start_date=START, end_date="2031-05-05"),
    CronTrigger(day="2nd fri", hour="3,5", timezone="UTC"),
    CronTrigger.from_crontab("15 4 * * 1", timezone=BERLIN),
    CronTrigger(week=20, second="*/20", timezone="UTC"),
    IntervalTrigger(minutes=7, start_date=START, timezone=BERLIN),
    IntervalTrigger(seconds=0.1, start_date=START, end_date=NOW + timedelta(days=3), timezone="UTC"),
    CalendarIntervalTrigger(months=1, hour=2, minute=30, start_date="2000-01-31", timezone=BERLIN),
    CalendarIntervalTrigger(days=3, start_date="2001-01-31", end_date="2025-01-01", timezone=BERLIN),
    CalendarIntervalTrigger(months=1, days=2, start_date="2023-11-05", timezone="UTC"),
    OrTrigger([CronTrigger(hour=3, timezone="UTC"), CronTrigger(day=1, hour=5, timezone="UTC")]),
    AndTrigger([WORKING, CronTrigger(day="1-7", hour=3, timezone=BERLIN)]),
]


def fired(trigger, count):
    """The times at which APScheduler itself fires after NOW; an "and" of it that has fired before never returns."""
    if isinstance(trigger, AndTrigger):
        after = NOW
        while count:
            yield (after := trigger.get_next_fire_time(None, after + timedelta(seconds=1)).astimezone(UTC))
            count -= 1
        return
    found = trigger.get_next_fire_time(None, NOW)
    while found is not None and found <= NOW:
        found = trigger.get_next_fire_time(found, NOW)
    while found is not None and count:
        yield found.astimezone(UTC)
        count -= 1
        found = trigger.get_next_fire_time(found, found)


@pytest.mark.parametrize("trigger", TRIGGERS, ids=str)
def test_the_times_of_the_rule_are_those_of_the_trigger_also_after_json(trigger):
    rule = parse_rule(trigger)
    again = Rule.from_json(rule.to_json())
    assert again == rule
    expected = list(fired(trigger, 30))
    assert len(expected) > 5
    for one in (rule, again):
        assert list(one.between(NOW, NOW + timedelta(days=3000), 30)) == expected


@pytest.mark.parametrize("trigger", [*TRIGGERS, WORKING], ids=str)
def test_a_trigger_comes_back_as_it_was(trigger):
    stored = trigger_to_json(trigger)
    again = trigger_from_json(stored)
    assert type(again) is type(trigger)
    assert str(again) == str(trigger)
    assert trigger_to_json(again) == stored


def test_a_date_is_once_and_jitter_is_kept_in_json():
    moment = datetime(2030, 1, 31, 3, tzinfo=timezone(timedelta(hours=3)))
    rule = parse_rule(DateTrigger(moment))
    assert rule.next_after(NOW) == moment
    assert rule.next_after(moment) is None
    assert trigger_from_json(trigger_to_json(CronTrigger(hour=3, timezone="UTC", jitter=5))).jitter == 5


def test_an_interval_without_a_start_counts_from_its_storing():
    assert parse_rule(IntervalTrigger(minutes=5, timezone=BERLIN)) == Every(timedelta(minutes=5), None, BERLIN)


class Custom(BaseTrigger):
    def get_next_fire_time(self, previous_fire_time, now):
        return None


@pytest.mark.parametrize(
    ("trigger", "why"),
    [
        (Custom(), "Custom is not known here"),
        (CronTrigger(hour=3, timezone=timezone(timedelta(hours=3))), "has no name"),
        (CronTrigger(hour=3, timezone="UTC", jitter=5), "give jitter= to the schedule"),
        (OrTrigger([CronTrigger(hour=3, timezone="UTC", jitter=5)]), "give jitter= to the schedule"),
    ],
)
def test_what_has_no_equal_times_everywhere_is_refused(trigger, why):
    with pytest.raises(InvalidSchedule, match=why):
        parse_rule(trigger)


def test_triggers_that_never_agree_are_refused_in_bounded_time():
    never = AndTrigger([CronTrigger(second=0, timezone="UTC"), CronTrigger(second=1, timezone="UTC")])
    with pytest.raises(InvalidSchedule, match="agreed on no time"):
        TriggerRule.of(never).next_after(NOW)


def test_a_schedule_takes_a_trigger_and_its_period_is_that_of_the_planned_time(make_jobs):
    jobs = make_jobs()

    @jobs.schedule(CronTrigger(day=1, hour=3, timezone=BERLIN), period="previous month")
    @jobs.task
    def report() -> None: ...

    jobs.schedules.sync()
    [planned] = jobs.schedules.next("report", 1)
    assert jobs.schedules.get("report").zone == BERLIN
    jobs.schedules.scheduler().run_once(planned)
    [job] = jobs.find("task:report")
    month = (planned.replace(day=1) - timedelta(days=1)).strftime("%Y-%m")
    assert job.period.text == f"{month}[{BERLIN}]"
    assert not jobs.schedules.sync()


def test_the_step_of_a_backfill_is_a_period_so_a_trigger_is_refused(make_jobs):
    jobs = make_jobs()

    @jobs.task
    def load() -> None: ...

    with pytest.raises(UsageError):
        jobs.backfill_plan(load, first="2024-01", last="2024-03", step=CronTrigger(day=1, timezone="UTC"))
