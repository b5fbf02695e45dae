"""One job in a child process: from its order to its last message."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import logging
import threading
from dataclasses import asdict, replace
from datetime import datetime
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from jobtrail.errors import (
    AskSignal,
    InputChanged,
    InvalidArguments,
    PermanentError,
    RetrySignal,
    StopSignal,
    StoreUnavailable,
    UnknownTask,
)
from jobtrail.executors import forks, process_state
from jobtrail.executors.hooks import Hooks, body_of
from jobtrail.executors.process.child_process import whole_mb
from jobtrail.job.failure import describe, forget_frames
from jobtrail.job.items import FailedItemsLimit
from jobtrail.job.json_value import decode, encode_result, safe_text
from jobtrail.job.model import Claim, FileInput, Partial, Snooze
from jobtrail.job.period import Period
from jobtrail.job.retry import Retry
from jobtrail.messages import Message
from jobtrail.runtime import log_capture
from jobtrail.runtime.async_context import AsyncContext
from jobtrail.runtime.context import Context
from jobtrail.runtime.recorder import MESSAGE_LIMIT
from jobtrail.runtime.stop import OVERTAKEN, Stop
from jobtrail.runtime.successor_maker import SuccessorMaker
from jobtrail.runtime.unfinished import HOOK_FUNCTION, TASK_FUNCTION, refuse_unfinished
from jobtrail.worker.perform import slot_of

from .find import find_task
from .reports import RemoteRecorder, RemoteSteps

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jobtrail.commands.task_handle import BoundTask
    from jobtrail.executors.process.wire import WireMessage
    from jobtrail.job.failure import Failure
    from jobtrail.job.task import Task
    from jobtrail.runtime.context import BaseContext

    from .reports import WorkerChannel

NO_VERDICT: WireMessage = {"allowed": True, "delay": None}  # the worker asks its own policy


class RemoteJob:
    """One job in this process: from its order to its last word."""

    def __init__(self, order: WireMessage, child: WorkerChannel) -> None:
        self.no: int = order["no"]
        self.stop = Stop()
        self.in_body = False
        self._order = order
        self._claim = Claim(**{**order["claim"], "started_at": datetime.fromisoformat(order["claim"]["started_at"])})
        self._child = child
        self._recorder = RemoteRecorder(order, child)
        self._steps = RemoteSteps(child, self.no)
        self._bound: BoundTask | None = None
        self._ctx: BaseContext | None = None
        self._cancel: Callable[[], Any] | None = None
        self._hook_note: Message | None = None

    def request_stop(self, cause: str) -> None:
        """Ask the body to stop (from the reading thread)."""
        self.stop.cause = cause
        for function in self._ctx._on_cancel if self._ctx is not None else ():
            hook = threading.Thread(target=self._hook, args=("on_cancel", function), name="jobtrail-on-cancel", daemon=True)
            hook.start()
        if self._cancel is not None:
            self.stop.noticed = True
            self._cancel()

    def run(self) -> WireMessage:
        """The last word about the job; never raises."""
        logging.getLogger().setLevel(self._order["log_level"])
        log_capture.install()
        token = log_capture.current.set(self._recorder.log)
        self._recorder.start()
        lift = _limit_memory(self._order["memory"])
        try:
            value = self._perform()
            lift()
            end = self._returned(value)
        except BaseException as error:
            lift()
            end = self._raised(error)
            forget_frames(error)
        finally:
            log_capture.current.reset(token)
        self._recorder.stop()
        end |= {"noticed": self.stop.noticed, "hook_note": self._hook_note.stored if self._hook_note else None}
        if self._ctx is not None:
            end |= {"unreached": self._ctx.unreached, "stopped_reason": _words(self._ctx.stopped_reason)}
            end |= {"following": [one.to_plain() for one in self._ctx._next]}
        return end_message(self.no, end)

    # -- the body ------------------------------------------------------------------------------------

    def _perform(self) -> Any:
        try:
            place = self._order["module"], self._order["place"], self._order["task"]
            self._bound = bound = find_task(*place, self._child.main_error)
            arguments = bound.task.signature.arrived(bound.task.name, dict(decode(self._order["args"])))
            if bound.task.signature.context is not None:
                self._ctx = self._context(bound)
                arguments[bound.task.signature.context] = self._ctx
            with self._around(bound), process_state.kept():
                process_state.own_decimal_context()
                if self._order["limited"]:
                    self._child.wire.send({"kind": "begun", "no": self.no})
                self.in_body = True
                value = self._call(bound.task, arguments)
                refuse_unfinished(value, TASK_FUNCTION)
                return value
        finally:
            self.in_body = False

    def _call(self, task: Task, arguments: Mapping[str, Any]) -> Any:
        if self.stop.cause is not None:
            self.stop.noticed = True
            raise StopSignal(self.stop.cause)
        body = body_of(task, getattr(getattr(self._bound, "_submitter", None), "hooks", Hooks()).around_body)
        if task.is_async:
            return asyncio.run(self._perform_async(body, arguments))
        try:
            return forks.call(body, arguments)
        finally:
            self._clean_up()

    def _around(self, bound: BoundTask) -> contextlib.AbstractContextManager[Any]:
        """The hook around the body that the order names, if any (`jobtrail.worker.run.AroundBody`)."""
        around = self._order["around"]
        if around is None:
            return contextlib.nullcontext()
        module, _, name = around["hook"].partition(":")
        hook: contextlib.AbstractContextManager[Any] = getattr(import_module(module), name)(
            around["given"], bound, self._ctx
        )
        return hook

    async def _perform_async(self, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        if task is not None:
            self._cancel = lambda: loop.call_soon_threadsafe(task.cancel)
        try:
            return await forks.awaited(function(**arguments))
        finally:
            self._cancel = None
            for cleanup in self._ctx._on_cleanup if self._ctx is not None else ():
                try:
                    refuse_unfinished(await _awaited(cleanup()), HOOK_FUNCTION)
                except BaseException as error:
                    self._note("on_cleanup", error)

    def _clean_up(self) -> None:
        for function in self._ctx._on_cleanup if self._ctx is not None else ():
            self._hook("on_cleanup", partial(_call_plainly, function))

    def _hook(self, given_to: str, function: Callable[[], Any]) -> None:
        try:
            refuse_unfinished(function(), HOOK_FUNCTION)
        except BaseException as error:
            self._note(given_to, error)

    def _note(self, given_to: str, error: BaseException) -> None:
        note = Message("worker.hook-raised", function=given_to, type=type(error).__name__)
        self._hook_note = Message("job.both", first=self._hook_note, second=note) if self._hook_note else note

    def _context(self, bound: BoundTask) -> BaseContext:
        order, claim, task = self._order, self._claim, bound.task
        kind = AsyncContext if task.is_async else Context
        return kind(
            claim=claim,
            recorder=self._recorder,
            steps=self._steps,
            stop=self.stop,
            state=getattr(bound._submitter, "state", None),
            period=Period.parse(claim.period) if claim.period else None,
            file=FileInput(**order["file"]) if order["file"] else None,
            slot=slot_of(claim.said),
            limit=FailedItemsLimit.parse(json.loads(order["max_failed_items"] or "null")),
            successors=successor_maker_of(bound),
            may_help=task.retry.allows,
        )

    # -- its end -------------------------------------------------------------------------------------

    def _returned(self, value: Any) -> WireMessage:
        if isinstance(value, Snooze):
            return {"how": "snooze", "seconds": float(value.seconds), "reason": _words(value.reason)}
        partial = isinstance(value, Partial)
        text, note = encode_result(value.result if partial else value, self._order["result_limit"])
        end = {"how": "partial" if partial else "returned", "result": text, "note": note}
        return {**end, "reason": _words(value.reason)} if partial else end

    def _raised(self, error: BaseException) -> WireMessage:
        if isinstance(error, RetrySignal):
            return {"how": "retry", "delay": error.delay, "reason": _words(error.reason)}
        if isinstance(error, AskSignal):
            return {"how": "ask", "question": asdict(error.question)}
        if isinstance(error, StoreUnavailable):
            return {"how": "away", "reason": _words(error)}
        failure = self._failure(error)
        if isinstance(error, (StopSignal, asyncio.CancelledError)) and (self.stop.cause or self._recorder.overtaken):
            self.stop.noticed = True
            cause = self.stop.cause or OVERTAKEN
            return {"how": "stopped", "cause": cause, "failure": asdict(failure)}
        allowed, delay = self._verdict(error)
        return {"how": "raised", "failure": asdict(failure), "allowed": allowed, "delay": delay}

    def _failure(self, error: BaseException) -> Failure:
        limit = self._order["memory"]
        if limit is None or not isinstance(error, MemoryError):
            return describe(error, limit=self._order["error_limit"])
        found = describe(error, limit=self._order["error_limit"])
        said = Message("executors.memory-limit", limit=whole_mb(limit))
        if found.message:
            said = Message("executors.memory-limit-and", limit=whole_mb(limit), error=found.message)
        return replace(found, message=str(said), sentence=said.stored)

    def _verdict(self, error: BaseException) -> tuple[bool, tuple[float, str | None] | None]:
        """The retry policy is asked here, where the exception itself is."""
        if self._bound is None:
            return not isinstance(error, UnknownTask), None
        policy = Retry.from_json(self._order["retry"], self._bound.task.retry)
        never = isinstance(error, (InputChanged, InvalidArguments, PermanentError))
        return policy.allows(error) and not never, policy.delay(self._claim.attempt, error)


def end_message(no: int, end: WireMessage) -> WireMessage:
    """The last message about a job, with what it does not say filled in."""
    nothing: WireMessage = {
        "noticed": False,
        "hook_note": None,
        "unreached": False,
        "stopped_reason": None,
        "following": [],
    }
    return {"kind": "end", "no": no, **nothing, **end}


def _call_plainly(function: Callable[[], Any]) -> Any:
    left = function()
    return asyncio.run(_awaited(left)) if inspect.isawaitable(left) else left


async def _awaited(left: Any) -> Any:
    return await left if inspect.isawaitable(left) else left


def _words(text: Any) -> str | None:
    return None if text is None else safe_text(str(text), MESSAGE_LIMIT)


def successor_maker_of(bound: BoundTask) -> SuccessorMaker | None:
    """What `schedule_next` needs of the application that registered the task, or of the plug-in that declared it."""
    tasks, settings = (getattr(bound._submitter, name, None) for name in ("tasks", "settings"))
    return SuccessorMaker(tasks, settings) if tasks is not None and settings is not None else None


def _limit_memory(limit: int | None) -> Callable[[], None]:
    """Let an allocation above the limit raise MemoryError, where the system can; the answer lifts that again."""
    if limit is None:
        return lambda: None
    try:
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (limit if hard < 0 else min(limit, hard), hard))
    except (ImportError, OSError, ValueError):
        return lambda: None
    return lambda: resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
