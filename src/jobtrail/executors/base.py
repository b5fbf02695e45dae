"""What an executor is: it calls a body somewhere and brings back what it returned or raised."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

Over = Callable[[Any, BaseException | None], None]


class Executor(Protocol):
    """The hands. A body's exception is raised here as it is, whatever its base class."""

    async def call(
        self, function: Callable[..., Any], arguments: Mapping[str, Any], over: Over | None = None
    ) -> Any:
        """Execute a plain function and wait for its end; cancelling this does not end a thread.

        ``over`` is called where the function ran, with its value and its error, also when nobody waits any more.
        """

    def close(self) -> None:
        """Let idle hands go; busy ones are not waited for."""
