"""What the end of a body means: from what was returned or raised to the one move that is written."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from . import transitions
from .failure import describe
from .items import Counts, outcome_of
from .model import Status, StopCause

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from .retry import Retry
    from .transitions import Move, Subject


@dataclass(frozen=True, slots=True)
class Ledger:
    """What the items say at the end of a body.

    ``counts`` is the whole telling (earlier runs and re-runs of the generation included), ``own`` what this
    job recorded; ``unreached`` is set where a loop was left early.
    """

    has_items: bool = False
    counts: Counts = Counts(0, 0, 0)
    own: Counts = Counts(0, 0, 0)
    unreached: bool = False
    stopped_reason: str | None = None


NO_ITEMS = Ledger()


@dataclass(frozen=True, slots=True)
class Returned:
    """The body returned; ``result`` is JSON text, ``note`` says what could not be stored of it."""

    result: str | None = None
    note: str | None = None
    partial: bool = False
    partial_reason: str | None = None


@dataclass(frozen=True, slots=True)
class Raised:
    """The body raised; ``retry`` tells whether the error is one to try again, ``delay`` in how many seconds."""

    error: str
    fingerprint: str
    summary: str
    retry: bool
    delay: float
    warning: str | None = None


@dataclass(frozen=True, slots=True)
class SnoozeAsked:
    """The body wants to run later, uncharged."""

    seconds: float
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """The body asks a person; ``question`` has the fields of `jobtrail.job.questions.question.Question`."""

    question: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class NotKnownHere:
    """The worker does not know the task; ``final`` once it was put back often enough."""

    error: str
    fingerprint: str
    delay: float
    final: bool


@dataclass(frozen=True, slots=True)
class HandedBack:
    """The worker gives the run back without a fault of the job."""

    reason: str


Ended = Returned | Raised | SnoozeAsked | Asked | NotKnownHere | HandedBack


def decide(job: Subject, ended: Ended, ledger: Ledger, policy: Retry, now: datetime) -> Move:
    """The move that writes this end. ``job.stop_cause`` is set where the job had been asked to stop.

    The order of the questions is the rule: a body that finished first counts, whatever was asked of it
    (DESIGN, states: cancelling); a cancel beats a retry, a question and a hand-back.
    """
    if isinstance(ended, Returned):
        if job.stop_cause == StopCause.CANCEL and job.stop_noticed:
            return transitions.stopped_by_cancel(job, now, result=ended.result, note=ended.note, counts=_counts(ledger))
        return _returned(job, ended, ledger, policy, now)
    if job.stop_cause == StopCause.CANCEL:
        return transitions.stopped_by_cancel(job, now, note=_text_of(ended), counts=_counts(ledger))
    if isinstance(ended, Raised):
        return _raised(job, ended, ledger, policy, now)
    if job.stop_cause is not None:
        return _given_up(job, ended, ledger, policy, now)
    if isinstance(ended, SnoozeAsked):
        return transitions.snoozed(job, now + timedelta(seconds=ended.seconds), reason=ended.reason)
    if isinstance(ended, Asked):
        return transitions.asked(job, ended.question)
    if isinstance(ended, NotKnownHere):
        return _not_known(job, ended, now)
    return _handed_back(job, ended, policy, now)


def _returned(job: Subject, ended: Returned, ledger: Ledger, policy: Retry, now: datetime) -> Move:
    to, note = Status.COMPLETED, None
    if ledger.has_items:
        status, note = outcome_of(
            ledger.counts, unreached=ledger.unreached, stopped_reason=ledger.stopped_reason, has_items=True
        )
        to = Status(status)
    if ended.partial and to is Status.COMPLETED:
        to, note = Status.PARTIAL, ended.partial_reason or note
    note = "; ".join(part for part in (note, ended.note) if part) or None
    may_repeat = job.stop_cause is None and policy.on_partial
    if to is Status.PARTIAL and may_repeat and policy.next_attempt_allowed(job.attempt, job.max_attempts):
        delay, _ = policy.delay(job.attempt, None)
        reason = f"partial: {note}" if note else "partial"
        return transitions.retry_planned(job, now + timedelta(seconds=delay), reason=reason, failed_too=True)
    return transitions.finished(job, now, to, result=ended.result, note=note, counts=_counts(ledger))


def _raised(job: Subject, ended: Raised, ledger: Ledger, policy: Retry, now: datetime) -> Move:
    again = ended.retry and policy.next_attempt_allowed(job.attempt, job.max_attempts)
    retry_at = now + timedelta(seconds=ended.delay) if again else None
    reason = ended.summary if ended.warning is None else f"{ended.summary} ({ended.warning})"
    if job.stop_cause is not None:
        return transitions.stopped_by_limit(
            job, now, error=ended.error, fingerprint=ended.fingerprint, retry_at=retry_at, reason=reason,
            counts=_counts(ledger),
        )  # fmt: skip
    if retry_at is not None:
        return transitions.retry_planned(job, retry_at, reason=reason, error=ended.error, fingerprint=ended.fingerprint)
    return transitions.finished(
        job,
        now,
        Status.FAILED,
        error=ended.error,
        fingerprint=ended.fingerprint,
        counts=_counts(ledger),
        reason=ended.summary,
        note=ended.warning,
    )


def _given_up(job: Subject, ended: Ended, ledger: Ledger, policy: Retry, now: datetime) -> Move:
    """The body had been over its limit and now wants, or has, to run again: as the policy allows."""
    seconds = ended.seconds if isinstance(ended, SnoozeAsked) else 0.0
    again = policy.next_attempt_allowed(job.attempt, job.max_attempts)
    failure = describe(TimeoutError(f"stopped by its {job.stop_cause} limit"))
    return transitions.stopped_by_limit(
        job,
        now,
        error=failure.to_json(),
        fingerprint=failure.fingerprint,
        retry_at=now + timedelta(seconds=seconds) if again else None,
        reason=failure.message,
        counts=_counts(ledger),
    )


def _handed_back(job: Subject, ended: HandedBack, policy: Retry, now: datetime) -> Move:
    """Free of charge a hundred times; after that a hand-back is an attempt like any other."""
    free = job.hand_backs < transitions.FREE_HAND_BACKS
    if free or policy.next_attempt_allowed(job.attempt, job.max_attempts):
        return transitions.handed_back(job, now, reason=ended.reason)
    failure = describe(RuntimeError(f"handed back {job.hand_backs} times: {ended.reason}"))
    return transitions.finished(
        job, now, Status.FAILED, error=failure.to_json(), fingerprint=failure.fingerprint, reason=ended.reason
    )


def _not_known(job: Subject, ended: NotKnownHere, now: datetime) -> Move:
    if ended.final:
        return transitions.finished(
            job, now, Status.FAILED, error=ended.error, fingerprint=ended.fingerprint, reason="unknown task"
        )
    return transitions.put_back(job, now + timedelta(seconds=ended.delay), reason="unknown task here")


def _counts(ledger: Ledger) -> tuple[int, int, int] | None:
    return (ledger.own.ok, ledger.own.failed, ledger.own.skipped) if ledger.has_items else None


def _text_of(ended: Ended) -> str | None:
    return ended.summary if isinstance(ended, Raised) else None
