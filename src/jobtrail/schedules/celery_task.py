"""The task of a schedule whose jobs Celery executes: known by its name alone, in every process."""

from __future__ import annotations

from dataclasses import replace
from json import dumps, loads
from typing import TYPE_CHECKING, Any

from jobtrail.commands.submit import Prepared
from jobtrail.job.task import TRACKED, Task

if TYPE_CHECKING:
    from jobtrail.job.task import Tasks

    from .definition import ScheduleDefinition

_BETWEEN = "/"
_LEAST_URGENT = 9


def celery_name(app: str, task: str) -> str:
    """Return the name under which a schedule has a task of a Celery application; two applications do not share it."""
    return f"{TRACKED}{app.replace(_BETWEEN, '_')}{_BETWEEN}{task}"[:200]


def celery_task(name: str) -> Task:
    """Return a task that takes any arguments; its function is Celery's and is not called here."""
    return Task(name, _executed_by_celery)


def known_task(tasks: Tasks, name: str) -> Task:
    """Return the task of a schedule.

    Raises:
        UnknownTask: If it is not registered and is not Celery's.
    """
    return celery_task(name) if name.startswith(TRACKED) and tasks.find(name) is None else tasks.get(name)


def for_celery(prepared: Prepared, definition: ScheduleDefinition) -> Prepared:
    """Return the submission as the job of the Celery task, which a process of the Celery application sends.

    Args:
        prepared: The checked submission.
        definition: The definition; without ``celery`` the submission stays as it is.
    """
    if not definition.celery:
        return prepared
    new, said = prepared.new, dict(definition.celery)
    send: dict[str, Any] = dict(said.get("send") or {})
    if definition.priority is not None:
        send["priority"] = abs(said.get("most_urgent", _LEAST_URGENT) - definition.priority)
    options = {**(loads(new.options) if new.options else {}), "on_interrupt": "fail", "celery": {**said, "send": send}}
    queue = definition.queue or said["queue"]
    task = new.task.removeprefix(TRACKED).partition(_BETWEEN)[2]
    celery = replace(new, task=task, queue=f"{TRACKED}{queue}"[:200], options=dumps(options))
    return Prepared(celery, prepared.rules, prepared.plain)


def _executed_by_celery(**arguments: Any) -> None:
    message = f"a process of Celery calls the function, with {sorted(arguments)}"
    raise NotImplementedError(message)
