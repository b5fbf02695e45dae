"""What a request may send: the bytes of each route's body, the depth of its JSON, and how long it may take."""

from __future__ import annotations

import asyncio
import re
import time
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeVar

from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request

from jobtrail.api.problems import Problem
from jobtrail.job.json_value import MAX_DEPTH
from jobtrail.messages import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from starlette.responses import Response
    from starlette.types import Message as Event
    from starlette.types import Receive

PLAIN = 64 << 10  # bytes of a body whose route says nothing else
SECONDS = 30.0  # for all of a body
PIECE_SECONDS = 60.0  # for each piece of a file
DEPTH = MAX_DEPTH + 16  # arguments stand inside an object
CLOSE = {"Connection": "close"}  # what is left of the body is not read
_LIMIT = "__jobtrail_takes__"
_ARGUMENTS, _FILES = "arguments", "files"
# A string that is not closed reaches to the end, so that each byte is read once.
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_NO_BRACKETS = bytes(set(range(256)) - set(_STEPS))
_F = TypeVar("_F")


def takes(limit: int) -> Callable[[_F], _F]:
    """Say how many bytes the body of a route may have."""

    def declare(endpoint: _F) -> _F:
        setattr(endpoint, _LIMIT, limit)
        return endpoint

    return declare


def takes_arguments(endpoint: _F) -> _F:
    """Say of a route that it takes arguments or an answer: its limit follows the setting ``argument_limit``."""
    setattr(endpoint, _LIMIT, _ARGUMENTS)
    return endpoint


def takes_files(endpoint: _F) -> _F:
    """Say of a route that it reads its body piece by piece and has a limit of its own."""
    setattr(endpoint, _LIMIT, _FILES)
    return endpoint


def limit_of(endpoint: Any, argument_limit: int) -> int | None:
    """The bytes that the body of a route may have; None where the route itself counts them.

    JSON may write a character in six bytes that is stored in two, so arguments have more room than their limit.
    """
    said = getattr(endpoint, _LIMIT, PLAIN)
    if said == _FILES:
        return None
    return PLAIN + 4 * argument_limit if said == _ARGUMENTS else int(said)


def check_length(length: str, limit: int | None) -> None:
    """Refuse a body by the size that its header names.

    Raises: Problem 413.
    """
    if limit is not None and length.isdecimal() and int(length[:20]) > limit:
        raise Problem(413, "too-large", Message("api.body-too-large", most=limit))


def bounded(receive: Receive, limit: int | None) -> Receive:
    """Count a body as it comes, and refuse one that is too large or too slow."""
    left, whole, end = limit, False, time.monotonic() + SECONDS

    async def receiving() -> Event:
        nonlocal left, whole
        if whole:  # what comes now is the end of the connection
            return await receive()
        seconds = PIECE_SECONDS if left is None else max(end - time.monotonic(), 0.0)
        try:
            async with asyncio.timeout(seconds):
                message = await receive()
        except TimeoutError:
            raise HTTPException(408, headers=CLOSE) from None
        whole = not message.get("more_body", False)
        if left is not None:
            left -= len(message.get("body", b""))
            if left < 0:
                raise HTTPException(413)
        return message

    return receiving


def is_too_deep(body: bytes) -> bool:
    """Whether JSON is nested deeper than any value that is stored."""
    if body.count(b"[") + body.count(b"{") <= DEPTH:
        return False
    brackets = _STRING.sub(b"", body).translate(None, _NO_BRACKETS)
    return any(depth > DEPTH for depth in accumulate(_STEPS[one] for one in brackets))


class _BoundedRequest(Request):
    async def json(self) -> Any:
        if is_too_deep(await self.body()):
            raise HTTPException(422)
        return await super().json()


class BoundedRoute(APIRoute):
    """A route that refuses JSON which is nested too deeply, before it is parsed."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of the route, called with a request of ours."""
        handle = super().get_route_handler()

        async def handle_bounded(request: Request) -> Response:
            return await handle(_BoundedRequest(request.scope, request.receive))

        return handle_bounded
