"""Submissions: a job is stored, or the one that stands for it already is the answer."""

from __future__ import annotations

from dataclasses import dataclass, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, insert, select, update

from jobtrail.database.tables import idempotency_keys, job_labels, jobs, successors
from jobtrail.job.model import FINAL, NewJob, Outcome, RemovedJob, Submitted

from . import units

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection, Table

    from jobtrail.database.dialects import Dialect
    from jobtrail.job.successor import Successor
    from jobtrail.job.unit import Unit

    from .units import UnitRow

FINAL_STATES = tuple(status.value for status in FINAL)
WAITING = "waiting"  # what a successor does until the end of what it follows
_SUCCESSOR = ("id", "after", "group_id", "ends", "template", "state", "at")
_FILLED = tuple(one.name for one in fields(NewJob) if one.name != "run_at")
_values = attrgetter(*_FILLED)


@dataclass(frozen=True, slots=True)
class Rules:
    """How a submission meets what is there already."""

    unit: Unit | None = None
    if_active: str = "same"
    if_done: str = "run"
    idempotency: tuple[str, str, str, datetime] | None = None  # scope, key, digest of the payload, expiry
    labels: Mapping[str, str] | None = None
    linked_unit: str | None = None
    following: tuple[Successor, ...] = ()


PLAIN = Rules()


def insert_plain(conn: Connection, dialect: Dialect, new: Sequence[NewJob], now: datetime) -> None:
    """Insert jobs that cannot meet others (no unit, no key); all of the first one's shape."""
    extra = shape(new[0])
    columns = (*extra, "status", "created_at", "run_at")
    rows = [(*[getattr(one, name) for name in extra], "pending", now, one.run_at or now) for one in new]
    dialect.insert_jobs(conn, columns, rows)


def insert_alike(
    conn: Connection, dialect: Dialect, template: NewJob, ids_and_args: Sequence[tuple[str | None, ...]], now: datetime
) -> None:
    """Insert many jobs that differ in id, arguments and, where they are given, the keys of their limits only."""
    own = ("id", "args", "limits")[: len(ids_and_args[0])]
    shared = [name for name in shape(template) if name not in own]
    columns = (*own, *shared, "status", "created_at", "run_at")
    tail = (*[getattr(template, name) for name in shared], "pending", now, template.run_at or now)
    dialect.insert_jobs(conn, columns, [(*one, *tail) for one in ids_and_args])


def shape(new: NewJob) -> list[str]:
    """The columns that a new job fills; jobs of one shape can be inserted by one statement."""
    return [name for name, value in zip(_FILLED, _values(new), strict=True) if value is not None]


def submit(conn: Connection, dialect: Dialect, new: NewJob, rules: Rules, now: datetime) -> Submitted:
    """Store one job, or answer with the one that stands for it.

    Nothing is raised for a conflict: the answer's ``why`` says it, so that one refusal in a group of
    writes costs the others nothing.
    """
    if rules.idempotency is not None:
        answer = _take_key(conn, new, rules.idempotency, now)
        if answer is not None:
            return answer
    answer = _store(conn, dialect, new, rules, now)
    if rules.idempotency is not None and answer.id != new.id:
        _settle_key(conn, new.id, answer)
    if answer.created and rules.labels:
        rows = [(key, value, new.id) for key, value in sorted(rules.labels.items())]
        dialect.insert_many(conn, job_labels, ("key", "value", "job_id"), rows)
    if answer.created and rules.following:
        declare(conn, dialect, rules.following, now, after=new.id)
    return answer


def predict(conn: Connection, new: NewJob, rules: Rules, now: datetime) -> Submitted | None:
    """Predict the answer of `submit` without writing.

    Returns:
        The answer where an existing job would be returned or would refuse this one; None where it would be stored.
    """
    return _predict_by_key(conn, rules, now) or _predict_by_unit(conn, new, rules)


def _predict_by_key(conn: Connection, rules: Rules, now: datetime) -> Submitted | None:
    if rules.idempotency is None:
        return None
    scope, key, digest, _ = rules.idempotency
    table = idempotency_keys
    found = conn.execute(select(table).where(table.c.scope == scope, table.c.key == key)).first()
    if found is None or found.expires_at <= now:
        return None
    return _remembered(found, digest)


def _predict_by_unit(conn: Connection, new: NewJob, rules: Rules) -> Submitted | None:
    if rules.unit is None or rules.if_active == "queue":
        return None
    holder = conn.execute(select(jobs.c.id, jobs.c.args).where(jobs.c.unit_lock == rules.unit.key)).first()
    if holder is not None:
        refused = rules.if_active == "raise" or holder.args != new.args
        why = "active" if refused else None
        return Submitted(holder.id, created=False, in_way=holder.id if refused else None, why=why)
    unit = units.get(conn, rules.unit.key) if rules.if_done != "run" else None
    return _done(unit) if unit is not None else None


def declare(
    conn: Connection,
    dialect: Dialect,
    following: Iterable[Successor],
    now: datetime,
    *,
    after: str | None = None,
    group: str | None = None,
) -> None:
    """Store successors that wait for the end of a job or of a group."""
    rows = [(one.id, after, group, ",".join(one.ends), one.to_json(), WAITING, now) for one in following]
    if rows:
        dialect.insert_many(conn, successors, _SUCCESSOR, rows)


def _store(conn: Connection, dialect: Dialect, new: NewJob, rules: Rules, now: datetime) -> Submitted:
    if rules.unit is None:
        insert_plain(conn, dialect, [new], now)
        return Submitted(new.id, created=True)
    done = _already_done(conn, rules)
    if done is not None:
        return done
    units.ensure(conn, dialect, rules.unit, now, linked=rules.linked_unit)
    if rules.linked_unit is not None:
        units.link(conn, rules.unit.key, rules.linked_unit)
    # The holder may end between the attempt to insert and the look at it; then the next attempt succeeds.
    for _ in range(5):
        if _insert_guarded(conn, new, now, unit_lock=rules.unit.key):
            return Submitted(new.id, created=True)
        answer = _meet_active(conn, dialect, new, rules, now)
        if answer is not None:
            return answer
    return Submitted(new.id, created=False, why="busy")


def _already_done(conn: Connection, rules: Rules) -> Submitted | None:
    if rules.if_done == "run" or rules.unit is None:
        return None
    unit = units.get(conn, rules.unit.key)
    return _done(unit) if unit is not None and unit.active_job is None else None


def _done(unit: UnitRow) -> Submitted | None:
    if unit.outcome is not Outcome.SUCCESS or unit.job_id is None:
        return None
    return Submitted(unit.job_id, created=False, in_way=unit.job_id, why="done", removed=unit.removed_job)


def _insert_guarded(
    conn: Connection,
    new: NewJob,
    now: datetime,
    *,
    unit_lock: str | None,
    waits_for: str | None = None,
) -> bool:
    """Insert unless the unit (or the place behind it) is taken."""
    names = shape(new)
    columns = [*names, "status", "created_at", "run_at", "unit_lock", "waits_for"]
    due = None if waits_for else (new.run_at or now)
    values = [*[getattr(new, name) for name in names], "pending", now, due, unit_lock, waits_for]
    return _insert_unless_taken(conn, jobs, jobs.c.id, dict(zip(columns, values, strict=True)))


def _insert_unless_taken(conn: Connection, table: Table, key: Any, values: dict[str, Any]) -> bool:
    """Insert a row unless a unique index forbids it; True when it was inserted."""
    if conn.dialect.name == "postgresql":
        from sqlalchemy.dialects.postgresql import insert as pg_insert

        statement: Any = pg_insert(table).on_conflict_do_nothing()
    else:
        statement = insert(table).prefix_with("OR IGNORE")
    return conn.execute(statement.values(values).returning(key)).first() is not None


def _meet_active(conn: Connection, dialect: Dialect, new: NewJob, rules: Rules, now: datetime) -> Submitted | None:
    query = select(jobs.c.id, jobs.c.args, jobs.c.status).where(jobs.c.unit_lock == new.unit)
    if dialect.name == "postgresql" and rules.if_active == "queue":
        query = query.with_for_update()
    holder = conn.execute(query).first()
    if holder is None:
        return None
    if holder.id == new.id:
        return Submitted(new.id, created=True)  # the try before this one was committed, its answer was lost
    if rules.if_active == "queue":
        return _queue_behind(conn, new, holder.id, now)
    ended = holder.status in FINAL_STATES  # by force, and its body still runs
    if ended or rules.if_active == "raise" or holder.args != new.args or new.mode is not None:
        return Submitted(holder.id, created=False, in_way=holder.id, why="active")
    return Submitted(holder.id, created=False)


def _queue_behind(conn: Connection, new: NewJob, holder: str, now: datetime) -> Submitted | None:
    if _insert_guarded(conn, new, now, unit_lock=None, waits_for=holder):
        return Submitted(new.id, created=True)
    behind = conn.execute(
        select(jobs.c.id, jobs.c.args).where(
            jobs.c.unit == new.unit, jobs.c.waits_for.is_not(None), jobs.c.status == "pending"
        )
    ).first()
    if behind is None:
        return None
    if behind.args == new.args:
        return Submitted(behind.id, created=False)
    return Submitted(behind.id, created=False, in_way=behind.id, why="active")


def _take_key(conn: Connection, new: NewJob, given: tuple[str, str, str, datetime], now: datetime) -> Submitted | None:
    """None when the key is ours now; else the answer that the earlier submission gave."""
    scope, key, digest, expires = given
    values = {
        "scope": scope, "key": key, "job_id": new.id, "digest": digest, "expires_at": expires, "removed": None,
    }  # fmt: skip
    table = idempotency_keys
    same = (table.c.scope == scope) & (table.c.key == key)
    for _ in range(5):
        if _insert_unless_taken(conn, table, table.c.key, values):
            return None
        found = conn.execute(select(table).where(same)).first()
        if found is None:
            continue
        if found.expires_at <= now:
            took = conn.execute(update(table).where(same, table.c.job_id == found.job_id).values(values)).rowcount
            if took == 1:
                return None
            continue
        return _remembered(found, digest)
    return Submitted(new.id, created=False, why="busy")


def _remembered(key: Any, digest: str) -> Submitted:
    if key.digest != digest:
        return Submitted(key.job_id, created=False, in_way=key.job_id, why="key")
    removed = RemovedJob.from_json(key.job_id, key.removed) if key.removed else None
    return Submitted(key.job_id, created=False, removed=removed)


def remember_removed(conn: Connection, going: Iterable[RemovedJob]) -> None:
    """Keep with their idempotency keys what became of jobs that are removed."""
    by_id = {one.id: one for one in going}
    table = idempotency_keys
    keyed = conn.execute(select(table.c.job_id).where(table.c.job_id.in_(list(by_id))).distinct()).scalars().all()
    for job_id in keyed:
        conn.execute(update(table).where(table.c.job_id == job_id).values(removed=by_id[job_id].to_json()))


def keyed_job(conn: Connection, scope: str, key: str, now: datetime) -> Any:
    """Return (job_id, status) of the job that an unexpired idempotency key stands for, or None."""
    table = idempotency_keys
    query = select(table.c.job_id, jobs.c.status).join(jobs, jobs.c.id == table.c.job_id)
    return conn.execute(query.where(table.c.scope == scope, table.c.key == key, table.c.expires_at > now)).first()


def release_key(conn: Connection, scope: str, key: str, job_id: str) -> None:
    """Forget an idempotency key, if it still stands for this job."""
    mine = (idempotency_keys.c.scope == scope, idempotency_keys.c.key == key, idempotency_keys.c.job_id == job_id)
    conn.execute(delete(idempotency_keys).where(*mine))


def _settle_key(conn: Connection, ours: str, answer: Submitted) -> None:
    """The key names the job that stands for it; where the submission was refused it is free again."""
    mine = idempotency_keys.c.job_id == ours
    if answer.why is None or answer.why == "done":
        removed = answer.removed.to_json() if answer.removed else None
        conn.execute(update(idempotency_keys).where(mine).values(job_id=answer.id, removed=removed))
    else:
        conn.execute(idempotency_keys.delete().where(mine))
