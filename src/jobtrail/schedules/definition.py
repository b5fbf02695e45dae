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
from jobtrail.messages import Message

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
        rule: When it runs.
        args: Arguments of the task, by name.
        source: Source of the job.
        period: A rule such as "previous month"; the planned time decides which period that is.
        labels: Labels of the job.
        queue: Queue of the job; None for the queue of the task.
        priority: Priority of the job; None for the priority of the task.
        catch_up: Which planned times run that are late by more than ``grace`` and at most ``window``: "one", "all" or
            none ("skip").
        window: Seconds; older times are not caught up.
        grace: Seconds of lateness that still count as on time; None for any lateness within the window.
        overlap: What happens at a planned time while the last job is active: "skip", "queue", "cancel_running", "allow".
        jitter: Seconds; each run is delayed by 0 to that much.
        delay: Seconds between the planned time and the earliest start of the job.
        pause_after_failures: Number of failures in a row after which the schedule pauses.
        ends_at: No run is planned after this moment.
        max_runs: Number of runs after which the schedule is finished.
        if_done: "run" or "skip" a period that is already complete.
        celery: How Celery is given the task; set by the scheduler of ``celery beat``, empty for tasks of jobtrail.

    Raises:
        InvalidSchedule: If an option is not valid.

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
    celery: Mapping[str, Any] = field(default_factory=dict)

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
            InvalidSchedule: If the value is not a definition, or was written by a newer version.
        """
        if not isinstance(stored, Mapping) or "rule" not in stored:
            raise InvalidSchedule(Message("schedules.not-a-definition", value=str(stored)[:200]))
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
        InvalidSchedule: If there is no such option, or a value is not valid.
    """
    unknown = sorted(set(values) - set(WORDS))
    if unknown:
        raise InvalidSchedule(Message("schedules.unknown-option", name=unknown[0], known=["tz", "name", *WORDS]))
    return ScheduleDefinition(**values)


def declared(rule: Any, tz: Any = None, **options: Any) -> ScheduleDefinition:
    """Return a definition from options as the program wrote them. None means the default, except for ``grace``.

    Raises:
        InvalidSchedule: If the rule or an option is not valid.
    """
    given = {name: value for name, value in options.items() if value is not None or name == "grace"}
    return made({**given, "rule": parse_rule(rule, tz)})


def check_for(definition: ScheduleDefinition, task: Task, limit: int) -> ScheduleDefinition:
    """Return the definition with its arguments bound to the task, as JSON values.

    Raises:
        InvalidArguments: If the task does not take the arguments, or they are not JSON.
        TooLarge: If they have more than ``limit`` bytes.
    """
    args = task.signature.accept(task.name, (), definition.args)
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
        raise InvalidSchedule(Message("rules.not-a-rule", value=repr(given.rule)[:60]))
    choice_option("catch_up", given.catch_up, CATCH_UP)
    choice_option("overlap", given.overlap, OVERLAP)
    choice_option("if_done", given.if_done, IF_DONE)
    for name in NAMES:
        if getattr(given, name) is not None:
            name_option(name, getattr(given, name))
    if given.priority is not None:
        priority_option(given.priority)
    if not isinstance(given.args, Mapping) or not all(isinstance(key, str) for key in given.args):
        raise InvalidSchedule(Message("schedules.args-not-by-name", value=repr(given.args)[:60]))
    labels_option(given.labels)


def _seconds(name: str, value: Any, least: float) -> float | None:
    if value is None and name == "grace":
        return None
    if isinstance(value, timedelta):
        value = value.total_seconds()
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= LONGEST:
        code = "schedules.grace-too-short" if name == "grace" else "schedules.not-seconds"
        raise InvalidSchedule(Message(code, name=name, least=least, value=repr(value)[:60]))
    return float(value)


def _count(name: str, value: Any) -> None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise InvalidSchedule(Message("rules.not-whole", name=name, least=1, value=repr(value)[:60]))


def _moment(name: str, value: Any) -> datetime:
    moment = in_our_time(value)
    if moment is None:
        raise InvalidSchedule(Message("schedules.not-in-our-time", name=name, value=repr(str(value)[:60])))
    return moment


def _from_iso(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise InvalidSchedule(Message("schedules.not-a-moment", text=repr(text[:60]))) from None


def _period_rule(text: Any, zone: str) -> None:
    try:
        periods_from_rule(text, datetime(2026, 6, 15, 12, tzinfo=UTC), zone)
    except InvalidPeriod as error:
        raise InvalidSchedule(Message("schedules.bad-period", error=error)) from None
