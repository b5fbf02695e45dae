"""What became of each planned time of an APScheduler job: rows like the slots of a schedule."""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields
from typing import TYPE_CHECKING

from sqlalchemy import select, update

from jobtrail.messages import Message
from jobtrail.store.schedules import MISSED, SUBMITTED

from .tables import aps_slots

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.database.dialects import Dialect

MOST_MISSED = 1000  # rows for one outage of one job; older times share one row
COALESCED = Message("integrations.aps-slot-coalesced").stored
TOO_LATE = Message("schedules.slot-too-late").stored
OVERLAP = Message("schedules.slot-overlap").stored


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A planned time of an APScheduler job.

    Args:
        store: Name of the job store.
        schedule: Id of the APScheduler job.
        planned_at: The planned time.
        state: "submitted" or "missed".
        reason: Why it did not run.
        job_id: Id of the tracked job that ran it.
        through: If set, it stands for all planned times up to this one.
        at: When it was recorded.

    """

    store: str
    schedule: str
    planned_at: datetime
    state: str
    reason: str | None
    job_id: str | None
    through: datetime | None
    at: datetime


_COLUMNS = tuple(one.name for one in fields(PlannedRun))
_TAIL = "ON CONFLICT (store, schedule, planned_at) DO NOTHING"


def planned_runs(
    store: str, schedule: str, times: Sequence[datetime], now: datetime, *, coalesce: bool
) -> list[PlannedRun]:
    """Return a row for each of the reached times: those that run, and with ``coalesce`` those before the last, which do not."""
    run = times[-1:] if coalesce else times
    left = times[:-1] if coalesce else []
    old, left = left[:-MOST_MISSED], left[-MOST_MISSED:]
    rows = [PlannedRun(store, schedule, one, SUBMITTED, None, None, None, now) for one in run]
    rows += [PlannedRun(store, schedule, one, MISSED, COALESCED, None, None, now) for one in left]
    if old:
        rows.append(PlannedRun(store, schedule, old[0], MISSED, COALESCED, None, old[-1], now))
    return rows


def put_runs(conn: Connection, dialect: Dialect, rows: Sequence[PlannedRun]) -> None:
    """Store rows that are not there."""
    if rows:
        dialect.insert_many(conn, aps_slots, _COLUMNS, [astuple(row) for row in rows], _TAIL)


def miss_runs(
    conn: Connection, dialect: Dialect, store: str, schedule: str, times: Iterable[datetime], reason: str, now: datetime
) -> None:
    """Say of planned times that they were missed after all."""
    for planned in times:
        put_runs(conn, dialect, [PlannedRun(store, schedule, planned, MISSED, reason, None, None, now)])
        same = (aps_slots.c.store == store) & (aps_slots.c.schedule == schedule) & (aps_slots.c.planned_at == planned)
        conn.execute(update(aps_slots).where(same).values(state=MISSED, reason=reason))


def runs_of(
    conn: Connection, store: str | None, schedule: str | None, *, state: str | None, limit: int
) -> list[PlannedRun]:
    """Return planned times, latest first."""
    query = select(*(aps_slots.c[name] for name in _COLUMNS))
    for name, value in (("store", store), ("schedule", schedule), ("state", state)):
        if value is not None:
            query = query.where(aps_slots.c[name] == value)
    return [PlannedRun(*row) for row in conn.execute(query.order_by(aps_slots.c.planned_at.desc()).limit(limit))]
