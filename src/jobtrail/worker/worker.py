"""The worker: an event loop that repeats turns until it is stopped, and ends in bounded time."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from typing import TYPE_CHECKING, Any

from jobtrail.database.wakeup import QUEUES, SUSPECT
from jobtrail.errors import StoreError, StoreUnavailable
from jobtrail.executors.hooks import Hooks
from jobtrail.job.model import StopCause, new_id
from jobtrail.recovery import upkeep
from jobtrail.recovery.heartbeat import TICK
from jobtrail.runtime import log_capture
from jobtrail.runtime.recorder import Flusher
from jobtrail.runtime.steps import StepKeeper
from jobtrail.store import jobs, queues
from jobtrail.store.limits.claims import LimitedClaims

from .claiming.idle import Idle
from .claiming.slots import Slots
from .executors import WorkerExecutors
from .run_starter import RunStarter
from .session import WorkerSession
from .shutdown import Shutdown
from .turns import Turns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jobtrail.commands.service import Service
    from jobtrail.config import Settings
    from jobtrail.database.wakeup import Listener, Words
    from jobtrail.executors.registry import Executors
    from jobtrail.job.task import Tasks
    from jobtrail.store import Store

    from .handed.host import JobHost
    from .middleware import Middleware
    from .run import Run
    from .turns import WorkerTurn

_log = logging.getLogger("jobtrail.worker")
NO_WORDS: Words = frozenset()
NO_HOOKS = Hooks()


class Worker:
    """Executes jobs of some queues in this process, on the running event loop.

    Args:
        store, tasks, settings: the application's.
        queues: queue names that share ``settings.slots`` slots, or a mapping of queue to its own number of slots.
        middleware: around every body, the outermost first.
        state: the application's services, which a body reaches as ``ctx.state``.
        beat: "thread" or "child", the place of the heartbeat; None for a worker of a test that nobody watches.
        leaves_process: whether the process ends with the worker, so that bodies that cannot be stopped end too.
        outside: the application's executors beside those that a worker makes for itself.
        host: where the jobs of this worker come from, instead of queues.
        leads: whether it looks after lost jobs and removes old ones; a process of many on a host may leave that to others.

    """

    def __init__(
        self,
        store: Store,
        tasks: Tasks,
        settings: Settings,
        *,
        queues: Sequence[str] | Mapping[str, int] = ("default",),
        middleware: Sequence[Middleware] = (),
        state: Any = None,
        hooks: Hooks = NO_HOOKS,
        beat: str | None = "thread",
        leaves_process: bool = False,
        outside: Executors | None = None,
        host: JobHost | None = None,
        leads: bool = True,
    ) -> None:
        self.store, self.settings, self._hooks = store, settings, hooks
        self._slots = Slots(queues, settings.slots)
        self.queues, self.slots = self._slots.queues, self._slots.total
        self.session: WorkerSession | None = None
        if beat is not None:
            self.session = WorkerSession(
                store, tasks, settings, queues=self.queues, slots=self.slots if host is None else host.slots, beat=beat,
                leads=leads, executor=None if host is None else host.actor,
            )  # fmt: skip
        self._own_id, steps = new_id(), StepKeeper(store)
        self.flusher = Flusher(store, interval=settings.flush_interval)
        self.executors = WorkerExecutors(
            tasks, steps, settings, self.slots, outside, host.seats if host is not None else None, hooks.imports
        )
        self.runs = RunStarter(
            store, tasks, settings, self._slots, self._identity,
            flusher=self.flusher, executors=self.executors, steps=steps, middleware=middleware, state=state, hook=hooks.around_body,
        )  # fmt: skip
        limits = LimitedClaims(lambda: bool(tasks.limits), store.now)
        self.turns = Turns(store, settings, self._slots, self.runs, self._identity, limits)
        if host is not None:
            self.turns.tickets, self.turns.on_written = host.tickets, host.written
        if self.session is not None:
            self.turns.condition = self.session.condition
        self.condition = self.turns.condition
        self._shutdown = Shutdown(
            store, settings, self.turns, self.runs, self.session, self.executors,
            leaves_process=leaves_process, at_once=lambda: self._at_once, close=self.close,
        )  # fmt: skip
        self._idle = Idle(store, lambda: self._slots.open, settings.poll_interval, lambda: limits.next_at)
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._at_once = False
        self.ready, self._finished, self._over_for_threads = asyncio.Event(), asyncio.Event(), threading.Event()

    @classmethod
    def of_service(
        cls,
        service: Service,
        middleware: Sequence[Middleware],
        state: Any,
        *,
        slots: int | None = None,
        end_blocked: bool | None = None,
        **options: Any,
    ) -> Worker:
        """Make a worker of an application; ``slots`` and ``end_blocked`` take the place of the settings."""
        given = {"slots": slots, "end_blocked": end_blocked}
        settings = service.settings.with_values(**{name: value for name, value in given.items() if value is not None})
        made = cls(
            service.store, service.tasks, settings, middleware=middleware, state=state, hooks=service.hooks, **options
        )
        if made.session is not None:
            made.session.retention.announces = service.announces
        return made

    @property
    def id(self) -> str:
        """Its id; a new one since it was declared dead while it lived."""
        return self._identity()

    def _identity(self) -> str:
        return self.session.id if self.session is not None else self._own_id

    @property
    def running(self) -> dict[str, Run]:
        """The runs by job id."""
        return self.runs.running

    def children(self) -> list[int]:
        """Process ids of executor children, which the beat child ends when this process is gone."""
        return self.executors.pids()

    # -- the loop around the turns -------------------------------------------------------------------

    async def run(self, *, burst: bool = False, due_only: bool = False) -> None:
        """Work until `stop`; with ``burst`` until no job waits any more, with ``due_only`` until none is due."""
        self._loop = asyncio.get_running_loop()
        log_capture.install()
        if self._hooks.on_worker_start is not None:
            await self._hooks.on_worker_start()
        if self.session is not None:
            await asyncio.to_thread(self.session.begin)
        self.store.wake.subscribe(self.wake)
        listener = self.store.wake.listener(self._on_word)
        listener.start()
        self.flusher.start()
        ticking = self._loop.create_task(self._tick(listener))
        self.ready.set()
        await self._look_at_queues()
        try:
            await self._work(burst=burst, due_only=due_only)
        finally:
            await self._shutdown.run()
            await self._stopped()
            ticking.cancel()
            listener.stop()
            self.store.wake.unsubscribe(self.wake)
            self._finished.set()
            self._over_for_threads.set()

    async def _stopped(self) -> None:
        """Call the hook for the end of a worker; what it raises, or that it takes too long, keeps no worker from ending."""
        if self._hooks.on_worker_stop is not None:
            try:
                await asyncio.wait_for(self._hooks.on_worker_stop(), self.settings.hook_timeout)
            except Exception:
                _log.exception("on_worker_stop raised, or took longer than %s s", self.settings.hook_timeout)

    async def run_once(self) -> WorkerTurn:
        """One turn: `Turns.run_once`."""
        return await self.turns.run_once()

    async def _work(self, *, burst: bool, due_only: bool) -> None:
        failures = 0
        while not self.turns.claims_nothing:
            self.turns.wanted.clear()
            try:
                turn = await self.turns.run_once()
                failures = 0
            except Exception as error:
                if burst and not isinstance(error, StoreError):
                    raise
                failures += 1
                await self.turns.wait_out(error, failures)
                continue
            await self._compare()
            if burst and turn.claimed == 0 and await self._nothing_left(due_only=due_only):
                return
            if turn.claimed == 0 or self._slots.free == 0:
                await self._wait()

    async def _compare(self) -> None:
        """Compare the runs of the store with those held here, at every beat; stop bodies whose run was given away."""
        if self.turns.writer.stuck:
            with self.condition.tolerate("stuck ends"):
                await asyncio.to_thread(self.turns.writer.retry_stuck)
        if self.session is None or not self.session.comparison_due():
            return
        running = {run.claim.id: run.claim.run_no for run in self.running.values()}
        ended = {one.job_id for one in self.turns.unwritten}
        await self._look_at_queues()
        with self.condition.tolerate("comparison"):
            found = await asyncio.to_thread(self.session.compare, running, ended)
            for job_id in found.overtaken:
                run = self.running.get(job_id)
                if run is not None and run.claim.run_no == running[job_id]:
                    run.overtake()

    async def _tick(self, listener: Listener) -> None:
        """Tell the beat once a second that the loop turns, and look for bodies that give no sign of life."""
        while True:
            self.condition.report("listener", listener.failing)
            self.condition.report("flusher", self.flusher.failing)
            with self.condition.tolerate("tick"):
                if self.session is not None:
                    self._report_lost_slots(self.session)
                    self.session.tick(list(self.running)[:5], self.children())
                for run in list(self.running.values()):
                    self._stop_where_stuck(run)
            await asyncio.sleep(TICK)

    def _report_lost_slots(self, session: WorkerSession) -> None:
        patience = self.settings.cancel_timeout
        lost = [job for job, run in self.running.items() if run.asked_at is not None and run.ignores_stop(patience)]
        session.condition.slots_lost(lost, self.slots)

    @staticmethod
    def _stop_where_stuck(run: Run) -> None:
        limit = run.task.stall_timeout
        if limit is not None and run.limits_count and run.stop.cause is None and run.silent_for() > limit:
            run.request_stop(StopCause.STALL)

    async def _wait(self) -> None:
        if self.turns.ends:
            # Bodies that end in the same moment are settled together.
            await asyncio.sleep(0)
            return
        seconds = self.settings.poll_interval
        if not self.turns.claims_nothing and self._slots.free > 0:
            with self.condition.tolerate("look for the next job"):
                seconds = await self._idle.seconds()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.turns.wanted.wait()

    async def _nothing_left(self, *, due_only: bool) -> bool:
        if self.running or self.turns.unwritten or self._tasks:
            return False
        with contextlib.suppress(StoreUnavailable):
            return not await asyncio.to_thread(self._something_waits, due_only=due_only)
        return False

    def _something_waits(self, *, due_only: bool) -> bool:
        if upkeep.release(self.store):
            return True
        with self.store.read() as conn:
            waits = jobs.something_waits(conn, self._slots.open, self.store.now() if due_only else None)
        return waits or self.turns.limits.due

    # -- woken and stopped ---------------------------------------------------------------------------

    def _on_word(self, words: Words) -> None:
        self.wake(words)
        if self.session is not None:
            self.session.listen(words)

    def wake(self, words: Words = NO_WORDS) -> None:
        """There may be something to do; may be called from any thread."""
        if SUSPECT in words:
            self._slots.look_again()
        loop = self._loop
        if QUEUES in words and loop is not None:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(lambda: self._keep(loop.create_task(self._look_at_queues())))
        if loop is not None:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self.turns.wanted.set)

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _look_at_queues(self) -> None:
        """Load which queues are paused."""
        with self.condition.tolerate("look at the queues"):
            self._slots.paused = await asyncio.to_thread(self._paused_queues)
        self.turns.wanted.set()

    @property
    def paused_queues(self) -> frozenset[str]:
        """The queues that are paused, as last seen."""
        return self._slots.paused

    def _paused_queues(self) -> frozenset[str]:
        with self.store.read() as conn:
            return frozenset(queues.paused(conn))

    def stop(self) -> None:
        """Claim nothing more; `run` drains and returns."""
        self.turns.claims_nothing = True
        self.wake()

    async def hand_back_all(self) -> None:
        """Stop without draining: what runs is handed back, uncharged, and `run` returns."""
        self._at_once = True
        self.stop()
        await self._finished.wait()

    def bodies_live(self) -> bool:
        """Whether bodies still run here that were handed back and cannot be ended."""
        return any(run.body_lives for run in self._shutdown.abandoned)

    def wait_finished(self, timeout: float) -> bool:
        """Wait in another thread until `run` has returned, at most ``timeout`` seconds."""
        return self._over_for_threads.wait(timeout)

    def close(self) -> None:
        """Let the threads go; nothing runs any more."""
        self.flusher.stop()
        self.executors.local.close()
