"""Traces: one from the submission to the last attempt, whoever executes, and nothing of it where nobody asked."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from datetime import timedelta

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import INVALID_SPAN, NoOpTracerProvider, SpanKind, StatusCode, get_current_span
from trails import QUICK

from jobtrail import AlreadyActive, AsyncContext, Context, InvalidOption, JobTrail, Partial, RetryableError
from jobtrail.commands.job_fields import stored_row
from jobtrail.integrations.opentelemetry import tracing_middleware
from jobtrail.testing import drain

AT_ONCE = {"attempts": 2, "wait": {"kind": "fixed", "seconds": 0}}


class Spans:
    """The spans that have ended, by name."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracer = self.provider.get_tracer("mine")

    def all(self, name: str) -> list:
        return [span for span in self.exporter.get_finished_spans() if span.name == name]

    def one(self, name: str):
        (span,) = self.all(name)
        return span

    def names(self) -> list[str]:
        return sorted(span.name for span in self.exporter.get_finished_spans())


def is_child(span, parent) -> bool:
    return span.parent.span_id == parent.context.span_id and span.context.trace_id == parent.context.trace_id


@pytest.fixture
def spans():
    return Spans()


@pytest.fixture
def jobs(sqlite_url, spans):
    made = JobTrail(sqlite_url, tracing=spans.provider, **QUICK)
    yield made
    made.close()


def task(jobs, function, **options):
    return jobs.task(**{"name": "load", **options})(function)


# -- one trace -----------------------------------------------------------------------------------------


def test_an_attempt_belongs_to_the_submission(jobs, spans):
    load = task(jobs, lambda: None, kind="sync")
    with spans.tracer.start_as_current_span("request"):
        job = load.using(source="weather/EWR", period="2013-02", queue="big").enqueue()
    drain(jobs, queues=["big"])
    submitted, ran = spans.one("enqueue load"), spans.one("run load")
    assert is_child(submitted, spans.one("request"))
    assert is_child(ran, submitted)
    assert (submitted.kind, ran.kind) == (SpanKind.PRODUCER, SpanKind.CONSUMER)
    assert dict(submitted.attributes) == {
        "messaging.system": "jobtrail",
        "messaging.operation.type": "send",
        "messaging.operation.name": "send",
        "messaging.destination.name": "big",
        "messaging.message.id": job.id,
        "jobtrail.task": "load",
        "jobtrail.kind": "sync",
        "jobtrail.source": "weather/EWR",
        "jobtrail.period": "2013-02",
        "jobtrail.created": True,
    }
    assert dict(ran.attributes) == {
        "messaging.system": "jobtrail",
        "messaging.operation.type": "process",
        "messaging.operation.name": "process",
        "messaging.destination.name": "big",
        "messaging.message.id": job.id,
        "jobtrail.task": "load",
        "jobtrail.kind": "sync",
        "jobtrail.attempt": 1,
        "jobtrail.run_no": 1,
        "jobtrail.source": "weather/EWR",
        "jobtrail.period": "2013-02",
        "jobtrail.outcome": "success",
    }
    assert ran.status.status_code is StatusCode.UNSET


def test_the_context_is_kept_as_w3c_traceparent(jobs, spans):
    job = task(jobs, lambda: None).enqueue()
    context = spans.one("enqueue load").context
    told = json.loads(stored_row(job).options)
    parent = f"00-{context.trace_id:032x}-{context.span_id:016x}-{int(context.trace_flags):02x}"
    assert told == {"trace": {"traceparent": parent}}


def test_other_options_of_the_submission_stay(jobs, spans):
    job = task(jobs, lambda: None).using(timeout=7, retry=3).enqueue()
    assert {"retry", "timeout", "trace"} == set(json.loads(stored_row(job).options))


def test_each_attempt_is_a_span_of_the_same_parent(jobs, spans):
    def body(ctx: Context):
        if ctx.attempt == 1:
            raise RetryableError("busy", delay=0)

    task(jobs, body, retry=AT_ONCE).enqueue()
    drain(jobs, delayed=True)
    first, second = spans.all("run load")
    submitted = spans.one("enqueue load")
    assert is_child(first, submitted)
    assert is_child(second, submitted)
    assert [span.attributes["jobtrail.attempt"] for span in (first, second)] == [1, 2]
    assert [span.attributes["jobtrail.outcome"] for span in (first, second)] == ["error", "success"]


def test_a_rerun_has_a_trace_of_its_own_that_is_linked_to_the_first(jobs, spans):
    def body(ctx: Context):
        if ctx.attempt == 1:
            raise RetryableError("busy", delay=0)

    job = task(jobs, body, retry=AT_ONCE).enqueue()
    drain(jobs, delayed=True)
    first = spans.one("enqueue load")
    spans.exporter.clear()
    again = jobs.get(job.id).rerun()
    drain(jobs, delayed=True)
    submitted, runs = spans.one("enqueue load"), spans.all("run load")
    assert submitted.context.trace_id != first.context.trace_id
    assert submitted.attributes["jobtrail.rerun_of"] == job.id
    assert submitted.attributes["messaging.message.id"] == again.id
    assert len(runs) == 2
    for run in runs:
        assert is_child(run, submitted)
        assert [link.context.span_id for link in run.links] == [first.context.span_id]


def test_a_rerun_without_tracing_still_links_to_the_first(jobs, spans, sqlite_url):
    job = task(jobs, lambda: None).enqueue()
    drain(jobs)
    with contextlib.closing(JobTrail(sqlite_url)) as plain:
        plain.get(job.id).rerun()
    first = spans.one("enqueue load")
    spans.exporter.clear()
    drain(jobs)
    (run,) = spans.all("run load")
    assert run.parent is None
    assert [link.context.trace_id for link in run.links] == [first.context.trace_id]


def test_a_retry_by_hand_stays_in_the_trace(jobs, spans):
    def body(ctx: Context):
        if ctx.attempt == 1:
            raise ValueError("once")

    job = task(jobs, body).enqueue()
    drain(jobs)
    job.refresh().retry()
    drain(jobs)
    assert {span.context.trace_id for span in spans.all("run load")} == {spans.one("enqueue load").context.trace_id}


def test_what_is_current_around_the_worker_is_not_the_parent(jobs, spans, sqlite_url):
    with contextlib.closing(JobTrail(sqlite_url)) as plain:
        task(plain, lambda: None).enqueue()
    task(jobs, lambda: None)
    with spans.tracer.start_as_current_span("host"):
        drain(jobs)
    assert spans.one("run load").parent is None


# -- every way to submit -------------------------------------------------------------------------------


async def test_on_an_event_loop(jobs, spans):
    load = task(jobs, lambda: None)
    with spans.tracer.start_as_current_span("request"):
        await load.aenqueue()
        await load.aenqueue_many([{}, {}])
    await asyncio.to_thread(drain, jobs)
    single, many = spans.all("enqueue load")
    assert is_child(single, spans.one("request"))
    assert many.attributes["messaging.batch.message_count"] == 2
    assert [is_child(run, single) for run in spans.all("run load")].count(True) == 1
    assert [is_child(run, many) for run in spans.all("run load")].count(True) == 2


def test_many_at_once_share_one_span(jobs, spans):
    load = task(jobs, lambda: None)
    load.enqueue_many([{}, {}])
    jobs.enqueue_each([(load.using(source="a", period="2013"), {}), (load.using(source="b", period="2013"), {})])
    drain(jobs)
    many, each = spans.all("enqueue load")
    parents = [run.parent.span_id for run in spans.all("run load")]
    assert sorted(parents) == sorted([many.context.span_id] * 2 + [each.context.span_id] * 2)
    assert [span.attributes["messaging.batch.message_count"] for span in (many, each)] == [2, 2]


def test_what_follows_a_job_is_of_its_trace(jobs, spans):
    def body(ctx: Context):
        ctx.schedule_next("declared")

    load = task(jobs, body)
    then = jobs.task(lambda: None, name="then")
    jobs.task(lambda: None, name="declared")
    load.then(then).enqueue()
    drain(jobs)
    assert is_child(spans.one("run then"), spans.one("enqueue load"))
    assert is_child(spans.one("run declared"), spans.one("run load"))


def test_each_of_a_group_has_a_span(jobs, spans):
    load, then = task(jobs, lambda: None), jobs.task(lambda: None, name="then")
    with spans.tracer.start_as_current_span("request"):
        jobs.group([(load, {}), (load, {})], then=then)
    drain(jobs)
    one, two = spans.all("enqueue load")
    assert is_child(one, spans.one("request"))
    assert {run.parent.span_id for run in spans.all("run load")} == {one.context.span_id, two.context.span_id}


def test_inside_the_callers_transaction(jobs, spans):
    load = task(jobs, lambda: None)
    jobs.service.make_ready()
    with jobs.store.database.engine.connect() as conn, conn.begin():
        load.using(connection=conn).enqueue()
    drain(jobs)
    assert is_child(spans.one("run load"), spans.one("enqueue load"))


def test_what_a_body_submits_is_of_its_trace(jobs, spans):
    inner = jobs.task(lambda: None, name="inner")
    task(jobs, lambda: inner.enqueue() and None).enqueue()
    drain(jobs)
    assert is_child(spans.one("enqueue inner"), spans.one("run load"))
    assert is_child(spans.one("run inner"), spans.one("enqueue inner"))


def test_a_refusal_is_an_error_of_the_submission(jobs, spans):
    load = task(jobs, lambda n: None)
    first = load.using(source="a", period="2013").enqueue(1)
    with pytest.raises(AlreadyActive):
        load.using(source="a", period="2013").enqueue(2)
    again = load.using(source="a", period="2013").enqueue(1)
    _, refused, same = spans.all("enqueue load")
    assert refused.status.status_code is StatusCode.ERROR
    assert refused.attributes["error.type"] == "jobtrail.errors.AlreadyActive"
    assert (same.attributes["messaging.message.id"], same.attributes["jobtrail.created"]) == (first.id, False)
    assert again.id == first.id


# -- inside a body -------------------------------------------------------------------------------------


def test_spans_of_a_body_are_children_of_its_attempt(jobs, spans):
    def body():
        with spans.tracer.start_as_current_span("in a thread"):
            pass

    async def abody():
        with spans.tracer.start_as_current_span("on the loop"):
            await asyncio.sleep(0)

    task(jobs, body).enqueue()
    task(jobs, abody, name="aload").enqueue()
    drain(jobs)
    assert is_child(spans.one("in a thread"), spans.one("run load"))
    assert is_child(spans.one("on the loop"), spans.one("run aload"))


def test_a_step_is_a_span_when_it_is_done_and_not_when_it_is_found(jobs, spans):
    def download():
        with spans.tracer.start_as_current_span("get"):
            return 1

    def body(ctx: Context):
        ctx.step("download", download)
        if ctx.attempt == 1:
            raise RetryableError("busy", delay=0)

    async def abody(ctx: AsyncContext):
        return await ctx.step("adownload", download)

    task(jobs, body, retry=AT_ONCE).enqueue()
    task(jobs, abody, name="aload").enqueue()
    drain(jobs, delayed=True)
    step, astep = spans.one("step download"), spans.one("step adownload")
    assert is_child(step, spans.all("run load")[0])
    assert is_child(astep, spans.one("run aload"))
    assert {span.parent.span_id for span in spans.all("get")} == {step.context.span_id, astep.context.span_id}
    assert step.attributes["jobtrail.step"] == "download"


def test_an_error_is_told_where_it_happened(jobs, spans):
    def body(ctx: Context):
        ctx.step("download", lambda: 1 / 0)

    task(jobs, body).enqueue()
    drain(jobs)
    for span in (spans.one("step download"), spans.one("run load")):
        (told,) = span.events
        assert told.attributes["exception.type"] == "ZeroDivisionError"
        assert told.attributes["exception.message"] == "division by zero"
        assert "1 / 0" in told.attributes["exception.stacktrace"]
        assert span.status.status_code is StatusCode.ERROR
        assert span.status.description == "ZeroDivisionError: division by zero"
        assert span.attributes["error.type"] == "ZeroDivisionError"


def test_what_is_no_error_is_told_as_none(jobs, spans):
    def items(ctx: Context):
        for item in ctx.items([1, 2]):
            with item:
                assert item.value == 1

    task(jobs, items, name="items").enqueue()
    task(jobs, lambda: Partial(None, "half"), name="part").enqueue()
    task(jobs, lambda ctx: ctx.request_retry(3600), name="again", retry=AT_ONCE).enqueue()
    drain(jobs)
    told = {span.name: span.attributes["jobtrail.outcome"] for span in spans.exporter.get_finished_spans()[3:]}
    assert told == {"run items": "partial", "run part": "partial", "run again": "retry"}
    assert {span.status.status_code for span in spans.exporter.get_finished_spans()} == {StatusCode.UNSET}


def test_a_limit_is_told_as_what_stopped_it(jobs, spans):
    async def body():
        await asyncio.sleep(60)

    task(jobs, body, timeout=0.05).enqueue()
    drain(jobs)
    run = spans.one("run load")
    assert (run.attributes["jobtrail.outcome"], run.attributes["jobtrail.stop_cause"]) == ("stopped", "timeout")
    assert (run.status.status_code, run.status.description) == (StatusCode.ERROR, "stopped by its timeout limit")


def test_no_secret_is_told(jobs, spans):
    def body(password):
        raise ValueError("postgresql://me:s3cr3t-XYZ@host/db is away")

    task(jobs, body).using(context={"note": "s3cr3t-XYZ"}, labels={"token": "s3cr3t-XYZ"}).enqueue("s3cr3t-XYZ")
    drain(jobs)
    told = "".join(span.to_json() for span in spans.exporter.get_finished_spans())
    assert "postgresql://me:***@host/db is away" in told
    assert "s3cr3t-XYZ" not in told


def test_the_middleware_alone_traces_one_task(sqlite_url, spans):
    with contextlib.closing(JobTrail(sqlite_url, **QUICK)) as plain:
        task(plain, lambda: None, middleware=[tracing_middleware(spans.provider)]).enqueue()
        task(plain, lambda: None, name="other").enqueue()
        drain(plain)
    assert spans.names() == ["run load"]


# -- in another process --------------------------------------------------------------------------------


@pytest.fixture
def remote(sqlite_url, tmp_path, monkeypatch):
    """The application of `tracing_tasks` over this test's database, and the spans that all processes made, by name."""
    monkeypatch.setenv("SPANS", str(tmp_path / "spans"))
    import tracing_tasks

    made = JobTrail(sqlite_url, tracing=tracing_tasks.provider, **QUICK)
    for one in tracing_tasks.app.tasks.all():
        made.tasks.add(one)

    def found():
        lines = (tmp_path / "spans").read_text().splitlines()
        return {span["name"]: span for span in map(json.loads, lines)}

    yield made, found
    made.close()


@pytest.mark.skipif(os.name == "nt", reason="children are told by POSIX signals")
@pytest.mark.parametrize("name", ["works", "aworks", "without_context"])
def test_a_child_process_goes_on_with_the_trace(remote, name):
    jobs, found = remote
    job = jobs.task_named(name).enqueue()
    drain(jobs)
    assert job.refresh().status == "completed", job.error
    spans = found()
    submitted, run, inside = spans[f"enqueue {name}"], spans[f"run {name}"], spans["inside"]
    ids = {one["context"]["trace_id"] for one in spans.values()}
    assert len(ids) == 1
    assert run["parent_id"] == submitted["context"]["span_id"]
    assert inside["parent_id"] == run["context"]["span_id"]
    if name != "without_context":
        assert spans["step length"]["parent_id"] == inside["context"]["span_id"]


# -- where nobody asked --------------------------------------------------------------------------------


def test_without_tracing_nothing_is_loaded_and_nothing_is_stored(tmp_path):
    code = f"""
import sys
from jobtrail import JobTrail
from jobtrail.commands.job_fields import stored_row
from jobtrail.testing import drain
jobs = JobTrail("sqlite:///{tmp_path}/jobs.db")
task = jobs.task(lambda: None, name="task")
job = task.enqueue()
again = task.using(source="a", period="2013").enqueue()
drain(jobs)
again.rerun()
drain(jobs)
print(*[stored_row(one).options for one in jobs.find()], *[name for name in ("opentelemetry", "prometheus_client") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["None"] * 3


def test_without_an_sdk_nothing_is_stored(sqlite_url):
    with contextlib.closing(JobTrail(sqlite_url, tracing=NoOpTracerProvider(), **QUICK)) as jobs:
        job = task(jobs, lambda: get_current_span() is INVALID_SPAN).enqueue()
        drain(jobs)
        assert stored_row(job.refresh()).options is None
        assert job.status == "completed"


def test_true_is_the_global_provider(sqlite_url):
    with contextlib.closing(JobTrail(sqlite_url, tracing=True, **QUICK)) as jobs:
        job = task(jobs, lambda: 1).enqueue()
        drain(jobs)
        assert job.refresh().status == "completed"


def test_what_is_no_provider_is_refused(sqlite_url):
    with pytest.raises(InvalidOption, match="tracing must be True or an OpenTelemetry TracerProvider; it is 'jaeger'"):
        JobTrail(sqlite_url, tracing="jaeger")


def test_a_job_whose_context_is_nonsense_runs_all_the_same(jobs, spans):
    from sqlalchemy import update

    from jobtrail.database import tables

    job = task(jobs, lambda: None).using(delay=timedelta(0)).enqueue()
    broken = json.dumps({"trace": {"traceparent": "00-nonsense"}, "linked": {"traceparent": ""}})
    jobs.store.write(lambda conn: conn.execute(update(tables.jobs).values(options=broken)))
    drain(jobs)
    assert job.refresh().status == "completed"
    assert spans.one("run load").parent is None
