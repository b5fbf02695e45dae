"""Lists of jobs: pages newest first, and counts."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from pydantic import Field

from jobtrail.job.items import Pace
from jobtrail.job.model import Status
from jobtrail.job.task import choice_option
from jobtrail.queries.base import ID, NO_MARKS, CappedCount, ErrorLine, FileName, MaskedText, MaskedValue, Model
from jobtrail.store import runs
from jobtrail.store.search import search

from .waiting import waiting_codes

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from jobtrail.job.model import JobRow
    from jobtrail.queries.context import QueryContext
    from jobtrail.store.search.masked_view import MaskedView
    from jobtrail.store.search.search import ListRow

_REPORTS = frozenset({"running", "cancelling", "pending"})  # only such jobs show their progress in a list


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
    per_second: float | None = Field(None, description="Finished parts for each second since the start of the run.")
    seconds_left: float | None = Field(None, description="Until the end, at the pace since the start of the run.")


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
    executor: str | None = Field(None, description="The executor that it is handed over to; null where workers take it.")
    handed_over: datetime | None = Field(None, description="When the ticket of its next run was sent to the executor.")
    waiting: str | None = Field(None, description="Why a pending job does not run: the code of `JobDetail.why_waiting`.")


class JobPage(Model):
    """Jobs; ``next`` is the ``before`` of the following page (the ``after`` with the oldest first), null at the end."""

    jobs: list[JobLine]
    next: str | None
    count: CappedCount | None = None
    searched: int | None = Field(None, description="How many jobs were looked at one by one.")
    note: str | None = Field(None, description="What this page does not tell.")
    now: datetime


class StoredJob(Model):
    """The job that stands for what was asked; ``created`` is false where it was there already."""

    job: JobLine
    created: bool


class JobCounts(Model):
    """How many jobs there are of each status, and of all."""

    status: dict[str, CappedCount]
    all: CappedCount
    now: datetime


def read_page(
    conn: Connection,
    context: QueryContext,
    text: str = "",
    *,
    before: str | None = None,
    after: str | None = None,
    order: str = search.NEWEST_FIRST,
    limit: int = 50,
    count: bool = False,
    role: str | None = None,
) -> JobPage:
    """Read the jobs that a filter names.

    Args:
        conn: An open connection.
        context: The application.
        text: The filter, as ``status:failed source:weather/*``.
        before: The id of a job; only jobs created before it.
        after: The id of a job; only jobs created after it.
        order: ``newest`` or ``oldest`` first.
        limit: The size of the page.
        count: Whether to count all that the filter names, exactly up to 10,000.
        role: The role of the reader; below admin, secrets cannot be searched.

    Raises:
        InvalidFilter: if the filter, ``before`` or ``after`` is not valid.
        InvalidOption: if there is no such order.
    """
    now = context.now()
    place: dict[str, Any] = {"before": before, "after": after, "order": choice_option("order", order, search.ORDERS)}
    page = search.find(conn, text, now=now, limit=limit, view=context.view(role), **place)
    active = [row.id for row in page.rows if row.status.value in _REPORTS]
    reported: dict[str, Any] = runs.progress_of(conn, active) if active else {}
    waits = waiting_codes(conn, context, page.rows, now)
    return JobPage(
        jobs=[job_line(row, reported.get(row.id), context.marked(row.task), waiting=waits.get(row.id), now=now) for row in page.rows],
        next=page.next,
        count=read_count(conn, context, text, role=role) if count else None,
        searched=page.searched,
        note=page.note,
        now=now,
    )


def read_count(
    conn: Connection, context: QueryContext, text: str = "", *, role: str | None = None
) -> CappedCount:
    """Count the jobs that a filter names, exactly up to 10,000.

    Raises:
        InvalidFilter: if the filter is not valid.
    """
    return CappedCount.model_validate(search.count(conn, text, now=context.now(), view=context.view(role)))


def read_counts(conn: Connection, context: QueryContext, text: str = "", *, role: str | None = None) -> JobCounts:
    """Count the jobs that a filter names by status, exactly up to 10,000. What the filter says of the status is left out.

    Raises:
        InvalidFilter: if the filter is not valid.
    """
    view = context.view(role)
    counts: JobCounts = context.cached(("counts", text, view is None), lambda: _counts(conn, context, text, view))
    return counts


def _counts(conn: Connection, context: QueryContext, text: str, view: MaskedView | None) -> JobCounts:
    now = context.now()
    plain = search.asks_for_all(text)
    found = context.statuses(conn) if plain else search.by_status(conn, text, now=now, view=view)
    together = search.together(found.values())
    by_status = {status: CappedCount.model_validate(one) for status, one in found.items()}
    return JobCounts(status=by_status, all=CappedCount.model_validate(together), now=now)


def job_line(
    row: ListRow | JobRow,
    reported: dict[str, Any] | None = None,
    marked: frozenset[str] = NO_MARKS,
    *,
    waiting: str | None = None,
    now: datetime | None = None,
) -> JobLine:
    """One job as a list shows it, from a row of a list or a complete row.

    Args:
        row: What was read of the job.
        reported: Its last progress report, where one was read.
        marked: The names whose values are secret, beside those that always are.
        waiting: Why it does not run, where it is pending.
        now: The database's time, for the pace of a running job.
    """
    line = JobLine.model_validate(row, context={"marked": marked})
    line.progress = progress(reported, marked, running_since(row), now)
    line.waiting = waiting
    return line


def running_since(row: ListRow | JobRow) -> datetime | None:
    """Start of the run of a job that runs; None for any other."""
    return row.started_at if row.status in {Status.RUNNING, Status.CANCELLING} else None


def progress(
    reported: dict[str, Any] | None, marked: frozenset[str] = NO_MARKS, since: datetime | None = None, now: datetime | None = None
) -> JobProgress | None:
    """The last progress report of a job, with secrets masked; its pace at the time ``now`` if it runs ``since`` a time."""
    if reported is None:
        return None
    found = {name: reported.get(name) for name in JobProgress.model_fields}
    if now is not None:
        pace = Pace.of(reported, since, now)
        found |= {"percent": pace.percent, "per_second": pace.per_second, "seconds_left": pace.seconds_left}
    return JobProgress.model_validate(found, context={"marked": marked})
