"""The worker: one turn settles what has ended and claims what there is room for; the rest repeats it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from jobtrail.commands.successors import Following
from jobtrail.database.wakeup import QUEUES, SUSPECT
from jobtrail.errors import AskSignal, JobTrailError, StopSignal, StoreError, StoreUnavailable, UnknownTask
from jobtrail.executors.local import LocalExecutor
from jobtrail.job import outcome as ends
from jobtrail.job import transitions as job_moves
from jobtrail.job.failure import describe
from jobtrail.job.ids import new_id
from jobtrail.job.items import failed_since
from jobtrail.job.json_value import decode
from jobtrail.job.model import StopCause
from jobtrail.job.retry import Retry
from jobtrail.recovery.heartbeat import TICK
from jobtrail.recovery.spool import Waiting
from jobtrail.runtime import log_capture
from jobtrail.runtime.recorder import Flusher, Prior, Recorder
from jobtrail.runtime.steps import StepKeeper
from jobtrail.store import items, jobs, queues, runs

from . import fault_injection
from .idle import Idle
from .middleware import compose, outermost, timeout_middleware
from .remote import Remote
from .run import Run, body, finish, options_of, perform, policy_of, refused_arguments, subject_of, understand
from .session import Life
from .settlement import Ended, again, bare, settle
from .shutdown import Leaving
from .slots import Slots

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from jobtrail.config import Settings
    from jobtrail.database.wakeup import Words
    from jobtrail.executors.base import Executor
    from jobtrail.job.model import Claim
    from jobtrail.job.task import Tasks
    from jobtrail.store import Store

    from .middleware import CallNext, Middleware

_log = logging.getLogger("jobtrail.worker")
BESIDE_ITSELF = 5.0  # seconds until a job is given again whose earlier body still lives in the process
NO_WORDS: Words = frozenset()
BACK_OFF = (0.1, 5.0)  # seconds: first and longest wait while the store is away


@dataclass(frozen=True, slots=True)
class Turn:
    """What one turn did."""

    settled: int
    claimed: int
    refused: int = 0


class Worker:
    """Executes jobs of some queues in this process, on the running event loop.

    ``queues`` maps a queue to its slots, or is a list of queues that share ``settings.slots``. ``beat`` is
    "thread", "child", or None for a worker of a test that nobody watches.
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
        beat: str | None = "thread",
        leaves_process: bool = False,
    ) -> None:
        self.store, self.tasks, self.settings = store, tasks, settings
        self.leaves_process = leaves_process
        self._slots = Slots(queues, settings.slots)
        self.queues, self.slots = self._slots.queues, self._slots.total
        self.life: Life | None = None
        if beat is not None:
            self.life = Life(store, tasks, settings, queues=self.queues, slots=self.slots, beat=beat)
        self.id = self.life.id if self.life is not None else new_id()
        self.state = state
        self.running: dict[str, Run] = {}
        self.flusher = Flusher(store, interval=settings.flush_interval)
        self.executor: Executor = LocalExecutor(self.slots)
        self.steps = StepKeeper(store, self._reached)
        self.remote = Remote(tasks, self.steps, settings, limit=self.slots)
        self._following = Following(tasks, settings)
        self.waiting = Waiting(store, self.id, settings.spool_after)
        self.away: str | None = None
        self.points = fault_injection.from_environment()
        self._middleware = list(middleware)
        self._chains: dict[tuple[str, bool], CallNext] = {}
        self._marks = jobs.Marks()
        self._idle = Idle(store, lambda: self._slots.open, settings.poll_interval)
        self._ended: list[Ended] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._wanted = asyncio.Event()
        self.loop: asyncio.AbstractEventLoop | None = None
        self._stopping = self._at_once = False
        self.abandoned: list[Run] = []
        self.ready, self._finished, self._over_for_threads = asyncio.Event(), asyncio.Event(), threading.Event()
        self._orders_at = float("-inf")
        self.seen: list[str] | None = None  # set by tests: the ids of the jobs that ran

    # -- the loop around the turns -------------------------------------------------------------------

    async def run(self, *, burst: bool = False, due_only: bool = False) -> None:
        """Work until `stop`; with ``burst`` until nothing waits any more, with ``due_only`` until nothing is due."""
        self.loop = asyncio.get_running_loop()
        log_capture.install()
        if self.life is not None:
            await asyncio.to_thread(self.life.begin)
        self.store.wake.subscribe(self.wake)
        listener = self.store.wake.listener(self._on_word)
        listener.start()
        self.flusher.start()
        ticking = self.loop.create_task(self._tick())
        self.ready.set()
        await self._look_at_queues()
        try:
            await self._work(burst=burst, due_only=due_only)
        finally:
            await Leaving(self).run()
            ticking.cancel()
            listener.stop()
            self.store.wake.unsubscribe(self.wake)
            self._finished.set()
            self._over_for_threads.set()

    async def _work(self, *, burst: bool, due_only: bool) -> None:
        failures = 0
        while not self._stopping:
            self._wanted.clear()
            try:
                turn = await self.run_once()
                failures = 0
            except Exception as error:
                if burst and not isinstance(error, StoreError):
                    raise
                failures += 1
                await self._wait_out(error, failures)
                continue
            await self._compare()
            if burst and turn.claimed == 0 and await self._nothing_left(due_only=due_only):
                return
            if turn.claimed == 0 or self._slots.free == 0:
                await self._wait()

    async def _compare(self) -> None:
        """Do store and worker believe in the same runs? Bodies whose run was given away are told to stop."""
        if self.life is None or not self.life.comparison_due():
            return
        running = {run.claim.id: run.claim.run_no for run in self.running.values()}
        ended = {one.move.job_id for one in self._ended}
        await self._look_at_queues()
        with contextlib.suppress(StoreError):
            found = await asyncio.to_thread(self.life.compare, running, ended)
            self.id = self.life.id
            for job_id in found.overtaken:
                run = self.running.get(job_id)
                if run is not None and run.claim.run_no == running[job_id]:
                    run.overtake()

    async def _tick(self) -> None:
        """Say once a second that the loop turns, and look for bodies that give no sign of life."""
        while True:
            try:
                if self.life is not None:
                    self._say_what_is_lost(self.life)
                    self.life.tick(list(self.running)[:5], self.children())
                for run in list(self.running.values()):
                    self._stop_where_stuck(run)
            except Exception:
                _log.exception("a tick of the worker failed; the next one follows")
            await asyncio.sleep(TICK)

    def _say_what_is_lost(self, life: Life) -> None:
        patience = self.settings.cancel_timeout
        lost = [job for job, run in self.running.items() if run.asked_at is not None and run.ignores_stop(patience)]
        life.condition.slots_lost(lost, self.slots)

    def _stop_where_stuck(self, run: Run) -> None:
        limit = run.task.stall_timeout
        if limit is not None and run.stop.cause is None and run.silent_for() > limit:
            run.request_stop(StopCause.STALL)

    def children(self) -> list[int]:
        """Process ids of executor children, to be ended when this process is gone."""
        return self.remote.processes.pids()

    async def _wait(self) -> None:
        if self._ended:
            # Bodies that end in the same moment are settled together.
            await asyncio.sleep(0)
            return
        may_claim = not self._stopping and self._slots.free > 0
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(await self._idle.seconds() if may_claim else self.settings.poll_interval):
                await self._wanted.wait()

    async def _wait_out(self, error: Exception, failures: int) -> None:
        if self.away is None and isinstance(error, StoreError):
            _log.error("the store is away, running jobs go on and nothing new is claimed: %s", error)
        elif self.away is None:
            _log.error("a turn of the worker failed and is repeated", exc_info=error)
        if self.away is None and self.life is not None and isinstance(error, StoreError):
            self.life.condition.away(str(error) or type(error).__name__)
        self.away = str(error) or type(error).__name__
        await asyncio.to_thread(self.waiting.look, list(self._ended))
        first, longest = BACK_OFF
        delay = min(longest, first * 2 ** min(failures, 10)) * random.uniform(0.5, 1.0)  # noqa: S311 - jitter
        await asyncio.sleep(delay)

    async def _nothing_left(self, *, due_only: bool) -> bool:
        if self.running or self._ended or self._tasks:
            return False
        return not await asyncio.to_thread(self._something_waits, due_only=due_only)

    def _something_waits(self, *, due_only: bool) -> bool:
        with self.store.read() as conn:
            return jobs.something_waits(conn, self._slots.open, self.store.now() if due_only else None)

    def _on_word(self, words: Words) -> None:
        self.wake(words)
        if self.life is not None:
            self.life.listen(words)

    def wake(self, words: Words = NO_WORDS) -> None:
        """There may be something to do; may be called from any thread."""
        if SUSPECT in words:
            self._slots.look_again()
        loop = self.loop
        if QUEUES in words and loop is not None:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(lambda: self._keep(loop.create_task(self._look_at_queues())))
        if loop is not None:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._wanted.set)

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _look_at_queues(self) -> None:
        """Which queues has somebody paused?"""
        with contextlib.suppress(StoreError):
            self._slots.paused = await asyncio.to_thread(self._paused_queues)
        self._wanted.set()

    def _paused_queues(self) -> frozenset[str]:
        with self.store.read() as conn:
            return frozenset(queues.paused(conn))

    def stop(self) -> None:
        """Claim nothing more; `run` drains and returns."""
        self._stopping = True
        self.wake()

    def bodies_live(self) -> bool:
        """Do bodies still run here that were given away and cannot be ended?"""
        return any(run.body_lives for run in self.abandoned)

    def wait_finished(self, timeout: float) -> bool:
        """Wait in another thread until `run` has returned, at most ``timeout`` seconds."""
        return self._over_for_threads.wait(timeout)

    def close(self) -> None:
        """Let go of the threads; nothing runs any more."""
        self.flusher.stop()
        self.executor.close()

    async def hand_back_all(self) -> None:
        """Stop without draining: what runs is given back, uncharged, and `run` returns."""
        self._at_once = True
        self.stop()
        await self._finished.wait()

    # -- one turn ------------------------------------------------------------------------------------

    async def run_once(self) -> Turn:
        """Write the ends that there are and start what there is room for, in one transaction.

        Raises: StoreError when the store is away; the ends are kept and written by a later turn.
        """
        ended, self._ended = self._ended, []
        wants = [] if self._stopping else self._slots.wants()
        orders = self._orders_due()
        if not ended and not wants and not orders:
            return Turn(0, 0)
        settles = self.points is not None and any(one.run is not None for one in ended)
        if settles:
            self._reached("before_settle")
        write = self.store.awrite(
            partial(self._write_turn, ended=ended, wants=wants, orders=orders),
            one_statement=self._is_one_statement(ended, wants, orders=orders),
        )
        try:
            refused, claims, told = await write
        except (StoreUnavailable, asyncio.CancelledError):
            # Whether it was written is not known; a second time it is refused where it was.
            self._ended = ended + self._ended
            raise
        except Exception:
            if not ended:
                raise
            _log.exception("writing %d ends at once failed; each is written alone", len(ended))
            await self._write_alone(ended)
            return Turn(len(ended), 0)
        if settles:
            self._reached("settle_answer_lost")
        if claims:
            self._reached("claim_answer_lost")
        self._is_back()
        for one in refused:
            self._on_refused(one)
        for claim in claims:
            self._start(claim)
        self._on_told(told)
        if settles:
            self._reached("after_settle")
        return Turn(len(ended) - len(refused), len(claims), len(refused))

    def _reached(self, point: str) -> None:
        if self.points is not None:
            self.points(point)

    def _is_one_statement(self, ended: list[Ended], wants: list[tuple[str, int]], *, orders: bool) -> bool:
        return not ended and not orders and len(wants) == 1 and not self._suspect_due()

    def _is_back(self) -> None:
        if self.away is not None:
            _log.warning("the store is back")
            self.away = None
            self.waiting.written()
            if self.life is not None:
                self.life.condition.back()

    def _suspect_due(self) -> bool:
        """One that has ended and is not written yet still counts: if the process dies now, both are lost in it."""
        running = any(run.claim.suspect for run in list(self.running.values()))
        unwritten = any(one.run is not None and one.run.claim.suspect for one in list(self._ended))
        return self._slots.look_due(holds_suspect=running or unwritten)

    def _orders_due(self) -> bool:
        now = time.monotonic()
        if not self.running or now - self._orders_at < self.settings.poll_interval:
            return False
        self._orders_at = now
        return True

    def _write_turn(
        self, conn: Connection, ended: list[Ended], wants: list[tuple[str, int]], orders: bool
    ) -> tuple[list[Ended], list[Claim], list[tuple[str, int, str | None]]]:
        now = self.store.now()
        refused = settle(conn, self.store, ended, self.id, now) if ended else []
        claims: list[Claim] = []
        room = self._slots.portion
        if wants and room > 0 and self._suspect_due():
            self._slots.looked()
            claims += jobs.claim_suspect(conn, self.store.dialect, [queue for queue, _ in wants], self.id, now)
            room -= len(claims)
        for queue, free in wants:
            if room > 0:
                found = jobs.claim(
                    conn, self.store.dialect, queue, min(free, room), self.id, now, self._marks, time.monotonic()
                )
                claims += found
                room -= len(found)
        told = jobs.asked_to_stop(conn, self.id) if orders else []
        return refused, claims, told

    async def _write_alone(self, ended: list[Ended]) -> None:
        for one in ended:
            try:
                refused, _, _ = await self.store.awrite(partial(self._write_turn, ended=[one], wants=[], orders=False))
            except StoreUnavailable:
                self._ended.append(one)
                continue
            except Exception as error:
                _log.exception("the end of job %s could not be stored as it is", one.move.job_id)
                self._ended.append(bare(one, error))
                continue
            for other in refused:
                self._on_refused(other)

    # -- what the store answered -----------------------------------------------------------------------

    def _on_refused(self, one: Ended) -> None:
        """The row was in another state: asked to stop meanwhile, written already, or owned by a newer run."""
        if one.run is None or one.ended is None:
            return
        task = asyncio.get_running_loop().create_task(self._decide_again(one))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _decide_again(self, one: Ended) -> None:
        def read() -> Any:
            with self.store.read() as conn:
                return jobs.get(conn, one.move.job_id)

        try:
            row = await asyncio.to_thread(read)
        except StoreError:
            self._end(one)
            return
        decided = again(one, row, self.id, self.store.now())
        if decided is not None:
            self._end(decided)

    def _on_told(self, told: list[tuple[str, int, str | None]]) -> None:
        for job_id, run_no, cause in told:
            run = self.running.get(job_id)
            if run is not None and run.claim.run_no == run_no and run.stop.cause is None:
                run.on_stop = None  # the store knows already
                run.request_stop(StopCause(cause or "cancel"))

    # -- one run -------------------------------------------------------------------------------------

    def _start(self, claim: Claim) -> None:
        """Begin a run; whatever is wrong with it, the others of the same claim begin too."""
        try:
            self._begin(claim)
        except Exception as error:
            _log.exception("job %s could not be begun", claim.id)
            self.running.pop(claim.id, None)
            ended = refused_arguments(error)
            move = ends.decide(subject_of(claim, self.id), ended, ends.NO_ITEMS, Retry(), self.store.now())
            self._end(Ended(move))

    def _begin(self, claim: Claim) -> None:
        if claim.id in self.running:
            self._not_beside_itself(claim)
            return
        task = self.tasks.find(claim.task)
        if task is None:
            self._not_known(claim)
            return
        options = options_of(claim)
        run = Run(
            claim=claim,
            task=task,
            arguments={},
            policy=policy_of(task, options),
            timeout=options.get("timeout", task.timeout),
            recorder=Recorder(claim, self.flusher, log_limit=self.settings.log_limit, points=self.points),
            executor=self.executor,
            following=self._following,
            remote=self.remote if task.executor == "process" else None,
            on_stop=self._stop_requested,
        )
        self.running[claim.id] = run
        if self.seen is not None:
            self.seen.append(claim.id)
        self._slots.take(claim.queue)
        # Held by `running` until its end is decided, so that nothing collects it.
        run.coroutine = asyncio.get_running_loop().create_task(self._perform(run))

    async def _perform(self, run: Run) -> None:
        claim = run.claim
        ended: ends.Ended
        self._reached("claimed")
        try:
            if not claim.fresh:
                await asyncio.to_thread(self._recall, run)
            try:
                run.arguments = run.task.signature.bind(run.task.name, (), decode(claim.args))
            except (JobTrailError, ValueError) as error:
                ended = refused_arguments(error)
            else:
                raised = await perform(run, self._chain(run), self.steps, self.state)
                ended = self.understand(run, raised)
        except BaseException as unexpected:
            ended = self.understand(run, unexpected)
        (run.heir or self._over)(run, ended)

    def understand(self, run: Run, error: BaseException | None) -> ends.Ended:
        """What the end of a body means here."""
        left = (run.task.is_async or not run.body_begun) and not isinstance(error, (AskSignal, type(None)))
        stopped = left or isinstance(error, StopSignal)
        if stopped and run.stop.shutdown and run.stop.cause is None:
            return ends.HandedBack("interrupted by shutdown")
        if isinstance(error, StoreError) and not run.body_ended:
            return ends.HandedBack(f"the store was away: {error}")
        return understand(run, error, self.settings)

    def _not_beside_itself(self, claim: Claim) -> None:
        """The store gave the job away while its body lives here, and back to us: not before that body has ended."""
        reason = "the body of an earlier run still ends in this worker"
        at = self.store.now() + timedelta(seconds=BESIDE_ITSELF)
        self._end(Ended(job_moves.handed_back(subject_of(claim, self.id), at, reason=reason)))

    def _over(self, run: Run, ended: ends.Ended) -> None:
        claim = run.claim
        if self.running.get(claim.id) is run:
            del self.running[claim.id]
        if claim.suspect:
            self._slots.look_again()  # it has ended in order, so the next one need not wait
        self._slots.give_back(claim.queue)
        self._end(self.decide(run, ended))

    def decide(self, run: Run, ended: ends.Ended) -> Ended:
        """A run's end with its last records, ready to be written."""
        decided = finish(run, ended, self.id, self.store.now())
        self.flusher.forget(run.recorder)
        records = run.recorder.take_last()
        ledger = (run.claim.ledger, decided.ledger_counts) if run.claim.unit else None
        return Ended(decided.move, records, ledger, run, ended)

    def _end(self, one: Ended) -> None:
        self._ended.append(one)
        self._wanted.set()

    def _recall(self, run: Run) -> None:
        """What earlier runs recorded: items of the telling, and where the log goes on."""
        claim = run.claim
        with self.store.read() as conn:
            rows = items.of_ledger(conn, claim.ledger)
            kept_log = runs.log_sizes(conn, claim.id)
        run.recorder = Recorder(
            claim,
            self.flusher,
            log_limit=self.settings.log_limit,
            kept_log=kept_log,
            prior=Prior.of(rows, claim.id, failed_since(claim.continues)),
            points=self.points,
        )

    def _chain(self, run: Run) -> CallNext:
        task, limited = run.task, run.timeout is not None or run.task.stall_timeout is not None
        if task.middleware or self._middleware:
            run.hook_timeout = self.settings.hook_timeout
        chain = self._chains.get((task.name, limited))
        if chain is None:
            limits = [timeout_middleware] if limited else []
            layers = [*outermost(), *limits, *self._middleware, *task.middleware]
            chain = self._chains[task.name, limited] = compose(layers, body)
        return chain

    def _not_known(self, claim: Claim) -> None:
        final = claim.put_backs >= self.settings.put_back_limit
        failure = describe(UnknownTask(f"unknown task: no worker knows '{claim.task}'"))
        ended = ends.NotKnownHere(failure.to_json(), failure.fingerprint, self.settings.put_back_delay, final)
        if claim.put_backs == 0:
            _log.warning("job %s asks for the task '%s', which this worker does not know", claim.id, claim.task)
        move = ends.decide(subject_of(claim, self.id), ended, ends.NO_ITEMS, Retry(), self.store.now())
        self._end(Ended(move))

    def _stop_requested(self, run: Run) -> None:
        """A limit has passed here: the row says so before the body has ended."""
        cause = StopCause(run.stop.cause or "timeout")
        job = replace(subject_of(run.claim, self.id), stop_cause=None)
        move = job_moves.stop_requested(job, self.store.now(), cause=cause, actor="engine", reason=f"{cause} limit")
        line = None
        if cause is StopCause.STALL:
            line = ("stuck", f"no sign of life for {run.silent_for():.0f} s")
        self._end(Ended(move, line=line))
