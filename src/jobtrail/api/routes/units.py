"""Units over the network: what is loaded for which period, what is missing, and filling it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import Field

from jobtrail.api.auth.guard import Who, also, needs, routes
from jobtrail.api.bodies import takes_arguments
from jobtrail.api.problems import Problem
from jobtrail.api.requests import StartedJob, WithReason
from jobtrail.errors import InvalidArguments
from jobtrail.job.masking import left_masked
from jobtrail.messages import Message
from jobtrail.queries import units
from jobtrail.queries.base import Model
from jobtrail.schedules.backfill.backfill import MOST_PARALLEL, ORDERS, PARALLEL

if TYPE_CHECKING:
    from jobtrail.api.context import ApiContext


class BackfillRange(Model):
    """Which units of a task, and how they are to run; the options of a backfill."""

    task: str = Field(examples=["sync_weather"], max_length=200)
    first: str = Field(examples=["2013-01"], max_length=200)
    last: str | None = Field(None, examples=["2013-12"], max_length=200, description="Default: the first alone.")
    sources: list[str | None] | None = Field(None, max_length=1000, description="Default: all that are known.")
    step: str | None = Field(None, examples=["month"], description="year, month, week, day or hour.")
    only: list[str] = Field(["missing", "failed", "partial"], description="missing, failed, partial, or all.")
    order: str = Field(ORDERS[0], examples=["newest"], description="newest or oldest first.")
    mode: str | None = Field(
        None, description="How units run again, instead of the usual way: full, failed_items, resume."
    )
    args: dict[str, Any] | None = Field(None, description="Default: those of each source's newest job.")

    def selection(self) -> dict[str, Any]:
        """The keywords of `backfill_plan`.

        Raises:
            InvalidArguments: if a secret among the arguments is still masked.
        """
        path = left_masked(self.args, path="$.args")
        if path is not None:
            raise InvalidArguments(Message("api.masked-argument", path=path), path)
        given = {name: getattr(self, name) for name in ("first", "sources", "step", "only", "order", "mode", "args")}
        return {**given, "last": self.last or self.first}


class BackfillStart(BackfillRange, WithReason):
    """A range, and how its jobs are started."""

    parallel: int = Field(PARALLEL, ge=1, le=MOST_PARALLEL, description="Units at a time.")
    digest: str | None = Field(
        None, pattern="^[0-9a-f]{64}$", description="Of the preview: 409 if anything else would be run by now."
    )


def make(context: ApiContext) -> APIRouter:
    """The routes of this file."""
    router = routes("units")
    _reading(router, context)
    _filling(router, context)
    return router


def _reading(router: APIRouter, context: ApiContext) -> None:
    @router.get("/units", operation_id="showCoverage", summary="Sources by periods of a task", responses=also(404))
    @needs("viewer")
    async def coverage(
        task: Annotated[str, Query(max_length=200, examples=["sync_weather"])],
        zoom: Annotated[
            str | None, Query(description="year, month, week, day or hour; default: as most of the units are.")
        ] = None,
        first: Annotated[str | None, Query(max_length=200, description="The first period.", examples=["2013"])] = None,
        last: Annotated[str | None, Query(max_length=200)] = None,
        source: Annotated[str, Query(max_length=200, description="Sources that begin so.")] = "",
        skip: Annotated[int, Query(ge=0, description="The sources before these were shown already.")] = 0,
        limit: Annotated[int, Query(ge=1, le=500, description="Sources.")] = 100,
        entire: Annotated[
            bool, Query(description="Begin and end where the units do, where first or last is not given, not with the latest frame.")
        ] = False,
    ) -> units.CoverageGrid:
        asked = {"zoom": zoom, "first": first, "last": last, "source": source, "skip": skip, "limit": limit}
        return await context.call(context.queries.coverage, task, **asked, entire=entire)

    @router.get("/units/tasks", operation_id="listUnitTasks", summary="The tasks that have units")
    @needs("viewer")
    async def of_which() -> units.UnitTasks:
        return await context.call(context.queries.unit_tasks)

    @router.get("/units/files", operation_id="listFiles", summary="Units that are files, by what changed last")
    @needs("viewer")
    async def files(task: Annotated[str, Query(max_length=200, examples=["import_file"])]) -> units.FileUnits:
        return await context.call(context.queries.files, task)

    @router.get("/units/{unit}", operation_id="showUnit", summary="One unit and its jobs", responses=also(404))
    @needs("viewer")
    async def one(unit: str) -> units.UnitDetail:
        return await context.call(context.queries.unit, unit)


def _filling(router: APIRouter, context: ApiContext) -> None:
    @router.post(
        "/units/preview", operation_id="previewBackfill", summary="What a backfill would do; nothing is written"
    )
    @takes_arguments
    @needs("operator")
    async def preview(wanted: BackfillRange) -> units.BackfillPreview:
        return await context.call(context.queries.backfill, wanted.task, **wanted.selection())

    @router.post(
        "/units/backfill",
        operation_id="startBackfill",
        summary="Run what is missing or failed",
        status_code=201,
        responses={200: {"model": StartedJob, "description": "It is under way."}, **also(409)},
    )
    @takes_arguments
    @needs("operator")
    async def start(wanted: BackfillStart, who: Who, response: Response) -> StartedJob:
        if wanted.digest is not None:
            plan = await context.call(context.jobs.backfill_plan, wanted.task, **wanted.selection())
            if units.plan_digest(plan, context.marked(plan.selection.task)) != wanted.digest:
                raise Problem(409, "preview-changed", Message("api.preview-changed"))
        rest = {"parallel": wanted.parallel, "reason": wanted.reason, "actor": who.actor}
        job = await context.call(context.jobs.backfill, wanted.task, **wanted.selection(), **rest)
        response.status_code = 201 if job.created else 200
        return StartedJob(job=job.id, created=job.created)
