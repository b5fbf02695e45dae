"""Lists of jobs: pages newest first, and counts."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from pydantic import Field

from jobtrail.queries.base import ID, CappedCount, ErrorLine, FileName, MaskedText, MaskedValue, Model

if TYPE_CHECKING:
    from jobtrail.job.model import JobRow
    from jobtrail.store.search.search import ListRow


class ItemCounts(Model):
    """How many items of a job have each outcome; null where none were recorded."""

    ok: int | None
    failed: int | None
    skipped: int | None


class JobProgress(Model):
    """How far a job is; what was not reported is null."""

    percent: float | None = Field(None, examples=[42.5])
    done: int | None = None
    total: int | None = None
    message: MaskedText | None = None
    metadata: MaskedValue = None
    last_heartbeat_at: datetime | None = None


class JobLine(Model):
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
    source: MaskedText | None = Field(examples=["weather/EWR"])
    period: str | None = Field(examples=["2013-02"])
    file: FileName = Field(description="The name of the input file.")
    unit: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    actor: str | None
    note: MaskedText | None
    retry_reason: MaskedText | None
    items: ItemCounts = Field(validation_alias="item_counts")
    rerun_of: str | None
    fingerprint: str | None
    error: ErrorLine = Field(description="Type and beginning of the message.")
    progress: JobProgress | None = None


class JobPage(Model):
    """Jobs, newest first; ``next`` is the ``before`` of the following page, null at the end."""

    jobs: list[JobLine]
    next: str | None
    count: CappedCount | None = None
    searched: int | None = Field(None, description="How many jobs were looked at one by one.")
    note: str | None = Field(None, description="What this page does not tell.")
    now: datetime


class JobCounts(Model):
    """How many jobs there are of each status, and of all."""

    status: dict[str, CappedCount]
    all: CappedCount
    now: datetime


def progress_of(reported: dict[str, Any] | None) -> JobProgress | None:
    """The last report of a job, with secrets masked."""
    if reported is None:
        return None
    return JobProgress(**{name: reported.get(name) for name in JobProgress.model_fields})


def job_line(row: ListRow | JobRow, reported: dict[str, Any] | None = None) -> JobLine:
    """One job in a list, from a row of a list or a complete row.

    Args:
        row: What was read of the job.
        reported: Its last progress report, where one was read.

    """
    line = JobLine.model_validate(row)
    line.progress = progress_of(reported)
    return line
