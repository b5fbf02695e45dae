"""Coverage: a row for each source, a column for each period, the state of each cell, and what is missing between."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from jobtrail.errors import InvalidOption, InvalidPeriod
from jobtrail.job.period import UNITS, Period, periods_from_rule
from jobtrail.job.task import choice_option
from jobtrail.messages import Message
from jobtrail.schedules.backfill.backfill import ACTIVE, COMPLETE, FAILED, MISSING, PARTIAL, state_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from jobtrail.store.units import UnitRow

MOST_COLUMNS = 400
LOUDEST = (FAILED, PARTIAL, ACTIVE, MISSING, COMPLETE)  # the state of a cell with several units
_FRAME_OF = {"year": "year", "month": "year", "week": "year", "day": "month", "hour": "day"}
_GRAINS = (
    ("week", re.compile(r"\d{4}-?W\d\d")),
    ("hour", re.compile(r"\d{4}-\d\d-\d\dT\d\dZ?")),
    ("day", re.compile(r"\d{4}-\d\d-\d\d")),
    ("month", re.compile(r"\d{4}-\d\d")),
    ("year", re.compile(r"\d{4}")),
)


@dataclass(frozen=True, slots=True)
class PeriodColumn:
    """A period of the grid; ``over`` when it lies wholly in the past."""

    period: Period
    over: bool


@dataclass(slots=True)
class SourceCell:
    """What is recorded of a source in a column.

    Attributes:
        column: the column's index.
        counts: units by state.
        expected: how many units there would be by now, where the source's units are finer than the column.
        unit: the one unit that is exactly this column, or one that reaches beyond it.
    """

    column: int
    counts: Counter[str] = field(default_factory=Counter)
    expected: int | None = None
    unit: UnitRow | None = None

    @property
    def state(self) -> str:
        """The most severe state of its units."""
        return next(state for state in LOUDEST if self.counts[state])


@dataclass(slots=True)
class SourceRow:
    """A source; ``gaps`` are the indexes of columns that are over and without a cell."""

    source: str | None
    cells: list[SourceCell]
    gaps: list[int]

    @property
    def counts(self) -> Counter[str]:
        """Units by state over all columns."""
        return sum((cell.counts for cell in self.cells), Counter())


# -- columns -----------------------------------------------------------------------------------------


def columns(
    zoom: str,
    first: str | None,
    last: str | None,
    span: tuple[datetime, datetime] | None,
    zone: str,
    now: datetime,
    *,
    entire: bool = False,
) -> list[PeriodColumn]:
    """The columns from ``first`` to ``last``.

    Args:
        zoom: year, month, week, day or hour.
        first: the first period, such as ``2013-01``.
        last: the last period, itself included.
        span: when the first and the last period of the recorded units begin.
        zone: the name of the task's time zone.
        now: the database's time, UTC.
        entire: what is not given of ``first`` and ``last`` is where the units begin and end; where neither is given and
            that is more than `MOST_COLUMNS`, or without ``entire``, the latest frame is taken: all years, the year of the last
            unit for months and weeks, its month for days, its day for hours.

    Raises:
        InvalidPeriod: if a period cannot be read, or the last ends before the first begins.
        InvalidOption: if there is no such zoom, or there are more than `MOST_COLUMNS` columns.
    """
    choice_option("zoom", zoom, UNITS)
    own = None if zone == "UTC" else zone
    if first is not None or last is not None:
        begin = Period.parse(first, own) if first else None
        end = Period.parse(last, own) if last else None
        if entire and span is not None:
            begin, end = begin or _around(span[0], zoom, zone), end or _around(span[1], zoom, zone)
        one = begin or end
        parts = _spanned(begin or one, end or one).split(zoom) if one else []
    else:
        parts = _usual(zoom, span or (now, now), zone, entire=entire)
    if len(parts) > MOST_COLUMNS:
        raise InvalidOption(Message("queries.too-many-columns", count=len(parts), most=MOST_COLUMNS))
    return [PeriodColumn(part, part.end <= now) for part in parts]


def _spanned(begin: Period, end: Period) -> Period:
    if end.end <= begin.start:
        raise InvalidPeriod(Message("queries.periods-reversed", last=end.text, first=begin.text))
    return Period(begin.start, end.end, begin.zone)


def _usual(zoom: str, span: tuple[datetime, datetime], zone: str, *, entire: bool) -> list[Period]:
    if entire:
        every = _spanned(_around(span[0], zoom, zone), _around(span[1], zoom, zone))
        shortest = {"year": 365, "month": 28, "week": 7, "day": 1, "hour": 1 / 24}[zoom]
        if (every.end - every.start) / timedelta(days=shortest) < 2 * MOST_COLUMNS:
            parts = every.split(zoom)
            if len(parts) <= MOST_COLUMNS:
                return parts
    last = _around(span[1], _FRAME_OF[zoom], zone)
    if zoom != "year":
        return last.split(zoom)
    first = _around(span[0], "year", zone)
    return Period(max(first.start, last.end - timedelta(days=365 * 50)), last.end, zone).split(zoom)


def _around(at: datetime, unit: str, zone: str) -> Period:
    return periods_from_rule(f"current {unit}", at, zone)


# -- rows --------------------------------------------------------------------------------------------


def rows(
    laid: Sequence[PeriodColumn], sources: Iterable[str | None], units: Iterable[UnitRow], now: datetime
) -> list[SourceRow]:
    """A row for each source, with the cells that have units."""
    by_source: dict[str | None, list[UnitRow]] = {source: [] for source in sources}
    for unit in units:
        if unit.source in by_source:
            by_source[unit.source].append(unit)
    layout = _Layout(laid, now)
    return [layout.row(source, found) for source, found in by_source.items()]


class _Layout:
    """Lays out the units of one source after the other."""

    def __init__(self, laid: Sequence[PeriodColumn], now: datetime) -> None:
        self._laid = laid
        self._now = now
        self._starts = [column.period.start for column in laid]
        self._expected: dict[tuple[int, str], int] = {}

    def row(self, source: str | None, units: Iterable[UnitRow]) -> SourceRow:
        cells: dict[int, SourceCell] = {}
        grains: Counter[str] = Counter()
        for unit in units:
            if unit.period_start is None or unit.period_end is None:
                continue
            first = max(bisect_right(self._starts, unit.period_start) - 1, 0)
            last = bisect_right(self._starts, unit.period_end - timedelta(microseconds=1)) - 1
            for place in range(first, last + 1):
                self._put(cells.setdefault(place, SourceCell(place)), unit, grains)
        grain = grains.most_common(1)[0][0] if grains else None
        for cell in cells.values():
            cell.expected = None if cell.unit is not None or grain is None else self._number(cell.column, grain)
        gaps = [place for place, column in enumerate(self._laid) if column.over and place not in cells]
        return SourceRow(source, [cells[place] for place in sorted(cells)], gaps)

    def _put(self, cell: SourceCell, unit: UnitRow, grains: Counter[str]) -> None:
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
    """Year, month, week, day or hour, by how the period is written; None for a span that no calendar has."""
    text = (period or "").partition("[")[0]
    return next((grain for grain, pattern in _GRAINS if pattern.fullmatch(text)), None)


def usual_grain(periods: Iterable[str | None]) -> str:
    """The most frequent grain of some periods; month where none has one."""
    grains = Counter(grain for grain in map(grain_of, periods) if grain is not None)
    return grains.most_common(1)[0][0] if grains else "month"


def usual_zone(periods: Iterable[str | None]) -> str | None:
    """The most frequent zone of some periods, which is written behind them as ``[Europe/Berlin]``; None without periods."""
    zones = Counter((period or "").partition("[")[2].rstrip("]") or "UTC" for period in periods)
    return zones.most_common(1)[0][0] if zones else None
