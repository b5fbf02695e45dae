"""Errors over the network: by their cause, and when they came in which task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Path, Query
from pydantic import Field

from jobtrail.api.auth.guard import Who, also, needs, routes
from jobtrail.api.requests import AwareMoment, WithReason
from jobtrail.commands.errors.handling import ErrorVerdict, handle_error
from jobtrail.queries.monitoring import error_groups

if TYPE_CHECKING:
    from jobtrail.api.context import ApiContext

LONGEST = 24 * 366  # hours
Fingerprint = Annotated[str, Path(pattern="^[0-9a-f]{8,64}$", examples=["9b1f0c6c2a34d5e8"])]
Hours = Annotated[float, Query(gt=0, le=LONGEST, description="Of jobs made in the last so many hours.")]


class ErrorAction(WithReason):
    """What is said of an error. An acknowledgement needs a reason, a mute its end, what is mended the version."""

    action: Literal["acknowledge", "mute", "mend", "reopen"]
    until: AwareMoment | None = Field(None, description="The end of a mute.")
    version: str | None = Field(None, max_length=100, examples=["2.4.1"], description="In which it is mended.")


def make(context: ApiContext) -> APIRouter:
    """The routes of this file."""
    router = routes("errors")

    @router.get("/errors", operation_id="listErrors", summary="Errors by their cause, that of the newest job first")
    @needs("viewer")
    async def kinds(
        hours: Hours = 24 * 7,
        limit: Annotated[int, Query(ge=1, le=200)] = 50,
        unhandled: Annotated[bool, Query(description="Only those that are open or have returned.")] = False,
    ) -> error_groups.ErrorGroups:
        return await context.call(context.queries.errors, hours, limit=limit, unhandled=unhandled)

    @router.get("/errors/matrix", operation_id="showErrorMatrix", summary="Task by error by time, of the newest jobs")
    @needs("viewer")
    async def matrix(
        hours: Hours = 24, parts: Annotated[int, Query(ge=1, le=200)] = 24
    ) -> error_groups.ErrorMatrix:
        return await context.call(context.queries.error_matrix, hours, parts=parts)

    @router.get("/errors/{fingerprint}", operation_id="showError", summary="One kind of error", responses=also(404))
    @needs("viewer")
    async def one(fingerprint: Fingerprint) -> error_groups.ErrorGroup:
        return await context.call(context.queries.error, fingerprint)

    @router.post(
        "/errors/{fingerprint}/handling",
        operation_id="handleError",
        summary="Acknowledge, mute or reopen an error, or say in which version it is mended",
        responses=also(404),
    )
    @needs("operator")
    async def handle(fingerprint: Fingerprint, given: ErrorAction, who: Who) -> error_groups.ErrorGroup:
        verdict = ErrorVerdict(given.action, given.reason, given.until, given.version)
        await context.call(handle_error, context.jobs.service, fingerprint, verdict, actor=who.actor)
        return await context.call(context.queries.error, fingerprint)

    return router
