"""Units over the network: what is loaded for which period, what is missing, and filling it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import Field

from jobtrail.api.auth.guard import Who, also, needs, routes
from jobtrail.api.models import coverage as coverage_models
from jobtrail.api.models import units as unit_models
from jobtrail.api.problems import Problem
from jobtrail.api.requests import WithReason
from jobtrail.errors import InvalidArguments, NotFound
from jobtrail.job.masking import left_masked
from jobtrail.messages import Message
from jobtrail.queries.base import Model
from jobtrail.queries.jobs.job_list import job_line
from jobtrail.schedules.backfill.backfill import MOST_PARALLEL, ORDERS, PARALLEL
from jobtrail.store import units
from jobtrail.store.search import search

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.api.context import Desk

MOST_CELLS = 5_000
MOST_UNITS = 20_000
MOST_SOURCES = 5_000
FILES = 200
JOBS = 50


class Range(Model):
    """Which units of a task, and how they are to run; the words of a backfill."""

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
        """As `backfill_plan` takes it.

        Raises: InvalidArguments for arguments in which a secret is still masked.
        """
        path = left_masked(self.args, path="$.args")
        if path is not None:
            message = f"{path} is masked: say what it is, or leave args out for those of each source's newest job"
            raise InvalidArguments(message, path)
        said = self.model_dump(exclude={"task", "last", "args"})
        return {**said, "last": self.last or self.first, "args": self.args}


class Backfill(Range, WithReason):
    """A range, and how its jobs are started."""

    parallel: int = Field(PARALLEL, ge=1, le=MOST_PARALLEL, description="Units at a time.")
    digest: str | None = Field(
        None, pattern="^[0-9a-f]{64}$", description="Of the preview: 409 if anything else would be run by now."
    )


def make(desk: Desk) -> APIRouter:
    """The routes of this file."""
    router = routes("units")
    _looking(router, desk)
    _filling(router, desk)
    return router


def _looking(router: APIRouter, desk: Desk) -> None:
    @router.get("/units", operation_id="showCoverage", summary="Sources by periods of a task", responses=also(404))
    @needs("viewer")
    async def coverage(
        task: Annotated[str, Query(max_length=200, examples=["sync_weather"])],
        zoom: Annotated[str, Query(description="year, month, week, day or hour")] = "month",
        first: Annotated[str | None, Query(max_length=200, description="The first period.", examples=["2013"])] = None,
        last: Annotated[str | None, Query(max_length=200)] = None,
        source: Annotated[str, Query(max_length=200, description="Sources that begin so.")] = "",
        skip: Annotated[int, Query(ge=0, description="The sources before these were shown already.")] = 0,
        limit: Annotated[int, Query(ge=1, le=500, description="Sources.")] = 100,
    ) -> unit_models.Grid:
        found = desk.jobs.tasks.find(task)
        asked = _Asked(task, zoom, first, last, source, skip, limit, "UTC" if found is None else found.zone)
        return await desk.search(asked.answer, desk.store.now(), known=found is not None)

    @router.get("/units/tasks", operation_id="listUnitTasks", summary="The tasks that have units")
    @needs("viewer")
    async def of_which() -> unit_models.UnitTasks:
        return unit_models.UnitTasks(tasks=await desk.read(units.tasks))

    @router.get("/units/files", operation_id="listFiles", summary="Units that are files, by what changed last")
    @needs("viewer")
    async def files(task: Annotated[str, Query(max_length=200, examples=["import_file"])]) -> unit_models.Files:
        found = await desk.search(units.files, task, limit=FILES + 1)
        return unit_models.Files(files=[unit_models.unit(row) for row in found[:FILES]], more=len(found) > FILES)

    @router.get("/units/{unit}", operation_id="showUnit", summary="One unit and its jobs", responses=also(404))
    @needs("viewer")
    async def one(unit: str) -> unit_models.UnitPage:
        return await desk.read(_unit, unit, desk.store.now())


class _Asked:
    """A look at a grid."""

    def __init__(
        self, task: str, zoom: str, first: str | None, last: str | None, source: str, skip: int, limit: int, zone: str
    ) -> None:
        self.task, self.zoom, self.zone = task, zoom, zone
        self.first, self.last = first, last
        self.source, self.skip, self.limit = source, skip, limit

    def answer(self, conn: Connection, now: datetime, *, known: bool) -> unit_models.Grid:
        sources = units.sources(conn, self.task, limit=MOST_SOURCES)
        if not sources and not known and self.task not in units.tasks(conn):
            message = f"no task '{self.task}' is known, and no units of one are recorded"
            raise NotFound(message)
        span = units.span(conn, self.task)
        columns = coverage_models.columns(self.zoom, self.first, self.last, span, self.zone, now)
        wanted = [one for one in sources if (one or "").startswith(self.source)]
        shown = wanted[self.skip :][: max(min(self.limit, MOST_CELLS // len(columns)), 1)]
        upto = self.skip + len(shown)
        start, end = columns[0].period.start, columns[-1].period.end
        found = units.in_grid(conn, self.task, shown, start, end, limit=MOST_UNITS + 1) if shown else []
        laid = coverage_models.rows(columns, shown, found[:MOST_UNITS], now)
        return unit_models.Grid(
            task=self.task, zoom=self.zoom, zone=columns[0].period.zone, sources=len(wanted),
            columns=[unit_models.column(one) for one in columns], rows=[unit_models.row(one) for one in laid],
            next=upto if upto < len(wanted) else None, more=len(found) > MOST_UNITS, now=now,
        )  # fmt: skip


def _unit(conn: Connection, key: str, now: datetime) -> unit_models.UnitPage:
    found = units.get(conn, key)
    if found is None:
        message = Message("api.no-unit", key=key[:100])
        raise NotFound(message)
    page = search.find(conn, f"unit:{found.unit}", now=now, limit=JOBS)
    lines = [job_line(row) for row in page.rows]
    return unit_models.UnitPage(unit=unit_models.unit(found), task=found.task, jobs=lines)


def _filling(router: APIRouter, desk: Desk) -> None:
    @router.post(
        "/units/preview", operation_id="previewBackfill", summary="What a backfill would do; nothing is written"
    )
    @needs("operator")
    async def preview(wanted: Range) -> unit_models.Plan:
        plan = await desk.call(desk.jobs.backfill_plan, wanted.task, **wanted.selection())
        return unit_models.plan(plan, desk.marked(wanted.task))

    @router.post(
        "/units/backfill",
        operation_id="startBackfill",
        summary="Run what is missing or failed",
        status_code=201,
        responses={200: {"model": unit_models.Started, "description": "It is under way."}, **also(409)},
    )
    @needs("operator")
    async def start(wanted: Backfill, who: Who, response: Response) -> unit_models.Started:
        said = {
            name: value for name, value in wanted.selection().items() if name not in {"parallel", "reason", "digest"}
        }
        if wanted.digest is not None:
            plan = await desk.call(desk.jobs.backfill_plan, wanted.task, **said)
            if unit_models.plan_digest(plan) != wanted.digest:
                raise Problem(409, "preview-changed", "what would be run has changed since the preview; look at it again")
        rest = {"parallel": wanted.parallel, "reason": wanted.reason, "actor": who.actor}
        job = await desk.call(desk.jobs.backfill, wanted.task, **said, **rest)
        response.status_code = 201 if job.created else 200
        return unit_models.Started(job=job.id, created=job.created)
