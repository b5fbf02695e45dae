"""What is no job: who asks, logging in and out, health, metrics, and the description of the API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field
from starlette.responses import PlainTextResponse

from jobtrail.api.auth import sessions
from jobtrail.api.auth.guard import ANYONE, also, counts_attempts, needs, under_any_name
from jobtrail.api.bodies import BoundedRoute, takes
from jobtrail.api.problems import Problem
from jobtrail.errors import JobTrailError, StoreError
from jobtrail.messages import Message
from jobtrail.queries.base import Model
from jobtrail.queries.monitoring import health
from jobtrail.store import workers

if TYPE_CHECKING:
    from jobtrail.api.context import ApiContext
    from jobtrail.store.tokens import Token


LOGIN_LIMIT = 4096  # bytes
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


class Credentials(BaseModel):
    """An API token."""

    token: str = Field(min_length=1, max_length=200, examples=["jt_…"])


class Me(Model):
    """Who asks, and how somebody can log in here."""

    name: str | None
    role: str | None
    how: str | None = Field(description="login, token, session, proxy or local")
    login: list[str] = Field(description="The ways to log in that there are: token, host, proxy.")
    version: str


class Ready(Model):
    """It can read its database; otherwise the answer is a problem."""

    ready: bool


def make(context: ApiContext) -> APIRouter:
    """The routes of this file."""
    router = APIRouter(tags=["system"], responses=also(422), route_class=BoundedRoute)
    _who(router, context)
    _health(router, context)
    return router


def _who(router: APIRouter, context: ApiContext) -> None:
    @router.get("/api/me", operation_id="me", summary="Who asks")
    @needs(ANYONE)
    async def me(request: Request) -> Me:
        return _me(request, context)

    @router.post(
        "/api/login",
        operation_id="login",
        summary="Exchange a token for a session cookie",
        responses=also(401, 403, 429, 503),
    )
    @takes(LOGIN_LIMIT)
    @counts_attempts
    @needs(ANYONE)
    async def login(request: Request, response: Response, credentials: Credentials) -> Me:
        address = context.access.address(request.scope)
        found = await _exchange(context, credentials.token, address)
        if found is None:
            await context.logins.failed(address)
            raise Problem(401, "bad-token", Message("api.bad-token"))
        if found.bound_to is not None:
            raise Problem(403, "bound-token", Message("api.bound-token", bound_to=found.bound_to))
        cookie = await context.logins.begin(found, address)
        response.set_cookie(
            sessions.COOKIE, cookie, max_age=sessions.LASTS, path=_home(request), httponly=True, samesite="strict",
            secure=_is_https(request, context),
        )  # fmt: skip
        return Me(name=found.name, role=found.role, how="session", login=_ways(context), version=workers.our_version())

    @router.post(
        "/api/logout",
        operation_id="logout",
        summary="End the session of this browser",
        status_code=204,
        responses=also(403, 503),
    )
    @needs(ANYONE)
    async def logout(request: Request, response: Response) -> None:
        cookie = request.cookies.get(sessions.COOKIE)
        if cookie:
            await context.logins.end(cookie, context.access.address(request.scope))
        response.delete_cookie(sessions.COOKIE, path=_home(request), httponly=True, samesite="strict")


async def _exchange(context: ApiContext, text: str, address: str) -> Token | None:
    """The token of this text; an attempt that did not fail is forgiven, also where the database is away."""
    try:
        found = await context.logins.token(text) if context.access.tokens else None
    except JobTrailError:
        context.logins.attempts.forgive(address)
        raise
    if found is not None:
        context.logins.attempts.forgive(address)
    return found


def _me(request: Request, context: ApiContext) -> Me:
    person = request.scope.get("jobtrail.person")
    known: dict[str, Any] = {"name": None, "role": None, "how": None}
    if person is not None:
        known = {"name": person.name, "role": person.role, "how": person.how}
    return Me(**known, login=_ways(context), version=workers.our_version())


def _ways(context: ApiContext) -> list[str]:
    access = context.access
    ways = {"host": access.login is not None, "proxy": access.proxy_header is not None, "token": access.tokens}
    return [name for name, there in ways.items() if there]


def _home(request: Request) -> str:
    return f"{request.scope.get('root_path', '').rstrip('/')}/"


def _is_https(request: Request, context: ApiContext) -> bool:
    if context.access.trusts(request.scope):
        return request.headers.get("x-forwarded-proto", request.url.scheme) == "https"
    return request.url.scheme == "https"


def _health(router: APIRouter, context: ApiContext) -> None:
    @router.get(
        "/healthz", operation_id="healthz", summary="Does this process answer?", response_class=PlainTextResponse
    )
    @needs(ANYONE)
    @under_any_name
    async def healthz() -> str:
        return "ok"

    @router.get("/readyz", operation_id="readyz", summary="Can it read its database?", responses=also(503))
    @needs(ANYONE)
    @under_any_name
    async def readyz() -> Ready:
        try:
            await context.read(health.ping)
        except StoreError as error:
            raise Problem(503, "not-ready", Message("api.database-away"), ready=False) from error
        return Ready(ready=True)

    @router.get(
        "/metrics",
        operation_id="metrics",
        summary="What Prometheus reads",
        response_class=PlainTextResponse,
        responses=also(401, 403, 503),
    )
    @needs("viewer")
    async def metrics() -> Response:
        return PlainTextResponse(await context.call(lambda: context.jobs.metrics().text()), media_type=PROMETHEUS)
