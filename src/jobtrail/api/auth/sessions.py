"""Sessions: a token exchanged for a random cookie, which ends at the logout or with the token; and how often a login may fail."""

from __future__ import annotations

import contextlib
import time
from collections import OrderedDict
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from jobtrail.api.problems import Problem
from jobtrail.errors import StoreError
from jobtrail.messages import Message
from jobtrail.store import events, tokens

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from sqlalchemy import Connection

    from jobtrail.store import Store
    from jobtrail.store.tokens import StoredToken, Token

COOKIE = "jobtrail_session"
LASTS = 7 * 86_400  # seconds
MOST_FAILURES = 10
WITHIN = 300.0  # seconds
REMEMBERED = 4096  # addresses
MOST_LINES = 100  # failures that are recorded within this time, of all addresses


class TokenLogins:
    """Logins by API token and by session cookie against one store.

    Args:
        store: where tokens and sessions are.
        call: calls a function in a thread.
    """

    def __init__(self, store: Store, call: Callable[..., Awaitable[Any]]) -> None:
        self._store = store
        self._call = call
        self.attempts = LoginAttempts()

    async def token(self, text: str) -> Token | None:
        """The token of this text, if it is known, not revoked and not expired."""
        found: Token | None = await self._call(find_token, self._store, text)
        return found

    async def session(self, cookie: str) -> Token | None:
        """The token whose session this cookie is, if it still counts."""
        found: Token | None = await self._call(find_session, self._store, cookie)
        return found

    async def begin(self, token: Token, address: str) -> str:
        """The cookie of a new session; the login is recorded."""
        cookie: str = await self._call(begin_session, self._store, token, address)
        return cookie

    async def end(self, cookie: str, address: str) -> None:
        """End a session on the server; the logout is recorded."""
        await self._call(end_session, self._store, cookie, address)

    async def failed(self, address: str) -> None:
        """Record a failed login of an address: the first, and the one after which it has to wait."""
        number = self.attempts.to_record(address)
        if number:
            with contextlib.suppress(StoreError):  # the refusal does not depend on it
                await self._call(_record_failure, self._store, address, number)


def find_token(store: Store, text: str) -> Token | None:
    """The token of this text; its use is noted about once a minute."""
    with store.read() as conn:
        stored = tokens.find(conn, text, store.now())
    return _used(store, stored)


def find_session(store: Store, cookie: str) -> Token | None:
    """The token whose session this is, if it still counts."""
    with store.read() as conn:
        stored = tokens.of_session(conn, cookie, store.now())
    return _used(store, stored)


def _used(store: Store, stored: StoredToken | None) -> Token | None:
    if stored is None:
        return None
    now = store.now()
    if stored.used_at is None or stored.used_at < now - tokens.USED_EVERY:
        store.write(lambda conn: tokens.used(conn, stored.token.id, now), key=stored.token.id)
    return stored.token


def begin_session(store: Store, token: Token, address: str) -> str:
    """The cookie of a new session of a token. The database has its digest only, so who can read it cannot use it."""
    now = store.now()

    def operation(conn: Connection) -> str:
        _record(conn, store, f"token:{token.name}", "logged_in", address)
        return tokens.begin_session(conn, store.dialect, token, now, now + timedelta(seconds=LASTS))

    return store.write(operation)


def end_session(store: Store, cookie: str, address: str) -> None:
    """End a session, in every process."""
    with store.read() as conn:
        stored = tokens.of_session(conn, cookie, store.now())
    if stored is None:
        return

    def operation(conn: Connection) -> None:
        tokens.end_session(conn, cookie)
        _record(conn, store, f"token:{stored.token.name}", "logged_out", address)

    store.write(operation)


def _record_failure(store: Store, address: str, number: int) -> None:
    store.write(lambda conn: _record(conn, store, "nobody", "login_failed", address, failures=number))


def _record(conn: Connection, store: Store, actor: str, name: str, address: str, **detail: Any) -> None:
    events.record_action(conn, store.dialect, store.now(), actor=actor, name=name, target=address, detail=detail)


class LoginAttempts:
    """How often somebody at an address has failed to log in lately; it remembers a bounded number of addresses."""

    def __init__(self) -> None:
        self._failures: OrderedDict[str, list[float]] = OrderedDict()
        self._recorded: list[float] = []

    def begin(self, address: str) -> None:
        """Count an attempt as failed, until it is forgiven.

        Raises: Problem 429, with the seconds to wait, for whoever has failed too often.
        """
        recent, now = self._recent(address), time.monotonic()
        if len(recent) >= MOST_FAILURES:
            wait = max(int(recent[0] + WITHIN - now) + 1, 1)
            message = Message("api.too-many-logins", wait=wait)
            raise Problem(429, "too-many-failures", message, headers={"Retry-After": str(wait)})
        self._failures[address] = [*recent, now]
        self._failures.move_to_end(address)
        while len(self._failures) > REMEMBERED:
            self._failures.popitem(last=False)

    def forgive(self, address: str) -> None:
        """Forget the last attempt of an address: it did not fail."""
        self._failures[address] = self._failures.get(address, [])[:-1]

    def to_record(self, address: str) -> int:
        """How many attempts have failed, where that is to be recorded; else 0."""
        number, now = len(self._recent(address)), time.monotonic()
        self._recorded = [at for at in self._recorded if at > now - WITHIN]
        if number not in {1, MOST_FAILURES} or len(self._recorded) >= MOST_LINES:
            return 0
        self._recorded.append(now)
        return number

    def _recent(self, address: str) -> list[float]:
        since = time.monotonic() - WITHIN
        return [at for at in self._failures.get(address, ()) if at > since]
