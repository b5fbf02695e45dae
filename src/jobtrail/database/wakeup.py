"""Waking workers after a commit: a hint, never the truth, which is found by polling.

In this process a callback; on PostgreSQL NOTIFY and LISTEN, which needs a session of its own, so that behind a pooler
only a direct address (the setting ``notify_url``) is listened on; on SQLite a datagram socket for each listener
in a folder beside the database file, because polling the file or watching it is slower or too early.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from uuid import uuid4

from jobtrail.private_folder import is_private

if TYPE_CHECKING:
    from .connection import Database

CHANNEL = "jobtrail_wake"
PAUSE = 1.0  # seconds before a listener that failed begins anew
# A session that listens is idle by design; servers before version 14 have no such limit.
_MAY_BE_IDLE = "SELECT set_config(name, '0', false) FROM pg_settings WHERE name = 'idle_session_timeout'"
WORK, DEAD, SUSPECT, SCHEDULES, QUEUES, RELEASE = "work", "dead", "suspect", "schedules", "queues", "release"
Words = frozenset[str]
Callback = Callable[[Words], None]


class Listener(Protocol):
    """Calls back, from a thread of its own, when another process has something to do for us.

    Attributes:
        failing: what stopped it from listening, so that it waits and begins anew; None while it listens, and in an outage.
    """

    failing: Exception | None

    def start(self) -> None:
        """Begin to listen."""

    def stop(self) -> None:
        """End within a second."""


class Wake:
    """What a process does after commits that made work due."""

    def __init__(self, database: Database, *, listens_on: Database | None = None) -> None:
        self._database = database
        self._listens_on = listens_on or database
        self._callbacks: list[Callback] = []
        self._said = threading.local()
        self._sender: Datagrams | None = None

    def subscribe(self, callback: Callback) -> None:
        """Call back in this process, from the committing thread, with what was said; must return at once."""
        self._callbacks.append(callback)

    def unsubscribe(self, callback: Callback) -> None:
        """No more calls."""
        with contextlib.suppress(ValueError):
            self._callbacks.remove(callback)

    def after_fork(self) -> None:
        """Forget in a forked child who listens in its parent: their loops and locks are copies that nobody serves."""
        self._callbacks.clear()

    def need(self, word: str = WORK) -> None:
        """Said inside a write: that it makes work due (a suspect: SUSPECT), or that a worker is dead. The thread that commits it tells."""
        said: set[str] | None = getattr(self._said, "words", None)
        if said is None:
            self._said.words = {word}
        else:
            said.add(word)

    def after_commit(self, conn: Any) -> None:
        """Tell whoever listens; errors are of no consequence."""
        said: set[str] | None = getattr(self._said, "words", None)
        if not said:
            return
        words = frozenset(said)
        said.clear()
        for callback in list(self._callbacks):
            callback(words)
        with contextlib.suppress(Exception):
            self._tell_others(conn, ",".join(sorted(words)))

    def _tell_others(self, conn: Any, text: str) -> None:
        if self._database.is_sqlite:
            if self._sender is None:
                self._sender = Datagrams(_folder(self._database))
            self._sender.send(text.encode())
        elif conn is not None:
            conn.exec_driver_sql(f"NOTIFY {CHANNEL}, '{text}'")

    def listener(self, callback: Callback) -> Listener:
        """A listener for what other processes say."""
        if self._database.is_sqlite:
            return _DatagramListener(_folder(self._database), callback)
        return _NotifyListener(self._listens_on, callback)

    def close(self) -> None:
        """Close what was used to listen and to tell."""
        if self._sender is not None:
            self._sender.close()
        self._listens_on.close()


def _words(text: str) -> Words:
    return frozenset(word for word in text.split(",") if word) or frozenset({WORK})


def _folder(database: Database) -> Path:
    path = database.path
    if path is None:  # pragma: no cover - guarded by normalise()
        message = "a SQLite database has a file"
        raise RuntimeError(message)
    return folder_of(path)


def folder_of(path: Path) -> Path:
    """The folder of the sockets of those who listen, beside a SQLite file."""
    return path.with_name(path.name + "-wake")


class Datagrams:
    """Sends a word to every socket in the folder, if nobody else can write to it; without it, polling goes on."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)
        self._socket: socket.socket | None = None
        self._pid = 0

    def send(self, text: bytes) -> None:
        """Send; whoever does not listen is left out."""
        if not hasattr(socket, "AF_UNIX") or not os.access(self._folder, os.F_OK):  # an error costs as much as a write
            return
        if not is_private(self._folder):  # a link would have us remove the files of another folder
            return
        if self._socket is None or self._pid != os.getpid():
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self._socket.setblocking(False)
            self._pid = os.getpid()
        for entry in os.scandir(self._folder):
            try:
                self._socket.sendto(text, entry.path)
            except ConnectionRefusedError:
                # Nobody is bound to it any more: its process has died. A file that is no socket refuses too.
                with contextlib.suppress(OSError):
                    if stat.S_ISSOCK(entry.stat(follow_symlinks=False).st_mode):
                        Path(entry.path).unlink()
            except OSError:
                continue

    def close(self) -> None:
        """Close the socket; a later word opens a new one."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


class _DatagramListener:
    def __init__(self, folder: Path, callback: Callback) -> None:
        self._folder = folder
        self._callback = callback
        self._stopping = threading.Event()
        self._socket: socket.socket | None = None
        self._name = ""
        self.failing: Exception | None = None

    def start(self) -> None:
        if not hasattr(socket, "AF_UNIX"):
            return
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            if not is_private(self._folder):
                return
            self._name = str(self._folder / uuid4().hex[:12])
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self._socket.bind(self._name)
        except OSError:
            self._socket = None  # a folder that cannot be written, a path too long: polling goes on
            return
        self._socket.settimeout(0.5)
        threading.Thread(target=self._listen, args=(self._socket,), name="jobtrail-wake", daemon=True).start()

    def _listen(self, sock: socket.socket) -> None:
        words = frozenset({WORK, DEAD})  # something may have been said before we listened
        while not self._stopping.is_set():
            try:
                if words:
                    self._callback(words)
                    self.failing = None
                words = frozenset()
                words = _words(sock.recv(256).decode(errors="replace"))
            except TimeoutError:
                continue
            except Exception as error:
                self.failing = None if self._stopping.is_set() else error
                self._stopping.wait(PAUSE)

    def stop(self) -> None:
        self._stopping.set()
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.close()
            with contextlib.suppress(OSError):
                Path(self._name).unlink()
            with contextlib.suppress(OSError):
                self._folder.rmdir()


class _NotifyListener:
    """LISTEN on a connection of its own; an outage is waited out, since polling goes on anyway. Not behind a pooler."""

    def __init__(self, database: Database, callback: Callback) -> None:
        self._database = database
        self._callback = callback
        self._stopping = threading.Event()
        self.failing: Exception | None = None

    def start(self) -> None:
        threading.Thread(target=self._run, name="jobtrail-wake", daemon=True).start()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                if not self._listen():
                    self._say_that_it_polls()
                    return
            except Exception as error:
                self.failing = None if self._database.is_outage(error) else error
                self._stopping.wait(PAUSE)

    def _say_that_it_polls(self) -> None:
        # The beat child loads this module, and neither of these.
        import logging

        from jobtrail.messages import Message

        message = Message("database.polls-behind-pooler", where=self._database.where)
        logging.getLogger("jobtrail.store").info("%s", message)

    def _listen(self) -> bool:
        """Listen until stopped; False behind a pooler, where nothing would be heard."""
        with contextlib.closing(self._database.engine.raw_connection()) as pooled:
            if self._database.pooled:
                return False
            pooled.detach()
            driver: Any = pooled.dbapi_connection
            driver.execute(_MAY_BE_IDLE)
            driver.execute(f"LISTEN {CHANNEL}")
            self._callback(frozenset({WORK, DEAD}))  # something may have been said before we listened
            while not self._stopping.is_set():
                self.failing = None
                heard = [note.payload for note in driver.notifies(timeout=0.5, stop_after=1)]
                if heard:
                    self._callback(_words(",".join(heard)))
        return True

    def stop(self) -> None:
        self._stopping.set()
