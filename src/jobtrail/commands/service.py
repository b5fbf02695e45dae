"""Submission and look-up of jobs: the service behind `JobTrail`, `BoundTask` and `Job`."""

from __future__ import annotations

import asyncio
import contextlib
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from jobtrail import fork_lock
from jobtrail.database import migration
from jobtrail.errors import DuplicateRow, InvalidOption, StoreError, StoreUnavailable
from jobtrail.executors.hooks import Hooks
from jobtrail.job.json_value import encode_arguments
from jobtrail.job.model import Submitted, new_id
from jobtrail.job.task import choice_option
from jobtrail.messages import Message
from jobtrail.store import jobs, workers
from jobtrail.store.limits import definitions
from jobtrail.store.search import search

from . import submit, transactional_submit
from .history.removal import Removal
from .job_handle import Job, JobList

PAGE = 500  # jobs that `find` and `each` read at once

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import Connection

    from jobtrail.config import Settings
    from jobtrail.job.limits.limit import Limit
    from jobtrail.job.model import JobRow, NewJob, RemovedJob
    from jobtrail.job.task import Task, Tasks
    from jobtrail.store import Store

    from .submit import Prepared
    from .transactional_submit import CallerConnections
    from .using import Using

T = TypeVar("T")

INTRODUCE_EVERY = 86_400.0  # seconds
RETRY_PAUSE = 0.2  # seconds between tries while the store is away


class Runs(Protocol):
    """Something that works in this process until it is told to stop: a worker, perhaps with a scheduler."""

    def run(self) -> Coroutine[Any, Any, None]:
        """Work until told to stop."""

    def stop(self) -> None:
        """Begin to stop."""

    def wait_finished(self, timeout: float) -> bool:
        """Wait, from another thread, until it has stopped; False if it has not within ``timeout`` seconds."""


class _Tries:
    """How often something was tried to be written, and until when it is tried again."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self.repeated = False

    def failed(self, error: StoreError) -> None:
        """Count a failed try.

        Raises: the error, when the time is over, or when a row with this id exists that no earlier try can have written.
        """
        if time.monotonic() >= self._end or (isinstance(error, DuplicateRow) and not self.repeated):
            raise error
        self.repeated = True


class Service:
    """Submission and look-up of jobs in one store; `JobTrail` forwards to it."""

    def __init__(self, store: Store, tasks: Tasks, settings: Settings) -> None:
        self.store = store
        self.tasks = tasks
        self.settings = settings
        self.submitter = new_id()
        self.state: Any = None  # the application's own, for bodies in child processes
        self.hooks = Hooks()
        self.caller_connections: CallerConnections | None = None
        self.schemas = migration.Schemas()
        self.before_removal: list[Callable[[Removal], None]] = []
        self.plugins_before_removal: Callable[[str], list[Callable[[Removal], None]]] = lambda _cause: []
        self.metrics: Any = None  # made when they are asked for, by `jobtrail.integrations.prometheus`
        self._ready = False
        self._declared = 0  # how many limits of tasks the store was told
        self._ensured: int | None = None  # `schemas.changes` when the schemas were last found to be right
        self._introduced_at = time.monotonic()
        self._workers: set[Runs] = set()

    # -- before the first write ------------------------------------------------------------------------

    def make_ready(self) -> None:
        """Upgrade the schema where that is automatic, and register this process as a submitter.

        Raises:
            SchemaMismatch: If the schema does not fit this version.
            StoreUnavailable: If the database is not reachable.
        """
        if self._known:
            return
        self.make_readable()
        declared = list(self.tasks.limits.values())
        self._patiently(lambda: self.store.write(partial(self._introduce, declared)))
        self._declared = len(declared)
        self._ready, self._introduced_at = True, time.monotonic()

    @property
    def _known(self) -> bool:
        """True if schemas and limits are right and this process was registered within a day, so that retention keeps its row."""
        if not self._ready or self._ensured != self.schemas.changes or self._declared != len(self.tasks.limits):
            return False
        return time.monotonic() - self._introduced_at < INTRODUCE_EVERY

    def make_readable(self) -> None:
        """Upgrade the schema where that is automatic; write nothing else, so that a locked file can be read.

        Raises:
            SchemaMismatch: If the schema does not fit this version.
            StoreUnavailable: If the database is not reachable.
        """
        changes = self.schemas.changes
        if self._ensured != changes:
            migration.ensure(self.store.database, self.schemas.all(), automatic=self.settings.migrate)
            self._ensured = changes

    def migrate(self) -> bool:
        """Create or upgrade the tables; True if something was changed."""
        return migration.upgrade(self.store.database, self.schemas.all())

    def _introduce(self, declared: list[Limit], conn: Connection) -> None:
        if declared:
            definitions.declare(conn, self.store.dialect, declared, self.store.now())
        workers.add_submitter(conn, self.store.dialect, self.submitter, self.store.now())

    def after_fork(self) -> None:
        """Make a forked child a submitter of its own."""
        self.submitter = new_id()
        self._ready, self._ensured = False, None
        self.store.wake.after_fork()

    def _patiently(self, write: Callable[[], T], stored: Callable[[], T | None] | None = None) -> T:
        """Repeat a write while the store is away, at most ``submit_retry_seconds``; ids are fixed before, so nothing is stored twice."""
        tries = _Tries(self.settings.submit_retry_seconds)
        while True:
            try:
                found = stored() if stored is not None and tries.repeated else None
                return write() if found is None else found
            except (StoreUnavailable, DuplicateRow) as error:
                tries.failed(error)
                time.sleep(RETRY_PAUSE)

    async def _apatiently(self, write: Callable[[], Awaitable[T]], stored: Callable[[], T | None] | None = None) -> T:
        """`_patiently` for an event loop."""
        tries = _Tries(self.settings.submit_retry_seconds)
        while True:
            try:
                found = await asyncio.to_thread(stored) if stored is not None and tries.repeated else None
                return await write() if found is None else found
            except (StoreUnavailable, DuplicateRow) as error:
                tries.failed(error)
                await asyncio.sleep(RETRY_PAUSE)

    @contextlib.asynccontextmanager
    async def running(self, worker: Runs) -> AsyncIterator[Runs]:
        """Run a worker on the current event loop for the duration of the block; wait for its jobs at the end."""
        await asyncio.to_thread(self.make_ready)
        task = asyncio.get_running_loop().create_task(worker.run())
        self._workers.add(worker)
        try:
            yield worker
        finally:
            worker.stop()
            self._workers.discard(worker)
            await task

    def stop(self, timeout: float | None = None) -> bool:
        """Stop the workers of this process and wait at most ``timeout`` seconds, from another thread than theirs.

        Returns:
            True if no worker runs any more.
        """
        running = list(self._workers)
        for worker in running:
            worker.stop()
        ended = [worker.wait_finished(timeout or 0) for worker in running]
        return all(ended)

    def announces(self, cause: str) -> Callable[[Sequence[str]], None] | None:
        """What is to be called with the ids of jobs before they are removed, outside of any transaction; an exception keeps them.

        Args:
            cause: "retention" or "deleted".

        Returns:
            None where nothing is to be called.
        """
        functions = [*self.before_removal, *self.plugins_before_removal(cause)]

        def announce(ids: Sequence[str]) -> None:
            for function in functions if ids else ():
                function(Removal(tuple(ids), cause))

        return announce if functions else None

    # -- submission ----------------------------------------------------------------------------------

    def submit(self, task: Task, args: dict[str, Any], using: Using) -> Job:
        """Store one job; see `BoundTask.enqueue`."""
        using.check_unit()
        self._make_ready_for(using)
        prepared = self._prepare(task, args, using)
        if using.connection is not None:
            late = _Late(prepared)
            given = using.connection, prepared, late.settle, self.caller_connections
            return late.job(self._answer(transactional_submit.submit(self.store, *given), prepared))
        return self.store_prepared(prepared)

    def _prepare(self, task: Task, args: dict[str, Any], using: Using) -> Prepared:
        return submit.prepare(task, args, using, self.settings, self.store.now(), self.submitter)

    def carried_on(self, prepared: Prepared) -> Prepared:
        """Add trace information to a prepared submission; does nothing unless tracing is on."""
        return prepared

    def _job(self, job_id: str, *, created: bool = False, row: JobRow | RemovedJob | None = None) -> Job:
        return Job(self.store, job_id, created=created, row=row)

    def _make_ready_for(self, using: Using) -> None:
        """Prepare for a submission; inside a caller's SQLite transaction, which holds the only write lock, nothing is written."""
        if using.connection is not None and self.store.database.is_sqlite:
            self.make_readable()
        else:
            self.make_ready()

    def store_prepared(self, prepared: Prepared) -> Job:
        """Store a checked submission."""
        if prepared.plain:
            self._patiently(lambda: self._insert(prepared.new), lambda: self._stored(prepared.new.id))
            return self._job(prepared.new.id, created=True)
        answer = self._patiently(
            lambda: self.store.submit(prepared.new, prepared.rules), lambda: self._stored(prepared.new.id)
        )
        return self._answer(answer, prepared)

    def _answer(self, answer: Any, prepared: Prepared) -> Job:
        submit.check_answer(answer, prepared)
        created = answer.created or answer.id == prepared.new.id
        return self._job(answer.id, created=created, row=answer.removed)

    async def asubmit(self, task: Task, args: dict[str, Any], using: Using) -> Job:
        """`submit` for an event loop: an async connection is used on the loop, everything else in a thread of the writer."""
        using.check_unit()
        if not self._known:
            await asyncio.to_thread(self._make_ready_for, using)
        if using.file is not None or using.connection is not None:
            prepared = await asyncio.to_thread(self._prepare, task, args, using)
            if using.connection is not None:
                late = _Late(prepared)
                given = using.connection, prepared, late.settle, self.caller_connections
                answer = await transactional_submit.asubmit(self.store, *given)
                return late.job(self._answer(answer, prepared))
        else:
            prepared = self._prepare(task, args, using)
        if prepared.plain:
            await self._apatiently(lambda: self._ainsert(prepared.new), lambda: self._stored(prepared.new.id))
            return self._job(prepared.new.id, created=True)
        answer = await self._apatiently(
            lambda: self.store.asubmit(prepared.new, prepared.rules), lambda: self._stored(prepared.new.id)
        )
        return self._answer(answer, prepared)

    def _stored(self, job_id: str) -> Submitted | None:
        """The answer to a submission whose first answer was lost, if it was committed."""
        with self.store.read() as conn:
            return None if jobs.get(conn, job_id) is None else Submitted(job_id, created=True)

    # -- many at once --------------------------------------------------------------------------------

    def submit_many(self, task: Task, many: Iterable[Mapping[str, Any]], using: Using) -> list[Job]:
        """Store many jobs, all or none; see `BoundTask.enqueue_many`."""
        self.make_ready()
        template, rows = self._prepare_many(task, many, using)
        if rows:
            self._patiently(lambda: self._insert_alike(template, rows), lambda: self._stored(str(rows[0][0])))
        return [self._job(str(row[0]), created=True) for row in rows]

    async def asubmit_many(self, task: Task, many: Iterable[Mapping[str, Any]], using: Using) -> list[Job]:
        """`submit_many` for an event loop."""
        if not self._known:
            await asyncio.to_thread(self.make_ready)
        template, rows = self._prepare_many(task, many, using)
        if rows:
            write = partial(asyncio.to_thread, self._insert_alike, template, rows)
            await self._apatiently(write, lambda: self._stored(str(rows[0][0])))
        return [self._job(str(row[0]), created=True) for row in rows]

    def _insert(self, new: NewJob) -> Submitted:
        self.store.insert(new)
        return Submitted(new.id, created=True)

    async def _ainsert(self, new: NewJob) -> Submitted:
        await self.store.ainsert(new)
        return Submitted(new.id, created=True)

    def _insert_alike(self, template: NewJob, rows: list[tuple[str | None, ...]]) -> Submitted:
        self.store.insert_alike(template, rows)
        return Submitted(str(rows[0][0]), created=True)

    def _prepare_many(
        self, task: Task, many: Iterable[Mapping[str, Any]], using: Using
    ) -> tuple[NewJob, list[tuple[str | None, ...]]]:
        for word in ("period", "file", "unit", "idempotency_key", "idempotency", "labels", "connection"):
            if getattr(using, word) is not None:
                raise InvalidOption(Message("commands.many-cannot", word=word))
        using.check_unit()
        new = self._prepare(task, {}, using).new
        bind, limit = partial(task.signature.accept, task.name, ()), self.settings.argument_limit
        if not task.limits:
            return new, [(new_id(), encode_arguments(bind(args), limit)) for args in many]
        bound = map(bind, many)
        return new, [
            (new_id(), encode_arguments(args, limit), task.limit_keys(args, new.queue, new.source)) for args in bound
        ]

    def submit_each(self, submissions: Iterable[tuple[Task, dict[str, Any], Using]]) -> list[Job]:
        """Store different submissions (with units, keys, labels) in one transaction, all or none.

        Raises:
            UsageError: If one submission is not valid.
            Conflict: If another job is in the way of one submission.
        """
        self.make_ready()
        given = list(submissions)
        for _, _, using in given:
            using.check_unit()
        prepared = [self._prepare(*one) for one in given]
        order = sorted(range(len(prepared)), key=lambda i: (prepared[i].new.unit or "", prepared[i].new.id))

        def operation(conn: Connection, *, repeated: bool = False) -> list[Any]:
            answers: list[Any] = [None] * len(prepared)
            for i in order:
                new = prepared[i].new
                if repeated and jobs.get(conn, new.id) is not None:
                    answers[i] = Submitted(new.id, created=True)
                    continue
                answers[i] = self.store.submit_on(conn, new, prepared[i].rules)
                submit.check_answer(answers[i], prepared[i])
            return answers

        def again() -> list[Any]:
            return self.store.write(partial(operation, repeated=True))

        answers = self._patiently(lambda: self.store.write(operation), again)
        return [self._answer(answer, one) for answer, one in zip(answers, prepared, strict=True)]

    # -- looking -------------------------------------------------------------------------------------

    def get(self, job_id: str) -> Job:
        """Return a job by its id or any unique end of it.

        Raises:
            NotFound: If no job, or more than one, matches.
        """
        self.make_readable()
        with self.store.read() as conn:
            row = jobs.resolve(conn, job_id)
        return self._job(row.id, row=row)

    def find(self, text: str = "", *, limit: int = 100, **place: Any) -> JobList:
        """Return the jobs that match a filter; see `JobTrail.find`.

        Raises:
            InvalidFilter: If the text does not follow the grammar.
        """
        found = JobList()
        for page in self.pages(text, limit, **place):
            found += page
            found.next = page.next
        return found

    def pages(
        self,
        text: str,
        limit: int | None = None,
        *,
        before: str | None = None,
        after: str | None = None,
        order: str = search.NEWEST_FIRST,
    ) -> Iterator[JobList]:
        """Pages of handles with their rows: two statements per page.

        Raises:
            InvalidFilter: If the text does not follow the grammar.
            InvalidOption: If the order is not known.
        """
        edge: dict[str, Any] = {"before": before, "after": after}
        moves = "before" if choice_option("order", order, search.ORDERS) == search.NEWEST_FIRST else "after"
        self.make_readable()
        while limit is None or limit > 0:
            size = PAGE if limit is None else min(limit, PAGE)
            with self.store.read() as conn:
                page = search.find(conn, text, now=self.store.now(), limit=size, order=order, **edge)
                rows = jobs.get_many(conn, [row.id for row in page.rows])
            found = JobList(self._job(row.id, row=rows[row.id]) for row in page.rows if row.id in rows)
            found.next = edge[moves] = page.next
            yield found
            limit = None if limit is None else limit - len(page.rows)
            if page.next is None:
                return


class _Late:
    """Handle of a submission whose answer is known only when the caller commits."""

    def __init__(self, prepared: Prepared) -> None:
        self._prepared = prepared
        self._job: Job | None = None

    def job(self, job: Job) -> Job:
        """Remember the handle that the caller received."""
        self._job = job
        return job

    def settle(self, answer: Submitted) -> None:
        """Make the handle name the job that represents the submission.

        Raises:
            Conflict: If another job is in the way; the caller's commit fails with it.
        """
        submit.check_answer(answer, self._prepared)
        if self._job is not None:
            self._job.id, self._job.created = answer.id, answer.created


fork_lock.register()  # the modules of the database, which stop other threads for a fork, are imported
