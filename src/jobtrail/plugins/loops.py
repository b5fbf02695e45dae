"""The loops of plug-ins beside a worker: a thread for each, and one that holds the leases of those with a leader."""

from __future__ import annotations

import time
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from jobtrail.database import leases
from jobtrail.recovery.background_loop import BackgroundLoop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.recovery.background_loop import Health
    from jobtrail.store import Store
    from jobtrail.worker.session import Companion
    from jobtrail.worker.worker import Worker

    from .parts import PluginLoop

TURNS = 3  # of the keeper within one lease
STOP_SECONDS = 5.0  # for all loops of a worker together
LATE_AFTER = 60.0  # seconds at least


class LoopRunner:
    """Repeats a loop of a plug-in beside a worker; with a leader, only while this worker holds the lease."""

    def __init__(self, jobs: Any, plugin: str, part: PluginLoop, keeper: LeaseKeeper) -> None:
        self.name = f"{plugin}.{part.name}"
        self.lease = f"plugin:{plugin}:{part.name}" if part.leader else None
        self._jobs = jobs
        self._part = part
        self._keeper = keeper
        late_after = max(LATE_AFTER, 3 * part.every)
        self.loop = BackgroundLoop(self.name, self._turn, part.every, late_after=late_after)

    def _turn(self) -> None:
        if self.lease is None or self._keeper.holds(self.lease):
            self._part.function(self._jobs)

    def start(self) -> None:
        """Start the thread."""
        self.loop.start()

    def stop(self) -> None:
        """Stop the thread; the keeper of the leases has asked all of them before."""
        self._keeper.stop_loops()

    def listen(self, words: frozenset[str]) -> None:
        """Take no words."""

    def health(self) -> Health:
        """Return the health of the thread."""
        return self.loop.health()


class LeaseKeeper:
    """Takes and renews the leases of loops in a thread of its own, so that a long turn does not lose its lease.

    Args:
        store: The store that has the leases.
        lifetime: Seconds until a lease expires without a renewal.
        own: Function that returns the id of this process's worker.
    """

    def __init__(self, store: Store, lifetime: float, own: Callable[[], str]) -> None:
        self._store = store
        self._lifetime = lifetime
        self._own = own
        self._tokens: dict[str, int] = {}
        self._holder = ""
        self._until = float("-inf")
        self._runners: Sequence[LoopRunner] = ()
        self._loop = BackgroundLoop("plug-in leases", self.run_once, lifetime / TURNS)

    def keep_for(self, runners: Sequence[LoopRunner]) -> None:
        """Say for which loops leases are held."""
        self._runners = runners

    def holds(self, lease: str) -> bool:
        """Return whether this process holds the lease now."""
        return lease in self._tokens and time.monotonic() < self._until and self._holder == self._own()

    def run_once(self) -> None:
        """Take or renew the leases that are free, and wake the loops that may run from now on."""
        names = sorted(one.lease for one in self._runners if one.lease is not None)
        if not names:
            return
        begun, now, holder = time.monotonic(), self._store.now(), self._own()
        with self._store.read() as conn:
            able = leases.free(conn, names, holder, now)
        taken = self._store.write(partial(self._take, able, holder, now)) if able else {}
        gained = taken.keys() - (self._tokens.keys() if holder == self._holder else set())
        self._tokens, self._holder, self._until = taken, holder, begun + self._lifetime
        for one in self._runners:
            if one.lease in gained:
                one.loop.wake()

    def _take(self, names: Iterable[str], holder: str, now: datetime, conn: Connection) -> dict[str, int]:
        until = now + timedelta(seconds=self._lifetime)
        return leases.take(conn, self._store.dialect, sorted(names), holder, now, until)

    def start(self) -> None:
        """Start the thread."""
        self._loop.start()

    def stop_loops(self) -> None:
        """Ask all loops to end after their turn, and wait for them."""
        end = time.monotonic() + STOP_SECONDS
        for one in self._runners:
            one.loop.stop(0)
        for one in self._runners:
            one.loop.stop(max(end - time.monotonic(), 0))

    def stop(self) -> None:
        """Stop the thread and release the leases, but for those whose loops are still in a turn: they expire."""
        self._loop.stop()
        idle = {one.lease for one in self._runners if one.loop.ended}
        tokens = {name: token for name, token in self._tokens.items() if name in idle}
        self._tokens = {}
        if tokens:
            self._store.write(lambda conn: leases.give_up(conn, tokens))

    def listen(self, words: frozenset[str]) -> None:
        """Take no words."""

    def health(self) -> Health | None:
        """Return the health of the thread; None if no loop has a leader."""
        return self._loop.health() if any(one.lease is not None for one in self._runners) else None


def accompany(worker: Worker, jobs: Any, loops: Iterable[tuple[str, PluginLoop]]) -> Worker:
    """Run the loops of plug-ins beside a worker, as long as the worker runs.

    Args:
        worker: The worker; one of a test, which has no session, gets none.
        jobs: The application, which each turn receives.
        loops: Pairs of plug-in and loop.
    """
    session = worker.session
    if session is None:
        return worker
    keeper = LeaseKeeper(worker.store, worker.settings.scheduler_lease, lambda: session.id)
    runners = [LoopRunner(jobs, plugin, part, keeper) for plugin, part in loops]
    if runners:
        keeper.keep_for(runners)
        companions: tuple[Companion, ...] = (*runners, keeper)
        for companion in companions:  # the keeper stops last: its leases are given up when no turn runs
            session.accompany(companion)
    return worker
