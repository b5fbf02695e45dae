"""Jobs over the network: the list, one job whole, and what can be done with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query

from jobtrail.store import runs, search

from . import shapes
from .guard import needs, routes

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from .desk import Desk

COUNT_CAP = search.COUNT_CAP


def make(desk: Desk) -> APIRouter:
    """The routes of this file."""
    router = routes("jobs")

    @router.get("/jobs", operation_id="listJobs", summary="Jobs that a filter names, newest first")
    @needs("viewer")
    async def list_jobs(
        q: Annotated[str, Query(description="The filter grammar.", examples=["status:failed source:weather/*"])] = "",
        before: Annotated[str | None, Query(description="The id of a job: only those made before it.")] = None,
        limit: Annotated[int, Query(ge=1, le=500)] = 50,
        count: Annotated[bool, Query(description="Count all that fit, too, exact up to 10,000.")] = False,
    ) -> shapes.JobPage:
        return await desk.search(_page, desk.store.now(), q, before, limit, count)

    @router.get("/jobs/{job_id}", operation_id="getJob", summary="One job, whole")
    @needs("viewer")
    async def get_job(job_id: str) -> shapes.JobLine:
        return await desk.call(lambda: shapes.job_line(desk.jobs.get(job_id).row))

    return router


def _page(conn: Connection, now: datetime, q: str, before: str | None, limit: int, count: bool) -> shapes.JobPage:
    page = search.find(conn, q, now=now, limit=limit, before=before)
    active = [row.id for row in page.rows if row.status.value in {"running", "cancelling", "pending"}]
    reported: dict[str, Any] = runs.progress_of(conn, active) if active else {}
    number = search.count(conn, q, now=now, cap=COUNT_CAP) if count else None
    return shapes.JobPage(
        jobs=[shapes.job_line(row, reported.get(row.id)) for row in page.rows],
        next=page.next,
        count=None if number is None else shapes.Counted(number=number.number, more=number.more),
        searched=page.searched,
        note=page.note,
        now=now,
    )
