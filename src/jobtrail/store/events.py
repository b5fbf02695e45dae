"""The trail of jobs and the actions of operators, written in the transaction of the change.

A submission, the start of the current run and a plain success are columns of the job and have no row here, so that
the hot path stays narrow. Every other transition has one.
"""

from __future__ import annotations

from dataclasses import dataclass
from json import dumps, loads
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select

from jobtrail.database.tables import actions, events
from jobtrail.job.model import Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.database.dialects import Dialect
    from jobtrail.job.transitions import Move

_ACTION_COLUMNS = ("at", "actor", "name", "target", "reason", "detail")
COLUMNS = ("job_id", "at", "name", "from_status", "to_status", "run_no", "actor", "reason", "detail")


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the trail."""

    id: int
    job_id: str
    at: datetime
    name: str
    from_status: str | None
    to_status: str | None
    run_no: int | None
    actor: str | None
    reason: str | None
    detail: dict[str, Any]


def has_line(move: Move, left: Status | None) -> bool:
    """Is there a line for this move? A success that nobody had asked to stop is recorded in the job's columns alone."""
    return move.name != "finished" or move.to is not Status.COMPLETED or left is not Status.RUNNING


def row_of(move: Move, now: datetime, left: Status | None, *, name: str | None = None) -> tuple[Any, ...]:
    """The line for a move, in the order of `COLUMNS`; ``left`` is the state that the row really left."""
    detail = dumps(move.detail, default=str) if move.detail else None
    return (
        move.job_id, now, name or move.name, left.value if left is not None else None, move.to.value, move.run_no, move.actor, move.reason, detail,
    )  # fmt: skip


def note(job_id: str, now: datetime, name: str, **rest: Any) -> tuple[Any, ...]:
    """A line that is no move: something that was said about the job."""
    detail = rest.get("detail")
    return (
        job_id, now, name, None, None, rest.get("run_no"), rest.get("actor"), rest.get("reason"),
        dumps(detail, default=str) if detail else None,
    )  # fmt: skip


def append(conn: Connection, dialect: Dialect, rows: list[tuple[Any, ...]]) -> None:
    """Write lines, in the transaction of what they tell."""
    if rows:
        dialect.insert_many(conn, events, COLUMNS, rows)


def record_action(
    conn: Connection,
    dialect: Dialect,
    now: datetime,
    *,
    actor: str,
    name: str,
    target: str | None = None,
    reason: str | None = None,
    detail: Mapping[str, Any] | None = None,
) -> None:
    """Record an operator's action that is no transition of one job, in the transaction of the change.

    Args:
        conn: the transaction of the change.
        dialect: the database's dialect.
        now: the database's time, UTC.
        actor: who acted.
        name: what they did, such as ``queue_paused`` or ``token_created``.
        target: the queue, schedule, token or bulk action it concerns.
        reason: why, in the actor's words.
        detail: JSON-able facts about the action.
    """
    row = (now, actor, name, target, reason, dumps(detail, default=str) if detail else None)
    dialect.insert_many(conn, actions, _ACTION_COLUMNS, [row])


def newest_actions(
    conn: Connection, names: Iterable[str], *, target: str | None = None, limit: int = 10_000
) -> dict[str, Any]:
    """By target, the newest action of any of these names: at, actor, name, reason, detail (JSON text).

    Args:
        conn: a connection for reading.
        names: the names of the actions.
        target: this target only.
        limit: how many targets are read, those of the newest actions.
    """
    last = select(func.max(actions.c.id).label("id")).where(actions.c.name.in_(list(names)))
    last = last.where(actions.c.target.is_not(None) if target is None else actions.c.target == target)
    newest = last.group_by(actions.c.target).order_by(func.max(actions.c.id).desc()).limit(limit).subquery()
    found = conn.execute(select(actions).join(newest, newest.c.id == actions.c.id))
    return {row.target: row for row in found}


def of_job(conn: Connection, job_id: str, *, after: int = 0, limit: int = 1000) -> list[Event]:
    """The trail of one job, oldest first; of a longer one the newest lines, or those that follow ``after``."""
    mine = select(events).where(events.c.job_id == job_id, events.c.id > after).limit(limit)
    if after:
        return _read(conn.execute(mine.order_by(events.c.id)))
    return _read(conn.execute(mine.order_by(events.c.id.desc())))[::-1]


def after(conn: Connection, event_id: int, *, limit: int = 1000) -> list[Event]:
    """Lines after an id, oldest first; late commits may appear behind it (readers overlap by time)."""
    found = conn.execute(select(events).where(events.c.id > event_id).order_by(events.c.id).limit(limit))
    return _read(found)


def newest_of_job(conn: Connection, job_id: str) -> int:
    """The number of the last line of one job, 0 where it has none."""
    return int(conn.execute(select(func.max(events.c.id)).where(events.c.job_id == job_id)).scalar() or 0)


def last_retried_run(conn: Connection, job_id: str) -> int:
    """The number of the run after which a person last retried the job, 0 where nobody has."""
    own = (events.c.job_id == job_id) & (events.c.name == "retried")
    return int(conn.execute(select(func.max(events.c.run_no)).where(own)).scalar() or 0)


def has_event(conn: Connection, job_id: str, names: Iterable[str], reason: str) -> bool:
    """Whether a job has an event of one of these names with this reason."""
    own = (events.c.job_id == job_id) & (events.c.reason == reason) & events.c.name.in_(list(names))
    return conn.execute(select(events.c.id).where(own).limit(1)).first() is not None


def by_ids(conn: Connection, ids: list[int]) -> list[Event]:
    """These lines, oldest first."""
    return _read(conn.execute(select(events).where(events.c.id.in_(ids)).order_by(events.c.id))) if ids else []


def _read(rows: Iterable[Any]) -> list[Event]:
    return [
        Event(
            row.id,
            row.job_id,
            row.at,
            row.name,
            row.from_status,
            row.to_status,
            row.run_no,
            row.actor,
            row.reason,
            loads(row.detail) if row.detail else {},
        )
        for row in rows
    ]
