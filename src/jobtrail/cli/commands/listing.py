"""``jobtrail list``, ``items``, ``log`` and ``tasks``."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jobtrail.cli.command import command
from jobtrail.cli.session import Session
from jobtrail.messages import Message, tr

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jobtrail import JobTrail
    from jobtrail.cli.rendering.tables import PlainTable
    from jobtrail.overrides import Overridden
    from jobtrail.queries.jobs.items import ItemHistory, ItemPage, JobItem
    from jobtrail.queries.jobs.job_list import JobPage
    from jobtrail.queries.jobs.logs import Log

FOLLOW_POLL = 0.3  # seconds
ITEMS_SHOWN = 200
OUTCOME_COLOURS = {"ok": "green", "failed": "red", "skipped": "dim"}
LOG_RECORDS = 20_000  # records that are read at once
ALL = 1 << 31

JobId = Annotated[str, typer.Argument(metavar="ID", help="help.id", show_default=False)]


def add_to(cli: typer.Typer) -> None:
    """Register the commands of this file."""
    command(cli, "list", "read", "help.list")(list_jobs)
    command(cli, "items", "read", "help.items")(list_items)
    command(cli, "log", "read", "help.log")(show_log)
    command(cli, "tasks", "read", "help.tasks")(list_tasks)


# -- list --------------------------------------------------------------------------------------------


def list_jobs(
    session: Session,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FILTER]…", help="help.list-filter"),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="help.limit")] = 50,
    before: Annotated[str | None, typer.Option("--before", metavar="ID", help="help.list-before")] = None,
    after: Annotated[str | None, typer.Option("--after", metavar="ID", help="help.list-after")] = None,
    order: Annotated[str, typer.Option("--order", help="help.list-order")] = "newest",
) -> None:
    """List jobs, newest first unless asked otherwise."""
    jobs = session.open()
    edges = {name: jobs.queries.job_id(given) for name, given in (("before", before), ("after", after)) if given}
    text = filter_text(words or [])
    page = jobs.queries.jobs(text, order=order, limit=limit, count=True, **edges)
    if session.as_json:
        session.json(page)
    else:
        _print_page(session, page, "after" if order == "oldest" else "before")


def filter_text(words: Sequence[str]) -> str:
    """The filter that the words of a command line make."""
    return " ".join(_requoted(word) for word in words)


def _requoted(word: str) -> str:
    """Quote a word with blanks again: the shell has removed its quotation marks."""
    if " " not in word or '"' in word:
        return word
    head, colon, rest = word.partition(":")
    if colon and " " not in head:
        return f'{head}:"{rest}"'
    return word if ":" in word else f'"{word}"'


def _print_page(session: Session, page: JobPage, goes_on: str) -> None:
    from jobtrail.cli.rendering.tables import job_table
    from jobtrail.cli.rendering.text import number, tail

    if not page.jobs:
        session.say((tr("cli.no-jobs"), "dim"), (f" ({page.note})" if page.note else "", "dim"))
        return
    wide = session.console.width >= 200
    job_table(page.jobs, page.now, wide=wide).show(session.console)
    counted = page.count
    total = f"{number(counted.number)}{'+' if counted.more else ''}" if counted is not None else "?"
    shown = tr("cli.showing", shown=len(page.jobs), total=total)
    if page.next:
        shown = tr("cli.showing-and-more", showing=shown, option=f"--{goes_on}", job=tail(page.next))
    session.say((f"{shown} · {tr('cli.times-in-utc')}", "dim"))
    if page.note:
        session.say((page.note, "yellow"))


# -- items -------------------------------------------------------------------------------------------


def list_items(
    session: Session,
    job_id: JobId,
    failed: Annotated[bool, typer.Option("--failed", help="help.items-failed")] = False,
    generation: Annotated[bool, typer.Option("--generation", help="help.items-generation")] = False,
    key: Annotated[str | None, typer.Option("--key", metavar="ID", help="help.items-key")] = None,
    loop: Annotated[str, typer.Option("--loop", metavar="NAME", help="help.items-loop")] = "items",
    as_csv: Annotated[bool, typer.Option("--csv", help="help.items-csv")] = False,
    limit: Annotated[int | None, typer.Option("--limit", "-n", min=1, help="help.items-limit")] = None,
) -> None:
    """List the outcome of each item of a job, or all that one item has had."""
    from jobtrail.errors import UsageError

    if as_csv and session.as_json:
        raise UsageError(Message("cli.csv-or-json"))
    jobs = session.open()
    found = jobs.queries.job_id(job_id)
    part: dict[str, Any] = {"outcome": "failed" if failed else None, "generation": generation}
    if key is not None:
        _show_history(session, jobs.queries.item_history(found, key, loop=loop))
    elif as_csv:
        _write_csv(jobs, found, limit=limit, **part)
    elif session.as_json:
        session.json(jobs.queries.items(found, limit=limit or ALL, **part))
    else:
        page = jobs.queries.items(found, limit=limit or ITEMS_SHOWN, **part)
        _print_items(session, jobs, found, page, generation=generation)


def _write_csv(jobs: JobTrail, job_id: str, **part: Any) -> None:
    pieces = jobs.queries.items_csv(job_id, **part)
    # One write: Typer turns an error of a pipe that is closed between two writes into exit code 1.
    sys.stdout.write("".join(pieces).replace("\r\n", "\n"))


def _print_items(session: Session, jobs: JobTrail, job_id: str, page: ItemPage, *, generation: bool) -> None:
    from jobtrail.cli.rendering.views import counted, named

    job = jobs.queries.job(job_id)
    session.say((named(job), "bold"))
    if page.items:
        item_table(page.items).show(session.console)
    counts = jobs.get(job_id).item_counts(generation=True) if generation else dict(job.items)
    words = ", ".join(counted(number, name) for name, number in counts.items() if number) or tr("cli.no-items")
    total = sum(number or 0 for number in counts.values())
    session.say((tr("cli.showing-items", shown=len(page.items), total=total, words=words), "dim"))


def _show_history(session: Session, item: ItemHistory) -> None:
    from rich.text import Text

    from jobtrail.cli.rendering.tables import plain_table
    from jobtrail.cli.rendering.text import clean, short, tail

    if session.as_json:
        session.json(item)
        return
    session.say((clean(item.key), "bold"))
    table = plain_table("time", "outcome", "job", "try", "reason", right=("try",), rest="reason")
    for one in item.records:
        why = ": ".join(part for part in (one.error_type, one.reason) if part)
        table.add_row(
            Text(f"{one.at:%Y-%m-%d %H:%M:%S}", "dim"),
            Text(tr("names.state", name=one.outcome), OUTCOME_COLOURS[one.outcome]),
            Text(tail(one.job)),
            Text("" if one.attempt is None else str(one.attempt)),
            Text(short(why, 200)),
        )
    table.show(session.console)


def item_table(items: Sequence[JobItem]) -> PlainTable:
    """A table with a line for each item; where a later job has recorded one again, it says what the item is now."""
    from rich.text import Text

    from jobtrail.cli.rendering.tables import plain_table
    from jobtrail.cli.rendering.text import clean, short, tail

    since = ["since"] if any(one.since for one in items) else []
    table = plain_table("key", "outcome", "tries", *since, "reason", right=("tries",), rest="reason")
    for one in items:
        key = f"{one.loop}: {one.key}" if one.loop not in {"", "items"} else one.key
        now = one.since and tr("cli.since", outcome=tr("names.state", name=one.since.outcome), job=tail(one.since.job))
        table.add_row(
            Text(clean(key)),
            Text(tr("names.state", name=one.outcome), OUTCOME_COLOURS[one.outcome]),
            Text(str(one.tries)),
            *([Text(now or "", OUTCOME_COLOURS[one.since.outcome] if one.since else "")] if since else []),
            Text(short(one.reason, 200)),
        )
    return table


# -- log ---------------------------------------------------------------------------------------------


def show_log(
    session: Session,
    job_id: JobId,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="help.log-follow")] = False,
) -> None:
    """Print the log of a job."""
    jobs = session.open()
    job = jobs.get(job_id)
    if session.as_json and not follow:
        session.json(jobs.queries.log(job.id, limit=ALL))
        return
    seen = -1
    while True:
        ended = not job.active
        seen = _print_log_after(session, jobs, job.id, seen)
        sys.stdout.flush()
        if ended or not follow:
            return
        time.sleep(FOLLOW_POLL)
        job.refresh()


def _print_log_after(session: Session, jobs: JobTrail, job_id: str, seen: int) -> int:
    """Print the records of the log after number ``seen``; return the number of the last one."""
    while True:
        part = jobs.queries.log(job_id, after=seen, limit=LOG_RECORDS)
        _print_records(session, part)
        seen = seen if part.last is None else part.last
        if not part.later:
            return seen


def _print_records(session: Session, part: Log) -> None:
    from jobtrail.cli.rendering.text import clean_lines

    before = -1
    for record in part.records:
        if session.as_json:
            session.json(record)
            continue
        if part.gap_before is not None and before < part.gap_before == record.seq:
            sys.stdout.write(f"… {tr('cli.lines-dropped', count=part.dropped)} …\n")
        before = record.seq
        sys.stdout.write(f"{clean_lines(record.text)}\n")


# -- tasks -------------------------------------------------------------------------------------------


def list_tasks(session: Session) -> None:
    """List the tasks of the application."""
    from rich.text import Text

    from jobtrail.cli.rendering.tables import plain_table
    from jobtrail.cli.rendering.text import clean, short, span

    jobs = session.open(tasks=True, creates=True)
    known, set_ = jobs.tasks.all(), jobs.overrides.done
    if session.as_json:
        session.json([{**_task_json(task), "overridden": _overridden_json(set_.get(task.name, ()))} for task in known])
        return
    if not known:
        session.say((tr("cli.no-tasks"), "dim"))
        return
    table = plain_table(
        "task", "kind", "queue", "attempts", "timeout", "arguments", "about", right=("attempts",), rest="about"
    )
    for task in known:
        about = (task.function.__doc__ or "").strip()
        attempts = "∞" if task.retry.attempts is None else str(task.retry.attempts)
        row = (task.kind or "", task.queue, attempts, span(task.timeout), task.signature.text, short(about, 70))
        table.add_row(Text(clean(task.name), "bold"), *(Text(clean(part)) for part in row))
    table.show(session.console)
    _print_overridden(session, set_)


def _print_overridden(session: Session, given: Mapping[str, Sequence[Overridden]]) -> None:
    """Print the options of tasks that are overridden, and what overrides them."""
    from rich.text import Text

    from jobtrail.cli.rendering.tables import plain_table
    from jobtrail.cli.rendering.text import clean

    if not given:
        return
    session.say("")
    table = plain_table("set_from_outside", "option", "value", "instead_of", "by")
    for task, changes in sorted(given.items()):
        for one in changes:
            cells = [clean(part) for part in (one.option, _shown(one.value), _shown(one.was), one.by)]
            table.add_row(Text(clean(task), "bold"), *map(Text, cells))
    table.show(session.console)


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_shown(part)}" for key, part in value.items())
    return "none" if value is None else str(value)


def _overridden_json(changes: Sequence[Overridden]) -> dict[str, Any]:
    return {one.option: {"value": one.value, "was": one.was, "by": one.by} for one in changes}


def _task_json(task: Any) -> dict[str, Any]:
    limit = task.max_failed_items
    return {
        "name": task.name,
        "kind": task.kind,
        "queue": task.queue,
        "priority": task.priority,
        "attempts": task.retry.attempts,
        "retry": task.retry.to_json(),
        "timeout": task.timeout,
        "stall_timeout": task.stall_timeout,
        "max_failed_items": None if limit is None else (limit.count if limit.count is not None else limit.share),
        "on_interrupt": task.on_interrupt,
        "on_shutdown": task.on_shutdown,
        "executor": task.executor,
        "signature": task.signature.text,
        "about": (task.function.__doc__ or "").strip() or None,
    }
