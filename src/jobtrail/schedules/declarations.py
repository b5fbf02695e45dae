"""Declared schedules: from code, from settings, from a Celery beat schedule and from plug-ins."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from jobtrail.errors import InvalidSchedule, JobTrailError
from jobtrail.job.task import name_option
from jobtrail.messages import Message

from .definition import ScheduleDefinition, check_for, declared
from .rules.celery_beat import read_beat_schedule
from .sync import DeclaredSchedule

if TYPE_CHECKING:
    from jobtrail.commands.service import Service
    from jobtrail.commands.task_handle import BoundTask
    from jobtrail.job.task import Task

    from .rules.celery_beat import BeatEntry

CODE, SETTINGS, CELERY = "code", "settings", "celery"
_log = logging.getLogger("jobtrail.schedules")
PluginSchedules = Callable[[], Iterable[tuple[str, str, Any, Mapping[str, Any]]]]


class Declarations:
    """The declared schedules of one application: checked at once, stored when a worker starts."""

    def __init__(self, service: Service, of_plugins: PluginSchedules) -> None:
        self._service = service
        self._of_plugins = of_plugins
        self._declared: dict[str, DeclaredSchedule] = {}

    def __contains__(self, name: str) -> bool:
        """Return whether the program itself declares a schedule of this name."""
        return name in self._declared

    def all(self) -> list[DeclaredSchedule]:
        """Return the schedules of the program and of its plug-ins."""
        return [*self._declared.values(), *self._from_plugins()]

    def declare(self, task: BoundTask, rule: Any, *, name: str | None = None, tz: Any = None, **options: Any) -> None:
        """Declare a schedule, as ``@jobs.schedule`` does.

        Raises:
            InvalidSchedule, InvalidOption, InvalidArguments: If the rule, an option or the arguments are not valid.
        """
        self._keep(self.checked(task.task, name, declared(rule, tz, **options), CODE))

    def from_table(self, table: Iterable[Mapping[str, Any]]) -> None:
        """Declare schedules from settings. Each entry maps ``task``, ``rule`` and options of ``@jobs.schedule``.

        Raises:
            InvalidSchedule: If an entry is not valid; the message names it, and none is declared.

        Example:
            ``jobs.schedules.from_table([{"task": "report", "rule": "every 30 minutes"}])``
        """
        checked = [self._from_entry(place, entry) for place, entry in enumerate(table, 1)]
        for one in checked:
            self._keep(one)

    def from_celery(
        self, beat_schedule: Mapping[str, Any], tz: Any = None, *, tasks: Mapping[str, str] | None = None,
        most_urgent: int = 9,
    ) -> None:  # fmt: skip
        """Declare the entries of a Celery beat schedule.

        Args:
            beat_schedule: Value of ``CELERY_BEAT_SCHEDULE``.
            tz: Value of ``CELERY_TIMEZONE``; default: UTC.
            tasks: Celery's task names to names of this application, where neither the full name nor its last part is
                a task.
            most_urgent: The priority that the broker took first; 0 for Redis.

        ``expires`` becomes the grace of a schedule that does not catch up.

        Raises:
            InvalidSchedule: If an entry cannot be converted; the message names it, and none is declared.
        """
        found = read_beat_schedule(beat_schedule, tz, most_urgent=most_urgent)
        checked = [self._from_beat(entry, tasks or {}) for entry in found if entry.enabled]
        for one in checked:
            self._keep(one)

    def checked(self, task: Task, name: str | None, definition: ScheduleDefinition, origin: str) -> DeclaredSchedule:
        """Return a schedule whose name and arguments are checked against its task.

        Raises:
            InvalidOption, InvalidArguments, TooLarge: If the name or the arguments are not valid.
        """
        named = name_option(Message("schedules.schedule-name"), task.name if name is None else name)
        checked = check_for(definition, task, self._service.settings.argument_limit)
        secret = task.secret.union(self._service.settings.secret_names)
        return DeclaredSchedule(named, task.name, checked, origin, secret)

    def _keep(self, one: DeclaredSchedule) -> None:
        if one.name in self._declared:
            raise _name_taken(one.name)
        self._declared[one.name] = one

    def _from_entry(self, place: int, entry: Mapping[str, Any]) -> DeclaredSchedule:
        try:
            if not isinstance(entry, Mapping) or "task" not in entry or "rule" not in entry:
                raise InvalidSchedule(Message("schedules.entry-incomplete"))
            rest = {key: value for key, value in entry.items() if key not in {"task", "rule", "name", "tz"}}
            definition = declared(entry["rule"], entry.get("tz"), **rest)
            return self.checked(self._service.tasks.get(entry["task"]), entry.get("name"), definition, SETTINGS)
        except JobTrailError as error:
            raise InvalidSchedule(Message("schedules.in-table-entry", number=place, error=error)) from error

    def _from_beat(self, entry: BeatEntry, names: Mapping[str, str]) -> DeclaredSchedule:
        task = self._service.tasks.find(names.get(entry.task, entry.task))
        task = task or self._service.tasks.find(entry.task.rpartition(".")[2])
        try:
            task = task or self._service.tasks.get(entry.task)
            args = task.signature.accept(task.name, entry.args, entry.kwargs)
            late = {} if entry.expires is None else {"grace": max(1.0, entry.expires), "catch_up": "skip"}
            rest = {"queue": entry.queue, "priority": entry.priority, "delay": entry.countdown}
            definition = declared(entry.rule, args=args, overlap="allow", **rest, **late)
            return self.checked(task, entry.name, definition, CELERY)
        except JobTrailError as error:
            raise InvalidSchedule(Message("schedules.in-beat-entry", name=entry.name, error=error)) from error

    def _from_plugins(self) -> Iterable[DeclaredSchedule]:
        """Yield the schedules of plug-ins. An invalid one is logged and left out, so that the program's own still run."""
        names = set(self._declared)
        for plugin, task_name, rule, options in self._of_plugins():
            given = dict(options)
            name, tz = given.pop("name", None), given.pop("tz", None)
            try:
                task = self._service.tasks.get(task_name)
                found = self.checked(task, name, declared(rule, tz, **given), f"plugin:{plugin}")
                if found.name in names:
                    raise _name_taken(found.name)
                names.add(found.name)
                yield found
            except JobTrailError as error:
                _log.warning("a schedule of the plug-in '%s' is left out: %s", plugin, error)


def _name_taken(name: str) -> InvalidSchedule:
    return InvalidSchedule(Message("schedules.two-of-one-name", name=name))
