"""The rows of jobs that another system executes: inserted as they begin, found by the other system's id, handed over.

Their queue begins with `jobtrail.job.task.TRACKED`, which no worker of jobtrail may serve. A pending one with a due time is
to be sent to the other system; a pending one without a due time has been sent and waits there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, select, text, update

from jobtrail.database.tables import DUE, job_labels, jobs
from jobtrail.job.model import JobRow, Status
from jobtrail.job.task import TRACKED
from jobtrail.store.jobs import columns, read
from jobtrail.store.totals import ends

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.database.dialects import Dialect

_LABEL = ("key", "value", "job_id")
_BEGIN = (
    update(jobs)
    .where(jobs.c.id == bindparam("job"), jobs.c.status == Status.PENDING.value)
    .values(
        status=Status.RUNNING.value,
        run_no=jobs.c.run_no + 1,
        attempt=jobs.c.attempt + 1,
        worker=bindparam("by"),
        started_at=bindparam("at"),
        suspect=False,
    )
    .returning(jobs.c.run_no, jobs.c.attempt)
)
_HELD = text("jobtrail_jobs.status IN ('running', 'cancelling')")


def insert(conn: Connection, dialect: Dialect, names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert jobs that have begun, or have ended already; ``names`` are the columns."""
    dialect.insert_jobs(conn, names, rows)
    if "finished_at" in names:
        ends.count(conn, (_end_of(dict(zip(names, row, strict=True))) for row in rows))


def _end_of(row: Mapping[str, Any]) -> ends.End:
    made = row["created_at"]
    due = max(made, row["run_at"] or made)
    return ends.End(
        row["id"], row["status"], row["outcome"], row["task"], row["queue"], row["source"], due, row["started_at"], row["finished_at"]
    )  # fmt: skip


def add_ids(conn: Connection, dialect: Dialect, system: str, ids: Iterable[tuple[str, str]]) -> None:
    """Store pairs of (id in the other system, job), so that the job is found by either."""
    rows = [(system, value, job_id) for value, job_id in ids]
    if rows:
        dialect.insert_many(conn, job_labels, _LABEL, rows, "ON CONFLICT (key, value, job_id) DO NOTHING")


def jobs_of(conn: Connection, system: str, ids: Sequence[str]) -> dict[str, str]:
    """The newest job of each of these ids of the other system."""
    if not ids:
        return {}
    query = select(job_labels.c.value, job_labels.c.job_id).where(
        job_labels.c.key == system, job_labels.c.value.in_(list(ids))
    )
    return {value: str(job_id) for value, job_id in sorted(conn.execute(query).all(), key=lambda row: str(row[1]))}


def begin(conn: Connection, job_id: str, worker: str, at: datetime) -> tuple[int, int] | None:
    """A pending job begins to run; its run and attempt number, or None where it is not pending."""
    row = conn.execute(_BEGIN, {"job": job_id, "by": worker, "at": at}).first()
    return None if row is None else (row.run_no, row.attempt)


def to_send(conn: Connection, now: datetime, *, limit: int = 1000) -> list[JobRow]:
    """Pending jobs that are due and that nobody has handed over, oldest first."""
    due = (text(DUE), jobs.c.queue.startswith(TRACKED), jobs.c.run_at <= now)
    return [read(row) for row in conn.execute(select(*columns()).where(*due).order_by(jobs.c.run_at).limit(limit))]


def hand_over(conn: Connection, job_id: str, context: str) -> bool:
    """Take a due job out of the list of those to be sent; False where another process was first."""
    mine = (jobs.c.id == job_id, jobs.c.status == Status.PENDING.value, jobs.c.run_at.is_not(None))
    return conn.execute(update(jobs).where(*mine).values(run_at=None, context=context)).rowcount == 1


def handed_over(conn: Connection, job_id: str, marked: str, context: str) -> None:
    """The other system has the job; its context loses the mark, unless it has begun already and was written anew."""
    mine = (jobs.c.id == job_id, jobs.c.context == marked)
    conn.execute(update(jobs).where(*mine).values(context=context))


def being_handed_over(conn: Connection, mark: str, *, limit: int = 100) -> list[JobRow]:
    """Pending jobs whose context has the mark of a process that is sending their messages."""
    marked = (
        jobs.c.status == Status.PENDING.value, jobs.c.queue.startswith(TRACKED), jobs.c.run_at.is_(None),
        jobs.c.context.contains(f'"{mark}"'),
    )  # fmt: skip
    return [read(row) for row in conn.execute(select(*columns()).where(*marked).limit(limit))]


def asked_to_stop(conn: Connection, worker: str) -> dict[str, tuple[int, str]]:
    """Jobs of a process that were asked to stop: the number of the run and the cause, by job."""
    query = select(jobs.c.id, jobs.c.run_no, jobs.c.stop_cause).where(
        jobs.c.worker == worker, _HELD, jobs.c.status == Status.CANCELLING.value
    )
    return {str(row.id): (row.run_no, row.stop_cause) for row in conn.execute(query)}
