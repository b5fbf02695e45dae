"""The lineage of a job: the jobs it re-ran and that re-ran it, what it came from, what follows it, and its groups."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from pydantic import Field

from jobtrail.job.model import FINAL
from jobtrail.queries.base import FileName, MaskedText, Model
from jobtrail.store import jobs, successors

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from jobtrail.job.model import JobRow

MOST_ANCESTORS = 20
MOST_FOLLOWERS = 100
MOST_RERUNS = 20


class RelatedJob(Model):
    """A job that re-ran this one, or that this one re-ran."""

    id: str
    status: str
    mode: str | None
    created_at: datetime


class Ancestor(Model):
    """A job or a group that this one came from."""

    id: str
    group: bool
    name: MaskedText | None = Field(description="The task, or the name of the group.")
    status: str | None
    source: MaskedText | None = None
    period: str | None = None
    file: FileName = None


class FollowingJob(Model):
    """What was declared to follow a job or a group."""

    task: str
    on: list[str]
    state: str = Field(description="waiting, submitted, skipped or refused")
    job: str | None
    status: str | None
    source: MaskedText | None = None
    period: str | None = None
    file: FileName = None
    reason: MaskedText | None
    seconds_later: float | None
    at: str | None
    successors: list[FollowingJob]


class JobGroup(Model):
    """Jobs that were submitted together."""

    id: str
    name: MaskedText | None
    total: int
    ended: int = Field(description="Members that have ended, as they stand now; removed ones count.")
    status: dict[str, int] = Field(description="Members by status, as they stand now.")
    outcome: str | None
    successors: list[FollowingJob]


class Lineage(Model):
    """The lineage of a job."""

    reran: list[RelatedJob]
    reruns: list[RelatedJob]
    ancestors: list[Ancestor]
    successors: list[FollowingJob]
    groups: list[JobGroup]


def read_lineage(conn: Connection, job_id: str) -> Lineage:
    """Read what a job re-ran and what re-ran it, what it came from, and what follows it.

    Raises:
        NotFound: if there is no such job.
    """
    return lineage(conn, jobs.resolve(conn, job_id))


def lineage(conn: Connection, row: JobRow) -> Lineage:
    """The lineage of a job that was read; each part is bounded."""
    room = [MOST_FOLLOWERS]
    below = _followers(conn, successors.of_job(conn, row.id), room)
    found = (successors.group_of(conn, one) for one in successors.groups_of_job(conn, row.id))
    return Lineage(
        reran=[RelatedJob.model_validate(one) for one in _reran(conn, row)],
        reruns=[RelatedJob.model_validate(one) for one in _reruns(conn, row)],
        ancestors=_ancestors(conn, row),
        successors=below,
        groups=[_group(conn, one, room) for one in found if one is not None],
    )


def _reran(conn: Connection, row: JobRow) -> list[JobRow]:
    """The jobs that this one re-ran, oldest first."""
    before: list[JobRow] = []
    one: JobRow | None = row
    while one is not None and one.rerun_of and len(before) < MOST_RERUNS:
        one = jobs.get(conn, one.rerun_of)
        if one is not None:
            before.insert(0, one)
    return before


def _reruns(conn: Connection, row: JobRow) -> list[JobRow]:
    """The jobs that re-ran this one, generation by generation."""
    after: list[JobRow] = []
    parents = [row]
    while parents and len(after) < MOST_RERUNS:
        parents = [child for parent in parents for child in jobs.reruns_of(conn, parent.id)]
        after += parents
    return after


def _ancestors(conn: Connection, row: JobRow) -> list[Ancestor]:
    """Jobs and groups that this one came from, oldest first."""
    found: list[Ancestor] = []
    parent = row.parent
    while parent is not None and len(found) < MOST_ANCESTORS:
        job = jobs.get(conn, parent)
        one = _job_above(job) if job is not None else _group_above(successors.group_of(conn, parent))
        if one is None:
            break
        found.insert(0, one)
        parent = job.parent if job is not None else None
    return found


def _job_above(job: JobRow) -> Ancestor:
    return Ancestor(
        id=job.id, group=False, name=job.task, status=job.status.value, source=job.source, period=job.period, file=job.file
    )


def _group_above(group: dict[str, Any] | None) -> Ancestor | None:
    if group is None:
        return None
    return Ancestor(id=group["id"], group=True, name=group["name"], status=group["outcome"])


def _followers(conn: Connection, declared: list[dict[str, Any]], room: list[int]) -> list[FollowingJob]:
    found = []
    for one in declared:
        if room[0] <= 0:
            break
        room[0] -= 1
        row = jobs.get(conn, one["job"]) if one["job"] else None
        below = _followers(conn, successors.of_job(conn, row.id), room) if row is not None else []
        found.append(_follower(one, row, below))
    return found


def _follower(one: dict[str, Any], row: JobRow | None, below: list[FollowingJob]) -> FollowingJob:
    successor = one["successor"]
    about = {} if row is None else {"status": row.status, "source": row.source, "period": row.period, "file": row.file}
    return FollowingJob(
        **{"status": None, **about}, task=one["task"], on=list(one["on"]), state=one["state"], job=one["job"],
        reason=one["reason"], seconds_later=successor.wait, at=successor.at, successors=below,
    )  # fmt: skip


def followers(conn: Connection, declared: list[dict[str, Any]]) -> list[FollowingJob]:
    """What was declared to follow, and what follows that."""
    return _followers(conn, declared, [MOST_FOLLOWERS])


def ended(standing: dict[str | None, int]) -> int:
    """How many members of a group have ended, from how many stand in each status."""
    return sum(number for status, number in standing.items() if status is None or status in FINAL)


def kept(standing: dict[str | None, int]) -> dict[str, int]:
    """How many members stand in each status, without those that were removed."""
    return {status: number for status, number in standing.items() if status is not None}


def _group(conn: Connection, group: dict[str, Any], room: list[int]) -> JobGroup:
    standing = successors.standing_of_group(conn, group["id"])
    return JobGroup(
        id=group["id"], name=group["name"], total=group["total"], ended=ended(standing), status=kept(standing), outcome=group["outcome"],
        successors=_followers(conn, group["following"], room),
    )  # fmt: skip
