"""Where jobs with a limit wait: lanes, each found by one step in an index, however many jobs wait in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import func, select
from sqlalchemy import text as sql

from jobtrail.database.tables import HANDED_OVER, LIMITED, LIMITED_TO_HAND_OVER, jobs
from jobtrail.job.limits.allotment import Lane, allot

from .use import USE, moment_of, read_all, run, use_of

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.job.limits.allotment import LimitUse

MOST_OF_EXECUTOR = 1000  # lanes of an executor that one look takes


def _steps(where: str, owner: str, *, by_priority: bool) -> str:
    """The statement part that goes from lane to lane: the first job behind a lane is the first of the next one."""
    order = "limits, priority, run_at" if by_priority else "limits, run_at"
    behind = _first_id(where, owner, "next.limits > lane.limits", order)
    if by_priority:
        same = _first_id(where, owner, "next.limits = lane.limits AND next.priority > lane.priority", order)
        behind = f"coalesce({same}, {behind})"
    return f"""
WITH RECURSIVE lane(limits, priority, run_at, number) AS (
    SELECT limits, priority, run_at, 1 FROM (
        SELECT limits, priority, run_at FROM {jobs.name} WHERE {where} AND {owner} = {{owner}} AND limits > {{after}}
        ORDER BY {order} LIMIT 1
    ) AS first
    UNION ALL
    SELECT found.limits, found.priority, found.run_at, lane.number + 1
    FROM lane JOIN {jobs.name} AS found ON found.id = {behind} WHERE lane.number < {{most}}
)
"""  # noqa: S608 - constants


def _first_id(where: str, owner: str, behind: str, order: str) -> str:
    own = where.replace("limits", "next.limits")
    by = ", ".join(f"next.{name}" for name in order.split(", "))
    return (
        f"(SELECT next.id FROM {jobs.name} AS next WHERE {own} AND next.{owner} = {{owner}} AND {behind} ORDER BY {by} LIMIT 1)"  # noqa: S608 - constants
    )


_LANES = "SELECT 0 AS kind, limits, priority AS number, run_at, NULL AS rate, NULL AS per FROM lane"
_OF_QUEUE = _steps(LIMITED, "queue", by_priority=True) + _LANES + f" UNION ALL {USE}"
_OF_EXECUTOR = _steps(LIMITED_TO_HAND_OVER, "executor", by_priority=False) + _LANES + f" UNION ALL {USE}"
_SENT = select(jobs.c.limits, func.count().label("number")).where(sql(HANDED_OVER), jobs.c.limits.is_not(None)).group_by(jobs.c.limits)


def of_queue(conn: Connection, queue: str, most: int, *, after: str = "") -> tuple[list[Lane], LimitUse]:
    """Return the lanes of a queue whose jobs our workers claim, at most ``most`` behind ``after``, and what limits leave.

    One statement. On PostgreSQL the use is exact for keys that the transaction has locked before.
    """
    return _look(conn, _OF_QUEUE, queue, most, after)


def to_send(conn: Connection, executor: str, now: datetime, *, limit: int) -> dict[str, int]:
    """Return by stored keys how many tickets of an executor may be sent: places that are free and not promised by a ticket.

    Whether a place is free when the ticket arrives is decided by the claim.
    """
    lanes, _ = _look(conn, _OF_EXECUTOR, executor, MOST_OF_EXECUTOR, "")
    if not lanes:
        return {}
    sent = {row.limits: int(row.number) for row in conn.execute(_SENT)}
    shares = allot(lanes, limit, read_all(conn).with_promised(sent), now)
    return {lane.keys: number for lane, number in shares.items()}


def _look(conn: Connection, steps: str, owner: str, most: int, after: str) -> tuple[list[Lane], LimitUse]:
    given = {"owner": owner, "after": after, "most": most}
    rows = run(conn, steps, given)
    lanes = [Lane(row[1], row[2], moment_of(row[3])) for row in rows if row[0] == 0]
    return lanes, use_of(row for row in rows if row[0] != 0)
