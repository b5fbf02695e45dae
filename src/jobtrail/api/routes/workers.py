"""Workers, queues and limits over the network: who lives, what runs, what waits; pausing a queue, changing a limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Path, Query
from pydantic import Field

from jobtrail.api.auth.guard import Who, also, needs, routes
from jobtrail.api.requests import WithReason
from jobtrail.commands.limits.change import change_limit
from jobtrail.commands.queues import set_paused
from jobtrail.job.limits.limit import Quota
from jobtrail.queries.monitoring import limits, queues, workers

if TYPE_CHECKING:
    from jobtrail.api.context import ApiContext

QueueName = Annotated[str, Path(max_length=200, description="The queue's name.", examples=["default"])]
LimitName = Annotated[str, Path(max_length=200, description="The limit's name.", examples=["tenant:{tenant}"])]


class NewLimit(WithReason):
    """What a limit shall allow for each key; null means any number."""

    running: int | None = Field(None, description="Jobs that run at once, from 1.", examples=[2])
    rate: int | None = Field(None, description="Jobs that start in any span of `per` seconds, from 1.")
    per: float = Field(1.0, description="Seconds.", examples=[1.0])


def make(context: ApiContext) -> APIRouter:
    """The routes of this file."""
    router = routes("workers")

    @router.get("/workers", operation_id="listWorkers", summary="Workers: the living first, then the latest")
    @needs("viewer")
    async def every(limit: Annotated[int, Query(ge=1, le=500)] = 100) -> workers.WorkerList:
        return await context.call(context.queries.workers, limit=limit)

    _queues(router, context)
    _limits(router, context)
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


def _limits(router: APIRouter, context: ApiContext) -> None:
    async def change(name: str, quota: Quota | None, reason: str | None, actor: str) -> limits.LimitList:
        await context.call(change_limit, context.jobs.service, name, quota, actor=actor, reason=reason)
        return await context.call(context.queries.limits)

    @router.get("/limits", operation_id="listLimits", summary="Limits by key: what they allow, what runs and waits")
    @needs("viewer")
    async def every() -> limits.LimitList:
        return await context.call(context.queries.limits)

    @router.put(
        "/limits/{name:path}", operation_id="setLimit", summary="Change what a limit allows", responses=also(404)
    )
    @needs("operator")
    async def set_limit(name: LimitName, given: NewLimit, who: Who) -> limits.LimitList:
        quota = Quota.checked(name, given.running, given.rate, given.per)
        return await change(name, quota, given.reason, who.actor)

    @router.post(
        "/limits/{name:path}/reset", operation_id="resetLimit", summary="As the programs declare it", responses=also(404)
    )
    @needs("operator")
    async def reset(name: LimitName, given: WithReason, who: Who) -> limits.LimitList:
        return await change(name, None, given.reason, who.actor)
