"""What a submission would be answered as things stand: for one that can be stored only later. Reads alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select

from jobtrail.database.tables import idempotency_keys, jobs
from jobtrail.job.model import Outcome, Submitted

from . import units

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.job.model import NewJob

    from .submissions import Rules


def foresee(conn: Connection, new: NewJob, rules: Rules, now: datetime) -> Submitted | None:
    """The answer of `submissions.submit` where another job stands for this one or is in its way; None where it would be stored."""
    return _known_key(conn, rules, now) or _unit_in_way(conn, new, rules)


def _known_key(conn: Connection, rules: Rules, now: datetime) -> Submitted | None:
    if rules.idempotency is None:
        return None
    scope, key, digest, _ = rules.idempotency
    table = idempotency_keys
    found = conn.execute(select(table).where(table.c.scope == scope, table.c.key == key)).first()
    if found is None or found.expires_at <= now:
        return None
    if found.digest != digest:
        return Submitted(found.job_id, created=False, in_way=found.job_id, why="key")
    return Submitted(found.job_id, created=False)


def _unit_in_way(conn: Connection, new: NewJob, rules: Rules) -> Submitted | None:
    if rules.unit is None or rules.if_active == "queue":
        return None
    holder = conn.execute(select(jobs.c.id, jobs.c.args).where(jobs.c.unit_lock == rules.unit.key)).first()
    if holder is not None:
        refused = rules.if_active == "raise" or holder.args != new.args
        why = "active" if refused else None
        return Submitted(holder.id, created=False, in_way=holder.id if refused else None, why=why)
    unit = units.get(conn, rules.unit.key) if rules.if_done != "run" else None
    if unit is not None and unit.outcome is Outcome.SUCCESS and unit.job_id is not None:
        return Submitted(unit.job_id, created=False, in_way=unit.job_id, why="done")
    return None
