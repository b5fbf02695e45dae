"""What an executor is: it calls a body somewhere and brings back what it returned or raised."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Executor(Protocol):
    """The hands. A body's exception is raised here as it is, whatever its base class."""

    async def call(self, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
        """Execute a plain function and wait for its end; cancelling this does not end a thread."""

    def close(self) -> None:
        """Let idle hands go; busy ones are not waited for."""
