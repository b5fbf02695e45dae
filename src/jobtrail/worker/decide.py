"""Decide the end of a run: from the outcome of its body to the one value that is written. No I/O."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from jobtrail.job import outcome as outcomes
from jobtrail.job.retry import Retry
from jobtrail.job.transitions import Subject
from jobtrail.messages import Message
from jobtrail.recovery.run_end import RunEnd

from .understand import ledger_of

if TYPE_CHECKING:
    from datetime import datetime

    from jobtrail.job.model import Claim
    from jobtrail.job.outcome import BodyOutcome
    from jobtrail.job.transitions import Move
    from jobtrail.runtime.stop import Stop
    from jobtrail.store.runs import Records

    from .run import Run

NO_RETRY = Retry()


def subject_of(claim: Claim, worker: str, stop: Stop | None = None) -> Subject:
    """The job of a claim, as the transitions need it."""
    due, started = claim.due_at, claim.started_at
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
        about=None if due is None else (claim.task, claim.queue, claim.source, due, started),
    )


def decide(
    run: Run, outcome: BodyOutcome, worker: str, now: datetime, *, records: Records | None, body_over: bool = True
) -> RunEnd:
    """Decide the end of a run.

    Args:
        run: the run; its items, its notes and the successors that it declared belong to its end.
        outcome: what `understand` made of the end of its body.
        worker: the id of this worker.
        now: the store's time, UTC.
        records: what the run reported last.
        body_over: whether the body has returned; False where it is handed back because it cannot be stopped. Then
            only the move for a running job is decided: any other is left to those who see the body end.

    """
    claim = run.claim
    ledger = ledger_of(run)
    subject = subject_of(claim, worker, run.stop)
    move = outcomes.decide(subject, outcome, ledger, run.policy, now)
    instead = outcomes.decide_instead(move, subject, outcome, ledger, run.policy, now) if body_over else {}
    successors = _successors_of(run)
    if run.hook_note or successors:
        move = _completed(move, run.hook_note, successors)
        instead = {cause: _completed(one, run.hook_note, successors) for cause, one in instead.items()}
    counts = ledger.counts
    combined = (counts.ok, counts.failed, counts.skipped) if ledger.has_items else None
    return RunEnd(
        move,
        records,
        (claim.ledger, combined) if claim.unit else None,
        instead,
        body_over=body_over,
        suspect=claim.suspect,
    )


def decide_without_run(claim: Claim, outcome: BodyOutcome, worker: str, now: datetime) -> RunEnd:
    """Decide the end of a claim whose body never began."""
    subject = subject_of(claim, worker)
    move = outcomes.decide(subject, outcome, outcomes.NO_ITEMS, NO_RETRY, now)
    instead = outcomes.decide_instead(move, subject, outcome, outcomes.NO_ITEMS, NO_RETRY, now)
    return RunEnd(move, instead=instead, suspect=claim.suspect)


def _successors_of(run: Run) -> tuple[dict[str, Any], ...]:
    if run.report is not None:
        return run.report.successors
    return tuple(one.to_plain() for one in run.ctx._next) if run.ctx is not None and run.ctx._next else ()


def _completed(move: Move, note: str | None, successors: tuple[dict[str, Any], ...]) -> Move:
    """A move with what the run adds to it: a note of its hooks, and the successors where the job has ended."""
    if note and "note" in move.values:
        old = move.values["note"]
        move = replace(
            move, values={**move.values, "note": Message("job.both", first=old, second=note).stored if old else note}
        )
    return replace(move, follow=successors) if successors and move.settles else move
