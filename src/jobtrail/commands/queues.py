"""Queues paused and resumed by a person: workers claim nothing from a paused one; what runs in it goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobtrail.database.wakeup import QUEUES
from jobtrail.errors import NotFound
from jobtrail.job.task import queue_option
from jobtrail.messages import Message
from jobtrail.store import queues
from jobtrail.store.workers import served_queues

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from .service import Service


def set_paused(service: Service, name: str, *, paused: bool, actor: str, reason: str | None = None) -> bool:
    """Pause or resume a queue; False, and nothing written, where it is so already. Workers hear of it at once.

    Raises: NotFound for a queue that no task, worker or job names; InvalidOption for what is no name.
    """
    name = queue_option(Message("commands.queue-name"), name)
    service.make_ready()
    store = service.store

    def operation(conn: Connection) -> bool:
        known = known_queues(conn, service)
        if name not in known:
            raise NotFound(Message("commands.no-queue", name=name, known=sorted(known)))
        store.wake.need(QUEUES)
        return queues.set_paused(conn, store.dialect, name, store.now(), paused=paused, actor=actor, reason=reason)

    return store.write(operation)


def known_queues(conn: Connection, service: Service) -> set[str]:
    """The queues of the tasks that are registered here, of living workers, and of jobs that wait or run."""
    return served_queues(conn) | queues.names(conn) | {task.queue for task in service.tasks.all()}
