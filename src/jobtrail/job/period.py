"""A period: the half-open span of time that a job's work is about, read in a zone.

Start and end are kept in UTC, because arithmetic between two times of one zone ignores its clock changes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from jobtrail.errors import InvalidPeriod
from jobtrail.messages import Message

MOST_PARTS = 100_000
CALENDAR = ("year", "month", "week", "day")
UNITS = (*CALENDAR, "hour")
YEARS = range(1900, 3000)
_HOUR = timedelta(hours=1)

_ONE = re.compile(r"(\d{4})(?:-W(\d\d)|-(\d\d)(?:-(\d\d)(?:T(\d\d)(Z?))?)?)?", re.ASCII)
_TIME = re.compile(
    r"\d{4}-\d\d-\d\d(?P<clock>[T ]\d\d(?::\d\d(?::\d\d(?:\.\d{1,6})?)?)?(?P<offset>Z|[+-]\d\d:?\d\d(?::?\d\d)?)?)?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True, order=True)
class Period:
    """Half-open span of time, from ``start`` up to but not including ``end``, with a time zone.

    Two periods are equal if they span the same time, however they are written. They are ordered by start.

    Args:
        start: Start, a timezone-aware datetime; kept in UTC.
        end: End, a timezone-aware datetime; kept in UTC.
        zone: Name of the time zone in which the calendar is read.

    Raises:
        InvalidPeriod: If a time has no time zone, the end is not after the start, or the zone is not known.

    Example:
        ```python
        Period.parse("2013-02").split("day")[0].text   # "2013-02-01"
        Period.parse("2013-02[Europe/Berlin]").next()
        ```
    """

    start: datetime
    end: datetime
    zone: str = field(default="UTC", compare=False)

    def __post_init__(self) -> None:
        """Convert both ends to UTC."""
        _zone(self.zone)
        for name in ("start", "end"):
            at = getattr(self, name)
            if at.tzinfo is not UTC:
                object.__setattr__(self, name, _aware(at).astimezone(UTC))
        if self.end <= self.start:
            raise InvalidPeriod(Message("job.period-backwards", start=_stamp(self.start), end=_stamp(self.end)))

    @classmethod
    def parse(cls, value: Any, zone: str | None = None) -> Period:
        """Return a period from a value.

        Args:
            value: A text (``2013``, ``2013-02``, ``2013-02-12``, ``2013-02-12T06``, ``2013-W07``, ``start/end``, each with an
                optional ``[zone]``), a date, a pair of dates or datetimes, or a period.
            zone: Time zone for texts without ``[zone]`` and for dates; default: UTC. A time of day with minutes, or in
                start/end, needs an offset or a zone.

        Raises:
            InvalidPeriod: If the value is not a period; the message says what is accepted.
        """
        if isinstance(value, cls):
            return value
        try:
            if isinstance(value, str):
                return _parse_text(value, zone)
            if isinstance(value, date) and not isinstance(value, datetime):
                return _calendar("day", datetime(value.year, value.month, value.day), _or_utc(zone))  # noqa: DTZ001
            if isinstance(value, (tuple, list)) and len(value) == 2:
                return cls(_end(value[0], zone), _end(value[1], zone), _or_utc(zone))
        except OverflowError:
            raise InvalidPeriod(Message("job.period-out-of-years", value=_shown(value))) from None
        raise _refused(value)

    @classmethod
    def range(cls, first: Period, last: Period) -> list[Period]:
        """Return all periods of one grain from ``first`` to ``last``, both included.

        Args:
            first: First period.
            last: Last period.

        Raises:
            InvalidPeriod: If grain or zone differ, ``last`` is earlier or not part of the series, or there are more than
                100,000 periods.
        """
        if first.unit != last.unit or first.zone != last.zone:
            raise InvalidPeriod(Message("job.period-grains-differ", first=first.text, last=last.text))
        found = [first]
        while found[-1].start < last.start:
            found.append(found[-1].next())
            _check_number(len(found))
        if found[-1] != last:
            raise InvalidPeriod(Message("job.period-series-misses-end", first=first.text, last=last.text))
        return found

    @property
    def key(self) -> str:
        """Span in UTC, the same however the period is written: ``2013-02-01T00:00:00Z/2013-03-01T00:00:00Z``."""
        return f"{_stamp(self.start)}/{_stamp(self.end)}"

    @property
    def text(self) -> str:
        """Shortest text that `parse` reads as this period."""
        unit, local = self.unit, self._local(self.start)
        if unit == "span":
            return _span_text(self)
        suffix = "" if self.zone == "UTC" else f"[{self.zone}]"
        text = _name(unit, local) + suffix
        # the hour that a clock change repeats has one name for two hours
        return text if unit != "hour" or Period.parse(text) == self else _span_text(self)

    @property
    def unit(self) -> str:
        """Grain: year, month, week, day, hour; span for any other."""
        tz = _zone(self.zone)
        local = self._local(self.start)
        for unit in CALENDAR:
            if _floor(unit, local) == local and local.year < 9999:
                following = _instant(_step(unit, local, 1), tz)
                if (_instant(local, tz), following) == (self.start, self.end):
                    return unit
        whole = local.minute == local.second == local.microsecond == 0
        return "hour" if whole and self.end - self.start == _HOUR else "span"

    def next(self) -> Period:
        """Return the following period: the next of its grain in the calendar of its zone; a span moves by its length."""
        return self._moved(1)

    def previous(self) -> Period:
        """Return the preceding period."""
        return self._moved(-1)

    def split(self, into: str) -> list[Period]:
        """Return the parts of this period, in order; the first and the last may be shorter.

        Args:
            into: "year", "month", "week", "day" or "hour".

        Raises:
            InvalidPeriod: If ``into`` is another word, or there are more than 100,000 parts.
        """
        if into not in UNITS:
            raise InvalidPeriod(Message("job.period-bad-part", into=repr(into)))
        parts: list[Period] = []
        at = self.start
        while at < self.end:
            following = min(_boundary_after(at, into, self.zone), self.end)
            parts.append(Period(at, following, self.zone))
            _check_number(len(parts))
            at = following
        return parts

    def contains(self, at: datetime) -> bool:
        """Return whether a moment lies in the period; its end does not.

        Args:
            at: A timezone-aware datetime.

        Raises:
            InvalidPeriod: If ``at`` has no time zone.
        """
        return self.start <= _aware(at) < self.end

    def overlaps(self, other: Period) -> bool:
        """Return whether two periods have a moment in common.

        Args:
            other: The other period.
        """
        return self.start < other.end and other.start < self.end

    def __str__(self) -> str:
        """Return `text`."""
        return self.text

    def _local(self, at: datetime) -> datetime:
        return at.astimezone(_zone(self.zone)).replace(tzinfo=None, fold=0)

    def _moved(self, steps: int) -> Period:
        try:
            unit = self.unit
            if unit in CALENDAR:
                return _neighbour(unit, self._local(self.start), steps, self.zone)
            return _shifted(self, steps)
        except (OverflowError, ValueError):
            raise InvalidPeriod(Message("job.period-no-neighbour", period=self.text)) from None


def periods_from_rule(rule: str, at: datetime, zone: str = "UTC") -> Period:
    """Return the period that a rule such as "previous month" selects at a moment.

    Args:
        rule: "previous" or "current", and year, month, week, day or hour.
        at: The moment, a timezone-aware datetime.
        zone: Time zone of the calendar.

    Raises:
        InvalidPeriod: If the rule or the zone is not known, or ``at`` has no time zone.
    """
    which, _, unit = rule.partition(" ") if isinstance(rule, str) else ("", "", "")
    if which not in {"previous", "current"} or unit not in UNITS:
        raise InvalidPeriod(Message("job.period-bad-rule", rule=_shown(rule)))
    tz = _zone(zone)
    moment = _aware(at).astimezone(UTC)
    if unit == "hour":
        start = _hour_start(moment, tz)
        current = Period(start, start + _HOUR, zone)
    else:
        current = _calendar(unit, _floor(unit, moment.astimezone(tz).replace(tzinfo=None)), zone)
    return current.previous() if which == "previous" else current


# -- reading -----------------------------------------------------------------------------------------


def _parse_text(text: str, zone: str | None) -> Period:
    body = text.strip()
    if body.endswith("]") and "[" in body:
        body, _, zone = body[:-1].partition("[")
    if "/" in body:
        first, _, last = body.partition("/")
        return Period(_end(first, zone), _end(last, zone), _or_utc(zone))
    found = _ONE.fullmatch(body)
    if found is None:
        raise _refused(text)
    year, week, month, day, hour, utc = found.groups()
    try:
        if week:
            start = datetime.fromisocalendar(int(year), int(week), 1)
        else:
            start = datetime(int(year), int(month or 1), int(day or 1), int(hour or 0))  # noqa: DTZ001
    except ValueError:
        raise InvalidPeriod(Message("job.period-not-in-calendar", text=_shown(text))) from None
    if hour:
        return _hour(start, _or_utc(zone), text, utc=bool(utc))
    unit = "week" if week else "day" if day else "month" if month else "year"
    return _calendar(unit, start, _or_utc(zone))


def _or_utc(zone: str | None) -> str:
    return "UTC" if zone is None else zone


def _hour(local: datetime, zone: str, text: str, *, utc: bool) -> Period:
    tz = _zone(zone)
    start = local.replace(tzinfo=UTC) if utc else _instant(local, tz)
    if not utc and start.astimezone(tz).replace(tzinfo=None, fold=0) != local:
        raise InvalidPeriod(Message("job.hour-skipped", text=_shown(text), zone=zone))
    return Period(start, start + _HOUR, zone)


def _end(value: Any, zone: str | None) -> datetime:
    """One end of start/end."""
    if isinstance(value, str):
        found = _TIME.fullmatch(value.strip())
        if found is None:
            raise _refused(value)
        try:
            at = datetime.fromisoformat(value.strip())
        except ValueError:
            raise InvalidPeriod(Message("job.time-not-in-calendar", value=_shown(value))) from None
        plain_date = found["clock"] is None
    elif isinstance(value, date):
        plain_date = not isinstance(value, datetime)
        at = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)  # noqa: DTZ001
    else:
        raise _refused(value)
    if at.tzinfo is not None:
        return at
    if zone is None and not plain_date:
        raise InvalidPeriod(Message("job.time-without-zone", value=_shown(value)))
    return _instant(at, _zone(_or_utc(zone)))


def _aware(at: Any) -> datetime:
    if not isinstance(at, datetime) or at.utcoffset() is None:
        raise InvalidPeriod(Message("job.datetime-without-zone", at=_shown(at)))
    return at


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError, TypeError, AttributeError):
        raise InvalidPeriod(Message("job.unknown-zone", name=_shown(name))) from None


def _refused(value: Any) -> InvalidPeriod:
    return InvalidPeriod(Message("job.not-a-period", value=_shown(value)))


def _shown(value: Any) -> Message | str:
    if isinstance(value, (str, date)):
        return repr(str(value)[:80])
    return Message("job.value-of-type", type=type(value).__name__)


def _check_number(count: int) -> None:
    if count > MOST_PARTS:
        raise InvalidPeriod(Message("job.too-many-periods", most=MOST_PARTS))


# -- the calendar: plain local times -----------------------------------------------------------------


def _instant(local: datetime, tz: ZoneInfo) -> datetime:
    """The moment of a local time: the first of two; for a time that is skipped, the moment of the skip or after."""
    return local.replace(tzinfo=tz).astimezone(UTC)


def _calendar(unit: str, local: datetime, zone: str) -> Period:
    tz = _zone(zone)
    try:
        start, end = _instant(local, tz), _instant(_step(unit, local, 1), tz)
        if start == end:
            raise InvalidPeriod(Message("job.day-skipped", day=_name("day", local), zone=zone))
        return Period(start, end, zone)
    except ValueError as error:
        if isinstance(error, InvalidPeriod):
            raise
        raise OverflowError from None


def _neighbour(unit: str, local: datetime, steps: int, zone: str) -> Period:
    """The period before or after the one that starts at ``local``; a day that the zone skipped is none."""
    tz, near = _zone(zone), _step(unit, local, steps)
    while _instant(near, tz) == _instant(_step(unit, near, 1), tz):
        near = _step(unit, near, steps)
    return _calendar(unit, near, zone)


def _floor(unit: str, local: datetime) -> datetime:
    midnight = local.replace(hour=0, minute=0, second=0, microsecond=0)
    if unit == "year":
        return midnight.replace(month=1, day=1)
    if unit == "month":
        return midnight.replace(day=1)
    return midnight - timedelta(days=midnight.weekday()) if unit == "week" else midnight


def _step(unit: str, local: datetime, steps: int) -> datetime:
    if unit == "year":
        return local.replace(year=local.year + steps)
    if unit == "month":
        months = local.year * 12 + local.month - 1 + steps
        return local.replace(year=months // 12, month=months % 12 + 1)
    return local + timedelta(days=7 * steps if unit == "week" else steps)


def _hour_start(moment: datetime, tz: ZoneInfo) -> datetime:
    local = moment.astimezone(tz)
    return moment - timedelta(minutes=local.minute, seconds=local.second, microseconds=local.microsecond)


def _boundary_after(moment: datetime, unit: str, zone: str) -> datetime:
    tz = _zone(zone)
    if unit == "hour":
        return _hour_start(moment, tz) + _HOUR
    local = moment.astimezone(tz).replace(tzinfo=None)
    return _instant(_step(unit, _floor(unit, local), 1), tz)


def _shifted(period: Period, steps: int) -> Period:
    """A span of whole local days moves by days, any other by its length in time."""
    tz = _zone(period.zone)
    first, last = (at.astimezone(tz).replace(tzinfo=None) for at in (period.start, period.end))
    if _floor("day", first) == first and _floor("day", last) == last:
        move = (last - first) * steps
        return Period(_instant(first + move, tz), _instant(last + move, tz), period.zone)
    length = (period.end - period.start) * steps
    return Period(period.start + length, period.end + length, period.zone)


# -- writing -----------------------------------------------------------------------------------------


def _stamp(at: datetime) -> str:
    return f"{at.replace(tzinfo=None).isoformat()}Z"


def _name(unit: str, local: datetime) -> str:
    day = local.date().isoformat()
    if unit == "week":
        year, week, _ = local.isocalendar()
        return f"{year:04}-W{week:02}"
    if unit == "hour":
        return f"{day}T{local.hour:02}"
    return {"year": day[:4], "month": day[:7], "day": day}[unit]


def _span_text(period: Period) -> str:
    tz = _zone(period.zone)
    ends = [at.astimezone(tz) for at in (period.start, period.end)]
    naive = [at.replace(tzinfo=None, fold=0) for at in ends]
    suffix = "" if period.zone == "UTC" else f"[{period.zone}]"
    whole_days = all(_floor("day", at) == at for at in naive)
    if whole_days and [_instant(at, tz) for at in naive] == [period.start, period.end]:
        return "/".join(at.date().isoformat() for at in naive) + suffix
    return "/".join(_short(at) for at in ends) + suffix


def _short(at: datetime) -> str:
    text = at.isoformat(timespec="minutes" if at.second == at.microsecond == 0 else "auto")
    return text.replace("+00:00", "Z")


def in_our_time(moment: Any) -> datetime | None:
    """The moment in UTC; None for what is no datetime with a zone of the years 1900 to 2999."""
    if not isinstance(moment, datetime) or moment.utcoffset() is None or moment.year not in YEARS:
        return None
    return moment.astimezone(UTC)
