"""What people did that is no move of one job: queues, schedules, tokens, bulk actions; with who, why and when."""

from __future__ import annotations

from json import dumps
from typing import TYPE_CHECKING, Any

from jobtrail.database.tables import actions

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.database.dialects import Dialect

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
