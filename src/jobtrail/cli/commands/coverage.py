"""``jobtrail coverage``: the state of each source in each period."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from jobtrail.cli.command import command
from jobtrail.cli.session import Session
from jobtrail.messages import tr

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobtrail import JobTrail
    from jobtrail.queries.units import CoverageGrid

PAGE = 500  # sources read at once


def add_to(cli: typer.Typer) -> None:
    """Register the command of this file."""
    command(cli, "coverage", "read", "help.coverage")(show_coverage)


def show_coverage(
    session: Session,
    task: Annotated[str, typer.Argument(metavar="TASK", help="help.task", show_default=False)],
    first: Annotated[str | None, typer.Option("--from", metavar="PERIOD", help="help.coverage-from")] = None,
    last: Annotated[str | None, typer.Option("--to", metavar="PERIOD", help="help.last-period")] = None,
    zoom: Annotated[str | None, typer.Option("--zoom", help="help.coverage-zoom")] = None,
    source: Annotated[str, typer.Option("--source", help="help.coverage-source")] = "",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=500, help="help.coverage-limit")] = 100,
    skip: Annotated[int, typer.Option("--skip", min=0, help="help.coverage-skip")] = 0,
) -> None:
    """Show sources by periods, with gaps."""
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
    from jobtrail.cli.rendering.views import counted as counted_as

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
            parts += [(sign, style), (f" {counted_as(counted[state], state)}   ", "")]
    session.say(*(parts or [(tr("cli.no-units"), "dim")]))
    if more or files.more:
        session.hint((tr("cli.coverage-cut"), "yellow"))
