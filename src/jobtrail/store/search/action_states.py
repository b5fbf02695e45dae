"""What the rule of allowed actions needs to know of many jobs, read by one statement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, func, or_, select

from jobtrail.database.tables import events, jobs
from jobtrail.database.types import Moment
from jobtrail.job.model import ACTIVE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import Connection

AT_ONCE = 500  # ids in one statement
_AGAIN = jobs.alias("again")
# A transition has a line in the trail, or a time of its own in the row.
_AFTER = bindparam("since", type_=Moment)
_CHANGED = select(jobs.c.id).where(
    jobs.c.id.in_(bindparam("ids", expanding=True)),
    or_(
        jobs.c.created_at > _AFTER,
        jobs.c.started_at > _AFTER,
        jobs.c.finished_at > _AFTER,
        select(events.c.id).where(events.c.job_id == jobs.c.id, events.c.at > _AFTER).exists(),
    ),
)


def _one_id(*conditions: Any) -> Any:
    return select(_AGAIN.c.id).where(*conditions).limit(1)


_STATES = select(
    jobs.c.id,
    jobs.c.run_no,
    jobs.c.status,
    jobs.c.run_at,
    jobs.c.waits_for,
    jobs.c.body_running,
    jobs.c.items_failed,
    jobs.c.file.is_not(None).label("has_file"),
    select(_AGAIN.c.id)
    .where(_AGAIN.c.rerun_of == jobs.c.id, _AGAIN.c.rerun_of.is_not(None), _AGAIN.c.status != "cancelled")
    .exists()
    .label("reran"),
    _one_id(_AGAIN.c.unit == jobs.c.unit).order_by(_AGAIN.c.id.desc()).scalar_subquery().label("newest"),
    _one_id(_AGAIN.c.unit_lock == jobs.c.unit).scalar_subquery().label("active"),
    _one_id(_AGAIN.c.generation == func.coalesce(jobs.c.generation, jobs.c.id), _AGAIN.c.status.in_(sorted(ACTIVE)))
    .scalar_subquery()
    .label("continued"),
)


def action_states(conn: Connection, ids: Sequence[str]) -> dict[str, Any]:
    """Return a row by id for each of these jobs that exists."""
    found: dict[str, Any] = {}
    for begin in range(0, len(ids), AT_ONCE):
        query = _STATES.where(jobs.c.id.in_(ids[begin : begin + AT_ONCE]))
        found |= {row.id: row for row in conn.execute(query)}
    return found


def action_state(conn: Connection, job_id: str) -> Any:
    """Return the row of one job, or None if it does not exist."""
    return conn.execute(_STATES.where(jobs.c.id == job_id)).first()


def changed_since(conn: Connection, ids: Sequence[str], since: datetime) -> set[str]:
    """Return which of these jobs had a transition after ``since`` (UTC)."""
    changed: set[str] = set()
    for begin in range(0, len(ids), AT_ONCE):
        changed |= set(conn.execute(_CHANGED, {"ids": list(ids[begin : begin + AT_ONCE]), "since": since}).scalars())
    return changed
