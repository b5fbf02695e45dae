"""Tasks over the network: which there are, how they stand, and what each takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter

from jobtrail.api.auth.guard import also, needs, routes
from jobtrail.api.models import tasks
from jobtrail.errors import NotFound
from jobtrail.job.task import OWN_TASKS
from jobtrail.messages import Message
from jobtrail.queries import statistics
from jobtrail.store import schedules

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.api.context import Desk


def make(desk: Desk) -> APIRouter:
    """The routes of this file."""
    router = routes("tasks")

    @router.get(
        "/tasks",
        operation_id="listTasks",
        summary="Every task: those that are registered here, and those of stored jobs",
    )
    @needs("viewer")
    async def every() -> tasks.TaskList:
        return await desk.read(_every, desk)

    @router.get(
        "/tasks/{name:path}",
        operation_id="showTask",
        summary="One task, with the JSON schema of its arguments",
        responses=also(404),
    )
    @needs("viewer")
    async def one(name: str) -> tasks.TaskShape:
        return await desk.read(_one, desk, name)

    return router


def _every(conn: Connection, desk: Desk) -> tasks.TaskList:
    last = statistics.newest_jobs(conn)
    planned = _planned(conn)
    known = {task.name: task for task in desk.jobs.tasks.all()}
    names = sorted({*known, *(name for name in last if not name.startswith(OWN_TASKS)), *planned})
    lines = [tasks.line(name, known.get(name), last.get(name), *planned.get(name, (0, None))) for name in names]
    return tasks.TaskList(tasks=lines)


def _planned(conn: Connection) -> dict[str, tuple[int, datetime | None]]:
    """How many schedules a task has that go on, and the first planned time of those that are not paused."""
    found: dict[str, tuple[int, Any]] = {}
    for row in schedules.everyone(conn):
        if row.state not in {schedules.ACTIVE, schedules.PAUSED}:
            continue
        number, first = found.get(row.task, (0, None))
        times = [at for at in (first, row.next_at if row.state == schedules.ACTIVE else None) if at is not None]
        found[row.task] = (number + 1, min(times, default=None))
    return found


def _one(conn: Connection, desk: Desk, name: str) -> tasks.TaskShape:
    task = desk.jobs.tasks.find(name)
    task = task if task is None or not task.name.startswith(OWN_TASKS) else None
    called = task.name if task is not None else name
    last, planned = statistics.newest_jobs(conn).get(called), _planned(conn)
    if task is None and (last is None or called.startswith(OWN_TASKS)) and called not in planned:
        message = Message("api.no-task", name=name[:200])
        raise NotFound(message)
    return tasks.task(called, task, last, *planned.get(called, (0, None)))
