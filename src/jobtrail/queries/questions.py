"""Questions as people see them: the open ones, one with its form, those of a job, and remembered answers."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from pydantic import Field

from jobtrail.errors import NotFound
from jobtrail.job.masking import MASK, is_secret, masked, spelled
from jobtrail.messages import Message, render
from jobtrail.store import jobs, questions

from .base import ID, FileName, MaskedText, Model, masked_text, parsed
from .form_schemas import folded

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from jobtrail.job.model import JobRow
    from jobtrail.store.questions import QuestionRow

    from .context import QueryContext


class QuestionLine(Model):
    """A question as a list shows it."""

    id: str = Field(examples=[ID])
    job: str = Field(examples=[ID])
    task: str
    source: MaskedText | None
    period: str | None
    file: FileName
    name: str = Field(examples=["columns"])
    text: MaskedText = Field(examples=["Which column means what?"])
    kind: str = Field(description="input or mapping")
    asked_at: datetime
    expires_at: datetime | None = Field(description="Until then it can be answered.")
    has_default: bool = Field(description="If nobody answers, its default is taken; else the job fails.")
    fields: int = Field(description="How many fields there are to fill.")
    proposed: int | None = Field(description="Of a mapping: for how many of them a column is proposed.")


class QuestionList(Model):
    """Open questions, the nearest deadline first."""

    questions: list[QuestionLine]
    count: int = Field(description="How many are open; the list may be shorter.")
    now: datetime


class MappingColumn(Model):
    """A column of the source, with a few of its values."""

    name: str
    samples: list[str]


class MappingTarget(Model):
    """A field that is wanted."""

    name: str
    type: str = Field(examples=["date"])
    title: str | None
    description: str | None
    required: bool


class MappingForm(Model):
    """What is there, what is wanted, and what is proposed: from the name of a target to that of a column."""

    columns: list[MappingColumn]
    targets: list[MappingTarget]
    proposal: dict[str, str | None]


class QuestionDetail(QuestionLine):
    """One question. The form follows ``form``; the check of an answer is the server's, by the schema it was asked with."""

    form: dict[str, Any] = Field(description="The JSON schema of the answer; what may be null is marked x-nullable.")
    mapping: MappingForm | None
    default: Any = Field(description="Taken when its time is over; secrets are masked, and may be sent back so.")
    remember: bool = Field(description="The answer is kept for the task and source.")
    state: str = Field(description="open, answered, defaulted, expired or closed")
    answer: Any = None
    actor: str | None = Field(description="Who answered or closed it.")
    reason: MaskedText | None
    closed_at: datetime | None


class JobQuestions(Model):
    """All questions of a job, oldest first."""

    questions: list[QuestionDetail]


class RememberedAnswer(Model):
    """An answer that is kept for a task and source, so that the question is not asked again."""

    task: str
    source: MaskedText | None
    name: str = Field(description="Of the question.", examples=["columns"])
    question: str = Field(description="The question that was answered.", examples=[ID])
    answer: Any = Field(description="Secrets are masked.")
    actor: str | None
    at: datetime


class RememberedAnswers(Model):
    """Remembered answers by task, source and name of the question."""

    remembered: list[RememberedAnswer]


def read_open(conn: Connection, now: datetime, *, limit: int = 100) -> QuestionList:
    """Read the open questions, the nearest deadline first, and count all of them."""
    found = questions.list_open(conn, limit=limit)
    count = len(found) if len(found) < limit else questions.count_open(conn)
    return QuestionList(questions=[QuestionLine(**_line(row, job)) for row, job in found], count=count, now=now)


def read_one(conn: Connection, context: QueryContext, question: str) -> QuestionDetail:
    """Read one question with its form.

    Raises:
        NotFound: if there is no such question.
    """
    row = questions.get(conn, question)
    job = None if row is None else jobs.get(conn, row.job_id)
    if row is None or job is None:
        raise NotFound(Message("commands.no-question", question=question))
    return detail(row, job, context.marked(job.task))


def read_of_job(conn: Connection, context: QueryContext, job_id: str) -> JobQuestions:
    """Read all questions of a job, oldest first.

    Raises:
        NotFound: if there is no such job.
    """
    job = jobs.get(conn, job_id)
    if job is None:
        raise NotFound(Message("commands.no-job", job=job_id))
    marked = context.marked(job.task)
    return JobQuestions(questions=[detail(row, job, marked) for row in questions.of_job(conn, job_id)])


def read_remembered(conn: Connection, context: QueryContext, *, limit: int = 200) -> RememberedAnswers:
    """Read the answers that are kept for a task and source."""
    return RememberedAnswers(
        remembered=[
            RememberedAnswer(
                task=row.task, source=row.source or None, name=row.name, question=row.question, actor=row.actor,
                answer=masked(parsed(row.answer), context.marked(row.task)), at=row.at,
            )
            for row in questions.list_remembered(conn, limit=limit)
        ]
    )  # fmt: skip


def detail(row: QuestionRow, job: JobRow | Any, marked: frozenset[str] = frozenset()) -> QuestionDetail:
    """One question from its row.

    Args:
        row: the question.
        job: its job, with task, source, period and file.
        marked: names that the task declares secret.
    """
    return QuestionDetail(
        **_line(row, job), form=spelled(folded(parsed(row.schema))), mapping=mapping_form(row, marked),
        default=masked(parsed(row.default), marked), remember=row.remember, state=row.state,
        answer=masked(parsed(row.answer), marked), actor=row.actor, reason=row.reason, closed_at=row.closed_at,
    )  # fmt: skip


def _line(row: QuestionRow, job: JobRow | Any) -> dict[str, Any]:
    about = parsed(row.detail) or {}
    proposal = about.get("proposal")
    proposed = None if proposal is None else sum(column is not None for column in proposal.values())
    schema = parsed(row.schema)
    number = len(about["targets"]) if "targets" in about else max(len(schema.get("properties", ())), 1)
    return {
        "id": row.id, "job": row.job_id, "task": job.task, "source": job.source, "period": job.period, "file": job.file,
        "name": row.name, "text": row.text, "kind": row.kind, "asked_at": row.asked_at, "expires_at": row.expires_at,
        "has_default": row.default is not None, "fields": number, "proposed": proposed,
    }  # fmt: skip


def mapping_form(row: QuestionRow, marked: frozenset[str]) -> MappingForm | None:
    """Columns, targets and proposal of a mapping; None for another question. Samples of secrets are masked."""
    about = spelled(parsed(row.detail))
    if not isinstance(about, dict) or "targets" not in about:
        return None
    known = MappingTarget.model_fields
    return MappingForm(
        columns=[MappingColumn(name=one["name"], samples=_samples(one, marked)) for one in about["columns"]],
        targets=[
            MappingTarget(**{name: one.get(name) for name in known} | {"type": render(one["type"])})
            for one in about["targets"]
        ],
        proposal=about.get("proposal") or {},
    )


def _samples(column: dict[str, Any], marked: frozenset[str]) -> list[str]:
    """A column that is named like a secret shows that it has values, not which."""
    samples = [str(masked_text(str(sample))) for sample in column.get("samples", ())]
    return [MASK] * len(samples) if is_secret(column["name"], marked) else samples
