"""Schedules and their slots: what is due, guarded changes, and what became of each planned time (slots are never pruned)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any

from sqlalchemy import Text, delete, func, insert, select, text, tuple_, type_coerce, update

from jobtrail.database.tables import jobs, schedules, slots

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection, Row

    from jobtrail.database.dialects import Dialect

ACTIVE, PAUSED, RETIRED, FINISHED = "active", "paused", "retired", "finished"
# The condition of the partial index, as the index has it.
GOING_ON = text("jobtrail_schedules.state IN ('active', 'paused')")
IDS = 500  # in one question
ENDED = ("completed", "partial", "failed", "cancelled")
SUBMITTED, MISSED = "submitted", "missed"
SLOTS_AT_ONCE = 250  # in one question


@dataclass(frozen=True, slots=True)
class ScheduleRow:
    """A schedule as it was read; ``definition`` and ``edits`` are JSON. ``version`` rises with every change by a person or a deploy."""

    id: str
    name: str
    task: str
    definition: str
    edits: str | None
    origin: str
    state: str
    paused_by: str | None
    paused_reason: str | None
    paused_at: datetime | None
    paused_until: datetime | None
    anchor: datetime
    next_at: datetime | None
    due_at: datetime | None
    waits_for: str | None
    unknown_since: datetime | None
    last_at: datetime | None
    last_job: str | None
    last_outcome: str | None
    runs: int
    failures_in_row: int
    missed_in_row: int
    version: int
    created_at: datetime
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class Slot:
    """One planned time; with ``through`` it stands for all up to that moment. ``job_id``: what runs it, or what was in its way."""

    schedule_id: str
    planned_at: datetime
    state: str
    reason: str | None
    job_id: str | None
    through: datetime | None
    at: datetime


COLUMNS = tuple(one.name for one in fields(ScheduleRow))
SLOT_COLUMNS = tuple(one.name for one in fields(Slot))
_slot_values = attrgetter(*SLOT_COLUMNS)
_SELECT = select(*(schedules.c[name] for name in COLUMNS))
# What a turn of the scheduler writes of a schedule that was due.
ADVANCED = (
    "next_at", "due_at", "waits_for", "unknown_since", "last_at", "last_job", "last_outcome", "runs",
    "failures_in_row", "missed_in_row", "state",
)  # fmt: skip


_advanced = itemgetter(*ADVANCED)


def _read(row: Any) -> ScheduleRow:
    return ScheduleRow(*row)


# -- reading -----------------------------------------------------------------------------------------


def overview(conn: Connection) -> dict[str, datetime | None]:
    """The tasks that have schedules which go on, and when the first of each is due."""
    query = select(schedules.c.task, func.min(schedules.c.due_at)).where(GOING_ON).group_by(schedules.c.task)
    return {row[0]: row[1] for row in conn.execute(query)}


def due(conn: Connection, tasks: Sequence[str], now: datetime, limit: int) -> list[ScheduleRow]:
    """Schedules of these tasks that are due, the longest due first."""
    query = _SELECT.where(GOING_ON, schedules.c.due_at <= now, schedules.c.task.in_(tasks))
    return [_read(row) for row in conn.execute(query.order_by(schedules.c.due_at).limit(limit))]


def next_due(conn: Connection, tasks: Sequence[str], after: datetime) -> datetime | None:
    """When the first of those is due that are not yet."""
    query = select(func.min(schedules.c.due_at)).where(
        GOING_ON, schedules.c.due_at > after, schedules.c.task.in_(tasks)
    )
    found: datetime | None = conn.execute(query).scalar()
    return found


def everyone(conn: Connection) -> list[ScheduleRow]:
    """All schedules, by name."""
    return [_read(row) for row in conn.execute(_SELECT.order_by(schedules.c.name))]


def of_task(conn: Connection, task: str) -> list[ScheduleRow]:
    """The schedules of one task that go on."""
    return [_read(row) for row in conn.execute(_SELECT.where(GOING_ON, schedules.c.task == task))]


def named(conn: Connection, name: str, *, lock: bool = False) -> ScheduleRow | None:
    """One schedule by its name; ``lock`` holds its row until the end of the transaction."""
    query = _SELECT.where(schedules.c.name == name)
    if lock and conn.dialect.name == "postgresql":
        query = query.with_for_update()
    row = conn.execute(query).first()
    return None if row is None else _read(row)


def states_of_jobs(conn: Connection, ids: Iterable[str]) -> dict[str, str]:
    """The status of each of these jobs, as far as they are there."""
    wanted = sorted(set(ids))
    found: dict[str, str] = {}
    for start in range(0, len(wanted), IDS):
        query = select(jobs.c.id, jobs.c.status).where(jobs.c.id.in_(wanted[start : start + IDS]))
        found |= {row.id: row.status for row in conn.execute(query)}
    return found


def with_ended_runs(conn: Connection, limit: int) -> list[tuple[ScheduleRow, str]]:
    """Schedules whose last job has ended since it was looked at, with the job's status."""
    query = (
        select(*(schedules.c[name] for name in COLUMNS), jobs.c.status)
        .join(jobs, jobs.c.id == schedules.c.last_job)
        .where(GOING_ON, schedules.c.last_outcome.is_(None), jobs.c.status.in_(ENDED))
        .limit(limit)
    )
    return [(_read(row[:-1]), row[-1]) for row in conn.execute(query)]


def whose_pause_is_over(conn: Connection, now: datetime) -> list[ScheduleRow]:
    """Paused schedules that were to go on by now."""
    over = (schedules.c.state == PAUSED) & (schedules.c.paused_until <= now)
    return [_read(row) for row in conn.execute(_SELECT.where(GOING_ON, over))]


# -- writing -----------------------------------------------------------------------------------------


def add(conn: Connection, dialect: Dialect, rows: Sequence[ScheduleRow]) -> set[str]:
    """Store new schedules; where another process has just stored one of the same name, that one stays. The ids that were stored."""
    values = [tuple(getattr(row, name) for name in COLUMNS) for row in rows]
    if not values:
        return set()
    dialect.insert_many(conn, schedules, COLUMNS, values, "ON CONFLICT (name) DO NOTHING")
    stored: set[str] = set()
    for start in range(0, len(rows), IDS):
        ids = [row.id for row in rows[start : start + IDS]]
        stored |= set(conn.execute(select(schedules.c.id).where(schedules.c.id.in_(ids))).scalars())
    return stored


def change(conn: Connection, row: ScheduleRow, now: datetime, values: Mapping[str, Any]) -> bool:
    """Change a schedule that is still as it was read; False where it is not."""
    same = (schedules.c.id == row.id) & (schedules.c.version == row.version)
    changed = update(schedules).where(same).values(**values, version=row.version + 1, changed_at=now)
    return conn.execute(changed).rowcount == 1


def remove(conn: Connection, row: ScheduleRow) -> bool:
    """Remove a schedule that is still as it was read."""
    same = (schedules.c.id == row.id) & (schedules.c.version == row.version)
    return conn.execute(delete(schedules).where(same)).rowcount == 1


def unchanged(conn: Connection, rows: Sequence[ScheduleRow]) -> set[str]:
    """The ids of those that still stand as they were read; they stay so until the end of the transaction."""
    read = {row.id: (row.version, row.next_at) for row in rows}
    query = select(schedules.c.id, schedules.c.version, schedules.c.next_at).where(schedules.c.id.in_(sorted(read)))
    if conn.dialect.name == "postgresql":
        query = query.order_by(schedules.c.id).with_for_update()
    return {row.id for row in conn.execute(query) if read[row.id] == (row.version, row.next_at)}


def advance(conn: Connection, dialect: Dialect, rows: Sequence[tuple[ScheduleRow, Mapping[str, Any]]]) -> None:
    """Write where schedules stand after a turn; all `ADVANCED` words are given."""
    given = [(row.id, row.version, *_advanced(new)) for row, new in rows]
    if given:
        dialect.update_many(conn, schedules, ("id", "version"), ADVANCED, given)


def put_off(conn: Connection, row: ScheduleRow, due_at: datetime | None) -> None:
    """Look at it again later, or, with None, when somebody has changed it."""
    same = (schedules.c.id == row.id) & (schedules.c.version == row.version)
    conn.execute(update(schedules).where(same).values(due_at=due_at))


def settle(conn: Connection, row: ScheduleRow, outcome: str, failures: int) -> bool:
    """Keep how the last job ended."""
    same = (schedules.c.id == row.id) & (schedules.c.last_job == row.last_job) & schedules.c.last_outcome.is_(None)
    settled = update(schedules).where(same).values(last_outcome=outcome, failures_in_row=failures)
    return conn.execute(settled).rowcount == 1


def miss_the_task(conn: Connection, row: ScheduleRow, now: datetime) -> bool:
    """Nobody knows its task; True for the first who says so."""
    first = (schedules.c.id == row.id) & schedules.c.unknown_since.is_(None)
    return conn.execute(update(schedules).where(first).values(unknown_since=now)).rowcount == 1


# -- slots ---------------------------------------------------------------------------------------------


def put_slots(conn: Connection, dialect: Dialect, rows: Sequence[Slot]) -> None:
    """Store slots that are not there.

    Raises: DuplicateRow (from the writer) when one is: then nothing of the transaction holds.
    """
    if rows:
        dialect.insert_many(conn, slots, SLOT_COLUMNS, [_slot_values(row) for row in rows])


def put_free_slots(conn: Connection, dialect: Dialect, rows: Sequence[Slot]) -> None:
    """Store those of these slots that are not there."""
    if rows:
        tail = "ON CONFLICT (schedule_id, planned_at) DO NOTHING"
        dialect.insert_many(conn, slots, SLOT_COLUMNS, [_slot_values(row) for row in rows], tail)


def put_slot(conn: Connection, row: Slot) -> None:
    """Store one slot.

    Raises: DuplicateRow (from the writer) when it is there.
    """
    conn.execute(insert(slots).values(dict(zip(SLOT_COLUMNS, _slot_values(row), strict=True))))


def taken_slots(conn: Connection, pairs: Sequence[tuple[str, datetime]]) -> dict[tuple[str, datetime], str | None]:
    """Which of these (schedule, planned time) are there already, each with its reason as stored."""
    found: dict[tuple[str, datetime], str | None] = {}
    for start in range(0, len(pairs), SLOTS_AT_ONCE):
        asked = tuple_(slots.c.schedule_id, slots.c.planned_at).in_(pairs[start : start + SLOTS_AT_ONCE])
        query = select(slots.c.schedule_id, slots.c.planned_at, type_coerce(slots.c.reason, Text)).where(asked)
        found |= {(schedule_id, planned): reason for schedule_id, planned, reason in conn.execute(query)}
    return found


def take_back_slots(conn: Connection, pairs: Sequence[tuple[str, datetime]]) -> None:
    """Missed times of which more can be said now."""
    for schedule_id, planned in pairs:
        same = (slots.c.schedule_id == schedule_id) & (slots.c.planned_at == planned) & (slots.c.state == MISSED)
        conn.execute(delete(slots).where(same))


def slots_of(
    conn: Connection, schedule_id: str, *, before: datetime | None = None, limit: int = 100, state: str | None = None
) -> list[Slot]:
    """The slots of a schedule, latest planned time first."""
    query = select(slots).where(slots.c.schedule_id == schedule_id)
    if before is not None:
        query = query.where(slots.c.planned_at < before)
    if state is not None:
        query = query.where(slots.c.state == state)
    return [_read_slot(row) for row in conn.execute(query.order_by(slots.c.planned_at.desc()).limit(limit))]


def missed_slots(
    conn: Connection, *, since: datetime | None = None, limit: int = 100, name: str | None = None
) -> list[tuple[str, Slot]]:
    """Missed slots with their schedule's name, the last noted first; of the schedule ``name`` only, where it is given."""
    query = select(schedules.c.name, *slots.c).join(schedules, schedules.c.id == slots.c.schedule_id)
    query = query.where(slots.c.state == MISSED)
    if since is not None:
        query = query.where(slots.c.at >= since)
    if name is not None:
        query = query.where(schedules.c.name == name)
    found = conn.execute(query.order_by(slots.c.at.desc(), slots.c.planned_at.desc()).limit(limit))
    return [(row.name, _read_slot(row)) for row in found]


def latest_missed_slot(conn: Connection, schedule_id: str, reason: str) -> datetime | None:
    """The latest planned time that was missed for a reason."""
    same = (slots.c.schedule_id == schedule_id) & (slots.c.state == MISSED) & (slots.c.reason == reason)
    latest: datetime | None = conn.execute(
        select(slots.c.planned_at).where(same).order_by(slots.c.planned_at.desc()).limit(1)
    ).scalar()
    return latest


def failures_in_row(conn: Connection, schedule_id: str, limit: int, after: datetime | None) -> int:
    """How many of the newest runs that have ended failed, one behind the other; of those planned ``after``, up to ``limit``."""
    query = (
        select(jobs.c.status)
        .select_from(slots.join(jobs, jobs.c.id == slots.c.job_id))
        .where(slots.c.schedule_id == schedule_id, slots.c.state == SUBMITTED)
        .where(jobs.c.status.in_(("completed", "partial", "failed")))
        .order_by(slots.c.planned_at.desc())
        .limit(limit)
    )
    if after is not None:
        query = query.where(slots.c.planned_at > after)
    failed = 0
    for status in conn.execute(query).scalars():
        if status != "failed":
            break
        failed += 1
    return failed


def remove_slots(conn: Connection, schedule_id: str) -> None:
    """A schedule is removed, and its slots with it."""
    conn.execute(delete(slots).where(slots.c.schedule_id == schedule_id))


def _read_slot(row: Row[tuple[object, ...]]) -> Slot:
    return Slot(*_slot_values(row))
