"""A plug-in and its parts: tasks, schedules, middleware, channels, routes and commands, not bound to an application."""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

from jobtrail.database import migration
from jobtrail.errors import InvalidOption
from jobtrail.job.task import Task, choice_option, name_of, name_option, seconds_option
from jobtrail.messages import Message
from jobtrail.worker.middleware import declared_options

from .parts import (
    PluginChannel,
    PluginCommand,
    PluginLoop,
    PluginMiddleware,
    PluginPage,
    PluginRemoval,
    PluginRoute,
    PluginSchedule,
    PluginTopic,
    page_file,
)
from .plugin_task import PluginTask, UnboundSubmitter

if TYPE_CHECKING:
    from sqlalchemy import MetaData

SCOPES = ("tasks", "application")
ROLES = ("viewer", "operator", "admin")
SHORTEST_LOOP = 0.01  # seconds
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,49}")
_PATH = re.compile(r"(/([\w.~-]+|\{[a-z_]\w*\}))+|/")
_MODULE = re.compile(r"[\w-][\w./-]*\.m?js")
_F = TypeVar("_F", bound=Callable[..., Any])


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
        uses: Plug-ins that this one needs: an application that mounts it mounts them too, each once.

    Raises:
        InvalidOption: If the name, the version or ``uses`` is not valid.

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
    uses: Sequence[Plugin] = ()
    tasks: dict[str, PluginTask] = field(default_factory=dict, init=False)
    schedules: list[PluginSchedule] = field(default_factory=list, init=False)
    layers: list[PluginMiddleware] = field(default_factory=list, init=False)
    channels: dict[str, PluginChannel] = field(default_factory=dict, init=False)
    routes: dict[tuple[str, str, bool], PluginRoute] = field(default_factory=dict, init=False)
    commands: dict[str, PluginCommand] = field(default_factory=dict, init=False)
    topics: dict[str, PluginTopic] = field(default_factory=dict, init=False)
    pages: dict[str, PluginPage] = field(default_factory=dict, init=False)
    loops: dict[str, PluginLoop] = field(default_factory=dict, init=False)
    removals: list[PluginRemoval] = field(default_factory=list, init=False)
    schema: migration.OwnedSchema | None = field(default=None, init=False)
    make_service: Callable[[Any], Any] | None = field(default=None, init=False)
    _unbound: UnboundSubmitter = field(default_factory=UnboundSubmitter, init=False, repr=False)
    _sealed: bool = field(default=False, init=False, repr=False)

    def __post_init__(self) -> None:
        """Check name, version and what it uses."""
        _word(Message("plugins.plugin-name"), self.name)
        if self.version is not None:
            name_option(Message("plugins.version", plugin=self.name), self.version)
        self.uses = tuple(self.uses)
        for one in self.uses:
            if not isinstance(one, Plugin):
                raise InvalidOption(Message("plugins.bad-uses", plugin=self.name, value=repr(one)))

    # -- tasks ---------------------------------------------------------------------------------------

    @overload
    def task(self, function: Callable[..., Any], /) -> PluginTask: ...

    @overload
    def task(
        self, function: None = None, /, *, name: str | None = None, plain: bool = False, **options: Any
    ) -> Callable[[Callable[..., Any]], PluginTask]: ...

    def task(
        self,
        function: Callable[..., Any] | None = None,
        /,
        *,
        name: str | None = None,
        plain: bool = False,
        **options: Any,
    ) -> Any:
        """Declare a function as the task ``<plug-in>.<name>``.

        Args:
            function: The function, if the decorator is used without parentheses.
            name: Name of the task; default: the function's name.
            plain: The task and its aliases stand without the name of the plug-in before theirs.
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
            prefix = "" if plain else f"{self.name}."
            given["aliases"] = tuple(f"{prefix}{alias}" for alias in given.get("aliases", ()))
            wrappers = [layer.function for layer in self.layers]
            declared = declared_options([*wrappers, *given.get("middleware", ())])
            task = Task.made(f"{prefix}{name_option(Message('job.task-name'), own)}", target, given, declared)
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

    def route(
        self,
        path: str,
        *,
        method: str = "GET",
        role: str = "admin",
        plain: bool = False,
        accepts: str | None = None,
        audit: bool = True,
    ) -> Callable[[_F], _F]:
        """Declare an HTTP route below the path of the plug-in.

        The function takes the application, then the parameters of the path, a JSON body if a parameter is annotated with a
        pydantic model, the parameters of the query, and ``identity`` (who calls) if it names it.

        Args:
            path: Path such as ``"/stations/{id}"``.
            method: HTTP method.
            role: Lowest role that may call it: viewer, operator or admin.
            plain: The path stands below ``/api`` itself.
            accepts: Kind of thing, such as ``"module"``: a token bound to ``module:parser`` may call it where the parameter
                ``name`` of the path is ``parser``, and nothing else.
            audit: Record each call that may change something in the audit; not for calls that come every second.

        Raises:
            InvalidOption: If path, method or role is not valid, or the route is declared twice.
        """
        choice_option(Message("plugins.route-method"), method, METHODS)
        choice_option(Message("plugins.route-role"), role, ROLES)
        if not isinstance(path, str) or not _PATH.fullmatch(path) or {".", ".."} & set(path.split("/")):
            raise InvalidOption(Message("plugins.bad-route", plugin=self.name, path=repr(path)))
        if plain and path[1:2] in {"", "{"}:
            raise InvalidOption(Message("plugins.bad-plain-route", plugin=self.name, path=repr(path)))
        if accepts is not None:
            _word(Message("plugins.accepts"), accepts)
            if "{name}" not in path:
                raise InvalidOption(
                    Message("plugins.accepts-without-name", plugin=self.name, path=path, accepts=accepts)
                )
        twice = Message("plugins.two-routes", plugin=self.name, method=method, path=path)

        def declare(function: _F) -> _F:
            key = method, re.sub(r"\{\w+\}", "{}", path), plain
            self._add(self.routes, key, PluginRoute(method, path, role, function, plain, accepts, audit), twice)
            return function

        return declare

    def command(self, name: str, *, plain: bool = False) -> Callable[[_F], _F]:
        """Declare a command ``jobtrail <plug-in> <name>``.

        The function takes the application first, then the options of the command with annotations.

        Args:
            name: Name of the command.
            plain: The command is ``jobtrail <name>``.

        Raises:
            InvalidOption: If the name is not valid or used twice.
        """
        _word(Message("plugins.command-name"), name)
        if plain and name == self.name:
            raise InvalidOption(Message("plugins.command-of-plugin", plugin=self.name))
        twice = Message("plugins.two-of-a-kind", plugin=self.name, kind="command", name=name)

        def declare(function: _F) -> _F:
            self._add(self.commands, name, PluginCommand(name, function, plain), twice)
            if not any(p.kind is p.POSITIONAL_OR_KEYWORD for p in inspect.signature(function).parameters.values()):
                raise InvalidOption(Message("plugins.command-without-application", plugin=self.name, name=name))
            return function

        return declare

    # -- in the console --------------------------------------------------------------------------------

    def live_topic(self, name: str, *, role: str = "viewer") -> Callable[[_F], _F]:
        """Declare a live topic ``<plug-in>.<name>``.

        The function takes the application and a parameter (a text, empty if none is given) and returns a JSON value. It is
        called every second while somebody listens, once for all who give the same parameter; what has changed is sent.

        Args:
            name: Name of the topic.
            role: Lowest role that may listen: viewer, operator or admin.

        Raises:
            InvalidOption: If the name or role is not valid, or the topic is declared twice.
        """
        _word(Message("plugins.topic-name"), name)
        choice_option(Message("plugins.topic-role"), role, ROLES)
        twice = Message("plugins.two-of-a-kind", plugin=self.name, kind="topic", name=name)

        def declare(function: _F) -> _F:
            if inspect.iscoroutinefunction(function):
                raise InvalidOption(Message("plugins.async-topic", plugin=self.name, name=name))
            self._add(self.topics, name, PluginTopic(name, role, function), twice)
            return function

        return declare

    def page(
        self,
        name: str,
        *,
        title: Mapping[str, str],
        module: str,
        role: str = "viewer",
        strip: bool = False,
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        """Add a page to the console: an ES module with ``export function mount(element, host)``.

        Args:
            name: Name of the page, in its address.
            title: Title by language: ``{"en": "Modules", "ru": "Модули"}``; English is needed.
            module: File name of the module, in ``folder`` or below.
            role: Lowest role that sees it: viewer, operator or admin.
            strip: The module also exports ``strip(element, host)`` for the overview page.
            folder: Folder with the module and the files that it loads; default: that of the file that calls.

        Raises:
            InvalidOption: If an argument is not valid, the module is not there, or the page is declared twice.
        """
        self._check_open()
        _word(Message("plugins.page-name"), name)
        choice_option(Message("plugins.page-role"), role, ROLES)
        if name in self.pages:
            raise InvalidOption(Message("plugins.two-of-a-kind", plugin=self.name, kind="page", name=name))
        for text in (title.get("en"), *title.values()):
            name_option(Message("plugins.page-title", plugin=self.name, name=name), text)
        place = Path(sys._getframe(1).f_code.co_filename).parent if folder is None else Path(folder)
        if not _MODULE.fullmatch(module) or not page_file(place, module):
            raise InvalidOption(Message("plugins.no-module", plugin=self.name, name=name, module=module))
        self.pages[name] = PluginPage(name, dict(title), place.resolve(), module, role, strip)

    # -- what it keeps and offers --------------------------------------------------------------------

    @property
    def prefix(self) -> str:
        """How the names of its tables begin."""
        return f"{self.name.replace('-', '_')}_"

    def tables(self, metadata: MetaData, migrations: str, head: str) -> None:
        """Declare the tables of the plug-in; they are created and upgraded with jobtrail's own.

        Args:
            metadata: The tables; each name begins with ``<plug-in>_``, where - is written as _.
            migrations: Package with a folder ``versions`` of Alembic versions, ``0001_first.py``.
            head: The newest version; the version of a database is kept in the table ``<plug-in>_schema``.

        Raises:
            InvalidOption: If a name is not the plug-in's, or the package or its newest version is not there.
        """
        self._check_open()
        if self.schema is not None:
            raise InvalidOption(Message("plugins.declared-already", plugin=self.name, what="tables"))
        self.schema = migration.schema_of_package(self.name, self.prefix, metadata, migrations, head)

    def service(self, function: _F) -> _F:
        """Declare what the plug-in offers in an application: ``jobs.<plug-in>``; use it as a decorator.

        Args:
            function: Called with the application, once for each, at the first use; it returns the service.

        Raises:
            InvalidOption: If it is not a function, or there is one already.
        """
        self._check_open()
        if not callable(function):
            raise InvalidOption(Message("plugins.not-a-function", plugin=self.name, value=repr(function)))
        if self.make_service is not None:
            raise InvalidOption(Message("plugins.declared-already", plugin=self.name, what="service"))
        self.make_service = function
        return function

    def loop(self, *, every: float = 1.0, leader: bool = True) -> Callable[[_F], _F]:
        """Declare a function that is repeated in a thread of its own beside every worker.

        The function takes the application. If it raises, this is logged once, repeated with a growing pause, and shown by
        ``jobtrail doctor``.

        Args:
            every: Seconds between two turns, at least 0.01.
            leader: Only the worker that holds the lease ``plugin:<plug-in>:<function>`` runs it.

        Raises:
            InvalidOption: If ``every`` is no such number, or the function is ``async def`` or declared twice.
        """
        seconds = seconds_option("every", every)
        if seconds is None or seconds < SHORTEST_LOOP:
            raise InvalidOption(Message("plugins.loop-too-short", least=SHORTEST_LOOP, every=repr(every)))

        def declare(function: _F) -> _F:
            if inspect.iscoroutinefunction(function):
                raise InvalidOption(Message("plugins.async-loop", plugin=self.name, name=name_of(function)))
            name = name_of(function) if callable(function) else ""
            twice = Message("plugins.two-of-a-kind", plugin=self.name, kind="loop", name=name)
            self._add(self.loops, name, PluginLoop(name, seconds, leader, function), twice)
            return function

        return declare

    def before_removal(self, *, retention: bool = True) -> Callable[[_F], _F]:
        """Declare a function that is called before ended jobs are removed, with the application and a `Removal`.

        Args:
            retention: Call it also for what retention removes, not only for what a person deletes.

        Raises:
            InvalidOption: If it is not a function.
        """

        def declare(function: _F) -> _F:
            self._check_open()
            if not callable(function):
                raise InvalidOption(Message("plugins.not-a-function", plugin=self.name, value=repr(function)))
            self.removals.append(PluginRemoval(function, retention))
            return function

        return declare

    def plain_routes(self) -> list[PluginRoute]:
        """Return the routes without the prefix of the plug-in."""
        return [route for route in self.routes.values() if route.plain]

    def plain_commands(self) -> list[PluginCommand]:
        """Return the commands without the prefix of the plug-in."""
        return [command for command in self.commands.values() if command.plain]

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
        "loops": [f"{plugin.name}.{name}" for name in plugin.loops],
        "topics": [f"{plugin.name}.{name}" for name in plugin.topics],
        "pages": list(plugin.pages),
        "tables": sorted(plugin.schema.metadata.tables) if plugin.schema and plugin.schema.metadata else [],
        "uses": [one.name for one in plugin.uses],
    }


def _word(what: Message, value: Any) -> None:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise InvalidOption(Message("plugins.bad-name", what=what, value=repr(value)))
