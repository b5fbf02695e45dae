"""An executor that hands jobs over to a list, and a host whose tickets come from threads of a test."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from trails import until

from jobtrail.executors.base import HandingOver, Ticket

if TYPE_CHECKING:
    from jobtrail import JobTrail
    from jobtrail.worker.handed.host import TicketEnd


class Box(HandingOver):
    """Another system that a test looks into, empties and takes away."""

    name = "box"

    def __init__(self) -> None:
        self.waiting: list[Ticket] = []
        self.sent: list[Ticket] = []
        self.away = False
        self.refuses: set[str] = set()
        self.takes: int | None = None  # goes away after so many tickets
        self.counts = True

    def send(self, tickets: Sequence[Ticket]) -> list[Ticket]:
        """Take tickets, those of refused queues excepted."""
        if self.away:
            raise ConnectionError("the other system is away")
        taken = [one for one in tickets if one.queue not in self.refuses][: self.takes]
        self.waiting += taken
        self.sent += taken
        self.away = self.takes is not None
        return taken

    def depth(self, queue: str) -> int | None:
        """How many tickets wait, if it can count."""
        if self.away:
            raise ConnectionError("the other system is away")
        return sum(1 for one in self.waiting if one.queue == queue) if self.counts else None


class Hosted:
    """A host, and threads that bring tickets to it."""

    def __init__(self, jobs: JobTrail, box: Box, **options: Any) -> None:
        self.jobs, self.box = jobs, box
        self.host = jobs.host("box", **{"slots": 4, "leads": False, **options})
        self.threads: list[threading.Thread] = []

    def start(self) -> Hosted:
        """Start the host and wait until its worker runs."""
        self.host.start()
        until("the worker of the host runs", lambda: self.host.worker is not None and self.host.worker.ready.is_set())
        return self

    def bring(self, job_id: str, token: int = 1) -> list[TicketEnd]:
        """Bring a ticket in a thread of its own; the list gets what became of it."""
        found: list[TicketEnd] = []
        thread = threading.Thread(target=lambda: found.append(self.host.run(job_id, token)), daemon=True)
        self.threads.append(thread)
        thread.start()
        return found

    def close(self) -> None:
        """End the host; every thread that brought a ticket is let go."""
        self.host.stop()
        for thread in self.threads:
            thread.join(10)
            assert not thread.is_alive()
