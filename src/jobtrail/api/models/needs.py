"""What needs a person now: gathered from all over the store, the nearest deadline first."""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta
from typing import TYPE_CHECKING

from jobtrail.messages import Message, render
from jobtrail.queries import error_groups
from jobtrail.queries.base import masked_text
from jobtrail.schedules.view import Schedule
from jobtrail.store import questions

from .monitoring import Need

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.queries.error_groups import Left
    from jobtrail.store.schedules import Slot

    from .workers import Queues, Workers

OPEN_FOR = timedelta(days=30)  # jobs that were made before are history
MISSED_FOR = timedelta(days=1)
QUESTIONS = 50
LEFT = 250  # jobs of a status
MOST = 100
# Missed because somebody or the program wanted it so.
MEANT = frozenset({"paused", "overlap", "complete already"})


def in_order(needs: Iterable[Need]) -> list[Need]:
    """The nearest deadline first, then what is newest."""
    found = sorted(needs, key=lambda one: one.at, reverse=True)
    return sorted(found, key=lambda one: one.deadline.timestamp() if one.deadline else float("inf"))[:MOST]


def of_questions(conn: Connection) -> list[Need]:
    """Each open question."""
    return [
        Need(
            kind="question", at=row.asked_at, deadline=row.expires_at, count=1, more=False, task=job.task,
            source=masked_text(job.source), period=job.period, job=row.job_id, question=row.id, asks=row.kind,
            text=masked_text(row.text),
        )
        for row, job in questions.list_open(conn, limit=QUESTIONS)
    ]  # fmt: skip


def of_jobs(conn: Connection, now: datetime) -> list[Need]:
    """Jobs that ended badly and that nobody has run again: of one task and error together."""
    together: dict[tuple[str, str, str | None], list[Left]] = defaultdict(list)
    left = error_groups.left(conn, now - OPEN_FOR, limit=LEFT)
    for one in left:
        together[one.status, one.task, one.fingerprint].append(one)
    full = {status for status in error_groups.FAILING if sum(one.status == status for one in left) == LEFT}
    latest = sorted(together.values(), key=lambda alike: max(one.at for one in alike), reverse=True)
    return [_of_alike(found, more=found[0].status in full) for found in latest[:MOST]]


def _of_alike(found: Sequence[Left], *, more: bool) -> Need:
    newest = max(found, key=lambda one: one.at)
    alone = len(found) == 1
    words = [f"status:{newest.status}", f"task:{_quoted(newest.task)}"]
    words += [f"error:{newest.fingerprint}"] if newest.fingerprint else []
    items = [one.items_failed for one in found if one.items_failed]
    return Need.model_validate({
        "kind": newest.status, "at": newest.at, "deadline": None, "count": len(found), "more": more, "task": newest.task,
        "source": masked_text(newest.source) if alone else None, "period": newest.period if alone else None,
        "job": newest.id, "fingerprint": newest.fingerprint, "items_failed": sum(items) if items else None,
        "text": masked_text(newest.error or newest.note), "filter": " ".join(words),
    })  # fmt: skip


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return text if text.isidentifier() else f'"{escaped}"'


def of_schedules(found: Iterable[Schedule], missed: Iterable[tuple[str, Slot]]) -> list[Need]:
    """Schedules that stopped by themselves or cannot go on, and planned times that did not run though they were to."""
    by_schedule: dict[str, list[Slot]] = defaultdict(list)
    for name, slot in missed:
        if slot.reason not in MEANT:
            by_schedule[name].append(slot)
    needs = [_missed(name, slots) for name, slots in by_schedule.items()]
    return needs + [need for one in found if (need := _stuck(one)) is not None]


def _missed(name: str, slots: Sequence[Slot]) -> Need:
    latest = max(slots, key=lambda slot: slot.at)
    more = any(slot.through is not None for slot in slots)
    return Need(
        kind="missed", at=latest.at, deadline=None, count=len(slots), more=more, schedule=name, job=latest.job_id,
        text=masked_text(latest.reason),
    )  # fmt: skip


def _stuck(one: Schedule) -> Need | None:
    row = one.row
    by_itself = row.state == "paused" and row.paused_by == "scheduler"
    if row.state not in {"active", "paused"} or not (by_itself or one.problem or row.unknown_since):
        return None
    at = row.unknown_since or row.paused_at or row.changed_at
    why = one.problem or (render(Message("schedules.task-unknown", task=row.task)) if row.unknown_since else row.paused_reason)
    return Need(
        kind="schedule", at=at, deadline=None, count=1, more=False, task=row.task, schedule=row.name, job=row.last_job,
        text=masked_text(why),
    )  # fmt: skip


def of_workers(workers: Workers, queues: Queues) -> list[Need]:
    """Workers that are silent, and queues from which nobody takes what is due."""
    needs = [
        Need(
            kind="worker", at=one.beat_at or one.started_at, deadline=None, count=one.held, more=False, worker=one.id,
            text=f"{one.host}, process {one.pid}",
        )
        for one in workers.workers
        if one.silent
    ]  # fmt: skip
    for queue in queues.queues:
        if queue.oldest is None or (queue.workers and not queue.paused):
            continue
        kind = "paused" if queue.paused else "no_worker"
        at = (queue.at or queue.oldest) if queue.paused else queue.oldest
        said = {"queue": queue.name, "text": queue.reason if queue.paused else None}
        needs.append(
            Need.model_validate({"kind": kind, "at": at, "deadline": None, "count": queue.due, "more": False, **said})
        )
    return needs
