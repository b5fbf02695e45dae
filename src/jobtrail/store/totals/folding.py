"""Joins the counts of ends: the rows of transactions to minutes, these to five minutes, hours and days, the older the longer.

A pass takes rows away and adds their sums in one transaction, so that a reader sees each end once. Two passes at once take
different rows.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, func, select

from jobtrail.database.tables import end_totals

from .durations import add_written
from .ends import COLUMNS, DAY, FIVE_MINUTES, FRESH, HOUR, MINUTE, Total

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sqlalchemy import Connection

    from jobtrail.database.dialects import Dialect
    from jobtrail.store.store import Store

CHUNK = 2_000  # rows in one transaction
MANY = 500  # rows of the minute at hand that are worth joining
# From which span into which, and for how long the shorter one is kept; a chart's steps are never shorter than its spans.
FOLDS = (
    (MINUTE, FIVE_MINUTES, timedelta(hours=3)),
    (FIVE_MINUTES, HOUR, timedelta(days=2)),
    (HOUR, DAY, timedelta(days=32)),
)
_KEY = ("at", "level", "name", "task", "queue", "status")
_SUMS = ("jobs", "waits", "runs", "oldest", "newest")


def run_once(store: Store, now: datetime, *, wait: Callable[[float], bool] = lambda _: False) -> int:
    """Join what is due.

    Args:
        store: The store.
        now: Its time.
        wait: Called between two transactions with the seconds of a rest; True ends the pass.

    Returns:
        How many rows were joined.
    """
    joined = 0
    while taken := store.write_beside(partial(_join_fresh, dialect=store.dialect, now=now)):
        joined += taken
        if taken < CHUNK or wait(0.01):
            break
    for span, into, kept in FOLDS:
        edge = floor(now - kept, into)
        while taken := store.write_beside(partial(_fold, dialect=store.dialect, span=span, into=into, edge=edge)):
            joined += taken
            if wait(0.01):
                return joined
    return joined


def floor(at: datetime, span: int) -> datetime:
    """The beginning of the span in which a moment lies."""
    return datetime.fromtimestamp(int(at.timestamp()) // span * span, UTC)


def _join_fresh(conn: Connection, dialect: Dialect, now: datetime) -> int:
    table = end_totals.c
    minute = floor(now, MINUTE)
    query = select(table.id, table.at).where(table.span == FRESH).order_by(table.at, table.id).limit(CHUNK)
    found = conn.execute(query.with_for_update(skip_locked=True)).all()
    if len(found) < MANY:
        found = [row for row in found if row.at < minute]
    if found:
        rows = conn.execute(_taken(table.id.in_([row.id for row in found])))
        _add(conn, dialect, MINUTE, rows)
    return len(found)


def _fold(conn: Connection, dialect: Dialect, span: int, into: int, edge: datetime) -> int:
    """Join the rows of the oldest of the longer spans that lies before the edge."""
    table = end_totals.c
    oldest = conn.execute(select(func.min(table.at)).where(table.span == span, table.at < edge)).scalar()
    if oldest is None:
        return 0
    begin = floor(oldest, into)
    within = (table.span == span, table.at >= begin, table.at < begin + timedelta(seconds=into))
    rows = conn.execute(_taken(*within)).all()
    _add(conn, dialect, into, rows)
    return len(rows)


def _taken(*conditions: Any) -> Any:
    return delete(end_totals).where(*conditions).returning(*(end_totals.c[name] for name in (*_KEY, *_SUMS)))


def _add(conn: Connection, dialect: Dialect, span: int, rows: Iterable[Any]) -> None:
    sums: dict[tuple[Any, ...], Total] = {}
    for row in rows:
        key = (floor(row.at, span), *(getattr(row, name) for name in _KEY[1:]))
        total = sums.setdefault(key, Total())
        total.jobs += row.jobs
        add_written(total.waits, row.waits)
        add_written(total.runs, row.runs)
        total.span(row.oldest, row.newest)
    kept = [(span, *key, *total.values()) for key, total in sums.items() if total.jobs or total.waits or total.oldest]
    if kept:
        dialect.insert_many(conn, end_totals, COLUMNS, kept)
