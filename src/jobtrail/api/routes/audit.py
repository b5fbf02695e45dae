"""The audit over the network: what people did, newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query

from jobtrail.api.auth.guard import needs, routes
from jobtrail.api.requests import AwareMoment
from jobtrail.queries.monitoring import audit

if TYPE_CHECKING:
    from jobtrail.api.context import ApiContext


def make(context: ApiContext) -> APIRouter:
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
    ) -> audit.AuditPage:
        asked = {"actor": actor, "name": name, "since": since, "before": before, "limit": limit}
        return await context.call(context.queries.audit, **asked)

    return router
