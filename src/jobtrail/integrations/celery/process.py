"""A Celery process in the store: its identity, its beat, and the thread that writes what its tasks report."""

from __future__ import annotations

import logging
import os
import threading
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from jobtrail.commands.service import Service
from jobtrail.errors import SchemaMismatch, StoreError, StoreUnavailable
from jobtrail.job.model import StopCause, new_id
from jobtrail.job.task import TRACKED, Tasks
from jobtrail.recovery import spool
from jobtrail.recovery.background_loop import BackgroundLoop
from jobtrail.recovery.heartbeat import ThreadBeat
from jobtrail.recovery.retention import RetentionLoop
from jobtrail.recovery.upkeep import Upkeep
from jobtrail.runtime.recorder import Flusher, Prior
from jobtrail.store import Store, events, items, runs, workers
from jobtrail.store.tracked import rows

from .buffer import Buffer
from .journal import Journal, left_behind
from .task_run import Reporting, RunBegins, RunEnds, TaskRun
from .writing import BatchWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Connection

    from jobtrail.config import Settings
    from jobtrail.job.model import JobRow
    from jobtrail.runtime.recorder import Recorder

    from .task_run import Report

_log = logging.getLogger("jobtrail.celery")
BATCH = 500  # records in one transaction
GATHER = 0.25  # seconds between two transactions
AWAY = 1.0  # seconds between two tries while the store is away
LOOK = 1.0  # seconds between two looks for jobs that were asked to stop
LAST_WORDS = 5.0  # seconds that an ending process tries to write what is left


class ReportFlusher(Flusher):
    """Writes progress, items and log of runs whose row is written."""

    def __init__(self, store: Store, wanted: threading.Event, of_run: Callable[[Recorder], bool]) -> None:
        super().__init__(store, interval=GATHER)
        self._wanted_by_process = wanted
        self._of_run = of_run

    def add(self, recorder: Recorder) -> None:
        """Take a run that has something to write."""
        super().add(recorder)
        self._wanted_by_process.set()

    def run_once(self) -> int:
        """Write what runs with a row have reported; the others wait."""
        with self._lock:
            ready = {key: one for key, one in self._waiting.items() if self._of_run(one)}
            for key in ready:
                del self._waiting[key]
        if ready:
            self.write(list(ready.values()))
        return len(ready)


class ProcessRecord:
    """One process of Celery that executes tasks, or leads those that do.

    Args:
        url: Address of the store.
        settings: Settings of the store.
        memory: How many records wait in memory while the store is away.
    """

    def __init__(self, url: str, settings: Settings, memory: int) -> None:
        self.pid = os.getpid()
        self.id = new_id()
        self.settings = settings
        self.store = Store(url, pooler=settings.pooler, notify_url=settings.notify_url)
        self.active: dict[str, TaskRun] = {}
        self.buffer = Buffer(memory, Journal(self.store, self.id))
        self.queues: list[str] = []
        self.slots = 1
        self._service = Service(self.store, Tasks(), settings)
        self._beat = ThreadBeat(self.store, settings.beat_interval)
        self._flusher = ReportFlusher(self.store, self.buffer.wanted, self._has_row)
        self.reporting = Reporting(self._flusher, settings.log_limit, self._recall)
        self._rows: set[int] = set()
        self._registered = False
        self._leads = False
        self._loops: list[BackgroundLoop | RetentionLoop] = []
        self._away = False
        self._looked_at = self._compared_at = float("-inf")
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._repeat, name="jobtrail-celery", daemon=True)
        self._thread.start()

    # -- from the signals ----------------------------------------------------------------------------

    def begins(self, run: TaskRun) -> None:
        """Take a run that begins."""
        run.reporting = self.reporting
        self.active[run.celery_id] = run
        if run.recorded:
            self.buffer.put(RunBegins(run))

    def ends(self, end: RunEnds) -> None:
        """Take the end of a run."""
        self.active.pop(end.run.celery_id, None)
        self.buffer.put(end)

    def lead(self, queues: Sequence[str], slots: int, *loops: BackgroundLoop) -> None:
        """This is the process that serves queues: it also looks for dead processes, and removes old jobs.

        Args:
            queues: Names of the queues in Celery.
            slots: How many tasks run at once.
            *loops: What runs beside.
        """
        self.queues, self.slots, self._leads = [f"{TRACKED}{name}"[:200] for name in queues], slots, True
        self._loops += loops
        self.buffer.wanted.set()

    def stop(self) -> None:
        """End in order: write what is left, and say in the row of this process that it has stopped."""
        for loop in self._loops:
            loop.stop()
        self._stopping.set()
        self.buffer.wanted.set()
        self._thread.join(LAST_WORDS)
        self._beat.stop()
        left = len(self.buffer)
        self.buffer.journal.close(keep=bool(left))
        if left:
            _log.error("%d records of Celery tasks wait in the spool, because the store is away", left)
        elif self._registered and not self.active:
            with suppress(StoreError):
                self.store.write(lambda conn: workers.stopped(conn, self.id, self.store.now()))

    # -- the thread ----------------------------------------------------------------------------------

    def _repeat(self) -> None:
        until = float("inf")
        while True:
            if not self._stopping.is_set():
                self.buffer.wanted.wait(AWAY)
            elif until == float("inf"):
                until = time.monotonic() + LAST_WORDS - 0.5
            self.buffer.wanted.clear()
            done = self._turn()
            if self._stopping.is_set() and ((done and not len(self.buffer)) or time.monotonic() > until):
                return
            self._stopping.wait(GATHER if done else AWAY) if not self._stopping.is_set() else time.sleep(GATHER)

    def _turn(self) -> bool:
        """Write what waits; False where the store did not take it."""
        try:
            self._open()
            self._compare()
            while self._write_batch():
                pass
            self._flusher.run_once()
            self._hear_stops()
            self._tell_lost()
        except SchemaMismatch as error:
            self._say_away(error)
            return False
        except StoreError as error:
            self._say_away(error)
            return False
        except Exception:
            _log.exception("recording Celery tasks failed and is repeated")
            return False
        if self._away:
            self._away = False
            _log.warning("the store is back; %d records wait", len(self.buffer))
        return True

    def _say_away(self, error: Exception) -> None:
        if not self._away:
            _log.warning("Celery tasks run on without their record, which catches up: %s", error)
        self._away = True

    def _open(self) -> None:
        if not self._registered:
            self._service.make_ready()
            self._register()
            self._registered = True
        if self._leads and self.queues and not any(isinstance(one, RetentionLoop) for one in self._loops):
            self.store.write(lambda conn: workers.serve(conn, self.id, self.queues, self.slots))
            upkeep = Upkeep(self.store, Tasks(), self.settings, self._beat, lambda: self.id, mine=is_tracked)
            self._loops += [
                BackgroundLoop("upkeep", partial(self._keep_up, upkeep), self.settings.sweep_interval), RetentionLoop(self.store, self.settings),
            ]  # fmt: skip
            for loop in self._loops:
                loop.start()

    def _keep_up(self, upkeep: Upkeep) -> None:
        """Write what dead processes of this host have left, then look after the jobs that they held."""
        for path, worker, reports in left_behind(self.store):
            with spool.held(path) as mine:
                if mine:
                    writer = BatchWriter(self.store, worker)
                    for report in reports:
                        self.store.write(partial(writer.write_left, report=report))
                    path.unlink(missing_ok=True)
        upkeep.run_once()

    def _register(self) -> None:
        self.store.write(
            lambda conn: workers.register(conn, self.store.dialect, self.id, self.queues, self.slots, self.store.now())
        )
        self._beat.start(self.id)

    def _compare(self) -> None:
        """A process that was declared dead, and is not, goes on under a new identity."""
        if time.monotonic() - self._compared_at < self.settings.beat_interval:
            return
        with self.store.read() as conn:
            state = workers.state_of(conn, self.id)
        self._compared_at = time.monotonic()
        if state not in workers.ALIVE:
            _log.error("process %d was declared dead while it was silent; it goes on under a new identity", self.pid)
            self.id = new_id()
            self._register()

    def _write_batch(self) -> bool:
        """Write some records; True where more wait that can be written now."""
        batch = self.buffer.take(BATCH)
        if not batch:
            return False
        writer = BatchWriter(self.store, self.id)
        try:
            waiting = self.store.write(partial(writer.write, batch=batch))
        except StoreUnavailable:
            self.buffer.give_back(batch)
            raise
        except Exception as error:
            _log.warning("writing %d records at once failed, each is written alone: %s", len(batch), error)
            waiting = self._write_each(writer, batch)
        self.buffer.give_back(waiting)
        self._remember(batch)
        self.buffer.written()
        return not waiting and bool(len(self.buffer))

    def _write_each(self, writer: BatchWriter, batch: list[Report]) -> list[Report]:
        waiting: list[Report] = []
        for place, report in enumerate(batch):
            try:
                waiting += self.store.write(partial(writer.write, batch=[report]))
            except StoreUnavailable:
                self.buffer.give_back([*waiting, *batch[place:]])
                raise
            except Exception:
                _log.exception("a record of Celery task %s cannot be stored and is lost", report.run.celery_id)
                report.run.skipped = True
                self.buffer.count_lost()
        return waiting

    def _remember(self, batch: list[Report]) -> None:
        """Which recorders have a row; those of ended runs are forgotten."""
        for report in batch:
            recorder = report.run.recorder
            if isinstance(report, RunEnds) and recorder is not None:
                self._flusher.forget(recorder)

    def _has_row(self, recorder: Recorder) -> bool:
        return any(run.recorder is recorder and run.row is not None for run in list(self.active.values()))

    def _recall(self, job_id: str) -> tuple[Prior, list[tuple[int, int, int, int]]]:
        with self.store.read() as conn:
            found = items.of_ledger(conn, job_id)
            kept_log = runs.log_sizes(conn, job_id)
        return Prior.of(found, job_id, None), kept_log

    def _hear_stops(self) -> None:
        """Tell runs that look (`current_job`) that their job was asked to stop."""
        looking = {
            run.row.job_id: run
            for run in list(self.active.values())
            if run.row is not None and run.recorder is not None
        }
        if not looking or time.monotonic() - self._looked_at < LOOK:
            return
        self._looked_at = time.monotonic()
        with self.store.read() as conn:
            asked = rows.asked_to_stop(conn, self.id)
        for job_id, (run_no, cause) in asked.items():
            run = looking.get(job_id)
            if run is not None and run.row is not None and run.row.run_no == run_no:
                run.stop.cause = cause or StopCause.CANCEL.value

    def _tell_lost(self) -> None:
        lost = self.buffer.take_lost()
        if lost:
            _log.error("%d runs of Celery tasks were not recorded, because the store was away for too long", lost)

            def write(conn: Connection) -> None:
                events.record_action(
                    conn, self.store.dialect, self.store.now(), actor="celery", name="runs_not_recorded",
                    target=self.id, detail={"runs": lost, "pid": self.pid},
                )  # fmt: skip

            try:
                self.store.write(write)
            except StoreError:
                self.buffer.count_lost(lost)
                raise


def is_tracked(row: JobRow) -> bool:
    """Whether Celery executes a job."""
    return row.queue.startswith(TRACKED)
