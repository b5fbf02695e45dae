"""Removes items and steps of generations that no job has any more, and the history of items of removed jobs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import delete, or_, select, tuple_

from jobtrail.database.tables import item_history, items, jobs, steps, units
from jobtrail.job.model import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from sqlalchemy import Connection

    from jobtrail.store.store import Store

ROWS = 2_000  # in one transaction
LEDGERS = (items, steps)


class _Emptied(NamedTuple):
    """What one transaction removed."""

    ledgers: int
    more: bool


def empty(store: Store, ledgers: set[str], pause: Callable[[], bool] = bool) -> tuple[int, bool]:
    """Remove what stands in these ledgers, some rows at a time, for one may have millions.

    The jobs are gone by then. What a crash leaves is found by the next pass of retention.

    Returns:
        How many ledgers were removed, and whether ``pause`` ended it before all rows were.
    """
    emptied = store.write_beside(partial(_remove_rows, ledgers=ledgers)) if ledgers else _Emptied(0, more=False)
    removed = emptied.ledgers
    while emptied.more:
        if pause():
            return removed, True
        emptied = store.write_beside(partial(_remove_rows, ledgers=ledgers))
    return removed, False


def remove_all(conn: Connection, ledgers: set[str]) -> None:
    """Remove what stands in these ledgers and is not needed, in the caller's transaction."""
    if going := _going(conn, ledgers):
        for table in (*LEDGERS, item_history):
            conn.execute(delete(table).where(table.c.generation.in_(sorted(going))))


def _going(conn: Connection, ledgers: set[str]) -> set[str]:
    """Those of these ledgers whose generation no job has any more, and on which no unfinished unit stands."""
    going = ledgers - with_a_job(conn, ledgers)
    return going - _with_an_open_unit(conn, going) if going else going


def _remove_rows(conn: Connection, ledgers: set[str]) -> _Emptied:
    going = _going(conn, ledgers)
    left = ROWS
    for table in LEDGERS:
        if going and left > 0:
            key = table.primary_key.columns
            some = select(*key).where(table.c.generation.in_(sorted(going))).limit(left)
            left -= conn.execute(delete(table).where(tuple_(*key).in_(some))).rowcount
    return _Emptied(len(going), left <= 0)


def with_a_job(conn: Connection, ledgers: Iterable[str]) -> set[str]:
    """Those of these generations that a job has."""
    wanted = list(ledgers)
    found = set(conn.execute(select(jobs.c.id).where(jobs.c.id.in_(wanted))).scalars())
    return found | set(conn.execute(select(jobs.c.generation).where(jobs.c.generation.in_(wanted))).scalars())


def _with_an_open_unit(conn: Connection, ledgers: Iterable[str]) -> set[str]:
    not_complete = or_(units.c.outcome.is_(None), units.c.outcome != Outcome.SUCCESS.value)
    query = select(units.c.generation).where(units.c.generation.in_(list(ledgers)), not_complete)
    return set(conn.execute(query).scalars())


def remove_history(conn: Connection, of: Sequence[str]) -> int:
    """Remove at most `ROWS` rows of what items were in these jobs; returns how many."""
    key = item_history.primary_key.columns
    some = select(*key).where(item_history.c.job_id.in_(of)).limit(ROWS)
    return conn.execute(delete(item_history).where(tuple_(*key).in_(some))).rowcount
