"""Errors over the network: by their cause, and when they came in which task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Path, Query

from jobtrail.api.auth.guard import also, needs, routes
from jobtrail.queries.monitoring import error_groups

if TYPE_CHECKING:
    from jobtrail.api.context import ApiContext

LONGEST = 24 * 366  # hours
Hours = Annotated[float, Query(gt=0, le=LONGEST, description="Of jobs made in the last so many hours.")]


def make(context: ApiContext) -> APIRouter:
    """The routes of this file."""
    router = routes("errors")

    @router.get("/errors", operation_id="listErrors", summary="Errors by their cause, that of the newest job first")
    @needs("viewer")
    async def kinds(
        hours: Hours = 24 * 7, limit: Annotated[int, Query(ge=1, le=200)] = 50
    ) -> error_groups.ErrorGroups:
        return await context.call(context.queries.errors, hours, limit=limit)

    @router.get("/errors/matrix", operation_id="showErrorMatrix", summary="Task by error by time, of the newest jobs")
    @needs("viewer")
    async def matrix(
        hours: Hours = 24, parts: Annotated[int, Query(ge=1, le=200)] = 24
    ) -> error_groups.ErrorMatrix:
        return await context.call(context.queries.error_matrix, hours, parts=parts)

    @router.get("/errors/{fingerprint}", operation_id="showError", summary="One kind of error", responses=also(404))
    @needs("viewer")
    async def one(
        fingerprint: Annotated[str, Path(pattern="^[0-9a-f]{8,64}$", examples=["9b1f0c6c2a34d5e8"])],
    ) -> error_groups.ErrorGroup:
        return await context.call(context.queries.error, fingerprint)

    return router
