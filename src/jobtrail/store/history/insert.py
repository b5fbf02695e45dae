"""Stores ended jobs that come from elsewhere, with their items, trail and unit, as if they had ended here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from jobtrail.database.tables import events as trail
from jobtrail.database.tables import item_history, items, job_labels, jobs, logs, questions, steps
from jobtrail.job.model import Status
from jobtrail.store import events, units
from jobtrail.store import items as stored_items
from jobtrail.store.totals import ends

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from sqlalchemy import Connection, Table

    from jobtrail.database.dialects import Dialect
    from jobtrail.job.history.ended_job import EndedJob

IMPORTED = "imported"  # the event
_TABLES: dict[str, Table] = {
    "items": items, "item_history": item_history, "steps": steps, "questions": questions, "trail": trail, "log": logs,
}  # fmt: skip
_IN_LEDGER = frozenset({"items", "item_history", "steps", "questions"})
_ONCE = "ON CONFLICT DO NOTHING"


def known(conn: Connection, ids: Sequence[str]) -> set[str]:
    """Those of these jobs that are stored."""
    return set(conn.execute(select(jobs.c.id).where(jobs.c.id.in_(list(ids)))).scalars())


def insert(conn: Connection, dialect: Dialect, given: Sequence[EndedJob], now: datetime, actor: str) -> int:
    """Store those of these jobs that are not there yet; returns how many.

    Args:
        conn: The transaction.
        dialect: The database's dialect.
        given: The jobs.
        now: The database's time, for the line "imported" in their trails.
        actor: Who imports them.
    """
    there = known(conn, [one.row["id"] for one in given])
    new = list({one.row["id"]: one for one in given if one.row["id"] not in there}.values())
    if not new:
        return 0
    _insert_jobs(conn, dialect, new)
    labels = [(key, value, one.row["id"]) for one in new for key, value in one.labels.items()]
    if labels:
        dialect.insert_many(conn, job_labels, ("key", "value", "job_id"), labels)
    for name, table in _TABLES.items():
        _insert_part(conn, dialect, name, table, new)
    events.append(conn, dialect, [events.note(one.row["id"], now, IMPORTED, actor=actor) for one in new])
    _settle_units(conn, dialect, new, now)
    ends.count(conn, [_end(one) for one in new])
    return len(new)


def _insert_jobs(conn: Connection, dialect: Dialect, new: Sequence[EndedJob]) -> None:
    names = sorted({name for one in new for name in one.row} | {"unit"})
    filled = [{**one.row, "unit": one.unit.key if one.unit else None} for one in new]
    dialect.insert_jobs(conn, names, [tuple(row.get(name) for name in names) for row in filled])


def _insert_part(conn: Connection, dialect: Dialect, name: str, table: Table, new: Iterable[EndedJob]) -> None:
    own = {"job_id"} | ({"generation"} if name in _IN_LEDGER else set())
    rows = [
        {**row, "job_id": one.row["id"], "generation": one.ledger} for one in new for row in one.parts.get(name, ())
    ]
    if rows:
        names = [column.name for column in table.c if column.name in own or any(column.name in row for row in rows)]
        values = [tuple(row.get(column) for column in names) for row in rows]
        dialect.insert_many(conn, table, names, values, "" if name == "trail" else _ONCE)


def _settle_units(conn: Connection, dialect: Dialect, new: Sequence[EndedJob], now: datetime) -> None:
    """The newest job that ended with an outcome tells what is true of its unit, unless a newer one is there already."""
    known_units = {one.unit.key: one.unit for one in new if one.unit is not None}
    if not known_units:
        return
    last = units.ensure_many(conn, dialect, [known_units[key] for key in sorted(known_units)], now)
    newest: dict[str, EndedJob] = {}
    for one in sorted(new, key=lambda job: str(job.row["id"])):
        if one.unit is not None and one.row["status"] != Status.CANCELLED and (last[one.unit.key] or "") < one.row["id"]:
            newest[one.unit.key] = one
    units.settle_many(conn, dialect, [_truth(conn, key, newest[key]) for key in sorted(newest)])


def _truth(conn: Connection, key: str, one: EndedJob) -> dict[str, Any]:
    """What a unit takes over from its newest job; of a job that continued another, the items of both together."""
    counts = {name: one.row.get(name) for name in ("items_ok", "items_failed", "items_skipped")}
    if one.ledger != one.row["id"]:
        together = stored_items.counts(conn, one.ledger)
        if together.ok or together.failed or together.skipped:
            counts = {f"items_{name}": getattr(together, name) for name in ("ok", "failed", "skipped")}
    told = {"unit": key, "job_id": one.row["id"], "changed_at": one.row["finished_at"]}
    return told | {"generation": one.ledger, "outcome": one.row["outcome"]} | counts


def _end(one: EndedJob) -> ends.End:
    row: dict[str, Any] = one.row
    created = row["created_at"]
    due = max(created, row.get("run_at") or created)
    return ends.End(
        row["id"], row["status"], row["outcome"], row["task"], row["queue"], row.get("source"), due, row.get("started_at"),
        row["finished_at"],
    )  # fmt: skip


def record(conn: Connection, dialect: Dialect, now: datetime, *, actor: str, reason: str | None, told: dict[str, Any]) -> None:
    """Record an import in the audit."""
    events.record_action(conn, dialect, now, actor=actor, name="jobs_imported", reason=reason, detail=told)
