"""The audit over the network: what people did, newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query

from jobtrail.api.auth.guard import needs, routes
from jobtrail.api.models import monitoring
from jobtrail.api.requests import AwareMoment
from jobtrail.queries import audit

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from jobtrail.api.context import Desk


def make(desk: Desk) -> APIRouter:
    """The routes of this file."""
    router = routes("audit")

    @router.get("/audit", operation_id="listAudit", summary="What people did, newest first")
    @needs("viewer")
    async def page(
        actor: Annotated[
            str | None,
            Query(max_length=200, description="Who; with * at the end by its beginning.", examples=["person:ann"]),
        ] = None,
        name: Annotated[str | None, Query(max_length=100, description="What.", examples=["retried"])] = None,
        since: Annotated[AwareMoment | None, Query(description="Not before.")] = None,
        before: Annotated[str | None, Query(max_length=100, description="The `next` of the page before.", examples=["action-4"])] = None,
        limit: Annotated[int, Query(ge=1, le=500)] = 100,
    ) -> monitoring.Audit:
        return await desk.search(_page, audit.Wanted(actor, name, since), before, limit)

    return router


def _page(conn: Connection, wanted: audit.Wanted, before: str | None, limit: int) -> monitoring.Audit:
    found = audit.page(conn, wanted, before=before, limit=limit)
    about = audit.jobs_of(conn, found.entries)
    entries = [monitoring.entry(one, about.get(one.job_id or "")) for one in found.entries]
    return monitoring.Audit(entries=entries, next=found.next, until=found.until)
