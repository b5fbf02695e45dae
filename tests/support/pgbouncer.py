"""A pgbouncer in transaction mode in front of a PostgreSQL, for the tests of poolers."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from services import START_SECONDS, _for_user, free_port, skip_or_fail

MODE = "transaction"


def program() -> str | None:
    """Where pgbouncer is: on the PATH, or where Debian puts it."""
    return shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")


@dataclass
class Pooler:
    """A pgbouncer on a free port of the loopback; it can be stopped and started again."""

    program: str
    folder: Path
    address: str
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start and wait until it listens."""
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                _for_user([self.program, str(self.folder / "pgbouncer.ini")]), stdout=log, stderr=log, cwd=self.folder
            )
        _wait(self.process, urlsplit(self.address).port, self.folder / "log")

    def stop(self) -> None:
        """End it; its clients lose their connections."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait(10)


@contextlib.contextmanager
def start_pgbouncer(server: str, **settings: str) -> Iterator[str]:
    """The address of `start_pooler`."""
    with start_pooler(server, **settings) as one:
        yield one.address


@contextlib.contextmanager
def start_pooler(server: str, *, mode: str = MODE, **settings: str) -> Iterator[Pooler]:
    """Start a pgbouncer for all databases of a server.

    Args:
        server: Address of the server.
        mode: ``pool_mode``.
        **settings: Further settings of pgbouncer.

    Returns:
        The pgbouncer; its address is that of the server's database through it. Without the program the test is skipped, or
        fails in CI.
    """
    where = program()
    if where is None:
        skip_or_fail("pgbouncer is not installed")
    parts = urlsplit(server)
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="jobtrail-bouncer-") as name:
        folder = Path(name)
        options = {
            "listen_addr": "127.0.0.1", "listen_port": port, "unix_socket_dir": "", "auth_type": "any",
            "pool_mode": mode, "default_pool_size": 4, "max_client_conn": 200, **settings,
        }  # fmt: skip
        target = f"host={parts.hostname} port={parts.port or 5432} user={parts.username}"
        text = "\n".join(f"{key} = {value}" for key, value in options.items())
        (folder / "pgbouncer.ini").write_text(f"[databases]\n* = {target}\n[pgbouncer]\n{text}\n")
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres", "postgres")
            shutil.chown(folder / "pgbouncer.ini", "postgres", "postgres")
        one = Pooler(where, folder, f"postgresql://{parts.username}@127.0.0.1:{port}{parts.path}")
        try:
            one.start()
            yield one
        finally:
            one.stop()


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        if process.poll() is not None or time.monotonic() > end:
            message = f"pgbouncer did not start: {log.read_text(errors='replace')[-500:]}"
            raise RuntimeError(message)
        time.sleep(0.02)
