"""The leader: which tasks' schedules this process decides about, by one lease for each task."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from jobtrail.database import leases
from jobtrail.errors import InvalidOption
from jobtrail.messages import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.store import Store

PREFIX = "schedules:"
SHORTEST_LEASE = 1.0  # seconds; a shorter lease could expire between two turns of a busy machine
TURNS = 3  # within one lease


class Leader:
    """Takes and renews leases, one for each task.

    With one lease for all tasks, a program that lacks a task could keep the programs that have it from running its
    schedules. So each program on one database leads for the tasks it knows.

    Args:
        store: The store that has the leases.
        lifetime: Seconds until a lease expires without a renewal.
        own: Function that returns the id of this process's worker.

    Raises:
        InvalidOption: If the lease could expire between two turns.

    """

    def __init__(self, store: Store, lifetime: float, own: Callable[[], str]) -> None:
        if lifetime < SHORTEST_LEASE:
            raise InvalidOption(Message("schedules.lease-too-short", value=lifetime))
        self._store = store
        self._lifetime = timedelta(seconds=lifetime)
        self._own = own
        self._holder = ""
        self._tokens: dict[str, int] = {}
        self._taken_at: datetime | None = None

    def lead(self, tasks: Iterable[str], now: datetime) -> list[str]:
        """Take or renew what is free. Return the tasks that this process leads for now."""
        names = {PREFIX + task for task in tasks}
        if self._holder != self._own():
            self._holder, self._tokens = self._own(), {}
        if names - self._tokens.keys() or self._renewal_due(now):
            self._take(names, now)
        return sorted(name.removeprefix(PREFIX) for name in names & self._tokens.keys())

    def tokens(self, tasks: Iterable[str]) -> dict[str, int]:
        """Return the lease tokens that a write for these tasks must compare."""
        return {PREFIX + task: self._tokens[PREFIX + task] for task in tasks}

    def lost(self) -> None:
        """Forget all leases: another process leads."""
        self._tokens = {}

    def give_up(self) -> None:
        """Release all leases, so that another process can continue at once."""
        tokens, self._tokens = self._tokens, {}
        if tokens:
            self._store.write(lambda conn: leases.give_up(conn, tokens))

    def _renewal_due(self, now: datetime) -> bool:
        if not self._tokens or self._taken_at is None:
            return False
        return not timedelta(0) <= now - self._taken_at < self._lifetime / TURNS

    def _take(self, names: set[str], now: datetime) -> None:
        with self._store.read() as conn:
            able = leases.free(conn, sorted(names), self._holder, now)
        taken = self._store.write(partial(self._write, able, now)) if able else {}
        self._tokens = taken
        self._taken_at = now

    def _write(self, names: set[str], now: datetime, conn: Connection) -> dict[str, int]:
        return leases.take(conn, self._store.dialect, sorted(names), self._holder, now, now + self._lifetime)
