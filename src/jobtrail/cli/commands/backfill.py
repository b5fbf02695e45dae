"""``jobtrail backfill``: what the sources of a task lack over a range of periods, shown first and then run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from jobtrail.cli.command import STEERING, command
from jobtrail.cli.session import Session
from jobtrail.commands.job_fields import stored_row

from .submit import ActorOption, ReasonOption, WaitOption, actor_or_me, answer_with

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobtrail import JobTrail
    from jobtrail.commands.job_handle import Job
    from jobtrail.queries.units import BackfillPreview
    from jobtrail.schedules.backfill.backfill import BackfillPlan

SHOWN = 12
WAYS = {"submit": "submitted", "full": "run again in full", "failed_items": "failed items again", "resume": "resumed"}


def add_to(cli: typer.Typer) -> None:
    """Register the command of this file."""
    command(cli, "backfill", STEERING)(backfill)


def backfill(
    session: Session,
    task: Annotated[str, typer.Argument(metavar="TASK", help="The task's name.", show_default=False)],
    first: Annotated[str, typer.Option("--from", metavar="PERIOD", help="The first period, as in 2013-01.")],
    last: Annotated[str, typer.Option("--to", metavar="PERIOD", help="The last period, itself included.")],
    source: Annotated[
        list[str] | None, typer.Option("--source", help="A source; may be given again (default: all that are known).")
    ] = None,
    step: Annotated[
        str | None,
        typer.Option("--step", help="year, month, week, day or hour (default: as the units are, else as --from)."),
    ] = None,
    only: Annotated[str, typer.Option("--only", help="missing, failed, partial (or a,b), or all.")] = "missing",
    parallel: Annotated[int, typer.Option("--parallel", help="How many at a time.")] = 4,
    order: Annotated[str, typer.Option("--order", help="newest or oldest first.")] = "newest",
    mode: Annotated[
        str | None,
        typer.Option("--mode", help="full, failed_items or resume (default: full after failed, failed_items after partial)."),
    ] = None,
    args: Annotated[
        str | None,
        typer.Option("--with", metavar="JSON", help="The arguments of every unit (default: of its source's newest job)."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be done, and do nothing.")] = False,
    actor: ActorOption = None,
    reason: ReasonOption = None,
    wait: WaitOption = False,
) -> int:
    """Run what is missing, failed or partial in a range of periods."""
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
    words = "submitted" if job.created else "is under way already"
    if not session.as_json:
        session.say("")
        return answer_with(session, jobs, job, words, wait=wait)
    return _answer_as_json(session, found.model_dump(mode="json"), job, wait=wait)


def _answer_as_json(session: Session, told: dict[str, Any], job: Job, *, wait: bool) -> int:
    from jobtrail.cli.input.waiting import GOOD
    from jobtrail.queries.jobs.job_list import StoredJob, job_line

    row = stored_row(job.wait() if wait else job.refresh())
    stored = StoredJob(job=job_line(row), created=job.created)
    session.json(told | stored.model_dump(mode="json"))
    return 0 if not wait or row.status.value in GOOD else 1


def _preview(jobs: JobTrail, plan: BackfillPlan) -> BackfillPreview:
    from jobtrail.queries.units import backfill_preview

    return backfill_preview(plan, jobs.queries.context.marked(plan.selection.task))


# -- for people --------------------------------------------------------------------------------------


def show_plan(session: Session, found: BackfillPreview, parallel: int, only: Sequence[str]) -> None:
    """Print the counts for each source, then the units that are run.

    Args:
        session: Where to print.
        found: What the backfill would do.
        parallel: Jobs at a time.
        only: States of the units that were asked for.

    """
    sources, units = len(found.by_source), sum(found.counts.values())
    size = f"{_many(sources, 'source')} × {_many(units // sources, found.step)}"
    session.say((found.task, "bold"), f" {found.first} to {found.last}: {_many(units, 'unit')}, {size}")
    _show_counts(session, found)
    for source in found.new_sources:
        session.say((f"nothing of {_named(source)} is recorded yet", "yellow"))
    session.say("")
    if not found.chosen:
        session.say(("nothing to do", "bold"), f": no unit is {' or '.join(only)}")
        return
    ways = ", ".join(f"{count:,} {WAYS[way]}" for way, count in found.ways.items())
    session.say((f"{found.chosen:,} to run", "bold"), f" ({ways}), {found.order} first, {parallel:,} at a time:")
    _show_units(session, found)


def _many(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _named(source: str | None) -> str:
    return "units without a source" if source is None else f"the source '{source}'"


def _show_counts(session: Session, found: BackfillPreview) -> None:
    from rich.text import Text

    from jobtrail.cli.rendering.tables import plain_table
    from jobtrail.cli.rendering.text import clean

    there = [state for state, count in found.counts.items() if count]
    table = plain_table("source", *there, "to run", right=(*there, "to run"))
    for counts in found.by_source:
        table.add_row(
            Text(clean(counts["source"] or "–")),
            *(Text(f"{counts[state]:,}" if counts[state] else "", _style(state)) for state in there),
            Text(f"{counts['chosen']:,}", "bold" if counts["chosen"] else "dim"),
        )
    table.show(session.console)


def _show_units(session: Session, found: BackfillPreview) -> None:
    from rich.text import Text

    from jobtrail.cli.rendering.tables import plain_table
    from jobtrail.cli.rendering.text import clean, tail

    shown = found.units[:SHOWN]
    with_job = any(one.job for one in shown)
    table = plain_table("period", "source", "is", "will be", *(["job"] if with_job else []))
    for one in shown:
        cells = [
            Text(one.period), Text(clean(one.source or "–")), Text(f"{_sign(one.state)} {one.state}", _style(one.state)),
            Text(WAYS[one.way or "submit"]), Text(tail(one.job), "dim"),
        ]  # fmt: skip
        table.add_row(*cells[: 5 if with_job else 4])
    table.show(session.console)
    rest = found.chosen - SHOWN
    if rest > 0:
        session.say((f"… and {rest:,} more", "dim"))


def _sign(state: str) -> str:
    from jobtrail.cli.rendering.coverage_grid import SIGNS

    return SIGNS[state][0]


def _style(state: str) -> str:
    from jobtrail.cli.rendering.coverage_grid import SIGNS

    return SIGNS[state][1]
