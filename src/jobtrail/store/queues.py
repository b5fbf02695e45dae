"""Queues that somebody has paused: no worker claims from them; what runs goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from jobtrail.database.tables import queues

from . import operator_actions, statistics

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.database.dialects import Dialect

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
    operator_actions.record(conn, dialect, now, actor=actor, name=what, target=name, reason=reason)
    return True


def overview(conn: Connection, now: datetime, waiting: Iterable[statistics.Waiting] | None = None) -> list[dict[str, Any]]:
    """Each queue with a job that waits for its time or runs, or that was ever paused, and who paused it.

    waiting: what `stats.waiting` found, where it was asked already. ``due`` and ``later`` stop at `stats.CAP`; ``oldest``: since when the first one is due.
    """
    found: dict[str, dict[str, Any]] = {}
    for one in statistics.waiting(conn, now) if waiting is None else waiting:
        counts = {"waiting": one.due + one.later, "due": one.due, "later": one.later, "oldest": one.oldest}
        found[one.queue] = {**_nothing(one.queue), **counts}
    for _, _, queue, number in statistics.held(conn):
        found.setdefault(queue, _nothing(queue))["running"] += number
    for row in conn.execute(select(queues)):
        about = {"paused": row.paused, "actor": row.actor, "reason": row.reason, "at": row.at}
        found[row.name] = {**found.get(row.name, _nothing(row.name)), **about}
    return [found[name] for name in sorted(found)]


def _nothing(name: str) -> dict[str, Any]:
    about = {"paused": False, "actor": None, "reason": None, "at": None}
    return {"name": name, "waiting": 0, "due": 0, "later": 0, "running": 0, "oldest": None, **about}
