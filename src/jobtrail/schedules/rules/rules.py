"""Time rules: the moments at which a schedule runs, in order, through every clock change."""

from __future__ import annotations

import copy
import math
import re
from bisect import bisect_right
from calendar import monthrange
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from hashlib import blake2b
from typing import Any
from zoneinfo import ZoneInfo

from cronsim import CronSim

from jobtrail.errors import InvalidSchedule
from jobtrail.messages import Message

from . import cron_text
from .apscheduler_trigger import TriggerRule, is_trigger
from .base import KINDS
from .base import Rule as Rule  # noqa: PLC0414 - the rules and what they have in common are imported from here
from .zones import SECOND, change, instant, local, real, zone_name

_EARLIEST = datetime(1900, 1, 1, tzinfo=UTC)
_DAY = timedelta(days=1)
# A zone may move over the date line, so a moment found with an old offset is wrong by up to a day, and not by more.
_BEFORE, _NEAR = 2 * _DAY, 4 * _DAY
_MOST_MONTHS, _MOST_DAYS = 12_000, 366_000
_INTERVAL = re.compile(
    r"(?:(\d+(?:\.\d+)?)\s*)?(seconds?|sec|s|minutes?|min|m|hours?|h|days?|d|weeks?|w)(?![a-z])[\s,]*(?:and\s+)?",
    re.ASCII,
)
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@dataclass(frozen=True, slots=True)
class Cron(Rule):
    """Cron text of five fields, or of six with the second first, kept in capitals and single spaces; aliases are resolved.

    Args:
        text: The text.
        zone: Name of the time zone.
        both_days: If day of month and day of week are given, both must match (Celery's rule); else one is enough (cron's).

    Raises:
        InvalidSchedule: If the text is not valid, or no moment ever matches it.

    """

    text: str
    zone: str = "UTC"
    both_days: bool = False
    _sim: CronSim = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Parse and check the text once."""
        object.__setattr__(self, "text", cron_text.plain_text(self.text))
        object.__setattr__(self, "zone", zone_name(self.zone))
        object.__setattr__(self, "_sim", cron_text.read(self.text, both_days=self.both_days))
        object.__setattr__(self, "both_days", self.both_days and cron_text.either_day(self.text))

    @property
    def fixed(self) -> bool:
        """Whether the text is a time of day: it names minute and hour. With a star in either it is what the clock shows."""
        _, minute, hour, *_ = self._sim.parts
        return not minute.startswith("*") and not hour.startswith("*")

    def next_after(self, moment: datetime) -> datetime | None:
        """See `Rule`. A time of day that a clock change skips runs at the end of the gap; one that occurs twice runs once."""
        moment = max(real(moment), _EARLIEST)
        zone = ZoneInfo(self.zone)
        try:
            return self._next_time_of_day(moment, zone) if self.fixed else self._next_shown(moment, zone)
        except (StopIteration, OverflowError, ValueError):
            return None  # Python's calendar ends with the year 9999

    def _next_time_of_day(self, moment: datetime, zone: ZoneInfo) -> datetime:
        shown = self._match(local(moment, zone))
        while (found := instant(shown, zone)) <= moment:
            shown = self._match(shown)
        return found

    def _next_shown(self, moment: datetime, zone: ZoneInfo) -> datetime:
        """Search up to the next clock change, and then from there, because in between the offset is constant."""
        at, shown = moment, local(moment, zone)
        while True:
            found = (self._match(shown) - _offset(at, zone)).replace(tzinfo=UTC)
            changed = change(at, at + _NEAR, zone)
            if changed is not None and changed <= found:
                at, shown = changed, local(changed, zone) - SECOND
            elif found <= at + _NEAR:
                return found
            else:
                at, shown = found - _BEFORE, local(found - _BEFORE, zone)

    def _match(self, shown: datetime) -> datetime:
        """Return the first local time after ``shown`` that matches all fields."""
        sim = copy.copy(self._sim)
        sim.dt = shown.replace(microsecond=0)
        return next(sim)

    def to_json(self) -> dict[str, Any]:
        """See `Rule`."""
        stored = {"kind": "cron", "text": self.text, "zone": self.zone}
        return {**stored, "both_days": True} if self.both_days else stored


@dataclass(frozen=True, slots=True)
class Every(Rule):
    """An interval of real time, counted from ``start``: the start itself is the first moment.

    Raises:
        InvalidSchedule: If the interval is shorter than one second, or the start has no zone.

    """

    interval: timedelta
    start: datetime | None = None
    zone: str = "UTC"

    def __post_init__(self) -> None:
        """Check the interval and convert the start to UTC."""
        if self.interval < SECOND:
            raise InvalidSchedule(Message("rules.interval-too-short", seconds=self.interval.total_seconds()))
        object.__setattr__(self, "zone", zone_name(self.zone))
        if self.start is not None:
            object.__setattr__(self, "start", real(self.start, "start"))

    def next_after(self, moment: datetime) -> datetime | None:
        """See `Rule`."""
        moment = real(moment)
        if self.start is None:
            raise InvalidSchedule(Message("rules.no-start"))
        if moment < self.start:
            return self.start
        try:
            return self.start + ((moment - self.start) // self.interval + 1) * self.interval
        except OverflowError:
            return None

    def anchored(self, moment: datetime) -> Every:
        """See `Rule`."""
        return replace(self, start=real(moment)) if self.start is None else self

    def to_json(self) -> dict[str, Any]:
        """See `Rule`."""
        seconds = self.interval.total_seconds()
        start = None if self.start is None else self.start.isoformat()
        return {"kind": "every", "seconds": seconds, "start": start, "zone": self.zone}


@dataclass(frozen=True, slots=True)
class At(Rule):
    """One moment, kept in UTC."""

    moment: datetime
    zone: str = "UTC"

    def __post_init__(self) -> None:
        """Convert the moment to UTC."""
        object.__setattr__(self, "zone", zone_name(self.zone))
        object.__setattr__(self, "moment", real(self.moment))

    def next_after(self, moment: datetime) -> datetime | None:
        """See `Rule`."""
        return self.moment if self.moment > real(moment) else None

    def to_json(self) -> dict[str, Any]:
        """See `Rule`."""
        return {"kind": "at", "moment": self.moment.isoformat(), "zone": self.zone}


@dataclass(frozen=True, slots=True)
class Calendar(Rule):
    """Calendar steps from ``start``, at a time of day: ``months`` (a year is twelve) and ``days`` (a week is seven).

    All steps are counted from the start, and a day that the month does not have becomes its last day: from 31 January
    by one month follow 28 February, 31 March, 30 April. Clock changes are treated as by `Cron`.

    Raises:
        InvalidSchedule: If a step is not a whole number, or both are 0.

    """

    months: int = 0
    days: int = 0
    at: time = time()
    start: date | None = None
    zone: str = "UTC"

    def __post_init__(self) -> None:
        """Check the numbers."""
        _whole(months=self.months, days=self.days)
        if self.months + self.days == 0:
            raise InvalidSchedule(Message("rules.calendar-without-step"))
        if self.months > _MOST_MONTHS or self.days > _MOST_DAYS:
            raise InvalidSchedule(Message("rules.calendar-step-too-long"))
        object.__setattr__(self, "zone", zone_name(self.zone))

    def next_after(self, moment: datetime) -> datetime | None:
        """See `Rule`."""
        moment = max(real(moment), _EARLIEST)
        if self.start is None:
            raise InvalidSchedule(Message("rules.no-start"))
        zone = ZoneInfo(self.zone)
        try:
            passed = (local(moment, zone).date() - self.start).days
            low = max(0, passed // (31 * self.months + self.days) - 1)
            high = max(0, passed // (28 * self.months + self.days) + 1)
            count = bisect_right(range(high + 1), moment, lo=low, key=lambda number: self._moment(number, zone))
            return self._moment(count, zone)
        except (OverflowError, ValueError):
            return None

    def _moment(self, number: int, zone: ZoneInfo) -> datetime:
        start = self.start or _EARLIEST.date()
        year, month = divmod(start.year * 12 + start.month - 1 + number * self.months, 12)
        day = date(year, month + 1, min(start.day, monthrange(year, month + 1)[1])) + number * self.days * _DAY
        return instant(datetime.combine(day, self.at), zone)

    def anchored(self, moment: datetime) -> Calendar:
        """See `Rule`; the start is the date in the zone of the rule."""
        start = local(real(moment), ZoneInfo(self.zone)).date()
        return replace(self, start=start) if self.start is None else self

    def to_json(self) -> dict[str, Any]:
        """See `Rule`."""
        start = None if self.start is None else self.start.isoformat()
        steps = {"months": self.months, "days": self.days}
        return {"kind": "calendar", **steps, "at": self.at.isoformat(), "start": start, "zone": self.zone}


def cron(text: str, tz: Any = None) -> Cron:
    """Return a time rule from cron text.

    Args:
        text: Five fields: minute, hour, day of month, month, day of week.
        tz: Time zone; default: UTC.

    Raises:
        InvalidSchedule: If the text is not valid.

    Example:
        ```python
        @jobs.schedule(cron("0 3 * * *", tz="Europe/Moscow"))
        ```
    """
    return Cron(text, zone_name(tz))


def every(
    *,
    seconds: float = 0,
    minutes: float = 0,
    hours: float = 0,
    days: float = 0,
    weeks: float = 0,
    start: datetime | None = None,
    tz: Any = None,
) -> Every:
    """Return a time rule for an interval of real time; a day is 24 hours. Use `calendar_interval` for calendar days.

    Args:
        seconds: Seconds of the interval.
        minutes: Minutes of the interval.
        hours: Hours of the interval.
        days: Days of 24 hours.
        weeks: Weeks of 7 such days.
        start: First moment, an aware datetime; default: the moment at which the schedule is first stored.
        tz: Time zone in which the times are shown; default: UTC.

    Raises:
        InvalidSchedule: If the interval is not positive.
    """
    parts = {"seconds": seconds, "minutes": minutes, "hours": hours, "days": days, "weeks": weeks}
    for name, value in parts.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
            raise InvalidSchedule(Message("rules.not-a-number", name=name, least=0, value=repr(value)[:60]))
    try:
        return Every(timedelta(**parts), start, zone_name(tz))
    except OverflowError:
        raise InvalidSchedule(Message("rules.interval-too-long")) from None


def at(moment: datetime, tz: Any = None) -> At:
    """Return a time rule for one moment.

    Args:
        moment: A timezone-aware datetime.
        tz: Time zone in which it is shown; default: that of ``moment``.

    Raises:
        InvalidSchedule: If ``moment`` has no time zone.
    """
    real(moment)
    own = getattr(moment.tzinfo, "key", None)
    return At(moment, zone_name(tz or own))


def calendar_interval(
    *,
    years: int = 0,
    months: int = 0,
    weeks: int = 0,
    days: int = 0,
    hour: int = 0,
    minute: int = 0,
    second: int = 0,
    start: date | None = None,
    tz: Any = None,
) -> Calendar:
    """Return a time rule for steps of the calendar, at one time of day.

    Args:
        years: Years of the step.
        months: Months of the step.
        weeks: Weeks of the step.
        days: Days of the step.
        hour: Hour of the time of day.
        minute: Minute of the time of day.
        second: Second of the time of day.
        start: First day, a date; default: the day on which the schedule is first stored.
        tz: Time zone; default: UTC.

    Raises:
        InvalidSchedule: If a value is not valid.
    """
    _whole(years=years, months=months, weeks=weeks, days=days, hour=hour, minute=minute, second=second)
    if start is not None and (isinstance(start, datetime) or not isinstance(start, date)):
        raise InvalidSchedule(Message("rules.calendar-start", value=repr(str(start)[:60])))
    try:
        clock = time(hour, minute, second)
    except (ValueError, OverflowError):
        raise InvalidSchedule(Message("rules.not-a-time-of-day", value=f"{hour}:{minute}:{second}")) from None
    return Calendar(12 * years + months, 7 * weeks + days, clock, start, zone_name(tz))


def parse_rule(value: Any, tz: Any = None) -> Rule:
    """Return a rule from a rule, a text, a timedelta, an aware datetime or a trigger of APScheduler.

    Args:
        value: The rule, as docs/reference/schedule-rules.md describes it.
        tz: Time zone of a value that has none of its own; default: UTC.

    Raises:
        InvalidSchedule: If the value is not a rule.

    """
    if isinstance(value, Rule):
        return value
    if is_trigger(value):
        rule = TriggerRule.of(value)
        return Every(value.interval, None, rule.zone) if rule.counts_from_creation else rule
    if isinstance(value, timedelta):
        return Every(value, None, zone_name(tz))
    if isinstance(value, datetime):
        return at(value, tz)
    if not isinstance(value, str):
        raise InvalidSchedule(Message("rules.not-a-rule", value=repr(str(value)[:60])))
    word, _, rest = value.strip().partition(" ")
    reader: Callable[[str, Any], Rule] = {"every": _read_every, "at": _read_at}.get(
        word.lower(), lambda _, tz: cron(value, tz)
    )
    return reader(rest, tz)


def jittered(planned: datetime, jitter_seconds: float, key: str) -> datetime:
    """Return a planned time delayed by 0 to ``jitter_seconds``: equally in every process, and in the order of planned times.

    Args:
        planned: The planned time, an aware datetime.
        jitter_seconds: Greatest delay in seconds.
        key: Seed of the delay, such as the id of the schedule.

    Raises:
        InvalidSchedule: If the jitter is negative or not finite.

    """
    planned = real(planned)
    if not math.isfinite(jitter_seconds) or jitter_seconds < 0:
        raise InvalidSchedule(Message("rules.not-a-number", name="jitter", least=0, value=repr(jitter_seconds)))
    if jitter_seconds == 0:
        return planned
    # Between points two jitters apart the delay changes linearly, so it falls more slowly than time passes: the order stays.
    point, part = divmod(planned.timestamp() / (2 * jitter_seconds), 1)
    delay = _chance(key, int(point)) * (1 - part) + _chance(key, int(point) + 1) * part
    return planned + timedelta(seconds=delay * jitter_seconds)


def _chance(key: str, number: int) -> float:
    """Return a number from 0 to 1, evenly distributed and always the same for the same arguments."""
    return int.from_bytes(blake2b(f"{key}\n{number}".encode(), digest_size=6).digest()) / 2**48


def _offset(moment: datetime, zone: ZoneInfo) -> timedelta:
    return moment.astimezone(zone).utcoffset() or timedelta(0)


def _whole(**parts: Any) -> None:
    for name, value in parts.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise InvalidSchedule(Message("rules.not-whole", name=name, least=0, value=repr(value)[:60]))


def _read_every(text: str, tz: Any) -> Every:
    """Parse "every 1 hour 30 minutes", without its first word."""
    parts: dict[str, float] = {}
    rest = text.strip().lower()
    while found := _INTERVAL.match(rest):
        unit = _UNITS[found[2][0]]
        if unit in parts or (found[1] is None and parts):
            break
        parts[unit] = float(found[1] or 1)
        rest = rest[found.end() :]
    if rest or not parts:
        raise InvalidSchedule(Message("rules.not-an-interval", text=repr(f"every {text}"[:66])))
    return every(**parts, tz=tz)  # type: ignore[arg-type]  # the keys are units


def _read_at(text: str, tz: Any) -> At:
    try:
        return at(datetime.fromisoformat(text.strip()), tz)
    except ValueError:
        raise InvalidSchedule(Message("rules.not-a-moment-text", text=repr(f"at {text}"[:63]))) from None


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


KINDS.update(
    cron=Cron,
    every=lambda seconds, start, zone: Every(timedelta(seconds=seconds), _moment(start), zone),
    at=lambda moment, zone: At(datetime.fromisoformat(moment), zone),
    calendar=lambda months, days, at, start, zone: Calendar(
        months, days, time.fromisoformat(at), start and date.fromisoformat(start), zone
    ),
    apscheduler=TriggerRule.of_json,
)
