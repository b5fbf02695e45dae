"""Which language a reader gets: of a request, of a terminal, or English."""

from __future__ import annotations

import os
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

DEFAULT = "en"
VARIABLE = "JOBTRAIL_LANG"
_KNOWN = ("en", "ru")
_current: ContextVar[str] = ContextVar("jobtrail_language", default=DEFAULT)


def current_language() -> str:
    """The language of the present reader; English outside of a request or a command."""
    return _current.get()


@contextmanager
def use_language(language: str) -> Iterator[None]:
    """Use this language within the block, in this thread or task."""
    token = _current.set(language if language in _KNOWN else DEFAULT)
    try:
        yield
    finally:
        _current.reset(token)


def from_environment(environ: Mapping[str, str] | None = None) -> str:
    """The language of a terminal: ``JOBTRAIL_LANG``, else ``LC_ALL``, ``LC_MESSAGES``, ``LANG``; the first that is set."""
    found = os.environ if environ is None else environ
    for name in (VARIABLE, "LC_ALL", "LC_MESSAGES", "LANG"):
        if found.get(name):
            return _known(found[name]) or DEFAULT
    return DEFAULT


def from_accept_language(header: str | None) -> str:
    """The language of an HTTP request: the known one that ``Accept-Language`` ranks highest, else English."""
    ranked = [part.partition(";") for part in (header or "").split(",")]
    wanted = sorted(ranked, key=lambda part: -_quality(part[2]))  # sorted() keeps the order of equals
    return next((known for tag, _, _ in wanted if (known := _known(tag))), DEFAULT)


def _quality(parameters: str) -> float:
    try:
        return float(parameters.strip().removeprefix("q="))
    except ValueError:
        return 1.0


def _known(tag: str) -> str | None:
    language = tag.strip().lower().replace("_", "-").partition("-")[0].partition(".")[0]
    return language if language in _KNOWN else None
