"""What is answered: one model for each thing that is shown. Secrets are masked here and nowhere else."""

from __future__ import annotations

import re
from datetime import datetime
from json import loads
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    field_validator,
)

from jobtrail.job.failure import mask_urls
from jobtrail.job.json_value import safe_text
from jobtrail.job.masking import masked
from jobtrail.job.period import in_our_time

if TYPE_CHECKING:
    from jobtrail.job.model import JobRow
    from jobtrail.store.search.search import ListRow

ID = "0197e2c4-8a1b-7c3d-9e4f-1a2b3c4d5e6f"


def _written(moment: Any) -> Any:
    """A number would be read as seconds since 1970, or as thousandths of them, by its size."""
    if isinstance(moment, int | float) or (isinstance(moment, str) and not _MOMENT.match(moment)):
        message = "a moment is written with its offset, as in 2013-02-01T03:00:00Z"
        raise ValueError(message)
    return moment


def _in_our_time(moment: datetime) -> datetime:
    """What no clock shows would be stored and could not be read back in every zone."""
    if in_our_time(moment) is None:
        message = "a moment lies in the years 1900 to 2999"
        raise ValueError(message)
    return moment


_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT")
# A moment that somebody gives, with its offset.
When = Annotated[
    AwareDatetime,
    BeforeValidator(_written),
    AfterValidator(_in_our_time),
    WithJsonSchema({"type": "string", "format": "date-time", "pattern": r"^(19|2\d)\d\d-", "examples": ["2013-02-01T03:00:00Z"]}),
]


class Shape(BaseModel):
    """The base of all answers."""

    model_config = ConfigDict(extra="forbid")


class ProblemShape(BaseModel):
    """An error (RFC 9457): ``detail`` is a sentence for people, ``code`` is for programs."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(examples=["urn:jobtrail:problem:already-active"])
    title: str = Field(examples=["Conflict"])
    status: int = Field(examples=[409])
    code: str = Field(examples=["already-active"])
    detail: str = Field(examples=[f"the unit of job {ID} has an active job"])
    job: str | None = Field(None, description="The job that stands in the way.")
    errors: list[dict[str, str]] | None = Field(None, description="What does not fit, by path.")


class Said(Shape):
    """Why something is done."""

    reason: str | None = Field(None, max_length=1000, examples=["the provider has sent the month again"])

    @field_validator("reason")
    @classmethod
    def _storable(cls, value: str | None) -> str | None:
        return safe_text(value.strip(), 4000) or None if value else None


class ItemCounts(Shape):
    """How the items of a job stand."""

    ok: int | None
    failed: int | None
    skipped: int | None


class Progress(Shape):
    """How far a job is; what was not reported is null."""

    percent: float | None = Field(None, examples=[42.5])
    done: int | None = None
    total: int | None = None
    message: str | None = None
    metadata: Any = None
    last_heartbeat_at: datetime | None = None


class JobLine(Shape):
    """A job as a list shows it."""

    id: str = Field(examples=[ID])
    task: str = Field(examples=["sync_weather"])
    kind: str | None
    queue: str
    priority: int
    status: str = Field(examples=["partial"])
    outcome: str | None
    run_no: int
    attempt: int
    max_attempts: int | None
    run_at: datetime | None
    source: str | None = Field(examples=["weather/EWR"])
    period: str | None = Field(examples=["2013-02"])
    file: str | None = Field(description="The name of the input file.")
    unit: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    actor: str | None
    note: str | None
    retry_reason: str | None
    items: ItemCounts
    rerun_of: str | None
    fingerprint: str | None
    error: str | None = Field(description="Type and beginning of the message.")
    progress: Progress | None = None


class Counted(Shape):
    """A number; ``more`` where there are, or may be, more than that."""

    number: int
    more: bool


class JobPage(Shape):
    """Jobs, newest first; ``next`` is the ``before`` of the following page, null at the end."""

    jobs: list[JobLine]
    next: str | None
    count: Counted | None = None
    searched: int | None = Field(None, description="How many jobs were looked at one by one.")
    note: str | None = Field(None, description="What this page does not tell.")
    now: datetime


class JobCounts(Shape):
    """How many jobs there are of each status, and of all."""

    status: dict[str, Counted]
    all: Counted
    now: datetime


class Me(Shape):
    """Who asks, and how somebody can log in here."""

    name: str | None
    role: str | None
    how: str | None = Field(description="login, token, session, proxy or local")
    login: list[str] = Field(description="The ways to log in that there are: token, host, proxy.")
    version: str


def plain(text: str | None) -> str | None:
    """A text without the passwords of URLs."""
    return mask_urls(text) if text else text


def parsed(text: str | None) -> Any:
    """Stored JSON, or the text itself where it is none."""
    if text is None:
        return None
    try:
        return loads(text)
    except ValueError:
        return text


def progress(found: dict[str, Any] | None) -> Progress | None:
    """What was reported last."""
    if found is None:
        return None
    known = {name: found.get(name) for name in Progress.model_fields}
    return Progress(**{**known, "message": plain(known["message"]), "metadata": masked(known["metadata"])})


def job_line(row: ListRow | JobRow, reported: dict[str, Any] | None = None) -> JobLine:
    """A line of a list; of a whole row, too."""
    return JobLine(
        id=row.id, task=row.task, kind=row.kind, queue=row.queue, priority=row.priority, status=row.status.value,
        outcome=row.outcome.value if row.outcome else None, run_no=row.run_no, attempt=row.attempt,
        max_attempts=row.max_attempts, run_at=row.run_at, source=plain(row.source), period=row.period,
        file=file_name(row.file), unit=row.unit, created_at=row.created_at, started_at=row.started_at,
        finished_at=row.finished_at, actor=row.actor, note=plain(row.note), retry_reason=plain(row.retry_reason),
        items=ItemCounts(ok=row.items_ok, failed=row.items_failed, skipped=row.items_skipped), rerun_of=row.rerun_of,
        fingerprint=row.fingerprint, error=error_line(row.error), progress=progress(reported),
    )  # fmt: skip


def file_name(text: str | None) -> str | None:
    """The name of the input file, from what is stored of it or the name itself."""
    found = parsed(text)
    path = found.get("path") if isinstance(found, dict) else found
    return plain(str(path).replace("\\", "/").rsplit("/", 1)[-1]) if path else None


def error_line(text: str | None) -> str | None:
    """Type and message of a stored error, shortened."""
    found = parsed(text)
    if not isinstance(found, dict):
        return plain(str(found))[:300] if found else None  # type: ignore[index]
    told = ": ".join(str(part) for part in (found.get("type"), found.get("message")) if part)
    return (plain(told) or "")[:300] or None
