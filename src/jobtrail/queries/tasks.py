"""Tasks as people see them: the list, and one with the JSON schema of its arguments."""

from __future__ import annotations

import inspect
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pydantic import Field

from jobtrail.errors import NotFound
from jobtrail.job.task import OWN_TASKS
from jobtrail.messages import Message
from jobtrail.store import schedules

from . import form_schemas
from .base import ID, MaskedText, Model
from .monitoring import statistics

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from jobtrail.job.task import Task

    from .context import QueryContext

_OPTIONS = ("priority", "timeout", "stall_timeout", "on_interrupt", "on_shutdown", "executor", "zone")


class LatestJob(Model):
    """The newest job of a task."""

    id: str = Field(examples=[ID])
    status: str
    outcome: str | None
    created_at: datetime
    finished_at: datetime | None


class TaskLine(Model):
    """A task; of one that is not ``known`` there are jobs, and this process has no function for them."""

    name: str = Field(examples=["sync_weather"])
    known: bool
    kind: str | None
    queue: str | None
    description: MaskedText | None = Field(description="The first line of its function's docstring.")
    schedules: int
    next_at: datetime | None = Field(description="The first planned time of its schedules.")
    last: LatestJob | None


class TaskList(Model):
    """Every task, by name."""

    tasks: list[TaskLine]


class TaskDetail(TaskLine):
    """A task with its options, and the JSON schema of its arguments."""

    text: MaskedText | None = Field(description="Its function's docstring.", examples=["Load the weather of an airport."])
    priority: int | None
    attempts: int | None = Field(description="null: without limit, where the task is known.")
    timeout: float | None = Field(description="Seconds.")
    stall_timeout: float | None = Field(description="Seconds.")
    max_failed_items: str | None
    on_interrupt: str | None
    on_shutdown: str | None
    executor: str | None
    zone: str | None
    aliases: list[str]
    arguments: dict[str, Any] | None = Field(description="JSON schema; what may be null is marked x-nullable.")


def read_list(conn: Connection, context: QueryContext) -> TaskList:
    """Read every task: the registered ones, and those of stored jobs and schedules."""
    last, planned = statistics.newest_jobs(conn), _planned(conn)
    known = {task.name: task for task in context.tasks.all()}
    names = sorted({*known, *(name for name in last if not name.startswith(OWN_TASKS)), *planned})
    return TaskList(tasks=[TaskLine(**_line(name, known.get(name), last, planned)) for name in names])


def read_one(conn: Connection, context: QueryContext, name: str) -> TaskDetail:
    """Read one task with its options and arguments.

    Raises:
        NotFound: if no such task is registered and no job or schedule names it.
    """
    task = context.tasks.find(name)
    task = task if task is None or not task.name.startswith(OWN_TASKS) else None
    called = task.name if task is not None else name
    last, planned = statistics.newest_jobs(conn), _planned(conn)
    if task is None and (called not in last or called.startswith(OWN_TASKS)) and called not in planned:
        raise NotFound(Message("api.no-task", name=name[:200]))
    aliases = list(task.aliases) if task is not None else []
    return TaskDetail(**_line(called, task, last, planned), **_options(task), aliases=aliases, text=_docstring(task))


def _planned(conn: Connection) -> dict[str, tuple[int, datetime | None]]:
    """By task: how many schedules go on, and the first planned time of those that are not paused."""
    found: dict[str, tuple[int, Any]] = {}
    for row in schedules.everyone(conn):
        if row.state not in {schedules.ACTIVE, schedules.PAUSED}:
            continue
        number, first = found.get(row.task, (0, None))
        times = [at for at in (first, row.next_at if row.state == schedules.ACTIVE else None) if at is not None]
        found[row.task] = (number + 1, min(times, default=None))
    return found


def _line(
    name: str, task: Task | None, last: dict[str, Any], planned: dict[str, tuple[int, datetime | None]]
) -> dict[str, Any]:
    text = _docstring(task)
    number, next_at = planned.get(name, (0, None))
    return {
        "name": name, "known": task is not None, "kind": task and task.kind, "queue": task and task.queue,
        "description": text.partition("\n")[0] if text else None, "schedules": number, "next_at": next_at,
        "last": None if name not in last else LatestJob.model_validate(last[name]),
    }  # fmt: skip


def _docstring(task: Task | None) -> str | None:
    return inspect.getdoc(task.function) if task is not None else None


def _options(task: Task | None) -> dict[str, Any]:
    if task is None:
        return dict.fromkeys((*_OPTIONS, "attempts", "max_failed_items", "arguments"))
    limit = task.max_failed_items
    return {name: getattr(task, name) for name in _OPTIONS} | {
        "attempts": task.retry.attempts, "max_failed_items": None if limit is None else str(limit),
        "arguments": form_schemas.of_arguments(task),
    }  # fmt: skip
