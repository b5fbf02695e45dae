"""Values of the domain: ids, states, outcomes, a stored job, a claim."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from json import dumps, loads
from typing import Any

from jobtrail.errors import JobRemoved
from jobtrail.messages import Message

if sys.version_info >= (3, 14):
    from uuid import uuid7
else:
    from uuid_utils import uuid7


def new_id() -> str:
    """Return a new id as text: a UUIDv7, which sorts behind the ids made earlier."""
    return str(uuid7())


class Status(StrEnum):
    """State of a job."""

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
    """Result of a job that has ended."""

    SUCCESS = "success"
    PARTIAL = "partial"
    ERROR = "error"


class StopCause(StrEnum):
    """Why a running job was asked to stop."""

    CANCEL = "cancel"
    TIMEOUT = "timeout"
    STALL = "stall"


class Mode(StrEnum):
    """How a re-run treats the generation: ``full`` opens a new one, the other modes continue it."""

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
    """Return value of a task function that did only a part of its work; the job becomes partial.

    Args:
        result: Result of the job, a JSON value.
        reason: Reason that is shown with the job.

    Example:
        ```python
        return Partial({"rows": 40}, "the source had half a day")
        ```
    """

    result: Any = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Snooze:
    """Return value of a task function that asks to be run again later; the run is not charged as an attempt.

    Args:
        seconds: Seconds until the next run.
        reason: Reason that is shown with the job.

    Example:
        ```python
        return Snooze(600, "the file is not published yet")
        ```
    """

    seconds: float
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class FileInput:
    """Input file as it was at submission.

    Attributes:
        path: Absolute path.
        size: Size in bytes.
        sha256: SHA-256 of the content, in hex.
        uploaded: True if jobtrail keeps the file (an upload).
    """

    path: str
    size: int
    sha256: str
    uploaded: bool = False

    @property
    def name(self) -> str:
        """Last part of the path."""
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
    """The row that a submission stores."""

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
    executor: str | None = None
    followed: bool | None = None
    limits: str | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """One run that was given to a worker; every later write about it must carry ``run_no``."""

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
        """Id under which items and steps of this generation are kept."""
        return self.generation or self.id

    @property
    def said(self) -> dict[str, Any]:
        """The options of the submission, beside the task's own."""
        return loads(self.options) if self.options else {}

    @property
    def fresh(self) -> bool:
        """True if nothing can have been recorded in this generation before this run."""
        return self.run_no == 1 and self.generation in (None, self.id)


@dataclass(frozen=True, slots=True)
class JobRow:
    """A stored job: every column, times in UTC."""

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
    limits: str | None
    submitter: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    worker: str | None
    executor: str | None
    handed_at: datetime | None
    handed_run: int | None
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
        """Id under which items and steps of this generation are kept."""
        return self.generation or self.id

    @property
    def handed_over(self) -> datetime | None:
        """When the ticket of the next run was sent to the executor; None if it was not, or the job is not handed over."""
        return self.handed_at if self.executor is not None and self.handed_run == self.run_no else None

    @property
    def deadline(self) -> datetime | None:
        """Time at which the current run reaches its timeout or stall timeout."""
        return self.deadline_at if self.active and self.deadline_run == self.run_no else None

    @property
    def active(self) -> bool:
        """True until the job has ended."""
        return self.status not in FINAL

    @property
    def item_counts(self) -> dict[str, int | None]:
        """How many items have each outcome, as the row holds them; None where none were recorded."""
        return {"ok": self.items_ok, "failed": self.items_failed, "skipped": self.items_skipped}


@dataclass(frozen=True, slots=True)
class RemovedJob:
    """What an idempotency key remembers of a job that retention has removed; any other attribute raises `JobRemoved`."""

    id: str
    task: str
    status: Status
    outcome: Outcome | None
    finished_at: datetime

    def __getattr__(self, name: str) -> Any:
        """Raise JobRemoved for what is not known any more."""
        if name.startswith("__"):
            raise AttributeError(name)
        raise self.refusal

    @property
    def refusal(self) -> JobRemoved:
        """The error for everything else, with what is known."""
        message = Message("job.removed", job=self.id, status=self.status, at=self.finished_at)
        outcome = self.outcome.value if self.outcome else None
        return JobRemoved(message, self.id, status=self.status.value, outcome=outcome, finished_at=self.finished_at)

    def to_json(self) -> str:
        """As the key keeps it, beside the job's id."""
        known = {"task": self.task, "status": self.status, "outcome": self.outcome}
        return dumps({**known, "finished_at": self.finished_at.isoformat()})

    @classmethod
    def from_json(cls, job_id: str, text: str) -> RemovedJob:
        """What `to_json` wrote."""
        known = loads(text)
        outcome = Outcome(known["outcome"]) if known["outcome"] else None
        return cls(job_id, known["task"], Status(known["status"]), outcome, datetime.fromisoformat(known["finished_at"]))


@dataclass(frozen=True, slots=True)
class Submitted:
    """Answer of the store to a submission: id of the job, whether it is new, and what is known if it was removed."""

    id: str
    created: bool
    in_way: str | None = None
    why: str | None = None
    removed: RemovedJob | None = None
    extra: dict[str, Any] = field(default_factory=dict)
