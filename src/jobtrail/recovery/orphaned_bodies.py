"""Orphaned bodies: the ones that a worker could not stop when it ended, in a process that goes on.

The worker's beat goes on for them, so that none of them is started a second time, and their ends are written when they
come. What a body's end is, the worker knows (`OrphanedBody.end`); here it is waited for and written.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Protocol

from jobtrail.errors import StoreUnavailable
from jobtrail.messages import Message

from .background_loop import BackgroundLoop
from .end_writer import replay

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from jobtrail.recovery.run_end import RunEnd
    from jobtrail.store import Store

    from .end_writer import EndWriter

TURN = 0.25  # seconds


class OrphanedBody(Protocol):
    """A body whose worker has ended."""

    @property
    def job_id(self) -> str:
        """Its job."""

    def end(self) -> RunEnd | None:
        """Its end, given once; None as long as the body runs."""


class LeftSession(Protocol):
    """The worker's session, which goes on for its orphaned bodies."""

    id: str

    def tick(self, running: Sequence[str], children: Sequence[int]) -> None:
        """These jobs still run."""

    def end(self, *, living: set[str]) -> None:
        """The worker has ended, but for these jobs."""


class OrphanedBodies:
    """Waits for the ends of orphaned bodies and writes them; ``run_once`` is one turn.

    Args:
        store: the store.
        session: the session of the worker that ended.
        writer: the worker's own, which may hold ends already.
        bodies: what still runs.
        close: called once, when the last end is written.

    """

    def __init__(
        self,
        store: Store,
        session: LeftSession,
        writer: EndWriter,
        bodies: Iterable[OrphanedBody],
        close: Callable[[], None],
    ) -> None:
        self._store = store
        self._session = session
        self._writer = writer
        self._close = close
        self._lock = threading.Lock()
        self._running = list(bodies)
        self._ends: list[RunEnd] = []
        self._owes = False
        self._loop = BackgroundLoop("orphaned bodies", self.run_once, TURN)

    @property
    def kept(self) -> set[str]:
        """The jobs that keep their runs: their body runs, or its end is not written yet."""
        with self._lock:
            unwritten = [*self._ends, *self._writer.stuck]
            return {body.job_id for body in self._running} | {one.job_id for one in unwritten}

    def start(self, *, owes: bool) -> bool:
        """Begin, if there is anything to wait for.

        Args:
            owes: the store was away when the worker ended, so that its last ends are in the spool and its row was
                not updated.

        Returns:
            Whether there is anything to wait for.

        """
        self._owes = owes
        needed = owes or bool(self.kept)
        if needed:
            self._loop.start()
        return needed

    def run_once(self) -> None:
        """One turn.

        Raises:
            StoreError: if the store is away; nothing is lost, the next turn goes on.

        """
        kept = self.kept
        self._session.tick(sorted(kept)[:5], [])
        if self._owes:
            replay(self._store, self._session.id)
            self._session.end(living=kept)
            self._owes = False
        self._collect()
        self._write()
        if not self.kept:
            self._close()
            self._session.end(living=set())
            self._loop.stop()

    def _collect(self) -> None:
        for body in list(self._running):
            end = body.end()
            if end is not None:
                with self._lock:
                    self._running.remove(body)
                    self._ends.append(end)

    def _write(self) -> None:
        self._writer.retry_stuck()
        if not self._ends:
            return
        unwritten = self._writer.write_each(list(self._ends))
        with self._lock:
            self._ends = unwritten
        if unwritten:
            self._writer.store_is_away(unwritten)
            raise StoreUnavailable(Message("recovery.ends-wait", count=len(unwritten)))
        self._writer.store_is_back()
