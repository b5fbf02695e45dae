"""Cron text, parsed by cronsim; an error names the field that is not valid."""

from __future__ import annotations

import copy
import re
from datetime import datetime
from typing import Any

from cronsim import CronSim, CronSimError

from jobtrail.errors import InvalidSchedule
from jobtrail.messages import Message

ALIASES = {
    "@YEARLY": "0 0 1 1 *",
    "@ANNUALLY": "0 0 1 1 *",
    "@MONTHLY": "0 0 1 * *",
    "@WEEKLY": "0 0 * * 0",
    "@DAILY": "0 0 * * *",
    "@MIDNIGHT": "0 0 * * *",
    "@HOURLY": "0 * * * *",
}
# Of each field: its name as cronsim has it, and how many values it has.
FIELDS = (("second", 60), ("minute", 60), ("hour", 24), ("day-of-month", 31), ("month", 12), ("day-of-week", 7))
# From here every combination of day, month and weekday occurs within the fifty years that cronsim looks ahead.
_FIRST_LOOK = datetime(2000, 1, 1)  # noqa: DTZ001
_MOST_CHARACTERS = 1000
_STEP = re.compile(r"/(\d+)", re.ASCII)


def plain_text(text: Any) -> str:
    """Return cron text in capitals and single spaces, with an alias replaced by its fields.

    Raises:
        InvalidSchedule: If it is not a text, empty, too long, or an unknown alias.

    """
    if not isinstance(text, str) or not text.strip():
        raise InvalidSchedule(Message("rules.cron-needed"))
    if len(text) > _MOST_CHARACTERS:
        raise InvalidSchedule(Message("rules.cron-too-long", length=len(text), most=_MOST_CHARACTERS))
    plain = " ".join(text.upper().split())
    if plain == "@REBOOT":
        raise InvalidSchedule(Message("rules.cron-reboot"))
    if plain.startswith("@") and plain not in ALIASES:
        raise InvalidSchedule(Message("rules.cron-alias", alias=repr(text.strip()), known=[name.lower() for name in ALIASES]))
    return ALIASES.get(plain, plain)


def either_day(text: str) -> bool:
    """Return whether plain text names day of month and day of week, so that one of them is enough: neither begins with a star."""
    *_, day, _, weekday = text.split()
    return not day.startswith("*") and not weekday.startswith("*")


def read(text: str, *, both_days: bool = False) -> CronSim:
    """Parse plain text. The result has no current time; copy it for each search.

    Args:
        text: What `plain_text` returned.
        both_days: Day of month and day of week must always both match.

    Raises:
        InvalidSchedule: If it is not cron text, or no day ever matches it.

    """
    parts = text.split()
    if len(parts) not in {5, 6}:
        raise InvalidSchedule(Message("rules.cron-fields", text=repr(text), count=len(parts)))
    parts = ["0", *parts] if len(parts) == 5 else parts
    for part, (name, count) in zip(parts, FIELDS, strict=True):
        _check_steps(text, part, name, count)
    try:
        sim = CronSim(text, _FIRST_LOOK)
    except CronSimError as error:
        raise _refused(text, parts, str(error)) from None
    sim.day_and = sim.day_and or both_days
    try:
        next(copy.copy(sim))
    except StopIteration:
        raise _never(text) from None
    return sim


def _check_steps(text: str, part: str, name: str, count: int) -> None:
    for step in _STEP.findall(part):
        if int(step[:9]) > count:
            raise InvalidSchedule(
                Message("rules.cron-step", field=name, part=repr(part), text=repr(text), step=step[:9], count=count)
            )


def _refused(text: str, parts: list[str], error: str) -> InvalidSchedule:
    for part, (name, _) in zip(parts, FIELDS, strict=True):
        if error != f"Bad {name}":
            continue
        if name == "day-of-month" and _days_are_numbers(part):
            return _never(text)
        return InvalidSchedule(Message("rules.cron-bad-field", field=name, part=repr(part), text=repr(text)))
    return InvalidSchedule(Message("rules.cron-unreadable", text=repr(text), error=error))


def _days_are_numbers(part: str) -> bool:
    """Return whether the field is valid by itself, so that only the months lack such days."""
    try:
        CronSim(f"0 0 {part} 1 *", _FIRST_LOOK)
    except CronSimError:
        return False
    return True


def _never(text: str) -> InvalidSchedule:
    return InvalidSchedule(Message("rules.cron-never", text=repr(text)))
