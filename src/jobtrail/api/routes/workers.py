"""Workers and queues over the network: who lives, what runs, what waits; pausing and resuming a queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Path, Query

from jobtrail.api.auth.guard import Who, also, needs, routes
from jobtrail.api.requests import WithReason
from jobtrail.commands.queues import set_paused
from jobtrail.queries.monitoring import queues, workers

if TYPE_CHECKING:
    from jobtrail.api.context import ApiContext

QueueName = Annotated[str, Path(max_length=200, description="The queue's name.", examples=["default"])]


def make(context: ApiContext) -> APIRouter:
    """The routes of this file."""
    router = routes("workers")

    @router.get("/workers", operation_id="listWorkers", summary="Workers: the living first, then the latest")
    @needs("viewer")
    async def every(limit: Annotated[int, Query(ge=1, le=500)] = 100) -> workers.WorkerList:
        return await context.call(context.queries.workers, limit=limit)

    _queues(router, context)
    return router


def _queues(router: APIRouter, context: ApiContext) -> None:
    async def set_to(name: str, given: WithReason, actor: str, *, paused: bool) -> queues.QueueList:
        service, reason = context.jobs.service, given.reason
        await context.call(set_paused, service, name, paused=paused, actor=actor, reason=reason)
        return await context.call(context.queries.queues)

    @router.get("/queues", operation_id="listQueues", summary="All queues: what waits and runs, and who paused one")
    @needs("viewer")
    async def every() -> queues.QueueList:
        return await context.call(context.queries.queues)

    @router.post(
        "/queues/{name:path}/pause", operation_id="pauseQueue", summary="Claim nothing from it", responses=also(404)
    )
    @needs("operator")
    async def pause(name: QueueName, given: WithReason, who: Who) -> queues.QueueList:
        return await set_to(name, given, who.actor, paused=True)

    @router.post(
        "/queues/{name:path}/resume", operation_id="resumeQueue", summary="Claim from it again", responses=also(404)
    )
    @needs("operator")
    async def resume(name: QueueName, given: WithReason, who: Who) -> queues.QueueList:
        return await set_to(name, given, who.actor, paused=False)
