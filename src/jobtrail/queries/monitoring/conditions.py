"""Conditions that no line of the trail tells: a deadline comes near, a task is silent, a worker is lost, a problem is over."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from json import loads
from typing import TYPE_CHECKING, Any

from sqlalchemy import exists, or_, select

from jobtrail.database.tables import jobs, questions, workers
from jobtrail.messages import render
from jobtrail.queries.base import masked_text
from jobtrail.store.search import search
from jobtrail.store.workers import ALIVE

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from sqlalchemy import Connection

NEWEST = 200  # jobs of a task that are looked at for the latest start
MOST = 500


@dataclass(frozen=True, slots=True)
class NearDeadline:
    """An open question whose deadline comes near."""

    question: str
    job: str
    name: str
    text: str
    deadline: datetime
    task: str
    source: str | None


@dataclass(frozen=True, slots=True)
class LostWorker:
    """A worker that died."""

    id: str
    host: str
    pid: int
    at: datetime
    why: str | None


@dataclass(frozen=True, slots=True)
class StoreOutage:
    """An outage of the store as a living worker records it; ``until`` is None while it lasts."""

    worker: str
    host: str
    since: datetime
    until: datetime | None
    why: str


def near_deadlines(conn: Connection, now: datetime, before: float) -> list[NearDeadline]:
    """Return the open questions whose deadline comes within ``before`` seconds."""
    edge = now + timedelta(seconds=before)
    query = (
        select(questions, jobs.c.task, jobs.c.source)
        .join(jobs, jobs.c.id == questions.c.job_id)
        .where(questions.c.state == "open", questions.c.expires_at > now, questions.c.expires_at <= edge)
        .order_by(questions.c.expires_at)
        .limit(MOST)
    )
    return [
        NearDeadline(row.id, row.job_id, row.name, masked_text(row.text) or "", row.expires_at, row.task, row.source)
        for row in conn.execute(query)
    ]


def last_run(conn: Connection, task: str, now: datetime) -> datetime | None:
    """Return when a job of a task ran last, by its newest jobs: now if one runs, else the latest start; None for never."""
    newest = select(jobs.c.started_at, jobs.c.status).where(jobs.c.task == task).order_by(jobs.c.id.desc()).limit(NEWEST)
    rows = conn.execute(newest).all()
    if any(row.status in {"running", "cancelling"} for row in rows):
        return now
    return max((row.started_at for row in rows if row.started_at is not None), default=None)


def lost_workers(conn: Connection, since: datetime) -> list[LostWorker]:
    """Return the workers that were found dead since a moment."""
    query = select(workers).where(workers.c.state == "dead", workers.c.stopped_at >= since).limit(MOST)
    found = [(row, _json(row.detail)) for row in conn.execute(query)]
    return [
        LostWorker(row.id, row.host, row.pid, row.stopped_at, masked_text(render(str(detail["how"]))) if "how" in detail else None)
        for row, detail in found
        if not detail.get("left")
    ]


def store_outages(conn: Connection) -> list[StoreOutage]:
    """Return the last outage of the store that each living worker records."""
    query = select(workers.c.id, workers.c.host, workers.c.detail).where(
        workers.c.state.in_(ALIVE), workers.c.detail.contains("store_away")
    )
    found = []
    for row in conn.execute(query.limit(MOST)):
        away = _json(row.detail).get("store_away") or {}
        if away.get("since"):
            until = away.get("until")
            since = datetime.fromisoformat(away["since"])
            ended = datetime.fromisoformat(until) if until else None
            found.append(StoreOutage(row.id, row.host, since, ended, masked_text(str(away.get("why"))) or ""))
    return found


def settled(conn: Connection, ids: Collection[str]) -> set[str]:
    """Return those of these jobs that need nobody any more: completed, cancelled, or completed by a re-run."""
    wanted = sorted(ids)
    if not wanted:
        return set()
    again = jobs.alias("again")
    rerun = exists().where(again.c.rerun_of == jobs.c.id, again.c.status == "completed")
    over = or_(jobs.c.status.in_(("completed", "cancelled")), rerun)
    return set(conn.execute(select(jobs.c.id).where(jobs.c.id.in_(wanted), over)).scalars())


def removed(conn: Connection, ids: Collection[str]) -> set[str]:
    """Return those of these jobs that are not stored any more."""
    there = set(conn.execute(select(jobs.c.id).where(jobs.c.id.in_(sorted(ids)))).scalars()) if ids else set()
    return set(ids) - there


def ended_jobs(conn: Connection, ids: Collection[str]) -> dict[str, str | None]:
    """Return the status of those of these jobs that have ended; None for those that are removed."""
    wanted = sorted(ids)
    if not wanted:
        return {}
    rows = conn.execute(select(jobs.c.id, jobs.c.status).where(jobs.c.id.in_(wanted))).all()
    status = {row.id: row.status for row in rows}
    return {one: status.get(one) for one in wanted if status.get(one) in {None, "completed", "partial", "failed", "cancelled"}}


def found_among(conn: Connection, text: str, ids: Sequence[str], now: datetime) -> set[str]:
    """Return those of these jobs that a filter finds.

    Raises:
        InvalidFilter: If the filter is not valid.
    """
    return search.among(conn, text, ids, now=now)


def _json(text: str | None) -> dict[str, Any]:
    try:
        found = loads(text) if text else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
