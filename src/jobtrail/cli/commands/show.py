"""``jobtrail show``: everything about one job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jobtrail.cli.command import LOOKING, command
from jobtrail.cli.session import Session
from jobtrail.commands.job_fields import stored_row
from jobtrail.queries.timeline import attempts, timeline

from .listing import JobId, item_cells

if TYPE_CHECKING:
    from datetime import datetime

    from rich.text import Text

    from jobtrail import JobTrail
    from jobtrail.commands.job_handle import Job
    from jobtrail.job.model import JobRow
    from jobtrail.queries.lineage import Chain
    from jobtrail.store.events import Event
    from jobtrail.store.items import ItemRow
    from jobtrail.store.questions import QuestionRow

LOG_TAIL = 15  # lines
ITEMS_SHOWN = 10


def add_to(cli: typer.Typer) -> None:
    """Register the command of this file."""
    command(cli, "show", LOOKING)(show_job)


@dataclass(slots=True)
class Seen:
    """What was read for one page."""

    job: Job
    row: JobRow
    now: datetime
    events: list[Event]
    counts: dict[str, int]
    failed: list[ItemRow]
    progress: dict[str, Any] | None
    log: list[str]
    before: list[JobRow]
    after: list[JobRow]
    unit: Any
    steps: list[dict[str, Any]]
    marked: frozenset[str]
    submitter: dict[str, Any] | None
    questions: list[QuestionRow]
    chain: Chain


def show_job(
    session: Session,
    job_id: JobId,
    traceback: Annotated[bool, typer.Option("--traceback/--no-traceback", help="With the error's traceback.")] = True,
    log_lines: Annotated[int, typer.Option("--log-lines", min=0, help="How much of the log's end.")] = LOG_TAIL,
) -> None:
    """One job: its state, questions, trail, attempts, items, error, log, chain and lineage."""
    jobs = session.open()
    seen = _read(jobs, jobs.get(job_id), log_lines)
    if session.as_json:
        session.json(_as_json(seen))
    else:
        _print(session, seen, traceback=traceback)


# -- reading -----------------------------------------------------------------------------------------


def _read(jobs: JobTrail, job: Job, log_lines: int) -> Seen:
    from sqlalchemy import select

    from jobtrail.database.tables import submitters
    from jobtrail.queries import lineage
    from jobtrail.store import questions, runs, units

    row = stored_row(job)
    task = jobs.tasks.find(row.task)
    log = job.log().split("\n") if log_lines else []
    while log and not log[-1]:
        log.pop()
    with jobs.store.read() as conn:
        unit = units.get(conn, row.unit) if row.unit else None
        steps = runs.steps_of(conn, row.ledger)
        found = (
            conn.execute(select(submitters).where(submitters.c.id == row.submitter)).first() if row.submitter else None
        )
        submitter = dict(found._mapping) if found else None
        before, after = lineage.lineage(conn, row)
        asked, chained = questions.of_job(conn, row.id), lineage.chain_of(conn, row)
    return Seen(
        job=job, row=row, now=jobs.store.now(), events=job.events(), counts=job.item_counts(),
        failed=job.items("failed", limit=ITEMS_SHOWN), progress=job.progress(), log=log[-log_lines:] if log_lines else [],
        before=before, after=after, unit=unit, steps=steps, marked=task.secret if task else frozenset(), submitter=submitter,
        questions=asked, chain=chained,
    )  # fmt: skip


# -- for programs ------------------------------------------------------------------------------------


def _as_json(seen: Seen) -> dict[str, Any]:
    from jobtrail.cli.rendering import lineage as lineage_view
    from jobtrail.cli.rendering.text import iso
    from jobtrail.cli.rendering.views import error_sentence, event_json, item_json, job_json, question_json
    from jobtrail.job.failure import mask_urls

    answer = job_json(seen.row, seen.marked)
    answer["items"] = seen.counts
    answer["failed_items"] = [item_json(item) for item in seen.failed]
    answer["progress"] = (
        {k: iso(v) if k.endswith("_at") else v for k, v in seen.progress.items()} if seen.progress else None
    )
    answer["events"] = [event_json(event) for event in seen.events]
    answer["timeline"] = [
        {"at": iso(line.at), "name": line.name, "to": line.to, "actor": line.actor, "run_no": line.run_no,
         "reason": mask_urls(line.reason) if line.reason else None}
        for line in timeline(seen.row, seen.events)
    ]  # fmt: skip
    answer["attempts"] = [
        {"attempt": one.no, "started_at": iso(one.started), "ended_at": iso(one.ended), "outcome": one.outcome,
         "worker": one.worker, "error": mask_urls(error_sentence(one.error)) or None, "next_at": iso(one.next_at)}
        for one in attempts(seen.row, seen.events)
    ]  # fmt: skip
    answer["steps"] = [{**step, "at": iso(step["at"])} for step in seen.steps]
    answer["log_tail"] = [mask_urls(line) for line in seen.log]
    answer["unit_text"] = seen.unit.text if seen.unit else None
    answer["questions"] = [question_json(one, seen.marked) for one in seen.questions]
    answer |= lineage_view.as_json(seen.chain)
    answer["reran"] = [{"id": one.id, "status": one.status.value, "mode": one.mode} for one in seen.before]
    answer["reruns"] = [{"id": one.id, "status": one.status.value, "mode": one.mode} for one in seen.after]
    answer["submitted_by"] = {**seen.submitter, "at": iso(seen.submitter["at"])} if seen.submitter else None
    return answer


# -- for people --------------------------------------------------------------------------------------


def _print(session: Session, seen: Seen, *, traceback: bool) -> None:
    from jobtrail.cli.rendering.tables import pairs

    session.console.print(_headline(seen), soft_wrap=True)
    session.console.print(pairs(_facts(seen)))
    _print_questions(session, seen)
    _print_timeline(session, seen)
    _print_attempts(session, seen)
    _print_items(session, seen)
    _print_error(session, seen, traceback=traceback)
    _print_log(session, seen)
    _print_chain(session, seen)
    _print_lineage(session, seen)


def _heading(session: Session, text: str) -> None:
    session.say("")
    session.say((text, "bold underline"))


def _headline(seen: Seen) -> Text:
    from rich.text import Text

    from jobtrail.cli.rendering.text import clean, span
    from jobtrail.cli.rendering.views import status_text, told, tries, what

    row = seen.row
    name = " ".join(part for part in (row.task, row.source or "", what(row)) if part)
    text = Text.assemble((clean(name), "bold"), "  ", status_text(row.status.value))
    text.append("  ")
    attempt = tries(row.attempt, row.max_attempts)
    if attempt:
        text.append(f"attempt {attempt}", "dim")
    planned = row.status.value == "pending" and row.run_at is not None and row.run_at > seen.now
    if planned and row.run_at is not None:
        text.append(f"{', ' if attempt else ''}next in {span(row.run_at - seen.now)}", "cyan")
    elif not row.error:
        text.append(f"  {told(row, seen.now, 160)}".rstrip(), "dim")
    return text


def _facts(seen: Seen) -> list[tuple[str, Any]]:
    row = seen.row
    return [*_identity(row, seen), *_work(row, seen), *_times(row, seen)]


def _identity(row: JobRow, seen: Seen) -> list[tuple[str, Any]]:
    from jobtrail.cli.rendering.views import parsed

    facts = [("id", row.id)]
    if seen.unit is not None:
        facts.append(("unit", seen.unit.text))
    file = parsed(row.file)
    if isinstance(file, dict):
        facts += [("file", f"{file.get('path')}  {file.get('size', 0):,} bytes"), ("sha-256", str(file.get("sha256")))]
    if row.mode:
        facts.append(("mode", row.mode))
    kind = f", kind {row.kind}" if row.kind else ""
    facts.append(("queue", f"{row.queue}, priority {row.priority}{kind}"))
    return facts


def _work(row: JobRow, seen: Seen) -> list[tuple[str, Any]]:
    from json import dumps

    from jobtrail.cli.rendering.text import short, span
    from jobtrail.cli.rendering.views import parsed
    from jobtrail.job.masking import masked

    facts: list[tuple[str, Any]] = []
    for name, text in (
        ("arguments", row.args),
        ("labels", row.labels),
        ("context", row.context),
        ("result", row.result),
    ):
        value = parsed(text)
        if value not in (None, {}):
            facts.append((name, short(dumps(masked(value, seen.marked), ensure_ascii=False), 2000)))
    if row.note:
        facts.append(("note", row.note))
    if seen.progress and row.active:
        facts.append(("progress", _progress(seen.progress)))
    if seen.steps:
        facts.append(("steps", ", ".join(f"{step['name']} ({span(step['seconds'])})" for step in seen.steps[:20])))
    return facts


def _progress(progress: dict[str, Any]) -> str:
    parts = []
    if progress.get("percent") is not None:
        parts.append(f"{progress['percent']:.0f} %")
    if progress.get("done") is not None:
        total = f" of {progress['total']:,}" if progress.get("total") is not None else ""
        parts.append(f"{progress['done']:,}{total}")
    if progress.get("message"):
        parts.append(str(progress["message"]))
    return ", ".join(parts)


def _times(row: JobRow, seen: Seen) -> list[tuple[str, Any]]:
    from jobtrail.cli.rendering.text import span
    from jobtrail.cli.rendering.views import parsed

    facts: list[tuple[str, Any]] = []
    planned = parsed(row.options)
    if isinstance(planned, dict) and planned.get("slot"):
        facts.append(("planned for", str(planned["slot"]).replace("T", " ").replace("+00:00", " UTC")))
    if seen.submitter:
        who = seen.submitter
        facts.append(
            ("submitted by", f"{who['program'] or '?'} on {who['host']} (pid {who['pid']}, {who['user'] or '?'})")
        )
    if row.started_at and row.status.value != "pending" and not row.status.value.startswith("awaiting_"):
        facts.append(("took" if row.finished_at else "runs for", span((row.finished_at or seen.now) - row.started_at)))
    if row.body_running:
        facts.append(("beware", "the end was forced, its body still runs"))
    if row.waits_for:
        facts.append(("waits for", row.waits_for))
    return facts


def _print_questions(session: Session, seen: Seen) -> None:
    """What is open comes first, above all that has been."""
    from jobtrail.queries.questions import detail

    from .questions import print_question

    if seen.questions:
        _heading(session, "Questions")
        for one in sorted(seen.questions, key=lambda one: one.state != "open"):
            print_question(session, detail(one, seen.row, seen.marked), seen.now)


def _print_timeline(session: Session, seen: Seen) -> None:
    from rich.text import Text

    from jobtrail.cli.rendering.tables import plain_table
    from jobtrail.cli.rendering.text import clean, short
    from jobtrail.cli.rendering.views import COLOURS
    from jobtrail.job.failure import mask_urls

    _heading(session, "Timeline (UTC)")
    table = plain_table("time", "what", "to", "by", "why", rest="why")
    table.show_header = False
    for line in timeline(seen.row, seen.events):
        words = line.name.replace("_", " ")
        table.add_row(
            Text(f"{line.at:%Y-%m-%d %H:%M:%S.%f}"[:-3], "dim"),
            Text(words),
            Text(line.to or "", COLOURS.get(line.to or "", "")),
            Text(clean(line.actor or "")),
            Text(short(mask_urls(line.reason or ""), 160), "dim"),
        )
    table.show(session.console)


def _print_attempts(session: Session, seen: Seen) -> None:
    from rich.text import Text

    from jobtrail.cli.rendering.tables import plain_table
    from jobtrail.cli.rendering.text import short, span, tail
    from jobtrail.cli.rendering.views import COLOURS, error_sentence, tries
    from jobtrail.job.failure import mask_urls

    found = attempts(seen.row, seen.events)
    if not found:
        return
    _heading(session, "Attempts")
    table = plain_table("try", "outcome", "took", "worker", "error", right=("try", "took"), rest="error")
    for one in found:
        took = span((one.ended or seen.now) - one.started) if one.started else ""
        table.add_row(
            Text(tries(one.no, seen.row.max_attempts)),
            Text(one.outcome.replace("_", " "), COLOURS.get(one.outcome, "")),
            Text(took),
            Text(tail(one.worker), "dim"),
            Text(short(mask_urls(error_sentence(one.error)), 160), "red" if one.error else ""),
        )
    table.show(session.console)
    row = seen.row
    if row.status.value == "pending" and row.run_at is not None and row.run_at > seen.now:
        why = f" ({short(mask_urls(row.retry_reason), 120)})" if row.retry_reason else ""
        limit = tries(row.attempt, row.max_attempts)
        session.say((f"attempt {limit}, next in {span(row.run_at - seen.now)}{why}", "cyan"))


def _print_items(session: Session, seen: Seen) -> None:
    from jobtrail.cli.rendering.tables import plain_table
    from jobtrail.cli.rendering.text import tail

    total = sum(seen.counts.values())
    if not total:
        return
    _heading(session, "Items")
    told = [(f"{seen.counts[name]:,} {name}   ", colour) for name, colour in
            (("ok", "green"), ("failed", "red"), ("skipped", "dim")) if seen.counts.get(name)]  # fmt: skip
    session.say(*told)
    if not seen.failed:
        return
    table = plain_table("key", "outcome", "tries", "reason", right=("tries",), rest="reason")
    for item in seen.failed:
        table.add_row(*item_cells(item))
    table.show(session.console)
    rest = seen.counts.get("failed", 0) - len(seen.failed)
    if rest > 0:
        session.say((f"… and {rest:,} more: jobtrail items {tail(seen.row.id)} --failed", "dim"))


def _print_error(session: Session, seen: Seen, *, traceback: bool) -> None:
    from jobtrail.cli.rendering.text import clean_lines
    from jobtrail.cli.rendering.views import error_sentence, parsed
    from jobtrail.job.failure import mask_urls

    if not seen.row.error:
        return
    _heading(session, "Error" if not seen.row.active else "Last error")
    session.say((clean_lines(mask_urls(error_sentence(seen.row.error))), "red"))
    error = parsed(seen.row.error)
    trace = error.get("traceback") if isinstance(error, dict) else None
    if traceback and trace:
        session.say((clean_lines(mask_urls(str(trace).rstrip())), "dim"))


def _print_log(session: Session, seen: Seen) -> None:
    from jobtrail.cli.rendering.text import clean_lines
    from jobtrail.job.failure import mask_urls

    if seen.log:
        _heading(session, "Log (end)")
        for line in seen.log:
            session.say(clean_lines(mask_urls(line)))


def _print_chain(session: Session, seen: Seen) -> None:
    from jobtrail.cli.rendering import lineage as lineage_view

    if seen.chain:
        _heading(session, "Chain")
        lineage_view.show(session, seen.row, seen.chain)


def _print_lineage(session: Session, seen: Seen) -> None:
    from jobtrail.cli.rendering.text import moment, tail
    from jobtrail.cli.rendering.views import status_text

    if not seen.before and not seen.after:
        return
    _heading(session, "Lineage")
    for one in (*seen.before, seen.row, *seen.after):
        mark = ("  ← this job", "bold") if one.id == seen.row.id else ("", "")
        mode = f"  {one.mode or 'first':<12}"
        session.say(f"…{tail(one.id)}  ", (moment(one.created_at, seen.now), "dim"), f"{mode}  ",
                    status_text(one.status.value), mark)  # fmt: skip
