"""`CeleryExecutor`: Celery runs the jobs, our table keeps the truth."""

from __future__ import annotations

import logging
import os
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from jobtrail.errors import InvalidOption
from jobtrail.executors.base import HandingOver
from jobtrail.fork_lock import ForkLock
from jobtrail.job.model import DEFAULT_QUEUE, LEAST_URGENT
from jobtrail.messages import Message

from .checks import RUN_TASK, check_application, examined
from .worker_process import WorkerProcess

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from celery import Celery

    from jobtrail.executors.base import Examined, Ticket

SOFT_AFTER = 9.0  # seconds after a job's own limit until Celery raises in its process: after all that the process does itself
HARD_AFTER = 10.0  # and until Celery kills it, where it did not end
ANSWERS_WITHIN = 10.0  # seconds that the broker has; a firewall that drops a connection tells nobody
BOUNDS = {
    "redis": {"socket_timeout": ANSWERS_WITHIN, "socket_connect_timeout": ANSWERS_WITHIN},
    "amqp": {"read_timeout": ANSWERS_WITHIN, "write_timeout": ANSWERS_WITHIN},
}
_log = logging.getLogger("jobtrail.celery")


class CeleryExecutor(HandingOver):
    """Hands jobs over to a Celery application, whose workers run them.

    Args:
        celery_app: The Celery application.
        queues: Names of Celery's queues by names of ours. The queue ``default`` is Celery's default queue, any other has its
            own name.

    Raises:
        InvalidOption: If Celery is not installed.

    Example:
        ```python
        app = Celery("shop", broker="redis://localhost")
        jobs = JobTrail("postgresql://localhost/shop", executor=CeleryExecutor(app))
        ```
    """

    name: ClassVar[str] = "celery"

    def __init__(self, celery_app: Celery, *, queues: Mapping[str, str] | None = None) -> None:
        try:
            import celery  # noqa: F401
        except ImportError as error:
            raise InvalidOption(Message("integrations.no-celery")) from error
        self.app = celery_app
        self._queues = dict(queues or {})
        self._task: Any = None
        self._connection: Any = None
        self._pid = 0
        self._lock = ForkLock()
        self._jobs: Any = None

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> CeleryExecutor:
        """Make one from the table ``[executors.celery]``: ``app`` is ``module:name``, ``queues`` a table.

        Raises:
            InvalidOption: If ``app`` is missing, or is no Celery application.
        """
        module, _, name = str(options.get("app", "")).partition(":")
        if not module or not name:
            raise InvalidOption(Message("integrations.celery-without-app"))
        found = getattr(import_module(module), name, None)
        if found is None or not hasattr(found, "send_task"):
            raise InvalidOption(Message("integrations.not-a-celery-app", app=options["app"]))
        return cls(found, queues=options.get("queues"))

    def bind(self, application: Any) -> None:
        """Register the task that runs our jobs, and listen to the start and end of Celery's processes.

        Raises:
            InvalidOption: If another `JobTrail` has this Celery application, or it is set up so that jobs could be lost.
        """
        if RUN_TASK in self.app.tasks:
            raise InvalidOption(Message("integrations.celery-app-taken"))
        check_application(self.app)
        self._jobs = application
        self._task = WorkerProcess(self.app, application).connect()

    # -- sending -------------------------------------------------------------------------------------

    def queue_of(self, queue: str) -> str:
        """Return the name in Celery of a queue of ours."""
        default = self.app.conf.task_default_queue if queue == DEFAULT_QUEUE else queue
        return str(self._queues.get(queue, default))

    def send(self, tickets: Sequence[Ticket]) -> list[Ticket]:
        """Send one message for each ticket: the job, the number of its run, and the trace context."""
        from kombu.exceptions import OperationalError

        sent: list[Ticket] = []
        refused: set[str] = set()
        with self._connected() as connection:
            away = (OperationalError, *connection.connection_errors)
            if connection.transport.driver_type == "redis":
                away += connection.channel_errors  # it is full, or read-only since a failover: that holds for every queue
            producer = self.app.amqp.Producer(connection)
            for ticket in tickets:
                if ticket.queue in refused:
                    continue
                try:
                    self._send(ticket, producer)
                except away:
                    if sent:
                        break
                    raise
                except Exception as error:
                    _log.error("the queue %s cannot be sent to Celery: %s", ticket.queue, error)
                    refused.add(ticket.queue)
                    producer = self.app.amqp.Producer(connection.channel())  # RabbitMQ closes the one that it refused
                    continue
                sent.append(ticket)
            if refused:
                self._drop()
        return sent

    def _send(self, ticket: Ticket, producer: Any) -> None:
        limits: dict[str, float] = {}
        if ticket.timeout is not None:
            limits = {"soft_time_limit": ticket.timeout + SOFT_AFTER, "time_limit": ticket.timeout + HARD_AFTER}
        self._task.apply_async(
            (ticket.job_id, ticket.token),
            {"trace": dict(ticket.trace)} if ticket.trace else {},
            task_id=celery_id(ticket.job_id, ticket.token),
            queue=self.queue_of(ticket.queue),
            priority=self._priority(ticket.priority, producer),
            producer=producer,
            retry=False,
            shadow=ticket.task,
            **limits,
        )

    @staticmethod
    def _priority(priority: int, producer: Any) -> int:
        """Zero is the most urgent one in Redis, and the least urgent one in AMQP."""
        redis = getattr(producer.connection.transport, "driver_type", "") == "redis"
        return priority if redis else LEAST_URGENT - priority

    def depth(self, queue: str) -> int | None:
        """Return how many messages are ready in a queue of the broker; those that a worker has prefetched are not."""
        with self._connected() as connection:
            connection.ensure_connection(max_retries=1, timeout=2)
            try:
                with connection.channel() as channel:
                    return int(channel.queue_declare(self.queue_of(queue), passive=True).message_count)
            except connection.channel_errors:
                connection.declared_entities.clear()  # there is no such queue: the next message declares it again
        return 0

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        """The connection for sending. No wait on it is endless, and one that failed is not used again."""
        with self._lock:
            if self._connection is None or self._pid != os.getpid():
                made = self.app.connection_for_write()
                bounds = BOUNDS.get(made.transport.driver_type, {})
                made.transport_options = {**bounds, **(made.transport_options or {})}
                self._connection, self._pid = made, os.getpid()
            try:
                yield self._connection
            except BaseException:
                self._drop()
                raise

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None and self._pid == os.getpid():
            with suppress(Exception):
                connection.collect(socket_timeout=0.1)

    def examine(self, queues: Iterable[str], tasks: Iterable[str]) -> Iterable[Examined]:
        """Ask Celery's workers what they know and serve."""
        del tasks  # one task in Celery runs them all
        known = self._jobs.tasks.all() if self._jobs is not None else []
        return examined(self.app, {queue: self.queue_of(queue) for queue in queues}, known, self.depth)

    def close(self) -> None:
        """Close the connections to the broker."""
        with self._lock:
            self._drop()
        self.app.close()


def celery_id(job_id: str, token: int) -> str:
    """Return the id of the message that begins a run: Flower's id of a task shows its job."""
    return f"{job_id}-{token}"
