"""Where jobs with a limit wait: lanes, each found by one step in an index, however many jobs wait in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import func, select
from sqlalchemy import text as sql

from jobtrail.database.tables import HANDED_OVER, LIMITED, LIMITED_TO_HAND_OVER, jobs
from jobtrail.job.limits.allotment import Lane, allot

from .use import read_all

if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

    from sqlalchemy import Connection

MOST_OF_EXECUTOR = 1000  # lanes of an executor that one look takes


def _steps(where: str, owner: str, key: tuple[str, ...]) -> Any:
    """The first job behind the last lane is the first of the next one."""
    order = ", ".join((*key, "run_at"))
    next_key, last_key = (", ".join(f"{table}.{name}" for name in key) for table in ("next", "lane"))
    text = f"""
WITH RECURSIVE lane(limits, priority, run_at, number) AS (
    SELECT limits, priority, run_at, 1 FROM (
        SELECT limits, priority, run_at FROM {jobs.name} WHERE {where} AND {owner} = :owner AND limits > :after
        ORDER BY {order} LIMIT 1
    ) AS first
    UNION ALL
    SELECT found.limits, found.priority, found.run_at, lane.number + 1 FROM lane JOIN {jobs.name} AS found ON found.id = (
        SELECT next.id FROM {jobs.name} AS next
        WHERE {where.replace("limits", "next.limits")} AND next.{owner} = :owner AND ({next_key}) > ({last_key})
        ORDER BY {next_key}, next.run_at LIMIT 1
    ) WHERE lane.number < :most
)
SELECT limits, priority, run_at FROM lane
"""  # noqa: S608 - constants
    return sql(text).columns(jobs.c.limits, jobs.c.priority, jobs.c.run_at)


_OF_QUEUE = _steps(LIMITED, "queue", ("limits", "priority"))
_OF_EXECUTOR = _steps(LIMITED_TO_HAND_OVER, "executor", ("limits",))
_SENT = select(jobs.c.limits, func.count().label("number")).where(sql(HANDED_OVER), jobs.c.limits.is_not(None)).group_by(jobs.c.limits)


def of_queue(conn: Connection, queue: str, most: int, *, after: str = "") -> list[Lane]:
    """Return the lanes of a queue whose jobs our workers claim, by their keys, at most ``most`` behind ``after``."""
    return _read(conn, _OF_QUEUE, queue, most, after)


def to_send(conn: Connection, executor: str, now: datetime, *, limit: int) -> dict[str, int]:
    """Return by stored keys how many tickets of an executor may be sent: places that are free and not promised by a ticket.

    Whether a place is free when the ticket arrives is decided by the claim.
    """
    lanes = _read(conn, _OF_EXECUTOR, executor, MOST_OF_EXECUTOR, "")
    if not lanes:
        return {}
    sent = {row.limits: int(row.number) for row in conn.execute(_SENT)}
    shares = allot(lanes, limit, read_all(conn).with_promised(sent), now)
    return {lane.keys: number for lane, number in shares.items()}


def _read(conn: Connection, steps: Any, owner: str, most: int, after: str) -> list[Lane]:
    return [Lane(*row) for row in conn.execute(steps, {"owner": owner, "after": after, "most": most})]
