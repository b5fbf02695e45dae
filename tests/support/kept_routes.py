"""Routes of the API that are made once for many tests: FastAPI takes longer to make them than most tests take to ask them."""

from __future__ import annotations

import inspect
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest import mock

from jobtrail.api import server
from jobtrail.api.context import ApiContext
from jobtrail.api.live import connections
from jobtrail.api.routes import plugins

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jobtrail import JobTrail

OWN = {connections, plugins}  # the sockets that are open, and what the application's plug-ins add


class KeptContext(ApiContext):
    """A context with the routes that were made for it; `bind` gives it to another application."""

    def __init__(self) -> None:
        self.routers: dict[Any, Any] = {}

    def bind(self, jobs: JobTrail, access: Any) -> KeptContext:
        """Be as new, for this application."""
        super().__init__(jobs, access)
        return self


_free: list[KeptContext] = []


@contextmanager
def kept_routes() -> Iterator[None]:
    """APIs that are created inside have the routes of those that were created in earlier blocks; never two have the same."""
    used: list[KeptContext] = []

    def take(jobs: JobTrail, access: Any) -> KeptContext:
        used.append((_free.pop() if _free else KeptContext()).bind(jobs, access))
        return used[-1]

    parts = [part if part in OWN else SimpleNamespace(make=_once(part.make)) for part in server.PARTS]
    with mock.patch.multiple(server, ApiContext=take, PARTS=parts):
        yield
    _free.extend(used)


def _once(make: Callable[[ApiContext], Any]) -> Callable[[KeptContext], Any]:
    def router_of(context: KeptContext) -> Any:
        if make not in context.routers:
            context.routers[make] = router = make(context)
            for route in router.routes:
                _asks_at_each_request(route.endpoint, context)
        return context.routers[make]

    return router_of


def _asks_at_each_request(function: Any, context: KeptContext) -> None:
    for name, value in inspect.getclosurevars(function).nonlocals.items():
        if inspect.isfunction(value):
            _asks_at_each_request(value, context)
        else:
            assert value is context, f"{function.__qualname__} keeps {name}, which it is to ask the context for"
