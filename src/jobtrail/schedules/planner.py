"""The planner: load due schedules and decide which planned times run, which are missed, and when the next one is.

`plan` decides and is pure; `Planner` reads what it needs from the store.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from jobtrail.messages import Message
from jobtrail.store import schedules

from .state import StateReader

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

    from jobtrail.job.task import Task, Tasks
    from jobtrail.store import Store
    from jobtrail.store.schedules import ScheduleRow

    from .rules.rules import Rule
    from .state import LastRun, ScheduleState

SCHEDULES_AT_ONCE = 1000  # schedules in one turn; the rest follows in the next turn
MOST_MISSED = 1000  # slot rows for one outage of one schedule; older times share one row
RUNS_AT_ONCE = 100  # jobs of one schedule in one turn
RECHECK = timedelta(seconds=1)  # until a time that waits for the active job is looked at again
# Why a planned time does not run, as stored.
DOWN = Message("schedules.slot-down").stored
PAUSED = Message("schedules.slot-paused").stored
OVERLAP = Message("schedules.slot-overlap").stored
TOO_LATE = Message("schedules.slot-too-late").stored
UNKNOWN = Message("schedules.slot-task-unknown").stored
COMPLETE = Message("schedules.slot-complete").stored


@dataclass(frozen=True, slots=True)
class MissedTime:
    """A planned time that does not run.

    Args:
        planned: The planned time.
        reason: Why it does not run, as stored.
        through: If set, it stands for all planned times up to this one.
        in_way: Id of the job that prevented it.

    """

    planned: datetime
    reason: str
    through: datetime | None = None
    in_way: str | None = None


@dataclass(slots=True)
class SchedulePlan:
    """What one turn does for a schedule.

    Args:
        fires: Planned times to submit.
        missed: Planned times that do not run.
        next_at: The next planned time; None when the schedule is finished.
        due_at: When the schedule is due again.
        waits: ``next_at`` waits for the active job.
        cancel: Id of a job to cancel first.

    """

    fires: list[datetime] = field(default_factory=list)
    missed: list[MissedTime] = field(default_factory=list)
    next_at: datetime | None = None
    due_at: datetime | None = None
    waits: bool = False
    cancel: str | None = None


@dataclass(slots=True)
class DueSchedule:
    """A schedule that is due, with its plan."""

    row: ScheduleRow
    task: Task
    state: ScheduleState
    last: LastRun
    plan: SchedulePlan


@dataclass(frozen=True, slots=True)
class UnreadableSchedule:
    """A schedule whose definition cannot be read or planned, and the error."""

    row: ScheduleRow
    error: Exception


@dataclass(frozen=True, slots=True)
class DueSchedules:
    """The result of `Planner.load`; ``wait`` is the number of seconds until the next schedule is due, None if there is none."""

    due: list[DueSchedule]
    unreadable: list[UnreadableSchedule]
    wait: float | None


class Planner:
    """Loads due schedules and decides what to run."""

    def __init__(self, store: Store, tasks: Tasks) -> None:
        self._store = store
        self._tasks = tasks
        self._states = StateReader()

    def load(self, tasks: Sequence[str], now: datetime) -> DueSchedules:
        """Return the due schedules of these tasks, each with its plan.

        Args:
            tasks: Names of the tasks that this process decides for.
            now: Time of the turn (UTC).

        Raises:
            StoreUnavailable: If the database is not reachable.
        """
        with self._store.read() as conn:
            rows = schedules.due(conn, tasks, now, SCHEDULES_AT_ONCE)
            due, unreadable = self._plan_each(conn, rows, now)
            later = now if len(rows) == SCHEDULES_AT_ONCE else schedules.next_due(conn, tasks, now)
        times = [one.plan.due_at for one in due if one.plan.due_at is not None]
        first = min([*times, *([later] if later else [])], default=None)
        wait = None if first is None else max(0.0, (first - now).total_seconds())
        return DueSchedules(due, unreadable, wait)

    def _plan_each(
        self, conn: Connection, rows: Sequence[ScheduleRow], now: datetime
    ) -> tuple[list[DueSchedule], list[UnreadableSchedule]]:
        job_states = schedules.states_of_jobs(conn, [row.last_job for row in rows if row.last_job is not None])
        due: list[DueSchedule] = []
        unreadable: list[UnreadableSchedule] = []
        for row in rows:
            try:
                due.append(self._plan_one(conn, row, job_states, now))
            except Exception as error:  # one bad row must not stop the others
                unreadable.append(UnreadableSchedule(row, error))
        return due, unreadable

    def _plan_one(
        self, conn: Connection, row: ScheduleRow, job_states: Mapping[str, str], now: datetime
    ) -> DueSchedule:
        state, last = self._states.read(conn, row, job_states, now)
        return DueSchedule(row, self._tasks.get(row.task), state, last, plan(state, now))


def plan(state: ScheduleState, now: datetime) -> SchedulePlan:
    """Decide about every planned time from ``state.next_at`` to ``now``, in order of time."""
    if _still_waits(state):
        return SchedulePlan(next_at=state.next_at, due_at=now + RECHECK, waits=True)
    made = SchedulePlan()
    reached, following = _reached(state, now, made)
    able = _not_paused(state, reached, made)
    chosen = _caught_up(state, able, now, made)
    kept = _beside_active_job(state, chosen, now, made)
    made.missed.sort(key=_planned)
    made.next_at = kept or following
    _end_with_the_last_run(state, made)
    if made.next_at is not None:
        made.due_at = now + RECHECK if made.waits else state.due(made.next_at)
    return made


def _still_waits(state: ScheduleState) -> bool:
    """Later planned times are handled when the wait is over."""
    definition = state.definition
    in_line = definition.overlap == "queue" or definition.catch_up == "all"
    return state.held and state.active is not None and in_line and not state.paused


def _end_with_the_last_run(state: ScheduleState, made: SchedulePlan) -> None:
    most = state.definition.max_runs
    if most is None or state.runs + len(made.fires) < most:
        return
    made.fires = made.fires[: max(0, most - state.runs)]
    made.missed = [one for one in made.missed if made.fires and one.planned < made.fires[-1]]
    made.next_at, made.waits = None, False


# -- which times are reached -------------------------------------------------------------------------


def _reached(state: ScheduleState, now: datetime, made: SchedulePlan) -> tuple[list[datetime], datetime | None]:
    """Return the planned times up to now, and the one after them.

    Times before the catch-up window are missed; if there are too many, one row stands for the oldest.
    """
    end = min(now, state.definition.ends_at or now)
    edge = now - timedelta(seconds=state.definition.window)
    first = state.next_at
    found, start = [first], first
    if first < edge and not state.held:
        _miss_before_window(state, first, min(edge, end), made)
        found, start = [], edge
    if state.definition.catch_up == "all":
        more, following = _walk(state.rule, start, end, RUNS_AT_ONCE)
    else:
        more, cut, following = newest_between(state.rule, start, end)
        if cut is not None:
            from_ = found[0] if found and not state.held else state.rule.next_after(start) or start
            made.missed.append(MissedTime(from_, _why(state, from_), cut))
            found = found if state.held else []
    found += more
    reached = [one for one in found if state.due(one) <= now]
    return reached, found[len(reached)] if len(reached) < len(found) else state.before_end(following)


def _miss_before_window(state: ScheduleState, first: datetime, until: datetime, made: SchedulePlan) -> None:
    newest, cut, _ = newest_between(state.rule, first, until)
    made.missed.append(MissedTime(first, _why_old(state, first), cut))
    made.missed += [MissedTime(one, _why_old(state, one)) for one in newest]


def _walk(rule: Rule, after: datetime, until: datetime, most: int) -> tuple[list[datetime], datetime | None]:
    """Return the first ``most`` moments in (after, until], and the one that follows them."""
    found: list[datetime] = []
    at = rule.next_after(after)
    while at is not None and at <= until and len(found) < most:
        found.append(at)
        at = rule.next_after(at)
    return found, at


def newest_between(
    rule: Rule, after: datetime, until: datetime
) -> tuple[list[datetime], datetime | None, datetime | None]:
    """Return the moments of a rule in (after, until], at most `MOST_MISSED` of them.

    Returns:
        The newest moments; the moment up to which older ones are left out, or None; the moment after ``until``.
    """
    found, following = _walk(rule, after, until, MOST_MISSED + 1)
    if len(found) <= MOST_MISSED:
        return found, None, following
    low, high = after, until
    while len(found) > MOST_MISSED or len(found) < MOST_MISSED // 2:
        middle = low + (high - low) / 2
        found, following = _walk(rule, middle, until, MOST_MISSED + 1)
        if len(found) > MOST_MISSED:
            low = middle
        else:
            high = middle
    return found, high, following


# -- which of them run -------------------------------------------------------------------------------


def _not_paused(state: ScheduleState, reached: list[datetime], made: SchedulePlan) -> list[datetime]:
    able = [] if state.paused else [one for one in reached if not _in_pause(state, one)]
    made.missed += [MissedTime(one, _why(state, one)) for one in reached if state.paused or _in_pause(state, one)]
    return able


def _caught_up(state: ScheduleState, able: list[datetime], now: datetime, made: SchedulePlan) -> list[datetime]:
    """Return the times that run as far as lateness decides: those in time, and the late ones that ``catch_up`` keeps."""
    catch_up = state.definition.catch_up
    if catch_up == "all" or not able:
        return able
    if state.held:
        newest = state.definition.overlap == "cancel_running"
        chosen = able[-1:] if newest else able[:1]
    else:
        chosen = [one for one in able if not is_late(state, one, now)]
        if not chosen and catch_up == "one":
            chosen = able[-1:]
    made.missed += [MissedTime(one, _why(state, one)) for one in able if one not in chosen]
    return chosen


def is_late(state: ScheduleState, planned: datetime, now: datetime) -> bool:
    """Return whether a planned time is later than the schedule's grace allows."""
    grace = state.definition.grace
    return grace is not None and now - state.due(planned) > timedelta(seconds=grace)


def _beside_active_job(
    state: ScheduleState, chosen: list[datetime], now: datetime, made: SchedulePlan
) -> datetime | None:
    """Apply ``overlap``. Return the first time that has to wait for the active job, if any."""
    overlap = state.definition.overlap
    if overlap == "allow" or not chosen:
        made.fires, rest = chosen[:RUNS_AT_ONCE], chosen[RUNS_AT_ONCE:]
        return rest[0] if rest else None
    if overlap == "cancel_running":
        chosen = _newest_alone(state, chosen, made)
        made.cancel = state.active
    if state.active is None:
        made.fires, chosen = chosen[:1], chosen[1:]
    for place, one in enumerate(chosen):
        if _waits(state, one, now, place):
            made.waits = True
            return one
        made.missed.append(MissedTime(one, OVERLAP, in_way=state.active))
    return None


def _newest_alone(state: ScheduleState, chosen: list[datetime], made: SchedulePlan) -> list[datetime]:
    made.missed += [MissedTime(one, OVERLAP, in_way=state.active) for one in chosen[:-1]]
    return chosen[-1:]


def _waits(state: ScheduleState, planned: datetime, now: datetime, place: int) -> bool:
    """Missed times under ``catch_up="all"`` run one after the other, whatever ``overlap`` says of those in time."""
    definition = state.definition
    if definition.overlap in {"queue", "cancel_running"}:
        return place == 0 or definition.catch_up == "all"
    return definition.catch_up == "all" and (state.held or is_late(state, planned, now))


# -- why not -----------------------------------------------------------------------------------------


def _in_pause(state: ScheduleState, planned: datetime) -> bool:
    start, end = state.paused_from, state.paused_until
    return start is not None and planned >= start and (end is None or planned < end)


def _why(state: ScheduleState, planned: datetime) -> str:
    if _in_pause(state, planned):
        return PAUSED
    if state.unknown:
        return UNKNOWN
    return OVERLAP if state.held else DOWN


def _why_old(state: ScheduleState, planned: datetime) -> str:
    why = _why(state, planned)
    return TOO_LATE if why == DOWN else why


def _planned(missed: MissedTime) -> datetime:
    return missed.planned
