"""What the program declares: schedules in code, in a table of settings, in a Celery beat schedule, and of plug-ins."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from jobtrail.errors import InvalidSchedule, JobTrailError
from jobtrail.job.task import name_option

from .definition import Definition, check_for, declared
from .rules.celery_beat import read_beat_schedule
from .sync import Declared

if TYPE_CHECKING:
    from jobtrail.commands.handles import BoundTask
    from jobtrail.commands.service import Service
    from jobtrail.job.task import Task

    from .rules.celery_beat import BeatEntry

CODE, SETTINGS, CELERY = "code", "settings", "celery"
_log = logging.getLogger("jobtrail.schedules")
PluginSchedules = Callable[[], Iterable[tuple[str, str, Any, Mapping[str, Any]]]]


class Declarations:
    """Checked at once, remembered, and stored when a worker starts."""

    def __init__(self, service: Service, of_plugins: PluginSchedules) -> None:
        self._service = service
        self._of_plugins = of_plugins
        self._declared: dict[str, Declared] = {}

    def __contains__(self, name: str) -> bool:
        """Does the program itself declare a schedule of this name?"""
        return name in self._declared

    def all(self) -> list[Declared]:
        """Those of the program and those of its plug-ins."""
        return [*self._declared.values(), *self._from_plugins()]

    def declare(self, task: BoundTask, rule: Any, *, name: str | None = None, tz: Any = None, **options: Any) -> None:
        """A schedule in code; see ``@jobs.schedule``.

        Raises: InvalidSchedule, InvalidOption, InvalidArguments with what is wrong.
        """
        self._keep(self.checked(task.task, name, declared(rule, tz, **options), CODE))

    def from_table(self, table: Iterable[Mapping[str, Any]]) -> None:
        """Schedules from settings: each a mapping of ``task``, ``rule`` and the words of ``@jobs.schedule``.

        Raises: InvalidSchedule, UnknownTask and so on, naming the entry; then none is taken.
        """
        checked = [self._from_entry(place, entry) for place, entry in enumerate(table, 1)]
        for one in checked:
            self._keep(one)

    def from_celery(
        self, beat_schedule: Mapping[str, Any], tz: Any = None, *, tasks: Mapping[str, str] | None = None,
        most_urgent: int = 9,
    ) -> None:  # fmt: skip
        """A Celery beat schedule as it is: ``CELERY_BEAT_SCHEDULE``. ``tz`` is its ``CELERY_TIMEZONE``.

        A task is found by its whole name or by the last part of it, or as ``tasks`` says. ``expires`` becomes the
        grace of a schedule that makes up for nothing. ``most_urgent``: the priority that the broker took first.

        Raises: InvalidSchedule, UnknownTask, naming the entry; then none is taken.
        """
        found = read_beat_schedule(beat_schedule, tz, most_urgent=most_urgent)
        checked = [self._from_beat(entry, tasks or {}) for entry in found if entry.enabled]
        for one in checked:
            self._keep(one)

    def checked(self, task: Task, name: str | None, definition: Definition, origin: str) -> Declared:
        """A schedule that its task can run.

        Raises: InvalidOption, InvalidArguments, TooLarge.
        """
        named = name_option("the name of a schedule", task.name if name is None else name)
        checked = check_for(definition, task, self._service.settings.argument_limit)
        return Declared(named, task.name, checked, origin, task.secret)

    def _keep(self, one: Declared) -> None:
        if one.name in self._declared:
            message = f"two schedules are called '{one.name}': give one of them another name="
            raise InvalidSchedule(message)
        self._declared[one.name] = one

    def _from_entry(self, place: int, entry: Mapping[str, Any]) -> Declared:
        try:
            if not isinstance(entry, Mapping) or "task" not in entry or "rule" not in entry:
                raise InvalidSchedule("it needs 'task' and 'rule'")
            rest = {key: value for key, value in entry.items() if key not in {"task", "rule", "name", "tz"}}
            definition = declared(entry["rule"], entry.get("tz"), **rest)
            return self.checked(self._service.tasks.get(entry["task"]), entry.get("name"), definition, SETTINGS)
        except JobTrailError as error:
            raise _in_entry(error, f"entry {place} of the table of schedules") from error

    def _from_beat(self, entry: BeatEntry, names: Mapping[str, str]) -> Declared:
        task = self._service.tasks.find(names.get(entry.task, entry.task))
        task = task or self._service.tasks.find(entry.task.rpartition(".")[2])
        try:
            task = task or self._service.tasks.get(entry.task)
            args = task.signature.bind(task.name, entry.args, entry.kwargs)
            late = {} if entry.expires is None else {"grace": max(1.0, entry.expires), "catch_up": "skip"}
            rest = {"queue": entry.queue, "priority": entry.priority, "delay": entry.countdown}
            definition = declared(entry.rule, args=args, overlap="allow", **rest, **late)
            return self.checked(task, entry.name, definition, CELERY)
        except JobTrailError as error:
            raise _in_entry(error, f"the entry '{entry.name}' of the beat schedule") from error

    def _from_plugins(self) -> Iterable[Declared]:
        """One that is wrong is left out and told: a plug-in must not keep the program's own from running."""
        names = set(self._declared)
        for plugin, task_name, rule, options in self._of_plugins():
            given = dict(options)
            name, tz = given.pop("name", None), given.pop("tz", None)
            try:
                task = self._service.tasks.get(task_name)
                found = self.checked(task, name, declared(rule, tz, **given), f"plugin:{plugin}")
                if found.name in names:
                    message = f"there is another one called '{found.name}'"
                    raise InvalidSchedule(message)
                names.add(found.name)
                yield found
            except JobTrailError as error:
                _log.warning("a schedule of the plug-in '%s' is left out: %s", plugin, error)


def _in_entry(error: JobTrailError, where: str) -> InvalidSchedule:
    return InvalidSchedule(f"{where}: {error}")
