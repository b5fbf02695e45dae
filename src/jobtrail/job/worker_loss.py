"""What becomes of the jobs of a dead worker: who is charged, who runs again, who is given up."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from jobtrail.messages import Message

from . import transitions
from .failure import describe
from .model import Status, StopCause

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from .retry import Retry
    from .transitions import Move, Subject

STRIKES = 3


class WorkerLostError(Exception):
    """The worker died while the job ran in it."""


class WorkerShutDownError(Exception):
    """The worker was shut down before the job had finished, and its task wants no other run."""


@dataclass(frozen=True, slots=True)
class Lost:
    """A job whose worker is dead, and what its task says about that."""

    job: Subject
    on_interrupt: str = "requeue"
    on_shutdown: str = "requeue"
    policy: Retry | None = None


def charged(ran: Sequence[tuple[str, bool]]) -> str | None:
    """The id of the job that killed its process, as far as that can be told; ``ran`` are (id, suspect) of all in it.

    It is the only one, or the only one that had been suspected before (a suspect never runs beside another).
    """
    if len(ran) == 1:
        return ran[0][0]
    suspects = [job_id for job_id, suspect in ran if suspect]
    return suspects[0] if len(suspects) == 1 else None


def recover(one: Lost, *, guilty: bool, how: str, now: datetime) -> list[Move]:
    """The moves for one job of a dead worker; ``how`` says what is known of the death."""
    job = one.job
    strikes = job.strikes + 1 if guilty else job.strikes
    if job.status is Status.CANCELLING:
        return [_stopped(one, strikes, how, now)]
    first = transitions.interrupted(job, reason=how)
    return [first, *decide(one, strikes=strikes, how=how, now=now)]


def decide(one: Lost, *, strikes: int, how: str, now: datetime) -> list[Move]:
    """From interrupted to pending, to failed, or nothing where the task wants it held for a person."""
    job = replace(one.job, status=Status.INTERRUPTED)
    if strikes >= STRIKES:
        text = Message("job.killed-its-worker", strikes=strikes)
        return [_given_up(job, now, text, how, strikes)]
    if one.on_interrupt == "fail":
        return [_given_up(job, now, Message("job.worker-lost"), how, strikes)]
    if one.on_interrupt == "hold":
        return []
    return [transitions.requeued(job, now, reason=how, strikes=strikes)]


def shut_down(
    job: Subject, wanted: str, now: datetime, *, reason: str, counts: tuple[int, int, int] | None = None,
    actor: str = transitions.WORKER,
) -> Move:  # fmt: skip
    """The move for a job whose worker was shut down in order before its body had finished.

    Args:
        job: The job, running.
        wanted: Its option ``on_shutdown``: requeue, fail or hold.
        now: Time of the move.
        reason: What happened.
        counts: Its items by outcome.
        actor: Who writes the move.
    """
    if wanted == "hold":
        return transitions.held(job, reason=reason, actor=actor)
    if wanted == "requeue":
        return transitions.handed_back(job, now, reason=reason, actor=actor)
    failure = describe(WorkerShutDownError(Message("job.not-finished", reason=reason)))
    error, fingerprint = failure.to_json(), failure.fingerprint
    return transitions.unfinished(
        job, now, error=error, fingerprint=fingerprint, reason=reason, counts=counts, actor=actor
    )


def _given_up(job: Subject, now: datetime, text: Message, how: str, strikes: int) -> Move:
    failure = describe(WorkerLostError(Message("job.with-warning", text=text, warning=how)))
    return transitions.given_up(
        job, now, error=failure.to_json(), fingerprint=failure.fingerprint, reason=text.stored, strikes=strikes
    )


def _stopped(one: Lost, strikes: int, how: str, now: datetime) -> Move:
    """It had been asked to stop, and its worker died: that is a stop too, by the cause it was asked for."""
    job = one.job
    if job.stop_cause == StopCause.CANCEL:
        return transitions.stopped_by_cancel(job, now, note=how)
    failure = describe(WorkerLostError(Message("job.stopped-by-limit-and", cause=job.stop_cause, how=how)))
    again = one.policy is not None and one.policy.next_attempt_allowed(job.attempt, job.max_attempts)
    again = again and strikes < STRIKES
    delay = one.policy.delay(job.attempt, None)[0] if one.policy is not None and again else 0.0
    return transitions.stopped_by_limit(
        job,
        now,
        error=failure.to_json(),
        fingerprint=failure.fingerprint,
        retry_at=now + timedelta(seconds=delay) if again else None,
        reason=Message("job.limit", cause=job.stop_cause).stored,
        strikes=strikes,
    )
