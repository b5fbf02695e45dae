"""Backfill: which units of a task are missing in a range of periods, and the job that runs them."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from json import dumps
from typing import TYPE_CHECKING, Any

from jobtrail.commands.using import Using
from jobtrail.errors import InvalidArguments, InvalidOption, InvalidPeriod
from jobtrail.job.json_value import decode, encode_arguments
from jobtrail.job.model import ACTIVE as ACTIVE_STATES
from jobtrail.job.model import Mode, Outcome, Status
from jobtrail.job.period import UNITS, Period
from jobtrail.job.task import choice_option, name_option
from jobtrail.messages import Message
from jobtrail.store import units
from jobtrail.store.search import relations

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import Connection

    from jobtrail.commands.job_handle import Job
    from jobtrail.commands.service import Service
    from jobtrail.commands.task_handle import BoundTask
    from jobtrail.job.task import Task
    from jobtrail.store.units import UnitRow

TASK = "jobtrail.backfill"
MISSING, FAILED, PARTIAL, COMPLETE, ACTIVE = STATES = ("missing", "failed", "partial", "complete", "active")
ONLY = (MISSING, FAILED, PARTIAL, "all")
ORDERS = ("newest", "oldest")
MOST_UNITS = 100_000
MOST_PARALLEL = 1_000
PARALLEL = 4  # units at a time, by default
SUBMIT = "submit"
MODES = {FAILED: Mode.FULL, PARTIAL: Mode.FAILED_ITEMS, COMPLETE: Mode.FULL}
_STATE_OF = {Outcome.SUCCESS: COMPLETE, Outcome.PARTIAL: PARTIAL, Outcome.ERROR: FAILED}
_GRAINS_LOOKED_AT = 200


@dataclass(frozen=True, slots=True)
class BackfillSelection:
    """Which units of a task are selected, and how they run, as plain values.

    Args:
        task: Name of the task.
        sources: Sources of the units; None is a unit without a source.
        first: First period, as text.
        last: Last period, as text.
        step: Unit of the periods: year, month, week, day or hour.
        only: States of the units that run.
        order: "newest" or "oldest" first.
        args: Arguments of every unit; None if each source has its own.
        mode: Mode of a re-run, instead of the usual one.
        every_source: The sources were not given; they are all known ones.

    """

    task: str
    sources: tuple[str | None, ...]
    first: str
    last: str
    step: str
    only: tuple[str, ...] = (MISSING,)
    order: str = ORDERS[0]
    args: Mapping[str, Any] | None = None
    mode: str | None = None
    every_source: bool = False

    def wants(self, state: str) -> bool:
        """Return whether a unit in this state runs."""
        return state != ACTIVE and (state in self.only or "all" in self.only)

    def way_of(self, state: str, job: str | None) -> str:
        """Return how a unit in this state runs: "submit", or the mode of a re-run."""
        if state == MISSING or job is None:
            return SUBMIT
        return self.mode or MODES[state].value

    def to_json(self) -> dict[str, Any]:
        """Return the selection as stored in the arguments of the backfill job."""
        stored = {
            "task": self.task, "first": self.first, "last": self.last, "step": self.step, "sources": list(self.sources),
            "only": list(self.only), "order": self.order, "every_source": self.every_source,
        }  # fmt: skip
        stored |= {} if self.args is None else {"args": dict(self.args)}
        return stored | ({} if self.mode is None else {"mode": self.mode})

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> BackfillSelection:
        """Return the selection that `to_json` wrote."""
        return cls(**{**stored, "sources": tuple(stored["sources"]), "only": tuple(stored["only"])})


@dataclass(frozen=True, slots=True)
class PlannedUnit:
    """A unit of the range.

    Args:
        source: Its source, if any.
        period: Its period.
        state: missing, failed, partial, complete or active.
        way: "submit" or the mode of a re-run; None if it does not run.
        job: Id of the job that gave the state.

    """

    source: str | None
    period: Period
    state: str
    way: str | None = None
    job: str | None = None

    @property
    def key(self) -> str:
        """The key of its item, shown to people: ``weather/EWR 2013-02``."""
        return key_of(self.source, self.period.text)


@dataclass(frozen=True, slots=True)
class BackfillPlan:
    """What a backfill would do now, in its order. Nothing is written for it."""

    selection: BackfillSelection
    units: tuple[PlannedUnit, ...]
    new_sources: tuple[str | None, ...] = ()
    args: Mapping[str | None, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def chosen(self) -> list[PlannedUnit]:
        """The units that would run."""
        return [unit for unit in self.units if unit.way is not None]

    @property
    def counts(self) -> dict[str, int]:
        """The number of units by state; every state is a key."""
        found = Counter(unit.state for unit in self.units)
        return {state: found[state] for state in STATES}

    @property
    def counts_by_source(self) -> dict[str | None, dict[str, int]]:
        """The number of units by source and state, and as ``chosen`` the number of those that would run."""
        found: dict[str | None, dict[str, int]] = {
            source: dict.fromkeys((*STATES, "chosen"), 0) for source in self.selection.sources
        }
        for unit in self.units:
            found[unit.source][unit.state] += 1
            found[unit.source]["chosen"] += unit.way is not None
        return found

    @property
    def ways(self) -> dict[str, int]:
        """The number of units by way: submit, full, failed_items, resume."""
        return dict(Counter(unit.way for unit in self.units if unit.way is not None))


def key_of(source: str | None, period: str) -> str:
    """Return the key of a unit's item."""
    return period if source is None else f"{source} {period}"


# -- the plan ----------------------------------------------------------------------------------------


def plan(
    service: Service,
    task: BoundTask | str,
    *,
    first: Any,
    last: Any,
    sources: Sequence[str | None] | str | None = None,
    step: str | None = None,
    only: str | Iterable[str] = MISSING,
    order: str = ORDERS[0],
    args: Mapping[str, Any] | None = None,
    mode: str | None = None,
) -> BackfillPlan:
    """Return what a backfill would do now; only reads.

    Args:
        service: The service of the application.
        task: The task, or its name.
        first: First period.
        last: Last period, included.
        sources: Sources of the units; default: all known ones.
        step: year, month, week, day or hour; default: that of the task's units, else that of ``first``.
        only: missing, failed, partial (or several of them), or all.
        order: "newest" or "oldest" first.
        args: Arguments of every unit; default: those of the newest job of its source.
        mode: Mode of re-runs; default: full after a failure, failed_items after a partial run.

    Raises:
        UnknownTask, InvalidOption: If the task or an option is not valid, or there are too many units.
        InvalidPeriod: If a period is not valid, or the range is not a whole number of steps.
        InvalidArguments: If the arguments of a source are not known or do not fit the task.
    """
    target = service.tasks.get(task if isinstance(task, str) else task.name)
    if target.name == TASK:
        raise InvalidOption(Message("schedules.backfill-of-itself", task=TASK))
    wanted = _options(only, order, mode)
    service.make_readable()
    with service.store.read() as conn:
        begin, end = _ends(first, last, target)
        periods = _periods(begin, end, _step(conn, target.name, step))
        known = units.known_sources(conn, target.name)
        names = _sources(sources, known)
        _check_number(len(names), periods)
        selection = BackfillSelection(
            target.name, names, begin.text, end.text, periods[0].unit, wanted, order, args, mode, sources is None
        )
        found = list_units(conn, selection, periods)
        own = _arguments(conn, target, selection, found, service.settings.argument_limit)
    return BackfillPlan(selection, tuple(found), tuple(name for name in names if name not in known), own)


def _options(only: str | Iterable[str], order: str, mode: str | None) -> tuple[str, ...]:
    """Check the options and return the states that ``only`` names."""
    choice_option("order", order, ORDERS)
    if mode is not None:
        choice_option("mode", mode, [one.value for one in Mode])
    words = only.split(",") if isinstance(only, str) else list(only)
    cleaned = [choice_option("only", word.strip() if isinstance(word, str) else word, ONLY) for word in words]
    if not cleaned:
        raise InvalidOption(Message("schedules.only-empty", allowed=ONLY))
    return ("all",) if "all" in cleaned else tuple(sorted(set(cleaned), key=ONLY.index))


def _ends(first: Any, last: Any, task: Task) -> tuple[Period, Period]:
    zone = None if task.zone == "UTC" else task.zone
    begin, end = Period.parse(first, zone), Period.parse(last, zone)
    if end.start < begin.start:
        raise InvalidPeriod(Message("schedules.range-backwards", first=begin.text, last=end.text))
    return begin, end


def _step(conn: Connection, task: str, step: str | None) -> str | None:
    """Return the given step, or the grain that all units of the task have; None if there is none."""
    if step is not None:
        return choice_option("step", step, UNITS)
    grains = {Period.parse(text).unit for text in units.newest_periods(conn, task, limit=_GRAINS_LOOKED_AT)}
    return grains.pop() if len(grains) == 1 and grains <= set(UNITS) else None


def _periods(first: Period, last: Period, step: str | None) -> list[Period]:
    if step is None or step == first.unit == last.unit:
        return Period.range(first, last)
    whole = Period(first.start, last.end, first.zone)
    parts = whole.split(step)
    if first.zone != last.zone or any(part.unit != step for part in (parts[0], parts[-1])):
        raise InvalidPeriod(Message("schedules.range-not-whole", first=first.text, last=last.text, step=step, steps=UNITS))
    return parts


def _sources(given: Sequence[str | None] | str | None, known: list[str | None]) -> tuple[str | None, ...]:
    if given is None:
        return tuple(known) or (None,)
    listed = [given] if isinstance(given, str) else list(given)
    if not listed:
        raise InvalidOption(Message("schedules.sources-empty"))
    return tuple(dict.fromkeys(None if one is None else name_option("source", one) for one in listed))


def _check_number(sources: int, periods: list[Period]) -> None:
    number = sources * len(periods)
    if number > MOST_UNITS:
        counts = {"sources": sources, "periods": len(periods), "units": number, "most": MOST_UNITS}
        raise InvalidOption(Message("schedules.too-many-units", **counts))


def list_units(conn: Connection, selection: BackfillSelection, periods: list[Period] | None = None) -> list[PlannedUnit]:
    """Return the units of a selection with their current states, in its order."""
    if periods is None:
        periods = _periods(Period.parse(selection.first), Period.parse(selection.last), selection.step)
    rows = units.of_task(
        conn, selection.task, start=periods[0].start, end=periods[-1].end, limit=10 * MOST_UNITS
    )  # these include units of other grains
    there = {(row.source, row.period_start, row.period_end): row for row in rows}
    ordered = periods[::-1] if selection.order == "newest" else periods
    return [
        planned(selection, source, period, there.get((source, period.start, period.end)))
        for period in ordered
        for source in selection.sources
    ]


def planned(selection: BackfillSelection, source: str | None, period: Period, row: UnitRow | None) -> PlannedUnit:
    """Return a unit with its state and what is done with it."""
    state = state_of(row)
    job = None if row is None else (row.active_job or row.job_id)
    way = selection.way_of(state, job) if selection.wants(state) else None
    return PlannedUnit(source, period, state, way, job)


def state_of(row: UnitRow | None) -> str:
    """Return the state of a unit. A unit whose jobs were all cancelled is missing."""
    if row is None:
        return MISSING
    if row.active_job is not None:
        return ACTIVE
    return MISSING if row.outcome is None else _STATE_OF[row.outcome]


# -- the arguments -----------------------------------------------------------------------------------


def _arguments(
    conn: Connection, task: Task, selection: BackfillSelection, found: list[PlannedUnit], limit: int
) -> dict[str | None, Mapping[str, Any]]:
    """Return the arguments of each source that has units to submit.

    Raises:
        InvalidArguments: As `arguments_of`.

    """
    if selection.args is not None:
        encode_arguments(task.signature.accept(task.name, (), selection.args), limit)
    needed = dict.fromkeys(unit.source for unit in found if unit.way == SUBMIT)
    return {source: arguments_of(conn, task, selection, source) for source in needed}


def arguments_of(conn: Connection, task: Task, selection: BackfillSelection, source: str | None) -> dict[str, Any]:
    """Return the arguments for units of a source: the given ones, or those of its newest job.

    Raises:
        InvalidArguments: If there are neither and the task needs some, or they do not fit the task.

    """
    if selection.args is not None:
        return task.signature.accept(task.name, (), selection.args)
    newest = newest_arguments(conn, task.name, source)
    try:
        return task.signature.accept(task.name, (), newest or {})
    except InvalidArguments as error:
        if source is None and selection.every_source:
            message = Message("schedules.no-source-recorded", task=task.name, error=error)
        else:
            code = "schedules.no-earlier-job" if newest is None else "schedules.newest-does-not-fit"
            message = Message("schedules.arguments-unknown", whose=_named(source), why=Message(code), error=error)
        raise InvalidArguments(message) from None


def _named(source: str | None) -> Message:
    return Message("schedules.no-source") if source is None else Message("schedules.the-source", source=source)


def newest_arguments(conn: Connection, task: str, source: str | None) -> dict[str, Any] | None:
    """Return the arguments of the newest job of a source, or None if there is no job."""
    text = relations.newest_arguments(conn, task, source)
    found: dict[str, Any] | None = decode(text)
    return found


# -- the job that fills it ---------------------------------------------------------------------------


def submit(
    service: Service,
    task: BackfillPlan | BoundTask | str,
    *,
    parallel: int = PARALLEL,
    actor: str | None = None,
    reason: str | None = None,
    **selection: Any,
) -> Job:
    """Submit the job that carries out a plan. If the same backfill is active already, its job is returned.

    The job lists the units again when it starts.

    Args:
        service: The service of the application.
        task: A plan, or the task (or its name) for a plan of the options.
        parallel: Number of units at a time.
        actor: Who submits it, for the trail.
        reason: Reason for the trail.
        selection: Options as for `plan`.

    Raises:
        AlreadyActive: If a backfill of the same task and range is active with other options.
        UsageError: As `plan`.

    """
    if isinstance(task, BackfillPlan) and selection:
        raise InvalidOption(Message("schedules.plan-has-options", option=next(iter(selection))))
    if isinstance(parallel, bool) or not isinstance(parallel, int) or not 1 <= parallel <= MOST_PARALLEL:
        raise InvalidOption(Message("schedules.bad-parallel", most=MOST_PARALLEL, value=repr(parallel)[:60]))
    made = task if isinstance(task, BackfillPlan) else plan(service, task, **selection)
    target = service.tasks.get(made.selection.task)
    first, last = Period.parse(made.selection.first), Period.parse(made.selection.last)
    using = Using(
        source=_own_source(made.selection),
        period=Period(first.start, last.end, first.zone),
        queue=target.queue,
        priority=target.priority,
        actor=actor,
        reason=reason,
    )
    args = {"selection": made.selection.to_json(), "parallel": parallel}
    return service.submit(service.tasks.get(TASK), args, using)


def under_way(service: Service, job_id: str) -> int:
    """Return the number of units of a backfill that have started and not ended."""
    begun = [status for status in ACTIVE_STATES if status is not Status.PENDING]
    with service.store.read() as conn:
        return relations.count_children(conn, job_id, begun)


def _own_source(selection: BackfillSelection) -> str:
    """Return the source of the backfill job itself, so that one at a time works on the same sources and range."""
    if selection.every_source:
        return selection.task
    if len(selection.sources) == 1:
        text = " ".join(part for part in (selection.task, selection.sources[0]) if part)
        if len(text) <= 200:
            return text
    digest = hashlib.blake2b(dumps(sorted(map(str, selection.sources))).encode(), digest_size=4).hexdigest()
    return f"{selection.task[:150]} {len(selection.sources)} sources {digest}"
