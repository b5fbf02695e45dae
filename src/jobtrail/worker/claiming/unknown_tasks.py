"""Jobs whose task this worker does not know, and another one does: a deploy is on its way, and they are left to the others."""

from __future__ import annotations

import logging
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from jobtrail.errors import StoreError
from jobtrail.job import transitions
from jobtrail.messages import Message
from jobtrail.store import jobs, workers
from jobtrail.worker.decide import subject_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.job.model import Claim
    from jobtrail.job.task import Tasks
    from jobtrail.store import Store

_log = logging.getLogger("jobtrail.worker")
AGAIN = timedelta(seconds=1)  # a job that comes in spite of all, because it has a limit or is a suspect


class UnknownTasks:
    """Hands back what others know, at once and uncharged, and claims no more of it for a while.

    Args:
        store: The store.
        tasks: The tasks known here.
        pause: Seconds until a task is claimed again; nobody may know it any more.
    """

    def __init__(self, store: Store, tasks: Tasks, pause: float) -> None:
        self._store, self._tasks = store, tasks
        self._pause = timedelta(seconds=pause)
        self._left: dict[str, datetime] = {}

    def left_to_others(self, now: datetime) -> list[str]:
        """Return the tasks that are not claimed now."""
        if self._left:
            self._left = {task: until for task, until in self._left.items() if until > now}
        return list(self._left)

    def sort_out(self, claims: Sequence[Claim], worker: str) -> list[Claim]:
        """Hand back the jobs whose task is known elsewhere; the others are returned. Blocking."""
        unknown = [one for one in claims if self._tasks.find(one.task) is None]
        if not unknown:
            return list(claims)
        try:
            theirs = self._store.write(partial(self._hand_back, unknown=unknown, worker=worker))
        except StoreError as error:
            _log.warning("jobs of unknown tasks are put back: %s", error)
            return list(claims)
        return [one for one in claims if one.id not in theirs]

    def _hand_back(self, conn: Connection, unknown: Sequence[Claim], worker: str) -> set[str]:
        now = self._store.now()
        known = workers.knowing(conn, {one.task for one in unknown}, worker)
        theirs = [one for one in unknown if (one.queue, one.task) in known]
        moves = [
            transitions.handed_back(
                subject_of(one, worker), now + AGAIN if one.task in self._left else now,
                reason=Message("worker.known-elsewhere", task=one.task).stored,
            )
            for one in theirs
        ]  # fmt: skip
        if moves:
            jobs.apply(conn, self._store.dialect, moves, now, wake=self._store.wake.need)
            self._store.wake.need()
        self._left |= {one.task: now + self._pause for one in theirs}
        return {one.id for one in theirs}
