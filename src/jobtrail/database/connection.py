"""The connection to the database: engine, pragmas, its clock, and what its errors mean to a person."""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import threading
import time
import weakref
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from jobtrail.errors import InvalidOption, StoreUnavailable
from jobtrail.messages import Message

from .clock import DatabaseClock
from .dialects import dialect_of
from .failures import BUSY, BUSY_HERE, failure_of, translated
from .session import POOLER_ERRORS, has_ended, start_session
from .sqlite import own_lock
from .sqlite.fork_gate import GatedCursor, gated

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sqlalchemy import URL, Connection, Engine

    from .failures import DriverFailure

SQLITE_BUSY_SECONDS = 10.0
POSTGRES_CONNECT_SECONDS = 5
_POSTGRES_ARGUMENTS = {
    "connect_timeout": POSTGRES_CONNECT_SECONDS,
    "application_name": "jobtrail",
    "client_encoding": "UTF8",
}
READERS = 5
STANDBY = "0A000"  # PostgreSQL: feature_not_supported, here: what a standby cannot do
READ_ONLY = "25006"  # PostgreSQL: read_only_sql_transaction
_BOOLEANS = {"true": True, "1": True, "on": True, "yes": True, "false": False, "0": False, "off": False, "no": False}

_HOSTS = re.compile(r"^(postgres[^:]*://(?:[^/?]*@)?)([^/?@]+,[^/?@]+)(/[^?]*)?(?:\?(.*))?$")

_open: weakref.WeakSet[Database] = weakref.WeakSet()
_openings: dict[str, threading.Lock] = {}  # by path
_abandoned: list[SqliteConnection] = []  # never closed: their numbers are files of other code by now


class Descriptors:
    """The descriptors of one SQLite connection, with the device and the inode that each had when it was opened.

    A body that closes a number which is not its own (``open(5)``) closes a file of SQLite. The next file that anybody opens
    gets the number, and SQLite would write there.

    Args:
        path: The file.
        before: The numbers that were open before, also of connections of other code to the same file.
        others: Our other connections. The descriptor of the ``-shm`` file is common to all of them.
    """

    def __init__(self, path: str, before: set[int], others: Iterable[Descriptors]) -> None:
        endings = {file: end for end in ("", "-wal", "-shm") if (file := _file_at(path + end)) is not None}
        ours = {number for one in others for number in one.files}
        shared = {
            number for number, file in _open_files()
            if endings.get(file) == "-shm" and (number in ours or number not in before)
        }  # fmt: skip
        taken = (before | ours) - shared
        self.files: dict[int, tuple[int, int]] = {
            number: file for number, file in _open_files() if file in endings and number not in taken
        }
        wal = {number: _link_of(number) for number, file in self.files.items() if endings[file] == "-wal"}
        self._links = {number: link for number, link in wal.items() if link}
        self._rest = {number: file for number, file in self.files.items() if number not in self._links}

    def are_ours(self) -> bool:
        """Whether each number still is the file that it was."""
        return all(_file_of(number) == file for number, file in self.files.items())

    def are_intact(self) -> bool:
        """Whether each number still is the file that it was, and the file has not been deleted."""
        return self.takes_commits() and (not self._links or _are_linked(self._rest))

    def takes_commits(self) -> bool:
        """Whether that is so for the ``-wal`` file, into which a commit goes; asked after each of them.

        Where the system names what is open, the name is compared: on Linux since 6.13 an `os.fstat` of a file makes the
        next write to it slower, by a fifth of a commit.
        """
        if not self._links:
            return _are_linked(self._rest)
        return all(_link_of(number) == link for number, link in self._links.items())


def _link_of(number: int) -> str:
    """The name of an open file, with ``(deleted)`` behind it where it was; empty where the system does not say."""
    try:
        return os.readlink(f"/proc/self/fd/{number}")  # noqa: PTH115 - as in _file_at
    except OSError:
        return ""


def _are_linked(files: dict[int, tuple[int, int]]) -> bool:
    fstat = os.fstat
    try:
        for number, (device, inode) in files.items():
            found = fstat(number)
            if found.st_ino != inode or found.st_dev != device or not found.st_nlink:
                return False
    except OSError:
        return False
    return True


def _open_files() -> Iterator[tuple[int, tuple[int, int]]]:
    """The open descriptors of this process; none where the system does not list them."""
    try:
        numbers = [int(name) for name in os.listdir("/dev/fd")]  # noqa: PTH208 - numbers, not paths
    except (OSError, ValueError):
        return
    for number in numbers:
        file = _file_of(number)
        if file is not None:
            yield number, file


def _file_of(number: int) -> tuple[int, int] | None:
    try:
        found = os.fstat(number)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _file_at(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - twice for each write: a Path costs ten times as much
    except OSError:
        return None
    return found.st_dev, found.st_ino


class SqliteConnection(sqlite3.Connection):
    """A connection that knows its descriptors, and leaves them alone where they are files of other code by now."""

    files: Descriptors | None = None
    commit = gated(sqlite3.Connection.commit)
    rollback = gated(sqlite3.Connection.rollback)

    def cursor(self, factory: Any = GatedCursor) -> Any:
        """Return a cursor whose calls a fork waits for."""
        return super().cursor(factory)

    @gated
    def __init__(self, *args: Any, **options: Any) -> None:
        """Note what is open before SQLite opens its files."""
        self.before = {number for number, _ in _open_files()}
        super().__init__(*args, **options)

    @gated
    def close(self) -> None:
        """Close the connection, or keep it as it is for ever."""
        if self.files is not None and not self.files.are_ours():
            _abandoned.append(self)
        else:
            super().close()


class Database:
    """One database, reached by this process.

    All connections are in autocommit: reads see one statement at a time, writes go through the `Writer`,
    which says BEGIN and COMMIT itself. After a fork the child starts with connections of its own.

    Args:
        url: the address; its parameter ``pooler`` does the same as the argument.
        clock: an object with ``now()``, for tests.
        pooler: whether a pooler in transaction mode is between; None to find out at each connection.

    Attributes:
        pooled: whether sessions are shared with other clients, by a pooler; None before the first connection.
        standby: whether the server of the newest connection is a standby.
    """

    def __init__(self, url: str, *, clock: Any = None, pooler: bool | None = None) -> None:
        self.url, said = _without_pooler(normalise(url))
        self.pooler = said if pooler is None else pooler
        self.dialect = dialect_of(self.url.get_backend_name())
        self.pooled: bool | None = False if self.is_sqlite else self.pooler
        self.standby = False
        self._path = _absolute(self.url.database or "") if self.is_sqlite else ""
        self.engine = self._make_engine()
        self.measured = DatabaseClock()
        self.clock = clock or self.measured
        self._read_clock_at = float("-inf")
        self._file: tuple[int, int] | None = None  # device and inode of the SQLite file that is in use
        self._descriptors: weakref.WeakSet[Descriptors] = weakref.WeakSet()
        self._lock = threading.Lock()
        _open.add(self)

    @property
    def is_sqlite(self) -> bool:
        """The embedded database."""
        return self.dialect.name == "sqlite"

    @property
    def path(self) -> Path | None:
        """The file of a SQLite database, absolute."""
        return Path(self._path) if self._path else None

    def _make_engine(self) -> Engine:
        options: dict[str, Any] = {"isolation_level": "AUTOCOMMIT", "pool_size": READERS, "max_overflow": 10}
        if self.is_sqlite:
            options["connect_args"] = {
                "timeout": SQLITE_BUSY_SECONDS, "check_same_thread": False, "factory": SqliteConnection,
            }  # fmt: skip
        else:
            options["connect_args"] = dict(_POSTGRES_ARGUMENTS)
            options["pool_pre_ping"] = True
            options["pool_reset_on_return"] = None  # `_leave_transaction` does, and does not log a lost connection
        try:
            engine = create_engine(self.url.set(database=self._path) if self._path else self.url, **options)
        except (NoSuchModuleError, ModuleNotFoundError) as error:
            raise InvalidOption(Message("database.no-driver")) from error
        if self.is_sqlite:
            event.listen(engine, "do_connect", self._open_sqlite)
        else:
            event.listen(engine, "connect", self._start_session)
            event.listen(engine, "handle_error", self._leave_session)
            event.listen(engine, "reset", _leave_transaction)
        return engine

    def _open_sqlite(self, dialect: Any, _record: object, arguments: Any, options: Any) -> SqliteConnection:
        """Open the file in one thread at a time: what another one opens meanwhile would be taken for this connection's."""
        self._make_file()
        with _openings.setdefault(self._path, threading.Lock()):
            driver: SqliteConnection = dialect.connect(*arguments, **options)
            _set_pragmas(driver)
            with self._lock:
                driver.files = Descriptors(self._path, driver.before, self._descriptors)
                self._descriptors.add(driver.files)
        return driver

    def _make_file(self) -> None:
        """Make a new file readable by its owner only, as are the files that SQLite makes beside it."""
        if self._path.startswith("file:"):  # an address, not a path
            return
        with contextlib.suppress(OSError):  # it is there; or the connection says what is wrong
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))

    def _start_session(self, driver: Any, _record: object) -> None:
        self.pooled, self.standby = start_session(driver, self.pooler)

    def _leave_session(self, context: Any) -> None:
        """Drop a session on a server that lost its right to write, which it keeps for ever, and one that a pooler shares."""
        code = getattr(context.original_exception, "sqlstate", None)
        if code in POOLER_ERRORS:
            self.pooler = True
        if code == READ_ONLY or code in POOLER_ERRORS:
            context.is_disconnect = True

    def driver_arguments(self) -> dict[str, Any]:
        """What PostgreSQL's driver is given to connect, and ``pooler``, for a process that does not load SQLAlchemy; JSON."""
        _, arguments = self.engine.dialect.create_connect_args(self.url)
        plain = {name: value for name, value in arguments.items() if isinstance(value, str | int)}
        return {**plain, **_POSTGRES_ARGUMENTS, "pooler": self.pooler}

    @contextlib.contextmanager
    def connect(self) -> Iterator[Connection]:
        """Open a connection for reading; a driver's error comes out as a `StoreError`."""
        self.check_file()
        with self.translated(), self._intact_connection() as conn:
            yield conn

    def own_connection(self) -> Connection:
        """A connection that the pool does not count on: for the writer, and for beats, which must not queue for one."""
        self.check_file()
        conn = self._intact_connection()
        conn.detach()
        self.check_file()  # it exists now, and is known from here on
        return conn

    def _intact_connection(self) -> Connection:
        while self.has_lost_file(conn := self.engine.connect()):
            conn.detach()
            conn.close()
        return conn

    def has_ended(self, conn: Connection) -> bool:
        """Tell whether an idle connection is of no use any more: the server has ended its session, or SQLite lost a file."""
        if self.is_sqlite:
            return self.has_lost_file(conn)
        return conn.invalidated or has_ended(conn.connection.dbapi_connection)

    def has_lost_file(self, conn: Connection, *, all_of_them: bool = True) -> bool:
        """Tell whether a descriptor of a SQLite connection was closed by other code, or a file of it was deleted.

        Args:
            conn: The connection.
            all_of_them: Whether to look at all its descriptors, or only at that of the file into which a commit goes.

        """
        driver = None if conn.invalidated else conn.connection.dbapi_connection
        if not isinstance(driver, SqliteConnection) or driver.files is None:
            return False
        return not (driver.files.are_intact() if all_of_them else driver.files.takes_commits())

    def check_file(self) -> None:
        """Compare the SQLite file at the path with the one in use; a write into a file that was deleted is lost.

        Raises: StoreUnavailable: if it was deleted (until a file is there again), or replaced: then once, and the new one is
            used from now on.
        """
        if not self._path:
            return
        before = self._file  # read first: another thread may make the file now
        found = _file_at(self._path)
        if found is None:
            if before is None:
                return  # not made yet
            self.engine.dispose()
            raise StoreUnavailable(Message("database.file-deleted", where=self.where))
        self._file = found
        if before is not None and before != found:
            self.engine.dispose()
            raise StoreUnavailable(Message("database.file-replaced", where=self.where))

    @contextlib.contextmanager
    def translated(self) -> Iterator[None]:
        """Turn a driver's error into a `StoreError` of one sentence."""
        try:
            yield
        except Exception as error:
            ours = self.translate(error)
            if ours is error:
                raise
            raise ours from error

    def translate(self, error: BaseException) -> BaseException:
        """Return the `StoreError` that a driver's error means, with the error as its cause; any other error as it is."""
        failure = failure_of(error)
        if failure is None:
            return error
        if failure.code == READ_ONLY and self.standby:
            failure = replace(failure, code=STANDBY)
        if failure.code == BUSY and self.path is not None and own_lock.held_by_process(self.path):
            failure = replace(failure, code=BUSY_HERE)
        ours = self._folder(failure) or translated(failure, self.where)
        ours.__cause__ = error
        return ours

    def is_outage(self, error: BaseException) -> bool:
        """Tell whether an error, of the driver or translated, means that the database is away."""
        return isinstance(self.translate(error), StoreUnavailable)

    @property
    def where(self) -> Message:
        """This database in words, without its password."""
        if self.is_sqlite:
            return Message("database.file", path=self.url.database)
        host, port, name = self.url.host, str(self.url.port or 5432), self.url.database
        several = self.url.query.get("host")
        if several:
            listed = several if isinstance(several, str) else ",".join(several)
            return Message("database.servers", hosts=listed, name=name)
        if not host:
            return Message("database.local-server", port=port, name=name)
        return Message("database.server", host=host, port=port, name=name)

    def _folder(self, failure: DriverFailure) -> StoreUnavailable | None:
        if failure.code == "SQLITE_CANTOPEN" and self.path is not None and self.path.is_dir():
            return StoreUnavailable(Message("database.is-folder", path=self.url.database))
        return None

    def sync_clock(self, conn: Connection, *, every: float = 30.0) -> None:
        """Read the database's clock, at most once in ``every`` seconds."""
        asked = time.monotonic()
        if asked - self._read_clock_at < every:
            return
        now = self.dialect.now(conn)
        self.measured.read(now, asked, time.monotonic())
        self._read_clock_at = asked

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def before_fork(self) -> None:
        """Close what is idle: SQLite's locks live in the process's memory, and a child would inherit them."""
        if self.is_sqlite:
            self.engine.dispose()

    def forget_connections(self) -> None:
        """In a forked child: leave the parent's connections alone and begin anew."""
        self._lock = threading.Lock()
        self.engine.dispose(close=False)


def _absolute(path: str) -> str:
    """A body may change the working directory."""
    return path if path.startswith("file:") else os.path.abspath(path)  # noqa: PTH100 - a text, as SQLite takes it


def normalise(url: str) -> URL:
    """Accept ``sqlite:///file``, ``postgresql://…`` (and ``postgres://``), or a SQLAlchemy URL of these two."""
    try:
        parsed = make_url(_HOSTS.sub(_hosts_as_parameters, url))
    except (ArgumentError, ValueError):
        raise InvalidOption(Message("database.bad-url", url=url)) from None
    backend = parsed.get_backend_name()
    if backend == "postgres":
        parsed, backend = parsed.set(drivername="postgresql"), "postgresql"
    if backend not in {"sqlite", "postgresql"}:
        raise InvalidOption(Message("database.other-kind", kind=backend))
    if backend == "postgresql":
        return parsed.set(drivername="postgresql+psycopg")
    if parsed.database in {None, "", ":memory:"}:
        raise InvalidOption(Message("database.in-memory"))
    return parsed.set(drivername="sqlite+pysqlite")


def _hosts_as_parameters(found: re.Match[str]) -> str:
    """Several hosts as the driver's own addresses have them (``//user@a:1,b:2/name``), as SQLAlchemy takes them."""
    before, hosts, path, parameters = found.groups()
    listed = "&".join(f"host={host}" for host in hosts.split(","))
    return f"{before}{path or '/'}?{listed}{'&' + parameters if parameters else ''}"


def _without_pooler(url: URL) -> tuple[URL, bool | None]:
    """The address without its parameter ``pooler``, which the driver does not know, and what it says."""
    said = url.query.get("pooler")
    if said is None:
        return url, None
    if said not in _BOOLEANS:
        raise InvalidOption(Message("database.bad-pooler", value=repr(said)))
    return url.difference_update_query(["pooler"]), _BOOLEANS[said]


def _switch_to_wal(cursor: sqlite3.Cursor) -> None:
    """SQLite does not wait at this switch, however long its busy timeout: processes that start together must."""
    end = time.monotonic() + SQLITE_BUSY_SECONDS
    while True:
        try:
            cursor.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(0.02)
        else:
            return


def _leave_transaction(driver: Any, _record: object, _state: object) -> None:
    """End what a connection left open before it goes back to the pool; one that is lost is found so when it is taken."""
    try:
        driver.rollback()
    except Exception:
        driver.close()


def _set_pragmas(connection: sqlite3.Connection) -> None:
    cursor = connection.cursor()
    _switch_to_wal(cursor)
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.execute("PRAGMA temp_store = MEMORY")
    cursor.execute("PRAGMA schema_version")  # reads, so that all files are open from here on
    cursor.close()


def _before_fork() -> None:
    for database in list(_open):
        database.before_fork()


def _after_fork_in_child() -> None:
    _openings.clear()
    for database in list(_open):
        database.forget_connections()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_child=_after_fork_in_child)
