"""Text from jobs, made safe and short for a terminal; durations, times and numbers as text."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from jobtrail.messages import tr

TAIL = 8  # characters of an id that people see and type; all of them are random
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


@lru_cache(maxsize=4096)
def _shown(character: str) -> str:
    """Escape control and direction characters: they could move the cursor, colour the screen or reverse a line."""
    category = unicodedata.category(character)
    if category in {"Cc", "Cf", "Cs", "Zl", "Zp"} and character not in "\u200c\u200d":
        return character.encode("unicode_escape").decode("ascii")
    return character


def clean(text: str) -> str:
    """The text in one line, with its control characters escaped."""
    return text if text.isprintable() else "".join(map(_shown, text))


def clean_lines(text: str) -> str:
    """The same for several lines: line breaks stay, a tab becomes four blanks."""
    return "\n".join(clean(line.replace("\t", "    ")) for line in text.replace("\r\n", "\n").split("\n"))


def short(text: str | None, length: int) -> str:
    """The first line of a text, cut with an ellipsis."""
    if not text:
        return ""
    line = clean(text.strip().split("\n", 1)[0])
    return line if len(line) <= length else f"{line[: length - 1]}…"


def tail(job_id: str | None) -> str:
    """The last characters of an id."""
    return job_id[-TAIL:] if job_id else ""


def moment(value: datetime | None, now: datetime) -> str:
    """A time in UTC for people; without the date if it is today."""
    if value is None:
        return ""
    at = value.astimezone(UTC)
    return f"{at:%H:%M:%S}" if at.date() == now.astimezone(UTC).date() else f"{at:%Y-%m-%d %H:%M}"


def span(length: timedelta | float | None) -> str:
    """A duration: 0.4 s, 12 s, 3:20, 2:05:00, 3 d 4 h."""
    if length is None:
        return ""
    seconds = length.total_seconds() if isinstance(length, timedelta) else length
    seconds = max(seconds, 0.0)
    whole = round(seconds)
    if seconds < _MINUTE:
        return tr("cli.seconds", n=round(seconds, 2 if seconds < 1 else 1) if seconds < 10 else whole)
    if whole < _HOUR:
        return f"{whole // _MINUTE}:{whole % _MINUTE:02}"
    if whole < 2 * _DAY:
        return f"{whole // _HOUR}:{whole % _HOUR // _MINUTE:02}:{whole % _MINUTE:02}"
    return tr("cli.days-and-hours", days=whole // _DAY, hours=whole % _DAY // _HOUR)


def deadline(until: datetime | None, now: datetime) -> str:
    """How much time is left: ``in 3 h`` or ``over``; empty if there is no deadline."""
    if until is None:
        return ""
    seconds = (until - now).total_seconds()
    if seconds <= 0:
        return tr("cli.deadline-over")
    for length, most, unit in ((1, 90, "s"), (60, 90, "min"), (3600, 48, "h")):
        if (count := max(round(seconds / length), 1)) < most:
            return tr("cli.deadline-in", count=count, unit=unit)
    return tr("cli.deadline-in", count=round(seconds / _DAY), unit="d")


def number(value: int | None) -> str:
    """A whole number with its thousands apart; empty if there is none."""
    return "" if value is None else tr("cli.number", n=value)


def address(url: Any) -> str:
    """A database's address without its password and without the driver's name."""
    plain: str = url.set(drivername=url.get_backend_name()).render_as_string(hide_password=True)
    return plain
