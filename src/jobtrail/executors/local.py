"""Bodies in this process: coroutines on the loop, plain functions in threads.

The threads are our own and daemonic: the standard pool joins its threads at interpreter exit, and one body
that never ends would then keep the process for ever.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable, Mapping
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from .forks import call
from .process_state import block_signals, blocked_signals

if TYPE_CHECKING:
    from .base import Over

Work = Callable[[], None]


class LocalExecutor:
    """Up to ``threads`` threads, started when they are needed; coroutines need no executor but the loop."""

    def __init__(self, threads: int) -> None:
        self._limit = threads
        self._queue: SimpleQueue[Work | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._started = 0
        self._idle = 0

    async def call(
        self, function: Callable[..., Any], arguments: Mapping[str, Any], over: Over | None = None
    ) -> Any:
        """Run a plain function in a thread and await its end."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        context = contextvars.copy_context()

        def work() -> None:
            try:
                value = context.run(call, function, arguments)
            except BaseException as error:
                outcome: tuple[Any, BaseException | None] = (None, error)
            else:
                outcome = (value, None)
            if over is not None:
                over(*outcome)
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(_answer, future, *outcome)

        self._submit(work)
        return _unpack(await future)

    def _submit(self, work: Work) -> None:
        with self._lock:
            start = self._idle <= 0 and self._started < self._limit
            if start:
                self._started += 1
            else:
                self._idle -= 1
        self._queue.put(work)
        if start:
            threading.Thread(target=self._serve, name="jobtrail-body", daemon=True).start()

    def _serve(self) -> None:
        blocked = blocked_signals()
        while True:
            work = self._queue.get()
            if work is None:
                return
            work()
            block_signals(blocked)
            del work  # it holds the body's arguments and result, and the next one may be long in coming
            with self._lock:
                self._idle += 1

    def close(self) -> None:
        """End the idle threads."""
        for _ in range(self._started):
            self._queue.put(None)


def _answer(future: asyncio.Future[Any], value: Any, error: BaseException | None) -> None:
    if not future.done():
        # A future refuses StopIteration and treats some exceptions as its own, so both ways are values.
        future.set_result((value, error))


def _unpack(outcome: tuple[Any, BaseException | None]) -> Any:
    value, error = outcome
    if error is not None:
        raise error
    return value
