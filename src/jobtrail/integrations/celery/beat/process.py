"""One process of ``celery beat`` in the store: its identity and beat, the scheduler's turns, and the relay that sends."""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from jobtrail.commands.service import Service
from jobtrail.errors import StoreError
from jobtrail.integrations.celery.process import is_tracked
from jobtrail.integrations.celery.relay import Relay, app_name
from jobtrail.job.model import new_id
from jobtrail.job.task import Tasks
from jobtrail.recovery.background_loop import BackgroundLoop
from jobtrail.recovery.heartbeat import ThreadBeat
from jobtrail.recovery.retention import RetentionLoop
from jobtrail.recovery.upkeep import Upkeep
from jobtrail.schedules.celery_task import celery_name, celery_task
from jobtrail.schedules.scheduler import Scheduler
from jobtrail.schedules.sync import sync
from jobtrail.store import Store, workers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from celery import Celery
    from sqlalchemy import Connection

    from jobtrail.config import Settings
    from jobtrail.schedules.sync import DeclaredSchedule

SEND_EVERY = 1.0  # seconds between two looks for jobs to be sent; after a planned time there is one at once
_log = logging.getLogger("jobtrail.celery")


class BeatProcess:
    """Creates the jobs of declared schedules and sends them, beside any number of other beats.

    Args:
        app: The Celery application.
        url: Address of the store.
        settings: Settings of the store.
        declared: The schedules of ``beat_schedule``.

    Raises:
        InvalidOption: If ``scheduler_lease`` is too short.
    """

    def __init__(self, app: Celery, url: str, settings: Settings, declared: Iterable[DeclaredSchedule]) -> None:
        self.id = new_id()
        self._settings = settings
        self._declared = list(declared)
        self._store = Store(url, pooler=settings.pooler, notify_url=settings.notify_url)
        names = {one.task for one in self._declared} | {celery_name(app_name(app), name) for name in app.tasks}
        tasks = Tasks()
        for name in sorted(names):
            tasks.add(celery_task(name))
        self._service = Service(self._store, tasks, settings)
        self._beat = ThreadBeat(self._store, settings.beat_interval)
        self._scheduler = Scheduler(self._service, lambda: self.id)
        self._relay = Relay(app, self._store, lambda: self.id)
        upkeep = Upkeep(self._store, Tasks(), settings, self._beat, lambda: self.id, mine=is_tracked)
        self._turns = BackgroundLoop("scheduler", self._turn, self._scheduler.longest)
        self._sending = BackgroundLoop("celery-relay", self._relay.run_once, SEND_EVERY)
        self._upkeep = BackgroundLoop("upkeep", upkeep.run_once, settings.sweep_interval)
        self._retention = RetentionLoop(self._store, settings)
        self._registered = self._synced = False
        self._compared_at = float("-inf")

    def start(self) -> None:
        """Start the loops; the first turn writes what is declared."""
        self._turns.start()

    def stop(self) -> None:
        """End in order: send what is due, release the leases, and say in the row of this process that it has stopped."""
        self._turns.stop()
        if not self._registered:
            return
        for loop in (self._sending, self._upkeep, self._retention):
            loop.stop()
        with suppress(StoreError):
            self._scheduler.give_up()
            self._relay.run_once()
        self._relay.close()
        self._beat.stop()
        with suppress(StoreError):
            self._store.write(lambda conn: workers.stopped(conn, self.id, self._store.now()))

    def _turn(self) -> None:
        if not self._registered:
            self._service.make_ready()
            self._store.write(self._register)
            self._beat.start(self.id)
            self._registered = True
            self._sending.start()
            self._upkeep.start()
            self._retention.start()
        if not self._synced:
            sync(self._store, self._declared, lambda name: self._service.tasks.find(name) is not None, self._store.now())
            self._synced = True
        self._compare()
        turn = self._scheduler.run_once()
        if turn.submitted:
            self._sending.wake()
        self._turns.interval = turn.wait

    def _register(self, conn: Connection) -> None:
        workers.register(conn, self._store.dialect, self.id, [], 0, self._store.now())

    def _compare(self) -> None:
        """A process that was declared dead, and is not, goes on under a new identity."""
        if time.monotonic() - self._compared_at < self._settings.beat_interval:
            return
        with self._store.read() as conn:
            state = workers.state_of(conn, self.id)
        self._compared_at = time.monotonic()
        if state not in workers.ALIVE:
            _log.error("this beat was declared dead while it was silent; it goes on under a new identity")
            self.id = new_id()
            self._store.write(partial(BeatProcess._register, self))
            self._beat.start(self.id)
