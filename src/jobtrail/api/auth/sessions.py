"""Sessions: a token exchanged for a signed cookie, which ends with the token itself; and how often a login may fail."""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import TYPE_CHECKING

from itsdangerous import BadData, TimestampSigner
from sqlalchemy import select

from jobtrail.api.problems import Problem
from jobtrail.database.tables import tokens as table
from jobtrail.messages import Message
from jobtrail.store import tokens
from jobtrail.store.search.grammar import ID

if TYPE_CHECKING:
    from jobtrail.store import Store
    from jobtrail.store.tokens import Token

COOKIE = "jobtrail_session"
LASTS = 7 * 86_400  # seconds
MOST_FAILURES = 10
WITHIN = 300.0  # seconds
REMEMBERED = 4096  # addresses


def find_token(store: Store, text: str) -> Token | None:
    """The token of this text; that it was used is noted about once a minute."""
    with store.read() as conn:
        found = tokens.find(conn, text, store.now())
    if found is not None:
        note_use(store, found)
    return found


def note_use(store: Store, token: Token) -> None:
    """Write down that it was used, where that is not known yet."""
    now = store.now()
    with store.read() as conn:
        used = conn.execute(select(table.c.used_at).where(table.c.id == token.id)).scalar()
    if used is None or used < now - tokens.USED_EVERY:
        store.write(lambda conn: tokens.used(conn, token.id, now), key=token.id)


def begin_session(store: Store, secret: str, token: Token) -> str:
    """The cookie for a token.

    It is signed with what the store keeps of the token, so that no other key has to be kept, every process knows it, and
    it is worth nothing once the token is revoked.
    """
    return _signer(_digest(store, token.id) or "", secret).sign(token.id).decode()


def find_session(store: Store, secret: str, cookie: str) -> Token | None:
    """The token whose session this is, if it still counts."""
    token_id = cookie.partition(".")[0]
    if not ID.fullmatch(token_id):
        return None
    with store.read() as conn:
        row = conn.execute(select(table).where(table.c.id == token_id, table.c.revoked_at.is_(None))).first()
    if row is None or (row.expires_at is not None and row.expires_at <= store.now()):
        return None
    try:
        _signer(row.digest, secret).unsign(cookie, max_age=LASTS)
    except BadData:
        return None
    found = tokens.Token(row.id, row.name, row.role)
    note_use(store, found)
    return found


def _digest(store: Store, token_id: str) -> str | None:
    with store.read() as conn:
        digest: str | None = conn.execute(select(table.c.digest).where(table.c.id == token_id)).scalar()
    return digest


def _signer(digest: str, secret: str) -> TimestampSigner:
    return TimestampSigner(f"{secret}{digest}", salt="jobtrail.session", digest_method=_sha256())


def _sha256() -> object:
    import hashlib

    return hashlib.sha256


class Attempts:
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
