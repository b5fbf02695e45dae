"""`TaskRegistration`: the decorator ``@jobs.task``, typed from the function to the result of its jobs."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, Protocol, TypedDict, TypeVar, Unpack, overload

from .commands.task_handle import BoundTask
from .runtime.async_context import AsyncContext
from .runtime.context import Context

if TYPE_CHECKING:
    from datetime import timedelta

    from .job.limits.limit import Limit
    from .job.retry import Retry
    from .worker.middleware import Middleware

P = ParamSpec("P")
R = TypeVar("R")


class TaskOptions(TypedDict, total=False):
    """Options of a task; the reference of tasks tells what each means.

    ``options`` are those that a middleware declares. They may be given as keywords too, which a type checker does not know.
    """

    kind: str | None
    queue: str
    priority: int
    retry: Retry | int | Mapping[str, Any]
    timeout: float | timedelta | None
    stall_timeout: float | timedelta | None
    max_failed_items: float | None
    on_interrupt: Literal["requeue", "fail", "hold"]
    on_shutdown: Literal["requeue", "fail", "hold"]
    on_input_change: Literal["fail", "accept"]
    settle: float | timedelta
    ready_marker: str | None
    executor: str | None
    memory_limit: int | str | None
    max_jobs_per_child: int
    aliases: Iterable[str]
    middleware: Sequence[Middleware]
    secret: Iterable[str]
    limits: Sequence[Limit]
    zone: str
    validate: bool
    keep_completed: float | Literal["settings"] | None
    keep_cancelled: float | Literal["settings"] | None
    keep_partial: float | Literal["settings"] | None
    keep_failed: float | Literal["settings"] | None
    options: Mapping[str, Any]


class TaskDecorator(Protocol):
    """What ``@jobs.task(...)`` returns: from a function to its `BoundTask`, without the context among the parameters."""

    @overload
    def __call__(
        self, function: Callable[Concatenate[AsyncContext, P], Coroutine[Any, Any, R]], /
    ) -> BoundTask[P, R, Concatenate[AsyncContext, P], Coroutine[Any, Any, R]]: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[Context, P], R], /
    ) -> BoundTask[P, R, Concatenate[Context, P], R]: ...
    @overload
    def __call__(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> BoundTask[P, R, P, Coroutine[Any, Any, R]]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> BoundTask[P, R, P, R]: ...


class TaskRegistration:
    """The part of `JobTrail` that registers tasks."""

    @overload
    def task(
        self, function: Callable[Concatenate[AsyncContext, P], Coroutine[Any, Any, R]], /
    ) -> BoundTask[P, R, Concatenate[AsyncContext, P], Coroutine[Any, Any, R]]: ...
    @overload
    def task(self, function: Callable[Concatenate[Context, P], R], /) -> BoundTask[P, R, Concatenate[Context, P], R]: ...
    @overload
    def task(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> BoundTask[P, R, P, Coroutine[Any, Any, R]]: ...
    @overload
    def task(self, function: Callable[P, R], /) -> BoundTask[P, R, P, R]: ...
    @overload
    def task(
        self, function: None = None, /, *, name: str | None = None, **options: Unpack[TaskOptions]
    ) -> TaskDecorator: ...

    def task(self, function: Callable[..., Any] | None = None, /, *, name: str | None = None, **options: Any) -> Any:
        """Register a function as a task; use it as a decorator.

        Args:
            function: The function, without parentheses.
            name: Name under which jobs are stored; default: the function's name.
            **options: Fields of `Task`: ``kind``, ``queue``, ``priority``, ``retry``, ``timeout`` (seconds),
                ``stall_timeout`` (seconds), ``executor``, …, and the options that a middleware declares, as keywords or
                in ``options={…}``.

        Returns:
            A `BoundTask`, which can still be called as the function.

        Raises:
            InvalidOption: If an option is not known or not valid.
        """
        given = {**options.pop("options", {}), **options}
        return self._register(function, name, given) if function is not None else lambda one: self._register(one, name, given)

    def _register(self, function: Callable[..., Any], name: str | None, options: dict[str, Any]) -> BoundTask:
        raise NotImplementedError
