"""The declared parts of a plug-in, as an application mounts them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import RLock
from typing import Any

from jobtrail.worker.middleware import Middleware


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
    """An HTTP route: method, path, least role, and the function that answers.

    The path is below that of the plug-in, or with ``plain`` below ``/api`` itself.
    """

    method: str
    path: str
    role: str
    function: Callable[..., Any]
    plain: bool = False

    @property
    def first(self) -> str:
        """The first segment of the path."""
        return self.path.split("/")[1]


@dataclass(frozen=True, slots=True)
class PluginCommand:
    """A command ``jobtrail PLUGIN NAME``, or ``jobtrail NAME`` with ``plain``.

    Its function takes the application first, then its own options.
    """

    name: str
    function: Callable[..., Any]
    plain: bool = False


@dataclass(slots=True)
class PluginService:
    """What a plug-in offers in an application, made at the first use and once."""

    make: Callable[[], Any] | None
    _made: list[Any] = field(default_factory=list)
    _lock: RLock = field(default_factory=RLock)

    def get(self) -> Any:
        """Return the service, None if the plug-in has none."""
        if self.make is None:
            return None
        with self._lock:
            if not self._made:
                self._made.append(self.make())
            return self._made[0]
