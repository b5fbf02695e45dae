"""The scheduler: one turn fires what is due; the rest repeats it beside a worker."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from jobtrail.database.wakeup import SCHEDULES
from jobtrail.recovery.background_loop import Chore

from .leader import TURNS, Leader

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from jobtrail.commands.service import Service
    from jobtrail.recovery.background_loop import Health

    from .clock import Clock
    from .dispatcher import Firing
    from .maintenance import Tending

TEND_EVERY = timedelta(seconds=5)
LOOK_EVERY = 5.0  # seconds at most until what another process has changed is seen
_log = logging.getLogger("jobtrail.schedules")


@dataclass(frozen=True, slots=True)
class Turn:
    """What one turn did. ``wait``: seconds until the next is needed; ``leads``: the tasks for which this process decides."""

    submitted: int
    missed: int
    wait: float
    leads: tuple[str, ...] = ()


class Scheduler:
    """Makes jobs by the clock for the tasks that this process knows; ``own`` tells the worker it lives beside.

    Raises: InvalidOption for settings that cannot work together.
    """

    def __init__(self, service: Service, own: Callable[[], str]) -> None:
        self._service = service
        settings = service.settings
        self._leader = Leader(service.store, settings.scheduler_lease, own)
        self.longest = min(settings.poll_interval, settings.scheduler_lease / TURNS, LOOK_EVERY)
        self._parts: tuple[Clock, Firing, Tending] | None = None
        self._tended_at: datetime | None = None
        self._seen: datetime | None = None
        self._led: set[str] = set()

    def run_once(self, now: datetime | None = None) -> Turn:
        """One turn, at the store's time or at the one handed in.

        Raises: StoreUnavailable; the next turn takes up what this one left.
        """
        from jobtrail.store import schedules

        store = self._service.store
        with store.read() as conn:
            if now is None:
                store.database.sync_clock(conn, every=self.longest)
            there = schedules.overview(conn)
        now = now or store.now()
        if not there:
            return Turn(0, 0, self.longest)
        clock, firing, tending = self._made()
        if self._tend_due(now):
            tending.run_once(sorted(there), now)
            self._tended_at = now
        leads = self._leader.lead([task for task in there if self._service.tasks.find(task) is not None], now)
        self._watch_the_clock(tending, leads, now)
        if not leads:
            return Turn(0, 0, self.longest)
        due, broken, seconds = clock.turn(leads, now)
        for one in broken:
            tending.quarantine(one, now)
        fired = firing.fire(due, now)
        wait = self.longest if seconds is None else min(self.longest, seconds)
        return Turn(fired.submitted, fired.missed, 0.0 if fired.lost else wait, tuple(leads))

    def give_up(self) -> None:
        """Nothing more is fired here; another process may go on at once."""
        self._leader.give_up()

    def _made(self) -> tuple[Clock, Firing, Tending]:
        """What only a program with schedules has to load."""
        if self._parts is None:
            from .clock import Clock
            from .dispatcher import Firing
            from .maintenance import Tending

            service = self._service
            tending = Tending(service.store, service.tasks, service.settings.scheduler_lease)
            self._parts = (Clock(service.store, service.tasks), Firing(service, self._leader), tending)
        return self._parts

    def _tend_due(self, now: datetime) -> bool:
        return self._tended_at is None or not timedelta(0) <= now - self._tended_at < TEND_EVERY

    def _watch_the_clock(self, tending: Tending, leads: list[str], now: datetime) -> None:
        """When this process begins to lead, and when the store's clock has gone back."""
        if set(leads) - self._led or (self._seen is not None and now < self._seen):
            tending.count_anew(leads, now)
        self._seen, self._led = now, set(leads)


class Beside:
    """A scheduler that lives beside a worker: first what is declared is compared with what is stored, then turn follows turn."""

    def __init__(self, scheduler: Scheduler, sync: Callable[[], object], interval: float | None = None) -> None:
        self._scheduler = scheduler
        self._sync: Callable[[], object] | None = sync
        self._chore = Chore("scheduler", self._turn, scheduler.longest if interval is None else interval)

    def start(self) -> None:
        """Begin."""
        self._chore.start()

    def stop(self) -> None:
        """Fire nothing more."""
        self._chore.stop()
        self._scheduler.give_up()

    def listen(self, words: frozenset[str]) -> None:
        """Somebody has changed a schedule."""
        if SCHEDULES in words:
            self._chore.wake()

    def health(self) -> Health:
        """How its turns stand."""
        return self._chore.health()

    def _turn(self) -> None:
        if self._sync is not None:
            self._sync()
            self._sync = None
        self._chore.interval = self._scheduler.run_once().wait
