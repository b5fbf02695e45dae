"""Limits by key: what each allows, and for each key in use what runs, what waits, and when the next may start."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import datetime
from typing import TYPE_CHECKING

from pydantic import Field
from sqlalchemy import func, select, union_all
from sqlalchemy import text as sql

from jobtrail.database.tables import HANDED, LIMITED, jobs
from jobtrail.job.limits.limit import read_keys
from jobtrail.queries.base import MaskedText, Model
from jobtrail.store.limits import definitions
from jobtrail.store.limits.use import read_all

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from jobtrail.job.limits.allotment import Key, LimitUse

MOST_WAITING = 100_000
MOST_KEYS = 100  # of one limit that are listed: those that run and wait most
_WAIT = union_all(
    select(jobs.c.limits).where(sql(LIMITED)), select(jobs.c.limits).where(sql(HANDED), jobs.c.limits.is_not(None))
).limit(MOST_WAITING).subquery()  # fmt: skip
_WAITING = select(_WAIT.c.limits, func.count().label("number")).group_by(_WAIT.c.limits)


class LimitNumbers(Model):
    """What a limit allows for each key; null means any number."""

    running: int | None = Field(description="Jobs that run at once.", examples=[2])
    rate: int | None = Field(description="Jobs that start in any span of `per` seconds.")
    per: float = Field(description="Seconds.", examples=[1.0])


class LimitKey(Model):
    """A key of which jobs run or wait, or have started lately."""

    key: MaskedText = Field(examples=["tenant:acme"])
    running: int
    waiting: int = Field(description="Jobs that wait with this key, for whatever reason; stops at 100,000 in all.")
    free: int | None = Field(description="How many may start now; null where the limit allows any number.")
    next_at: datetime | None = Field(description="When the rate lets the next one start; null if it may now.")


class LimitLine(Model):
    """A limit."""

    name: str = Field(description="The template of its keys.", examples=["tenant:{tenant}"])
    now: LimitNumbers = Field(description="What is in force.")
    declared: LimitNumbers | None = Field(description="What the programs declare.")
    actor: str | None = Field(description="Who changed it; null where it is as declared.")
    reason: MaskedText | None
    at: datetime | None
    running: int = Field(description="Jobs of all its keys that run.")
    waiting: int = Field(description="Jobs of all its keys that wait.")
    keys: list[LimitKey] = Field(description="At most 100, those that run and wait most.")
    more: bool = Field(description="Whether there are more keys.")


class LimitList(Model):
    """All limits, by name."""

    limits: list[LimitLine]
    now: datetime


def read(conn: Connection, now: datetime) -> LimitList:
    """Read all limits."""
    known = definitions.read_all(conn)
    if not known:
        return LimitList(limits=[], now=now)
    use, waiting = read_all(conn), _waiting(conn)
    of_limit: defaultdict[str, set[Key]] = defaultdict(set)
    for key in {*use.running, *waiting, *use.starts}:
        of_limit[key[0]].add(key)
    lines = [_line(one, sorted(of_limit[one.name]), use, waiting, now) for one in known.values()]
    return LimitList(limits=lines, now=now)


def _line(
    one: definitions.LimitDefinition, keys: list[Key], use: LimitUse, waiting: Counter[Key], now: datetime
) -> LimitLine:
    shown = sorted(keys, key=lambda key: -use.running[key] - waiting[key])[:MOST_KEYS]
    return LimitLine(
        name=one.name, now=LimitNumbers.model_validate(one.quota),
        declared=None if one.declared is None else LimitNumbers.model_validate(one.declared),
        actor=one.actor, reason=one.reason, at=one.at,
        running=sum(use.running[key] for key in keys), waiting=sum(waiting[key] for key in keys),
        keys=[_key(key, use, waiting, now) for key in shown], more=len(keys) > len(shown),
    )  # fmt: skip


def _key(key: Key, use: LimitUse, waiting: Counter[Key], now: datetime) -> LimitKey:
    return LimitKey(
        key=key[1], running=use.running[key], waiting=waiting[key], free=use.free(key, now) if use.counts(key[0]) else None,
        next_at=use.next_start(key, now),
    )  # fmt: skip


def _waiting(conn: Connection) -> Counter[Key]:
    found: Counter[Key] = Counter()
    for row in conn.execute(_WAITING):
        for key in read_keys(row.limits).items():
            found[key] += row.number
    return found
