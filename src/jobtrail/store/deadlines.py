"""Deadlines of running jobs, as times in their rows: written by the run, read by whoever looks for what is over its time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import Text, cast, select, text, update

from jobtrail.database.tables import jobs

from .jobs import columns, read

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.job.model import JobRow

# The condition of a partial index, as the index has it; what an earlier run wrote says nothing about this one.
RUNNING = text("jobtrail_jobs.status IN ('running', 'cancelling')")
OWN = jobs.c.deadline_run == jobs.c.run_no
_by_id = cast(jobs.c.id, Text)  # an expression, or SQLite would read the whole table in the order of its key


def put(conn: Connection, job_id: str, run_no: int, at: datetime, cause: str) -> bool:
    """Until when this run must have ended or given a sign of life; False when a newer run owns the job."""
    mine = (jobs.c.id == job_id) & (jobs.c.run_no == run_no) & jobs.c.status.in_(("running", "cancelling"))
    values = {"deadline_at": at, "deadline_cause": cause, "deadline_run": run_no}
    return conn.execute(update(jobs).where(mine).values(values)).rowcount == 1


def passed(conn: Connection, by: datetime, *, limit: int = 200) -> list[JobRow]:
    """Running jobs that nobody has asked to stop although their deadline had passed by then."""
    over = (RUNNING, jobs.c.status == "running", OWN, jobs.c.deadline_at <= by)
    return [read(row) for row in conn.execute(select(*columns()).where(*over).order_by(_by_id).limit(limit))]


def of_worker(conn: Connection, worker: str) -> list[tuple[str, datetime]]:
    """(id, deadline) of the jobs that run on a worker and have one, the earliest first."""
    mine = select(jobs.c.id, jobs.c.deadline_at).where(jobs.c.worker == worker, RUNNING, OWN)
    return [(row.id, row.deadline_at) for row in conn.execute(mine.order_by(jobs.c.deadline_at))]
