"""A time limit for what searches: the database gives up, and a person is told."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from typing import TYPE_CHECKING

from sqlalchemy.exc import DBAPIError

from jobtrail.errors import TooSlow
from jobtrail.messages import Message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

STEPS = 10_000  # of SQLite's machine between two looks at the clock
CANCELLED = "57014"  # PostgreSQL: query_canceled


@contextlib.contextmanager
def time_limit(conn: Connection, seconds: float) -> Iterator[None]:
    """Statements inside are given up after ``seconds`` (on PostgreSQL each of them); all of them see one moment there.

    Raises: TooSlow.
    """
    limited = _sqlite if conn.dialect.name == "sqlite" else _postgres
    try:
        with limited(conn, seconds):
            yield
    except DBAPIError as error:
        if not _was_given_up(error):
            raise
        raise TooSlow(Message("database.too-slow", seconds=seconds)) from error


def _was_given_up(error: DBAPIError) -> bool:
    if isinstance(error.orig, sqlite3.OperationalError):
        return "interrupted" in str(error.orig)
    return getattr(error.orig, "sqlstate", None) == CANCELLED


@contextlib.contextmanager
def _sqlite(conn: Connection, seconds: float) -> Iterator[None]:
    raw = conn.connection.dbapi_connection
    assert isinstance(raw, sqlite3.Connection)  # noqa: S101 - the driver of this dialect
    end = time.monotonic() + seconds
    raw.set_progress_handler(lambda: time.monotonic() > end, STEPS)
    try:
        yield
    finally:
        raw.set_progress_handler(None, 0)


@contextlib.contextmanager
def _postgres(conn: Connection, seconds: float) -> Iterator[None]:
    conn.exec_driver_sql("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    try:
        conn.exec_driver_sql(f"SET LOCAL statement_timeout = {int(seconds * 1000)}")
        yield
    except BaseException:
        with contextlib.suppress(Exception):  # the first error says what happened; the connection may be gone
            conn.exec_driver_sql("ROLLBACK")
        raise
    conn.exec_driver_sql("ROLLBACK")
