"""The worker of an application, from its service and its settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .worker import Worker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobtrail.commands.service import Service

    from .middleware import Middleware


def runner(
    service: Service,
    middleware: Sequence[Middleware],
    state: Any,
    *,
    slots: int | None = None,
    end_blocked: bool | None = None,
    **options: Any,
) -> Worker:
    """A worker for an application; ``queues`` as in `Worker`, ``slots`` and ``end_blocked`` instead of the settings."""
    given = {"slots": slots, "end_blocked": end_blocked}
    settings = service.settings.with_values(**{name: value for name, value in given.items() if value is not None})
    return Worker(service.store, service.tasks, settings, middleware=middleware, state=state, **options)
