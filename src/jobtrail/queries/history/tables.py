"""Records as flat tables: CSV for spreadsheets, Parquet for analysis. Items, trail and log are in JSON Lines only."""

from __future__ import annotations

import csv
import json
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

from jobtrail.errors import InvalidOption
from jobtrail.job.history.ended_job import NUMBERS, OBJECTS
from jobtrail.messages import Message
from jobtrail.queries.csv_cell import cell

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from typing import TextIO

COLUMNS = (
    "id", "task", "kind", "status", "outcome", "queue", "priority", "attempt", "run_no", "source", "period", "file", "rerun_of", "parent",
    "actor", "reason", "created_at", "run_at", "started_at", "finished_at", "items_ok", "items_failed", "items_skipped",
    "labels", "args", "result", "error", "note",
)  # fmt: skip
_TIMES = frozenset({"created_at", "run_at", "started_at", "finished_at"})
_AT_ONCE = 10_000  # rows of a group in a Parquet file


def write_json_lines(out: TextIO, records: Iterable[dict[str, Any]]) -> int:
    """Write one JSON object a line; returns how many."""
    number = 0
    for number, record in enumerate(records, 1):  # noqa: B007 - the count is wanted
        out.write(json.dumps(record, ensure_ascii=False) + "\n")
    return number


def write_csv(out: TextIO, records: Iterable[dict[str, Any]]) -> int:
    """Write a table for spreadsheets; values that are objects are JSON, and no cell is a formula. Returns how many rows."""
    writer, number = csv.writer(out), 0
    writer.writerow(COLUMNS)
    for number, record in enumerate(records, 1):  # noqa: B007 - the count is wanted
        writer.writerow([cell(_flat(name, record.get(name))) for name in COLUMNS])
    return number


def write_parquet(path: Path, records: Iterable[dict[str, Any]]) -> int:
    """Write a Parquet file with times as times; returns how many rows.

    Raises:
        InvalidOption: If the extra ``jobtrail[parquet]`` is not installed.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise InvalidOption(Message("queries.no-parquet")) from None
    types = {name: pa.timestamp("us", tz="UTC") for name in _TIMES} | {name: pa.int64() for name in NUMBERS}
    schema = pa.schema([(name, types.get(name, pa.string())) for name in COLUMNS])
    number, rest = 0, iter(records)
    with pq.ParquetWriter(path, schema) as writer:
        while rows := list(islice(rest, _AT_ONCE)):
            flat = [{name: _typed(name, row.get(name)) for name in COLUMNS} for row in rows]
            writer.write_table(pa.Table.from_pylist(flat, schema=schema))
            number += len(rows)
    return number


def _flat(name: str, value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if value is not None and name in OBJECTS else value


def _typed(name: str, value: Any) -> Any:
    return datetime.fromisoformat(value) if value is not None and name in _TIMES else _flat(name, value)
