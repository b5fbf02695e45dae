"""The beats of this process: collected, and written for all modules at once, twice a second.

A beat of a module that is not known to be ok is written at once, so that it comes back without a delay. A collected beat
that cannot be written is kept; until that succeeds, whoever beats is told.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jobtrail.fork_lock import ForkLock

from . import rules
from .rules import ERROR, OK, ModuleBeat, StatusChange, WatchedModule, due_times
from .samples import CollectedBeats, HourSums, add_to_hour, write_collected, write_samples
from .store import ModuleStore, Registration

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.store import Store

EVERY = 0.5  # seconds
IDLE = 60  # turns without a beat after which the thread ends
_log = logging.getLogger("jobtrail.office")
_all: weakref.WeakSet[ModuleBeats] = weakref.WeakSet()


@dataclass(frozen=True, slots=True)
class BeatAnswer:
    """What became of a beat: the status of its module, whether it is stored already, and by how many seconds it was ahead."""

    module: str
    status: str
    stored: bool
    ahead: float = 0.0
    turned_to_error: bool = False


class ModuleBeats:
    """Collects the beats of one application in this process.

    Args:
        store: The store.
        modules: Writes modules.
        register: Called with the name of a module that is not there: how it is registered. It raises if it may not be.
        background: Write twice a second in a thread of its own.
    """

    def __init__(
        self, store: Store, modules: ModuleStore, register: Callable[[str], Registration], *, background: bool = True
    ) -> None:
        self._store, self._modules, self._register = store, modules, register
        self._background = background
        self._reset()
        _all.add(self)

    def _reset(self) -> None:
        self._lock = ForkLock()
        self._writing = ForkLock()
        self._known: dict[str, WatchedModule] = {}
        self._pending: dict[str, CollectedBeats] = {}
        self._failed: Exception | None = None
        self._thread: threading.Thread | None = None
        self._pid = os.getpid()

    # -- for those that beat -------------------------------------------------------------------------------

    def beat(self, name: str, beat: ModuleBeat, *, now: datetime | None = None, wait: bool = False) -> BeatAnswer:
        """Take a beat.

        Args:
            name: Name of the module.
            beat: The beat.
            now: Time of the store, if the caller has asked for it.
            wait: Write it before returning.

        Raises:
            StoreUnavailable: If the beats cannot be stored now. This one is kept and written later, if it was not the first
                of its module here.
            UsageError: If the module may not be registered.
        """
        if self._pid != os.getpid():
            self._reset()  # the beats of a parent are the parent's
        at = now or self._store.now()
        moment, ahead = rules.counted(beat.at, at)
        with self._lock:
            known = self._known.get(name)
            collects = known is not None and not wait and beat.status in {None, OK}
            if known is not None and collects:
                self._collect(known, beat, moment, ahead)
            failed = self._failed
        if not collects:
            done = self._write_now(name, beat, at)
            turned = done.is_change and done.module.status is ERROR
            return BeatAnswer(name, done.module.status.value, True, ahead, turned)
        self._start()
        if failed is not None:
            raise failed
        return BeatAnswer(name, OK.value, False, ahead)

    def _collect(self, module: WatchedModule, beat: ModuleBeat, moment: datetime, ahead: float) -> None:
        pending = self._pending.get(module.name)
        if pending is None:
            pending = self._pending[module.name] = CollectedBeats(module, 0, moment)
        pending.add(beat, moment, ahead)

    def _write_now(self, name: str, beat: ModuleBeat, now: datetime) -> StatusChange:
        hours: dict[datetime, HourSums] = {}
        add_to_hour(hours, rules.counted(beat.at, now)[0], beat.numbers)

        def write(conn: Connection) -> StatusChange:
            done = self._modules.beat(conn, name, beat, now, lambda: self._register(name))
            write_samples(conn, self._store.dialect, [(name, hours)])
            return done

        done = self._store.write(write, key=name)
        self._remember([done.module])
        return done

    def forget(self, names: list[str]) -> None:
        """No longer take it for granted that these are ok, so that their next beat is written at once."""
        with self._lock:
            for name in names:
                self._known.pop(name, None)

    def _remember(self, modules: list[WatchedModule]) -> None:
        with self._lock:
            for module in modules:
                if module.status is OK and module.reported is None:
                    self._known[module.name] = module
                else:
                    self._known.pop(module.name, None)

    # -- the turn ------------------------------------------------------------------------------------------

    def flush(self) -> int:
        """Write what is collected, in one transaction.

        Returns:
            The number of modules that had beats.

        Raises:
            StoreError: If it cannot be written; it is kept.
        """
        with self._writing:
            with self._lock:
                batch, self._pending = self._pending, {}
            if not batch:
                return 0
            try:
                changed = self._store.write(lambda conn: self._write(conn, batch))
            except Exception as error:
                self._keep(batch, error)
                raise
            with self._lock:
                self._failed = None
            self.forget([name for name, module in changed.items() if module is None])
            self._remember([module for module in changed.values() if module is not None])
            return len(batch)

    def _keep(self, batch: dict[str, CollectedBeats], error: Exception) -> None:
        with self._lock:
            self._failed = error
            for name, pending in self._pending.items():
                if name in batch:
                    batch[name].merge(pending)
                else:
                    batch[name] = pending
            self._pending = batch

    def _write(self, conn: Connection, batch: dict[str, CollectedBeats]) -> dict[str, WatchedModule | None]:
        """Write a batch; returns the modules that were not as they were known, None for those that may not be registered."""
        rows = []
        for name in sorted(batch):
            one = batch[name]
            times = due_times(replace(one.module, last_activity=one.last_at))
            rows.append((one, times.warn_at, times.error_at))
        written = write_collected(conn, self._store.dialect, rows)
        changed: dict[str, WatchedModule | None] = {}
        for name in sorted(batch.keys() - written):
            try:
                changed[name] = self._one_by_one(conn, batch[name])
            except rules.UnknownModule as error:
                _log.warning("%s", error)
                changed[name] = None
        kept = [(name, one.hours) for name, one in batch.items() if changed.get(name, one) is not None]
        write_samples(conn, self._store.dialect, kept)
        return changed

    def _one_by_one(self, conn: Connection, one: CollectedBeats) -> WatchedModule:
        """Write collected beats of a module that is no longer as it was known: it may have to recover by them."""
        now = self._store.now()
        name, beat = one.module.name, ModuleBeat(one.last_at, None, one.message, one.numbers)
        times = min(one.count, one.module.limits.recovery_beats)
        done = self._modules.beat(conn, name, beat, now, lambda: self._register(name), beats=one.count - times + 1)
        for _ in range(times - 1):
            done = self._modules.beat(conn, name, beat, now, lambda: self._register(name))
        return done.module

    # -- the thread ----------------------------------------------------------------------------------------

    def _start(self) -> None:
        if not self._background or self._thread is not None:
            return
        with self._lock:
            if self._thread is None:
                self._stopping = threading.Event()
                self._thread = threading.Thread(target=self._run, name="jobtrail-office-beats", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        idle = 0
        while not self._stopping.wait(EVERY):
            wrote = True
            with contextlib.suppress(Exception):  # kept, and told to whoever beats
                wrote = self.flush() > 0
            idle = 0 if wrote else idle + 1
            with self._lock:
                if idle >= IDLE and not self._pending:
                    self._thread = None
                    return

    def close(self) -> None:
        """End the thread and write what is left."""
        thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            self._stopping.set()
            thread.join(5)
        self.flush()


@atexit.register
def _write_what_is_left() -> None:
    for one in list(_all):
        with contextlib.suppress(Exception):
            one.close()
