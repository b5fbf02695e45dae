"""Local time and real time: what a clock on a wall shows in a zone, and when it is put forward or back.

Real times are aware and in UTC; local times are naive. Arithmetic is done on either, never on aware local times, because Python
ignores the clock changes between two times of one zone.
"""

from __future__ import annotations

import difflib
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from jobtrail.errors import InvalidSchedule

SECOND = timedelta(seconds=1)


def zone_name(tz: Any) -> str:
    """The name of a zone that is given as text, as ``ZoneInfo`` or as ``datetime.UTC``; None is UTC.

    Raises: InvalidSchedule when there is no such zone, with the nearest name that there is.
    """
    name = "UTC" if tz is None or tz is UTC else getattr(tz, "key", tz)
    try:
        return ZoneInfo(name).key
    except (KeyError, ValueError, OSError, TypeError, AttributeError):
        message = f"the zone {str(name)[:60]!r} is unknown; {_nearest(name)}"
        raise InvalidSchedule(message) from None


def _nearest(name: Any) -> str:
    near = difflib.get_close_matches(str(name)[:60], sorted(available_timezones()), n=1)
    return f"did you mean {near[0]}?" if near else "a name such as UTC or Europe/Berlin is needed"


def real(moment: Any, what: str = "the moment") -> datetime:
    """``moment`` in UTC.

    Raises: InvalidSchedule for anything but an aware datetime.
    """
    if not isinstance(moment, datetime) or moment.utcoffset() is None:
        message = f"{what} is a datetime with a zone, such as datetime.now(UTC); {str(moment)[:60]!r} is none"
        raise InvalidSchedule(message)
    return moment.astimezone(UTC)


def local(moment: datetime, zone: ZoneInfo) -> datetime:
    """What the clock shows at ``moment``."""
    return moment.astimezone(zone).replace(tzinfo=None, fold=0)


def instant(shown: datetime, zone: ZoneInfo) -> datetime:
    """The moment at which the clock first shows ``shown``; the end of the gap where it never does."""
    moment = shown.replace(tzinfo=zone).astimezone(UTC)
    if local(moment, zone) == shown:
        return moment
    before_the_change = shown.replace(tzinfo=zone, fold=1).astimezone(UTC)
    return change(before_the_change, moment, zone) or moment


def change(after: datetime, until: datetime, zone: ZoneInfo) -> datetime | None:
    """The first moment in (after, until], to the second, from which the clock differs otherwise from UTC; None if it does not."""
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
