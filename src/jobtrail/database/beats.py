"""The heartbeat's statements, and the connection of the beat child, which loads the driver alone.

The store uses the same statements through SQLAlchemy. Nothing here imports it: the child starts in a fraction of the
time and holds a third of the memory.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
import time
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote

from .session import start_session
from .wakeup import CHANNEL, DEAD, Datagrams, folder_of

if TYPE_CHECKING:
    from collections.abc import Mapping

_ALIVE = "state IN ('alive', 'stopping', 'leaving')"
_HELD = "jobtrail_jobs.worker = :worker AND jobtrail_jobs.status IN ('running', 'cancelling')"
RAISE_BEAT = "UPDATE jobtrail_beats SET beat = beat + 1, at = :now WHERE worker = :worker"
WRITE_DETAIL = f"UPDATE jobtrail_workers SET detail = :detail WHERE id = :worker AND {_ALIVE}"  # noqa: S608 - constants
JOBS_HELD = f"SELECT id, run_no FROM jobtrail_jobs WHERE {_HELD}"  # noqa: S608 - constants
# What an earlier run wrote as its deadline says nothing about this one.
DEADLINES = (
    f"SELECT id, deadline_at FROM jobtrail_jobs WHERE {_HELD} AND deadline_run = run_no "  # noqa: S608 - constants
    "AND deadline_at IS NOT NULL ORDER BY deadline_at"
)
# With ``beat`` only if the number is still the one that was judged: the worker may have woken up since.
MARK_DEAD = (
    "UPDATE jobtrail_workers SET state = 'dead', stopped_at = :now, "  # noqa: S608 - constants
    "detail = CASE WHEN state = 'leaving' THEN CAST(:left AS TEXT) ELSE CAST(:detail AS TEXT) END "
    f"WHERE id = :worker AND {_ALIVE} AND (CAST(:beat AS BIGINT) IS NULL OR id IN "
    "(SELECT worker FROM jobtrail_beats WHERE worker = :worker AND beat = CAST(:beat AS BIGINT)))"
)
LEFT = dumps({"how": "@worker.shutdown", "left": True})  # the stored form of a message
_CONNECT_SECONDS = 10.0


class BeatConnection(Protocol):
    """What a beat child asks of a database. Every call may raise an error of the driver."""

    def exists(self) -> bool:
        """Whether the database is still there; a SQLite file that was removed must not come back empty."""

    def now(self) -> float:
        """The time, in seconds since 1970."""

    def beat(self, worker: str) -> None:
        """Raise the worker's number."""

    def write_detail(self, worker: str, detail: Mapping[str, Any]) -> None:
        """Write what is wrong with the worker."""

    def jobs_held(self, worker: str) -> list[str]:
        """The ids of the jobs that run on the worker."""

    def deadlines(self, worker: str) -> list[tuple[str, float]]:
        """(id, deadline in seconds since 1970) of its jobs that have one, the earliest first."""

    def mark_dead(self, worker: str, how: str) -> None:
        """Declare the worker dead, and wake the others."""


def connection_for(path: str | None, arguments: Mapping[str, Any] | None) -> BeatConnection:
    """The connection to a SQLite file, or to PostgreSQL with the driver's own arguments (`Database.driver_arguments`)."""
    return SqliteBeats(Path(path)) if path is not None else PostgresBeats(dict(arguments or {}))


class SqliteBeats:
    """Opens the file for each call: that costs less than a millisecond, and a replaced file is never written to."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._address = f"file:{quote(str(path.absolute()))}?mode=rw"

    def exists(self) -> bool:
        """Whether the file is there."""
        return self._path.exists()

    def now(self) -> float:
        """SQLite has no clock but the machine's."""
        return time.time()

    def _execute(self, statement: str, **values: Any) -> list[tuple[Any, ...]]:
        values["now"] = int(self.now() * 1000) * 1000
        with contextlib.closing(
            sqlite3.connect(self._address, uri=True, timeout=_CONNECT_SECONDS, isolation_level=None)
        ) as connection:
            return connection.execute(statement, values).fetchall()

    def beat(self, worker: str) -> None:
        """Raise the worker's number."""
        self._execute(RAISE_BEAT, worker=worker)

    def write_detail(self, worker: str, detail: Mapping[str, Any]) -> None:
        """Write what is wrong with the worker."""
        self._execute(WRITE_DETAIL, worker=worker, detail=dumps(detail) if detail else None)

    def jobs_held(self, worker: str) -> list[str]:
        """The ids of the jobs that run on the worker."""
        return [str(row[0]) for row in self._execute(JOBS_HELD, worker=worker)]

    def deadlines(self, worker: str) -> list[tuple[str, float]]:
        """(id, deadline) of its jobs."""
        return [(str(job), at / 1e6) for job, at in self._execute(DEADLINES, worker=worker)]

    def mark_dead(self, worker: str, how: str) -> None:
        """Declare the worker dead, and wake the others."""
        self._execute(MARK_DEAD, worker=worker, beat=None, left=LEFT, detail=dumps({"how": how}))
        with contextlib.suppress(OSError):
            Datagrams(folder_of(self._path)).send(DEAD.encode())


class PostgresBeats:
    """Keeps one connection, and makes a new one after any error: a server that turned read-only keeps that for a session."""

    def __init__(self, arguments: dict[str, Any]) -> None:
        self._pooler: bool | None = arguments.pop("pooler", None)
        self._arguments = arguments
        self._connection: Any = None

    def exists(self) -> bool:
        """A server that is away may come back."""
        return True

    def now(self) -> float:
        """The server's time."""
        (row,) = self._execute("SELECT extract(epoch FROM clock_timestamp())::float8")
        return float(row[0])

    def _execute(self, statement: str, **values: Any) -> list[tuple[Any, ...]]:
        used = self._connection is not None
        try:
            return self._try(statement, values)
        except Exception:
            self._drop()
            if not used:
                raise
        try:
            return self._try(statement, values)  # the connection was idle for seconds: the server may have closed it
        except Exception:
            self._drop()
            raise

    def _try(self, statement: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
        if self._connection is None:
            import psycopg  # a child that beats on SQLite does not load it

            # Nothing is prepared: a statement every few seconds does not need it, and a pooler does not allow it.
            self._connection = psycopg.connect(autocommit=True, prepare_threshold=None, **self._arguments)
            start_session(self._connection, self._pooler)
        cursor = self._connection.execute(_postgres(statement), values)
        return list(cursor.fetchall()) if cursor.description is not None else []

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(Exception):
                connection.close()

    def beat(self, worker: str) -> None:
        """Raise the worker's number."""
        self._execute(RAISE_BEAT, worker=worker)

    def write_detail(self, worker: str, detail: Mapping[str, Any]) -> None:
        """Write what is wrong with the worker."""
        self._execute(WRITE_DETAIL, worker=worker, detail=dumps(detail) if detail else None)

    def jobs_held(self, worker: str) -> list[str]:
        """The ids of the jobs that run on the worker."""
        return [str(row[0]) for row in self._execute(JOBS_HELD, worker=worker)]

    def deadlines(self, worker: str) -> list[tuple[str, float]]:
        """(id, deadline) of its jobs."""
        return [(str(job), at.timestamp()) for job, at in self._execute(DEADLINES, worker=worker)]

    def mark_dead(self, worker: str, how: str) -> None:
        """Declare the worker dead, and wake the others."""
        self._execute(MARK_DEAD, worker=worker, beat=None, left=LEFT, detail=dumps({"how": how}))
        with contextlib.suppress(Exception):
            self._execute(f"NOTIFY {CHANNEL}, '{DEAD}'")


def _postgres(statement: str) -> str:
    """A statement in the driver's style, with the server's time for ``:now``."""
    return re.sub(r"(?<!:):(\w+)", r"%(\1)s", statement.replace(":now", "clock_timestamp()"))
