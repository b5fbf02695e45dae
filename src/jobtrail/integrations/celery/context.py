"""The job of a Celery task, as the code of the task sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from jobtrail.errors import UsageError
from jobtrail.job.model import Claim
from jobtrail.messages import Message
from jobtrail.runtime.context import BaseContext
from jobtrail.runtime.recorder import Flusher, Recorder
from jobtrail.runtime.stop import Stop

if TYPE_CHECKING:
    from datetime import datetime

    from jobtrail.runtime.recorder import Reports
    from jobtrail.store import Store


class TrackedJob(BaseContext):
    """The job of the running Celery task: items, progress, log, and whether it was asked to stop.

    Attributes:
        recorded: False outside of a tracked task, and in a run that is not part of the sample; nothing is stored then.
    """

    recorded = True

    def check_cancelled(self) -> None:
        """Leave the task if its job was asked to stop.

        Raises:
            celery.exceptions.Ignore: If so. It is an ordinary exception, because Celery would end its process on others.
        """
        if self.cancelled:
            from celery.exceptions import Ignore

            self._stop.noticed = True
            raise Ignore(str(Message("errors.stop-asked", cause=self._stop.cause or "overtaken")))

    def request_retry(self, after: float | None = None, reason: str | None = None) -> NoReturn:
        """Refuse: retries are Celery's.

        Args:
            after: Not used.
            reason: Not used.

        Raises:
            UsageError: Always.
        """
        del after, reason
        raise UsageError(Message("integrations.use-celery-retry"))


class SilentFlusher(Flusher):
    """Takes reports of runs that are not recorded, and writes none."""

    def __init__(self) -> None:
        super().__init__(_no_store, interval=1.0)

    def add(self, recorder: Recorder) -> None:
        """Drop what was reported, so that memory does not grow."""
        recorder.take()

    def write(self, recorders: list[Recorder]) -> None:
        """Write nothing."""


_no_store: Store = None  # type: ignore[assignment]  # a flusher that writes nothing asks it nothing


def make_job(claim: Claim, recorder: Reports, stop: Stop, period: Any) -> TrackedJob:
    """Make the object that `current_job` returns."""
    return TrackedJob(claim=claim, recorder=recorder, steps=None, stop=stop, state=None, period=period)  # type: ignore[arg-type]  # no steps


def unrecorded_job() -> TrackedJob:
    """Make a job that stores nothing, so that the code of a task runs outside of Celery too."""
    claim = claim_of("", "", "", started_at=None)
    job = make_job(claim, Recorder(claim, SilentFlusher(), log_limit=1), Stop(), None)
    job.recorded = False
    return job


def claim_of(
    job_id: str, task: str, queue: str, *, started_at: datetime | None, run_no: int = 1, attempt: int = 1,
    source: str | None = None, period: str | None = None, unit: str | None = None,
) -> Claim:  # fmt: skip
    """Make the claim of a run that Celery executes."""
    return Claim(
        id=job_id, run_no=run_no, attempt=attempt, max_attempts=None, task=task, queue=queue, args="{}", options=None,
        unit=unit, source=source, period=period, file=None, generation=None, continues=None, mode=None, put_backs=0,
        hand_backs=0, context=None, suspect=False, started_at=started_at,  # type: ignore[arg-type]  # not known before it is written
    )  # fmt: skip
