"""``jobtrail backfill``: shows what a task lacks in a range of periods, and submits the jobs for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from jobtrail.cli.command import command
from jobtrail.cli.session import Session
from jobtrail.commands.job_fields import stored_row
from jobtrail.messages import Message, render, tr

from .submit import ActorOption, ReasonOption, WaitOption, actor_or_me, answer_with

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobtrail import JobTrail
    from jobtrail.commands.job_handle import Job
    from jobtrail.queries.units import BackfillPreview
    from jobtrail.schedules.backfill.backfill import BackfillPlan

SHOWN = 12


def add_to(cli: typer.Typer) -> None:
    """Register the command of this file."""
    command(cli, "backfill", "change", "help.backfill")(backfill)


def backfill(
    session: Session,
    task: Annotated[str, typer.Argument(metavar="TASK", help="help.task", show_default=False)],
    first: Annotated[str, typer.Option("--from", metavar="PERIOD", help="help.backfill-from")],
    last: Annotated[str, typer.Option("--to", metavar="PERIOD", help="help.last-period")],
    source: Annotated[list[str] | None, typer.Option("--source", help="help.backfill-source")] = None,
    step: Annotated[
        str | None,
        typer.Option("--step", help="help.backfill-step"),
    ] = None,
    only: Annotated[str, typer.Option("--only", help="help.backfill-only")] = "missing",
    parallel: Annotated[int, typer.Option("--parallel", help="help.backfill-parallel")] = 4,
    order: Annotated[str, typer.Option("--order", help="help.backfill-order")] = "newest",
    mode: Annotated[
        str | None,
        typer.Option("--mode", help="help.backfill-mode"),
    ] = None,
    args: Annotated[
        str | None,
        typer.Option("--with", metavar="JSON", help="help.backfill-with"),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="help.backfill-dry-run")] = False,
    actor: ActorOption = None,
    reason: ReasonOption = None,
    wait: WaitOption = False,
) -> int:
    """Run missing, failed or partial units of a range of periods."""
    from .submit import arguments_of

    jobs = session.open(tasks=True, creates=True)
    plan = jobs.backfill_plan(
        task, first=first, last=last, sources=source or None, step=step, only=only, order=order, mode=mode,
        args=None if args is None else arguments_of("--with", args),
    )  # fmt: skip
    found = _preview(jobs, plan)
    if not session.as_json:
        show_plan(session, found, parallel, plan.selection.only)
    if dry_run or not found.chosen:
        if session.as_json:
            session.json(found)
        return 0
    job = jobs.backfill(plan, parallel=parallel, actor=actor_or_me(actor), reason=reason)
    words = tr("cli.submitted" if job.created else "cli.is-under-way")
    if not session.as_json:
        session.say("")
        return answer_with(session, jobs, job, words, wait=wait)
    return _answer_as_json(session, found.model_dump(mode="json"), job, wait=wait)


def _answer_as_json(session: Session, preview: dict[str, Any], job: Job, *, wait: bool) -> int:
    from jobtrail.cli.input.waiting import GOOD
    from jobtrail.queries.jobs.job_list import StoredJob, job_line

    row = stored_row(job.wait() if wait else job.refresh())
    stored = StoredJob(job=job_line(row), created=job.created)
    session.json(preview | stored.model_dump(mode="json"))
    return 0 if not wait or row.status.value in GOOD else 1


def _preview(jobs: JobTrail, plan: BackfillPlan) -> BackfillPreview:
    from jobtrail.queries.units import backfill_preview

    return backfill_preview(plan, jobs.queries.context.marked(plan.selection.task))


# -- for people --------------------------------------------------------------------------------------


def show_plan(session: Session, found: BackfillPreview, parallel: int, only: Sequence[str]) -> None:
    """Print the counts of each source, then the units that will run.

    Args:
        session: Where to print.
        found: What the backfill would do.
        parallel: Jobs at a time.
        only: States of the units that were asked for.

    """
    sources, units = len(found.by_source), sum(found.counts.values())
    periods = Message("names.periods", name=found.step, count=units // sources)
    size = tr("cli.backfill-size", first=found.first, last=found.last, units=units, sources=sources, periods=periods)
    session.say((found.task, "bold"), f" {size}")
    _show_counts(session, found)
    for source in found.new_sources:
        new = tr("cli.nothing-without-source") if source is None else tr("cli.nothing-of-source", source=source)
        session.say((new, "yellow"))
    session.say("")
    if not found.chosen:
        session.say((tr("cli.nothing-to-do"), "bold"), f": {tr('cli.no-unit-is', only=list(only))}")
        return
    ways = ", ".join(tr("cli.way-counted", way=_way(way), count=count) for way, count in found.ways.items())
    order = Message("cli.newest-first" if found.order == "newest" else "cli.oldest-first")
    session.say(
        (tr("cli.to-run", count=found.chosen), "bold"), f" {tr('cli.how', ways=ways, order=order, parallel=parallel)}:"
    )
    _show_units(session, found)


def _way(way: str | None) -> Message:
    return Message("cli.way", name=way or "submit")


def _show_counts(session: Session, found: BackfillPreview) -> None:
    from rich.text import Text

    from jobtrail.cli.rendering.tables import plain_table
    from jobtrail.cli.rendering.text import clean, number

    there = [state for state, count in found.counts.items() if count]
    table = plain_table("source", *there, "to_run", right=(*there, "to_run"))
    for counts in found.by_source:
        table.add_row(
            Text(clean(counts["source"] or "–")),
            *(Text(number(counts[state] or None), _style(state)) for state in there),
            Text(number(counts["chosen"]), "bold" if counts["chosen"] else "dim"),
        )
    table.show(session.console)


def _show_units(session: Session, found: BackfillPreview) -> None:
    from rich.text import Text

    from jobtrail.cli.rendering.tables import plain_table
    from jobtrail.cli.rendering.text import clean, tail

    shown = found.units[:SHOWN]
    with_job = any(one.job for one in shown)
    table = plain_table("period", "source", "is", "will_be", *(["job"] if with_job else []))
    for one in shown:
        state = f"{_sign(one.state)} {tr('names.state', name=one.state)}"
        cells = [
            Text(one.period), Text(clean(one.source or "–")), Text(state, _style(one.state)), Text(render(_way(one.way))),
            Text(tail(one.job), "dim"),
        ]  # fmt: skip
        table.add_row(*cells[: 5 if with_job else 4])
    table.show(session.console)
    rest = found.chosen - SHOWN
    if rest > 0:
        session.say((tr("cli.and-more", count=rest), "dim"))


def _sign(state: str) -> str:
    from jobtrail.cli.rendering.coverage_grid import SIGNS

    return SIGNS[state][0]


def _style(state: str) -> str:
    from jobtrail.cli.rendering.coverage_grid import SIGNS

    return SIGNS[state][1]
