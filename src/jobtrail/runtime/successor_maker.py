"""``schedule_next``: from its arguments in a running body to the successor that is stored with the run's end."""

from __future__ import annotations

from dataclasses import replace
from json import dumps
from typing import TYPE_CHECKING, Any

from jobtrail.commands.submit import successor
from jobtrail.commands.using import NOTHING, Predecessor, SuccessorRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobtrail.config import Settings
    from jobtrail.job.model import Claim
    from jobtrail.job.successor import Successor
    from jobtrail.job.task import Task, Tasks


class SuccessorMaker:
    """What `schedule_next` needs of an application: its tasks and its settings."""

    def __init__(self, tasks: Tasks, settings: Settings) -> None:
        self._tasks = tasks
        self._settings = settings

    def make(self, claim: Claim, task: Any, params: Mapping[str, Any] | None, **options: Any) -> Successor:
        """The successor of a running job.

        Raises: UsageError.
        """
        found: Task = self._tasks.get(task) if isinstance(task, str) else self._tasks.find(task.name) or task.task
        using = NOTHING if isinstance(task, str) else task._using
        labels = claim.said.get("labels")
        before = Predecessor(claim.source, claim.period, dumps(labels) if labels else None, claim.context)
        made = successor(SuccessorRequest(found, using, params, **options), before, self._settings)
        return replace(made, run=claim.run_no)
