"""Run, track and re-run background work from inside a Python program."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .app import JobTrail
    from .commands.job_handle import Job
    from .commands.task_handle import BoundTask
    from .errors import (
        AlreadyActive,
        AlreadyAnswered,
        AlreadyDone,
        AnswerRefused,
        Conflict,
        IdempotencyConflict,
        IllegalMove,
        InputChanged,
        InvalidArguments,
        InvalidFile,
        InvalidFilter,
        InvalidOption,
        InvalidPeriod,
        InvalidSchedule,
        JobFailed,
        JobTrailError,
        NotFound,
        PermanentError,
        ProcessDied,
        QuestionClosed,
        ResultTimeout,
        RetryableError,
        SchemaMismatch,
        StepError,
        StoreError,
        StoreUnavailable,
        TooLarge,
        TooManyFailedItems,
        TooSlow,
        UnknownTask,
        UsageError,
    )
    from .job.model import Outcome, Partial, Snooze, Status
    from .job.period import Period
    from .job.retry import Exponential, Retry
    from .plugins.plugin import Plugin
    from .runtime.context import AsyncContext, Context
    from .schedules.rules.rules import at, calendar_interval, cron, every
    from .worker.middleware import Middleware

__version__ = "0.1.0"

# Where the names are; they are loaded when they are asked for, so that `jobtrail --help` need not wait for a database library.
_HOMES = {
    ".app": ("JobTrail",),
    ".runtime.context": ("AsyncContext", "Context"),
    ".commands.job_handle": ("Job",),
    ".commands.task_handle": ("BoundTask",),
    ".errors": (
        "AlreadyActive",
        "AlreadyAnswered",
        "AlreadyDone",
        "AnswerRefused",
        "Conflict",
        "IdempotencyConflict",
        "IllegalMove",
        "InputChanged",
        "InvalidArguments",
        "InvalidFile",
        "InvalidFilter",
        "InvalidOption",
        "InvalidPeriod",
        "InvalidSchedule",
        "JobFailed",
        "JobTrailError",
        "NotFound",
        "PermanentError",
        "ProcessDied",
        "QuestionClosed",
        "ResultTimeout",
        "RetryableError",
        "SchemaMismatch",
        "StepError",
        "StoreError",
        "StoreUnavailable",
        "TooLarge",
        "TooManyFailedItems",
        "TooSlow",
        "UnknownTask",
        "UsageError",
    ),
    ".job.model": ("Outcome", "Partial", "Snooze", "Status"),
    ".job.period": ("Period",),
    ".job.retry": ("Exponential", "Retry"),
    ".plugins.plugin": ("Plugin",),
    ".schedules.rules.rules": ("at", "calendar_interval", "cron", "every"),
    ".worker.middleware": ("Middleware",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "AlreadyActive",
    "AlreadyAnswered",
    "AlreadyDone",
    "AnswerRefused",
    "AsyncContext",
    "BoundTask",
    "Conflict",
    "Context",
    "Exponential",
    "IdempotencyConflict",
    "IllegalMove",
    "InputChanged",
    "InvalidArguments",
    "InvalidFile",
    "InvalidFilter",
    "InvalidOption",
    "InvalidPeriod",
    "InvalidSchedule",
    "Job",
    "JobFailed",
    "JobTrail",
    "JobTrailError",
    "Middleware",
    "NotFound",
    "Outcome",
    "Partial",
    "Period",
    "PermanentError",
    "Plugin",
    "ProcessDied",
    "QuestionClosed",
    "ResultTimeout",
    "Retry",
    "RetryableError",
    "SchemaMismatch",
    "Snooze",
    "Status",
    "StepError",
    "StoreError",
    "StoreUnavailable",
    "TooLarge",
    "TooManyFailedItems",
    "TooSlow",
    "UnknownTask",
    "UsageError",
    "__version__",
    "at",
    "calendar_interval",
    "cron",
    "every",
]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        message = f"module 'jobtrail' has no attribute '{name}'"
        raise AttributeError(message)
    value = getattr(import_module(home, __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
