"""The tasks, as an application would write them, and the application that knows them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobtrail import Context, JobTrail

from . import checks
from .source import PLACE, READINGS, WEATHER, Row, hours_of, rows_of
from .warehouse import Warehouse

if TYPE_CHECKING:
    from collections.abc import Callable

QUEUE = "flights"  # its own, so that the demonstration never takes another application's jobs
HOURS_AT_ONCE = 50
ROWS_AT_ONCE = 20  # few: one bad row lets its whole batch run again one by one


@dataclass(frozen=True, slots=True)
class FileKind:
    """What `import_file` knows about a table: the file's name, its columns (the key first), the check of a row."""

    file: str
    columns: tuple[str, ...]
    check: Callable[..., dict[str, Any]]


FILES = {
    "planes": FileKind("planes.csv.gz", ("tailnum", "year", "type", "manufacturer", "model", "seats"), checks.plane),
    "airports": FileKind("airports.csv", ("faa", "name", "lat", "lon", "alt", "tzone"), checks.airport),
    "airlines": FileKind("airlines.csv", ("carrier", "name"), checks.airline),
}
COLUMNS = {WEATHER: (*PLACE, *READINGS)} | {kind.file: kind.columns for kind in FILES.values()}


def sync_weather(ctx: Context, *, airport: str) -> dict[str, Any]:
    """Load the weather of one airport for one period; an hour is an item."""
    if ctx.period is None:
        raise ValueError("say which period: sync_weather.using(source=…, period='2013-02')")
    warehouse: Warehouse = ctx.state.warehouse
    lenient = warehouse.lenient
    path = str(ctx.state.data / WEATHER)
    hours = ctx.step("download", hours_of, path, airport, ctx.period.start, ctx.period.end)
    for batch in ctx.batches(hours, HOURS_AT_ONCE, key=_hour_key):
        with batch as rows:
            warehouse.save("weather", [checks.hour(airport, row, lenient=lenient) for row in rows])
    return {"hours": len(hours)}


def import_file(ctx: Context, *, table: str) -> dict[str, Any]:
    """Load a file into its table; a row is an item."""
    if ctx.file is None:
        raise ValueError("say which file: import_file.using(source=…, file='planes.csv.gz')")
    warehouse: Warehouse = ctx.state.warehouse
    kind, lenient = FILES[table], warehouse.lenient
    rows = rows_of(Path(ctx.file.path))
    for batch in ctx.batches(rows, ROWS_AT_ONCE, key=lambda row: row[kind.columns[0]]):
        with batch as some:
            warehouse.save(table, [kind.check(row, lenient=lenient) for row in some])
    return {"rows": len(rows)}


def _hour_key(row: Row) -> str:
    return row["time_hour"] if row["copy"] == "1" else f"{row['time_hour']} no. {row['copy']}"


def make_app(database_url: str, warehouse_path: Path, data_dir: Path) -> JobTrail:
    """The application: its jobs in one database, its data in another, its input in a folder."""
    jobs = JobTrail(database_url)
    jobs.state.warehouse = Warehouse(warehouse_path)
    jobs.state.data = data_dir
    jobs.task(kind="sync", queue=QUEUE)(sync_weather)
    jobs.task(kind="file", queue=QUEUE)(import_file)
    return jobs
