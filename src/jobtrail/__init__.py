"""The job record that every application ends up writing by hand, done once and done well."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .app import JobTrail
    from .commands.handles import BoundTask, Job
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
        JobFailed,
        JobTrailError,
        NotFound,
        PermanentError,
        ProcessDied,
        QuestionClosed,
        ResultTimeout,
        RetryableError,
        SchemaMismatch,
        StoreError,
        StoreUnavailable,
        TooLarge,
        UnknownTask,
        UsageError,
    )
    from .job.model import Partial, Snooze, Status
    from .job.period import Period
    from .job.retry import Retry
    from .plugins.plugin import Plugin
    from .runtime.context import AsyncContext, Context
    from .schedules.rules.rules import calendar, cron, every

__version__ = "0.1.0"

# Where the names are; they are loaded when they are asked for, so that `jobtrail --help` need not wait for a database library.
_HOMES = {
    ".app": ("JobTrail",),
    ".runtime.context": ("AsyncContext", "Context"),
    ".commands.handles": ("BoundTask", "Job"),
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
        "JobFailed",
        "JobTrailError",
        "NotFound",
        "PermanentError",
        "ProcessDied",
        "QuestionClosed",
        "ResultTimeout",
        "RetryableError",
        "SchemaMismatch",
        "StoreError",
        "StoreUnavailable",
        "TooLarge",
        "UnknownTask",
        "UsageError",
    ),
    ".job.model": ("Partial", "Snooze", "Status"),
    ".job.period": ("Period",),
    ".job.retry": ("Retry",),
    ".plugins.plugin": ("Plugin",),
    ".schedules.rules.rules": ("calendar", "cron", "every"),
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
    "IdempotencyConflict",
    "IllegalMove",
    "InputChanged",
    "InvalidArguments",
    "InvalidFile",
    "InvalidFilter",
    "InvalidOption",
    "InvalidPeriod",
    "Job",
    "JobFailed",
    "JobTrail",
    "JobTrailError",
    "NotFound",
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
    "StoreError",
    "StoreUnavailable",
    "TooLarge",
    "UnknownTask",
    "UsageError",
    "__version__",
    "calendar",
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
