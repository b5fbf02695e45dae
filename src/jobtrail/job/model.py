"""The values that the whole house speaks in: states, a job as it was read, a claim, an outcome."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from json import loads
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datetime import datetime


class Status(StrEnum):
    """Where a job stands (DESIGN: states)."""

    PENDING = "pending"
    RUNNING = "running"
    AWAITING_INPUT = "awaiting_input"
    AWAITING_MAPPING = "awaiting_mapping"
    CANCELLING = "cancelling"
    INTERRUPTED = "interrupted"
    COMPLETED = "completed"
    PARTIAL = "partial"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Outcome(StrEnum):
    """What came of it, beside the status."""

    SUCCESS = "success"
    PARTIAL = "partial"
    ERROR = "error"


class StopCause(StrEnum):
    """Why a running job was asked to stop."""

    CANCEL = "cancel"
    TIMEOUT = "timeout"
    STALL = "stall"


class Mode(StrEnum):
    """How a re-run treats the generation: a new telling, or its continuation."""

    FULL = "full"
    FAILED_ITEMS = "failed_items"
    RESUME = "resume"


FINAL = frozenset({Status.COMPLETED, Status.PARTIAL, Status.FAILED, Status.CANCELLED})
ACTIVE = frozenset(Status) - FINAL
WAITING_FOR_A_PERSON = (Status.AWAITING_INPUT, Status.AWAITING_MAPPING)
OUTCOME_OF = {
    Status.COMPLETED: Outcome.SUCCESS,
    Status.PARTIAL: Outcome.PARTIAL,
    Status.FAILED: Outcome.ERROR,
}
MOST_URGENT, LEAST_URGENT, DEFAULT_PRIORITY = 0, 9, 5
DEFAULT_QUEUE = "default"


@dataclass(frozen=True, slots=True)
class Partial:
    """Returned by a body that says itself that it did only a part: ``reason`` is shown, ``result`` is kept."""

    result: Any = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Snooze:
    """Returned by a body that wants to be run again after ``seconds``; the run is not charged as an attempt."""

    seconds: float
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class FileInput:
    """The input file as it was at submission: path, name, size in bytes, SHA-256 in hex."""

    path: str
    size: int
    sha256: str
    uploaded: bool = False

    @property
    def name(self) -> str:
        """The last part of the path."""
        return _last_part(self.path)


def file_name(stored: str | None) -> str | None:
    """The name of an input file, from its stored JSON, its path or the name itself; None where there is none."""
    if not stored:
        return None
    try:
        found = loads(stored)
    except (ValueError, RecursionError):
        found = stored
    path = (found.get("name") or found.get("path")) if isinstance(found, dict) else stored
    return _last_part(str(path)) if path else None


def _last_part(path: str) -> str:
    return path.replace("\\", "/").rsplit("/", 1)[-1]


@dataclass(frozen=True, slots=True)
class NewJob:
    """What a submission stores: one row, before the store has said anything."""

    id: str
    task: str
    args: str
    kind: str | None = None
    queue: str = DEFAULT_QUEUE
    priority: int = DEFAULT_PRIORITY
    run_at: datetime | None = None
    max_attempts: int | None = 1
    options: str | None = None
    unit: str | None = None
    source: str | None = None
    period: str | None = None
    file: str | None = None
    generation: str | None = None
    mode: str | None = None
    continues: str | None = None
    rerun_of: str | None = None
    parent: str | None = None
    root: str | None = None
    actor: str | None = None
    reason: str | None = None
    context: str | None = None
    labels: str | None = None
    submitter: str | None = None
    waits_for: str | None = None
    followed: bool | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """One run handed to a worker; ``run_no`` is the token that every later write about it must show."""

    id: str
    run_no: int
    attempt: int
    max_attempts: int | None
    task: str
    queue: str
    args: str
    options: str | None
    unit: str | None
    source: str | None
    period: str | None
    file: str | None
    generation: str | None
    continues: str | None
    mode: str | None
    put_backs: int
    hand_backs: int
    context: str | None
    suspect: bool
    started_at: datetime
    due_at: datetime | None = None

    @property
    def ledger(self) -> str:
        """The id under which items and steps of this telling are kept."""
        return self.generation or self.id

    @property
    def fresh(self) -> bool:
        """Nothing can have been recorded for this telling before this run."""
        return self.run_no == 1 and self.generation in (None, self.id)


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job as it was read: every column, times in UTC."""

    id: str
    task: str
    kind: str | None
    queue: str
    priority: int
    status: Status
    outcome: Outcome | None
    run_no: int
    attempt: int
    max_attempts: int | None
    run_at: datetime | None
    args: str
    options: str | None
    unit: str | None
    unit_lock: str | None
    source: str | None
    period: str | None
    file: str | None
    generation: str | None
    mode: str | None
    continues: str | None
    waits_for: str | None
    rerun_of: str | None
    parent: str | None
    root: str | None
    actor: str | None
    reason: str | None
    context: str | None
    labels: str | None
    submitter: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    worker: str | None
    stop_cause: str | None
    stop_at: datetime | None
    deadline_at: datetime | None
    deadline_cause: str | None
    deadline_run: int | None
    body_running: bool
    put_backs: int
    hand_backs: int
    strikes: int
    suspect: bool
    followed: bool
    result: str | None
    note: str | None
    error: str | None
    fingerprint: str | None
    retry_reason: str | None
    items_ok: int | None
    items_failed: int | None
    items_skipped: int | None

    @property
    def ledger(self) -> str:
        """The id under which items and steps of this telling are kept."""
        return self.generation or self.id

    @property
    def deadline(self) -> datetime | None:
        """Until when the current run must have ended (its cause timeout) or given a sign of life (stall)."""
        return self.deadline_at if self.active and self.deadline_run == self.run_no else None

    @property
    def active(self) -> bool:
        """Not ended yet."""
        return self.status not in FINAL

    @property
    def item_counts(self) -> dict[str, int | None]:
        """How many items have each outcome, as the row holds them; None where none were recorded."""
        return {"ok": self.items_ok, "failed": self.items_failed, "skipped": self.items_skipped}


@dataclass(frozen=True, slots=True)
class Submitted:
    """The store's answer to a submission: the job that stands for it, and whether it is new."""

    id: str
    created: bool
    in_way: str | None = None
    why: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)
