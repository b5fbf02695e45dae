"""The job record that every application ends up writing by hand, done once and done well."""

from .app import JobTrail
from .engine.context import AsyncContext, Context
from .engine.handle import BoundTask, Job
from .errors import (
    AlreadyActive,
    AlreadyDone,
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

__version__ = "0.1.0"

__all__ = [
    "AlreadyActive",
    "AlreadyDone",
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
]
