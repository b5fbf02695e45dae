"""Counts an end in its transaction, takes it back where the job is retried, and reads the counts.

An end adds rows of its own instead of changing a shared one, so that workers do not wait for each other; `folding` joins
them later. Each end counts at several levels, so that a reader adds up few rows: all jobs, those of its queue, of its
task, and of its source.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Text, and_, bindparam, cast, func, insert, literal, null, or_, select, union_all

from jobtrail.database.tables import end_totals, jobs
from jobtrail.job.model import FINAL

from .durations import classes, written

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import CTE, Connection

    from jobtrail.job.transitions import Move

MINUTE, FIVE_MINUTES, HOUR, DAY = SPANS = (60, 300, 3600, 86_400)  # seconds
FRESH = 0  # the span of a row that one transaction has added; it belongs to a minute
ALL, QUEUE, TASK, SOURCE = "all", "queue", "task", "source"
COLUMNS = ("span", "at", "level", "name", "task", "queue", "status", "jobs", "waits", "runs", "oldest", "newest")
GIVEN = "given_"  # before the name of a parameter: SQLAlchemy takes one that is named as a column of an UPDATE for its value
DOUBTFUL = timedelta(minutes=1)
_MADE = timedelta(milliseconds=1)
_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


class End(NamedTuple):
    """A job that ended, as its row says; ``due`` is when it could have started, ``started`` is None for one that never ran."""

    id: str
    status: str
    outcome: str | None
    task: str
    queue: str
    source: str | None
    due: datetime
    started: datetime | None
    finished: datetime


class Total:
    """What is counted under one key."""

    __slots__ = ("jobs", "newest", "oldest", "runs", "waits")

    def __init__(self) -> None:
        self.jobs = 0
        self.waits: dict[int, int] = {}
        self.runs: dict[int, int] = {}
        self.oldest: str | None = None
        self.newest: str | None = None

    def span(self, oldest: str | None, newest: str | None) -> None:
        """Widen the range of ids."""
        if oldest is not None and (self.oldest is None or oldest < self.oldest):
            self.oldest = oldest
        if newest is not None and (self.newest is None or newest > self.newest):
            self.newest = newest

    def values(self) -> tuple[Any, ...]:
        """The last of `COLUMNS`."""
        return self.jobs, written(self.waits), written(self.runs), self.oldest, self.newest


class _Gathered:
    """Ends of one key, in lists: each end costs a worker microseconds that its jobs feel, and lists are counted quickest."""

    __slots__ = ("at", "ids", "runs", "status", "waits")

    def __init__(self, status: str, finished: datetime) -> None:
        self.status = status
        self.at = finished.replace(second=0, microsecond=0)
        self.ids: list[str] = []
        self.waits: list[timedelta] = []
        self.runs: list[timedelta] = []

    def values(self, sign: int) -> tuple[Any, ...]:
        """The last of `COLUMNS`; with ``sign`` -1 to take them back."""
        waits, runs = (written(Counter(classes(spans)), sign) for spans in (self.waits, self.runs))
        ids = (min(self.ids), max(self.ids)) if sign > 0 else (None, None)
        return sign * len(self.ids), waits, runs, *ids


# Task, queue, source, outcome, and day, hour and minute of the end: quicker to hash than a status and a moment.
_Key = tuple[str, str, str | None, str | None, int, int, int]


def count(conn: Connection, ends: Iterable[End], sign: int = 1) -> None:
    """Count ends that rows tell, in the transaction of their moves; with ``sign`` -1 they are taken back."""
    found: dict[_Key, _Gathered] = {}
    _gather_rows(found, ends)
    _insert(conn, found, sign)


def count_moves(conn: Connection, moves: Sequence[Move]) -> None:
    """Count the ends that moves have written, as the moves know them, else as the rows say."""
    found: dict[_Key, _Gathered] = {}
    unknown = _gather_moves(found, moves)
    if unknown:
        _gather_rows(found, ended(conn, unknown))
    _insert(conn, found, 1)


def values_of(move: Move) -> dict[str, Any] | None:
    """What `counting` needs for the end of one move; None where only the row knows."""
    found: dict[_Key, _Gathered] = {}
    unknown = _gather_moves(found, [move])
    return None if unknown else _counted(found, 1)[0]


def _gather_moves(found: dict[_Key, _Gathered], moves: Sequence[Move]) -> list[str]:
    """Gather what moves know; the others' jobs are returned."""
    unknown: list[str] = []
    for move in moves:
        if move.about is None:
            unknown.append(move.job_id)
            continue
        task, queue, source, due, started = move.about
        finished, outcome = move.values["finished_at"], move.values["outcome"]
        waited = started - due
        if waited > DOUBTFUL and due < _made(move.job_id) - DOUBTFUL:
            unknown.append(move.job_id)  # due before it was made: its row knows when that was
            continue
        key = (task, queue, source, outcome, finished.day, finished.hour, finished.minute)
        group = found.get(key)
        if group is None:
            group = found[key] = _Gathered(move.to.value, finished)
        group.ids.append(move.job_id)
        if outcome is not None:  # what was cancelled ended without a run, or within it
            group.waits.append(waited)
            group.runs.append(finished - started)
    return unknown


def _made(job_id: str) -> datetime:
    return _EPOCH + int(job_id[:8] + job_id[9:13], 16) * _MADE


def _gather_rows(found: dict[_Key, _Gathered], ends: Iterable[End]) -> None:
    for end in ends:
        at = end.finished
        key = (end.task, end.queue, end.source, end.outcome, at.day, at.hour, at.minute)
        group = found.setdefault(key, _Gathered(end.status, at))
        group.ids.append(end.id)
        if end.started is not None and end.outcome is not None:
            group.waits.append(end.started - end.due)
            group.runs.append(at - end.started)


def _insert(conn: Connection, gathered: dict[_Key, _Gathered], sign: int) -> None:
    rows = _counted(gathered, sign)
    if rows:
        conn.execute(_COUNT, rows[0] if len(rows) == 1 else rows)


def _counted(gathered: dict[_Key, _Gathered], sign: int) -> list[dict[str, Any]]:
    return [
        dict(zip(_PARAMETERS, (group.at, *key[:3], group.status, *group.values(sign)), strict=True)) for key, group in gathered.items()
    ]


def counting(where_any: CTE | None = None) -> Any:
    """Return the statement that counts: one set of values becomes a row for all jobs, for its queue, its task, and its source.

    Args:
        where_any: What must have rows; None counts in any case.
    """
    types = {"source": end_totals.c.name.type}
    given = select(
        *(bindparam(f"{GIVEN}{name}", type_=types.get(name) or end_totals.c[name].type).label(name) for name in _COUNTED)
    )
    one = (given if where_any is None else given.select_from(where_any)).cte("one")
    of, nothing, values = one.c, cast(null(), Text), [one.c[name] for name in _COUNTED[4:]]
    levels = (
        (ALL, literal(""), nothing, nothing),
        (QUEUE, of.queue, nothing, nothing),
        (TASK, of.task, nothing, of.queue),
        (SOURCE, of.source, of.task, of.queue),
    )
    rows = [
        select(literal(FRESH), of.at, literal(level), name, task, queue, *values).where(name.is_not(None))
        for level, name, task, queue in levels
    ]
    return insert(end_totals).from_select(list(COLUMNS), union_all(*rows))


_COUNTED = ("at", "task", "queue", "source", "status", "jobs", "waits", "runs", "oldest", "newest")
_PARAMETERS = tuple(f"{GIVEN}{name}" for name in _COUNTED)
_COUNT = counting()


def ended(conn: Connection, ids: Sequence[str], *, lock: bool = False) -> list[End]:
    """Those of these jobs that have ended, as their rows say; ``lock`` holds the rows until the commit."""
    query = select(
        jobs.c.id, jobs.c.status, jobs.c.outcome, jobs.c.task, jobs.c.queue, jobs.c.source, jobs.c.created_at, jobs.c.run_at,
        jobs.c.started_at, jobs.c.finished_at,
    ).where(jobs.c.id.in_(list(ids)), jobs.c.status.in_(sorted(FINAL)), jobs.c.finished_at.is_not(None)).order_by(jobs.c.id)  # fmt: skip
    if lock and conn.dialect.name == "postgresql":
        query = query.with_for_update()
    return [
        End(
            row.id, row.status, row.outcome, row.task, row.queue, row.source, max(row.created_at, row.run_at or row.created_at),
            row.started_at, row.finished_at,
        )
        for row in conn.execute(query)
    ]  # fmt: skip


# -- reading -----------------------------------------------------------------------------------------


def read(
    conn: Connection, since: datetime, *, task: str | None = None, queue: str | None = None, source: str | None = None
) -> Iterable[Any]:
    """Rows with ``at``, ``status``, ``jobs``, ``waits`` and ``runs`` of what ended since a moment; each adds to the others.

    Args:
        conn: A connection for reading.
        since: The beginning of the first span.
        task: Of this task only.
        queue: Of this queue only.
        source: Of this source only.
    """
    table = end_totals.c
    query = select(table.at, table.status, table.jobs, table.waits, table.runs).where(table.at >= since)
    if source is not None:
        query = query.where(table.level == SOURCE, table.name == source)
        query = query if task is None else query.where(table.task == task)
        query = query if queue is None else query.where(table.queue == queue)
    elif task is not None:
        query = query.where(table.level == TASK, table.name == task)
        query = query if queue is None else query.where(table.queue == queue)
    else:
        query = query.where(table.level == (ALL if queue is None else QUEUE), table.name == (queue or ""))
    return conn.execute(query)


def by_queue(conn: Connection, since: datetime) -> dict[str, int]:
    """How many jobs of each queue have ended since a moment, a minute more or less."""
    table = end_totals.c
    query = select(table.name, func.sum(table.jobs)).where(table.level == QUEUE, table.at >= since).group_by(table.name)
    return {name: int(number) for name, number in conn.execute(query) if number}


def ids_between(conn: Connection, since: datetime, until: datetime) -> tuple[str, str] | None:
    """The smallest and the greatest id of the jobs that ended within a time; None where none did.

    Args:
        conn: A connection for reading.
        since: The first moment.
        until: The first moment behind it.
    """
    table = end_totals.c
    begun = or_(
        table.at >= since,
        *(and_(table.span == span, table.at > since - timedelta(seconds=max(span, MINUTE))) for span in (FRESH, *SPANS)),
    )
    within = (table.level == ALL, table.name == "", table.at < until, begun)
    # PostgreSQL has no min() of ids before version 18.
    first = select(table.oldest).where(*within, table.oldest.is_not(None)).order_by(table.oldest).limit(1)
    last = select(table.newest).where(*within, table.newest.is_not(None)).order_by(table.newest.desc()).limit(1)
    oldest, newest = conn.execute(first).scalar(), conn.execute(last).scalar()
    return None if oldest is None or newest is None else (oldest, newest)
