"""The scheduler: one turn submits the jobs that are due; a loop repeats the turn beside a worker."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from jobtrail.database.wakeup import SCHEDULES
from jobtrail.recovery.background_loop import BackgroundLoop
from jobtrail.store import schedules

from .dispatcher import Dispatcher
from .leader import TURNS, Leader
from .maintenance import Maintenance
from .planner import Planner

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from jobtrail.commands.service import Service
    from jobtrail.recovery.background_loop import Health

MAINTENANCE_EVERY = timedelta(seconds=5)
LONGEST_WAIT = 5.0  # seconds until a change by another process is seen, at most


@dataclass(frozen=True, slots=True)
class SchedulerTurn:
    """What one turn did.

    Args:
        submitted: Number of jobs.
        missed: Number of missed planned times.
        wait: Seconds until the next turn is needed.
        leads: Names of the tasks that this process decides for.

    """

    submitted: int
    missed: int
    wait: float
    leads: tuple[str, ...] = ()


class Scheduler:
    """Submits jobs by the clock, for the tasks that this process knows.

    Args:
        service: The service of the application.
        own: Function that returns the id of this process's worker, which holds the leases.

    Raises:
        InvalidOption: If ``scheduler_lease`` is too short.

    """

    def __init__(self, service: Service, own: Callable[[], str]) -> None:
        self._service = service
        settings = service.settings
        self._leader = Leader(service.store, settings.scheduler_lease, own)
        self._planner = Planner(service.store, service.tasks)
        self._dispatcher = Dispatcher(service, self._leader)
        self._maintenance = Maintenance(service.store, service.tasks, settings.scheduler_lease)
        self.longest = min(settings.poll_interval, settings.scheduler_lease / TURNS, LONGEST_WAIT)
        self._maintained_at: datetime | None = None
        self._last_seen: datetime | None = None
        self._led: set[str] = set()

    def run_once(self, now: datetime | None = None) -> SchedulerTurn:
        """Run one turn.

        Args:
            now: Time of the turn (UTC); default: the time of the store.

        Raises:
            StoreUnavailable: If the database is not reachable; the next turn continues where this one stopped.
        """
        store = self._service.store
        with store.read() as conn:
            if now is None:
                store.database.sync_clock(conn, every=self.longest)
            tasks = schedules.overview(conn)
        now = now or store.now()
        if not tasks:
            return SchedulerTurn(0, 0, self.longest)
        self._maintain(sorted(tasks), now)
        leads = self._leader.lead([task for task in tasks if self._service.tasks.find(task) is not None], now)
        self._check_clock(leads, now)
        return self._dispatch(leads, now) if leads else SchedulerTurn(0, 0, self.longest)

    def _dispatch(self, leads: list[str], now: datetime) -> SchedulerTurn:
        loaded = self._planner.load(leads, now)
        for one in loaded.unreadable:
            self._maintenance.quarantine(one, now)
        done = self._dispatcher.dispatch(loaded.due, now)
        wait = self.longest if loaded.wait is None else min(self.longest, loaded.wait)
        return SchedulerTurn(done.submitted, done.missed, 0.0 if done.lost else wait, tuple(leads))

    def give_up(self) -> None:
        """Release the leases, so that another process may continue at once."""
        self._leader.give_up()

    def _maintain(self, tasks: list[str], now: datetime) -> None:
        last = self._maintained_at
        if last is None or not timedelta(0) <= now - last < MAINTENANCE_EVERY:
            self._maintenance.run_once(tasks, now)
            self._maintained_at = now

    def _check_clock(self, leads: list[str], now: datetime) -> None:
        """Repair intervals when this process begins to lead, and when the store's clock has gone back."""
        if set(leads) - self._led or (self._last_seen is not None and now < self._last_seen):
            self._maintenance.count_anew(leads, now)
        self._last_seen, self._led = now, set(leads)


class SchedulerLoop:
    """Repeats a scheduler's turns beside a worker. The first turn also stores what the program declares."""

    def __init__(self, scheduler: Scheduler, sync: Callable[[], object], interval: float | None = None) -> None:
        self._scheduler = scheduler
        self._sync: Callable[[], object] | None = sync
        self._loop = BackgroundLoop("scheduler", self._turn, scheduler.longest if interval is None else interval)

    def start(self) -> None:
        """Start the thread."""
        self._loop.start()

    def stop(self) -> None:
        """Stop the thread and release the leases."""
        self._loop.stop()
        self._scheduler.give_up()

    def listen(self, words: frozenset[str]) -> None:
        """Run a turn at once when the wake-up says that a schedule has changed."""
        if SCHEDULES in words:
            self._loop.wake()

    def health(self) -> Health:
        """Return the health of the thread."""
        return self._loop.health()

    def _turn(self) -> None:
        if self._sync is not None:
            self._sync()
            self._sync = None
        self._loop.interval = self._scheduler.run_once().wait
