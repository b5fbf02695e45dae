"""Which plug-ins the installed packages offer: looked up by entry point, none of them loaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

GROUP = "jobtrail.plugins"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A plug-in on its way in: what it is called, the package and version that it came by, and how to get it."""

    name: str
    package: str | None
    version: str | None
    load: Callable[[], Any]


def installed() -> list[Candidate]:
    """The plug-ins of all installed packages; by package and name, so that the first of two is always the same."""
    from importlib.metadata import entry_points

    found = [
        Candidate(one.name, one.dist.name if one.dist else None, one.dist.version if one.dist else None, one.load)
        for one in entry_points(group=GROUP)
    ]
    return sorted(found, key=lambda one: (one.package or "", one.name))
