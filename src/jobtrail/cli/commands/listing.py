"""Looking: list, items, log, tasks."""

from __future__ import annotations

import csv
import io
import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jobtrail.cli.command import LOOKING, command
from jobtrail.cli.session import Session
from jobtrail.commands.job_fields import stored_row

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jobtrail.commands.job_handle import Job
    from jobtrail.overrides import Overridden
    from jobtrail.store import Store
    from jobtrail.store.items import ItemRow

FOLLOW_POLL = 0.3  # seconds
ITEMS_PAGE = 2000

JobId = Annotated[
    str, typer.Argument(metavar="ID", help="The job's id, or any unique ending of it.", show_default=False)
]


def add_to(cli: typer.Typer) -> None:
    """Register the commands of this file."""
    command(cli, "list", LOOKING)(list_jobs)
    command(cli, "items", LOOKING)(list_items)
    command(cli, "log", LOOKING)(show_log)
    command(cli, "tasks", LOOKING)(list_tasks)


# -- list --------------------------------------------------------------------------------------------


def list_jobs(
    session: Session,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILTER]…", help='As in: status:failed task:sync source:weather/* after:2d "free text".'
        ),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="How many to show.")] = 50,
    before: Annotated[str | None, typer.Option("--before", metavar="ID", help="Only jobs older than this one.")] = None,
) -> None:
    """Jobs, newest first."""
    from jobtrail.cli.rendering.views import job_json
    from jobtrail.store.search import search

    jobs = session.open()
    edge = jobs.get(before).id if before else None
    jobs.service.make_readable()
    now = jobs.store.now()
    text = " ".join(_requoted(word) for word in words or [])
    with jobs.store.read() as conn:
        page = search.find(conn, text, now=now, limit=limit, before=edge)
        counted = search.count(conn, text, now=now)
    if session.as_json:
        answer = {"jobs": [job_json(row) for row in page.rows], "count": counted.number, "count_is_more": counted.more}
        session.json({**answer, "next": page.next, "note": page.note})
        return
    _print_page(session, page, counted, now)


def _requoted(word: str) -> str:
    """The shell has taken the quotation marks away; a word with blanks in it was one value."""
    if " " not in word or '"' in word:
        return word
    head, colon, rest = word.partition(":")
    if colon and " " not in head:
        return f'{head}:"{rest}"'
    return word if ":" in word else f'"{word}"'


def _print_page(session: Session, page: Any, counted: Any, now: Any) -> None:
    from jobtrail.cli.rendering.tables import job_table
    from jobtrail.cli.rendering.text import tail

    total = f"{counted.number:,}{'+' if counted.more else ''}"
    if not page.rows:
        session.say(("no jobs", "dim"), (f" ({page.note})" if page.note else "", "dim"))
        return
    wide = session.console.width >= 200
    job_table(page.rows, now, wide=wide).show(session.console)
    more = f"; go on with --before {tail(page.next)}" if page.next else ""
    session.say((f"showing {len(page.rows):,} of {total}{more} · times in UTC", "dim"))
    if page.note:
        session.say((page.note, "yellow"))


# -- items -------------------------------------------------------------------------------------------


def list_items(
    session: Session,
    job_id: JobId,
    failed: Annotated[bool, typer.Option("--failed", help="Only those that failed.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="As CSV, safe to open in a spreadsheet.")] = False,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=1, help="How many (default: all with --csv or --json, else 200).")
    ] = None,
) -> None:
    """What became of each item of a job."""
    from jobtrail.cli.rendering.views import item_json
    from jobtrail.errors import UsageError

    if as_csv and session.as_json:
        message = "say --csv or --json, not both"
        raise UsageError(message)
    jobs = session.open()
    job = jobs.get(job_id)
    most = limit or (None if as_csv or session.as_json else 200)
    rows = _items(jobs.store, stored_row(job).ledger, failed=failed, most=most)
    if session.as_json:
        session.json([item_json(row) for row in rows])
    elif as_csv:
        sys.stdout.write(_csv(rows))
    else:
        _print_items(session, job, rows)


def _items(store: Store, ledger: str, *, failed: bool, most: int | None) -> list[ItemRow]:
    from jobtrail.job.items import ItemOutcome
    from jobtrail.store import items

    outcome = ItemOutcome.FAILED if failed else None
    rows: list[ItemRow] = []
    after = None
    while True:
        size = ITEMS_PAGE if most is None else min(ITEMS_PAGE, most - len(rows))
        with store.read() as conn:
            page = items.page(conn, ledger, outcome=outcome, after=after, limit=size)
        rows += page
        if len(page) < size or len(rows) == most:
            return rows
        after = (page[-1].loop, page[-1].position, page[-1].key)


def _csv(rows: list[ItemRow]) -> str:
    from jobtrail.cli.rendering.views import item_json
    from jobtrail.queries.csv_cell import cell

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = ("key", "outcome", "reason", "error_type", "loop", "position", "tries", "job", "at")
    writer.writerow(names)
    for row in rows:
        values = item_json(row)
        writer.writerow([cell(values[name]) for name in names])
    return out.getvalue()


def _print_items(session: Session, job: Job, rows: list[ItemRow]) -> None:
    from jobtrail.cli.rendering.tables import plain_table
    from jobtrail.cli.rendering.views import named

    counts = job.item_counts()
    session.say((named(stored_row(job)), "bold"))
    if rows:
        table = plain_table("key", "outcome", "tries", "reason", right=("tries",), rest="reason")
        for row in rows:
            table.add_row(*item_cells(row))
        table.show(session.console)
    total = sum(counts.values())
    told = ", ".join(f"{number:,} {name}" for name, number in counts.items() if number) or "no items"
    session.say((f"showing {len(rows):,} of {total:,} items: {told}", "dim"))


def item_cells(row: ItemRow) -> tuple[Any, ...]:
    """An item as a line of a table: key, outcome, tries, reason."""
    from rich.text import Text

    from jobtrail.cli.rendering.text import clean, short
    from jobtrail.job.failure import mask_urls

    colour = {"ok": "green", "failed": "red", "skipped": "dim"}[row.outcome.value]
    key = clean(f"{row.loop}: {row.key}" if row.loop not in {"", "items"} else row.key)
    return (
        Text(key),
        Text(row.outcome.value, colour),
        Text(str(row.tries)),
        Text(short(mask_urls(row.reason or ""), 200)),
    )


# -- log ---------------------------------------------------------------------------------------------


def show_log(
    session: Session,
    job_id: JobId,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the job has ended.")] = False,
) -> None:
    """What a job logged."""
    from jobtrail.cli.rendering.text import clean_lines
    from jobtrail.job.failure import mask_urls

    jobs = session.open()
    job = jobs.get(job_id)
    if session.as_json and not follow:
        session.json({"id": job.id, "log": mask_urls(job.log())})
        return
    seen = -1
    while True:
        ended = not job.active
        seen, text = log_after(jobs.store, job.id, seen)
        for line in text.split("\n") if text else ():
            if session.as_json:
                session.json({"id": job.id, "line": mask_urls(line)})
            else:
                sys.stdout.write(f"{clean_lines(mask_urls(line))}\n")
        sys.stdout.flush()
        if ended or not follow:
            return
        time.sleep(FOLLOW_POLL)
        job.refresh()


def log_after(store: Store, job_id: str, seen: int) -> tuple[int, str]:
    """The last piece's number and the text of a log behind a piece."""
    from jobtrail.store import runs

    parts: list[str] = []
    while True:
        with store.read() as conn:
            chunks = runs.log_chunks(conn, job_id, after=seen)
        if not chunks:
            return seen, "\n".join(parts)
        for chunk in chunks:
            if chunk.dropped:
                parts.append(f"… {chunk.dropped:,} lines dropped …")
            parts.append(chunk.text.rstrip("\n"))
        seen = chunks[-1].seq


# -- tasks -------------------------------------------------------------------------------------------


def list_tasks(session: Session) -> None:
    """The tasks that the application knows."""
    from rich.text import Text

    from jobtrail.cli.rendering.tables import plain_table
    from jobtrail.cli.rendering.text import clean, short, span

    jobs = session.open(tasks=True, creates=True)
    known, set_ = jobs.tasks.all(), jobs.overrides.done
    if session.as_json:
        session.json([{**_task_json(task), "overridden": _overridden_json(set_.get(task.name, ()))} for task in known])
        return
    if not known:
        session.say(("no tasks are registered", "dim"))
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
    """What of the tasks is not as the program says, and by what."""
    from rich.text import Text

    from jobtrail.cli.rendering.tables import plain_table
    from jobtrail.cli.rendering.text import clean

    if not given:
        return
    session.say("")
    table = plain_table("set from outside", "option", "value", "instead of", "by")
    for task, changes in sorted(given.items()):
        for one in changes:
            told = [clean(part) for part in (one.option, _shown(one.value), _shown(one.was), one.by)]
            table.add_row(Text(clean(task), "bold"), *map(Text, told))
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
        "executor": task.executor,
        "signature": task.signature.text,
        "about": (task.function.__doc__ or "").strip() or None,
    }
