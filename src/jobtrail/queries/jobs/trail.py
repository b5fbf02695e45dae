"""What happened to a job: its trail, a timeline with one line per move, and its attempts."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from pydantic import Field

from jobtrail.queries.base import ErrorLine, MaskedText, MaskedValue, Model, parsed
from jobtrail.store import events, jobs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from jobtrail.job.model import JobRow
    from jobtrail.store.events import Event

IDS = {"celery_id": "0197e2c4-8a1b-7c3d-9e4f-1a2b3c4d5e6f-1", "celery_worker": "celery@web-1"}
_ENDS = frozenset({"finished", "stopped", "cancelled", "forced", "recovered"})
_ORDER = {"submitted": 0, "started": 2}  # of lines with the same time


class JobEvent(Model):
    """One line of the trail."""

    id: int
    at: datetime
    name: str
    from_status: str | None
    to_status: str | None
    run_no: int | None
    actor: str | None
    reason: MaskedText | None
    detail: MaskedValue


class EventPage(Model):
    """The trail, oldest first; ``next`` is the ``after`` of the following page."""

    events: list[JobEvent]
    next: int | None


class TimelineLine(Model):
    """One line of the timeline: a change of the status, or something that was recorded."""

    at: datetime
    name: str
    to: str | None
    actor: str | None
    reason: MaskedText | None
    run_no: int | None


class Attempt(Model):
    """One run of the job, as far as the trail records it."""

    attempt: int
    started_at: datetime | None
    ended_at: datetime | None
    seconds: float | None
    outcome: str
    worker: str | None
    error: ErrorLine
    next_at: datetime | None
    run_no: int | None = Field(description="The number of the run, where the trail records it.")
    ids: dict[str, str] = Field(
        {}, description="What the system knows it by that it was handed over to: celery_id, celery_worker.", examples=[IDS]
    )
    delivered_again: int = Field(0, description="How often its ticket came again; that changed nothing.")


def read_events(conn: Connection, job_id: str, *, after: int = 0, limit: int = 200) -> EventPage:
    """Read a page of a job's trail, oldest first.

    Args:
        conn: An open connection.
        job_id: The job's id, or a unique ending of it.
        after: The id of an event; only later ones are returned.
        limit: The size of the page.

    Raises:
        NotFound: if there is no such job.
    """
    # With after=0 the store returns the newest events; -1 starts at the oldest.
    found = events.of_job(conn, jobs.resolve(conn, job_id).id, after=after or -1, limit=limit + 1)
    following = found[limit - 1].id if len(found) > limit else None
    return EventPage(events=[event(one) for one in found[:limit]], next=following)


def event(one: Event) -> JobEvent:
    """One line of the trail, masked; an error in it is an object and no JSON text."""
    detail = {key: parsed(value) if key == "error" else value for key, value in one.detail.items()}
    return JobEvent(
        id=one.id, at=one.at, name=one.name, from_status=one.from_status, to_status=one.to_status, run_no=one.run_no,
        actor=one.actor, reason=one.reason, detail=detail,
    )  # fmt: skip


def timeline(row: JobRow, trail: Sequence[Event]) -> list[TimelineLine]:
    """The trail with submission, start and success, which are columns of the job itself, oldest first."""
    lines = [_line(row.created_at, "submitted", "pending", row.actor, row.reason)]
    lines += [_line(e.at, e.name, e.to_status, e.actor, e.reason or _follower(e), e.run_no) for e in trail]
    starts = (one.started_at for one in attempts(row, trail))
    lines += [_line(started, "started", "running", "worker") for started in starts if started is not None]
    recorded = any(line.name in _ENDS and line.to == row.status for line in lines)
    if row.finished_at is not None and not recorded:
        lines.append(_line(row.finished_at, "finished", row.status.value, "worker", None, row.run_no))
    return sorted(lines, key=lambda line: (line.at, _ORDER.get(line.name, 1 if line.to == "running" else 3)))


def _line(
    at: datetime, name: str, to: str | None, actor: str | None, reason: str | None = None, run_no: int | None = None
) -> TimelineLine:
    return TimelineLine(at=at, name=name, to=to, actor=actor, reason=reason, run_no=run_no)


def _follower(event: Event) -> str | None:
    if event.name in {"begun_by", "delivered_again"}:
        return " ".join(str(value) for value in event.detail.values()) or None
    if event.name != "followed":
        return None
    return " ".join(str(event.detail[name]) for name in ("task", "job") if event.detail.get(name))


def attempts(row: JobRow, trail: Sequence[Event]) -> list[Attempt]:
    """Each run that the trail or the job's own columns record, oldest first."""
    found = [one for one in (_attempt_of(event) for event in trail) if one is not None]
    last = found[-1] if found else None
    recorded = last is not None and last.started_at is not None and last.started_at == row.started_at
    if row.started_at is not None and not recorded and row.status != "pending":
        found.append(
            _attempt(row.attempt, row.started_at, row.finished_at, row.status.value, row.worker, row.error, run_no=row.run_no)
        )
    for one in found:
        _add_tickets(one, [event for event in trail if event.run_no == one.run_no])
    return found


def _add_tickets(attempt: Attempt, own: Sequence[Event]) -> None:
    for event in own:
        if event.name == "begun_by":
            attempt.ids = {name: str(value) for name, value in event.detail.items()}
        elif event.name == "delivered_again":
            attempt.delivered_again += 1


def _attempt_of(event: Event) -> Attempt | None:
    detail = event.detail
    if "started_at" not in detail or event.name in {"body_returned", "refused"}:
        return None
    outcome = event.name if event.to_status == "pending" else (event.to_status or "")
    error = None if event.name == "asked" else detail.get("error") or event.reason
    started, planned = datetime.fromisoformat(detail["started_at"]), detail.get("run_at")
    next_at = datetime.fromisoformat(planned) if planned else None
    return _attempt(int(detail.get("attempt") or 0), started, event.at, outcome, detail.get("worker"), error, next_at, run_no=event.run_no)


def _attempt(
    number: int,
    started: datetime,
    ended: datetime | None,
    outcome: str,
    worker: str | None,
    error: Any,
    next_at: datetime | None = None,
    *,
    run_no: int | None,
) -> Attempt:
    seconds = (ended - started).total_seconds() if ended else None
    return Attempt(
        attempt=number, started_at=started, ended_at=ended, seconds=seconds, outcome=outcome, worker=worker, error=error,
        next_at=next_at, run_no=run_no, ids={}, delivered_again=0,
    )  # fmt: skip
