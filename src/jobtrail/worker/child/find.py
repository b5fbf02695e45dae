"""Find the task of an order among the modules of this process."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from jobtrail.commands.task_handle import BoundTask
from jobtrail.errors import UnknownTask
from jobtrail.messages import Message


def find_task(module: str, place: str, name: str, main_error: BaseException | None = None) -> BoundTask:
    """The task whose function is called ``place`` in ``module``.

    Raises: UnknownTask; and whatever the module raises when it is imported.
    """
    home = sys.modules["__main__"] if module == "__main__" else import_module(module)
    found: Any = home
    for part in place.split("."):
        found = getattr(found, part, None)
    for one in (found, *vars(home).values()):
        if isinstance(one, BoundTask) and one.task.name == name:
            return one
    message = Message("worker.task-not-found", name=name, place=f"{module}.{place}")
    raise UnknownTask(message) from main_error if module == "__main__" else None
