"""One firing of an APScheduler job: the host's executor runs the function, and a job of ours records it meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from jobtrail.errors import PermanentError
from jobtrail.messages import Message
from jobtrail.runtime import log_capture

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

QUEUE = "aps"
FIRING_TASK = "aps.run"
PATIENCE = 2.0  # seconds until the function begins although its record has not


class Firing:
    """A function that runs in the host, and the job that waits for its end."""

    def __init__(self) -> None:
        self._done: Future[Any] = Future()
        self._begun = threading.Event()
        self._log: Callable[[str], None] | None = None
        self._stop: Callable[[], Any] | None = None

    # -- in the worker, which keeps the record -------------------------------------------------------

    async def recorded(self) -> Any:
        """Wait for the function's end, and return or raise what it did. A coroutine is asked to stop; a thread cannot be."""
        self._log = log_capture.current.get()
        self._begun.set()
        while True:
            try:
                return await asyncio.shield(asyncio.wrap_future(self._done))
            except asyncio.CancelledError:
                if self._stop is not None and not self._done.done():
                    self._stop()

    # -- in the host ---------------------------------------------------------------------------------

    def wait_for_record(self) -> None:
        """Wait until the record has begun, so that it has the log from the first line."""
        self._begun.wait(PATIENCE)

    def run(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Call a plain function."""
        token = log_capture.current.set(self._log)
        try:
            value = function(*args, **kwargs)
        except BaseException as error:
            self._done.set_exception(error)
            raise
        finally:
            log_capture.current.reset(token)
        self._done.set_result(value)
        return value

    async def arun(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Await a coroutine function on the host's loop."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        if task is not None:
            self._stop = lambda: loop.call_soon_threadsafe(task.cancel)
        token = log_capture.current.set(self._log)
        try:
            value = await function(*args, **kwargs)
        except asyncio.CancelledError:
            self._done.set_exception(PermanentError(Message("integrations.aps-stopped")))
            raise
        except BaseException as error:
            self._done.set_exception(error)
            raise
        finally:
            with contextlib.suppress(ValueError):
                log_capture.current.reset(token)
        self._done.set_result(value)
        return value
