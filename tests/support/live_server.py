"""A real server on the loopback in a thread of its own, and a client of its WebSocket that waits for what it is told."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from websockets.sync.client import connect

from jobtrail.api.serving import listen, server_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Serving:
    """A server that runs."""

    def __init__(self, app: Any, **socket_options: int) -> None:
        self.app = app
        self.socket = listen("127.0.0.1", 0)
        for name, value in socket_options.items():
            import socket

            self.socket.setsockopt(socket.SOL_SOCKET, getattr(socket, name), value)
        self.port = self.socket.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self.server = server_for(app)
        self._thread = threading.Thread(target=lambda: asyncio.run(self.server.serve(sockets=[self.socket])))

    def start(self) -> Serving:
        """Begin to serve."""
        self._thread.start()
        end = time.monotonic() + 15
        while not self.server.started:
            assert time.monotonic() < end, "the server has not started"
            time.sleep(0.01)
        return self

    def stop(self) -> None:
        """End in order."""
        self.server.stop()
        self._thread.join(20)
        assert not self._thread.is_alive(), "the server has not ended"
        self.socket.close()


@contextmanager
def serving(app: Any, **socket_options: int) -> Iterator[Serving]:
    """A server for a while."""
    one = Serving(app, **socket_options).start()
    try:
        yield one
    finally:
        one.stop()


class Live:
    """One WebSocket, and what it was told, merged as a page does it."""

    def __init__(self, server: Serving, **options: Any) -> None:
        self._open = ExitStack()
        self.socket = self._open.enter_context(connect(f"ws://127.0.0.1:{server.port}/api/live", open_timeout=15, **options))
        self.messages: list[dict[str, Any]] = []
        self.parts: dict[str, dict[str, Any]] = {}
        self.order: dict[str, list[str]] = {}

    def say(self, **words: Any) -> None:
        """Send a message."""
        self.socket.send(json.dumps(words))

    def subscribe(self, topic: str, name: str = "", **words: Any) -> None:
        """Watch a topic under its own name."""
        self.say(type="subscribe", id=name or topic, topic=topic, **words)

    def receive(self, timeout: float) -> dict[str, Any]:
        """The next message."""
        told: dict[str, Any] = json.loads(self.socket.recv(timeout))
        told["heard"] = time.monotonic()
        self.messages.append(told)
        if told["type"] == "snapshot":
            self.parts[told["id"]] = {}
        if told["type"] in {"snapshot", "change"}:
            parts = self.parts[told["id"]]
            parts.update(told["parts"])
            for name in told.get("gone", ()):
                parts.pop(name, None)
            self.order[told["id"]] = told.get("order", self.order.get(told["id"], []))
        return told

    def until(self, what: str, fact: Callable[[dict[str, Any]], Any], timeout: float = 15.0) -> dict[str, Any]:
        """Receive until a message fits; what has come before counts not."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            with suppress(TimeoutError):
                told = self.receive(max(end - time.monotonic(), 0.01))
                if fact(told):
                    return told
        message = f"waited {timeout:g} s in vain until {what}; told were {[one['type'] for one in self.messages]}"
        raise AssertionError(message)

    def shows(self, what: str, fact: Callable[[], Any], timeout: float = 15.0) -> float:
        """Receive until what was told so far makes it true, perhaps already; when the last message was heard."""
        if not fact():
            self.until(what, lambda _: fact(), timeout)
        return float(self.messages[-1]["heard"])

    def snapshot(self, topic: str, **words: Any) -> dict[str, Any]:
        """Watch a topic and wait for all of it."""
        self.subscribe(topic, **words)
        return self.until(f"a snapshot of {topic}", lambda told: told["type"] == "snapshot" and told["id"] == topic)

    def follow(self, name: str = "events", **words: Any) -> int:
        """Follow the trail and wait until that has begun; the number of the last line before."""
        self.subscribe("events", name, **words)
        return int(self.until("it begins", lambda told: told["type"] == "events" and told["id"] == name)["last"])

    def closed(self, timeout: float = 15.0) -> int:
        """Receive until it is closed; the code."""
        from websockets.exceptions import ConnectionClosed

        end = time.monotonic() + timeout
        while time.monotonic() < end:
            try:
                self.receive(max(end - time.monotonic(), 0.01))
            except ConnectionClosed as closed:
                assert closed.rcvd is not None
                return closed.rcvd.code
            except TimeoutError:
                continue
        message = f"not closed within {timeout:g} s"
        raise AssertionError(message)

    def close(self) -> None:
        """Hang up."""
        with suppress(Exception):
            self._open.close()
