"""A Celery beat schedule, read without Celery: each entry becomes a rule, or the error names it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from jobtrail.errors import InvalidSchedule, joined
from jobtrail.messages import Message

from . import cron_text
from .rules import Calendar, Cron, Every, Rule, at, every
from .zones import instant, zone_name

KEYS = ("task", "schedule", "args", "kwargs", "options", "relative", "enabled")
_LEAST_URGENT = 9
_DAY = timedelta(days=1)
# The fields of cron text, as Celery names them.
_CRONTAB = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")


@dataclass(frozen=True, slots=True)
class BeatEntry:
    """An entry of a beat schedule: ``task`` with ``args`` and ``kwargs`` at the moments of ``rule``.

    Args:
        name: Name of the entry.
        task: Celery's name of the task.
        rule: When it runs.
        args: Positional arguments.
        kwargs: Arguments by name.
        queue: Name of the queue; None for the queue of the task.
        priority: 0 is the most urgent; None for the priority of the task.
        expires: Seconds from the planned time after which the run is no longer wanted.
        countdown: Seconds from the planned time before which the run does not start.
        enabled: Whether the entry is in use.

    """

    name: str
    task: str
    rule: Rule
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    queue: str | None = None
    priority: int | None = None
    expires: float | None = None
    countdown: float | None = None
    enabled: bool = True


def read_beat_schedule(mapping: Mapping[str, Any], tz: Any = None, *, most_urgent: int = 9) -> list[BeatEntry]:
    """Return the entries of ``CELERY_BEAT_SCHEDULE``, in its order.

    Args:
        mapping: The value of ``CELERY_BEAT_SCHEDULE``.
        tz: The value of ``CELERY_TIMEZONE``, the zone of crontabs that have none of their own; default: UTC, as in Celery.
        most_urgent: The priority that the broker takes first: 9 with RabbitMQ, 0 with Redis.

    Raises:
        InvalidSchedule: If entries cannot be converted; the message has the name and the reason of each.

    """
    if not isinstance(mapping, Mapping):
        raise InvalidSchedule(Message("rules.beat-not-a-dictionary", value=repr(mapping)[:60]))
    if most_urgent not in {0, _LEAST_URGENT}:
        raise InvalidSchedule(Message("rules.beat-most-urgent", value=repr(most_urgent)[:60]))
    zone = zone_name(tz)
    entries, problems = [], []
    for name, entry in mapping.items():
        try:
            entries.append(_entry(name, entry, zone, most_urgent))
        except InvalidSchedule as error:
            problems.append(Message("rules.beat-entry", name=repr(str(name)[:100]), error=error))
    if problems:
        raise InvalidSchedule(Message("rules.beat-refused", count=len(problems), problems=joined(problems)))
    return entries


def _entry(name: Any, entry: Any, zone: str, most_urgent: int) -> BeatEntry:
    if not isinstance(name, str) or not name:
        raise InvalidSchedule(Message("rules.beat-name"))
    if not isinstance(entry, Mapping):
        raise InvalidSchedule(Message("rules.beat-entry-not-a-dictionary"))
    _only(entry, KEYS, "rules.beat-unknown-key")
    task, args, kwargs = entry.get("task"), entry.get("args") or (), entry.get("kwargs") or {}
    if not isinstance(task, str) or not task:
        raise InvalidSchedule(Message("rules.beat-no-task"))
    if not isinstance(args, list | tuple):
        raise InvalidSchedule(Message("rules.beat-args"))
    if not isinstance(kwargs, Mapping) or not all(isinstance(word, str) for word in kwargs):
        raise InvalidSchedule(Message("rules.beat-kwargs"))
    rule = _rule(entry.get("schedule"), bool(entry.get("relative")), zone)
    options = _options(entry.get("options") or {}, most_urgent)
    return BeatEntry(name, task, rule, tuple(args), dict(kwargs), **options, enabled=bool(entry.get("enabled", True)))


def _only(given: Mapping[Any, Any], known: Iterable[str], code: str) -> None:
    unknown = [str(key) for key in given if key not in known]
    if unknown:
        raise InvalidSchedule(Message(code, key=repr(unknown[0]), known=list(known)))


# -- when ----------------------------------------------------------------------------------------------


def _rule(schedule: Any, relative: bool, zone: str) -> Rule:
    if isinstance(schedule, bool) or schedule is None:
        raise InvalidSchedule(Message("rules.beat-no-schedule"))
    if isinstance(schedule, int | float):
        return _interval(schedule, relative, zone)
    if isinstance(schedule, timedelta):
        return _interval(schedule.total_seconds(), relative, zone)
    if hasattr(schedule, "lat") and hasattr(schedule, "event"):
        raise InvalidSchedule(Message("rules.beat-solar", event=schedule.event))
    if hasattr(schedule, "clocked_time"):
        return at(schedule.clocked_time)
    if getattr(schedule, "nowfun", None) is not None:
        raise InvalidSchedule(Message("rules.beat-nowfun"))
    if hasattr(schedule, "_orig_minute"):
        return _crontab(schedule, _own_zone(schedule) or zone)
    if isinstance(getattr(schedule, "run_every", None), timedelta):
        return _interval(
            schedule.run_every.total_seconds(), relative or bool(getattr(schedule, "relative", False)), zone
        )
    raise InvalidSchedule(Message("rules.beat-kind", type=type(schedule).__name__))


def _interval(seconds: float, relative: bool, zone: str) -> Rule:
    rule = every(seconds=seconds, tz=zone)
    return _rounded(rule.interval, zone) if relative else rule


def _rounded(length: timedelta, zone: str) -> Rule:
    """Return the rule for Celery's ``relative``: at whole days, hours or minutes, the unit of the interval."""
    if length < timedelta(minutes=1):
        return Every(length, None, zone)
    unit = next(unit for unit in (_DAY, timedelta(hours=1), timedelta(minutes=1)) if length >= unit)
    if length % unit:
        raise InvalidSchedule(Message("rules.beat-relative"))
    if unit == _DAY:
        return Calendar(days=length // _DAY, start=date(2000, 1, 1), zone=zone)
    midnight = datetime(2000, 1, 1)  # noqa: DTZ001
    return Every(length, instant(midnight, ZoneInfo(zone)), zone)


def _own_zone(schedule: Any) -> str | None:
    """Return the zone of a crontab or of its application. Reading it must not make Celery start an application."""
    own = vars(schedule)
    tz = own.get("tz") or getattr(own.get("_app"), "timezone", None)
    return None if tz is None or tz is UTC else zone_name(getattr(tz, "zone", tz))


def _crontab(schedule: Any, zone: str) -> Cron:
    return Cron(" ".join(_field(schedule, name) for name in _CRONTAB), zone, both_days=True)


def _field(schedule: Any, name: str) -> str:
    """Return the text of a field if cron understands it as Celery does, else its values."""
    given = getattr(schedule, f"_orig_{name}", "*")
    values = getattr(schedule, name, None)
    if not isinstance(values, set | frozenset) or not values:
        return _plain(given)
    if isinstance(given, str) and _same(given, values, _CRONTAB.index(name)):
        return _plain(given)
    return ",".join(map(str, sorted(values)))


def _plain(given: Any) -> str:
    if isinstance(given, set | frozenset | list | tuple):
        return ",".join(map(str, given))
    return "".join(str(given).split())


def _same(given: str, values: Iterable[int], place: int) -> bool:
    parts = ["*"] * 5
    parts[place] = _plain(given)
    try:
        sim = cron_text.read(cron_text.plain_text(" ".join(parts)))
    except InvalidSchedule:
        return False
    read = (sim.minutes, sim.hours, sim.days, sim.months, {day % 7 for day in sim.weekdays if isinstance(day, int)})[
        place
    ]
    return read == set(values)


# -- how -----------------------------------------------------------------------------------------------


def _options(options: Any, most_urgent: int) -> dict[str, Any]:
    if not isinstance(options, Mapping):
        raise InvalidSchedule(Message("rules.beat-options"))
    readers: dict[str, Callable[[Any], Any]] = {
        "queue": _queue,
        "priority": lambda value: _priority(value, most_urgent),
        "expires": lambda value: _seconds("expires", value),
        "countdown": lambda value: _seconds("countdown", value),
    }
    given = {name: value for name, value in options.items() if value is not None}
    _only(given, readers, "rules.beat-unknown-option")
    return {name: readers[name](value) for name, value in given.items()}


def _queue(value: Any) -> str:
    name = getattr(value, "name", value)
    if not isinstance(name, str) or not name:
        raise InvalidSchedule(Message("rules.beat-queue"))
    return name


def _priority(value: Any, most_urgent: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _LEAST_URGENT:
        raise InvalidSchedule(Message("rules.beat-priority", most=_LEAST_URGENT, value=repr(value)[:60]))
    return abs(most_urgent - value)


def _seconds(name: str, value: Any) -> float:
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not math.isfinite(seconds) or seconds < 0:
        raise InvalidSchedule(Message("rules.beat-seconds", name=repr(name), value=repr(value)[:60]))
    return float(seconds)
