"""A fork waits until no thread of this process is inside of SQLite.

SQLite has mutexes for its memory and its files. A child that is forked while another thread holds one inherits it locked, for
ever, and hangs in its first call. Python calls SQLite without its own lock, so only those calls have to be known here.
"""

from __future__ import annotations

import functools
import os
import sqlite3
import threading
import time
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")
LONGEST = 15.0  # seconds that a fork waits for a statement; one that waits for the write lock ends before
LOOK = 0.0005  # seconds between two looks
class _Gate:
    """Which threads are inside of SQLite, and whether a fork holds back the others."""

    def __init__(self) -> None:
        self.inside: set[int] = set()  # adding and removing is atomic
        self.closed = False
        self.opened = threading.Event()

    def wait(self, thread: int) -> None:
        """Wait for the end of the fork."""
        while self.closed:
            self.inside.discard(thread)
            self.opened.wait()
            self.inside.add(thread)

    def close(self) -> None:
        """Hold other threads back, and wait for those that are inside."""
        self.opened.clear()
        self.closed = True
        end, own = time.monotonic() + LONGEST, threading.get_ident()
        while self.inside - {own} and time.monotonic() < end:
            time.sleep(LOOK)

    def open(self) -> None:
        """Let them go on."""
        self.closed = False
        self.opened.set()

    def begin_anew(self) -> None:
        """In a child there is one thread."""
        self.inside, self.closed, self.opened = set(), False, threading.Event()


_gate = _Gate()


def gated(method: F) -> F:
    """Let a fork wait for the end of this call, and this call for the end of a fork."""

    @functools.wraps(method)
    def call(*args: Any, **options: Any) -> Any:
        thread = threading.get_ident()
        if thread in _gate.inside:
            return method(*args, **options)
        _gate.inside.add(thread)
        try:
            if _gate.closed:
                _gate.wait(thread)
            return method(*args, **options)
        finally:
            _gate.inside.discard(thread)

    return call  # type: ignore[return-value]  # the same parameters


class GatedCursor(sqlite3.Cursor):
    """A cursor whose calls a fork waits for."""

    execute = gated(sqlite3.Cursor.execute)
    executemany = gated(sqlite3.Cursor.executemany)
    executescript = gated(sqlite3.Cursor.executescript)
    fetchone = gated(sqlite3.Cursor.fetchone)
    fetchmany = gated(sqlite3.Cursor.fetchmany)
    fetchall = gated(sqlite3.Cursor.fetchall)
    __next__ = gated(sqlite3.Cursor.__next__)
    close = gated(sqlite3.Cursor.close)  # resets its statement, and Python lets go of its own lock for that


# Before the other modules that hold threads back, so that this is the last to do so.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_gate.close, after_in_parent=_gate.open, after_in_child=_gate.begin_anew)
