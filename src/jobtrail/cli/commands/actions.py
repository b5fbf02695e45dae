"""``jobtrail rerun``, ``retry``, ``cancel`` and ``run-now``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from jobtrail.cli.command import command
from jobtrail.cli.session import Session
from jobtrail.messages import Message, tr

from .listing import JobId
from .submit import ActorOption, ReasonOption, WaitOption, actor_or_me, answer_with, arguments

if TYPE_CHECKING:
    from jobtrail import JobTrail
    from jobtrail.commands.job_handle import Job
    from jobtrail.job.task import Task


def add_to(cli: typer.Typer) -> None:
    """Register the commands of this file."""
    command(cli, "rerun", "change", "help.rerun")(rerun)
    command(cli, "retry", "change", "help.retry")(retry)
    command(cli, "cancel", "change", "help.cancel")(cancel)
    command(cli, "run-now", "change", "help.run-now")(run_now)


class ItemArgument(NamedTuple):
    """An item by its loop (None: the only one that has the key) and its key."""

    loop: str | None
    key: str


def rerun(
    session: Session,
    job_id: JobId,
    mode: Annotated[str, typer.Option("--mode", "-m", help="help.rerun-mode")] = "full",
    item: Annotated[list[str] | None, typer.Option("--item", help="help.rerun-item")] = None,
    loop: Annotated[str | None, typer.Option("--loop", help="help.rerun-loop")] = None,
    file: Annotated[Path | None, typer.Option("--file", help="help.rerun-file")] = None,
    arg: Annotated[list[str] | None, typer.Option("--arg", "-a", metavar="K=V", help="help.rerun-arg")] = None,
    if_active: Annotated[str, typer.Option("--if-active", help="help.rerun-if-active")] = "raise",
    with_successors: Annotated[
        bool, typer.Option("--with-successors", help="help.rerun-with-successors")
    ] = False,
    actor: ActorOption = None,
    reason: ReasonOption = None,
    wait: WaitOption = False,
) -> int:
    """Run the same work again as a new job."""
    jobs = session.open(tasks=bool(arg))
    old = jobs.get(job_id)
    jobs.service.make_ready()
    items = [ItemArgument(loop, key) for key in item] if item else None
    new = old.rerun(
        mode, items=items, file=str(file) if file else None, if_active=if_active, with_successors=with_successors,
        reason=reason, actor=actor_or_me(actor), submitter=jobs.service.submitter, **_changed(jobs, old, arg),
    )  # fmt: skip
    return answer_with(session, jobs, new, tr("cli.reruns", job=old.id[-8:]), wait=wait)


def _changed(jobs: JobTrail, old: Job, pairs: list[str] | None) -> dict[str, Any]:
    """The arguments of a job with other values, as they are stored; nothing if nothing is changed."""
    from jobtrail.commands.rerun import changed

    if not pairs:
        return {}
    task = jobs.tasks.get(old.task)
    given = {**old.arguments, **arguments(pairs, None, task.signature.texts)}
    return changed(task, given, queue=old.queue, source=old.source, limit=jobs.settings.argument_limit)


def retry(
    session: Session,
    job_id: JobId,
    actor: ActorOption = None,
    reason: ReasonOption = None,
    wait: WaitOption = False,
) -> int:
    """Run a job that has ended once more."""
    jobs = session.open()
    job = jobs.get(job_id).retry(reason, actor=actor_or_me(actor))
    return answer_with(session, jobs, job, tr("cli.is-retried"), wait=wait)


def cancel(session: Session, job_id: JobId, actor: ActorOption = None, reason: ReasonOption = None) -> int:
    """Cancel a waiting job, or ask a running one to stop. A second call forces the end."""
    jobs = session.open()
    job = jobs.get(job_id).cancel(reason, actor=actor_or_me(actor))
    words = _words(job, jobs.tasks.find(job.task))
    if units := _units_under_way(jobs, job):
        words = tr("cli.units-go-on", words=words, count=units)
    return answer_with(session, jobs, job, words, wait=False)


def _words(job: Job, task: Task | None) -> str:
    if job.body_running:
        return tr("cli.body-still-runs", state=Message("names.state", name=job.status))
    if not job.active:
        return tr("cli.is-cancelled")
    return tr("cli.is-asked-to-stop" if task is None or task.stops_cooperatively else "cli.is-asked-and-cannot-stop-early")


def _units_under_way(jobs: JobTrail, job: Job) -> int:
    """How many units of a cancelled backfill have begun: they are not cancelled with it."""
    from jobtrail.schedules.backfill.backfill import TASK, under_way

    return under_way(jobs.service, job.id) if job.task == TASK else 0


def run_now(session: Session, job_id: JobId, actor: ActorOption = None) -> int:
    """Start a job that waits for its time now."""
    jobs = session.open()
    job = jobs.get(job_id).run_now(actor=actor_or_me(actor))
    return answer_with(session, jobs, job, tr("cli.is-due-now"), wait=False)
