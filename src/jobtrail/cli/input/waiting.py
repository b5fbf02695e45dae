"""``--wait``: wait until a job has ended, with a progress bar on standard error."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from jobtrail.cli.rendering.text import short, span
from jobtrail.cli.rendering.views import named, status_text, summary
from jobtrail.commands.job_fields import stored_row
from jobtrail.messages import tr
from jobtrail.queries.jobs.job_list import job_line, progress

if TYPE_CHECKING:
    from jobtrail import JobTrail
    from jobtrail.cli.session import Session
    from jobtrail.commands.job_handle import Job
    from jobtrail.queries.jobs.job_list import JobLine

POLL = 0.15  # seconds
NOBODY_AFTER = 5.0  # seconds until a job that no worker takes is explained
GOOD = ("completed", "partial")


def wait_for(session: Session, jobs: JobTrail, job: Job) -> int:
    """Wait for the end and print it; return 0 if the job completed, wholly or in part, else 1."""
    if session.errors.is_terminal:
        _with_bar(session, job)
    else:
        _quietly(session, job)
    line = _line(job.refresh())
    if session.as_json:
        session.json(jobs.queries.job(job.id))
    else:
        took = ""
        if line.finished_at and line.started_at:
            took = f" {tr('cli.took', span=span(line.finished_at - line.started_at))}"
        why = summary(line, jobs.store.now(), 300)
        session.say(f"{named(line)} ", status_text(line.status), took, (f": {why}" if why else "", ""))
    return 0 if line.status in GOOD else 1


def _line(job: Job) -> JobLine:
    return job_line(stored_row(job))


def _quietly(session: Session, job: Job) -> None:
    asked: set[int] = set()
    while job.refresh().active:
        _print_that_it_asks(session, job, asked)
        time.sleep(POLL)


def _print_that_it_asks(session: Session, job: Job, asked: set[int]) -> None:
    """Print once for each run that it asks a question: nobody would know why the wait does not end."""
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
            _print_that_it_asks(session, job, asked)
            bar.update(line, **_state(job, time.monotonic() - begun))
            time.sleep(POLL)


def _state(job: Job, waited: float) -> dict[str, Any]:
    status = job.status.value
    state = tr("names.state", name=status)
    shown = status in {"running", "cancelling"} or (status == "pending" and job.started_at is not None)
    found = progress(job.progress()) if shown else None
    if found is None:
        alone = status == "pending" and waited > NOBODY_AFTER and job.started_at is None
        return {"total": None, "told": tr("cli.is-there-a-worker", state=state, queue=job.queue) if alone else state}
    words = short(found.message or state, 60)
    if found.total:
        return {"total": found.total, "completed": found.done or 0, "told": words}
    if found.percent is not None:
        return {"total": 100, "completed": found.percent, "told": words}
    return {"total": None, "told": words}
