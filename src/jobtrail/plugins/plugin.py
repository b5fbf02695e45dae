"""A plug-in and its parts: tasks, schedules, middleware, channels, routes and commands, not bound to an application."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, NoReturn, TypeVar, overload

from jobtrail.commands.task_handle import BoundTask
from jobtrail.commands.using import NOTHING, Using
from jobtrail.config import Settings
from jobtrail.errors import InvalidOption, UsageError
from jobtrail.job.task import Task, Tasks, choice_option, name_of, name_option
from jobtrail.messages import Message
from jobtrail.worker.middleware import Middleware, declared_options

SCOPES = ("tasks", "application")
ROLES = ("viewer", "operator", "admin")
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,49}")
_PATH = re.compile(r"(/([\w.~-]+|\{[a-z_]\w*\}))+|/")
_F = TypeVar("_F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class PluginMiddleware:
    """A middleware of a plug-in. Its scope is the plug-in's own tasks, or the whole application."""

    function: Middleware
    scope: str


@dataclass(frozen=True, slots=True)
class PluginSchedule:
    """A schedule of a plug-in's task, with the options of ``@jobs.schedule``."""

    task: str
    rule: Any
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PluginChannel:
    """A notification channel of a plug-in: its name and its function."""

    name: str
    function: Callable[..., Any]


@dataclass(frozen=True, slots=True)
class PluginRoute:
    """An HTTP route below the plug-in's own path: method, path, least role, and the function that answers."""

    method: str
    path: str
    role: str
    function: Callable[..., Any]


@dataclass(frozen=True, slots=True)
class PluginCommand:
    """A command ``jobtrail PLUGIN NAME``. Its function takes the application first, then its own options."""

    name: str
    function: Callable[..., Any]


class _UnboundSubmitter:
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

    def __init__(self, task: Task, submitter: _UnboundSubmitter, using: Using = NOTHING) -> None:
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


@dataclass(slots=True, eq=False)
class Plugin:
    """What a package adds to an application, under one name.

    Register it as an entry point of the group ``jobtrail.plugins`` with the same name, or pass it to
    ``JobTrail(plugins=[…])``. Several applications can use the same plug-in.

    Args:
        name: Name: lower-case letters, digits, - and _; it prefixes tasks, routes and commands.
        version: Version; default: the version of the package.
        about: One sentence that describes the plug-in.
        options: Task options for all tasks of the plug-in; the options of a task win.

    Raises:
        InvalidOption: If the name or version is not valid.

    Example:
        ```python
        plugin = Plugin("weather", about="Loads stations and measurements")

        @plugin.task(retry=3)
        def load_station(ctx: Context, *, station: str) -> None: ...
        ```
    """

    name: str
    version: str | None = None
    about: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    tasks: dict[str, PluginTask] = field(default_factory=dict, init=False)
    schedules: list[PluginSchedule] = field(default_factory=list, init=False)
    layers: list[PluginMiddleware] = field(default_factory=list, init=False)
    channels: dict[str, PluginChannel] = field(default_factory=dict, init=False)
    routes: dict[tuple[str, str], PluginRoute] = field(default_factory=dict, init=False)
    commands: dict[str, PluginCommand] = field(default_factory=dict, init=False)
    _unbound: _UnboundSubmitter = field(default_factory=_UnboundSubmitter, init=False, repr=False)
    _sealed: bool = field(default=False, init=False, repr=False)

    def __post_init__(self) -> None:
        """Check name and version."""
        _word(Message("plugins.plugin-name"), self.name)
        if self.version is not None:
            name_option(Message("plugins.version", plugin=self.name), self.version)

    # -- tasks ---------------------------------------------------------------------------------------

    @overload
    def task(self, function: Callable[..., Any], /) -> PluginTask: ...

    @overload
    def task(
        self, function: None = None, /, *, name: str | None = None, **options: Any
    ) -> Callable[[Callable[..., Any]], PluginTask]: ...

    def task(self, function: Callable[..., Any] | None = None, /, *, name: str | None = None, **options: Any) -> Any:
        """Declare a function as the task ``<plug-in>.<name>``.

        Args:
            function: The function, if the decorator is used without parentheses.
            name: Name of the task; default: the function's name.
            **options: Options as for ``@jobs.task``.

        Raises:
            InvalidOption: If an option is not valid or the name is used twice.
        """

        def declare(target: Callable[..., Any]) -> PluginTask:
            self._check_open()
            own = name or name_of(target)
            if own in self.tasks:
                raise InvalidOption(Message("plugins.two-of-a-kind", plugin=self.name, kind="task", name=own))
            given = {**self.options, **options}
            given["aliases"] = tuple(f"{self.name}.{alias}" for alias in given.get("aliases", ()))
            wrappers = [layer.function for layer in self.layers]
            declared = declared_options([*wrappers, *given.get("middleware", ())])
            task = Task.made(f"{self.name}.{name_option(Message('job.task-name'), own)}", target, given, declared)
            self.tasks[own] = PluginTask(self._unbound.tasks.add(task), self._unbound)
            return self.tasks[own]

        return declare(function) if function is not None else declare

    def sealed_tasks(self) -> list[Task]:
        """Return the tasks as an application registers them; after this call nothing can be declared."""
        self._sealed = True
        own = tuple(layer.function for layer in self.layers if layer.scope == "tasks")
        return [replace(one.task, middleware=(*own, *one.task.middleware)) for one in self.tasks.values()]

    def schedule(self, rule: Any, **options: Any) -> Callable[[PluginTask], PluginTask]:
        """Declare a schedule of a task; write it above ``@plugin.task``.

        Args:
            rule: Time rule, as for ``@jobs.schedule``.
            **options: Options as for ``@jobs.schedule``.

        Raises:
            InvalidOption: If it is not above a task of this plug-in.
        """

        def declare(task: PluginTask) -> PluginTask:
            if not isinstance(task, PluginTask) or task not in self.tasks.values():
                raise InvalidOption(Message("plugins.schedule-without-task", plugin=self.name))
            self._check_open()
            self.schedules.append(PluginSchedule(task.name, rule, options))
            return task

        return declare

    # -- around the tasks ----------------------------------------------------------------------------

    @overload
    def middleware(self, function: _F, /) -> _F: ...

    @overload
    def middleware(
        self, function: None = None, /, *, scope: str = "tasks", options: Iterable[str] = ()
    ) -> Callable[[_F], _F]: ...

    def middleware(self, function: Any = None, /, *, scope: str = "tasks", options: Iterable[str] = ()) -> Any:
        """Declare a middleware.

        Args:
            function: The middleware, if the decorator is used without parentheses.
            scope: "tasks" for the tasks of the plug-in, "application" for all tasks.
            options: Names of the task options that the middleware reads; declare it above the tasks that use them.

        Raises:
            InvalidOption: If the scope is not known or the object is not callable.
        """
        choice_option(Message("plugins.middleware-scope"), scope, SCOPES)

        def declare(target: _F) -> _F:
            if not callable(target):
                raise InvalidOption(Message("plugins.not-a-function", plugin=self.name, value=repr(target)))
            self._check_open()
            if options:
                target.options = tuple(options)  # type: ignore[attr-defined]
            self.layers.append(PluginMiddleware(target, scope))
            return target

        return declare(function) if function is not None else declare

    # -- what others mount ---------------------------------------------------------------------------

    def channel(self, name: str) -> Callable[[_F], _F]:
        """Declare a notification channel ``<plug-in>.<name>``.

        Args:
            name: Name of the channel.

        Raises:
            InvalidOption: If the name is not valid or used twice.
        """
        _word(Message("plugins.channel-name"), name)
        twice = Message("plugins.two-of-a-kind", plugin=self.name, kind="channel", name=name)

        def declare(function: _F) -> _F:
            self._add(self.channels, name, PluginChannel(name, function), twice)
            return function

        return declare

    def route(self, path: str, *, method: str = "GET", role: str = "admin") -> Callable[[_F], _F]:
        """Declare an HTTP route below the path of the plug-in.

        Args:
            path: Path such as ``"/stations/{id}"``.
            method: HTTP method.
            role: Lowest role that may call it: viewer, operator or admin.

        Raises:
            InvalidOption: If path, method or role is not valid, or the route is declared twice.
        """
        choice_option(Message("plugins.route-method"), method, METHODS)
        choice_option(Message("plugins.route-role"), role, ROLES)
        if not isinstance(path, str) or not _PATH.fullmatch(path) or {".", ".."} & set(path.split("/")):
            raise InvalidOption(Message("plugins.bad-route", plugin=self.name, path=repr(path)))
        twice = Message("plugins.two-routes", plugin=self.name, method=method, path=path)

        def declare(function: _F) -> _F:
            key = method, re.sub(r"\{\w+\}", "{}", path)
            self._add(self.routes, key, PluginRoute(method, path, role, function), twice)
            return function

        return declare

    def command(self, name: str) -> Callable[[_F], _F]:
        """Declare a command ``jobtrail <plug-in> <name>``.

        The function takes the application first, then the options of the command with annotations.

        Args:
            name: Name of the command.

        Raises:
            InvalidOption: If the name is not valid or used twice.
        """
        _word(Message("plugins.command-name"), name)
        twice = Message("plugins.two-of-a-kind", plugin=self.name, kind="command", name=name)

        def declare(function: _F) -> _F:
            self._add(self.commands, name, PluginCommand(name, function), twice)
            if not any(p.kind is p.POSITIONAL_OR_KEYWORD for p in inspect.signature(function).parameters.values()):
                raise InvalidOption(Message("plugins.command-without-application", plugin=self.name, name=name))
            return function

        return declare

    def _add(self, known: dict[Any, Any], key: Any, value: Any, twice: Message) -> None:
        self._check_open()
        if key in known:
            raise InvalidOption(twice)
        if not callable(value.function):
            raise InvalidOption(Message("plugins.not-a-function", plugin=self.name, value=repr(value.function)))
        known[key] = value

    def _check_open(self) -> None:
        """Refuse a declaration after the mounting: it would be in no application."""
        if self._sealed:
            raise InvalidOption(Message("plugins.mounted-already", plugin=self.name))

    def __repr__(self) -> str:
        """Name and version, for people."""
        return f"<plug-in {self.name}{f' {self.version}' if self.version else ''}>"


def parts_of(plugin: Plugin) -> dict[str, list[str]]:
    """Return the parts of a plug-in by full name."""
    return {
        "tasks": [task.name for task in plugin.tasks.values()],
        "schedules": [f"{one.task}: {one.rule}" for one in plugin.schedules],
        "middleware": [f"{getattr(one.function, '__name__', one.function)} ({one.scope})" for one in plugin.layers],
        "channels": [f"{plugin.name}.{name}" for name in plugin.channels],
        "routes": [f"{one.method} {one.path} ({one.role})" for one in plugin.routes.values()],
        "commands": list(plugin.commands),
    }


def _word(what: Message, value: Any) -> None:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise InvalidOption(Message("plugins.bad-name", what=what, value=repr(value)))
