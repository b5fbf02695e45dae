"""Retention: removes old jobs, uploads that no job needs and workers of last week; once an hour, in every worker.

It is a background loop of its own, because a first pass over many old jobs takes long and recovery must not wait for it.
"""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from jobtrail.commands import uploads
from jobtrail.commands.history.removal import RETENTION
from jobtrail.store import retention, workers

from .background_loop import BackgroundLoop

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobtrail.config import Settings
    from jobtrail.job.task import Tasks
    from jobtrail.store import Store

    from .background_loop import Health

EVERY = 3600.0  # seconds
FIRST_AFTER = 60.0  # not in the first minute, when all processes start
WORKERS_KEPT = timedelta(days=7)


def policy_of(store: Store, settings: Settings, tasks: Tasks | None) -> retention.Retention:
    """For how long jobs are kept: by the settings, and by what tasks of this and of other programs say."""
    own = tasks.all() if tasks is not None else []
    if own:
        store.write(partial(retention.declare, tasks=own))
    with store.read() as conn:
        return replace(retention.Retention.of(settings), tasks=retention.declared(conn))


class RetentionLoop:
    """Removes what the settings keep no longer, from `start` to `stop`."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        tasks: Tasks | None = None,
        announces: Callable[[str], retention.Before | None] = lambda _cause: None,
    ) -> None:
        """Prepare it.

        Args:
            store: The store.
            settings: The settings, with the days for which ended jobs are kept.
            tasks: The tasks of this program, which may keep their jobs for a time of their own.
            announces: Returns what is to be called before jobs are removed.
        """
        self._store = store
        self._settings = settings
        self._tasks = tasks
        self.announces = announces
        self._due = time.monotonic() + FIRST_AFTER
        self._stopping = threading.Event()
        # A pass may take as long as there is something to remove; that it has not ended is no sign of trouble.
        self._loop = BackgroundLoop("retention", self.run_once, FIRST_AFTER, late_after=float("inf"))

    def start(self) -> None:
        """Begin."""
        self._loop.start()

    def stop(self) -> None:
        """End after the chunk at hand."""
        self._stopping.set()
        self._loop.stop()

    def health(self) -> Health:
        """Its health."""
        return self._loop.health()

    def run_once(self, monotonic: float | None = None) -> bool:
        """A pass, where one is due; False where none is.

        Raises: StoreError while the store is away; the next pass goes on.
        """
        at = time.monotonic() if monotonic is None else monotonic
        if at < self._due:
            return False
        now = self._store.now()
        policy = policy_of(self._store, self._settings, self._tasks)
        before = self.announces(RETENTION)
        retention.run_once(self._store, policy, now, wait=self._stopping.wait, before=before)
        uploads.sweep(self._store, self._settings)
        self._store.write(lambda conn: workers.forget(conn, now - WORKERS_KEPT))
        self._due = at + EVERY
        return True
