"""What an application hangs around its task functions and its workers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jobtrail.job.task import Task

BodyHook = Callable[["Task"], "AbstractContextManager[Any] | AbstractAsyncContextManager[Any]"]
"""A function that gets a `Task` and returns a context manager, which is entered around each call of its function."""
WorkerHook = Callable[[], Awaitable[None]]
"""An async function without arguments, awaited on the event loop of a worker."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """The hooks of one application.

    Attributes:
        around_body: Entered in the thread or asyncio task of the body, also in a child process.
        on_worker_start: Awaited before a worker claims its first job.
        on_worker_stop: Awaited after the last body of a worker has ended.
        imports: Modules that a child process imports before those of its tasks.
    """

    around_body: BodyHook | None = None
    on_worker_start: WorkerHook | None = None
    on_worker_stop: WorkerHook | None = None
    imports: tuple[str, ...] = ()


def body_of(task: Task, hook: BodyHook | None) -> Callable[..., Any]:
    """Return the function of a task with the hook around each call; without a hook, the function itself."""
    if hook is None:
        return task.function
    return partial(_awaited if task.is_async else _called, task, hook)


def _called(task: Task, hook: BodyHook, /, **arguments: Any) -> Any:
    around: Any = hook(task)
    with around:
        return task.function(**arguments)


async def _awaited(task: Task, hook: BodyHook, /, **arguments: Any) -> Any:
    around: Any = hook(task)
    if hasattr(around, "__aenter__"):
        async with around:
            return await task.function(**arguments)
    with around:
        return await task.function(**arguments)
