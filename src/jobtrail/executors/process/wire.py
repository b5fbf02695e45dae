"""The line between a worker and a child process: JSON messages over a socket."""

from __future__ import annotations

import json
import os
import threading
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

WireMessage = dict[str, Any]
_open: WeakSet[Wire] = WeakSet()


class Wire:
    """One end of the line: JSON messages, sent from any thread, received by one. It is closed in a forked child."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._sending = threading.Lock()
        _open.add(self)

    def send(self, message: WireMessage) -> None:
        """Send a message.

        Raises:
            OSError: if the other side is gone.

        """
        data = json.dumps(message, separators=(",", ":")).encode()
        with self._sending:
            self._connection.send_bytes(data)

    def receive(self, timeout: float) -> WireMessage | None:
        """The next message; None if there was none within ``timeout`` seconds.

        Raises:
            EOFError, OSError: if the other side is gone.

        """
        if not self._connection.poll(timeout):
            return None
        message: WireMessage = json.loads(self._connection.recv_bytes())
        return message

    def close(self) -> None:
        """Close the line; the other side reads its end."""
        self._connection.close()


def _after_fork_in_child() -> None:
    for wire in list(_open):
        wire.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
