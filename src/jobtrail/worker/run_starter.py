"""From a claim to a running body, and from its end to the value that is written."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from jobtrail.errors import JobTrailError, UnknownTask
from jobtrail.executors import process_state
from jobtrail.job import outcome as outcomes
from jobtrail.job import transitions
from jobtrail.job.failure import describe, forget_frames
from jobtrail.job.json_value import decode
from jobtrail.job.model import StopCause
from jobtrail.messages import Message
from jobtrail.recovery.run_end import RunEnd
from jobtrail.runtime.recorder import Prior, Recorder
from jobtrail.runtime.successor_maker import SuccessorMaker
from jobtrail.store import items, runs

from .decide import decide, decide_without_run, subject_of
from .middleware import compose, outermost, timeout_middleware
from .perform import body, perform, policy_of
from .run import Run
from .understand import refused_arguments, understand

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jobtrail.config import Settings
    from jobtrail.executors.hooks import BodyHook
    from jobtrail.job.model import Claim
    from jobtrail.job.outcome import BodyOutcome
    from jobtrail.job.task import Tasks
    from jobtrail.runtime.recorder import Flusher
    from jobtrail.runtime.steps import StepStore
    from jobtrail.store import Store

    from .claiming.slots import Slots
    from .executors import WorkerExecutors
    from .middleware import Middleware
    from .run import CallNext

_log = logging.getLogger("jobtrail.worker")
BESIDE_ITSELF = 5.0  # seconds until a job is given again whose earlier body still runs in the process


class RunStarter:
    """Starts the claims of one worker and decides their ends.

    Args:
        store, tasks, settings: the application's.
        slots: the worker's slots; each run takes one.
        identity: gives the worker's id.
        flusher: writes what the runs report.
        executors: where bodies run.
        steps: where steps are kept.
        middleware: around every body, the outermost first.
        state: the application's services.
        hook: the application's hook around each body.

    """

    def __init__(
        self,
        store: Store,
        tasks: Tasks,
        settings: Settings,
        slots: Slots,
        identity: Callable[[], str],
        *,
        flusher: Flusher,
        executors: WorkerExecutors,
        steps: StepStore,
        middleware: Sequence[Middleware],
        state: Any,
        hook: BodyHook | None = None,
    ) -> None:
        self.running: dict[str, Run] = {}
        self.started: list[str] | None = None  # set by tests: the ids of the jobs that ran
        self.on_end: Callable[[RunEnd], None] = _nowhere
        self._store, self.tasks, self._settings, self._slots = store, tasks, settings, slots
        self._identity = identity
        self._flusher = flusher
        self._executors = executors
        self._steps = steps
        self._middleware = list(middleware)
        self._state = state
        self._hook = hook
        self._successors = SuccessorMaker(tasks, settings)
        self._chains: dict[tuple[str, bool], CallNext] = {}

    def is_unknown(self, claim: Claim) -> bool:
        """Whether the task of a claim is not known here."""
        return self.tasks.find(claim.task) is None

    def start(self, claims: Sequence[Claim]) -> None:
        """Begin runs; whatever is wrong with one of them, the others begin."""
        for claim in claims:
            try:
                self._begin(claim)
            except Exception as error:
                _log.exception("job %s could not be begun", claim.id)
                self.running.pop(claim.id, None)
                self._end_without_run(claim, refused_arguments(error))

    def _end_without_run(self, claim: Claim, outcome: BodyOutcome) -> None:
        self.on_end(decide_without_run(claim, outcome, self._identity(), self._store.now()))

    def _begin(self, claim: Claim) -> None:
        if claim.id in self.running:
            self._not_beside_itself(claim)
            return
        task = self.tasks.find(claim.task)
        if task is None:
            self._not_known(claim)
            return
        options = claim.said
        run = Run(
            claim=claim,
            task=task,
            arguments={},
            policy=policy_of(task, options),
            timeout=options.get("timeout", task.timeout),
            recorder=Recorder(claim, self._flusher, log_limit=self._settings.log_limit),
            executor=self._executors.of(claim, task),
            threads=self._executors.threads(claim),
            successors=self._successors,
            hook=self._hook,
            on_stop=self._stop_requested,
        )
        if not self.running and process_state.shared is not None:
            process_state.shared.remember()
        self.running[claim.id] = run
        if self.started is not None:
            self.started.append(claim.id)
        self._slots.take(claim.queue)
        # `running` refers to it until its end is decided, so that it is not garbage-collected.
        run.coroutine = asyncio.get_running_loop().create_task(self._perform(run))

    async def _perform(self, run: Run) -> None:
        outcome = await self._outcome_of(run)
        (run.on_orphaned_end or self._over)(run, outcome)
        run.release()

    async def _outcome_of(self, run: Run) -> BodyOutcome:
        try:
            if not run.claim.fresh:
                await asyncio.to_thread(self._recall, run)
            try:
                run.arguments = run.task.signature.bind(run.task.name, (), decode(run.claim.args))
                run.arrived = run.task.signature.arrived(run.task.name, run.arguments)
            except (JobTrailError, ValueError) as error:
                return refused_arguments(error)
            return self._understood(run, await perform(run, self._chain(run), self._steps, self._state))
        except BaseException as unexpected:
            return self._understood(run, unexpected)

    def _understood(self, run: Run, error: BaseException | None) -> BodyOutcome:
        try:
            return understand(run, error, self._settings)
        finally:
            if error is not None:
                forget_frames(error)

    def _recall(self, run: Run) -> None:
        """Load what earlier runs recorded: the items of the generation, and the size of the log."""
        claim = run.claim
        with self._store.read() as conn:
            rows = items.of_ledger(conn, claim.ledger)
            left = items.left_to_others(conn, claim.ledger, claim.id)
            kept_log = runs.log_sizes(conn, claim.id)
        run.recorder = Recorder(
            claim,
            self._flusher,
            log_limit=self._settings.log_limit,
            kept_log=kept_log,
            prior=Prior.of(rows, claim.id, claim.continues, left),
        )

    def _chain(self, run: Run) -> CallNext:
        task, limited = run.task, run.timeout is not None or run.task.stall_timeout is not None
        if task.middleware or self._middleware:
            run.hook_timeout = self._settings.hook_timeout
        chain = self._chains.get((task.name, limited))
        if chain is None:
            limits = [timeout_middleware] if limited else []
            layers = [*outermost(), *limits, *self._middleware, *task.middleware]
            chain = self._chains[task.name, limited] = compose(layers, body)
        return chain

    # -- ends ----------------------------------------------------------------------------------------

    def _over(self, run: Run, outcome: BodyOutcome) -> None:
        claim = run.claim
        if self.running.get(claim.id) is run:
            del self.running[claim.id]
            if not self.running and process_state.shared is not None:
                process_state.shared.settle()
        if claim.suspect:
            self._slots.look_again()  # it has ended in order, so the next suspect need not wait
        self._slots.give_back(claim.queue)
        self.on_end(self.decide(run, outcome))

    def decide(self, run: Run, outcome: BodyOutcome, *, body_over: bool = True) -> RunEnd:
        """The end of a run with its last records, ready to be written."""
        self._flusher.forget(run.recorder)
        records = run.recorder.take_last()
        return decide(run, outcome, self._identity(), self._store.now(), records=records, body_over=body_over)

    def understand(self, run: Run, error: BaseException | None) -> BodyOutcome:
        """`understand` with the settings of this worker."""
        return understand(run, error, self._settings)

    def _not_beside_itself(self, claim: Claim) -> None:
        """Hand back a job that was claimed while the body of its earlier run still runs in this process."""
        reason = Message("worker.earlier-run-ends").stored
        at = self._store.now() + timedelta(seconds=BESIDE_ITSELF)
        move = transitions.handed_back(subject_of(claim, self._identity()), at, reason=reason)
        self.on_end(RunEnd(move, suspect=claim.suspect))

    def _not_known(self, claim: Claim) -> None:
        final = claim.put_backs >= self._settings.put_back_limit
        failure = describe(UnknownTask(Message("worker.unknown-task", task=claim.task)))
        delay = self._settings.put_back_delay
        if claim.put_backs == 0:
            _log.warning("job %s asks for the task '%s', which this worker does not know", claim.id, claim.task)
        self._end_without_run(claim, outcomes.NotKnownHere(failure.to_json(), failure.fingerprint, delay, final))

    def _stop_requested(self, run: Run) -> None:
        """A limit has passed: the row says so before the body has ended."""
        cause = StopCause(run.stop.cause or "timeout")
        job = replace(subject_of(run.claim, self._identity()), stop_cause=None)
        move = transitions.stop_requested(
            job, self._store.now(), cause=cause, actor="engine", reason=Message("job.limit", cause=cause).stored
        )
        note = None
        if cause is StopCause.STALL:
            note = ("stuck", Message("worker.no-sign-of-life", seconds=f"{run.silent_for():.0f}").stored)
        self.on_end(RunEnd(move, note=note, body_over=False, suspect=run.claim.suspect))


def _nowhere(end: RunEnd) -> None:
    """Take an end before a worker has set `on_end`."""
