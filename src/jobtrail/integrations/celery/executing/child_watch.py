"""Ends children of a prefork pool that cannot end themselves: they hold the interpreter's lock, or were stopped.

A child in such a state beats no more and hears no stop. Its main process, which can prove that it is its own child, kills it:
when its job was asked to stop and did not, and when it was declared dead while its process lives, so that no body goes on
beside the run that follows it.
"""

from __future__ import annotations

import logging
import os
import signal
from datetime import timedelta
from typing import TYPE_CHECKING

from jobtrail.job.transitions import STOP_WITHIN
from jobtrail.recovery.background_loop import BackgroundLoop
from jobtrail.store import workers
from jobtrail.store.workers import boot_id, pid_namespace, process_start

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from jobtrail.config import Settings
    from jobtrail.store import Store

EVERY = 1.0  # seconds between two looks
PATIENCE = 3.0  # seconds beside `cancel_timeout` in which the child interrupts its body, or kills itself
_log = logging.getLogger("jobtrail.celery")


class ChildWatch:
    """Looks after the children of one pool, in its main process.

    Args:
        store: The store.
        settings: ``cancel_timeout``, in seconds, is used.
        children: Gives the process ids of the pool's children.
    """

    def __init__(self, store: Store, settings: Settings, children: Callable[[], Iterable[int]]) -> None:
        self._store = store
        self._patience = settings.cancel_timeout + PATIENCE
        self._children = children
        self._loop = BackgroundLoop("celery-children", self.run_once, EVERY)

    def start(self) -> None:
        """Start the thread."""
        self._loop.start()

    def stop(self) -> None:
        """End the thread."""
        self._loop.stop()

    def run_once(self) -> list[int]:
        """Kill the children that are to be killed now; returns their process ids.

        Raises:
            StoreError: If the store is away.
        """
        own = {pid: process_start(pid) for pid in self._children()}
        if not own:
            return []
        asked_before = self._store.now() + timedelta(seconds=STOP_WITHIN - self._patience)
        with self._store.read() as conn:
            found = workers.stuck_on_host(conn, boot_id(), pid_namespace(), sorted(own), asked_before)
        killed = [pid for pid, started in found if own.get(pid) is not None and own[pid] == started]
        for pid in killed:
            _log.error("the child process %d does not end its job by itself and is killed", pid)
            os.kill(pid, signal.SIGKILL)
        return killed
