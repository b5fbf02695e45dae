"""Serving alone: the API of an application by uvicorn, on an address that was checked before."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import ipaddress
import socket
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from jobtrail.errors import UsageError
from jobtrail.messages import Message

if TYPE_CHECKING:
    from collections.abc import Iterator

UNREAD = 60  # seconds for which what was sent may stay unread
DRAIN = 5  # seconds that open requests have at the end
MESSAGE_LIMIT = 1 << 20  # bytes of one message of a WebSocket
HEAD_SECONDS = 10.0  # in which the head of a request has to be there
MOST_CONNECTIONS = 800  # a process has 1,024 files by default


class Protocol(H11Protocol):
    """A connection that is closed where no whole head of a request comes in time, and where there are too many of them."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.abort()
        self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        """Take a piece; the first of another head begins the time of that."""
        super().data_received(data)
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        super().connection_lost(exc)
        if self._timer is not None:
            self._timer.cancel()

    def _wait_for_head(self) -> None:
        if self._timer is None and self._is_idle():
            self._timer = self.loop.call_later(HEAD_SECONDS, self._time_is_over, self.cycle)

    def _is_idle(self) -> bool:
        ours = self.transport.get_protocol() in {self, None}  # not that of a WebSocket by now
        return ours and (self.cycle is None or self.cycle.response_complete)

    def _time_is_over(self, last: object) -> None:
        self._timer = None
        if self._is_idle() and self.cycle is last:
            self.transport.close()
        else:  # of a request that came meanwhile; there may be another head
            self._wait_for_head()


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
        app, log_level="warning", access_log=False, proxy_headers=False, server_header=False, http=Protocol,
        ws="websockets-sansio",
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
