"""Whether a running body was asked to stop, and why."""

from __future__ import annotations

from dataclasses import dataclass

# Causes to stop for that are not stored with the job, beside those of `StopCause`.
OVERTAKEN, SHUTDOWN = "overtaken", "shutdown"


@dataclass(slots=True)
class Stop:
    """Request to stop: its cause, whether the task function has noticed it, and whether the worker shuts down."""

    cause: str | None = None
    noticed: bool = False
    shutdown: bool = False
