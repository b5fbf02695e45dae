"""One run of a job in a worker: its state while it goes on, and the ways to stop it."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from jobtrail.errors import StopSignal
from jobtrail.executors.hooks import body_of
from jobtrail.job.failure import forget_frames
from jobtrail.job.model import StopCause
from jobtrail.runtime.stop import OVERTAKEN, SHUTDOWN, Stop
from jobtrail.runtime.unfinished import HOOK_FUNCTION, refuse_unfinished

if TYPE_CHECKING:
    from jobtrail.executors.base import Executor
    from jobtrail.executors.hooks import BodyHook
    from jobtrail.executors.local import BodyThread, LocalExecutor
    from jobtrail.executors.process.body_call import BodyCall
    from jobtrail.job.failure import Failure
    from jobtrail.job.model import Claim
    from jobtrail.job.outcome import BodyOutcome
    from jobtrail.job.retry import Retry
    from jobtrail.job.task import Task
    from jobtrail.runtime.context import BaseContext
    from jobtrail.runtime.recorder import Recorder
    from jobtrail.runtime.successor_maker import SuccessorMaker

CallNext = Callable[["Run"], Awaitable[Any]]
_log = logging.getLogger("jobtrail.worker")


class RemoteError(Exception):
    """What a body raised in its child process, or the end of that process; described, with the policy's verdict."""

    def __init__(self, failure: Failure, *, allowed: bool, delay: tuple[float, str | None]) -> None:
        super().__init__(f"{failure.type}: {failure.message}" if failure.message else failure.type)
        self.failure = failure
        self.allowed = allowed
        self.delay = delay


class RemoteStop(StopSignal):
    """The body stopped in its child process because it was asked to; ``failure`` describes where it was."""

    def __init__(self, cause: str, failure: Failure) -> None:
        super().__init__(cause)
        self.failure = failure


@dataclass(frozen=True, slots=True)
class ChildReport:
    """What a child process reports of a body's end beside its value or error."""

    result: str | None = None
    note: str | None = None
    unreached: bool = False
    stopped_reason: str | None = None
    successors: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class AroundBody:
    """A hook around a body in a child process, which a middleware in the worker asks for.

    Attributes:
        hook: the dotted name (``module:function``) of a context manager; it is called with ``given``, the task and the
            context of the body.
        given: what the middleware hands over; JSON.

    """

    hook: str
    given: Any


class BodyLimits(Protocol):
    """The time limits of a body in a child process."""

    def await_child(self) -> None:
        """A child is asked to run the body; until it begins, only a child that never does is stopped."""

    def child_begins(self) -> None:
        """The body begins; called in a thread of the pool."""


@dataclass(slots=True, eq=False)
class Run:
    """One run of a job: what a middleware sees of it, and what the worker keeps of it while it goes on."""

    claim: Claim
    task: Task
    arguments: dict[str, Any]  # as they are stored
    policy: Retry
    timeout: float | None
    recorder: Recorder
    executor: Executor
    threads: LocalExecutor
    successors: SuccessorMaker | None = None
    hook: BodyHook | None = None
    call: BodyCall | None = None
    report: ChildReport | None = None
    ctx: BaseContext | None = None
    stop: Stop = field(default_factory=Stop)
    on_stop: Callable[[Run], None] | None = None
    state: dict[str, Any] = field(default_factory=dict)
    around_body: AroundBody | None = None
    hook_timeout: float | None = None
    entered: bool = False
    input_look: tuple[int, int, int] | None = None  # of the input file, before the body
    next_call: Awaitable[Any] | None = None  # what the last call_next(run) returned, to be awaited
    body_begun: bool = False
    limits: BodyLimits | None = None
    limits_count: bool = False  # the time limits count from now on
    body_ended: bool = False
    body_value: Any = None
    body_error: BaseException | None = None
    hook_note: str | None = None
    arrived: dict[str, Any] = field(default_factory=dict)  # the arguments as the function is annotated to get them
    _retry: tuple[bool, tuple[float, str | None]] | None = None
    coroutine: asyncio.Task[Any] | None = None
    thread: BodyThread | None = None
    asked_at: float | None = None  # seconds of the monotonic clock: when it was asked to stop
    on_orphaned_end: Callable[[Run, BodyOutcome], None] | None = None  # set once the worker has ended before the body
    _hook_limit: asyncio.TimerHandle | None = None

    def decide_retry(self, *, allowed: bool, delay: tuple[float, str | None]) -> None:
        """Decide whether another attempt may help, and after how many seconds; called by the retry middleware."""
        self._retry = (allowed, delay)

    @property
    def retry(self) -> tuple[bool, tuple[float, str | None]]:
        """Whether another attempt may help, and (seconds until then, a warning about the policy)."""
        return self._retry or (True, self.policy.delay(self.claim.attempt, None))

    def request_stop(self, cause: StopCause) -> None:
        """Ask the body to stop: as its executor does it, and by its context. Once is enough."""
        if self.stop.cause is not None or self.body_ended:
            return
        self.stop.cause = cause.value
        self.asked_at = time.monotonic()
        self._call_on_cancel()
        self._cancel_body(cause.value)
        if self.on_stop is not None:
            self.on_stop(self)

    def _call_on_cancel(self) -> None:
        for function in self.ctx._on_cancel if self.ctx is not None else ():
            threading.Thread(target=call_quietly, args=(function,), name="jobtrail-on-cancel", daemon=True).start()

    def silent_for(self) -> float:
        """Seconds since its last sign of life."""
        return time.monotonic() - self.recorder.last_sign

    def leave(self) -> None:
        """Stop the body because the worker shuts down; its job runs again elsewhere."""
        if self.body_ended:
            return
        self.stop.shutdown = True
        if self.stop.cause is None:
            self._call_on_cancel()
        self._cancel_body(SHUTDOWN)

    def overtake(self) -> None:
        """Stop the body because a newer run owns the job; what it still reports is refused."""
        self.recorder.overtaken = True
        self._cancel_body(OVERTAKEN)

    def release(self) -> None:
        """Drop what the body has left, once its end is decided; nothing waits for the garbage collector."""
        if self.thread is not None and not self.thread.ended:
            return  # the worker has ended before it; `OrphanedRun` reads its end
        for error in (self.body_error, self.thread.error if self.thread is not None else None):
            if error is not None:
                forget_frames(error)
        self.body_value = self.body_error = self.coroutine = None
        self.arguments, self.arrived, self.thread = {}, {}, None
        if self.ctx is not None:
            self.ctx._on_cancel.clear()
            self.ctx._on_cleanup.clear()

    @property
    def job_id(self) -> str:
        """Its job."""
        return self.claim.id

    @property
    def body(self) -> Callable[..., Any]:
        """The task's function, inside the hook of the application."""
        return body_of(self.task, self.hook)

    @property
    def body_arguments(self) -> dict[str, Any]:
        """The arguments of the body, its context included."""
        context = self.task.signature.context
        return {**self.arrived, context: self.ctx} if context else self.arrived

    @property
    def body_lives(self) -> bool:
        """The body still runs in this process, and nothing here can end it."""
        if self.thread is not None:
            return not self.thread.ended
        begun = self.body_begun and self.coroutine is not None and not self.coroutine.done()
        return begun and not self.body_ended and self.executor.in_process

    @property
    def _before_body(self) -> bool:
        """The run has begun and its body has not: its file is read, or a middleware runs. That can be cancelled."""
        return self.entered and not self.body_begun

    def check_wanted(self) -> None:
        """Do not begin a body that was asked to stop.

        Raises:
            StopSignal: if it was.

        """
        why = (
            self.stop.cause
            or (SHUTDOWN if self.stop.shutdown else None)
            or (OVERTAKEN if self.recorder.overtaken else None)
        )
        if why is not None:
            self.stop.noticed = True
            raise StopSignal(why)

    def ignores_stop(self, patience: float) -> bool:
        """Whether the body is in a thread, was asked to stop over ``patience`` seconds ago and goes on; it cannot be ended."""
        asked = self.asked_at is not None and time.monotonic() - self.asked_at > patience
        return asked and self.thread is not None and not self.thread.ended

    def abandon(self) -> None:
        """Wait no longer: a body in a child process is killed; one in a thread cannot be ended."""
        self.executor.abandon(self)

    def _cancel_body(self, why: str) -> None:
        """Stop what can be stopped from outside: what comes before the body, else the body by its executor."""
        if self._before_body:
            self.cancel()
        else:
            self.executor.stop(self, why)

    def cancel(self) -> None:
        """Cancel the coroutine of the run, unless its body has ended."""
        if self.coroutine is not None and not self.body_ended:
            self.stop.noticed = self.stop.noticed or self.stop.cause is not None
            self.coroutine.cancel()


def call_quietly(function: Callable[[], Any]) -> None:
    """Call a function that the body has registered; what it raises is logged."""
    try:
        refuse_unfinished(function(), HOOK_FUNCTION)
    except Exception:
        _log.exception("a function given to on_cancel() or on_cleanup() raised")
