"""Serving alone: the API of an application by uvicorn, on an address that was checked before."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import ipaddress
import socket
from typing import TYPE_CHECKING, Any

import uvicorn

from jobtrail.errors import UsageError
from jobtrail.messages import Message

if TYPE_CHECKING:
    from collections.abc import Iterator

UNREAD = 60  # seconds for which what was sent may stay unread
DRAIN = 5  # seconds that open requests have at the end
MESSAGE_LIMIT = 1 << 20  # bytes of one message of a WebSocket


class Server(uvicorn.Server):
    """A server that leaves signals to whoever runs it; `ready` is set once it serves, `stop` ends it in order."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve."""
        await super().startup(sockets)
        # What is there now stays; looked through again and again, it would hold every answer up for 0.2 s once a while.
        gc.freeze()
        self.ready.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, which would not end by themselves, and then the rest."""
        context = getattr(getattr(self.config.app, "state", None), "context", None)
        for hook in context.shutdown_hooks if context is not None else ():
            hook()
        await super().shutdown(sockets)
        gc.unfreeze()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take none."""
        yield

    def stop(self) -> None:
        """Take no more requests, finish those that are open, and return from `serve`."""
        self.should_exit = True


def server_for(app: Any) -> Server:
    """A server for an ASGI application; ``await server.serve(sockets=[…])`` runs it."""
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, proxy_headers=False, server_header=False, ws="websockets-sansio",
        ws_max_size=MESSAGE_LIMIT, timeout_graceful_shutdown=DRAIN,
    )  # fmt: skip
    return Server(config)


def is_loopback(host: str) -> bool:
    """Does this address reach no other machine?"""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes a free one.

    Raises: UsageError where the address is taken or is not one of this machine.
    """
    host = host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Only where the protocol is named does asyncio send at once; else the second piece of an answer waits for the
    # acknowledgement of the first, 40 ms.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            # Whoever takes nothing for so long is cut off; what waits for them would be kept for ever.
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNREAD * 1000)
        made.bind((host, port))
        made.listen(2048)
    except OSError as error:
        made.close()
        raise UsageError(
            Message("api.cannot-listen", host=host, port=str(port), error=error.strerror or error)
        ) from error
    made.set_inheritable(False)
    return made
