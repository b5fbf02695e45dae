"""Questions answered by a person, taken by their default, expired: each in one transaction with the move of the job."""

from __future__ import annotations

from functools import partial
from json import loads
from typing import TYPE_CHECKING, Any

from jobtrail.errors import AlreadyAnswered, AnswerRefused, IllegalMove, NotFound, QuestionClosed
from jobtrail.job import transitions
from jobtrail.job.failure import describe
from jobtrail.job.json_value import canonical
from jobtrail.job.model import WAITING_FOR_A_PERSON
from jobtrail.job.questions.question import Question, check_answer
from jobtrail.messages import Message
from jobtrail.store import jobs, questions

from .rerun import subject

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.job.transitions import Move
    from jobtrail.store import Store
    from jobtrail.store.questions import QuestionRow

_GONE = {
    questions.EXPIRED: Message("commands.question-expired"),
    questions.DEFAULTED: Message("commands.question-defaulted"),
}


def answer_job(
    store: Store,
    job_id: str,
    value: Any,
    *,
    question: str | None = None,
    actor: str,
    reason: str | None = None,
    **rest: Any,
) -> QuestionRow:
    """Answer what a job asks: its open question, or its last one, which then says why it cannot be answered.

    Raises: NotFound when it has asked nothing (of that name); and what `answer` raises.
    """
    wanted = asked_by(store, job_id, question)
    return answer(store, wanted.id, value, actor=actor, reason=reason, **rest)


def asked_by(store: Store, job_id: str, question: str | None = None) -> QuestionRow:
    """What a job asks now, else what it asked last; ``question`` is the name of the one that is meant.

    Raises: NotFound when it has asked nothing (of that name).
    """
    with store.read() as conn:
        asked = [one for one in questions.of_job(conn, job_id) if question in (None, one.name)]
    if not asked:
        what = (
            Message("commands.asked-nothing", job=job_id)
            if question is None
            else Message("commands.not-asked", question=question, job=job_id)
        )
        raise NotFound(what)
    return next((one for one in asked if one.state == questions.OPEN), asked[-1])


def default_of(store: Store, question_id: str) -> Any:
    """The default of a question as a value; None where there is no question or no default."""
    with store.read() as conn:
        row = questions.get(conn, question_id)
    return None if row is None or row.default is None else loads(row.default)


def answer(
    store: Store, question_id: str, value: Any, *, actor: str, reason: str | None = None, remember: bool | None = None
) -> QuestionRow:
    """Answer a question; its job is due then. The same answer once more changes nothing and is no error.

    ``remember`` overrides what the question says about keeping the answer for its task and source.

    Raises: AnswerRefused with ``errors`` by field (the question stays open); AlreadyAnswered with who and when;
    QuestionClosed when its time is over or its job has ended; NotFound.
    """

    def operation(conn: Connection) -> Exception | None:
        before = _question(conn, question_id)
        job = jobs.get(conn, before.job_id, lock=True)
        row = _question(conn, question_id)  # once more: it may have changed before the lock was ours
        now = store.now()
        if row.state == questions.ANSWERED and row.answer == _text(value):
            return None
        refused = refusal(row, now)
        if refused is None and (job is None or job.status not in WAITING_FOR_A_PERSON):
            refused = QuestionClosed(Message("commands.not-waiting", job=row.job_id), row.job_id)
        if refused is not None or job is None:
            return refused
        if wrong := check_answer(question_of(row), value):
            return AnswerRefused(wrong)
        text = canonical(value)
        closed = {"state": questions.ANSWERED, "answer": text, "actor": actor, "reason": reason}
        if not questions.close(conn, row.id, now, **closed):
            return QuestionClosed(Message("commands.question-changed", name=row.name), row.job_id)
        if row.remember if remember is None else remember:
            questions.remember(conn, store.dialect, row, text, actor, now)
        _move(conn, store, transitions.answered(subject(job), now, actor=actor, question=row.name, reason=reason), now)
        return None

    refused = store.write(operation, key=question_id)
    if refused is not None:
        raise refused
    with store.read() as conn:
        return _question(conn, question_id)


def forget(store: Store, task: str, source: str | None, question: str | None) -> int:
    """What was remembered for a task and source is asked again; how many answers."""
    return int(store.write(lambda conn: questions.forget(conn, task, source, question)))


def _text(value: Any) -> str | None:
    """The answer as it is kept; None where it is no JSON, which `check_answer` tells."""
    try:
        return canonical(value)
    except (TypeError, ValueError):
        return None


def _question(conn: Connection, question_id: str) -> QuestionRow:
    row = questions.get(conn, question_id)
    if row is None:
        message = Message("commands.no-question", question=question_id)
        raise NotFound(message)
    return row


def refusal(row: QuestionRow, now: datetime) -> Exception | None:
    """Why it cannot be answered any more; None where it can."""
    if row.state == questions.ANSWERED:
        message = Message(
            "commands.already-answered", name=row.name, actor=row.actor, at=f"{row.closed_at:%Y-%m-%d %H:%M:%S}"
        )
        return AlreadyAnswered(message, row.job_id, actor=row.actor, at=row.closed_at)
    if row.state != questions.OPEN:
        why = _GONE.get(row.state) or row.reason or Message("commands.job-ended").stored
        return QuestionClosed(Message("commands.question-closed", name=row.name, why=why), row.job_id)
    if row.expires_at is not None and row.expires_at <= now:
        message = Message("commands.question-late", name=row.name, at=f"{row.expires_at:%Y-%m-%d %H:%M:%S}")
        return QuestionClosed(message, row.job_id)
    return None


def question_of(row: QuestionRow) -> Question:
    """What was asked, as the rules see it."""
    return Question(row.name, row.text, row.kind, row.schema, row.detail, row.default, None, row.remember)


def _move(conn: Connection, store: Store, move: Move, now: datetime) -> None:
    """With the job's row held it cannot have changed; if it has, nothing of this may stay."""
    store.wake.need()
    if jobs.apply(conn, store.dialect, [move], now, wake=store.wake.need):
        message = Message("commands.job-changed", job=move.job_id)
        raise IllegalMove(message, move.job_id)


# -- deadlines -----------------------------------------------------------------------------------------


def expire(store: Store, *, limit: int = 200) -> int:
    """Close questions whose time is over: their jobs take the default or fail. One turn of upkeep; how many."""
    with store.read() as conn:
        late = questions.over_their_time(conn, store.now(), limit=limit)
    return sum(store.write(partial(_expire, store, row), key=row.id) for row in late)


def _expire(store: Store, row: QuestionRow, conn: Connection) -> int:
    job, now = jobs.get(conn, row.job_id, lock=True), store.now()
    state = questions.EXPIRED if row.default is None else questions.DEFAULTED
    reason = Message("commands.question-expired").stored
    values = {"state": state, "answer": row.default, "actor": transitions.UPKEEP, "reason": reason}
    if not questions.close(conn, row.id, now, **values) or job is None or job.status not in WAITING_FOR_A_PERSON:
        return 0
    if row.default is not None:
        _move(conn, store, transitions.default_taken(subject(job), now, question=row.name), now)
        return 1
    failure = describe(
        TimeoutError(Message("commands.not-answered", name=row.name, at=f"{row.expires_at:%Y-%m-%d %H:%M:%S}"))
    )
    error, fingerprint = failure.to_json(), failure.fingerprint
    _move(
        conn,
        store,
        transitions.question_expired(subject(job), now, question=row.name, error=error, fingerprint=fingerprint),
        now,
    )
    return 1
