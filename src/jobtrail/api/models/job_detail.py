"""One job whole: everything that its page needs, read at once."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from pydantic import Field
from sqlalchemy import select

from jobtrail.database.tables import submitters
from jobtrail.job.items import Counts
from jobtrail.job.masking import masked
from jobtrail.queries import lineage as lineage_query
from jobtrail.queries import questions as question_models
from jobtrail.queries import timeline as timeline_query
from jobtrail.queries.base import Model, error_line, masked_file_name, masked_text, parsed
from jobtrail.queries.jobs.job_list import ItemCounts, JobLine, job_line
from jobtrail.store import events, items, questions, runs, units

from . import allowed_actions

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from jobtrail.api.auth.access import Person
    from jobtrail.api.context import Desk
    from jobtrail.job.model import JobRow

TRAIL = 1000  # lines of the trail that are read for a page


class InputFile(Model):
    """The input as it was at submission."""

    name: str
    path: str
    size: int = Field(description="bytes")
    sha256: str
    uploaded: bool


class Failure(Model):
    """Why it failed."""

    type: str
    message: str
    traceback: str
    fingerprint: str = Field(description="Equal for errors of one cause.")
    origin: str = Field(description="The last place in the user's code.")


class UnitTruth(Model):
    """The identity of the work, and its current truth."""

    unit: str
    text: str
    outcome: str | None
    job: str | None = Field(description="The job that ended last.")
    active: str | None = Field(description="The job that holds it now.")
    items: ItemCounts
    linked: str | None = Field(description="The unit of the file before or after a correction.")


class Moved(Model):
    """One line of what happened: a move, or something that was said."""

    at: datetime
    name: str
    to: str | None
    actor: str | None
    reason: str | None
    run_no: int | None


class Attempt(Model):
    """A run that the trail tells of."""

    attempt: int
    started_at: datetime | None
    ended_at: datetime | None
    seconds: float | None
    outcome: str
    worker: str | None
    error: str | None
    next_at: datetime | None


class Step(Model):
    """A piece of the job whose result is kept."""

    name: str
    job: str
    run_no: int
    seconds: float
    at: datetime


class Relative(Model):
    """A job that re-ran this one, or that this one re-ran."""

    id: str
    status: str
    mode: str | None
    created_at: datetime


class Ancestor(Model):
    """A job or a group that this one came from."""

    id: str
    group: bool
    name: str | None = Field(description="The task, or the name of the group.")
    status: str | None


class Following(Model):
    """What was declared to follow a job or a group."""

    task: str
    on: list[str]
    state: str = Field(description="waiting, submitted, skipped or refused")
    job: str | None
    status: str | None
    reason: str | None
    seconds_later: float | None
    at: str | None
    successors: list[Following]


class JobGroup(Model):
    """Jobs that were submitted together."""

    id: str
    name: str | None
    total: int
    ended: int
    outcome: str | None
    successors: list[Following]


class Submitter(Model):
    """The process that submitted it."""

    program: str | None
    host: str
    pid: int
    user: str | None
    version: str


class Action(Model):
    """Something that can be done with it, or cannot, and why."""

    name: str = Field(examples=["rerun_failed_items"])
    allowed: bool
    words: str = Field(description="What it will do.")
    count: int | None = Field(description="On how many items.")
    why_not: str | None
    code: str | None = Field(description="state, in-way, not-newest, body-running, no-items, complete, no-file, …")
    job: str | None = Field(description="The job in the way.")


class Lineage(Model):
    """The kin of a job."""

    reran: list[Relative]
    reruns: list[Relative]
    ancestors: list[Ancestor]
    successors: list[Following]
    groups: list[JobGroup]


class JobWhole(JobLine, Lineage):
    """A job with everything that its page tells. Secrets are masked."""

    arguments: Any
    labels: dict[str, str]
    context: Any
    options: Any
    result: Any
    failure: Failure | None
    input: InputFile | None
    reason: str | None
    mode: str | None
    generation: str
    parent: str | None
    root: str | None
    waits_for: str | None
    worker: str | None
    stop_cause: str | None
    stop_at: datetime | None
    deadline_at: datetime | None
    deadline_cause: str | None
    body_running: bool
    hand_backs: int
    put_backs: int
    strikes: int
    suspect: bool
    task_known: bool = Field(description="Does this server know the task?")
    unit_of: UnitTruth | None
    timeline: list[Moved]
    attempts: list[Attempt]
    steps: list[Step]
    questions: list[question_models.QuestionDetail]
    submitted_by: Submitter | None
    actions: list[Action]


def read(conn: Connection, desk: Desk, row: JobRow, person: Person) -> JobWhole:
    """Everything about one job."""
    marked = desk.marked(row.task)
    trail = events.of_job(conn, row.id, limit=TRAIL)
    counts = _counts(conn, row)
    known = desk.jobs.tasks.find(row.task) is not None
    stands = allowed_actions.standing(conn, row, counts, known=known)
    line = job_line(row, runs.progress_of(conn, [row.id]).get(row.id)).model_dump()
    line["items"] = ItemCounts(ok=counts.ok, failed=counts.failed, skipped=counts.skipped)
    return JobWhole(
        **line,
        **_columns(row, marked),
        **lineage(conn, row).model_dump(),
        task_known=known,
        unit_of=_unit(conn, row.unit),
        timeline=[_line(one) for one in timeline_query.timeline(row, trail)],
        attempts=[_attempt(one) for one in timeline_query.attempts(row, trail)],
        steps=[_step(one) for one in runs.steps_of(conn, row.ledger)],
        questions=[question_models.detail(one, row, marked) for one in questions.of_job(conn, row.id)],
        submitted_by=_submitter(conn, row.submitter),
        actions=[Action(**allowed_actions.as_json(one)) for one in allowed_actions.offers(stands, person)],
    )


def _counts(conn: Connection, row: JobRow) -> Counts:
    """Of what has ended they stand in its row: counting millions of items takes long."""
    if row.active or row.items_ok is None:
        return items.counts(conn, row.ledger)
    return Counts(row.items_ok, row.items_failed or 0, row.items_skipped or 0)


def _columns(row: JobRow, marked: frozenset[str]) -> dict[str, Any]:
    return {
        "arguments": masked(parsed(row.args), marked),
        "labels": masked(parsed(row.labels) or {}, marked),
        "context": masked(parsed(row.context), marked),
        "options": masked(parsed(row.options)),
        "result": masked(parsed(row.result), marked),
        "failure": failure(row.error),
        "input": input_file(row.file),
        "reason": masked_text(row.reason),
        "generation": row.ledger,
        "deadline_at": row.deadline,
        "deadline_cause": row.deadline_cause if row.deadline else None,
        **{name: getattr(row, name) for name in _AS_THEY_ARE},
    }


_AS_THEY_ARE = (
    "mode", "parent", "root", "waits_for", "worker", "stop_cause", "stop_at", "body_running", "hand_backs", "put_backs",
    "strikes", "suspect",
)  # fmt: skip


def failure(text: str | None) -> Failure | None:
    """A stored error, without the passwords of URLs."""
    from jobtrail.job.failure import Failure as Kept

    if text is None:
        return None
    kept = Kept.from_json(text)
    return Failure(
        type=kept.type, message=masked_text(kept.message) or "", traceback=masked_text(kept.traceback) or "",
        fingerprint=kept.fingerprint, origin=kept.origin,
    )  # fmt: skip


def input_file(text: str | None) -> InputFile | None:
    """The input of a job."""
    found = parsed(text)
    if not isinstance(found, dict):
        return None
    path = str(found.get("path", ""))
    return InputFile(
        name=masked_file_name(text) or path, path=masked_text(path) or "", size=int(found.get("size") or 0),
        sha256=str(found.get("sha256", "")), uploaded=bool(found.get("uploaded")),
    )  # fmt: skip


def _unit(conn: Connection, unit: str | None) -> UnitTruth | None:
    found = units.get(conn, unit) if unit else None
    if found is None:
        return None
    counts = ItemCounts(ok=found.items_ok, failed=found.items_failed, skipped=found.items_skipped)
    return UnitTruth(
        unit=found.unit, text=masked_text(found.text) or "", outcome=found.outcome.value if found.outcome else None,
        job=found.job_id, active=found.active_job, items=counts, linked=found.linked_unit,
    )  # fmt: skip


def _line(one: timeline_query.Line) -> Moved:
    return Moved(at=one.at, name=one.name, to=one.to, actor=one.actor, reason=masked_text(one.reason), run_no=one.run_no)


def _attempt(one: timeline_query.Attempt) -> Attempt:
    took = (one.ended - one.started).total_seconds() if one.started and one.ended else None
    return Attempt(
        attempt=one.no, started_at=one.started, ended_at=one.ended, seconds=took, outcome=one.outcome,
        worker=one.worker, error=error_line(one.error), next_at=one.next_at,
    )  # fmt: skip


def _step(one: dict[str, Any]) -> Step:
    return Step(
        name=masked_text(one["name"]) or "", job=one["job_id"], run_no=one["run_no"], seconds=one["seconds"], at=one["at"]
    )


def _submitter(conn: Connection, submitter: str | None) -> Submitter | None:
    row = conn.execute(select(submitters).where(submitters.c.id == submitter)).first() if submitter else None
    if row is None:
        return None
    return Submitter(program=row.program, host=row.host, pid=row.pid, user=row.user, version=row.version)


# -- its kin -------------------------------------------------------------------------------------------


def lineage(conn: Connection, row: JobRow) -> Lineage:
    """What re-ran it and what it re-ran, what it came from and what follows it."""
    before, after = lineage_query.lineage(conn, row)
    chain = lineage_query.chain_of(conn, row)
    return Lineage(
        reran=[_relative(one) for one in before],
        reruns=[_relative(one) for one in after],
        ancestors=[_ancestor(one) for one in chain.above],
        successors=[_following(one) for one in chain.below],
        groups=[_group(group, below) for group, below in chain.groups],
    )


def _relative(row: JobRow) -> Relative:
    return Relative(id=row.id, status=row.status.value, mode=row.mode, created_at=row.created_at)


def _ancestor(one: JobRow | dict[str, Any]) -> Ancestor:
    if isinstance(one, dict):
        return Ancestor(id=one["id"], group=True, name=masked_text(one["name"]), status=one["outcome"])
    return Ancestor(id=one.id, group=False, name=one.task, status=one.status.value)


def _following(one: lineage_query.Follower) -> Following:
    told, successor = one.told, one.told["successor"]
    return Following(
        task=told["task"], on=list(told["on"]), state=told["state"], job=told["job"],
        status=one.row.status.value if one.row is not None else None, reason=masked_text(told["reason"]),
        seconds_later=successor.wait, at=successor.at, successors=[_following(below) for below in one.following],
    )  # fmt: skip


def _group(group: dict[str, Any], below: list[lineage_query.Follower]) -> JobGroup:
    ended = sum(number for status, number in group["counts"].items() if status is not None)
    return JobGroup(
        id=group["id"], name=masked_text(group["name"]), total=group["total"], ended=ended, outcome=group["outcome"],
        successors=[_following(one) for one in below],
    )  # fmt: skip
