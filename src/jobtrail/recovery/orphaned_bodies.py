"""What a worker leaves behind in a process that goes on: bodies that cannot be stopped; it beats for them and writes their ends."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

from jobtrail.errors import StoreUnavailable
from jobtrail.job import outcome as ends
from jobtrail.store import jobs
from jobtrail.worker.middleware import retry_middleware
from jobtrail.worker.run import clean_up
from jobtrail.worker.settlement import Ended, again, bare, settle

from . import spool
from .background_loop import Chore

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection

    from jobtrail.worker.run import Run
    from jobtrail.worker.session import Life
    from jobtrail.worker.worker import Worker

TURN = 0.25  # seconds
_log = logging.getLogger("jobtrail.worker")


class Afterlife:
    """From the moment when a worker has left until its last body has ended, or its process has.

    Where the event loop still turns, the run's own coroutine tells its end; where it does not, the thread of the
    body does, and the run of a coroutine, which can then never go on, is given back.
    """

    def __init__(self, worker: Worker, life: Life, living: Iterable[Run]) -> None:
        self._worker = worker
        self._life = life
        self._lock = threading.Lock()
        self._living = set(living)
        self._ended: list[Ended] = []
        self._owes = False
        self._chore = Chore("afterlife", self.run_once, TURN)
        for run in self._living:
            run.heir = self.over

    @property
    def kept(self) -> set[str]:
        """Jobs that keep their runs: the body lives, or its end is not written yet."""
        with self._lock:
            return {run.claim.id for run in self._living} | {one.move.job_id for one in self._ended}

    def start(self, *, owes: bool) -> bool:
        """Begin, if there is anything to wait for; ``owes`` where the store was away when the worker left."""
        self._owes = owes
        needed = owes or bool(self.kept)
        if needed:
            self._chore.start()
        return needed

    def over(self, run: Run, ended: ends.Ended) -> None:
        """A run's end, told by its coroutine; not yet where that was given up and the body's thread lives."""
        if run.thread is not None and not run.thread.ended:
            return
        with self._lock:
            if run not in self._living:
                return
            self._living.discard(run)
            self._ended.append(self._worker.decide(run, ended))

    def run_once(self) -> None:
        """One turn.

        Raises: StoreError while the store is away; nothing is lost by it.
        """
        kept = self.kept
        self._life.tick(sorted(kept)[:5], [])
        if self._owes:
            spool.replay(self._worker.store, self._worker.id)
            self._life.end(living=kept)
            self._owes = False
        self._hear_threads()
        self._write()
        if not self.kept:
            self._worker.close()
            self._life.end(living=set())
            self._chore.stop()

    # -- where the loop has ended ----------------------------------------------------------------------

    def _hear_threads(self) -> None:
        loop = self._worker.loop
        for run in list(self._living):
            told = run.coroutine is not None and not run.coroutine.done()
            if loop is None or (loop.is_running() and told):
                continue  # its coroutine will tell
            if run.thread is not None and run.thread.ended:
                self.over(run, self._end_of_thread(run))
            elif run.thread is None and loop.is_closed():
                self.over(run, ends.HandedBack("its event loop has ended before it"))

    def _end_of_thread(self, run: Run) -> ends.Ended:
        """What would have followed on the loop: the decision about a retry, and the clean-up."""
        with contextlib.suppress(BaseException):
            asyncio.run(_follow(run))
        return self._worker.understand(run, run.body_error)

    # -- to the store ------------------------------------------------------------------------------------

    def _write(self) -> None:
        while self._ended:
            one = self._ended[0]
            try:
                more = self._worker.store.write(partial(self._settle, one))
            except StoreUnavailable:
                self._worker.waiting.look(list(self._ended))
                raise
            except Exception as error:
                _log.exception("the end of job %s could not be stored as it is", one.move.job_id)
                more = bare(one, error)
            self._ended[:1] = [] if more is None else [more]
        self._worker.waiting.written()

    def _settle(self, one: Ended, conn: Connection) -> Ended | None:
        """Write an end; what is left of it where it was refused."""
        store, worker = self._worker.store, self._worker.id
        if not settle(conn, store, [one], worker, store.now()):
            return None
        return again(one, jobs.get(conn, one.move.job_id, lock=True), worker, store.now())


async def _follow(run: Run) -> None:
    async def body(_: Run) -> Any:
        thread = run.thread
        if thread is None:  # pragma: no cover - only bodies in threads come here
            return None
        run.body_value, run.body_error, run.body_ended = thread.value, thread.error, True
        if thread.error is not None:
            raise thread.error
        return thread.value

    try:
        await retry_middleware(run, body)
    finally:
        if run.ctx is not None:
            await clean_up(run, run.ctx)
