"""The versions of schemas, jobtrail's own and those of plug-ins: created, upgraded, and refused when newer than the program."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import logging
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import inspect, text

from jobtrail.errors import InvalidOption, JobTrailError, SchemaMismatch
from jobtrail.fork_lock import ForkLock
from jobtrail.messages import Message

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection, MetaData

    from .connection import Database

VERSION_TABLE = "jobtrail_schema"
HEAD = "0015"
KNOWN = ("0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008", "0009", "0010", "0012", "0015")
SAID_AFTER = 5.0  # seconds that an upgrade waits without a word
_BLOCKERS = text(
    "SELECT pid, coalesce(nullif(application_name, ''), '?') AS application, coalesce(usename, '?') AS role, state,"
    " coalesce(xact_start, backend_start) AS since, left(query, 100) AS query"
    " FROM pg_stat_activity WHERE pid = ANY(pg_blocking_pids(:pid))"
)
_log = logging.getLogger("jobtrail.store")
ADVISORY_LOCK = 0x6A6F6274  # "jobt"
# Alembic keeps its context in module globals, so one thread at a time.
_one_at_a_time = ForkLock()


@dataclass(frozen=True, slots=True)
class OwnedSchema:
    """The tables of one owner: the table that holds their version, the newest version, and where the migrations are.

    ``known`` are the versions that this program can read, ``metadata`` is None for jobtrail's own tables.
    """

    owner: str
    version_table: str
    head: str
    known: tuple[str, ...]
    versions: Path
    metadata: MetaData | None = None

    @property
    def is_core(self) -> bool:
        """Whether the tables are jobtrail's own."""
        return self.metadata is None


MIGRATIONS = Path(__file__).parent / "migrations"
CORE = OwnedSchema("jobtrail", VERSION_TABLE, HEAD, KNOWN, MIGRATIONS / "versions")


def schema_of_package(owner: str, prefix: str, metadata: MetaData, package: str, head: str) -> OwnedSchema:
    """Return the schema whose Alembic versions are ``<package>/versions/<version>_<words>.py``.

    Raises:
        InvalidOption: If the package or the newest version is not there, or a table has a name of somebody else.
    """
    table = f"{prefix}schema"
    for name in metadata.tables:
        if not name.startswith(prefix) or name == table:
            raise InvalidOption(Message("database.table-of-others", owner=owner, name=name, prefix=prefix, table=table))
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        spec = None
    folder = next(iter((spec.submodule_search_locations if spec else None) or ()), None)
    versions = Path(folder, "versions") if folder else None
    known = tuple(sorted(path.stem.partition("_")[0] for path in versions.glob("[!_]*.py"))) if versions else ()
    if versions is None or head not in known:
        raise InvalidOption(Message("database.no-such-version", owner=owner, package=package, head=head))
    return OwnedSchema(owner, table, head, known, versions, metadata)


class Schemas:
    """The schemas of one application: jobtrail's own first, then those of plug-ins in the order of mounting."""

    def __init__(self) -> None:
        self._all: tuple[OwnedSchema, ...] = (CORE,)
        self.changes = 0  # how often the list changed, so that users notice it without comparing

    def all(self) -> tuple[OwnedSchema, ...]:
        """Return all of them."""
        return self._all

    def add(self, schema: OwnedSchema) -> None:
        """Add the schema of a plug-in."""
        self._all, self.changes = (*self._all, schema), self.changes + 1

    def remove(self, schema: OwnedSchema) -> None:
        """Remove the schema of a plug-in that was left out; its tables stay."""
        self._all, self.changes = tuple(one for one in self._all if one is not schema), self.changes + 1


@dataclass(frozen=True, slots=True)
class SchemaState:
    """The version of a schema in a database: None where its tables do not exist yet."""

    version: str | None
    schema: OwnedSchema = CORE

    @property
    def current(self) -> bool:
        """The schema is the one this program was written for."""
        return self.version == self.schema.head

    @property
    def newer(self) -> bool:
        """The schema was made by a later program."""
        return self.version is not None and self.version not in self.schema.known


def state(database: Database, schema: OwnedSchema = CORE) -> SchemaState:
    """Ask for the version, without Alembic."""
    with database.connect() as conn:
        return _state(conn, schema)


def ensure(database: Database, schemas: Sequence[OwnedSchema] = (CORE,), *, automatic: bool | None = None) -> None:
    """Bring the schemas up to date, or say who must.

    Automatic on SQLite, and on an empty PostgreSQL database when ``automatic`` is set.

    Raises: SchemaMismatch when a schema is newer, or older and not to be changed from here.
    """
    with database.connect() as conn:
        found = [_state(conn, schema) for schema in schemas]
    for one in found:
        if one.newer:
            raise SchemaMismatch(_newer(one, Message("database.schema-newer", version=one.version, head=HEAD)))
    if all(one.current for one in found):
        return
    if automatic is None:
        automatic = database.is_sqlite
    if not automatic:
        raise SchemaMismatch(_older(next(one for one in found if not one.current)))
    upgrade(database, schemas)


def upgrade(database: Database, schemas: Sequence[OwnedSchema] = (CORE,)) -> bool:
    """Upgrade to the newest schemas, all or none; another process that does it now is waited for.

    Returns: True when something was done.
    """
    with _one_at_a_time, database.translated(), database.engine.connect() as conn, _waiting_is_said(conn, database):
        _lock(conn, database)
        try:
            found = [_state(conn, schema) for schema in schemas]
            for one in found:
                if one.newer:
                    older = Message("database.schema-newer-still", version=one.version, head=HEAD)
                    raise SchemaMismatch(_newer(one, older))
            behind = [one.schema for one in found if not one.current]
            for schema in behind:
                _run_alembic(conn, schema)
        except BaseException:
            _unlock(conn, database, "ROLLBACK")
            raise
        _unlock(conn, database, "COMMIT")
        return bool(behind)


def sql(database: Database, schemas: Sequence[OwnedSchema] = (CORE,)) -> str:
    """The statements of an upgrade as text, for a DBA; nothing is changed."""
    from alembic import command

    out = io.StringIO()
    for schema in schemas:
        found = state(database, schema)
        config = _config(None, schema, out)
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


def _newer(found: SchemaState, of_core: Message) -> Message:
    schema = found.schema
    if schema.is_core:
        return of_core
    return Message("database.plugin-schema-newer", plugin=schema.owner, version=found.version, head=schema.head)


def _older(found: SchemaState) -> Message:
    schema = found.schema
    words = Message("database.schema", version=found.version)
    if found.version is None:
        words = Message("database.no-tables" if schema.is_core else "database.no-plugin-tables")
    if schema.is_core:
        return Message("database.schema-older", found=words, head=schema.head)
    return Message("database.plugin-schema-older", plugin=schema.owner, found=words, head=schema.head)


def _state(conn: Connection, schema: OwnedSchema) -> SchemaState:
    if not inspect(conn).has_table(schema.version_table):
        return SchemaState(None, schema)
    version: str | None = conn.execute(text(f"SELECT version_num FROM {schema.version_table}")).scalar()  # noqa: S608
    return SchemaState(version, schema)


def _lock(conn: Connection, database: Database) -> None:
    if database.is_sqlite:
        conn.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        conn.exec_driver_sql("BEGIN")
        conn.exec_driver_sql(f"SELECT pg_advisory_xact_lock({ADVISORY_LOCK})")


def _unlock(conn: Connection, database: Database, how: str) -> None:
    del database
    conn.exec_driver_sql(how)


def _config(conn: Connection | None, schema: OwnedSchema, out: Any = None) -> Any:
    from alembic.config import Config

    config = Config(output_buffer=out) if out is not None else Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    if not schema.is_core:
        for option in ("path_separator", "version_path_separator"):  # the second for Alembic before 1.16
            config.set_main_option(option, "os")
        config.set_main_option("version_locations", str(schema.versions).replace("%", "%%"))
    config.attributes["connection"] = conn
    config.attributes["schema"] = schema
    return config


def _run_alembic(conn: Connection, schema: OwnedSchema) -> None:
    from alembic import command
    from sqlalchemy.exc import SQLAlchemyError

    try:
        command.upgrade(_config(conn, schema), schema.head)
    except (SQLAlchemyError, JobTrailError):
        raise
    except Exception as error:
        if schema.is_core:
            raise
        why = f"{type(error).__name__}: {error}"
        raise SchemaMismatch(Message("database.plugin-upgrade-failed", plugin=schema.owner, why=why)) from error
