"""What people did that is no move of one job: queues, schedules, tokens, bulk actions; with who, why and when."""

from __future__ import annotations

from json import dumps, loads
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from .tables import actions

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from sqlalchemy import Connection

    from .dialects import Dialect

_COLUMNS = ("at", "actor", "name", "target", "reason", "detail")


def record(
    conn: Connection,
    dialect: Dialect,
    now: datetime,
    *,
    actor: str,
    name: str,
    target: str | None = None,
    reason: str | None = None,
    detail: Mapping[str, Any] | None = None,
) -> None:
    """Write one, in the transaction of what it tells."""
    row = (now, actor, name, target, reason, dumps(detail, default=str) if detail else None)
    dialect.insert_many(conn, actions, _COLUMNS, [row])


def newest(
    conn: Connection, *, before: int | None = None, actor: str | None = None, name: str | None = None, limit: int = 100
) -> list[dict[str, Any]]:
    """Newest first, from below the id ``before``."""
    query = select(actions).order_by(actions.c.id.desc()).limit(limit)
    for condition in (
        actions.c.id < before if before is not None else None,
        actions.c.actor == actor if actor is not None else None,
        actions.c.name == name if name is not None else None,
    ):
        query = query if condition is None else query.where(condition)
    return [{**row._mapping, "detail": loads(row.detail) if row.detail else {}} for row in conn.execute(query)]
