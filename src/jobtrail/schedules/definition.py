"""What a schedule is: its rule, what it submits, and how it treats the times that were missed; checked whole."""

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
class Definition:
    """A schedule as it was declared, or as it is with what a person changed.

    rule: when. args, source, period, labels, queue, priority: what is submitted; ``period`` is a rule such as
    "previous month", which the planned time turns into a period. catch_up: of the times that were missed longer ago
    than ``grace`` and not longer than ``window`` (seconds), one runs, or all, or none. overlap: what becomes of a
    time while the run before goes on. jitter: seconds by which a run may be put off; delay: seconds after which it
    starts at the earliest. if_done: what becomes of a period that is complete already.

    Raises: InvalidSchedule with what is wrong and what would be right.
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
        """Refuse what cannot be, and bring numbers to one form."""
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
        """The definition as JSON: what is not as by default."""
        told: dict[str, Any] = {"rule": self.rule.to_json()}
        for one in fields(self)[1:]:
            value = getattr(self, one.name)
            default = one.default if one.default is not MISSING else {}
            if value != default:
                told[one.name] = value.isoformat() if isinstance(value, datetime) else value
        return told

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Definition:
        """The definition that `to_json` wrote.

        Raises: InvalidSchedule when it is none, or one of a version that knows more.
        """
        if not isinstance(stored, Mapping) or "rule" not in stored:
            message = f"what is stored is no schedule: {str(stored)[:200]}"
            raise InvalidSchedule(message)
        values = {**stored, "rule": Rule.from_json(stored["rule"])}
        if isinstance(values.get("ends_at"), str):
            values["ends_at"] = _from_iso(values["ends_at"])
        return made(values)

    def with_changes(self, changes: Mapping[str, Any]) -> Definition:
        """A copy with some words changed, given as JSON values as `to_json` writes them."""
        return Definition.from_json({**self.to_json(), **changes}) if changes else self


WORDS = tuple(one.name for one in fields(Definition))
# As JSON; a rule has none.
DEFAULTS = {one.name: None if one.name == "rule" else {} if one.default is MISSING else one.default for one in fields(Definition)}


def made(values: Mapping[str, Any]) -> Definition:
    """A definition from words and values.

    Raises: InvalidSchedule for a word that there is not, with the words that there are.
    """
    unknown = sorted(set(values) - set(WORDS))
    if unknown:
        message = f"a schedule has no '{unknown[0]}'; it has: tz, name, {', '.join(WORDS)}"
        raise InvalidSchedule(message)
    return Definition(**values)


def declared(rule: Any, tz: Any = None, **options: Any) -> Definition:
    """A definition from what the program wrote; None stands for the default where a word has one.

    Raises: InvalidSchedule.
    """
    given = {name: value for name, value in options.items() if value is not None or name == "grace"}
    return made({**given, "rule": parse_rule(rule, tz)})


def check_for(definition: Definition, task: Task, limit: int) -> Definition:
    """The same, when the task takes its arguments.

    Raises: InvalidArguments when they do not fit the task or are no JSON; TooLarge.
    """
    args = task.signature.bind(task.name, (), definition.args)
    return replace(definition, args=json.loads(encode_arguments(args, limit)))


def json_of(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Changed words as JSON values."""
    told: dict[str, Any] = {}
    for name, value in changes.items():
        if isinstance(value, Rule):
            told[name] = value.to_json()
        elif isinstance(value, datetime):
            told[name] = value.isoformat()
        elif isinstance(value, timedelta):
            told[name] = value.total_seconds()
        else:
            told[name] = value
    return told


# -- checks ------------------------------------------------------------------------------------------


def _texts(given: Definition) -> None:
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
