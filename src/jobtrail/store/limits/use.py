"""What limits allow and what is used of them: read anew for each claim, because jobs themselves are the count."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from jobtrail.database.tables import LIMITED_HELD, jobs, limit_starts, limits
from jobtrail.database.types import from_micros
from jobtrail.job.limits.allotment import LimitUse
from jobtrail.job.limits.limit import Quota
from jobtrail.job.limits.starts import Starts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.job.limits.allotment import Key

MOST_KEYS = 10_000
# What is allowed (kind 1) and what runs (kind 2), to be read by itself or with what waits.
USE = (
    f"SELECT 1, name, running, NULL, rate, per FROM {limits.name} UNION ALL "  # noqa: S608 - constants
    f"SELECT 2, limits, count(*), NULL, NULL, NULL FROM {jobs.name} WHERE {LIMITED_HELD} GROUP BY limits"
)
_STARTS = select(limit_starts.c.name, limit_starts.c.key, limit_starts.c.used)


def run(conn: Connection, statement: str, given: Mapping[str, Any]) -> Sequence[Any]:
    """Run a statement whose parameters stand as ``{name}``; plain SQL, because it is part of each claim."""
    mark = "%({})s" if conn.dialect.name == "postgresql" else ":{}"
    return conn.exec_driver_sql(_marked(statement, mark, tuple(given)), dict(given)).all()


@lru_cache(maxsize=16)
def _marked(statement: str, mark: str, names: tuple[str, ...]) -> str:
    return statement.format(**{name: mark.format(name) for name in names})


def moment_of(value: Any) -> datetime:
    """Return a moment of a row of plain SQL."""
    found: datetime = from_micros(value) if isinstance(value, int) else value
    return found


def use_of(rows: Iterable[Any]) -> LimitUse:
    """Return the use that rows of `USE` tell, without what has started lately."""
    quotas: dict[str, Quota] = {}
    held: dict[str, int] = {}
    for kind, name, number, _, rate, per in rows:
        if kind == 1:
            quotas[name] = Quota(number, rate, per or 1.0)
        else:
            held[name] = number
    return LimitUse(quotas, held)


def read_use(conn: Connection, keys: Collection[Key]) -> LimitUse:
    """Read what limits allow, which jobs run, and what has started lately of these keys.

    On PostgreSQL the answer is exact for keys that the transaction has locked before.
    """
    return with_starts(conn, use_of(run(conn, USE, {})), keys)


def with_starts(conn: Connection, use: LimitUse, keys: Collection[Key]) -> LimitUse:
    """Add what has started lately of these keys, where a rate stands for one of them."""
    rated = sorted({key for name, key in keys if name in use.quotas and use.quotas[name].rate is not None})
    return replace(use, starts=read_starts(conn, rated)) if rated else use


def read_all(conn: Connection) -> LimitUse:
    """Read what limits allow, which jobs run, and what has started lately of all keys, for people: at most `MOST_KEYS`."""
    use = use_of(run(conn, USE, {}))
    rated = any(quota.rate is not None for quota in use.quotas.values())
    return replace(use, starts=read_starts(conn)) if rated else use


def read_starts(conn: Connection, keys: Collection[str] | None = None) -> dict[Key, Starts]:
    """Read what has started lately, of these keys or of all."""
    query = _STARTS.order_by(limit_starts.c.at.desc()).limit(MOST_KEYS) if keys is None else _STARTS.where(limit_starts.c.key.in_(list(keys)))
    return {(row.name, row.key): Starts.from_json(row.used) for row in conn.execute(query)}
