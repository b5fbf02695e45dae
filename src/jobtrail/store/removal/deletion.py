"""Deletes chosen jobs and everything that tells of them, for somebody who asks for it: one person's data, say.

Unlike retention it leaves nothing to come back to. A unit of which no job is left goes with its items and steps, so do
idempotency keys, remembered answers that these jobs asked for, and the counts of a source that nothing else has.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from json import dumps, loads
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, func, insert, literal, select, union, update

from jobtrail.database.tables import (
    actions,
    end_totals,
    group_members,
    groups,
    idempotency_keys,
    item_history,
    jobs,
    limit_starts,
    questions,
    remembered,
    successors,
    units,
)
from jobtrail.job.allowed_actions import against_delete
from jobtrail.job.limits.limit import read_keys
from jobtrail.job.model import Status
from jobtrail.messages import Message
from jobtrail.store.totals.ends import SOURCE

from . import needs
from .ledgers import remove_all
from .rows import COLUMNS, named_by_units, remember_with_units, remove

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from sqlalchemy import Connection

    from jobtrail.job.allowed_actions import Obstacle
    from jobtrail.store.store import Store

ACTION = "jobs_deleted"
_COLUMNS = (*COLUMNS, jobs.c.limits, jobs.c.run_no, jobs.c.source, jobs.c.file, jobs.c.body_running)


@dataclass(frozen=True, slots=True)
class Order:
    """A deletion as the audit keeps it: who asked for it, why, and which jobs were meant.

    Attributes:
        id: Under it all its transactions count in one entry.
        actor: Who asked for it.
        reason: Why, in their words.
        filter: Which jobs were meant, or the SHA-256 of that.
    """

    id: str
    actor: str
    reason: str | None = None
    filter: str | None = None


@dataclass(slots=True)
class Deleted:
    """What one transaction deleted, and what is to be cleared behind it.

    Attributes:
        ids: The jobs that are gone.
        left: Why others stay, in stored form.
        files: Input files of the jobs, as they were stored.
        units: Rows of units that are gone, by key.
    """

    ids: list[str] = field(default_factory=list)
    left: dict[str, str] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    units: list[dict[str, Any]] = field(default_factory=list)


def obstacles(conn: Connection, rows: Iterable[Any]) -> dict[str, Obstacle]:
    """What is in the way of deleting jobs, by id.

    Args:
        conn: A connection.
        rows: Rows with ``id``, ``status`` and ``body_running``.
    """
    found = list(rows)
    ids = [row.id for row in found]
    active, in_groups = needs.by_active_parents(conn, ids) | needs.by_active(conn, ids), needs.by_open_groups(conn, ids)
    against = {
        row.id: against_delete(
            Status(row.status), body_running=row.body_running, needed_by=active.get(row.id), group=in_groups.get(row.id)
        )
        for row in found
    }
    return {one: obstacle for one, obstacle in against.items() if obstacle is not None}


def delete_jobs(conn: Connection, store: Store, chosen: Mapping[str, int], order: Order) -> Deleted:
    """Delete jobs in the caller's transaction.

    Args:
        conn: The transaction.
        store: The store.
        chosen: The number of the run by job, as it was when the job was chosen; a job that has run since stays.
        order: What the audit tells.
    """
    query = select(*_COLUMNS).where(jobs.c.id.in_(list(chosen))).order_by(jobs.c.id)
    rows = conn.execute(query.with_for_update(skip_locked=True)).all()
    done = Deleted(left=_why_not(conn, chosen, rows))
    named = named_by_units(conn, [row for row in rows if row.id not in done.left])
    done.left |= dict.fromkeys(named.busy, Message("store.job-in-use").stored)
    going = [row for row in rows if row.id not in done.left]
    if not going:
        return done
    done.ids = [row.id for row in going]
    done.files = [row.file for row in going if row.file is not None]
    remember_with_units(conn, named, going)
    in_groups = _groups_of(conn, done.ids)
    _remove_traces(conn, done.ids)
    remove(conn, store, going)
    done.units = _remove_units(conn, {row.unit for row in going if row.unit is not None})
    remove_all(conn, {row.generation or row.id for row in going})
    _remove_groups(conn, in_groups)
    _remove_counts(conn, {row.source for row in going if row.source is not None})
    _remove_starts(conn, {row.limits for row in going if row.limits is not None})
    _record(conn, store, order, len(going))
    return done


def _why_not(conn: Connection, chosen: Mapping[str, int], rows: Sequence[Any]) -> dict[str, str]:
    left: dict[str, str] = {}
    against = obstacles(conn, rows)
    for row in rows:
        if row.id in against:
            left[row.id] = against[row.id].reason(Status(row.status)).stored
        elif row.run_no != chosen[row.id]:
            left[row.id] = Message("commands.skip-since-shown").stored
    missing = set(chosen) - {row.id for row in rows}
    there = set(conn.execute(select(jobs.c.id).where(jobs.c.id.in_(missing))).scalars()) if missing else set()
    return left | dict.fromkeys(there, Message("store.job-in-use").stored)


def _groups_of(conn: Connection, ids: Sequence[str]) -> set[str]:
    return set(conn.execute(select(group_members.c.group_id).where(group_members.c.job_id.in_(ids))).scalars())


def _remove_traces(conn: Connection, ids: Sequence[str]) -> None:
    """Remove what retention leaves, or leaves to a later pass."""
    asked = select(questions.c.id).where(questions.c.job_id.in_(ids))
    conn.execute(delete(remembered).where(remembered.c.question.in_(asked)))
    conn.execute(delete(item_history).where(item_history.c.job_id.in_(ids)))
    conn.execute(delete(successors).where(successors.c.job_id.in_(ids)))  # its template has the arguments of the job
    conn.execute(delete(idempotency_keys).where(idempotency_keys.c.job_id.in_(ids)))


def _remove_units(conn: Connection, keys: Collection[str]) -> list[dict[str, Any]]:
    """Remove those of these units that have no job any more."""
    if not keys:
        return []
    alone = units.c.unit.in_(sorted(keys)), ~select(jobs.c.id).where(jobs.c.unit == units.c.unit).exists()
    gone = [dict(row._mapping) for row in conn.execute(select(units).where(*alone))]
    names = [row["unit"] for row in gone]
    if names:
        conn.execute(update(units).where(units.c.linked_unit.in_(names)).values(linked_unit=None))
        conn.execute(delete(units).where(units.c.unit.in_(names)))
    return gone


def restore_units(conn: Connection, gone: Sequence[Mapping[str, Any]]) -> None:
    """Bring back units for which a job was submitted while they were removed."""
    by_key = {row["unit"]: row for row in gone}
    wanted = set(conn.execute(select(jobs.c.unit).where(jobs.c.unit.in_(sorted(by_key)))).scalars())
    wanted -= set(conn.execute(select(units.c.unit).where(units.c.unit.in_(sorted(wanted)))).scalars()) if wanted else set()
    forgotten = dict.fromkeys(("generation", "outcome", "job_id", "removed", "items_ok", "items_failed", "items_skipped"))
    for key in sorted(wanted):
        conn.execute(insert(units).values({**by_key[key], **forgotten, "linked_unit": None}))


def _remove_groups(conn: Connection, ids: Collection[str]) -> None:
    """Remove groups of which no member is left, with what was to follow them."""
    if not ids:
        return
    members = select(group_members.c.job_id).where(group_members.c.group_id == groups.c.id)
    empty = set(conn.execute(select(groups.c.id).where(groups.c.id.in_(sorted(ids)), ~members.exists())).scalars())
    if empty:
        conn.execute(delete(successors).where(successors.c.group_id.in_(empty)))
        conn.execute(delete(groups).where(groups.c.id.in_(empty)))


def _remove_counts(conn: Connection, sources: Collection[str]) -> None:
    """Remove the counts by source of sources that no job and no unit names any more; all others stay."""
    if not sources:
        return
    named = sorted(sources)
    kept = union(
        select(jobs.c.source).where(jobs.c.source.in_(named)), select(units.c.source).where(units.c.source.in_(named))
    )
    gone = set(named) - set(conn.execute(kept).scalars())
    if gone:
        conn.execute(delete(end_totals).where(end_totals.c.level == SOURCE, end_totals.c.name.in_(sorted(gone))))


def _remove_starts(conn: Connection, limited: Collection[str]) -> None:
    """Remove the last starts of keys that are made of arguments; a limit without fields is one for all and stays."""
    made = {(name, key) for text in limited for name, key in read_keys(text).items() if name != key}
    for name, key in sorted(made):
        conn.execute(delete(limit_starts).where(limit_starts.c.name == name, limit_starts.c.key == key))


def _record(conn: Connection, store: Store, order: Order, number: int) -> None:
    """Count the jobs in the audit: one entry for each order, however many transactions it takes."""
    same = (actions.c.name == ACTION) & (actions.c.target == order.id)
    row = conn.execute(select(actions.c.id, actions.c.detail).where(same)).first()
    counted = number + (loads(row.detail)["jobs"] if row is not None else 0)
    detail = dumps({"filter": order.filter, "jobs": counted})
    if row is not None:
        conn.execute(update(actions).where(actions.c.id == row.id).values(detail=detail))
        return
    values: dict[str, Any] = {"at": store.now(), "actor": order.actor, "name": ACTION, "target": order.id}
    conn.execute(insert(actions).values(**values, reason=order.reason, detail=detail))


def item_counts(conn: Connection, ids: Sequence[str]) -> dict[str, int]:
    """How many items each of these jobs counts."""
    counted = sum((func.coalesce(jobs.c[f"items_{outcome}"], 0) for outcome in ("ok", "failed", "skipped")), literal(0))
    return {row.id: row[1] for row in conn.execute(select(jobs.c.id, counted).where(jobs.c.id.in_(ids)))}


def deletable(conn: Connection, ids: Sequence[str]) -> list[str]:
    """Those of these jobs that may be deleted now."""
    rows = conn.execute(select(jobs.c.id, jobs.c.status, jobs.c.body_running).where(jobs.c.id.in_(ids))).all()
    against = obstacles(conn, rows)
    return [row.id for row in rows if row.id not in against]
