"""APScheduler's triggers as JSON and as time rules. APScheduler is imported only where a trigger is read back."""

from __future__ import annotations

import json
import sys
from calendar import monthrange
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from jobtrail.errors import InvalidSchedule
from jobtrail.messages import Message

from .base import Rule
from .zones import real, zone_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_TICK = timedelta(microseconds=1)  # what APScheduler compares with
_MOST_STEPS = 10_000  # until triggers that must agree are said never to do so


def is_trigger(value: Any) -> bool:
    """Return whether a value is a trigger of APScheduler, without importing it."""
    module = sys.modules.get("apscheduler.triggers.base")
    return module is not None and isinstance(value, module.BaseTrigger)


# -- JSON ----------------------------------------------------------------------------------------------


def trigger_to_json(trigger: Any) -> dict[str, Any]:
    """Return a trigger as JSON, for `trigger_from_json`.

    Args:
        trigger: A date, interval, cron or calendar interval trigger, or an "and" or "or" of them.

    Raises:
        InvalidSchedule: If it is another trigger, or its time zone has no name.

    """
    kind = type(trigger)
    write = _WRITERS.get(f"{kind.__module__}.{kind.__qualname__}")
    if write is None:
        known = sorted(name.rpartition(".")[2] for name in _WRITERS)
        raise InvalidSchedule(Message("rules.trigger-unknown", trigger=kind.__qualname__, known=known))
    return write(trigger)


def trigger_from_json(stored: Mapping[str, Any]) -> Any:
    """Return the trigger that `trigger_to_json` wrote.

    Raises:
        InvalidSchedule: If it is not a trigger, or APScheduler is not installed.

    """
    try:
        values = {name: value for name, value in stored.items() if name != "trigger"}
        return _READERS[stored["trigger"]](**values)
    except ImportError:
        raise InvalidSchedule(Message("rules.trigger-not-installed")) from None
    except InvalidSchedule:
        raise
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InvalidSchedule(Message("rules.stored-unknown", value=str(stored)[:200])) from None


def _zone(tz: Any) -> str:
    """Return the name of a zone: of zoneinfo, of pytz, or UTC."""
    if tz is None or tz is UTC:
        return "UTC"
    name = getattr(tz, "key", None) or getattr(tz, "zone", None) or str(tz)
    try:
        return zone_name(name)
    except InvalidSchedule:
        raise InvalidSchedule(Message("rules.trigger-zone", zone=repr(str(tz)[:60]))) from None


def _text(moment: datetime | date | None) -> str | None:
    return (moment.astimezone(UTC) if isinstance(moment, datetime) else moment).isoformat() if moment else None


def _moment(text: str | None, zone: str) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text).astimezone(ZoneInfo(zone))


def _date_json(trigger: Any) -> dict[str, Any]:
    moment: datetime = trigger.run_date
    try:
        zone = _zone(moment.tzinfo)
    except InvalidSchedule:
        zone = "UTC"  # a fixed offset: the moment is the same
    return {"trigger": "date", "run_date": moment.astimezone(UTC).isoformat(), "zone": zone}


def _date(run_date: str, zone: str) -> Any:
    from apscheduler.triggers.date import DateTrigger

    return DateTrigger(_moment(run_date, zone))


def _bounds(trigger: Any) -> dict[str, Any]:
    """The start, the end and the zone of a trigger; its jitter where it has one."""
    found = {"zone": _zone(trigger.timezone), "start": _text(trigger.start_date), "end": _text(trigger.end_date)}
    return {**found, "jitter": trigger.jitter} if trigger.jitter else found


def _interval_json(trigger: Any) -> dict[str, Any]:
    return {"trigger": "interval", "seconds": trigger.interval_length, **_bounds(trigger)}


def _interval(seconds: float, zone: str, start: str, end: str | None, jitter: float | None = None) -> Any:
    from apscheduler.triggers.interval import IntervalTrigger

    limits = {"start_date": _moment(start, zone), "end_date": _moment(end, zone)}
    return IntervalTrigger(seconds=seconds, timezone=ZoneInfo(zone), jitter=jitter, **limits)


def _cron_json(trigger: Any) -> dict[str, Any]:
    fields = {one.name: str(one) for one in trigger.fields if not one.is_default}
    return {"trigger": "cron", "fields": fields, **_bounds(trigger)}


def _cron(
    fields: dict[str, str], zone: str, start: str | None, end: str | None, jitter: float | None = None
) -> Any:
    from apscheduler.triggers.cron import CronTrigger

    limits = {"start_date": _moment(start, zone), "end_date": _moment(end, zone)}
    return CronTrigger(**fields, timezone=ZoneInfo(zone), jitter=jitter, **limits)


def _calendar_json(trigger: Any) -> dict[str, Any]:
    state = trigger.__getstate__()
    return {"trigger": "calendarinterval", "interval": state["interval"], "time": state["time"], **_bounds(trigger)}


def _calendar(
    interval: list[int], time: list[int], zone: str, start: str, end: str | None, jitter: float | None = None
) -> Any:
    from apscheduler.triggers.calendarinterval import CalendarIntervalTrigger

    steps = dict(zip(("years", "months", "weeks", "days"), interval, strict=True))
    clock = dict(zip(("hour", "minute", "second"), time, strict=True))
    limits = {"start_date": date.fromisoformat(start), "end_date": end and date.fromisoformat(end)}
    return CalendarIntervalTrigger(**steps, **clock, timezone=zone, jitter=jitter, **limits)


def _combined_json(kind: str) -> Callable[[Any], dict[str, Any]]:
    def write(trigger: Any) -> dict[str, Any]:
        found = {"trigger": kind, "triggers": [trigger_to_json(one) for one in trigger.triggers]}
        return {**found, "jitter": trigger.jitter} if trigger.jitter else found

    return write


def _combined(name: str) -> Callable[..., Any]:
    def read(triggers: list[dict[str, Any]], jitter: float | None = None) -> Any:
        from apscheduler.triggers import combining

        return getattr(combining, name)([trigger_from_json(one) for one in triggers], jitter)

    return read


_WRITERS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "apscheduler.triggers.date.DateTrigger": _date_json,
    "apscheduler.triggers.interval.IntervalTrigger": _interval_json,
    "apscheduler.triggers.cron.CronTrigger": _cron_json,
    "apscheduler.triggers.calendarinterval.CalendarIntervalTrigger": _calendar_json,
    "apscheduler.triggers.combining.AndTrigger": _combined_json("and"),
    "apscheduler.triggers.combining.OrTrigger": _combined_json("or"),
}
_READERS: dict[str, Callable[..., Any]] = {
    "date": _date,
    "interval": _interval,
    "cron": _cron,
    "calendarinterval": _calendar,
    "and": _combined("AndTrigger"),
    "or": _combined("OrTrigger"),
}


# -- as a rule -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TriggerRule(Rule):
    """A trigger of APScheduler as a time rule: its times, its zone and its rules for clock changes.

    Args:
        text: The trigger as JSON text, as `TriggerRule.of` writes it.

    Raises:
        InvalidSchedule: If the trigger cannot be read, or has a jitter of its own.

    """

    text: str
    zone: str = field(init=False, compare=False)
    trigger: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Make the trigger."""
        stored = json.loads(self.text)
        object.__setattr__(self, "trigger", trigger_from_json(stored))
        object.__setattr__(self, "zone", _zone_of(stored))
        if _has_jitter(stored):
            raise InvalidSchedule(Message("rules.trigger-jitter"))

    @property
    def counts_from_creation(self) -> bool:
        """Whether it is an interval without a start, so that APScheduler counts from the moment at which it is created.

        Such a start has microseconds. A schedule counts from the moment at which it is stored instead, which a restart
        of the program does not move.
        """
        trigger = self.trigger
        return type(trigger).__name__ == "IntervalTrigger" and bool(trigger.start_date.microsecond) and not trigger.end_date

    @classmethod
    def of(cls, trigger: Any) -> TriggerRule:
        """Return a trigger as a rule.

        Raises:
            InvalidSchedule: If it is of an unknown class, its zone has no name, or it has a jitter.

        """
        return cls(json.dumps(trigger_to_json(trigger), sort_keys=True))

    @classmethod
    def of_json(cls, trigger: Mapping[str, Any]) -> TriggerRule:
        """Return the rule that `to_json` wrote."""
        return cls(json.dumps(trigger, sort_keys=True))

    def next_after(self, moment: datetime) -> datetime | None:
        """See `Rule`."""
        found = _next(self.trigger, real(moment))
        return None if found is None else found.astimezone(UTC)

    def to_json(self) -> dict[str, Any]:
        """See `Rule`."""
        return {"kind": "apscheduler", "trigger": json.loads(self.text)}


def _zone_of(stored: Mapping[str, Any]) -> str:
    """The zone of a trigger; of the first one of a combination."""
    zone: str = stored["zone"] if "zone" in stored else _zone_of(stored["triggers"][0])
    return zone


def _has_jitter(stored: Mapping[str, Any]) -> bool:
    return bool(stored.get("jitter")) or any(map(_has_jitter, stored.get("triggers", ())))


def _next(trigger: Any, moment: datetime) -> datetime | None:
    """Return the first time of a trigger that is strictly later than ``moment``, whenever it has fired before."""
    kind = type(trigger).__name__
    try:
        if kind == "OrTrigger":
            return min(filter(None, (_next(one, moment) for one in trigger.triggers)), default=None)
        if kind == "AndTrigger":
            return _agreed(trigger, moment)
        if kind == "CalendarIntervalTrigger":
            return _next_of_calendar(trigger, moment)
        return _next_of_plain(trigger, moment)
    except OverflowError:
        return None  # Python's calendar ends with the year 9999


def _next_of_plain(trigger: Any, moment: datetime) -> datetime | None:
    asked = moment + _TICK
    found: datetime | None = trigger.get_next_fire_time(None, asked)
    if type(trigger).__name__ == "DateTrigger":
        return found if found is not None and found > moment else None
    while found is not None and found <= moment:  # an interval is counted in floating point
        asked += timedelta(milliseconds=1)
        found = trigger.get_next_fire_time(None, asked)
    return found


def _agreed(trigger: Any, moment: datetime) -> datetime | None:
    asked = moment
    for _ in range(_MOST_STEPS):
        times = [_next(one, asked) for one in trigger.triggers]
        found = [one for one in times if one is not None]
        if len(found) < len(times):
            return None
        if min(found) == max(found):
            return found[0]
        asked = max(found) - _TICK
    raise InvalidSchedule(Message("rules.trigger-never-agrees", trigger=str(trigger)[:200], count=_MOST_STEPS))


def _next_of_calendar(trigger: Any, moment: datetime) -> datetime | None:
    """Step from a day of the trigger shortly before the moment, because it counts from the time before."""
    found: datetime | None = trigger.get_next_fire_time(_day_before(trigger, moment), moment)
    while found is not None and found <= moment:
        found = trigger.get_next_fire_time(found, moment)
    return found


def _day_before(trigger: Any, moment: datetime) -> date | None:
    """A day of the trigger some steps before the moment; None to count from its start."""
    start: date = trigger.start_date
    months, days = 12 * trigger.years + trigger.months, 7 * trigger.weeks + trigger.days
    passed = (moment.date() - start).days
    if months and days:
        return None
    if days:
        steps = passed // days - 2
        return start + timedelta(days=steps * days) if steps > 0 else None
    for steps in range(passed // (31 * months) - 2, 0, -1):
        year, month = divmod(start.year * 12 + start.month - 1 + steps * months, 12)
        if start.day <= monthrange(year, month + 1)[1]:
            return date(year, month + 1, start.day)
    return None
