"""`BoundTask`: a registered task that can be called and submitted."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, Protocol, Unpack

from typing_extensions import ParamSpec, TypeVar

from .using import INHERIT, NOTHING, SuccessorRequest, Using, UsingOptions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from jobtrail.config import Settings
    from jobtrail.job.task import Task

    from .job_handle import Job


P = ParamSpec("P", default=...)  # arguments of a job
R = TypeVar("R", default=Any)  # its result
C = ParamSpec("C", default=...)  # parameters of the function, its context among them
V = TypeVar("V", default=Any)  # what a call returns


class SubmissionService(Protocol):
    """The part of an application that stores submissions."""

    settings: Settings

    def submit(self, task: Task, args: dict[str, Any], using: Using) -> Job:
        """Store one job."""

    async def asubmit(self, task: Task, args: dict[str, Any], using: Using) -> Job:
        """`submit` for an event loop."""

    def submit_many(self, task: Task, many: Iterable[Mapping[str, Any]], using: Using) -> list[Job]:
        """Store many jobs in one transaction."""

    async def asubmit_many(self, task: Task, many: Iterable[Mapping[str, Any]], using: Using) -> list[Job]:
        """`submit_many` for an event loop."""


class BoundTask(Generic[P, R, C, V]):
    """A registered task: call it as the plain function, or submit it as a job.

    ``@jobs.task`` returns it; programs do not create it themselves.

    Example:
        ```python
        @jobs.task(kind="sync")
        def sync_weather(ctx: Context, *, airport: str) -> dict: ...

        job = sync_weather.using(source="weather/EWR", period="2013-02").enqueue(airport="EWR")
        ```
    """

    def __init__(self, task: Task, submitter: SubmissionService, using: Using = NOTHING) -> None:
        self.task = task
        self._submitter = submitter
        self._using = using
        self.__name__ = getattr(task.function, "__name__", task.name)
        self.__doc__ = task.function.__doc__
        self.__wrapped__ = task.function

    @property
    def name(self) -> str:
        """Name under which the jobs of the task are stored."""
        return self.task.name

    def __call__(self, /, *args: C.args, **kwargs: C.kwargs) -> V:
        """Call the function itself; no job is created."""
        value: V = self.task.function(*args, **kwargs)
        return value

    def using(self, **options: Unpack[UsingOptions]) -> BoundTask[P, R, C, V]:
        """Return a copy with options for the submitted job.

        Args:
            **options: Fields of `Using`: ``source``, ``period`` or ``file``, ``labels``, ``context``, ``run_at``
                (aware datetime), ``delay`` (seconds or timedelta), ``priority`` (0 to 9), ``queue``, ``retry``,
                ``timeout`` (seconds), ``idempotency_key``, ``idempotency``, ``window``, ``if_active``, ``if_done``,
                ``connection``, ``actor``, ``reason``.

        Returns:
            A new `BoundTask`; this one does not change.

        Raises:
            InvalidOption: If an option is not known.
        """
        return BoundTask(self.task, self._submitter, self._using.with_options(**options))

    def then(
        self,
        task: BoundTask,
        params: Mapping[str, Any] | None = None,
        *,
        on: Any = "success",
        when: Any = "now",
        source: Any = INHERIT,
        period: Any = INHERIT,
        file: Any = None,
        result_as: str | None = None,
    ) -> BoundTask[P, R, C, V]:
        """Return a copy whose job is followed by a job of ``task``.

        The successor is stored in the transaction that ends the job. Call `then` several times for several successors; ``task`` may have successors of its own.

        Args:
            task: Task of the successor, with its own ``.using(…)``.
            params: Arguments of the successor.
            on: Ends of the job that create the successor: "success", "partial", "failure", "cancelled", a list of them, or "ended" for
                every end.
            when: "now", a timedelta or seconds after the end, or an aware datetime.
            source: Source of the successor; default: that of the job.
            period: Period of the successor; default: that of the job.
            file: Input file of the successor.
            result_as: Name of the successor's argument that receives the job's result.

        Returns:
            A new `BoundTask`; this one does not change.
        """
        following = SuccessorRequest(*task._to_follow(), params, on, when, source, period, file, result_as)
        return BoundTask(self.task, self._submitter, replace(self._using, then=(*self._using.then, following)))

    def enqueue(self, /, *args: P.args, **kwargs: P.kwargs) -> Job[R]:
        """Submit one job.

        Args:
            *args: Positional arguments of the task; stored by name.
            **kwargs: Arguments of the task, JSON values.

        Returns:
            The job. ``job.created`` is False if an active job of the same unit, or an earlier submission with the
            same idempotency key, is returned instead of a new job.

        Raises:
            UsageError: If arguments or options are not valid (`InvalidArguments`, `InvalidOption`, `InvalidPeriod`,
                `InvalidFile`, `TooLarge`).
            AlreadyActive: If the unit has an active job with other arguments; ``job_id`` names it.
            AlreadyDone: If the unit is complete and ``if_done="raise"``.
            IdempotencyConflict: If the idempotency key was used with other arguments.
            StoreUnavailable: If the database is not reachable within ``submit_retry_seconds``.
        """
        bound = self.task.signature.accept(self.task.name, args, kwargs)
        return self._submitter.submit(self.task, bound, self._using)

    async def aenqueue(self, /, *args: P.args, **kwargs: P.kwargs) -> Job[R]:
        """`enqueue` for an event loop.

        Args:
            *args: As for `enqueue`.
            **kwargs: As for `enqueue`.
        """
        bound = self.task.signature.accept(self.task.name, args, kwargs)
        return await self._submitter.asubmit(self.task, bound, self._using)

    def enqueue_many(self, many: Iterable[Mapping[str, Any]]) -> list[Job[R]]:
        """Submit one job for each mapping of arguments in one transaction: all or none.

        Args:
            many: Arguments of each job.

        Returns:
            The jobs, in the order of ``many``.

        Raises:
            InvalidOption: If ``using`` has an option that identifies one job (period, file, labels, idempotency_key …);
                use `JobTrail.enqueue_each`.
            UsageError: If the arguments of one job are not valid; no job is stored.
        """
        return self._submitter.submit_many(self.task, many, self._using)

    async def aenqueue_many(self, many: Iterable[Mapping[str, Any]]) -> list[Job[R]]:
        """`enqueue_many` for an event loop.

        Args:
            many: As for `enqueue_many`.
        """
        return await self._submitter.asubmit_many(self.task, many, self._using)

    def _to_follow(self) -> tuple[Task, Using]:
        """The parts that a successor of this task is made of."""
        return self.task, self._using

    def submission(self, args: Mapping[str, Any]) -> tuple[Task, dict[str, Any], Using]:
        """Check arguments and return what `JobTrail.enqueue_each` stores.

        Args:
            args: Arguments of the task.

        Raises:
            InvalidArguments: If the arguments do not fit the task.
        """
        return self.task, self.task.signature.accept(self.task.name, (), args), self._using

    def __repr__(self) -> str:
        """Name and signature, for people."""
        return f"<task {self.task.name}{self.task.signature.text}>"
