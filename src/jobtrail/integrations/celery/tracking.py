"""`track_celery`: Celery's signals become records of jobs. Nothing here raises into Celery, or waits for the store."""

from __future__ import annotations

import functools
import logging
import os
import signal
import time
from json import dumps
from typing import TYPE_CHECKING, Any, TypeVar

from jobtrail.config import Settings, database_url, from_environment
from jobtrail.errors import InvalidOption, UsageError
from jobtrail.fork_lock import ForkLock
from jobtrail.job.failure import describe
from jobtrail.job.json_value import encode_arguments, encode_result
from jobtrail.job.model import new_id
from jobtrail.job.outcome import Raised, Returned
from jobtrail.job.task import TRACKED
from jobtrail.messages import Message
from jobtrail.recovery.background_loop import BackgroundLoop
from jobtrail.runtime import log_capture

from .current import running
from .declaration import Selection, describe_run, named_arguments
from .process import ProcessRecord
from .relay import HEADER, Relay
from .task_run import RunEnds, SeenFromOutside, TaskRejected, TaskRetry, TaskRun

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from celery import Celery

    from jobtrail.job.failure import Failure

    from .declaration import Describe

_log = logging.getLogger("jobtrail.celery")
MARK = "jobtrail_tracker"  # where an application keeps its tracker
SEND_EVERY = 1.0  # seconds between two looks for jobs to be sent
F = TypeVar("F", bound="Callable[..., Any]")


def track_celery(
    celery_app: Celery,
    url: str | None = None,
    *,
    exclude: Sequence[str] = (),
    sample: Mapping[str, float] | None = None,
    describe: Describe | None = None,
    memory: int = 10_000,
    **settings: Any,
) -> None:
    """Record every task run of a Celery application as a job; call it once, where the application is made.

    Args:
        celery_app: The Celery application.
        url: Address of the store; default: ``JOBTRAIL_URL``, else `jobs.db`.
        exclude: Patterns of task names that are not recorded, such as ``celery.*``.
        sample: Share of runs, from 0 to 1, by pattern of task names; runs that fail or are retried are always recorded.
        describe: Function from task name and arguments by name to a mapping with any of ``kind``, ``source``, ``period``.
        memory: How many records of a process wait in memory while the store is away.
        **settings: Fields of `Settings`; variables ``JOBTRAIL_…`` win over them.

    Raises:
        InvalidOption: If Celery is not installed, or an option is not valid.

    Example:
        ```python
        app = Celery("shop", broker="redis://localhost")
        jobtrail.track_celery(app, "postgresql://localhost/shop")
        ```
    """
    try:
        import celery  # noqa: F401
    except ImportError as error:
        raise InvalidOption(Message("integrations.no-celery")) from error
    if isinstance(memory, bool) or not isinstance(memory, int) or memory < 1:
        raise InvalidOption(Message("integrations.bad-memory", value=repr(memory)))
    if describe is not None and not callable(describe):
        raise InvalidOption(Message("integrations.bad-describe", value=repr(describe)))
    from jobtrail.database.connection import Database

    address = database_url(url)
    Database(address)  # refuses an address that is none; it does not connect
    checked = Settings().with_values(**{**settings, **from_environment()})
    Tracker(celery_app, address, Selection.of(exclude, sample or {}), describe, checked, memory).connect()


def _quiet(function: F) -> F:
    """Log what tracking raises; the task goes on."""

    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> None:
        try:
            function(*args, **kwargs)
        except Exception:
            _log.exception("a Celery task could not be recorded")

    return guarded  # type: ignore[return-value]  # the same parameters


class Tracker:
    """The receivers of Celery's signals for one application."""

    def __init__(
        self,
        celery_app: Celery,
        url: str,
        selection: Selection,
        describe: Describe | None,
        settings: Settings,
        memory: int,
    ) -> None:
        self._app = celery_app
        self._url = url
        self._selection = selection
        self._describe = describe
        self._settings = settings
        self._memory = memory
        self._lock = ForkLock()
        self._process: ProcessRecord | None = None

    def connect(self) -> None:
        """Listen to Celery."""
        from celery import signals

        setattr(self._app, MARK, self)
        for sent, receiver in (
            (signals.before_task_publish, self.on_publish),
            (signals.task_prerun, self.on_begin),
            (signals.task_retry, self.on_retry),
            (signals.task_failure, self.on_failure),
            (signals.task_postrun, self.on_end),
            (signals.task_revoked, self.on_revoked),
            (signals.worker_process_init, self.on_process),
            (signals.worker_ready, self.on_ready),
            (signals.worker_process_shutdown, self.on_shutdown),
            (signals.worker_shutdown, self.on_shutdown),
        ):
            sent.connect(receiver, weak=False, dispatch_uid=f"jobtrail-{id(self._app)}-{receiver.__name__}")

    @property
    def store(self) -> tuple[str, Settings]:
        """The address of the store, and the settings."""
        return self._url, self._settings

    def records(self, task: str) -> bool:
        """Whether runs of a task are recorded."""
        return not self._selection.excludes(task)

    @property
    def process(self) -> ProcessRecord:
        """The record of this process; a forked one makes its own."""
        found = self._process
        if found is None or found.pid != os.getpid():
            with self._lock:
                found = self._process
                if found is None or found.pid != os.getpid():
                    found = self._process = ProcessRecord(self._url, self._settings, self._memory)
        return found

    # -- the process ---------------------------------------------------------------------------------

    @_quiet
    def on_process(self, **_: Any) -> None:
        """A process that executes tasks begins."""
        running.set(None)
        self.process.buffer.wanted.set()

    @_quiet
    def on_ready(self, sender: Any = None, **_: Any) -> None:
        """The worker takes tasks: its main process also looks for dead ones, and sends what is to run again."""
        process = self.process
        relay = Relay(self._app, process.store, lambda: process.id)
        slots = getattr(getattr(sender, "pool", None), "limit", None) or 1
        loop = BackgroundLoop("celery-relay", relay.run_once, SEND_EVERY)
        process.lead(list(self._app.amqp.queues.consume_from), int(slots), loop)

    @_quiet
    def on_shutdown(self, **_: Any) -> None:
        """The process ends in order."""
        if self._process is not None and self._process.pid == os.getpid():
            self._process.stop()
            self._process = None

    # -- a message -----------------------------------------------------------------------------------

    @_quiet
    def on_publish(self, sender: Any = None, headers: Any = None, **_: Any) -> None:
        """Name the job in the message, so that its attempts and children are found without a look into the store."""
        name = str(sender)
        if not isinstance(headers, dict) or "id" not in headers or HEADER in headers or self._selection.excludes(name):
            return
        within = running.get()
        again = within is not None and within.celery_id == headers["id"]
        stamp: dict[str, Any] = {"at": time.time()}
        if within is not None and again:
            stamp |= {"id": within.row.job_id if within.row else within.job_id, "known": True}
        else:
            stamp["id"] = new_id()
        parent = (
            within.parent
            if again and within is not None
            else within.job_id
            if within is not None and within.recorded
            else None
        )
        if within is not None and parent is not None:
            stamp |= {"parent": parent, "root": within.root or within.job_id}
        headers[HEADER] = stamp

    # -- a run ---------------------------------------------------------------------------------------

    @_quiet
    def on_begin(self, task_id: str = "", task: Any = None, args: Any = (), kwargs: Any = None, **_: Any) -> None:
        """A task begins."""
        if task.app is not self._app or task.request.is_eager or self._selection.excludes(task.name):
            return
        run = self._make_run(task, task_id, args, kwargs or {}, task.request)
        run.recorded = (run.stamped and run.known) or self._selection.takes(task.name, task_id)
        self.process.begins(run)
        log_capture.install()
        run.token = running.set(run)
        if run.recorded:
            run.log_token = log_capture.current.set(run.log)

    def _make_run(self, task: Any, task_id: str, args: Any, kwargs: Any, request: Any) -> TaskRun:
        stamp = getattr(request, HEADER, None) or {}
        delivery = getattr(request, "delivery_info", None) or {}
        named, by_name = named_arguments(task, args or (), kwargs)
        said: dict[str, Any] = {"named": by_name}
        try:
            text = encode_arguments(named, self._settings.argument_limit)
        except UsageError as error:
            text, said["not_stored"] = "{}", str(error)[:1000]
        queue = str(delivery.get("routing_key") or task.app.conf.task_default_queue)
        retries = getattr(request, "retries", 0) or 0
        context = {"celery_id": task_id, "celery_worker": getattr(request, "hostname", None)} | {
            f"celery_{name}": value
            for name, value in (
                ("parent", getattr(request, "parent_id", None)),
                ("root", getattr(request, "root_id", None)),
                ("group", getattr(request, "group", None)),
                ("chord", _chord_id(getattr(request, "chord", None))),
            )
            if value and value != task_id
        }
        return TaskRun(
            celery_id=task_id,
            job_id=stamp.get("id") or new_id(),
            task=task.name,
            queue=f"{TRACKED}{queue}"[:200],
            args=text,
            options=dumps({"on_interrupt": "fail", "celery": said}),
            context=context,
            stamped="id" in stamp,
            known=bool(stamp.get("known") or retries or delivery.get("redelivered")),
            sent=stamp.get("at"),
            max_attempts=None if task.max_retries is None else task.max_retries + 1,
            described=describe_run(task, named, self._describe),
            parent=stamp.get("parent"),
            root=stamp.get("root"),
        )

    @_quiet
    def on_retry(self, sender: Any = None, request: Any = None, reason: Any = None, **_: Any) -> None:
        """Celery runs the task again; in the main process because the one that executed it is lost."""
        if sender.app is not self._app or self._selection.excludes(sender.name):
            return
        error = getattr(reason, "exc", None)
        failure = self._failure(error) if isinstance(error, BaseException) else None
        when = getattr(reason, "humanize", lambda: "")()
        text = f"{failure.type}: {failure.message} ({when})" if failure is not None else str(when or "retry")
        run = self.process.active.get(request.id)
        if run is not None:
            run.retry = TaskRetry(
                text[:2000], failure.to_json() if failure else None, failure.fingerprint if failure else None
            )
        elif failure is not None:
            outside = self._make_run(sender, request.id, request.args or (), request.kwargs or {}, request)
            self.process.buffer.put(SeenFromOutside(outside, text[:2000], failure, retry=True))

    @_quiet
    def on_failure(
        self, sender: Any = None, task_id: str = "", exception: Any = None, args: Any = (), kwargs: Any = None, **_: Any
    ) -> None:
        """A task failed; in the main process it was lost, or over its time limit."""
        from celery.exceptions import Reject

        if sender.app is not self._app or self._selection.excludes(sender.name) or sender.request.is_eager:
            return
        if isinstance(exception, Reject):
            return  # since Celery 5.7 the main process calls it a failure; the process of the task has said what it is
        failure = self._failure(exception)
        run = self.process.active.get(task_id)
        if run is not None:
            run.failure = failure
            return
        outside = self._make_run(sender, task_id, args, kwargs or {}, sender.request)
        self.process.buffer.put(SeenFromOutside(outside, f"{failure.type}: {failure.message}"[:2000], failure))

    @_quiet
    def on_end(self, task_id: str = "", state: Any = None, retval: Any = None, **_: Any) -> None:
        """A task has ended, however."""
        run = self.process.active.get(task_id)
        if run is None:
            return
        if run.token is not None:
            running.reset(run.token)
        if run.log_token is not None:
            log_capture.current.reset(run.log_token)
        run.token = run.log_token = None
        if state is None:
            return  # its process is being ended; whoever ends it says why, or upkeep finds it gone
        end = RunEnds(run, self._outcome(run, str(state), retval))
        if not run.recorded and not isinstance(end.outcome, Returned):
            run.recorded = True
            self.process.begins(run)
        if run.recorded:
            self.process.ends(end)
        else:
            self.process.active.pop(task_id, None)

    def _outcome(self, run: TaskRun, state: str, retval: Any) -> Returned | Raised | TaskRetry | TaskRejected:
        if state == "RETRY":
            return run.retry or TaskRetry("retry")
        if state == "REJECTED":
            return TaskRejected(Message("integrations.rejected").stored)
        if state == "IGNORED":
            return Returned(note=None if run.stop.noticed else Message("integrations.ignored").stored)
        if state == "SUCCESS":
            return Returned(*encode_result(retval, self._settings.result_limit))
        found = run.failure or self._failure(retval if isinstance(retval, BaseException) else RuntimeError(state))
        return Raised(found.to_json(), found.fingerprint, found.message, retry=False, delay=0.0)

    def _failure(self, error: BaseException) -> Failure:
        return describe(error, limit=self._settings.error_limit)

    @_quiet
    def on_revoked(
        self,
        sender: Any = None,
        request: Any = None,
        terminated: Any = None,
        signum: Any = None,
        expired: Any = None,
        **_: Any,
    ) -> None:
        """A task was revoked: before it began, because it expired, or while it ran."""
        if sender is None or sender.app is not self._app or self._selection.excludes(sender.name):
            return
        given = getattr(request, "_context", request)  # the worker's request, or the task's
        reason = Message("integrations.expired") if expired else Message("integrations.revoked")
        if terminated:
            reason = Message("integrations.terminated", signal=_signal_name(signum))
        args, kwargs = getattr(given, "args", None) or (), getattr(given, "kwargs", None) or {}
        run = self._make_run(sender, request.id, args, kwargs, given)
        self.process.buffer.put(SeenFromOutside(run, reason.stored, began=bool(terminated)))


def _signal_name(number: Any) -> str:
    try:
        return signal.Signals(int(number)).name
    except (TypeError, ValueError):
        return str(number)


def _chord_id(chord: Any) -> str | None:
    """The id of the task that follows a chord."""
    try:
        return str(chord["options"]["task_id"]) if chord else None
    except (KeyError, TypeError):
        return None
