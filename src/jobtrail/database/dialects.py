"""What differs between the databases, and nothing else."""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass, field
from datetime import datetime
from json import dumps
from typing import TYPE_CHECKING, Any, Protocol

from sqlalchemy import BigInteger, Boolean, Float, Integer, SmallInteger, Text

from . import tables
from .types import EPOCH, FreeText, Id, Moment, from_micros, storable, to_micros

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Connection, Table

JOBS = tables.jobs.name
CLAIMED = (
    "id",
    "run_no",
    "attempt",
    "max_attempts",
    "task",
    "queue",
    "args",
    "options",
    "unit",
    "source",
    "period",
    "file",
    "generation",
    "continues",
    "mode",
    "put_backs",
    "hand_backs",
    "context",
    "suspect",
)
PRIORITIES = range(10)
FIRST_ID = "00000000-0000-0000-0000-000000000000"
# Where a claim may begin: jobs that were submitted together are due at the same moment, so the id belongs to it.
Mark = tuple[datetime, str]
FREE_TEXTS = {column.name for column in tables.jobs.c if isinstance(column.type, FreeText)}
COPY_FROM = 8  # rows; below this a plain INSERT is as fast as COPY

_by_id = operator.itemgetter(0)


@dataclass(slots=True)
class Moved:
    """The answer of a guarded update: ids of the rows that moved.

    ``followed``: successors wait for the end of these. ``stopping``: these were asked to stop, so that a row which left
    running or cancelling left cancelling.
    """

    ids: set[str] = field(default_factory=set)
    followed: set[str] = field(default_factory=set)
    stopping: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class RowCopy:
    """How rows of a table are copied into another one that has its columns.

    Attributes:
        source: The table that is read.
        target: The table that is written.
        keys: The columns by which a given row finds the row that is copied.
        columns: The columns of the given rows, ``keys`` among them.
        where: A condition; the given rows are called ``new`` in it, those that are copied ``old``.
        beside: Pairs of a column that only ``target`` has, and its value.
    """

    source: Table
    target: Table
    keys: tuple[str, ...]
    columns: tuple[str, ...]
    where: str
    beside: tuple[tuple[str, str], ...]


class Dialect(Protocol):
    """The statements of one database."""

    name: str
    begin: str

    def now(self, conn: Connection) -> datetime:
        """The clock of the database, in UTC."""

    def moment(self, value: datetime | None) -> Any:
        """A moment as this database's driver takes it in plain SQL."""

    def insert_jobs(self, conn: Connection, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
        """Insert rows that cannot meet another one; moments are given as datetimes."""

    def insert_many(
        self, conn: Connection, table: Table, columns: Sequence[str], rows: Sequence[tuple[Any, ...]], tail: str = ""
    ) -> None:
        """Insert rows into any table; ``tail`` is an ON CONFLICT clause, the same text on both databases."""

    def copy_many(self, conn: Connection, copy: RowCopy, rows: Sequence[tuple[Any, ...]]) -> None:
        """Copy the rows of one table that belong to ``rows`` into another table; what is there already stays."""

    def update_many(
        self,
        conn: Connection,
        table: Table,
        keys: Sequence[str],
        columns: Sequence[str],
        rows: Sequence[tuple[Any, ...]],
    ) -> None:
        """Change rows of any table: ``rows`` are the values of ``keys``, which a row must have, then those of ``columns``."""

    def claim(
        self, conn: Connection, queue: str, limit: int, worker: str, now: datetime, marks: list[Mark | None], without: Sequence[str] = ()
    ) -> list[tuple[Any, ...]]:
        """Hand out up to ``limit`` due jobs ``without`` those of some tasks, most urgent first: the `CLAIMED` columns, priority, run_at."""

    def move_jobs(
        self,
        conn: Connection,
        columns: Sequence[str],
        leaves: Sequence[str],
        to: str,
        rows: Sequence[tuple[Any, ...]],
    ) -> Moved:
        """The guarded update: ``rows`` are (id, run_no, *columns).

        Returns: what moved. ``stopping`` tells which state a row left where ``leaves`` has both running and cancelling.
        """


class Sqlite:
    """SQLite, one file, one writer at a time."""

    name = "sqlite"
    begin = "BEGIN IMMEDIATE"

    def __init__(self) -> None:
        self._updates: dict[tuple[Any, ...], str] = {}

    def now(self, conn: Connection) -> datetime:
        """SQLite has no clock but the machine's."""
        text = conn.exec_driver_sql("SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)").scalar_one()
        return from_micros(int(text) * 1000)

    def moment(self, value: datetime | None) -> Any:
        """Whole microseconds."""
        return None if value is None else to_micros(value)

    def insert_jobs(self, conn: Connection, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
        """One prepared statement for all rows."""
        self.insert_many(conn, tables.jobs, columns, rows)

    def insert_many(
        self, conn: Connection, table: Table, columns: Sequence[str], rows: Sequence[tuple[Any, ...]], tail: str = ""
    ) -> None:
        """One prepared statement for all rows."""
        conn.exec_driver_sql(_insert(table.name, tuple(columns), tail), _with_micros(table, columns, rows))

    def copy_many(self, conn: Connection, copy: RowCopy, rows: Sequence[tuple[Any, ...]]) -> None:
        """One prepared statement for all rows."""
        given = f"(VALUES ({', '.join('?' * len(copy.columns))}))"
        conn.exec_driver_sql(_copy(copy, given), _with_micros(copy.source, copy.columns, rows))

    def update_many(
        self,
        conn: Connection,
        table: Table,
        keys: Sequence[str],
        columns: Sequence[str],
        rows: Sequence[tuple[Any, ...]],
    ) -> None:
        """One prepared statement for all rows."""
        changes = ", ".join(f'"{column}" = ?' for column in columns)
        same = " AND ".join(f'"{key}" = ?' for key in keys)
        count = len(keys)
        values = [(*row[count:], *row[:count]) for row in _with_micros(table, (*keys, *columns), rows)]
        conn.exec_driver_sql(f"UPDATE {table.name} SET {changes} WHERE {same}", values)  # noqa: S608

    # One priority after the other, in one statement: SQLite stops reading when the outer limit is reached.
    _DUE = " UNION ALL ".join(
        f"SELECT * FROM (SELECT id FROM {JOBS} WHERE status = 'pending' AND run_at IS NOT NULL AND NOT suspect AND executor IS NULL AND limits IS NULL AND queue = ?3 "  # noqa: S608
        f"AND priority = {priority} AND run_at <= ?2 ORDER BY run_at, id LIMIT ?4)"
        for priority in PRIORITIES
    )
    _CLAIM = (
        f"UPDATE {JOBS} SET status = 'running', run_no = run_no + 1, attempt = attempt + 1, worker = ?1, "  # noqa: S608
        f"started_at = ?2 WHERE id IN (SELECT id FROM ({_DUE}) LIMIT ?4) "
        f"RETURNING {', '.join(CLAIMED)}, priority, run_at"
    )
    _CLAIM_WITHOUT = _CLAIM.replace("AND priority", "AND task NOT IN (SELECT value FROM json_each(?5)) AND priority")

    def claim(
        self, conn: Connection, queue: str, limit: int, worker: str, now: datetime, marks: list[Mark | None], without: Sequence[str] = ()
    ) -> list[tuple[Any, ...]]:
        """One priority after the other; the write lock is held, so nobody is in between."""
        del marks  # SQLite keeps no dead rows to wade through
        given = (worker, to_micros(now), queue, limit)
        if without:
            found = conn.exec_driver_sql(self._CLAIM_WITHOUT, (*given, dumps(list(without)))).all()
        else:
            found = conn.exec_driver_sql(self._CLAIM, given).all()
        ordered = sorted(found, key=lambda row: (row[-2], row[-1], row[0]))
        return [(*row[:-1], from_micros(row[-1])) for row in ordered]

    def move_jobs(
        self,
        conn: Connection,
        columns: Sequence[str],
        leaves: Sequence[str],
        to: str,
        rows: Sequence[tuple[Any, ...]],
    ) -> Moved:
        """Run the statement for all rows; only when some did not move is it run again, row by row."""
        sql = self._update(tuple(columns), tuple(leaves), to)
        changed_values = _with_micros(tables.jobs, columns, [row[2:] for row in rows])
        values = [(*new, row[0], row[1]) for new, row in zip(changed_values, rows, strict=True)]
        if len(rows) == 1:
            moved = conn.exec_driver_sql(sql, values[0]).rowcount == 1
            return self._moved(conn, {rows[0][0]} if moved else set())
        conn.exec_driver_sql("SAVEPOINT moves")
        moved_ids = {row[0] for row in rows}
        if conn.exec_driver_sql(sql, values).rowcount != len(rows):
            # A row that stands in the new state may have stood there before: only the count of its own tells.
            conn.exec_driver_sql("ROLLBACK TO moves")
            moved_ids = {value[-2] for value in values if conn.exec_driver_sql(sql, value).rowcount == 1}
        conn.exec_driver_sql("RELEASE moves")
        return self._moved(conn, moved_ids)

    def _moved(self, conn: Connection, ids: set[str]) -> Moved:
        if not ids:
            return Moved()
        found = conn.exec_driver_sql(self._ABOUT_MOVED, (dumps(sorted(ids)),)).all()
        return Moved(ids, {row[0] for row in found if row[1]}, {row[0] for row in found if row[2]})

    _ABOUT_MOVED = (
        f"SELECT id, followed, stop_cause IS NOT NULL FROM {JOBS} "  # noqa: S608
        "WHERE id IN (SELECT value FROM json_each(?)) AND (followed OR stop_cause IS NOT NULL)"
    )

    def _update(self, columns: tuple[str, ...], leaves: tuple[str, ...], to: str) -> str:
        key = (columns, leaves, to)
        sql = self._updates.get(key)
        if sql is None:
            changes = "".join(f", {column} = ?" for column in columns)
            states = ", ".join(f"'{state}'" for state in leaves)
            sql = f"UPDATE {JOBS} SET status = '{to}'{changes} WHERE id = ? AND run_no = ? AND status IN ({states})"  # noqa: S608
            self._updates[key] = sql
        return sql


@functools.lru_cache(maxsize=1024)
def _insert(table: str, columns: tuple[str, ...], tail: str) -> str:
    names, marks = ", ".join(f'"{column}"' for column in columns), ", ".join("?" * len(columns))
    return f"INSERT INTO {table} ({names}) VALUES ({marks}) {tail}"  # noqa: S608


@functools.lru_cache(maxsize=64)
def _copy(copy: RowCopy, given: str) -> str:
    beside = dict(copy.beside)
    listed = ", ".join(f'"{column.name}"' for column in copy.target.c)
    read = ", ".join(beside.get(column.name) or f'old."{column.name}"' for column in copy.target.c)
    new = ", ".join(f'"{column}"' for column in copy.columns)
    same = " AND ".join(f'old."{key}" = new."{key}"' for key in copy.keys)
    return (
        f"INSERT INTO {copy.target.name} ({listed}) WITH new({new}) AS {given} SELECT {read} FROM new "  # noqa: S608
        f"JOIN {copy.source.name} AS old ON {same} WHERE {copy.where} ON CONFLICT DO NOTHING"
    )


def _with_micros(table: Table, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return rows as SQLite takes them: moments in microseconds, free texts storable."""
    return list(_converted(_with_storable(table, columns, rows), _places(table, tuple(columns), Moment), to_micros))


def _with_storable(table: Table, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> Sequence[tuple[Any, ...]]:
    """Return rows whose free texts every database can store."""
    return _converted(rows, _places(table, tuple(columns), FreeText), storable)


@functools.lru_cache(maxsize=1024)
def _places(table: Table, columns: tuple[str, ...], kind: type[Any]) -> list[int]:
    return [place for place, column in enumerate(columns) if isinstance(table.c[column].type, kind)]


def _converted(
    rows: Sequence[tuple[Any, ...]], places: Sequence[int], convert: Callable[[Any], Any]
) -> Sequence[tuple[Any, ...]]:
    if not any(row[place] is not None for place in places for row in rows):
        return rows
    changed = []
    for row in rows:
        values = list(row)
        for place in places:
            if values[place] is not None:
                values[place] = convert(values[place])
        changed.append(tuple(values))
    return changed


_PG_TYPES = (
    (Id, "uuid"),
    (Moment, "timestamptz"),
    (Boolean, "boolean"),
    (SmallInteger, "smallint"),
    (BigInteger, "bigint"),
    (Integer, "integer"),
    (Float, "double precision"),
    (Text, "text"),
    (FreeText, "text"),
)


def _pg_type(table: Table, column: str) -> str:
    kind = table.c[column].type
    return next(name for type_, name in _PG_TYPES if isinstance(kind, type_))


class Postgresql:
    """PostgreSQL through psycopg 3."""

    name = "postgresql"
    begin = "BEGIN ISOLATION LEVEL READ COMMITTED"  # whatever the server's default is

    def __init__(self) -> None:
        self._statements: dict[tuple[Any, ...], str] = {}

    def now(self, conn: Connection) -> datetime:
        """The server's clock."""
        value: datetime = conn.exec_driver_sql("SELECT clock_timestamp()").scalar_one()
        return value

    def moment(self, value: datetime | None) -> Any:
        """The driver knows datetimes."""
        return value

    def insert_jobs(self, conn: Connection, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
        """COPY for many rows, one INSERT for few."""
        names = ", ".join(columns)
        rows = _with_storable(tables.jobs, columns, rows)
        if len(rows) >= COPY_FROM:
            driver: Any = conn.connection.dbapi_connection
            with driver.cursor() as cursor, cursor.copy(f"COPY {JOBS} ({names}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
            return
        marks = ", ".join(["%s"] * len(columns))
        sql = f"INSERT INTO {JOBS} ({names}) VALUES ({marks})"  # noqa: S608 - names are ours
        for row in rows:
            conn.exec_driver_sql(sql, row)

    def insert_many(
        self, conn: Connection, table: Table, columns: Sequence[str], rows: Sequence[tuple[Any, ...]], tail: str = ""
    ) -> None:
        """All rows in one statement, as arrays."""
        names = ", ".join(f'"{column}"' for column in columns)
        arrays = ", ".join(f"%s::{_pg_type(table, column)}[]" for column in columns)
        sql = f"INSERT INTO {table.name} ({names}) SELECT * FROM unnest({arrays}) {tail}"  # noqa: S608
        rows = _with_storable(table, columns, rows)
        conn.exec_driver_sql(sql, tuple(list(column) for column in zip(*rows, strict=True)))

    def copy_many(self, conn: Connection, copy: RowCopy, rows: Sequence[tuple[Any, ...]]) -> None:
        """All rows in one statement, as arrays."""
        arrays = ", ".join(f"%s::{_pg_type(copy.source, column)}[]" for column in copy.columns)
        sql = _copy(copy, f"(SELECT * FROM unnest({arrays}))")  # noqa: S608
        rows = _with_storable(copy.source, copy.columns, rows)
        conn.exec_driver_sql(sql, tuple(list(column) for column in zip(*rows, strict=True)))

    def update_many(
        self,
        conn: Connection,
        table: Table,
        keys: Sequence[str],
        columns: Sequence[str],
        rows: Sequence[tuple[Any, ...]],
    ) -> None:
        """All rows in one statement, as arrays."""
        names = (*keys, *columns)
        arrays = ", ".join(f"%s::{_pg_type(table, name)}[]" for name in names)
        listed = ", ".join(f'"{name}"' for name in names)
        changes = ", ".join(f'"{column}" = new."{column}"' for column in columns)
        same = " AND ".join(f'old."{key}" = new."{key}"' for key in keys)
        sql = f"UPDATE {table.name} AS old SET {changes} FROM unnest({arrays}) AS new({listed}) WHERE {same}"  # noqa: S608
        rows = _with_storable(table, names, rows)
        conn.exec_driver_sql(sql, tuple(list(column) for column in zip(*rows, strict=True)))

    _CLAIM = f"""
WITH due AS MATERIALIZED (
    SELECT found.id
    FROM unnest(%(marks)s::timestamptz[], %(mark_ids)s::uuid[]) WITH ORDINALITY AS mark(at, id, place)
    CROSS JOIN LATERAL (
        SELECT id FROM {JOBS}
        WHERE status = 'pending' AND run_at IS NOT NULL AND NOT suspect AND executor IS NULL AND limits IS NULL AND queue = %(queue)s
          AND priority = (mark.place - 1)::smallint AND (run_at, id) >= (mark.at, mark.id) AND run_at <= %(now)s
        ORDER BY run_at, id LIMIT %(limit)s FOR UPDATE SKIP LOCKED
    ) AS found
    LIMIT %(limit)s
)
UPDATE {JOBS} AS job
SET status = 'running', run_no = job.run_no + 1, attempt = job.attempt + 1, worker = %(worker)s, started_at = %(now)s
FROM due WHERE job.id = due.id
RETURNING {", ".join("job." + column for column in CLAIMED)}, job.priority, job.run_at
"""  # noqa: S608 - constants
    _CLAIM_WITHOUT = _CLAIM.replace("AND priority", "AND NOT (task = ANY(%(without)s::text[])) AND priority")

    def claim(
        self, conn: Connection, queue: str, limit: int, worker: str, now: datetime, marks: list[Mark | None], without: Sequence[str] = ()
    ) -> list[tuple[Any, ...]]:
        """One statement; rows that another worker has just locked are passed over."""
        given = {
            "queue": queue,
            "limit": limit,
            "worker": worker,
            "now": now,
            "marks": [mark[0] if mark else EPOCH for mark in marks],
            "mark_ids": [mark[1] if mark else FIRST_ID for mark in marks],
        }
        if without:
            rows = conn.exec_driver_sql(self._CLAIM_WITHOUT, {**given, "without": list(without)}).all()
        else:
            rows = conn.exec_driver_sql(self._CLAIM, given).all()
        ordered = sorted(rows, key=lambda row: (row[-2], row[-1], row[0]))
        return [(str(row[0]), *row[1:12], row[12] and str(row[12]), *row[13:]) for row in ordered]

    def move_jobs(
        self,
        conn: Connection,
        columns: Sequence[str],
        leaves: Sequence[str],
        to: str,
        rows: Sequence[tuple[Any, ...]],
    ) -> Moved:
        """All rows in one statement, joined by primary key.

        The guard compares an expression, not the column: a plain ``status = 'running'`` lures the planner to
        the partial index of running jobs and made this 1.5 to 2 times slower (docs/why/store.md).
        """
        arrays = [list(column) for column in zip(*rows, strict=True)]
        values = [
            [None if value is None else storable(value) for value in column]
            if name in FREE_TEXTS and any(column)
            else column
            for name, column in zip(columns, arrays[2:], strict=True)
        ]
        same = tuple(column.count(column[0]) == len(column) for column in values)
        sql = self._update(tuple(columns), tuple(leaves), to, same)
        constants = [column[0] for column, alike in zip(values, same, strict=True) if alike]
        varying = [column for column, alike in zip(values, same, strict=True) if not alike]
        moved = Moved()
        for job_id, followed, stopping in conn.exec_driver_sql(sql, (*constants, arrays[0], arrays[1], *varying)):
            text = str(job_id)
            moved.ids.add(text)
            if followed:
                moved.followed.add(text)
            if stopping:
                moved.stopping.add(text)
        return moved

    def _update(self, columns: tuple[str, ...], leaves: tuple[str, ...], to: str, same: tuple[bool, ...]) -> str:
        key = (columns, leaves, to, same)
        sql = self._statements.get(key)
        if sql is None:
            types = {column: _pg_type(tables.jobs, column) for column in columns}
            alike = [column for column, one in zip(columns, same, strict=True) if one]
            varying = [column for column, one in zip(columns, same, strict=True) if not one]
            changes = "".join(f", {column} = %s::{types[column]}" for column in alike)
            changes += "".join(f", {column} = new.{column}" for column in varying)
            states = ", ".join(f"'{state}'" for state in leaves)
            arrays = ", ".join(["%s::uuid[]", "%s::integer[]", *(f"%s::{types[column]}[]" for column in varying)])
            names = ", ".join(["id", "run_no", *varying])
            sql = (
                f"UPDATE {JOBS} AS job SET status = '{to}'{changes} FROM unnest({arrays}) AS new({names}) "  # noqa: S608
                f"WHERE job.id = new.id AND job.run_no = new.run_no AND (job.status || '') IN ({states}) "
                "RETURNING job.id, job.followed, job.stop_cause IS NOT NULL"
            )
            self._statements[key] = sql
        return sql


def dialect_of(name: str) -> Dialect:
    """The statements for SQLAlchemy's name of a database."""
    return Postgresql() if name == "postgresql" else Sqlite()
