"""Queues that somebody has paused: no worker claims from them; what runs goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select

from . import actions
from .tables import jobs, queues

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from .dialects import Dialect

_COLUMNS = ("name", "paused", "actor", "reason", "at")
_AGAIN = "ON CONFLICT (name) DO UPDATE SET " + ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS[1:])


def paused(conn: Connection) -> list[str]:
    """The names of the paused ones."""
    return list(conn.execute(select(queues.c.name).where(queues.c.paused)).scalars())


def set_paused(
    conn: Connection, dialect: Dialect, name: str, now: datetime, *, paused: bool, actor: str, reason: str | None
) -> bool:
    """Pause or resume a queue; False where it is so already. Recorded as an action of a person."""
    there = conn.execute(select(queues.c.paused).where(queues.c.name == name)).scalar() or False
    if there is paused:
        return False
    dialect.insert_many(conn, queues, _COLUMNS, [(name, paused, actor, reason, now)], _AGAIN)
    what = "queue_paused" if paused else "queue_resumed"
    actions.record(conn, dialect, now, actor=actor, name=what, target=name, reason=reason)
    return True


def overview(conn: Connection, now: datetime) -> list[dict[str, Any]]:
    """Each queue with a job that waits or runs, or that was ever paused: what waits and is due, runs, and who paused it."""
    waits = jobs.c.status == "pending"
    counted = select(
        jobs.c.queue,
        func.count().filter(waits).label("waiting"),
        func.count().filter(waits & (jobs.c.run_at <= now)).label("due"),
        func.count().filter(jobs.c.status.in_(("running", "cancelling"))).label("running"),
        func.min(jobs.c.run_at).filter(waits & (jobs.c.run_at <= now)).label("oldest"),
    ).where(jobs.c.status.in_(("pending", "running", "cancelling")))
    found: dict[str, dict[str, Any]] = {}
    for row in conn.execute(counted.group_by(jobs.c.queue)):
        found[row.queue] = {**row._mapping, "name": row.queue, "paused": False, "actor": None, "reason": None, "at": None}
        del found[row.queue]["queue"]
    for row in conn.execute(select(queues)):
        nothing = {"name": row.name, "waiting": 0, "due": 0, "running": 0, "oldest": None}
        about = {"paused": row.paused, "actor": row.actor, "reason": row.reason, "at": row.at}
        found[row.name] = {**found.get(row.name, nothing), **about}
    return [found[name] for name in sorted(found)]
