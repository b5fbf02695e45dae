"""The object an application holds: it ties the parts together and forwards in one line each."""

from __future__ import annotations

import contextlib
import os
import weakref
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, overload

from .config import Settings, database_url
from .engine.handle import BoundTask, Job
from .engine.middleware import Middleware, declared_options
from .engine.service import Service
from .engine.service import runner as _runner
from .job.task import Task, Tasks
from .store import Store

if TYPE_CHECKING:
    from .engine.metrics import Metrics

_applications: weakref.WeakSet[JobTrail] = weakref.WeakSet()


class JobTrail:
    """Tasks and jobs of one application over one database.

    url: ``sqlite:///jobs.db`` or ``postgresql://…``; default from JOBTRAIL_URL. tracing: True, or an OpenTelemetry
    TracerProvider, has each submission and each attempt traced. Other keywords are `Settings`.
    Nothing is connected before the first use, so a module may hold it at import.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        middleware: Sequence[Middleware] = (),
        clock: Any = None,
        tracing: Any = None,
        **settings: Any,
    ) -> None:
        self.settings = Settings().with_values(**settings)
        self.store = Store(database_url(url), clock=clock)
        self.tasks = Tasks()
        self.state = SimpleNamespace()
        self.middleware: list[Middleware] = list(middleware)
        self.service = Service(self.store, self.tasks, self.settings)
        self.service.state = self.state
        if tracing:
            from .engine.tracing import install

            self.service = install(self.service, self.middleware, tracing)
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
            declared = declared_options([*self.middleware, *options.get("middleware", ())])
            made = Task.made(name or target.__name__, target, options, declared)
            return BoundTask(self.tasks.add(made), self.service)

        return register(function) if function is not None else register

    def task_named(self, name: str) -> BoundTask:
        """A registered task by its name, to be submitted.

        Raises: UnknownTask.
        """
        return BoundTask(self.tasks.get(name), self.service)

    def enqueue_each(self, submissions: Iterable[tuple[BoundTask, Mapping[str, Any]]]) -> list[Job]:
        """Submit different jobs in one transaction, all or none: pairs of ``task.using(…)`` and its arguments."""
        return self.service.submit_each(task.submission(args) for task, args in submissions)

    # -- jobs ----------------------------------------------------------------------------------------

    def get(self, job_id: str) -> Job:
        """A job by its id or any unique ending of it."""
        return self.service.get(job_id)

    def find(self, text: str = "", *, limit: int = 100, before: str | None = None) -> list[Job]:
        """Jobs that a filter names, newest first: ``status:failed source:weather/*``."""
        return self.service.find(text, limit=limit, before=before)

    # -- life ----------------------------------------------------------------------------------------

    def migrate(self) -> bool:
        """Create or upgrade the tables; True when something was done."""
        return self.service.migrate()

    def worker(self, **options: Any) -> Any:
        """A worker for these tasks; ``queues=`` and ``slots=`` as in `Worker`."""
        return _runner(self.service, self.middleware, self.state, **options)

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

    def metrics(self) -> Metrics:
        """What Prometheus reads about this application; the first call, before a worker starts, has its runs measured."""
        from .engine.metrics import metrics_of

        return metrics_of(self.service, self.middleware)

    def close(self) -> None:
        """Close all connections."""
        self.store.close()


def _after_fork_in_child() -> None:
    for application in list(_applications):
        application.service.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
