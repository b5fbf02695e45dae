"""Units laid out for the coverage page: a row for each source, a column for each period, and what is missing between."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from jobtrail.errors import InvalidOption, InvalidPeriod
from jobtrail.job.period import UNITS, Period
from jobtrail.job.task import choice_option
from jobtrail.schedules.backfill.backfill import ACTIVE, COMPLETE, FAILED, MISSING, PARTIAL, state_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from jobtrail.store.units import UnitRow

MOST_COLUMNS = 400
LOUDEST = (FAILED, PARTIAL, ACTIVE, MISSING, COMPLETE)  # what a cell of several units is coloured by
_GRAINS = (
    ("week", re.compile(r"\d{4}-?W\d\d")),
    ("hour", re.compile(r"\d{4}-\d\d-\d\dT\d\dZ?")),
    ("day", re.compile(r"\d{4}-\d\d-\d\d")),
    ("month", re.compile(r"\d{4}-\d\d")),
    ("year", re.compile(r"\d{4}")),
)


@dataclass(frozen=True, slots=True)
class Column:
    """A period of the grid; ``over`` when it lies wholly in the past."""

    period: Period
    over: bool


@dataclass(slots=True)
class Cell:
    """What is known of a source in a column.

    counts: units by state; expected: how many there would be by now, where the source's units are finer than the
    column. unit: the one unit, where it is just this column, or one that reaches beyond it.
    """

    column: int
    counts: Counter[str] = field(default_factory=Counter)
    expected: int | None = None
    unit: UnitRow | None = None

    @property
    def state(self) -> str:
        """The loudest state of its units."""
        return next(state for state in LOUDEST if self.counts[state])


@dataclass(slots=True)
class Row:
    """A source; ``missing`` are the columns that are over and of which nothing is known."""

    source: str | None
    cells: list[Cell]
    missing: int

    @property
    def counts(self) -> Counter[str]:
        """Units by state, all columns together."""
        return sum((cell.counts for cell in self.cells), Counter())


# -- columns -----------------------------------------------------------------------------------------


def columns(
    zoom: str, first: str | None, last: str | None, span: tuple[datetime, datetime] | None, zone: str, now: datetime
) -> list[Column]:
    """The columns from ``first`` to ``last``; where they are not said, as far as the units reach or is good to look at.

    Years: from the first unit to the last. Months: the year of the last unit. Days and finer: its month, week or day.

    Raises: InvalidPeriod, InvalidOption.
    """
    choice_option("zoom", zoom, UNITS)
    own = None if zone == "UTC" else zone
    if first is not None or last is not None:
        begin, end = Period.parse(first or last, own), Period.parse(last or first, own)
        whole = _spanned(begin, end)
    else:
        whole = _usual(zoom, span or (now, now), zone)
    parts = whole.split(zoom)
    if len(parts) > MOST_COLUMNS:
        message = f"that makes {len(parts):,} columns, more than {MOST_COLUMNS}; take a shorter range or a coarser zoom"
        raise InvalidOption(message)
    return [Column(part, part.end <= now) for part in parts]


def _spanned(begin: Period, end: Period) -> Period:
    if end.end <= begin.start:
        message = f"the last period, {end.text}, ends before the first, {begin.text}, begins"
        raise InvalidPeriod(message)
    return Period(begin.start, end.end, begin.zone)


def _usual(zoom: str, span: tuple[datetime, datetime], zone: str) -> Period:
    frame = {"year": "year", "month": "year", "week": "year", "day": "month", "hour": "day"}[zoom]
    last = _around(span[1], frame, zone)
    if zoom != "year":
        return last
    first = _around(span[0], "year", zone)
    begin = max(first.start, last.end - timedelta(days=365 * 50))
    return Period(begin, last.end, zone)


def _around(at: datetime, unit: str, zone: str) -> Period:
    from jobtrail.job.period import periods_from_rule

    return periods_from_rule(f"current {unit}", at, zone)


# -- rows --------------------------------------------------------------------------------------------


def rows(laid: Sequence[Column], sources: Iterable[str | None], units: Iterable[UnitRow], now: datetime) -> list[Row]:
    """A row for each source, with the cells of which something is known."""
    by_source: dict[str | None, list[UnitRow]] = {source: [] for source in sources}
    for unit in units:
        if unit.source in by_source:
            by_source[unit.source].append(unit)
    layer = _Layer(laid, now)
    return [layer.row(source, found) for source, found in by_source.items()]


class _Layer:
    """Lays the units of one source after the other."""

    def __init__(self, laid: Sequence[Column], now: datetime) -> None:
        self._laid = laid
        self._now = now
        self._starts = [column.period.start for column in laid]
        self._expected: dict[tuple[int, str], int] = {}

    def row(self, source: str | None, units: Iterable[UnitRow]) -> Row:
        cells: dict[int, Cell] = {}
        grains: Counter[str] = Counter()
        for unit in units:
            if unit.period_start is None or unit.period_end is None:
                continue
            first = max(bisect_right(self._starts, unit.period_start) - 1, 0)
            last = bisect_right(self._starts, unit.period_end - timedelta(microseconds=1)) - 1
            for place in range(first, last + 1):
                self._put(cells.setdefault(place, Cell(place)), unit, grains)
        grain = grains.most_common(1)[0][0] if grains else None
        for cell in cells.values():
            cell.expected = None if cell.unit is not None or grain is None else self._number(cell.column, grain)
        missing = sum(column.over and place not in cells for place, column in enumerate(self._laid))
        return Row(source, [cells[place] for place in sorted(cells)], missing)

    def _put(self, cell: Cell, unit: UnitRow, grains: Counter[str]) -> None:
        column = self._laid[cell.column].period
        whole = (unit.period_start or column.start) <= column.start and (unit.period_end or column.end) >= column.end
        if whole and (cell.unit is None or _length(unit) < _length(cell.unit)):
            cell.unit = unit
        elif not whole:
            grain = grain_of(unit.period)
            if grain is not None:
                grains[grain] += 1
        cell.counts[state_of(unit)] += 1

    def _number(self, place: int, grain: str) -> int:
        """How many periods of a grain lie in a column and are over."""
        known = self._expected.get((place, grain))
        if known is None:
            parts = self._laid[place].period.split(grain)
            known = self._expected[place, grain] = sum(part.end <= self._now for part in parts)
        return known


def _length(unit: UnitRow) -> timedelta:
    return (unit.period_end - unit.period_start) if unit.period_start and unit.period_end else timedelta.max


def grain_of(period: str | None) -> str | None:
    """year, month, week, day or hour, by how the period is written; None for a span that no calendar has."""
    text = (period or "").partition("[")[0]
    return next((grain for grain, pattern in _GRAINS if pattern.fullmatch(text)), None)
