"""Backfill: what the sources of a task lack over a range of periods, and the one tracked job that fills it."""

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
PARALLEL = 4  # units at a time, unless the caller says otherwise
SUBMIT = "submit"
MODES = {FAILED: Mode.FULL, PARTIAL: Mode.FAILED_ITEMS, COMPLETE: Mode.FULL}
_STATE_OF = {Outcome.SUCCESS: COMPLETE, Outcome.PARTIAL: PARTIAL, Outcome.ERROR: FAILED}
_GRAINS_LOOKED_AT = 200


@dataclass(frozen=True, slots=True)
class BackfillSelection:
    """Which units of a task are meant, and how they are to run: what was asked for, as plain values.

    ``every_source`` is set where the sources were not said but are all that are known. ``args`` are the arguments of
    every unit, or None where each source's own are taken. ``mode`` replaces the usual way to run a unit again.
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
        """Is a unit in this state to be run?"""
        return state != ACTIVE and (state in self.only or "all" in self.only)

    def way_of(self, state: str, job: str | None) -> str:
        """How a unit in this state is run: submitted, or again in a mode."""
        if state == MISSING or job is None:
            return SUBMIT
        return self.mode or MODES[state].value

    def to_json(self) -> dict[str, Any]:
        """As it is stored in the arguments of the job that fills it."""
        stored = {
            "task": self.task, "first": self.first, "last": self.last, "step": self.step, "sources": list(self.sources),
            "only": list(self.only), "order": self.order, "every_source": self.every_source,
        }  # fmt: skip
        stored |= {} if self.args is None else {"args": dict(self.args)}
        return stored | ({} if self.mode is None else {"mode": self.mode})

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> BackfillSelection:
        """What `to_json` gave."""
        return cls(**{**stored, "sources": tuple(stored["sources"]), "only": tuple(stored["only"])})


@dataclass(frozen=True, slots=True)
class PlannedUnit:
    """A unit of the range: its state, what is done with it (None: nothing), and the job that the state comes from.

    ``state``: missing, failed, partial, complete or active. ``way``: submit, or the mode of a re-run.
    """

    source: str | None
    period: Period
    state: str
    way: str | None = None
    job: str | None = None

    @property
    def key(self) -> str:
        """As people read it, and the key of its item: ``weather/EWR 2013-02``."""
        return key_of(self.source, self.period.text)


@dataclass(frozen=True, slots=True)
class BackfillPlan:
    """What a backfill would do now, in its order. Nothing was written for it."""

    selection: BackfillSelection
    units: tuple[PlannedUnit, ...]
    new_sources: tuple[str | None, ...] = ()
    args: Mapping[str | None, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def chosen(self) -> list[PlannedUnit]:
        """The units that would be run."""
        return [unit for unit in self.units if unit.way is not None]

    @property
    def counts(self) -> dict[str, int]:
        """How many units are in each state; every state is named."""
        found = Counter(unit.state for unit in self.units)
        return {state: found[state] for state in STATES}

    @property
    def counts_by_source(self) -> dict[str | None, dict[str, int]]:
        """The same for each source, and how many of its units are ``chosen``."""
        found: dict[str | None, dict[str, int]] = {
            source: dict.fromkeys((*STATES, "chosen"), 0) for source in self.selection.sources
        }
        for unit in self.units:
            found[unit.source][unit.state] += 1
            found[unit.source]["chosen"] += unit.way is not None
        return found

    @property
    def ways(self) -> dict[str, int]:
        """How many units are run in which way: submit, full, failed_items, resume."""
        return dict(Counter(unit.way for unit in self.units if unit.way is not None))


def key_of(source: str | None, period: str) -> str:
    """The key of a unit's item."""
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
    """Look at every unit of ``sources`` (default: all that are known) from the period ``first`` to ``last``.

    ``step``: year, month, week, day or hour (default: what the task's units are, else what ``first`` is). ``only``:
    missing, failed, partial (or several of them) or all. Reads alone.

    Raises: UnknownTask, InvalidPeriod, InvalidOption, InvalidArguments: the sentence says what would be right.
    """
    target = service.tasks.get(task if isinstance(task, str) else task.name)
    if target.name == TASK:
        message = f"'{TASK}' fills the units of other tasks and has none of its own to fill"
        raise InvalidOption(message)
    wanted = _only(only)
    choice_option("order", order, ORDERS)
    if mode is not None:
        choice_option("mode", mode, [one.value for one in Mode])
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


def _only(only: str | Iterable[str]) -> tuple[str, ...]:
    words = only.split(",") if isinstance(only, str) else list(only)
    cleaned = [choice_option("only", word.strip() if isinstance(word, str) else word, ONLY) for word in words]
    if not cleaned:
        message = f"only must be one or more of {', '.join(ONLY)}; it is empty"
        raise InvalidOption(message)
    return ("all",) if "all" in cleaned else tuple(sorted(set(cleaned), key=ONLY.index))


def _ends(first: Any, last: Any, task: Task) -> tuple[Period, Period]:
    zone = None if task.zone == "UTC" else task.zone
    begin, end = Period.parse(first, zone), Period.parse(last, zone)
    if end.start < begin.start:
        message = f"the last period, {end.text}, begins before the first, {begin.text}"
        raise InvalidPeriod(message)
    return begin, end


def _step(conn: Connection, task: str, step: str | None) -> str | None:
    """As said, or the one grain that the task's units have; None where there is none."""
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
        message = (
            f"{first.text} to {last.text} is no whole number of {step}s; give a range that is, "
            f"or another step ({', '.join(UNITS)})"
        )
        raise InvalidPeriod(message)
    return parts


def _sources(given: Sequence[str | None] | str | None, known: list[str | None]) -> tuple[str | None, ...]:
    if given is None:
        return tuple(known) or (None,)
    listed = [given] if isinstance(given, str) else list(given)
    if not listed:
        message = "sources is empty: name at least one source, or leave it out for all that are known"
        raise InvalidOption(message)
    return tuple(dict.fromkeys(None if one is None else name_option("source", one) for one in listed))


def _check_number(sources: int, periods: list[Period]) -> None:
    number = sources * len(periods)
    if number > MOST_UNITS:
        many = f"{sources:,} sources × {len(periods):,} periods make {number:,} units"
        message = f"{many}, more than {MOST_UNITS:,}; take a shorter range, a coarser step or fewer sources"
        raise InvalidOption(message)


def list_units(conn: Connection, selection: BackfillSelection, periods: list[Period] | None = None) -> list[PlannedUnit]:
    """Every unit of a selection as it stands, in the selection's order."""
    if periods is None:
        periods = _periods(Period.parse(selection.first), Period.parse(selection.last), selection.step)
    rows = units.of_task(
        conn, selection.task, start=periods[0].start, end=periods[-1].end, limit=10 * MOST_UNITS
    )  # those of other grains are among them
    there = {(row.source, row.period_start, row.period_end): row for row in rows}
    ordered = periods[::-1] if selection.order == "newest" else periods
    return [
        planned(selection, source, period, there.get((source, period.start, period.end)))
        for period in ordered
        for source in selection.sources
    ]


def planned(selection: BackfillSelection, source: str | None, period: Period, row: UnitRow | None) -> PlannedUnit:
    """A unit, its state, and what is done with it."""
    state = state_of(row)
    job = None if row is None else (row.active_job or row.job_id)
    way = selection.way_of(state, job) if selection.wants(state) else None
    return PlannedUnit(source, period, state, way, job)


def state_of(row: UnitRow | None) -> str:
    """The state of a unit; one of which nothing has come yet (all its jobs were cancelled) is missing."""
    if row is None:
        return MISSING
    if row.active_job is not None:
        return ACTIVE
    return MISSING if row.outcome is None else _STATE_OF[row.outcome]


# -- the arguments -----------------------------------------------------------------------------------


def _arguments(
    conn: Connection, task: Task, selection: BackfillSelection, found: list[PlannedUnit], limit: int
) -> dict[str | None, Mapping[str, Any]]:
    """The arguments of each source that has units to submit.

    Raises: InvalidArguments where there are none and the task needs some, or they do not fit.
    """
    if selection.args is not None:
        encode_arguments(task.signature.bind(task.name, (), selection.args), limit)
    needed = dict.fromkeys(unit.source for unit in found if unit.way == SUBMIT)
    return {source: arguments_of(conn, task, selection, source) for source in needed}


def arguments_of(conn: Connection, task: Task, selection: BackfillSelection, source: str | None) -> dict[str, Any]:
    """What a unit of this source is submitted with: what was said, or what the source's newest job had.

    Raises: InvalidArguments where neither is there and the task needs some, or they do not fit.
    """
    if selection.args is not None:
        return task.signature.bind(task.name, (), selection.args)
    newest = newest_arguments(conn, task.name, source)
    try:
        return task.signature.bind(task.name, (), newest or {})
    except InvalidArguments as error:
        if source is None and selection.every_source:
            message = f"no source of '{task.name}' is recorded yet: say which, as sources=[…] (--source); {error}"
            raise InvalidArguments(message) from None
        whose = "units without a source" if source is None else f"the source '{source}'"
        took = (
            "those of its newest job do not fit" if newest is not None else "there is no earlier job to take them from"
        )
        message = f"the arguments for {whose} are not known, {took}: say args={{…}} (--with JSON); {error}"
        raise InvalidArguments(message) from None


def newest_arguments(conn: Connection, task: str, source: str | None) -> dict[str, Any] | None:
    """The arguments of the newest job of a source; None where there is no job."""
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
    """Submit the job that fills a plan (or what `plan` makes of the same words), ``parallel`` units at a time.

    It lists the units once more when it begins. The same backfill that is under way already is given back.

    Raises: as `plan`; AlreadyActive when one of the same task and range goes on with other options.
    """
    if isinstance(task, BackfillPlan) and selection:
        message = f"a plan says all: '{next(iter(selection))}' belongs to backfill_plan()"
        raise InvalidOption(message)
    if isinstance(parallel, bool) or not isinstance(parallel, int) or not 1 <= parallel <= MOST_PARALLEL:
        message = f"parallel must be a whole number from 1 to {MOST_PARALLEL:,}; it is {parallel!r}"
        raise InvalidOption(message)
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
    """How many units a backfill has submitted that have begun and not ended."""
    begun = [status for status in ACTIVE_STATES if status is not Status.PENDING]
    with service.store.read() as conn:
        return relations.count_children(conn, job_id, begun)


def _own_source(selection: BackfillSelection) -> str:
    """What the job itself is called: one at a time fills the same sources over the same range."""
    if selection.every_source:
        return selection.task
    if len(selection.sources) == 1:
        text = " ".join(part for part in (selection.task, selection.sources[0]) if part)
        if len(text) <= 200:
            return text
    digest = hashlib.blake2b(dumps(sorted(map(str, selection.sources))).encode(), digest_size=4).hexdigest()
    return f"{selection.task[:150]} {len(selection.sources)} sources {digest}"
