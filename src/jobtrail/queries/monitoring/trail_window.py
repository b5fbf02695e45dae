"""The trail for a reader that stores how far it has read: no line is missed, whatever the order of the commits.

Numbers are given to lines before they are committed, so on PostgreSQL line 2 may be visible before line 1. The reader
therefore stores a *floor*, up to which nothing can appear any more, and not the newest line that it saw. The floor rises
in three turns: a turn notes the newest line that it read (the *mark*); a later one begins a transaction of its own (the
*fence*), which is younger than each transaction that has a number up to the mark; when all transactions before the fence
have ended, everything up to the mark is visible, and a turn that reads after this may raise the floor to the mark. What
lies between floor and newest line is looked at in each turn, so a reader that dies reads it again: whoever stores what it
made of a line stores it under the line's own key. SQLite has one writer at a time, so its lines appear in order.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from json import dumps, loads
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, or_, select

from jobtrail.database.tables import events, jobs
from jobtrail.queries.base import error_line
from jobtrail.queries.trail_reader import newest

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy import ColumnElement, Connection

AT_ONCE = 1000  # lines of one turn
ERROR = 8000  # characters of an error that are read for its first line
# A transaction that stays open for longer than this is not waited for.
LONGEST = timedelta(minutes=10)
SETTLING = timedelta(seconds=1)
REREAD = timedelta(minutes=1)

_STATES = ("failed", "partial", "interrupted")
_WAITING = ("awaiting_input", "awaiting_mapping")
_NAMES = ("asked", "slot_missed")


@dataclass(frozen=True, slots=True)
class TrailPosition:
    """How far the trail is read.

    Attributes:
        floor: Up to this number every line was read, and none can appear any more.
        high: The newest number that was read.
        mark: The number to which the floor rises next.
        fence: The transaction before which all must have ended for that; None until it is known.
        at: When the position was stored last.
        marked_at: When the mark was noted.
    """

    floor: int
    high: int
    mark: int
    fence: int | None
    at: datetime
    marked_at: datetime

    @classmethod
    def behind(cls, number: int, now: datetime) -> TrailPosition:
        """Begin behind a line."""
        return cls(number, number, number, None, now, now)

    def to_json(self) -> str:
        """As a text column keeps it."""
        return dumps({name: value.isoformat() if isinstance(value, datetime) else value for name, value in asdict(self).items()})

    @classmethod
    def from_json(cls, text: str) -> TrailPosition:
        """What `to_json` wrote."""
        found = loads(text)
        times = {name: datetime.fromisoformat(found[name]) for name in ("at", "marked_at")}
        return cls(**{**found, **times})


@dataclass(frozen=True, slots=True)
class TrailLine:
    """One line of the trail that somebody may want to be told, with what is known of its job."""

    id: int
    job_id: str
    at: datetime
    name: str
    from_status: str | None
    to_status: str | None
    reason: str | None
    detail: dict[str, Any]
    task: str | None
    source: str | None
    period: str | None
    error: str | None


def begin(conn: Connection, now: datetime) -> TrailPosition:
    """Return the position behind the newest line: what was before is not told."""
    return TrailPosition.behind(newest(conn), now)


def read(
    conn: Connection, position: TrailPosition, now: datetime, *, seen: Collection[int] = (), limit: int = AT_ONCE
) -> tuple[list[TrailLine], TrailPosition]:
    """Read what came since a position, and what appeared behind it.

    Args:
        conn: A connection on which each statement sees what is committed (READ COMMITTED, or any transaction of SQLite).
        position: The stored position.
        now: The time of the store.
        seen: Numbers above the floor that the caller has already; they are left out.
        limit: Greatest number of new lines.

    Returns:
        The lines, in the order of their numbers, and the position to store with what became of them.
    """
    position, since = _restarted(conn, position)
    ended = _ended_before(conn, position, now)
    there = newest(conn)
    new = _lines(conn, events.c.id > position.high, since, limit)
    late = _late(conn, position, seen) if position.floor < position.high else []
    last = new[-1].id if new else position.high
    high = last if len(new) == limit else max(last, there)
    following = _next(conn, replace(position, high=high, at=now), now, ended=ended and len(late) < AT_ONCE)
    return sorted([*late, *new], key=_number), following


def _number(line: TrailLine) -> int:
    return line.id


def _late(conn: Connection, position: TrailPosition, seen: Collection[int]) -> list[TrailLine]:
    window = (events.c.id > position.floor) & (events.c.id <= position.high)
    there = conn.execute(select(events.c.id).where(window, _interesting()).order_by(events.c.id)).scalars()
    missing = [number for number in there if number not in seen][:AT_ONCE]
    return _lines(conn, events.c.id.in_(missing), None, AT_ONCE) if missing else []


def _restarted(conn: Connection, position: TrailPosition) -> tuple[TrailPosition, datetime | None]:
    """Numbers that began anew, because SQLite gives those of removed lines again, are read from the first one."""
    if conn.dialect.name == "postgresql" or newest(conn) >= position.floor:
        return position, None
    return TrailPosition.behind(0, position.at), position.at - REREAD


def _ended_before(conn: Connection, position: TrailPosition, now: datetime) -> bool:
    """Whether all transactions that may have a number up to the mark have ended; asked before the lines are read."""
    if conn.dialect.name != "postgresql" or now - position.marked_at > LONGEST:
        return True
    if position.fence is None:
        return False
    oldest = conn.exec_driver_sql("SELECT pg_snapshot_xmin(pg_current_snapshot())::text").scalar_one()
    return int(oldest) >= position.fence


def _next(conn: Connection, position: TrailPosition, now: datetime, *, ended: bool) -> TrailPosition:
    if conn.dialect.name != "postgresql":
        return TrailPosition.behind(position.high, now)
    if position.floor == position.mark == position.high:
        return replace(position, fence=None)  # nothing is waited for
    if ended:
        return replace(position, floor=position.mark, mark=position.high, fence=None, marked_at=now)
    # A number is given a moment before its transaction gets one itself.
    if position.fence is None and now - position.marked_at >= SETTLING:
        # Not the end of a snapshot, which is behind the last transaction that has ended, and not behind those that run.
        own = conn.exec_driver_sql("SELECT pg_current_xact_id()::text").scalar_one()
        return replace(position, fence=int(own))
    return position


def _interesting() -> ColumnElement[bool]:
    return or_(events.c.to_status.in_(_STATES), events.c.from_status.in_(_WAITING), events.c.name.in_(_NAMES))


def _lines(conn: Connection, where: ColumnElement[bool], since: datetime | None, limit: int) -> list[TrailLine]:
    query = (
        select(
            events,
            jobs.c.task,
            jobs.c.source,
            jobs.c.period,
            func.substr(jobs.c.error, 1, ERROR).label("error"),
        )
        .outerjoin(jobs, jobs.c.id == events.c.job_id)
        .where(where, _interesting())
        .order_by(events.c.id)
        .limit(limit)
    )
    if since is not None:
        query = query.where(events.c.at >= since)
    return [_line(row) for row in conn.execute(query)]


def _line(row: Any) -> TrailLine:
    detail = loads(row.detail) if row.detail else {}
    return TrailLine(
        row.id, row.job_id, row.at, row.name, row.from_status, row.to_status, row.reason, detail, row.task, row.source,
        row.period, error_line(row.error),
    )  # fmt: skip


def times_interrupted(conn: Connection, job_id: str, up_to: int) -> int:
    """Return how often a job was interrupted, up to a line of the trail."""
    own = (events.c.job_id == job_id) & (events.c.name == "interrupted") & (events.c.id <= up_to)
    return int(conn.execute(select(func.count()).select_from(events).where(own)).scalar_one())
