"""Units of work: their current truth, and the cells of the coverage grid. Never pruned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, func, or_, select, text, update

from jobtrail.database.tables import jobs, units
from jobtrail.job.model import ACTIVE, Outcome, RemovedJob, Status

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.database.dialects import Dialect
    from jobtrail.job.unit import Unit

COLUMNS = (
    "unit", "task", "source", "period", "period_start", "period_end", "sha256", "text", "linked_unit", "changed_at",
)  # fmt: skip
_UNLESS_THERE = "ON CONFLICT (unit) DO NOTHING"
_SETTLED = ("job_id", "changed_at", "removed", "generation", "outcome", "items_ok", "items_failed", "items_skipped")


@dataclass(frozen=True, slots=True)
class UnitRow:
    """A unit as it was read; ``outcome`` is the newest generation's combined one, or None where none has ended."""

    unit: str
    task: str
    source: str | None
    period: str | None
    period_start: datetime | None
    period_end: datetime | None
    sha256: str | None
    text: str
    generation: str | None
    outcome: Outcome | None
    job_id: str | None
    items_ok: int | None
    items_failed: int | None
    items_skipped: int | None
    linked_unit: str | None
    changed_at: datetime
    removed: str | None = None
    active_job: str | None = None
    active_status: Status | None = None

    @property
    def item_counts(self) -> dict[str, int | None]:
        """How many items have each outcome; None where none were recorded."""
        return {"ok": self.items_ok, "failed": self.items_failed, "skipped": self.items_skipped}

    @property
    def removed_job(self) -> RemovedJob | None:
        """The end of the unit's last job, if retention has removed the job."""
        return RemovedJob.from_json(self.job_id, self.removed) if self.removed and self.job_id else None


def ensure(conn: Connection, dialect: Dialect, unit: Unit, now: datetime, *, linked: str | None = None) -> None:
    """The unit has a row from its first submission on."""
    dialect.insert_many(conn, units, COLUMNS, [_row_of(unit, now, linked)], _UNLESS_THERE)


def ensure_many(conn: Connection, dialect: Dialect, given: Iterable[Unit], now: datetime) -> dict[str, str | None]:
    """Give units a row; returns the job that ended last of each, by key, as far as one has."""
    rows = [_row_of(unit, now, None) for unit in given]
    dialect.insert_many(conn, units, COLUMNS, rows, _UNLESS_THERE)
    query = select(units.c.unit, units.c.job_id).where(units.c.unit.in_([row[0] for row in rows]))
    return {row.unit: row.job_id for row in conn.execute(query)}


def _row_of(unit: Unit, now: datetime, linked: str | None) -> tuple[Any, ...]:
    period = unit.period
    return (
        unit.key, unit.task, unit.source, period.text if period else None, period.start if period else None,
        period.end if period else None, unit.sha256, unit.text, linked, now,
    )  # fmt: skip


def link(conn: Connection, unit: str, other: str) -> None:
    """Two contents of one file point at each other."""
    for one, two in ((unit, other), (other, unit)):
        conn.execute(update(units).where(units.c.unit == one).values(linked_unit=two))


def settle(
    conn: Connection,
    unit: str,
    *,
    generation: str,
    outcome: Outcome,
    job_id: str,
    counts: tuple[int, int, int] | None,
    now: datetime,
    keep_outcome: bool,
) -> None:
    """A job of the unit has ended: take over what the generation as a whole came to.

    ``keep_outcome`` is set where a continuing job broke before it could change what its generation holds.
    """
    values: dict[str, object] = {"job_id": job_id, "changed_at": now, "removed": None}
    if not keep_outcome:
        values |= {"generation": generation, "outcome": outcome.value}
        if counts is not None:
            values |= {"items_ok": counts[0], "items_failed": counts[1], "items_skipped": counts[2]}
        else:
            values |= {"items_ok": None, "items_failed": None, "items_skipped": None}
    conn.execute(update(units).where(units.c.unit == unit).values(values))
    if generation != job_id:
        _settle_linked(conn, unit, generation, values)


def settle_many(conn: Connection, dialect: Dialect, rows: Sequence[Mapping[str, Any]]) -> None:
    """`settle` for many units whose jobs tell all of their generation; ``rows`` have ``unit`` and what it takes over."""
    if rows:
        dialect.update_many(conn, units, ("unit",), _SETTLED, [(row["unit"], *(row.get(name) for name in _SETTLED)) for row in rows])


def _settle_linked(conn: Connection, unit: str, generation: str, values: dict[str, object]) -> None:
    """The same telling may stand under the content of before a correction too."""
    linked = conn.execute(select(units.c.linked_unit).where(units.c.unit == unit)).scalar()
    if linked is not None:
        same = (units.c.unit == linked) & (units.c.generation == generation)
        conn.execute(update(units).where(same).values(values))


@dataclass(frozen=True, slots=True)
class NamedJobs:
    """Which units name which jobs as their last one.

    Attributes:
        units: the job of each unit whose row this transaction has locked.
        busy: jobs that a unit names whose row another transaction is changing.
    """

    units: Mapping[str, str]
    busy: frozenset[str]


def naming(conn: Connection, ids: Collection[str], keys: Collection[str], generations: Collection[str]) -> NamedJobs:
    """Find and lock the units that name one of these jobs as their last one; rows of others are not waited for.

    Args:
        conn: transaction of the caller.
        ids: ids of the jobs.
        keys: the jobs' own units.
        generations: the jobs' generations, by which units linked with their own are found.
    """
    if not keys:
        return NamedJobs({}, frozenset())
    of_them = or_(units.c.unit.in_(keys), units.c.generation.in_(generations))
    query = select(units.c.unit, units.c.job_id).where(of_them, units.c.job_id.in_(ids))
    named = {row.unit: row.job_id for row in conn.execute(query)}
    if not named:
        return NamedJobs({}, frozenset())
    mine = select(units.c.unit, units.c.job_id).where(units.c.unit.in_(list(named)), units.c.job_id.in_(ids))
    locked = {row.unit: row.job_id for row in conn.execute(mine.with_for_update(skip_locked=True))}
    return NamedJobs(locked, frozenset(job for unit, job in named.items() if unit not in locked))


def remember_removed(conn: Connection, ends: Mapping[str, RemovedJob]) -> None:
    """Keep with units, by their key, the end of their last job, which is removed."""
    if ends:
        statement = update(units).where(units.c.unit == bindparam("key")).values(removed=bindparam("end"))
        conn.execute(statement, [{"key": key, "end": ended.to_json()} for key, ended in ends.items()])


def get(conn: Connection, unit: str) -> UnitRow | None:
    """One unit, with its active job."""
    found = conn.execute(_SELECT.where(units.c.unit == unit)).first()
    return None if found is None else _read(found)


def of_task(
    conn: Connection, task: str, *, start: datetime | None = None, end: datetime | None = None, limit: int = 20000
) -> list[UnitRow]:
    """The units of a task by source and period; with ``start`` and ``end`` those whose period lies in the span."""
    query = _SELECT.where(units.c.task == task)
    if start is not None:
        query = query.where(units.c.period_start >= start)
    if end is not None:
        query = query.where(units.c.period_end <= end)
    found = conn.execute(query.order_by(units.c.source, units.c.period_start, units.c.text).limit(limit))
    return [_read(row) for row in found]


# -- the coverage grid -------------------------------------------------------------------------------

# One look into the index for each, however many units it has.
_TASKS = text(
    f"WITH RECURSIVE each(task) AS (SELECT (SELECT min(task) FROM {units.name}) "  # noqa: S608 - constants
    f"UNION ALL SELECT (SELECT min(u.task) FROM {units.name} AS u WHERE u.task > each.task) "
    f"FROM each WHERE each.task IS NOT NULL) SELECT task FROM each WHERE task IS NOT NULL"
)
_SOURCES = text(
    f"WITH RECURSIVE each(source, place) AS ("  # noqa: S608 - constants
    f"SELECT (SELECT min(source) FROM {units.name} WHERE task = :task), 1 "
    f"UNION ALL SELECT (SELECT min(u.source) FROM {units.name} AS u WHERE u.task = :task AND u.source > each.source), place + 1 "
    f"FROM each WHERE each.source IS NOT NULL AND place < :limit) SELECT source FROM each WHERE source IS NOT NULL"
)


def tasks(conn: Connection) -> list[str]:
    """The tasks that have units, by name."""
    return sorted(conn.execute(_TASKS).scalars())


def sources(conn: Connection, task: str, *, limit: int = 5000) -> list[str | None]:
    """The sources of a task's units by name; None, the first, stands for units without one."""
    without = select(units.c.unit).where(units.c.task == task, units.c.source.is_(None), _HAS_PERIOD).limit(1)
    named = sorted(conn.execute(_SOURCES, {"task": task, "limit": limit}).scalars())
    return [None, *named] if conn.execute(without).first() is not None else named


def in_grid(
    conn: Connection, task: str, of: Sequence[str | None], start: datetime, end: datetime, *, limit: int = 20_000
) -> list[UnitRow]:
    """The units of these sources whose period shares a moment with a span of time; at most ``limit``."""
    named = [one for one in of if one is not None]
    mine = units.c.source.in_(named)
    query = _SELECT.where(
        units.c.task == task, or_(mine, units.c.source.is_(None)) if None in of else mine,
        units.c.period_start < end, units.c.period_end > start,
    )  # fmt: skip
    return [_read(row) for row in conn.execute(query.order_by(units.c.source, units.c.period_start).limit(limit))]


def span(conn: Connection, task: str) -> tuple[datetime, datetime] | None:
    """When the first and when the last period of a task's units begin; None where there is none."""
    begins = units.c.period_start
    row = conn.execute(select(func.min(begins), func.max(begins)).where(units.c.task == task, _HAS_PERIOD)).one()
    return None if row[0] is None else (row[0], row[1])


def newest_periods(conn: Connection, task: str, *, limit: int) -> list[str | None]:
    """The periods of a task's units that begin last, as they are written."""
    query = select(units.c.period).where(units.c.task == task, _HAS_PERIOD)
    return list(conn.execute(query.order_by(units.c.period_start.desc()).limit(limit)).scalars())


def known_sources(conn: Connection, task: str) -> list[str | None]:
    """The sources of a task with a recorded period, by name; None stands for units without a source."""
    query = select(units.c.source).where(units.c.task == task, _HAS_PERIOD)
    return sorted(conn.execute(query.distinct()).scalars(), key=lambda name: name or "")


def files(conn: Connection, task: str, *, limit: int = 200) -> list[UnitRow]:
    """The units of a task that are files, what has changed last first."""
    query = _SELECT.where(units.c.task == task, units.c.period_start.is_(None)).order_by(units.c.changed_at.desc())
    return [_read(row) for row in conn.execute(query.limit(limit))]


_HAS_PERIOD = units.c.period_start.is_not(None)
_SELECT = select(
    *(column for column in units.c),
    jobs.c.id.label("active_job"),
    jobs.c.status.label("active_status"),
).select_from(units.outerjoin(jobs, (jobs.c.unit_lock == units.c.unit) & jobs.c.status.in_([s.value for s in ACTIVE])))


def _read(row: Any) -> UnitRow:
    values = row._asdict()
    values["outcome"] = Outcome(values["outcome"]) if values["outcome"] else None
    values["active_status"] = Status(values["active_status"]) if values["active_status"] else None
    return UnitRow(**values)
