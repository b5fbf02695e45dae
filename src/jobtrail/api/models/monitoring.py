"""What is answered to whoever watches: errors by their cause, what people did, how it goes on over time, what needs a person."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from jobtrail.job.masking import masked
from jobtrail.queries.base import ID, CappedCount, Model, masked_file_name, masked_text

if TYPE_CHECKING:
    from jobtrail.queries.audit import Entry
    from jobtrail.queries.charts import Point, Spread, Told
    from jobtrail.queries.error_groups import Kind, Matrix
    from jobtrail.store.search.search import Counted as Number


# -- errors --------------------------------------------------------------------------------------------


class ErrorKind(Model):
    """The jobs that stand with one error; ``fingerprint`` is equal for errors of one cause."""

    fingerprint: str = Field(examples=["9b1f0c6c2a34d5e8"], description="Find its jobs by error:FINGERPRINT.")
    error: str | None = Field(description="Type and beginning of the message, of the newest.")
    jobs: CappedCount
    tasks: list[str] = Field(description="Of the newest of them.")
    first_job: str = Field(examples=[ID])
    first_at: datetime = Field(description="When the first job was made that is kept with it.")
    last_job: str = Field(examples=[ID])
    last_at: datetime = Field(description="When the newest job ended.")
    last_task: str
    last_source: str | None
    last_period: str | None
    last_status: str


class Errors(Model):
    """Kinds of errors with a job made since then, that of the newest job first."""

    kinds: list[ErrorKind]
    all: int = Field(description="How many kinds there are.")
    more: bool = Field(description="There may be kinds that were not looked at.")
    since: datetime
    now: datetime


class MatrixCell(Model):
    """So many jobs of a task failed with an error in a part of the time."""

    task: str
    fingerprint: str
    part: int
    jobs: int


class ErrorMatrix(Model):
    """Task by error by time, from the newest jobs; ``part`` n begins n × ``seconds`` after ``since``."""

    since: datetime
    seconds: float
    parts: int
    cells: list[MatrixCell]
    errors: dict[str, str | None] = Field(description="By fingerprint: type and message.")
    looked_at: int = Field(description="Jobs that were counted.")
    more: bool = Field(description="There are older ones since then that were not.")
    left_out: int = Field(description="Jobs of tasks and errors that are not among the 20 most frequent.")
    now: datetime


def kind(one: Kind) -> ErrorKind:
    """A kind of error."""
    return ErrorKind(
        fingerprint=one.fingerprint, error=masked_text(one.error), jobs=CappedCount(number=one.number, more=one.more),
        tasks=list(one.tasks), first_job=one.first_job, first_at=one.first_at, last_job=one.last_job,
        last_at=one.last_at, last_task=one.last_task, last_source=masked_text(one.last_source), last_period=one.last_period,
        last_status=one.last_status,
    )  # fmt: skip


def matrix(found: Matrix, now: datetime) -> ErrorMatrix:
    """Task by error by time."""
    cells = [
        MatrixCell(task=one.task, fingerprint=one.fingerprint, part=one.part, jobs=one.number) for one in found.cells
    ]
    return ErrorMatrix(
        since=found.since, seconds=found.seconds, parts=found.parts, cells=cells,
        errors={fingerprint: masked_text(text) for fingerprint, text in found.errors.items()}, looked_at=found.looked_at,
        more=found.more, left_out=found.left_out, now=now,
    )  # fmt: skip


# -- the audit -----------------------------------------------------------------------------------------


class AuditEntry(Model):
    """Somebody did something."""

    id: str
    at: datetime
    actor: str = Field(examples=["person:ann"])
    name: str = Field(examples=["retried"], description="Of the event or action; submitted and rerun are new jobs.")
    job: str | None = Field(description="The job that it was done to, or that was made.")
    task: str | None = Field(description="Of the job; this and what follows null where it is gone.")
    source: str | None
    period: str | None
    file: str | None
    target: str | None = Field(description="What else it was done to: a queue, a schedule, a token.")
    reason: str | None
    detail: dict[str, Any]


class Audit(Model):
    """What people did, newest first. ``next`` is the ``before`` of the following page, null at the end."""

    entries: list[AuditEntry]
    next: str | None
    until: datetime | None = Field(description="How far back this page has looked.")


def entry(one: Entry, about: Any = None) -> AuditEntry:
    """Something that was done; about: the row of its job, where there is one."""
    job = None if one.target is not None and one.name.startswith("schedule_") else one.job_id
    return AuditEntry(
        id=one.id, at=one.at, actor=one.actor, name=one.name, job=job, task=about and about.task,
        source=masked_text(about and about.source), period=about and about.period, file=about and masked_file_name(about.file),
        target=masked_text(one.target), reason=masked_text(one.reason), detail=masked(one.detail),
    )  # fmt: skip


# -- numbers -------------------------------------------------------------------------------------------


class QueueNow(Model):
    """What waits in a queue."""

    queue: str
    due: int
    later: int
    oldest: datetime | None
    rate: float = Field(description="Jobs that ended in a second of the last five minutes.")
    drained_in: float | None = Field(description="Seconds, if it goes on so; null where nothing ended lately.")


class Now(Model):
    """How it stands. Counts stop at a cap, and say so."""

    status: dict[str, CappedCount] = Field(description="Jobs by status.")
    queues: list[QueueNow]
    behind: int = Field(description="Pending, and another job has to end first.")
    oldest: datetime | None = Field(description="Since when the first job of all is due.")
    drained_in: float | None = Field(description="Seconds until the last queue is empty, if it goes on so.")
    questions: int = Field(description="Open ones.")
    living: int = Field(description="Workers.")
    slots: int = Field(description="Of living workers.")
    held: int = Field(description="Slots in use.")
    silent: int = Field(description="Living workers that have not beaten for 15 s.")
    paused: list[str] = Field(description="Queues that are paused.")
    now: datetime


class SpreadShape(Model):
    """How long something took, in seconds."""

    p50: float
    p95: float


class PointShape(Model):
    """A part of the time. ``waiting`` and ``running``: how many did on average; in the last part how many do now."""

    at: datetime
    submitted: int
    finished: dict[str, int] = Field(examples=[{"completed": 41, "failed": 2}], description="By status.")
    waiting: int
    running: int
    wait: SpreadShape | None
    run: SpreadShape | None


class SeriesShape(Model):
    """How it has gone on, in parts of ``step`` seconds."""

    step: int
    points: list[PointShape]
    sampled: bool = Field(description="There were so many jobs that some stand for others; submitted is exact.")
    task: str | None
    now: datetime


def counts(found: dict[str, Number]) -> dict[str, CappedCount]:
    """Jobs by status."""
    return {status: CappedCount(number=one.number, more=one.more) for status, one in found.items()}


def told(found: Told, task: str | None, now: datetime) -> SeriesShape:
    """How it has gone on."""
    return SeriesShape(
        step=found.step, points=[_point(one) for one in found.points], sampled=found.sampled, task=task, now=now
    )


def _point(one: Point) -> PointShape:
    return PointShape(
        at=one.at, submitted=one.submitted, finished=one.finished, waiting=one.waiting, running=one.running,
        wait=_spread(one.wait), run=_spread(one.run),
    )  # fmt: skip


def _spread(one: Spread | None) -> SpreadShape | None:
    return None if one is None else SpreadShape(p50=one.p50, p95=one.p95)


# -- what needs a person -------------------------------------------------------------------------------


class Need(Model):
    """Something that waits for a person.

    question: a job asks. failed, partial, interrupted: jobs that nobody has run again, those of one task and error
    together. missed: planned times of a schedule. schedule: it stopped by itself or cannot be read. worker: it is silent.
    paused: a queue in which something waits. no_worker: jobs are due and nobody takes them.
    """

    kind: Literal["question", "failed", "partial", "interrupted", "missed", "schedule", "worker", "paused", "no_worker"]
    at: datetime = Field(description="When it arose, the newest of it.")
    deadline: datetime | None = Field(description="Until when somebody can act.")
    count: int = Field(description="How many jobs or times.")
    more: bool = Field(description="There may be more.")
    task: str | None = None
    source: str | None = None
    period: str | None = None
    job: str | None = Field(default=None, description="The job, or the newest of them.")
    question: str | None = None
    asks: str | None = Field(default=None, description="Of a question: input or mapping.")
    schedule: str | None = None
    queue: str | None = None
    worker: str | None = None
    fingerprint: str | None = None
    items_failed: int | None = None
    text: str | None = Field(default=None, description="What is asked, the error, or the reason.")
    filter: str | None = Field(default=None, description="Finds all of its jobs.")


class Needs(Model):
    """What needs a person now: the nearest deadline first, then the newest."""

    needs: list[Need]
    now: datetime
