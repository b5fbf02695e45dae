"""Tables for the terminal: plain columns without frames; ids are never cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from jobtrail.messages import tr

from .text import clean, moment, number, short, span, tail
from .views import counted, status_text, summary, tries, what

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from rich.console import Console

    from jobtrail.queries.jobs.job_list import JobLine

GAP = 2  # blanks between columns
LEAST_REST = 20


class PlainTable(Table):
    """A table without frames. On a narrow terminal only the column ``rest`` is cut, so that ids stay whole."""

    rest: int | None = None  # its place

    def fitted(self, width: int) -> PlainTable:
        """Give each column its width on a terminal of ``width`` columns; what is too wide then is cut on the right."""
        self._fit(width)
        return self

    def _fit(self, terminal: int) -> int:
        widths = [max(_width(column.header), *map(_width, column.cells)) for column in self.columns]
        gaps = GAP * len(widths)  # Rich counts one after the last column too
        if self.rest is not None:
            room = terminal - gaps - sum(widths) + widths[self.rest]
            widths[self.rest] = min(widths[self.rest], max(room, LEAST_REST))
        for column, width in zip(self.columns, widths, strict=True):
            column.width = width
        return sum(widths) + gaps

    def show(self, console: Console) -> None:
        """Print the table. The terminal wraps lines that are still too wide."""
        terminal = console.width
        console.width = max(self._fit(terminal), terminal)
        try:
            console.print(self)
        finally:
            console.width = terminal


def _width(cell: object) -> int:
    return cell.cell_len if isinstance(cell, Text) else cell_len(str(cell))


def plain_table(*fields: str, right: Iterable[str] = (), rest: str | None = None) -> PlainTable:
    """An empty table with a column for each field.

    Args:
        fields: Names of fields; the headings are their texts in the catalogue (``names.field``).
        right: The fields whose values are aligned on the right.
        rest: The field that is cut on a narrow terminal.

    """
    table = PlainTable(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    table.rest = None if rest is None else fields.index(rest)
    for field in fields:
        justify: Literal["right", "left"] = "right" if field in right else "left"
        table.add_column(tr("names.field", name=field), justify=justify, no_wrap=True, overflow="ellipsis")
    return table


def job_table(rows: Iterable[JobLine], now: datetime, *, wide: bool) -> PlainTable:
    """A table with a line for each job."""
    rows = list(rows)
    given = {
        "source": any(row.source for row in rows),
        "period_file": any(what(row) for row in rows),
        "executor": any(row.executor for row in rows),
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
            "status": Text(*status_text(row.status)),
            "task": Text(short(row.task, 40)),
            "source": Text(short(row.source, 40)),
            "executor": Text(row.executor or "", "dim"),
            "period_file": Text(short(what(row), 60 if wide else 30)),
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
    text = Text(number(row.items.ok), "green" if row.items.ok else "dim")
    if row.items.failed:
        text.append(f" {number(row.items.failed)}✗", "red")
    if row.items.skipped:
        text.append(f" {counted(row.items.skipped, 'skipped')}", "dim")
    return text


def pairs(rows: Iterable[tuple[str, Text | str]]) -> Table:
    """A line for each field: its name (``names.field``) and its value."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for field, value in rows:
        table.add_row(tr("names.field", name=field), value if isinstance(value, Text) else Text(clean(value)))
    return table
