"""``--wait``: wait until a job has ended, with a progress bar on standard error."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from jobtrail.cli.rendering.text import short, span
from jobtrail.cli.rendering.views import named, pace_of, status_text, summary
from jobtrail.commands.job_fields import stored_row
from jobtrail.messages import tr
from jobtrail.progress_bar import ProgressBar
from jobtrail.queries.jobs.job_list import job_line

if TYPE_CHECKING:
    from jobtrail import JobTrail
    from jobtrail.cli.session import Session
    from jobtrail.commands.job_handle import Job
    from jobtrail.job.items import Pace
    from jobtrail.queries.jobs.job_list import JobLine

POLL = 0.15  # seconds
NOBODY_AFTER = 5.0  # seconds until a job that no worker takes is explained
GOOD = ("completed", "partial")


def wait_for(session: Session, jobs: JobTrail, job: Job) -> int:
    """Wait for the end and print it; return 0 if the job completed, wholly or in part, else 1."""
    begun, asked = time.monotonic(), set[int]()
    with ProgressBar(short(job.task, 40), session.errors) as bar:
        while job.refresh().active:
            line = _line(jobs, job)
            _print_that_it_asks(session, line, asked)
            bar.update(_words(line, job, time.monotonic() - begun), *_reported(line))
            time.sleep(POLL)
    line = _line(jobs, job.refresh())
    if session.as_json:
        session.json(jobs.queries.job(job.id))
    else:
        took = ""
        if line.finished_at and line.started_at:
            took = f" {tr('cli.took', span=span(line.finished_at - line.started_at))}"
        why = summary(line, jobs.store.now(), 300)
        session.say(f"{named(line)} ", status_text(line.status), took, (f": {why}" if why else "", ""))
    return 0 if line.status in GOOD else 1


def _line(jobs: JobTrail, job: Job) -> JobLine:
    return job_line(stored_row(job), job.progress(), now=jobs.store.now())


def _print_that_it_asks(session: Session, line: JobLine, asked: set[int]) -> None:
    """Print once for each run that it asks a question: nobody would know why the wait does not end."""
    if line.status.startswith("awaiting_") and line.run_no not in asked:
        asked.add(line.run_no)
        session.hint(f"{named(line)} {summary(line, line.created_at)}")


def _reported(line: JobLine) -> tuple[dict[str, Any], Pace] | tuple[()]:
    goes_on = line.status in {"running", "cancelling"} or (line.status == "pending" and line.started_at is not None)
    found = line.progress if goes_on else None
    return () if found is None else (found.model_dump(), pace_of(found))


def _words(line: JobLine, job: Job, waited: float) -> str:
    state = tr("names.state", name=line.status)
    if line.status == "pending" and waited > NOBODY_AFTER and line.started_at is None:
        return tr("cli.is-there-a-worker", state=state, queue=job.queue)
    return short((line.progress.message if line.progress else None) or state, 60)
