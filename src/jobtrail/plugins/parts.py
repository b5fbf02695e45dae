"""The declared parts of a plug-in, as an application mounts them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock
from typing import Any, Protocol

from jobtrail.errors import InvalidOption
from jobtrail.messages import Message
from jobtrail.worker.middleware import Middleware

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_IN_PATH = re.compile(r"\{(\w+)\}")


class Identity(Protocol):
    """Who calls a route: a name, a role (viewer, operator, admin), and the one thing that a token may be bound to."""

    @property
    def name(self) -> str:
        """The name, without what it is known by."""

    @property
    def role(self) -> str:
        """viewer, operator or admin."""

    @property
    def actor(self) -> str:
        """The name for the trail: ``person:ann`` or ``token:parser``."""

    @property
    def bound_to(self) -> str | None:
        """``module:parser`` for a token that may be used for this module only."""


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

    The path is below that of the plug-in, or with ``plain`` below ``/api`` itself. ``accepts`` is the kind of thing that a
    token may be bound to; ``audit`` says whether a call that may change something is recorded.
    """

    method: str
    path: str
    role: str
    function: Callable[..., Any]
    plain: bool = False
    accepts: str | None = None
    audit: bool = True

    def own_parameters(self, plugin: str) -> list[inspect.Parameter]:
        """Return the parameters of the function after the application, with annotations that are no text.

        Raises:
            InvalidOption: If an annotation cannot be read, or a parameter of the path is not taken.
        """
        try:
            found = list(inspect.signature(self.function).parameters.values())[1:]
        except ValueError:  # a function in C
            found = []
        named = [one for one in found if one.kind in _NAMED]
        missing = set(_IN_PATH.findall(self.path)) - {one.name for one in named}
        if missing and not any(one.kind is inspect.Parameter.VAR_KEYWORD for one in found):
            raise InvalidOption(
                Message("plugins.route-without-parameter", plugin=plugin, path=self.path, name=min(missing))
            )
        return [self._evaluated(one, plugin) for one in named]

    def _evaluated(self, parameter: inspect.Parameter, plugin: str) -> inspect.Parameter:
        if not isinstance(parameter.annotation, str):
            return parameter
        names = getattr(inspect.unwrap(self.function), "__globals__", {})
        if parameter.name == "identity":  # an annotation for people: it is not read
            return parameter.replace(annotation=Identity)
        try:
            return parameter.replace(annotation=eval(parameter.annotation, names))  # noqa: S307 - as `inspect.signature` does
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            raise InvalidOption(
                Message("plugins.bad-annotation", plugin=plugin, path=self.path, name=parameter.name, why=why)
            ) from error

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


@dataclass(frozen=True, slots=True)
class PluginLoop:
    """A function that is repeated beside every worker, ``every`` seconds; with ``leader`` by one worker at a time."""

    name: str
    every: float
    leader: bool
    function: Callable[[Any], None]


@dataclass(frozen=True, slots=True)
class PluginTopic:
    """A live topic: its function takes the application and a parameter (a text) and returns JSON."""

    name: str
    role: str
    function: Callable[[Any, str], Any]


@dataclass(frozen=True, slots=True)
class PluginRemoval:
    """A function that is called before jobs are removed; by retention only where ``retention`` is set."""

    function: Callable[..., None]
    retention: bool


@dataclass(frozen=True, slots=True)
class PluginPage:
    """A page in the console: an ES module in a folder of the package, and its title by language."""

    name: str
    title: Mapping[str, str]
    folder: Path
    module: str
    role: str
    strip: bool


PAGE_FILES = {
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
}


def page_file(folder: Path, name: str) -> Path | None:
    """Return a file that a page may load: of a kind in `PAGE_FILES`, below the folder; None for anything else."""
    if "\0" in name or Path(name).suffix not in PAGE_FILES:
        return None
    whole, place = (folder / name).resolve(), folder.resolve()
    return whole if whole.is_relative_to(place) and whole.is_file() else None


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

    def close(self) -> None:
        """Call ``close()`` of the service, if it was made and has one."""
        with self._lock:
            close = getattr(self._made[0], "close", None) if self._made else None
        if callable(close):
            close()
