"""Slots: what became of each planned time of a schedule. The key keeps one from being run twice; never pruned."""

from __future__ import annotations

from dataclasses import dataclass, fields
from operator import attrgetter
from typing import TYPE_CHECKING

from sqlalchemy import delete, insert, select, tuple_

from jobtrail.database.tables import jobs, schedules, slots

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import Connection, Row

    from jobtrail.database.dialects import Dialect

SUBMITTED, MISSED = "submitted", "missed"
PAIRS = 250  # in one question


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


COLUMNS = tuple(one.name for one in fields(Slot))
_values = attrgetter(*COLUMNS)


def put(conn: Connection, dialect: Dialect, rows: Sequence[Slot]) -> None:
    """Store slots that are not there.

    Raises: IntegrityError when one is: then nothing of the transaction holds.
    """
    if rows:
        dialect.insert_many(conn, slots, COLUMNS, [_values(row) for row in rows])


def put_where_free(conn: Connection, dialect: Dialect, rows: Sequence[Slot]) -> None:
    """Store those of these slots that are not there."""
    if rows:
        tail = "ON CONFLICT (schedule_id, planned_at) DO NOTHING"
        dialect.insert_many(conn, slots, COLUMNS, [_values(row) for row in rows], tail)


def put_one(conn: Connection, row: Slot) -> None:
    """Store one slot.

    Raises: IntegrityError when it is there.
    """
    conn.execute(insert(slots).values(dict(zip(COLUMNS, _values(row), strict=True))))


def taken(conn: Connection, pairs: Sequence[tuple[str, datetime]]) -> dict[tuple[str, datetime], str | None]:
    """Which of these (schedule, planned time) are there already, and the reason that stands there."""
    found: dict[tuple[str, datetime], str | None] = {}
    for start in range(0, len(pairs), PAIRS):
        asked = tuple_(slots.c.schedule_id, slots.c.planned_at).in_(pairs[start : start + PAIRS])
        query = select(slots.c.schedule_id, slots.c.planned_at, slots.c.reason).where(asked)
        found |= {(row.schedule_id, row.planned_at): row.reason for row in conn.execute(query)}
    return found


def take_back(conn: Connection, pairs: Sequence[tuple[str, datetime]]) -> None:
    """Missed times of which more can be said now."""
    for schedule_id, planned in pairs:
        same = (slots.c.schedule_id == schedule_id) & (slots.c.planned_at == planned) & (slots.c.state == MISSED)
        conn.execute(delete(slots).where(same))


def of_schedule(
    conn: Connection, schedule_id: str, *, before: datetime | None = None, limit: int = 100, state: str | None = None
) -> list[Slot]:
    """The slots of a schedule, latest planned time first."""
    query = select(slots).where(slots.c.schedule_id == schedule_id)
    if before is not None:
        query = query.where(slots.c.planned_at < before)
    if state is not None:
        query = query.where(slots.c.state == state)
    return [_read(row) for row in conn.execute(query.order_by(slots.c.planned_at.desc()).limit(limit))]


def missed(conn: Connection, *, since: datetime | None = None, limit: int = 100) -> list[tuple[str, Slot]]:
    """Missed slots of all schedules with the schedule's name, what was noted last first."""
    query = select(schedules.c.name, *slots.c).join(schedules, schedules.c.id == slots.c.schedule_id)
    query = query.where(slots.c.state == MISSED)
    if since is not None:
        query = query.where(slots.c.at >= since)
    found = conn.execute(query.order_by(slots.c.at.desc(), slots.c.planned_at.desc()).limit(limit))
    return [(row.name, _read(row)) for row in found]


def latest_unknown(conn: Connection, schedule_id: str, reason: str) -> datetime | None:
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


def forget(conn: Connection, schedule_id: str) -> None:
    """A schedule is removed, and its slots with it."""
    conn.execute(delete(slots).where(slots.c.schedule_id == schedule_id))


def _read(row: Row[tuple[object, ...]]) -> Slot:
    return Slot(*_values(row))
