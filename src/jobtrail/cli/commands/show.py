"""``jobtrail show``: one job in full."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jobtrail.cli.command import command
from jobtrail.cli.session import Session
from jobtrail.messages import tr

from .listing import OUTCOME_COLOURS, JobId, item_table

if TYPE_CHECKING:
    from datetime import datetime

    from rich.text import Text

    from jobtrail import JobTrail
    from jobtrail.queries.jobs.items import JobItem
    from jobtrail.queries.jobs.job_detail import JobDetail
    from jobtrail.queries.jobs.trail import Attempt

LOG_TAIL = 15  # lines
ITEMS_SHOWN = 10
STEPS_SHOWN = 20


def add_to(cli: typer.Typer) -> None:
    """Register the command of this file."""
    command(cli, "show", "read", "help.show")(show_job)
    command(cli, "group", "read", "help.group")(show_group)


def show_group(
    session: Session, group: Annotated[str, typer.Argument(metavar="ID", help="help.group-id", show_default=False)]
) -> None:
    """Show one group: its members as they stand now, and what follows."""
    found = session.open().queries.group(group)
    if session.as_json:
        session.json(found)
    else:
        from jobtrail.cli.rendering import lineage

        lineage.show_group(session, found)


@dataclass(slots=True)
class JobPageParts:
    """What is shown beside the job itself: the time, failed items, the end of the log."""

    now: datetime
    failed: list[JobItem]
    log: list[str]


def show_job(
    session: Session,
    job_id: JobId,
    traceback: Annotated[bool, typer.Option("--traceback/--no-traceback", help="help.show-traceback")] = True,
    log_lines: Annotated[int, typer.Option("--log-lines", min=0, help="help.show-log-lines")] = LOG_TAIL,
) -> None:
    """Show one job: state, questions, timeline, attempts, items, error, log, chain and lineage."""
    jobs = session.open()
    job = jobs.queries.job(job_id)
    if session.as_json:
        session.json(job)
        return
    failed = jobs.queries.items(job.id, outcome="failed", limit=ITEMS_SHOWN).items if job.items.failed else []
    parts = JobPageParts(jobs.store.now(), failed, _log_end(jobs, job.id, log_lines))
    _print(session, job, parts, traceback=traceback)


def _log_end(jobs: JobTrail, job_id: str, lines: int) -> list[str]:
    if not lines:
        return []
    records = jobs.queries.log(job_id, limit=lines).records
    found = [line for record in records for line in record.text.split("\n")]
    while found and not found[-1]:
        found.pop()
    return found[-lines:]


def _print(session: Session, job: JobDetail, parts: JobPageParts, *, traceback: bool) -> None:
    from jobtrail.cli.rendering.tables import pairs

    session.console.print(_headline(job, parts.now), soft_wrap=True)
    session.console.print(pairs([*_identity(job), *_work(job), *_times(job, parts.now)]))
    _print_questions(session, job, parts.now)
    _print_timeline(session, job)
    _print_attempts(session, job, parts.now)
    _print_items(session, job, parts.failed)
    _print_error(session, job, traceback=traceback)
    _print_log(session, parts.log)
    _print_chain(session, job)
    _print_lineage(session, job, parts.now)


def _heading(session: Session, part: str) -> None:
    session.say("")
    session.say((tr("cli.heading", part=part), "bold underline"))


def _headline(job: JobDetail, now: datetime) -> Text:
    from rich.text import Text

    from jobtrail.cli.rendering.text import clean, span
    from jobtrail.cli.rendering.views import status_text, summary, tries, what

    name = " ".join(part for part in (job.task, job.source or "", what(job)) if part)
    text = Text.assemble((clean(name), "bold"), "  ", status_text(job.status))
    text.append("  ")
    attempt = tries(job.attempt, job.max_attempts)
    if attempt:
        text.append(tr("cli.attempt", number=attempt), "dim")
    if job.status == "pending" and job.run_at is not None and job.run_at > now:
        text.append(f"{', ' if attempt else ''}{tr('cli.next-in', span=span(job.run_at - now))}", "cyan")
    elif not job.error:
        text.append(f"  {summary(job, now, 160)}".rstrip(), "dim")
    return text


def _identity(job: JobDetail) -> list[tuple[str, Any]]:
    facts = [("id", job.id)]
    if job.unit_of is not None:
        facts.append(("unit", job.unit_of.text))
    if job.input is not None:
        facts += [("file", f"{job.input.path}  {tr('cli.bytes', count=job.input.size)}"), ("sha_256", job.input.sha256)]
    facts.append(("queue", job.queue))
    if job.executor is not None:
        facts.append(("executor", job.executor))
    if job.handed_over is not None:
        facts.append(("handed_over", f"{job.handed_over:%Y-%m-%d %H:%M:%S} UTC"))
    facts += [(name, str(value)) for name in ("priority", "kind", "mode") if (value := getattr(job, name)) is not None]
    return facts


def _work(job: JobDetail) -> list[tuple[str, Any]]:
    from json import dumps

    from jobtrail.cli.rendering.text import short, span
    from jobtrail.cli.rendering.views import progress_text

    facts: list[tuple[str, Any]] = []
    for name in ("arguments", "labels", "context", "result"):
        value = getattr(job, name)
        if value not in (None, {}):
            facts.append((name, short(dumps(value, ensure_ascii=False), 2000)))
    if job.note:
        facts.append(("note", job.note))
    if job.progress and _is_active(job):
        facts.append(("progress", progress_text(job.progress)))
    if job.steps:
        facts.append(("steps", ", ".join(f"{step.name} ({span(step.seconds)})" for step in job.steps[:STEPS_SHOWN])))
    return facts


def _is_active(job: JobDetail) -> bool:
    from jobtrail.job.model import ACTIVE

    return job.status in ACTIVE


def _times(job: JobDetail, now: datetime) -> list[tuple[str, Any]]:
    from jobtrail.cli.rendering.text import span

    facts: list[tuple[str, Any]] = []
    if isinstance(job.options, dict) and job.options.get("slot"):
        facts.append(("planned_for", str(job.options["slot"]).replace("T", " ").replace("+00:00", " UTC")))
    who = job.submitted_by
    if who is not None:
        program = {"program": who.program or "?", "host": who.host, "pid": str(who.pid), "user": who.user or "?"}
        facts.append(("submitted_by", tr("cli.submitted-by", **program)))
    if job.started_at and job.status != "pending" and not job.status.startswith("awaiting_"):
        facts.append(("took" if job.finished_at else "runs_for", span((job.finished_at or now) - job.started_at)))
    if job.body_running:
        facts.append(("beware", tr("cli.end-was-forced")))
    if job.why_waiting is not None:
        facts.append(("why_waiting", job.why_waiting.words))
    if job.waits_for:
        facts.append(("waits_for", job.waits_for))
    return facts


def _print_questions(session: Session, job: JobDetail, now: datetime) -> None:
    """Print the questions, open ones first."""
    from .questions import print_question

    if job.questions:
        _heading(session, "questions")
        for one in sorted(job.questions, key=lambda one: one.state != "open"):
            print_question(session, one, now)


def _print_timeline(session: Session, job: JobDetail) -> None:
    from rich.text import Text

    from jobtrail.cli.rendering.tables import plain_table
    from jobtrail.cli.rendering.text import clean, short
    from jobtrail.cli.rendering.views import status_text

    _heading(session, "timeline")
    table = plain_table("time", "what", "to", "by", "why", rest="why")
    table.show_header = False
    for line in job.timeline:
        table.add_row(
            Text(f"{line.at:%Y-%m-%d %H:%M:%S.%f}"[:-3], "dim"),
            Text(tr("names.event", name=line.name)),
            Text(*status_text(line.to)) if line.to else Text(),
            Text(clean(tr("names.actor", name=line.actor or ""))),
            Text(short(line.reason, 160), "dim"),
        )
    table.show(session.console)


def _print_attempts(session: Session, job: JobDetail, now: datetime) -> None:
    from jobtrail.cli.rendering.tables import plain_table
    from jobtrail.cli.rendering.text import short, span
    from jobtrail.cli.rendering.views import tries

    if not job.attempts:
        return
    _heading(session, "attempts")
    elsewhere = any(one.ids for one in job.attempts)
    fields = ("try", "outcome", "took", "worker", *(("begun_as", "delivered_again") if elsewhere else ()), "error")
    table = plain_table(*fields, right=("try", "took", "delivered_again"), rest="error")
    for one in job.attempts:
        table.add_row(*_attempt_cells(one, job.max_attempts, now, elsewhere=elsewhere))
    table.show(session.console)
    if job.status == "pending" and job.run_at is not None and job.run_at > now:
        attempt = tr("cli.attempt", number=tries(job.attempt, job.max_attempts))
        why = f" ({short(job.retry_reason, 120)})" if job.retry_reason else ""
        session.say((f"{attempt}, {tr('cli.next-in', span=span(job.run_at - now))}{why}", "cyan"))


def _attempt_cells(one: Attempt, most: int | None, now: datetime, *, elsewhere: bool) -> tuple[Any, ...]:
    """The cells of an attempt; with ``elsewhere`` what another system knows it by, and how often it brought it again."""
    from rich.text import Text

    from jobtrail.cli.rendering.text import clean, short, span, tail
    from jobtrail.cli.rendering.views import status_text, tries

    took = span((one.ended_at or now) - one.started_at) if one.started_at else ""
    return (
        Text(tries(one.attempt, most)),
        Text(*status_text(one.outcome)),
        Text(took),
        Text(tail(one.worker), "dim"),
        *((Text(clean(" ".join(one.ids.values())), "dim"), Text(str(one.delivered_again or ""))) if elsewhere else ()),
        Text(short(one.error, 160), "red" if one.error else ""),
    )


def _print_items(session: Session, job: JobDetail, failed: list[JobItem]) -> None:
    from jobtrail.cli.rendering.text import tail
    from jobtrail.cli.rendering.views import counted

    counts = {name: number or 0 for name, number in job.items}
    if not any(counts.values()):
        return
    _heading(session, "items")
    session.say(*((f"{counted(number, name)}   ", OUTCOME_COLOURS[name]) for name, number in counts.items() if number))
    if not failed:
        return
    item_table(failed).show(session.console)
    rest = counts["failed"] - len(failed)
    if rest > 0:
        session.say((f"{tr('cli.and-more', count=rest)}: jobtrail items {tail(job.id)} --failed", "dim"))


def _print_error(session: Session, job: JobDetail, *, traceback: bool) -> None:
    from jobtrail.cli.rendering.text import clean_lines

    found = job.failure
    if found is None:
        return
    _heading(session, "last_error" if _is_active(job) else "error")
    session.say((clean_lines(": ".join(part for part in (found.type, found.message) if part)), "red"))
    if traceback and found.traceback:
        session.say((clean_lines(found.traceback.rstrip()), "dim"))


def _print_log(session: Session, lines: list[str]) -> None:
    from jobtrail.cli.rendering.text import clean_lines

    if lines:
        _heading(session, "log")
        for line in lines:
            session.say(clean_lines(line))


def _print_chain(session: Session, job: JobDetail) -> None:
    from jobtrail.cli.rendering import lineage

    if job.ancestors or job.successors or job.groups:
        _heading(session, "chain")
        lineage.show(session, job)


def _print_lineage(session: Session, job: JobDetail, now: datetime) -> None:
    from jobtrail.cli.rendering.text import moment, tail
    from jobtrail.cli.rendering.views import status_text
    from jobtrail.queries.jobs.lineage import RelatedJob

    if not job.reran and not job.reruns:
        return
    _heading(session, "lineage")
    itself = RelatedJob.model_validate(job)
    for one in (*job.reran, itself, *job.reruns):
        mark = (f"  ← {tr('cli.this-job')}", "bold") if one is itself else ("", "")
        mode = f"  {one.mode or tr('cli.first-run'):<12}"
        session.say(f"…{tail(one.id)}  ", (moment(one.created_at, now), "dim"), f"{mode}  ", status_text(one.status), mark)
