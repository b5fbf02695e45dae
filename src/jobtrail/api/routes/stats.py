"""Numbers over the network: the state of this moment, charts over time, and what needs a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query

from jobtrail.api.auth.guard import needs, routes
from jobtrail.queries.monitoring import attention, charts, overview, task_history

if TYPE_CHECKING:
    from jobtrail.api.context import ApiContext

LONGEST = 24 * 366  # hours


def make(context: ApiContext) -> APIRouter:
    """The routes of this file."""
    router = routes("stats")

    @router.get("/stats", operation_id="showStats", summary="The state now: jobs by status, queues, workers")
    @needs("viewer")
    async def now() -> overview.Statistics:
        return await context.cached("statistics", context.queries.statistics)

    @router.get(
        "/stats/series", operation_id="showSeries", summary="What ended over time, and how long it waited and ran"
    )
    @needs("viewer")
    async def over_time(
        hours: Annotated[float, Query(gt=0, le=LONGEST, description="The last so many hours.")] = 24,
        task: Annotated[str | None, Query(max_length=200, description="Of one task.")] = None,
        queue: Annotated[str | None, Query(max_length=200, description="Of one queue.")] = None,
        source: Annotated[str | None, Query(max_length=1000, description="Of one source.")] = None,
    ) -> charts.ChartSeries:
        key = ("series", hours, task, queue, source)
        return await context.cached(key, lambda: context.queries.series(hours, task, queue=queue, source=source))

    @router.get(
        "/stats/task", operation_id="showTaskHistory", summary="How a task has gone this week and the week before"
    )
    @needs("viewer")
    async def of_task(
        name: Annotated[str, Query(max_length=200, description="The name of the task.")],
    ) -> task_history.TaskHistory:
        return await context.cached(("task", name), lambda: context.queries.task_history(name))

    @router.get("/stats/needs", operation_id="listNeeds", summary="What needs a person now, the nearest deadline first")
    @needs("viewer")
    async def what_needs() -> attention.AttentionList:
        return await context.cached("attention", context.queries.attention)

    return router
