"""The application whose job a task of a plug-in does: the plug-in belongs to none, the job does."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from jobtrail.errors import UsageError
from jobtrail.messages import Message

if TYPE_CHECKING:
    from jobtrail.worker.middleware import Middleware
    from jobtrail.worker.run import CallNext

_running: ContextVar[Any] = ContextVar("jobtrail_application")


def application() -> Any:
    """Return the application whose job the calling task function of a plug-in does.

    Raises:
        UsageError: Outside of a task function of a plug-in, or in a child process, which has no application.
    """
    found = _running.get(None)
    if found is None:
        raise UsageError(Message("plugins.no-application"))
    return found


def within(owner: Any) -> Middleware:
    """Return the middleware that makes `application` return ``owner`` inside a task function."""

    async def middleware(run: Any, call_next: CallNext) -> Any:
        before = _running.set(owner)
        try:
            return await call_next(run)
        finally:
            _running.reset(before)

    return middleware
