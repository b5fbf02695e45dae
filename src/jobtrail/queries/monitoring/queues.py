"""Queues: what waits and runs in each, who serves it, and who paused it."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import datetime
from json import loads
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import Field
from sqlalchemy import select

from jobtrail.database.tables import queues
from jobtrail.queries.base import MaskedText, Model
from jobtrail.store import queues as queue_store
from jobtrail.store import workers

from . import charts, statistics

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from jobtrail.queries.context import QueryContext

MOST_WORKERS = 500
_NOTHING: dict[str, Any] = {
    "due": 0, "later": 0, "behind": 0, "alone": 0, "running": 0, "oldest": None, "paused": False, "actor": None, "reason": None, "at": None,
}  # fmt: skip


class QueueLine(Model):
    """A queue."""

    name: str = Field(examples=["default"])
    due: int = Field(description="Waits for a slot; stops at 100,000.")
    later: int = Field(description="Waits for its time; stops at 100,000.")
    behind: int = Field(description="Waits for the end of another job; all of them together stop at 10,000.")
    alone: int = Field(description="Runs one at a time, because it may have ended its worker.")
    running: int
    oldest: datetime | None = Field(description="Since when the first one is due.")
    workers: int = Field(description="How many living workers take from it, and processes of its executors.")
    slots: int = Field(description="Their slots, which they may share with other queues.")
    executors: list[str] = Field(description="Other systems that jobs of it are handed over to, such as celery.")
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
    waiting = context.waiting(conn, now)
    rows = _rows(conn, waiting, context.aside(conn))
    number, slots = _served(conn)
    executors = _executors(context, waiting)
    for name, handed_to in executors.items():
        for one in handed_to:
            number[name] += number[_Hosts(one)]
            slots[name] += slots[_Hosts(one)]
    names = {*rows, *(one for one in number if isinstance(one, str)), *(task.queue for task in context.tasks.all())}
    rates = context.rates(conn, now)
    drained = charts.drained_in({name: row["due"] for name, row in rows.items()}, rates)
    return QueueList(
        queues=[
            QueueLine(
                name=name, **rows.get(name, _NOTHING), workers=number[name], slots=slots[name], rate=rates.get(name, 0.0),
                drained_in=drained.get(name), executors=sorted(executors.get(name, ())),
            )
            for name in sorted(names)
        ],
        now=now,
    )  # fmt: skip


def _rows(
    conn: Connection, waiting: list[statistics.QueueBacklog], aside: dict[str, statistics.Aside]
) -> dict[str, dict[str, Any]]:
    found = {one.queue: _NOTHING | {"due": one.due, "later": one.later, "oldest": one.oldest} for one in waiting}
    for name, beside in aside.items():
        found[name] = found.get(name, _NOTHING) | {"behind": beside.behind, "alone": beside.alone}
    for _, _, queue, number in statistics.held(conn):
        row = found.setdefault(queue, dict(_NOTHING))
        row["running"] += number
    for one in conn.execute(select(queues)):
        about = {"paused": one.paused, "actor": one.actor, "reason": one.reason, "at": one.at}
        found[one.name] = found.get(one.name, _NOTHING) | about
    return found


class UnservedQueue(NamedTuple):
    """Jobs that are due and that nobody takes.

    Attributes:
        since: Since when the first of them is due.
        executor: The executor that they are handed over to; None where workers take them.
    """

    queue: str
    since: datetime
    due: int
    executor: str | None


def unserved(conn: Connection, context: QueryContext, now: datetime) -> list[UnservedQueue]:
    """Return queues that are not paused, in which jobs are due for workers or an executor, none of which is alive."""
    number, _ = _served(conn)
    paused = set(queue_store.paused(conn))
    found = []
    for one in context.waiting(conn, now):
        takers = [(None, one.unclaimed, number[one.queue]), *((name, at, number[_Hosts(name)]) for name, at in one.handed.items())]
        for executor, since, alive in takers:
            if since is not None and not alive and one.queue not in paused:
                found.append(UnservedQueue(one.queue, since, one.due, executor))
    return found


class _Hosts(NamedTuple):
    """The processes that run jobs of an executor."""

    executor: str


def _executors(context: QueryContext, waiting: list[statistics.QueueBacklog]) -> dict[str, set[str]]:
    """The executors that jobs of each queue are handed over to, as far as is known here."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for one in waiting:
        found[one.queue].update(one.handed)
    for task in context.tasks.all():
        if task.handed_to is not None:
            found[task.queue].add(task.handed_to)
    return found


def _served(conn: Connection) -> tuple[Counter[str | _Hosts], Counter[str | _Hosts]]:
    """How many living workers take from each queue or run jobs of each executor, and their slots."""
    number: Counter[str | _Hosts] = Counter()
    slots: Counter[str | _Hosts] = Counter()
    for worker in workers.everyone(conn, limit=MOST_WORKERS):
        if worker["state"] in workers.ALIVE:
            if worker["executor"] is not None and worker["slots"]:
                number[_Hosts(worker["executor"])] += 1
                slots[_Hosts(worker["executor"])] += worker["slots"]
            for name in loads(worker["queues"]):
                number[name] += 1
                slots[name] += worker["slots"]
    return number, slots
