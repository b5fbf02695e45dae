"""Whether a running body was asked to stop, and why."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Stop:
    """Request to stop: its cause, whether the task function has noticed it, and whether the worker shuts down."""

    cause: str | None = None
    noticed: bool = False
    shutdown: bool = False
