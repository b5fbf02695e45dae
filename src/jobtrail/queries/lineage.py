"""The kin of a job: the jobs that it re-ran and that re-ran it, what it came from, what follows it, its groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jobtrail.store import jobs, successors

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from jobtrail.job.model import JobRow

MOST_ABOVE = 20
MOST_BELOW = 100
MOST_RERUNS = 20


@dataclass(slots=True)
class Follower:
    """What was declared to follow a job or a group, as the store tells it; ``row`` where it has come and is still kept."""

    told: dict[str, Any]
    row: JobRow | None
    following: list[Follower]


@dataclass(slots=True)
class Chain:
    """What was read: jobs and groups above, oldest first; followers; groups with their followers."""

    above: list[JobRow | dict[str, Any]]
    below: list[Follower]
    groups: list[tuple[dict[str, Any], list[Follower]]]

    def __bool__(self) -> bool:
        """Is there anything to tell?"""
        return bool(self.above or self.below or self.groups)


def lineage(conn: Connection, row: JobRow) -> tuple[list[JobRow], list[JobRow]]:
    """The jobs that this one re-ran, oldest first, and those that re-ran it."""
    before: list[JobRow] = []
    one: JobRow | None = row
    while one is not None and one.rerun_of and len(before) < MOST_RERUNS:
        one = jobs.get(conn, one.rerun_of)
        if one is not None:
            before.insert(0, one)
    after: list[JobRow] = []
    next_ones = [row]
    while next_ones and len(after) < MOST_RERUNS:
        found = [child for parent in next_ones for child in jobs.reruns_of(conn, parent.id)]
        after += found
        next_ones = found
    return before, after


def chain_of(conn: Connection, row: JobRow) -> Chain:
    """What one job came from, and what follows it."""
    room = [MOST_BELOW]
    below = _followers(conn, successors.of_job(conn, row.id), room)
    groups = [found for one in successors.groups_of_job(conn, row.id) if (found := successors.group_of(conn, one)) is not None]
    return Chain(_above(conn, row), below, [(one, _followers(conn, one["following"], room)) for one in groups])


def _above(conn: Connection, row: JobRow) -> list[JobRow | dict[str, Any]]:
    found: list[JobRow | dict[str, Any]] = []
    parent = row.parent
    while parent is not None and len(found) < MOST_ABOVE:
        job = jobs.get(conn, parent)
        one = job if job is not None else successors.group_of(conn, parent)
        if one is None:
            break
        found.insert(0, one)
        parent = job.parent if job is not None else None
    return found


def _followers(conn: Connection, declared: list[dict[str, Any]], room: list[int]) -> list[Follower]:
    found = []
    for one in declared:
        if room[0] <= 0:
            break
        room[0] -= 1
        row = jobs.get(conn, one["job"]) if one["job"] else None
        below = _followers(conn, successors.of_job(conn, row.id), room) if row is not None else []
        found.append(Follower(one, row, below))
    return found
