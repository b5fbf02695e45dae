"""Items: the outcome of each thing inside a job, kept by generation, loop and key.

`items` has what an item is now. What it was before another job or run recorded it again goes to `item_history` in the
same transaction, so that a job keeps the outcomes that it had (docs/why/items.md).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, func, select, tuple_, union_all

from jobtrail.database.dialects import RowCopy
from jobtrail.database.tables import item_history, items
from jobtrail.job.items import Counts, ItemOutcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from sqlalchemy import Connection, Select, Table

    from jobtrail.database.dialects import Dialect

COLUMNS = (
    "generation", "loop", "key", "position", "outcome", "reason", "error_type", "job_id", "run_no", "tries", "at",
)  # fmt: skip
_UPSERT = (
    "ON CONFLICT (generation, loop, key) DO UPDATE SET position = excluded.position, outcome = excluded.outcome, "
    "reason = excluded.reason, error_type = excluded.error_type, job_id = excluded.job_id, run_no = excluded.run_no, "
    f"tries = {items.name}.tries + 1, at = excluded.at"
)
_KEYS = ("generation", "loop", "key")
_NEW = (*_KEYS, "outcome", "reason", "job_id", "run_no")
# What a job had stays. Within a job, each failure stays, and what came out otherwise.
_REPLACED = (
    "old.job_id <> new.job_id OR (old.run_no <> new.run_no AND (old.outcome = 'failed' "
    "OR old.outcome <> new.outcome OR coalesce(old.reason, '') <> coalesce(new.reason, '')))"
)
_REPLACED_ROWS = RowCopy(items, item_history, _KEYS, _NEW, _REPLACED, (("last_of_job", "old.job_id <> new.job_id"),))
MOST_RECORDS = 1000  # of one item
MOST_KEYS = 500  # in one statement


@dataclass(frozen=True, slots=True)
class ItemRow:
    """One item as a run recorded it."""

    loop: str
    key: str
    position: int
    outcome: ItemOutcome
    reason: str | None
    error_type: str | None
    job_id: str
    run_no: int
    tries: int
    at: datetime


@dataclass(frozen=True, slots=True)
class Recorded:
    """One outcome on its way to the store."""

    loop: str
    key: str
    position: int
    outcome: ItemOutcome
    reason: str | None = None
    error_type: str | None = None
    final: bool = False  # another try cannot help; not stored with the item


def record(
    conn: Connection,
    dialect: Dialect,
    ledger: str,
    job_id: str,
    run_no: int,
    recorded: Sequence[Recorded],
    now: datetime,
) -> None:
    """Write outcomes; the newest for a key stands. Sorted, or two writers could wait for each other."""
    newest = {(one.loop, one.key): one for one in recorded}
    rows = [
        (
            ledger, one.loop, one.key, one.position, one.outcome.value, one.reason, one.error_type,
            job_id, run_no, 1, now,
        )
        for _, one in sorted(newest.items())
    ]  # fmt: skip
    if not rows:
        return
    if ledger != job_id or run_no > 1:  # nothing stands before the first run of a generation
        _keep(conn, dialect, rows, taken_back=run_no > 1)
    dialect.insert_many(conn, items, COLUMNS, rows, _UPSERT)


def _keep(conn: Connection, dialect: Dialect, rows: Sequence[tuple[Any, ...]], *, taken_back: bool) -> None:
    """Keep what these rows are about to replace; ``taken_back`` where their job may have left items to others before."""
    new = [tuple(row[COLUMNS.index(name)] for name in _NEW) for row in rows]
    dialect.copy_many(conn, _REPLACED_ROWS, new)
    job_id = rows[0][COLUMNS.index("job_id")]
    if taken_back and left_any(conn, rows[0][0], job_id):
        last = [(*row[:3], job_id, False) for row in rows]
        dialect.update_many(conn, item_history, (*_KEYS, "job_id"), ("last_of_job",), last)


def of_ledger(conn: Connection, ledger: str) -> list[tuple[str, str, ItemOutcome, str, int]]:
    """(loop, key, outcome, job, run_no) of all items of a telling, as they were recorded last."""
    columns = (items.c.loop, items.c.key, items.c.outcome, items.c.job_id, items.c.run_no)
    known = {outcome.value: outcome for outcome in ItemOutcome}
    found = conn.execute(select(*columns).where(items.c.generation == ledger))
    return [(loop, key, known[outcome], job_id, run_no) for loop, key, outcome, job_id, run_no in found]


def left_any(conn: Connection, ledger: str, job_id: str) -> bool:
    """Whether other jobs have recorded items of this job again."""
    return conn.execute(_left(ledger, job_id).limit(1)).first() is not None


def left_to_others(conn: Connection, ledger: str, job_id: str) -> list[tuple[str, str, ItemOutcome]]:
    """(loop, key, outcome) of the items that this job recorded and other jobs have recorded since."""
    query = _left(ledger, job_id).with_only_columns(_history.loop, _history.key, _history.outcome)
    return [(loop, key, ItemOutcome(outcome)) for loop, key, outcome in conn.execute(query)]


def counts(conn: Connection, ledger: str, *, job_id: str | None = None) -> Counts:
    """How the items of a telling stand; with ``job_id`` how this job left those that it recorded."""
    query = select(items.c.outcome, func.count()).where(items.c.generation == ledger).group_by(items.c.outcome)
    if job_id is not None:
        query = query.where(items.c.job_id == job_id)
    found: dict[str, int] = {outcome: number for outcome, number in conn.execute(query)}  # noqa: C416 - rows are not pairs to mypy
    if job_id is not None:
        left = _left(ledger, job_id).with_only_columns(_history.outcome, func.count()).group_by(_history.outcome)
        for outcome, number in conn.execute(left):
            found[outcome] = found.get(outcome, 0) + number
    return Counts(found.get("ok", 0), found.get("failed", 0), found.get("skipped", 0))


def page(
    conn: Connection,
    ledger: str,
    *,
    outcome: ItemOutcome | None = None,
    job_id: str | None = None,
    after: tuple[str, int, str] | None = None,
    limit: int = 1000,
) -> list[ItemRow]:
    """Items in the order of the input (loop, position, key).

    Args:
        conn: an open connection.
        ledger: the telling.
        outcome: only items of this outcome.
        job_id: only items that this job recorded, as it left them; otherwise all, as they stand now.
        after: the last one of the page before.
        limit: greatest number of items.
    """
    query = _columns(items).where(items.c.generation == ledger)
    if job_id is None:
        return _rows(conn, _narrowed(query, items, outcome, after, limit))
    own = _narrowed(query.where(items.c.job_id == job_id), items, outcome, after, limit).subquery()
    left = _narrowed(_left(ledger, job_id), item_history, outcome, after, limit).subquery()
    both = union_all(select(own), select(left)).subquery()
    return _rows(conn, select(both).order_by(both.c.loop, both.c.position, both.c.key).limit(limit))


def history(conn: Connection, ledger: str, loop: str, key: str) -> list[ItemRow]:
    """All that is kept of one item, oldest first; the last one is what it is now. At most `MOST_RECORDS`, the newest."""
    mine = [
        _columns(table).where(table.c.generation == ledger, table.c.loop == loop, table.c.key == key)
        for table in (items, item_history)
    ]
    both = union_all(*mine).subquery()
    newest = select(both).order_by(both.c.tries.desc(), both.c.at.desc()).limit(MOST_RECORDS)
    return _rows(conn, newest)[::-1]


def standing(conn: Connection, ledger: str, places: Iterable[tuple[str, str]]) -> dict[tuple[str, str], ItemRow]:
    """What items, named by loop and key, are now."""
    wanted = sorted(set(places))
    if not wanted:
        return {}
    query = _columns(items).where(items.c.generation == ledger, tuple_(items.c.loop, items.c.key).in_(wanted))
    return {(row.loop, row.key): row for row in _rows(conn, query)}


def mended_by(conn: Connection, ledger: str, job_id: str) -> str | None:
    """The newest job that has recorded failed items of this one again; None while any item of the telling has failed."""
    failed = select(items.c.key).where(items.c.generation == ledger, items.c.outcome == ItemOutcome.FAILED.value)
    if conn.execute(failed.limit(1)).first() is not None:
        return None
    same = (_history[name] == items.c[name] for name in _KEYS)
    mine = (_history.job_id == job_id, _history.last_of_job.is_(True), _history.generation == ledger)
    again = select(items.c.job_id).join(item_history, and_(*same))
    newest = again.where(*mine, _history.outcome == ItemOutcome.FAILED.value).order_by(items.c.job_id.desc()).limit(1)
    found: str | None = conn.execute(newest).scalar()
    return found


def loops_of(conn: Connection, ledger: str, keys: Iterable[str]) -> dict[str, list[str]]:
    """The loops of a telling that have recorded these keys, by key."""
    wanted, found = sorted(set(keys)), defaultdict(list)
    for at in range(0, len(wanted), MOST_KEYS):
        some = items.c.key.in_(wanted[at : at + MOST_KEYS])
        for loop, key in conn.execute(select(items.c.loop, items.c.key).where(items.c.generation == ledger, some)):
            found[key].append(loop)
    return found


_history = item_history.c


def _left(ledger: str, job_id: str) -> Select[Any]:
    """What a job left of the items that other jobs have recorded since."""
    return _columns(item_history).where(
        _history.job_id == job_id, _history.last_of_job.is_(True), _history.generation == ledger
    )


def _columns(table: Table) -> Select[Any]:
    return select(*(table.c[name] for name in COLUMNS))


def _narrowed(
    query: Select[Any], table: Table, outcome: ItemOutcome | None, after: tuple[str, int, str] | None, limit: int
) -> Select[Any]:
    if outcome is not None:
        query = query.where(table.c.outcome == outcome.value)
    if after is not None:
        loop, position, key = after
        query = query.where(
            (table.c.loop > loop)
            | ((table.c.loop == loop) & (table.c.position > position))
            | ((table.c.loop == loop) & (table.c.position == position) & (table.c.key > key))
        )
    return query.order_by(table.c.loop, table.c.position, table.c.key).limit(limit)


def _rows(conn: Connection, query: Select[Any]) -> list[ItemRow]:
    return [
        ItemRow(
            row.loop,
            row.key,
            row.position,
            ItemOutcome(row.outcome),
            row.reason,
            row.error_type,
            row.job_id,
            row.run_no,
            row.tries,
            row.at,
        )
        for row in conn.execute(query)
    ]
