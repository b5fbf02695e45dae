"""Traces with OpenTelemetry: a span where a job is submitted, one for each attempt, one for each step; all in one trace.

The context is carried as W3C ``traceparent`` in the options of the job's row, and from the worker to a child process in
the order, which names `continued` as the hook around the body. Nothing here is loaded unless ``JobTrail(tracing=…)``
asks for it.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from functools import partial
from json import dumps, loads
from typing import TYPE_CHECKING, Any

from jobtrail.commands import submit
from jobtrail.commands.job_handle import Job
from jobtrail.commands.service import Service
from jobtrail.commands.using import NOTHING
from jobtrail.errors import InvalidOption
from jobtrail.job.masking import mask_text
from jobtrail.job.model import StopCause
from jobtrail.messages import Message
from jobtrail.store.workers import our_version
from jobtrail.worker.middleware import outcome_word
from jobtrail.worker.run import AroundBody
from jobtrail.worker.understand import failure_of

try:
    from opentelemetry import trace
    from opentelemetry.context import Context as Carrying
    from opentelemetry.context import attach, detach
    from opentelemetry.trace import Link, SpanKind, StatusCode
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ImportError as missing:
    raise InvalidOption(Message("integrations.no-tracing")) from missing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from opentelemetry.trace import Span, Tracer

    from jobtrail.commands.submit import Prepared
    from jobtrail.commands.task_handle import BoundTask
    from jobtrail.commands.using import Using
    from jobtrail.job.model import JobRow, RemovedJob
    from jobtrail.job.task import Task
    from jobtrail.runtime.context import BaseContext
    from jobtrail.worker.middleware import Middleware
    from jobtrail.worker.run import CallNext, Run

Carried = dict[str, str]
SYSTEM = "jobtrail"
HOOK = "jobtrail.integrations.opentelemetry:continued"  # around a body in a child process
ERROR_LIMIT = 4000  # characters of a traceback in a span


def install(service: Service, middleware: list[Middleware], provider: Any) -> TracedService:
    """Trace an application: its submissions through the service that is returned, its attempts by a middleware.

    ``provider`` is a TracerProvider, or True for the global one, which may be set later.

    Raises: InvalidOption for anything else.
    """
    if provider is not True and not hasattr(provider, "get_tracer"):
        raise InvalidOption(Message("integrations.bad-tracing", value=repr(provider)))
    tracing = Tracing(None if provider is True else provider, _marked_by(service))
    middleware.insert(0, tracing.middleware)
    traced = TracedService(service.store, service.tasks, service.settings, tracing)
    traced.state, traced.schemas = service.state, service.schemas
    return traced


def _marked_by(service: Service) -> Callable[[str], frozenset[str]]:
    def marked(task: str) -> frozenset[str]:
        found, names = service.tasks.find(task), frozenset(service.settings.secret_names)
        return names if found is None else names | found.secret

    return marked


def _no_marks(_task: str) -> frozenset[str]:
    return frozenset()


class Tracing:
    """Makes the spans of one application.

    Args:
        provider: a TracerProvider; None for the global one.
        marked: returns the names that are secret for a task, beside those that always are.
    """

    def __init__(self, provider: Any = None, marked: Callable[[str], frozenset[str]] = _no_marks) -> None:
        self.marked = marked
        self.tracer: Tracer = trace.get_tracer(SYSTEM, our_version(), tracer_provider=provider)

    @contextlib.contextmanager
    def submission(self, task: str, **about: Any) -> Iterator[Span]:
        """The span of a submission; what is prepared inside carries it."""
        marked = self.marked(task)
        attributes = _present({**_messaging("send"), "jobtrail.task": task, **about}, marked)
        with self.tracer.start_as_current_span(
            f"enqueue {task}", kind=SpanKind.PRODUCER, attributes=attributes, **_OWN_ERRORS
        ) as span:
            try:
                with _carrying(carried()):
                    yield span
            except Exception as error:
                _tell_error(span, error, marked)
                raise

    async def middleware(self, run: Run, call_next: CallNext) -> Any:
        """The span of an attempt: it belongs to the trace of the submission, whatever is current here."""
        options, marked = run.claim.said, self.marked(run.task.name)
        with self.tracer.start_as_current_span(
            f"run {run.task.name}",
            context=_read(options.get("trace")),
            kind=SpanKind.CONSUMER,
            attributes=_present(_attempt(run, options.get("slot")), marked),
            links=_links(options.get("linked")),
            **_OWN_ERRORS,
        ) as span:
            here = carried()
            if not run.executor.in_process:
                run.around_body = AroundBody(HOOK, here)
            if run.ctx is not None:
                run.ctx._around_step = partial(self.step, run.task.name)
            error = None
            try:
                with _carrying(here):
                    return await call_next(run)
            except BaseException as raised:
                error = raised
                raise
            finally:
                _tell_end(span, run, error, marked)

    @contextlib.contextmanager
    def step(self, task: str, name: str) -> Iterator[None]:
        """The span of a step that is really done; one that is found again makes none."""
        marked = self.marked(task)
        name = mask_text(name, marked)
        with self.tracer.start_as_current_span(
            f"step {name}", attributes={"jobtrail.step": name}, **_OWN_ERRORS
        ) as span:
            try:
                yield
            except Exception as error:
                _tell_error(span, error, marked)
                raise


def tracing_middleware(provider: Any = None) -> Middleware:
    """The middleware alone, for one task or another place in the list; ``JobTrail(tracing=…)`` has it already."""
    return Tracing(provider).middleware


# -- what is said about a span -------------------------------------------------------------------------

# An error is told by `_tell_error`: as it is kept in the job, with secrets masked.
_OWN_ERRORS: dict[str, Any] = {"record_exception": False, "set_status_on_exception": False}


def _messaging(operation: str) -> dict[str, Any]:
    return {"messaging.system": SYSTEM, "messaging.operation.type": operation, "messaging.operation.name": operation}


def _about(task: Task, using: Using) -> dict[str, Any]:
    return {
        "messaging.destination.name": using.queue or task.queue,
        "jobtrail.kind": task.kind,
        "jobtrail.source": using.source,
        "jobtrail.period": None if using.period is None else str(using.period),
    }


def _attempt(run: Run, slot: str | None) -> dict[str, Any]:
    claim = run.claim
    return {
        **_messaging("process"),
        "messaging.destination.name": claim.queue,
        "messaging.message.id": claim.id,
        "jobtrail.task": claim.task,
        "jobtrail.kind": run.task.kind,
        "jobtrail.attempt": claim.attempt,
        "jobtrail.run_no": claim.run_no,
        "jobtrail.source": claim.source,
        "jobtrail.period": claim.period,
        "jobtrail.mode": claim.mode,
        "jobtrail.slot": slot,
    }


def _present(attributes: Mapping[str, Any], marked: frozenset[str]) -> dict[str, Any]:
    return {
        name: mask_text(value, marked) if isinstance(value, str) else value
        for name, value in attributes.items()
        if value is not None
    }


def _tell_end(span: Span, run: Run, error: BaseException | None, marked: frozenset[str]) -> None:
    word, cause = outcome_word(run, error), run.stop.cause
    span.set_attribute("jobtrail.outcome", word)
    if word == "error" and error is not None:
        _tell_error(span, error, marked)
    if cause is not None:
        span.set_attribute("jobtrail.stop_cause", cause)
    if word == "stopped" and cause in {StopCause.TIMEOUT, StopCause.STALL}:
        span.set_status(StatusCode.ERROR, str(Message("job.stopped-by-limit", cause=cause)))


def _tell_error(span: Span, error: BaseException, marked: frozenset[str]) -> None:
    failure = failure_of(error, ERROR_LIMIT)
    told = {
        "exception.type": failure.type,
        "exception.message": failure.message,
        "exception.stacktrace": failure.traceback,
    }
    span.add_event("exception", _present(told, marked))
    span.set_attribute("error.type", failure.type)
    span.set_status(StatusCode.ERROR, mask_text(f"{failure.type}: {failure.message}", marked)[:500])


# -- how the context travels ---------------------------------------------------------------------------

_propagator = TraceContextTextMapPropagator()


def carried() -> Carried:
    """The current span as ``traceparent`` (and ``tracestate``); empty where there is none."""
    carrier: Carried = {}
    _propagator.inject(carrier)
    return carrier


@contextlib.contextmanager
def _carrying(carrier: Carried) -> Iterator[None]:
    """What is submitted inside, or declared to follow, belongs to this span."""
    token = submit.carried.set(carrier or None)
    try:
        yield
    finally:
        submit.carried.reset(token)


def _read(carrier: Carried | None) -> Carrying:
    """The context that was carried; an empty one begins a trace of its own, whatever is current here."""
    return _propagator.extract(carrier or {}, context=Carrying())


def _links(carrier: Carried | None) -> list[Link]:
    context = trace.get_current_span(_read(carrier)).get_span_context()
    return [Link(context)] if context.is_valid else []


@contextlib.contextmanager
def continued(carrier: Carried, bound: BoundTask, ctx: BaseContext | None) -> Iterator[None]:
    """In a child process: spans made inside are children of the attempt's, which the worker has."""
    service = bound._submitter
    if ctx is not None:
        tracing = service.tracing if isinstance(service, TracedService) else Tracing()
        ctx._around_step = partial(tracing.step, bound.task.name)
    token = attach(_read(carrier))
    try:
        with _carrying(carrier):
            yield
    finally:
        detach(token)


# -- submissions ---------------------------------------------------------------------------------------


class TracedJob(Job):
    """A job whose re-runs are submissions with a span of their own."""

    __slots__ = ("_tracing",)
    _tracing: Tracing

    def rerun(self, mode: str = "full", **options: Any) -> Job:
        """`Job.rerun`; the new job begins a trace, or joins the current one, and is linked to the first."""
        row = self._row
        with self._tracing.submission(row.task, **{"jobtrail.mode": mode, "jobtrail.rerun_of": row.id}) as span:
            made = super().rerun(mode, trace=carried() or None, **options)
            span.set_attribute("messaging.message.id", made.id)
            return made


class TracedService(Service):
    """`Service`, with a span around each submission that its jobs carry on."""

    def __init__(self, store: Any, tasks: Any, settings: Any, tracing: Tracing) -> None:
        super().__init__(store, tasks, settings)
        self.tracing = tracing

    def submit(self, task: Task, args: dict[str, Any], using: Using) -> Job:
        """`Service.submit`."""
        with self.tracing.submission(task.name, **_about(task, using)) as span:
            return _told(span, super().submit(task, args, using))

    async def asubmit(self, task: Task, args: dict[str, Any], using: Using) -> Job:
        """`Service.asubmit`."""
        with self.tracing.submission(task.name, **_about(task, using)) as span:
            return _told(span, await super().asubmit(task, args, using))

    def submit_many(self, task: Task, many: Iterable[Mapping[str, Any]], using: Using) -> list[Job]:
        """`Service.submit_many`: one span, which all of them carry on."""
        with self.tracing.submission(task.name, **_about(task, using)) as span:
            return _counted(span, super().submit_many(task, many, using))

    async def asubmit_many(self, task: Task, many: Iterable[Mapping[str, Any]], using: Using) -> list[Job]:
        """`Service.asubmit_many`."""
        with self.tracing.submission(task.name, **_about(task, using)) as span:
            return _counted(span, await super().asubmit_many(task, many, using))

    def submit_each(self, submissions: Iterable[tuple[Task, dict[str, Any], Using]]) -> list[Job]:
        """`Service.submit_each`: one span, which all of them carry on."""
        listed = list(submissions)
        names = ", ".join(sorted({task.name for task, _, _ in listed})[:5])
        with self.tracing.submission(names or "nothing") as span:
            return _counted(span, super().submit_each(listed))

    def _prepare(self, task: Task, args: dict[str, Any], using: Using) -> Prepared:
        """Inside a span of ours the context is an option, which the shortest way does not know."""
        if submit.carried.get() is None:
            return self.carried_on(super()._prepare(task, args, using))
        return super()._prepare(task, args, replace(using) if using is NOTHING else using)

    def carried_on(self, prepared: Prepared) -> Prepared:
        """With a span of its own: one of a group, or of a schedule's slots."""
        new = prepared.new
        about = {"jobtrail.kind": new.kind, "jobtrail.source": new.source, "jobtrail.period": new.period}
        with self.tracing.submission(
            new.task, **{"messaging.destination.name": new.queue, "messaging.message.id": new.id, **about}
        ):
            options = {**loads(new.options or "{}"), "trace": carried()}
        return replace(prepared, new=replace(new, options=dumps(options))) if options["trace"] else prepared

    def _job(self, job_id: str, *, created: bool = False, row: JobRow | RemovedJob | None = None) -> Job:
        job = TracedJob(self.store, job_id, created=created, row=row)
        job._tracing = self.tracing
        return job


def _told(span: Span, job: Job) -> Job:
    span.set_attribute("messaging.message.id", job.id)
    span.set_attribute("jobtrail.created", job.created)
    return job


def _counted(span: Span, made: list[Job]) -> list[Job]:
    span.set_attribute("messaging.batch.message_count", len(made))
    return made
