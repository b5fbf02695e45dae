"""A connection of an application whose driver writes parameters in another way than ours."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import TextClause, text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection, CursorResult
    from sqlalchemy.exc import DBAPIError

OURS = {"psycopg", "psycopg_async", "pysqlite", "aiosqlite"}  # write parameters as the statements of `dialects` do
_PARAMETER = re.compile(r"%(?:\((?P<name>\w+)\))?s(?:::(?P<type>\w+(?:\[\])?))?|%%")


class CallerConnection:
    """A SQLAlchemy connection of any driver, for statements that are written for psycopg.

    Args:
        conn: The connection; all but plain SQL is left to it.
    """

    def __init__(self, conn: Connection) -> None:
        self._conn = conn

    def __getattr__(self, name: str) -> Any:
        """The connection's own."""
        return getattr(self._conn, name)

    def exec_driver_sql(
        self, statement: str, parameters: Sequence[Any] | Mapping[str, Any] | None = None
    ) -> CursorResult[Any]:
        """Execute plain SQL with psycopg's parameters."""
        if parameters is None:
            return self._conn.exec_driver_sql(statement)
        given = parameters if isinstance(parameters, dict) else {f"p{at}": one for at, one in enumerate(parameters)}
        return self._conn.execute(_as_text(statement), given)


def of_caller(conn: Connection) -> Connection:
    """Return a connection that takes the statements of the store, whatever its driver."""
    return conn if conn.dialect.driver in OURS else cast("Connection", CallerConnection(conn))


@lru_cache(maxsize=256)
def _as_text(statement: str) -> TextClause:
    number = 0

    def named(found: re.Match[str]) -> str:
        nonlocal number
        if found[0] == "%%":
            return "%"
        name = found["name"]
        if name is None:
            name, number = f"p{number}", number + 1
        return f"CAST(:{name} AS {found['type']})" if found["type"] else f":{name}"

    return text(_PARAMETER.sub(named, statement))


_NO_SUCH_TABLE = "42P01"  # SQLSTATE
_OF_SQLITE = "no such table: jobtrail_"


def lacks_tables(error: DBAPIError) -> bool:
    """Whether a database has no tables of ours, as the error of any driver says it."""
    original = error.orig
    state = getattr(original, "sqlstate", None) or getattr(original, "pgcode", None)
    fields = original.args[0] if original is not None and original.args else None
    if state is None and isinstance(fields, dict):  # pg8000
        state = fields.get("C")
    return state == _NO_SUCH_TABLE or _OF_SQLITE in str(original)
