"""The turns of a worker: one writes the ends there are and claims what there is room for, in one transaction."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from jobtrail.errors import StoreError, StoreUnavailable
from jobtrail.job.model import StopCause
from jobtrail.messages import stored
from jobtrail.recovery.end_writer import EndWriter
from jobtrail.recovery.run_end import write_ends
from jobtrail.recovery.worker_condition import Condition
from jobtrail.store import jobs
from jobtrail.store.limits.claims import LimitedClaims, admit
from jobtrail.store.tracked import plain_end

from .claiming.unknown_tasks import UnknownTasks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.config import Settings
    from jobtrail.job.model import Claim
    from jobtrail.recovery.run_end import RunEnd
    from jobtrail.store import Store

    from .claiming.slots import Slots
    from .handed.tickets import TicketRun, Tickets, Unused
    from .run_starter import RunStarter

_log = logging.getLogger("jobtrail.worker")
T = TypeVar("T")
BACK_OFF = (0.1, 5.0)  # seconds: first and longest wait while the store is away
StopRequests = list[tuple[str, int, str | None]]  # job, run and cause


@dataclass(frozen=True, slots=True)
class WorkerTurn:
    """What one turn did."""

    settled: int
    claimed: int
    refused: int = 0


class Turns:
    """The worker's side of the store: unwritten ends, claims, and what happens while the store is away.

    Args:
        store: the store.
        settings: ``poll_interval`` and ``spool_after``, in seconds, are used.
        slots: the worker's slots.
        runs: starts what is claimed, and knows what runs.
        identity: gives the worker's id, which changes when it was declared dead while it lives.
        limits: claims the jobs that have a limit.

    """

    def __init__(
        self, store: Store, settings: Settings, slots: Slots, runs: RunStarter, identity: Callable[[], str],
        limits: LimitedClaims | None = None,
    ) -> None:  # fmt: skip
        self._store = store
        self._settings = settings
        self._slots = slots
        self._runs = runs
        self._identity = identity
        self._marks = jobs.Marks()
        self._unknown = UnknownTasks(store, runs.tasks, settings.put_back_delay)
        self.limits = limits or LimitedClaims(lambda: False)
        self._limited_first = False
        self._looked_for_stops_at = float("-inf")
        self.ends: list[RunEnd] = []
        self.on_written: Callable[[Sequence[RunEnd]], None] = _nothing
        self.tickets: Tickets | None = None  # of a host, which claims by tickets and not from queues
        self.writer = EndWriter(store, identity(), settings.spool_after)
        self.wanted = asyncio.Event()
        self.claims_nothing = False
        self.away: str | None = None  # why turns fail
        self._store_is_away = False
        self.condition = Condition(store.now)
        runs.on_end = self.add

    def add(self, end: RunEnd) -> None:
        """A run is over: its end is written in the next turn."""
        self.ends.append(end)
        self.wanted.set()

    @property
    def unwritten(self) -> list[RunEnd]:
        """All ends that are not in the store."""
        return [*self.ends, *self.writer.stuck]

    async def run_once(self) -> WorkerTurn:
        """Write the ends there are and start what there is room for.

        Raises:
            StoreError: if the store is away; the ends are kept and written by a later turn.

        """
        ends, self.ends = self.ends, []
        wants = [] if self.claims_nothing else self._slots.wants()
        looks = self._look_for_stops_due()
        tickets = self.tickets.take() if self.tickets is not None else []
        if not ends and not wants and not looks and not tickets:
            return WorkerTurn(0, 0)
        try:
            refused, claims, stops, unused = await self._write_turn(ends, wants, tickets, looks=looks)
        except (StoreUnavailable, asyncio.CancelledError):
            # Whether they were written is not known; a second time they are refused where they were.
            self._give_back(ends, tickets)
            raise
        except Exception as error:
            self._give_back([], tickets)
            if not ends:
                raise
            _log.error("writing %d ends at once failed; each is written alone", len(ends), exc_info=error)
            await self._write_each(ends)
            return WorkerTurn(len(ends), 0)
        self._is_back()
        if any(self._runs.is_unknown(one) for one in claims):
            claims = await asyncio.to_thread(self._unknown.sort_out, claims, self._identity())
        self._runs.start(claims)
        self.on_written(ends)
        self._tell_stops(stops)
        for ticket, why in unused:
            ticket.refuse(why)
        return WorkerTurn(len(ends) - len(refused), len(claims), len(refused))

    def _give_back(self, ends: list[RunEnd], tickets: list[TicketRun]) -> None:
        self.ends = ends + self.ends
        if self.tickets is not None:
            self.tickets.give_back(tickets)

    async def _write_turn(
        self, ends: list[RunEnd], wants: list[tuple[str, int]], tickets: list[TicketRun], *, looks: bool
    ) -> tuple[list[RunEnd], list[Claim], StopRequests, Unused]:
        limited = self.limits.in_use or self.limits.look_due
        begun = await self._at_once(ends, tickets) if not (wants or looks or self.limits.in_use) else None
        if begun is not None:
            return [], begun, [], []
        one_statement = not (ends or looks or tickets or limited) and len(wants) == 1 and not self._suspect_due()
        return await self._write(
            partial(self._transaction, ends=ends, wants=wants, tickets=tickets, looks=looks), one_statement=one_statement
        )

    async def _at_once(self, ends: list[RunEnd], tickets: list[TicketRun]) -> list[Claim] | None:
        """Write one plain end, or begin the run of one ticket, by a statement of its own; None where it takes more."""
        if self._store.database.is_sqlite or self.tickets is None or len(ends) + len(tickets) != 1:
            return None
        if ends:
            end = ends[0]
            plain = end.is_plain and await self._write(lambda conn: plain_end.write(conn, end.move), one_statement=True)
            return [] if plain else None
        begin = partial(
            self.tickets.begin_at_once, ticket=tickets[0], worker=self._identity(), now=self._store.now()
        )
        claim = await self._write(begin, one_statement=True)
        return None if claim is None else [claim]

    async def _write(self, operation: Callable[[Connection], T], *, one_statement: bool) -> T:
        """Write. A host that runs nothing has nobody else on its loop, and the way through a thread costs more than the write."""
        if self.tickets is not None and not self._runs.running:
            return self._store.write(operation, one_statement=one_statement)
        return await self._store.awrite(operation, one_statement=one_statement)

    def _transaction(
        self, conn: Connection, ends: list[RunEnd], wants: list[tuple[str, int]], tickets: list[TicketRun], looks: bool
    ) -> tuple[list[RunEnd], list[Claim], StopRequests, Unused]:
        now = self._store.now()
        refused = write_ends(conn, self._store, ends, now) if ends else []
        places = self.limits.places
        self.limits.ended(end.job_id for end in ends)
        claims: list[Claim] = []
        worker, dialect = self._identity(), self._store.dialect
        room = self._slots.portion
        if wants and room > 0 and self._suspect_due():
            self._slots.looked()
            admits = partial(admit, conn, dialect, now=now)
            claims += jobs.claim_suspect(conn, dialect, [queue for queue, _ in wants], worker, now, admits)
            room -= len(claims)
        if self.limits.look_due:
            self.limits.look(conn)
        claim = self._claim_both if self.limits.in_use else self._claim
        claims += claim(conn, wants, room, worker, now)
        if self.limits.places < places or (ends and self.tickets is not None and self.limits.in_use):
            self._store.wake.need()  # others may take them
        unused: Unused = []
        if self.tickets is not None and tickets:
            begun, unused = self.tickets.claim(conn, tickets, worker, now)
            claims += begun
        stops = jobs.asked_to_stop(conn, worker) if looks else []
        return refused, claims, stops, unused

    def _claim(
        self, conn: Connection, wants: list[tuple[str, int]], room: int, worker: str, now: datetime
    ) -> list[Claim]:
        claims: list[Claim] = []
        for queue, free in wants:
            if room > 0:
                share = min(free, room)
                found = jobs.claim(
                    conn, self._store.dialect, queue, share, worker, now, self._marks, time.monotonic(),
                    without=self._unknown.left_to_others(now),
                )  # fmt: skip
                claims += found
                room -= len(found)
        return claims

    def _claim_both(
        self, conn: Connection, wants: list[tuple[str, int]], room: int, worker: str, now: datetime
    ) -> list[Claim]:
        """Claim jobs with and without limits: by turns one kind has the first half, so that neither waits for the other."""
        self._limited_first = not self._limited_first
        first, second = self._claim, partial(self.limits.claim, dialect=self._store.dialect)
        if self._limited_first:
            first, second = second, first
        half = first(conn, wants, (room + 1) // 2, worker, now)
        taken = Counter(one.queue for one in half)
        rest = [(queue, free - taken[queue]) for queue, free in wants if free > taken[queue]]
        return half + second(conn, rest, room - len(half), worker, now)

    async def _write_each(self, ends: list[RunEnd]) -> None:
        try:
            unwritten = await asyncio.to_thread(self.writer.write_each, ends)
        except asyncio.CancelledError:
            self.ends = ends + self.ends
            raise
        self.on_written([one for one in ends if one not in unwritten])
        self.ends = unwritten + self.ends

    def _suspect_due(self) -> bool:
        """Whether to look for a suspect. Until its end is written, one still runs here: a crash would lose both."""
        running = any(run.claim.suspect for run in list(self._runs.running.values()))
        unwritten = any(one.suspect for one in self.unwritten)
        return self._slots.look_due(holds_suspect=running or unwritten)

    def _look_for_stops_due(self) -> bool:
        now = time.monotonic()
        if not self._runs.running or now - self._looked_for_stops_at < self._settings.poll_interval:
            return False
        self._looked_for_stops_at = now
        return True

    def _tell_stops(self, stops: StopRequests) -> None:
        for job_id, run_no, cause in stops:
            run = self._runs.running.get(job_id)
            if run is not None and run.claim.run_no == run_no and run.stop.cause is None:
                run.on_stop = None  # the row says so already
                run.request_stop(StopCause(cause or "cancel"))

    # -- the store is away, and back -----------------------------------------------------------------

    async def wait_out(self, error: Exception, failures: int) -> None:
        """Wait after a turn that failed: a growing time, in which unwritten ends are copied into the spool."""
        if not isinstance(error, StoreError):
            self.condition.fails("turn", error)
        elif not self._store_is_away:
            _log.error("the store is away, running jobs go on and nothing new is claimed: %s", error)
            self.condition.away(stored(error) or type(error).__name__)
            self._store_is_away = True
        self.away = str(error) or type(error).__name__
        with self.condition.tolerate("spool"):
            await asyncio.to_thread(self.writer.store_is_away, list(self.ends))
        first, longest = BACK_OFF
        delay = min(longest, first * 2 ** min(failures, 10)) * random.uniform(0.5, 1.0)  # noqa: S311 - jitter
        await asyncio.sleep(delay)

    def _is_back(self) -> None:
        if self.away is None:
            return
        self.condition.works("turn")
        if self._store_is_away:
            _log.warning("the store is back")
            self.condition.back()
        self.away, self._store_is_away = None, False
        with self.condition.tolerate("spool"):
            self.writer.store_is_back()


def _nothing(ends: Sequence[RunEnd]) -> None:
    """Nobody waits for ends to be written, but where there is a host."""
