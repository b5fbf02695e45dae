"""The entry of a child process: finds the task, runs its body, and reports to the worker over the line.

Nothing here opens the application's database. The body gets the same context as elsewhere; behind it stand
a recorder that gathers and sends, and steps that ask.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import itertools
import json
import logging
import os
import signal
import sys
import threading
import time
from dataclasses import asdict, replace
from datetime import datetime
from importlib import import_module
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from jobtrail.commands.successors import Following
from jobtrail.commands.task_handle import BoundTask
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
from jobtrail.executors.process import size_words
from jobtrail.job.failure import describe
from jobtrail.job.items import FailedItemsLimit, ItemOutcome
from jobtrail.job.json_value import decode, encode_result, safe_text
from jobtrail.job.model import Claim, FileInput, Partial, Snooze
from jobtrail.job.period import Period
from jobtrail.job.retry import Retry
from jobtrail.runtime import log_capture
from jobtrail.runtime.context import AsyncContext, BaseContext, Context, Stop
from jobtrail.runtime.recorder import MESSAGE_LIMIT

from .run import options_of, slot_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jobtrail.executors.process import Message, Wire
    from jobtrail.job.failure import Failure
    from jobtrail.job.task import Task
    from jobtrail.store.items import Recorded

_FAR = frozenset({"percent", "done", "total"})
SEND_EVERY = 0.1  # seconds between two batches of records; the worker writes them at most 4 times a second
TURN = 0.05  # seconds
LOOK = 1.0  # seconds between two looks for the parent
NO_VERDICT: Message = {"allowed": True, "delay": None}  # the worker asks its own policy
LINES = 10_000  # of the log, held between two batches


def main(wire: Wire, setup: Message) -> None:
    """Serve one job after the other until the worker closes the line."""
    Child(wire, setup).serve()


class Child:
    """This process: a thread reads orders, the main thread runs bodies."""

    def __init__(self, wire: Wire, setup: Message) -> None:
        self.wire = wire
        self._setup = setup
        self._orders: SimpleQueue[Message | None] = SimpleQueue()
        self._answers: dict[int, SimpleQueue[Message]] = {}
        self._ids = itertools.count()
        self._lock = threading.Lock()
        self._job: RemoteJob | None = None
        self._stopped: tuple[int, str] | None = None
        self.main_error: BaseException | None = None

    def serve(self) -> None:
        """The life of the main thread."""
        signal.signal(signal.SIGTERM, self._on_term)
        threading.Thread(target=self._read, name="jobtrail-orders", daemon=True).start()
        log_capture.install()
        self.main_error = _prepare_main(self._setup["main"])
        for module in self._setup["modules"]:
            with contextlib.suppress(BaseException):  # said again, and told, by the job that needs it
                import_module(module)
        while (order := self._orders.get()) is not None:
            self._serve(order)

    def _serve(self, order: Message) -> None:
        try:
            job = RemoteJob(order, self)
        except Exception as error:  # the program was exchanged under the worker's feet
            self.wire.send(_end(order["no"], {"how": "raised", "failure": asdict(describe(error)), **NO_VERDICT}))
            return
        with self._lock:
            self._job = job
            if self._stopped is not None and self._stopped[0] == order["no"]:
                job.stop.cause = self._stopped[1]
        try:
            end = job.run()
        finally:
            with self._lock:
                self._job = None
        self.wire.send(end)

    # -- the line ------------------------------------------------------------------------------------

    def ask(self, message: Message) -> Message:
        """A question to the worker and its answer.

        Raises: StoreUnavailable.
        """
        if self._job is None or self._job.no != message["no"]:
            ended = "the job of this context has ended"
            raise StoreUnavailable(ended)
        number = next(self._ids)
        box = self._answers[number] = SimpleQueue()
        self.wire.send({**message, "id": number})
        try:
            answer = box.get()
        finally:
            del self._answers[number]
        if "error" in answer:
            raise StoreUnavailable(answer["error"])
        return answer

    def _read(self) -> None:
        try:
            while os.getppid() == self._setup["parent"]:
                message = self.wire.receive(LOOK)
                if message is not None:
                    self._heard(message)
        except (EOFError, OSError):
            if self._job is None and os.getppid() == self._setup["parent"]:
                self._orders.put(None)  # told to leave
                return
        except BaseException:
            logging.getLogger("jobtrail.worker").exception("the line to the worker cannot be read any more")
        _end_group()

    def _heard(self, message: Message) -> None:
        if message["kind"] == "job":
            self._orders.put(message)
        elif message["kind"] == "answer":
            box = self._answers.get(message["id"])
            if box is not None:
                box.put(message)
        elif message["kind"] == "stop":
            with self._lock:
                self._stopped = (message["no"], message["cause"])
                job = self._job if self._job is not None and self._job.no == message["no"] else None
            if job is not None:
                job.request_stop(message["cause"])

    def _on_term(self, _number: int, _frame: Any) -> None:
        """The time to stop by oneself is over: leave the body where it is. Without a body it is nobody's business."""
        job = self._job
        if job is None or not job.in_body:
            return
        if job.stop.cause is None:
            time.sleep(TURN)  # a C call kept the reading thread from its turn: the order may lie there
        if job.stop.cause is not None:
            job.stop.noticed = True
            raise StopSignal(job.stop.cause)


def _end_group() -> None:
    """The worker is gone: end at once, with all that the body has started."""
    with contextlib.suppress(OSError):
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _prepare_main(main: dict[str, str]) -> BaseException | None:
    """Have the program's main module here as `multiprocessing` would; an error is told by the job that needs it."""
    from multiprocessing import spawn

    try:
        spawn.prepare(main)
    except BaseException as error:
        return error
    return None


class RemoteRecorder:
    """Gathers what a body reports and sends it at most ten times a second; what `Recorder` is for the context."""

    def __init__(self, order: Message, child: Child) -> None:
        self.overtaken = False
        self.has_items = bool(order["prior"])
        self._child = child
        self._lock = threading.Lock()
        self._sending = threading.Lock()
        self._standing = {(loop, key): ItemOutcome(outcome) for loop, key, outcome in order["prior"]}
        self._tried_again = [tuple(place) for place in order["tried_again"]]
        self._items: list[tuple[Any, ...]] = []
        self._progress: dict[str, Any] | None = None
        self._log: list[str] = []
        self._wanted = threading.Event()
        self._over = False
        self._no = order["no"]

    def start(self) -> None:
        """Send from a thread until `stop`."""
        threading.Thread(target=self._repeat, name="jobtrail-records", daemon=True).start()

    def _repeat(self) -> None:
        while not self._over:
            self._wanted.wait()
            self._wanted.clear()
            with contextlib.suppress(Exception):  # no memory now: it is still there the next time
                self.send()
            time.sleep(SEND_EVERY)

    def stop(self) -> None:
        """Send what is left; what comes later is nobody's."""
        self.send()
        with self._sending:
            self._over = True
        self._wanted.set()

    def send(self) -> None:
        """One batch, if there is anything."""
        with self._sending:
            if self._over:
                return
            with self._lock:
                items, progress, log = self._items[:], self._progress, self._log[:]
                has_items = self.has_items
            reported = [] if progress is None else [progress]
            if items or reported or log or has_items:
                batch = {"kind": "records", "no": self._no, "has_items": has_items}
                self._child.wire.send({**batch, "items": items, "progress": reported, "log": log})
            with self._lock:
                del self._items[: len(items)], self._log[: len(log)]
                if self._progress is progress:  # what was said meanwhile is sent the next time
                    self._progress = None

    def sign(self) -> None:
        """What is sent is a sign of life."""

    def item(self, recorded: Recorded) -> None:
        """Take an item's outcome."""
        one = recorded
        with self._lock:
            self._standing[one.loop, one.key] = one.outcome
            self._items.append((one.loop, one.key, one.position, one.outcome.value, one.reason, one.error_type))
        self._wanted.set()

    def item_over(self) -> None:
        """The worker is told by the item itself."""

    def prior(self, loop: str) -> dict[str, ItemOutcome]:
        """What stands recorded for a loop, by key."""
        with self._lock:
            return {key: outcome for (name, key), outcome in self._standing.items() if name == loop}

    def tried_again(self, loop: str) -> set[str]:
        """The failed items of a loop that were given again already, by key."""
        return {key for name, key in self._tried_again if name == loop}

    def progress(
        self, percent: Any = None, message: Any = None, metadata: Any = None, done: Any = None, total: Any = None
    ) -> None:
        """Take over how far the job is; the worker reads the values as it reads those of its own bodies."""
        given = {"percent": percent, "message": message, "metadata": metadata, "done": done, "total": total}
        report = {name: _sendable(name, value) for name, value in given.items() if value is not None}
        with self._lock:
            # As the worker would read the one after the other: how far it is is said anew as a whole, the rest stays.
            before = self._progress or {}
            stays = before if report.keys().isdisjoint(_FAR) else {name: before[name] for name in before.keys() - _FAR}
            self._progress = {**stays, **report}
        self._wanted.set()

    def log(self, line: str) -> None:
        """Take a line; a flood waits for the line to the worker rather than fill the memory."""
        while len(self._log) >= LINES and not self._over:
            self.send()
        with self._lock:
            self._log.append(line)
        self._wanted.set()

    def flush(self) -> None:
        """Have all written and committed before going on."""
        self.send()
        self.overtaken = self._child.ask({"kind": "flush", "no": self._no})["overtaken"] or self.overtaken


def _sendable(name: str, value: Any) -> Any:
    """As much of a value as the worker would look at."""
    try:
        if name == "metadata":
            text = encode_result(value, 65_536)[0]
            return json.loads(text) if text is not None else None
        if name == "message":
            return safe_text(str(value), MESSAGE_LIMIT)
        return float(value) if name == "percent" else int(value)
    except Exception:
        return f"<unprintable {type(value).__name__}>" if name == "message" else "unknown"


class RemoteSteps:
    """Steps are found and kept by the worker."""

    def __init__(self, child: Child, no: int) -> None:
        self._child = child
        self._no = no

    def find(self, _claim: Claim, name: str, digest: str) -> str | None:
        """The kept result as JSON text."""
        found: str | None = self._child.ask({"kind": "find", "no": self._no, "name": name, "digest": digest})["value"]
        return found

    def save(self, _claim: Claim, name: str, digest: str, result: str, seconds: float) -> bool:
        """Keep a result; False when a newer run owns the job."""
        message = {"kind": "save", "no": self._no, "name": name, "digest": digest, "result": result, "seconds": seconds}
        return bool(self._child.ask(message)["value"])


    def answer(self, _claim: Claim, name: str, digest: str, *, remembered: bool) -> str | None:
        """The answer that a question has already, as JSON text."""
        message = {"kind": "answer_to", "no": self._no, "name": name, "digest": digest, "remembered": remembered}
        given: str | None = self._child.ask(message)["value"]
        return given


class RemoteJob:
    """One job in this process: from its order to its last word."""

    def __init__(self, order: Message, child: Child) -> None:
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
        self._notes: list[str] = []

    def request_stop(self, cause: str) -> None:
        """Ask the body to stop (from the reading thread)."""
        self.stop.cause = cause
        for function in self._ctx._on_cancel if self._ctx is not None else ():
            threading.Thread(target=self._hook, args=(function,), name="jobtrail-on-cancel", daemon=True).start()
        if self._cancel is not None:
            self.stop.noticed = True
            self._cancel()

    def run(self) -> Message:
        """The last word about the job; never raises."""
        logging.getLogger().setLevel(self._order["log_level"])
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
        finally:
            log_capture.current.reset(token)
        self._recorder.stop()
        end |= {"noticed": self.stop.noticed, "hook_note": "; ".join(self._notes) or None}
        if self._ctx is not None:
            end |= {"unreached": self._ctx.unreached, "stopped_reason": _words(self._ctx.stopped_reason)}
            end |= {"following": [one.to_plain() for one in self._ctx._next]}
        return _end(self.no, end)

    # -- the body ------------------------------------------------------------------------------------

    def _perform(self) -> Any:
        try:
            place = self._order["module"], self._order["place"], self._order["task"]
            self._bound = bound = find_task(*place, self._child.main_error)
            arguments = dict(decode(self._order["args"]))
            if bound.task.signature.context is not None:
                self._ctx = self._context(bound)
                arguments[bound.task.signature.context] = self._ctx
            with self._traced(bound):
                self.in_body = True
                return self._call(bound.task, arguments)
        finally:
            self.in_body = False

    def _call(self, task: Task, arguments: Mapping[str, Any]) -> Any:
        if self.stop.cause is not None:
            self.stop.noticed = True
            raise StopSignal(self.stop.cause)
        if task.is_async:
            return asyncio.run(self._perform_async(task.function, arguments))
        try:
            return task.function(**arguments)
        finally:
            self._clean_up()

    def _traced(self, bound: BoundTask) -> contextlib.AbstractContextManager[Any]:
        """Spans that the body makes belong to the attempt's, where the worker has one."""
        if not self._order["trace"]:
            return contextlib.nullcontext()
        from .tracing import continued

        return continued(self._order["trace"], bound, self._ctx)

    async def _perform_async(self, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        if task is not None:
            self._cancel = lambda: loop.call_soon_threadsafe(task.cancel)
        try:
            return await function(**arguments)
        finally:
            self._cancel = None
            for cleanup in self._ctx._on_cleanup if self._ctx is not None else ():
                if inspect.iscoroutinefunction(cleanup):
                    try:
                        await cleanup()
                    except BaseException as error:
                        self._notes.append(f"a function given to on_cleanup raised {type(error).__name__}")
                else:
                    self._hook(cleanup)

    def _clean_up(self) -> None:
        for function in self._ctx._on_cleanup if self._ctx is not None else ():
            self._hook(_awaited(function) if inspect.iscoroutinefunction(function) else function)

    def _hook(self, function: Callable[[], Any]) -> None:
        try:
            function()
        except BaseException as error:
            self._notes.append(f"a function given to on_cancel or on_cleanup raised {type(error).__name__}")

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
            slot=slot_of(options_of(claim)),
            limit=FailedItemsLimit.parse(json.loads(order["max_failed_items"] or "null")),
            following=following_of(bound),
        )

    # -- its end -------------------------------------------------------------------------------------

    def _returned(self, value: Any) -> Message:
        if isinstance(value, Snooze):
            return {"how": "snooze", "seconds": float(value.seconds), "reason": _words(value.reason)}
        partial = isinstance(value, Partial)
        text, note = encode_result(value.result if partial else value, self._order["result_limit"])
        end = {"how": "partial" if partial else "returned", "result": text, "note": note}
        return {**end, "reason": _words(value.reason)} if partial else end

    def _raised(self, error: BaseException) -> Message:
        if isinstance(error, RetrySignal):
            return {"how": "retry", "delay": error.delay, "reason": _words(error.reason)}
        if isinstance(error, AskSignal):
            return {"how": "ask", "question": asdict(error.question)}
        failure = self._failure(error)
        if isinstance(error, (StopSignal, asyncio.CancelledError)) and (self.stop.cause or self._recorder.overtaken):
            self.stop.noticed = True
            cause = self.stop.cause or "overtaken by a newer run"
            return {"how": "stopped", "cause": cause, "failure": asdict(failure)}
        allowed, delay = self._verdict(error)
        return {"how": "raised", "failure": asdict(failure), "allowed": allowed, "delay": delay}

    def _failure(self, error: BaseException) -> Failure:
        limit = self._order["memory"]
        if limit is None or not isinstance(error, MemoryError):
            return describe(error, limit=self._order["error_limit"])
        found = describe(error, limit=self._order["error_limit"])
        words = f"memory limit {size_words(limit)}"
        return replace(found, message=f"{words}: {found.message}" if found.message else words)

    def _verdict(self, error: BaseException) -> tuple[bool, tuple[float, str | None] | None]:
        """The retry policy is asked here, where the exception itself is."""
        if self._bound is None:
            return not isinstance(error, UnknownTask), None
        policy = Retry.from_json(self._order["retry"], self._bound.task.retry)
        never = isinstance(error, (InputChanged, InvalidArguments, PermanentError))
        return policy.allows(error) and not never, policy.delay(self._claim.attempt, error)


def _end(no: int, end: Message) -> Message:
    nothing: Message = {"noticed": False, "hook_note": None, "unreached": False, "stopped_reason": None, "following": []}
    return {"kind": "end", "no": no, **nothing, **end}


def _awaited(function: Callable[[], Any]) -> Callable[[], Any]:
    return lambda: asyncio.run(function())


def _words(text: Any) -> str | None:
    return None if text is None else safe_text(str(text), MESSAGE_LIMIT)


def following_of(bound: BoundTask) -> Following | None:
    """What `schedule_next` needs of the application that registered the task, or of the plug-in that declared it."""
    tasks, settings = (getattr(bound._submitter, name, None) for name in ("tasks", "settings"))
    return Following(tasks, settings) if tasks is not None and settings is not None else None


def find_task(module: str, place: str, name: str, main_error: BaseException | None = None) -> BoundTask:
    """The task whose function is called ``place`` in ``module``.

    Raises: UnknownTask; and whatever the module raises when it is imported.
    """
    home = sys.modules["__main__"] if module == "__main__" else import_module(module)
    found: Any = home
    for part in place.split("."):
        found = getattr(found, part, None)
    for one in (found, *vars(home).values()):
        if isinstance(one, BoundTask) and one.task.name == name:
            return one
    message = f"a child process cannot find the task '{name}': {module}.{place} is not it; is it made at import, under that name?"
    raise UnknownTask(message) from main_error if module == "__main__" else None


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
