"""The executor `local`: bodies in this process, coroutines on the loop, plain functions in threads.

The threads are our own and daemonic: the standard pool joins its threads at interpreter exit, and one body
that never ends would then keep the process for ever.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

from .base import Executor
from .forks import awaited, call
from .process_state import block_signals, blocked_signals

Work = Callable[[], None]
Over = Callable[[Any, BaseException | None], None]
THREAD_LOOK = 0.05  # seconds between two looks at a thread whose wait was cancelled


@dataclass(slots=True)
class BodyThread:
    """A body in a thread of this process: it has ended when the thread has, whoever still waits for it."""

    ended: bool = False
    value: Any = None
    error: BaseException | None = None

    def over(self, value: Any, error: BaseException | None) -> None:
        """Called by the thread at the body's end."""
        self.value, self.error, self.ended = value, error, True


class LocalExecutor(Executor):
    """Up to ``threads`` threads, started when they are needed; coroutines need no executor but the loop."""

    name = "local"
    in_process = True

    def __init__(self, threads: int) -> None:
        self._limit = threads
        self._queue: SimpleQueue[Work | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._started = 0
        self._idle = 0

    async def perform(self, run: Any) -> Any:
        """Await a coroutine, or run a plain function in a thread; see `Executor.perform`."""
        if run.task.is_async:
            return await awaited(run.body(**run.body_arguments))
        return await self._in_thread(run)

    async def _in_thread(self, run: Any) -> Any:
        """Run a plain function in a thread, and wait for the thread also where the wait is cancelled.

        A middleware with a time limit of its own ends no thread: what the thread returns counts. Once the worker has ended,
        its orphaned bodies are waited for elsewhere.
        """
        thread = run.thread = BodyThread()
        try:
            return await self.call(run.body, run.body_arguments, thread.over)
        except asyncio.CancelledError:
            if thread.ended or run.on_orphaned_end is not None:
                raise
        while not thread.ended:
            try:
                await asyncio.sleep(THREAD_LOOK)
            except asyncio.CancelledError:
                if run.on_orphaned_end is not None:
                    raise
        if thread.error is not None:
            raise thread.error
        return thread.value

    def stop(self, run: Any, cause: str) -> None:
        """Cancel a coroutine; a plain function is asked by its context alone."""
        del cause
        if run.task.is_async:
            run.cancel()

    async def call(self, function: Callable[..., Any], arguments: Mapping[str, Any], over: Over | None = None) -> Any:
        """Run a plain function in a thread and await its end; cancelling this does not end the thread.

        ``over`` is called where the function ran, with its value and its error, also when nobody waits any more.
        """
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
