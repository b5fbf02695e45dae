"""The shutdown of a worker: drain, cancel what can be cancelled, hand back what still runs; in bounded time."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from jobtrail.errors import StoreError
from jobtrail.messages import Message
from jobtrail.recovery.orphaned_bodies import OrphanedBodies

from .middleware import retry_middleware
from .perform import clean_up
from .understand import shut_down

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobtrail.config import Settings
    from jobtrail.job.outcome import BodyOutcome
    from jobtrail.recovery.run_end import RunEnd
    from jobtrail.store import Store

    from .executors import WorkerExecutors
    from .run import Run
    from .run_starter import RunStarter
    from .session import WorkerSession
    from .turns import Turns

_log = logging.getLogger("jobtrail.worker")


class Shutdown:
    """The end of one worker.

    Args:
        store, settings: the application's; ``graceful_shutdown_timeout`` and ``cancel_timeout`` are in seconds.
        turns: write the last ends.
        runs: what still runs.
        session: the worker's session; None for a worker of a test that nobody watches.
        executors: what runs bodies; it is ended.
        leaves_process: whether the process ends with the worker, and every body with it.
        at_once: tells whether the drain is skipped, asked again and again.
        close: called when no body runs any more.

    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        turns: Turns,
        runs: RunStarter,
        session: WorkerSession | None,
        executors: WorkerExecutors,
        *,
        leaves_process: bool,
        at_once: Callable[[], bool],
        close: Callable[[], None],
    ) -> None:
        self.abandoned: list[Run] = []
        self._store, self._settings = store, settings
        self._turns, self._runs, self._session, self._executors = turns, runs, session, executors
        self._leaves_process = leaves_process
        self._at_once = at_once
        self._close = close

    async def run(self) -> None:
        """Shut the worker down; returns when its ends are written, or kept in the spool."""
        self._turns.claims_nothing = True
        self._executors.release()
        if self._session is not None:
            await asyncio.to_thread(self._session.stopping)
        await self._drain(self._settings.graceful_shutdown_timeout, may_end_at_once=True)
        for run in list(self._runs.running.values()):
            run.leave()
        await self._drain(0.2 if self._at_once() else self._settings.cancel_timeout)
        orphans = self._orphans()
        for run in list(self._runs.running.values()):
            self._hand_back(run)
        written = await self._write_rest(orphans)
        await asyncio.to_thread(self._executors.close)
        if orphans is None or not orphans.start(owes=not written):
            self._close()

    def _orphans(self) -> OrphanedBodies | None:
        """The bodies that keep their runs until they end; none where the process ends now and takes them with it."""
        session = self._session
        if session is None or self._leaves_process:
            return None
        loop = asyncio.get_running_loop()
        bodies = [OrphanedRun(run, self._runs, loop) for run in self._runs.running.values() if run.body_lives]
        return OrphanedBodies(self._store, session, self._turns.writer, bodies, self._close)

    async def _drain(self, seconds: float, *, may_end_at_once: bool = False) -> None:
        turns, end = self._turns, time.monotonic() + seconds
        while (self._runs.running or turns.ends) and time.monotonic() < end:
            if may_end_at_once and self._at_once():
                return
            turns.wanted.clear()
            if turns.ends:
                with contextlib.suppress(StoreError):
                    await turns.run_once()
                if turns.away is None:
                    continue
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(0.5, max(0.0, end - time.monotonic()))):
                    await turns.wanted.wait()

    def _hand_back(self, run: Run) -> None:
        """The body cannot be stopped: its records count, its run is handed back, what it still reports is refused."""
        self._runs.running.pop(run.claim.id, None)
        run.abandon()
        self.abandoned.append(run)
        if run.on_orphaned_end is not None:
            return  # it keeps its run, or a second body would start beside it
        run.recorder.overtaken = True
        end = self._runs.decide(run, shut_down(run, Message("worker.shutdown")), body_over=False)
        self._turns.ends.append(end)

    async def _write_rest(self, orphans: OrphanedBodies | None) -> bool:
        turns = self._turns
        living = orphans.kept if orphans is not None else set()
        for attempt in range(1, 6):
            try:
                await self._write_all()
                if self._session is not None:
                    await asyncio.to_thread(partial(self._session.end, living=living))
            except StoreError as error:
                await turns.wait_out(error, attempt)
            else:
                return True
        ends = turns.unwritten
        kept = await asyncio.to_thread(turns.writer.leave, turns.ends)
        _log.error("the store does not take %d ends of runs; they are kept in %s", len(ends), kept)
        return False

    async def _write_all(self) -> None:
        """Raises: StoreError while there are ends that are not written."""
        await self._turns.run_once()
        await asyncio.to_thread(partial(self._turns.writer.retry_stuck, now=float("inf")))
        left = self._turns.unwritten
        if left:
            raise StoreError(Message("worker.ends-not-written", count=len(left)))


class OrphanedRun:
    """A run whose body goes on after its worker has ended; an `OrphanedBody`.

    Where the event loop still turns, the run's own coroutine gives its end. Where it does not, the thread of the body
    does; the run of a coroutine, which can never go on then, is handed back.
    """

    def __init__(self, run: Run, runs: RunStarter, loop: asyncio.AbstractEventLoop) -> None:
        self._run = run
        self._runs = runs
        self._loop = loop
        self._lock = threading.Lock()
        self._end: RunEnd | None = None
        run.on_orphaned_end = self._over

    @property
    def job_id(self) -> str:
        """Its job."""
        return self._run.claim.id

    def _over(self, run: Run, outcome: BodyOutcome) -> None:
        """The run's coroutine has ended; not its body, where that is in a thread which goes on."""
        if run.thread is not None and not run.thread.ended:
            return
        with self._lock:
            if self._end is None:
                self._end = self._runs.decide(run, outcome)

    def end(self) -> RunEnd | None:
        """Its end, None as long as the body runs."""
        run, loop = self._run, self._loop
        waits = run.coroutine is not None and not run.coroutine.done()
        if self._end is None and not (loop.is_running() and waits):
            if run.thread is not None and run.thread.ended:
                self._over(run, self._end_of_thread())
            elif run.thread is None and loop.is_closed():
                self._over(run, shut_down(run, Message("worker.loop-ended")))
        return self._end

    def _end_of_thread(self) -> BodyOutcome:
        """Do what would have followed on the loop: the decision about a retry, and the clean-up."""
        run = self._run
        with contextlib.suppress(BaseException):
            asyncio.run(_follow(run))
        return self._runs.understand(run, run.body_error)


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
