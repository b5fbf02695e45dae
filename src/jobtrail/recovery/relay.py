"""The relay: hands due jobs over to other systems, after the commit that made them due.

One process at a time does it for each executor, by a lease. A ticket is sent before the job is marked: a crash in between
sends it twice, and the second one finds its run taken. What the other system has lost is sent again.
"""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from datetime import timedelta
from functools import partial
from json import loads
from typing import TYPE_CHECKING, Any

from jobtrail.database import leases
from jobtrail.executors.base import Ticket
from jobtrail.store import queues, workers
from jobtrail.store.tracked import hand_over

from .background_loop import BackgroundLoop

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sqlalchemy import Connection

    from jobtrail.config import Settings
    from jobtrail.executors.base import HandingOver
    from jobtrail.job.task import Tasks
    from jobtrail.store import Store
    from jobtrail.store.tracked.hand_over import ToSend

    from .background_loop import Health

BATCH = 200  # tickets between two marks
TURN = 1.0  # seconds between two turns that nobody asked for
COMPARE_EVERY = 5.0  # seconds between two comparisons with the other system
BEGINS_WITHIN = timedelta(seconds=10)  # a ticket that waits no longer in the other system begins its run so soon
LOST_AFTER = timedelta(minutes=10)  # where the depth is not known, or other messages wait in the same queue
REFUSED_FOR = 30.0  # seconds until a queue that was refused is tried again
LONGEST = 600.0  # seconds between two tickets for the same run
_log = logging.getLogger("jobtrail.relay")


class TicketRelay:
    """Hands jobs over to one executor, beside a worker or host.

    Args:
        executor: The executor.
        store: The store.
        tasks: The tasks known here.
        settings: ``scheduler_lease``, in seconds, is used.
        own: Gives the id of this worker, which holds the lease.
    """

    def __init__(
        self, executor: HandingOver, store: Store, tasks: Tasks, settings: Settings, own: Callable[[], str]
    ) -> None:
        self._executor, self._store, self._tasks = executor, store, tasks
        self._lifetime = settings.scheduler_lease
        self._own = own
        self._lease = f"{hand_over.RELAY}{executor.name}"
        self._token: int | None = None
        self._holder = ""
        self._until = self._compared_at = float("-inf")
        self._refused: dict[str, float] = {}
        self._sent: dict[str, tuple[int, float, float]] = {}  # tickets sent again: token, when, and the pause before the next
        self._loop = BackgroundLoop(f"relay-{executor.name}", self.run_once, TURN)

    # -- beside a worker -----------------------------------------------------------------------------

    def start(self) -> None:
        """Start the thread."""
        self._loop.start()

    def stop(self) -> None:
        """End the thread and release the lease."""
        self._loop.stop()
        token, self._token = self._token, None
        if token is not None and self._loop.ended:
            self._store.write(lambda conn: leases.give_up(conn, {self._lease: token}))

    def listen(self, words: frozenset[str]) -> None:
        """Something was committed: look whether it is to be handed over."""
        del words
        self._loop.wake()

    def health(self) -> Health:
        """The health of the thread; failing while the other system is away."""
        return self._loop.health()

    # -- a turn --------------------------------------------------------------------------------------

    def run_once(self) -> int:
        """Send what is due, and again what was lost; returns how many tickets were sent.

        Raises:
            StoreError: If the store is away.
            Exception: If the other system is away; the jobs stay pending.
        """
        if not self._leads():
            return 0
        sent = self._hand_over()
        if time.monotonic() - self._compared_at >= COMPARE_EVERY:
            self._compared_at = time.monotonic()
            self._take_back()
            sent += self._send_lost()
        return sent

    def _leads(self) -> bool:
        begun, holder = time.monotonic(), self._own()
        if self._token is not None and holder == self._holder and begun < self._until - 2 * self._lifetime / 3:
            return True
        now, self._token = self._store.now(), None
        with self._store.read() as conn:
            able = leases.free(conn, [self._lease], holder, now)
        if able:
            until = now + timedelta(seconds=self._lifetime)
            taken = self._store.write(lambda conn: leases.take(conn, self._store.dialect, [self._lease], holder, now, until))
            self._token, self._holder, self._until = taken.get(self._lease), holder, begun + self._lifetime
        return self._token is not None

    def _hand_over(self) -> int:
        sent = 0
        while self._leads():
            with self._store.read() as conn:
                paused = [*queues.paused(conn), *self._refusing()]
                due = hand_over.to_send(conn, self._executor.name, self._store.now(), limit=BATCH, paused=paused)
            if not due:
                break
            number = self._send(due)
            sent += number
            if number < len(due) and not self._refused:
                break
        return sent

    def _send(self, due: Sequence[ToSend]) -> int:
        ids = {one.job_id for one in self._executor.send([self._ticket(one) for one in due])}
        sent, now = [one for one in due if one.id in ids], self._store.now()
        last = max((at for at, one in enumerate(due) if one.id in ids), default=len(due))
        again = time.monotonic() + REFUSED_FOR
        # What comes after the last one that was sent was perhaps not tried, because the other system went away.
        self._refused |= {one.queue: again for one in due[:last] if one.id not in ids}
        self._store.write(partial(hand_over.mark_sent, dialect=self._store.dialect, sent=sent, now=now))
        return len(sent)

    def _refusing(self) -> list[str]:
        """Queues that the other system refused lately."""
        now = time.monotonic()
        self._refused = {queue: until for queue, until in self._refused.items() if until > now}
        return list(self._refused)

    def _ticket(self, job: ToSend) -> Ticket:
        options: dict[str, Any] = {}
        with suppress(ValueError):  # unreadable options make the job fail when it begins, where it is shown
            options = loads(job.options) if job.options else {}
        task = self._tasks.find(job.task)
        trace: Mapping[str, str] = options.get("trace") or {}
        timeout = options.get("timeout", task.timeout if task is not None else None)
        return Ticket(job.id, job.run_no + 1, job.queue, job.priority, job.task, timeout, trace)

    # -- what was lost -------------------------------------------------------------------------------

    def _send_lost(self) -> int:
        with self._store.read() as conn:
            waiting = hand_over.handed_over(conn, self._executor.name)
            paused = set(queues.paused(conn))
        latest = time.monotonic() - 2 * LONGEST
        self._sent = {job: one for job, one in self._sent.items() if waiting and one[1] > latest}
        now, sent = self._store.now(), 0
        for queue in waiting:
            if queue.oldest < now - BEGINS_WITHIN and queue.queue not in paused:
                sent += self._send_again(queue.queue, queue.number, now)
        return sent

    def _send_again(self, queue: str, number: int, now: Any) -> int:
        """Send the difference between what was handed over and what waits there, the oldest first."""
        depth = self._executor.depth(queue)
        missing = max(number - depth, 0) if depth is not None else 0
        with self._store.read() as conn:
            lost = partial(hand_over.sent_before, conn, self._executor.name, queue)
            found = {one.id: one for one in lost(now - BEGINS_WITHIN, limit=min(missing, BATCH))} if missing else {}
            found |= {one.id: one for one in lost(now - LOST_AFTER, limit=BATCH)}
        again = [one for one in found.values() if self._may_send(one)]
        if not again:
            return 0
        _log.warning("%d jobs of the queue %s have not begun, and their tickets are sent again", len(again), queue)
        return self._send(again)

    def _may_send(self, job: ToSend) -> bool:
        """Not so often: the other system may have the ticket where it cannot be counted, waiting for a busy process."""
        now = time.monotonic()
        token, at, pause = self._sent.get(job.id, (job.run_no, float("-inf"), 5.0))
        if token != job.run_no:
            at, pause = float("-inf"), 5.0
        if now - at < pause:
            return False
        self._sent[job.id] = (job.run_no, now, min(2 * pause, LONGEST))
        return True

    def _take_back(self) -> None:
        """Tasks that are known here and not handed over to this executor any more: our workers run their jobs."""
        moved = [task.name for task in self._tasks.all() if task.handed_to != self._executor.name]
        name = self._executor.name
        with self._store.read() as conn:
            if not moved or not hand_over.has_others(conn, moved, name):
                return
        taken = self._store.write(partial(_taken_back, self._store, tasks=moved, executor=name))
        if taken:
            _log.warning("%d jobs are not handed over to %s any more", len(taken), self._executor.name)


def _taken_back(store: Store, conn: Connection, **which: Any) -> list[str]:
    taken = hand_over.take_back(conn, **which)
    if taken:
        store.wake.need()
    return taken


class LeftBehind:
    """Takes back pending jobs of executors that no process relays for any more.

    An executor may be removed from the program while jobs wait for it. A worker that knows their tasks, and executes them
    itself, claims those of its queues once no relay of the executor has lived for a while.

    Args:
        store: The store.
        tasks: The tasks known here.
        after: Seconds without a relay.
        own: Gives the id of this worker.
    """

    def __init__(self, store: Store, tasks: Tasks, after: float, own: Callable[[], str]) -> None:
        self._store, self._tasks, self._after, self._own = store, tasks, after, own
        self._alone_since: dict[str, float] = {}

    def run_once(self, monotonic: float) -> int:
        """One turn; returns how many jobs were taken back.

        Args:
            monotonic: Seconds, by a clock that never goes back.

        Raises:
            StoreError: If the store is away.
        """
        own = self._own()
        with self._store.read() as conn:
            names = hand_over.executors_of_pending(conn)
            held = leases.held(conn, [f"{hand_over.RELAY}{name}" for name in names], self._store.now()) if names else ()
            alone = [name for name in names if f"{hand_over.RELAY}{name}" not in held]
            served = workers.queues_of(conn, own) if alone and own else []
        self._alone_since = {name: self._alone_since.get(name, monotonic) for name in alone}
        due = [name for name, since in self._alone_since.items() if monotonic - since >= self._after]
        return sum(self._take_back(name, served) for name in due) if served else 0

    def _take_back(self, name: str, served: list[str]) -> int:
        moved = [task.name for task in self._tasks.all() if task.handed_to != name]
        with self._store.read() as conn:
            if not moved or not hand_over.has_others(conn, moved, name, queues=served):
                return 0
        taken = self._store.write(partial(_taken_back, self._store, tasks=moved, executor=name, queues=served))
        if taken:
            _log.warning("nobody hands jobs over to %s any more; %d of them run in our workers", name, len(taken))
        return len(taken)
