"""What needs a person now: questions, unresolved jobs, missed times, stopped schedules, silent workers, unserved queues."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal

from pydantic import ConfigDict, Field

from jobtrail.messages import Message, render
from jobtrail.queries.base import MaskedText, Model
from jobtrail.schedules.planner import COMPLETE, OVERLAP, PAUSED
from jobtrail.store import questions

from . import error_groups, queues, workers

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Connection

    from jobtrail.queries.context import QueryContext
    from jobtrail.schedules.view import Schedule
    from jobtrail.store.schedules import Slot

OPEN_FOR = timedelta(days=30)  # jobs created before are history
MISSED_FOR = timedelta(days=1)
MISSED = 500
QUESTIONS = 50
UNRESOLVED = 250  # jobs of a status
MOST_WORKERS = 500
MOST = 100
# Missed because somebody or the program wanted it so.
INTENDED = (PAUSED, OVERLAP, COMPLETE)


class AttentionItem(Model):
    """Something that waits for a person.

    question: a job asks. failed, partial, interrupted: jobs that nobody has run again, those of one task and error
    together. missed: planned times of a schedule. schedule: it stopped by itself or cannot be read. worker: it is silent.
    paused: a queue in which something waits. no_worker: jobs are due and nobody takes them.
    """

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    kind: Literal["question", "failed", "partial", "interrupted", "missed", "schedule", "worker", "paused", "no_worker"]
    at: datetime = Field(description="When it arose, the newest of it.")
    deadline: datetime | None = Field(default=None, description="Until when somebody can act.")
    count: int = Field(default=1, description="How many jobs or times.")
    more: bool = Field(default=False, description="There may be more.")
    task: str | None = None
    source: MaskedText | None = None
    period: str | None = None
    job: str | None = Field(default=None, description="The job, or the newest of them.")
    question: str | None = None
    has_default: bool | None = Field(default=None, description="Of a question: if nobody answers, its default is taken; else the job fails.")
    asks: str | None = Field(default=None, description="Of a question: input or mapping.")
    schedule: str | None = None
    queue: str | None = None
    worker: str | None = None
    fingerprint: str | None = None
    items_failed: int | None = None
    text: MaskedText | None = Field(default=None, description="What is asked, the error, or the reason.")
    filter: str | None = Field(default=None, description="Finds all of its jobs.")


class AttentionList(Model):
    """What needs a person now: the nearest deadline first, then the newest."""

    needs: list[AttentionItem]
    now: datetime


def read(conn: Connection, context: QueryContext, now: datetime) -> AttentionList:
    """Read what needs a person."""
    found = [*_questions(conn), *_jobs(conn, now), *_schedules(context, now)]
    found += _silent_workers(conn, context, now)
    found += _queues(conn, context, now)
    latest = sorted(found, key=lambda one: one.at, reverse=True)
    latest.sort(key=lambda one: one.deadline.timestamp() if one.deadline else float("inf"))
    return AttentionList(needs=latest[:MOST], now=now)


def _questions(conn: Connection) -> list[AttentionItem]:
    return [
        AttentionItem(
            kind="question", at=row.asked_at, deadline=row.expires_at, task=job.task, source=job.source, period=job.period,
            job=row.job_id, question=row.id, asks=row.kind, text=row.text, has_default=row.default is not None,
        )
        for row, job in questions.list_open(conn, limit=QUESTIONS)
    ]  # fmt: skip


def _jobs(conn: Connection, now: datetime) -> list[AttentionItem]:
    """Jobs that ended badly and that nobody has run again: those of one task and error together."""
    alike: dict[tuple[str, str, str | None], list[error_groups.UnresolvedJob]] = defaultdict(list)
    unresolved = error_groups.unresolved(conn, now - OPEN_FOR, limit=UNRESOLVED)
    for one in unresolved:
        alike[one.status, one.task, one.fingerprint].append(one)
    capped = {
        status for status in error_groups.FAILING if sum(one.status == status for one in unresolved) == UNRESOLVED
    }
    latest = sorted(alike.values(), key=lambda jobs: max(one.at for one in jobs), reverse=True)
    return [_alike(jobs, more=jobs[0].status in capped) for jobs in latest[:MOST]]


def _alike(found: Sequence[error_groups.UnresolvedJob], *, more: bool) -> AttentionItem:
    newest = max(found, key=lambda one: one.at)
    alone = len(found) == 1
    words = [f"status:{newest.status}", f"task:{_quoted(newest.task)}"]
    words += [f"error:{newest.fingerprint}"] if newest.fingerprint else []
    items = [one.items_failed for one in found if one.items_failed]
    return AttentionItem.model_validate({
        "kind": newest.status, "at": newest.at, "count": len(found), "more": more, "task": newest.task,
        "source": newest.source if alone else None, "period": newest.period if alone else None,
        "job": newest.id, "fingerprint": newest.fingerprint, "items_failed": sum(items) if items else None,
        "text": newest.error or newest.note, "filter": " ".join(words),
    })  # fmt: skip


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return text if text.isidentifier() else f'"{escaped}"'


def _schedules(context: QueryContext, now: datetime) -> list[AttentionItem]:
    """Planned times that did not run although they were to, and schedules that stopped by themselves."""
    by_schedule: dict[str, list[Slot]] = defaultdict(list)
    intended = {render(reason) for reason in INTENDED}  # a slot has its reason in the reader's language
    for name, slot in context.schedules.missed(since=now - MISSED_FOR, limit=MISSED):
        if slot.reason not in intended:
            by_schedule[name].append(slot)
    missed = [_missed(name, slots) for name, slots in by_schedule.items()]
    return missed + list(_stuck(context.schedules.list()))


def _missed(name: str, slots: Sequence[Slot]) -> AttentionItem:
    latest = max(slots, key=lambda slot: slot.at)
    more = any(slot.through is not None for slot in slots)
    return AttentionItem(
        kind="missed", at=latest.at, count=len(slots), more=more, schedule=name, job=latest.job_id, text=latest.reason
    )


def _stuck(found: Iterable[Schedule]) -> Iterable[AttentionItem]:
    for one in found:
        row = one.row
        by_itself = row.state == "paused" and row.paused_by == "scheduler"
        if row.state not in {"active", "paused"} or not (by_itself or one.problem or row.unknown_since):
            continue
        unknown = render(Message("schedules.task-unknown", task=row.task)) if row.unknown_since else row.paused_reason
        yield AttentionItem(
            kind="schedule", at=row.unknown_since or row.paused_at or row.changed_at, task=row.task, schedule=row.name,
            job=row.last_job, text=one.problem or unknown,
        )  # fmt: skip


def _silent_workers(conn: Connection, context: QueryContext, now: datetime) -> list[AttentionItem]:
    found = workers.read(conn, now, context.silent_after, limit=MOST_WORKERS)
    return [
        AttentionItem(
            kind="worker", at=one.beat_at or one.started_at, count=one.held, worker=one.id,
            text=render(Message("queries.worker-place", host=one.host, pid=str(one.pid))),
        )
        for one in found.workers
        if one.silent
    ]  # fmt: skip


def _queues(conn: Connection, context: QueryContext, now: datetime) -> list[AttentionItem]:
    """Queues from which nobody takes what is due."""
    needs = [
        AttentionItem(kind="paused", at=queue.at or queue.oldest, count=queue.due, queue=queue.name, text=queue.reason)
        for queue in queues.read(conn, context, now).queues
        if queue.oldest is not None and queue.paused
    ]
    for one in queues.unserved(conn, context, now):
        text = render(Message("queries.no-process-of", executor=one.executor)) if one.executor else None
        needs.append(AttentionItem(kind="no_worker", at=one.since, count=one.due, queue=one.queue, text=text))
    return needs
