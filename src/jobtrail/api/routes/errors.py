"""Errors over the network: by their cause, and when they came in which task."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Path, Query

from jobtrail.api.auth.guard import also, needs, routes
from jobtrail.api.models import monitoring
from jobtrail.errors import NotFound
from jobtrail.queries import error_groups

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.api.context import Desk

LONGEST = 24 * 366  # hours
Hours = Annotated[float, Query(gt=0, le=LONGEST, description="Of jobs made in the last so many hours.")]


def make(desk: Desk) -> APIRouter:
    """The routes of this file."""
    router = routes("errors")

    @router.get("/errors", operation_id="listErrors", summary="Errors by their cause, that of the newest job first")
    @needs("viewer")
    async def kinds(hours: Hours = 24 * 7, limit: Annotated[int, Query(ge=1, le=200)] = 50) -> monitoring.Errors:
        return await desk.search(_kinds, desk.store.now(), hours, limit)

    @router.get("/errors/matrix", operation_id="showErrorMatrix", summary="Task by error by time, of the newest jobs")
    @needs("viewer")
    async def matrix(hours: Hours = 24, parts: Annotated[int, Query(ge=1, le=200)] = 24) -> monitoring.ErrorMatrix:
        return await desk.search(_matrix, desk.store.now(), hours, parts)

    @router.get("/errors/{fingerprint}", operation_id="showError", summary="One kind of error", responses=also(404))
    @needs("viewer")
    async def one(
        fingerprint: Annotated[str, Path(pattern="^[0-9a-f]{8,64}$", examples=["9b1f0c6c2a34d5e8"])],
    ) -> monitoring.ErrorKind:
        return await desk.search(_one, desk.store.now(), fingerprint)

    return router


def _kinds(conn: Connection, now: datetime, hours: float, limit: int) -> monitoring.Errors:
    since = now - timedelta(hours=hours)
    found = error_groups.kinds(conn, since, limit=limit)
    kinds = [monitoring.kind(one) for one in found.kinds]
    return monitoring.Errors(kinds=kinds, all=found.all, more=found.more, since=since, now=now)


def _matrix(conn: Connection, now: datetime, hours: float, parts: int) -> monitoring.ErrorMatrix:
    return monitoring.matrix(error_groups.matrix(conn, now - timedelta(hours=hours), now, parts=parts), now)


def _one(conn: Connection, now: datetime, fingerprint: str) -> monitoring.ErrorKind:
    found = error_groups.kinds(conn, now - timedelta(hours=100 * LONGEST), only=fingerprint)
    if not found.kinds:
        message = f"no job stands with the error {fingerprint}"
        raise NotFound(message)
    return monitoring.kind(found.kinds[0])
