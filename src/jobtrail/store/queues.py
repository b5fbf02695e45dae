"""Queues: which are paused, and in which something waits. Workers claim nothing from a paused queue; running jobs continue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import bindparam, func, select, union_all
from sqlalchemy import text as sql

from jobtrail.database.tables import DUE, HANDED, LIMITED, jobs, queues

from . import events

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.database.dialects import Dialect

MOST = 100_000  # queues that are named
_COLUMNS = ("name", "paused", "actor", "reason", "at")
_AGAIN = "ON CONFLICT (name) DO UPDATE SET " + ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS[1:])
_next = union_all(
    *(select(func.min(jobs.c.queue).label("queue")).where(sql(where), jobs.c.queue > bindparam("queue")) for where in (DUE, LIMITED, HANDED))
).subquery()
_next_queue = select(func.min(_next.c.queue))
_next_executor = select(func.min(jobs.c.executor)).where(
    sql(HANDED), jobs.c.queue == bindparam("queue"), jobs.c.executor > bindparam("executor")
)
_in_use = select(jobs.c.queue).where(sql("status IN ('running', 'cancelling')")).distinct()


def paused(conn: Connection) -> list[str]:
    """The names of the paused queues."""
    return list(conn.execute(select(queues.c.name).where(queues.c.paused)).scalars())


def set_paused(
    conn: Connection, dialect: Dialect, name: str, now: datetime, *, paused: bool, actor: str, reason: str | None
) -> bool:
    """Pause or resume a queue and record it as an operator's action; False, and nothing written, where nothing changes."""
    there = conn.execute(select(queues.c.paused).where(queues.c.name == name)).scalar() or False
    if there is paused:
        return False
    dialect.insert_many(conn, queues, _COLUMNS, [(name, paused, actor, reason, now)], _AGAIN)
    what = "queue_paused" if paused else "queue_resumed"
    events.record_action(conn, dialect, now, actor=actor, name=what, target=name, reason=reason)
    return True


def waiting_queues(conn: Connection, *, cap: int = MOST) -> list[str]:
    """Queues in which a job waits for its time, a slot or another system, at most ``cap``; three index lookups each."""
    found: list[str] = []
    queue: str | None = ""
    while len(found) < cap:
        queue = conn.execute(_next_queue, {"queue": queue}).scalar()
        if queue is None:
            break
        found.append(queue)
    return found


def executors(conn: Connection, queue: str) -> list[str]:
    """The executors that jobs of a queue wait for; one index lookup each, and one."""
    found: list[str] = []
    while True:
        name = conn.execute(_next_executor, {"queue": queue, "executor": found[-1] if found else ""}).scalar()
        if name is None:
            return found
        found.append(name)


def names(conn: Connection) -> set[str]:
    """Queues in which a job waits or runs, and those that were ever paused."""
    ever_paused = conn.execute(select(queues.c.name)).scalars()
    return {*waiting_queues(conn), *conn.execute(_in_use).scalars(), *ever_paused}
