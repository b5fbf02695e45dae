"""The numbers of the overview: jobs by status, queues, workers, and charts over time."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from pydantic import Field

from jobtrail.queries.base import CappedCount, Model
from jobtrail.store import questions, queues

from . import charts, statistics, workers

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from jobtrail.queries.context import QueryContext

MOST_WORKERS = 500


class QueueStatistics(Model):
    """What waits in a queue."""

    queue: str
    due: int
    later: int
    oldest: datetime | None
    rate: float = Field(description="Jobs that ended in a second of the last five minutes.")
    drained_in: float | None = Field(description="Seconds, if it goes on so; null where nothing ended lately.")


class Statistics(Model):
    """The state of the system at one moment. Counts stop at a cap and report it."""

    status: dict[str, CappedCount] = Field(description="Jobs by status.")
    queues: list[QueueStatistics]
    behind: int = Field(description="Pending, and another job has to end first.")
    alone: int = Field(description="Pending, and run one at a time, because they may have ended their worker.")
    oldest: datetime | None = Field(description="Since when the first job of all is due.")
    drained_in: float | None = Field(description="Seconds until the last queue is empty, if it goes on so.")
    questions: int = Field(description="Open ones.")
    living: int = Field(description="Workers.")
    slots: int = Field(description="Of living workers.")
    held: int = Field(description="Slots in use.")
    silent: int = Field(description="Living workers that have not beaten for the setting silent_after.")
    paused: list[str] = Field(description="Queues that are paused.")
    now: datetime


def read(conn: Connection, context: QueryContext) -> Statistics:
    """Read the numbers of this moment."""
    now = context.now()
    waiting, aside = context.waiting(conn, now), context.aside(conn).values()
    living = workers.read(conn, now, context.silent_after, limit=MOST_WORKERS)
    rates = context.rates(conn, now)
    drained = charts.drained_in({one.queue: one.due for one in waiting}, rates)
    durations = [drained[one.queue] for one in waiting if one.due]
    known = [one for one in durations if one is not None]
    return Statistics(
        status={status: CappedCount.model_validate(one) for status, one in context.statuses(conn, now).items()},
        queues=[
            QueueStatistics(
                queue=one.queue, due=one.due, later=one.later, oldest=one.oldest, rate=rates.get(one.queue, 0.0),
                drained_in=drained[one.queue],
            )
            for one in waiting
        ],
        behind=sum(one.behind for one in aside), alone=sum(one.alone for one in aside), oldest=min(statistics.heads(waiting), default=None),
        drained_in=max(known) if known and len(known) == len(durations) else None,
        questions=questions.count_open(conn), living=living.living, slots=living.slots, held=living.held,
        silent=sum(one.silent for one in living.workers), paused=queues.paused(conn), now=now,
    )  # fmt: skip


def series(
    conn: Connection,
    context: QueryContext,
    hours: float,
    *,
    task: str | None = None,
    queue: str | None = None,
    source: str | None = None,
) -> charts.ChartSeries:
    """Read what ended over the last hours.

    Args:
        conn: a connection for reading.
        context: the application.
        hours: how far back.
        task: of this task only.
        queue: of this queue only.
        source: of this source only.
    """
    return charts.series(conn, context.now(), hours * 3600, task=task, queue=queue, source=source)
