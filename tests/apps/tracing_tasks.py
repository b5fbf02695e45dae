"""Traced tasks that run in child processes; spans made there go into the file that SPANS names, a line each."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

from jobtrail import AsyncContext, Context, JobTrail

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opentelemetry.sdk.trace import ReadableSpan


class ToFile(SpanExporter):
    """Appends each span; children and parent share the file."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        with open(os.environ["SPANS"], "a", encoding="utf-8") as file:
            file.writelines(span.to_json(indent=None) + "\n" for span in spans)
        return SpanExportResult.SUCCESS


provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(ToFile()))
app = JobTrail("sqlite:///never-opened.db", tracing=provider)
mine = provider.get_tracer("mine")


@app.task(executor="process")
def works(ctx: Context):
    with mine.start_as_current_span("inside"):
        return ctx.step("length", len, [1, 2, 3])


@app.task(executor="process")
async def aworks(ctx: AsyncContext):
    with mine.start_as_current_span("inside"):
        return await ctx.step("length", len, [1, 2, 3])


@app.task(executor="process")
def without_context():
    with mine.start_as_current_span("inside"):
        return os.getpid()
