"""A host: a worker whose jobs come as tickets, one from each thread that waits for the end of its job.

A process of another system (Celery, RQ, a Kubernetes pod) has one. Its event loop turns in a thread of its own; the plain
functions of a job run in the thread that brought the ticket.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol

from jobtrail.errors import StoreError
from jobtrail.store.tracked.hand_over import Refusal

from .seat import PATIENCE, Seat
from .tickets import TicketRun, Tickets

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from jobtrail.config import Settings
    from jobtrail.recovery.run_end import RunEnd
    from jobtrail.store import Store

_log = logging.getLogger("jobtrail.worker")
PAUSE = 1.0  # seconds between two starts of the worker while the store is away
STOP_WITHIN = 10.0  # seconds, beside the graceful shutdown


class HostedWorker(Protocol):
    """What a host needs of its worker."""

    @property
    def paused_queues(self) -> frozenset[str]:
        """The queues that are paused."""

    async def run(self) -> None:
        """Work until `stop`."""

    def wake(self) -> None:
        """There is a ticket; called from any thread."""

    def stop(self) -> None:
        """Claim nothing more, and let `run` return; called from any thread."""


@dataclass(frozen=True, slots=True)
class TicketEnd:
    """What became of a ticket.

    Attributes:
        begun: Whether its job ran here and its end is stored, or kept in the spool.
        refused: Why the ticket began no run.
        terminated: Whether the process was told to end meanwhile; its caller should leave.
    """

    begun: bool
    refused: Refusal | None = None
    terminated: bool = False


class JobHost:
    """Runs the jobs of tickets in the threads that bring them.

    Args:
        store: The store.
        settings: ``cancel_timeout`` and ``graceful_shutdown_timeout``, in seconds, are used.
        make_worker: Makes a worker for this host; called again where one has failed.
        actor: Name of the executor, for the trail and its row.
        slots: How many jobs it runs at once, for its row.
        interrupts: Whether a plain function in the main thread may be interrupted by SIGUSR1.
        ends_process: Whether the process may be killed where a body does not stop.
        patience: Seconds from a ticket to the claim of its job, after which `run` gives the ticket back.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        make_worker: Callable[[JobHost], HostedWorker],
        *,
        actor: str,
        slots: int,
        interrupts: bool = False,
        ends_process: bool = False,
        patience: float = PATIENCE,
    ) -> None:
        self.seats: dict[tuple[str, int], Seat] = {}
        self.tickets = Tickets(store, self._paused)
        self.worker: HostedWorker | None = None
        self._settings = settings
        self._make_worker = make_worker
        self.actor, self.slots = actor, slots
        self._seat = partial(
            Seat, settings.cancel_timeout, interrupts=interrupts, ends_process=ends_process, patience=patience
        )
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def start(self) -> None:
        """Start the thread of the event loop."""
        self._thread = threading.Thread(target=self._repeat, name="jobtrail-host", daemon=True)
        self._thread.start()

    def run(
        self, job_id: str, token: int, *, about: Mapping[str, str] | None = None, ids: Mapping[str, str] | None = None
    ) -> TicketEnd:
        """Run the job of a ticket. Blocking: plain functions of the job run in this thread.

        Args:
            job_id: The job.
            token: Number of the run that the ticket begins.
            about: What the other system knows it by; stored in the trail of the job.
            ids: Ids of the other system by its name (``{"celery": …}``), by which the job is found from now on.
        """
        if self._stopping.is_set():
            return TicketEnd(begun=False, refused=Refusal.STOPPING)
        seat = self._seat()
        key = job_id, token
        with self._lock:
            again = self.seats.setdefault(key, seat) is not seat
        ticket = TicketRun(job_id, token, seat, self.actor, about or {}, ids or {}, again=again)
        self.tickets.put(ticket)
        self._wake()
        try:
            seat.serve(lambda: self.tickets.withdraw(ticket))
        finally:
            if not again:
                self.seats.pop(key, None)
        return TicketEnd(ticket.refused is None, ticket.refused, seat.terminated)

    def stop(self) -> None:
        """Let running jobs end, write their ends, and end the thread. Blocking, in bounded time."""
        self._stopping.set()
        if self.worker is not None:
            self.worker.stop()
        if self._thread is not None:
            self._thread.join(self._settings.graceful_shutdown_timeout + self._settings.cancel_timeout + STOP_WITHIN)
        for ticket in self.tickets.take():
            ticket.refuse(Refusal.STOPPING)

    def written(self, ends: Sequence[RunEnd]) -> None:
        """These ends are stored: their threads may go."""
        for end in ends:
            seat = self.seats.get((end.job_id, end.move.run_no)) if end.body_over else None
            if seat is not None:
                seat.leave()

    # -- the thread of the loop ----------------------------------------------------------------------

    def _paused(self) -> frozenset[str]:
        return self.worker.paused_queues if self.worker is not None else frozenset()

    def _wake(self) -> None:
        if self.worker is not None:
            self.worker.wake()

    def _repeat(self) -> None:
        while not self._stopping.is_set():
            try:
                self.worker = self._make_worker(self)
                asyncio.run(self.worker.run())
            except StoreError as error:
                _log.warning("the store is away, and no job can begin here: %s", error)
            except Exception:
                _log.exception("the worker of this process failed, and another one takes its place")
            waiting = self.tickets.seats()
            for seat in list(self.seats.values()):
                if seat not in waiting:
                    seat.leave()
            self._stopping.wait(PAUSE)
