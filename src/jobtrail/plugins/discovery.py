"""Discovery by entry point: the plug-ins of installed packages, not loaded yet, and jobtrail's own API."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jobtrail.errors import InvalidOption
from jobtrail.messages import Message

GROUP = "jobtrail.plugins"
ASGI = "jobtrail.asgi"


@dataclass(frozen=True, slots=True)
class PluginCandidate:
    """A plug-in that was found: its name, its package and version, and a function that loads it."""

    name: str
    package: str | None
    version: str | None
    load: Callable[[], Any]


def installed() -> list[PluginCandidate]:
    """Return the plug-ins of all installed packages, ordered by package and name."""
    from importlib.metadata import entry_points

    found = [
        PluginCandidate(one.name, one.dist.name if one.dist else None, one.dist.version if one.dist else None, one.load)
        for one in entry_points(group=GROUP)
    ]
    return sorted(found, key=lambda one: (one.package or "", one.name))


def asgi(application: Any, **options: Any) -> Any:
    """Return the API of an application. It is found by entry point, so that lower rooms do not import a web framework.

    Raises:
        InvalidOption: If the packages that it needs are not installed.
    """
    from importlib.metadata import entry_points

    found = next(iter(entry_points(group=ASGI, name="api")), None)
    if found is None:
        raise InvalidOption(Message("plugins.no-asgi", name=ASGI))
    try:
        create_api = found.load()
    except ModuleNotFoundError as error:
        raise InvalidOption(Message("plugins.no-api-package", package=error.name)) from error
    return create_api(application, **options)
