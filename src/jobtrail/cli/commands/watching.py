"""``jobtrail watch``, ``workers`` and ``errors``: what happens now, who works, what went wrong."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from jobtrail.cli.command import command
from jobtrail.cli.session import Session
from jobtrail.job.model import ACTIVE
from jobtrail.messages import tr

from .listing import filter_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from jobtrail import JobTrail
    from jobtrail.queries.jobs.job_list import JobCounts, JobLine, JobPage
    from jobtrail.queries.monitoring.error_groups import ErrorGroups
    from jobtrail.queries.monitoring.workers import WorkerLine, WorkerList

ROWS_AROUND = 4  # lines of the terminal that are not jobs: counts, heading, rest
STEP = 10  # percent between two lines of one job where there is no terminal


def add_to(cli: typer.Typer) -> None:
    """Register the commands of this file."""
    command(cli, "watch", "read", "help.watch")(watch)
    command(cli, "workers", "read", "help.workers")(show_workers)
    command(cli, "errors", "read", "help.errors")(show_errors)


# -- watch -------------------------------------------------------------------------------------------


def watch(
    session: Session,
    words: Annotated[list[str] | None, typer.Argument(metavar="[FILTER]…", help="help.watch-filter")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=500, help="help.limit")] = 50,
    every: Annotated[float, typer.Option("--every", metavar="SECONDS", min=0.1, help="help.watch-every")] = 1.0,
    until_done: Annotated[bool, typer.Option("--until-done", help="help.watch-until-done")] = False,
) -> int:
    """Show jobs as they go on, until Ctrl-C."""
    jobs = session.open()
    text = filter_text(words or ["status:active"])
    pages = _pages(jobs, text, limit, every, until_done=until_done)
    try:
        if session.as_json:
            for page in pages:
                session.json(page)
        elif session.console.is_terminal:
            _live(session, jobs, text, pages)
        else:
            _lines(session, jobs, pages)
    except KeyboardInterrupt:
        pass  # the way to end it
    return 0


def _pages(jobs: JobTrail, text: str, limit: int, every: float, *, until_done: bool) -> Iterator[JobPage]:
    before: JobPage | None = None
    while True:
        page = jobs.queries.jobs(text, limit=limit)
        if before is None or page.jobs != before.jobs:
            yield page
        before = page
        if until_done and not any(job.status in ACTIVE for job in page.jobs):
            return
        time.sleep(every)


def _live(session: Session, jobs: JobTrail, text: str, pages: Iterator[JobPage]) -> None:
    from rich.live import Live

    with Live(console=session.console, auto_refresh=False, transient=True) as live:
        for page in pages:
            live.update(_screen(session, page, jobs.queries.job_counts(text)), refresh=True)


def _screen(session: Session, page: JobPage, counts: JobCounts) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    from jobtrail.cli.rendering.tables import job_table
    from jobtrail.cli.rendering.text import number
    from jobtrail.cli.rendering.views import status_text

    console = session.console
    head = Text(no_wrap=True, overflow="ellipsis")
    for status, counted in counts.status.items():
        if counted.number:
            name, colour = status_text(status)
            head.append(f"{name} {number(counted.number)}{'+' if counted.more else ''}  ", colour)
    room = max(console.height - ROWS_AROUND, 1)
    table = job_table(page.jobs[:room], page.now, wide=False).fitted(console.width)
    more = len(page.jobs) - room if len(page.jobs) > room else 0
    rest = tr("cli.watch-more", count=more) if more else tr("cli.watch-older" if page.next else "cli.watch-ends")
    return Group(head, table, Text(rest, "dim", no_wrap=True, overflow="ellipsis"))


def _lines(session: Session, jobs: JobTrail, pages: Iterator[JobPage]) -> None:
    """A line for each job whose status changed, or that is ten percent further, and for one that the filter left."""
    from jobtrail.cli.rendering.views import named, status_text, summary

    shown: dict[str, tuple[str, int]] = {}
    for page in pages:
        here = {job.id for job in page.jobs}
        gone = [jobs.queries.job(job_id) for job_id in shown if job_id not in here and shown[job_id][0] in ACTIVE]
        for job in (*gone, *reversed(page.jobs)):
            mark = job.status, _tenth(job)
            if shown.get(job.id) != mark:
                shown[job.id] = mark
                why = summary(job, page.now)
                session.say(f"{named(job)} ", status_text(job.status), f": {why}" if why else "")
        session.console.file.flush()


def _tenth(job: JobLine) -> int:
    percent = job.progress.percent if job.progress else None
    return -1 if percent is None else int(percent // STEP)


# -- workers and errors --------------------------------------------------------------------------------


def show_workers(
    session: Session, limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="help.limit")] = 50
) -> None:
    """List workers and what they execute."""
    found = session.open().queries.workers(limit=limit)
    if session.as_json:
        session.json(found)
    elif not found.workers:
        session.say((tr("cli.no-workers"), "dim"))
    else:
        _print_workers(session, found)


def _print_workers(session: Session, found: WorkerList) -> None:
    from rich.text import Text

    from jobtrail.cli.rendering.tables import plain_table
    from jobtrail.cli.rendering.text import clean, moment, span, tail

    table = plain_table("id", "state", "worker", "queues", "jobs", "started", "beat", "running", right=("jobs",), rest="running")
    for one in found.workers:
        state, colour = _state_of(one)
        jobs = [f"{job.task} {job.source or ''}".strip() for job in one.jobs]
        cells = [
            Text(tail(one.id)), Text(state, colour), Text(clean(f"{one.host}:{one.pid}")),
            Text(clean(one.executor or ", ".join(one.queues))), Text(f"{one.held}/{one.slots}"),
            Text(moment(one.started_at, found.now)),
            Text(span(one.beat_age) if one.beat_age is not None and one.stopped_at is None else ""), Text(clean(", ".join(jobs)), "dim"),
        ]  # fmt: skip
        table.add_row(*cells)
    table.show(session.console)
    session.say((tr("cli.workers-living", living=found.living, held=found.held, slots=found.slots), "dim"))


def _state_of(worker: WorkerLine) -> tuple[str, str]:
    state = "silent" if worker.silent else worker.state
    colour = {"alive": "green", "dead": "bold red", "silent": "bold yellow", "stopped": "dim"}.get(state, "yellow")
    return tr("cli.worker-state", state=state), colour


def show_errors(
    session: Session,
    hours: Annotated[float, typer.Option("--hours", min=0.01, help="help.errors-hours")] = 168.0,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=500, help="help.limit")] = 50,
) -> None:
    """List errors, grouped by their cause."""
    found = session.open().queries.errors(hours, limit=limit)
    if session.as_json:
        session.json(found)
    elif not found.kinds:
        session.say((tr("cli.no-errors"), "dim"))
    else:
        _print_errors(session, found)


def _print_errors(session: Session, found: ErrorGroups) -> None:
    from rich.text import Text

    from jobtrail.cli.rendering.tables import plain_table
    from jobtrail.cli.rendering.text import clean, moment, number, short, tail

    table = plain_table("fingerprint", "jobs", "last", "last_job", "task", "error", right=("jobs",), rest="error")
    for one in found.kinds:
        count = f"{number(one.jobs.number)}{'+' if one.jobs.more else ''}"
        tasks = ", ".join(one.tasks[:3]) + ("…" if len(one.tasks) > 3 or one.more_tasks else "")
        table.add_row(
            Text(one.fingerprint), Text(count), Text(moment(one.last_at, found.now)), Text(tail(one.last_job)),
            Text(clean(tasks)), Text(short(one.error, 200), "red"),
        )  # fmt: skip
    table.show(session.console)
    session.say((tr("cli.errors-find", fingerprint=found.kinds[0].fingerprint), "dim"))
