"""What the end of a body means: from what it returned or raised to the move that is written.

All of it is decided here, without I/O and before the transaction: `decide` gives the move for the state in which the
worker believes the job to be, `decide_instead` the ones for a job that was asked to stop without the worker's knowledge.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from jobtrail.messages import Message

from . import transitions
from .failure import describe
from .items import Counts, outcome_of
from .model import Status, StopCause
from .worker_loss import shut_down

RUNS_WITHOUT_DELAY = 10  # after so many runs of a job ...
MOST_NEVER = 10_000  # items that are not tried again, named in the row of a job whose others are
LEAST_DELAY = 1.0  # ... its next one begins so many seconds later at the earliest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from .retry import Retry
    from .transitions import Move, Subject


@dataclass(frozen=True, slots=True)
class Ledger:
    """What the items say at the end of a body.

    ``counts`` is the whole telling (earlier runs and re-runs of the generation included), ``own`` what this
    job recorded; ``unreached`` is set where a loop was left early. ``again`` is how many of its failed items may be tried
    again, ``never`` are loop and key of the others.
    """

    has_items: bool = False
    counts: Counts = Counts(0, 0, 0)
    own: Counts = Counts(0, 0, 0)
    unreached: bool = False
    stopped_reason: str | None = None
    again: int = 0
    never: frozenset[tuple[str, str]] = frozenset()


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
    """The worker gives the run back without a fault of the job; it may start again after ``delay`` seconds.

    ``on_shutdown`` is that option of the job, where the worker was shut down before its body had finished.
    """

    reason: str
    delay: float = 0.0
    on_shutdown: str = "requeue"


BodyOutcome = Returned | Raised | SnoozeAsked | Asked | NotKnownHere | HandedBack


def decide(job: Subject, outcome: BodyOutcome, ledger: Ledger, policy: Retry, now: datetime) -> Move:
    """Decide the move that writes this outcome; ``job.stop_cause`` is set where the job was asked to stop.

    The order of the tests is the rule: a body that finished first counts, whatever was asked of it; a cancel wins
    over a retry, a question and a hand-back.
    """
    if isinstance(outcome, Returned):
        if job.stop_cause == StopCause.CANCEL and job.stop_noticed:
            return transitions.stopped_by_cancel(job, now, result=outcome.result, note=outcome.note, counts=_counts(ledger))
        return _returned(job, outcome, ledger, policy, now)
    if job.stop_cause == StopCause.CANCEL:
        return transitions.stopped_by_cancel(job, now, note=_text_of(outcome), counts=_counts(ledger))
    if isinstance(outcome, Raised):
        return _raised(job, outcome, ledger, policy, now)
    if job.stop_cause is not None:
        return _given_up(job, outcome, ledger, policy, now)
    if isinstance(outcome, SnoozeAsked):
        return transitions.snoozed(job, _next_run(job, now, outcome.seconds), reason=outcome.reason)
    if isinstance(outcome, Asked):
        return transitions.asked(job, outcome.question)
    if isinstance(outcome, NotKnownHere):
        return _not_known(job, outcome, now)
    if outcome.on_shutdown != "requeue":
        return shut_down(job, outcome.on_shutdown, now, reason=outcome.reason, counts=_counts(ledger))
    return _handed_back(job, outcome, policy, now)


def decide_instead(
    move: Move, job: Subject, outcome: BodyOutcome, ledger: Ledger, policy: Retry, now: datetime
) -> dict[str, Move]:
    """Decide the moves that take the place of ``move`` where the job turns out to have been asked to stop.

    Args:
        move: what `decide` gave for the same arguments.
        job: as for `decide`.
        outcome: as for `decide`.
        ledger: as for `decide`.
        policy: as for `decide`.
        now: as for `decide`.

    Returns:
        A move by stop cause: for a stop at a limit, the one for a cancel, which wins; for a move that leaves only
        running, one for each cause; for any other move, none.

    """
    causes: Iterable[StopCause] = StopCause
    if move.name == "stopped" and move.to is not Status.CANCELLED:
        causes = (StopCause.CANCEL,)
    elif Status.CANCELLING in move.leaves:
        return {}
    return {
        cause.value: decide(replace(job, stop_cause=cause.value), outcome, ledger, policy, now) for cause in causes
    }


def _next_run(job: Subject, now: datetime, seconds: float) -> datetime:
    """When the job runs again; one that has run often waits for a second, so that no delay of 0 becomes a busy loop."""
    return now + timedelta(seconds=max(seconds, LEAST_DELAY) if job.run_no >= RUNS_WITHOUT_DELAY else seconds)


def _returned(job: Subject, outcome: Returned, ledger: Ledger, policy: Retry, now: datetime) -> Move:
    to, note = Status.COMPLETED, None
    if ledger.has_items:
        status, note = _judged(ledger.counts, ledger)
        to = Status(status)
        note = note if ledger.own == ledger.counts else _note_of_own(ledger)
    if outcome.partial and to is Status.COMPLETED:
        to, note = Status.PARTIAL, outcome.partial_reason or note
    note = Message("job.both", first=note, second=outcome.note).stored if note and outcome.note else note or outcome.note
    may_repeat = job.stop_cause is None and policy.on_partial
    if to is Status.PARTIAL and may_repeat and policy.next_attempt_allowed(job.attempt, job.max_attempts):
        delay, _ = policy.delay(job.attempt, None)
        reason = Message("job.partial-because", note=note).stored if note else Message("job.partial").stored
        return transitions.retry_planned(job, _next_run(job, now, delay), reason=reason, failed_too=True)
    if _tries_items_again(job, ledger, policy):
        delay, _ = policy.delay(job.attempt, None)
        reason = Message("job.items-again", note=note or "", count=ledger.again).stored
        return transitions.retry_planned(
            job, _next_run(job, now, delay), reason=reason, failed_too=True, never=ledger.never
        )
    return transitions.finished(job, now, to, result=outcome.result, note=note, counts=_counts(ledger))


def _judged(counts: Counts, ledger: Ledger) -> tuple[str, str | None]:
    return outcome_of(counts, unreached=ledger.unreached, stopped_reason=ledger.stopped_reason, has_items=True)


def _note_of_own(ledger: Ledger) -> str | None:
    """A job that continues others is judged by all items, and its note, as its counts, is about its own."""
    note, others = _judged(ledger.own, ledger)[1], ledger.counts.failed - ledger.own.failed
    if others <= 0:
        return note
    told = Message("job.others-failed", count=others)
    return Message("job.both", first=note, second=told).stored if note else told.stored


def _tries_items_again(job: Subject, ledger: Ledger, policy: Retry) -> bool:
    wanted = policy.failed_items and ledger.again > 0 and ledger.stopped_reason is None and job.stop_cause is None
    return wanted and len(ledger.never) <= MOST_NEVER and policy.next_attempt_allowed(job.attempt, job.max_attempts)


def _raised(job: Subject, outcome: Raised, ledger: Ledger, policy: Retry, now: datetime) -> Move:
    again = outcome.retry and policy.next_attempt_allowed(job.attempt, job.max_attempts)
    retry_at = _next_run(job, now, outcome.delay) if again else None
    reason = (
        outcome.summary
        if outcome.warning is None
        else Message("job.with-warning", warning=outcome.warning, text=outcome.summary).stored
    )
    if job.stop_cause is not None:
        return transitions.stopped_by_limit(
            job, now, error=outcome.error, fingerprint=outcome.fingerprint, retry_at=retry_at, reason=reason,
            counts=_counts(ledger),
        )  # fmt: skip
    if retry_at is not None:
        return transitions.retry_planned(job, retry_at, reason=reason, error=outcome.error, fingerprint=outcome.fingerprint)
    return transitions.finished(
        job,
        now,
        Status.FAILED,
        error=outcome.error,
        fingerprint=outcome.fingerprint,
        counts=_counts(ledger),
        reason=outcome.summary,
        note=outcome.warning,
    )


def _given_up(job: Subject, outcome: BodyOutcome, ledger: Ledger, policy: Retry, now: datetime) -> Move:
    """The body had been over its limit and now wants, or has, to run again: as the policy allows."""
    seconds = outcome.seconds if isinstance(outcome, SnoozeAsked) else 0.0
    again = policy.next_attempt_allowed(job.attempt, job.max_attempts)
    failure = describe(TimeoutError(Message("job.stopped-by-limit", cause=job.stop_cause)))
    return transitions.stopped_by_limit(
        job,
        now,
        error=failure.to_json(),
        fingerprint=failure.fingerprint,
        retry_at=_next_run(job, now, seconds) if again else None,
        reason=failure.sentence or failure.message,
        counts=_counts(ledger),
    )


def _handed_back(job: Subject, outcome: HandedBack, policy: Retry, now: datetime) -> Move:
    """Free of charge a hundred times; after that a hand-back is an attempt like any other."""
    free = job.hand_backs < transitions.FREE_HAND_BACKS
    if free or policy.next_attempt_allowed(job.attempt, job.max_attempts):
        return transitions.handed_back(job, now + timedelta(seconds=outcome.delay), reason=outcome.reason)
    failure = describe(RuntimeError(Message("job.handed-back-often", reason=outcome.reason, times=job.hand_backs)))
    return transitions.finished(
        job, now, Status.FAILED, error=failure.to_json(), fingerprint=failure.fingerprint, reason=outcome.reason
    )


def _not_known(job: Subject, outcome: NotKnownHere, now: datetime) -> Move:
    if outcome.final:
        return transitions.finished(
            job,
            now,
            Status.FAILED,
            error=outcome.error,
            fingerprint=outcome.fingerprint,
            reason=Message("job.unknown-task").stored,
        )
    return transitions.put_back(
        job, now + timedelta(seconds=outcome.delay), reason=Message("job.unknown-task-here").stored
    )


def _counts(ledger: Ledger) -> tuple[int, int, int] | None:
    return (ledger.own.ok, ledger.own.failed, ledger.own.skipped) if ledger.has_items else None


def _text_of(outcome: BodyOutcome) -> str | None:
    return outcome.summary if isinstance(outcome, Raised) else None
