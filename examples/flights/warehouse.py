"""The small warehouse: one SQLite file. Every write is an upsert, so that loading again is safe."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

SCHEMA = """
CREATE TABLE IF NOT EXISTS weather (
    airport TEXT, time_hour TEXT, temp REAL, dewp REAL, humid REAL, wind_dir REAL, wind_speed REAL, wind_gust REAL,
    precip REAL, pressure REAL, visib REAL, PRIMARY KEY (airport, time_hour)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS planes (
    tailnum TEXT PRIMARY KEY, year INTEGER, type TEXT, manufacturer TEXT, model TEXT, seats INTEGER) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS airports (
    faa TEXT PRIMARY KEY, name TEXT, lat REAL, lon REAL, alt REAL, tzone TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS airlines (carrier TEXT PRIMARY KEY, name TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS rules (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
"""


class Warehouse:
    """One connection for all threads, which take turns: SQLite has one writer anyway."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._turn = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def save(self, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Insert or overwrite rows of one shape, all or none; they are on disk when it returns."""
        if not rows:
            return
        columns = list(rows[0])
        names, places = ", ".join(columns), ", ".join(f":{name}" for name in columns)
        statement = f"INSERT OR REPLACE INTO {table} ({names}) VALUES ({places})"
        with self._turn, self._connected() as connection:
            connection.executemany(statement, rows)

    @property
    def lenient(self) -> bool:
        """The rule in force: a reading may be missing."""
        with self._turn:
            found = self._connected().execute("SELECT value FROM rules WHERE name = 'lenient'").fetchone()
        return bool(found and found[0])

    @lenient.setter
    def lenient(self, value: bool) -> None:
        self.save("rules", [{"name": "lenient", "value": int(value)}])

    def count(self, table: str) -> int:
        """How many rows a table holds."""
        with self._turn, closing(self._connected().execute(f"SELECT count(*) FROM {table}")) as cursor:
            return int(cursor.fetchone()[0])

    def close(self) -> None:
        """Let go of the file."""
        with self._turn:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _connected(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = sqlite3.connect(self.path, timeout=30, check_same_thread=False)
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = FULL")
            self._connection.executescript(SCHEMA)
        return self._connection
