"""One job in detail: everything that its page shows, read at once."""

from __future__ import annotations

from datetime import datetime
from json import loads
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field, ValidationInfo, model_validator
from sqlalchemy import select

from jobtrail.database.tables import submitters
from jobtrail.job.failure import Failure
from jobtrail.job.masking import masked
from jobtrail.job.model import Status
from jobtrail.queries import questions as question_queries
from jobtrail.queries.base import MaskedJson, MaskedText, Model, marks_of, masked_file_name, parsed
from jobtrail.queries.questions import QuestionDetail
from jobtrail.store import events, jobs, questions, runs, units

from . import actions, lineage, trail
from .actions import Action
from .job_list import ItemCounts, JobLine, progress, running_since
from .lineage import Lineage
from .trail import Attempt, TimelineLine
from .waiting import WaitingReason, read_facts, waiting_reason

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from jobtrail.queries.context import QueryContext

TRAIL = 1000  # events that are read for a page


class JobFailure(Model):
    """Why it failed."""

    type: str
    message: MaskedText
    traceback: MaskedText
    fingerprint: str = Field(description="Equal for errors of one cause.")
    origin: str = Field(description="The last place in the user's code.")


class InputFile(Model):
    """The input as it was at submission."""

    name: str
    path: MaskedText
    size: int = Field(description="bytes")
    sha256: str
    uploaded: bool


class UnitTruth(Model):
    """The identity of the work, and its current truth."""

    unit: str
    text: MaskedText
    outcome: str | None
    job: str | None = Field(validation_alias="job_id", description="The job that ended last.")
    active: str | None = Field(validation_alias="active_job", description="The job that holds it now.")
    items: ItemCounts = Field(validation_alias="item_counts")
    linked: str | None = Field(
        validation_alias="linked_unit", description="The unit of the file before or after a correction."
    )


class JobStep(Model):
    """A piece of the job whose result is kept."""

    name: MaskedText
    job: str
    run_no: int
    seconds: float
    at: datetime


class SubmitterProcess(Model):
    """The process that submitted it."""

    program: str | None
    host: str
    pid: int
    user: str | None
    version: str


def _failure(stored: str | None) -> Failure | None:
    return Failure.from_json(stored) if stored is not None else None


def _input(stored: str | None) -> Any:
    found = parsed(stored)
    if not isinstance(found, dict):
        return None
    path = str(found.get("path", ""))
    return {
        "name": masked_file_name(stored) or path, "path": path, "size": int(found.get("size") or 0),
        "sha256": str(found.get("sha256", "")), "uploaded": bool(found.get("uploaded")),
    }  # fmt: skip


def _labels(stored: str | None, info: ValidationInfo) -> Any:
    return masked(loads(stored) if stored else {}, marks_of(info))


def _options(stored: str | None) -> Any:
    found = parsed(stored)
    shown = {name: value for name, value in found.items() if name != "labels"} if isinstance(found, dict) else found
    return masked(shown) or None


class JobColumns(JobLine):
    """What stands in the row of a job itself. Secrets are masked."""

    arguments: MaskedJson = Field(validation_alias="args")
    labels: Annotated[dict[str, str], BeforeValidator(_labels)]
    context: MaskedJson
    options: Annotated[Any, BeforeValidator(_options)]
    result: MaskedJson
    failure: Annotated[JobFailure | None, BeforeValidator(_failure)] = Field(validation_alias="error")
    input: Annotated[InputFile | None, BeforeValidator(_input)] = Field(validation_alias="file")
    reason: MaskedText | None
    mode: str | None
    generation: str = Field(validation_alias="ledger")
    parent: str | None
    root: str | None
    waits_for: str | None
    worker: str | None
    stop_cause: str | None
    stop_at: datetime | None
    deadline_at: datetime | None = Field(validation_alias="deadline")
    deadline_cause: str | None
    body_running: bool
    hand_backs: int
    put_backs: int
    strikes: int
    suspect: bool

    @model_validator(mode="after")
    def _of_this_run(self) -> JobColumns:
        """The cause of a deadline belongs to the deadline of the current run."""
        if self.deadline_at is None:
            self.deadline_cause = None
        return self


class JobDetail(JobColumns, Lineage):
    """A job with everything that its page shows. Secrets are masked."""

    task_known: bool = Field(description="Does this server know the task?")
    why_waiting: WaitingReason | None = Field(description="Why it does not run, where it is pending.")
    unit_of: UnitTruth | None
    timeline: list[TimelineLine]
    attempts: list[Attempt]
    steps: list[JobStep]
    questions: list[QuestionDetail]
    submitted_by: SubmitterProcess | None
    actions: list[Action]


def read_detail(conn: Connection, context: QueryContext, job_id: str, *, role: str | None = None) -> JobDetail:
    """Read one job with everything that its page shows.

    Args:
        conn: An open connection.
        context: The application.
        job_id: The job's id, or a unique ending of it.
        role: The role of a person who may not act; None for one who may.

    Raises:
        NotFound: if there is no such job, or if several ids end so.
    """
    row = jobs.resolve(conn, job_id)
    marked = context.marked(row.task)
    counts = actions.item_counts(conn, row)
    known = context.tasks.find(row.task) is not None
    found = events.of_job(conn, row.id, limit=TRAIL)
    columns = JobColumns.model_validate(row, context={"marked": marked})
    columns.items = ItemCounts(ok=counts.ok, failed=counts.failed, skipped=counts.skipped)
    now = context.now()
    columns.progress = progress(runs.progress_of(conn, [row.id]).get(row.id), marked, running_since(row), now)
    waiting = waiting_reason(row, read_facts(conn, context), now) if row.status is Status.PENDING else None
    columns.waiting = waiting.code if waiting is not None else None
    # The parts are valid and masked already.
    return JobDetail.model_construct(
        **dict(columns),
        **dict(lineage.lineage(conn, row)),
        task_known=known,
        why_waiting=waiting,
        unit_of=_unit(conn, row.unit),
        timeline=trail.timeline(row, found),
        attempts=trail.attempts(row, found),
        steps=[_step(one) for one in runs.steps_of(conn, row.ledger)],
        questions=[question_queries.detail(one, row, marked) for one in questions.of_job(conn, row.id)],
        submitted_by=_submitter(conn, row.submitter),
        actions=actions.actions(conn, row, counts, now, known=known, role=role),
    )


def _unit(conn: Connection, unit: str | None) -> UnitTruth | None:
    found = units.get(conn, unit) if unit else None
    return UnitTruth.model_validate(found) if found is not None else None


def _step(one: dict[str, Any]) -> JobStep:
    return JobStep(name=one["name"], job=one["job_id"], run_no=one["run_no"], seconds=one["seconds"], at=one["at"])


def _submitter(conn: Connection, submitter: str | None) -> SubmitterProcess | None:
    row = conn.execute(select(submitters).where(submitters.c.id == submitter)).first() if submitter else None
    return SubmitterProcess.model_validate(row) if row is not None else None
