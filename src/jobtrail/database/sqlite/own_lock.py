"""Tell whether this process holds the write lock of a SQLite file, and whether the calling thread itself does.

The system says which process holds the lock (`/proc/locks`, Linux only). Which thread it is, is certain in three cases:
a connection of `sqlite3` that only this thread may use, a SQLAlchemy connection that this thread took from its pool, and
a program that has no other thread. In all other cases the lock may be released by somebody else, so a writer waits.
"""

from __future__ import annotations

import gc
import os
import sqlite3
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from sqlalchemy import Pool, event

if TYPE_CHECKING:
    from sqlalchemy.pool import ConnectionPoolEntry

WRITE_LOCK = 120  # the byte of the -shm file that a writer locks in WAL mode
_OURS = "jobtrail-"  # so begin the names of the threads that jobtrail starts
_FOREIGN_CODE = ("jobtrail-body", "jobtrail-on-cancel")  # those of them that run functions of the program
_taken: WeakKeyDictionary[ConnectionPoolEntry, int] = WeakKeyDictionary()


@event.listens_for(Pool, "checkout")
def _note_thread(driver: Any, entry: ConnectionPoolEntry, _proxy: object) -> None:
    # A listener of the pool: one of the engine makes each statement of each engine of the program slower.
    if isinstance(driver, sqlite3.Connection):
        _taken[entry] = threading.get_ident()


def held_by_process(path: Path) -> bool:
    """Whether this process holds the write lock of a file in WAL mode; False where the system does not say."""
    try:
        inode = str(path.with_name(f"{path.name}-shm").stat().st_ino)
        lines = Path("/proc/locks").read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return False
    return any(_is_ours(line.split(), inode) for line in lines)


def _is_ours(parts: list[str], inode: str) -> bool:
    """Read a line such as ``3: POSIX  ADVISORY  WRITE 4711 fe:00:2163154 120 120``; a waiting one has ``->``."""
    if len(parts) != 8 or parts[1] != "POSIX" or parts[3] != "WRITE":
        return False
    _, _, _, _, pid, file, first, last = parts
    in_it = int(first) <= WRITE_LOCK and (last == "EOF" or int(last) >= WRITE_LOCK)
    return int(pid) == os.getpid() and file.rpartition(":")[2] == inode and in_it


def held_by_caller(path: Path) -> bool:
    """Whether the lock is certainly held by a transaction that only the calling thread can end."""
    if not held_by_process(path):
        return False
    open_ones = [one for one in gc.get_objects() if issubclass(type(one), sqlite3.Connection) and _in_transaction(one)]
    return bool(open_ones) and all(_is_callers(one) for one in open_ones) and any(_is_in(one, path) for one in open_ones)


def _in_transaction(connection: sqlite3.Connection) -> bool:
    try:
        return connection.in_transaction
    except sqlite3.Error:  # it is closed
        return False


def _is_callers(connection: sqlite3.Connection) -> bool:
    if not _usable(connection):
        return False
    elsewhere: list[bool] = []
    other = threading.Thread(target=lambda: elsewhere.append(_usable(connection)), name=f"{_OURS}lock")
    other.start()
    other.join()
    return elsewhere == [False] or _was_taken_here(connection) or _is_only_thread()


def _is_in(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether it has the file open; asked with a cursor of the plain class, whatever the program has set."""
    try:
        cursor = sqlite3.Cursor(connection)
        cursor.row_factory = None
        files = [os.fsdecode(row[2]) for row in cursor.execute("PRAGMA database_list") if row[2]]
    except sqlite3.Error:
        return False
    return any(Path(one).exists() and path.samefile(one) for one in files)


def _usable(connection: sqlite3.Connection) -> bool:
    """Whether this thread may use the connection (``check_same_thread``)."""
    try:
        connection.getlimit(sqlite3.SQLITE_LIMIT_LENGTH)
    except sqlite3.Error:
        return False
    return True


def _was_taken_here(connection: Any) -> bool:
    threads = [thread for entry, thread in list(_taken.items()) if entry.dbapi_connection is connection]
    return threads == [threading.get_ident()]


def _is_only_thread() -> bool:
    others = [one for one in threading.enumerate() if one is not threading.current_thread()]
    return all(one.name.startswith(_OURS) and not one.name.startswith(_FOREIGN_CODE) for one in others)
