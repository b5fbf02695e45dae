"""Reads records from files: JSON Lines, and CSV for simple tables."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobtrail.errors import UsageError
from jobtrail.job.history.ended_job import NUMBERS, OBJECTS
from jobtrail.messages import Message

from .import_ended import Numbered, Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_FORMULA = ("'=", "'+", "'-", "'@", "'\t", "'\r", "'\n")


@dataclass(frozen=True, slots=True)
class JsonLines:
    """The records of a file with one JSON object a line; it can be read again and again."""

    path: Path

    def __iter__(self) -> Iterator[Numbered]:
        """Each record with the number of its line; empty lines are left out."""
        with self.path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield Numbered(number, _json_of(line))


def _json_of(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        return Unreadable(Message("commands.record-not-json", error=error))


@dataclass(frozen=True, slots=True)
class CsvTable:
    """The records of a CSV file: the first line names the fields, ``label.NAME`` is a label, ``arg.NAME`` an argument."""

    path: Path

    def __iter__(self) -> Iterator[Numbered]:
        """Each record with the number of its line."""
        with self.path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file)
            for row in rows:
                yield Numbered(rows.line_num, _of_cells(row))


def _of_cells(row: dict[Any, Any]) -> Any:
    record: dict[str, Any] = {}
    for name, text in row.items():
        if name is None:
            return Unreadable(Message("commands.record-too-many-cells"))
        if not text:
            continue
        head, dot, tail = name.strip().partition(".")
        value = text[1:] if text.startswith(_FORMULA) else text
        if dot and head == "label":
            record.setdefault("labels", {})[tail] = value
        elif dot and head == "arg":
            record.setdefault("args", {})[tail] = _value(value)
        elif name.strip() in OBJECTS:
            record[name.strip()] = _value(value)
        else:
            record[name.strip()] = int(value) if name.strip() in NUMBERS and value.isdigit() else value
    return record


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def of_file(path: Path, form: str | None = None) -> Iterable[Numbered]:
    """The records of a file, by its format or the end of its name.

    Raises:
        UsageError: If the file is not there or its format is not known.
    """
    if not path.is_file():
        raise UsageError(Message("commands.no-such-file", path=path))
    form = form or {".csv": "csv"}.get(path.suffix.lower(), "jsonl")
    if form not in {"jsonl", "csv"}:
        raise UsageError(Message("commands.record-format", form=form))
    return CsvTable(path) if form == "csv" else JsonLines(path)


