"""One run of a job, as a line of small steps: prepare, call, understand the end, decide the move."""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
import time
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from json import loads
from typing import TYPE_CHECKING, Any

from jobtrail.commands import input_files
from jobtrail.errors import (
    AskSignal,
    InputChanged,
    InvalidArguments,
    PermanentError,
    RetryableError,
    RetrySignal,
    StopSignal,
)
from jobtrail.job import outcome as ends
from jobtrail.job.failure import describe
from jobtrail.job.items import Counts
from jobtrail.job.json_value import encode_result
from jobtrail.job.model import Partial, Snooze, StopCause
from jobtrail.job.period import Period
from jobtrail.job.retry import Retry
from jobtrail.job.transitions import Subject
from jobtrail.runtime import log_capture
from jobtrail.runtime.context import AsyncContext, Context, Stop

from .remote import OVERTAKEN, SHUTDOWN, RemoteError, RemoteStop

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobtrail.commands.successors import Following
    from jobtrail.config import Settings
    from jobtrail.executors.base import Executor
    from jobtrail.executors.process import Call
    from jobtrail.job.failure import Failure
    from jobtrail.job.model import Claim, FileInput
    from jobtrail.job.task import Task
    from jobtrail.job.transitions import Move
    from jobtrail.runtime.context import BaseContext, StepStore
    from jobtrail.runtime.recorder import Recorder

    from .middleware import CallNext
    from .remote import Ending, Remote

LOOK = 0.05  # seconds
_log = logging.getLogger("jobtrail.worker")
_LIMITS = {StopCause.TIMEOUT: "timed out after {limit:g} s", StopCause.STALL: "gave no sign of life for {limit:g} s"}


@dataclass(slots=True)
class InThread:
    """A body in a thread of this process: it has ended when the thread says so, whoever still waits for it."""

    ended: bool = False
    value: Any = None
    error: BaseException | None = None

    def over(self, value: Any, error: BaseException | None) -> None:
        """Said by the thread."""
        self.value, self.error, self.ended = value, error, True


@dataclass(slots=True, eq=False)
class Run:
    """What a middleware sees of a run, and what the engine keeps of it while it goes on."""

    claim: Claim
    task: Task
    arguments: dict[str, Any]
    policy: Retry
    timeout: float | None
    recorder: Recorder
    executor: Executor
    following: Following | None = None
    remote: Remote | None = None
    call: Call | None = None
    ending: Ending | None = None
    ctx: BaseContext | None = None
    stop: Stop = field(default_factory=Stop)
    on_stop: Callable[[Run], None] | None = None
    state: dict[str, Any] = field(default_factory=dict)
    hook_timeout: float | None = None
    entered: bool = False
    body_begun: bool = False
    body_ended: bool = False
    body_value: Any = None
    body_error: BaseException | None = None
    hook_note: str | None = None
    _retry: tuple[bool, tuple[float, str | None]] | None = None
    coroutine: asyncio.Task[Any] | None = None
    thread: InThread | None = None
    asked_at: float | None = None  # monotonic: when it was asked to stop
    heir: Callable[[Run, ends.Ended], None] | None = None  # takes the end once the worker has left
    _hook_limit: asyncio.TimerHandle | None = None

    def decide_retry(self, *, allowed: bool, delay: tuple[float, str | None]) -> None:
        """Taken by the retry middleware; a middleware inside it may have decided before."""
        self._retry = (allowed, delay)

    @property
    def retry(self) -> tuple[bool, tuple[float, str | None]]:
        """May another attempt help, and (seconds until then, a warning about the policy)."""
        return self._retry or (True, self.policy.delay(self.claim.attempt, None))

    def request_stop(self, cause: StopCause) -> None:
        """Ask the body to stop: an async one by cancelling it, a plain one by its context. Once is enough."""
        if self.stop.cause is not None or self.body_ended:
            return
        self.stop.cause = cause.value
        self.asked_at = time.monotonic()
        self._call_on_cancel()
        if self.remote is not None and not self._before_body:
            self.remote.stop(self, cause.value)
        elif self.coroutine is not None and (self.task.is_async or self._before_body):
            self.stop.noticed = True
            self.coroutine.cancel()
        if self.on_stop is not None:
            self.on_stop(self)

    def _call_on_cancel(self) -> None:
        for function in self.ctx._on_cancel if self.ctx is not None else ():
            threading.Thread(target=_quietly, args=(function,), name="jobtrail-on-cancel", daemon=True).start()

    def silent_for(self) -> float:
        """Seconds since its last sign of life."""
        return time.monotonic() - self.recorder.last_sign

    def leave(self) -> None:
        """The worker shuts down: what can be stopped leaves now, and its job runs again elsewhere."""
        if self.body_ended:
            return
        self.stop.shutdown = True
        if self.stop.cause is None:
            self._call_on_cancel()
        self._cancel_body(SHUTDOWN)

    def overtake(self) -> None:
        """The store gave the run away: what it still says is refused, and it is told to stop."""
        self.recorder.overtaken = True
        self._cancel_body(OVERTAKEN)

    @property
    def body_lives(self) -> bool:
        """The body still runs in this process, and nothing here can end it."""
        if self.thread is not None:
            return not self.thread.ended
        begun = self.body_begun and self.coroutine is not None and not self.coroutine.done()
        return begun and not self.body_ended and self.call is None

    @property
    def _before_body(self) -> bool:
        """It is still in what comes before the body (its file, its middleware), which waits on the loop and can be left."""
        return self.entered and not self.body_begun

    def check_wanted(self) -> None:
        """What was asked to stop does not begin.

        Raises: StopSignal.
        """
        why = self.stop.cause or (SHUTDOWN if self.stop.shutdown else None) or (OVERTAKEN if self.recorder.overtaken else None)
        if why is not None:
            self.stop.noticed = True
            raise StopSignal(why)

    def ignores_stop(self, patience: float) -> bool:
        """A body in a thread that was asked to stop so many seconds ago and goes on: nobody can end it."""
        asked = self.asked_at is not None and time.monotonic() - self.asked_at > patience
        return asked and self.thread is not None and not self.thread.ended

    def abandon(self) -> None:
        """The worker waits no longer: a body in a process ends now; one in a thread cannot be ended."""
        if self.call is not None:
            self.call.kill("interrupted by shutdown", told=SHUTDOWN)

    def _cancel_body(self, why: str) -> None:
        """Cancel what can be cancelled from outside: a body on the loop or in a process."""
        if self.remote is not None and not self._before_body:
            self.remote.stop(self, why)
        elif self.coroutine is not None and (self.task.is_async or self._before_body) and not self.body_ended:
            self.coroutine.cancel()


def _quietly(function: Callable[[], Any]) -> None:
    try:
        function()
    except Exception:
        _log.exception("a function given to on_cancel or on_cleanup raised")


@dataclass(frozen=True, slots=True)
class End:
    """A run's end, decided: the move, and the counts of its telling for the unit."""

    move: Move
    ledger_counts: tuple[int, int, int] | None


# -- prepare -----------------------------------------------------------------------------------------


def options_of(claim: Claim) -> dict[str, Any]:
    """What the submission asked for beside the task's own options."""
    return loads(claim.options) if claim.options else {}


def slot_of(options: dict[str, Any]) -> datetime | None:
    """The planned time of a job that a schedule made."""
    return datetime.fromisoformat(options["slot"]) if options.get("slot") else None


def policy_of(task: Task, options: dict[str, Any]) -> Retry:
    """The retry policy of this job."""
    return Retry.from_json(options["retry"], task.retry) if "retry" in options else task.retry


def build_context(run: Run, steps: StepStore, state: Any) -> BaseContext:
    """The context of a run, with its period and its file; the file is compared with the submitted one.

    Raises: InputChanged when its content is another one and the task does not accept that. Blocking where
    there is a file.
    """
    claim, options = run.claim, options_of(run.claim)
    kind = AsyncContext if run.task.is_async else Context
    return kind(
        claim=claim,
        recorder=run.recorder,
        steps=steps,
        stop=run.stop,
        state=state,
        period=Period.parse(claim.period) if claim.period else None,
        file=_file_of(run) if claim.file else None,
        slot=slot_of(options),
        limit=run.task.max_failed_items,
        following=run.following,
    )


def _file_of(run: Run) -> FileInput:
    submitted = input_files.from_json(run.claim.file or "")
    try:
        return input_files.check_unchanged(submitted)
    except InputChanged as changed:
        now = getattr(changed, "now", None)
        if run.task.on_input_change != "accept" or now is None:
            raise
        run.recorder.note("input_changed", f"accepted: SHA-256 {submitted.sha256} at submission, {now.sha256} now")
        accepted: FileInput = now
        return accepted


# -- call --------------------------------------------------------------------------------------------


async def perform(run: Run, chain: CallNext, steps: StepStore, state: Any) -> BaseException | None:
    """Run the body inside its middleware. Never raises: what came out is in ``run``, or is the answer."""
    log_capture.current.set(run.recorder.log)  # in this task's own context, so it needs no reset
    run.entered = True
    try:
        run.check_wanted()
        if run.claim.file:
            run.ctx = await asyncio.to_thread(build_context, run, steps, state)
        elif run.task.signature.context:
            run.ctx = build_context(run, steps, state)
        value = await chain(run)
    except BaseException as error:
        if run.body_ended:
            if error is not run.body_error:
                run.hook_note = f"a middleware raised {describe(error).message or type(error).__name__} after the body"
            return run.body_error
        return error
    else:
        if not run.body_ended:
            run.body_value = value  # a middleware answered in the body's place
        return run.body_error
    finally:
        if run._hook_limit is not None:
            run._hook_limit.cancel()
        if run.ctx is not None and run.ctx._on_cleanup and not (run.heir and run.thread and run.body_lives):
            await clean_up(run, run.ctx)


async def body(run: Run) -> Any:
    """The endpoint of the middleware: the call of the task's function."""
    signature = run.task.signature
    arguments = {signature.context: run.ctx, **run.arguments} if signature.context else run.arguments
    run.body_begun = True
    try:
        run.check_wanted()
        if run.remote is not None:
            run.body_value = await run.remote.perform(run)
        elif run.task.is_async:
            run.body_value = await run.task.function(**arguments)
        else:
            run.body_value = await _in_thread(run, arguments)
    except BaseException as error:
        run.body_error = error
        raise
    finally:
        _body_has_ended(run)
    return run.body_value


async def _in_thread(run: Run, arguments: dict[str, Any]) -> Any:
    """Who gives up waiting (a middleware with a time limit of its own) ends no thread: what that says in the end counts.

    Once the worker has left, another waits for it.
    """
    thread = run.thread = InThread()
    try:
        return await run.executor.call(run.task.function, arguments, thread.over)
    except asyncio.CancelledError:
        if thread.ended or run.heir is not None:
            raise
    while not thread.ended:
        try:
            await asyncio.sleep(LOOK)
        except asyncio.CancelledError:
            if run.heir is not None:
                raise
    if thread.error is not None:
        raise thread.error
    return thread.value


def _body_has_ended(run: Run) -> None:
    run.body_ended = True
    if run.hook_timeout is not None and run.coroutine is not None:
        run._hook_limit = asyncio.get_running_loop().call_later(run.hook_timeout, run.coroutine.cancel)


async def clean_up(run: Run, ctx: BaseContext) -> None:
    """Call what the body gave to on_cleanup."""
    for function in ctx._on_cleanup:
        try:
            if inspect.iscoroutinefunction(function):
                await function()
            else:
                await run.executor.call(function, {})
        except BaseException as error:
            run.hook_note = f"a function given to on_cleanup raised {type(error).__name__}"


# -- understand --------------------------------------------------------------------------------------


def understand(run: Run, error: BaseException | None, settings: Settings) -> ends.Ended:
    """From what the body returned or raised to the value that the rules speak about."""
    if error is None:
        return _returned(run, settings)
    if isinstance(error, RetrySignal):
        delay, warning = run.retry[1]
        summary = error.reason or "the body asked for a retry"
        asked = RetryableError(summary).with_traceback(error.__traceback__)
        failure = describe(asked, limit=settings.error_limit)
        return ends.Raised(failure.to_json(), failure.fingerprint, summary, True, delay, warning)
    if isinstance(error, AskSignal):
        return ends.Asked({**asdict(error.question), "digest": error.question.digest, "generation": run.claim.ledger})
    stopped = run.stop.noticed or isinstance(error, (asyncio.CancelledError, StopSignal))
    if run.stop.cause in {StopCause.TIMEOUT, StopCause.STALL} and stopped:
        return _over_limit(run, error, settings)
    failure = _failure_of(error, settings.error_limit)
    allowed, (delay, warning) = run.retry
    if isinstance(error, (InputChanged, InvalidArguments, PermanentError)):
        allowed = False
    summary = f"{failure.type}: {failure.message}" if failure.message else failure.type
    return ends.Raised(failure.to_json(), failure.fingerprint, summary[:500], allowed, delay, warning)


def _over_limit(run: Run, error: BaseException, settings: Settings) -> ends.Ended:
    cause = StopCause(run.stop.cause or "timeout")
    limit = run.timeout if cause is StopCause.TIMEOUT else run.task.stall_timeout
    sentence = _LIMITS[cause].format(limit=limit or 0)
    if not isinstance(error, (asyncio.CancelledError, StopSignal)):
        raised = _failure_of(error, 2000)
        sentence = f"{sentence}; while it stopped it raised {raised.type}: {raised.message}"
    timed_out = TimeoutError(sentence)
    timed_out.__traceback__ = error.__traceback__
    failure = describe(timed_out, limit=settings.error_limit)
    if isinstance(error, RemoteError | RemoteStop):
        failure = replace(failure, traceback=error.failure.traceback or error.failure.message)
    delay, warning = run.policy.delay(run.claim.attempt, timed_out)
    allowed = run.policy.allows(timed_out)
    return ends.Raised(failure.to_json(), failure.fingerprint, f"{cause}: {sentence}", allowed, delay, warning)


def _failure_of(error: BaseException, limit: int) -> Failure:
    """What is told of an error; one from a child process brings its description."""
    return error.failure if isinstance(error, RemoteError | RemoteStop) else describe(error, limit=limit)


def _returned(run: Run, settings: Settings) -> ends.Ended:
    value, text, note = run.body_value, None, None
    if value is None and run.ending is None:
        return _NOTHING
    if isinstance(value, Snooze):
        return ends.SnoozeAsked(max(0.0, min(float(value.seconds), 10 * 365 * 86400.0)), value.reason)
    partial = isinstance(value, Partial)
    if run.ending is not None:
        text, note = run.ending.result, run.ending.note  # made in the process that had the value itself
    else:
        text, note = encode_result(value.result if partial else value, settings.result_limit)
    return ends.Returned(text, note, partial=partial, partial_reason=value.reason if partial else None)


_NOTHING = ends.Returned()


# -- decide ------------------------------------------------------------------------------------------


def subject_of(claim: Claim, worker: str, stop: Stop | None = None) -> Subject:
    """The job as the moves see it."""
    return Subject(
        id=claim.id,
        run_no=claim.run_no,
        attempt=claim.attempt,
        unit=claim.unit,
        max_attempts=claim.max_attempts,
        stop_cause=stop.cause if stop is not None else None,
        stop_noticed=stop is not None and stop.noticed,
        started_at=claim.started_at,
        worker=worker,
        put_backs=claim.put_backs,
        hand_backs=claim.hand_backs,
        suspect=claim.suspect,
    )


def ledger_of(run: Run) -> ends.Ledger:
    """What the items of the telling say."""
    ctx, recorder = run.ctx, run.recorder
    told = run.ending if run.ending is not None else ctx
    unreached = told.unreached if told is not None else False
    if not recorder.has_items and not unreached:
        return ends.NO_ITEMS
    stopped = told.stopped_reason if told is not None else None
    return ends.Ledger(
        has_items=True,
        counts=recorder.counts(),
        own=recorder.own_counts(),
        unreached=unreached,
        stopped_reason=stopped,
    )


def finish(run: Run, ended: ends.Ended, worker: str, now: datetime) -> End:
    """The move that writes this end."""
    ledger = ledger_of(run)
    move = ends.decide(subject_of(run.claim, worker, run.stop), ended, ledger, run.policy, now)
    if run.hook_note and "note" in move.values:
        move = _with_note(move, run.hook_note)
    told = run.ending.following if run.ending is not None else [one.to_plain() for one in run.ctx._next] if run.ctx else []
    if told and move.settles:
        move = replace(move, follow=tuple(told))
    counts: Counts = ledger.counts
    return End(move, (counts.ok, counts.failed, counts.skipped) if ledger.has_items else None)


def _with_note(move: Move, note: str) -> Move:
    old = move.values["note"]
    return replace(move, values={**move.values, "note": f"{old}; {note}" if old else note})


def refused_arguments(error: Exception) -> ends.Raised:
    """Arguments that do not fit the task any more: a failure that trying again cannot mend."""
    failure = describe(error)
    return ends.Raised(failure.to_json(), failure.fingerprint, failure.message, retry=False, delay=0.0)
