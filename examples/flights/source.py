"""Where the data comes from: CSV files in a folder, packed or not."""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator

Row = dict[str, str]

WEATHER = "weather.csv.gz"
PLACE = ("origin", "year", "month", "day", "hour")
READINGS = ("time_hour", "temp", "dewp", "humid", "wind_dir", "wind_speed", "wind_gust", "precip", "pressure", "visib")


def open_text(path: Path) -> TextIO:
    """Open a CSV file for reading, unpacked on the way where it is packed."""
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8", newline="")
    return path.open(encoding="utf-8", newline="")


def rows_of(path: Path) -> list[Row]:
    """All rows of a file; a cell that a short row lacks is empty."""
    with open_text(path) as file:
        return list(csv.DictReader(file, restval=""))


def hours_of(path: str, airport: str, start: datetime, end: datetime) -> list[Row]:
    """The hours of one airport whose local time lies in a span: what a weather service would be asked for.

    The columns year, month, day and hour are local time and decide; ``time_hour`` is the same hour in UTC, so
    that it stays unique where the clocks are set back. Should a file tell an hour twice, ``copy`` counts.
    """
    seen: Counter[str] = Counter()
    found = []
    for header, cells, at in _cells(Path(path), airport):
        year, month, day, hour = (int(cells[i]) for i in at[1:])
        if cells[at[0]] == airport and start <= datetime(year, month, day, hour, tzinfo=UTC) < end:
            row = dict(zip(header, cells, strict=False))
            seen[row["time_hour"]] += 1
            found.append({name: row.get(name, "") for name in READINGS} | {"copy": str(seen[row["time_hour"]])})
    return found


def months_of(path: Path) -> dict[str, set[tuple[int, int]]]:
    """Which airports there are, and the (year, month) of their rows."""
    found: dict[str, set[tuple[int, int]]] = {}
    for _, cells, at in _cells(path, ""):
        found.setdefault(cells[at[0]], set()).add((int(cells[at[1]]), int(cells[at[2]])))
    return found


def _cells(path: Path, mark: str) -> Iterator[tuple[list[str], list[str], list[int]]]:
    """(header, cells, where the columns of `PLACE` stand) for each row on a line that holds ``mark``.

    Looking at the line first and making no dict is three times as quick, and each month reads the whole file.
    """
    with open_text(path) as file:
        header = next(csv.reader(file), [])
        at = [header.index(name) for name in PLACE]
        for cells in csv.reader(line for line in file if mark in line):
            if cells:
                yield header, cells, at
