"""Real time and local time: what the clock of a zone shows, and when it is put forward or back.

Real times are aware and in UTC; local times are naive. Arithmetic uses these two only, never aware local times, because
Python ignores the clock changes between two times of one zone.
"""

from __future__ import annotations

import difflib
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from jobtrail.errors import InvalidSchedule
from jobtrail.messages import Message

SECOND = timedelta(seconds=1)


def zone_name(tz: Any) -> str:
    """Return the name of a time zone.

    Args:
        tz: A name, a ``ZoneInfo`` or ``datetime.UTC``; None is UTC.

    Raises:
        InvalidSchedule: If there is no such zone; the message has the most similar name.

    """
    name = "UTC" if tz is None or tz is UTC else getattr(tz, "key", tz)
    try:
        return ZoneInfo(name).key
    except (KeyError, ValueError, OSError, TypeError, AttributeError):
        raise InvalidSchedule(_unknown(str(name)[:60])) from None


def _unknown(name: str) -> Message:
    near = difflib.get_close_matches(name, sorted(available_timezones()), n=1)
    if near:
        return Message("rules.zone-misspelt", name=repr(name), near=near[0])
    return Message("job.unknown-zone", name=repr(name))


def real(moment: Any, name: str = "moment") -> datetime:
    """Return a moment in UTC.

    Args:
        moment: An aware datetime.
        name: Name of the parameter, for the message.

    Raises:
        InvalidSchedule: If it is not an aware datetime.

    """
    if not isinstance(moment, datetime) or moment.utcoffset() is None:
        raise InvalidSchedule(Message("rules.not-a-moment", name=name, value=repr(str(moment)[:60])))
    return moment.astimezone(UTC)


def local(moment: datetime, zone: ZoneInfo) -> datetime:
    """Return what the clock of the zone shows at ``moment``."""
    return moment.astimezone(zone).replace(tzinfo=None, fold=0)


def instant(shown: datetime, zone: ZoneInfo) -> datetime:
    """Return the moment at which the clock first shows ``shown``, or the end of the gap if it never does."""
    moment = shown.replace(tzinfo=zone).astimezone(UTC)
    if local(moment, zone) == shown:
        return moment
    before_the_change = shown.replace(tzinfo=zone, fold=1).astimezone(UTC)
    return change(before_the_change, moment, zone) or moment


def change(after: datetime, until: datetime, zone: ZoneInfo) -> datetime | None:
    """Return the first moment in (after, until], to the second, at which the offset from UTC changes; None if it does not."""
    low, high = after.replace(microsecond=0), until.replace(microsecond=0)
    offset = low.astimezone(zone).utcoffset()
    if high.astimezone(zone).utcoffset() == offset:
        return None
    while high - low > SECOND:
        middle = (low + (high - low) / 2).replace(microsecond=0)
        if middle.astimezone(zone).utcoffset() == offset:
            low = middle
        else:
            high = middle
    return high
