"""`CeleryExecutor`: Celery runs the jobs, our table keeps the truth."""

from __future__ import annotations

import logging
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from jobtrail.errors import InvalidOption
from jobtrail.executors.base import HandingOver
from jobtrail.job.model import DEFAULT_QUEUE, LEAST_URGENT
from jobtrail.messages import Message

from .checks import RUN_TASK, check_application, examined
from .worker_process import WorkerProcess

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from celery import Celery

    from jobtrail.executors.base import Examined, Ticket

SOFT_AFTER = 1.5  # seconds after a job's own limit until Celery raises in its process
HARD_AFTER = 10.0  # and until Celery kills it, where it did not end
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
        with self.app.producer_or_acquire() as producer:
            for ticket in tickets:
                try:
                    self._send(ticket, producer)
                except OperationalError:
                    if sent:
                        break
                    raise
                except Exception as error:
                    _log.error("job %s cannot be sent to Celery: %s", ticket.job_id, error)
                    continue
                sent.append(ticket)
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
        with self.app.pool.acquire(block=True) as connection, suppress(connection.channel_errors):
            connection.ensure_connection(max_retries=1, timeout=2)
            channel = connection.channel()
            try:
                return int(channel.queue_declare(self.queue_of(queue), passive=True).message_count)
            finally:
                with suppress(Exception):
                    channel.close()
        return 0  # there is no such queue

    def examine(self, queues: Iterable[str], tasks: Iterable[str]) -> Iterable[Examined]:
        """Ask Celery's workers what they know and serve."""
        return examined(self.app, {queue: self.queue_of(queue) for queue in queues}, list(tasks), self.depth)

    def close(self) -> None:
        """Close the connections to the broker."""
        self.app.close()


def celery_id(job_id: str, token: int) -> str:
    """Return the id of the message that begins a run: Flower's id of a task shows its job."""
    return f"{job_id}-{token}"
