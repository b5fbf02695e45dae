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
from jobtrail.job.json_value import MAX_DEPTH
from jobtrail.job.masking import mask_text
from jobtrail.messages import Message, render

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
    (errors.JobRemoved, 410),
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
            "detail": mask_text(self.detail),
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
    return mask_text(value) if isinstance(value, str) else value


def of(error: errors.JobTrailError) -> Problem:
    """What one of our own errors means over the network."""
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 500)
    code = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", type(error).__name__).lower()
    more: dict[str, Any] = {}
    if isinstance(error, errors.Conflict) and error.job_id is not None:
        more["job"] = error.job_id
    if isinstance(error, errors.JobRemoved):
        finished = error.finished_at.isoformat()
        more |= {"job": error.job_id, "job_status": error.status, "outcome": error.outcome, "finished_at": finished}
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
    return _invalid_request(unfit(error.errors())).response()


def _invalid_request(problems: Mapping[str, Message | str]) -> Problem:
    shown = [{"path": path, "detail": render(problem)} for path, problem in problems.items()]
    return Problem(422, "invalid-request", Message("api.request-unfit", problems=errors.by_path(problems)), errors=shown)


def unfit(found: Sequence[Any]) -> dict[str, Message | str]:
    """The errors of a pydantic validation as sentences by the path of their field; of several at one path the first."""
    problems: dict[str, Message | str] = {}
    for one in found:
        path = "$" if one["type"] == "json_invalid" else _path(one["loc"])
        problems.setdefault(path, _sentence(one["type"], one.get("ctx", {}), one["msg"]))
    return problems


def _sentence(kind: str, ctx: Mapping[str, Any], text: str) -> Message | str:
    if kind == "value_error":  # raised by a validator of ours
        return ctx["error"].args[0] if isinstance(ctx["error"], errors.JobTrailError) else str(ctx["error"])
    if kind == "json_invalid":
        return Message("api.not-json", error=ctx["error"])
    if kind in _LIMITS:
        name, code = _LIMITS[kind]
        return Message(code, limit=str(ctx[name]).replace(" or ", ", "))
    known = next((code for kinds, code in _MUST_BE if kind.startswith(kinds)), None)
    return Message(known) if known else text


# pydantic's types of error: the parameter that has the limit, and the code of the sentence.
_LIMITS = {
    "string_too_short": ("min_length", "api.too-short"),
    "string_too_long": ("max_length", "api.too-long"),
    "string_pattern_mismatch": ("pattern", "api.must-match"),
    "too_short": ("min_length", "api.too-few"),
    "too_long": ("max_length", "api.too-many"),
    "greater_than": ("gt", "api.must-be-above"),
    "greater_than_equal": ("ge", "api.must-be-at-least"),
    "less_than": ("lt", "api.must-be-below"),
    "less_than_equal": ("le", "api.must-be-at-most"),
    "literal_error": ("expected", "api.must-be-one-of"),
    "enum": ("expected", "api.must-be-one-of"),
}
_MUST_BE = (
    (("missing",), "api.field-missing"),
    (("extra_forbidden",), "api.field-unknown"),
    (("string_",), "api.must-be-text"),
    (("int_",), "api.must-be-whole"),
    (("float_", "finite_"), "api.must-be-number"),
    (("bool_",), "api.must-be-boolean"),
    (("list_",), "api.must-be-list"),
    (("dict_", "model_"), "api.must-be-object"),
    (("datetime_", "timezone_"), "api.must-be-moment"),
)


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - it is registered for this one
    if error.status_code == 400:  # FastAPI's, of a body that is no text, or nested without end
        return _invalid_request({"$": Message("api.not-text")}).response()
    if error.status_code == 422:  # of `bodies`
        return _invalid_request({"$": Message("api.too-deep", most=MAX_DEPTH)}).response()
    code = _title(error.status_code).lower().replace(" ", "-")
    known = _SENTENCES.get(error.status_code)
    sentence = Message(known) if known else str(error.detail)
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
    404: "api.nothing-here",
    408: "api.body-too-slow",
    413: "api.too-large",
    405: "api.wrong-method",
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
