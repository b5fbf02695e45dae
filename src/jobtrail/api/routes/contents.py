"""What is inside a job: its items, its log, its trail and its lineage; in pages, and as files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse
from starlette.responses import Response

from jobtrail.api.auth.guard import also, needs, routes
from jobtrail.queries.jobs.items import LOOP, ItemHistory, ItemPage
from jobtrail.queries.jobs.lineage import Lineage
from jobtrail.queries.jobs.logs import Log
from jobtrail.queries.jobs.trail import EventPage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from jobtrail.api.context import ApiContext

Outcome = Literal["ok", "failed", "skipped"]
AllOfGeneration = Annotated[
    bool, Query(description="All items of its generation as they stand now, whichever job recorded them.")
]
Level = Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]


def make(context: ApiContext) -> APIRouter:
    """The routes of this file."""
    router = routes("jobs")
    _items(router, context)
    _log(router, context)
    _trail(router, context)
    return router


# -- items ---------------------------------------------------------------------------------------------


def _items(router: APIRouter, context: ApiContext) -> None:
    @router.get(
        "/jobs/{job_id}/items", operation_id="listItems", summary="Its items, a page of them", responses=also(404)
    )
    @needs("viewer")
    async def list_items(
        job_id: str,
        outcome: Annotated[Outcome | None, Query(description="Those of one outcome only.")] = None,
        after: Annotated[str | None, Query(max_length=2000, description="The next of the page before.", examples=["WyJpdGVtcyIsIDAsICIyMDEzLTAyIl0="])] = None,
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
        generation: AllOfGeneration = False,
    ) -> ItemPage:
        part = {"outcome": outcome, "after": after, "limit": limit}
        return await context.call(context.queries.items, job_id, generation=generation, **part)

    @router.get(
        "/jobs/{job_id}/items/history", operation_id="itemHistory", responses=also(404),
        summary="All outcomes that one of its items has had",
    )  # fmt: skip
    @needs("viewer")
    async def item_history(
        job_id: str,
        key: Annotated[str, Query(max_length=2000, description="The item's key.", examples=["2013-02-08 03:00"])],
        loop: Annotated[str, Query(max_length=500, description="The name of its loop.")] = LOOP,
    ) -> ItemHistory:
        return await context.call(context.queries.item_history, job_id, key, loop=loop)

    @router.get(
        "/jobs/{job_id}/items.csv",
        operation_id="itemsAsCsv",
        summary="Its items as CSV",
        response_class=Response,
        responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}}, **also(404)},
    )
    @needs("viewer")
    async def items_csv(job_id: str, outcome: Outcome | None = None, generation: AllOfGeneration = False) -> Response:
        found = await context.call(context.queries.job_id, job_id)
        pieces = _pieces(context, context.queries.items_csv(found, outcome, generation=generation))
        return StreamingResponse(pieces, media_type="text/csv; charset=utf-8", headers=_as_file(found, "items.csv"))


async def _pieces(context: ApiContext, pieces: Iterator[str]) -> AsyncIterator[str]:
    while (piece := await context.call(next, pieces, None)) is not None:
        yield piece


def _as_file(job_id: str, name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{job_id[-8:]}-{name}"', "Cache-Control": "private, no-cache"}


# -- log -----------------------------------------------------------------------------------------------


def _log(router: APIRouter, context: ApiContext) -> None:
    @router.get("/jobs/{job_id}/log", operation_id="readLog", summary="Its log, a part of it", responses=also(404))
    @needs("viewer")
    async def read_log(
        job_id: str,
        after: Annotated[int | None, Query(ge=-1, le=1 << 30, description="From behind this piece on.")] = None,
        before: Annotated[int | None, Query(ge=0, le=1 << 30, description="What stands before this piece.")] = None,
        limit: Annotated[int, Query(ge=1, le=20_000, description="About so many records, the last ones.")] = 2000,
        level: Annotated[Level | None, Query(description="This one and graver.")] = None,
        search: Annotated[str | None, Query(max_length=500, description="A text in the record, in any case.")] = None,
    ) -> Log:
        part = {"after": after, "before": before, "limit": limit}
        return await context.call(context.queries.log, job_id, level=level, search=search, **part)

    @router.get(
        "/jobs/{job_id}/log.txt",
        operation_id="logAsText",
        summary="Its whole log as text",
        response_class=Response,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}, **also(404)},
    )
    @needs("viewer")
    async def log_text(job_id: str) -> Response:
        found = await context.call(context.queries.job_id, job_id)
        text = await context.call(context.queries.log_text, found)
        return Response(text, media_type="text/plain; charset=utf-8", headers=_as_file(found, "log.txt"))


# -- trail and lineage ---------------------------------------------------------------------------------


def _trail(router: APIRouter, context: ApiContext) -> None:
    @router.get("/jobs/{job_id}/events", operation_id="listEvents", summary="Its trail", responses=also(404))
    @needs("viewer")
    async def list_events(
        job_id: str,
        after: Annotated[int, Query(ge=0, le=(1 << 63) - 1, description="Lines behind this id only.")] = 0,
        limit: Annotated[int, Query(ge=1, le=1000)] = 200,
    ) -> EventPage:
        return await context.call(context.queries.events, job_id, after=after, limit=limit)

    @router.get(
        "/jobs/{job_id}/lineage", operation_id="getLineage", summary="What it came from, and what came of it",
        responses=also(404),
    )  # fmt: skip
    @needs("viewer")
    async def get_lineage(job_id: str) -> Lineage:
        return await context.call(context.queries.lineage, job_id)
