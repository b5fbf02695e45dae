"""Tables for people: plain columns, no frames, nothing cut that one would copy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from .text import clean, moment, short, span, tail
from .views import COLOURS, summary, tries, what

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from rich.console import Console

    from jobtrail.queries.jobs.job_list import JobLine

GAP = 2  # blanks between columns
LEAST_REST = 20


class PlainTable(Table):
    """A table without frames; where the terminal is narrow only the column ``rest`` gives way, so that ids stay whole."""

    rest: str | None = None

    def show(self, console: Console) -> None:
        """Print it. What is still too wide is left to the terminal to wrap."""
        widths = [max(_width(column.header), *map(_width, column.cells)) for column in self.columns]
        gaps = GAP * len(widths)  # Rich counts the last one too, though nothing stands behind it
        for number, column in enumerate(self.columns):
            if column.header == self.rest:
                room = console.width - gaps - sum(widths) + widths[number]
                widths[number] = min(widths[number], max(room, LEAST_REST))
            column.width = widths[number]
        needed, terminal = sum(widths) + gaps, console.width
        console.width = max(needed, terminal)
        try:
            console.print(self)
        finally:
            console.width = terminal


def _width(cell: object) -> int:
    return cell.cell_len if isinstance(cell, Text) else cell_len(str(cell))


def plain_table(*columns: str, right: Iterable[str] = (), rest: str | None = None) -> PlainTable:
    """An empty table of these columns."""
    table = PlainTable(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    table.rest = rest
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", no_wrap=True, overflow="ellipsis")
    return table


def job_table(rows: Iterable[JobLine], now: datetime, *, wide: bool) -> PlainTable:
    """Jobs, one a line."""
    rows = list(rows)
    given = {
        "source": any(row.source for row in rows),
        "period/file": any(what(row) for row in rows),
        "items": any(row.items.ok is not None for row in rows),
    }
    columns = [
        "id",
        "status",
        "task",
        *(name for name in given if given[name] and name != "items"),
        "try",
        "started",
        "took",
    ]
    columns += ["items", "note"] if given["items"] else ["note"]
    table = plain_table(*columns, right=("try", "took", "items"), rest="note")
    for row in rows:
        cells = {
            "id": Text(tail(row.id)),
            "status": Text(row.status, COLOURS.get(row.status, "")),
            "task": Text(short(row.task, 40)),
            "source": Text(short(row.source, 40)),
            "period/file": Text(short(what(row), 60 if wide else 30)),
            "try": Text(tries(row.attempt, row.max_attempts)),
            "started": Text(moment(row.started_at, now)),
            "took": Text(_took(row, now)),
            "items": _items(row),
            "note": Text(summary(row, now, 200 if wide else 90), "red" if row.status == "failed" else "dim"),
        }
        table.add_row(*(cells[name] for name in columns))
    return table


def _took(row: JobLine, now: datetime) -> str:
    status = row.status
    if row.started_at is None or status == "pending" or status.startswith("awaiting_"):
        return ""
    return span((row.finished_at or now) - row.started_at)


def _items(row: JobLine) -> Text:
    if row.items.ok is None:
        return Text("")
    text = Text(f"{row.items.ok:,}", "green" if row.items.ok else "dim")
    if row.items.failed:
        text.append(f" {row.items.failed:,}✗", "red")
    if row.items.skipped:
        text.append(f" {row.items.skipped:,} skipped", "dim")
    return text


def pairs(rows: Iterable[tuple[str, Text | str]]) -> Table:
    """Names and values, one a line."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, value if isinstance(value, Text) else Text(clean(value)))
    return table
