"""The options of ``jobtrail schedules add`` and ``edit``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any
from zoneinfo import ZoneInfo

import typer

from jobtrail.cli.commands.submit import ActorOption, ReasonOption, _pair, actor_or_me, arguments
from jobtrail.messages import Message

if TYPE_CHECKING:
    from datetime import datetime

    from jobtrail.job.task import Task

_LENGTH = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw]?)", re.ASCII)
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}

_Text, _Texts, _Whole = str | None, list[str] | None, int | None

# The options of `schedules add` and `schedules edit`, by the names that a schedule gives them.
OPTIONS: dict[str, Any] = {
    "tz": Annotated[_Text, typer.Option("--tz", metavar="ZONE", help="help.schedules-tz")],
    "args": Annotated[_Texts, typer.Option("--arg", "-a", metavar="K=V", help="help.schedules-arg")],
    "source": Annotated[_Text, typer.Option("--source", help="help.source")],
    "period": Annotated[_Text, typer.Option("--period", metavar="RULE", help="help.schedules-period")],
    "labels": Annotated[_Texts, typer.Option("--label", "-l", metavar="K=V", help="help.label")],
    "queue": Annotated[_Text, typer.Option("--queue", help="help.queue")],
    "priority": Annotated[_Whole, typer.Option("--priority", help="help.priority")],
    "catch_up": Annotated[_Text, typer.Option("--catch-up", help="help.schedules-catch-up")],
    "window": Annotated[_Text, typer.Option("--window", metavar="LENGTH", help="help.schedules-window")],
    "grace": Annotated[_Text, typer.Option("--grace", metavar="LENGTH", help="help.schedules-grace")],
    "overlap": Annotated[_Text, typer.Option("--overlap", help="help.schedules-overlap")],
    "jitter": Annotated[_Text, typer.Option("--jitter", metavar="LENGTH", help="help.schedules-jitter")],
    "delay": Annotated[_Text, typer.Option("--delay", metavar="LENGTH", help="help.schedules-delay")],
    "pause_after_failures": Annotated[
        _Whole, typer.Option("--pause-after-failures", metavar="N", help="help.schedules-pause-after-failures")
    ],
    "ends_at": Annotated[_Text, typer.Option("--ends-at", metavar="TIME", help="help.schedules-ends-at")],
    "max_runs": Annotated[_Whole, typer.Option("--max-runs", metavar="N", help="help.schedules-max-runs")],
    "if_done": Annotated[_Text, typer.Option("--if-done", help="help.schedules-if-done")],
    "actor": ActorOption,
    "reason": ReasonOption,
}


def options_of(given: dict[str, Any], zone: str, task: Task | None) -> dict[str, Any]:
    """Return the options of a schedule that were given, without its zone.

    Args:
        given: Values of `OPTIONS`; what was not given is None or empty.
        zone: The zone of times without an offset.
        task: The task, if it is known here: its parameters that are texts take a value as it is typed.

    Raises:
        UsageError: if a value cannot be read.
    """
    options = {name: value for name, value in given.items() if value not in (None, []) and name != "tz"}
    options["actor"] = actor_or_me(given["actor"])
    for name in ("window", "grace", "jitter", "delay"):
        if name in options:
            options[name] = length(f"--{name}", options[name], may_be_none=name == "grace")
    if "args" in options:
        options["args"] = arguments(options["args"], None, task.signature.texts if task is not None else {})
    if "labels" in options:
        options["labels"] = dict(_pair(one, "--label") for one in options["labels"])
    if "ends_at" in options:
        options["ends_at"] = moment("--ends-at", options["ends_at"], zone)
    return options


def length(option: str, text: str, *, may_be_none: bool = False) -> float | None:
    """Return a duration in seconds: 90, 15m, 24h, 7d.

    Raises:
        UsageError: if it is not a duration.
    """
    from jobtrail.errors import UsageError

    if may_be_none and text == "none":
        return None
    found = _LENGTH.fullmatch(text.strip())
    if found is None:
        raise UsageError(Message("cli.not-a-duration", option=option, text=text))
    return float(found[1]) * _SECONDS[found[2]]


def moment(option: str, text: str, zone: str) -> datetime:
    """Return a time; without an offset it is in the zone.

    Raises:
        UsageError: if it is not a time.
    """
    from datetime import datetime

    from jobtrail.errors import UsageError

    try:
        read = datetime.fromisoformat(text.strip())
    except ValueError:
        raise UsageError(Message("cli.not-a-time", option=option, text=text)) from None
    return read if read.tzinfo is not None else read.replace(tzinfo=ZoneInfo(zone))


def zone_of_rule(tz: str | None) -> str:
    """Return the name of a zone; without one it is UTC."""
    from jobtrail.schedules.rules.zones import zone_name

    return zone_name(tz)
