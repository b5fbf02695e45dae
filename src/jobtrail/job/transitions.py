"""The table of states and moves: the one place that decides how a job may go from one state to another.

Every constructor below is one legal move; it fills exactly the columns that the move changes and says
which states it leaves and under which ``run_no``. Nothing here reads or writes: the store applies a
move with one guarded statement, and a move that finds another state or a newer run moves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from jobtrail.errors import IllegalMove
from jobtrail.messages import Message

from .items import failed_again
from .model import FINAL, OUTCOME_OF, WAITING_FOR_A_PERSON, Status, StopCause

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from .model import JobRow

S = Status
STOP_WITHIN = 60.0  # seconds from a request to stop until the end may be forced
FREE_HAND_BACKS = 100
WORKER, UPKEEP = "worker", "upkeep"

# name of the move -> (states it may leave, states it may reach)
TABLE: dict[str, tuple[tuple[Status, ...], tuple[Status, ...]]] = {
    "submitted": ((), (S.PENDING,)),
    "run_now": ((S.PENDING,), (S.PENDING,)),
    "released": ((S.PENDING,), (S.PENDING,)),
    "claimed": ((S.PENDING,), (S.RUNNING,)),
    "finished": ((S.RUNNING, S.CANCELLING), (S.COMPLETED, S.PARTIAL, S.FAILED)),
    "retry_planned": ((S.RUNNING,), (S.PENDING,)),
    "snoozed": ((S.RUNNING,), (S.PENDING,)),
    "put_back": ((S.RUNNING,), (S.PENDING,)),
    "asked": ((S.RUNNING,), WAITING_FOR_A_PERSON),
    "answered": (WAITING_FOR_A_PERSON, (S.PENDING,)),
    "default_taken": (WAITING_FOR_A_PERSON, (S.PENDING,)),
    "question_expired": (WAITING_FOR_A_PERSON, (S.FAILED,)),
    "cancelled": ((S.PENDING, *WAITING_FOR_A_PERSON, S.INTERRUPTED), (S.CANCELLED,)),
    "stop_requested": ((S.RUNNING,), (S.CANCELLING,)),
    "stopped": ((S.CANCELLING,), (S.CANCELLED, S.FAILED, S.PENDING)),  # also when its worker is dead
    "forced": ((S.CANCELLING,), (S.CANCELLED, S.FAILED)),
    "body_returned": ((S.CANCELLED, S.FAILED), (S.CANCELLED, S.FAILED)),
    "handed_back": ((S.RUNNING,), (S.PENDING,)),
    "held": ((S.RUNNING,), (S.INTERRUPTED,)),
    "interrupted": ((S.RUNNING,), (S.INTERRUPTED,)),
    "recovered": ((S.INTERRUPTED,), (S.PENDING, S.FAILED)),
    "retried": ((S.FAILED, S.PARTIAL, S.INTERRUPTED, S.CANCELLED), (S.PENDING,)),
}


@dataclass(frozen=True, slots=True)
class Move:
    """One change of state, ready to be written.

    ``values`` are the columns that change besides the status; ``keeps_unit`` is set where the unit stays
    taken although the state is final (a forced end whose body still runs). ``asks`` is the question that is
    stored with it, ``follow`` are the successors that the run declared; both as plain JSON values. ``about`` is
    what the job is counted under when it ends, as its subject knows it.
    """

    name: str
    job_id: str
    run_no: int
    leaves: tuple[Status, ...]
    to: Status
    values: Mapping[str, Any]
    actor: str = WORKER
    reason: str | None = None
    unit: str | None = None
    keeps_unit: bool = False
    detail: Mapping[str, Any] | None = None
    asks: Mapping[str, Any] | None = None
    follow: tuple[Mapping[str, Any], ...] = ()
    about: tuple[str, str, str | None, datetime, datetime] | None = None

    @property
    def settles(self) -> bool:
        """The job has ended with this move (and what waits for it may go)."""
        return self.to in FINAL and self.name != "body_returned"

    @property
    def frees_unit(self) -> bool:
        """Another job of the unit may start after this move."""
        return self.unit is not None and self.to in FINAL and not self.keeps_unit


@dataclass(frozen=True, slots=True)
class Subject:
    """The job that a move is about: its id, its token, and what the moves need to know of it.

    ``about`` is its task, queue and source, since when it was due, and when it started.
    """

    id: str
    run_no: int
    attempt: int = 0
    status: Status = S.RUNNING
    unit: str | None = None
    max_attempts: int | None = 1
    stop_cause: str | None = None
    stop_noticed: bool = False
    started_at: datetime | None = None
    worker: str | None = None
    hand_backs: int = 0
    put_backs: int = 0
    strikes: int = 0
    suspect: bool = False
    about: tuple[str, str, str | None, datetime, datetime] | None = None

    @classmethod
    def of(cls, row: JobRow) -> Subject:
        """The job of a row that was read."""
        return cls(
            id=row.id,
            run_no=row.run_no,
            attempt=row.attempt,
            status=row.status,
            unit=row.unit,
            max_attempts=row.max_attempts,
            stop_cause=row.stop_cause,
            started_at=row.started_at,
            worker=row.worker,
            hand_backs=row.hand_backs,
            put_backs=row.put_backs,
            strikes=row.strikes,
            suspect=row.suspect,
        )


def check_legal(name: str, leaves: Iterable[Status], to: Status) -> None:
    """Raise `IllegalMove` when the table does not know this change."""
    sources, targets = TABLE[name]
    wrong = [state for state in leaves if state not in sources]
    if wrong or to not in targets:
        start = ", ".join(wrong) or ", ".join(leaves)
        allowed = ", ".join(sources) or "nothing"
        message = Message(
            "job.illegal-move", name=name, allowed=allowed, targets=", ".join(targets), start=start, to=to
        )
        raise IllegalMove(message)


def _move(name: str, job: Subject, to: Status, values: Mapping[str, Any], **rest: Any) -> Move:
    leaves = rest.pop("leaves", None) or (job.status,)
    check_legal(name, leaves, to)
    return Move(name, job.id, job.run_no, leaves, to, values, unit=job.unit, about=job.about, **rest)


# -- while it waits ----------------------------------------------------------------------------------


def run_now(job: Subject, now: datetime, *, actor: str, reason: str | None = None) -> Move:
    """A pending job that waits for its time is due at once."""
    return _move("run_now", job, S.PENDING, {"run_at": now}, actor=actor, reason=reason)


def released(job: Subject, now: datetime, *, after: str) -> Move:
    """What the job waited for has ended: it is due, and takes the unit over."""
    values = {"run_at": now, "waits_for": None, "unit_lock": job.unit}
    return _move("released", job, S.PENDING, values, actor=UPKEEP, detail={"after": after})


def cancelled(job: Subject, now: datetime, *, actor: str, reason: str | None = None) -> Move:
    """Nothing runs, so the job ends at once."""
    values = {"finished_at": now, "outcome": None, "stop_cause": StopCause.CANCEL.value, "run_at": None}
    return _move("cancelled", job, S.CANCELLED, values, actor=actor, reason=reason)


# -- the end of a run --------------------------------------------------------------------------------


def finished(
    job: Subject,
    now: datetime,
    to: Status,
    *,
    result: str | None = None,
    note: str | None = None,
    error: str | None = None,
    fingerprint: str | None = None,
    counts: tuple[int, int, int] | None = None,
    reason: str | None = None,
) -> Move:
    """The body has ended and its outcome counts, also where it was asked to stop meanwhile."""
    values: dict[str, Any] = {
        "outcome": OUTCOME_OF[to].value,
        "finished_at": now,
        "result": result,
        "note": note,
        "error": error,
        "fingerprint": fingerprint,
        **_counted(counts),
    }
    detail = None if to is S.COMPLETED else _run_detail(job)
    return _move("finished", job, to, values, leaves=(S.RUNNING, S.CANCELLING), reason=reason, detail=detail)


def retry_planned(
    job: Subject,
    run_at: datetime,
    *,
    reason: str,
    error: str | None = None,
    fingerprint: str | None = None,
    failed_too: bool = False,
    never: Iterable[tuple[str, str]] = (),
) -> Move:
    """This attempt failed, another follows at ``run_at``; with ``failed_too`` it is given failed items again, not ``never``."""
    values = {
        "run_at": run_at,
        "error": error,
        "fingerprint": fingerprint,
        "retry_reason": reason,
        "suspect": False,
    }
    if failed_too:
        values["continues"] = failed_again(job.run_no, never)
    detail = {**_run_detail(job), "run_at": run_at.isoformat(), "error": error}
    return _move("retry_planned", job, S.PENDING, values, reason=reason, detail=detail)


def snoozed(job: Subject, run_at: datetime, *, reason: str | None) -> Move:
    """The body asked to be run later; the run is not charged."""
    values = {
        "run_at": run_at,
        "attempt": job.attempt - 1,
        "retry_reason": reason,
        "suspect": False,
    }
    detail = {**_run_detail(job), "run_at": run_at.isoformat()}
    return _move("snoozed", job, S.PENDING, values, reason=reason, detail=detail)


def put_back(job: Subject, run_at: datetime, *, reason: str) -> Move:
    """This worker does not know the task; another may. Not charged, and bounded by the caller."""
    values = {"run_at": run_at, "attempt": job.attempt - 1, "put_backs": job.put_backs + 1, "retry_reason": reason}
    return _move("put_back", job, S.PENDING, values, reason=reason, detail=_run_detail(job))


def handed_back(job: Subject, run_at: datetime, *, reason: str, actor: str = WORKER) -> Move:
    """The run ended through no fault of the job: not charged (the first hundred times), the trail says why."""
    values = {
        "run_at": run_at,
        "attempt": job.attempt - 1 if job.hand_backs < FREE_HAND_BACKS else job.attempt,
        "hand_backs": job.hand_backs + 1,
        "retry_reason": reason,
    }
    return _move("handed_back", job, S.PENDING, values, actor=actor, reason=reason, detail=_run_detail(job))


def held(job: Subject, *, reason: str, actor: str = WORKER) -> Move:
    """Its worker was shut down before the body had finished, and a person decides; not charged.

    It is no suspect, which is how upkeep tells it from a job whose worker died.
    """
    values = {"attempt": job.attempt - 1, "suspect": False, "retry_reason": reason}
    return _move("held", job, S.INTERRUPTED, values, actor=actor, reason=reason, detail=_run_detail(job))


def unfinished(
    job: Subject, now: datetime, *, error: str, fingerprint: str, reason: str,
    counts: tuple[int, int, int] | None = None, actor: str = WORKER,
) -> Move:  # fmt: skip
    """Its worker was shut down before the body had finished, and the task does not want it to run again."""
    ended = {"outcome": "error", "finished_at": now, "error": error, "fingerprint": fingerprint, **_counted(counts)}
    return _move("finished", job, S.FAILED, ended, actor=actor, reason=reason, detail=_run_detail(job))


# -- a person is asked -------------------------------------------------------------------------------


def asked(job: Subject, question: Mapping[str, Any]) -> Move:
    """The job waits for a person and holds no slot; ``question`` has the fields of `jobtrail.job.questions.question.Question`."""
    to = S.AWAITING_MAPPING if question["kind"] == "mapping" else S.AWAITING_INPUT
    values = {"run_at": None, "attempt": job.attempt - 1, "suspect": False}
    name = question["name"]
    return _move("asked", job, to, values, reason=name, detail={**_run_detail(job), "question": name}, asks=question)


def answered(job: Subject, now: datetime, *, actor: str, question: str, reason: str | None = None) -> Move:
    """A person has answered: the job may run again."""
    return _move("answered", job, S.PENDING, {"run_at": now}, actor=actor, reason=reason, detail={"question": question})


def default_taken(job: Subject, now: datetime, *, question: str) -> Move:
    """Nobody answered in time and the question has a default."""
    return _move("default_taken", job, S.PENDING, {"run_at": now}, actor=UPKEEP, detail={"question": question})


def question_expired(job: Subject, now: datetime, *, question: str, error: str, fingerprint: str) -> Move:
    """Nobody answered in time and there is no default."""
    values = {"outcome": "error", "finished_at": now, "error": error, "fingerprint": fingerprint}
    reason = Message("job.not-answered", question=question).stored
    return _move("question_expired", job, S.FAILED, values, actor=UPKEEP, reason=reason, detail={"question": question})


# -- stopping ----------------------------------------------------------------------------------------


def stop_requested(
    job: Subject, now: datetime, *, cause: StopCause, actor: str, reason: str | None = None
) -> Move:
    """A running body is asked to stop; after `STOP_WITHIN` seconds the end may be forced."""
    values = {"stop_cause": cause.value, "stop_at": now + timedelta(seconds=STOP_WITHIN)}
    return _move("stop_requested", job, S.CANCELLING, values, actor=actor, reason=reason, detail={"cause": cause.value})


def stopped_by_cancel(
    job: Subject, now: datetime, *, result: str | None = None, note: str | None = None,
    counts: tuple[int, int, int] | None = None,
) -> Move:  # fmt: skip
    """The body stopped because of a cancel; a value that it still returned is kept."""
    values = {"outcome": None, "finished_at": now, "result": result, "note": note, **_counted(counts)}
    return _move("stopped", job, S.CANCELLED, values, leaves=(S.CANCELLING,), detail=_run_detail(job))


def stopped_by_limit(
    job: Subject,
    now: datetime,
    *,
    error: str,
    fingerprint: str | None,
    retry_at: datetime | None,
    reason: str,
    strikes: int | None = None,
    counts: tuple[int, int, int] | None = None,
) -> Move:
    """The body stopped because of a timeout or a stall: another attempt, or the end.

    ``strikes`` is given where its worker died meanwhile: then the job is a suspect.
    """
    detail = {**_run_detail(job), "error": error}
    if retry_at is None:
        ended = {"outcome": "error", "finished_at": now, "error": error, "fingerprint": fingerprint, **_counted(counts)}
        return _move("stopped", job, S.FAILED, ended, leaves=(S.CANCELLING,), reason=reason, detail=detail)
    values = {
        "run_at": retry_at,
        "error": error,
        "fingerprint": fingerprint,
        "retry_reason": reason,
        "stop_cause": None,
        "stop_at": None,
        "suspect": strikes is not None,
    }
    if strikes is not None:
        values["strikes"] = strikes
    detail["run_at"] = retry_at.isoformat()
    return _move("stopped", job, S.PENDING, values, leaves=(S.CANCELLING,), reason=reason, detail=detail)


def forced(job: Subject, now: datetime, *, actor: str, error: str | None = None, reason: str | None = None) -> Move:
    """The end is written although the body still runs; the unit stays taken until it has returned."""
    cancel = job.stop_cause == StopCause.CANCEL
    to = S.CANCELLED if cancel else S.FAILED
    values = {"outcome": None if cancel else "error", "finished_at": now, "error": error, "body_running": True}
    return _move("forced", job, to, values, leaves=(S.CANCELLING,), actor=actor, reason=reason, keeps_unit=True)


def body_returned(job: Subject, *, actor: str = WORKER, reason: str | None = None) -> Move:
    """The body of a forced end has really ended, or its process has: the unit is free."""
    values = {"body_running": False}
    return _move("body_returned", job, job.status, values, actor=actor, reason=reason, detail=_run_detail(job))


# -- recovery ----------------------------------------------------------------------------------------


def interrupted(job: Subject, *, reason: str) -> Move:
    """The worker that held the job is dead; the job is a suspect until it has ended in order."""
    return _move(
        "interrupted", job, S.INTERRUPTED, {"suspect": True}, actor=UPKEEP, reason=reason, detail=_run_detail(job)
    )


def requeued(job: Subject, now: datetime, *, reason: str, strikes: int) -> Move:
    """After an interruption it runs again. The lost attempt counts; the limit makes room for one more."""
    limit = None if job.max_attempts is None else max(job.max_attempts, job.attempt + 1)
    values = {
        "run_at": now,
        "strikes": strikes,
        "max_attempts": limit,
        "retry_reason": reason,
    }
    return _move("recovered", job, S.PENDING, values, actor=UPKEEP, reason=reason, leaves=(S.INTERRUPTED,))


def given_up(job: Subject, now: datetime, *, error: str, fingerprint: str, reason: str, strikes: int) -> Move:
    """After an interruption it is not run again."""
    values = {"outcome": "error", "finished_at": now, "error": error, "fingerprint": fingerprint, "strikes": strikes}
    return _move("recovered", job, S.FAILED, values, actor=UPKEEP, reason=reason, leaves=(S.INTERRUPTED,))


def retried(job: Subject, now: datetime, *, actor: str, reason: str | None = None) -> Move:
    """The same job once more: one attempt is added, failed items are given again."""
    values = {
        "run_at": now,
        "unit_lock": job.unit,
        "outcome": None,
        "finished_at": None,
        "stop_cause": None,
        "stop_at": None,
        "suspect": False,
        "strikes": 0,
        "retry_reason": reason or Message("job.retried").stored,
        **dict.fromkeys(("items_ok", "items_failed", "items_skipped")),
        "continues": failed_again(job.run_no),
        "max_attempts": None if job.max_attempts is None else max(job.max_attempts, job.attempt + 1),
    }
    return _move("retried", job, S.PENDING, values, actor=actor, reason=reason)


def _counted(counts: tuple[int, int, int] | None) -> dict[str, int]:
    """How many items ended how; what comes later to the same ledger is not this job's."""
    return {} if counts is None else dict(zip(("items_ok", "items_failed", "items_skipped"), counts, strict=True))


def _run_detail(job: Subject) -> dict[str, Any]:
    detail: dict[str, Any] = {"attempt": job.attempt}
    if job.started_at is not None:
        detail["started_at"] = job.started_at.isoformat()
    if job.worker is not None:
        detail["worker"] = job.worker
    return detail
