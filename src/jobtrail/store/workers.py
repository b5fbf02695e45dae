"""Workers and submitters: one row for each life of a process."""

from __future__ import annotations

import getpass
import os
import socket
import sys
from importlib.metadata import PackageNotFoundError, version
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import update

from .tables import submitters, workers

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from .dialects import Dialect

_WORKER = (
    "id", "host", "boot", "pid", "pid_namespace", "process_start", "version", "queues", "slots", "started_at", "state",
)  # fmt: skip
_SUBMITTER = ("id", "host", "pid", "program", "user", "version", "at")


def register(
    conn: Connection, dialect: Dialect, worker: str, queues: Sequence[str], slots: int, now: datetime
) -> None:
    """A worker begins to live. What proves its death on the same host stands with it: boot, namespace, pid, start."""
    row = (
        worker, socket.gethostname(), boot_id(), os.getpid(), pid_namespace(), process_start(os.getpid()), our_version(),
        dumps(list(queues)), slots, now, "alive",
    )  # fmt: skip
    dialect.insert_many(conn, workers, _WORKER, [row], "ON CONFLICT (id) DO NOTHING")


def stopped(conn: Connection, worker: str, now: datetime) -> None:
    """A worker ended in order."""
    conn.execute(update(workers).where(workers.c.id == worker).values(state="stopped", stopped_at=now))


def add_submitter(conn: Connection, dialect: Dialect, submitter: str, now: datetime) -> None:
    """What is the same for all jobs of a process, stored once."""
    program = Path(sys.argv[0]).name if sys.argv and sys.argv[0] else None
    row = (submitter, socket.gethostname(), os.getpid(), program, _user(), our_version(), now)
    dialect.insert_many(conn, submitters, _SUBMITTER, [row], "ON CONFLICT (id) DO NOTHING")


def our_version() -> str:
    """The version of jobtrail that runs here."""
    try:
        return version("jobtrail")
    except PackageNotFoundError:
        return "unknown"


def boot_id() -> str | None:
    """What this machine's start is called, where the system tells it."""
    return _first_line("/proc/sys/kernel/random/boot_id")


def pid_namespace() -> str | None:
    """In which namespace our pid is meant; in containers everybody is pid 1."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return None


def process_start(pid: int) -> str | None:
    """When a process of this pid started, in the system's ticks; None where there is none or nobody tells."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    # The name in parentheses may hold spaces; the 22nd field counts from behind it.
    return stat.rsplit(")", 1)[-1].split()[19]


def _first_line(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="ascii").strip()
    except OSError:
        return None


def _user() -> str | None:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return None
