"""Quiet hours: times of the week in which a module is expected to be silent."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from jobtrail.errors import InvalidOption
from jobtrail.job.task import zone_option
from jobtrail.messages import Message

if TYPE_CHECKING:
    from collections.abc import Iterator

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
LOOKS_AHEAD = 15  # days; a limit that quiet hours do not leave room for in this time is never reached
MOST_WINDOWS = 20
_FORM = re.compile(r"(?:(?P<days>[a-z,-]+) )?(?P<start>\d\d:\d\d)-(?P<end>\d\d:\d\d)(?: (?P<zone>\S+))?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class QuietWindow:
    """One window: days of the week on which it begins (0 is Monday), local start and end, and the zone of both."""

    days: frozenset[int]
    start: time
    end: time
    whole_days: bool
    zone: str

    def intervals(self, first: date, last: date) -> Iterator[tuple[datetime, datetime]]:
        """The real times of the window, for each local day on which it begins."""
        zone = ZoneInfo(self.zone)
        day = first
        while day <= last:
            if day.weekday() in self.days:
                later = self.whole_days or self.end <= self.start
                ends = datetime.combine(day + timedelta(days=1) if later else day, self.end, zone)
                yield datetime.combine(day, self.start, zone).astimezone(UTC), ends.astimezone(UTC)
            day += timedelta(days=1)


@lru_cache(maxsize=1024)
def parse_quiet_hours(text: str) -> tuple[QuietWindow, ...]:
    """Return the windows of a text such as ``"mon-fri 22:00-06:00 Europe/Berlin; sat,sun 00:00-24:00"``.

    Raises:
        InvalidOption: If the text does not have this form; the message has the part that is wrong.
    """
    parts = [" ".join(part.split()) for part in text.split(";")]
    if len(parts) > MOST_WINDOWS:
        raise InvalidOption(Message("office.too-many-windows", most=MOST_WINDOWS))
    return tuple(_window(part) for part in parts if part)


def _window(text: str) -> QuietWindow:
    found = _FORM.fullmatch(text)
    if found is None:
        raise InvalidOption(Message("office.bad-quiet-hours", text=repr(text)))
    start, end = _time(found["start"], text), _time(found["end"], text)
    return QuietWindow(_days(found["days"], text), start or time(0), end or time(0), end is None, zone_option(found["zone"] or "UTC"))


def _time(text: str, whole: str) -> time | None:
    """A time of the day; None for 24:00."""
    if text == "24:00":
        return None
    try:
        return time.fromisoformat(text)
    except ValueError:
        raise InvalidOption(Message("office.bad-quiet-hours", text=repr(whole))) from None


def _days(text: str | None, whole: str) -> frozenset[int]:
    if text is None:
        return frozenset(range(7))
    found: set[int] = set()
    for part in text.lower().split(","):
        first, _, last = part.partition("-")
        if first not in DAYS or (last and last not in DAYS):
            raise InvalidOption(Message("office.bad-quiet-hours", text=repr(whole)))
        begin = DAYS.index(first)
        found |= {(begin + step) % 7 for step in range((DAYS.index(last or first) - begin) % 7 + 1)}
    return frozenset(found)


def reached(start: datetime, limit: float, quiet: tuple[QuietWindow, ...]) -> datetime | None:
    """When a silence that begins at ``start`` has lasted for ``limit`` seconds without a break by quiet hours.

    A limit that is reached at the very start of quiet hours is reached. The count begins anew at the end of quiet hours.

    Returns: None if quiet hours never leave room for the limit.
    """
    try:
        plain = start + timedelta(seconds=limit)
    except OverflowError:
        return None
    if not quiet:
        return plain
    last = start.date() + timedelta(days=LOOKS_AHEAD) + timedelta(seconds=limit)
    for begins, ends in _merged(quiet, start.date() - timedelta(days=2), last):
        if start + timedelta(seconds=limit) <= begins:
            break
        start = max(start, ends)
    else:
        return None
    return start + timedelta(seconds=limit)


def is_quiet(moment: datetime, quiet: tuple[QuietWindow, ...]) -> bool:
    """Whether a moment lies in quiet hours."""
    day = moment.date()
    return any(begins <= moment < ends for begins, ends in _merged(quiet, day - timedelta(days=2), day + timedelta(days=1)))


@lru_cache(maxsize=4096)
def _merged(quiet: tuple[QuietWindow, ...], first: date, last: date) -> tuple[tuple[datetime, datetime], ...]:
    """All windows of these days in order; those that touch each other are one."""
    found: list[tuple[datetime, datetime]] = []
    for begins, ends in sorted(pair for window in quiet for pair in window.intervals(first, last) if pair[0] < pair[1]):
        if found and begins <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], ends))
        else:
            found.append((begins, ends))
    return tuple(found)
