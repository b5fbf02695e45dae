"""The context of a plain task function: identity, input, items, steps, reports, questions, stopping."""

from __future__ import annotations

import contextlib
import logging
import time
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from jobtrail.commands.using import INHERIT
from jobtrail.errors import AskSignal, InvalidArguments, RetrySignal, StepError, StopSignal, TooLarge, UsageError
from jobtrail.job.items import chosen_items, failed_since
from jobtrail.job.json_value import decode, encode_step
from jobtrail.job.unit import step_digest
from jobtrail.messages import Message

from .fence import PlainFence
from .item_loops import BatchLoop, ItemLoop
from .log_capture import JOB_LOGGER
from .parallel_items import PlainItemLoop
from .stop import OVERTAKEN, SHUTDOWN
from .unfinished import finished_step, plain_hook

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import datetime

    from jobtrail.job.items import FailedItemsLimit
    from jobtrail.job.model import Claim, FileInput
    from jobtrail.job.period import Period
    from jobtrail.job.questions.question import Question
    from jobtrail.job.successor import Successor
    from jobtrail.runtime.successor_maker import SuccessorMaker

    from .recorder import Reports
    from .steps import StepStore
    from .stop import Stop

T = TypeVar("T")
L = TypeVar("L", bound=ItemLoop[Any])
UNSET: Any = object()  # no default: None would be one


class BaseContext:
    """Members that `Context` and `AsyncContext` share."""

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
        successors: SuccessorMaker | None = None,
        may_help: Callable[[BaseException], bool] = lambda _: True,
    ) -> None:
        self._claim = claim
        self._recorder = recorder
        self._steps = steps
        self._stop = stop
        self._limit = limit
        self._may_help = may_help
        self._successors = successors
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
        """Id of the job."""
        return self._claim.id

    @property
    def run_no(self) -> int:
        """Number of this run; it rises at each run of the job."""
        return self._claim.run_no

    @property
    def attempt(self) -> int:
        """Number of this attempt, from 1."""
        return self._claim.attempt

    @property
    def max_attempts(self) -> int | None:
        """Retry limit; None for no limit."""
        return self._claim.max_attempts

    @property
    def source(self) -> str | None:
        """Where the data comes from, as named at submission."""
        return self._claim.source

    @property
    def labels(self) -> dict[str, str]:
        """Labels of the job; a job that follows this one inherits them."""
        return dict(self._claim.said.get("labels", {}))

    @property
    def context(self) -> dict[str, Any]:
        """JSON that the submission added with ``using(context=…)``; a job that follows this one inherits it."""
        return dict(decode(self._claim.context)) if self._claim.context else {}

    # -- items ---------------------------------------------------------------------------------------

    def items(
        self,
        values: Iterable[T],
        *,
        key: Callable[[T], Any] | None = None,
        name: str = "items",
        durable: bool = False,
    ) -> ItemLoop[T]:
        """Loop over values whose outcomes are recorded one by one.

        The work of an item must be committed inside its block: when the block ends, the item counts as done.

        Args:
            values: The values.
            key: Function from a value to its identity; default: the value itself. Keys are texts, numbers, dates, UUIDs
                or tuples of them.
            name: Name of the loop, if the task function has several.
            durable: Write each outcome before the next item; default: at most 0.25 s later.

        Returns:
            An iterator of items; enter each with ``with item:``.

        Raises:
            UsageError: If a name or key is used twice, or an item is not entered.

        Example:
            ```python
            for item in ctx.items(rows, key=lambda row: row["id"]):
                with item as row:
                    save(row)
            ```
        """
        return self._item_loop(ItemLoop[T], values, name, key=key, durable=durable)

    def batches(
        self,
        values: Iterable[T],
        size: int,
        *,
        key: Callable[[T], Any] | None = None,
        name: str = "items",
        durable: bool = False,
    ) -> BatchLoop[T]:
        """Loop over groups of values, for work that is committed in groups; after an error the members of a group run one by one.

        Args:
            values: The values.
            size: Number of values in a group.
            key: As for `items`.
            name: As for `items`.
            durable: As for `items`.
        """
        return self._item_loop(BatchLoop[T], values, name, key=key, durable=durable, size=size)

    def _item_loop(
        self, kind: type[L], values: Iterable[Any], name: str, *, key: Callable[[Any], Any] | None, **options: Any
    ) -> L:
        if name in self._loops:
            raise UsageError(Message("runtime.loop-twice", name=name))
        since, chosen = failed_since(self._claim.continues), chosen_items(self._claim.options)
        loop = kind(
            self._recorder,
            values,
            key=key or _itself,
            name=name,
            fresh=self._claim.fresh,
            failed_too=since is not None,
            anew=since == 0,
            chosen=chosen.get(name, frozenset()) if chosen is not None else None,
            limit=self._limit,
            check_stop=self.check_cancelled,
            stopped=lambda: self.stopped_reason is not None,
            may_help=self._may_help,
            **options,
        )
        self._loops[name] = loop
        return loop

    @property
    def unreached(self) -> bool:
        """True if a loop over items was left early."""
        return any(not loop.exhausted for loop in self._loops.values())

    def stop(self, reason: str) -> None:
        """Mark that a loop is left early on purpose: items that were not reached do not make the job partial.

        Args:
            reason: Reason that is shown with the job.
        """
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
        """Report progress; takes microseconds and accepts any value.

        Args:
            percent: Percent from 0 to 100.
            message: Text that is shown with the progress.
            metadata: JSON value that is shown with the progress.
            done: Number of finished parts.
            total: Number of all parts.

        Raises:
            StopSignal: If the job was asked to stop.
        """
        self._recorder.progress(percent, message, metadata, done, total)
        self.check_cancelled()

    def heartbeat(self, progress: float | None = None) -> None:
        """Report that the task function is alive (``last_heartbeat_at``).

        Args:
            progress: Percent from 0 to 100.

        Raises:
            StopSignal: If the job was asked to stop.
        """
        self._recorder.progress(progress)
        self.check_cancelled()

    # -- stopping ------------------------------------------------------------------------------------

    @property
    def cancelled(self) -> bool:
        """True if the job was asked to stop, or a newer run has replaced this one."""
        return self._stop.cause is not None or self._stop.shutdown or self._recorder.overtaken

    def check_cancelled(self) -> None:
        """Leave the task function if the job was asked to stop.

        Raises:
            StopSignal: If so; ``except Exception`` does not catch it.
        """
        if self.cancelled:
            self._stop.noticed = True
            raise StopSignal(self._stop.cause or (SHUTDOWN if self._stop.shutdown else OVERTAKEN))

    def _fenced(self, *, held: bool) -> None:
        if not held:
            self._recorder.overtaken = True
            self.check_cancelled()

    def on_cancel(self, function: Callable[[], Any]) -> None:
        """Call a function, from another thread, when the job is asked to stop.

        Args:
            function: Plain function without parameters, for example one that closes a socket.

        Raises:
            UsageError: If it is a coroutine function: no event loop runs in that thread.
        """
        self._on_cancel.append(plain_hook(function))

    def on_cleanup(self, function: Callable[[], Any]) -> None:
        """Call a function after the task function, however it ended.

        Args:
            function: Function without parameters, also a coroutine function.
        """
        self._on_cleanup.append(function)

    def request_retry(self, after: float | None = None, reason: str | None = None) -> None:
        """End this attempt and plan another one.

        Args:
            after: Seconds until the next attempt; default: the retry policy of the task.
            reason: Reason that is shown with the attempt.

        Raises:
            RetrySignal: Always; ``except Exception`` does not catch it.
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
        """Declare a job that follows the end of this one.

        It is stored in the transaction that ends this job, so it is neither lost nor duplicated. An attempt that is
        retried stores nothing.

        Args:
            task: Task of the successor (with its ``.using(…)``), or its name.
            params: Arguments of the successor.
            when: "now", a timedelta or seconds after the end, or an aware datetime.
            on: Ends of this job that create the successor: "success", "partial", "failure", "cancelled", a list of them, or "ended".
            source: Source of the successor; default: that of this job.
            period: Period of the successor; default: that of this job.
            file: Input file of the successor.
            result_as: Name of the successor's argument that receives the result of this job.

        Raises:
            UsageError: If the successor is not valid; nothing is stored.
        """
        if self._successors is None:
            raise UsageError(Message("runtime.next-outside-job"))
        said = {"when": when, "on": on, "source": source, "period": period, "file": file, "result_as": result_as}
        self._next.append(self._successors.make(self._claim, task, params, **said))

    # -- questions -----------------------------------------------------------------------------------

    def _question(self, name: str, text: str, schema: Any, options: dict[str, Any]) -> Question:
        from jobtrail.job.questions.question import make_question

        self.check_cancelled()
        if name in self._asked:
            raise UsageError(Message("runtime.asked-twice", name=name))
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
            raise StepError(Message("runtime.step-not-storable", name=name, error=error)) from None
        if not self._steps.save(self._claim, name, digest, text, seconds):
            self._recorder.overtaken = True
            self.check_cancelled()
        return decode(text)


class Context(BaseContext, PlainFence):
    """Context of a plain task function; its first parameter ``ctx`` receives it.

    Attributes:
        state: Services of the application (`JobTrail.state`).
        period: Period of the job, or None.
        file: Input file of the job, or None.
        slot: Planned time (UTC) if a schedule created the job, or None.
        log: Logger whose lines go to the log of the job.
        stopped_reason: Reason given to `stop`, or None.
    """

    def items(
        self, values: Iterable[T], *, key: Callable[[T], Any] | None = None, name: str = "items", durable: bool = False
    ) -> PlainItemLoop[T]:
        """`BaseContext.items`; `PlainItemLoop.run` calls a function for each item, several at a time.

        Args:
            values: As for `BaseContext.items`.
            key: As for `BaseContext.items`.
            name: As for `BaseContext.items`.
            durable: As for `BaseContext.items`.
        """
        return self._item_loop(PlainItemLoop[T], values, name, key=key, durable=durable)

    def step(self, name: str, function: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
        """Call a function once per generation and keep its result.

        The next run receives the kept result, as JSON returns it, for the same name and equal arguments.

        Args:
            name: Name of the step.
            function: Function to call.
            *args: Its arguments; JSON values.
            **kwargs: Its arguments; JSON values.

        Returns:
            The result of the function, as JSON returns it.

        Raises:
            StepError: If the result is not JSON, or the arguments cannot be compared.

        Example:
            ```python
            rows = ctx.step("download", download, airport, ctx.period.text)
            ```
        """
        self.check_cancelled()
        digest = step_digest(name, args, kwargs)
        found, value = self._find(name, digest)
        if not found:
            started = time.monotonic()
            with self._around_step(name):
                result = finished_step(name, function(*args, **kwargs))
            value = self._keep(name, digest, result, time.monotonic() - started)
        kept: T = value
        return kept


    @overload
    def ask(
        self, name: str, text: str, schema: type[T], *, kind: Literal["input"] = "input", expires: Any = None,
        default: Any = UNSET, columns: Any = None, remember: bool = False,
    ) -> T: ...
    @overload
    def ask(
        self, name: str, text: str, schema: Any, *, kind: Literal["mapping"], expires: Any = None,
        default: Any = UNSET, columns: Any = None, remember: bool = False,
    ) -> dict[str, str | None]: ...
    @overload
    def ask(
        self, name: str, text: str, schema: Mapping[str, Any], *, kind: str = "input", expires: Any = None,
        default: Any = UNSET, columns: Any = None, remember: bool = False,
    ) -> Any: ...
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
        """Ask a person and return the answer.

        Without an answer the job leaves its slot and waits (``awaiting_input``, ``awaiting_mapping``). After the answer it
        runs again from the top: finished steps and items are not repeated, and this call returns the answer.

        Args:
            name: Name of the question, unique in the job.
            text: The question, for people.
            schema: Form of the answer: a pydantic model, a JSON schema, or a plain type such as ``bool``.
            kind: "input"; "mapping" to assign columns of a source to the fields of ``schema``.
            expires: Time limit (timedelta or seconds); after it the job fails, or continues with ``default``.
            default: Answer after the time limit.
            columns: With ``kind="mapping"``: columns of the source (names, name to samples, or the first rows).
            remember: Use the answer for later jobs of the same task and source that ask the same.

        Returns:
            The answer: an instance of the model, or the JSON value; for a mapping a dict of field to column or None.

        Raises:
            UsageError: If the name was used before or the question cannot be answered.
            AskSignal: Without an answer; ``except Exception`` does not catch it.
        """
        options = {"kind": kind, "expires": expires, "default": default, "columns": columns, "remember": remember}
        return self._answer(self._question(name, text, schema, options), schema)


def _itself(value: Any) -> Any:
    return value
