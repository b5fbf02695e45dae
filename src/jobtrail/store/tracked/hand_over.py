"""Jobs that are handed over to another system: which are to be sent, which were, and the claim of one by its ticket."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select, text, update

from jobtrail.database.tables import HANDED_OVER, LIMITED_TO_HAND_OVER, TO_HAND_OVER, jobs
from jobtrail.job.model import Status
from jobtrail.store import events
from jobtrail.store.limits import lanes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from sqlalchemy import Connection

    from jobtrail.database.dialects import Dialect

RELAY = "relay:"  # before the name of an executor: the lease of the process that hands its jobs over
EARLY = timedelta(seconds=1)  # two processes know the database's clock so exactly
_PENDING = (TO_HAND_OVER, LIMITED_TO_HAND_OVER, HANDED_OVER)
HELD = (Status.RUNNING.value, Status.CANCELLING.value)


@dataclass(frozen=True, slots=True)
class ToSend:
    """A pending job whose ticket is to be sent: what a ticket needs to know."""

    id: str
    run_no: int
    queue: str
    priority: int
    task: str
    options: str | None
    run_at: datetime


@dataclass(frozen=True, slots=True)
class QueueHandedOver:
    """What was handed over in one queue and has not begun: how many jobs, and when the first ticket was sent."""

    queue: str
    number: int
    oldest: datetime


class Refusal(StrEnum):
    """Why a ticket begins no run."""

    TAKEN = "taken"  # its run has begun, or a later one has
    ENDED = "ended"
    LIMIT = "limit"  # a limit blocks it
    EARLY = "early"  # the job waits for its time or for another job, or its queue is paused
    GONE = "gone"
    ELSEWHERE = "elsewhere"  # it is not handed over any more
    STOPPING = "stopping"  # the process that got the ticket ends
    AWAY = "away"  # the store was not reached


_SEND = tuple(jobs.c[name] for name in ("id", "run_no", "queue", "priority", "task", "options", "run_at"))


def to_send(
    conn: Connection, executor: str, now: datetime, *, limit: int, paused: Collection[str] = ()
) -> list[ToSend]:
    """Return due jobs that are not handed over, the one that is due longest first; then those whose limits allow it."""
    where: list[Any] = [text(TO_HAND_OVER), jobs.c.executor == executor, jobs.c.run_at <= now]
    if paused:
        where.append(jobs.c.queue.not_in(sorted(paused)))
    found = _read(conn.execute(select(*_SEND).where(*where).order_by(jobs.c.run_at).limit(limit)))
    where[0] = text(LIMITED_TO_HAND_OVER)
    for keys, number in lanes.to_send(conn, executor, now, limit=limit - len(found)).items():
        mine = select(*_SEND).where(*where, jobs.c.limits == keys).order_by(jobs.c.run_at).limit(number)
        found += _read(conn.execute(mine))
    return found


def next_due(conn: Connection, executor: str) -> datetime | None:
    """Return when the next job that is not handed over is due."""
    found: datetime | None = conn.execute(
        select(func.min(jobs.c.run_at)).where(text(TO_HAND_OVER), jobs.c.executor == executor)
    ).scalar()
    return found


def mark_sent(conn: Connection, dialect: Dialect, sent: Iterable[ToSend], now: datetime) -> None:
    """Note that the tickets for the next runs of these jobs were sent. A job that has begun meanwhile is left alone."""
    rows = sorted((one.id, one.run_no, now, one.run_no) for one in sent)
    if rows:
        dialect.update_many(conn, jobs, ("id", "run_no"), ("handed_at", "handed_run"), rows)


def handed_over(conn: Connection, executor: str) -> list[QueueHandedOver]:
    """Return by queue what was handed over and has not begun."""
    query = select(jobs.c.queue, func.count(), func.min(jobs.c.handed_at)).where(
        text(HANDED_OVER), jobs.c.executor == executor
    )
    return [QueueHandedOver(*row) for row in conn.execute(query.group_by(jobs.c.queue))]


def sent_before(conn: Connection, executor: str, queue: str, before: datetime, *, limit: int) -> list[ToSend]:
    """Return jobs of a queue whose ticket was sent before a time and that have not begun, the oldest ticket first."""
    where = (text(HANDED_OVER), jobs.c.executor == executor, jobs.c.queue == queue, jobs.c.handed_at < before)
    return _read(conn.execute(select(*_SEND).where(*where).order_by(jobs.c.handed_at).limit(limit)))


def take_back(
    conn: Connection, tasks: Sequence[str], executor: str, *, queues: Sequence[str] | None = None, limit: int = 1000
) -> list[str]:
    """Let our workers claim pending jobs of these tasks, which are not handed over to this executor any more.

    Args:
        conn: The connection.
        tasks: Names of the tasks.
        executor: Name of the executor.
        queues: Names of the queues; None for all.
        limit: How many jobs of each kind, sent and not sent, with limits and without, one call takes.

    Returns:
        The jobs.
    """
    theirs = _theirs(tasks, executor, queues)
    found = [
        str(row.id)
        for state in _PENDING
        for row in conn.execute(select(jobs.c.id).where(text(state), *theirs).limit(limit))
    ]
    pending = (jobs.c.id.in_(found), jobs.c.status == Status.PENDING.value)
    changed = update(jobs).where(*pending).values(executor=None, handed_run=None, handed_at=None)
    return [str(row.id) for row in conn.execute(changed.returning(jobs.c.id))]


def has_others(
    conn: Connection, tasks: Sequence[str], executor: str, *, queues: Sequence[str] | None = None
) -> bool:
    """Return whether `take_back` would find a job; a look that writes nothing."""
    theirs = _theirs(tasks, executor, queues)
    return any(conn.execute(select(jobs.c.id).where(text(one), *theirs).limit(1)).first() for one in _PENDING)


def _theirs(tasks: Sequence[str], executor: str, queues: Sequence[str] | None) -> list[Any]:
    where = [jobs.c.executor == executor, jobs.c.task.in_(list(tasks))]
    return where if queues is None else [*where, jobs.c.queue.in_(list(queues))]


def executors_of_pending(conn: Connection) -> list[str]:
    """Return the executors that pending jobs wait for: one step in an index for each, however many jobs wait."""
    found: set[str] = set()
    for state in _PENDING:
        name: str | None = ""
        while name is not None:
            after = (text(state), jobs.c.executor > name)
            name = conn.execute(select(func.min(jobs.c.executor)).where(*after)).scalar()
            found |= {name} if name is not None else set()
    return sorted(found)


def send_again(conn: Connection, job_id: str, token: int) -> None:
    """A ticket was given back: the job is handed over again when it is due."""
    mine = (jobs.c.id == job_id, jobs.c.status == Status.PENDING.value, jobs.c.run_no == token - 1)
    conn.execute(update(jobs).where(*mine).values(handed_run=None, handed_at=None))


def note_delivered_again(
    conn: Connection, dialect: Dialect, job_id: str, now: datetime, *, actor: str, token: int, detail: dict[str, Any]
) -> None:
    """Count a ticket whose run had begun already: a line of the trail."""
    events.append(
        conn, dialect, [events.note(job_id, now, "delivered_again", run_no=token, actor=actor, detail=detail)]
    )


def _read(rows: Iterable[Any]) -> list[ToSend]:
    return [ToSend(str(row[0]), *row[1:]) for row in rows]
