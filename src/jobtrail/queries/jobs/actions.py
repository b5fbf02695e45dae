"""The actions that a job allows now, what each will do, and why another is not allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from jobtrail.commands.rerun import action_state
from jobtrail.job import allowed_actions as rules
from jobtrail.job.items import Counts
from jobtrail.job.model import WAITING_FOR_A_PERSON, Mode, Status
from jobtrail.messages import Message, render
from jobtrail.queries.base import Model
from jobtrail.store import items, jobs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.job.model import JobRow
    from jobtrail.queries.context import QueryContext


class Action(Model):
    """Something that can be done with it, or cannot, and why."""

    name: str = Field(examples=["rerun_failed_items"])
    allowed: bool
    words: str = Field(description="What it will do.")
    count: int | None = Field(description="On how many items.")
    why_not: str | None
    code: str | None = Field(description="state, in-way, not-newest, body-running, no-items, complete, no-file, …")
    job: str | None = Field(description="The job in the way.")


class JobActions(Model):
    """The actions of one job, in the order of its page."""

    actions: list[Action]


def read_actions(conn: Connection, context: QueryContext, job_id: str, *, role: str | None = None) -> JobActions:
    """Read which actions a job allows now.

    Args:
        conn: An open connection.
        context: The application.
        job_id: The job's id, or a unique ending of it.
        role: The role of a person who may not act; None for one who may.

    Raises:
        NotFound: if there is no such job.
    """
    row = jobs.resolve(conn, job_id)
    counts = item_counts(conn, row)
    known = context.tasks.find(row.task) is not None
    return JobActions(actions=actions(conn, row, counts, context.now(), known=known, role=role))


def item_counts(conn: Connection, row: JobRow) -> Counts:
    """The outcomes of a job's own items; of an ended job from its columns, because counting millions of items is slow."""
    if row.active or row.items_ok is None:
        return items.counts(conn, row.ledger, job_id=row.id)
    return Counts(row.items_ok, row.items_failed or 0, row.items_skipped or 0)


def actions(
    conn: Connection, row: JobRow, counts: Counts, now: datetime, *, known: bool, role: str | None = None
) -> list[Action]:
    """All actions on a job that was read, in the order of its page.

    Args:
        conn: An open connection.
        row: The job.
        counts: The outcomes of its items.
        now: The database's time.
        known: Whether this process has the job's task.
        role: The role of a person who may not act; None for one who may.
    """
    state = action_state(conn, row, failed=counts.failed)
    found = [*_retry(row, state, counts), *_reruns(row, state, counts, known), *_others(row, state, now)]
    if role is None:
        return found
    why = {"allowed": False, "why_not": render(Message("queries.needs-operator", role=role)), "code": "role"}
    return [one.model_copy(update=why) if one.allowed else one for one in found]


def _action(name: str, words: Message, obstacle: rules.Obstacle | None, count: int | None = None) -> Action:
    if obstacle is None:
        return Action(name=name, allowed=True, words=render(words), count=count, why_not=None, code=None, job=None)
    return Action(
        name=name, allowed=False, words=render(words), count=count, why_not=render(obstacle.sentence), code=obstacle.code,
        job=obstacle.job,
    )  # fmt: skip


def _retry(row: JobRow, state: rules.ActionState, counts: Counts) -> Iterator[Action]:
    words = Message("queries.retry", attempt=row.attempt + 1)
    yield _action("retry", words, rules.against_retry(state), counts.failed or None)


def _reruns(row: JobRow, state: rules.ActionState, counts: Counts, known: bool) -> Iterator[Action]:
    words = Message("queries.rerun-unreached")
    if counts.failed:
        words = Message("queries.rerun-failed-items", failed=counts.failed, ok=counts.ok)
    yield _action("rerun_failed_items", words, rules.against_rerun(state, Mode.FAILED_ITEMS), counts.failed)
    yield _action("rerun_resume", Message("queries.rerun-resume"), rules.against_rerun(state, Mode.RESUME))
    full = rules.against_rerun(state, Mode.FULL)
    yield _action("rerun_full", Message("queries.rerun-full"), full)
    changed = _action("rerun_changed", Message("queries.rerun-changed"), full)
    why_not = render(Message("queries.task-unknown", task=row.task))
    unknown = {"allowed": False, "why_not": why_not, "code": "unknown-task"}
    yield changed if known or full is not None else changed.model_copy(update=unknown)
    with_file = rules.against_rerun(state, Mode.FULL, corrected_file=True)
    yield _action("rerun_file", Message("queries.rerun-file"), with_file)


def _others(row: JobRow, state: rules.ActionState, now: datetime) -> Iterator[Action]:
    not_now = rules.against_run_now(state, now)
    # A job that is due may be started again and again: it does no harm, and a page may be a moment old.
    not_now = not_now if not_now is not None and not_now.forbids else None
    yield _action("run_now", Message("queries.run-now"), not_now)
    yield _action("answer", Message("queries.answer"), rules.against_answer(state))
    yield _action("cancel", _cancel_words(row), rules.against_cancel(state))
    yield _action("force", Message("queries.force"), rules.against_force(state))


def _cancel_words(row: JobRow) -> Message:
    if row.status is Status.RUNNING:
        return Message("queries.cancel-running")
    return Message("queries.cancel-asking" if row.status in WAITING_FOR_A_PERSON else "queries.cancel")
