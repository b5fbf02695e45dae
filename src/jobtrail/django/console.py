"""The console as a view of Django: its requests go through the ASGI application, on an event loop of its own."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import queue
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.utils.module_loading import import_string

from jobtrail.api.auth.access import Person
from jobtrail.api.auth.django import role_of_staff

from .application import application, options

CHUNK = 65_536  # bytes
FOLLOWS = 1.0  # seconds that a WSGI server follows one stream; then the browser asks again, as it does by itself
PERSON = "jobtrail.django.person"


@functools.cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="jobtrail-console", daemon=True).start()
    return loop


@functools.cache
def _asgi() -> Any:
    return application().asgi(login=lambda request: request.scope.get(PERSON), tokens=True)


def console(request: HttpRequest, path: str = "") -> HttpResponseBase:
    """Answer a request for the console or its API; who may do what is decided there, from the user's role.

    Args:
        request: The request, after the project's own middleware.
        path: What comes after the place at which ``jobtrail.django.urls`` is included.
    """
    exchange = _Exchange(request, path)
    status, headers = exchange.begin()
    follows = headers.get("content-type", "").startswith("text/event-stream")
    if "content-length" in headers:
        answer: HttpResponseBase = HttpResponse(b"".join(exchange.chunks()), status=status)
    elif isinstance(request, ASGIRequest):
        answer = StreamingHttpResponse(exchange.achunks(), status=status)
    else:
        answer = StreamingHttpResponse(exchange.chunks(FOLLOWS if follows else None), status=status)
    for name, value in headers.items():
        if name != "content-length":
            answer.headers[name] = value
    return answer


def _person_of(request: HttpRequest) -> Person | None:
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated or not user.is_active:
        return None
    role_of: Any = options().get("ROLE", role_of_staff)
    role = (import_string(role_of) if isinstance(role_of, str) else role_of)(user)
    return None if role is None else Person(user.get_username(), role)


class _Exchange:
    """One request on its way through the ASGI application."""

    def __init__(self, request: HttpRequest, path: str) -> None:
        self._request = request
        self._answer: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._scope = _scope_of(request, path)
        self._read = threading.Event()
        self._task: Any = None

    def begin(self) -> tuple[int, dict[str, str]]:
        """Send the request; its status and its headers."""
        self._task = asyncio.run_coroutine_threadsafe(self._run(), _loop())
        start = self._answer.get()
        if start is None:
            self._task.result()
            return 500, {}
        return start["status"], {name.decode("latin-1"): value.decode("latin-1") for name, value in start["headers"]}

    async def _run(self) -> None:
        try:
            await _asgi()(self._scope, self._receive, self._send)
        finally:
            self._answer.put(None)

    async def _receive(self) -> dict[str, Any]:
        if self._read.is_set():
            await asyncio.Event().wait()  # it is cancelled when the client has gone
        chunk = await asyncio.to_thread(self._request.read, CHUNK)
        if not chunk:
            self._read.set()
        return {"type": "http.request", "body": chunk, "more_body": bool(chunk)}

    async def _send(self, message: dict[str, Any]) -> None:
        self._answer.put(message)

    def chunks(self, seconds: float | None = None) -> Iterator[bytes]:
        """The body, at most for so many seconds."""
        end = None if seconds is None else time.monotonic() + seconds
        try:
            with contextlib.suppress(queue.Empty):
                while (message := self._next(end)) is not None:
                    yield message.get("body", b"")
        finally:
            self._task.cancel()

    async def achunks(self) -> AsyncIterator[bytes]:
        """The body, until the client leaves."""
        following: Callable[..., Any] = sync_to_async(self._next, thread_sensitive=False)
        try:
            while True:
                try:
                    message = await following(time.monotonic() + FOLLOWS)
                except queue.Empty:
                    yield b""  # a client that has gone is noticed by it
                    continue
                if message is None:
                    return
                yield message.get("body", b"")
        finally:
            self._task.cancel()

    def _next(self, end: float | None) -> dict[str, Any] | None:
        return self._answer.get(timeout=None if end is None else max(0.0, end - time.monotonic()))


def _scope_of(request: HttpRequest, path: str) -> dict[str, Any]:
    place = request.path[: len(request.path) - len(path)].rstrip("/")
    host = request.get_host()  # as the project's settings trust it, behind a proxy too
    given = {**{name.lower(): value for name, value in request.headers.items()}, "host": host}
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in given.items()]
    return {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": request.method,
        "scheme": request.scheme, "path": request.path, "raw_path": request.path.encode(), "root_path": place,
        "query_string": request.META.get("QUERY_STRING", "").encode("latin-1"), "headers": headers,
        "client": (request.META.get("REMOTE_ADDR") or "unknown", 0), "server": (host, None),
        "extensions": {}, PERSON: _person_of(request),
    }  # fmt: skip
