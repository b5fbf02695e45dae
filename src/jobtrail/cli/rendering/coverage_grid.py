"""Coverage as a calendar: a line for each source and year (or month, or day), a column for each period."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich.text import Text

from jobtrail.messages import tr

from .tables import plain_table
from .text import clean, number, short, tail

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobtrail.cli.session import Session
    from jobtrail.queries.units import CoverageCell, CoverageColumn, CoverageGrid, CoverageRow, FileUnits

MISSING = "missing"
# State -> its sign (readable without colours) and its style.
SIGNS = {
    "complete": ("█", "green"),
    "partial": ("▒", "yellow"),
    "failed": ("✗", "bold red"),
    "active": ("▶", "bold blue"),
    MISSING: ("·", "dim"),
}
_FORMS = (
    re.compile(r"(?P<line>\d{4})-?(?P<place>W\d\d)"),
    re.compile(r"(?P<line>\d{4}-\d\d-\d\d)T(?P<place>\d\d).*"),
    re.compile(r"(?P<line>\d{4}-\d\d)-(?P<place>\d\d)"),
    re.compile(r"(?P<line>\d{4})-(?P<place>\d\d)"),
    re.compile(r"(?P<line>)(?P<place>\d{4})"),
)
_Place = tuple[str, str]  # line and column of a calendar


def _place(period: str) -> _Place:
    """Line and column of a period, from its text; the zone is left out."""
    text = period.partition("[")[0]
    found = next((match for form in _FORMS if (match := form.fullmatch(text))), None)
    return (found["line"], found["place"]) if found else ("", text)


def print_grid(session: Session, grid: CoverageGrid) -> None:
    """Print the sources of one page of coverage; periods are the columns."""
    if not grid.rows:
        return
    places = [_place(column.period) for column in grid.columns]
    lines = list(dict.fromkeys(line for line, _ in places))
    columns = sorted({column for _, column in places})
    width = max(map(len, columns))
    names = [short(row.source, 40) or "–" for row in grid.rows]
    margin, indent = max(map(len, names)) + 2, max(map(len, lines))
    session.say("")
    head = Text(" " * (margin + indent + (2 if indent else 0)), "dim")
    head.append(" ".join(column.rjust(width) for column in columns), "dim")
    session.console.print(head, soft_wrap=True)
    for name, row in zip(names, grid.rows, strict=True):
        states = _states(grid.columns, places, row)
        label = name
        for line in lines:
            text = Text(label.ljust(margin))
            if indent:
                text.append(f"{line:<{indent}}  ", "dim")
            for column in columns:
                _append(text, states.get((line, column)), width)
            session.console.print(text, soft_wrap=True)
            label = ""


def _states(columns: Sequence[CoverageColumn], places: Sequence[_Place], row: CoverageRow) -> dict[_Place, str]:
    """The state of each place; a period that is not over and has no unit has none."""
    cells: dict[int, CoverageCell] = {cell.column: cell for cell in row.cells}
    found: dict[_Place, str] = {}
    for index, place in enumerate(places):
        if index in cells:
            found[place] = cells[index].state
        elif columns[index].over:
            found[place] = MISSING
    return found


def _append(text: Text, state: str | None, width: int) -> None:
    if state is None:
        text.append(" " * (width + 1))
        return
    sign, style = SIGNS[state]
    text.append(sign * width if sign in "█▒" else sign.rjust(width), style)
    text.append(" ")


def print_files(session: Session, found: FileUnits) -> None:
    """Print the units that are files."""
    if not found.files:
        return
    session.say("")
    table = plain_table("file", "source", "state", "ok", "failed", "job", right=("ok", "failed"))
    for unit in found.files:
        sign, style = SIGNS[unit.state]
        name = unit.text.partition(" ")[2].removeprefix(unit.source or "").strip()
        table.add_row(
            Text(short(name, 60)), Text(clean(unit.source or "")), Text(f"{sign} {tr('names.state', name=unit.state)}", style),
            Text(number(unit.items.ok)), Text(number(unit.items.failed), "red" if unit.items.failed else ""),
            Text(tail(unit.active_job or unit.job), "dim"),
        )  # fmt: skip
    table.show(session.console)
