"""The watcher of the watcher: a ping that stops when we stop, and words about a store or a disk that cannot be written.

Where the store cannot be written, no event and no job can be stored either. So each process tells it directly, on the
channels of the rules that want it: once for each outage, and perhaps by several processes.
"""

from __future__ import annotations

import logging
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from jobtrail.errors import InvalidOption, StoreError
from jobtrail.job.model import new_id
from jobtrail.messages import Message, render

from . import deliver, store
from .channels.base import OutgoingMessage, SendingFailed, checked_timeout, secrets_of_url, shown_url
from .channels.webhook import call, check_url
from .events import Announcement, announce_all
from .rules import INBOX
from .sources import AWAY
from .texts import BEGUN

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from .notifier import Notifier

UNWRITABLE = "disk.unwritable"
WATCH, PING = "watch", "ping"
AWAY_FOR = 60.0  # seconds without a write after which a process says so itself
ALIVE_WITHIN = timedelta(seconds=60)  # so old may the last turn be that a ping still goes out
_log = logging.getLogger("jobtrail.notify")


@dataclass(frozen=True)
class Ping:
    """Calls a URL as long as notifications work; a service that misses the calls raises the alarm.

    Args:
        url: URL that is fetched; all of it but the host counts as a secret.
        every: Seconds between calls.
        timeout: Seconds to wait for an answer.

    Raises:
        InvalidOption: If a value is not valid.
    """

    url: str = field(repr=False)
    every: float = 60.0
    timeout: float = 10.0

    def __post_init__(self) -> None:
        """Check before anything is called."""
        check_url(self.url)
        checked_timeout(self.timeout)
        if isinstance(self.every, bool) or not isinstance(self.every, (int, float)) or not 5 <= self.every <= 86_400:
            raise InvalidOption(Message("notify.bad-ping", value=repr(self.every)))

    @property
    def target(self) -> str:
        """Scheme and host."""
        return shown_url(self.url)

    @cached_property
    def secrets(self) -> tuple[str, ...]:
        """The URL and its parts."""
        return secrets_of_url(self.url)

    def send(self) -> None:
        """Fetch the URL.

        Raises:
            SendingFailed: If the answer is not 2xx.
        """
        call(self.url, None, {}, timeout=self.timeout, secrets=self.secrets)


def ping(notifier: Notifier, one: Ping) -> bool:
    """Call the URL if it is time for it, the store can be written and the last turn was not long ago.

    Returns:
        True if it was called.
    """
    now = notifier.store.now()

    def due(conn: Connection) -> bool:
        last, turn = store.position(conn, PING), store.position(conn, store.TURN)
        if turn is None or now - turn.at > ALIVE_WITHIN:
            return False
        if last is not None and now - last.at < timedelta(seconds=one.every):
            return False
        store.set_position(conn, PING, 0, None, now)
        return True

    if not notifier.store.write(due):
        return False
    try:
        one.send()
    except SendingFailed as failure:
        _log.warning("%s", Message("notify.ping-failed", target=one.target, why=failure.why))
    return True


@dataclass(slots=True)
class Watch:
    """What one process sees of the store and of its folders.

    Args:
        notifier: The notifications of the application.
        folders: Folders that must be writable; one that does not exist is left alone.
        clock: Monotonic time in seconds.
    """

    notifier: Notifier
    folders: Iterable[Path] = ()
    clock: Callable[[], float] = time.monotonic
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _written_at: float | None = None
    _away_since: datetime | None = None
    _unwritable: dict[Path, str] = field(default_factory=dict)
    _began: bool = True

    def turn(self) -> None:
        """Look once. One turn of the loop."""
        with self._lock:
            if self._can_write():
                self._away_since = None  # the worker's own row says that it was away, and the sources tell that
                self._look_at_folders()

    def _can_write(self) -> bool:
        now = self.notifier.store.now()
        try:
            self.notifier.jobs.make_ready()
            self.notifier.store.write(lambda conn: store.set_position(conn, WATCH, 0, None, now))
        except StoreError as error:
            if self._written_at is None:
                self._written_at = self.clock()
            if self._away_since is None and self.clock() - self._written_at >= AWAY_FOR:
                self._away_since = now
                self._tell_directly(now, error)
            return False
        self._written_at = self.clock()
        return True

    def _tell_directly(self, now: datetime, error: StoreError) -> None:
        words = render(Message(BEGUN[AWAY], host=socket.gethostname()), self.notifier.language)
        message = OutgoingMessage(new_id(), words, f"{words}: {render(error, self.notifier.language)}", "store", now)
        names = {name for rule in self.notifier.rules if rule.wants(AWAY) for name in rule.channels}
        for name in sorted(names - {INBOX}):
            channel = self.notifier.channel(name)
            failed = deliver.attempt(channel, message) if channel is not None else None
            if failed is not None:
                _log.warning("%s", Message("notify.direct-failed", channel=name, why=failed.why))

    def _look_at_folders(self) -> None:
        host = socket.gethostname()
        found: list[Announcement] = []
        now = self.notifier.store.now()
        for folder in self.folders:
            subject, problem = f"{host}:{folder}"[-200:], _unwritable(folder)
            facts = {"host": host, "message": problem}
            if problem is not None and folder not in self._unwritable:
                self._unwritable[folder] = problem
                found.append(Announcement(UNWRITABLE, subject, facts, now))
            elif problem is None and (self._unwritable.pop(folder, None) is not None or self._began):
                # Also at the first look: a process before this one may have told it.
                found.append(Announcement(UNWRITABLE, subject, {"host": host}, now, resolved=True))
        self._began = False
        if found:
            self.notifier.store.write(lambda conn: announce_all(conn, found))


def _unwritable(folder: Path) -> str | None:
    """Why a file cannot be written into a folder; None where it can, or where there is no such folder."""
    if not folder.is_dir():
        return None
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"jobtrail" * 512)
            file.flush()
    except OSError as error:
        return f"{folder}: {error.strerror or error}"
    return None
