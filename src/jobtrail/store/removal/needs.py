"""What must stay because an active job, or a group that has not ended, still needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select

from jobtrail.database.tables import group_members, groups, jobs
from jobtrail.job.model import ACTIVE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

_ACTIVE = [status.value for status in ACTIVE]
_REFERENCES = (jobs.c.rerun_of, jobs.c.waits_for, jobs.c.parent, jobs.c.root, jobs.c.generation)
_parents = jobs.alias("parents")


def by_active(conn: Connection, ids: Sequence[str]) -> dict[str, str]:
    """Those of these jobs that an active job refers to, each with such a job."""
    found: dict[str, str] = {}
    for column in _REFERENCES:
        # A job is no reason to keep itself: its first generation has its own id.
        query = select(column, jobs.c.id).where(column.in_(ids), jobs.c.status.in_(_ACTIVE), column != jobs.c.id)
        found.update((row[0], row[1]) for row in conn.execute(query))
    return found


def by_open_groups(conn: Connection, ids: Sequence[str]) -> dict[str, str]:
    """Those of these jobs that are members of a group that has not ended, each with the group: what follows takes their results."""
    query = select(group_members.c.job_id, group_members.c.group_id).join(groups, groups.c.id == group_members.c.group_id)
    rows = conn.execute(query.where(group_members.c.job_id.in_(ids), groups.c.finished_at.is_(None)))
    return {row.job_id: row.group_id for row in rows}


def by_active_parents(conn: Connection, ids: Sequence[str]) -> dict[str, str]:
    """Those of these jobs whose parent is active, each with its parent: a backfill looks for what it has submitted."""
    query = select(jobs.c.id, jobs.c.parent).join(_parents, _parents.c.id == jobs.c.parent)
    rows = conn.execute(query.where(jobs.c.id.in_(ids), _parents.c.status.in_(_ACTIVE)))
    return {row.id: row.parent for row in rows}
