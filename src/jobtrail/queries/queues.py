"""Queues as people see them: what waits, what runs, and who paused them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from jobtrail.database.tables import queues

from . import statistics

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from sqlalchemy import Connection


def overview(conn: Connection, now: datetime, waiting: Iterable[statistics.Waiting] | None = None) -> list[dict[str, Any]]:
    """Each queue with a job that waits for its time or runs, or that was ever paused, and who paused it.

    Args:
        conn: a connection for reading.
        now: the database's time, UTC.
        waiting: what `statistics.waiting` returned, where it was read already.
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
