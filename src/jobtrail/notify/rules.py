"""Rules: which events are told on which channels, when, and in which words. Pure: no database, no clock of their own."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from jobtrail.errors import InvalidFilter, InvalidOption
from jobtrail.messages import Message
from jobtrail.schedules.rules.zones import zone_name
from jobtrail.store.search.grammar import parse

INBOX = "inbox"
GROUP = 30.0  # seconds that an event waits for others, so that many at once are one message
BEFORE = 3600.0  # seconds before its deadline that a question is told
DEADLINE, SILENT, INTERRUPTED = "question.deadline", "task.silent", "job.interrupted"
OF_JOBS = ("job.", "question.")
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,49}")
_PATTERN = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*(\.\*)?|\*")
_QUIET = re.compile(r"(\d\d:\d\d)\s*-\s*(\d\d:\d\d)(?:\s+(\S+))?")


@dataclass(frozen=True, slots=True)
class Occurrence:
    """An event as rules see it; ``id`` is its number in the queue."""

    id: int
    kind: str
    subject: str
    resolved: bool
    facts: Mapping[str, Any]
    at: datetime

    @property
    def problem(self) -> tuple[str, str]:
        """What it is about; a resolved event has the same as the one that it ends."""
        return self.kind, self.subject

    @property
    def ends(self) -> bool:
        """Whether it ends a problem and begins none."""
        return self.resolved or self.kind.endswith(".recovered")

    @property
    def job(self) -> str | None:
        """The id of its job, for events of jobs and questions."""
        found = self.facts.get("job")
        return found if isinstance(found, str) and self.kind.startswith(OF_JOBS) else None


@dataclass(frozen=True, slots=True)
class QuietHours:
    """A span of each day in which nothing is sent; what happens in it is told at its end, in one message.

    Args:
        start: Local time at which it begins.
        end: Local time at which it ends; before ``start`` it is on the next day.
        zone: Time zone of both.
    """

    start: time
    end: time
    zone: str = "UTC"

    @classmethod
    def parse(cls, text: str) -> QuietHours:
        """Read ``"22:00-07:00 Europe/Berlin"``; without a zone it is UTC.

        Raises:
            InvalidOption: If it is not such a span.
            InvalidSchedule: If there is no such time zone.
        """
        found = _QUIET.fullmatch(text.strip()) if isinstance(text, str) else None
        if found is None or found[1] == found[2]:
            raise InvalidOption(Message("notify.bad-quiet", value=repr(text)))
        try:
            start, end = time.fromisoformat(found[1]), time.fromisoformat(found[2])
        except ValueError:
            raise InvalidOption(Message("notify.bad-quiet", value=repr(text))) from None
        return cls(start, end, zone_name(found[3]))

    def end_after(self, moment: datetime) -> datetime:
        """Return the end of the quiet hours that a moment is in, or the moment itself, in UTC."""
        zone = ZoneInfo(self.zone)
        here = moment.astimezone(zone)
        now = here.time()
        over_midnight = self.end < self.start
        inside = now >= self.start or now < self.end if over_midnight else self.start <= now < self.end
        if not inside:
            return moment
        day = here.date() + timedelta(days=1 if over_midnight and now >= self.start else 0)
        end = datetime.combine(day, self.end, zone).astimezone(UTC)
        # Clocks that are put back show the end twice; the first one may be over.
        return end if end > moment else datetime.combine(day, self.end, zone).replace(fold=1).astimezone(UTC)


@dataclass(frozen=True, slots=True)
class AlertRule:
    """Which events are told, on which channels, when and how.

    Args:
        name: Its name: lower-case letters, digits, ``_``, ``.`` and ``-``.
        kinds: Kinds of events, such as ``"module.error"`` or ``"job.*"``.
        channels: Names of channels; each gets a message of its own.
        where: Filter in the search grammar, for events of jobs and questions: ``"task:sync_* -source:test"``.
        subjects: Subjects that are told, ``*`` at the end stands for any rest; empty for all.
        text: Text of one event, with ``{subject}``, ``{kind}``, ``{at}`` and the names of its facts; default: a sentence.
        resolved: Whether the end of a problem is told too; a text says how.
        quiet: Quiet hours, such as ``"22:00-07:00 Europe/Berlin"``.
        group: Seconds that the first event waits for others, which are then told in the same message.
        remind: Seconds after which a problem that is not over is told again, and again.
        times: For ``job.interrupted``: how often the job must have been interrupted.
        before: For ``question.deadline``: seconds before the deadline.
        task: For ``task.silent``: the task.
        since: For ``task.silent``: seconds in which no job of the task began.

    Raises:
        InvalidOption: If a value is not valid.

    Example:
        ```python
        AlertRule("night-load", kinds="job.failed", where="task:load_*", channels=["ops"], remind=3600)
        ```
    """

    name: str
    kinds: Sequence[str] | str
    channels: Sequence[str] | str = INBOX
    where: str = ""
    subjects: Sequence[str] | str = ()
    text: str | None = None
    resolved: bool | str = True
    quiet: QuietHours | str | None = None
    group: float = GROUP
    remind: float | None = None
    times: int = 1
    before: float = BEFORE
    task: str | None = None
    since: float | None = None
    _quiet: QuietHours | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check and normalise, before anything depends on it."""
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise InvalidOption(Message("notify.bad-rule-name", name=repr(self.name)))
        for option in ("kinds", "channels", "subjects"):
            object.__setattr__(self, option, _texts(self.name, option, getattr(self, option)))
        for kind in self.kinds:
            if not _PATTERN.fullmatch(kind):
                raise InvalidOption(Message("notify.bad-rule-kind", rule=self.name, kind=repr(kind)))
        for option in ("kinds", "channels"):
            if not getattr(self, option):
                raise InvalidOption(Message("notify.rule-without", rule=self.name, option=option))
        for option in ("group", "remind", "before", "since"):
            object.__setattr__(self, option, _seconds(self.name, option, getattr(self, option)))
        if isinstance(self.times, bool) or not isinstance(self.times, int) or self.times < 1:
            raise InvalidOption(Message("notify.bad-times", rule=self.name, value=repr(self.times)))
        quiet = QuietHours.parse(self.quiet) if isinstance(self.quiet, str) else self.quiet
        object.__setattr__(self, "_quiet", quiet)
        self._check_words()

    def _check_words(self) -> None:
        for option in ("text", "resolved"):
            value = getattr(self, option)
            if value is not None and not isinstance(value, bool) and not (isinstance(value, str) and value.strip()):
                raise InvalidOption(Message("notify.bad-text", rule=self.name, option=option, value=repr(value)))
        if self.where and not all(kind.startswith(OF_JOBS) for kind in self.kinds):
            raise InvalidOption(Message("notify.where-without-jobs", rule=self.name))
        try:
            parse(self.where)
        except InvalidFilter as error:
            raise InvalidOption(Message("notify.bad-where", rule=self.name, error=error)) from None
        if (SILENT in self.kinds) != (self.task is not None and self.since is not None):
            raise InvalidOption(Message("notify.silent-needs", rule=self.name))

    def wants(self, kind: str) -> bool:
        """Return whether the rule tells events of a kind."""
        return any(_fits(one, kind, ".") for one in self.kinds)

    def allows(self, event: Occurrence, found: Container[str] = ()) -> bool:
        """Return whether the rule tells an event that begins a problem.

        Args:
            event: The event.
            found: The ids of the jobs that ``where`` finds.
        """
        if not self.wants(event.kind):
            return False
        if self.subjects and not any(_fits(one, event.subject) for one in self.subjects):
            return False
        if self.where and event.job not in found:
            return False
        if event.kind == INTERRUPTED and event.facts.get("times", 1) < self.times:
            return False
        if event.kind == DEADLINE and event.facts.get("before") != self.before:
            return False
        return event.kind != SILENT or (event.subject, event.facts.get("since")) == (self.task, self.since)

    def due(self, now: datetime) -> datetime:
        """Return when a message that begins to collect events now is sent: after the window, and not in quiet hours."""
        return self.end_of_quiet(now + timedelta(seconds=self.group))

    def end_of_quiet(self, moment: datetime) -> datetime:
        """Return the end of the quiet hours that a moment is in, or the moment itself."""
        return moment if self._quiet is None else self._quiet.end_after(moment)

    def reminder(self, oldest: datetime, now: datetime) -> int:
        """Return how many reminders of a problem are due since it was told; 0 for none, also in quiet hours."""
        if self.remind is None or self.end_of_quiet(now) > now:
            return 0
        return max(0, int((now - oldest).total_seconds() // self.remind))


def _fits(pattern: str, value: str, mark: str = "") -> bool:
    if pattern.endswith(f"{mark}*"):
        return value.startswith(pattern[:-1])
    return pattern in {"*", value}


def _texts(rule: str, option: str, given: Any) -> tuple[str, ...]:
    found = (given,) if isinstance(given, str) else given
    if not isinstance(found, Sequence) or not all(isinstance(one, str) and one for one in found):
        raise InvalidOption(Message("notify.bad-list", rule=rule, option=option, value=f"{given!r:.100}"))
    return tuple(dict.fromkeys(found))


def _seconds(rule: str, option: str, given: Any) -> float | None:
    value = given.total_seconds() if isinstance(given, timedelta) else given
    if value is None and option in {"remind", "since"}:
        return None
    least = 0 if option == "group" else 1
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= 366 * 86_400:
        raise InvalidOption(Message("notify.bad-seconds", rule=rule, option=option, value=repr(given), least=least))
    return float(value)


# What is told unless the program says otherwise.
DEFAULT_RULE = AlertRule("modules", kinds=("module.error", "module.flapping"))
