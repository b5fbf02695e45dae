"""Answers, defaults and deadlines of questions: each in one transaction with the move of the job."""

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
from jobtrail.job.transitions import Subject
from jobtrail.messages import Message
from jobtrail.store import jobs, questions

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
    """Answer the open question of a job, else its last one, which then reports why it cannot be answered.

    Raises:
        NotFound: If the job has asked nothing (of that name).
        Conflict: As `answer` raises them.
        AnswerRefused: As `answer` raises it.
    """
    wanted = asked_by(store, job_id, question)
    return answer(store, wanted.id, value, actor=actor, reason=reason, **rest)


def asked_by(store: Store, job_id: str, question: str | None = None) -> QuestionRow:
    """The open question of a job, else its last one; ``question`` selects by name.

    Raises:
        NotFound: If the job has asked nothing (of that name).
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
    """The default of a question; None if there is no question or no default."""
    with store.read() as conn:
        row = questions.get(conn, question_id)
    return None if row is None or row.default is None else loads(row.default)


def answer(
    store: Store, question_id: str, value: Any, *, actor: str, reason: str | None = None, remember: bool | None = None
) -> QuestionRow:
    """Answer a question; its job is due then. The same answer again changes nothing and is not an error.

    ``remember`` overrides whether the answer is kept for the task and source.

    Raises:
        AnswerRefused: If the answer does not fit; ``errors`` has a sentence for each field, and the question stays open.
        AlreadyAnswered: If there is another answer; ``actor`` and ``at`` say whose.
        QuestionClosed: If its time is over or its job has ended.
        NotFound: If there is no such question.
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
        _move(conn, store, transitions.answered(Subject.of(job), now, actor=actor, question=row.name, reason=reason), now)
        return None

    refused = store.write(operation, key=question_id)
    if refused is not None:
        raise refused
    with store.read() as conn:
        return _question(conn, question_id)


def forget(store: Store, task: str, source: str | None, question: str | None) -> int:
    """Delete the remembered answers of a task and source; returns how many."""
    return int(store.write(lambda conn: questions.forget(conn, task, source, question)))


def _text(value: Any) -> str | None:
    """The answer as it is stored; None if it is not JSON, which `check_answer` reports."""
    try:
        return canonical(value)
    except (TypeError, ValueError):
        return None


def _question(conn: Connection, question_id: str) -> QuestionRow:
    row = questions.get(conn, question_id)
    if row is None:
        raise NotFound(Message("commands.no-question", question=question_id))
    return row


def refusal(row: QuestionRow, now: datetime) -> Exception | None:
    """Why a question can no longer be answered; None if it can."""
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
    """The question of a row."""
    return Question(row.name, row.text, row.kind, row.schema, row.detail, row.default, None, row.remember)


def _move(conn: Connection, store: Store, move: Move, now: datetime) -> None:
    """Write the move. The job's row is locked; if it has changed all the same, raise, so that nothing is written."""
    store.wake.need()
    if jobs.apply(conn, store.dialect, [move], now, wake=store.wake.need):
        raise IllegalMove(Message("commands.job-changed", job=move.job_id), move.job_id)


# -- deadlines -----------------------------------------------------------------------------------------


def expire(store: Store, *, limit: int = 200) -> int:
    """Close questions whose time is over: their jobs take the default or fail. Returns how many were closed."""
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
        _move(conn, store, transitions.default_taken(Subject.of(job), now, question=row.name), now)
        return 1
    failure = describe(
        TimeoutError(Message("commands.not-answered", name=row.name, at=f"{row.expires_at:%Y-%m-%d %H:%M:%S}"))
    )
    error, fingerprint = failure.to_json(), failure.fingerprint
    _move(
        conn,
        store,
        transitions.question_expired(Subject.of(job), now, question=row.name, error=error, fingerprint=fingerprint),
        now,
    )
    return 1
