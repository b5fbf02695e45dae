"""A task of a plug-in, which belongs to no application: it can be called, and an application submits it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any, NoReturn

from jobtrail.commands.task_handle import BoundTask
from jobtrail.commands.using import NOTHING, Using
from jobtrail.config import Settings
from jobtrail.errors import UsageError
from jobtrail.job.task import Task, Tasks
from jobtrail.messages import Message


class UnboundSubmitter:
    """The submitter of a plug-in's tasks, which belong to no application: it refuses every submission."""

    def __init__(self) -> None:
        # What a body has in a process of its own, where there is no application: an empty state, the plug-in's tasks.
        self.state = SimpleNamespace()
        self.tasks, self.settings = Tasks(), Settings()

    def submit(self, task: Task, args: dict[str, Any], using: Using) -> NoReturn:
        """Refuse.

        Raises: UsageError that says what to call instead.
        """
        del args, using
        raise UsageError(Message("plugins.unbound", task=task.name))

    async def asubmit(self, task: Task, args: dict[str, Any], using: Using) -> NoReturn:
        """Refuse, as `submit`."""
        self.submit(task, args, using)

    def submit_many(self, task: Task, many: Iterable[Mapping[str, Any]], using: Using) -> NoReturn:
        """Refuse, as `submit`."""
        del many
        self.submit(task, {}, using)

    async def asubmit_many(self, task: Task, many: Iterable[Mapping[str, Any]], using: Using) -> NoReturn:
        """Refuse, as `submit`."""
        del many
        self.submit(task, {}, using)


class PluginTask(BoundTask):
    """A task of a plug-in: it can be called; applications that use the plug-in submit it."""

    def __init__(self, task: Task, submitter: UnboundSubmitter, using: Using = NOTHING) -> None:
        super().__init__(task, submitter, using)
        self._unbound = submitter

    def using(self, **options: Any) -> PluginTask:
        """Return a copy with options for the submitted job.

        Args:
            **options: As for `BoundTask.using`.
        """
        return PluginTask(self.task, self._unbound, self._using.with_options(**options))

    def _to_follow(self) -> NoReturn:
        """Refuse, as `submission`; inside a task function `schedule_next` knows the application."""
        self._unbound.submit(self.task, {}, self._using)

    def submission(self, args: Mapping[str, Any]) -> NoReturn:
        """Refuse: only an application can store jobs.

        Args:
            args: Arguments of the task.

        Raises:
            UsageError: Always.
        """
        self._unbound.submit(self.task, dict(args), self._using)
