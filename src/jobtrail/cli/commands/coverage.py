"""``jobtrail coverage``: which source is loaded for which period, what is missing, what came in only partly."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from jobtrail.cli.command import LOOKING, command
from jobtrail.cli.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobtrail import JobTrail
    from jobtrail.queries.units import CoverageGrid

PAGE = 500  # sources read at once


def add_to(cli: typer.Typer) -> None:
    """Register the command of this file."""
    command(cli, "coverage", LOOKING)(show_coverage)


def show_coverage(
    session: Session,
    task: Annotated[str, typer.Argument(metavar="TASK", help="The task's name.", show_default=False)],
    first: Annotated[
        str | None, typer.Option("--from", metavar="PERIOD", help="The first period (default: that of the first unit).")
    ] = None,
    last: Annotated[str | None, typer.Option("--to", metavar="PERIOD", help="The last period, itself included.")] = None,
    zoom: Annotated[
        str | None, typer.Option("--zoom", help="year, month, week, day or hour (default: as most of the units are).")
    ] = None,
    source: Annotated[str, typer.Option("--source", help="Sources that begin so.")] = "",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=500, help="Sources in the JSON answer.")] = 100,
    skip: Annotated[int, typer.Option("--skip", min=0, help="Sources before the first of the JSON answer.")] = 0,
) -> None:
    """Sources by periods, gaps included."""
    jobs = session.open()
    asked = {"zoom": zoom, "first": first, "last": last, "source": source, "entire": True}
    if session.as_json:
        session.json(jobs.queries.coverage(task, **asked, skip=skip, limit=limit))
        return
    _print(session, jobs, task, _pages(jobs, task, asked))


def _pages(jobs: JobTrail, task: str, asked: dict[str, str | bool | None]) -> Iterator[CoverageGrid]:
    skip: int | None = 0
    while skip is not None:
        page = jobs.queries.coverage(task, **asked, skip=skip, limit=PAGE)
        yield page
        skip = page.next


def _print(session: Session, jobs: JobTrail, task: str, pages: Iterator[CoverageGrid]) -> None:
    from jobtrail.cli.rendering.coverage_grid import MISSING, SIGNS, print_files, print_grid

    session.say((task, "bold"))
    counted: Counter[str] = Counter()
    more = False
    for page in pages:
        print_grid(session, page)
        more = more or page.more
        for row in page.rows:
            counted.update(row.counts)
            counted[MISSING] += row.missing
    files = jobs.queries.files(task)
    print_files(session, files)
    counted.update(one.state for one in files.files)
    session.say("")
    parts: list[tuple[str, str]] = []
    for state, (sign, style) in SIGNS.items():
        if counted[state]:
            parts += [(sign, style), (f" {counted[state]:,} {state}   ", "")]
    session.say(*(parts or [("no units", "dim")]))
    if more or files.more:
        session.hint(("not every unit is shown; take a shorter range, a coarser --zoom or fewer sources", "yellow"))
