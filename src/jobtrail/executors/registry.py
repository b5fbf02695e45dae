"""The executors of one application: found by name, among those that it was given and those of installed packages."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from jobtrail.errors import InvalidOption
from jobtrail.messages import Message

from .base import ENTRY_POINTS, Executor, HandingOver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from jobtrail.job.task import Task

OWN = ("local", "process")  # made by each worker for itself


class Executors:
    """Finds executors by name.

    Args:
        default: Name of the executor of tasks that name none.
        given: Executors that the application made itself.
        options: Gives the options of an executor that is made here, by its name: what `jobtrail.toml` and the environment say.
        application: The application, to which an executor that hands jobs over is bound.

    Raises:
        InvalidOption: If one of ``given`` is no executor.
    """

    def __init__(
        self,
        default: str,
        given: Iterable[Executor | HandingOver],
        options: Callable[[str], Mapping[str, Any]],
        application: Any,
    ) -> None:
        self._made: dict[str, Executor | HandingOver] = {}
        self._options = options
        self._application = application
        self.default = default
        for one in given:
            if not isinstance(one, (Executor, HandingOver)):
                raise InvalidOption(Message("executors.bad-executor", value=repr(one)))
            self._keep(one)

    def _keep(self, executor: Executor | HandingOver) -> Executor | HandingOver:
        self._made[executor.name] = executor
        if isinstance(executor, HandingOver):
            executor.bind(self._application)
        return executor

    def find(self, name: str) -> Executor | HandingOver:
        """Return the executor of a name other than local and process.

        Raises:
            InvalidOption: If there is none, or it cannot be made.
        """
        found = self._made.get(name)
        if found is not None:
            return found
        known = {point.name: point for point in entry_points(group=ENTRY_POINTS)}
        if name not in known:
            raise InvalidOption(
                Message("executors.unknown-executor", name=name, known=sorted({*OWN, *self._made, *known}))
            )
        try:
            made = known[name].load().from_options(dict(self._options(name)))
        except ImportError as error:
            raise InvalidOption(Message("executors.not-importable", name=name, error=str(error))) from error
        return self._keep(made)

    def resolved(self, task: Task) -> Task:
        """Return the task with the name of its executor, and whether jobs of it are handed over.

        Raises:
            InvalidOption: If no executor has the name.
        """
        name = task.executor or self.default
        handed = name not in OWN and isinstance(self.find(name), HandingOver)
        if name == task.executor and not handed:
            return task
        return task.handed_over_to(name) if handed else replace(task, executor=name)

    def resolved_own(self, task: Task) -> Task:
        """Return a task of jobtrail itself: handed over where the application's default is, else run in the worker."""
        return self.resolved(task if self.default not in OWN else replace(task, executor="local"))

    def handing_over(self) -> dict[str, HandingOver]:
        """Return the executors in use that hand jobs over, by name."""
        return {name: one for name, one in self._made.items() if isinstance(one, HandingOver)}

    def in_worker(self, name: str | None) -> Executor | None:
        """Return an executor from outside that runs bodies in a worker; None for one of another form, or one of ours."""
        found = self._made.get(name or self.default)
        return found if isinstance(found, Executor) else None
