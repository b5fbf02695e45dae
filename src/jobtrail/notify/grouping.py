"""From events to deliveries: which event goes into which message. Pure: decided from values, written by `store`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from .rules import AlertRule, Occurrence

Target = tuple[str, str]  # rule and channel
Problem = tuple[str, str]  # kind and subject

# The end of each problem of a subject whose kind begins alike: ``module.recovered`` ends ``module.error`` and ``module.warning``.
RECOVERED = ".recovered"
# Events that are over when they are told: nothing comes later that resolves them.
OVER_AT_ONCE = ("schedule.missed", "worker.lost", "module.flapping")


@dataclass(frozen=True, slots=True)
class EventTold:
    """One event in one message: of the rule, to the channel."""

    rule: str
    channel: str
    event: int


@dataclass(slots=True)
class Grouping:
    """What a batch of events means.

    Attributes:
        told: Which event is told by which rule on which channel.
        due: When the message of a rule and channel is sent that begins with this batch.
        closes: Problems that were open before and are over.
        opens: Numbers of the events that begin a problem which somebody is told about and which the batch does not end.
    """

    told: list[EventTold] = field(default_factory=list)
    due: dict[Target, datetime] = field(default_factory=dict)
    opens: list[int] = field(default_factory=list)
    closes: list[Problem] = field(default_factory=list)


def group(
    events: Sequence[Occurrence],
    rules: Sequence[AlertRule],
    now: datetime,
    *,
    open_told: Mapping[Problem, Collection[Target]],
    found: Mapping[str, Collection[str]],
) -> Grouping:
    """Decide what is told of a batch of events.

    An event joins the message of its rule and channel that is being collected, so that many at once are one message. The
    end of a problem is told where its beginning was told; where nobody was told, nobody hears of the end.

    Args:
        events: The events, in the order of the queue.
        rules: All rules.
        now: The time of the store.
        open_told: For each problem that is not over, the rules and channels that told it.
        found: For each ``where`` of a rule, the ids of the jobs that it finds among those of the events.
    """
    result = Grouping()
    opens: dict[Problem, list[int]] = {}
    known = {problem: set(targets) for problem, targets in open_told.items()}
    by_name = {rule.name: rule for rule in rules}
    for event in events:
        if event.ends:
            over = [problem for problem in known if _ends(event, problem)]
            begun = {target for problem in over for target in known.pop(problem)}
            targets = {(name, channel) for name, channel in begun if name in by_name and by_name[name].resolved}
            result.closes += over
            for problem in over:
                opens.pop(problem, None)
        else:
            allowing = [rule for rule in rules if rule.allows(event, found.get(rule.where, ()))]
            targets = {(rule.name, channel) for rule in allowing for channel in rule.channels}
            if targets and event.kind not in OVER_AT_ONCE:
                known.setdefault(event.problem, set()).update(targets)
                opens.setdefault(event.problem, []).append(event.id)
        for name, channel in sorted(targets):
            result.told.append(EventTold(name, channel, event.id))
            result.due.setdefault((name, channel), by_name[name].due(now))
    result.opens = sorted(number for numbers in opens.values() for number in numbers)
    return result


def _ends(event: Occurrence, problem: Problem) -> bool:
    kind, subject = problem
    family = event.kind.removesuffix(RECOVERED)
    return subject == event.subject and (kind == event.kind if family == event.kind else kind.startswith(f"{family}."))


@dataclass(frozen=True, slots=True)
class OpenProblem:
    """A problem that a rule told on a channel and that is not over."""

    rule: str
    channel: str
    event: int
    since: datetime


@dataclass(frozen=True, slots=True)
class ReminderGroup:
    """One message that repeats all open problems of a rule on a channel; ``key`` keeps it from being made twice."""

    rule: str
    channel: str
    key: str
    events: tuple[int, ...]


def reminders(problems: Sequence[OpenProblem], rules: Sequence[AlertRule], now: datetime) -> list[ReminderGroup]:
    """Decide which reminders are due: one message for all open problems of a rule and channel.

    After an outage only the newest reminder is sent, not all that were missed.

    Args:
        problems: The problems that are not over.
        rules: All rules.
        now: The time of the store.
    """
    by_target: dict[Target, list[OpenProblem]] = {}
    for one in problems:
        by_target.setdefault((one.rule, one.channel), []).append(one)
    found = []
    by_name = {rule.name: rule for rule in rules}
    for (name, channel), open_ones in sorted(by_target.items()):
        rule = by_name.get(name)
        first = min(open_ones, key=lambda one: (one.since, one.event))
        number = rule.reminder(first.since, now) if rule is not None and channel in rule.channels else 0
        if rule is None or number == 0:
            continue
        old = [one.event for one in open_ones if rule.reminder(one.since, now)]
        found.append(ReminderGroup(name, channel, f"again:{first.event}:{number}", tuple(sorted(old))))
    return found
