"""The tasks, as an application would write them, and the application that knows them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobtrail import Context, JobTrail
from jobtrail.office import Office

from . import checks
from .source import PLACE, READINGS, WEATHER, Row, hours_of, rows_of
from .warehouse import Warehouse

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobtrail.executors.base import HandingOver

QUEUE = "flights"  # its own, so that the demonstration never takes another application's jobs
AIRPORTS = ("EWR", "JFK", "LGA")
HOURS_AT_ONCE = 50
# What is under watch: each source of weather reports by itself, files and radar by their jobs. Seconds of silence.
MODULES = {
    **{f"weather.{airport}": {"warn_after": 60, "error_after": 180} for airport in AIRPORTS},
    "files": {"warn_after": 86_400, "error_after": 172_800},
    "radar": {},
}
ROWS_AT_ONCE = 20  # few: one bad row lets its whole batch run again one by one


@dataclass(frozen=True, slots=True)
class FileKind:
    """What `import_file` knows about a table: the file's name, its columns (the key first), the check of a row.

    Of the columns a file must have those that are ``required``; ``numbers`` are no text.
    """

    file: str
    columns: tuple[str, ...]
    check: Callable[..., dict[str, Any]]
    required: tuple[str, ...]
    numbers: tuple[str, ...] = ()

    @property
    def schema(self) -> dict[str, Any]:
        """The columns as a question wants them."""
        properties = {name: {"type": "number" if name in self.numbers else "string"} for name in self.columns}
        return {"type": "object", "properties": properties, "required": list(self.required)}


FILES = {
    "planes": FileKind(
        "planes.csv.gz", ("tailnum", "year", "type", "manufacturer", "model", "seats"), checks.plane,
        required=("tailnum", "year"), numbers=("year", "seats"),
    ),
    "airports": FileKind(
        "airports.csv", ("faa", "name", "lat", "lon", "alt", "tzone"), checks.airport,
        required=("faa", "tzone"), numbers=("lat", "lon", "alt"),
    ),
    "airlines": FileKind("airlines.csv", ("carrier", "name"), checks.airline, required=("carrier", "name")),
}  # fmt: skip
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
        time.sleep(ctx.state.pace)
        with batch as rows:
            warehouse.save("weather", [checks.hour(airport, row, lenient=lenient) for row in rows])
        ctx.state.beat(f"weather.{airport}", hours=len(batch.keys))
    return {"hours": len(hours)}


def import_file(ctx: Context, *, table: str) -> dict[str, Any]:
    """Load a file into its table; a row is an item. Where its columns have other names, a person says which is which."""
    if ctx.file is None:
        raise ValueError("say which file: import_file.using(source=…, file='planes.csv.gz')")
    warehouse: Warehouse = ctx.state.warehouse
    kind, lenient = FILES[table], warehouse.lenient
    rows = _as_ours(ctx, kind, rows_of(Path(ctx.file.path)))
    for batch in ctx.batches(rows, ROWS_AT_ONCE, key=lambda row: row[kind.columns[0]]):
        with batch as some:
            warehouse.save(table, [kind.check(row, lenient=lenient) for row in some])
    return {"rows": len(rows)}


def _as_ours(ctx: Context, kind: FileKind, rows: list[Row]) -> list[Row]:
    """The rows under the names of our columns. The answer is remembered: the source's next file is not asked about."""
    if not rows or all(name in rows[0] for name in kind.columns):
        return rows
    text = f"The columns of {ctx.file.name if ctx.file else 'the file'} have other names: which one is which?"
    source = ctx.ask("columns", text, kind.schema, kind="mapping", columns=rows[:20], remember=True)
    return [{name: row[column] if column else "" for name, column in source.items()} for row in rows]


def _hour_key(row: Row) -> str:
    return row["time_hour"] if row["copy"] == "1" else f"{row['time_hour']} no. {row['copy']}"


def make_app(
    database_url: str, warehouse_path: Path, data_dir: Path, executor: str | HandingOver = "local"
) -> JobTrail:
    """The application: its jobs in one database, its data in another, its input in a folder."""
    jobs = JobTrail(database_url, plugins=[Office(modules=MODULES)], executor=executor)
    jobs.state.beat = jobs.office.beat
    jobs.state.warehouse = Warehouse(warehouse_path)
    jobs.state.data = data_dir
    jobs.state.pace = 0.0  # seconds for a batch, where somebody wants to watch
    weather = jobs.task(kind="sync", queue=QUEUE)(sync_weather)
    for airport in AIRPORTS:  # on the second of each month, when the last readings of the month before have come in
        jobs.schedule(
            "0 4 2 * *",
            name=f"weather/{airport}",
            source=f"weather/{airport}",
            period="previous month",
            args={"airport": airport},
        )(weather)
    jobs.task(kind="file", queue=QUEUE, options={"module": "files"})(import_file)
    return jobs
