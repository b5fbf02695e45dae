"""``--wait``: look at a job until it has ended, with a bar on standard error."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from jobtrail.cli.rendering.text import short, span
from jobtrail.cli.rendering.views import named, status_text, summary
from jobtrail.commands.job_fields import stored_row
from jobtrail.queries.jobs.job_list import job_line, progress

if TYPE_CHECKING:
    from jobtrail import JobTrail
    from jobtrail.cli.session import Session
    from jobtrail.commands.job_handle import Job
    from jobtrail.queries.jobs.job_list import JobLine

POLL = 0.15  # seconds
NOBODY_AFTER = 5.0  # seconds until a job that nobody takes is explained
GOOD = ("completed", "partial")


def wait_for(session: Session, jobs: JobTrail, job: Job) -> int:
    """Wait for the end and tell it; 0 when it completed, wholly or in part, else 1."""
    if session.errors.is_terminal:
        _with_bar(session, job)
    else:
        _quietly(session, job)
    line = _line(job.refresh())
    if session.as_json:
        session.json(jobs.queries.job(job.id))
    else:
        took = f" in {span(line.finished_at - line.started_at)}" if line.finished_at and line.started_at else ""
        why = summary(line, jobs.store.now(), 300)
        session.say(f"{named(line)} ", status_text(line.status), took, (f": {why}" if why else "", ""))
    return 0 if line.status in GOOD else 1


def _line(job: Job) -> JobLine:
    return job_line(stored_row(job))


def _quietly(session: Session, job: Job) -> None:
    asked: set[int] = set()
    while job.refresh().active:
        _tell_that_it_asks(session, job, asked)
        time.sleep(POLL)


def _tell_that_it_asks(session: Session, job: Job, asked: set[int]) -> None:
    """Once for each question, and a run asks one at most: the wait would be endless for somebody who does not know."""
    line = _line(job)
    if line.status.startswith("awaiting_") and line.run_no not in asked:
        asked.add(line.run_no)
        session.hint(f"{named(line)} {summary(line, line.created_at)}")


def _with_bar(session: Session, job: Job) -> None:
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(),
               TextColumn("{task.fields[told]}", markup=False), TimeElapsedColumn())  # fmt: skip
    begun, asked = time.monotonic(), set[int]()
    with Progress(*columns, console=session.errors, transient=True) as bar:
        line = bar.add_task(short(job.task, 40), total=None, told="")
        while job.refresh().active:
            _tell_that_it_asks(session, job, asked)
            bar.update(line, **_state(job, time.monotonic() - begun))
            time.sleep(POLL)


def _state(job: Job, waited: float) -> dict[str, Any]:
    status = job.status.value
    shown = status in {"running", "cancelling"} or (status == "pending" and job.started_at is not None)
    found = progress(job.progress()) if shown else None
    if found is None:
        alone = status == "pending" and waited > NOBODY_AFTER and job.started_at is None
        return {"total": None, "told": f"{status}: is a worker on queue '{job.queue}'?" if alone else status}
    words = short(found.message or status, 60)
    if found.total:
        return {"total": found.total, "completed": found.done or 0, "told": words}
    if found.percent is not None:
        return {"total": 100, "completed": found.percent, "told": words}
    return {"total": None, "told": words}
