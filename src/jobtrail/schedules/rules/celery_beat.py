"""A Celery beat schedule, read without Celery: each entry as a rule of ours, or refused by its name."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from jobtrail.errors import InvalidSchedule

from . import cron_text
from .rules import Calendar, Cron, Every, Rule, at
from .zones import instant, zone_name

KEYS = ("task", "schedule", "args", "kwargs", "options", "relative", "enabled")
_LEAST_URGENT = 9
_DAY = timedelta(days=1)
# Of each field of cron text, as Celery names it.
_CRONTAB = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")


@dataclass(frozen=True, slots=True)
class BeatEntry:
    """What one entry of a beat schedule asks for: ``task`` with ``args`` and ``kwargs`` at the moments of ``rule``.

    ``priority`` is ours, 0 the most urgent. ``expires`` and ``countdown`` are seconds from the planned moment: after which the run is no
    longer wanted, and before which it does not start.
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
    """The entries of ``CELERY_BEAT_SCHEDULE``, in its order.

    ``tz`` is your ``CELERY_TIMEZONE``, the zone of crontabs that have none of their own; without it UTC, as in Celery.
    ``most_urgent`` is the priority that your broker takes first: 9 with RabbitMQ, 0 with Redis.

    Raises: InvalidSchedule, naming every entry that cannot be carried over and what stands in the way.
    """
    if not isinstance(mapping, Mapping):
        message = f"a beat schedule is a dictionary of names and entries; {str(mapping)[:60]!r} is none"
        raise InvalidSchedule(message)
    if most_urgent not in {0, _LEAST_URGENT}:
        raise InvalidSchedule("most_urgent= is 9 (RabbitMQ) or 0 (Redis)")
    zone = zone_name(tz)
    entries, problems = [], []
    for name, entry in mapping.items():
        try:
            entries.append(_entry(name, entry, zone, most_urgent))
        except InvalidSchedule as error:
            problems.append(f"{str(name)[:100]!r}: {error}")
    if problems:
        many = "entries of the beat schedule cannot be carried over"
        count = (
            "an entry of the beat schedule cannot be carried over" if len(problems) == 1 else f"{len(problems)} {many}"
        )
        message = f"{count}: {'; '.join(problems)}"
        raise InvalidSchedule(message)
    return entries


def _entry(name: Any, entry: Any, zone: str, most_urgent: int) -> BeatEntry:
    if not isinstance(name, str) or not name:
        raise InvalidSchedule("the name of an entry is a text")
    if not isinstance(entry, Mapping):
        raise InvalidSchedule("an entry is a dictionary with 'task' and 'schedule'")
    _only(entry, KEYS, "key")
    task, args, kwargs = entry.get("task"), entry.get("args") or (), entry.get("kwargs") or {}
    if not isinstance(task, str) or not task:
        raise InvalidSchedule("it needs 'task', the name of one")
    if not isinstance(args, list | tuple):
        raise InvalidSchedule("'args' is a list or a tuple")
    if not isinstance(kwargs, Mapping) or not all(isinstance(word, str) for word in kwargs):
        raise InvalidSchedule("'kwargs' is a dictionary whose keys are names")
    rule = _rule(entry.get("schedule"), bool(entry.get("relative")), zone)
    options = _options(entry.get("options") or {}, most_urgent)
    return BeatEntry(name, task, rule, tuple(args), dict(kwargs), **options, enabled=bool(entry.get("enabled", True)))


def _only(given: Mapping[Any, Any], known: Iterable[str], what: str) -> None:
    unknown = [str(key) for key in given if key not in known]
    if unknown:
        message = f"the {what} {unknown[0]!r} has no meaning here; known are {', '.join(known)}"
        raise InvalidSchedule(message)


# -- when ----------------------------------------------------------------------------------------------


def _rule(schedule: Any, relative: bool, zone: str) -> Rule:
    if isinstance(schedule, bool) or schedule is None:
        raise InvalidSchedule("it needs 'schedule': a crontab, a timedelta or a number of seconds")
    if isinstance(schedule, int | float):
        return _interval(schedule, relative, zone)
    if isinstance(schedule, timedelta):
        return _interval(schedule.total_seconds(), relative, zone)
    if hasattr(schedule, "lat") and hasattr(schedule, "event"):
        message = f"the sun is no clock here: {schedule.event} has to become a time of day"
        raise InvalidSchedule(message)
    if hasattr(schedule, "clocked_time"):
        return at(schedule.clocked_time)
    if getattr(schedule, "nowfun", None) is not None:
        raise InvalidSchedule("its schedule has a clock of its own (nowfun=); give the zone with tz= instead")
    if hasattr(schedule, "_orig_minute"):
        return _crontab(schedule, _own_zone(schedule) or zone)
    if isinstance(getattr(schedule, "run_every", None), timedelta):
        return _interval(
            schedule.run_every.total_seconds(), relative or bool(getattr(schedule, "relative", False)), zone
        )
    message = f"its schedule is of a kind that is not known here: {type(schedule).__name__}"
    raise InvalidSchedule(message)


def _interval(seconds: float, relative: bool, zone: str) -> Rule:
    if not math.isfinite(seconds) or seconds <= 0:
        message = f"an interval is a positive number of seconds; {seconds} is none"
        raise InvalidSchedule(message)
    try:
        length = timedelta(seconds=seconds)
    except OverflowError:
        raise InvalidSchedule("the interval is too long to be counted") from None
    return _rounded(length, zone) if relative else Every(length, None, zone)


def _rounded(length: timedelta, zone: str) -> Rule:
    """Celery's ``relative``: at whole days, hours or minutes, whichever the interval is made of."""
    if length < timedelta(minutes=1):
        return Every(length, None, zone)
    unit = next(unit for unit in (_DAY, timedelta(hours=1), timedelta(minutes=1)) if length >= unit)
    if length % unit:
        raise InvalidSchedule("'relative' is for whole days, whole hours below a day, and whole minutes below an hour")
    if unit == _DAY:
        return Calendar(days=length // _DAY, start=date(2000, 1, 1), zone=zone)
    midnight = datetime(2000, 1, 1)  # noqa: DTZ001
    return Every(length, instant(midnight, ZoneInfo(zone)), zone)


def _own_zone(schedule: Any) -> str | None:
    """The zone that was given to it, or to its application; looking must not make Celery start an application."""
    own = vars(schedule)
    tz = own.get("tz") or getattr(own.get("_app"), "timezone", None)
    return None if tz is None or tz is UTC else zone_name(getattr(tz, "zone", tz))


def _crontab(schedule: Any, zone: str) -> Cron:
    return Cron(" ".join(_field(schedule, name) for name in _CRONTAB), zone, both_days=True)


def _field(schedule: Any, name: str) -> str:
    """The text as it was given, where cron reads it as Celery does; else the values."""
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
        raise InvalidSchedule("'options' is a dictionary")
    readers: dict[str, Callable[[Any], Any]] = {
        "queue": _queue,
        "priority": lambda value: _priority(value, most_urgent),
        "expires": lambda value: _seconds("expires", value),
        "countdown": lambda value: _seconds("countdown", value),
    }
    given = {name: value for name, value in options.items() if value is not None}
    _only(given, readers, "option")
    return {name: readers[name](value) for name, value in given.items()}


def _queue(value: Any) -> str:
    name = getattr(value, "name", value)
    if not isinstance(name, str) or not name:
        raise InvalidSchedule("the option 'queue' is the name of one")
    return name


def _priority(value: Any, most_urgent: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _LEAST_URGENT:
        message = f"the option 'priority' is a whole number from 0 to {_LEAST_URGENT}; {str(value)[:60]} is none"
        raise InvalidSchedule(message)
    return abs(most_urgent - value)


def _seconds(name: str, value: Any) -> float:
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not math.isfinite(seconds) or seconds < 0:
        message = (
            f"the option {name!r} is a number of seconds, counted from each planned moment; {str(value)[:60]!r} is none"
        )
        raise InvalidSchedule(message)
    return float(seconds)
