"""Every refusal and every error as a problem detail (RFC 9457): a sentence for people, a code for programs."""

from __future__ import annotations

import json
import logging
import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match

from jobtrail import errors
from jobtrail.job.failure import mask_urls
from jobtrail.messages import Message, render

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fastapi import FastAPI
    from starlette.requests import Request

MEDIA_TYPE = "application/problem+json"
SAFE = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
RETRY_AFTER = "2"  # seconds
_log = logging.getLogger("jobtrail.api")

# The first that fits counts.
_STATUS: tuple[tuple[type[Exception], int], ...] = (
    (errors.TooLarge, 413),
    (errors.UsageError, 422),
    (errors.QuestionClosed, 410),
    (errors.Conflict, 409),
    (errors.NotFound, 404),
    (errors.ValueNotStorable, 422),
    (errors.StoreError, 503),
)


class Problem(Exception):
    """A refusal of the API itself; ``more`` are members of the answer beside the usual ones."""

    def __init__(
        self, status: int, code: str, detail: Message | str, *, headers: Mapping[str, str] | None = None, **more: Any
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = render(detail)
        if isinstance(detail, Message):
            more = {"message": _masked(detail.to_json()), **more}
        self.headers = dict(headers or {})
        self.more = more

    def body(self) -> dict[str, Any]:
        """What is told."""
        return {
            "type": f"urn:jobtrail:problem:{self.code}",
            "title": _title(self.status),
            "status": self.status,
            "code": self.code,
            "detail": mask_urls(self.detail),
            **self.more,
        }

    def response(self) -> Response:
        """As it is sent."""
        content = json.dumps(self.body(), default=str)
        again = {"Retry-After": RETRY_AFTER} if self.status == 503 else {}
        return Response(content, self.status, {**SAFE, **again, **self.headers}, media_type=MEDIA_TYPE)


def _masked(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _masked(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_masked(one) for one in value]
    return mask_urls(value) if isinstance(value, str) else value


def of(error: errors.JobTrailError) -> Problem:
    """What one of our own errors means over the network."""
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 500)
    code = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", type(error).__name__).lower()
    more: dict[str, Any] = {}
    if isinstance(error, errors.Conflict) and error.job_id is not None:
        more["job"] = error.job_id
    if isinstance(error, errors.AlreadyAnswered):
        more |= {"actor": error.actor, "at": error.at}
    if isinstance(error, errors.AnswerRefused):
        more["errors"] = [{"path": path, "detail": sentence} for path, sentence in error.errors.items()]
    if isinstance(error, errors.InvalidArguments) and error.path is not None:
        more["errors"] = [{"path": error.path, "detail": render(error)}]
    return Problem(status, code, error.args[0] if error.code else str(error), **more)


def install(app: FastAPI) -> None:
    """Have every error of an application answered by a problem detail."""
    app.add_exception_handler(Problem, _own)
    app.add_exception_handler(errors.JobTrailError, _ours)
    app.add_exception_handler(RequestValidationError, _request)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _unexpected)


async def _own(_request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)  # noqa: S101 - it is registered for this one
    return error.response()


async def _ours(_request: Request, error: Exception) -> Response:
    assert isinstance(error, errors.JobTrailError)  # noqa: S101 - it is registered for this one
    return of(error).response()


async def _request(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - it is registered for this one
    return _unfit([_told(one) for one in error.errors()]).response()


def _unfit(told: list[dict[str, str]]) -> Problem:
    first = f"{told[0]['path']}: {told[0]['detail']}" if told else "it cannot be read"
    more = f" (and {len(told) - 1} more)" if len(told) > 1 else ""
    return Problem(422, "invalid-request", f"the request does not fit: {first}{more}", errors=told)


def _told(one: Any) -> dict[str, str]:
    if one.get("type") == "json_invalid":
        return {"path": "$", "detail": f"it is no JSON: {one.get('ctx', {}).get('error', '')}".rstrip(": ")}
    return {"path": _path(one.get("loc", ())), "detail": str(one.get("msg", ""))}


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - it is registered for this one
    if error.status_code == 400:  # FastAPI's, of a body that is no text, or nested without end
        told = [{"path": "$", "detail": "it is no JSON: it cannot be read as text"}]
        return _unfit(told).response()
    code = _title(error.status_code).lower().replace(" ", "-")
    sentence = _SENTENCES.get(error.status_code, str(error.detail))
    headers = {"Allow": _allowed(request)} if error.status_code == 405 else error.headers
    return Problem(error.status_code, code, sentence, headers=headers).response()


def _allowed(request: Request) -> str:
    """The methods of all routes of this address; each knows its own alone."""
    fitting = [route for route in request.app.router.routes if route.matches(request.scope)[0] is not Match.NONE]
    return ", ".join(sorted({method for route in fitting for method in getattr(route, "methods", None) or ()}))


async def _unexpected(_request: Request, error: Exception) -> Response:
    """What went wrong stands in the server's log (the server writes it there), not in the answer."""
    del error
    return Problem(500, "internal", Message("api.internal")).response()


_SENTENCES = {
    404: "there is nothing at this address",
    413: "this is too large",
    405: "this address does not take that method; the header Allow names those that it takes",
}


def _path(loc: Any) -> str:
    """``('body', 'args', 0)`` as ``$.args[0]``; what stands in the address keeps its name."""
    place, *rest = list(loc) or ["$"]
    parts = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in rest)
    return f"${parts}" if place == "body" else parts.lstrip(".") or str(place)


def _title(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Error"
