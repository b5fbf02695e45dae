"""Sends jobs to Celery that a schedule, a person or a program wants to run; one turn is `Relay.run_once`."""

from __future__ import annotations

import logging
import time
from datetime import datetime
from functools import partial
from json import dumps, loads
from typing import TYPE_CHECKING, Any

from jobtrail.errors import JobTrailError
from jobtrail.job import transitions
from jobtrail.job.failure import describe
from jobtrail.job.model import Status, new_id
from jobtrail.job.task import TRACKED
from jobtrail.job.transitions import Subject
from jobtrail.messages import Message
from jobtrail.recovery.run_end import RunEnd, write_ends
from jobtrail.store import workers
from jobtrail.store.tracked import rows

from .broker import Broker, BrokerAway
from .writing import SYSTEM

if TYPE_CHECKING:
    from collections.abc import Callable

    from celery import Celery
    from sqlalchemy import Connection

    from jobtrail.job.failure import Failure
    from jobtrail.job.model import JobRow
    from jobtrail.store import Store

HEADER = "jobtrail"  # the header of a message that names the job
HANDING = "handing_over"  # in the context of a job: the process that is sending its message
LOOK = 5.0  # seconds between two looks for messages whose sender is dead
_log = logging.getLogger("jobtrail.celery")


class NotSent(JobTrailError):
    """A message was not sent to Celery, or it is not known whether it was."""


class Relay:
    """Hands due jobs over to Celery, each by one process and at most once.

    The job is marked as handed over before its message is sent, and the mark is removed afterwards. A job whose process
    died in between fails, because nobody knows whether Celery has the message; the other order could run a task twice.

    Args:
        celery_app: The Celery application.
        store: The store.
        own: Function that returns the id of this process.
    """

    def __init__(self, celery_app: Celery, store: Store, own: Callable[[], str]) -> None:
        self._app = celery_app
        self._store = store
        self._own = own
        self._broker = Broker(celery_app)
        self._looked_at = float("-inf")

    def run_once(self) -> int:
        """Send what is due; returns how many messages were sent.

        Raises:
            StoreError: If the store is away.
        """
        if time.monotonic() - self._looked_at >= LOOK:
            self._fail_lost()
            self._looked_at = time.monotonic()
        with self._store.read() as conn:
            due = [row for row in rows.to_send(conn, self._store.now()) if self._is_ours(row)]
        sent = 0
        for row in due:
            try:
                sent += self._hand_over(row, self._broker.producer())
            except BrokerAway:
                break
        return sent

    def close(self) -> None:
        """Close the connection to the broker."""
        self._broker.drop()

    def _is_ours(self, row: JobRow) -> bool:
        said = _said(row)
        return bool(said["app"] == app_name(self._app)) if "app" in said else row.task in self._app.tasks

    # -- one job -------------------------------------------------------------------------------------

    def _hand_over(self, row: JobRow, producer: Any) -> bool:
        celery_id, tracked = new_id(), _said(row).get("tracked", True)
        context = {**(loads(row.context) if row.context else {}), "celery_id": celery_id}
        marked = dumps({**context, HANDING: self._own()})

        def mine(conn: Connection) -> bool:
            if not rows.hand_over(conn, row.id, marked):
                return False
            rows.add_ids(conn, self._store.dialect, SYSTEM, [(celery_id, row.id)])
            return True

        if not self._store.write(mine, key=row.id):
            return False
        try:
            self._send(row, celery_id, producer, tracked=tracked)
        except Exception as error:
            known = not isinstance(error, (OSError, *self._connection_errors()))
            code = "integrations.not-sent" if known else "integrations.sending-unknown"
            _log.warning("job %s of the Celery task %s was not sent: %s", row.id, row.task, error)
            self._broker.drop()
            self._fail(row.id, describe(NotSent(Message(code, task=row.task, error=f"{type(error).__name__}: {error}"[:500]))))
            return False
        _log.info("job %s: sent the Celery task %s as %s", row.id, row.task, celery_id)
        self._store.write(partial(self._sent, row.id, marked, dumps(context), tracked, celery_id), key=row.id)
        return True

    def _connection_errors(self) -> tuple[type[BaseException], ...]:
        from celery.exceptions import OperationalError

        return (OperationalError, *self._app.connection_for_write().connection_errors)

    def _send(self, row: JobRow, celery_id: str, producer: Any, *, tracked: bool) -> None:
        given: dict[str, Any] = loads(row.args)
        said = _said(row)
        args, kwargs = ([], given) if said.get("named", True) else (given["args"], given["kwargs"])
        options: dict[str, Any] = dict(said.get("send") or {})
        queue = row.queue.removeprefix(TRACKED)
        if queue in self._app.amqp.queues and not {"exchange", "routing_key"} & options.keys():
            options["queue"] = queue
        if "expires" in said and row.rerun_of is None and not row.run_no:
            options["expires"] = max(0.001, said["expires"] - self._lateness(row))
        if tracked:
            options["headers"] = {
                **(options.get("headers") or {}), HEADER: {"id": row.id, "known": True, "at": time.time()}
            }  # fmt: skip
        options |= {"task_id": celery_id, "retry": False, "producer": producer}
        task = self._app.tasks.get(row.task)
        if task is not None:
            task.apply_async(args, kwargs, **options)
        else:
            self._app.send_task(row.task, args, kwargs, **options)

    def _lateness(self, row: JobRow) -> float:
        """Seconds since the planned time."""
        slot = loads(row.options or "{}").get("slot")
        planned = datetime.fromisoformat(slot) if slot else row.created_at
        return (self._store.now() - planned).total_seconds()

    def _sent(self, job_id: str, marked: str, context: str, tracked: bool, celery_id: str, conn: Connection) -> None:
        """Celery has the message. A job whose runs nobody records is complete with that."""
        rows.handed_over(conn, job_id, marked, context)
        if not tracked:
            note, result = Message("integrations.sent-only").stored, dumps({"celery_id": celery_id})
            self._finish(conn, job_id, Status.COMPLETED, result=result, note=note)

    # -- what was not sent ---------------------------------------------------------------------------

    def _fail_lost(self) -> None:
        """Fail the jobs whose process died while it sent their messages."""
        with self._store.read() as conn:
            lost = [
                row
                for row in rows.being_handed_over(conn, HANDING)
                if self._is_ours(row) and (by := loads(row.context or "{}").get(HANDING)) and workers.state_of(conn, by) not in workers.ALIVE
            ]
        for row in lost:
            _log.warning("job %s: the process that sent its message is gone", row.id)
            self._fail(row.id, describe(NotSent(Message("integrations.sender-lost", task=row.task))))

    def _fail(self, job_id: str, failure: Failure) -> None:
        self._store.write(
            lambda conn: self._finish(
                conn, job_id, Status.FAILED, error=failure.to_json(), fingerprint=failure.fingerprint
            ),
            key=job_id,
        )

    def _finish(self, conn: Connection, job_id: str, to: Status, **values: Any) -> None:
        now = self._store.now()
        begun = rows.begin(conn, job_id, self._own(), now)
        if begun is not None:  # else Celery was faster, and has begun the task
            subject = Subject(job_id, begun[0], begun[1], Status.RUNNING, worker=self._own())
            write_ends(conn, self._store, [RunEnd(transitions.finished(subject, now, to, **values))], now)


def app_name(celery_app: Celery) -> str:
    """The name that tells applications apart that share a store."""
    return str(celery_app.main or "celery")


def _said(row: JobRow) -> dict[str, Any]:
    said: dict[str, Any] = loads(row.options).get("celery", {}) if row.options else {}
    return said
