"""Sessions: a token exchanged for a signed cookie, which ends with the token; and how often a login may fail."""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from itsdangerous import BadData, TimestampSigner

from jobtrail.api.problems import Problem
from jobtrail.messages import Message
from jobtrail.store import tokens
from jobtrail.store.search.grammar import ID

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from jobtrail.store import Store
    from jobtrail.store.tokens import StoredToken, Token

COOKIE = "jobtrail_session"
LASTS = 7 * 86_400  # seconds
MOST_FAILURES = 10
WITHIN = 300.0  # seconds
REMEMBERED = 4096  # addresses


class TokenLogins:
    """Logins by API token and by session cookie against one store.

    Args:
        store: where the tokens are.
        secret: mixed into the signature of sessions.
        call: calls a function in a thread.
    """

    def __init__(self, store: Store, secret: str, call: Callable[..., Awaitable[Any]]) -> None:
        self._store = store
        self._secret = secret
        self._call = call
        self.attempts = LoginAttempts()

    async def token(self, text: str) -> Token | None:
        """The token of this text, if it is known, not revoked and not expired."""
        found: Token | None = await self._call(find_token, self._store, text)
        return found

    async def session(self, cookie: str) -> Token | None:
        """The token whose session this cookie is, if it still counts."""
        found: Token | None = await self._call(find_session, self._store, self._secret, cookie)
        return found

    async def begin(self, token: Token) -> str:
        """The cookie of a new session."""
        cookie: str = await self._call(begin_session, self._store, self._secret, token)
        return cookie


def find_token(store: Store, text: str) -> Token | None:
    """The token of this text; its use is noted about once a minute."""
    with store.read() as conn:
        found = tokens.find(conn, text, store.now())
        stored = None if found is None else tokens.by_id(conn, found.id)
    if stored is not None:
        _note_use(store, stored)
    return found


def _note_use(store: Store, stored: StoredToken) -> None:
    now = store.now()
    if stored.used_at is None or stored.used_at < now - tokens.USED_EVERY:
        store.write(lambda conn: tokens.used(conn, stored.token.id, now), key=stored.token.id)


def begin_session(store: Store, secret: str, token: Token) -> str:
    """The cookie of a token's session.

    It is signed with the token's digest: no other key has to be kept, every process can check it, and it is worth nothing
    once the token is revoked.
    """
    with store.read() as conn:
        stored = tokens.by_id(conn, token.id)
    return _signer("" if stored is None else stored.digest, secret).sign(token.id).decode()


def find_session(store: Store, secret: str, cookie: str) -> Token | None:
    """The token whose session this is, if it still counts."""
    token_id = cookie.partition(".")[0]
    if not ID.fullmatch(token_id):
        return None
    with store.read() as conn:
        stored = tokens.by_id(conn, token_id)
    if stored is None or (stored.expires_at is not None and stored.expires_at <= store.now()):
        return None
    try:
        _signer(stored.digest, secret).unsign(cookie, max_age=LASTS)
    except BadData:
        return None
    _note_use(store, stored)
    return stored.token


def _signer(digest: str, secret: str) -> TimestampSigner:
    return TimestampSigner(f"{secret}{digest}", salt="jobtrail.session", digest_method=_sha256())


def _sha256() -> object:
    import hashlib

    return hashlib.sha256


class LoginAttempts:
    """How often somebody at an address has failed to log in lately; it remembers a bounded number of addresses."""

    def __init__(self) -> None:
        self._failures: OrderedDict[str, list[float]] = OrderedDict()

    def check(self, address: str) -> None:
        """Refuse whoever has failed too often.

        Raises: Problem 429, with the seconds to wait.
        """
        recent = self._recent(address)
        if len(recent) >= MOST_FAILURES:
            wait = max(int(recent[0] + WITHIN - time.monotonic()) + 1, 1)
            message = Message("api.too-many-logins", wait=wait)
            raise Problem(429, "too-many-failures", message, headers={"Retry-After": str(wait)})

    def failed(self, address: str) -> None:
        """Remember one more."""
        self._failures[address] = [*self._recent(address), time.monotonic()][-MOST_FAILURES:]
        self._failures.move_to_end(address)
        while len(self._failures) > REMEMBERED:
            self._failures.popitem(last=False)

    def _recent(self, address: str) -> list[float]:
        since = time.monotonic() - WITHIN
        return [at for at in self._failures.get(address, ()) if at > since]
