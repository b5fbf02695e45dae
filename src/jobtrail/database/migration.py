"""The schema's versions: created, upgraded, and refused when newer than the program (Alembic inside)."""

from __future__ import annotations

import contextlib
import io
import logging
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import inspect, text

from jobtrail.errors import SchemaMismatch
from jobtrail.messages import Message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

    from .connection import Database

VERSION_TABLE = "jobtrail_schema"
HEAD = "0004"
KNOWN = ("0001", "0002", "0003", "0004")
SAID_AFTER = 5.0  # seconds that an upgrade waits without a word
_BLOCKERS = text(
    "SELECT pid, coalesce(nullif(application_name, ''), '?') AS application, coalesce(usename, '?') AS role, state,"
    " coalesce(xact_start, backend_start) AS since, left(query, 100) AS query"
    " FROM pg_stat_activity WHERE pid = ANY(pg_blocking_pids(:pid))"
)
_log = logging.getLogger("jobtrail.store")
ADVISORY_LOCK = 0x6A6F6274  # "jobt"
# Alembic keeps its context in module globals, so one thread at a time.
_one_at_a_time = threading.Lock()


@dataclass(frozen=True, slots=True)
class SchemaState:
    """Where a database stands: ``version`` is None where jobtrail has no tables in it yet."""

    version: str | None

    @property
    def current(self) -> bool:
        """The schema is the one this program was written for."""
        return self.version == HEAD

    @property
    def newer(self) -> bool:
        """The schema was made by a later program."""
        return self.version is not None and self.version not in KNOWN


def state(database: Database) -> SchemaState:
    """Ask for the version, without Alembic."""
    with database.connect() as conn:
        return _state(conn)


def ensure(database: Database, *, automatic: bool | None = None) -> None:
    """Bring the schema up to date, or say who must.

    Automatic on SQLite, and on an empty PostgreSQL database when ``automatic`` is set.

    Raises: SchemaMismatch when the schema is newer, or older and not to be changed from here.
    """
    found = state(database)
    if found.current:
        return
    if found.newer:
        raise SchemaMismatch(Message("database.schema-newer", version=found.version, head=HEAD))
    if automatic is None:
        automatic = database.is_sqlite
    if not automatic:
        raise SchemaMismatch(Message("database.schema-older", found=_words(found), head=HEAD))
    upgrade(database)


def upgrade(database: Database) -> bool:
    """Upgrade to the newest schema; another process that does it now is waited for. True when something was done."""
    with _one_at_a_time, database.translated(), database.engine.connect() as conn, _waiting_is_said(conn, database):
        _lock(conn, database)
        try:
            found = _state(conn)
            if found.newer:
                raise SchemaMismatch(Message("database.schema-newer-still", version=found.version, head=HEAD))
            if not found.current:
                _run_alembic(conn)
        except BaseException:
            _unlock(conn, database, "ROLLBACK")
            raise
        _unlock(conn, database, "COMMIT")
        return not found.current


def sql(database: Database) -> str:
    """The statements of an upgrade as text, for a DBA; nothing is changed."""
    from alembic import command

    found = state(database)
    out = io.StringIO()
    config = _config(None, out)
    config.set_main_option("sqlalchemy.url", str(database.url.render_as_string(hide_password=True)))
    config.attributes["dialect"] = database.dialect.name
    with _one_at_a_time:
        command.upgrade(config, f"{found.version or 'base'}:head", sql=True)
    return out.getvalue()


@contextlib.contextmanager
def _waiting_is_said(conn: Connection, database: Database) -> Iterator[None]:
    """Log for whom an upgrade waits, once it has waited for `SAID_AFTER` seconds; PostgreSQL knows it."""
    if database.is_sqlite:
        yield
        return
    over = threading.Event()
    pid = conn.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()
    conn.rollback()
    thread = threading.Thread(target=_say_who_blocks, args=(database, pid, over), name="jobtrail-migrate", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _say_who_blocks(database: Database, pid: int, over: threading.Event) -> None:
    said: set[int] = set()
    while not over.wait(SAID_AFTER):
        with contextlib.suppress(Exception), database.own_connection() as conn:
            for row in conn.execute(_BLOCKERS, {"pid": pid}):
                if row.pid not in said:
                    said.add(row.pid)
                    _log.warning("%s", Message("database.migrate-waits", **row._mapping))


def _words(found: SchemaState) -> Message:
    return Message("database.no-tables") if found.version is None else Message("database.schema", version=found.version)


def _state(conn: Connection) -> SchemaState:
    if not inspect(conn).has_table(VERSION_TABLE):
        return SchemaState(None)
    version: str | None = conn.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()  # noqa: S608
    return SchemaState(version)


def _lock(conn: Connection, database: Database) -> None:
    if database.is_sqlite:
        conn.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        conn.exec_driver_sql("BEGIN")
        conn.exec_driver_sql(f"SELECT pg_advisory_xact_lock({ADVISORY_LOCK})")


def _unlock(conn: Connection, database: Database, how: str) -> None:
    del database
    conn.exec_driver_sql(how)


def _config(conn: Connection | None, out: Any = None) -> Any:
    from alembic.config import Config

    config = Config(output_buffer=out) if out is not None else Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = conn
    return config


def _run_alembic(conn: Connection) -> None:
    from alembic import command

    command.upgrade(_config(conn), "head")
