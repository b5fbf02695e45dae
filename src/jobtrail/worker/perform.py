"""Perform a run: make its context, call the body inside its middleware, clean up."""

from __future__ import annotations

import asyncio
import inspect
from datetime import datetime
from typing import TYPE_CHECKING, Any

from jobtrail.commands import input_files
from jobtrail.errors import InputChanged, PermanentError
from jobtrail.executors import process_state
from jobtrail.job.failure import describe
from jobtrail.job.model import Snooze
from jobtrail.job.period import Period
from jobtrail.job.retry import Retry
from jobtrail.messages import Message, stored
from jobtrail.runtime import log_capture
from jobtrail.runtime.async_context import AsyncContext
from jobtrail.runtime.context import Context
from jobtrail.runtime.unfinished import HOOK_FUNCTION, TASK_FUNCTION, refuse_unfinished, unfinished

if TYPE_CHECKING:
    from jobtrail.job.model import FileInput
    from jobtrail.job.task import Task
    from jobtrail.runtime.context import BaseContext
    from jobtrail.runtime.steps import StepStore

    from .run import CallNext, Run


def slot_of(options: dict[str, Any]) -> datetime | None:
    """The planned time of a job that a schedule submitted; None for any other."""
    return datetime.fromisoformat(options["slot"]) if options.get("slot") else None


def policy_of(task: Task, options: dict[str, Any]) -> Retry:
    """The retry policy of this job."""
    return Retry.from_json(options["retry"], task.retry) if "retry" in options else task.retry


def build_context(run: Run, steps: StepStore, state: Any) -> BaseContext:
    """Make the context of a run, with its period and its file. Blocking where there is a file, which is hashed.

    Raises:
        InputChanged: if the file has changed since its submission and the task does not accept that.

    """
    claim = run.claim
    kind = AsyncContext if run.task.is_async else Context
    return kind(
        claim=claim,
        recorder=run.recorder,
        steps=steps,
        stop=run.stop,
        state=state,
        period=Period.parse(claim.period) if claim.period else None,
        file=_file_of(run) if claim.file else None,
        slot=slot_of(claim.said),
        limit=run.task.max_failed_items,
        successors=run.successors,
        may_help=run.task.retry.allows,
    )


def _file_of(run: Run) -> FileInput:
    submitted = input_files.from_json(run.claim.file or "")
    run.input_look = input_files.look(submitted.path)
    try:
        return input_files.check_unchanged(submitted)
    except InputChanged as changed:
        return _accepted(run, changed, "worker.input-accepted", submitted)


def _check_input(run: Run) -> None:
    """At the end of a body: its file must still be what it has read.

    Raises:
        InputChanged: if it is not and the task does not accept that.

    """
    file = run.ctx.file if run.ctx is not None else None
    if file is not None:
        try:
            input_files.check_unchanged_since(file, run.input_look)
        except InputChanged as changed:
            _accepted(run, changed, "worker.input-accepted-meanwhile", file)


def _accepted(run: Run, changed: InputChanged, code: str, before: FileInput) -> FileInput:
    """The file as it is now, where the task accepts the change; the trail names both.

    Raises: InputChanged where it does not.
    """
    now: FileInput | None = getattr(changed, "now", None)
    if run.task.on_input_change != "accept" or now is None:
        run.recorder.note("input_changed", stored(changed))
        raise changed
    run.recorder.note("input_changed", Message(code, submitted=before.sha256, now=now.sha256).stored)
    return now


async def perform(run: Run, chain: CallNext, steps: StepStore, state: Any) -> BaseException | None:
    """Run the body inside its middleware.

    Args:
        run: the run; its value, error and notes are recorded there.
        chain: the middleware around `body`.
        steps: where the body's steps are kept.
        state: the application's services, given to the context.

    Returns:
        The error of the body, or what kept it from beginning; None where it returned. It never raises.

    """
    log_capture.install()
    log_capture.current.set(run.recorder.log)  # in this task's own context, so it needs no reset
    run.entered = True
    try:
        run.check_wanted()
        if run.claim.file:
            run.ctx = await asyncio.to_thread(build_context, run, steps, state)
        elif run.task.signature.context:
            run.ctx = build_context(run, steps, state)
        value = await chain(run)
    except BaseException as error:
        if run.body_ended:
            if error is not run.body_error:
                run.hook_note = Message(
                    "worker.middleware-raised", error=describe(error).message or type(error).__name__
                ).stored
            return run.body_error
        return error
    else:
        return run.body_error if run.body_ended else _answered(run, value)
    finally:
        if run._hook_limit is not None:
            run._hook_limit.cancel()
        if run.ctx is not None and run.ctx._on_cleanup and not (run.on_orphaned_end and run.thread and run.body_lives):
            await clean_up(run, run.ctx)


def _answered(run: Run, value: Any) -> BaseException | None:
    """A middleware answered in the body's place. The error where it only forgot to await the body."""
    made, run.next_call = run.next_call, None
    if inspect.iscoroutine(made) and inspect.getcoroutinestate(made) != inspect.CORO_CLOSED:
        if inspect.getcoroutinestate(made) == inspect.CORO_CREATED:
            made.close()
        return PermanentError(Message("worker.call-next-not-awaited"))
    refused = unfinished(value, Message("worker.middleware"))
    if refused is not None:
        return PermanentError(refused)
    run.body_value = value
    return None


async def body(run: Run) -> Any:
    """Call the task's function: the end of the chain of middleware."""
    run.body_begun = True
    shared, executor = process_state.shared, run.executor
    if executor.in_process:
        process_state.own_decimal_context()
    if shared is not None:
        shared.enter()
    try:
        run.check_wanted()
        value = await executor.perform(run)
        refuse_unfinished(value, TASK_FUNCTION)
        if run.claim.file and not isinstance(value, Snooze):
            await asyncio.to_thread(_check_input, run)
        run.body_value = value
    except BaseException as error:
        run.body_error = error
        raise
    finally:
        if shared is not None:
            shared.leave()
        _body_has_ended(run)
    return run.body_value


def _body_has_ended(run: Run) -> None:
    run.body_ended = True
    if run.hook_timeout is not None and run.coroutine is not None:
        run._hook_limit = asyncio.get_running_loop().call_later(run.hook_timeout, run.coroutine.cancel)


async def clean_up(run: Run, ctx: BaseContext) -> None:
    """Call the functions that the body gave to on_cleanup()."""
    for function in ctx._on_cleanup:
        try:
            left = function() if inspect.iscoroutinefunction(function) else await run.threads.call(function, {})
            refuse_unfinished(await left if inspect.isawaitable(left) else left, HOOK_FUNCTION)
        except BaseException as error:
            run.hook_note = Message("worker.hook-raised", function="on_cleanup", type=type(error).__name__).stored
