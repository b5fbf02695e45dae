"""What the options of ``jobtrail schedules add`` and ``edit`` say, as the words of a schedule."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any
from zoneinfo import ZoneInfo

import typer

from jobtrail.messages import Message

if TYPE_CHECKING:
    from datetime import datetime

_LENGTH = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw]?)", re.ASCII)
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}

TzOption = Annotated[str | None, typer.Option("--tz", metavar="ZONE", help="help.schedules-tz")]
ArgOption = Annotated[
    list[str] | None, typer.Option("--arg", "-a", metavar="K=V", help="help.schedules-arg")
]
SourceOption = Annotated[str | None, typer.Option("--source", help="help.source")]
PeriodOption = Annotated[
    str | None, typer.Option("--period", metavar="RULE", help="help.schedules-period")
]
LabelOption = Annotated[list[str] | None, typer.Option("--label", "-l", metavar="K=V", help="help.label")]
QueueOption = Annotated[str | None, typer.Option("--queue", help="help.queue")]
PriorityOption = Annotated[int | None, typer.Option("--priority", help="help.priority")]
CatchUpOption = Annotated[str | None, typer.Option("--catch-up", help="help.schedules-catch-up")]
WindowOption = Annotated[
    str | None, typer.Option("--window", metavar="LENGTH", help="help.schedules-window")
]
GraceOption = Annotated[
    str | None, typer.Option("--grace", metavar="LENGTH", help="help.schedules-grace")
]
OverlapOption = Annotated[
    str | None,
    typer.Option("--overlap", help="help.schedules-overlap"),
]
JitterOption = Annotated[str | None, typer.Option("--jitter", metavar="LENGTH", help="help.schedules-jitter")]
DelayOption = Annotated[str | None, typer.Option("--delay", metavar="LENGTH", help="help.schedules-delay")]
FailuresOption = Annotated[
    int | None, typer.Option("--pause-after-failures", metavar="N", help="help.schedules-pause-after-failures")
]
EndsOption = Annotated[str | None, typer.Option("--ends-at", metavar="TIME", help="help.schedules-ends-at")]
RunsOption = Annotated[int | None, typer.Option("--max-runs", metavar="N", help="help.schedules-max-runs")]
DoneOption = Annotated[
    str | None, typer.Option("--if-done", help="help.schedules-if-done")
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
        raise UsageError(Message("cli.not-a-duration", option=option, text=text))
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
        raise UsageError(Message("cli.not-a-time", option=option, text=text)) from None
    return read if read.tzinfo is not None else read.replace(tzinfo=ZoneInfo(zone))


def zone_of_rule(tz: str | None) -> str:
    """The zone that was given, as far as it is one."""
    from jobtrail.schedules.rules.zones import zone_name

    return zone_name(tz)


