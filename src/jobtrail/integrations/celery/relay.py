"""Sends jobs to Celery that a person or program wants to run again; one turn is `Relay.run_once`."""

from __future__ import annotations

import logging
import time
from datetime import timedelta
from functools import partial
from json import dumps, loads
from typing import TYPE_CHECKING, Any

from jobtrail.job.model import new_id
from jobtrail.job.task import TRACKED
from jobtrail.store.tracked import rows

from .writing import SYSTEM

if TYPE_CHECKING:
    from celery import Celery
    from sqlalchemy import Connection

    from jobtrail.job.model import JobRow
    from jobtrail.store import Store

HEADER = "jobtrail"  # the header of a message that names the job
AGAIN = timedelta(seconds=5)  # until a message that the broker did not take is sent again
_log = logging.getLogger("jobtrail.celery")


class Relay:
    """Hands due jobs over to Celery, each by one process.

    The job is marked as handed over before its message is sent. A process that dies in between leaves a job that waits and
    has no message; the other order could run a task twice.

    Args:
        celery_app: The Celery application.
        store: The store.
    """

    def __init__(self, celery_app: Celery, store: Store) -> None:
        self._app = celery_app
        self._store = store

    def run_once(self) -> int:
        """Send what is due; returns how many messages were sent.

        Raises:
            StoreError: If the store is away.
        """
        with self._store.read() as conn:
            due = rows.to_send(conn, self._store.now())
        return sum(self._hand_over(row) for row in due if row.task in self._app.tasks)

    def _hand_over(self, row: JobRow) -> bool:
        celery_id = new_id()
        context = dumps({**(loads(row.context) if row.context else {}), "celery_id": celery_id})

        def mine(conn: Connection) -> bool:
            if not rows.hand_over(conn, row.id, context):
                return False
            rows.add_ids(conn, self._store.dialect, SYSTEM, [(celery_id, row.id)])
            return True

        if not self._store.write(mine, key=row.id):
            return False
        try:
            self._send(row, celery_id)
        except Exception as error:
            _log.warning("job %s could not be sent to Celery and is sent again: %s", row.id, error)
            self._store.write(partial(rows.take_back, job_id=row.id, due=self._store.now() + AGAIN), key=row.id)
            return False
        return True

    def _send(self, row: JobRow, celery_id: str) -> None:
        given: dict[str, Any] = loads(row.args)
        said = loads(row.options).get("celery", {}) if row.options else {}
        args, kwargs = ([], given) if said.get("named", True) else (given["args"], given["kwargs"])
        options: dict[str, Any] = {}
        queue = row.queue.removeprefix(TRACKED)
        if queue in self._app.amqp.queues:
            options["queue"] = queue
        stamp = {"id": row.id, "known": True, "at": time.time()}
        self._app.tasks[row.task].apply_async(
            args, kwargs, task_id=celery_id, headers={HEADER: stamp}, retry=False, **options
        )
