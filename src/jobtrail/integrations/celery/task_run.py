"""One run of a Celery task as the process that executes it sees it, and the records that are written about it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from jobtrail.job.outcome import NO_ITEMS, Ledger
from jobtrail.runtime.recorder import NOTHING_BEFORE, Prior, Recorder
from jobtrail.runtime.stop import Stop

from .context import claim_of, make_job
from .declaration import Described

if TYPE_CHECKING:
    from jobtrail.job.failure import Failure
    from jobtrail.job.outcome import Raised, Returned
    from jobtrail.runtime.recorder import Flusher
    from jobtrail.store.runs import Records

    from .context import TrackedJob


@dataclass(frozen=True, slots=True)
class Reporting:
    """What a run needs to take reports: where they go, how much log is kept, and how earlier reports are read."""

    flusher: Flusher
    log_limit: int
    recall: Callable[[str], tuple[Prior, list[tuple[int, int, int, int]]]]


@dataclass(frozen=True, slots=True)
class RunRow:
    """The row that stands for a run, once it is written."""

    job_id: str
    run_no: int
    attempt: int
    worker: str
    unit: str | None = None


@dataclass(slots=True, eq=False)
class TaskRun:
    """One run of a task.

    Attributes:
        celery_id: Celery's id, the same for all attempts.
        job_id: The job, as far as it is known: from the message, else new.
        stamped: Whether the message named the job.
        known: Whether a row may exist already: a retry, a second delivery, or a message that jobtrail sent.
        begun: Start in seconds of the monotonic clock.
        sent: Time of sending in seconds since 1970, by the sender's clock; None where nobody said.
        args: The arguments as JSON text.
        options: Options that are stored with the job.
        context: What Celery says about the run, shown with the job.
        recorded: False for a run outside of the sample, until it fails or is retried.
        skipped: True where the run cannot be recorded any more.
        row: Set by the writer.
    """

    celery_id: str
    job_id: str
    task: str
    queue: str
    args: str
    options: str
    context: Mapping[str, Any]
    stamped: bool = False
    known: bool = False
    begun: float = field(default_factory=time.monotonic)
    sent: float | None = None
    max_attempts: int | None = None
    described: Described = field(default_factory=Described)
    parent: str | None = None
    root: str | None = None
    recorded: bool = True
    skipped: bool = False
    row: RunRow | None = None
    failure: Failure | None = None
    retry: TaskRetry | None = None
    recorder: Recorder | None = None
    reporting: Reporting | None = None
    last: Records | None = None  # what was reported last; kept for a transaction that is repeated
    kept_ledger: Ledger | None = None  # of a run whose process is dead
    stop: Stop = field(default_factory=Stop)
    token: Any = None
    log_token: Any = None
    _job: TrackedJob | None = None

    def job(self) -> TrackedJob:
        """What `current_job` returns inside the task."""
        if self._job is None:
            recorder = self._make_recorder()
            self._job = make_job(recorder.claim, recorder, self.stop, self.described.period)
            self._job.recorded = self.recorded
        return self._job

    def log(self, line: str) -> None:
        """Take a line that the task has logged."""
        self._make_recorder().log(line)

    def _make_recorder(self) -> Recorder:
        if self.recorder is None and self.reporting is not None:
            prior: Prior = NOTHING_BEFORE
            kept_log: list[tuple[int, int, int, int]] = []
            if self.known:
                with contextlib.suppress(Exception):  # the store is away: items of earlier attempts are processed again
                    prior, kept_log = self.reporting.recall(self.job_id)
            claim = claim_of(
                self.job_id, self.task, self.queue, started_at=None, run_no=2 if self.known else 1,
                source=self.described.source, period=self.described.period.text if self.described.period else None,
            )  # fmt: skip
            self.recorder = Recorder(
                claim, self.reporting.flusher, log_limit=self.reporting.log_limit, kept_log=kept_log, prior=prior
            )
        if self.recorder is None:
            message = "a run without reporting takes no reports"
            raise RuntimeError(message)
        return self.recorder

    def written(self, row: RunRow) -> None:
        """Take over what the store gave the run."""
        self.row = row
        if self.recorder is not None:
            claim = replace(self.recorder.claim, id=row.job_id, run_no=row.run_no, attempt=row.attempt)
            self.recorder.claim = claim
            with self.recorder._lock:
                gathered = self.recorder._records
                if gathered is not None:
                    gathered.job_id, gathered.run_no, gathered.ledger = row.job_id, row.run_no, row.job_id
            if self._job is not None:
                self._job._claim = claim

    def ledger(self) -> Ledger:
        """What the items say at the end."""
        if self.kept_ledger is not None:
            return self.kept_ledger
        recorder, job = self.recorder, self._job
        unreached = job.unreached if job is not None else False
        if recorder is None or not (recorder.has_items or any(_numbers(recorder)) or unreached):
            return NO_ITEMS
        stopped = job.stopped_reason if job is not None else None
        return Ledger(
            has_items=True,
            counts=recorder.counts(),
            own=recorder.own_counts(),
            unreached=unreached,
            stopped_reason=stopped,
        )


def _numbers(recorder: Recorder) -> tuple[int, int, int]:
    counts = recorder.own_counts()
    return counts.ok, counts.failed, counts.skipped


@dataclass(frozen=True, slots=True)
class TaskRetry:
    """Celery runs the task again, because of an error or because the task asked for it."""

    reason: str
    error: str | None = None
    fingerprint: str | None = None


@dataclass(frozen=True, slots=True)
class TaskRejected:
    """The task gave its message back (``Reject``)."""

    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class RunBegins:
    """A run has begun."""

    run: TaskRun


@dataclass(frozen=True, slots=True, eq=False)
class RunEnds:
    """A run has ended; ``at`` is a moment of the monotonic clock."""

    run: TaskRun
    outcome: Returned | Raised | TaskRetry | TaskRejected
    at: float = field(default_factory=time.monotonic)


@dataclass(frozen=True, slots=True, eq=False)
class SeenFromOutside:
    """What the main process says of a run that cannot speak for itself: lost, over its time, revoked.

    ``failure`` is set for an error, ``retry`` where Celery sends it again; else it was revoked for ``reason``, and had not
    ``began`` if it was revoked or expired in the queue.
    """

    run: TaskRun
    reason: str
    failure: Failure | None = None
    retry: bool = False
    began: bool = True


Report = RunBegins | RunEnds | SeenFromOutside
