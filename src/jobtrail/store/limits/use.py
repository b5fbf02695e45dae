"""What limits allow and what is used of them: read anew for each claim, because jobs themselves are the count."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlalchemy import func, literal_column, null, select, union_all
from sqlalchemy import text as sql

from jobtrail.database.tables import LIMITED_HELD, jobs, limit_starts, limits
from jobtrail.job.limits.allotment import LimitUse
from jobtrail.job.limits.limit import Quota
from jobtrail.job.limits.starts import Starts

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy import Connection

    from jobtrail.job.limits.allotment import Key

MOST_KEYS = 10_000
_HELD = (
    select(jobs.c.limits.label("name"), func.count().label("number"), null().label("rate"), null().label("per"))
    .add_columns(literal_column("0").label("is_quota"))
    .where(sql(LIMITED_HELD))
    .group_by(jobs.c.limits)
)
_QUOTAS = select(limits.c.name, limits.c.running, limits.c.rate, limits.c.per, literal_column("1").label("is_quota"))
_USE = union_all(_QUOTAS, _HELD)
_STARTS = select(limit_starts.c.name, limit_starts.c.key, limit_starts.c.used)


def read_use(conn: Connection, keys: Collection[Key] = ()) -> LimitUse:
    """Read what limits allow, which jobs run, and what has started lately of these keys: two small statements.

    On PostgreSQL the answer is exact for keys that the transaction has locked.
    """
    quotas: dict[str, Quota] = {}
    held: dict[str, int] = {}
    for name, number, rate, per, is_quota in conn.execute(_USE):
        if is_quota:
            quotas[name] = Quota(number, rate, per or 1.0)
        else:
            held[name] = number
    rated = sorted({key for name, key in keys if name in quotas and quotas[name].rate is not None})
    return LimitUse(quotas, held, read_starts(conn, rated) if rated else {})


def read_all(conn: Connection) -> LimitUse:
    """Read what limits allow, which jobs run, and what has started lately of all keys, for people: at most `MOST_KEYS`."""
    use = read_use(conn)
    rated = any(quota.rate is not None for quota in use.quotas.values())
    return replace(use, starts=read_starts(conn)) if rated else use


def read_starts(conn: Connection, keys: Collection[str] | None = None) -> dict[Key, Starts]:
    """Read what has started lately, of these keys or of all."""
    query = _STARTS.order_by(limit_starts.c.at.desc()).limit(MOST_KEYS) if keys is None else _STARTS.where(limit_starts.c.key.in_(list(keys)))
    return {(row.name, row.key): Starts.from_json(row.used) for row in conn.execute(query)}
