"""``jobtrail coverage``: which source is loaded for which period, what is missing, what came in only partly."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jobtrail.cli.command import LOOKING, command
from jobtrail.cli.rendering.coverage_grid import MISSING, form_of, grids, state_of
from jobtrail.cli.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from rich.text import Text

    from jobtrail.cli.rendering.coverage_grid import Grid
    from jobtrail.store.units import UnitRow

# what a cell is -> its sign (also readable without colours), its style, its word in the legend
SIGNS = {
    "success": ("█", "green", "complete"),
    "partial": ("▒", "yellow", "partial"),
    "error": ("✗", "bold red", "failed"),
    "running": ("▶", "bold blue", "running"),
    "pending": ("…", "cyan", "waiting"),
    "none": ("?", "magenta", "without outcome"),
    MISSING: ("·", "dim", "missing"),
}
_LIKE = {"cancelling": "running", "awaiting_input": "pending", "awaiting_mapping": "pending", "interrupted": "error"}
UNITS_LIMIT = 20_000


def add_to(cli: typer.Typer) -> None:
    """Register the command of this file."""
    command(cli, "coverage", LOOKING)(show_coverage)


def show_coverage(
    session: Session,
    task: Annotated[str, typer.Argument(metavar="TASK", help="The task's name.", show_default=False)],
    start: Annotated[
        str | None, typer.Option("--from", metavar="PERIOD", help="From the beginning of this period.")
    ] = None,
    end: Annotated[str | None, typer.Option("--to", metavar="PERIOD", help="To the end of this period.")] = None,
) -> None:
    """Sources by periods, gaps included."""
    from jobtrail.store import units

    jobs = session.open()
    since, until = _edge(jobs, task, start, "start"), _edge(jobs, task, end, "end")
    jobs.service.make_readable()
    with jobs.store.read() as conn:
        found = units.of_task(conn, task, start=since, end=until, limit=UNITS_LIMIT)
    if not found:
        _check_known(jobs, task)
    laid = grids(found, since, until)
    if session.as_json:
        session.json(_as_json(task, found, laid))
    else:
        _print(session, task, found, laid)


def _edge(jobs: Any, task: str, text: str | None, which: str) -> datetime | None:
    if text is None:
        return None
    from jobtrail.job.period import Period

    known = jobs.tasks.find(task)
    zone = None if known is None or known.zone == "UTC" else known.zone
    edge: datetime = getattr(Period.parse(text, zone), which)
    return edge


def _check_known(jobs: Any, task: str) -> None:
    """Nothing is loaded, or nothing is called so."""
    from sqlalchemy import select

    from jobtrail.database.tables import units
    from jobtrail.errors import NotFound

    if jobs.tasks.find(task) is not None:
        return
    with jobs.store.read() as conn:
        there = sorted(conn.execute(select(units.c.task).distinct()).scalars())
    if task in there:
        return
    message = f"no units of a task '{task}' are recorded; there are: {', '.join(there) or 'none'}"
    raise NotFound(message)


def _as_json(task: str, found: list[UnitRow], laid: list[Grid]) -> dict[str, Any]:
    from jobtrail.cli.rendering.text import iso

    gaps = [{"source": source or None, "period": period} for grid in laid for source, period in grid.gaps]
    return {
        "task": task,
        "summary": dict(_counts(found, laid)),
        "units": [
            {
                "source": unit.source, "period": unit.period, "start": iso(unit.period_start), "end": iso(unit.period_end),
                "sha256": unit.sha256, "text": unit.text, "state": state_of(unit),
                "outcome": unit.outcome.value if unit.outcome else None, "job": unit.job_id, "active_job": unit.active_job,
                "items": {"ok": unit.items_ok, "failed": unit.items_failed, "skipped": unit.items_skipped},
            }
            for unit in found
        ],
        "gaps": gaps,
    }  # fmt: skip


def _counts(found: Iterable[UnitRow], laid: Iterable[Grid]) -> Counter[str]:
    counted = Counter(_sign_name(state_of(unit)) for unit in found)
    gaps = sum(len(grid.gaps) for grid in laid)
    if gaps:
        counted[MISSING] = gaps
    return counted


def _sign_name(state: str) -> str:
    return state if state in SIGNS else _LIKE.get(state, "none")


def _print(session: Session, task: str, found: list[UnitRow], laid: list[Grid]) -> None:
    session.say((task, "bold"))
    for grid in laid:
        session.say("")
        _print_grid(session, grid)
    _print_rest(session, [unit for unit in found if form_of(unit.period) is None])
    session.say("")
    counted = _counts(found, laid)
    parts: list[tuple[str, str]] = []
    for name, (sign, style, word) in SIGNS.items():
        if counted.get(name):
            parts += [(sign, style), (f" {counted[name]:,} {word}   ", "")]
    session.say(*(parts or [("no units", "dim")]))


def _print_grid(session: Session, grid: Grid) -> None:
    """A line for each source and year; years where there is no line of their own stand in the columns."""
    from rich.text import Text

    from jobtrail.cli.rendering.text import short

    width = max(len(column) for column in grid.columns)
    names = {source: short(source, 40) or "–" for source in grid.sources}
    margin = max(map(len, names.values())) + 2
    lines = max(map(len, grid.lines))
    head = Text(" " * (margin + lines + (2 if lines else 0)), "dim")
    head.append(" ".join(column.rjust(width) for column in grid.columns), "dim")
    session.console.print(head, soft_wrap=True)
    for source in grid.sources:
        label = names[source]
        for line in grid.lines:
            text = Text(label.ljust(margin))
            if lines:
                text.append(f"{line:<{lines}}  ", "dim")
            for column in grid.columns:
                _append_cell(text, grid.cells.get((source, line, column)), width)
            session.console.print(text, soft_wrap=True)
            label = ""


def _append_cell(text: Text, state: str | None, width: int) -> None:
    if state is None:
        text.append(" " * (width + 1))
        return
    sign, style, _ = SIGNS[_sign_name(state)]
    body = sign * width if sign in "█▒" else sign.rjust(width)
    text.append(body, style)
    text.append(" ")


def _print_rest(session: Session, found: list[UnitRow]) -> None:
    """Files, and spans that no calendar has."""
    if not found:
        return
    from rich.text import Text

    from jobtrail.cli.rendering.tables import plain_table
    from jobtrail.cli.rendering.text import clean, short, tail

    session.say("")
    table = plain_table("file or span", "source", "state", "ok", "failed", "job", right=("ok", "failed"))
    for unit in found:
        sign, style, word = SIGNS[_sign_name(state_of(unit))]
        name = unit.period or unit.text.removeprefix(unit.task).strip().removeprefix(unit.source or "").strip()
        table.add_row(
            Text(short(name, 60)), Text(clean(unit.source or "")), Text(f"{sign} {word}", style),
            Text(_number(unit.items_ok)), Text(_number(unit.items_failed), "red" if unit.items_failed else ""),
            Text(tail(unit.active_job or unit.job_id), "dim"),
        )  # fmt: skip
    table.show(session.console)


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"
