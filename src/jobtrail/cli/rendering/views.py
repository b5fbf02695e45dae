"""Names, states and summaries of jobs, the same in every command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobtrail.job.items import Pace
from jobtrail.messages import Message, tr

from .text import clean, short, span, tail

if TYPE_CHECKING:
    from datetime import datetime

    from jobtrail.job.model import JobRow
    from jobtrail.queries.jobs.job_list import JobLine, JobProgress

COLOURS = {
    "pending": "cyan",
    "running": "bold blue",
    "awaiting_input": "magenta",
    "awaiting_mapping": "magenta",
    "cancelling": "yellow",
    "interrupted": "bold yellow",
    "completed": "green",
    "partial": "yellow",
    "failed": "bold red",
    "cancelled": "dim",
    "success": "green",
    "error": "bold red",
}


def what(job: JobLine | JobRow) -> str:
    """Period or file."""
    from jobtrail.queries.base import masked_file_name

    return job.period or masked_file_name(job.file) or ""


def tries(attempt: int, most: int | None) -> str:
    """``2/5``; without a limit ``2/∞``."""
    if attempt == 0:
        return ""
    return f"{attempt}/{'∞' if most is None else most}"


def summary(job: JobLine, now: datetime, length: int = 90) -> str:
    """The sentence that best explains the status of a job."""
    if job.status == "pending":
        return _pending(job, now, length)
    if job.status.startswith("awaiting_"):
        return tr("cli.asks-a-person", job=tail(job.id))
    if job.status in {"running", "cancelling"} and job.progress:
        return short(progress_text(job.progress), length)
    if job.status in {"failed", "interrupted", "cancelling"} and job.error:
        return short(job.error, length)
    if job.note:
        return short(job.note, length)
    return short(job.error, length) if job.error and job.status != "completed" else ""


def progress_text(progress: JobProgress) -> str:
    """Percent, count, rate, time left and message of a progress report, as far as they are known."""
    from jobtrail.progress_bar import facts

    told = facts(progress.model_dump(), pace_of(progress))
    if progress.seconds_left is not None:
        told[-1] = tr("cli.left", span=span(progress.seconds_left))
    return ", ".join([*told, *([progress.message] if progress.message else [])])


def pace_of(progress: JobProgress) -> Pace:
    """The pace that a query has worked out."""
    return Pace(progress.percent, progress.per_second, progress.seconds_left)


def _pending(job: JobLine, now: datetime, length: int) -> str:
    if job.run_at is None:
        return tr("cli.waits-for-another")
    if job.run_at > now:
        return short(because(tr("cli.in", span=span(job.run_at - now)), job.retry_reason), length)
    return short(because(tr("cli.due"), job.retry_reason), length) if job.retry_reason else ""


def because(text: str, reason: str | None) -> str:
    """A text and, after a colon, its reason if there is one."""
    return f"{text}: {reason}" if reason else text


def status_text(status: str) -> tuple[str, str]:
    """The name of a status and its colour, as `Text.assemble` takes them."""
    return tr("names.state", name=status), COLOURS.get(status, "")


def counted(count: int, state: str) -> str:
    """A number of things in one state: ``3 failed``."""
    return tr("cli.counted", count=count, state=Message("names.state", name=state))


def named(job: JobLine | JobRow) -> str:
    """A job in a sentence: ``sync_weather weather/EWR 2013-02 (…1f0c2d3e)``."""
    from jobtrail.queries.base import masked_text

    return name_of(job.task, masked_text(job.source), what(job), job.id)


def name_of(task: str, source: str | None, about: str, job_id: str) -> str:
    """The same from its parts; ``about`` is the period or the file."""
    return clean(f"{' '.join(part for part in (task, source, about) if part)} (…{tail(job_id)})")
