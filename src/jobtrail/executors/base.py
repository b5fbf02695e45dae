"""The executor protocol: it calls a function somewhere, and returns or raises what the function does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

Over = Callable[[Any, BaseException | None], None]


class Executor(Protocol):
    """Calls plain functions. A function's exception is raised as it is, whatever its base class."""

    async def call(
        self, function: Callable[..., Any], arguments: Mapping[str, Any], over: Over | None = None
    ) -> Any:
        """Execute a plain function and wait for its end; cancelling this does not end a thread.

        ``over`` is called where the function ran, with its value and its error, also when nobody waits any more.
        """

    def close(self) -> None:
        """End idle threads; busy ones are not waited for."""
