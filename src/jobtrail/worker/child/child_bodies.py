"""Run bodies in child processes: the order that is sent, the messages that come back, and what they mean for the run.

Middleware, records, steps and the decision stay in the worker; `jobtrail.worker.child` is the other side. An exception is
sent as its description, with the verdict of the retry policy, which the child asks because it holds the exception.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from jobtrail.errors import AskSignal, ProcessDied, RetrySignal, StopSignal, StoreError, StoreUnavailable
from jobtrail.executors.base import Executor
from jobtrail.executors.process.child_process import ChildGone
from jobtrail.executors.process.pool import ProcessExecutor
from jobtrail.job.failure import Failure, describe
from jobtrail.job.items import ItemOutcome
from jobtrail.job.json_value import decode, encode_arguments
from jobtrail.job.model import Partial, Snooze
from jobtrail.messages import Message
from jobtrail.runtime.stop import OVERTAKEN, SHUTDOWN
from jobtrail.store.items import Recorded
from jobtrail.worker.run import ChildReport, RemoteError, RemoteStop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobtrail.config import Settings
    from jobtrail.executors.process.wire import WireMessage
    from jobtrail.job.model import Claim
    from jobtrail.job.task import Tasks
    from jobtrail.runtime.steps import StepStore
    from jobtrail.worker.run import Run

ENTRY = "jobtrail.worker.child.server:main"
GRACE = 1.0  # seconds from a passed limit to the first signal; after a cancel it is `cancel_timeout`
_log = logging.getLogger("jobtrail.worker")


class ChildBodies(Executor):
    """The executor `process`: runs bodies of one worker in child processes."""

    name = "process"

    def __init__(self, tasks: Tasks, steps: StepStore, settings: Settings, *, limit: int, imports: Sequence[str] = ()) -> None:
        self.settings = settings
        self.steps = steps
        own = [task for task in tasks.all() if task.executor == "process"]
        modules = [*imports, *sorted({one.function.__module__ for one in own})]
        self.processes = ProcessExecutor(ENTRY, limit=limit, modules=modules)
        if own:
            self.processes.warm()

    async def perform(self, run: Run) -> Any:
        """Run the body in a child and wait for its end.

        Raises:
            RemoteError: if it raised, or its process died.
            RetrySignal, AskSignal, StopSignal, StoreUnavailable: as the body raised them.

        """
        if run.stop.cause is not None:
            run.stop.noticed = True
            raise StopSignal(run.stop.cause)
        if run.limits is not None:
            run.limits.await_child()
        conversation = RunConversation(run, self.steps, self.settings)
        run.call = self.processes.start(conversation)
        try:
            last = await self.processes.wait(run.call)
        except ChildGone as gone:
            raise _died(run, gone) from None
        except asyncio.CancelledError:
            run.call.kill(Message("worker.gave-up"), cause=SHUTDOWN)
            raise
        return _understood(run, last)

    def stop(self, run: Run, cause: str) -> None:
        """Ask a body to stop; after a grace time SIGTERM raises inside it, then SIGKILL ends its process."""
        if run.call is not None:
            grace = self.settings.cancel_timeout if cause in {"cancel", SHUTDOWN} else GRACE
            run.call.stop(cause, grace)

    def abandon(self, run: Run) -> None:
        """Kill the child of a body that is not waited for any more."""
        if run.call is not None:
            run.call.kill(Message("worker.shutdown"), cause=SHUTDOWN)

    def pids(self) -> list[int]:
        """Process ids of the children."""
        return self.processes.pids()

    def release(self) -> None:
        """Let idle children go."""
        self.processes.release()

    def close(self) -> None:
        """End all children. Blocking."""
        self.processes.close()


class RunConversation:
    """One run as the pool of processes talks about it; called in a thread of the pool."""

    def __init__(self, run: Run, steps: StepStore, settings: Settings) -> None:
        self.memory_limit = run.task.memory_limit
        self.max_jobs = run.task.max_jobs_per_child
        self.order = _order(run, settings)
        self._run = run
        self._steps = steps

    def cause_to_stop(self) -> str | None:
        """A cause to stop for: a newer run owns the job."""
        return OVERTAKEN if self._run.recorder.overtaken else None

    def on_message(self, message: WireMessage) -> WireMessage | None:
        """Take over records; answer questions about steps."""
        self._run.recorder.sign()
        if message["kind"] == "begun":
            if self._run.limits is not None:
                self._run.limits.child_begins()
            return None
        if message["kind"] == "records":
            self._record(message)
            return None
        try:
            value = self._answer(message)
        except StoreError as error:
            refused = {"error": str(error), "away": isinstance(error, StoreUnavailable)}
            return {"kind": "answer", "id": message["id"], **refused}
        return {"kind": "answer", "id": message["id"], "value": value, "overtaken": self._run.recorder.overtaken}

    def _record(self, message: WireMessage) -> None:
        recorder = self._run.recorder
        recorder.has_items = recorder.has_items or message["has_items"]
        for loop, key, position, outcome, *rest in message["items"]:
            recorder.item(Recorded(loop, key, position, ItemOutcome(outcome), *rest))
        for report in message["progress"]:
            recorder.progress(**report)
        for line in message["log"]:
            recorder.log(line)

    def _answer(self, message: WireMessage) -> Any:
        claim = self._run.claim
        if message["kind"] == "find":
            return self._steps.find(claim, message["name"], message["digest"])
        if message["kind"] == "answer_to":
            return self._steps.answer(claim, message["name"], message["digest"], remembered=message["remembered"])
        if message["kind"] == "save":
            return self._steps.save(claim, message["name"], message["digest"], message["result"], message["seconds"])
        self._run.recorder.flush()
        return None


def _order(run: Run, settings: Settings) -> WireMessage:
    claim, file = run.claim, run.ctx.file if run.ctx is not None else None
    return {
        "kind": "job",
        "task": run.task.name,
        "module": run.task.function.__module__,
        "place": run.task.function.__qualname__,
        "claim": _plain_claim(claim),
        "args": encode_arguments(run.arguments, settings.argument_limit),
        "file": asdict(file) if file is not None else None,
        "prior": [(loop, key, outcome.value) for (loop, key), outcome in list(run.recorder._standing.items())],
        "tried_again": sorted(run.recorder._tried_again),
        "retry": run.policy.to_json(),
        "max_failed_items": str(limit) if (limit := run.task.max_failed_items) is not None else None,
        "limited": run.limits is not None,
        "memory": run.task.memory_limit,
        "result_limit": settings.result_limit,
        "error_limit": settings.error_limit,
        "log_level": logging.getLogger().level,
        "around": asdict(run.around_body) if run.around_body is not None else None,
    }


def _plain_claim(claim: Claim) -> dict[str, Any]:
    return {f.name: getattr(claim, f.name) for f in fields(claim)} | {
        "started_at": claim.started_at.isoformat(),
        "due_at": None,
    }


# -- the end -----------------------------------------------------------------------------------------


def _understood(run: Run, last: WireMessage) -> Any:
    """The body's value, or its error raised."""
    run.stop.noticed = run.stop.noticed or last["noticed"]
    run.report = ChildReport(
        last.get("result"), last.get("note"), last["unreached"], last["stopped_reason"], tuple(last["following"])
    )
    run.hook_note = run.hook_note or last["hook_note"]
    failure = Failure(**last["failure"]) if last.get("failure") else None
    how = last["how"]
    if how == "returned":
        return decode(last["result"])
    if how == "partial":
        return Partial(decode(last["result"]), last["reason"])
    if how == "snooze":
        return Snooze(last["seconds"], last["reason"])
    if how == "ask":
        from jobtrail.job.questions.question import Question

        raise AskSignal(Question(**last["question"]))
    if how == "retry":
        raise RetrySignal(last["delay"], last["reason"])
    if how == "away":
        raise StoreUnavailable(last["reason"])
    if failure is None:
        raise RuntimeError(Message("worker.unknown-end", how=how))
    if how == "stopped":
        raise RemoteStop(last["cause"], failure)
    seconds, warning = last["delay"] or run.policy.delay(run.claim.attempt)
    raise RemoteError(failure, allowed=last["allowed"], delay=(seconds, warning))


def _died(run: Run, gone: ChildGone) -> BaseException:
    """The process ended before the body: by our hand, or an ordinary failed attempt."""
    run.report = ChildReport()
    if gone.cause is not None:
        run.stop.noticed = True
        return RemoteStop(gone.cause, describe(ProcessDied(gone.how)))
    died: Exception = MemoryError(gone.how) if gone.memory else ProcessDied(gone.how)
    return RemoteError(describe(died), allowed=run.policy.allows(died), delay=run.policy.delay(run.claim.attempt, died))
