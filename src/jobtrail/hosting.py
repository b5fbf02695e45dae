"""Make the workers and hosts of an application, with all that runs beside them."""

from __future__ import annotations

from typing import Any

from .plugins.loops import accompany
from .recovery.relay import TicketRelay
from .worker.handed.host import JobHost
from .worker.handed.seat import PATIENCE
from .worker.worker import Worker


def worker_of(jobs: Any, **options: Any) -> Worker:
    """Return a worker, and beside it schedules, loops of plug-ins, and the relays of executors that hand jobs over.

    Args:
        jobs: The application.
        **options: As for `Worker.of_service`.
    """
    return _accompanied(jobs, _plain(jobs, **options))


def host_of(
    jobs: Any,
    actor: str,
    *,
    slots: int = 1,
    leads: bool = True,
    interrupts: bool = False,
    ends_process: bool = False,
    patience: float = PATIENCE,
) -> JobHost:
    """Return what runs handed over jobs in a process of another system.

    Args:
        jobs: The application.
        actor: Name of the executor, for the trail.
        slots: How many jobs the process runs at once; 0 for one that runs none, and only leads.
        leads: Whether the process looks after lost jobs, runs schedules and hands jobs over, beside its own jobs. At least
            one process of a system must lead.
        interrupts: Whether a plain function in the main thread may be interrupted by SIGUSR1, after a passed limit or a
            cancel that it did not heed.
        ends_process: Whether the process may be killed where even that does not stop a body.
        patience: Seconds from a ticket to the claim of its job. After that, as while the store is away, the ticket is given back.
    """

    def make(host: JobHost) -> Worker:
        jobs.make_ready()
        worker = _plain(jobs, queues=[], slots=max(slots, 1), host=host, leads=leads)
        return _accompanied(jobs, worker) if leads else worker

    return JobHost(
        jobs.store, jobs.settings, make, actor=actor, slots=slots, interrupts=interrupts, ends_process=ends_process,
        patience=patience,
    )  # fmt: skip


def _plain(jobs: Any, **options: Any) -> Worker:
    middleware = [*jobs.middleware, *jobs.plugins.middleware()]
    jobs.overrides.warn_of_unknown(jobs.tasks.find)
    return Worker.of_service(jobs.service, middleware, jobs.state, outside=jobs.executors, **options)


def _accompanied(jobs: Any, worker: Worker) -> Worker:
    worker = accompany(jobs.schedules.accompany(worker), jobs, jobs.plugins.loops())
    session = worker.session
    if session is not None:
        for one in jobs.executors.handing_over().values():
            session.accompany(TicketRelay(one, jobs.store, jobs.tasks, jobs.settings, lambda: worker.id))
    return worker
