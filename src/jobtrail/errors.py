"""Every error of jobtrail, as a tree: each class says in one sentence what went wrong.

JobTrailError
├── UsageError (also ValueError)      the caller asked for something that cannot be
│   ├── AnswerRefused                 an answer that does not fit its question; ``errors`` says where
│   ├── InvalidArguments              arguments that do not fit the task or are not JSON
│   ├── InvalidFile                   an input file that is missing, growing, unreadable
│   ├── InvalidFilter                 a search text that does not follow the grammar
│   ├── InvalidOption                 an option of a task, a policy or a job
│   ├── InvalidPeriod                 a period that is no span of time
│   ├── InvalidSchedule               a rule of time, or what a schedule says of it
│   ├── TooLarge                      a payload above its limit
│   └── UnknownTask                   a task name that nobody registered
├── Conflict                          the state of the store forbids it now
│   ├── AlreadyActive                 the unit has an active job (its id is told)
│   ├── AlreadyDone                   the unit is complete and ``if_done="raise"``
│   ├── AlreadyAnswered               somebody else has answered the question (who and when is told)
│   ├── IdempotencyConflict           the key belongs to another payload
│   ├── QuestionClosed                nobody waits for the answer any more: its time is over, or its job has ended
│   └── IllegalMove                   the job's state does not allow the move
├── NotFound                          no job, item or unit of that name
├── JobFailed                         ``result()`` of a job that did not succeed
├── ResultTimeout (also TimeoutError) ``result()`` waited and the job still goes on
├── InputChanged                      the file is not the one that was submitted
├── ProcessDied                       the child process that ran the body ended before it
├── StepError                         a step whose result cannot be kept
└── StoreError                        the database
    ├── StoreUnavailable              cannot be reached, locked, read-only
    ├── TooSlow                       a search was given up at its time limit
    └── SchemaMismatch                older or newer than this program

RetryableError, PermanentError        raised by a task's body as an instruction
└── TooManyFailedItems                raised into a body whose items fail too often
JobSignal (BaseException)             leaves a body that stops, retries or asks
├── RetrySignal                       ``ctx.request_retry()``
├── AskSignal                         ``ctx.ask()`` where there is no answer yet
└── StopSignal                        the job was asked to stop
"""

from __future__ import annotations

from typing import Any


class JobTrailError(Exception):
    """Base of all errors that jobtrail raises to its callers."""


class UsageError(JobTrailError, ValueError):
    """The caller asked for something that cannot be; nothing was stored."""


class AnswerRefused(UsageError):
    """The answer does not fit the question; ``errors`` holds a sentence for each field (``$.rows[2].price``)."""

    def __init__(self, errors: dict[str, str]) -> None:
        told = [f"{'it' if path == '$' else path} {sentence}" for path, sentence in list(errors.items())[:5]]
        more = f"; and {len(errors) - 5} more" if len(errors) > 5 else ""
        super().__init__(f"the answer does not fit: {'; '.join(told)}{more}")
        self.errors = errors

    def __reduce__(self) -> tuple[type[AnswerRefused], tuple[dict[str, str]]]:
        """Made anew from its errors, also in another process."""
        return AnswerRefused, (self.errors,)


class InvalidArguments(UsageError):
    """Arguments do not fit the task's signature, or are not JSON at ``path``."""

    def __init__(self, message: str, path: str | None = None) -> None:
        super().__init__(message)
        self.path = path


class InvalidFile(UsageError):
    """The input file is missing, not a file, unreadable, or still growing."""


class InvalidFilter(UsageError):
    """The search text does not follow the filter grammar."""


class InvalidOption(UsageError):
    """An option of a task, a policy or a job has a value that cannot be used."""


class InvalidPeriod(UsageError):
    """The text is no period."""


class InvalidSchedule(UsageError):
    """The rule of time, or another option of a schedule, cannot be used."""


class TooLarge(UsageError):
    """The payload is above its limit."""


class UnknownTask(UsageError):
    """No task of this name is registered."""


class Conflict(JobTrailError):
    """The state of the store forbids it now; ``job_id`` names the job in the way, where there is one."""

    def __init__(self, message: str, job_id: str | None = None) -> None:
        super().__init__(message)
        self.job_id = job_id


class AlreadyActive(Conflict):
    """The unit has an active job."""


class AlreadyDone(Conflict):
    """The unit is complete already."""


class AlreadyAnswered(Conflict):
    """Somebody else has answered the question; ``actor`` and ``at`` (UTC) tell who and when."""

    def __init__(self, message: str, job_id: str | None = None, *, actor: str | None = None, at: Any = None) -> None:
        super().__init__(message, job_id)
        self.actor = actor
        self.at = at


class QuestionClosed(Conflict):
    """Nobody waits for the answer any more: the question's time is over, or its job has ended."""


class IdempotencyConflict(Conflict):
    """The idempotency key was used with another payload."""


class IllegalMove(Conflict):
    """The job's state does not allow this move."""


class NotFound(JobTrailError, LookupError):
    """There is no such job."""


class JobFailed(JobTrailError):
    """The job ended without success; ``job_id`` and ``status`` tell which and how."""

    def __init__(self, message: str, job_id: str, status: str) -> None:
        super().__init__(message)
        self.job_id = job_id
        self.status = status


class ResultTimeout(JobTrailError, TimeoutError):
    """The wait is over and the job is still going on."""


class InputChanged(JobTrailError):
    """The input file's content is not the one that was submitted."""


class ProcessDied(JobTrailError):
    """The child process of a task with ``executor="process"`` ended before the body did; the message says how."""


class StepError(JobTrailError):
    """A step's result cannot be kept, so it could not be given back."""


class StoreError(JobTrailError):
    """Something is wrong with the database."""


class StoreUnavailable(StoreError):
    """The database cannot be reached or written now."""


class TooSlow(StoreError):
    """A search was given up at its time limit; a narrower filter finds its way sooner."""


class SchemaMismatch(StoreError):
    """The database's schema is older or newer than this program."""


class RetryableError(Exception):
    """Raised by a body: this attempt failed, try again after ``delay`` seconds (default: the task's policy)."""

    def __init__(self, message: str = "", *, delay: float | None = None) -> None:
        super().__init__(message)
        self.delay = delay


class PermanentError(Exception):
    """Raised by a body: trying again cannot help."""


class TooManyFailedItems(PermanentError):
    """More items failed than ``max_failed_items`` allows, so the body was stopped."""


class JobSignal(BaseException):
    """Base of what leaves a body on jobtrail's own behalf; it passes ``except Exception``."""


class RetrySignal(JobSignal):
    """``ctx.request_retry()``: end this attempt, try again after ``delay`` seconds."""

    def __init__(self, delay: float | None, reason: str | None) -> None:
        super().__init__(reason or "the body asked for a retry")
        self.delay = delay
        self.reason = reason


class AskSignal(JobSignal):
    """``ctx.ask()``: leave the slot until a person has answered; ``question`` says what is asked."""

    def __init__(self, question: Any) -> None:
        super().__init__(f"the job asks: {question.name}")
        self.question = question


class StopSignal(JobSignal):
    """Leaves a body that was asked to stop (cancel, timeout, stall, an overtaken run)."""

    def __init__(self, cause: str) -> None:
        super().__init__(f"the job was asked to stop: {cause}")
        self.cause = cause
