"""What the options of ``jobtrail schedules add`` and ``edit`` say, as the words of a schedule."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any
from zoneinfo import ZoneInfo

import typer

if TYPE_CHECKING:
    from datetime import datetime

_LENGTH = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw]?)", re.ASCII)
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}

TzOption = Annotated[str | None, typer.Option("--tz", metavar="ZONE", help="Where the rule is read, as Europe/Berlin.")]
ArgOption = Annotated[
    list[str] | None, typer.Option("--arg", "-a", metavar="K=V", help="An argument of the task; JSON, else text.")
]
SourceOption = Annotated[str | None, typer.Option("--source", help="Where the data comes from.")]
PeriodOption = Annotated[
    str | None, typer.Option("--period", metavar="RULE", help="Of the planned time: 'previous month', 'current hour', ….")
]
LabelOption = Annotated[list[str] | None, typer.Option("--label", "-l", metavar="K=V", help="To search by.")]
QueueOption = Annotated[str | None, typer.Option("--queue", help="Another queue than the task's.")]
PriorityOption = Annotated[int | None, typer.Option("--priority", help="0 (most urgent) to 9.")]
CatchUpOption = Annotated[str | None, typer.Option("--catch-up", help="Of missed times: one (default), all or skip.")]
WindowOption = Annotated[
    str | None, typer.Option("--window", metavar="LENGTH", help="How far back it is made up for: 24h (default), 7d, ….")
]
GraceOption = Annotated[
    str | None, typer.Option("--grace", metavar="LENGTH", help="How late is in time: 60s (default), 15m, …, or none for any.")
]
OverlapOption = Annotated[
    str | None,
    typer.Option("--overlap", help="While the run before goes on: skip (default), queue, cancel_running or allow."),
]
JitterOption = Annotated[str | None, typer.Option("--jitter", metavar="LENGTH", help="Put off by up to so much.")]
DelayOption = Annotated[str | None, typer.Option("--delay", metavar="LENGTH", help="Start so much later.")]
FailuresOption = Annotated[
    int | None, typer.Option("--pause-after-failures", metavar="N", help="Pause after so many failures in a row.")
]
EndsOption = Annotated[str | None, typer.Option("--ends-at", metavar="TIME", help="The last moment.")]
RunsOption = Annotated[int | None, typer.Option("--max-runs", metavar="N", help="End after so many runs.")]
DoneOption = Annotated[
    str | None, typer.Option("--if-done", help="A period that is complete already: run (default) or skip.")
]


def words_of(said: dict[str, Any], zone: str) -> dict[str, Any]:
    """The words that were given, without those that were not; times without an offset are read in ``zone``.

    Raises: UsageError for what cannot be read.
    """
    from jobtrail.cli.commands.submit import _arguments, _pair

    words = {name: value for name, value in said.items() if value is not None and value != []}
    for name in ("window", "grace", "jitter", "delay"):
        if name in words:
            words[name] = length(f"--{name}", words[name], may_be_none=name == "grace")
    if "args" in words:
        words["args"] = _arguments(words["args"], None)
    if "labels" in words:
        words["labels"] = dict(_pair(one, "--label") for one in words["labels"])
    if "ends_at" in words:
        words["ends_at"] = moment("--ends-at", words["ends_at"], zone)
    return words


def length(option: str, text: str, *, may_be_none: bool = False) -> float | None:
    """A length of time in seconds: 90, 15m, 24h, 7d.

    Raises: UsageError.
    """
    from jobtrail.errors import UsageError

    if may_be_none and text == "none":
        return None
    found = _LENGTH.fullmatch(text.strip())
    if found is None:
        message = f"{option} wants a length of time, as in 90s, 15m, 24h or 7d; it got '{text}'"
        raise UsageError(message)
    return float(found[1]) * _SECONDS[found[2]]


def moment(option: str, text: str, zone: str) -> datetime:
    """A moment; without an offset it is read in a zone.

    Raises: UsageError.
    """
    from datetime import datetime

    from jobtrail.errors import UsageError

    try:
        read = datetime.fromisoformat(text.strip())
    except ValueError:
        message = f"{option} wants a moment, as in 2030-01-31T03:00 or 2030-01-31T03:00+03:00; it got '{text}'"
        raise UsageError(message) from None
    return read if read.tzinfo is not None else read.replace(tzinfo=ZoneInfo(zone))


def zone_of_rule(tz: str | None) -> str:
    """The zone that was given, as far as it is one."""
    from jobtrail.schedules.rules.zones import zone_name

    return zone_name(tz)


