"""Queues: what waits and runs in each, who serves it, and who paused it."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from json import loads
from typing import TYPE_CHECKING, Any

from pydantic import Field
from sqlalchemy import select

from jobtrail.database.tables import queues
from jobtrail.queries.base import MaskedText, Model
from jobtrail.store import workers

from . import charts, statistics

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from jobtrail.queries.context import QueryContext

MOST_WORKERS = 500
_NOTHING: dict[str, Any] = {
    "due": 0, "later": 0, "running": 0, "oldest": None, "paused": False, "actor": None, "reason": None, "at": None,
}  # fmt: skip


class QueueLine(Model):
    """A queue."""

    name: str = Field(examples=["default"])
    due: int = Field(description="Waits for a slot; stops at 100,000.")
    later: int = Field(description="Waits for its time; stops at 100,000.")
    running: int
    oldest: datetime | None = Field(description="Since when the first one is due.")
    workers: int = Field(description="How many living workers take from it.")
    slots: int = Field(description="Their slots, which they may share with other queues.")
    paused: bool
    actor: str | None = Field(description="Who paused or resumed it last.")
    reason: MaskedText | None
    at: datetime | None
    rate: float = Field(description="Jobs that ended in a second of the last five minutes.")
    drained_in: float | None = Field(description="Seconds, if it goes on so; null where nothing ended lately.")


class QueueList(Model):
    """All queues, by name."""

    queues: list[QueueLine]
    now: datetime


def read(conn: Connection, context: QueryContext, now: datetime) -> QueueList:
    """Read all queues: those with jobs, those of living workers and of registered tasks, and those ever paused."""
    rows = _rows(conn, context.waiting(conn, now))
    number, slots = _served(conn)
    names = {*rows, *number, *(task.queue for task in context.tasks.all())}
    rates = context.rates(conn, now)
    drained = charts.drained_in({name: row["due"] for name, row in rows.items()}, rates)
    return QueueList(
        queues=[
            QueueLine(
                name=name, **rows.get(name, _NOTHING), workers=number[name], slots=slots[name], rate=rates.get(name, 0.0),
                drained_in=drained.get(name),
            )
            for name in sorted(names)
        ],
        now=now,
    )  # fmt: skip


def _rows(conn: Connection, waiting: list[statistics.QueueBacklog]) -> dict[str, dict[str, Any]]:
    found = {one.queue: _NOTHING | {"due": one.due, "later": one.later, "oldest": one.oldest} for one in waiting}
    for _, _, queue, number in statistics.held(conn):
        row = found.setdefault(queue, dict(_NOTHING))
        row["running"] += number
    for one in conn.execute(select(queues)):
        about = {"paused": one.paused, "actor": one.actor, "reason": one.reason, "at": one.at}
        found[one.name] = found.get(one.name, _NOTHING) | about
    return found


def _served(conn: Connection) -> tuple[Counter[str], Counter[str]]:
    """How many living workers take from each queue, and their slots."""
    number: Counter[str] = Counter()
    slots: Counter[str] = Counter()
    for worker in workers.everyone(conn, limit=MOST_WORKERS):
        if worker["state"] in workers.ALIVE:
            for name in loads(worker["queues"]):
                number[name] += 1
                slots[name] += worker["slots"]
    return number, slots
