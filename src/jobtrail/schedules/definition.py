"""The definition of a schedule: its rule, what it submits, and how it treats missed times; checked as a whole."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from jobtrail.errors import InvalidPeriod, InvalidSchedule
from jobtrail.job.json_value import encode_arguments
from jobtrail.job.period import in_our_time, periods_from_rule
from jobtrail.job.task import choice_option, labels_option, name_option, priority_option

from .rules.rules import Rule, parse_rule

if TYPE_CHECKING:
    from jobtrail.job.task import Task

CATCH_UP = ("one", "all", "skip")
OVERLAP = ("skip", "queue", "cancel_running", "allow")
IF_DONE = ("run", "skip")
DAY = 86_400.0
LONGEST = 100 * 366 * DAY  # seconds
NAMES = ("source", "queue")


@dataclass(frozen=True, slots=True)
class ScheduleDefinition:
    """A schedule as declared, or with the edits of a person.

    Args:
        rule: when it runs.
        args: the task's arguments by name.
        source: of the job.
        period: a rule such as "previous month"; the planned time decides which period that is.
        labels: of the job.
        queue: of the job; None for the task's own.
        priority: of the job; None for the task's own.
        catch_up: of the planned times that are late by more than ``grace`` and at most ``window``: "one" runs, "all"
            run, or "skip".
        window: seconds; older times are not caught up.
        grace: seconds of lateness that still count as on time; None for any lateness within the window.
        overlap: what happens at a planned time while the last job is active: "skip", "queue", "cancel_running", "allow".
        jitter: seconds; each run is delayed by 0 to that much.
        delay: seconds between the planned time and the earliest start of the job.
        pause_after_failures: failures in a row after which the schedule pauses.
        ends_at: no run is planned after this moment.
        max_runs: runs after which the schedule is finished.
        if_done: "run" or "skip" a period that is already complete.

    Raises:
        InvalidSchedule: if an option is not valid.
    """

    rule: Rule
    args: Mapping[str, Any] = field(default_factory=dict)
    source: str | None = None
    period: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    queue: str | None = None
    priority: int | None = None
    catch_up: str = "one"
    window: float = DAY
    grace: float | None = 60.0
    overlap: str = "skip"
    jitter: float = 0.0
    delay: float = 0.0
    pause_after_failures: int | None = None
    ends_at: datetime | None = None
    max_runs: int | None = None
    if_done: str = "run"

    def __post_init__(self) -> None:
        """Check all options and convert durations to seconds."""
        _texts(self)
        for name, least in (("window", 1.0), ("grace", 1.0), ("jitter", 0.0), ("delay", 0.0)):
            object.__setattr__(self, name, _seconds(name, getattr(self, name), least))
        for name in ("pause_after_failures", "max_runs"):
            _count(name, getattr(self, name))
        if self.ends_at is not None:
            object.__setattr__(self, "ends_at", _moment("ends_at", self.ends_at))
        if self.period is not None:
            _period_rule(self.period, self.rule.zone)

    def to_json(self) -> dict[str, Any]:
        """Return the definition as JSON values, without options that have their default."""
        stored: dict[str, Any] = {"rule": self.rule.to_json()}
        for one in fields(self)[1:]:
            value = getattr(self, one.name)
            default = one.default if one.default is not MISSING else {}
            if value != default:
                stored[one.name] = value.isoformat() if isinstance(value, datetime) else value
        return stored

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> ScheduleDefinition:
        """Return the definition that `to_json` wrote.

        Raises:
            InvalidSchedule: if the value is not a definition, or was written by a newer version.
        """
        if not isinstance(stored, Mapping) or "rule" not in stored:
            message = f"what is stored is no schedule: {str(stored)[:200]}"
            raise InvalidSchedule(message)
        values = {**stored, "rule": Rule.from_json(stored["rule"])}
        if isinstance(values.get("ends_at"), str):
            values["ends_at"] = _from_iso(values["ends_at"])
        return made(values)

    def with_changes(self, changes: Mapping[str, Any]) -> ScheduleDefinition:
        """Return a copy with some options changed, given as JSON values as `to_json` writes them."""
        return ScheduleDefinition.from_json({**self.to_json(), **changes}) if changes else self


WORDS = tuple(one.name for one in fields(ScheduleDefinition))
# As JSON values; a rule has no default.
DEFAULTS = {one.name: None if one.name == "rule" else {} if one.default is MISSING else one.default for one in fields(ScheduleDefinition)}


def made(values: Mapping[str, Any]) -> ScheduleDefinition:
    """Return a definition from option names and values.

    Raises:
        InvalidSchedule: if there is no such option, or a value is not valid.
    """
    unknown = sorted(set(values) - set(WORDS))
    if unknown:
        message = f"a schedule has no '{unknown[0]}'; it has: tz, name, {', '.join(WORDS)}"
        raise InvalidSchedule(message)
    return ScheduleDefinition(**values)


def declared(rule: Any, tz: Any = None, **options: Any) -> ScheduleDefinition:
    """Return a definition from options as the program wrote them. None means the default, except for ``grace``.

    Raises:
        InvalidSchedule: if rule or options are not valid.
    """
    given = {name: value for name, value in options.items() if value is not None or name == "grace"}
    return made({**given, "rule": parse_rule(rule, tz)})


def check_for(definition: ScheduleDefinition, task: Task, limit: int) -> ScheduleDefinition:
    """Return the definition with its arguments bound to the task, as JSON values.

    Raises:
        InvalidArguments: if the task does not take the arguments, or they are not JSON.
        TooLarge: if they have more than ``limit`` bytes.
    """
    args = task.signature.bind(task.name, (), definition.args)
    return replace(definition, args=json.loads(encode_arguments(args, limit)))


def json_of(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return changed options as JSON values."""
    values: dict[str, Any] = {}
    for name, value in changes.items():
        if isinstance(value, Rule):
            values[name] = value.to_json()
        elif isinstance(value, datetime):
            values[name] = value.isoformat()
        elif isinstance(value, timedelta):
            values[name] = value.total_seconds()
        else:
            values[name] = value
    return values


# -- checks ------------------------------------------------------------------------------------------


def _texts(given: ScheduleDefinition) -> None:
    if not isinstance(given.rule, Rule):
        raise InvalidSchedule("a schedule needs a rule of time")
    choice_option("catch_up", given.catch_up, CATCH_UP)
    choice_option("overlap", given.overlap, OVERLAP)
    choice_option("if_done", given.if_done, IF_DONE)
    for name in NAMES:
        if getattr(given, name) is not None:
            name_option(name, getattr(given, name))
    if given.priority is not None:
        priority_option(given.priority)
    if not isinstance(given.args, Mapping) or not all(isinstance(key, str) for key in given.args):
        message = f"args of a schedule are the task's arguments by name; {type(given.args).__name__} are none"
        raise InvalidSchedule(message)
    labels_option(given.labels)


def _seconds(name: str, value: Any, least: float) -> float | None:
    if value is None and name == "grace":
        return None
    if isinstance(value, timedelta):
        value = value.total_seconds()
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= LONGEST:
        why = "; no clock fires without any delay, so less would miss every time" if name == "grace" else ""
        message = f"{name} is a number of seconds from {least:g} on, or a timedelta; {str(value)[:60]} is none{why}"
        raise InvalidSchedule(message)
    return float(value)


def _count(name: str, value: Any) -> None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        message = f"{name} is a whole number from 1 on; {str(value)[:60]} is none"
        raise InvalidSchedule(message)


def _moment(name: str, value: Any) -> datetime:
    moment = in_our_time(value)
    if moment is None:
        message = (
            f"{name} is a datetime with a zone, such as datetime(2030, 1, 1, tzinfo=UTC), in the years 1900 to 2999; "
            f"{str(value)[:60]!r} is none"
        )
        raise InvalidSchedule(message)
    return moment


def _from_iso(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        message = f"{text[:60]!r} is no moment: write it as 2030-01-31T03:00+03:00"
        raise InvalidSchedule(message) from None


def _period_rule(text: Any, zone: str) -> None:
    try:
        periods_from_rule(text, datetime(2026, 6, 15, 12, tzinfo=UTC), zone)
    except InvalidPeriod as error:
        message = f"the period of a schedule is a rule: {error}"
        raise InvalidSchedule(message) from None
