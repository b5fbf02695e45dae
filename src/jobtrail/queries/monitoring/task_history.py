"""How a task has gone this week, compared with the week before: rates, durations, its last runs, errors and units."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from pydantic import Field
from sqlalchemy import func, select

from jobtrail.database.tables import jobs, units
from jobtrail.job.model import Status
from jobtrail.queries.base import ID, MaskedText, Model
from jobtrail.store.totals import durations, ends

from . import error_groups

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection, Row

WEEK = timedelta(days=7)
RUNS = 50
JOBS_LOOKED_AT = 1_000  # newest of the task, among which the last runs are found
UNITS_LOOKED_AT = 10_000
MOST_ERRORS = 5
BINS_OF_OCTAVE = 4  # each time that a duration doubles


class Durations(Model):
    """Durations in seconds: the median and the 95th and 99th percentiles, within 4 %."""

    p50: float
    p95: float
    p99: float


class TaskWeek(Model):
    """What ended in seven days. A job that was retried counts where it ended again."""

    finished: dict[str, int] = Field(examples=[{"completed": 41, "failed": 2}], description="Jobs by status.")
    ended: int
    success: float | None = Field(
        description="Share that completed of those that were not cancelled; null where none was."
    )
    partial: float | None = Field(description="Share that was partial of the same.")
    run: Durations | None
    wait: Durations | None


class DurationBin(Model):
    """How many runs of the week took at least ``least`` and less than ``most`` seconds."""

    least: float
    most: float
    jobs: int


class RecentRun(Model):
    """The last run of a job."""

    job: str = Field(examples=[ID])
    status: str
    started_at: datetime
    seconds: float | None = Field(description="Null while it goes on.")


class TaskError(Model):
    """An error of the task, among the newest of all tasks."""

    fingerprint: str
    error: MaskedText | None
    jobs: int


class TaskHistory(Model):
    """How a task has gone."""

    task: str
    week: TaskWeek
    before: TaskWeek = Field(description="The seven days before it.")
    durations: list[DurationBin] = Field(description="Of the week, the shortest first; the bins follow one another.")
    runs: list[RecentRun] = Field(description="The newest jobs that have begun, oldest first; at most 50.")
    errors: list[TaskError]
    units: dict[str, int] = Field(description="Units by the outcome of their truth: success, partial, error, none.")
    units_more: bool = Field(description="There are units that were not counted.")
    since: datetime
    now: datetime


def read(conn: Connection, task: str, now: datetime) -> TaskHistory:
    """Read how a task has gone, from kept totals and the newest jobs.

    Args:
        conn: A connection for reading.
        task: The name of the task; of one that has no jobs everything is empty.
        now: The database's time, UTC.
    """
    since = now.replace(minute=0, second=0, microsecond=0) - WEEK
    weeks = (_Week(), _Week())
    for row in ends.read(conn, since - WEEK, task=task):
        weeks[row.at < since].add(row)
    found, more = _units(conn, task)
    return TaskHistory(
        task=task, week=weeks[0].told(), before=weeks[1].told(), durations=_bins(weeks[0].runs), runs=_last_runs(conn, task),
        errors=_errors(conn, task, since), units=found, units_more=more, since=since, now=now,
    )  # fmt: skip


class _Week:
    """What ended in a week, added up."""

    def __init__(self) -> None:
        self.jobs: Counter[str] = Counter()
        self.waits: dict[int, int] = {}
        self.runs: dict[int, int] = {}

    def add(self, row: Row[Any]) -> None:
        self.jobs[row.status] += row.jobs
        durations.add_written(self.waits, row.waits)
        durations.add_written(self.runs, row.runs)

    def told(self) -> TaskWeek:
        finished = {status: number for status, number in sorted(self.jobs.items()) if number > 0}
        ended = sum(finished.values())
        judged = ended - finished.get(Status.CANCELLED, 0)
        rates = [finished.get(status, 0) / judged if judged else None for status in (Status.COMPLETED, Status.PARTIAL)]
        return TaskWeek(
            finished=finished, ended=ended, success=rates[0], partial=rates[1], run=_spread(self.runs), wait=_spread(self.waits)
        )  # fmt: skip


def _spread(histogram: Mapping[int, int]) -> Durations | None:
    p50, p95, p99 = (durations.percentile(histogram, share) for share in (0.5, 0.95, 0.99))
    return None if p50 is None or p95 is None or p99 is None else Durations(p50=p50, p95=p95, p99=p99)


def _bins(histogram: Mapping[int, int]) -> list[DurationBin]:
    """Four classes are one bin, so that a duration that doubles is four bins further."""
    size = (1 << durations.SUB_BITS) // BINS_OF_OCTAVE
    counted: Counter[int] = Counter()
    for number, count in histogram.items():
        counted[number // size] += count
    there = [place for place, count in counted.items() if count > 0]
    if not there:
        return []
    return [
        DurationBin(
            least=durations.begin_of(place * size),
            most=durations.begin_of((place + 1) * size),
            jobs=max(counted[place], 0),
        )
        for place in range(min(there), max(there) + 1)
    ]


def _last_runs(conn: Connection, task: str) -> list[RecentRun]:
    newest = (
        select(jobs.c.id, jobs.c.status, jobs.c.started_at, jobs.c.finished_at)
        .where(jobs.c.task == task)
        .order_by(jobs.c.id.desc())
        .limit(JOBS_LOOKED_AT)
        .subquery()
    )
    begun = select(newest).where(newest.c.started_at.is_not(None)).order_by(newest.c.id.desc()).limit(RUNS)
    return [
        RecentRun(
            job=row.id, status=row.status, started_at=row.started_at,
            seconds=None if row.finished_at is None else max((row.finished_at - row.started_at).total_seconds(), 0.0),
        )
        for row in reversed(conn.execute(begun).all())
    ]  # fmt: skip


def _errors(conn: Connection, task: str, since: datetime) -> list[TaskError]:
    return [
        TaskError(fingerprint=fingerprint, error=text, jobs=number)
        for fingerprint, text, number in error_groups.of_task(conn, task, since, limit=MOST_ERRORS)
    ]


def _units(conn: Connection, task: str) -> tuple[dict[str, int], bool]:
    some = select(units.c.outcome).where(units.c.task == task).limit(UNITS_LOOKED_AT + 1).subquery()
    counted = conn.execute(select(some.c.outcome, func.count()).group_by(some.c.outcome))
    found = {outcome or "none": int(number) for outcome, number in counted}
    return found, sum(found.values()) > UNITS_LOOKED_AT
