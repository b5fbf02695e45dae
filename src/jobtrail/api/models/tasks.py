"""What is answered about tasks: the list, and one with all that a form needs to start a job of it."""

from __future__ import annotations

import inspect
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pydantic import Field

from jobtrail.api import forms
from jobtrail.queries.base import ID, Model, masked_text

if TYPE_CHECKING:
    from jobtrail.job.task import Task


class LastJob(Model):
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
    description: str | None = Field(description="The first line of what its function says of itself.")
    schedules: int
    next_at: datetime | None = Field(description="The first planned time of its schedules.")
    last: LastJob | None


class TaskList(Model):
    """Every task, by name."""

    tasks: list[TaskLine]


class TaskShape(TaskLine):
    """A task with its options, and the JSON schema of its arguments."""

    text: str | None = Field(description="All that its function says of itself.", examples=["Load the weather of an airport."])
    priority: int | None
    attempts: int | None = Field(description="null: without limit, where the task is known.")
    timeout: float | None = Field(description="Seconds.")
    stall_timeout: float | None = Field(description="Seconds.")
    max_failed_items: str | None
    on_interrupt: str | None
    executor: str | None
    zone: str | None
    aliases: list[str]
    arguments: dict[str, Any] | None = Field(description="JSON schema; what may be null is marked x-nullable.")


def line(name: str, task: Task | None, last: Any, schedules: int, next_at: datetime | None) -> TaskLine:
    """A line of the list."""
    return TaskLine(**_line(name, task, last, schedules, next_at))


def _line(name: str, task: Task | None, last: Any, schedules: int, next_at: datetime | None) -> dict[str, Any]:
    text = _text(task)
    newest = None if last is None else LastJob(
        id=last.id, status=last.status, outcome=last.outcome, created_at=last.created_at, finished_at=last.finished_at
    )  # fmt: skip
    return {
        "name": name, "known": task is not None, "kind": task and task.kind, "queue": task and task.queue,
        "description": text.partition("\n")[0] if text else None, "schedules": schedules, "next_at": next_at,
        "last": newest,
    }  # fmt: skip


def _text(task: Task | None) -> str | None:
    return masked_text(inspect.getdoc(task.function)) if task is not None else None


def task(name: str, one: Task | None, last: Any, schedules: int, next_at: datetime | None) -> TaskShape:
    """A task whole."""
    about: dict[str, Any] = dict.fromkeys(
        ("priority", "attempts", "timeout", "stall_timeout", "max_failed_items", "on_interrupt", "executor",
         "zone", "arguments")
    )  # fmt: skip
    if one is not None:
        limit = one.max_failed_items
        about = {
            "priority": one.priority, "attempts": one.retry.attempts,
            "timeout": one.timeout, "stall_timeout": one.stall_timeout,
            "max_failed_items": None if limit is None else str(limit), "on_interrupt": one.on_interrupt,
            "executor": one.executor, "zone": one.zone, "arguments": forms.of_arguments(one),
        }  # fmt: skip
    aliases = list(one.aliases) if one is not None else []
    return TaskShape(**_line(name, one, last, schedules, next_at), **about, aliases=aliases, text=_text(one))
