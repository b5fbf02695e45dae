"""Tickets that a host was given: they wait for the next turn, which claims their jobs."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jobtrail.store.tracked import hand_over, ticket_claim
from jobtrail.store.tracked.hand_over import Refusal
from jobtrail.store.tracked.ticket_claim import TicketClaim

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.job.model import Claim
    from jobtrail.store import Store

    from .seat import Seat


@dataclass(slots=True, eq=False)
class TicketRun:
    """A ticket on its way through a host.

    Attributes:
        job_id: The job.
        token: Number of the run that the ticket begins.
        seat: The thread that brought it.
        actor: Name of the executor, for the trail.
        about: What the other system knows it by, such as ``{"celery_id": …}``; stored in the trail.
        ids: Ids of the other system by its name, by which the job is found from now on.
        again: Whether this process has the same ticket already.
    """

    job_id: str
    token: int
    seat: Seat
    actor: str
    about: Mapping[str, Any] = field(default_factory=dict)
    ids: Mapping[str, str] = field(default_factory=dict)
    again: bool = False
    refused: Refusal | None = None
    until: float = field(init=False)

    def __post_init__(self) -> None:
        """It waits as long as its thread does."""
        self.until = time.monotonic() + self.seat.patience

    def refuse(self, why: Refusal) -> None:
        """It begins no run: its thread may go."""
        self.refused = why
        self.seat.leave()


Unused = list[tuple[TicketRun, Refusal]]


class Tickets:
    """The tickets of one host that are not claimed yet.

    Args:
        store: The store.
        paused: Gives the queues that are paused.
    """

    def __init__(self, store: Store, paused: Callable[[], frozenset[str]]) -> None:
        self._store = store
        self._paused = paused
        self._lock = threading.Lock()
        self._waiting: list[TicketRun] = []

    def put(self, ticket: TicketRun) -> None:
        """Take a ticket; from any thread."""
        with self._lock:
            self._waiting.append(ticket)

    def take(self) -> list[TicketRun]:
        """Take all that wait."""
        with self._lock:
            taken, self._waiting = self._waiting, []
        return taken

    def give_back(self, tickets: list[TicketRun]) -> None:
        """The store was away: they wait again, those that have waited too long excepted."""
        now = time.monotonic()
        with self._lock:
            self._waiting = [one for one in tickets if one.until > now] + self._waiting
        for one in tickets:
            if one.until <= now:
                one.refuse(Refusal.AWAY)

    def withdraw(self, ticket: TicketRun) -> bool:
        """Take a ticket away that is not claimed and on no way to it; from any thread."""
        with self._lock:
            if ticket not in self._waiting:
                return False
            self._waiting.remove(ticket)
        ticket.refused = Refusal.AWAY
        return True

    def seats(self) -> set[Seat]:
        """The threads whose tickets wait."""
        with self._lock:
            return {one.seat for one in self._waiting}

    def claim(
        self, conn: Connection, tickets: list[TicketRun], worker: str, now: datetime
    ) -> tuple[list[Claim], Unused]:
        """Claim the jobs of tickets, in the caller's transaction.

        Returns:
            The claims, and the tickets that begin no run.
        """
        claims: list[Claim] = []
        refused: Unused = []
        for one in tickets:
            found = self._claim(conn, one, worker, now)
            if isinstance(found, Refusal):
                refused.append((one, found))
            else:
                claims.append(found)
        return claims, refused

    def begin_at_once(self, conn: Connection, ticket: TicketRun, worker: str, now: datetime) -> Claim | None:
        """Claim the job of one ticket by one statement (PostgreSQL); None where `claim` has to look closer."""
        return None if ticket.again else ticket_claim.begin_at_once(conn, self._wanted(ticket, worker), now)

    def _wanted(self, ticket: TicketRun, worker: str) -> TicketClaim:
        return TicketClaim(
            ticket.job_id, ticket.token, worker, ticket.actor, ticket.about, ticket.ids, self._paused()
        )

    def _claim(self, conn: Connection, ticket: TicketRun, worker: str, now: datetime) -> Claim | Refusal:
        dialect = self._store.dialect
        found: Claim | Refusal = Refusal.TAKEN
        if not ticket.again:
            found = ticket_claim.claim(conn, dialect, self._wanted(ticket, worker), now)
        if found in {Refusal.EARLY, Refusal.LIMIT}:
            hand_over.send_again(conn, ticket.job_id, ticket.token)
            self._store.wake.need()
        elif found is Refusal.TAKEN:
            hand_over.note_delivered_again(
                conn, dialect, ticket.job_id, now, actor=ticket.actor, token=ticket.token, detail=dict(ticket.about)
            )
        return found
