"""Middleware: functions around the call of a body, composed once, outermost first.

``async def middleware(run, call_next)`` calls ``await call_next(run)`` and may act before and after it, for plain and
async bodies alike. After the body has ended it cannot change the outcome: an error that it raises is noted beside it. The
writing of ends is no middleware, or a middleware could lose a job.

A middleware declares the task options that it reads, ``limited.options = ("tenant_limit",)``, and finds the value in
``run.task.options``; an option that nobody declares is refused where the task is registered.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from jobtrail.errors import JobSignal, RetryableError, RetrySignal, StopSignal
from jobtrail.job.items import outcome_of
from jobtrail.job.model import Partial, Snooze, Status, StopCause

from .run import CallNext, RemoteError
from .understand import ledger_of

if TYPE_CHECKING:
    from .run import Run

Middleware = Callable[["Run", CallNext], Awaitable[Any]]
"""A function ``async def middleware(run, call_next)`` around the call of a task function."""

_log = logging.getLogger("jobtrail.run")
CHILD_BEGINS_WITHIN = 60.0  # seconds, beside its own limit, for a child process to start and to import the task


def declared_options(middlewares: Iterable[Middleware]) -> set[str]:
    """The task options that these middlewares read."""
    return {name for one in middlewares for name in getattr(one, "options", ())}


def compose(middlewares: list[Middleware], endpoint: CallNext) -> CallNext:
    """Make one callable of a list of middlewares; the first is the outermost."""
    call = partial(_last, endpoint)
    for middleware in reversed(middlewares):
        call = partial(_call, middleware, call)
    return call


def _last(endpoint: CallNext, run: Run) -> Awaitable[Any]:
    run.next_call = endpoint(run)
    return run.next_call


def _call(middleware: Middleware, call_next: CallNext, run: Run) -> Awaitable[Any]:
    run.next_call = middleware(run, call_next)
    return run.next_call


_WORDS = {Status.COMPLETED: "success", Status.PARTIAL: "partial", Status.FAILED: "error"}


def outcome_word(run: Run, error: BaseException | None) -> str:
    """How a run ended, in one word for metrics: success, partial, error, retry, snoozed, asked or stopped.

    Args:
        run: the run.
        error: what ``call_next`` raised, None where it returned. Whether it is tried again is decided later.

    """
    if isinstance(error, RetrySignal):
        return "retry"
    if isinstance(error, (StopSignal, asyncio.CancelledError)):
        return "stopped"
    if error is not None:
        return "asked" if isinstance(error, JobSignal) else "error"
    if isinstance(run.body_value, Snooze):
        return "snoozed"
    ledger = ledger_of(run)
    word = "success"
    if ledger.has_items:
        status, _ = outcome_of(
            ledger.counts, unreached=ledger.unreached, stopped_reason=ledger.stopped_reason, has_items=True
        )
        word = _WORDS[Status(status)]
    return "partial" if word == "success" and isinstance(run.body_value, Partial) else word


async def logging_middleware(run: Run, call_next: CallNext) -> Any:
    """Log at DEBUG that a run begins and how it ended."""
    started = time.monotonic()
    _log.debug("%s %s attempt %s begins", run.task.name, run.claim.id, run.claim.attempt)
    try:
        return await call_next(run)
    finally:
        how = "returned" if run.body_error is None else f"raised {type(run.body_error).__name__}"
        _log.debug("%s %s %s after %.3f s", run.task.name, run.claim.id, how, time.monotonic() - started)


async def retry_middleware(run: Run, call_next: CallNext) -> Any:
    """Decide for an error whether another attempt may help, and when."""
    try:
        return await call_next(run)
    except RetrySignal as signal:
        asked = RetryableError(str(signal), delay=signal.delay)
        run.decide_retry(allowed=True, delay=run.policy.delay(run.claim.attempt, asked))
        raise
    except RemoteError as error:
        run.decide_retry(allowed=error.allowed, delay=error.delay)
        raise
    except Exception as error:
        run.decide_retry(allowed=run.policy.allows(error), delay=run.policy.delay(run.claim.attempt, error))
        raise


async def timeout_middleware(run: Run, call_next: CallNext) -> Any:
    """Keep the deadline in the job's row, and ask a body that is over its time limit to stop; both count from its start.

    In a child process they count anew when it has imported the task. A child that never gets there is stopped too.
    """
    limits = run.limits = _LimitsOf(run)
    limits.begin()
    try:
        return await call_next(run)
    finally:
        limits.end()


class _LimitsOf:
    """The time limits of one run, from the start of its body."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        run = self._run
        if run.body_ended:
            return
        run.limits_count = True
        run.recorder.sign()
        self._count(run.timeout, run.task.stall_timeout)

    def await_child(self) -> None:
        self._run.limits_count = False
        self._count(CHILD_BEGINS_WITHIN + (self._run.timeout or self._run.task.stall_timeout or 0.0), None)

    def _count(self, timeout: float | None, stall: float | None) -> None:
        self.end()
        self._run.recorder.watch(timeout=timeout, stall=stall)
        if timeout is not None:
            self._timer = self._loop.call_later(timeout, self._run.request_stop, StopCause.TIMEOUT)

    def child_begins(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self.begin)

    def end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


def outermost() -> list[Middleware]:
    """The built-in layers around all others; the log is left out where nobody would read it."""
    return [logging_middleware, retry_middleware] if _log.isEnabledFor(logging.DEBUG) else [retry_middleware]
