"""Upkeep: finds the jobs that no worker looks after any more and recovers them; part of every worker, never a job.

A test may call one turn by hand. Every write is a guarded move, so any number of upkeeps may run at once, and one that
was paused in the middle changes nothing that has changed meanwhile.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from json import loads
from typing import TYPE_CHECKING, Any

from jobtrail.commands import answers
from jobtrail.database.wakeup import DEAD, SUSPECT
from jobtrail.errors import StoreUnavailable
from jobtrail.job import transitions, worker_loss
from jobtrail.job.failure import describe
from jobtrail.job.transitions import Subject
from jobtrail.job.worker_loss import Lost
from jobtrail.messages import Message
from jobtrail.store import jobs, successors, workers
from jobtrail.store.workers import boot_id, pid_namespace, process_start

from .end_writer import replay, write_group
from .liveness import DeathVerdict, HostIdentity, LifeSign, Liveness
from .overdue import Overdue
from .relay import LeftBehind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.config import Settings
    from jobtrail.job.model import JobRow
    from jobtrail.job.task import Tasks
    from jobtrail.job.transitions import Move
    from jobtrail.store import Store

    from .heartbeat import Beat

PAGE = 200
REST = 0.005  # seconds between two chunks of successors, in which others write
_log = logging.getLogger("jobtrail.upkeep")


def release(store: Store, *, wait: Callable[[float], Any] = time.sleep) -> int:
    """Let the successors come that ends have left for later, because they are many, a chunk in each transaction; what a worker leaves in the middle, the next one continues.

    Args:
        store: The store.
        wait: Called between two transactions with the seconds of a rest; True ends the call.

    Returns:
        How many transactions it took.
    """

    def write(conn: Connection) -> bool:
        return successors.release(conn, store.dialect, store.now(), store.wake.need)

    chunks = 0
    with store.read() as conn:
        some = successors.are_left_to_release(conn)
    while some and store.write_beside(write):
        chunks += 1
        if wait(REST):
            break
    return chunks


@dataclass(frozen=True, slots=True)
class Swept:
    """What one turn did."""

    dead: int = 0
    recovered: int = 0
    held: int = 0
    forced: int = 0
    freed: int = 0
    skipped: int = 0
    expired: int = 0
    overdue: int = 0

    def __bool__(self) -> bool:
        """Whether it did anything."""
        return any((self.dead, self.recovered, self.forced, self.freed, self.skipped, self.expired, self.overdue))


@dataclass(frozen=True, slots=True)
class Recovery:
    """The moves for one job that no worker looks after any more."""

    job_id: str
    moves: list[Move]


class Upkeep:
    """The upkeep of one store, as one worker does it.

    Args:
        store: the store.
        tasks: the tasks known here; their ``on_interrupt`` and retry policy decide about lost jobs.
        settings: ``silent_after``, ``sweep_interval`` and ``beat_interval``, in seconds, are used.
        beat: the beat of this worker; without one written lately it cannot judge others.
        own: gives the id of this worker.
        mine: which lost jobs it may decide about; all of them by default. A process that knows no task of jobtrail must
            not decide about jobs of other programs.

    """

    def __init__(
        self, store: Store, tasks: Tasks, settings: Settings, beat: Beat, own: Callable[[], str],
        mine: Callable[[JobRow], bool] | None = None,
    ) -> None:  # fmt: skip
        self._store = store
        self._tasks = tasks
        self._settings = settings
        self._beat = beat
        self._own = own
        self._mine = mine
        self._liveness = Liveness(
            settings.silent_after,
            HostIdentity(boot_id(), pid_namespace()),
            process_start,
            longest_gap=max(settings.silent_after / 2, 2 * settings.sweep_interval),
        )
        self._overdue = Overdue(store)
        self._left_behind = LeftBehind(store, tasks, settings.silent_after, own)

    def run_once(self, monotonic: float | None = None) -> Swept:
        """One turn.

        Raises:
            StoreError: if the store is away; the next turn begins anew, so nothing is left out.
        """
        at = time.monotonic() if monotonic is None else monotonic
        dead = self._bury(at)
        recovered, held, skipped = self._recover()
        expired = answers.expire(self._store)
        overdue = self._overdue.run_once(at)
        forced = self._force()
        freed = self._free()
        self._left_behind.run_once(at)
        swept = Swept(dead, recovered, held, forced, freed, skipped, expired, overdue)
        if swept:
            _log.warning(
                "upkeep: %d workers dead, %d jobs recovered, %d held, %d stops forced, %d units freed, %d skipped, "
                "%d questions over their time, %d jobs past their deadline",
                dead, recovered, held, forced, freed, skipped, expired, overdue,
            )  # fmt: skip
        return swept

    # -- who is dead ---------------------------------------------------------------------------------

    def _bury(self, monotonic: float) -> int:
        if not self._beat.written_within(self._settings.silent_after / 2 + self._settings.beat_interval):
            self._liveness.blind()
            return 0
        with self._store.read() as conn:
            living = workers.living(conn)
        own = self._own()
        signs = [
            LifeSign(row.id, row.beat, row.boot, row.pid_namespace, row.pid, row.process_start)
            for row in living
            if row.id != own
        ]
        buried = 0
        for verdict in self._liveness.judge(signs, monotonic):
            buried += self._store.write(partial(self._mark_dead, verdict))
        if buried:
            self._store.wake.need(DEAD)
        return buried

    def _mark_dead(self, verdict: DeathVerdict, conn: Connection) -> bool:
        return workers.mark_dead(conn, verdict.worker, verdict.how, self._store.now(), beat=verdict.beat)

    # -- what becomes of their jobs --------------------------------------------------------------------

    def _recover(self) -> tuple[int, int, int]:
        recovered = held = skipped = 0
        with self._store.read() as conn:
            ran = jobs.lost_by_worker(conn)
        if ran and replay(self._store, self._own()):
            with self._store.read() as conn:
                ran = jobs.lost_by_worker(conn)
        for rows in self._pages(jobs.lost) if ran else ():
            done, bad = self._handle(rows, self._plan(rows, ran))
            recovered, skipped = recovered + done, skipped + bad
        for rows in self._pages(jobs.left_interrupted):
            planned = {row.id: self._plan_left(row) for row in rows}
            held += sum(not moves_ for moves_ in planned.values())
            done, bad = self._handle(rows, {job: m for job, m in planned.items() if m})
            recovered, skipped = recovered + done, skipped + bad
        return recovered, held, skipped

    def _pages(self, read: Callable[..., list[JobRow]]) -> Iterable[list[JobRow]]:
        after: str | None = None
        while True:
            with self._store.read() as conn:
                rows = read(conn, after=after, limit=PAGE)
            if not rows:
                return
            yield rows if self._mine is None else [row for row in rows if self._mine(row)]
            after = rows[-1].id

    def _plan(
        self, rows: Sequence[JobRow], ran: Mapping[str | None, Sequence[tuple[str, bool]]]
    ) -> dict[str, list[Move]]:
        by_worker: dict[str | None, list[JobRow]] = defaultdict(list)
        for row in rows:
            by_worker[row.worker].append(row)
        planned: dict[str, list[Move]] = {}
        for worker, mine in by_worker.items():
            guilty = worker_loss.charged(ran.get(worker, ())) if worker is not None else None
            how = self._how(worker)
            if worker is not None and self._has_left(worker):
                planned |= {row.id: [self._handed_back(row, how)] for row in mine}
                continue
            for one in map(self._lost, mine):
                planned[one.job.id] = worker_loss.recover(
                    one, guilty=one.job.id == guilty, how=how, now=self._store.now()
                )
        return planned

    def _has_left(self, worker: str) -> bool:
        with self._store.read() as conn:
            return workers.has_left(conn, worker)

    def _handed_back(self, row: JobRow, how: str) -> Move:
        lost, job, now = self._lost(row), Subject.of(row), self._store.now()
        if row.stop_cause is not None:
            return worker_loss.recover(lost, guilty=False, how=how, now=now)[0]
        return worker_loss.shut_down(job, lost.on_shutdown, now, reason=how, actor=transitions.UPKEEP)

    def _plan_left(self, row: JobRow) -> list[Move]:
        return worker_loss.decide(
            self._lost(row), strikes=row.strikes, how=Message("recovery.left-interrupted").stored, now=self._store.now()
        )

    def _lost(self, row: JobRow) -> Lost:
        task = self._tasks.find(row.task)
        options: dict[str, Any] = {}
        with contextlib.suppress(ValueError):  # unreadable options make the job fail when it begins, where it is shown
            options = loads(row.options) if row.options else {}
        wanted = {
            name: options.get(name) or (getattr(task, name) if task else "requeue")
            for name in ("on_interrupt", "on_shutdown")
        }
        return Lost(Subject.of(row), **wanted, policy=task.retry if task else None)

    def _how(self, worker: str | None) -> str:
        if worker is None:
            return Message("recovery.no-worker").stored
        with self._store.read() as conn:
            return workers.how_it_ended(conn, worker) or Message("recovery.worker-not-known").stored

    def _handle(self, rows: Sequence[JobRow], planned: dict[str, list[Move]]) -> tuple[int, int]:
        """Write page by page; where that fails, job by job, so that one bad row does not hold up the others."""
        ordered = [Recovery(row.id, planned[row.id]) for row in rows if row.id in planned]
        written = write_group(self._store, ordered, self._apply)
        if written.unwritten:
            raise StoreUnavailable(Message("recovery.store-went-away"))
        return written.done, len(written.stuck)

    def _apply(self, conn: Connection, planned: list[Recovery]) -> list[Recovery]:
        """Write the first move of each, then the second one of those that moved; the refused ones are returned."""
        now = self._store.now()
        first = [one.moves[0] for one in planned]
        refused = {move.job_id for move in self._write_moves(conn, first)}
        second = [one.moves[1] for one in planned if len(one.moves) > 1 and one.job_id not in refused]
        if second:
            jobs.apply(conn, self._store.dialect, second, now, wake=self._store.wake.need)
        self._store.wake.need(SUSPECT)
        return [one for one in planned if one.job_id in refused]

    def _write_moves(self, conn: Connection, moves: list[Move]) -> list[Move]:
        return jobs.apply(conn, self._store.dialect, moves, self._store.now(), wake=self._store.wake.need)

    # -- stops over their time -------------------------------------------------------------------------

    def _force(self) -> int:
        now = self._store.now()
        with self._store.read() as conn:
            rows = jobs.over_their_stop(conn, now)
        if not rows:
            return 0
        forced = [self._forced(row, now) for row in rows]
        return write_group(self._store, forced, self._write_moves).done

    def _forced(self, row: JobRow, now: datetime) -> Move:
        text = Message("recovery.body-still-runs", cause=row.stop_cause)
        failure = describe(TimeoutError(text))
        error = None if row.stop_cause == "cancel" else failure.to_json()
        return transitions.forced(Subject.of(row), now, actor=transitions.UPKEEP, error=error, reason=text.stored)

    def _free(self) -> int:
        """Free the units of forced ends whose body is gone with its process."""
        with self._store.read() as conn:
            rows = jobs.bodies_gone(conn)
        if not rows:
            return 0
        gone = [
            transitions.body_returned(Subject.of(row), actor=transitions.UPKEEP, reason=self._how(row.worker))
            for row in rows
        ]

        def write(conn: Connection, moves: list[Move]) -> list[Move]:
            self._store.wake.need()
            return jobs.apply(conn, self._store.dialect, moves, self._store.now())

        return write_group(self._store, gone, write).done
