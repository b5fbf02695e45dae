"""Rules of time: which moments a schedule means, one after the other, through every change of the clock."""

from __future__ import annotations

import copy
import math
import re
from abc import ABC, abstractmethod
from bisect import bisect_right
from calendar import monthrange
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from hashlib import blake2b
from typing import Any
from zoneinfo import ZoneInfo

from cronsim import CronSim

from jobtrail.errors import InvalidSchedule

from . import cron_text
from .zones import SECOND, change, instant, local, real, zone_name

ACCEPTED = (
    "a rule is cron text such as '0 3 * * *' or '@daily', 'every 5 minutes', 'at 2030-01-31T03:00Z', a timedelta, "
    "a datetime with a zone, or what cron(), every(), at() and calendar_interval() give"
)
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


class Rule(ABC):
    """What a schedule means by "when": a row of moments, the same in every process, whatever the host's own zone.

    The four kinds are `Cron`, `Every`, `At` and `Calendar`; all are frozen values, made by the functions of the same names.
    ``zone`` is where the rule reads the clock, or, for intervals and dates, where its times are shown.
    """

    zone: str

    @abstractmethod
    def next_after(self, moment: datetime) -> datetime | None:
        """The first moment of the rule that is strictly later than ``moment``, in UTC; None when there is none any more.

        Raises: InvalidSchedule when ``moment`` has no zone, or the rule counts from a start that it has not been given yet.
        """

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """The rule as JSON, for `from_json`."""

    def between(self, after: datetime, until: datetime, limit: int | None = None) -> Iterator[datetime]:
        """The moments in (after, until], oldest first, at most ``limit`` of them."""
        until = real(until, "the end")
        at = self.next_after(after)
        while at is not None and at <= until and (limit is None or limit > 0):
            yield at
            limit = None if limit is None else limit - 1
            at = self.next_after(at)

    def anchored(self, moment: datetime) -> Rule:
        """The rule with ``moment`` as its start, if it counts from a start and has none; else the rule itself."""
        real(moment)
        return self

    @staticmethod
    def from_json(stored: Mapping[str, Any]) -> Rule:
        """The rule that `to_json` wrote.

        Raises: InvalidSchedule when it is not such a thing, or one of a version that knows more.
        """
        return _from_json(stored)


@dataclass(frozen=True, slots=True)
class Cron(Rule):
    """Cron text of five fields, or of six with the seconds first, kept in capitals and single spaces; aliases are resolved.

    ``both_days``: where day of month and day of week are given, both must fit (Celery's rule); else one is enough (cron's).

    Raises: InvalidSchedule when the text is none, names its field, or never comes.
    """

    text: str
    zone: str = "UTC"
    both_days: bool = False
    _sim: CronSim = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Read the text once; what can be refused is refused here."""
        object.__setattr__(self, "text", cron_text.plain_text(self.text))
        object.__setattr__(self, "zone", zone_name(self.zone))
        object.__setattr__(self, "_sim", cron_text.read(self.text, both_days=self.both_days))
        object.__setattr__(self, "both_days", self.both_days and cron_text.either_day(self.text))

    @property
    def fixed(self) -> bool:
        """The text names minute and hour, so it means a time of day; with a star in either it means what the clock shows."""
        _, minute, hour, *_ = self._sim.parts
        return not minute.startswith("*") and not hour.startswith("*")

    def next_after(self, moment: datetime) -> datetime | None:
        """See `Rule`. A missing time of day comes at the first moment after the gap, a doubled one at its first."""
        moment = max(real(moment), _EARLIEST)
        zone = ZoneInfo(self.zone)
        try:
            return self._next_time_of_day(moment, zone) if self.fixed else self._next_shown(moment, zone)
        except (StopIteration, OverflowError, ValueError):
            return None  # the calendar of Python ends with the year 9999

    def _next_time_of_day(self, moment: datetime, zone: ZoneInfo) -> datetime:
        shown = self._match(local(moment, zone))
        while (found := instant(shown, zone)) <= moment:
            shown = self._match(shown)
        return found

    def _next_shown(self, moment: datetime, zone: ZoneInfo) -> datetime:
        """Search where the clock runs evenly: up to its next change, and then from there."""
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
        """The first local time after ``shown`` that fits all fields."""
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

    Raises: InvalidSchedule for an interval under one second, and for a start without a zone.
    """

    interval: timedelta
    start: datetime | None = None
    zone: str = "UTC"

    def __post_init__(self) -> None:
        """Check the numbers, and turn the start to UTC."""
        if self.interval < SECOND:
            message = f"an interval is at least one second; {self.interval.total_seconds():g} seconds is less"
            raise InvalidSchedule(message)
        object.__setattr__(self, "zone", zone_name(self.zone))
        if self.start is not None:
            object.__setattr__(self, "start", real(self.start, "the start of an interval"))

    def next_after(self, moment: datetime) -> datetime | None:
        """See `Rule`."""
        moment = real(moment)
        if self.start is None:
            raise InvalidSchedule("this interval counts from nowhere yet: give it start=, or use .anchored(moment)")
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
        """Turn the moment to UTC."""
        object.__setattr__(self, "zone", zone_name(self.zone))
        object.__setattr__(self, "moment", real(self.moment, "the moment of a rule"))

    def next_after(self, moment: datetime) -> datetime | None:
        """See `Rule`."""
        return self.moment if self.moment > real(moment) else None

    def to_json(self) -> dict[str, Any]:
        """See `Rule`."""
        return {"kind": "at", "moment": self.moment.isoformat(), "zone": self.zone}


@dataclass(frozen=True, slots=True)
class Calendar(Rule):
    """Steps on the calendar from ``start``, at a time of day: ``months`` (a year is twelve) and ``days`` (a week is seven).

    Every step is counted from the start, and a day that the month does not have becomes its last one: from 31 January by one month come
    28 February, 31 March, 30 April. Missing and doubled times of day are those of `Cron`.

    Raises: InvalidSchedule for steps that are no whole numbers or lead nowhere.
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
            raise InvalidSchedule("a calendar rule needs a step of at least one day, week, month or year")
        if self.months > _MOST_MONTHS or self.days > _MOST_DAYS:
            raise InvalidSchedule("the step of a calendar rule is at most a thousand years")
        object.__setattr__(self, "zone", zone_name(self.zone))

    def next_after(self, moment: datetime) -> datetime | None:
        """See `Rule`."""
        moment = max(real(moment), _EARLIEST)
        if self.start is None:
            raise InvalidSchedule(
                "this calendar rule counts from nowhere yet: give it start=, or use .anchored(moment)"
            )
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
        """See `Rule`; the start is the day that it is in the rule's zone."""
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
            message = f"{name}= of an interval is a positive number; {str(value)[:60]} is none"
            raise InvalidSchedule(message)
    try:
        return Every(timedelta(**parts), start, zone_name(tz))
    except OverflowError:
        raise InvalidSchedule("the interval is too long to be counted") from None


def at(moment: datetime, tz: Any = None) -> At:
    """Return a time rule for one moment.

    Args:
        moment: A timezone-aware datetime.
        tz: Time zone in which it is shown; default: that of ``moment``.

    Raises:
        InvalidSchedule: If ``moment`` has no time zone.
    """
    real(moment, "the moment of a rule")
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
        message = f"start= of a calendar rule is a date, such as date(2030, 1, 31); {str(start)[:60]!r} is none"
        raise InvalidSchedule(message)
    try:
        clock = time(hour, minute, second)
    except (ValueError, OverflowError):
        message = f"{hour}:{minute}:{second} is no time of day: hours are 0-23, minutes and seconds 0-59"
        raise InvalidSchedule(message) from None
    return Calendar(12 * years + months, 7 * weeks + days, clock, start, zone_name(tz))


def parse_rule(value: Any, tz: Any = None) -> Rule:
    """A rule from whatever stands for one: see `ACCEPTED`. A rule is given back as it is.

    ``tz`` is the zone of what has none of its own.

    Raises: InvalidSchedule with a sentence that says what would be right.
    """
    if isinstance(value, Rule):
        return value
    if isinstance(value, timedelta):
        return Every(value, None, zone_name(tz))
    if isinstance(value, datetime):
        return at(value, tz)
    if not isinstance(value, str):
        message = f"{str(value)[:60]!r} is no rule of time; {ACCEPTED}"
        raise InvalidSchedule(message)
    word, _, rest = value.strip().partition(" ")
    reader: Callable[[str, Any], Rule] = {"every": _read_every, "at": _read_at}.get(
        word.lower(), lambda _, tz: cron(value, tz)
    )
    return reader(rest, tz)


def jittered(planned: datetime, jitter_seconds: float, key: str) -> datetime:
    """``planned``, put off by 0 to ``jitter_seconds``: by as much in every process, and never past a later moment of the same key.

    Raises: InvalidSchedule for a negative or endless jitter.
    """
    planned = real(planned)
    if not math.isfinite(jitter_seconds) or jitter_seconds < 0:
        message = f"jitter is a number of seconds from 0 on; {jitter_seconds} is none"
        raise InvalidSchedule(message)
    if jitter_seconds == 0:
        return planned
    # Between points two jitters apart the delay changes evenly, so it falls by less than time goes on: the order stays.
    point, part = divmod(planned.timestamp() / (2 * jitter_seconds), 1)
    delay = _chance(key, int(point)) * (1 - part) + _chance(key, int(point) + 1) * part
    return planned + timedelta(seconds=delay * jitter_seconds)


def _chance(key: str, number: int) -> float:
    """Evenly spread over 0 to 1, and always the same for the same two."""
    return int.from_bytes(blake2b(f"{key}\n{number}".encode(), digest_size=6).digest()) / 2**48


def _offset(moment: datetime, zone: ZoneInfo) -> timedelta:
    return moment.astimezone(zone).utcoffset() or timedelta(0)


def _whole(**parts: Any) -> None:
    for name, value in parts.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            message = f"{name}= of a calendar rule is a whole number from 0 on; {str(value)[:60]} is none"
            raise InvalidSchedule(message)


def _read_every(text: str, tz: Any) -> Every:
    """The interval of "every 1 hour 30 minutes", without its first word."""
    parts: dict[str, float] = {}
    rest = text.strip().lower()
    while found := _INTERVAL.match(rest):
        unit = _UNITS[found[2][0]]
        if unit in parts or (found[1] is None and parts):
            break
        parts[unit] = float(found[1] or 1)
        rest = rest[found.end() :]
    if rest or not parts:
        message = (
            f"{'every ' + text[:60]!r} is no interval: write it as 'every 5 minutes' or 'every 1 hour 30 minutes', in seconds, minutes, "
            "hours, days and weeks; for months and years use cron text or calendar_interval()"
        )
        raise InvalidSchedule(message)
    return every(**parts, tz=tz)  # type: ignore[arg-type]  # the keys are units


def _read_at(text: str, tz: Any) -> At:
    try:
        return at(datetime.fromisoformat(text.strip()), tz)
    except ValueError:
        message = (
            f"{'at ' + text[:60]!r} is no moment: write it as 'at 2030-01-31T03:00+03:00' or 'at 2030-01-31T00:00Z'"
        )
        raise InvalidSchedule(message) from None


def _from_json(stored: Any) -> Rule:
    """The opposite of every `to_json`."""
    known: dict[str, Callable[..., Rule]] = {
        "cron": Cron,
        "every": lambda seconds, start, zone: Every(timedelta(seconds=seconds), _moment(start), zone),
        "at": lambda moment, zone: At(datetime.fromisoformat(moment), zone),
        "calendar": lambda months, days, at, start, zone: Calendar(
            months, days, time.fromisoformat(at), start and date.fromisoformat(start), zone
        ),
    }
    try:
        return known[stored["kind"]](**{name: value for name, value in stored.items() if name != "kind"})
    except InvalidSchedule:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        message = f"what is stored is no rule of time that this version knows: {str(stored)[:200]}"
        raise InvalidSchedule(message) from None


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
