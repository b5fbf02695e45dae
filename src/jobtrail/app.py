"""The object an application holds: it ties the parts together and forwards in one line each."""

from __future__ import annotations

import contextlib
import functools
import os
import weakref
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, overload

from .commands.job_handle import Job
from .commands.service import Service
from .commands.successors import Next
from .commands.task_handle import BoundTask
from .config import Settings, database_url
from .job.task import Task, Tasks
from .overrides import read as _read_overrides
from .plugins.discovery import asgi as _asgi
from .plugins.plugin import Plugin
from .plugins.registry import Plugins
from .schedules.backfill import backfill, runner
from .schedules.backfill.backfill import BackfillPlan
from .store import Store
from .worker import bulk_runner
from .worker.middleware import Middleware, declared_options
from .worker.runner import runner as _runner

if TYPE_CHECKING:
    from .commands.groups import Group
    from .integrations.prometheus import Metrics
    from .schedules.service import Schedules

_applications: weakref.WeakSet[JobTrail] = weakref.WeakSet()


class JobTrail:
    """Tasks and jobs of one application over one database.

    url: ``sqlite:///jobs.db`` or ``postgresql://…``; default from JOBTRAIL_URL. tracing: True, or an OpenTelemetry
    TracerProvider, has each submission and each attempt traced. Other keywords are `Settings`.
    plugins: "auto" for those of installed packages, which are looked for at the first use; or a list of `Plugin`.
    config: the file that overrides settings and task options; "auto" for the one that JOBTRAIL_CONFIG names; None for none.
    Nothing is connected before the first use, so a module may hold it at import.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        middleware: Sequence[Middleware] = (),
        plugins: str | Iterable[Plugin | str] = "auto",
        config: str | os.PathLike[str] | None = "auto",
        clock: Any = None,
        tracing: Any = None,
        **settings: Any,
    ) -> None:
        self.overrides = _read_overrides(config)
        self.settings = self.overrides.settings(Settings().with_values(**settings))
        self.store = Store(database_url(url), clock=clock)
        self.state = SimpleNamespace()
        self.middleware: list[Middleware] = list(middleware)
        self._tasks = Tasks()
        self._plugins = Plugins(self._tasks, self._overridden, plugins)
        self.service = Service(self.store, self._tasks, self.settings)
        self.service.state = self.state
        if tracing:
            from .worker.tracing import install

            self.service = install(self.service, self.middleware, tracing)
        self._tasks.add(runner.task_of(self.service), own=True)
        self._tasks.add(bulk_runner.task_of(self.service), own=True)
        _applications.add(self)

    # -- tasks ---------------------------------------------------------------------------------------

    @overload
    def task(self, function: Callable[..., Any], /) -> BoundTask: ...

    @overload
    def task(self, function: None = None, /, *, name: str | None = None, **options: Any) -> Callable[[Callable[..., Any]], BoundTask]: ...

    def task(self, function: Callable[..., Any] | None = None, /, *, name: str | None = None, **options: Any) -> Any:
        """Register a function as a task; options are the fields of `Task` (kind, retry, timeout, queue, …).

        Raises: InvalidOption for an option that there is not or cannot be.
        """

        def register(target: Callable[..., Any]) -> BoundTask:
            declared = self._declared(options)
            made = Task.made(name or target.__name__, target, options, declared)
            if any(self._tasks.find(one) is not None for one in (made.name, *made.aliases)):
                self._plugins.give_way(made)
            return BoundTask(self._tasks.add(self._overridden(made, declared)), self.service)

        return register(function) if function is not None else register

    def _declared(self, options: Mapping[str, Any]) -> set[str]:
        """The options that middleware reads; installed plug-ins are asked only for one that nobody else knows."""
        declared = declared_options([*self.middleware, *options.get("middleware", ())])
        if Task.unknown_options(options, declared):
            declared |= declared_options(self.plugins.middleware())
        return declared

    def _overridden(self, task: Task, declared: Iterable[str]) -> Task:
        return self.overrides.applied(task, {*declared, *declared_options(self.middleware)})

    @property
    def tasks(self) -> Tasks:
        """All tasks by name, those of plug-ins among them.

        Raises: InvalidOption for what is set from outside and cannot be.
        """
        self._plugins.load()
        return self._tasks

    @property
    def plugins(self) -> Plugins:
        """The plug-ins by name, and in ``plugins.broken`` those that had to be left out.

        Raises: InvalidOption for what is set from outside and cannot be.
        """
        self._plugins.load()
        return self._plugins

    def schedule(
        self, rule: Any, *, tz: Any = None, name: str | None = None, **options: Any
    ) -> Callable[[BoundTask], BoundTask]:
        """Make jobs of a task by the clock; stands above ``@jobs.task``. ``options`` are the words of `Definition`.

        rule: cron text ("0 3 * * *"), "every 5 minutes", a timedelta, a datetime, or what `every`, `at` and
        `calendar` give; ``tz``: its zone, else UTC. ``name``: the task's own unless another is given.

        Raises: InvalidSchedule, InvalidArguments with what is wrong; nothing is stored before a worker starts.
        """

        def declare(task: BoundTask) -> BoundTask:
            self.schedules.declare(task, rule, name=name, tz=tz, **options)
            return task

        return declare

    @functools.cached_property
    def schedules(self) -> Schedules:
        """The schedules: declared ones, and those that are stored, to be looked at and steered."""
        from .schedules.service import Schedules

        return Schedules(self.service, lambda: self.plugins.schedules())  # noqa: PLW0108 - plug-ins are looked for later

    def task_named(self, name: str) -> BoundTask:
        """A registered task by its name, to be submitted.

        Raises: UnknownTask.
        """
        return BoundTask(self.tasks.get(name), self.service)

    def enqueue_each(self, submissions: Iterable[tuple[BoundTask, Mapping[str, Any]]]) -> list[Job]:
        """Submit different jobs in one transaction, all or none: pairs of ``task.using(…)`` and its arguments."""
        return self.service.submit_each(task.submission(args) for task, args in submissions)

    def group(
        self,
        members: Iterable[tuple[BoundTask, Mapping[str, Any]]],
        *,
        then: BoundTask | None = None,
        params: Mapping[str, Any] | None = None,
        on: Any = "any",
        name: str | None = None,
        **said: Any,
    ) -> Group:
        """Submit many jobs, all or none, and one that follows when all of them have ended (at once if there are none).

        ``members`` as for `enqueue_each`; a submission that another job stands for makes that one a member. ``on``: the
        outcome of the whole that ``then`` follows: success, partial, failure, any. ``result_as=`` names the argument that
        takes the list of results; ``when=``, ``source=``, ``period=``, ``file=`` as in `BoundTask.then`.
        """
        from .commands.groups import open_group

        following = None if then is None else Next(*then._to_follow(), params, on, **said)
        return open_group(self.service, members, following, name=name)

    # -- jobs ----------------------------------------------------------------------------------------

    def get(self, job_id: str) -> Job:
        """A job by its id or any unique ending of it."""
        return self.service.get(job_id)

    def find(self, text: str = "", *, limit: int = 100, before: str | None = None) -> list[Job]:
        """Jobs that a filter names, newest first: ``status:failed source:weather/*``."""
        return self.service.find(text, limit=limit, before=before)

    def forget_answers(self, task: BoundTask | str, source: str | None = None, question: str | None = None) -> int:
        """Answers remembered for a task and source (``ask(remember=True)``) no longer hold, all or one; how many they were."""
        from .commands.answers import forget

        self.service.make_ready()
        return forget(self.store, task if isinstance(task, str) else task.name, source, question)

    # -- backfill ------------------------------------------------------------------------------------

    def backfill_plan(self, task: BoundTask | str, **selection: Any) -> BackfillPlan:
        """What a backfill would do now: first=, last=, sources=, step=, only=, order=, args=, mode=. Reads alone.

        Raises: UnknownTask, InvalidPeriod, InvalidOption, InvalidArguments.
        """
        return backfill.plan(self.service, self.task_named(task) if isinstance(task, str) else task, **selection)

    def backfill(self, task: BackfillPlan | BoundTask | str, **options: Any) -> Job:
        """Submit the job that fills a plan, or what `backfill_plan` makes of the same words: parallel=, actor=, reason=.

        Raises: as `backfill_plan`; AlreadyActive where one of the same task and range goes on with other options.
        """
        return backfill.submit(self.service, self.task_named(task) if isinstance(task, str) else task, **options)

    # -- life ----------------------------------------------------------------------------------------

    def migrate(self) -> bool:
        """Create or upgrade the tables; True when something was done."""
        return self.service.migrate()

    def worker(self, **options: Any) -> Any:
        """A worker for these tasks; ``queues=`` and ``slots=`` as in `Worker`."""
        middleware = [*self.middleware, *self.plugins.middleware()]
        self.overrides.warn_of_unknown(self.tasks.find)
        return self.schedules.accompany(_runner(self.service, middleware, self.state, **options))

    @contextlib.asynccontextmanager
    async def running(self, **options: Any) -> AsyncIterator[JobTrail]:
        """Work on the host's event loop while the block goes on; drains at its end."""
        async with self.service.running(self.worker(**options)):
            yield self

    @contextlib.asynccontextmanager
    async def lifespan(self, _host: Any = None) -> AsyncIterator[None]:
        """For ``FastAPI(lifespan=jobs.lifespan)``: a worker for the life of the host."""
        async with self.running():
            yield

    def stop(self, timeout: float | None = None) -> bool:
        """Stop the workers of this process in order; with ``timeout`` (seconds) wait for them, from another thread."""
        return self.service.stop(timeout)

    def asgi(self, **options: Any) -> Any:
        """API and console as an ASGI application, to be mounted or served; ``options`` as for `jobtrail.api.create_api`.

        Raises: InvalidOption, also where the extra ``jobtrail[api]`` is not installed.
        """
        return _asgi(self, **options)

    def metrics(self) -> Metrics:
        """What Prometheus reads about this application; the first call, before a worker starts, has its runs measured."""
        from .integrations.prometheus import metrics_of

        return metrics_of(self.service, self.middleware)

    def close(self) -> None:
        """Close all connections."""
        self.store.close()


def _after_fork_in_child() -> None:
    for application in list(_applications):
        application.service.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
