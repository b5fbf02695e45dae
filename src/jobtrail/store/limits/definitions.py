"""What each limit allows: declared by programs, changed by people, and kept until they take the change back."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from json import dumps, loads
from typing import TYPE_CHECKING

from sqlalchemy import select

from jobtrail.database.tables import limits
from jobtrail.job.limits.limit import Quota
from jobtrail.store import events

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection, Row

    from jobtrail.database.dialects import Dialect
    from jobtrail.job.limits.limit import Limit

_COLUMNS = ("name", "running", "rate", "per", "declared", "actor", "reason", "at")
_AGAIN = "ON CONFLICT (name) DO UPDATE SET " + ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS[1:])


@dataclass(frozen=True, slots=True)
class LimitDefinition:
    """A limit as it is in force.

    Attributes:
        name: The template of its keys.
        quota: What it allows for each key.
        declared: What the programs declare; None where none does.
        actor: Who changed it; None where it is as declared.
        reason: Why.
        at: When it was changed or declared last.
    """

    name: str
    quota: Quota
    declared: Quota | None
    actor: str | None
    reason: str | None
    at: datetime | None


def read_all(conn: Connection) -> dict[str, LimitDefinition]:
    """Read all limits by name."""
    return {row.name: _read(row) for row in conn.execute(select(limits).order_by(limits.c.name))}


def declare(conn: Connection, dialect: Dialect, declared: Iterable[Limit], now: datetime) -> None:
    """Store what this program declares; a limit that a person has changed stays changed. Writes only what is new."""
    known, rows = read_all(conn), []
    for one in declared:
        there = known.get(one.name)
        if there is not None and there.declared == one.quota:
            continue
        if there is not None and there.actor is not None:
            rows.append(_row(LimitDefinition(one.name, there.quota, one.quota, there.actor, there.reason, there.at)))
        else:
            rows.append(_row(LimitDefinition(one.name, one.quota, one.quota, None, None, now)))
    if rows:
        dialect.insert_many(conn, limits, _COLUMNS, sorted(rows, key=lambda row: str(row[0])), _AGAIN)


def change(
    conn: Connection, dialect: Dialect, name: str, quota: Quota | None, now: datetime, *, actor: str, reason: str | None
) -> LimitDefinition | None:
    """Set what a limit allows, or with None take a change back; recorded as an operator's action.

    Returns:
        The limit as it is now; None, and nothing written, if it is not known.
    """
    there = read_all(conn).get(name)
    if there is None or (quota is None and there.declared is None):
        return None
    wanted = quota or there.declared or there.quota
    if wanted == there.quota and (quota is None) is (there.actor is None):
        return there
    set_by = None if quota is None else actor
    new = LimitDefinition(name, wanted, there.declared, set_by, reason if set_by else None, now)
    dialect.insert_many(conn, limits, _COLUMNS, [_row(new)], _AGAIN)
    detail = {"was": asdict(there.quota), "now": asdict(wanted)}
    what = "limit_reset" if quota is None else "limit_set"
    events.record_action(conn, dialect, now, actor=actor, name=what, target=name, reason=reason, detail=detail)
    return new


def _row(one: LimitDefinition) -> tuple[object, ...]:
    quota, declared = one.quota, dumps(asdict(one.declared)) if one.declared else None
    return (one.name, quota.running, quota.rate, quota.per, declared, one.actor, one.reason, one.at)


def _read(row: Row[tuple[object, ...]]) -> LimitDefinition:
    declared = Quota(**loads(row.declared)) if row.declared else None
    quota = Quota(row.running, row.rate, row.per or 1.0)
    return LimitDefinition(row.name, quota, declared, row.actor, row.reason, row.at)
