"""Jobs by what they belong to: the children of a parent, the newest of a source, the files of a unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import exists, func, select

from jobtrail.database.tables import jobs, units
from jobtrail.store.jobs import columns, read

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection

    from jobtrail.job.model import JobRow, Status


def is_stored(conn: Connection, job_id: str) -> bool:
    """Whether a job can be seen by this connection."""
    return bool(conn.execute(select(exists().where(jobs.c.id == job_id))).scalar())


def count_children(conn: Connection, parent: str, statuses: Iterable[Status] | None = None) -> int:
    """How many jobs a parent has submitted; in these statuses, where they are given."""
    query = select(func.count()).where(jobs.c.parent == parent)
    if statuses is not None:
        query = query.where(jobs.c.status.in_([status.value for status in statuses]))
    return int(conn.execute(query).scalar() or 0)


def newest_child(conn: Connection, parent: str, unit: str) -> JobRow | None:
    """The newest job that a parent has submitted for a unit."""
    query = select(*columns()).where(jobs.c.unit == unit, jobs.c.parent == parent)
    row = conn.execute(query.order_by(jobs.c.id.desc()).limit(1)).first()
    return None if row is None else read(row)


def has_rerun_by(conn: Connection, job_id: str, parent: str) -> bool:
    """Whether a parent has submitted a re-run of a job."""
    own = (jobs.c.rerun_of == job_id) & (jobs.c.parent == parent)
    return conn.execute(select(jobs.c.id).where(own).limit(1)).first() is not None


def newest_arguments(conn: Connection, task: str, source: str | None) -> str | None:
    """The stored arguments of the newest job of a task and source; None where there is no job."""
    same = jobs.c.source.is_(None) if source is None else jobs.c.source == source
    query = select(jobs.c.args).where(jobs.c.task == task, same)
    found: str | None = conn.execute(query.order_by(jobs.c.id.desc()).limit(1)).scalar()
    return found


def units_of_files(conn: Connection, hashes: Iterable[str]) -> list[tuple[str, str, str | None]]:
    """(unit, SHA-256, outcome) of the units whose file has one of these hashes."""
    query = select(units.c.unit, units.c.sha256, units.c.outcome).where(units.c.sha256.in_(set(hashes)))
    return [(row.unit, row.sha256, row.outcome) for row in conn.execute(query)]


def files_of_unit(conn: Connection, unit: str) -> list[str]:
    """The stored input files of a unit's jobs."""
    return list(conn.execute(select(jobs.c.file).where(jobs.c.unit == unit, jobs.c.file.is_not(None))).scalars())
