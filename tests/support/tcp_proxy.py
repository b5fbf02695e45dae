"""A TCP proxy whose connections a test can cut and hold; it serves every broker and database."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

CHUNK = 65536
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close with a reset, as a crashed host or a firewall does


class Proxy:
    """Forwards connections to one server.

    Args:
        host: Name of the server.
        port: Its port.
    """

    def __init__(self, host: str, port: int) -> None:
        self._server = (host, port)
        self._flows = threading.Event()
        self._flows.set()
        self._refuses = False
        self._closed = False
        self._lock = threading.Lock()
        self._pairs: set[tuple[socket.socket, socket.socket]] = set()
        self._forgotten: set[tuple[socket.socket, socket.socket]] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def address(self, of: str) -> str:
        """The address of a server, through this proxy: user, password and path stay."""
        parts = urlsplit(of)
        login = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
        return parts._replace(netloc=f"{login}127.0.0.1:{self.port}").geturl()

    @property
    def open(self) -> int:
        """How many connections are open."""
        with self._lock:
            return len(self._pairs)

    def cut(self) -> int:
        """Close all connections with a reset; new ones are accepted. Returns how many were cut."""
        with self._lock:
            pairs, self._pairs = self._pairs, set()
        for pair in pairs:
            _reset(pair)
        return len(pairs)

    def hold(self) -> None:
        """Keep connections open and forward nothing, as a network that loses every packet."""
        self._flows.clear()

    def forget(self) -> None:
        """Forward nothing more on the connections that are open, as a firewall that has forgotten them; new ones work."""
        with self._lock:
            self._forgotten |= self._pairs

    def release(self) -> None:
        """Forward again, first what was held."""
        self._flows.set()

    def refuse(self) -> None:
        """Cut all connections and close new ones at once, until `accept`."""
        self._refuses = True
        self.cut()

    def accept(self) -> None:
        """Take connections again."""
        self._refuses = False

    def close(self) -> None:
        """End."""
        self._closed = True
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._listener.close()
        self._flows.set()
        self.cut()

    def _accept(self) -> None:
        while not self._closed:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                if self._refuses:
                    raise ConnectionRefusedError
                server = socket.create_connection(self._server, timeout=10)
                server.settimeout(None)
            except OSError:
                client.close()
                continue
            pair = (client, server)
            with self._lock:
                self._pairs.add(pair)
            for source, sink in (pair, (server, client)):
                threading.Thread(target=self._forward, args=(pair, source, sink), daemon=True).start()

    def _forward(self, pair: tuple[socket.socket, socket.socket], source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(CHUNK):
                self._flows.wait()
                if pair not in self._forgotten:
                    sink.sendall(data)
            self._flows.wait()
        with self._lock:
            known = pair in self._pairs
            self._pairs.discard(pair)
        if known:
            _close(pair)


def _reset(pair: tuple[socket.socket, socket.socket]) -> None:
    for one in pair:
        with contextlib.suppress(OSError):
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    _close(pair)


def _close(pair: tuple[socket.socket, socket.socket]) -> None:
    for one in pair:
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RD)  # wakes the thread that reads; a close alone does not
        with contextlib.suppress(OSError):
            one.close()


@contextlib.contextmanager
def proxy_of(server: str, port: int | None = None) -> Iterator[Proxy]:
    """A proxy in front of the server of an address such as ``redis://127.0.0.1:6379/5``."""
    parts = urlsplit(server)
    one = Proxy(parts.hostname or "127.0.0.1", port or parts.port or {"redis": 6379, "amqp": 5672}[parts.scheme])
    try:
        yield one
    finally:
        one.close()
