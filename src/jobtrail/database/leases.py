"""Leases: who of several processes decides something now. By the database's clock, with a token that rises at every change of hands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import and_, case, or_, select, update

from .tables import leases, workers
from .types import EPOCH

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from .dialects import Dialect

ENDED = ("dead", "stopped")
_COLUMNS = ("name", "holder", "token", "expires_at")


def take(
    conn: Connection, dialect: Dialect, names: Sequence[str], holder: str, now: datetime, until: datetime
) -> dict[str, int]:
    """Take those leases that are free, run out, or held by a worker that has ended, and renew one's own: name to token.

    A token that one had before is one's still; another means that somebody else may have decided meanwhile.
    """
    rows = [(name, holder, 0, EPOCH) for name in sorted(names)]
    dialect.insert_many(conn, leases, _COLUMNS, rows, "ON CONFLICT (name) DO NOTHING")
    mine = leases.c.holder == holder
    gone = leases.c.holder.in_(select(workers.c.id).where(workers.c.state.in_(ENDED)))
    token = case((and_(mine, leases.c.expires_at > now), leases.c.token), else_=leases.c.token + 1)
    taken = (
        update(leases)
        .where(leases.c.name.in_(sorted(names)), or_(mine, leases.c.expires_at <= now, gone))
        .values(holder=holder, token=token, expires_at=until)
        .returning(leases.c.name, leases.c.token)
    )
    return {row.name: row.token for row in conn.execute(taken)}


def are_held(conn: Connection, tokens: Mapping[str, int]) -> bool:
    """Are all of these still one's own? They stay so until the end of the transaction."""
    query = select(leases.c.name, leases.c.token).where(leases.c.name.in_(sorted(tokens))).order_by(leases.c.name)
    if conn.dialect.name == "postgresql":
        query = query.with_for_update()
    return {row.name: row.token for row in conn.execute(query)} == dict(tokens)


def give_up(conn: Connection, tokens: Mapping[str, int]) -> None:
    """Somebody else may go on at once."""
    for name, token in sorted(tokens.items()):
        conn.execute(update(leases).where(leases.c.name == name, leases.c.token == token).values(expires_at=EPOCH))


def everyone(conn: Connection, now: datetime) -> list[tuple[str, str, datetime]]:
    """The leases that are held now: name, holder, and until when."""
    held = leases.c.expires_at > now
    query = select(leases.c.name, leases.c.holder, leases.c.expires_at).where(held).order_by(leases.c.name)
    return [(row.name, row.holder, row.expires_at) for row in conn.execute(query)]


def held(conn: Connection, names: Sequence[str], now: datetime) -> set[str]:
    """Which of these a process holds that has not ended."""
    gone = leases.c.holder.in_(select(workers.c.id).where(workers.c.state.in_(ENDED)))
    query = select(leases.c.name).where(leases.c.name.in_(sorted(names)), leases.c.expires_at > now, ~gone)
    return set(conn.execute(query).scalars())


def free(conn: Connection, names: Sequence[str], holder: str, now: datetime) -> set[str]:
    """Which of these `take` would give now; a look that writes nothing."""
    gone = leases.c.holder.in_(select(workers.c.id).where(workers.c.state.in_(ENDED)))
    others = (leases.c.holder != holder) & (leases.c.expires_at > now) & ~gone
    query = select(leases.c.name).where(leases.c.name.in_(sorted(names)), others)
    return set(names) - set(conn.execute(query).scalars())
