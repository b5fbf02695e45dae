"""`JobTrail`, the object of an application: it ties the parts together and forwards each call."""

from __future__ import annotations

import contextlib
import functools
import os
import weakref
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar

from .application_jobs import ApplicationJobs
from .async_twin import async_twin
from .commands.service import Service
from .commands.task_handle import BoundTask
from .config import Settings, database_url
from .executors.hooks import BodyHook, Hooks, WorkerHook
from .executors.registry import Executors
from .history import History
from .job.task import Task, Tasks, name_of
from .messages import tr
from .overrides import read as _read_overrides
from .plugins.discovery import asgi as _asgi
from .plugins.plugin import Plugin
from .plugins.registry import Plugins
from .schedules.backfill import runner
from .store import Store
from .task_registration import TaskRegistration
from .worker import bulk_runner
from .worker.middleware import Middleware, declared_options

if TYPE_CHECKING:
    from .executors.base import Executor, HandingOver
    from .integrations.prometheus import Metrics
    from .queries.facade import Queries
    from .schedules.service import Schedules
    from .worker.handed.host import JobHost

T = TypeVar("T", bound=BoundTask)
_applications: weakref.WeakSet[JobTrail] = weakref.WeakSet()


class JobTrail(TaskRegistration, ApplicationJobs, History):
    """Tasks and jobs of one application in one database.

    Nothing is connected before the first use, so a module can create it at import. Two objects in one process are
    independent.

    Args:
        url: ``sqlite:///jobs.db`` or ``postgresql://…``; default: ``JOBTRAIL_URL``, else ``sqlite:///jobs.db``.
        executor: Executor of tasks that name none: its name, or an object such as `CeleryExecutor`.
        executors: Other executors, for tasks that name them.
        middleware: Functions around each task function, outermost first; see `Middleware`.
        plugins: "auto" for the plug-ins of installed packages, looked for at the first use; or a list of `Plugin` (and "auto").
        config: File that overrides settings and task options; "auto" for the file that ``JOBTRAIL_CONFIG`` names; None
            for none.
        clock: Object with ``now()``, for tests (`jobtrail.testing.MovableClock`).
        around_body: Function that gets a `Task` and returns a context manager (for coroutine functions also an async one),
            entered around each call of a task function, in its own thread, asyncio task or child process.
        on_worker_start: Async function, awaited on the event loop of a worker before it claims its first job. What it raises
            ends the worker.
        on_worker_stop: Async function, awaited after the last task function has ended, at most ``hook_timeout`` seconds.
        tracing: True, or an OpenTelemetry TracerProvider, to trace submissions and attempts.
        **settings: Fields of `Settings`.

    Attributes:
        state: Place for the application's own services; a task function reads it as ``ctx.state``.

    Raises:
        InvalidOption: If a setting is not valid.

    Example:
        ```python
        jobs = JobTrail("sqlite:///jobs.db")

        @jobs.task(kind="sync", retry=3)
        def sync_weather(ctx: Context, *, airport: str) -> dict: ...

        sync_weather.using(source="weather/EWR", period="2013-02").enqueue(airport="EWR")
        ```
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        executor: str | Executor | HandingOver = "local",
        executors: Iterable[Executor | HandingOver] = (),
        middleware: Sequence[Middleware] = (),
        plugins: str | Iterable[Plugin | str] = "auto",
        config: str | os.PathLike[str] | None = "auto",
        clock: Any = None,
        tracing: Any = None,
        around_body: BodyHook | None = None,
        on_worker_start: WorkerHook | None = None,
        on_worker_stop: WorkerHook | None = None,
        **settings: Any,
    ) -> None:
        self.overrides = _read_overrides(config)
        given = [*executors, *([] if isinstance(executor, str) else [executor])]
        settings["executor"] = getattr(executor, "name", executor)
        self.settings = self.overrides.settings(Settings().with_values(**settings))
        pooler, notify_url = self.settings.pooler, self.settings.notify_url
        self.store = Store(database_url(url), clock=clock, pooler=pooler, notify_url=notify_url)
        self.middleware: list[Middleware] = list(middleware)
        self._tasks = Tasks()
        self.service = Service(self.store, self._tasks, self.settings)
        self.service.state = self.state = SimpleNamespace()
        self.executors = Executors(self.settings.executor, given, self.overrides.options_of_executor, self)
        self.service.plugins_before_removal = lambda cause: self.plugins.before_removal(cause)  # noqa: PLW0108 - plug-ins are looked for later
        self._plugins = Plugins(self._tasks, self._overridden, plugins, application=self, schemas=self.service.schemas)
        if tracing:
            from .integrations.opentelemetry import install

            self.service = install(self.service, self.middleware, tracing)
        self.service.hooks = Hooks(around_body, on_worker_start, on_worker_stop)
        for own in (runner.task_of(self.service), bulk_runner.task_of(self.service)):
            self._tasks.add(self.executors.resolved_own(own), own=True)
        _applications.add(self)

    # -- tasks ---------------------------------------------------------------------------------------

    def _register(self, function: Callable[..., Any], name: str | None, options: dict[str, Any]) -> BoundTask:
        declared = self._declared(options)
        made = Task.made(name or name_of(function), function, options, declared)
        if any(self._tasks.find(one) is not None for one in (made.name, *made.aliases)):
            self._plugins.give_way(made)
        return BoundTask(self._tasks.add(self._overridden(made, declared)), self.service)

    def _declared(self, options: Mapping[str, Any]) -> set[str]:
        """The options that middleware reads; plug-ins are asked only if nobody else knows an option."""
        declared = declared_options([*self.middleware, *options.get("middleware", ())])
        if Task.unknown_options(options, declared):
            declared |= declared_options(self.plugins.middleware())
        return declared

    def _overridden(self, task: Task, declared: Iterable[str]) -> Task:
        resolved, declared = self.executors.resolved, {*declared, *declared_options(self.middleware)}
        return resolved(self.overrides.applied(resolved(task), declared))

    @property
    def tasks(self) -> Tasks:
        """All tasks by name, those of plug-ins included.

        Raises:
            InvalidOption: If an override from jobtrail.toml or the environment is not valid.
        """
        self._plugins.load()
        return self._tasks

    @property
    def plugins(self) -> Plugins:
        """The plug-ins by name; ``plugins.broken`` lists those that were left out.

        Raises:
            InvalidOption: If an override from jobtrail.toml or the environment is not valid.
        """
        self._plugins.load()
        return self._plugins

    def __getattr__(self, name: str) -> Any:
        """Return the service of the plug-in of this name.

        Raises:
            AttributeError: If no such plug-in is mounted, or it has no service.
        """
        if hasattr(type(self), name):
            return object.__getattribute__(self, name)  # a property that raised AttributeError raises it again
        if not name.startswith("_"):
            one = self.plugins.get(name)
            if one is not None and one.plugin.make_service is not None:
                return one.service
            broken = [one.reason for one in self.plugins.broken if one.name == name]
            if broken:
                raise AttributeError(tr("plugins.service-left-out", name=name, why=broken[0]), name=name, obj=self)
        raise AttributeError(tr("plugins.no-attribute", name=name), name=name, obj=self)

    def schedule(
        self, rule: Any, *, tz: Any = None, name: str | None = None, **options: Any
    ) -> Callable[[T], T]:
        """Create jobs of a task by the clock; use it as a decorator above ``@jobs.task``.

        Nothing is stored before a worker starts.

        Args:
            rule: Cron text ("0 3 * * *"), "every 5 minutes", a timedelta, a datetime, or the result of `every`, `at`, `cron`
                or `calendar_interval`.
            tz: Time zone of the rule; default: UTC.
            name: Name of the schedule; default: the name of the task.
            **options: Options of the schedule: ``args``, ``source``, ``period``, ``catch_up``, ``overlap``, ….

        Raises:
            InvalidSchedule: If the rule or an option is not valid.
            InvalidArguments: If ``args`` do not fit the task.
        """

        def declare(task: T) -> T:
            self.schedules.declare(task, rule, name=name, tz=tz, **options)
            return task

        return declare

    @functools.cached_property
    def schedules(self) -> Schedules:
        """The declared and the stored schedules."""
        from .schedules.service import Schedules

        return Schedules(self.service, lambda: self.plugins.schedules())  # noqa: PLW0108 - plug-ins are looked for later

    @functools.cached_property
    def queries(self) -> Queries:
        """Everything that people read, as typed answers with secrets masked: what the API and ``--json`` return."""
        from .queries.facade import Queries

        return Queries.of(self.service, lambda: self.tasks, lambda: self.schedules)

    def task_named(self, name: str) -> BoundTask:
        """Return a registered task.

        Args:
            name: Name of the task, or a former name (alias).

        Raises:
            UnknownTask: If no task has this name.
        """
        return BoundTask(self.tasks.get(name), self.service)

    # -- life ----------------------------------------------------------------------------------------

    def migrate(self) -> bool:
        """Create or upgrade the tables, also those of plug-ins.

        Returns:
            True if something was changed.
        """
        self._plugins.load()
        return self.service.migrate()

    def make_ready(self) -> None:
        """Create or upgrade the tables where that is automatic; a service of a plug-in calls it before its first statement.

        Raises:
            SchemaMismatch: If a schema does not fit this program.
            StoreUnavailable: If the database is not reachable.
        """
        self._plugins.load()
        self.service.make_ready()

    def worker(self, **options: Any) -> Any:
        """Return a worker.

        Args:
            **options: ``queues`` (names, or name to slots), ``slots`` and ``beat``, as for `Worker`.

        Example:
            ```python
            asyncio.run(jobs.worker(queues=["default"], slots=5).run())
            ```
        """
        from .hosting import worker_of

        return worker_of(self, **options)

    def host(self, actor: str, **options: Any) -> JobHost:
        """Return what runs handed over jobs in a process of another system.

        Args:
            actor: Name of the executor, for the trail.
            **options: ``slots``, ``leads``, ``interrupts``, ``ends_process`` and ``patience``, as for `jobtrail.hosting.host_of`.
        """
        from .hosting import host_of

        return host_of(self, actor, **options)

    @contextlib.asynccontextmanager
    async def running(self, **options: Any) -> AsyncIterator[JobTrail]:
        """Run a worker on the current event loop for the duration of an ``async with`` block.

        At the end of the block the worker waits for running jobs, at most ``graceful_shutdown_timeout`` seconds.

        Args:
            **options: As for `worker`.
        """
        async with self.service.running(self.worker(**options)):
            yield self

    @contextlib.asynccontextmanager
    async def lifespan(self, _host: Any = None) -> AsyncIterator[None]:
        """Run a worker while an ASGI application runs: ``FastAPI(lifespan=jobs.lifespan)``."""
        async with self.running():
            yield

    def stop(self, timeout: float | None = None) -> bool:
        """Stop the workers of this process after their running jobs.

        Args:
            timeout: Longest wait in seconds; None to return at once.

        Returns:
            True if no worker runs any more.
        """
        return self.service.stop(timeout)

    def asgi(self, **options: Any) -> Any:
        """Return API and console as an ASGI application.

        Args:
            **options: As for `jobtrail.api.create_api`: ``login``, ``tokens``, ``prefix``, ….

        Raises:
            InvalidOption: If an option is not valid, or the extra ``jobtrail[api]`` is not installed.
        """
        return _asgi(self, **options)

    def metrics(self) -> Metrics:
        """Return the metrics of this application for Prometheus. Call it before a worker starts, so that its runs are measured."""
        from .integrations.prometheus import metrics_of

        return metrics_of(self.service, self.middleware)

    def close(self) -> None:
        """Close the services of plug-ins, then all connections."""
        self._plugins.close()
        self.store.close()

    amigrate = async_twin(migrate)
    amake_ready = async_twin(make_ready)
    astop = async_twin(stop)
    aclose = async_twin(close)


def _after_fork_in_child() -> None:
    for application in list(_applications):
        application.service.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
