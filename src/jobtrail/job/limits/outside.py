"""Limits from outside the program: other numbers for a limit that tasks declare, or one more limit for some tasks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from jobtrail.errors import InvalidOption
from jobtrail.job.task import OWN_TASKS
from jobtrail.messages import Message

from .limit import Limit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobtrail.job.task import Task

EVERY_TASK = "*"
_KEYS = ("running", "rate", "per", "tasks")


@dataclass(frozen=True, slots=True)
class OutsideLimit:
    """A limit of `jobtrail.toml`.

    Attributes:
        limit: The limit.
        tasks: Names of the tasks that get it beside those that declare it; "*" for all of the application.
    """

    limit: Limit
    tasks: frozenset[str]

    @classmethod
    def read(cls, name: str, given: Mapping[str, Any]) -> OutsideLimit:
        """Check what stands under a limit's name.

        Raises:
            InvalidOption: If a key is not known or a value not valid.
        """
        unknown = sorted(given.keys() - set(_KEYS))
        if unknown:
            raise InvalidOption(Message("config.unknown-key", what="limit", unknown=unknown[0], known=sorted(_KEYS)))
        tasks = given.get("tasks", ())
        named: Any = [tasks] if isinstance(tasks, str) else tasks
        if not isinstance(named, (list, tuple)) or not all(isinstance(one, str) for one in named):
            raise InvalidOption(Message("job.limit-tasks", limit=name, value=repr(tasks)))
        numbers = {key: given[key] for key in _KEYS[:3] if key in given}
        return cls(Limit(name, **numbers), frozenset(named))


def limited(task: Task, outside: Mapping[str, OutsideLimit]) -> Task:
    """Return the task with the limits from outside, which win over those of the same name that it declares.

    Raises:
        InvalidOption: If a limit names an argument that the task does not have.
    """
    if not outside or task.name.startswith(OWN_TASKS):
        return task
    limits = [outside[one.name].limit if one.name in outside else one for one in task.limits]
    declared = {one.name for one in limits}
    for name, one in outside.items():
        if name not in declared and one.tasks & {task.name, EVERY_TASK}:
            limits.append(one.limit)
    return task if tuple(limits) == task.limits else replace(task, limits=tuple(limits))
