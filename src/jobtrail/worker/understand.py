"""Understand the end of a body: from what it returned or raised to the value that the rules decide about."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from jobtrail.errors import (
    AskSignal,
    InputChanged,
    InvalidArguments,
    PermanentError,
    RetryableError,
    RetrySignal,
    StopSignal,
    StoreError,
    StoreUnavailable,
)
from jobtrail.job import outcome as outcomes
from jobtrail.job.failure import describe
from jobtrail.job.json_value import encode_result
from jobtrail.job.model import Partial, Snooze, StopCause
from jobtrail.messages import Message

from .run import RemoteError, RemoteStop

if TYPE_CHECKING:
    from jobtrail.config import Settings
    from jobtrail.job.failure import Failure
    from jobtrail.job.outcome import BodyOutcome

    from .run import Run

LONGEST_DELAY = 60.0  # seconds until a run that an outage ended may start again
_LIMITS = {StopCause.TIMEOUT: "worker.timed-out", StopCause.STALL: "worker.silent"}


def understand(run: Run, error: BaseException | None, settings: Settings) -> BodyOutcome:
    """Translate what the body returned or raised into a `BodyOutcome`.

    Args:
        run: the run, whose value and stop are read.
        error: what `perform` gave.
        settings: ``result_limit`` and ``error_limit``, in bytes, are used.

    """
    handed_back = _handed_back(run, error)
    if handed_back is not None:
        return handed_back
    if error is None:
        return _returned(run, settings)
    if isinstance(error, RetrySignal):
        delay, warning = run.retry[1]
        summary = error.reason or Message("errors.retry-asked").stored
        asked = RetryableError(summary).with_traceback(error.__traceback__)
        failure = describe(asked, limit=settings.error_limit)
        return outcomes.Raised(failure.to_json(), failure.fingerprint, summary, True, delay, warning)
    if isinstance(error, AskSignal):
        return outcomes.Asked(
            {**asdict(error.question), "digest": error.question.digest, "generation": run.claim.ledger}
        )
    stopped = run.stop.noticed or isinstance(error, (asyncio.CancelledError, StopSignal))
    if run.stop.cause in {StopCause.TIMEOUT, StopCause.STALL} and stopped:
        return _over_limit(run, error, settings)
    failure = failure_of(error, settings.error_limit)
    allowed, (delay, warning) = run.retry
    if isinstance(error, (InputChanged, InvalidArguments, PermanentError)):
        allowed = False
    summary = f"{failure.type}: {failure.message}" if failure.message else failure.type
    return outcomes.Raised(failure.to_json(), failure.fingerprint, summary[:500], allowed, delay, warning)


def _handed_back(run: Run, error: BaseException | None) -> BodyOutcome | None:
    """Was the run ended by the worker's shutdown or by an outage, through no fault of the job?"""
    if error is None:
        return None
    cancelled = (run.task.is_async or not run.body_begun) and not isinstance(error, AskSignal)
    stopped = cancelled or isinstance(error, StopSignal)
    if stopped and run.stop.shutdown and run.stop.cause is None:
        return shut_down(run, Message("worker.shutdown"))
    if isinstance(error, StoreUnavailable) or (isinstance(error, StoreError) and not run.body_begun):
        before = run.claim.hand_backs if run.body_begun else 0  # a database that is not the worker's may stay away
        delay = min(2.0 ** (before - 1), LONGEST_DELAY) if before else 0.0
        return outcomes.HandedBack(Message("worker.store-away", error=error).stored, delay)
    return None


def shut_down(run: Run, reason: Message) -> outcomes.HandedBack:
    """The outcome of a run that ended with its worker; a body that never began runs elsewhere, whatever the job says."""
    wanted = run.claim.said.get("on_shutdown") or run.task.on_shutdown if run.body_begun else "requeue"
    return outcomes.HandedBack(reason.stored, on_shutdown=wanted)


def _over_limit(run: Run, error: BaseException, settings: Settings) -> BodyOutcome:
    cause = StopCause(run.stop.cause or "timeout")
    limit = run.timeout if cause is StopCause.TIMEOUT else run.task.stall_timeout
    sentence = Message(_LIMITS[cause], limit=float(limit or 0))
    if not isinstance(error, (asyncio.CancelledError, StopSignal)):
        raised = failure_of(error, 2000)
        sentence = Message("worker.raised-while-stopping", sentence=sentence, error=f"{raised.type}: {raised.message}")
    timed_out = TimeoutError(sentence)
    timed_out.__traceback__ = error.__traceback__
    failure = describe(timed_out, limit=settings.error_limit)
    if isinstance(error, RemoteError | RemoteStop):
        failure = replace(failure, traceback=error.failure.traceback or error.failure.message)
    delay, warning = run.policy.delay(run.claim.attempt, timed_out)
    allowed = run.policy.allows(timed_out)
    return outcomes.Raised(
        failure.to_json(),
        failure.fingerprint,
        Message("worker.limit-reached", cause=cause, sentence=sentence).stored,
        allowed,
        delay,
        warning,
    )


def failure_of(error: BaseException, limit: int) -> Failure:
    """Describe an error, within ``limit`` bytes; one from a child process brings its description."""
    return error.failure if isinstance(error, RemoteError | RemoteStop) else describe(error, limit=limit)


def _returned(run: Run, settings: Settings) -> BodyOutcome:
    value, text, note = run.body_value, None, None
    if value is None and run.report is None:
        return _NOTHING
    if isinstance(value, Snooze):
        return outcomes.SnoozeAsked(max(0.0, min(float(value.seconds), 10 * 365 * 86400.0)), value.reason)
    partial = isinstance(value, Partial)
    if run.report is not None:
        text, note = run.report.result, run.report.note  # encoded in the child process, which had the value
    else:
        text, note = encode_result(value.result if partial else value, settings.result_limit)
    return outcomes.Returned(text, note, partial=partial, partial_reason=value.reason if partial else None)


_NOTHING = outcomes.Returned()


def ledger_of(run: Run) -> outcomes.Ledger:
    """What the items of the run's generation mean for its outcome."""
    ctx, recorder = run.ctx, run.recorder
    source = run.report if run.report is not None else ctx
    unreached = source.unreached if source is not None else False
    if not recorder.has_items and not unreached:
        return outcomes.NO_ITEMS
    stopped = source.stopped_reason if source is not None else None
    again, never = recorder.failed_again() if run.policy.failed_items else (0, frozenset())
    return outcomes.Ledger(
        has_items=True,
        counts=recorder.counts(),
        own=recorder.own_counts(),
        unreached=unreached,
        stopped_reason=stopped,
        again=again,
        never=never,
    )


def refused_arguments(error: Exception) -> outcomes.Raised:
    """The outcome of a run whose arguments do not fit the task any more: another attempt cannot help."""
    failure = describe(error)
    return outcomes.Raised(failure.to_json(), failure.fingerprint, failure.message, retry=False, delay=0.0)
