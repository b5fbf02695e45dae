"""Each slot begins a trace of its own, which its attempts carry on."""

from __future__ import annotations

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from ticking import Ticking


def test_each_slot_has_a_trace_from_its_submission_on(make_jobs):
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    ticking = Ticking(make_jobs, tracing=provider)
    ticking.declare("*/10 * * * *", source="weather/EWR")
    ticking.turn("12:10:01")
    ticking.turn("12:20:01")
    ticking.jobs.schedules.run_now("s")
    ticking.settle()
    submitted = [span for span in exporter.get_finished_spans() if span.name == "enqueue work"]
    runs = [span for span in exporter.get_finished_spans() if span.name == "run work"]
    assert len({span.context.trace_id for span in submitted}) == len(submitted) == 3
    assert {run.parent.span_id for run in runs} == {span.context.span_id for span in submitted}
    assert {span.attributes["jobtrail.source"] for span in submitted} == {"weather/EWR"}
