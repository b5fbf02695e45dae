"""All errors of jobtrail, as a tree with one sentence for each class.

JobTrailError
├── UsageError (also ValueError)      an argument or option is not valid
│   ├── AnswerRefused                 the answer does not fit its question; ``errors`` says where
│   ├── InvalidArguments              arguments do not fit the task or are not JSON
│   ├── InvalidFile                   the input file is missing, still growing or unreadable
│   ├── InvalidFilter                 the filter text does not follow the grammar
│   ├── InvalidOption                 an option of a task, a policy or a job is not valid
│   ├── InvalidPeriod                 the value is not a span of time
│   ├── InvalidRecords                records of ended jobs cannot be imported; ``problems`` says which and why
│   ├── InvalidSchedule               a time rule or an option of a schedule is not valid
│   ├── TooLarge                      a payload exceeds its limit
│   └── UnknownTask                   no task of this name is registered
├── Conflict                          the stored state does not allow the operation now
│   ├── AlreadyActive                 the unit has an active job; ``job_id`` names it
│   ├── AlreadyDone                   the unit is complete and ``if_done="raise"``
│   ├── AlreadyAnswered               the question has an answer; ``actor`` and ``at`` say whose
│   ├── IdempotencyConflict           the key was used with another payload
│   ├── QuestionClosed                the deadline of the question has passed, or its job has ended
│   └── IllegalMove                   the state of the job does not allow the change
├── NotFound                          no job, item, unit, schedule or group has this name
│   └── JobRemoved                    the job has ended and its details are removed; ``status`` and ``finished_at`` are known
├── JobFailed                         ``result()`` of a job that failed or was cancelled
├── ResultTimeout (also TimeoutError) ``result()`` waited and the job is still active
├── InputChanged                      the file differs from the submitted one
├── ProcessDied                       the child process ended before the task function returned
├── StepError                         the result of a step cannot be stored
└── StoreError                        the database
    ├── StoreUnavailable              not reachable, locked, too slow or read-only
    ├── DuplicateRow                  a row with this key exists
    ├── ValueNotStorable              the database cannot store a value
    ├── TooSlow                       a search exceeded its time limit
    └── SchemaMismatch                the schema is older or newer than this program

RetryableError, PermanentError        raised by a task function as an instruction
└── TooManyFailedItems                raised in a task function whose items fail too often
JobSignal (BaseException)             leaves a task function that stops, retries or asks
├── RetrySignal                       ``ctx.request_retry()``
├── AskSignal                         ``ctx.ask()`` without an answer yet
└── StopSignal                        the job was asked to stop
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

from jobtrail.messages import Message, render

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime


class JobTrailError(Exception):
    """Base class of the errors that jobtrail raises.

    ``str(error)`` is English; `jobtrail.messages.render` gives the text in another language.

    Args:
        message: A message of the catalogue, or the words of whoever raises it.
    """

    def __init__(self, message: Message | str = "", /) -> None:
        super().__init__(message)

    @property
    def code(self) -> str | None:
        """The code of the message, such as ``"config.unknown-setting"``; None for an error in somebody's own words."""
        message = self.args[0] if self.args else None
        return message.code if isinstance(message, Message) else None

    @property
    def params(self) -> dict[str, Any]:
        """The parameters of the message, by name."""
        message = self.args[0] if self.args else None
        return dict(message.params) if isinstance(message, Message) else {}


class UsageError(JobTrailError, ValueError):
    """An argument or option is not valid; nothing was stored."""


class AnswerRefused(UsageError):
    """The answer does not fit the question; ``errors`` has one sentence for each path (``$.rows[2].price``)."""

    def __init__(self, problems: Mapping[str, Message | str]) -> None:
        super().__init__(Message("errors.answer-refused", problems=by_path(problems)))
        self.problems = dict(problems)

    @property
    def errors(self) -> dict[str, str]:
        """What does not fit, by path, in the language of whoever is being answered."""
        return {path: render(problem) for path, problem in self.problems.items()}

    def __reduce__(self) -> tuple[type[AnswerRefused], tuple[dict[str, Message | str]]]:
        """Restored from its problems in another process."""
        return AnswerRefused, (self.problems,)


class InvalidArguments(UsageError):
    """Arguments do not fit the signature of the task, or are not JSON at ``path``."""

    def __init__(self, message: Message | str, path: str | None = None) -> None:
        super().__init__(message)
        self.path = path


class InvalidFile(UsageError):
    """The input file is missing, not a file, unreadable, or still growing."""


class InvalidFilter(UsageError):
    """The filter text does not follow the grammar."""


class InvalidOption(UsageError):
    """An option of a task, a policy or a job is not known or has a value that is not valid."""


class InvalidPeriod(UsageError):
    """The value is not a span of time."""


class InvalidRecords(UsageError):
    """Records of ended jobs cannot be imported; nothing was stored.

    ``problems`` are the first hundred, each with ``number`` (of the record, or the line of a file), ``field`` and ``why``.
    """

    def __init__(self, problems: Iterable[tuple[int, str, Message]], *, refused: int, records: int) -> None:
        self.problems = tuple(problems)
        number, field, why = self.problems[0]
        told = {"number": number, "field": field or "-", "why": why}
        super().__init__(Message("errors.invalid-records", refused=refused, records=records, **told))


class InvalidSchedule(UsageError):
    """The time rule or another option of a schedule is not valid."""


class TooLarge(UsageError):
    """The payload exceeds its limit; the message has both sizes."""


class UnknownTask(UsageError):
    """No task of this name is registered."""


class Conflict(JobTrailError):
    """The stored state does not allow the operation now; ``job_id`` names the job in the way, if there is one."""

    def __init__(self, message: Message | str, job_id: str | None = None) -> None:
        super().__init__(message)
        self.job_id = job_id


class AlreadyActive(Conflict):
    """The unit has an active job; ``job_id`` names it."""


class AlreadyDone(Conflict):
    """The unit is already complete; ``job_id`` names the job that completed it."""


class AlreadyAnswered(Conflict):
    """The question has an answer already; ``actor`` and ``at`` (UTC) say who gave it and when."""

    def __init__(
        self, message: Message | str, job_id: str | None = None, *, actor: str | None = None, at: Any = None
    ) -> None:
        super().__init__(message, job_id)
        self.actor = actor
        self.at = at


class QuestionClosed(Conflict):
    """The deadline of the question has passed, or its job has ended."""


class IdempotencyConflict(Conflict):
    """The idempotency key was used with another payload."""


class IllegalMove(Conflict):
    """The state of the job does not allow this change."""


class NotFound(JobTrailError, LookupError):
    """No job, item, unit, schedule or group has this name."""


class JobRemoved(NotFound):
    """The job has ended and retention has removed its details; ``job_id``, ``status``, ``outcome`` and ``finished_at`` are known."""

    def __init__(
        self, message: Message | str, job_id: str, *, status: str, outcome: str | None, finished_at: datetime
    ) -> None:
        super().__init__(message)
        self.job_id = job_id
        self.status = status
        self.outcome = outcome
        self.finished_at = finished_at


class JobFailed(JobTrailError):
    """The job failed or was cancelled; ``job_id`` and ``status`` say which and how."""

    def __init__(self, message: Message | str, job_id: str, status: str) -> None:
        super().__init__(message)
        self.job_id = job_id
        self.status = status


class ResultTimeout(JobTrailError, TimeoutError):
    """The job is still active after the time limit of the wait."""


class InputChanged(JobTrailError):
    """The content of the input file differs from the submitted one."""


class ProcessDied(JobTrailError):
    """The child process of a task with ``executor="process"`` ended before the task function returned; the message says how."""


class StepError(JobTrailError):
    """The result of a step cannot be stored as JSON, so the next run could not use it."""


class StoreError(JobTrailError):
    """Base class of database errors."""


class StoreUnavailable(StoreError):
    """The database is not reachable, locked or read-only; try again later."""


class DuplicateRow(StoreError):
    """A row with this key exists already."""


class ValueNotStorable(StoreError):
    """The database cannot store a value, such as a NUL character in a text."""


class TooSlow(StoreError):
    """A search exceeded its time limit; use a narrower filter."""


class SchemaMismatch(StoreError):
    """The database schema is older or newer than this program."""


def by_path(problems: Mapping[str, Message | str], most: int = 5) -> Message:
    """The first problems of an answer in one sentence, each with the path of its field."""
    shown = [
        Message("errors.whole", problem=problem) if path == "$" else Message("errors.field", path=path, problem=problem)
        for path, problem in list(problems.items())[:most]
    ]
    if len(problems) > most:
        shown.append(Message("errors.more", count=len(problems) - most))
    return joined(shown)


def joined(messages: Iterable[Message]) -> Message:
    """Return several messages as one, separated by semicolons; there must be at least one."""
    return reduce(lambda first, second: Message("errors.both", first=first, second=second), messages)


class RetryableError(Exception):
    """Raised by a task function: this attempt failed; try again.

    Args:
        message: Reason, shown with the attempt.
        delay: Seconds until the next attempt; default: the retry policy of the task.

    Example:
        ```python
        raise RetryableError("the server is busy", delay=30)
        ```
    """

    def __init__(self, message: str = "", *, delay: float | None = None) -> None:
        super().__init__(message)
        self.delay = delay


class PermanentError(Exception):
    """Raised by a task function: the job fails without another attempt."""


class TooManyFailedItems(PermanentError):
    """More items failed than ``max_failed_items`` allows; the task function was stopped."""


class JobSignal(BaseException):
    """Base class of the signals that leave a task function; ``except Exception`` does not catch them."""


class RetrySignal(JobSignal):
    """``ctx.request_retry()``: end this attempt and try again after ``delay`` seconds."""

    def __init__(self, delay: float | None, reason: str | None) -> None:
        super().__init__(reason or Message("errors.retry-asked"))
        self.delay = delay
        self.reason = reason


class AskSignal(JobSignal):
    """``ctx.ask()``: release the slot until a person has answered; ``question`` is the question."""

    def __init__(self, question: Any) -> None:
        super().__init__(Message("errors.question-asked", name=question.name))
        self.question = question


class StopSignal(JobSignal):
    """Leaves a task function that was asked to stop (cancel, timeout, stall, a newer run)."""

    def __init__(self, cause: str) -> None:
        super().__init__(Message("errors.stop-asked", cause=cause))
        self.cause = cause
