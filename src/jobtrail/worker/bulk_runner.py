"""The body of a bulk action: each selected job is an item; what was done before a crash is not done twice."""

from __future__ import annotations

import time
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from jobtrail.commands import rerun
from jobtrail.commands.bulk import CANCEL, CHOSEN, DELETE, RERUN, RETRY, RUN_NOW, TASK, Wanted, why_not
from jobtrail.commands.history.delete import Deleter
from jobtrail.errors import Conflict, NotFound, PermanentError, StoreError
from jobtrail.job.json_value import decode
from jobtrail.job.model import Mode
from jobtrail.job.retry import Exponential, Retry
from jobtrail.job.task import Task
from jobtrail.job.unit import step_digest
from jobtrail.messages import Message, render, stored
from jobtrail.runtime.context import Context
from jobtrail.store import events, jobs, runs
from jobtrail.store.removal import deletion
from jobtrail.store.search import relations
from jobtrail.store.search.action_states import action_state

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from jobtrail.commands.service import Service
    from jobtrail.job.model import JobRow, Submitted

PATIENCE = Retry(attempts=None, on=(StoreError,), wait=Exponential(maximum=60.0))
LONGEST_SLEEP = 0.2  # seconds
# An action -> the moves in the trail by which it is known again.
_MOVES = {RETRY: ("retried",), CANCEL: ("cancelled", "stop_requested"), RUN_NOW: ("run_now",)}
_DONE = {RETRY: "retried", RERUN: "run again", CANCEL: "cancelled or asked to stop", RUN_NOW: "due now", DELETE: "deleted"}


def task_of(service: Service) -> Task:
    """The task of bulk actions, which every application knows."""

    def act(ctx: Context, *, action: str, mode: str | None, filter: str | None, per_second: float | None) -> Any:  # noqa: A002 - as it is called for a person
        """Apply one action to many jobs; submitted by the console and the API."""
        wanted = Wanted(action, filter=filter or Message("worker.chosen-by-hand").stored, mode=mode)
        return BulkRun(service, ctx, wanted, per_second).run()

    return Task.made(TASK, act, {"kind": "bulk", "retry": PATIENCE})


class BulkRun:
    """One run of a bulk action."""

    def __init__(self, service: Service, ctx: Context, wanted: Wanted, per_second: float | None) -> None:
        self._service = service
        self._store = service.store
        self._ctx = ctx
        self._wanted = wanted
        self._pause = 1.0 / per_second if per_second else 0.0
        with self._store.read() as conn:
            row = jobs.get(conn, ctx.job_id)
        self._actor = (row.actor if row is not None else None) or f"job:{ctx.job_id}"
        self._deleted: dict[str, str | None] = {}
        self._own_reason = row.reason if row is not None else None
        self._reason = Message(
            "worker.by-job",
            reason=row.reason if row is not None and row.reason else Message("worker.bulk-action"),
            job=ctx.job_id,
        ).stored

    def run(self) -> dict[str, Any]:
        """Apply the action to each job; returns the counts."""
        meant: dict[str, int] = dict(self._ctx.step(CHOSEN, self._as_before))
        counted: Counter[str] = Counter()
        for item in self._ctx.items(list(meant)):
            with item as job_id:
                left = self._deletion(job_id, meant) if self._wanted.action == DELETE else self._act(job_id, meant[job_id])
                if left is not None:
                    item.skip(left)
                counted[_DONE[self._wanted.action] if left is None else render(left)] += 1
            self._rest()
        return {"action": self._wanted.action, "jobs": len(meant), "this_run": dict(counted)}

    def _as_before(self) -> list[list[Any]]:
        """Load the selected jobs, which are stored with the job at its submission; a re-run uses the same selection."""
        with self._store.read() as conn:
            own = jobs.get(conn, self._ctx.job_id)
            while own is not None:
                kept = runs.find_step(conn, own.ledger, CHOSEN, step_digest(CHOSEN, (), {}))
                if kept is not None:
                    found: list[list[Any]] = decode(kept)
                    return found
                own = jobs.get(conn, own.rerun_of) if own.rerun_of else None
        raise PermanentError(Message("worker.selection-gone"))

    def _rest(self) -> None:
        end = time.monotonic() + self._pause
        while (left := end - time.monotonic()) > 0:
            self._ctx.check_cancelled()
            time.sleep(min(left, LONGEST_SLEEP))

    # -- one job -------------------------------------------------------------------------------------

    def _act(self, job_id: str, run_no: int) -> str | None:
        """Apply the action to one job.

        Returns:
            Why nothing was done; None where it was done, now or before a crash.

        Raises:
            StoreError: if the store is away.
        """
        if self._ctx.run_no > 1 and self._was_done(job_id):
            return None
        with self._store.read() as conn:
            row = action_state(conn, job_id)
            left = Message("worker.job-gone").stored if row is None else why_not(self._wanted, row, self._store.now())
        if left is None and self._wanted.action in {RETRY, RERUN} and row.run_no != run_no:
            left = Message("worker.job-ran-again").stored
        if left is not None:
            return left
        try:
            self._do(job_id)
        except (Conflict, NotFound) as error:
            return stored(error)
        return None

    def _deletion(self, job_id: str, meant: dict[str, int]) -> str | None:
        """Delete a job together with those that follow it; the answers for these are kept for their turns."""
        if job_id not in self._deleted:
            order = deletion.Order(self._ctx.job_id, self._actor, self._own_reason, self._wanted.filter)
            following = list(meant)[list(meant).index(job_id) :]
            self._deleted = Deleter(self._service, order).delete({one: meant[one] for one in following})
        return self._deleted.pop(job_id)

    def _do(self, job_id: str) -> None:
        action, actor, reason = self._wanted.action, self._actor, self._reason
        if action == RETRY:
            rerun.retry(self._store, job_id, actor=actor, reason=reason)
        elif action == CANCEL:
            rerun.cancel(self._store, job_id, actor=actor, reason=reason, force=False)
        elif action == RUN_NOW:
            rerun.run_now(self._store, job_id, actor=actor, reason=reason)
        else:
            self._run_again(job_id)

    def _run_again(self, job_id: str) -> None:
        given = {"actor": self._actor, "reason": self._reason, "parent": self._ctx.job_id, "root": self._ctx.job_id}
        answer = self._store.write(partial(self._rerun_once, job_id, given), key=job_id)
        if isinstance(answer, Exception):
            raise answer
        if answer.why is not None:
            raise Conflict(Message("worker.unit-active", in_way=answer.in_way), answer.in_way)

    def _rerun_once(self, job_id: str, given: dict[str, Any], conn: Connection) -> Submitted | Conflict:
        """Re-run the job under the lock of its row, so that only one of two bulk actions does."""
        row: JobRow | None = jobs.get(conn, job_id, lock=True)
        state = action_state(conn, job_id)
        if row is None or state is None or state.reran:
            return Conflict(Message("worker.rerun-already"), job_id)
        given = {**given, "submitter": self._service.submitter}
        return rerun.rerun_on(conn, self._store, job_id, Mode(self._wanted.mode or Mode.FULL), **given)

    def _was_done(self, job_id: str) -> bool:
        """Whether an earlier run of this action did it, and crashed before it recorded that."""
        with self._store.read() as conn:
            if self._wanted.action == RERUN:
                return relations.has_rerun_by(conn, job_id, self._ctx.job_id)
            return events.has_event(conn, job_id, _MOVES[self._wanted.action], self._reason)
