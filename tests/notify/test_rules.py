"""Rules, quiet hours and grouping, as values: no database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobtrail.errors import InvalidOption, UsageError
from jobtrail.notify.grouping import EventTold, OpenProblem, group, reminders
from jobtrail.notify.rules import AlertRule, Occurrence, QuietHours

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def event(number: int = 1, kind: str = "module.error", subject: str = "parser", *, resolved: bool = False, **facts):
    return Occurrence(number, kind, subject, resolved, facts, NOW)


def grouped(events, rules, *, open_told=None, found=None, now=NOW):
    return group(events, rules, now, open_told=open_told or {}, found=found or {})


# -- which events a rule tells -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "one", "told"),
    [
        ({"kinds": "module.error"}, event(), True),
        ({"kinds": "module.error"}, event(kind="module.errors"), False),
        ({"kinds": "module.*"}, event(kind="module.warning"), True),
        ({"kinds": "module.*"}, event(kind="modules.warning"), False),
        ({"kinds": "*"}, event(kind="worker.lost"), True),
        ({"kinds": ["job.failed", "job.partial"]}, event(kind="job.partial", job="1"), True),
        ({"kinds": "module.error", "subjects": "pars*"}, event(), True),
        ({"kinds": "module.error", "subjects": ["a", "b"]}, event(), False),
        ({"kinds": "job.failed", "where": "task:a"}, event(kind="job.failed", job="1"), True),
        ({"kinds": "job.failed", "where": "task:a"}, event(kind="job.failed", job="2"), False),
        ({"kinds": "job.interrupted", "times": 3}, event(kind="job.interrupted", job="1", times=2), False),
        ({"kinds": "job.interrupted", "times": 3}, event(kind="job.interrupted", job="1", times=3), True),
        ({"kinds": "question.deadline", "before": 60}, event(kind="question.deadline", before=60.0), True),
        ({"kinds": "question.deadline", "before": 60}, event(kind="question.deadline", before=3600.0), False),
        ({"kinds": "task.silent", "task": "load", "since": 60}, event(kind="task.silent", subject="load", since=60.0), True),
        ({"kinds": "task.silent", "task": "load", "since": 60}, event(kind="task.silent", subject="load", since=90.0), False),
        ({"kinds": "task.silent", "task": "load", "since": 60}, event(kind="task.silent", subject="x", since=60.0), False),
    ],
)  # fmt: skip
def test_which_events_a_rule_tells(rule, one, told):
    assert AlertRule("r", **rule).allows(one, {"1"}) is told


@pytest.mark.parametrize(
    ("rule", "wrong"),
    [
        ({"name": "No!", "kinds": "module.error"}, "No!"),
        ({"kinds": "Module"}, "'Module'"),
        ({"kinds": []}, "kinds"),
        ({"kinds": "module.error", "channels": ()}, "channels"),
        ({"kinds": "module.error", "channels": [7]}, "channels"),
        ({"kinds": "module.error", "group": -1}, "group"),
        ({"kinds": "module.error", "remind": 0}, "remind"),
        ({"kinds": "module.error", "remind": float("nan")}, "remind"),
        ({"kinds": "module.error", "group": True}, "group"),
        ({"kinds": "module.error", "quiet": "22:00"}, "22:00"),
        ({"kinds": "module.error", "quiet": "22:00-22:00"}, "22:00-22:00"),
        ({"kinds": "module.error", "quiet": "22:00-25:00"}, "22:00-25:00"),
        ({"kinds": "module.error", "quiet": "22:00-07:00 Europe/Berlim"}, "Europe/Berlin"),
        ({"kinds": "module.error", "text": " "}, "text"),
        ({"kinds": "module.error", "where": "task:a"}, "job"),
        ({"kinds": "job.failed", "where": "tusk:a"}, "tusk"),
        ({"kinds": "job.interrupted", "times": 0}, "times"),
        ({"kinds": "task.silent"}, "task"),
        ({"kinds": "job.failed", "task": "a", "since": 9}, "task.silent"),
    ],
)
def test_a_rule_that_cannot_be_is_refused(rule, wrong):
    with pytest.raises(UsageError, match=wrong):
        AlertRule(**{"name": "r", **rule})


# -- quiet hours --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "moment", "end"),
    [
        ("22:00-07:00", "2026-03-01T21:59:59", None),
        ("22:00-07:00", "2026-03-01T22:00:00", "2026-03-02T07:00:00"),
        ("22:00-07:00", "2026-03-02T06:59:59", "2026-03-02T07:00:00"),
        ("22:00-07:00", "2026-03-02T07:00:00", None),
        ("12:00-13:00", "2026-03-02T12:30:00", "2026-03-02T13:00:00"),
        ("22:00-07:00 Europe/Berlin", "2026-07-01T20:00:00", "2026-07-02T05:00:00"),
        ("22:00-07:00 Europe/Berlin", "2026-01-01T21:00:00", "2026-01-02T06:00:00"),
        # Clocks are put forward at 02:00: the end at 02:30 does not exist and is 03:30 of the new time.
        ("01:00-02:30 Europe/Berlin", "2026-03-29T00:30:00", "2026-03-29T01:30:00"),
        # Clocks are put back from 03:00 to 02:00: in the second 02:10 the first 02:30 is over.
        ("01:00-02:30 Europe/Berlin", "2026-10-25T00:10:00", "2026-10-25T00:30:00"),
        ("01:00-02:30 Europe/Berlin", "2026-10-25T01:10:00", "2026-10-25T01:30:00"),
    ],
)
def test_quiet_hours_end(text, moment, end):
    at = datetime.fromisoformat(moment).replace(tzinfo=UTC)
    expected = at if end is None else datetime.fromisoformat(end).replace(tzinfo=UTC)
    assert QuietHours.parse(text).end_after(at) == expected


@given(
    st.datetimes(datetime(2026, 1, 1), datetime(2027, 1, 1)), st.times(), st.times(),
    st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"]),
)  # fmt: skip
def test_quiet_hours_end_within_a_day_and_never_before(moment, start, end, zone):
    if (start.hour, start.minute) == (end.hour, end.minute):
        return
    quiet = QuietHours.parse(f"{start:%H:%M}-{end:%H:%M} {zone}")
    at = moment.replace(tzinfo=UTC)
    assert at <= quiet.end_after(at) <= at + timedelta(hours=26)


# -- groups -------------------------------------------------------------------------------------------


def test_five_hundred_at_once_are_one_message_for_each_channel():
    rule = AlertRule("modules", kinds="module.error", channels=["inbox", "mail"], group=30)
    result = grouped([event(i, subject=f"m{i}") for i in range(500)], [rule])
    assert result.due == dict.fromkeys([("modules", "inbox"), ("modules", "mail")], NOW + timedelta(seconds=30))
    assert len(result.told) == 1000
    assert len(set(result.told)) == 1000
    assert result.opens == list(range(500))


def test_two_rules_tell_an_event_each():
    rules = [AlertRule("a", kinds="module.error", group=0), AlertRule("b", kinds="module.*", channels="mail")]
    assert grouped([event()], rules).told == [EventTold("a", "inbox", 1), EventTold("b", "mail", 1)]


def test_the_end_is_told_where_the_beginning_was():
    rules = [AlertRule("a", kinds="module.error", channels=["inbox", "mail"]), AlertRule("b", kinds="module.*", resolved=False)]
    over = event(2, resolved=True)
    result = grouped([over], rules, open_told={over.problem: {("a", "mail"), ("b", "inbox"), ("gone", "inbox")}})
    assert result.told == [EventTold("a", "mail", 2)]
    assert result.closes == [over.problem]


def test_an_end_that_nobody_waits_for_is_not_told():
    assert grouped([event(resolved=True)], [AlertRule("a", kinds="module.error")]).told == []


def test_beginning_end_and_beginning_in_one_batch():
    rule = AlertRule("a", kinds="module.error")
    result = grouped([event(1), event(2, resolved=True), event(3, resolved=True), event(4)], [rule])
    assert [one.event for one in result.told] == [1, 2, 4]
    assert result.opens == [4]


def test_a_recovered_module_ends_all_that_was_told_of_it():
    rules = [AlertRule("a", kinds="module.error"), AlertRule("b", kinds="module.*", channels="mail")]
    over = event(3, "module.recovered")
    open_told = {("module.error", "parser"): {("a", "inbox"), ("b", "mail")}, ("module.warning", "parser"): {("b", "mail")},
                 ("module.error", "other"): {("a", "inbox")}, ("modules.error", "parser"): {("a", "inbox")}}  # fmt: skip
    result = grouped([over], rules, open_told=open_told)
    assert result.told == [EventTold("a", "inbox", 3), EventTold("b", "mail", 3)]
    assert result.closes == [("module.error", "parser"), ("module.warning", "parser")]


def test_a_lost_worker_is_no_problem_that_ends():
    assert grouped([event(kind="worker.lost")], [AlertRule("a", kinds="*")]).opens == []


def test_a_message_waits_for_the_end_of_quiet_hours():
    rule = AlertRule("a", kinds="module.error", quiet="12:00-13:00")
    assert grouped([event()], [rule]).due["a", "inbox"] == NOW + timedelta(hours=1)


def test_where_is_asked_for_each_rule():
    rules = [AlertRule("a", kinds="job.*", where="task:a"), AlertRule("b", kinds="job.*", where="task:b")]
    result = grouped([event(kind="job.failed", job="7")], rules, found={"task:a": {"7"}, "task:b": set()})
    assert result.told == [EventTold("a", "inbox", 1)]


# -- reminders ----------------------------------------------------------------------------------------


def test_reminders_tell_all_open_problems_once_for_each_interval():
    rule = AlertRule("a", kinds="module.error", remind=600)
    problems = [OpenProblem("a", "inbox", 1, NOW), OpenProblem("a", "inbox", 2, NOW + timedelta(seconds=300))]

    def at(seconds: float):
        return [(one.key, one.events) for one in reminders(problems, [rule], NOW + timedelta(seconds=seconds))]

    assert at(599) == []
    assert at(600) == at(899) == [("again:1:1", (1,))]
    assert at(900) == [("again:1:1", (1, 2))]
    assert at(86_400) == [("again:1:144", (1, 2))]


def test_no_reminder_in_quiet_hours_without_the_rule_or_without_an_interval():
    problems = [OpenProblem("a", "inbox", 1, NOW - timedelta(days=1))]
    for rules in ([], [AlertRule("a", kinds="*")], [AlertRule("a", kinds="*", remind=60, quiet="11:00-13:00")]):
        assert reminders(problems, rules, NOW) == []


def test_a_negative_window_is_refused():
    with pytest.raises(InvalidOption):
        AlertRule("a", kinds="*", group=-0.1)
