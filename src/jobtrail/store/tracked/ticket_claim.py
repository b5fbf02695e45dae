"""The claim of a job by its ticket: the run begins, with its line of the trail and the ids of the other system."""

from __future__ import annotations

from dataclasses import dataclass, field
from json import dumps
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, select, update

from jobtrail.database.dialects import CLAIMED, JOBS
from jobtrail.database.tables import events as event_table
from jobtrail.database.tables import job_labels, jobs
from jobtrail.database.types import storable
from jobtrail.job.model import Claim, Status
from jobtrail.store import events
from jobtrail.store.limits.claims import admit

from .hand_over import EARLY, HELD, Refusal
from .rows import add_ids

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.database.dialects import Dialect


@dataclass(frozen=True, slots=True)
class TicketClaim:
    """Who claims which run.

    Attributes:
        job_id: The job.
        token: Number of the run that begins.
        worker: Id of the worker.
        actor: Name of the executor, for the trail.
        about: What the other system knows the run by; stored in the trail.
        ids: Ids of the other system by its name, by which the job is found.
        paused: Queues that are paused.
    """

    job_id: str
    token: int
    worker: str
    actor: str
    about: Mapping[str, Any] = field(default_factory=dict)
    ids: Mapping[str, str] = field(default_factory=dict)
    paused: Collection[str] = ()


def claim(conn: Connection, dialect: Dialect, ticket: TicketClaim, now: datetime) -> Claim | Refusal:
    """Begin the run that a ticket names, or say why not. A claim of this worker whose answer was lost is given again."""
    begun = _begin(conn, dialect, _BEGIN_UNLIMITED, ticket, now)
    if begun is not None:
        return begun
    found = conn.execute(select(jobs).where(jobs.c.id == ticket.job_id)).first()
    if found is not None and found.limits is not None and conn.execute(_MAY_BEGIN, _given(ticket, now)).first():
        admitted = admit(conn, dialect, found.limits, now)
        return (_begin(conn, dialect, _BEGIN, ticket, now) if admitted else None) or Refusal.LIMIT
    if found is not None and found.status in HELD and found.run_no == ticket.token and found.worker == ticket.worker:
        return Claim(*(*(getattr(found, name) for name in CLAIMED), found.started_at, found.run_at))
    return _refusal(found, ticket.token)


def _refusal(row: Any, token: int) -> Refusal:
    if row is None:
        return Refusal.GONE
    if row.run_no >= token or row.status in HELD:
        return Refusal.TAKEN
    if row.status != Status.PENDING.value:
        return Refusal.ENDED
    return Refusal.ELSEWHERE if row.executor is None else Refusal.EARLY


_BEGIN_AT_ONCE = f"""
WITH begun AS (
    UPDATE {JOBS} SET status = 'running', run_no = %(token)s, attempt = attempt + 1, worker = %(worker)s, started_at = %(now)s
    WHERE id = %(id)s AND status = 'pending' AND run_no = %(token)s - 1 AND run_at <= %(latest)s AND executor IS NOT NULL
      AND limits IS NULL AND NOT (queue = ANY(%(paused)s::text[]))
    RETURNING {", ".join(CLAIMED)}, run_at
), line AS (
    INSERT INTO {event_table.name} (job_id, at, name, run_no, actor, detail)
    SELECT id, %(now)s, 'begun_by', run_no, %(actor)s, %(detail)s FROM begun
), known AS (
    INSERT INTO {job_labels.name} (key, value, job_id)
    SELECT given.key, given.value, begun.id FROM begun, unnest(%(systems)s::text[], %(ids)s::text[]) AS given(key, value)
    ON CONFLICT (key, value, job_id) DO NOTHING
)
SELECT * FROM begun
"""  # noqa: S608 - constants


def begin_at_once(conn: Connection, ticket: TicketClaim, now: datetime) -> Claim | None:
    """Begin the run of a job without limits by one statement, which needs no transaction around it (PostgreSQL).

    Returns:
        The claim; None where `claim` has to tell, in a transaction, why not.
    """
    given = {
        "id": ticket.job_id, "token": ticket.token, "worker": ticket.worker, "now": now, "latest": now + EARLY,
        "paused": sorted(ticket.paused), "actor": storable(ticket.actor), "detail": _detail(ticket),
        "systems": list(ticket.ids), "ids": list(ticket.ids.values()),
    }  # fmt: skip
    row = conn.exec_driver_sql(_BEGIN_AT_ONCE, given).first()
    if row is None:
        return None
    return Claim(*(str(row[0]), *row[1:12], row[12] and str(row[12]), *row[13:-1], now, row[-1]))


def _detail(ticket: TicketClaim) -> str | None:
    return dumps(dict(ticket.about), default=str) if ticket.about else None


_DUE = (
    jobs.c.id == bindparam("job"), jobs.c.status == Status.PENDING.value, jobs.c.run_no == bindparam("token") - 1,
    jobs.c.run_at <= bindparam("latest"), jobs.c.executor.is_not(None), jobs.c.queue.not_in(bindparam("paused", expanding=True)),
)  # fmt: skip
_MAY_BEGIN = select(jobs.c.id).where(*_DUE)
_BEGIN = (
    update(jobs)
    .where(*_DUE)
    .values(
        status=Status.RUNNING.value, run_no=bindparam("token"), attempt=jobs.c.attempt + 1, worker=bindparam("by"), started_at=bindparam("at")
    )
    .returning(*(jobs.c[name] for name in (*CLAIMED, "run_at")))
)  # fmt: skip
_BEGIN_UNLIMITED = _BEGIN.where(jobs.c.limits.is_(None))


def _given(ticket: TicketClaim, now: datetime) -> dict[str, Any]:
    return {"job": ticket.job_id, "token": ticket.token, "latest": now + EARLY, "paused": sorted(ticket.paused)}


def _begin(conn: Connection, dialect: Dialect, begin: Any, ticket: TicketClaim, now: datetime) -> Claim | None:
    row = conn.execute(begin, {**_given(ticket, now), "by": ticket.worker, "at": now}).first()
    if row is None:
        return None
    line = events.note(
        ticket.job_id, now, "begun_by", run_no=ticket.token, actor=ticket.actor, detail=dict(ticket.about)
    )
    events.append(conn, dialect, [line])
    for system, its_id in ticket.ids.items():
        add_ids(conn, dialect, system, [(its_id, ticket.job_id)])
    return Claim(*(*row[:-1], now, row[-1]))
