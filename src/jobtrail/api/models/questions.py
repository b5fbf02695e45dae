"""What is answered about questions: the inbox, and one question as a form or a mapping editor needs it."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from pydantic import Field

from jobtrail.api.forms import folded
from jobtrail.job.masking import MASK, is_secret, masked, spelled
from jobtrail.queries.base import ID, Model, masked_file_name, masked_text, parsed

if TYPE_CHECKING:
    from jobtrail.job.model import JobRow
    from jobtrail.store.questions import QuestionRow


class QuestionLine(Model):
    """A question as the inbox shows it."""

    id: str = Field(examples=[ID])
    job: str = Field(examples=[ID])
    task: str
    source: str | None
    period: str | None
    file: str | None
    name: str = Field(examples=["columns"])
    text: str = Field(examples=["Which column means what?"])
    kind: str = Field(description="input or mapping")
    asked_at: datetime
    expires_at: datetime | None = Field(description="Until then it can be answered.")
    has_default: bool = Field(description="If nobody answers, its default is taken; else the job fails.")
    fields: int = Field(description="How many fields there are to fill.")
    proposed: int | None = Field(description="Of a mapping: for how many of them a column is proposed.")


class Inbox(Model):
    """Open questions, the nearest deadline first."""

    questions: list[QuestionLine]
    count: int = Field(description="How many are open; the list may be shorter.")
    now: datetime


class Column(Model):
    """A column of the source, with a few of its values."""

    name: str
    samples: list[str]


class Target(Model):
    """A field that is wanted."""

    name: str
    type: str = Field(examples=["date"])
    title: str | None
    description: str | None
    required: bool


class MappingEditor(Model):
    """What is there, what is wanted, and what is proposed: from the name of a target to that of a column."""

    columns: list[Column]
    targets: list[Target]
    proposal: dict[str, str | None]


class Question(QuestionLine):
    """One question. The form follows ``form``; the check of an answer is the server's, by the schema it was asked with."""

    form: dict[str, Any] = Field(description="The JSON schema of the answer; what may be null is marked x-nullable.")
    mapping: MappingEditor | None
    default: Any = Field(description="Taken when its time is over; secrets are masked, and may be sent back so.")
    remember: bool = Field(description="The answer is kept for the task and source.")
    state: str = Field(description="open, answered, defaulted, expired or closed")
    answer: Any = None
    actor: str | None = Field(description="Who answered or closed it.")
    reason: str | None
    closed_at: datetime | None


def line(row: QuestionRow, job: JobRow | Any) -> QuestionLine:
    """A line of the inbox; ``job`` has task, source, period and file."""
    return QuestionLine(**_line(row, job))


def _line(row: QuestionRow, job: JobRow | Any) -> dict[str, Any]:
    detail = parsed(row.detail) or {}
    proposal = detail.get("proposal")
    proposed = None if proposal is None else sum(column is not None for column in proposal.values())
    schema = parsed(row.schema)
    number = len(detail["targets"]) if "targets" in detail else max(len(schema.get("properties", ())), 1)
    return {
        "id": row.id, "job": row.job_id, "task": job.task, "source": masked_text(job.source), "period": job.period,
        "file": masked_file_name(job.file), "name": row.name, "text": masked_text(row.text), "kind": row.kind,
        "asked_at": row.asked_at, "expires_at": row.expires_at, "has_default": row.default is not None,
        "fields": number, "proposed": proposed,
    }  # fmt: skip


def question(row: QuestionRow, job: JobRow | Any, marked: frozenset[str] = frozenset()) -> Question:
    """A question whole; ``marked`` are names that are secret because the task says so."""
    return Question(
        **_line(row, job), form=spelled(folded(parsed(row.schema))), mapping=_mapping(row, marked),
        default=masked(parsed(row.default), marked), remember=row.remember, state=row.state,
        answer=masked(parsed(row.answer), marked), actor=row.actor,
        reason=masked_text(row.reason), closed_at=row.closed_at,
    )  # fmt: skip


def _mapping(row: QuestionRow, marked: frozenset[str]) -> MappingEditor | None:
    detail = spelled(parsed(row.detail))
    if not isinstance(detail, dict) or "targets" not in detail:
        return None
    known = Target.model_fields
    return MappingEditor(
        columns=[Column(name=one["name"], samples=_samples(one, marked)) for one in detail["columns"]],
        targets=[Target(**{name: one.get(name) for name in known}) for one in detail["targets"]],
        proposal=detail.get("proposal") or {},
    )


def _samples(column: dict[str, Any], marked: frozenset[str]) -> list[str]:
    """A column that is named like a secret shows that it has values, not which."""
    samples = [str(masked_text(str(sample))) for sample in column.get("samples", ())]
    return [MASK] * len(samples) if is_secret(column["name"], marked) else samples
