"""Channels of plug-ins: a function that takes a message."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jobtrail.errors import PermanentError

from .base import OutgoingMessage, SendingFailed, scrub


@dataclass(frozen=True)
class FunctionChannel:
    """Calls the function of a plug-in's channel with an `OutgoingMessage`; ``async def`` too.

    The function raises `PermanentError` where another try cannot help, and any other error where it may.
    """

    name: str
    function: Callable[[OutgoingMessage], Any]
    fallback: str | None = None
    kind = "plugin"
    knows_ids = False
    secrets = ()

    @property
    def target(self) -> str:
        """The full name of the channel."""
        return self.name

    def send(self, message: OutgoingMessage) -> None:
        """Call the function.

        Raises:
            SendingFailed: If it raises.
        """
        try:
            found = self.function(message)
            if inspect.iscoroutine(found):
                asyncio.run(found)
        except Exception as error:
            why = scrub(f"{type(error).__name__}: {error}", ())
            raise SendingFailed(why, permanent=isinstance(error, PermanentError), uncertain=True) from None
