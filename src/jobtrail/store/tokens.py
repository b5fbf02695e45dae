"""API tokens and sessions: who may do what over the network. Only digests are kept; a token or cookie is shown once."""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, select, update

from jobtrail.database.tables import sessions, tokens
from jobtrail.errors import UsageError
from jobtrail.job.model import new_id
from jobtrail.messages import Message

from . import events
from .search.grammar import ID

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.database.dialects import Dialect

PREFIX = "jt_"
_BINDING = re.compile(r"[a-z][a-z0-9_-]{0,49}:\S(?:.{0,198}\S)?")
USED_EVERY = timedelta(minutes=1)  # how exactly the last use is known


@dataclass(frozen=True, slots=True)
class Token:
    """A token as it is kept."""

    id: str
    name: str
    role: str
    bound_to: str | None = None


def check_binding(bound_to: str) -> None:
    """Check what a token is bound to: a kind and a name, ``module:parser``.

    Raises: UsageError.
    """
    if not _BINDING.fullmatch(bound_to) or not bound_to.isprintable():
        raise UsageError(Message("store.bad-binding", value=repr(bound_to)))


def _random() -> str:
    return secrets.token_urlsafe(32)


def digest_of(token: str) -> str:
    """What is kept of a token; it has 256 random bits, so a plain hash is enough."""
    return hashlib.sha256(token.encode()).hexdigest()


def create(
    conn: Connection,
    dialect: Dialect,
    now: datetime,
    *,
    name: str,
    role: str,
    actor: str,
    expires_at: datetime | None = None,
    bound_to: str | None = None,
) -> tuple[Token, str]:
    """Make a token; the text is given back once and not kept.

    bound_to: the one thing for which it may be used, ``module:parser``; None for all that its role may do.

    Raises: UsageError for something else that it is bound to.
    """
    if bound_to is not None:
        check_binding(bound_to)
    text = PREFIX + _random()
    made = Token(new_id(), name, role, bound_to)
    columns = ("id", "name", "role", "digest", "created_at", "actor", "expires_at", "bound_to")
    row = (made.id, name, role, digest_of(text), now, actor, expires_at, bound_to)
    dialect.insert_many(conn, tokens, columns, [row])
    detail = {"role": role} if bound_to is None else {"role": role, "bound_to": bound_to}
    events.record_action(conn, dialect, now, actor=actor, name="token_created", target=name, detail=detail)
    return made, text


def find(conn: Connection, text: str, now: datetime) -> StoredToken | None:
    """The token, if it is known, not revoked and not over its time."""
    return _valid(conn, tokens.c.digest == digest_of(text), now)


@dataclass(frozen=True, slots=True)
class StoredToken:
    """A token, and when it was used last."""

    token: Token
    used_at: datetime | None


def _valid(conn: Connection, condition: Any, now: datetime) -> StoredToken | None:
    row = conn.execute(select(tokens).where(condition, tokens.c.revoked_at.is_(None))).first()
    if row is None or (row.expires_at is not None and row.expires_at <= now):
        return None
    return StoredToken(Token(row.id, row.name, row.role, row.bound_to), row.used_at)


def used(conn: Connection, token: str, now: datetime) -> None:
    """Note that it was used just now, about once a minute."""
    mine = (tokens.c.id == token) & (tokens.c.used_at.is_(None) | (tokens.c.used_at < now - USED_EVERY))
    conn.execute(update(tokens).where(mine).values(used_at=now))


def revoke(conn: Connection, dialect: Dialect, name: str, now: datetime, *, actor: str) -> int:
    """Revoke the tokens of this name or id; how many there were."""
    mine = tokens.c.revoked_at.is_(None) & (tokens.c.name == name)
    if ID.fullmatch(name):
        mine = tokens.c.revoked_at.is_(None) & (tokens.c.id == name)
    number = conn.execute(update(tokens).where(mine).values(revoked_at=now)).rowcount
    if number:
        events.record_action(conn, dialect, now, actor=actor, name="token_revoked", target=name)
    return number


def all_of(conn: Connection) -> list[dict[str, Any]]:
    """Every token without its digest, newest first."""
    columns = [column for column in tokens.c if column.name != "digest"]
    return [dict(row._mapping) for row in conn.execute(select(*columns).order_by(tokens.c.id.desc()))]


# -- sessions ----------------------------------------------------------------------------------------


def begin_session(conn: Connection, dialect: Dialect, token: Token, now: datetime, expires_at: datetime) -> str:
    """Store a session of a token and remove expired ones; the text of its cookie is returned once and not kept."""
    text = _random()
    conn.execute(delete(sessions).where(sessions.c.expires_at <= now))
    dialect.insert_many(conn, sessions, ("digest", "token", "expires_at"), [(digest_of(text), token.id, expires_at)])
    return text


def of_session(conn: Connection, text: str, now: datetime) -> StoredToken | None:
    """The token of a session, if session and token are valid."""
    mine = select(sessions.c.token).where(sessions.c.digest == digest_of(text), sessions.c.expires_at > now)
    return _valid(conn, tokens.c.id == mine.scalar_subquery(), now)


def end_session(conn: Connection, text: str) -> None:
    """Remove a session: its cookie is worth nothing from now on, in every process."""
    conn.execute(delete(sessions).where(sessions.c.digest == digest_of(text)))
