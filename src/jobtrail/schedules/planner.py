"""What becomes of the planned times that have come: which run, which are missed and why, and when the next one is. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from .rules.rules import jittered

if TYPE_CHECKING:
    from .definition import Definition
    from .rules.rules import Rule

MOST = 1000  # rows of missed times for one outage of one schedule; what is older is told in one row
AT_ONCE = 100  # runs of one schedule in one turn
LOOK_AGAIN = timedelta(seconds=1)  # at a time that waits for the run before it
DOWN, PAUSED, OVERLAP_, TOO_LATE, UNKNOWN = "down", "paused", "overlap", "too late", "task unknown"


@dataclass(frozen=True, slots=True)
class Standing:
    """How a schedule stands: ``next_at`` is the first planned time that nothing was done about.

    key: of its jitter. active: the job of the run before, if that goes on. held: the time waited for it already.
    paused_from, paused_until: the span of its last pause; paused: it is in it now. unknown: nobody knew its task.
    """

    definition: Definition
    rule: Rule
    key: str
    next_at: datetime
    runs: int = 0
    active: str | None = None
    held: bool = False
    paused: bool = False
    paused_from: datetime | None = None
    paused_until: datetime | None = None
    unknown: bool = False

    def due(self, planned: datetime) -> datetime:
        """When a planned time is run: put off by the jitter."""
        return jittered(planned, self.definition.jitter, self.key)


@dataclass(frozen=True, slots=True)
class Missed:
    """A planned time that does not run; with ``through`` it stands for all up to that moment."""

    planned: datetime
    reason: str
    through: datetime | None = None
    in_way: str | None = None


@dataclass(slots=True)
class Plan:
    """What is to be done now. ``next_at`` None: the schedule is over. ``waits``: its next time waits for the run before."""

    fires: list[datetime] = field(default_factory=list)
    missed: list[Missed] = field(default_factory=list)
    next_at: datetime | None = None
    due_at: datetime | None = None
    waits: bool = False
    cancel: str | None = None


def plan(standing: Standing, now: datetime) -> Plan:
    """What becomes of every planned time from ``next_at`` to ``now``, in the order of time."""
    if _still_waits(standing):
        return Plan(next_at=standing.next_at, due_at=now + LOOK_AGAIN, waits=True)
    made = Plan()
    come, following = _come(standing, now, made)
    able = _not_paused(standing, come, made)
    chosen = _made_up(standing, able, now, made)
    kept = _beside_others(standing, chosen, now, made)
    made.missed.sort(key=_planned)
    made.next_at = kept or following
    _end_with_the_last_run(standing, made)
    if made.next_at is not None:
        made.due_at = now + LOOK_AGAIN if made.waits else standing.due(made.next_at)
    return made


def first_after(standing: Standing, moment: datetime) -> datetime | None:
    """The first planned time after a moment, as long as the schedule goes on."""
    return _within(standing, standing.rule.next_after(moment))


def _within(standing: Standing, found: datetime | None) -> datetime | None:
    ends = standing.definition.ends_at
    return None if found is None or (ends is not None and found > ends) else found


def _still_waits(standing: Standing) -> bool:
    """What came meanwhile is told when the wait is over."""
    definition = standing.definition
    in_line = definition.overlap == "queue" or definition.catch_up == "all"
    return standing.held and standing.active is not None and in_line and not standing.paused


def _end_with_the_last_run(standing: Standing, made: Plan) -> None:
    most = standing.definition.max_runs
    if most is None or standing.runs + len(made.fires) < most:
        return
    made.fires = made.fires[: max(0, most - standing.runs)]
    made.missed = [one for one in made.missed if made.fires and one.planned < made.fires[-1]]
    made.next_at, made.waits = None, False


# -- which times have come ---------------------------------------------------------------------------


def _come(standing: Standing, now: datetime, made: Plan) -> tuple[list[datetime], datetime | None]:
    """The planned times up to now, and the one after them. Those before the window are missed; what is too much is told in one."""
    end = min(now, standing.definition.ends_at or now)
    edge = now - timedelta(seconds=standing.definition.window)
    first = standing.next_at
    found, start = [first], first
    if first < edge and not standing.held:
        _tell_old(standing, first, min(edge, end), made)
        found, start = [], edge
    if standing.definition.catch_up == "all":
        more, following = _walk(standing.rule, start, end, AT_ONCE)
    else:
        more, cut, following = newest_between(standing.rule, start, end)
        if cut is not None:
            from_ = found[0] if found and not standing.held else standing.rule.next_after(start) or start
            made.missed.append(Missed(from_, _why(standing, from_), cut))
            found = found if standing.held else []
    found += more
    come = [one for one in found if standing.due(one) <= now]
    return come, found[len(come)] if len(come) < len(found) else _within(standing, following)


def _tell_old(standing: Standing, first: datetime, until: datetime, made: Plan) -> None:
    """Before the window: each is told, as far as that is not too much."""
    newest, cut, _ = newest_between(standing.rule, first, until)
    made.missed.append(Missed(first, _why_old(standing, first), cut))
    made.missed += [Missed(one, _why_old(standing, one)) for one in newest]


def _walk(rule: Rule, after: datetime, until: datetime, most: int) -> tuple[list[datetime], datetime | None]:
    """The first ``most`` moments in (after, until], and the one that follows them."""
    found: list[datetime] = []
    at = rule.next_after(after)
    while at is not None and at <= until and len(found) < most:
        found.append(at)
        at = rule.next_after(at)
    return found, at


def newest_between(
    rule: Rule, after: datetime, until: datetime
) -> tuple[list[datetime], datetime | None, datetime | None]:
    """The moments in (after, until]; of too many the newest, and the moment up to which they are left out; and the one that follows."""
    found, following = _walk(rule, after, until, MOST + 1)
    if len(found) <= MOST:
        return found, None, following
    low, high = after, until
    while len(found) > MOST or len(found) < MOST // 2:
        middle = low + (high - low) / 2
        found, following = _walk(rule, middle, until, MOST + 1)
        if len(found) > MOST:
            low = middle
        else:
            high = middle
    return found, high, following


# -- which of them run -------------------------------------------------------------------------------


def _not_paused(standing: Standing, come: list[datetime], made: Plan) -> list[datetime]:
    able = [] if standing.paused else [one for one in come if not _in_pause(standing, one)]
    made.missed += [Missed(one, _why(standing, one)) for one in come if standing.paused or _in_pause(standing, one)]
    return able


def _made_up(standing: Standing, able: list[datetime], now: datetime, made: Plan) -> list[datetime]:
    """Those that run as far as lateness has a say: what is in time runs, of the late ones what ``catch_up`` says."""
    catch_up = standing.definition.catch_up
    if catch_up == "all" or not able:
        return able
    if standing.held:
        newest = standing.definition.overlap == "cancel_running"
        chosen = able[-1:] if newest else able[:1]
    else:
        chosen = [one for one in able if not is_late(standing, one, now)]
        if not chosen and catch_up == "one":
            chosen = able[-1:]
    made.missed += [Missed(one, _why(standing, one)) for one in able if one not in chosen]
    return chosen


def is_late(standing: Standing, planned: datetime, now: datetime) -> bool:
    """Later than the schedule's grace allows."""
    grace = standing.definition.grace
    return grace is not None and now - standing.due(planned) > timedelta(seconds=grace)


def _beside_others(standing: Standing, chosen: list[datetime], now: datetime, made: Plan) -> datetime | None:
    """What runs beside the run before and beside each other; the first time that has to wait, if any."""
    overlap = standing.definition.overlap
    if overlap == "allow" or not chosen:
        made.fires, rest = chosen[:AT_ONCE], chosen[AT_ONCE:]
        return rest[0] if rest else None
    if overlap == "cancel_running":
        chosen = _newest_alone(standing, chosen, made)
        made.cancel = standing.active
    if standing.active is None:
        made.fires, chosen = chosen[:1], chosen[1:]
    for place, one in enumerate(chosen):
        if _waits(standing, one, now, place):
            made.waits = True
            return one
        made.missed.append(Missed(one, OVERLAP_, in_way=standing.active))
    return None


def _newest_alone(standing: Standing, chosen: list[datetime], made: Plan) -> list[datetime]:
    made.missed += [Missed(one, OVERLAP_, in_way=standing.active) for one in chosen[:-1]]
    return chosen[-1:]


def _waits(standing: Standing, planned: datetime, now: datetime, place: int) -> bool:
    """Missed times that are all made up for come one after the other, whatever ``overlap`` says of those in time."""
    definition = standing.definition
    if definition.overlap in {"queue", "cancel_running"}:
        return place == 0 or definition.catch_up == "all"
    return definition.catch_up == "all" and (standing.held or is_late(standing, planned, now))


# -- why not -----------------------------------------------------------------------------------------


def _in_pause(standing: Standing, planned: datetime) -> bool:
    start, end = standing.paused_from, standing.paused_until
    return start is not None and planned >= start and (end is None or planned < end)


def _why(standing: Standing, planned: datetime) -> str:
    if _in_pause(standing, planned):
        return PAUSED
    if standing.unknown:
        return UNKNOWN
    return OVERLAP_ if standing.held else DOWN


def _why_old(standing: Standing, planned: datetime) -> str:
    why = _why(standing, planned)
    return TOO_LATE if why == DOWN else why


def _planned(missed: Missed) -> datetime:
    return missed.planned
