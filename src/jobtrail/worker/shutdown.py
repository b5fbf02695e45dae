"""How a worker leaves: it drains, cancels what can be cancelled, gives back what still runs; in bounded time."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from functools import partial
from typing import TYPE_CHECKING

from jobtrail.errors import StoreError
from jobtrail.job import outcome as ends
from jobtrail.recovery import spool
from jobtrail.recovery.orphaned_bodies import Afterlife

from .run import finish
from .settlement import Ended

if TYPE_CHECKING:
    from .run import Run
    from .worker import Worker

_log = logging.getLogger("jobtrail.worker")


class Leaving:
    """The end of one worker's life."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    async def run(self) -> None:
        """Drain, then cancel what can be cancelled, then hand back what still runs; bounded in time."""
        worker = self._worker
        worker._stopping = True
        worker.remote.processes.release()
        if worker.life is not None:
            await asyncio.to_thread(worker.life.stopping)
        await self._drain(worker.settings.graceful_shutdown_timeout, may_end_at_once=True)
        for run in list(worker.running.values()):
            run.leave()
        await self._drain(0.2 if worker._at_once else worker.settings.cancel_timeout)
        after = self._afterlife()
        for run in list(worker.running.values()):
            self._hand_back(run)
        written = await self._write_rest(after)
        await asyncio.to_thread(worker.remote.processes.close)
        if after is None or not after.start(owes=not written):
            worker.close()

    def _afterlife(self) -> Afterlife | None:
        """A process that leaves now takes its bodies with it; in any other they keep their runs until they end."""
        worker = self._worker
        if worker.life is None or worker.leaves_process:
            return None
        return Afterlife(worker, worker.life, [run for run in worker.running.values() if run.body_lives])

    async def _drain(self, seconds: float, *, may_end_at_once: bool = False) -> None:
        worker = self._worker
        end = time.monotonic() + seconds
        while (worker.running or worker._ended) and time.monotonic() < end:
            if may_end_at_once and worker._at_once:
                return
            worker._wanted.clear()
            if worker._ended:
                with contextlib.suppress(StoreError):
                    await worker.run_once()
                if worker.away is None:
                    continue
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(0.5, max(0.0, end - time.monotonic()))):
                    await worker._wanted.wait()

    def _hand_back(self, run: Run) -> None:
        """The body ignores everything: its records stand, the run is given back, what it still says is refused."""
        worker = self._worker
        worker.running.pop(run.claim.id, None)
        run.abandon()
        worker.abandoned.append(run)
        if run.heir is not None:
            return  # it keeps its run, or a second body would start beside it
        run.recorder.overtaken = True
        handed = ends.HandedBack("interrupted by shutdown")
        decided = finish(run, handed, worker.id, worker.store.now())
        worker._ended.append(Ended(decided.move, run.recorder.take_last()))

    async def _write_rest(self, after: Afterlife | None) -> bool:
        worker = self._worker
        living = after.kept if after is not None else set()
        for attempt in range(1, 6):
            try:
                await worker.run_once()
                if worker.life is not None:
                    await asyncio.to_thread(partial(worker.life.end, living=living))
            except StoreError as error:
                await worker._wait_out(error, attempt)
            else:
                return True
        kept = await asyncio.to_thread(spool.keep, worker.store, worker._ended)
        worker.waiting.written()  # the file of its life is not needed beside this one
        _log.error("the store stayed away; %d ends are kept in %s", len(worker._ended), kept)
        return False
