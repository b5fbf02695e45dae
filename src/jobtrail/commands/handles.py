"""What a program holds in its hand: a task to submit, and a job to look at and steer."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from json import loads
from typing import TYPE_CHECKING, Any, Protocol

from jobtrail.errors import JobFailed, NotFound, ResultTimeout
from jobtrail.job.items import ItemOutcome
from jobtrail.job.json_value import decode
from jobtrail.job.model import FINAL, Status
from jobtrail.store import events, items, jobs, questions, runs
from jobtrail.store import successors as successor_rows

from . import rerun
from .submit import NOTHING, Using
from .successors import INHERIT, Before, Next, successor

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy import Connection

    from jobtrail.config import Settings
    from jobtrail.job.model import JobRow
    from jobtrail.job.task import Task
    from jobtrail.store import Store

WAIT_POLL = 0.05  # seconds


class Submitter(Protocol):
    """Whoever stores submissions (the application's service)."""

    settings: Settings

    def submit(self, task: Task, args: dict[str, Any], using: Using) -> Job:
        """Store one job."""

    async def asubmit(self, task: Task, args: dict[str, Any], using: Using) -> Job:
        """Store one job from an event loop."""

    def submit_many(self, task: Task, many: Iterable[Mapping[str, Any]], using: Using) -> list[Job]:
        """Store many jobs in one transaction."""

    async def asubmit_many(self, task: Task, many: Iterable[Mapping[str, Any]], using: Using) -> list[Job]:
        """Store many jobs in one transaction, from an event loop."""


class BoundTask:
    """A registered task: callable as itself, and to be submitted as a job."""

    def __init__(self, task: Task, submitter: Submitter, using: Using = NOTHING) -> None:
        self.task = task
        self._submitter = submitter
        self._using = using
        self.__name__ = task.function.__name__
        self.__doc__ = task.function.__doc__
        self.__wrapped__ = task.function

    @property
    def name(self) -> str:
        """The name under which its jobs are stored."""
        return self.task.name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself, as if it were not registered."""
        return self.task.function(*args, **kwargs)

    def using(self, **options: Any) -> BoundTask:
        """The same task with something said about the job: source, period, file, labels, run_at, …; see `Using`."""
        return BoundTask(self.task, self._submitter, self._using.with_options(**options))

    def then(
        self,
        task: BoundTask,
        params: Mapping[str, Any] | None = None,
        *,
        on: Any = "success",
        when: Any = "now",
        source: Any = INHERIT,
        period: Any = INHERIT,
        file: Any = None,
        result_as: str | None = None,
    ) -> BoundTask:
        """The same task, to be followed by a job of ``task`` when its job ends in the way ``on``.

        ``on``: success, partial, failure, any, or several of them; a cancelled job is followed by nothing. ``when``:
        "now", a timedelta or seconds after the end, or an aware datetime. Source and period are those of the job before
        unless said otherwise; ``result_as`` names the argument that takes its result. May be said several times, and
        ``task`` may have its own ``.then(…)``.
        """
        one = Next(*task._to_follow(), params, on, when, source, period, file, result_as)
        return BoundTask(self.task, self._submitter, replace(self._using, then=(*self._using.then, one)))

    def enqueue(self, *args: Any, **kwargs: Any) -> Job:
        """Submit a job with these arguments of the task.

        Raises: UsageError when they cannot be; AlreadyActive, AlreadyDone, IdempotencyConflict with the id of
        the job in the way; StoreUnavailable when the database stays away.
        """
        bound = self.task.signature.bind(self.task.name, args, kwargs)
        return self._submitter.submit(self.task, bound, self._using)

    async def aenqueue(self, *args: Any, **kwargs: Any) -> Job:
        """`enqueue` for an event loop."""
        bound = self.task.signature.bind(self.task.name, args, kwargs)
        return await self._submitter.asubmit(self.task, bound, self._using)

    def enqueue_many(self, many: Iterable[Mapping[str, Any]]) -> list[Job]:
        """Submit a job for each mapping of arguments, all or none, in one transaction."""
        return self._submitter.submit_many(self.task, many, self._using)

    async def aenqueue_many(self, many: Iterable[Mapping[str, Any]]) -> list[Job]:
        """`enqueue_many` for an event loop."""
        return await self._submitter.asubmit_many(self.task, many, self._using)

    def _to_follow(self) -> tuple[Task, Using]:
        """What is kept of this task where it is to follow a job."""
        return self.task, self._using

    def submission(self, args: Mapping[str, Any]) -> tuple[Task, dict[str, Any], Using]:
        """What `JobTrail.enqueue_each` stores for this task and these arguments."""
        return self.task, self.task.signature.bind(self.task.name, (), args), self._using

    def __repr__(self) -> str:
        """As a person reads it."""
        return f"<task {self.task.name}{self.task.signature.text}>"


class Job:
    """A job as it was read; `refresh` reads it again. ``created`` is False where another submission made it."""

    __slots__ = ("_row", "_store", "created", "id")

    def __init__(self, store: Store, job_id: str, *, created: bool = False, row: JobRow | None = None) -> None:
        self.id = job_id
        self.created = created
        self._store = store
        self._row = row

    # -- looking -------------------------------------------------------------------------------------

    @property
    def row(self) -> JobRow:
        """Every column, as last read.

        Raises: NotFound when retention has removed it meanwhile (or its transaction was rolled back).
        """
        if self._row is None:
            self.refresh()
        row = self._row
        if row is None:
            message = f"there is no job {self.id}"
            raise NotFound(message)
        return row

    def refresh(self) -> Job:
        """Read it again."""
        with self._store.read() as conn:
            self._row = jobs.get(conn, self.id)
        if self._row is None:
            message = f"there is no job {self.id}"
            raise NotFound(message)
        return self

    @property
    def status(self) -> Status:
        """Where it stood when it was read."""
        return self.row.status

    @property
    def outcome(self) -> str | None:
        """success, partial, error, or None as long as there is none."""
        return self.row.outcome

    @property
    def error(self) -> dict[str, Any] | None:
        """Type, message, traceback and fingerprint of the last failure."""
        return loads(self.row.error) if self.row.error else None

    @property
    def arguments(self) -> dict[str, Any]:
        """The task's arguments."""
        arguments: dict[str, Any] = decode(self.row.args)
        return arguments

    @property
    def progress(self) -> dict[str, Any] | None:
        """percent, done, total, message, metadata, last_heartbeat_at; None as long as nothing was reported."""
        with self._store.read() as conn:
            return runs.progress_of(conn, [self.id]).get(self.id)

    def items(self, outcome: str | None = None, *, limit: int = 100_000) -> list[items.ItemRow]:
        """The items of its telling, perhaps those of one outcome (ok, failed, skipped) only."""
        wanted = ItemOutcome(outcome) if outcome is not None else None
        with self._store.read() as conn:
            return items.page(conn, self.row.ledger, outcome=wanted, limit=limit)

    def item_counts(self) -> dict[str, int]:
        """How the items of its telling stand."""
        with self._store.read() as conn:
            counts = items.counts(conn, self.row.ledger)
        return {"ok": counts.ok, "failed": counts.failed, "skipped": counts.skipped}

    def events(self) -> list[events.Event]:
        """Its trail, oldest first."""
        with self._store.read() as conn:
            return events.of_job(conn, self.id)

    def log(self) -> str:
        """Its log as text."""
        with self._store.read() as conn:
            chunks = runs.log_chunks(conn, self.id, limit=100_000)
        parts = []
        for chunk in chunks:
            if chunk.dropped:
                parts.append(f"… {chunk.dropped:,} lines dropped …")
            parts.append(chunk.text)
        return "\n".join(parts)

    # -- waiting -------------------------------------------------------------------------------------

    def wait(self, timeout: float | None = None) -> Job:
        """Wait until it has ended, at most ``timeout`` seconds.

        Raises: ResultTimeout.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while self.refresh().status not in FINAL:
            if end is not None and time.monotonic() >= end:
                message = f"job {self.id} is still {self.status} after {timeout:g} s"
                raise ResultTimeout(message)
            time.sleep(WAIT_POLL)
        return self

    def result(self, timeout: float | None = None) -> Any:
        """Wait for the end and give the result, of a completed or a partial job.

        Raises: JobFailed when it failed or was cancelled; ResultTimeout.
        """
        return self.wait(timeout)._result()

    async def aresult(self, timeout: float | None = None) -> Any:
        """`result` for an event loop."""
        end = None if timeout is None else time.monotonic() + timeout
        while (await asyncio.to_thread(self.refresh)).status not in FINAL:
            if end is not None and time.monotonic() >= end:
                message = f"job {self.id} is still {self.status} after {timeout:g} s"
                raise ResultTimeout(message)
            await asyncio.sleep(WAIT_POLL)
        return self._result()

    def _result(self) -> Any:
        row = self.row
        if row.status in {Status.COMPLETED, Status.PARTIAL}:
            return None if row.result is None else decode(row.result)
        error = self.error
        why = f": {error['message']}" if error and error.get("message") else ""
        message = f"job {row.id} ({row.task}) is {row.status}{why}"
        raise JobFailed(message, row.id, row.status.value)

    # -- steering ------------------------------------------------------------------------------------

    def retry(self, reason: str | None = None, *, actor: str = "program") -> Job:
        """The same job, one more attempt; failed items are given again.

        Raises: IllegalMove, AlreadyActive, Conflict.
        """
        rerun.retry(self._store, self.id, actor=actor, reason=reason)
        return self.refresh()

    def rerun(
        self,
        mode: str = "full",
        *,
        file: Any = None,
        if_active: str = "raise",
        with_successors: bool = False,
        reason: str | None = None,
        **rest: Any,
    ) -> Job:
        """A new job of the same unit: ``full``, ``failed_items`` or ``resume``; ``file`` is a corrected input.

        ``with_successors``: what was declared to follow this job (``.then(…)``) follows the new one, too.

        Raises: IllegalMove, AlreadyActive, InvalidFile.
        """
        rest |= {"file": file, "if_active": if_active, "with_successors": with_successors, "reason": reason}
        answer = rerun.rerun(self._store, self.id, mode, **rest)
        return Job(self._store, answer.id, created=answer.created)

    def cancel(self, reason: str | None = None, *, actor: str = "program") -> Job:
        """End it at once where nothing runs, else ask the body to stop; a second cancel forces the end.

        Raises: IllegalMove when it has ended.
        """
        rerun.cancel(self._store, self.id, actor=actor, reason=reason)
        return self.refresh()

    def answer(
        self, value: Any, *, question: str | None = None, actor: str = "program", reason: str | None = None, **rest: Any
    ) -> Job:
        """Answer what it asks; ``question`` (a name) makes sure that it is the one that is meant.

        Raises: AnswerRefused with ``errors`` by field; AlreadyAnswered with who and when; QuestionClosed; NotFound.
        """
        from .answers import answer_job

        answer_job(self._store, self.id, value, question=question, actor=actor, reason=reason, **rest)
        return self.refresh()

    def questions(self) -> list[questions.QuestionRow]:
        """All that it has asked, oldest first."""
        with self._store.read() as conn:
            return questions.of_job(conn, self.id)

    def successors(self) -> list[dict[str, Any]]:
        """What was declared to follow it: task, on, state (waiting, submitted, skipped, refused), job, reason."""
        with self._store.read() as conn:
            return successor_rows.of_job(conn, self.id)

    def then(self, task: BoundTask, params: Mapping[str, Any] | None = None, **said: Any) -> Job | None:
        """`BoundTask.then` for a job that is stored: it waits for its end, or comes at once if that has been.

        Returns the job that came, None where it waits (or does not come after this end).

        Raises: UsageError; NotFound.
        """
        row = self.refresh().row
        one = successor(Next(*task._to_follow(), params, **said), Before(row.source, row.period), task._submitter.settings)

        def operation(conn: Connection) -> Any:
            self._store.wake.need()
            return successor_rows.attach(conn, self._store.dialect, self.id, [one], self._store.now())

        came = self._store.write(operation, key=self.id)[0]["job"]
        return None if came is None else Job(self._store, came)

    def run_now(self, *, actor: str = "program") -> Job:
        """Do not wait for its time.

        Raises: IllegalMove when it does not wait for a time.
        """
        rerun.run_now(self._store, self.id, actor=actor)
        return self.refresh()

    def __repr__(self) -> str:
        """As a person reads it."""
        status = self._row.status.value if self._row is not None else "?"
        return f"<job {self.id} {status}>"
