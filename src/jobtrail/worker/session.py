"""A worker's session: its identity in the store, its beat, its background loops, and the comparison with the store."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import logging
import sys
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from jobtrail.database.wakeup import DEAD, RELEASE
from jobtrail.errors import InvalidOption, StoreError
from jobtrail.executors import process_state
from jobtrail.job import transitions
from jobtrail.job.model import Status, StopCause, new_id
from jobtrail.job.transitions import Subject
from jobtrail.messages import Message
from jobtrail.recovery.background_loop import BackgroundLoop
from jobtrail.recovery.end_writer import replay
from jobtrail.recovery.heartbeat import ChildBeat, ThreadBeat
from jobtrail.recovery.retention import RetentionLoop
from jobtrail.recovery.upkeep import Upkeep, release
from jobtrail.recovery.worker_condition import Condition
from jobtrail.store import jobs, workers
from jobtrail.store.totals import folding

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

    from jobtrail.config import Settings
    from jobtrail.job.task import Tasks
    from jobtrail.recovery.background_loop import Health
    from jobtrail.recovery.heartbeat import Beat
    from jobtrail.store import Store

_log = logging.getLogger("jobtrail.worker")
M_MMAP_THRESHOLD = -3  # glibc: malloc.h
LARGE_BLOCK = 1 << 20  # bytes
JOIN_TOTALS_EVERY = 15.0  # seconds


@dataclass(frozen=True, slots=True)
class Difference:
    """Where the store and the worker differ.

    ``overtaken`` are jobs held here that the store has given away; ``renewed`` means that the worker had been declared
    dead and goes on under a new identity.
    """

    overtaken: tuple[str, ...] = ()
    renewed: bool = False


class Companion(Protocol):
    """What runs beside a worker: a loop of its own, such as the scheduler's."""

    def start(self) -> None:
        """Begin."""

    def stop(self) -> None:
        """Take on nothing more, and end within seconds."""

    def listen(self, words: frozenset[str]) -> None:
        """Take a word that was sent after a commit, here or in another process; must return at once."""

    def health(self) -> Health | None:
        """Its health."""


class WorkerSession:
    """One worker's session, from `begin` to `end`, under one identity after the other.

    Args:
        store, tasks, settings: the application's.
        queues: the queues that the worker serves.
        slots: how many jobs it runs at once.
        beat: "thread" or "child".
        leads: whether it looks after lost jobs, and removes old ones.
        executor: the executor whose jobs it runs, where they come by tickets.

    """

    def __init__(
        self, store: Store, tasks: Tasks, settings: Settings, *, queues: Sequence[str], slots: int, beat: str = "thread",
        leads: bool = True, executor: str | None = None,
    ) -> None:  # fmt: skip
        self.id = new_id()
        self._store = store
        self._settings = settings
        self._queues = queues
        self._tasks = tasks
        self._slots = slots
        self._leads = leads
        self._executor = executor
        self._suspected: set[tuple[str, int]] = set()
        self._compared_at = float("-inf")
        self._beat = _beat(beat, store, settings)
        self._upkeep = Upkeep(store, tasks, settings, self._beat, lambda: self.id)
        self._upkeep_loop = BackgroundLoop("upkeep", self._upkeep.run_once, settings.sweep_interval)
        self.retention = RetentionLoop(store, settings, tasks)
        self._leaving = threading.Event()
        self._totals = BackgroundLoop("totals", self._join_totals, JOIN_TOTALS_EVERY)
        self._releases = BackgroundLoop("releases", self._release, settings.sweep_interval)
        self._companions: list[Companion] = []
        self.condition = Condition(store.now)

    def accompany(self, companion: Companion) -> None:
        """Start something of the application with this session, and stop it when the worker takes on nothing more."""
        self._companions.append(companion)

    # -- begin and end -------------------------------------------------------------------------------

    def begin(self) -> None:
        """Register, beat, and recover what dead workers left. Blocking."""
        self._register()
        self._beat.start(self.id)
        self._store.wake.subscribe(self._on_word)
        if self._leads:
            self._look_at_once()
            self._upkeep_loop.start()
            self.retention.start()
            self._totals.start()
            self._releases.start()
        for companion in self._companions:
            companion.start()

    def _join_totals(self) -> None:
        folding.run_once(self._store, self._store.now(), wait=self._leaving.wait)

    def _release(self) -> None:
        release(self._store, wait=self._leaving.wait)

    def _look_at_once(self) -> None:
        """Recover at once what a predecessor on this host left; where that fails, the background loop repeats it."""
        try:
            replay(self._store, self.id)
            self._upkeep.run_once()
        except StoreError:
            pass
        except Exception:
            _log.exception("the first turn of upkeep failed and is repeated")

    def stopping(self) -> None:
        """The worker claims nothing more: stop the background loops, and say so in its row."""
        for companion in self._companions:
            with contextlib.suppress(StoreError):
                companion.stop()
        self._upkeep_loop.stop()
        self.retention.stop()
        self._leaving.set()
        self._totals.stop()
        self._releases.stop()
        with contextlib.suppress(StoreError):
            self._store.write(lambda conn: workers.set_state(conn, self.id, "stopping"))

    def end(self, *, living: set[str]) -> None:
        """End the session in order. Blocking.

        Args:
            living: jobs whose bodies still run and cannot be stopped. With any, the worker's state is "leaving": it
                beats as long as the process lives, so that none of them is started a second time beside the first;
                when the process is gone, upkeep hands them back.

        Raises:
            StoreError: if the store is away.

        """
        self._store.wake.unsubscribe(self._on_word)
        self._hand_back_rest(living)
        if living:
            self._store.write(lambda conn: workers.set_state(conn, self.id, "leaving"))
            return
        self._beat.stop()
        self._store.write(lambda conn: workers.stopped(conn, self.id, self._store.now()))

    def _register(self) -> None:
        self._store.write(
            lambda conn: workers.register(
                conn, self._store.dialect, self.id, self._queues, self._slots, self._store.now(), executor=self._executor,
                tasks=self._tasks.names(),
            )
        )  # fmt: skip

    def _on_word(self, words: frozenset[str]) -> None:
        if DEAD in words:
            self._upkeep_loop.wake()
        if RELEASE in words:
            self._releases.wake()
        for companion in self._companions:
            companion.listen(words)

    def listen(self, words: frozenset[str]) -> None:
        """Take a word of another process."""
        self._on_word(words)

    # -- while it lives ------------------------------------------------------------------------------

    def tick(self, running: Sequence[str], children: Sequence[int]) -> None:
        """The event loop turns."""
        self._beat.tick(running, children, self.condition.detail(self.health()))

    def health(self) -> list[Health]:
        """The health of the background loops of this session."""
        loops = (self._beat, self._upkeep_loop, self.retention, self._totals, self._releases) if self._leads else (self._beat,)
        own = [*(one.health() for one in loops), *(companion.health() for companion in self._companions)]
        return [one for one in own if one is not None]

    def comparison_due(self) -> bool:
        """At every beat."""
        now = time.monotonic()
        if now - self._compared_at < self._settings.beat_interval:
            return False
        self._compared_at = now
        return True

    def compare(self, running: Mapping[str, int], ended: set[str]) -> Difference:
        """Compare the runs that are held here with those that the store has for this worker. Blocking.

        A run that is unknown here at two comparisons in a row is handed back, uncharged.

        Args:
            running: the number of the run by job id.
            ended: jobs whose ends wait to be written.

        """
        with self._store.read() as conn:
            state = workers.state_of(conn, self.id)
            held = set(jobs.held_by(conn, self.id))
        if state not in workers.ALIVE:
            self._renew()
            return Difference(tuple(running), renewed=True)
        overtaken = tuple(job for job, run_no in running.items() if (job, run_no) not in held and job not in ended)
        unknown = {(job, run_no) for job, run_no in held if job not in running and job not in ended}
        for job, run_no in unknown & self._suspected:
            self._hand_back(job, run_no, Message("worker.claim-lost").stored)
        self._suspected = unknown
        return Difference(overtaken)

    def _renew(self) -> None:
        _log.error("worker %s was declared dead while it was away; it goes on under a new identity", self.id)
        self.id = new_id()
        self._suspected = set()
        self._register()
        self._beat.start(self.id)

    def _hand_back_rest(self, living: set[str]) -> None:
        """Claims whose answer never came."""
        with self._store.read() as conn:
            held = jobs.held_by(conn, self.id)
        for job, run_no in held:
            if job not in living:
                self._hand_back(job, run_no, Message("worker.shutdown").stored)

    def _hand_back(self, job_id: str, run_no: int, reason: str) -> None:
        def operation(conn: Connection) -> None:
            row = jobs.get(conn, job_id, lock=True)
            if row is None or row.run_no != run_no or row.status not in {Status.RUNNING, Status.CANCELLING}:
                return
            now = self._store.now()
            if row.status is Status.RUNNING:
                move = transitions.handed_back(Subject.of(row), now, reason=reason, actor=transitions.UPKEEP)
            elif row.stop_cause == StopCause.CANCEL:
                move = transitions.stopped_by_cancel(Subject.of(row), now, note=reason)
            else:
                return
            jobs.apply(conn, self._store.dialect, [move], now)
            self._store.wake.need()

        self._store.write(operation, key=job_id)


def _beat(kind: str, store: Store, settings: Settings) -> Beat:
    if kind == "child":
        return ChildBeat(store, settings.beat_interval, end_blocked=settings.end_blocked)
    if kind == "thread":
        return ThreadBeat(store, settings.beat_interval)
    raise InvalidOption(Message("worker.bad-beat", kind=repr(kind)))


def own_process() -> None:
    """Set up a process that only works, once its application is loaded.

    The threads of store and loop switch more often than every 5 ms. The garbage collector no longer goes through what was
    imported. What bodies change of the process is set back. Large blocks of memory are given back to the system when they
    are freed: glibc would raise its limit for them with the first one, and keep the later ones.
    """
    sys.setswitchinterval(0.001)
    process_state.own_process()
    _give_large_blocks_back()
    gc.collect()
    gc.freeze()


def _give_large_blocks_back() -> None:
    with contextlib.suppress(Exception):  # there is no glibc
        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK)
