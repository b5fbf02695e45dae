"""What happened to a job, told from its columns and its trail: a line for each move, and each attempt with its end."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobtrail.job.model import JobRow
    from jobtrail.store.events import Event


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the timeline, from an event or from the job's own columns."""

    at: datetime
    name: str
    to: str | None = None
    actor: str | None = None
    reason: str | None = None
    run_no: int | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """A run that counted, as far as the trail tells it."""

    no: int
    started: datetime | None
    ended: datetime | None
    outcome: str
    worker: str | None
    error: str | None
    next_at: datetime | None = None


def timeline(row: JobRow, trail: Sequence[Event]) -> list[Line]:
    """The trail with submission, start and success, which stand in the job's own columns."""
    lines = [Line(row.created_at, "submitted", "pending", row.actor, row.reason)]
    lines += [Line(e.at, e.name, e.to_status, e.actor, e.reason or _follower(e), e.run_no) for e in trail]
    lines += [
        Line(a.started, "started", "running", "worker", None) for a in attempts(row, trail) if a.started is not None
    ]
    told = any(
        line.name in {"finished", "stopped", "cancelled", "forced", "recovered"} and line.to == row.status
        for line in lines
    )
    if row.finished_at is not None and not told:
        lines.append(Line(row.finished_at, "finished", row.status.value, "worker", None, row.run_no))
    order = {"submitted": 0, "started": 2}
    return sorted(lines, key=lambda line: (line.at, order.get(line.name, 1 if line.to == "running" else 3)))


def _follower(event: Event) -> str | None:
    if event.name != "followed":
        return None
    return " ".join(str(event.detail[name]) for name in ("task", "job") if event.detail.get(name))


def attempts(row: JobRow, trail: Sequence[Event]) -> list[Attempt]:
    """Each run that the trail or the row tells of, oldest first."""
    found = [one for one in (_attempt_of(event) for event in trail) if one is not None]
    last = found[-1] if found else None
    told = last is not None and last.started is not None and last.started == row.started_at
    if row.started_at is not None and not told and row.status != "pending":
        ended = row.finished_at
        found.append(Attempt(row.attempt, row.started_at, ended, row.status.value, row.worker, row.error))
    return found


def _attempt_of(event: Event) -> Attempt | None:
    detail = event.detail
    if "started_at" not in detail or event.name in {"body_returned", "refused"}:
        return None
    planned = detail.get("run_at")
    outcome = (event.to_status or "") if event.to_status != "pending" else event.name
    return Attempt(
        no=int(detail.get("attempt") or 0),
        started=datetime.fromisoformat(detail["started_at"]),
        ended=event.at,
        outcome=outcome,
        worker=detail.get("worker"),
        error=None if event.name == "asked" else detail.get("error") or event.reason,
        next_at=datetime.fromisoformat(planned) if planned else None,
    )
