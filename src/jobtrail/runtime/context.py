"""What a body is given: who it is, what it works on, and how it reports, keeps steps and stops."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from jobtrail.commands.successors import INHERIT
from jobtrail.errors import AskSignal, InvalidArguments, RetrySignal, StepError, StopSignal, TooLarge, UsageError
from jobtrail.job.items import failed_since
from jobtrail.job.json_value import decode, encode_step
from jobtrail.job.unit import step_digest

from .item_loops import BatchLoop, ItemLoop
from .log_capture import JOB_LOGGER

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping
    from datetime import datetime

    from jobtrail.commands.successors import Following
    from jobtrail.job.items import FailedItemsLimit
    from jobtrail.job.model import Claim, FileInput
    from jobtrail.job.period import Period
    from jobtrail.job.questions.question import Question
    from jobtrail.job.successor import Successor

    from .recorder import Reports

T = TypeVar("T")
UNSET: Any = object()  # no default: None would be one


class StepStore(Protocol):
    """Where steps are kept; blocking."""

    def find(self, claim: Claim, name: str, digest: str) -> str | None:
        """The kept result as JSON text."""

    def save(self, claim: Claim, name: str, digest: str, result: str, seconds: float) -> bool:
        """Keep a result; False when a newer run owns the job."""

    def answer(self, claim: Claim, name: str, digest: str, *, remembered: bool) -> str | None:
        """The answer that a question has already, as JSON text; also one that is remembered for the source."""


@dataclass(slots=True)
class Stop:
    """Was the body asked to stop, why, and has it noticed? ``shutdown``: it is to leave because its worker does."""

    cause: str | None = None
    noticed: bool = False
    shutdown: bool = False


class BaseContext:
    """What `Context` and `AsyncContext` share. A body gets one as its first parameter ``ctx``."""

    def __init__(
        self,
        *,
        claim: Claim,
        recorder: Reports,
        steps: StepStore,
        stop: Stop,
        state: Any,
        period: Period | None = None,
        file: FileInput | None = None,
        slot: datetime | None = None,
        limit: FailedItemsLimit | None = None,
        following: Following | None = None,
    ) -> None:
        self._claim = claim
        self._recorder = recorder
        self._steps = steps
        self._stop = stop
        self._limit = limit
        self._following = following
        self._next: list[Successor] = []
        self._asked: set[str] = set()
        self._loops: dict[str, ItemLoop[Any]] = {}
        self._on_cancel: list[Callable[[], Any]] = []
        self._on_cleanup: list[Callable[[], Any]] = []
        self._around_step: Callable[[str], contextlib.AbstractContextManager[Any]] = contextlib.nullcontext
        self.stopped_reason: str | None = None
        self.state = state
        self.period = period
        self.file = file
        self.slot = slot
        self.log = logging.getLogger(JOB_LOGGER)

    # -- who and what --------------------------------------------------------------------------------

    @property
    def job_id(self) -> str:
        """The job's id."""
        return self._claim.id

    @property
    def run_no(self) -> int:
        """The number of this run; it rises at every start of the job."""
        return self._claim.run_no

    @property
    def attempt(self) -> int:
        """This attempt, from 1."""
        return self._claim.attempt

    @property
    def max_attempts(self) -> int | None:
        """How many attempts there may be; None for no limit."""
        return self._claim.max_attempts

    @property
    def source(self) -> str | None:
        """Where the data comes from, as named at submission."""
        return self._claim.source

    # -- items ---------------------------------------------------------------------------------------

    def items(
        self,
        values: Iterable[T],
        *,
        key: Callable[[T], Any] | None = None,
        name: str = "items",
        durable: bool = False,
    ) -> ItemLoop[T]:
        """Loop over things whose own outcome is recorded.

        What is recorded must have been committed inside the block. ``key`` gives each item its identity
        (default: the item itself); ``name`` tells several loops of one body apart; ``durable=True`` writes
        each outcome before going on, else it is written at most 0.25 s late.

        Raises: UsageError for a second loop of the same name, a doubled key, an item that is not entered.
        """
        loop = ItemLoop(self._recorder, values, **self._loop_options(name, key, durable=durable))
        self._loops[name] = loop
        return loop

    def batches(
        self,
        values: Iterable[T],
        size: int,
        *,
        key: Callable[[T], Any] | None = None,
        name: str = "items",
        durable: bool = False,
    ) -> BatchLoop[T]:
        """`items` in groups of ``size``, for work that is committed in groups; after an error one by one."""
        loop: BatchLoop[T] = BatchLoop(
            self._recorder, values, size=size, **self._loop_options(name, key, durable=durable)
        )
        self._loops[name] = loop
        return loop

    def _loop_options(self, name: str, key: Callable[[Any], Any] | None, *, durable: bool) -> dict[str, Any]:
        if name in self._loops:
            message = f"there is a loop called '{name}' in this body already; give the second one a name="
            raise UsageError(message)
        return {
            "key": key or _itself,
            "name": name,
            "fresh": self._claim.fresh,
            "failed_too": failed_since(self._claim.continues) is not None,
            "limit": self._limit,
            "durable": durable,
            "check_stop": self.check_cancelled,
        }

    @property
    def unreached(self) -> bool:
        """A loop over items was left early."""
        return any(not loop.exhausted for loop in self._loops.values())

    def stop(self, reason: str) -> None:
        """Say that leaving a loop early is on purpose: what was not reached does not make the job partial."""
        self.stopped_reason = reason

    # -- reports -------------------------------------------------------------------------------------

    def set_progress(
        self,
        percent: float | None = None,
        message: str | None = None,
        metadata: Any = None,
        *,
        done: int | None = None,
        total: int | None = None,
    ) -> None:
        """Say how far the work is, in percent or as ``done`` of ``total``; costs microseconds, never raises for a value.

        Raises: StopSignal when the job was asked to stop.
        """
        self._recorder.progress(percent, message, metadata, done, total)
        self.check_cancelled()

    def heartbeat(self, progress: float | None = None) -> None:
        """Say that the body lives (``last_heartbeat_at``), where it has nothing else to report."""
        self._recorder.progress(progress)
        self.check_cancelled()

    # -- stopping ------------------------------------------------------------------------------------

    @property
    def cancelled(self) -> bool:
        """The job was asked to stop, or a newer run has overtaken this one."""
        return self._stop.cause is not None or self._stop.shutdown or self._recorder.overtaken

    def check_cancelled(self) -> None:
        """Leave the body here if it was asked to stop.

        Raises: StopSignal, which passes ``except Exception``.
        """
        if self.cancelled:
            self._stop.noticed = True
            why = "its worker shuts down" if self._stop.shutdown else "overtaken by a newer run"
            raise StopSignal(self._stop.cause or why)

    def on_cancel(self, function: Callable[[], Any]) -> None:
        """Call ``function`` (from another thread) when the job is asked to stop: close a socket, set a flag."""
        self._on_cancel.append(function)

    def on_cleanup(self, function: Callable[[], Any]) -> None:
        """Call ``function`` after the body, however it ended."""
        self._on_cleanup.append(function)

    def request_retry(self, after: float | None = None, reason: str | None = None) -> None:
        """End this attempt here and try again ``after`` seconds (default: the task's policy).

        Raises: RetrySignal, which passes ``except Exception``.
        """
        raise RetrySignal(after, reason)

    # -- what follows --------------------------------------------------------------------------------

    def schedule_next(
        self,
        task: Any,
        params: Mapping[str, Any] | None = None,
        when: Any = "now",
        on: Any = "success",
        *,
        source: Any = INHERIT,
        period: Any = INHERIT,
        file: Any = None,
        result_as: str | None = None,
    ) -> None:
        """Have another job follow when this one ends in the way ``on``: success, partial, failure, any, or several.

        It is written in the transaction that finishes this job, so none is lost and none comes twice; an attempt
        that is tried again leaves nothing behind. ``task`` is a task (with its ``.using(…)``) or a name; ``when`` is
        "now", a timedelta or seconds after the end, or an aware datetime. Source and period are this job's unless
        said otherwise. ``result_as`` names the argument that takes this job's result.

        Raises: UsageError where the job could not be; nothing was stored then.
        """
        if self._following is None:
            message = "schedule_next() works in a running job only"
            raise UsageError(message)
        said = {"when": when, "on": on, "source": source, "period": period, "file": file, "result_as": result_as}
        self._next.append(self._following.make(self._claim, task, params, **said))

    # -- questions -----------------------------------------------------------------------------------

    def _question(self, name: str, text: str, schema: Any, options: dict[str, Any]) -> Question:
        from jobtrail.job.questions.question import make_question

        self.check_cancelled()
        if name in self._asked:
            message = f"this job has asked '{name}' already; each question needs a name of its own (in a loop: with the item's key)"
            raise UsageError(message)
        self._asked.add(name)
        return make_question(name, text, schema, **{key: value for key, value in options.items() if value is not UNSET})

    def _answer(self, question: Question, schema: Any) -> Any:
        """Raises: AskSignal where nobody has answered yet."""
        from jobtrail.job.questions.question import result_of

        self._recorder.sign()
        given = self._steps.answer(self._claim, question.name, question.digest, remembered=question.remember)
        if given is None:
            raise AskSignal(question)
        return result_of(schema, decode(given), kind=question.kind)

    # -- steps ---------------------------------------------------------------------------------------

    def _find(self, name: str, digest: str) -> tuple[bool, Any]:
        self._recorder.sign()
        kept = self._steps.find(self._claim, name, digest)
        return (kept is not None, decode(kept) if kept is not None else None)

    def _keep(self, name: str, digest: str, value: Any, seconds: float) -> Any:
        self._recorder.sign()
        try:
            text = encode_step(value)
        except (InvalidArguments, TooLarge) as error:
            message = f"the result of the step '{name}' cannot be kept: {error}"
            raise StepError(message) from None
        if not self._steps.save(self._claim, name, digest, text, seconds):
            self._recorder.overtaken = True
            self.check_cancelled()
        return decode(text)


class Context(BaseContext):
    """The context of a plain function."""

    def step(self, name: str, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Call ``function`` once for this telling of the work and keep its result.

        The next run gets the kept result (as JSON gives it back) for the same name and equal arguments.

        Raises: StepError when the result is not JSON or the arguments cannot be compared.
        """
        self.check_cancelled()
        digest = step_digest(name, args, kwargs)
        found, value = self._find(name, digest)
        if not found:
            started = time.monotonic()
            with self._around_step(name):
                result = function(*args, **kwargs)
            value = self._keep(name, digest, result, time.monotonic() - started)
        kept: T = value
        return kept


    def ask(
        self,
        name: str,
        text: str,
        schema: Any,
        *,
        kind: str = "input",
        expires: Any = None,
        default: Any = UNSET,
        columns: Any = None,
        remember: bool = False,
    ) -> Any:
        """Ask a person and give the answer, which fits ``schema``: a pydantic model, a JSON schema, or a plain type.

        Where there is no answer yet, the job leaves its slot and waits (``awaiting_input``, ``awaiting_mapping``). After
        the answer it runs again from the top; finished steps and items are not repeated, and this call gives the answer.

        ``kind="mapping"``: ``schema`` has the target fields, ``columns`` are those of the source (names, name to
        samples, or the first rows); the answer is a dict of target field to column or None. ``expires`` (timedelta or
        seconds): after that the job fails, or takes ``default``. ``remember``: the answer holds for this task and source
        as long as the same is asked.

        Raises: UsageError for a second question of the same name or one that could not be answered; AskSignal, which
        passes ``except Exception``.
        """
        options = {"kind": kind, "expires": expires, "default": default, "columns": columns, "remember": remember}
        return self._answer(self._question(name, text, schema, options), schema)


class AsyncContext(BaseContext):
    """The context of an ``async def``: what must be durable is awaited."""

    async def ask(
        self,
        name: str,
        text: str,
        schema: Any,
        *,
        kind: str = "input",
        expires: Any = None,
        default: Any = UNSET,
        columns: Any = None,
        remember: bool = False,
    ) -> Any:
        """`Context.ask`, awaited."""
        options = {"kind": kind, "expires": expires, "default": default, "columns": columns, "remember": remember}
        question = self._question(name, text, schema, options)
        return await asyncio.to_thread(self._answer, question, schema)

    async def step(self, name: str, function: Callable[..., Awaitable[T] | T], *args: Any, **kwargs: Any) -> T:
        """`Context.step`, awaited; a plain function runs in a thread."""
        self.check_cancelled()
        digest = step_digest(name, args, kwargs)
        found, value = await asyncio.to_thread(self._find, name, digest)
        if not found:
            started = time.monotonic()
            with self._around_step(name):
                result = await _awaited(function, args, kwargs)
            value = await asyncio.to_thread(self._keep, name, digest, result, time.monotonic() - started)
        kept: T = value
        return kept


async def _awaited(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if inspect.iscoroutinefunction(function):
        return await function(*args, **kwargs)
    return await asyncio.to_thread(function, *args, **kwargs)


def _itself(value: Any) -> Any:
    return value
