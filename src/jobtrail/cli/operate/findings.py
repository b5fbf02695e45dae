"""What ``jobtrail doctor`` found."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

GOOD, NOTE, BAD = "ok", "note", "wrong"
WAIT_LIMIT = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was checked; ``told`` and ``advice`` are in the reader's language."""

    name: str
    state: str
    told: str
    advice: str | None = None


@dataclass(frozen=True, slots=True)
class WorkerSeen:
    """A worker that has not been recorded as stopped."""

    id: str
    host: str
    pid: int
    queues: tuple[str, ...]
    executor: str | None
    version: str
    slots: int
    alive: bool
    told: str
    state: str
    troubles: tuple[Finding, ...]
