"""The plug-ins of one application: discovered or given by the program, mounted under their names, left out if broken."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from jobtrail.commands.history.removal import DELETED, Removal
from jobtrail.database.migration import Schemas
from jobtrail.errors import InvalidOption
from jobtrail.fork_lock import ForkLock
from jobtrail.job.failure import describe
from jobtrail.job.task import Task, Tasks
from jobtrail.messages import Message, render
from jobtrail.worker.middleware import Middleware, declared_options

from . import taken
from .discovery import PluginCandidate, installed
from .parts import PluginChannel, PluginCommand, PluginLoop, PluginPage, PluginRoute, PluginService, PluginTopic
from .plugin import Plugin
from .running import within

AUTO = "auto"
_log = logging.getLogger("jobtrail.plugins")

Prepare = Callable[[Task, Iterable[str]], Task]


@dataclass(frozen=True, slots=True)
class BrokenPlugin:
    """A plug-in that was found and is left out, and why."""

    name: str
    package: str | None
    why: Message | str

    @property
    def reason(self) -> str:
        """Why, in the language of the reader."""
        return render(self.why)


@dataclass(frozen=True, slots=True)
class MountedPlugin:
    """A plug-in that belongs to the application, with its tasks as they are registered there."""

    plugin: Plugin
    package: str | None
    version: str | None
    tasks: tuple[Task, ...]
    offered: PluginService

    @property
    def name(self) -> str:
        """The name of the plug-in."""
        return self.plugin.name

    @property
    def service(self) -> Any:
        """What the plug-in offers in this application, made at the first use; None if it has no service."""
        return self.offered.get()


class Plugins(Mapping[str, MountedPlugin]):
    """The plug-ins of an application by name. Those of entry points are discovered at the first access.

    A plug-in of the program that cannot be mounted raises; a discovered one is left out, logged and listed in `broken`.

    Args:
        tasks: The tasks of the application, to which those of the plug-ins are added.
        prepare: Called for each task before it is registered.
        wanted: "auto" for all that are installed, or plug-ins, possibly with "auto" among them.
        application: The application, for the services of the plug-ins.
        schemas: The schemas of the application, to which those of the plug-ins are added.

    Raises:
        InvalidOption: If ``wanted`` is not valid, or a plug-in of the program cannot be mounted.
    """

    def __init__(
        self,
        tasks: Tasks,
        prepare: Prepare,
        wanted: str | Iterable[Plugin | str] = AUTO,
        *,
        application: Any = None,
        schemas: Schemas | None = None,
    ) -> None:
        self._tasks = tasks
        self._prepare = prepare
        self._application = application
        self._schemas = Schemas() if schemas is None else schemas
        self._lock = ForkLock()
        self._mounted: dict[str, MountedPlugin] = {}
        self._broken: list[BrokenPlugin] = []
        self._looks = False
        given: list[Any] = []
        for one in _listed(wanted):
            if one == AUTO:
                self._looks = True
            else:
                given.append(one)
        for one in given:
            self._mount(PluginCandidate(getattr(one, "name", "?"), None, None, partial(_itself, one)))
        self._wanted = set(self._mounted)
        for one in given:
            self._mount_used(one, None)
        self._own = frozenset(self._mounted)

    # -- reading -------------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> MountedPlugin:
        """The plug-in of this name."""
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        """The names, in the order of mounting."""
        return iter(list(self._all()))

    def __len__(self) -> int:
        """How many are mounted."""
        return len(self._all())

    @property
    def broken(self) -> tuple[BrokenPlugin, ...]:
        """The discovered plug-ins that were left out."""
        self._all()
        return tuple(self._broken)

    def middleware(self) -> list[Middleware]:
        """The middleware of scope "application", which wraps all tasks, after one that says which application this is."""
        layers = [layer for one in self.values() for layer in one.plugin.layers]
        found = [layer.function for layer in layers if layer.scope == "application"]
        return [within(self._application), *found] if found else []

    def schedules(self) -> Iterator[tuple[str, str, Any, Mapping[str, Any]]]:
        """(plug-in, name of the task, rule, keywords) of each schedule."""
        for one in self.values():
            for schedule in one.plugin.schedules:
                yield one.name, schedule.task, schedule.rule, schedule.options

    def channels(self) -> Iterator[tuple[str, PluginChannel]]:
        """Each channel with its full name, ``<plug-in>.<channel>``."""
        for one in self.values():
            for channel in one.plugin.channels.values():
                yield f"{one.name}.{channel.name}", channel

    def routes(self) -> Iterator[tuple[str, PluginRoute]]:
        """(plug-in, route) of each route; paths are below the path of the plug-in."""
        for one in self.values():
            for route in one.plugin.routes.values():
                yield one.name, route

    def commands(self) -> Iterator[tuple[str, PluginCommand]]:
        """(plug-in, command)."""
        for one in self.values():
            for command in one.plugin.commands.values():
                yield one.name, command

    def loops(self) -> Iterator[tuple[str, PluginLoop]]:
        """(plug-in, loop)."""
        for one in self.values():
            for loop in one.plugin.loops.values():
                yield one.name, loop

    def topics(self) -> Iterator[tuple[str, PluginTopic]]:
        """(plug-in, live topic); the full name is ``<plug-in>.<topic>``."""
        for one in self.values():
            for topic in one.plugin.topics.values():
                yield one.name, topic

    def pages(self) -> Iterator[tuple[str, PluginPage]]:
        """(plug-in, page of the console)."""
        for one in self.values():
            for page in one.plugin.pages.values():
                yield one.name, page

    def before_removal(self, cause: str) -> list[Callable[[Removal], None]]:
        """What plug-ins want to be called before jobs are removed for this cause, bound to the application."""
        return [
            partial(removal.function, self._application)
            for one in self.values()
            for removal in one.plugin.removals
            if removal.retention or cause == DELETED
        ]

    def close(self) -> None:
        """Close the services that were made, as far as they can be closed; what fails is logged."""
        with self._lock:
            mounted = list(self._mounted.values())
        for one in reversed(mounted):
            try:
                one.offered.close()
            except Exception as error:
                _log.warning("closing the service of the plug-in '%s': %s", one.name, error)

    # -- mounting ------------------------------------------------------------------------------------

    def give_way(self, task: Task) -> None:
        """Leave out a discovered plug-in that has a name of this task, because the application registers the task itself."""
        names = {task.name, *task.aliases}
        with self._lock:
            for one in list(self._mounted.values()):
                names_of_both = {name for own in one.tasks for name in (own.name, *own.aliases)} & names
                if names_of_both and one.name not in self._own:
                    self._take_back(one, Message("plugins.task-of-application", task=min(names_of_both)))

    def mount(self, plugin: Plugin) -> None:
        """Mount a plug-in after the application was made, for parts that bring tables of their own.

        Args:
            plugin: The plug-in.

        Raises:
            InvalidOption: If it cannot be mounted, or its name is taken.
        """
        with self._lock:
            self._all()
            self._mount_used(plugin, None)
            self._mount(PluginCandidate(plugin.name, None, None, partial(_itself, plugin)))
            self._own |= {plugin.name}

    def load(self) -> None:
        """Discover the installed plug-ins, once.

        Raises:
            InvalidOption: If an override of a task from jobtrail.toml or the environment is not valid.
        """
        self._all()

    def _all(self) -> dict[str, MountedPlugin]:
        with self._lock:
            if self._looks:
                self._looks = False  # first, so that a plug-in that asks at its import gets what there is
                try:
                    self._look()
                except BaseException:
                    self._looks = True
                    raise
            return self._mounted

    def _look(self) -> None:
        self._broken.clear()
        for name in [name for name in self._mounted if name not in self._own]:
            self._unmount(self._mounted[name])
        self._wanted &= self._own
        for candidate in _candidates():
            before = set(self._mounted)
            try:
                self._mount_whole(candidate)
                self._wanted.add(candidate.name)
            except (KeyboardInterrupt, SettingRefused):
                raise
            except BaseException as error:  # also one that calls exit
                for name in set(self._mounted) - before:
                    self._unmount(self._mounted[name])
                self._leave_out(candidate.name, candidate.package, _reason(error))

    def _mount_whole(self, candidate: PluginCandidate) -> None:
        """Mount a discovered plug-in, after those that it uses."""
        plugin = candidate.load()
        _check(plugin, candidate)
        mounted = self._mounted.get(plugin.name)
        if mounted is not None and mounted.plugin is plugin:  # another plug-in uses it
            return
        self._mount_used(plugin, candidate.package)
        self._mount(replace(candidate, load=partial(_itself, plugin)))

    def _mount_used(self, plugin: Plugin, package: str | None) -> None:
        """Mount what a plug-in uses. One of that name that the program gave is used instead."""
        for used in plugin.uses:
            mounted = self._mounted.get(used.name)
            if mounted is not None and (mounted.plugin is used or mounted.package is None):
                continue
            self._mount_used(used, package)
            self._mount(PluginCandidate(used.name, package, None, partial(_itself, used)))

    def _mount(self, candidate: PluginCandidate) -> None:
        plugin = candidate.load()
        _check(plugin, candidate)
        self._check_names(plugin)
        for route in plugin.routes.values():
            route.own_parameters(plugin.name)
        tasks = tuple(self._prepared(plugin, task) for task in plugin.sealed_tasks())
        try:
            for task in tasks:
                self._tasks.add(task)
        except BaseException:
            for task in tasks:
                self._tasks.remove(task)
            raise
        if plugin.schema is not None:
            self._schemas.add(plugin.schema)
        version = plugin.version or candidate.version
        make = None if plugin.make_service is None else partial(plugin.make_service, self._application)
        self._mounted[plugin.name] = MountedPlugin(plugin, candidate.package, version, tasks, PluginService(make))

    def _check_names(self, plugin: Plugin) -> None:
        """Refuse a name that is taken: of the plug-in, or of a route or command without its prefix."""
        if plugin.name in self._mounted:
            first = self._mounted[plugin.name].package
            raise InvalidOption(
                Message("plugins.name-taken-by", plugin=plugin.name, package=first)
                if first
                else Message("plugins.name-taken", plugin=plugin.name)
            )
        others = [one.plugin for one in self._mounted.values()]
        if any(other.prefix == plugin.prefix for other in others if other.schema and plugin.schema):
            raise InvalidOption(Message("plugins.tables-taken", prefix=plugin.prefix))
        paths = taken.PATHS | {route.first for other in others for route in other.plain_routes()}
        for route in plugin.plain_routes():
            if route.first in paths:
                raise InvalidOption(Message("plugins.path-taken", path=f"/api/{route.first}"))
        commands = {command.name for other in others for command in other.plain_commands()}
        if plugin.name in commands:
            raise InvalidOption(Message("plugins.command-taken", name=plugin.name))
        commands |= {*taken.COMMANDS, *self._mounted}
        for command in plugin.plain_commands():
            if command.name in commands:
                raise InvalidOption(Message("plugins.command-taken", name=command.name))

    def _prepared(self, plugin: Plugin, task: Task) -> Task:
        declared = declared_options([*task.middleware, *(layer.function for layer in plugin.layers)])
        try:
            task = self._prepare(task, declared)
        except InvalidOption as error:
            raise SettingRefused(error.args[0]) from None
        return replace(task, middleware=(within(self._application), *task.middleware))

    def _unmount(self, one: MountedPlugin) -> None:
        del self._mounted[one.name]
        for task in one.tasks:
            self._tasks.remove(task)
        if one.plugin.schema is not None:
            self._schemas.remove(one.plugin.schema)

    def _take_back(self, one: MountedPlugin, reason: Message) -> None:
        """Leave out a mounted plug-in, each one that uses it, and what only these needed."""
        if one.name not in self._mounted:
            return
        self._unmount(one)
        self._leave_out(one.name, one.package, reason)
        self._wanted.discard(one.name)
        for other in list(self._mounted.values()):
            if any(used.name == one.name for used in other.plugin.uses) and other.name not in self._own:
                self._take_back(other, Message("plugins.used-left-out", plugin=one.name))
        used = {used.name for other in self._mounted.values() for used in other.plugin.uses}
        for name in set(self._mounted) - self._own - self._wanted - used:
            self._unmount(self._mounted[name])

    def _leave_out(self, name: str, package: str | None, reason: Message | str) -> None:
        self._broken.append(BrokenPlugin(name, package, reason))
        of = f" (package {package})" if package else ""
        _log.warning("the plug-in '%s'%s is left out: %s", name, of, reason)

    def __repr__(self) -> str:
        """The names of the plug-ins."""
        return f"<plug-ins {', '.join(self._mounted) or 'none'}>"


def _listed(wanted: Any) -> list[Any]:
    if isinstance(wanted, (str, Plugin)):
        return [wanted]
    if isinstance(wanted, Iterable):
        return list(wanted)
    raise InvalidOption(Message("plugins.bad-list", value=repr(wanted)))


def _itself(one: Any) -> Any:
    return one


class SettingRefused(InvalidOption):
    """An override of a plug-in's task is not valid. That is not the fault of the plug-in, so it is raised and not left out."""


def _check(plugin: Any, candidate: PluginCandidate) -> None:
    if not isinstance(plugin, Plugin):
        raise InvalidOption(Message("plugins.not-a-plugin", value=f"{plugin!r:.200}", type=type(plugin).__name__))
    if plugin.name != candidate.name:
        raise InvalidOption(Message("plugins.names-differ", entry=candidate.name, plugin=plugin.name))


def _candidates() -> list[PluginCandidate]:
    try:
        return installed()
    except Exception as error:
        reason = _reason(error)

        def fail() -> Any:
            raise InvalidOption(reason)

        return [PluginCandidate("?", None, None, fail)]


def _reason(error: BaseException) -> Message | str:
    if isinstance(error, InvalidOption):
        reason: Message | str = error.args[0]
        return reason
    if isinstance(error, SystemExit):
        return Message("plugins.calls-exit", status=f"{error.code!s:.100}")
    failure = describe(error)
    return f"{failure.type}: {failure.message}" if failure.message else failure.type
