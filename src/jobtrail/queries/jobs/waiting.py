"""Why a pending job does not run: one answer for its page, for lists, the command line and Python."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from json import loads
from typing import TYPE_CHECKING

from pydantic import Field
from sqlalchemy import func, select
from sqlalchemy import text as sql

from jobtrail.database.tables import jobs, leases, queues, workers
from jobtrail.job.model import Status
from jobtrail.job.task import TRACKED
from jobtrail.messages import Message, render
from jobtrail.queries.base import Model
from jobtrail.store.limits.use import read_all
from jobtrail.store.tracked.hand_over import RELAY

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection

    from jobtrail.job.limits.allotment import Blocking, LimitUse
    from jobtrail.job.model import JobRow
    from jobtrail.queries.context import QueryContext
    from jobtrail.store.search.search import ListRow

_HELD = sql("jobtrail_jobs.status IN ('running', 'cancelling')")
_WORKERS = select(workers.c.id, workers.c.queues, workers.c.slots, workers.c.executor).where(workers.c.state == "alive")
_RELAYS = select(leases.c.name, leases.c.expires_at).where(leases.c.name.startswith(RELAY, autoescape=True))
_TAKEN = (
    select(jobs.c.worker, func.count().label("number"), func.min(jobs.c.started_at).label("oldest"))
    .where(_HELD)
    .group_by(jobs.c.worker)
)
_LONE = select(jobs.c.id).where(sql("jobtrail_jobs.suspect AND jobtrail_jobs.status IN ('running', 'cancelling')")).limit(1)
_HELPS = {
    "paused": "resume_queue", "no-worker": "start_worker", "unknown-task": "start_worker", "later": "run_now", "retry": "run_now",
    "no-relay": "start_worker", "limit": "change_limit",
}  # fmt: skip
_HANDED = {
    "not-handed": "queries.waiting-not-handed", "no-relay": "queries.waiting-no-relay", "handed": "queries.waiting-handed",
    "no-host": "queries.waiting-no-host",
}  # fmt: skip
_PAUSED = select(queues.c.name, queues.c.actor, queues.c.at).where(queues.c.paused)


class WaitingReason(Model):
    """Why a pending job does not run, and what helps."""

    code: str = Field(
        examples=["paused"],
        description="behind, later, retry, unknown-task, paused, limit, no-worker, alone, busy or next; of a job that is handed over "
        "not-handed, no-relay, handed or no-host; of a tracked task celery or celery-has.",
    )
    words: str = Field(examples=["the queue mail was paused by ada"])
    until: datetime | None = Field(description="When it is due, where that is known.")
    job: str | None = Field(description="The job that has to end first.")
    helps: str | None = Field(
        description="What helps: run_now, resume_queue, start_worker or change_limit; null where waiting does."
    )
    limit: str | None = Field(description="Name of the limit that it waits for.")


@dataclass(frozen=True, slots=True)
class _Served:
    """The workers that take from a queue: how many, their slots, how many are free, and the start of the oldest run."""

    workers: int = 0
    slots: int = 0
    free: int = 0
    oldest: datetime | None = None


@dataclass(frozen=True, slots=True)
class WaitingFacts:
    """What all pending jobs share.

    Attributes:
        paused: Paused queues, with who paused them and when.
        served: Queues that workers take jobs from.
        lone: The suspect that runs.
        hosts: Executors of which a living process runs jobs.
        relays: By executor, until when some process has the lease to hand its jobs over.
        limits: What limits allow, and what is used.
    """

    paused: dict[str, tuple[str | None, datetime]]
    served: dict[str, _Served]
    lone: str | None
    hosts: frozenset[str]
    relays: dict[str, datetime]
    limits: LimitUse


def read_facts(conn: Connection, context: QueryContext) -> WaitingFacts:
    """Read the facts: a few small statements, and one over the jobs that workers hold."""
    facts: WaitingFacts = context.cached("waiting-facts", lambda: _read(conn))
    return facts


def _read(conn: Connection) -> WaitingFacts:
    taken = {row.worker: row for row in conn.execute(_TAKEN)}
    served: dict[str, _Served] = {}
    living = conn.execute(_WORKERS).all()
    for worker in living:
        own = taken.get(worker.id)
        free = max(worker.slots - (own.number if own is not None else 0), 0)
        for name in loads(worker.queues):
            so_far = served.get(name, _Served())
            starts = [at for at in (so_far.oldest, own.oldest if own is not None else None) if at is not None]
            served[name] = _Served(
                so_far.workers + 1, so_far.slots + worker.slots, so_far.free + free, min(starts, default=None)
            )
    paused = {row.name: (row.actor, row.at) for row in conn.execute(_PAUSED)}
    hosts = frozenset(worker.executor for worker in living if worker.executor is not None and worker.slots)
    relays = {row.name.removeprefix(RELAY): row.expires_at for row in conn.execute(_RELAYS)}
    return WaitingFacts(paused, served, conn.execute(_LONE).scalar(), hosts, relays, read_all(conn))


def waiting_code(row: ListRow | JobRow, facts: WaitingFacts, now: datetime) -> str | None:
    """Return the code of the reason; None for a job that is not pending."""
    if row.status is not Status.PENDING:
        return None
    if row.queue.startswith(TRACKED):
        return "celery-has" if row.run_at is None else "celery"
    if row.run_at is None:
        return "behind"
    if row.run_at > now:
        if row.put_backs:
            return "unknown-task"
        return "retry" if row.attempt else "later"
    if row.queue in facts.paused:
        return "paused"
    served = row.executor is not None or row.queue in facts.served
    if served and _blocking(row, facts, now) is not None:
        return "limit"
    return _of_executor(row, facts, now) if row.executor is not None else _of_worker(row, facts)


def _blocking(row: ListRow | JobRow, facts: WaitingFacts, now: datetime) -> Blocking | None:
    return None if row.limits is None else facts.limits.blocking(row.limits, now)


def _of_executor(row: ListRow | JobRow, facts: WaitingFacts, now: datetime) -> str:
    name = row.executor or ""
    if row.handed_over is not None:
        return "handed" if name in facts.hosts else "no-host"
    return "not-handed" if facts.relays.get(name, now) > now else "no-relay"


def _of_worker(row: ListRow | JobRow, facts: WaitingFacts) -> str:
    served = facts.served.get(row.queue)
    if served is None:
        return "no-worker"
    if row.suspect:
        return "alone"
    return "next" if served.free else "busy"


def waiting_codes(conn: Connection, context: QueryContext, rows: Iterable[ListRow], now: datetime) -> dict[str, str]:
    """Return the codes of those rows that are pending, by job."""
    pending = [row for row in rows if row.status is Status.PENDING]
    if not pending:
        return {}
    facts = read_facts(conn, context)
    return {row.id: code for row in pending if (code := waiting_code(row, facts, now)) is not None}


def waiting_reason(row: JobRow, facts: WaitingFacts, now: datetime) -> WaitingReason | None:
    """Return why a job does not run, in words; None for a job that is not pending."""
    code = waiting_code(row, facts, now)
    if code is None:
        return None
    blocking = _blocking(row, facts, now) if code == "limit" else None
    return WaitingReason(
        code=code,
        words=render(_words(code, row, facts, now) if blocking is None else _of_limit(blocking)),
        until=row.run_at if blocking is None else blocking.until,
        job=row.waits_for if code == "behind" else facts.lone if code == "alone" else None,
        helps=_HELPS.get(code),
        limit=None if blocking is None else blocking.name,
    )


def _words(code: str, row: JobRow, facts: WaitingFacts, now: datetime) -> Message:
    at, served = row.run_at or now, facts.served.get(row.queue, _Served())
    actor, since = facts.paused.get(row.queue, (None, now))
    if row.executor is not None and code in _HANDED:
        return Message(_HANDED[code], executor=row.executor, at=row.handed_over or at)
    match code:
        case "behind":
            return Message("queries.waiting-behind")
        case "celery":
            return Message("queries.waiting-celery")
        case "celery-has":
            return Message("queries.waiting-celery-has")
        case "later":
            return Message("queries.waiting-later", at=at)
        case "retry":
            return Message("queries.waiting-retry", attempt=row.attempt + 1, at=at)
        case "unknown-task":
            return Message("queries.waiting-unknown-task", task=row.task, times=row.put_backs, at=at)
        case "paused":
            return Message("queries.waiting-paused", queue=row.queue, actor=actor or "?", since=since)
        case "no-worker":
            return Message("queries.waiting-no-worker", queue=row.queue)
        case "alone":
            return Message("queries.waiting-beside-none" if facts.lone else "queries.waiting-alone")
        case "busy":
            return Message("queries.waiting-busy", queue=row.queue, slots=served.slots, oldest=served.oldest or now)
        case _:
            return Message("queries.waiting-next", queue=row.queue)


def _of_limit(blocking: Blocking) -> Message:
    quota, about = blocking.quota, {"limit": blocking.name, "key": blocking.key}
    if blocking.until is None:
        return Message("queries.waiting-limit-running", **about, running=blocking.running, most=quota.running or 0)
    return Message("queries.waiting-limit-rate", **about, rate=quota.rate or 0, per=quota.per, at=blocking.until)
