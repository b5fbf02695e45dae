"""Numbers over the network: how it stands, how it has gone on, and what needs a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query

from jobtrail.api.auth.guard import needs, routes
from jobtrail.api.models import monitoring
from jobtrail.api.models import needs as needs_models
from jobtrail.queries import charts, statistics
from jobtrail.store import questions, queues

from .workers import read_queues, read_workers

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from jobtrail.api.context import Desk

LONGEST = 24 * 366  # hours
MISSED = 500


def make(desk: Desk) -> APIRouter:
    """The routes of this file."""
    router = routes("stats")
    fresh = desk.fresh

    @router.get("/stats", operation_id="showStats", summary="How it stands: jobs by status, queues, workers")
    @needs("viewer")
    async def now() -> monitoring.Now:
        found: monitoring.Now = await desk.search(lambda conn: fresh.read("now", lambda: read_now(conn, desk)))
        return found

    @router.get(
        "/stats/series", operation_id="showSeries", summary="What was submitted, waited, ran and ended over time"
    )
    @needs("viewer")
    async def over_time(
        hours: Annotated[float, Query(gt=0, le=LONGEST, description="The last so many hours.")] = 24,
        task: Annotated[str | None, Query(max_length=200, description="Of one task.")] = None,
    ) -> monitoring.SeriesShape:
        found: monitoring.SeriesShape = await desk.search(
            lambda conn: fresh.read((hours, task), lambda: read_series(conn, desk, hours, task))
        )
        return found

    @router.get("/stats/needs", operation_id="listNeeds", summary="What needs a person now, the nearest deadline first")
    @needs("viewer")
    async def what_needs() -> monitoring.Needs:
        found: monitoring.Needs = await desk.call(lambda: fresh.read("needs", lambda: read_needs(desk)))
        return found

    return router


def read_now(conn: Connection, desk: Desk) -> monitoring.Now:
    """How it stands at this moment."""
    now = desk.store.now()
    waiting = desk.waiting(conn, now)
    workers = read_workers(conn, now, limit=500)
    rates = desk.rates(conn, now)
    drained = charts.drained_in({one.queue: one.due for one in waiting}, rates)
    oldest = [one.oldest for one in waiting if one.oldest is not None]
    durations = [drained[one.queue] for one in waiting if one.due]
    whole = [one for one in durations if one is not None]
    return monitoring.Now(
        status=monitoring.counts(desk.statuses(conn)),
        queues=[
            monitoring.QueueNow(
                queue=one.queue, due=one.due, later=one.later, oldest=one.oldest, rate=rates.get(one.queue, 0.0),
                drained_in=drained[one.queue],
            )
            for one in waiting
        ],
        behind=statistics.behind(conn), oldest=min(oldest, default=None),
        drained_in=max(whole) if whole and len(whole) == len(durations) else None,
        questions=questions.count_open(conn), living=workers.living, slots=workers.slots, held=workers.held,
        silent=sum(one.silent for one in workers.workers), paused=queues.paused(conn), now=now,
    )  # fmt: skip


def read_series(conn: Connection, desk: Desk, hours: float, task: str | None) -> monitoring.SeriesShape:
    """How it has gone on."""
    now = desk.store.now()
    if task is not None:
        return monitoring.told(desk.series.read(conn, now, seconds=hours * 3600, task=task), task, now)
    waiting = desk.waiting(conn, now)
    standing = (sum(one.due for one in waiting), sum(number for *_, number in statistics.held(conn)))
    found = desk.series.read(conn, now, seconds=hours * 3600, standing=standing, heads=statistics.heads(waiting))
    return monitoring.told(found, task, now)


def read_needs(desk: Desk) -> monitoring.Needs:
    """What needs a person."""
    now = desk.store.now()
    schedules = desk.jobs.schedules
    planned = needs_models.of_schedules(schedules.list(), schedules.missed(since=now - needs_models.MISSED_FOR, limit=MISSED))
    with desk.store.read() as conn:
        found = [*needs_models.of_questions(conn), *needs_models.of_jobs(conn, now), *planned]
        found += needs_models.of_workers(read_workers(conn, now, limit=500), read_queues(conn, desk, now))
    return monitoring.Needs(needs=needs_models.in_order(found), now=now)
