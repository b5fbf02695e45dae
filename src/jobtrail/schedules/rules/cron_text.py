"""Cron text: read by cronsim, or refused with a sentence that names the field."""

from __future__ import annotations

import copy
import re
from datetime import datetime
from typing import Any

from cronsim import CronSim, CronSimError

from jobtrail.errors import InvalidSchedule

ALIASES = {
    "@YEARLY": "0 0 1 1 *",
    "@ANNUALLY": "0 0 1 1 *",
    "@MONTHLY": "0 0 1 * *",
    "@WEEKLY": "0 0 * * 0",
    "@DAILY": "0 0 * * *",
    "@MIDNIGHT": "0 0 * * *",
    "@HOURLY": "0 * * * *",
}
# Of each field: its name, how many values it has, and what is allowed in it.
FIELDS = (
    ("second", 60, "0-59"),
    ("minute", 60, "0-59"),
    ("hour", 24, "0-23"),
    ("day-of-month", 31, "1-31, L for the last day, LW for the last weekday"),
    ("month", 12, "1-12 or JAN-DEC"),
    ("day-of-week", 7, "0-7 or SUN-SAT (0 and 7 are Sunday), 5#2 for the second Friday, 5L for the last"),
)
# From here every combination of day, month and weekday comes within the fifty years that cronsim looks ahead.
_FIRST_LOOK = datetime(2000, 1, 1)  # noqa: DTZ001
_MOST_CHARACTERS = 1000
_STEP = re.compile(r"/(\d+)", re.ASCII)


def plain_text(text: Any) -> str:
    """The text in capitals and single spaces, an alias as what it stands for.

    Raises: InvalidSchedule when it is no text, empty, too long, or an unknown alias.
    """
    if not isinstance(text, str) or not text.strip():
        raise InvalidSchedule("cron text is needed, such as '0 3 * * *' for every day at 03:00")
    if len(text) > _MOST_CHARACTERS:
        message = f"the cron text is {len(text):,} characters long; at most {_MOST_CHARACTERS:,} are read"
        raise InvalidSchedule(message)
    plain = " ".join(text.upper().split())
    if plain == "@REBOOT":
        raise InvalidSchedule("'@reboot' is no time; call the task where the application starts")
    if plain.startswith("@") and plain not in ALIASES:
        message = f"{text.strip()!r} is unknown; known are {', '.join(name.lower() for name in ALIASES)}"
        raise InvalidSchedule(message)
    return ALIASES.get(plain, plain)


def either_day(text: str) -> bool:
    """In this plain text one of day of month and day of week is enough: neither begins with a star."""
    *_, day, _, weekday = text.split()
    return not day.startswith("*") and not weekday.startswith("*")


def read(text: str, *, both_days: bool = False) -> CronSim:
    """The plain text as cronsim reads it, standing nowhere yet: it is to be copied for each search.

    With ``both_days`` day of month and day of week must always fit both.

    Raises: InvalidSchedule when it is no cron text, or when no day ever fits it.
    """
    parts = text.split()
    if len(parts) not in {5, 6}:
        message = (
            f"the cron text {text!r} has {len(parts)} field{'s' * (len(parts) != 1)}; it needs 5: minute, hour, "
            "day of month, month, day of week (or 6, with the second before them)"
        )
        raise InvalidSchedule(message)
    parts = ["0", *parts] if len(parts) == 5 else parts
    for part, (name, count, _) in zip(parts, FIELDS, strict=True):
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
            message = (
                f"the {name} {part!r} of the cron text {text!r} steps by {step[:9]}, and there are only {count} of them, so only the first "
                "would ever come; for longer intervals write 'every 90 minutes', or use calendar_interval(days=, weeks=, months=)"
            )
            raise InvalidSchedule(message)


def _refused(text: str, parts: list[str], said: str) -> InvalidSchedule:
    for part, (name, _, allowed) in zip(parts, FIELDS, strict=True):
        if said != f"Bad {name}":
            continue
        if name == "day-of-month" and _days_are_numbers(part):
            return _never(text)
        return InvalidSchedule(
            f"the {name} {part!r} of the cron text {text!r} cannot be read: allowed are {allowed}, * for all, "
            "lists (1,15), ranges from low to high (1-5) and steps (*/15)"
        )
    return InvalidSchedule(f"the cron text {text!r} cannot be read: {said}")


def _days_are_numbers(part: str) -> bool:
    """The field alone is well; it is the months that do not have such days."""
    try:
        CronSim(f"0 0 {part} 1 *", _FIRST_LOOK)
    except CronSimError:
        return False
    return True


def _never(text: str) -> InvalidSchedule:
    return InvalidSchedule(
        f"the cron text {text!r} never comes: no day of any year fits its day, month and weekday together"
    )
