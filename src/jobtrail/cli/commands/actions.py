"""Steering jobs that are there: rerun, retry, cancel, run-now."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jobtrail.cli.command import STEERING, command
from jobtrail.cli.session import Session

from .listing import JobId
from .submit import ActorOption, ReasonOption, WaitOption, actor_or_me, answer_with

if TYPE_CHECKING:
    from jobtrail import JobTrail
    from jobtrail.commands.job_handle import Job
    from jobtrail.job.task import Task


def add_to(cli: typer.Typer) -> None:
    """Register the commands of this file."""
    command(cli, "rerun", STEERING)(rerun)
    command(cli, "retry", STEERING)(retry)
    command(cli, "cancel", STEERING)(cancel)
    command(cli, "run-now", STEERING)(run_now)


def rerun(
    session: Session,
    job_id: JobId,
    mode: Annotated[str, typer.Option("--mode", "-m", help="full, failed_items or resume.")] = "full",
    file: Annotated[Path | None, typer.Option("--file", help="A corrected input file.")] = None,
    if_active: Annotated[str, typer.Option("--if-active", help="raise or queue.")] = "raise",
    with_successors: Annotated[
        bool, typer.Option("--with-successors", help="What was declared to follow the job follows the new one, too.")
    ] = False,
    actor: ActorOption = None,
    reason: ReasonOption = None,
    wait: WaitOption = False,
) -> int:
    """Run the same work again, as a new job."""
    jobs = session.open()
    old = jobs.get(job_id)
    jobs.service.make_ready()
    new = old.rerun(
        mode, file=str(file) if file else None, if_active=if_active, with_successors=with_successors, reason=reason,
        actor=actor_or_me(actor), submitter=jobs.service.submitter,
    )  # fmt: skip
    return answer_with(session, jobs, new, f"re-runs …{old.id[-8:]}", wait=wait)


def retry(
    session: Session,
    job_id: JobId,
    actor: ActorOption = None,
    reason: ReasonOption = None,
    wait: WaitOption = False,
) -> int:
    """One more attempt of the same job."""
    jobs = session.open()
    job = jobs.get(job_id).retry(reason, actor=actor_or_me(actor))
    return answer_with(session, jobs, job, "is retried", wait=wait)


def cancel(session: Session, job_id: JobId, actor: ActorOption = None, reason: ReasonOption = None) -> int:
    """End a job that waits, ask one that runs to stop; a second time forces the end."""
    jobs = session.open()
    job = jobs.get(job_id).cancel(reason, actor=actor_or_me(actor))
    return answer_with(session, jobs, job, _words(job, jobs.tasks.find(job.task)) + _what_goes_on(jobs, job), wait=False)


def _words(job: Job, task: Task | None) -> str:
    if job.body_running:
        return f"is {job.status}; its body still runs"
    if not job.active:
        return "is cancelled"
    if task is not None and not task.stops_cooperatively:
        return "is asked to stop; it has no way to stop early, so the cancel takes effect when its body ends"
    return "is asked to stop"


def _what_goes_on(jobs: JobTrail, job: Job) -> str:
    """What had begun on behalf of a backfill is not ended with it."""
    from jobtrail.schedules.backfill.backfill import TASK, under_way

    number = under_way(jobs.service, job.id) if job.task == TASK else 0
    if number == 0:
        return ""
    return "; the one unit that had begun goes on" if number == 1 else f"; the {number:,} units that had begun go on"


def run_now(session: Session, job_id: JobId, actor: ActorOption = None) -> int:
    """Do not wait for its time."""
    jobs = session.open()
    job = jobs.get(job_id).run_now(actor=actor_or_me(actor))
    return answer_with(session, jobs, job, "is due now", wait=False)
