"""Removes jobs with all that was written about them, and counts them, in the caller's transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, func, select

from jobtrail.database.tables import (
    events,
    group_members,
    job_labels,
    job_totals,
    jobs,
    logs,
    progress,
    questions,
    successors,
)
from jobtrail.job.model import FINAL, Outcome, RemovedJob, Status
from jobtrail.store import units as stored_units

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Connection

    from jobtrail.store.store import Store

# What the functions here need to know of a job.
COLUMNS = (
    jobs.c.id, jobs.c.task, jobs.c.status, jobs.c.outcome, jobs.c.generation, jobs.c.unit,
    jobs.c.created_at, jobs.c.run_at, jobs.c.started_at, jobs.c.finished_at,
)  # fmt: skip
_ABOUT_A_JOB = (events, logs, progress, job_labels, questions)
_FINAL = sorted(status.value for status in FINAL)
_TOTALS = ("hour", "task", "status", "jobs", "run_seconds", "wait_seconds")
_ADD_TOTALS = "ON CONFLICT (hour, task, status) DO UPDATE SET " + ", ".join(
    f"{name} = {job_totals.name}.{name} + excluded.{name}" for name in _TOTALS[3:]
)


def remove(conn: Connection, store: Store, going: Sequence[Any]) -> None:
    """Remove jobs, given as rows of `COLUMNS` that the transaction has locked."""
    ids = [row.id for row in going]
    store.dialect.insert_many(conn, job_totals, _TOTALS, _totals(going, _retried_ends(conn, ids)), _ADD_TOTALS)
    for table in _ABOUT_A_JOB:
        conn.execute(delete(table).where(table.c.job_id.in_(ids)))
    conn.execute(delete(successors).where(successors.c.after.in_(ids)))
    conn.execute(delete(group_members).where(group_members.c.job_id.in_(ids)))
    conn.execute(delete(jobs).where(jobs.c.id.in_(ids)))


def named_by_units(conn: Connection, going: Sequence[Any]) -> stored_units.NamedJobs:
    """Find and lock the units that name one of these jobs as their last one."""
    of_units = [row for row in going if row.unit is not None]
    generations = [row.generation or row.id for row in of_units]
    return stored_units.naming(conn, [row.id for row in of_units], [row.unit for row in of_units], generations)


def remember_with_units(conn: Connection, named: stored_units.NamedJobs, going: Sequence[Any]) -> None:
    """Keep with units the end of their last job."""
    by_id = {row.id: ended(row) for row in going}
    stored_units.remember_removed(conn, {unit: by_id[job] for unit, job in named.units.items() if job in by_id})


def ended(row: Any) -> RemovedJob:
    """What is remembered of a job."""
    outcome = Outcome(row.outcome) if row.outcome else None
    return RemovedJob(row.id, row.task, Status(row.status), outcome, row.finished_at)


def _retried_ends(conn: Connection, ids: list[str]) -> list[tuple[str, str, int]]:
    """The ends that a retry has undone, as (job id, status, count): they are counted with the jobs that are removed."""
    query = (
        select(events.c.job_id, events.c.from_status, func.count())
        .where(events.c.job_id.in_(ids), events.c.name == "retried", events.c.from_status.in_(_FINAL))
        .group_by(events.c.job_id, events.c.from_status)
    )
    return [(row[0], row[1], row[2]) for row in conn.execute(query)]


def _totals(going: Sequence[Any], retried: Iterable[tuple[str, str, int]]) -> list[tuple[Any, ...]]:
    sums: dict[tuple[Any, ...], list[float]] = {}
    hours = {row.id: (row.finished_at.replace(minute=0, second=0, microsecond=0), row.task) for row in going}
    for job_id, status, number in retried:
        sums.setdefault((*hours[job_id], status), [0, 0.0, 0.0])[0] += number
    for row in going:
        one = sums.setdefault((*hours[row.id], row.status), [0, 0.0, 0.0])
        one[0] += 1
        if row.started_at is not None:
            one[1] += max((row.finished_at - row.started_at).total_seconds(), 0.0)
            one[2] += max((row.started_at - (row.run_at or row.created_at)).total_seconds(), 0.0)
    return [(*key, *values) for key, values in sorted(sums.items())]
