"""The description of the API (OpenAPI): what FastAPI says of the routes, with problems, roles and the ways to log in."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Field

from jobtrail.queries.base import ID

from .auth.guard import ANYONE, also, any_host, rule_of
from .auth.sessions import COOKIE
from .problems import MEDIA_TYPE

if TYPE_CHECKING:
    from fastapi import FastAPI

ABOUT = """Jobs that are run, tracked and recovered by jobtrail.

Every operation names the role that it needs (`x-role`): viewer, operator or admin, each with what those before it may do.
A program shows its token as `Authorization: Bearer jt_…`. A page that has a session (or any other way in which it is
known without a token) sends `X-Jobtrail: 1` with everything that changes something.

Errors are problem details (RFC 9457): `detail` is a sentence, `code` is for programs, `job` is what stands in the way.
"""


class ProblemDetail(BaseModel):
    """An error (RFC 9457): ``detail`` is a sentence for people, ``code`` is for programs."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(examples=["urn:jobtrail:problem:already-active"])
    title: str = Field(examples=["Conflict"])
    status: int = Field(examples=[409])
    code: str = Field(examples=["already-active"])
    detail: str = Field(examples=[f"the unit of job {ID} has an active job"])
    job: str | None = Field(None, description="The job that stands in the way.")
    message: dict[str, Any] | None = Field(None, description="Code and parameters of `detail`, for programs.")
    errors: list[dict[str, str]] | None = Field(None, description="What does not fit, by path.")


def of(app: FastAPI) -> dict[str, Any]:
    """The description, made once."""
    if app.openapi_schema is None:
        made = get_openapi(
            title=app.title, version=app.version, summary="Jobs, their state, and what can be done with them",
            description=ABOUT, routes=app.routes,
        )  # fmt: skip
        parts = made.setdefault("components", {})
        problem = ProblemDetail.model_json_schema(ref_template="#/components/schemas/{model}")
        parts.setdefault("schemas", {})["Problem"] = {**problem, "title": "Problem"}
        parts["securitySchemes"] = {
            "token": {"type": "http", "scheme": "bearer"},
            "session": {"type": "apiKey", "in": "cookie", "name": COOKIE},
        }
        _add_roles(app, made)
        _name_refusals(made)
        app.openapi_schema = made
    return app.openapi_schema


def _add_roles(app: FastAPI, made: dict[str, Any]) -> None:
    for route in app.routes:
        if not isinstance(route, APIRoute):
            continue
        role = rule_of(route.endpoint)
        for method in route.methods or ():
            operation = made["paths"].get(route.path_format, {}).get(method.lower())
            if operation is not None:
                operation["x-role"] = role
                refused = also(*_refusals(operation, route, role))
                operation["responses"] |= {str(status): one for status, one in refused.items()}
                operation["security"] = [] if role == ANYONE else [{"token": []}, {"session": []}]


def _refusals(operation: dict[str, Any], route: APIRoute, role: str | None) -> list[int]:
    """What the guard answers, whichever route it stands before."""
    found = [503]  # who asks could not be read
    found += [] if any_host(route.endpoint) else [421]
    found += [] if role == ANYONE else [401, 403, 429]
    return found + ([413] if "requestBody" in operation else [])


def _name_refusals(made: dict[str, Any]) -> None:
    """A refusal stands once, however many operations know it."""
    named = made["components"].setdefault("responses", {})
    for operation in (one for by_method in made["paths"].values() for one in by_method.values()):
        for status, answer in operation["responses"].items():
            if MEDIA_TYPE in answer.get("content", {}):
                name = HTTPStatus(int(status)).phrase.replace(" ", "")
                named[name] = answer
                operation["responses"][status] = {"$ref": f"#/components/responses/{name}"}
