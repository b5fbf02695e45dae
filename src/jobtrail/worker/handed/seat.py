"""A seat: the thread that brought a ticket, in which the plain functions of that job run."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import signal
import threading
import time
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from jobtrail.errors import StopSignal
from jobtrail.executors.local import LocalExecutor
from jobtrail.runtime.stop import SHUTDOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from jobtrail.executors.local import Over, Work

INTERRUPT = getattr(signal, "SIGUSR1", None)
CLEAN_UP = 2.0  # seconds from the interruption of a body to the end of its process
LAST_WORDS = 5.0  # seconds that a process which was told to end waits until the end of its job is stored
LOOK = 0.25  # seconds between two looks for signals
PATIENCE = 60.0  # seconds from a ticket to the claim of its job
GRACE = 1.0  # seconds from a passed limit to the interruption; after a cancel it is `cancel_timeout`


class Seat(LocalExecutor):
    """Runs the functions of one job in the thread that waits for its end.

    Args:
        cancel_timeout: Seconds from a cancel to the interruption of a body that does not stop.
        interrupts: Whether a plain function is interrupted by a signal; only a main thread can be.
        ends_process: Whether the process is killed where even that does not stop the body.
        patience: Seconds that the thread waits for the claim of its job.
    """

    def __init__(
        self, cancel_timeout: float, *, interrupts: bool = False, ends_process: bool = False, patience: float = PATIENCE
    ) -> None:
        super().__init__(1)
        self.terminated = False
        self.patience = patience
        self._cancel_timeout = cancel_timeout
        self._interrupts = interrupts and INTERRUPT is not None and threading.current_thread() is threading.main_thread()
        self._ends_process = ends_process
        self._inbox: SimpleQueue[Work | None] = SimpleQueue()
        self._in_body = False
        self._cause: str | None = None
        self._interrupted = False
        self._timers: list[asyncio.TimerHandle] = []
        self._run: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._before: dict[int, Any] = {}

    # -- in the thread of the loop -------------------------------------------------------------------

    def _submit(self, work: Work) -> None:
        self._inbox.put(work)

    async def perform(self, run: Any) -> Any:
        """Await a coroutine, or run a plain function in the thread of the seat."""
        self._run, self._loop = run, asyncio.get_running_loop()
        if self.terminated:
            run.leave()
        try:
            return await super().perform(run)
        finally:
            for timer in self._timers:
                timer.cancel()

    def stop(self, run: Any, cause: str) -> None:
        """Cancel a coroutine; a plain function is asked, then interrupted, then its process is killed, where that is allowed."""
        super().stop(run, cause)
        if not self._interrupts and not self._ends_process:
            return
        self._cause = self._cause or cause
        grace = self._cancel_timeout if cause in {"cancel", SHUTDOWN} else GRACE
        loop = asyncio.get_running_loop()
        if self._interrupts and not run.task.is_async:
            self._timers.append(loop.call_later(grace, self._interrupt))
        if self._ends_process and self.terminated:
            self._timers.append(loop.call_later(LAST_WORDS, self._kill))
        elif self._ends_process and cause != SHUTDOWN:
            self._timers.append(loop.call_later(grace + CLEAN_UP, self._kill))

    def _interrupt(self) -> None:
        if self._in_body and INTERRUPT is not None:
            signal.pthread_kill(threading.main_thread().ident or 0, INTERRUPT)

    @staticmethod
    def _kill() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def leave(self) -> None:
        """The job has ended, or has not begun: the thread may go."""
        self._inbox.put(None)

    # -- in the thread of the seat -------------------------------------------------------------------

    async def call(
        self, function: Callable[..., Any], arguments: Mapping[str, Any], over: Over | None = None
    ) -> Any:
        """Run a plain function in the thread of the seat and await its end."""

        def guarded(**given: Any) -> Any:
            self._in_body = True
            try:
                return function(**given)
            finally:
                self._in_body = False

        return await super().call(guarded, arguments, over)

    def serve(self, withdraw: Callable[[], bool]) -> None:
        """Run what comes until the job has ended. Blocking.

        Args:
            withdraw: Takes the ticket back where its job is not claimed yet; called every ``patience`` seconds until it begins.
        """
        with self._handlers() if self._interrupts else contextlib.nullcontext():
            while (work := self._next(withdraw)) is not None:
                work()

    def _next(self, withdraw: Callable[[], bool]) -> Work | None:
        while True:
            terminated = self.terminated
            if terminated and self._run is None and withdraw():
                return None
            try:
                return self._get(LAST_WORDS if terminated else self.patience if self._run is None else math.inf)
            except Empty:
                if (self._run is None and withdraw()) or terminated:
                    return None

    def _get(self, seconds: float) -> Work | None:
        """Wait for what comes next. A signal between Python's look for signals and the wait is seen by the next look only."""
        until = time.monotonic() + seconds
        while True:
            try:
                return self._inbox.get(timeout=max(min(LOOK, until - time.monotonic()), 0))
            except Empty:
                if time.monotonic() >= until:
                    raise

    @contextlib.contextmanager
    def _handlers(self) -> Iterator[None]:
        """SIGUSR1 and SIGTERM end the body, and not the thread that serves it, or its end would not be stored."""
        wanted = [INTERRUPT] if INTERRUPT is not None else []
        if self._ends_process:
            wanted.append(signal.SIGTERM)
        before = {number: signal.signal(number, self._on_signal) for number in wanted}
        self._before = before
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _on_signal(self, number: int, frame: Any) -> None:
        if number == signal.SIGTERM:
            self._terminate()
        elif self._cause is not None:
            if self._in_body and not self._interrupted:
                self._interrupted = True
                raise StopSignal(self._cause)
        elif self._in_body and (self._run is None or self._run.timeout is None):
            handler = self._before.get(number)
            if callable(handler):  # a limit that the other system knows from elsewhere
                handler(number, frame)

    def _terminate(self) -> None:
        """The process is told to end: the job is handed back as soon as its body has stopped."""
        self.terminated = True
        if self._run is not None:
            self._run.stop.shutdown = True
            if self._loop is not None:
                with contextlib.suppress(RuntimeError):  # the loop is closed: the run has ended
                    self._loop.call_soon_threadsafe(self._run.leave)
        if self._in_body:
            raise StopSignal(self._cause or SHUTDOWN)
        self._inbox.put(_look_again)


def _look_again() -> None:
    """Let the thread see that its process was told to end."""
