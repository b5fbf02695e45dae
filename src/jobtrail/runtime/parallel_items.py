"""Items of a loop side by side: a function is called for each item, in threads or as coroutines."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from jobtrail.errors import StopSignal, UsageError
from jobtrail.messages import Message

from .item_loops import ItemLoop
from .unfinished import called_step

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from .item_loops import LoopItem

T = TypeVar("T")
LOOK = 0.1  # seconds between two looks whether the job was asked to stop, while items run
MOST = 1000  # items side by side


class _Side(Generic[T]):
    """Which items of a loop may begin; one that ends the run (a stop, a retry) lets no other begin."""

    def __init__(self, loop: ItemLoop[T]) -> None:
        self._loop = loop
        self._lock = threading.Lock()
        self.error: BaseException | None = None

    def entries(self) -> Iterator[LoopItem[T]]:
        """The items that are to be done, until the run is to end."""
        for item in self._loop.entries():
            if self.error is not None or self._loop.stops_here():
                return
            yield item
        self._loop.close()

    def begin(self, item: LoopItem[T]) -> bool:
        """Enter the item, if the run goes on."""
        if self.error is not None:
            return False
        item.__enter__()
        return True

    def end(self, item: LoopItem[T], error: BaseException | None) -> None:
        """Record the item; what passes through ``with item:`` ends the run, the first one counts."""
        with self._lock:
            try:
                passes = error is not None and not item.__exit__(type(error), error, error.__traceback__)
                if error is None:
                    item.__exit__(None, None, None)
            except BaseException as trouble:
                error, passes = trouble, True
            if passes:
                self.error = self.error or error
            else:
                self._loop.advance()


def number_option(parallel: Any) -> int:
    """How many items run side by side.

    Raises: UsageError.
    """
    if isinstance(parallel, bool) or not isinstance(parallel, int) or not 1 <= parallel <= MOST:
        raise UsageError(Message("runtime.bad-parallel", most=MOST, parallel=repr(parallel)))
    return parallel


class PlainItemLoop(ItemLoop[T]):
    """``ctx.items(…)`` of a plain task function."""

    def run(self, function: Callable[[LoopItem[T]], Any], *, parallel: int = 8) -> None:
        """Call a function for each item, in ``parallel`` threads; it is what the block of ``with item:`` would be.

        A stop of the job, a retry, `BaseContext.stop` and a limit of failures let no other item begin; those that run
        are waited for. Records keep the order of the input.

        Args:
            function: Plain function of an item; what it raises is the failure of the item.
            parallel: Number of items at the same time, from 1 to 1,000.

        Raises:
            UsageError: If ``parallel`` or ``function`` is not valid.

        Example:
            ```python
            def load(item):
                save(fetch(item.value))

            ctx.items(urls).run(load, parallel=8)
            ```
        """
        number = number_option(parallel)
        if inspect.iscoroutinefunction(function):
            raise UsageError(Message("runtime.parallel-async", loop=self.name))
        side, running = _Side(self), set[Future[None]]()
        with ThreadPoolExecutor(number, thread_name_prefix=f"jobtrail-{self.name}") as threads:
            try:
                for item in side.entries():
                    running.add(threads.submit(contextvars.copy_context().run, _called, side, item, function))
                    while len(running) >= number:
                        running = self._some_left(running)
                while running:
                    running = self._some_left(running)
            except BaseException as error:
                side.error = side.error or error
                raise
        if side.error is not None:
            raise side.error

    def _some_left(self, running: set[Future[None]]) -> set[Future[None]]:
        done, left = wait(running, timeout=LOOK, return_when=FIRST_COMPLETED)
        for one in done:
            one.result()
        self.check_stop()
        return left


def _called(side: _Side[T], item: LoopItem[T], function: Callable[[LoopItem[T]], Any]) -> None:
    if not side.begin(item):
        return
    try:
        function(item)
    except BaseException as error:
        side.end(item, error)
    else:
        side.end(item, None)


class AsyncItemLoop(ItemLoop[T]):
    """``ctx.items(…)`` of an ``async def`` task function."""

    async def run(self, function: Callable[[LoopItem[T]], Awaitable[Any] | Any], *, parallel: int = 8) -> None:
        """`PlainItemLoop.run`, awaited; a coroutine function runs in tasks, a plain one in threads.

        Args:
            function: Function of an item.
            parallel: As for `PlainItemLoop.run`.
        """
        number = number_option(parallel)
        side, running = _Side(self), set[asyncio.Task[None]]()
        try:
            for item in side.entries():
                running.add(asyncio.create_task(_awaited(side, item, function)))
                while len(running) >= number:
                    running = await self._some_left(running)
                await asyncio.sleep(0)
            while running:
                running = await self._some_left(running)
        except BaseException as error:
            side.error = side.error or error
            for task in running if isinstance(error, (asyncio.CancelledError, StopSignal)) else ():
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            raise
        if side.error is not None:
            raise side.error

    async def _some_left(self, running: set[asyncio.Task[None]]) -> set[asyncio.Task[None]]:
        _, left = await asyncio.wait(running, timeout=LOOK, return_when=asyncio.FIRST_COMPLETED)
        self.check_stop()
        return left


async def _awaited(side: _Side[T], item: LoopItem[T], function: Callable[[LoopItem[T]], Any]) -> None:
    if not side.begin(item):
        return
    try:
        await called_step(function, (item,), {})
    except BaseException as error:
        side.end(item, error)
        if isinstance(error, asyncio.CancelledError):
            raise
    else:
        side.end(item, None)
