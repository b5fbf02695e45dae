"""PostgreSQL: the cheapest way to put in 1,000 jobs, and one job (nine columns given, the rest by default)."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

import psycopg
import sqlalchemy as sa

from .common import COLUMNS, arguments, cluster, create, race, uuid7

LIST = ", ".join(COLUMNS)
TYPES = ("uuid", "text", "text", "int2", "text", "timestamptz", "text", "uuid", "int4")
COPY = f"copy jobs ({LIST}) from stdin"
UNNEST = f"insert into jobs ({LIST}) select * from unnest(" + ", ".join(f"%s::{t}[]" for t in TYPES) + ")"
ONE = f"insert into jobs ({LIST}) values ({', '.join(['%s'] * 9)})"
ONE_NOTIFY = f"with put as ({ONE}) select pg_notify('jobs', 'default')"
KINDS: tuple[Any, ...] = (sa.Uuid(), sa.Text(), sa.Text(), sa.SmallInteger(), sa.Text(), sa.DateTime(timezone=True),
                          sa.Text(), sa.Uuid(), sa.Integer())
TABLE = sa.table("jobs", *(sa.column(name, kind) for name, kind in zip(COLUMNS, KINDS, strict=True)))
CORE = sa.insert(TABLE)
Row = tuple[Any, ...]


def rows_for(count: int) -> list[Row]:
    """Rows as the library would have them."""
    submitter, at = uuid7(), datetime.now(UTC)
    return [(uuid7(), "sync_weather", "default", 5, "pending", at, f'{{"airport": "EWR", "month": {n}}}', submitter, 3)
            for n in range(count)]


def copy_rows(conn: psycopg.Connection, rows: list[Row]) -> None:
    """COPY in text, psycopg writes each row."""
    with conn.cursor() as cursor, cursor.copy(COPY) as copy:
        for row in rows:
            copy.write_row(row)


def copy_binary(conn: psycopg.Connection, rows: list[Row]) -> None:
    """COPY in binary, psycopg writes each row."""
    with conn.cursor() as cursor, cursor.copy(COPY + " with (format binary)") as copy:
        copy.set_types(TYPES)
        for row in rows:
            copy.write_row(row)


def quoted(text: str) -> str:
    """A text as COPY wants it."""
    if "\\" in text or "\n" in text or "\t" in text or "\r" in text:
        return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
    return text


def copy_block(conn: psycopg.Connection, rows: list[Row]) -> None:
    """COPY of one text block built by hand."""
    block = "".join([
        f"{r[0].hex}\t{quoted(r[1])}\t{quoted(r[2])}\t{r[3]}\t{r[4]}\t{r[5].isoformat()}\t{quoted(r[6])}\t{r[7].hex}\t{r[8]}\n"
        for r in rows])
    with conn.cursor() as cursor, cursor.copy(COPY) as copy:
        copy.write(block)


def unnest(conn: psycopg.Connection, rows: list[Row]) -> None:
    """INSERT … SELECT from one array for each column."""
    conn.execute(UNNEST, [list(column) for column in zip(*rows, strict=True)], prepare=True)


def many(conn: psycopg.Connection, rows: list[Row]) -> None:
    """psycopg's executemany (a pipeline of single INSERTs)."""
    with conn.transaction(), conn.cursor() as cursor:
        cursor.executemany(ONE, rows)


def bulk(conn: psycopg.Connection, put: Callable[[psycopg.Connection, list[Row]], None], chunks: int) -> float:
    """Rows per second, building them included."""
    create(conn)
    conn.execute("checkpoint")
    begin = time.perf_counter()
    for _ in range(chunks):
        put(conn, rows_for(1000))
    return chunks * 1000 / (time.perf_counter() - begin)


def core_bulk(engine: sa.Engine, conn: psycopg.Connection, chunks: int, multi: bool) -> float:
    """The same through SQLAlchemy."""
    create(conn)
    conn.execute("checkpoint")
    begin = time.perf_counter()
    for _ in range(chunks):
        rows = [dict(zip(COLUMNS, row, strict=True)) for row in rows_for(1000)]
        with engine.begin() as core:
            core.execute(CORE.values(rows)) if multi else core.execute(CORE, rows)
    return chunks * 1000 / (time.perf_counter() - begin)


def lone(conn: psycopg.Connection, statement: str, count: int, explicit: bool = False) -> float:
    """Single inserts per second."""
    create(conn)
    conn.execute("checkpoint")
    cursor = conn.cursor()
    begin = time.perf_counter()
    for _ in range(count):
        row = rows_for(1)[0]
        if explicit:
            with conn.transaction():
                cursor.execute(statement, row, prepare=True)
        else:
            cursor.execute(statement, row, prepare=True)
    return count / (time.perf_counter() - begin)


def core_lone(engine: sa.Engine, conn: psycopg.Connection, count: int) -> float:
    """Single inserts per second through SQLAlchemy in autocommit."""
    create(conn)
    conn.execute("checkpoint")
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as core:
        begin = time.perf_counter()
        for _ in range(count):
            core.execute(CORE, dict(zip(COLUMNS, rows_for(1)[0], strict=True)))
        return count / (time.perf_counter() - begin)


def main() -> None:
    """Print the tables."""
    args = arguments(rounds=3, chunks=8, lone=600)
    with cluster() as dsn, psycopg.connect(dsn, autocommit=True) as conn:
        engine = sa.create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(dsn))
        race("5a PostgreSQL, 1,000 rows per transaction, all indexes, rows/s", {
            "COPY, write_row": partial(bulk, conn, copy_rows, args.chunks),
            "COPY, block built by hand": partial(bulk, conn, copy_block, args.chunks),
            "COPY binary, write_row": partial(bulk, conn, copy_binary, args.chunks),
            "INSERT … SELECT unnest": partial(bulk, conn, unnest, args.chunks),
            "psycopg executemany": partial(bulk, conn, many, args.chunks),
            "SQLAlchemy execute(insert, list)": partial(core_bulk, engine, conn, args.chunks // 2, False),
            "SQLAlchemy insert().values(list)": partial(core_bulk, engine, conn, args.chunks // 4, True),
        }, args.rounds)
        race("5b PostgreSQL, one row, rows/s", {
            "autocommit": partial(lone, conn, ONE, args.lone),
            "autocommit with pg_notify in the same statement": partial(lone, conn, ONE_NOTIFY, args.lone),
            "explicit transaction": partial(lone, conn, ONE, args.lone, True),
            "explicit transaction with pg_notify": partial(lone, conn, ONE_NOTIFY, args.lone, True),
            "SQLAlchemy Core, autocommit": partial(core_lone, engine, conn, args.lone),
        }, args.rounds)
        engine.dispose()


if __name__ == "__main__":
    main()
