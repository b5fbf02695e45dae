"""The attributes of a job handle: the stored values of a job, decoded and typed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from json import loads
from typing import TYPE_CHECKING, Any

from jobtrail.job.json_value import decode
from jobtrail.job.model import FileInput, RemovedJob
from jobtrail.job.period import Period

if TYPE_CHECKING:
    from datetime import datetime

    from jobtrail.job.model import JobRow, Outcome, Status


class JobFields(ABC):
    """Everything that one read of a job returns.

    The first attribute that is used reads the job; all attributes keep those values until `Job.refresh`. Times are
    timezone-aware datetimes in UTC. Every attribute raises `NotFound` if the job does not exist (any more).
    """

    __slots__ = ()

    @property
    @abstractmethod
    def _row(self) -> JobRow:
        """The stored row, read at the first use."""

    # -- what it is ----------------------------------------------------------------------------------

    @property
    def task(self) -> str:
        """Name of the task."""
        return self._row.task

    @property
    def kind(self) -> str | None:
        """Kind of the task: parser, sync, file, or the application's own."""
        return self._row.kind

    @property
    def queue(self) -> str:
        """Name of the queue."""
        return self._row.queue

    @property
    def priority(self) -> int:
        """Priority from 0 (claimed first) to 9."""
        return self._row.priority

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of the task, by name."""
        arguments: dict[str, Any] = decode(self._row.args)
        return arguments

    @property
    def source(self) -> str | None:
        """Where the data comes from, as named at submission."""
        return self._row.source

    @property
    def period(self) -> Period | None:
        """Span of time that the job covers."""
        return Period.parse(self._row.period) if self._row.period else None

    @property
    def file(self) -> FileInput | None:
        """Input file as it was at submission: path, size (bytes) and SHA-256."""
        return FileInput(**loads(self._row.file)) if self._row.file else None

    @property
    def labels(self) -> dict[str, str]:
        """Short key=value pairs that a filter can search."""
        return dict(loads(self._row.labels)) if self._row.labels else {}

    @property
    def context(self) -> dict[str, Any]:
        """JSON that the submission added with ``using(context=…)``."""
        return dict(decode(self._row.context)) if self._row.context else {}

    @property
    def actor(self) -> str | None:
        """Who or what submitted the job: ``person:eva``, ``schedule:nightly``, ``job:<id>``; None for the program."""
        return self._row.actor

    @property
    def reason(self) -> str | None:
        """Reason given at submission."""
        return self._row.reason

    # -- where it stands -----------------------------------------------------------------------------

    @property
    def status(self) -> Status:
        """State of the job."""
        return self._row.status

    @property
    def outcome(self) -> Outcome | None:
        """success, partial or error; None before the job has ended, and for a cancelled job."""
        return self._row.outcome

    @property
    def active(self) -> bool:
        """True until the job is completed, partial, failed or cancelled."""
        return self._row.active

    @property
    def run_no(self) -> int:
        """Number of the latest run; 0 before the first. It rises each time a worker claims the job."""
        return self._row.run_no

    @property
    def attempt(self) -> int:
        """Number of runs that count against the retry limit."""
        return self._row.attempt

    @property
    def max_attempts(self) -> int | None:
        """Retry limit; None for no limit."""
        return self._row.max_attempts

    @property
    def error(self) -> dict[str, Any] | None:
        """Last failure: type, message, traceback, fingerprint, origin."""
        return loads(self._row.error) if self._row.error else None

    @property
    def retry_reason(self) -> str | None:
        """Why the last attempt is repeated."""
        return self._row.retry_reason

    @property
    def note(self) -> str | None:
        """Remark about the end of the job, for example ``3 of 6 items failed``."""
        return self._row.note

    @property
    def items_ok(self) -> int | None:
        """Number of items that succeeded in this job when it ended; `Job.item_counts` counts those of a running one too."""
        return self._row.items_ok

    @property
    def items_failed(self) -> int | None:
        """Number of items that failed in this job."""
        return self._row.items_failed

    @property
    def items_skipped(self) -> int | None:
        """Number of items that this job skipped."""
        return self._row.items_skipped

    @property
    def stop_cause(self) -> str | None:
        """Why the job was asked to stop: cancel, timeout or stall."""
        return self._row.stop_cause

    @property
    def body_running(self) -> bool:
        """True while the function of a job that was ended by force still runs."""
        return self._row.body_running

    @property
    def worker(self) -> str | None:
        """Id of the worker of the latest run."""
        return self._row.worker

    # -- times ---------------------------------------------------------------------------------------

    @property
    def created_at(self) -> datetime:
        """Time of the submission."""
        return self._row.created_at

    @property
    def run_at(self) -> datetime | None:
        """Earliest start of the next run; None for at once."""
        return self._row.run_at

    @property
    def started_at(self) -> datetime | None:
        """Start of the latest run."""
        return self._row.started_at

    @property
    def finished_at(self) -> datetime | None:
        """End of the job."""
        return self._row.finished_at

    @property
    def deadline(self) -> datetime | None:
        """Time at which the current run reaches its timeout or stall timeout."""
        return self._row.deadline

    # -- other jobs ----------------------------------------------------------------------------------

    @property
    def unit(self) -> str | None:
        """Key of the unit of work (task, source, and period or file); jobs with equal keys are re-runs of each other."""
        return self._row.unit

    @property
    def generation(self) -> str | None:
        """Id of the generation that the job's items and steps belong to."""
        return self._row.generation

    @property
    def mode(self) -> str | None:
        """Mode of a re-run: full, failed_items or resume."""
        return self._row.mode

    @property
    def rerun_of(self) -> str | None:
        """Id of the job that this one re-runs."""
        return self._row.rerun_of

    @property
    def parent(self) -> str | None:
        """Id of the job that submitted this one or is followed by it."""
        return self._row.parent

    @property
    def root(self) -> str | None:
        """Id of the first job in the line of parents."""
        return self._row.root

    @property
    def waits_for(self) -> str | None:
        """Id of the job that must end before this one starts."""
        return self._row.waits_for


def stored_row(job: JobFields) -> JobRow:
    """The stored row of a job, for other parts of jobtrail.

    Args:
        job: A handle; it is read if it has not been read yet.

    Raises:
        NotFound: If the job does not exist.
        JobRemoved: If its details are removed and its end is remembered.
    """
    row: JobRow | RemovedJob = job._row
    if isinstance(row, RemovedJob):
        raise row.refusal
    return row
