"""`Job`: a stored job as a program reads and changes it."""

from __future__ import annotations

import asyncio
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Generic, Protocol

from typing_extensions import TypeVar

from jobtrail.async_twin import async_twin
from jobtrail.errors import JobFailed, NotFound, ResultTimeout
from jobtrail.job.items import ItemOutcome, Pace, item_key
from jobtrail.job.json_value import decode
from jobtrail.job.masking import mask_text
from jobtrail.job.model import FINAL, RemovedJob, Status
from jobtrail.messages import Message
from jobtrail.store import events, items, jobs, questions, runs
from jobtrail.store import successors as successor_rows

from . import rerun
from .job_fields import JobFields
from .submit import successor
from .using import Predecessor, SuccessorRequest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy import Connection

    from jobtrail.config import Settings
    from jobtrail.job.model import JobRow
    from jobtrail.job.task import Task
    from jobtrail.progress_bar import ProgressBar
    from jobtrail.store import Store

    from .using import Using

R = TypeVar("R", default=Any)  # the result
WAIT_POLL = 0.05  # seconds


class _HasSettings(Protocol):
    settings: Settings


class SuccessorTask(Protocol):
    """What `Job.then` needs of a task (`BoundTask`)."""

    @property
    def _submitter(self) -> _HasSettings:
        """The service of the task's application."""

    def _to_follow(self) -> tuple[Task, Using]:
        """The parts that a successor of this task is made of."""


class Job(JobFields, Generic[R]):
    """A stored job.

    Submissions and `JobTrail.get` return it. Attributes hold the values of the last read: the first attribute that is
    used reads the job, `refresh` reads it again. Methods read from, or write to, the database at each call.

    Attributes:
        id: Id of the job, a UUID in text form.
        created: False if a submission returned a job that existed already.

    Example:
        ```python
        job = sync_weather.using(source="weather/EWR", period="2013-02").enqueue(airport="EWR")
        job.result(timeout=60)
        job.items("failed")
        job.rerun("failed_items")
        ```
    """

    __slots__ = ("_loaded", "_store", "created", "id")

    def __init__(self, store: Store, job_id: str, *, created: bool = False, row: JobRow | RemovedJob | None = None) -> None:
        self.id = job_id
        self.created = created
        self._store = store
        self._loaded: Any = row

    # -- reading -------------------------------------------------------------------------------------

    @property
    def _row(self) -> JobRow:
        row: JobRow | None = self._loaded
        return row if row is not None else self._read()

    @property
    def removed(self) -> bool:
        """True if the submission was answered with a job that has ended and whose details are removed.

        ``id``, ``task``, ``status``, ``outcome`` and ``finished_at`` are known; everything else raises `JobRemoved`.
        """
        return isinstance(self._loaded, RemovedJob)

    def _read(self) -> JobRow:
        row: JobRow | None = self._loaded
        if row is not None and self.removed:
            return row
        with self._store.read() as conn:
            row = self._loaded = jobs.get(conn, self.id)
        if row is None:
            raise NotFound(Message("commands.no-job", job=self.id))
        return row

    def refresh(self) -> Job[R]:
        """Read the job again.

        Returns:
            This job, with new attribute values.

        Raises:
            NotFound: If the job does not exist: it was removed by retention, or its transaction was rolled back.
        """
        self._read()
        return self

    def progress(self) -> dict[str, Any] | None:
        """Read the last reported progress.

        Returns:
            percent, done, total, message, metadata and last_heartbeat_at; None before the first report.
        """
        with self._store.read() as conn:
            return runs.progress_of(conn, [self.id]).get(self.id)

    def item_history(self, key: Any, *, loop: str = "items") -> list[items.ItemRow]:
        """Read every outcome that one item of the job's generation has had, oldest first.

        Args:
            key: Key of the item, as the task function gives it or as `items` shows it.
            loop: Name of the loop, if the task function has several.

        Returns:
            Items as `items` returns them; the last one is what the item is now. Empty if there is no such item.
        """
        with self._store.read() as conn:
            return items.history(conn, self._row.ledger, loop, item_key(key))

    def items(
        self, outcome: str | None = None, *, generation: bool = False, limit: int = 100_000
    ) -> list[items.ItemRow]:
        """Read the items of the job as it left them, also those that a re-run has recorded again since.

        Args:
            outcome: Return only items with this outcome: "ok", "failed" or "skipped".
            generation: Return all items of the job's generation as they stand now, whichever job recorded them.
            limit: Greatest number of items.

        Returns:
            Items with loop, key, position, outcome, reason, error_type, job_id, run_no, tries and at.
        """
        wanted = ItemOutcome(outcome) if outcome is not None else None
        own = None if generation else self.id
        with self._store.read() as conn:
            return items.page(conn, self._row.ledger, outcome=wanted, job_id=own, limit=limit)

    def item_counts(self, *, generation: bool = False) -> dict[str, int]:
        """Count the items that `items` returns.

        Args:
            generation: Count all items of the job's generation as they stand now.

        Returns:
            Numbers under ``ok``, ``failed`` and ``skipped``.
        """
        with self._store.read() as conn:
            counts = items.counts(conn, self._row.ledger, job_id=None if generation else self.id)
        return {"ok": counts.ok, "failed": counts.failed, "skipped": counts.skipped}

    def events(self) -> list[events.Event]:
        """Read the trail of the job, oldest event first."""
        with self._store.read() as conn:
            return events.of_job(conn, self.id)

    def log(self) -> str:
        """Read the log of the job as text; a line says where lines were dropped."""
        with self._store.read() as conn:
            return runs.log_text(conn, self.id)

    def questions(self) -> list[questions.QuestionRow]:
        """Read all questions that the job has asked, oldest first."""
        with self._store.read() as conn:
            return questions.of_job(conn, self.id)

    def successors(self) -> list[dict[str, Any]]:
        """Read the declared successors of the job.

        Returns:
            Dicts with task, on, state (waiting, submitted, skipped, refused), job and reason.
        """
        with self._store.read() as conn:
            return successor_rows.of_job(conn, self.id)

    # -- waiting -------------------------------------------------------------------------------------

    def wait(self, timeout: float | None = None, *, progress: bool = False) -> Job[R]:
        """Wait until the job has ended.

        Args:
            timeout: Longest wait in seconds; None for no limit.
            progress: Show a progress bar on standard error, or a line for every ten percent where that is no terminal; it
                needs the extra ``jobtrail[cli]``.

        Returns:
            This job, as it ended.

        Raises:
            ResultTimeout: If the job is still active after ``timeout`` seconds.
            UsageError: If ``progress`` is asked for and the extra is not installed.
        """
        end = None if timeout is None else time.monotonic() + timeout
        with self._bar() if progress else nullcontext() as bar:
            while self.refresh().status not in FINAL:
                self._check_wait(end, timeout)
                if bar is not None:
                    self._show(bar)
                time.sleep(WAIT_POLL)
        return self

    def _bar(self) -> ProgressBar:
        from jobtrail.progress_bar import ProgressBar

        return ProgressBar(self.task)

    def _show(self, bar: ProgressBar) -> None:
        runs_now = self.status in {Status.RUNNING, Status.CANCELLING}
        found = (self.progress() or {}) if self.started_at is not None else {}
        pace = Pace.of(found, self.started_at if runs_now else None, self._store.now())
        bar.update((mask_text(found.get("message") or "") or self.status.value).split("\n")[0], found, pace)

    def result(self, timeout: float | None = None) -> R:
        """Wait until the job has ended and return its result.

        Args:
            timeout: Longest wait in seconds; None for no limit.

        Returns:
            The value that the task returned, decoded from JSON.

        Raises:
            JobFailed: If the job failed or was cancelled.
            ResultTimeout: If the job is still active after ``timeout`` seconds.
        """
        return self.wait(timeout)._result()

    async def await_(self, timeout: float | None = None, *, progress: bool = False) -> Job[R]:
        """`wait` for an event loop; between two looks it occupies no thread.

        Args:
            timeout: As for `wait`.
            progress: As for `wait`.
        """
        end = None if timeout is None else time.monotonic() + timeout
        await self.arefresh()
        with self._bar() if progress else nullcontext() as bar:
            while self.status not in FINAL:
                self._check_wait(end, timeout)
                if bar is not None:
                    await asyncio.to_thread(self._show, bar)
                await asyncio.sleep(WAIT_POLL)
                await self.arefresh()
        return self

    async def aresult(self, timeout: float | None = None) -> R:
        """`result` for an event loop.

        Args:
            timeout: As for `result`.
        """
        return (await self.await_(timeout))._result()

    def _check_wait(self, end: float | None, timeout: float | None) -> None:
        if end is not None and time.monotonic() >= end:
            raise ResultTimeout(Message("commands.job-goes-on", job=self.id, status=self.status, timeout=timeout))

    def _result(self) -> R:
        row = self._row
        if row.status in {Status.COMPLETED, Status.PARTIAL}:
            value: R = None if row.result is None else decode(row.result)  # type: ignore[assignment] # of the task's word
            return value
        said: dict[str, Any] = {"job": row.id, "task": row.task, "status": row.status}
        if (error := self.error) and error.get("message"):
            raise JobFailed(Message("commands.failed-because", error=error["message"], **said), row.id, row.status.value)
        raise JobFailed(Message("commands.failed", **said), row.id, row.status.value)

    # -- changing ------------------------------------------------------------------------------------

    def retry(self, reason: str | None = None, *, actor: str = "program") -> Job[R]:
        """Run the same job once more; items that failed run again.

        Args:
            reason: Reason for the trail.
            actor: Who retries, for the trail.

        Returns:
            This job, read again.

        Raises:
            IllegalMove: If the state of the job does not allow it.
            AlreadyActive: If the unit has another active job.
            Conflict: If the unit has a newer job; ``job_id`` names it.
        """
        rerun.retry(self._store, self.id, actor=actor, reason=reason)
        return self.refresh()

    def rerun(
        self,
        mode: str = "full",
        *,
        items: Iterable[Any] | None = None,
        file: Any = None,
        if_active: str = "raise",
        with_successors: bool = False,
        reason: str | None = None,
        **rest: Any,
    ) -> Job[R]:
        """Submit a new job of the same unit.

        Args:
            mode: "full" repeats everything, "failed_items" repeats failed and unreached items, "resume" continues
                from the recorded steps and items.
            items: Items to give again whatever their outcome was, and no others: keys, or items of `Job.items`.
            file: Corrected input file (path).
            if_active: "raise" or "queue", if the unit has an active job.
            with_successors: Also declare the successors of this job (``.then(…)``) for the new one.
            reason: Reason for the trail.
            **rest: ``actor``: who re-runs, for the trail.

        Returns:
            The new job.

        Raises:
            IllegalMove: If this job has not ended.
            NotFound: If an item is not recorded.
            AlreadyActive: If the unit has an active job.
            InvalidFile: If ``file`` cannot be read.
        """
        rest |= {"items": None if items is None else [_place_of(one) for one in items]}
        rest |= {"file": file, "if_active": if_active, "with_successors": with_successors, "reason": reason}
        answer = rerun.rerun(self._store, self.id, mode, **rest)
        return Job(self._store, answer.id, created=answer.created)

    def cancel(self, reason: str | None = None, *, actor: str = "program") -> Job[R]:
        """Cancel the job.

        A job that does not run ends at once. A running function is asked to stop; a second call ends the job by force.

        Args:
            reason: Reason for the trail.
            actor: Who cancels, for the trail.

        Returns:
            This job, read again.

        Raises:
            IllegalMove: If the job has ended.
        """
        rerun.cancel(self._store, self.id, actor=actor, reason=reason)
        return self.refresh()

    def answer(
        self, value: Any, *, question: str | None = None, actor: str = "program", reason: str | None = None, **rest: Any
    ) -> Job[R]:
        """Answer the open question of the job.

        Args:
            value: The answer; it must fit the schema of the question.
            question: Name of the question; a check that it is the expected one.
            actor: Who answers, for the trail.
            reason: Reason for the trail.
            **rest: ``remember``: keep the answer for the task and source.

        Returns:
            This job, read again.

        Raises:
            AnswerRefused: If the answer does not fit; ``errors`` has one sentence for each path.
            AlreadyAnswered: If the question has an answer; ``actor`` and ``at`` say whose.
            QuestionClosed: If the deadline has passed or the job has ended.
            NotFound: If the job has no such question.
        """
        from .answers import answer_job

        answer_job(self._store, self.id, value, question=question, actor=actor, reason=reason, **rest)
        return self.refresh()

    def then(self, task: SuccessorTask, params: Mapping[str, Any] | None = None, **options: Any) -> Job | None:
        """Declare a successor of a stored job.

        Args:
            task: Task of the successor, as for `BoundTask.then`.
            params: Arguments of the successor.
            **options: ``on``, ``when``, ``source``, ``period``, ``file`` and ``result_as`` as for `BoundTask.then`.

        Returns:
            The successor, if this job has ended in one of the ways ``on``; None if it is not submitted (yet).

        Raises:
            UsageError: If the successor is not valid.
            NotFound: If this job does not exist.
        """
        row = self._read()
        one = successor(
            SuccessorRequest(*task._to_follow(), params, **options),
            Predecessor(row.source, row.period, row.labels, row.context),
            task._submitter.settings,
        )

        def operation(conn: Connection) -> Any:
            self._store.wake.need()
            return successor_rows.attach(conn, self._store.dialect, self.id, [one], self._store.now())

        came = self._store.write(operation, key=self.id)[0]["job"]
        return None if came is None else Job(self._store, came)

    def run_now(self, *, actor: str = "program") -> Job[R]:
        """Make a job that waits for its time due at once.

        Args:
            actor: Who asks for it, for the trail.

        Returns:
            This job, read again.

        Raises:
            IllegalMove: If the job does not wait for a time.
        """
        rerun.run_now(self._store, self.id, actor=actor)
        return self.refresh()

    # -- for an event loop ---------------------------------------------------------------------------

    arefresh = async_twin(refresh)
    aprogress = async_twin(progress)
    aitems = async_twin(items)
    aitem_history = async_twin(item_history)
    aitem_counts = async_twin(item_counts)
    aevents = async_twin(events)
    alog = async_twin(log)
    aquestions = async_twin(questions)
    asuccessors = async_twin(successors)
    aretry = async_twin(retry)
    arerun = async_twin(rerun)
    acancel = async_twin(cancel)
    aanswer = async_twin(answer)
    athen = async_twin(then)
    arun_now = async_twin(run_now)

    def __repr__(self) -> str:
        """Id and status, for people; reads nothing."""
        status = self._loaded.status.value if self._loaded is not None else "?"
        return f"<job {self.id} {status}>"


class JobList(list[Job]):
    """Jobs as `JobTrail.find` returns them.

    Attributes:
        next: Id with which `find` continues, as ``before`` (as ``after`` with ``order="oldest"``); None if no more jobs
            match.
    """

    next: str | None = None


def _place_of(item: Any) -> tuple[str | None, str]:
    """Loop and key of an item of `Job.items`, or of a key alone."""
    return (item.loop, item.key) if hasattr(item, "loop") else (None, item_key(item))
