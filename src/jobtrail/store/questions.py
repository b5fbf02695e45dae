"""Questions: what a job asks a person, and what was answered. A job has at most one open question."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select, text, update

from jobtrail.database.tables import jobs, questions, remembered
from jobtrail.job.model import new_id

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.database.dialects import Dialect
    from jobtrail.job.transitions import Move

OPEN, ANSWERED, DEFAULTED, EXPIRED, CLOSED = "open", "answered", "defaulted", "expired", "closed"
STATES = (OPEN, ANSWERED, DEFAULTED, EXPIRED, CLOSED)
_IS_OPEN = text("jobtrail_questions.state = 'open'")  # as the partial indexes have it
_HAS_DEADLINE = text("jobtrail_questions.expires_at IS NOT NULL")
_COLUMNS = (
    "id", "job_id", "generation", "run_no", "name", "text", "kind", "schema", "detail", "digest", "default",
    "remember", "state", "asked_at", "expires_at",
)  # fmt: skip
_AGAIN = (
    "ON CONFLICT (task, source, name) DO UPDATE SET digest = excluded.digest, answer = excluded.answer, "
    "actor = excluded.actor, question = excluded.question, at = excluded.at"
)


@dataclass(frozen=True, slots=True)
class QuestionRow:
    """A question as it was read; schema, detail, default and answer are JSON text, times in UTC."""

    id: str
    job_id: str
    generation: str
    run_no: int
    name: str
    text: str
    kind: str
    schema: str
    detail: str | None
    digest: str
    default: str | None
    remember: bool
    state: str
    asked_at: datetime
    expires_at: datetime | None
    answer: str | None
    closed_at: datetime | None
    actor: str | None
    reason: str | None


_ROW = [questions.c[f.name] for f in fields(QuestionRow)]


def ask(conn: Connection, dialect: Dialect, moves: Sequence[Move], now: datetime) -> None:
    """Store the questions of jobs that were just moved, in the same transaction."""
    rows = []
    for move in moves:
        asks = move.asks or {}
        expires = None if asks["expires"] is None else now + timedelta(seconds=asks["expires"])
        rows.append(
            (
                new_id(), move.job_id, asks["generation"], move.run_no, asks["name"], asks["text"], asks["kind"],
                asks["schema"], asks["detail"], asks["digest"], asks["default"], asks["remember"], OPEN, now, expires,
            )
        )  # fmt: skip
    dialect.insert_many(conn, questions, _COLUMNS, rows)


def close_of_jobs(conn: Connection, job_ids: Sequence[str], now: datetime, *, actor: str, reason: str) -> None:
    """Their jobs have ended: nobody waits for an answer any more."""
    mine = (questions.c.job_id.in_(list(job_ids)), _IS_OPEN)
    conn.execute(update(questions).where(*mine).values(state=CLOSED, closed_at=now, actor=actor, reason=reason))


def close(conn: Connection, question: str, now: datetime, **values: Any) -> bool:
    """Compare and set: from open to ``state`` with what else is known; False when it was not open any more."""
    mine = update(questions).where(questions.c.id == question, _IS_OPEN)
    return conn.execute(mine.values(closed_at=now, **values)).rowcount == 1


def remember(conn: Connection, dialect: Dialect, question: QuestionRow, answer: str, actor: str, now: datetime) -> None:
    """Keep the answer for the task and source of the question's job."""
    place = conn.execute(select(jobs.c.task, jobs.c.source).where(jobs.c.id == question.job_id)).one()
    row = (place.task, place.source or "", question.name, question.digest, answer, actor, question.id, now)
    names = ("task", "source", "name", "digest", "answer", "actor", "question", "at")
    dialect.insert_many(conn, remembered, names, [row], _AGAIN)


def forget(conn: Connection, task: str, source: str | None, name: str | None = None) -> int:
    """Remove what was remembered for a task and source; how many answers."""
    mine = remembered.delete().where(remembered.c.task == task, remembered.c.source == (source or ""))
    return conn.execute(mine if name is None else mine.where(remembered.c.name == name)).rowcount


def answer_for(conn: Connection, generation: str, name: str, digest: str) -> str | None:
    """The answer that was given to this question in this telling (or its default, where that was taken)."""
    given: str | None = conn.execute(
        select(questions.c.answer)
        .where(
            questions.c.generation == generation,
            questions.c.name == name,
            questions.c.digest == digest,
            questions.c.state.in_((ANSWERED, DEFAULTED)),
        )
        .order_by(questions.c.id.desc())
        .limit(1)
    ).scalar()
    return given


def remembered_for(conn: Connection, task: str, source: str | None, name: str, digest: str) -> tuple[str, str] | None:
    """(answer, question) that is remembered for a source, if the question is still the same one."""
    row = conn.execute(
        select(remembered.c.answer, remembered.c.question).where(
            remembered.c.task == task,
            remembered.c.source == (source or ""),
            remembered.c.name == name,
            remembered.c.digest == digest,
        )
    ).first()
    return None if row is None else (row.answer, row.question)


def list_remembered(conn: Connection, *, limit: int = 200) -> list[Any]:
    """What is remembered, by task, source and name of the question: with answer, actor, question and at."""
    query = select(remembered).order_by(remembered.c.task, remembered.c.source, remembered.c.name).limit(limit)
    return list(conn.execute(query))


# -- reading -----------------------------------------------------------------------------------------


def get(conn: Connection, question: str) -> QuestionRow | None:
    """One question by its id."""
    row = conn.execute(select(*_ROW).where(questions.c.id == question)).first()
    return None if row is None else QuestionRow(*row)


def of_job(conn: Connection, job_id: str) -> list[QuestionRow]:
    """All that a job has asked, oldest first."""
    found = conn.execute(select(*_ROW).where(questions.c.job_id == job_id).order_by(questions.c.id))
    return [QuestionRow(*row) for row in found]


def ending_with(conn: Connection, ending: str, *, limit: int = 3) -> list[str]:
    """Ids of open questions that end with these characters."""
    found = conn.execute(select(questions.c.id).where(_IS_OPEN)).scalars()
    return [str(one) for one in found if str(one).endswith(ending)][:limit]


def list_open(conn: Connection, *, limit: int = 200) -> list[tuple[QuestionRow, Any]]:
    """Open questions with task, source, period and file of their jobs, the nearest deadline first."""
    about = (jobs.c.task, jobs.c.source, jobs.c.period, jobs.c.file)
    found = conn.execute(
        select(*_ROW, *about)
        .join(jobs, jobs.c.id == questions.c.job_id)
        .where(_IS_OPEN)
        .order_by(questions.c.expires_at.is_(None), questions.c.expires_at, questions.c.id)
        .limit(limit)
    )
    return [(QuestionRow(*row[: len(_ROW)]), row) for row in found]


def count_open(conn: Connection) -> int:
    """How many wait for an answer."""
    return int(conn.execute(select(func.count()).select_from(questions).where(_IS_OPEN)).scalar_one())


def over_their_time(conn: Connection, now: datetime, *, limit: int = 200) -> list[QuestionRow]:
    """Open questions whose deadline has passed, oldest deadline first."""
    query = select(*_ROW).where(_IS_OPEN, _HAS_DEADLINE, questions.c.expires_at <= now)
    return [QuestionRow(*row) for row in conn.execute(query.order_by(questions.c.expires_at).limit(limit))]
