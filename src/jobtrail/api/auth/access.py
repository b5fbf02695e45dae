"""Who somebody is: by the host's own login, an API token, a session begun with one, or the header of a trusted proxy."""

from __future__ import annotations

import inspect
import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from starlette.requests import HTTPConnection

from jobtrail.api.problems import Problem
from jobtrail.errors import InvalidOption, UsageError
from jobtrail.messages import Message

from . import sessions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from starlette.types import Scope

    from .sessions import TokenLogins

ROLES = ("viewer", "operator", "admin")
LOCAL = "local"
# What proxies add; of the headers that begin with x-forwarded, each one.
_FORWARDED = frozenset({
    "cdn-loop", "cf-connecting-ip", "client-ip", "fastly-client-ip", "forwarded", "forwarded-for", "true-client-ip", "via",
    "x-appengine-user-ip", "x-client-ip", "x-cluster-client-ip", "x-envoy-external-address", "x-original-forwarded-for",
    "x-original-host", "x-real-ip",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who uses the API: a name for the trail, and a role (viewer, operator, admin).

    how: by what it is known who that is: login, token, session (a token exchanged for a cookie), proxy, local.
    bound_to: the one thing for which the token may be used (``module:parser``); None for all that the role may do.

    Raises: InvalidOption for a role that there is not.
    """

    name: str
    role: str
    how: str = "login"
    bound_to: str | None = None

    def __post_init__(self) -> None:
        """Refuse a role that no route could ask for."""
        if self.role not in ROLES:
            raise InvalidOption(Message("api.no-role", role=self.role, roles=", ".join(ROLES)))

    @property
    def actor(self) -> str:
        """As the trail names them."""
        return f"{'token' if self.how in {'token', 'session'} else 'person'}:{self.name}"

    def may(self, role: str) -> bool:
        """Is this role, or a higher one, theirs?"""
        return ROLES.index(self.role) >= ROLES.index(role)


@dataclass(frozen=True, slots=True)
class Access:
    """The ways in which somebody may be known; see `create_api` for what each means."""

    login: Callable[[Any], Any] | None = None
    tokens: bool = True
    proxy_header: str | None = None
    trusted_proxies: tuple[Any, ...] = ()
    proxy_roles: Mapping[str, str] | None = None
    local: bool = True

    @classmethod
    def of(
        cls,
        *,
        login: Callable[[Any], Any] | None,
        tokens: bool,
        proxy_header: str | None,
        trusted_proxies: Iterable[str],
        proxy_roles: Mapping[str, str] | None,
        local: bool | None,
    ) -> Access:
        """Checked whole.

        Raises: InvalidOption.
        """
        networks = tuple(_network(one) for one in trusted_proxies)
        if proxy_header is not None and not networks:
            raise InvalidOption(Message("api.proxy-needs-addresses"))
        if proxy_header is not None and not proxy_roles:
            raise InvalidOption(Message("api.proxy-needs-roles"))
        for role in (proxy_roles or {}).values():
            Person("", role)
        others = login is not None or proxy_header is not None
        return cls(login, tokens, proxy_header, networks, proxy_roles, not others if local is None else local)

    # -- who is it -----------------------------------------------------------------------------------

    async def person(self, scope: Scope, logins: TokenLogins) -> Person | None:
        """Who asks, None where nobody knows.

        Raises: Problem 401 for a token that is not (any more) good: what is shown and wrong is never passed over; 429
        where that comes too often.
        """
        connection = HTTPConnection(scope)
        bearer = _bearer(connection)
        if bearer is not None and self.tokens:
            return await self._of_token(bearer, scope, logins)
        return (
            await self._of_login(connection, scope)
            or self._of_proxy(connection)
            or await self._of_session(connection, logins)
            or self._of_this_machine(connection)
        )

    async def _of_token(self, text: str, scope: Scope, logins: TokenLogins) -> Person:
        address = self.address(scope)
        found = await logins.token(text)
        if found is None:
            logins.attempts.begin(address)
            await logins.failed(address)
            raise Problem(401, "bad-token", Message("api.bad-token"), headers=CHALLENGE)
        return Person(found.name, found.role, "token", found.bound_to)

    async def _of_login(self, connection: HTTPConnection, scope: Scope) -> Person | None:
        if self.login is None:
            return None
        from starlette.requests import Request

        asked = Request(scope) if scope["type"] == "http" else connection
        if inspect.iscoroutinefunction(self.login) or inspect.iscoroutinefunction(getattr(self.login, "__call__", None)):  # noqa: B004 - an object may be the login
            found = await self.login(asked)
        else:
            found = await anyio.to_thread.run_sync(self.login, asked)
            found = await found if inspect.isawaitable(found) else found
        if found is not None and not isinstance(found, Person):
            raise UsageError(Message("api.login-returned", type=type(found).__name__))
        return found

    def _of_proxy(self, connection: HTTPConnection) -> Person | None:
        if self.proxy_header is None or not self.trusts(connection.scope):
            return None
        name = connection.headers.get(self.proxy_header, "").strip()
        roles = self.proxy_roles or {}
        role = roles.get(name, roles.get("*"))
        return Person(name[:200], role, "proxy") if name and role else None

    async def _of_session(self, connection: HTTPConnection, logins: TokenLogins) -> Person | None:
        cookie = connection.cookies.get(sessions.COOKIE)
        if cookie is None or not self.tokens:
            return None
        found = await logins.session(cookie)
        return None if found is None else Person(found.name, found.role, "session", found.bound_to)

    def _of_this_machine(self, connection: HTTPConnection) -> Person | None:
        """Whoever is on this machine, unless the request was carried here from somewhere else."""
        if not self.local or not is_loopback(connection.scope):
            return None
        carried = any(name in _FORWARDED or name.startswith("x-forwarded") for name in connection.headers)
        return None if carried else Person(LOCAL, "admin", LOCAL)

    # -- where from ----------------------------------------------------------------------------------

    def trusts(self, scope: Scope) -> bool:
        """Does the request come from one of the trusted proxies?"""
        address = _address(scope)
        return address is not None and any(address in network for network in self.trusted_proxies)

    def address(self, scope: Scope) -> str:
        """From where somebody asks, also behind a trusted proxy."""
        if self.trusts(scope):
            forwarded = HTTPConnection(scope).headers.get("x-forwarded-for", "")
            last = forwarded.rpartition(",")[2].strip()
            if last:
                return last[:64]
        client = scope.get("client")
        return str(client[0]) if client else "unknown"


CHALLENGE = {"WWW-Authenticate": 'Bearer realm="jobtrail"'}


def is_loopback(scope: Scope) -> bool:
    """Is the caller on this machine? A Unix socket is."""
    client = scope.get("client")
    if client is None:
        return False
    address = _address(scope)
    return address is not None and address.is_loopback


def _address(scope: Scope) -> Any:
    client = scope.get("client")
    try:
        found = ipaddress.ip_address(client[0]) if client else None
    except ValueError:
        return None
    mapped = getattr(found, "ipv4_mapped", None)
    return mapped or found


def _network(text: str) -> Any:
    try:
        return ipaddress.ip_network(text)
    except ValueError:
        raise InvalidOption(Message("api.bad-proxy-address", text=text)) from None


def _bearer(connection: HTTPConnection) -> str | None:
    scheme, _, text = connection.headers.get("authorization", "").partition(" ")
    return text.strip() if scheme.lower() == "bearer" else None
