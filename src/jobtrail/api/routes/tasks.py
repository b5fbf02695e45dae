"""Tasks over the network: which there are, and what each takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter

from jobtrail.api.auth.guard import also, needs, routes
from jobtrail.queries import tasks

if TYPE_CHECKING:
    from jobtrail.api.context import ApiContext


def make(context: ApiContext) -> APIRouter:
    """The routes of this file."""
    router = routes("tasks")

    @router.get(
        "/tasks",
        operation_id="listTasks",
        summary="Every task: those that are registered here, and those of stored jobs",
    )
    @needs("viewer")
    async def every() -> tasks.TaskList:
        return await context.call(context.queries.tasks)

    @router.get(
        "/tasks/{name:path}",
        operation_id="showTask",
        summary="One task, with the JSON schema of its arguments",
        responses=also(404),
    )
    @needs("viewer")
    async def one(name: str) -> tasks.TaskDetail:
        return await context.call(context.queries.task, name)

    return router
