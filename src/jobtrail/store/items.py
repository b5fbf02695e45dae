"""Items: the outcome of each thing inside a job, kept by generation, loop and key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from jobtrail.database.tables import items
from jobtrail.job.items import Counts, ItemOutcome

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.database.dialects import Dialect

COLUMNS = (
    "generation", "loop", "key", "position", "outcome", "reason", "error_type", "job_id", "run_no", "tries", "at",
)  # fmt: skip
_UPSERT = (
    "ON CONFLICT (generation, loop, key) DO UPDATE SET position = excluded.position, outcome = excluded.outcome, "
    "reason = excluded.reason, error_type = excluded.error_type, job_id = excluded.job_id, run_no = excluded.run_no, "
    f"tries = {items.name}.tries + 1, at = excluded.at"
)


@dataclass(frozen=True, slots=True)
class ItemRow:
    """One item as it was last recorded."""

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
    if rows:
        dialect.insert_many(conn, items, COLUMNS, rows, _UPSERT)


def of_ledger(conn: Connection, ledger: str) -> list[tuple[str, str, ItemOutcome, str, int]]:
    """(loop, key, outcome, job, run_no) of all items of a telling, as they were recorded last."""
    columns = (items.c.loop, items.c.key, items.c.outcome, items.c.job_id, items.c.run_no)
    known = {outcome.value: outcome for outcome in ItemOutcome}
    found = conn.execute(select(*columns).where(items.c.generation == ledger))
    return [(loop, key, known[outcome], job_id, run_no) for loop, key, outcome, job_id, run_no in found]


def counts(conn: Connection, ledger: str, *, job_id: str | None = None) -> Counts:
    """How the items of a telling stand; with ``job_id`` only those that this job recorded last."""
    query = select(items.c.outcome, func.count()).where(items.c.generation == ledger).group_by(items.c.outcome)
    if job_id is not None:
        query = query.where(items.c.job_id == job_id)
    found = {outcome: number for outcome, number in conn.execute(query)}  # noqa: C416 - rows are not pairs to mypy
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
    """Items in the order of the input (loop, position, key); ``after`` is the last one of the page before."""
    query = select(items).where(items.c.generation == ledger)
    if outcome is not None:
        query = query.where(items.c.outcome == outcome.value)
    if job_id is not None:
        query = query.where(items.c.job_id == job_id)
    if after is not None:
        loop, position, key = after
        query = query.where(
            (items.c.loop > loop)
            | ((items.c.loop == loop) & (items.c.position > position))
            | ((items.c.loop == loop) & (items.c.position == position) & (items.c.key > key))
        )
    found = conn.execute(query.order_by(items.c.loop, items.c.position, items.c.key).limit(limit))
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
        for row in found
    ]
