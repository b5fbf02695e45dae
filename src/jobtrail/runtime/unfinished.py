"""Work that was returned and not done: recognize a coroutine, a Future or a generator, and refuse or await it."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import inspect
import itertools
import sys
from types import AsyncGeneratorType, GeneratorType, NoneType
from typing import TYPE_CHECKING, Any

from jobtrail.errors import PermanentError, StepError, UsageError
from jobtrail.job.model import Partial
from jobtrail.messages import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

TASK_FUNCTION = Message("runtime.task-function")
HOOK_FUNCTION = Message("runtime.hook-function")
_VALUES = frozenset({NoneType, bool, int, float, str, dict, list, tuple})
_CONTAINERS = (list, tuple, set, frozenset)
_LAZY = (
    GeneratorType,
    AsyncGeneratorType,
    map,
    filter,
    zip,
    enumerate,
    *(one for one in vars(itertools).values() if isinstance(one, type)),
)


def unfinished(value: Any, what: Message) -> Message | None:
    """Say what is wrong with a return value that is, or directly contains, work that was never done.

    A coroutine among it is closed and a Future is cancelled. Other iterators (files, cursors) are taken for values.

    Args:
        value: the return value.
        what: names the function that returned it.

    Returns:
        A sentence that says how to declare the function; None for any other value.

    """
    if type(value) in {NoneType, bool, int, float, str}:
        return None
    found = [(one, code) for one in _parts(value) if type(one) not in _VALUES and (code := _code(one))]
    for one, _ in found:
        _give_up(one)
    if not found:
        return None
    return Message(found[0][1], what=what, type=type(found[0][0]).__name__)


def refuse_unfinished(value: Any, what: Message) -> None:
    """Raise PermanentError for what `unfinished` finds: another attempt would return the same."""
    refused = unfinished(value, what)
    if refused is not None:
        raise PermanentError(refused)


def finished_step(name: str, result: Any) -> Any:
    """The result of the function of a step.

    Raises: StepError where it is work that was not done.
    """
    refused = unfinished(result, Message("runtime.step-function", name=name))
    if refused is not None:
        raise StepError(refused)
    return result


async def called_step(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call the function of a step for an event loop, a plain one in a thread, and await what it returns."""
    if inspect.iscoroutinefunction(function):
        return await function(*args, **kwargs)
    value = await asyncio.to_thread(function, *args, **kwargs)
    return await value if inspect.isawaitable(value) and not _is_future(value) else value


def plain_hook(function: Callable[[], Any]) -> Callable[[], Any]:
    """A function for ``on_cancel``.

    Raises: UsageError for a coroutine function: no event loop runs in the thread that calls it.
    """
    if inspect.iscoroutinefunction(function):
        raise UsageError(Message("runtime.on-cancel-async", function=getattr(function, "__qualname__", repr(function))))
    return function


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, Partial):
        value = value.result
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, _CONTAINERS) else (value,)


def _code(value: Any) -> str | None:
    if _is_future(value):
        return "runtime.future-returned"
    if inspect.isawaitable(value):
        return "runtime.awaitable-returned"
    return "runtime.iterator-returned" if isinstance(value, _LAZY) else None


def _is_future(value: Any) -> bool:
    pools = sys.modules.get("multiprocessing.pool")
    return (
        asyncio.isfuture(value)
        or isinstance(value, concurrent.futures.Future)
        or (pools is not None and isinstance(value, (pools.ApplyResult, pools.IMapIterator)))
    )


def _give_up(value: Any) -> None:
    if inspect.iscoroutine(value):
        value.close()
    elif isinstance(value, concurrent.futures.Future):
        value.cancel()
    elif asyncio.isfuture(value):
        with contextlib.suppress(RuntimeError):  # its loop is closed
            value.get_loop().call_soon_threadsafe(value.cancel)
