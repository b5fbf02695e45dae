"""From a method that waits for the database, the same method for an event loop."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from itertools import islice
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
AT_ONCE = 100


def async_twin(method: Callable[P, R]) -> Callable[P, Coroutine[Any, Any, R]]:
    """Return a method that calls another one in a thread, so that the event loop goes on meanwhile.

    The twin takes the same arguments and raises the same errors. Its name is that of the method behind an "a", and an
    underscore follows where Python has taken the word: `get` and `aget`, `wait` and `await_`. A caller that is cancelled
    does not wait any longer; a write that has begun is finished.

    Args:
        method: Method of the same class; a subclass may override it.

    Example:
        ```python
        class Job:
            def refresh(self) -> Job: ...

            arefresh = async_twin(refresh)
        ```
    """
    @functools.wraps(method)
    async def twin(*args: P.args, **kwargs: P.kwargs) -> R:
        found: R = await asyncio.to_thread(getattr(args[0], method.__name__), *args[1:], **kwargs)
        return found

    _describe(twin, method)
    return twin


def async_iterator_twin(method: Callable[P, Iterator[R]]) -> Callable[P, AsyncIterator[R]]:
    """`async_twin` of a method that returns an iterator: ``async for job in jobs.aeach()``.

    Args:
        method: Method of the same class; at most `AT_ONCE` of its values are fetched before they are asked for.
    """

    @functools.wraps(method)
    async def twin(*args: P.args, **kwargs: P.kwargs) -> AsyncIterator[R]:
        values = await asyncio.to_thread(getattr(args[0], method.__name__), *args[1:], **kwargs)
        while some := await asyncio.to_thread(lambda: list(islice(values, AT_ONCE))):
            for value in some:
                yield value

    _describe(twin, method)
    return twin


def _describe(twin: Callable[..., Any], method: Callable[..., Any]) -> None:
    twin.__name__ = f"a{method.__name__}"
    twin.__qualname__ = f"{method.__qualname__.removesuffix(method.__name__)}{twin.__name__}"
    twin.__doc__ = f"`{method.__name__}` for an event loop.\n\n        {method.__doc__ or ''}"
