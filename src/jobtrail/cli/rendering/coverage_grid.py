"""Units laid out as a calendar: a line for each source and year (or month), a column for each period, gaps seen."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from jobtrail.store.units import UnitRow

MISSING = "missing"
_FORMS = (
    ("week", re.compile(r"(\d{4})-?W(\d\d)")),
    ("day", re.compile(r"(\d{4}-\d\d)-(\d\d)")),
    ("month", re.compile(r"(\d{4})-(\d\d)")),
    ("year", re.compile(r"()(\d{4})")),
)
MOST_CELLS = 20_000


@dataclass(frozen=True, slots=True)
class Grid:
    """One granularity of one task. ``cells`` is by (source, line, column)."""

    form: str
    sources: list[str]
    lines: list[str]
    columns: list[str]
    cells: dict[tuple[str, str, str], str]
    gaps: list[tuple[str, str]] = field(default_factory=list)


def state_of(unit: UnitRow) -> str:
    """What a cell says: its active job's status, else the current truth, else that nothing has come of it yet."""
    if unit.active_status is not None:
        return unit.active_status.value
    return unit.outcome.value if unit.outcome is not None else "none"


def form_of(period: str | None) -> tuple[str, str, str] | None:
    """Granularity, line and column of a period; None for a span that no calendar has."""
    for form, pattern in _FORMS:
        found = pattern.fullmatch(period or "")
        if found:
            return form, found[1], f"W{found[2]}" if form == "week" else found[2]
    return None


def grids(units: Iterable[UnitRow], start: datetime | None = None, end: datetime | None = None) -> list[Grid]:
    """A grid for each granularity that the units have; the range reaches from the first to the last of them, or as said."""
    by_form: dict[str, list[UnitRow]] = defaultdict(list)
    for unit in units:
        found = form_of(unit.period)
        if found is not None:
            by_form[found[0]].append(unit)
    return [_grid(form, by_form[form], start, end) for form in ("year", "month", "week", "day") if form in by_form]


def _grid(form: str, units: list[UnitRow], start: datetime | None, end: datetime | None) -> Grid:
    sources = sorted({unit.source or "" for unit in units})
    cells: dict[tuple[str, str, str], str] = {}
    for unit in units:
        _, line, column = form_of(unit.period) or ("", "", "")
        cells[unit.source or "", line, column] = state_of(unit)
    expected = list(_range(form, units, start, end))
    gaps: list[tuple[str, str]] = []
    for source in sources:
        for period in expected:
            _, line, column = form_of(period) or ("", "", "")
            if cells.setdefault((source, line, column), MISSING) == MISSING:
                gaps.append((source, period))
    lines = sorted({line for _, line, _ in cells})
    columns = sorted({column for _, _, column in cells})
    return Grid(form, sources, lines, columns, cells, gaps)


def _range(form: str, units: list[UnitRow], start: datetime | None, end: datetime | None) -> Iterator[str]:
    texts = sorted(unit.period for unit in units if unit.period)
    first, last = _date(form, texts[0]), _date(form, texts[-1])
    if start is not None:
        first = _aligned(form, start.date())
    if end is not None:
        last = (end - timedelta(microseconds=1)).date()
    at = first
    for _ in range(MOST_CELLS):
        if at > last:
            return
        yield _text(form, at)
        at = _next(form, at)


def _date(form: str, text: str) -> date:
    if form == "year":
        return date(int(text), 1, 1)
    if form == "month":
        return date(int(text[:4]), int(text[5:7]), 1)
    if form == "week":
        return date.fromisocalendar(int(text[:4]), int(text[-2:]), 1)
    return date.fromisoformat(text)


def _aligned(form: str, day: date) -> date:
    """The first whole period from this day on."""
    begin = {"year": day.replace(month=1, day=1), "month": day.replace(day=1), "week": day - timedelta(day.weekday())}
    at = begin.get(form, day)
    return at if at == day else _next(form, at)


def _next(form: str, day: date) -> date:
    if form == "year":
        return date(day.year + 1, 1, 1)
    if form == "month":
        return date(day.year + day.month // 12, day.month % 12 + 1, 1)
    return day + timedelta(7 if form == "week" else 1)


def _text(form: str, day: date) -> str:
    if form == "year":
        return f"{day.year:04}"
    if form == "month":
        return f"{day:%Y-%m}"
    if form == "week":
        year, week, _ = day.isocalendar()
        return f"{year:04}-W{week:02}"
    return day.isoformat()
