"""One group of jobs: how its members stand now, and what follows it."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from pydantic import Field

from jobtrail.errors import NotFound
from jobtrail.messages import Message
from jobtrail.queries.base import ID, FileName, MaskedText, Model
from jobtrail.store import successors
from jobtrail.store.search.grammar import ID as ID_FORM

from . import lineage
from .lineage import FollowingJob

if TYPE_CHECKING:
    from sqlalchemy import Connection

MOST_MEMBERS = 500  # of one page


class GroupMember(Model):
    """A job of a group."""

    job: str = Field(examples=[ID])
    status: str | None = Field(description="Of a job that was removed: the one in which it ended.")
    removed: bool = Field(description="The job is kept no longer.")
    task: str | None
    source: MaskedText | None
    period: str | None
    file: FileName
    started_at: datetime | None
    finished_at: datetime | None


class GroupDetail(Model):
    """A group: jobs that were submitted together."""

    id: str = Field(examples=[ID])
    name: MaskedText | None
    actor: str | None
    created_at: datetime
    finished_at: datetime | None = Field(description="When the last member had ended and what follows came.")
    outcome: str | None = Field(description="success, partial or error; null until all members have ended.")
    total: int
    ended: int = Field(description="Members that have ended, as they stand now; removed ones count.")
    status: dict[str, int] = Field(description="Members by status, as they stand now; removed ones are left out.")
    successors: list[FollowingJob]
    members: list[GroupMember] = Field(description="In the order of their submission.")
    next: int | None = Field(description="The ``after`` of the following page of members; null at the end.")
    now: datetime


def read_group(
    conn: Connection, group: str, now: datetime, *, after: int = 0, limit: int = MOST_MEMBERS
) -> GroupDetail:
    """Read a group and a page of its members.

    Args:
        conn: A connection for reading.
        group: The id of the group, or a unique ending of it.
        now: The database's time, UTC.
        after: The ``next`` of the page before.
        limit: The size of the page, at most 500.

    Raises:
        NotFound: if there is no such group, or if several ids end so.
    """
    ids = [group] if ID_FORM.fullmatch(group) else successors.groups_ending_with(conn, group)
    found = successors.group_of(conn, ids[0]) if len(ids) == 1 else None
    if found is None:
        raise NotFound(Message("commands.no-group", group=group))
    group = found["id"]
    size = min(max(limit, 1), MOST_MEMBERS)
    rows = successors.page_of_group(conn, group, after=after, limit=size + 1)
    standing = successors.standing_of_group(conn, group)
    return GroupDetail(
        id=found["id"], name=found["name"], actor=found["actor"], created_at=found["created_at"],
        finished_at=found["finished_at"], outcome=found["outcome"], total=found["total"], ended=lineage.ended(standing),
        status=lineage.kept(standing),
        successors=lineage.followers(conn, found["following"]),
        members=[
            GroupMember(
                job=row.job_id, status=row.status, removed=row.task is None, task=row.task, source=row.source,
                period=row.period, file=row.file, started_at=row.started_at, finished_at=row.finished_at,
            )
            for row in rows[:size]
        ],
        next=rows[size].position if len(rows) > size else None, now=now,
    )  # fmt: skip
