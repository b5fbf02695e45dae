"""Numbers over the network: how it stands, how it has gone on, and what needs a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query

from jobtrail.store import questions, queues, series, stats

from . import attention, shapes_watch
from .guard import needs, routes
from .workers import read_queues, read_workers

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from .desk import Desk

LONGEST = 24 * 366  # hours
MISSED = 500


def make(desk: Desk) -> APIRouter:
    """The routes of this file."""
    router = routes("stats")
    fresh = desk.fresh

    @router.get("/stats", operation_id="showStats", summary="How it stands: jobs by status, queues, workers")
    @needs("viewer")
    async def now() -> shapes_watch.Now:
        found: shapes_watch.Now = await desk.search(lambda conn: fresh.read("now", lambda: read_now(conn, desk)))
        return found

    @router.get(
        "/stats/series", operation_id="showSeries", summary="What was submitted, waited, ran and ended over time"
    )
    @needs("viewer")
    async def over_time(
        hours: Annotated[float, Query(gt=0, le=LONGEST, description="The last so many hours.")] = 24,
        task: Annotated[str | None, Query(max_length=200, description="Of one task.")] = None,
    ) -> shapes_watch.SeriesShape:
        found: shapes_watch.SeriesShape = await desk.search(
            lambda conn: fresh.read((hours, task), lambda: read_series(conn, desk, hours, task))
        )
        return found

    @router.get("/stats/needs", operation_id="listNeeds", summary="What needs a person now, the nearest deadline first")
    @needs("viewer")
    async def what_needs() -> shapes_watch.Needs:
        found: shapes_watch.Needs = await desk.call(lambda: fresh.read("needs", lambda: read_needs(desk)))
        return found

    return router


def read_now(conn: Connection, desk: Desk) -> shapes_watch.Now:
    """How it stands at this moment."""
    now = desk.store.now()
    waiting = desk.waiting(conn, now)
    workers = read_workers(conn, now, limit=500)
    rates = desk.rates(conn, now)
    drained = series.drained_in({one.queue: one.due for one in waiting}, rates)
    oldest = [one.oldest for one in waiting if one.oldest is not None]
    durations = [drained[one.queue] for one in waiting if one.due]
    whole = [one for one in durations if one is not None]
    return shapes_watch.Now(
        status=shapes_watch.counts(desk.statuses(conn)),
        queues=[
            shapes_watch.QueueNow(
                queue=one.queue, due=one.due, later=one.later, oldest=one.oldest, rate=rates.get(one.queue, 0.0),
                drained_in=drained[one.queue],
            )
            for one in waiting
        ],
        behind=stats.behind(conn), oldest=min(oldest, default=None),
        drained_in=max(whole) if whole and len(whole) == len(durations) else None,
        questions=questions.count_open(conn), living=workers.living, slots=workers.slots, held=workers.held,
        silent=sum(one.silent for one in workers.workers), paused=queues.paused(conn), now=now,
    )  # fmt: skip


def read_series(conn: Connection, desk: Desk, hours: float, task: str | None) -> shapes_watch.SeriesShape:
    """How it has gone on."""
    now = desk.store.now()
    if task is not None:
        return shapes_watch.told(desk.series.read(conn, now, seconds=hours * 3600, task=task), task, now)
    waiting = desk.waiting(conn, now)
    standing = (sum(one.due for one in waiting), sum(number for *_, number in stats.held(conn)))
    found = desk.series.read(conn, now, seconds=hours * 3600, standing=standing, heads=stats.heads(waiting))
    return shapes_watch.told(found, task, now)


def read_needs(desk: Desk) -> shapes_watch.Needs:
    """What needs a person."""
    now = desk.store.now()
    schedules = desk.jobs.schedules
    planned = attention.of_schedules(schedules.list(), schedules.missed(since=now - attention.MISSED_FOR, limit=MISSED))
    with desk.store.read() as conn:
        found = [*attention.of_questions(conn), *attention.of_jobs(conn, now), *planned]
        found += attention.of_workers(read_workers(conn, now, limit=500), read_queues(conn, desk, now))
    return shapes_watch.Needs(needs=attention.in_order(found), now=now)
