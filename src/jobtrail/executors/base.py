"""Executors: where the body of a task runs. Two forms: in a worker (`Executor.perform`), or handed over (`HandingOver`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from jobtrail.job.task import Task
    from jobtrail.messages import Message

ENTRY_POINTS = "jobtrail.executors"
GOOD, NOTE, BAD = "ok", "note", "wrong"


class BodyRun(Protocol):
    """What an executor in a worker sees of a run.

    Attributes:
        task: The task; ``task.function`` is the body, ``task.is_async`` tells whether it is a coroutine function.
        stop: ``stop.cause`` is set when the body was asked to stop.
    """

    task: Task
    stop: Any

    @property
    def job_id(self) -> str:
        """The job."""

    @property
    def body_arguments(self) -> Mapping[str, Any]:
        """The arguments of the body, its context included."""

    def cancel(self) -> None:
        """Cancel the coroutine that awaits `Executor.perform`."""


class Executor:
    """Runs bodies of jobs that a worker has claimed.

    Attributes:
        name: What ``executor=`` of a task says.
        in_process: Whether bodies run in the worker's own process.
    """

    name: ClassVar[str]
    in_process: ClassVar[bool] = False

    async def perform(self, run: Any) -> Any:
        """Run the body of a run and return its value, or raise its exception.

        Args:
            run: The run, a `BodyRun`.
        """
        raise NotImplementedError

    def stop(self, run: Any, cause: str) -> None:
        """Ask a body to stop, at last by force where that is possible. Must return at once.

        Args:
            run: The run, a `BodyRun`.
            cause: cancel, timeout, stall, shutdown or overtaken.
        """
        raise NotImplementedError

    def abandon(self, run: Any) -> None:
        """The worker waits for this body no longer: end it where that is possible."""

    def pids(self) -> list[int]:
        """Process ids of what runs bodies; the beat's process ends them when the worker's process is gone."""
        return []

    def release(self) -> None:
        """The worker claims nothing more: let idle threads and processes go."""

    def close(self) -> None:
        """Nothing runs any more: end what is left. Blocking."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """What is sent to the other system: which run of which job it begins. It has no arguments.

    Attributes:
        job_id: The job.
        token: Number of the run that it begins. A ticket whose run has begun already changes nothing.
        queue: Queue of the job.
        priority: Priority of the job, 0 (most urgent) to 9.
        task: Name of the task.
        timeout: Longest time of a run in seconds; None without a limit.
        trace: W3C trace context of the submission; empty where tracing is off.
    """

    job_id: str
    token: int
    queue: str
    priority: int
    task: str
    timeout: float | None = None
    trace: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Examined:
    """One finding about the other system, for ``jobtrail doctor``.

    Attributes:
        state: `GOOD`, `NOTE` or `BAD`.
        told: What was found.
        advice: What to do about it.
    """

    state: str
    told: Message
    advice: Message | None = None


class HandingOver:
    """Hands jobs over to another system, which runs them with `jobtrail.worker.handed.host.JobHost` or ``jobtrail execute``.

    Attributes:
        name: What ``executor=`` of a task says.
    """

    name: ClassVar[str]

    def bind(self, application: Any) -> None:
        """Take the application whose jobs are handed over; called once, when the application is made.

        Args:
            application: The `JobTrail`.

        Raises:
            InvalidOption: If the other system is set up so that jobs could be lost.
        """

    def send(self, tickets: Sequence[Ticket]) -> list[Ticket]:
        """Send tickets, in this order.

        Returns:
            Those that were sent. The others are sent again later: those of a queue that was refused after half a minute.

        Raises:
            Exception: If none was sent, because the other system is away.
        """
        raise NotImplementedError

    def depth(self, queue: str) -> int | None:
        """Return how many tickets of a queue wait in the other system, those that it has begun not counted.

        Returns:
            The number, or None where it is not known: then what has not begun after ten minutes is sent again.

        Raises:
            Exception: If the other system is away.
        """
        raise NotImplementedError

    def examine(self, queues: Iterable[str], tasks: Iterable[str]) -> Iterable[Examined]:
        """Ask the other system how it is, for ``jobtrail doctor``.

        Args:
            queues: Queues of the jobs that are handed over to it.
            tasks: Names of the tasks that are handed over to it.
        """
        del queues, tasks
        return ()

    def close(self) -> None:
        """Close connections."""
