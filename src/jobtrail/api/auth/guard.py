"""The one rule about who may do what: each route names the role that it needs, and one that names none is closed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeVar
from urllib.parse import urlsplit

from fastapi import APIRouter, Depends
from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.requests import HTTPConnection
from starlette.routing import Match

from jobtrail.api.bodies import PLAIN, BoundedRoute, bounded, check_length, limit_of
from jobtrail.api.problems import MEDIA_TYPE, Problem
from jobtrail.api.problems import of as problem_of
from jobtrail.errors import InvalidOption, JobTrailError
from jobtrail.job.masking import masking_names
from jobtrail.messages import Message, from_accept_language, use_language

from .access import CHALLENGE, ROLES, Access, Person, is_loopback

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from starlette.types import ASGIApp, Receive, Scope, Send
    from starlette.types import Message as Event

    from jobtrail.api.context import ApiContext

ANYONE = "anyone"
OURS = "x-jobtrail"  # a header that no other site can have a browser send
_RULE = "__jobtrail_needs__"
_ATTEMPT = "__jobtrail_attempt__"
_ACCEPTS = "__jobtrail_accepts__"
_ANY_HOST = "__jobtrail_any_host__"
_PERSON = "jobtrail.person"
_LIMIT = "jobtrail.limit"
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
_CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": _CSP,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_F = TypeVar("_F")


def needs(role: str) -> Callable[[_F], _F]:
    """Say who may call a route: viewer, operator, admin, or anyone.

    Raises: InvalidOption for another word.
    """
    if role not in {*ROLES, ANYONE}:
        raise InvalidOption(Message("api.bad-role", role=role))

    def declare(endpoint: _F) -> _F:
        setattr(endpoint, _RULE, role)
        return endpoint

    return declare


def any_host(endpoint: Any) -> bool:
    """Does it answer under any name?"""
    return getattr(endpoint, _ANY_HOST, False)


def rule_of(endpoint: Any) -> str | None:
    """Who may call it; None where nothing was said, and then nobody may."""
    rule: str | None = getattr(endpoint, _RULE, None)
    return rule


def accepts(kind: str) -> Callable[[_F], _F]:
    """Say of a route that tokens bound to ``<kind>:<name>`` may call it, where its parameter ``name`` is the same."""

    def declare(endpoint: _F) -> _F:
        setattr(endpoint, _ACCEPTS, kind)
        return endpoint

    return declare


def counts_attempts(endpoint: _F) -> _F:
    """Say of a route that each request is an attempt to log in, counted before its body is read."""
    setattr(endpoint, _ATTEMPT, True)
    return endpoint


def under_any_name(endpoint: _F) -> _F:
    """Say of a route that it tells nothing: it answers whatever name is asked for, as who checks health asks by address."""
    setattr(endpoint, _ANY_HOST, True)
    return endpoint


def routes(tag: str) -> APIRouter:
    """An empty set of routes below ``/api``; ``tag`` groups them in the description."""
    return APIRouter(prefix="/api", tags=[tag], responses=also(401, 403, 422, 503), route_class=BoundedRoute)


def also(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """For the description of a route: what it answers beside its success, as problem details."""
    schema = {"$ref": "#/components/schemas/Problem"}
    return {status: {"description": _MEANS[status], "content": {MEDIA_TYPE: {"schema": schema}}} for status in statuses}


_MEANS = {
    401: "Nobody knows who you are.",
    403: "Your role does not allow it, or it came from another site.",
    404: "There is no such thing.",
    409: "The state of the store forbids it now; `job` names what stands in the way.",
    410: "Nobody waits for it any more, or the job that it names has ended and its details are removed.",
    413: "It is too large.",
    421: "This server is not called so.",
    422: "What was sent does not fit; `errors` says where.",
    429: "Too often.",
    507: "It could not be kept.",
    503: "The database is away, or the search took too long.",
}


def person_of(connection: HTTPConnection) -> Person:
    """Who asks, as the guard has found; for a route that needs a role."""
    person: Person = connection.scope[_PERSON]
    return person


Who = Annotated[Person, Depends(person_of)]


def _language_of(scope: Scope) -> str:
    """``?lang=`` where a client cannot set headers (a WebSocket of a browser), else ``Accept-Language``."""
    asked = QueryParams(scope["query_string"]).get("lang") if "/api/live" in scope["path"] else None
    return from_accept_language(asked or Headers(scope=scope).get("accept-language"))


class Guard:
    """Stands before all routes of an application, as ASGI middleware."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        context: ApiContext,
        table: Any,
        allowed_hosts: Iterable[str] = (),
        origins: Iterable[str] = (),
        prefix: str = "",
    ) -> None:
        self.app = app
        self.context = context
        self.access: Access = context.access
        self.table = table
        self.prefix = prefix
        self.allowed_hosts = frozenset(host.lower() for host in allowed_hosts)
        self.origins = frozenset(origin.lower().rstrip("/") for origin in origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through to its route, or refuse it; what it answers is in the language of the request."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        self._place(scope)
        with use_language(_language_of(scope)), masking_names(self.context.queries.context.secret_names):
            await self._answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._check(scope)
        except Problem as problem:
            await self._refuse(problem, scope, receive, send)
            return
        except JobTrailError as error:  # who asks could not be read, say
            await self._refuse(problem_of(error), scope, receive, send)
            return
        if scope["type"] == "websocket":
            await self.app(scope, receive, send)
        else:
            await self.app(scope, bounded(receive, scope.get(_LIMIT, PLAIN)), self._with_headers(send))

    def _place(self, scope: Scope) -> None:
        """A path begins with that of the place where this is served, whether the proxy before it has cut that off or not."""
        root = scope["root_path"] = self.prefix or scope.get("root_path", "").rstrip("/")
        if root and not scope["path"].startswith(f"{root}/"):
            scope["path"] = f"{root}{scope['path']}"

    async def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        endpoint, parameters = self._endpoint(scope)
        if not any_host(endpoint):
            self._check_host(headers)
        if endpoint is None:
            return  # there is no such route, or not for this method: nothing of ours will be called
        role = rule_of(endpoint)
        if role is None:
            raise Problem(403, "closed", Message("api.closed"))
        scope[_LIMIT] = limit = limit_of(endpoint, self.context.jobs.settings.argument_limit)
        check_length(headers.get("content-length", ""), limit)
        person = await self._person(scope, needed=role != ANYONE)
        self._check_origin(scope, headers, person)
        scope[_PERSON] = person
        if role == ANYONE:
            if getattr(endpoint, _ATTEMPT, False):
                self.context.logins.attempts.begin(self.access.address(scope))
            return
        if person is None:
            raise Problem(401, "login-needed", self._how(scope), headers=CHALLENGE)
        if not person.may(role):
            raise Problem(403, "role-needed", Message("api.needs-role", role=role, mine=person.role), role=role)
        if person.bound_to is not None:
            kind = getattr(endpoint, _ACCEPTS, None)
            if kind is None or person.bound_to != f"{kind}:{parameters.get('name')}":
                raise Problem(403, "bound-token", Message("api.bound-token", bound_to=person.bound_to))

    async def _person(self, scope: Scope, *, needed: bool) -> Person | None:
        try:
            return await self.access.person(scope, self.context.logins)
        except Problem:
            if needed:
                raise
            return None

    def _how(self, scope: Scope) -> Message:
        if self.access.tokens or self.access.login is not None or self.access.proxy_header is not None:
            return Message("api.log-in")
        del scope
        return Message("api.no-login-here")

    def _endpoint(self, scope: Scope) -> tuple[Any, dict[str, Any]]:
        """What this request will call, with the parameters of its path: the first route that fits, as the router decides."""
        for route in self.table.routes:
            match, found = route.matches(scope)
            if match is Match.FULL:
                return found.get("endpoint", route), found.get("path_params", {})
        return None, {}

    # -- where it comes from ---------------------------------------------------------------------------

    def _check_host(self, headers: Headers) -> None:
        """A name that another site has pointed at this machine is not ours (DNS rebinding)."""
        host = headers.get("host", "").lower()
        name = host.rpartition(":")[0] if ":" in host.rpartition("]")[2] else host
        good = name in self.allowed_hosts or host in self.allowed_hosts
        if not self.allowed_hosts:
            # Who has to log in is known to the browser under the right name only.
            good = not self.access.local
        if not good and not (self.access.local and name in _LOOPBACK):
            message = Message("api.other-host", host=host[:200])
            raise Problem(421, "unknown-host", message)

    def _check_origin(self, scope: Scope, headers: Headers, person: Person | None) -> None:
        """What changes something comes from our own pages, or from a program that shows its token."""
        socket = scope["type"] == "websocket"
        if (not socket and scope["method"] in _SAFE) or (person is not None and person.how == "token"):
            return
        origin = headers.get("origin")
        crossed = headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}
        if (origin is None and crossed) or (origin is not None and not self._is_ours(origin, scope, headers)):
            message = Message("api.other-origin", origin=(origin or "unknown")[:200])
            raise Problem(403, "foreign-origin", message)
        if not socket and OURS not in headers:
            raise Problem(403, "header-missing", Message("api.header-needed"))

    def _is_ours(self, origin: str, scope: Scope, headers: Headers) -> bool:
        origin = origin.lower().rstrip("/")
        if origin in self.origins:
            return True
        host = headers.get("host", "").lower()
        if self.access.trusts(scope):
            host = headers.get("x-forwarded-host", host).lower()
        parts = urlsplit(origin)
        default = {"http": ":80", "https": ":443"}.get(parts.scheme)
        return default is not None and parts.netloc.removesuffix(default) == host.removesuffix(default)

    # -- what is answered ------------------------------------------------------------------------------

    async def _refuse(self, problem: Problem, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await _refuse_socket(problem, scope, receive, send)
        else:
            await problem.response()(scope, receive, self._with_headers(send))

    @staticmethod
    def _with_headers(send: Send) -> Callable[[Event], Awaitable[None]]:
        async def sending(message: Event) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        return sending


async def _refuse_socket(problem: Problem, scope: Scope, receive: Receive, send: Send) -> None:
    """With the answer of a request where the server can do that, else by closing."""
    await receive()
    if "websocket.http.response" in scope.get("extensions", {}):
        response = problem.response()
        start = {"status": response.status_code, "headers": response.raw_headers}
        await send({"type": "websocket.http.response.start", **start})
        await send({"type": "websocket.http.response.body", "body": response.body})
    else:
        await send({"type": "websocket.close", "code": 4000 + problem.status, "reason": problem.detail[:100]})


__all__ = ["ANYONE", "HEADERS", "Guard", "Who", "is_loopback", "needs", "person_of", "routes", "rule_of"]
