"""Numbers over the network: how it stands, how it has gone on, and what needs a person."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query

from jobtrail.store import questions, queues, search, series, stats

from . import attention, shapes_watch
from .guard import needs, routes
from .workers import read_queues, read_workers

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from .desk import Desk

FRESH_FOR = 1.0  # seconds
LONGEST = 24 * 366  # hours
MISSED = 500


class Fresh:
    """Answers that many ask for at once are read once a second."""

    def __init__(self, fresh_for: float) -> None:
        self._fresh_for = fresh_for
        self._lock = threading.Lock()
        self._locks: dict[Any, threading.Lock] = {}
        self._known: dict[Any, tuple[float, Any]] = {}

    def read(self, key: Any, look: Callable[[], Any]) -> Any:
        """What ``look`` gave a moment ago, or gives now."""
        with self._lock:
            mine = self._locks.setdefault(key, threading.Lock())
        with mine:
            at, found = self._known.get(key, (float("-inf"), None))
            if time.monotonic() - at >= self._fresh_for:
                found = look()
                self._known[key] = (time.monotonic(), found)
            self._forget(key)
            return found

    def _forget(self, kept: Any) -> None:
        over = time.monotonic() - 60.0
        for key in [key for key, (at, _) in list(self._known.items()) if at < over and key != kept]:
            self._known.pop(key, None)
            self._locks.pop(key, None)


def make(desk: Desk) -> APIRouter:
    """The routes of this file."""
    router = routes("stats")
    fresh = Fresh(FRESH_FOR)

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
    waiting = stats.waiting(conn, now)
    workers = read_workers(conn, now, limit=500)
    rates = desk.series.rates(conn, now)
    drained = series.drained_in({one.queue: one.due for one in waiting}, rates)
    oldest = [one.oldest for one in waiting if one.oldest is not None]
    durations = [drained[one.queue] for one in waiting if one.due]
    whole = [one for one in durations if one is not None]
    return shapes_watch.Now(
        status=shapes_watch.counts(search.status_counts(conn)),
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
    standing = None
    if task is None:
        due = sum(one.due for one in stats.waiting(conn, now))
        standing = (due, sum(number for *_, number in stats.held(conn)))
    found = desk.series.read(conn, now, seconds=hours * 3600, task=task, standing=standing)
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
