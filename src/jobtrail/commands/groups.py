"""Groups: jobs that are submitted together, and the job that follows when all of them have ended."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from jobtrail.async_twin import async_twin
from jobtrail.errors import NotFound, ResultTimeout
from jobtrail.job.model import Outcome, new_id
from jobtrail.messages import Message
from jobtrail.store import successors

from . import submit
from .job_handle import WAIT_POLL, Job
from .submit import successor
from .using import Predecessor, SuccessorRequest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import Connection

    from jobtrail.job.model import Status
    from jobtrail.job.successor import Successor
    from jobtrail.store import Store

    from .service import Service
    from .submit import Prepared
    from .task_handle import BoundTask


class Group:
    """Jobs that were submitted together.

    `JobTrail.group` returns it. Every method reads from the database.

    Attributes:
        id: Id of the group.
    """

    def __init__(self, store: Store, group_id: str) -> None:
        self.id = group_id
        self._store = store

    def read(self) -> dict[str, Any]:
        """Read the group.

        Returns:
            name, total (number of members), outcome (None until all members have ended), created_at, finished_at,
            counts (members by final state; None counts those that have not ended) and following (successors).

        Raises:
            NotFound: If the group does not exist.
        """
        with self._store.read() as conn:
            found = successors.group_of(conn, self.id)
        if found is None:
            raise NotFound(Message("commands.no-group", group=self.id))
        return found

    def outcome(self) -> Outcome | None:
        """Read the outcome of the group.

        Returns:
            success if all members completed, error if all failed or were cancelled, else partial; None until all
            members have ended.
        """
        word = self.read()["outcome"]
        return None if word is None else Outcome(word)

    def jobs(self) -> list[Job]:
        """Read the members, in the order of their submission."""
        with self._store.read() as conn:
            return [Job(self._store, one) for one in successors.members_of(conn, self.id)]

    def wait(self, timeout: float | None = None) -> Outcome:
        """Wait until all members have ended.

        Args:
            timeout: Longest wait in seconds; None for no limit.

        Returns:
            The outcome of the group.

        Raises:
            ResultTimeout: If a member is still active after ``timeout`` seconds.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while (outcome := self.outcome()) is None:
            self._check_wait(end, timeout)
            time.sleep(WAIT_POLL)
        return outcome

    async def await_(self, timeout: float | None = None) -> Outcome:
        """`wait` for an event loop; between two looks it occupies no thread.

        Args:
            timeout: As for `wait`.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while (outcome := await self.aoutcome()) is None:
            self._check_wait(end, timeout)
            await asyncio.sleep(WAIT_POLL)
        return outcome

    def _check_wait(self, end: float | None, timeout: float | None) -> None:
        if end is not None and time.monotonic() >= end:
            raise ResultTimeout(Message("commands.group-goes-on", group=self.id, timeout=timeout))

    aread = async_twin(read)
    aoutcome = async_twin(outcome)
    ajobs = async_twin(jobs)

    def __repr__(self) -> str:
        """Id, for people."""
        return f"<group {self.id}>"


def open_group(
    service: Service,
    members: Iterable[tuple[BoundTask, Mapping[str, Any]]],
    following: SuccessorRequest | None,
    *,
    name: str | None = None,
    actor: str | None = None,
) -> Group:
    """Submit jobs, all or none, with the job that follows when all of them have ended; see `JobTrail.group`.

    Raises:
        UsageError: If one submission is not valid; then none is stored.
        Conflict: If another job is in the way of one submission.
    """
    service.make_ready()
    prepared = [service._prepare(*task.submission(args)) for task, args in members]
    then = (successor(following, Predecessor(), service.settings),) if following is not None else ()
    group, store = new_id(), service.store
    service._patiently(lambda: store.write(partial(_open, store, group, prepared, then, name, actor)))
    return Group(store, group)


def _open(
    store: Store,
    group: str,
    prepared: Sequence[Prepared],
    following: tuple[Successor, ...],
    name: str | None,
    actor: str | None,
    conn: Connection,
) -> None:
    if successors.group_of(conn, group) is not None:
        return  # the try before this one was committed, its answer was lost
    plain = [replace(one.new, followed=True) for one in prepared if one.plain]
    store.insert_followed(conn, plain)
    ids = {one.id: one.id for one in plain}
    others = sorted((one for one in prepared if not one.plain), key=lambda one: (one.new.unit or "", one.new.id))
    for one in others:
        answer = store.submit_on(conn, one.new, one.rules)
        submit.check_answer(answer, one)
        ids[one.new.id] = answer.id
    members: dict[str, Status | None] = {ids[one.new.id]: None for one in prepared}
    for job_id in sorted({ids[one.new.id] for one in others}):
        members[job_id] = successors.follow_existing(conn, job_id)
    successors.open_group(
        conn, store.dialect, group, list(members.items()), following, store.now(), name=name, actor=actor
    )
