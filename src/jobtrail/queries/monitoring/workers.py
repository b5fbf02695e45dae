"""Workers and the jobs that they execute."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pydantic import Field

from jobtrail.job.masking import masked
from jobtrail.messages import render
from jobtrail.queries.base import ID, MaskedText, Model, parsed
from jobtrail.store import workers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

HELD = 5_000  # jobs that are read
SHOWN = 50  # of each worker


class HeldJob(Model):
    """A job that a worker executes."""

    id: str = Field(examples=[ID])
    task: str
    source: MaskedText | None
    period: str | None
    queue: str
    status: str = Field(description="running, cancelling, or the end that was forced while its body runs on")
    attempt: int
    started_at: datetime | None
    body_running: bool


class WorkerLine(Model):
    """One worker process; a new one is recorded at every start."""

    id: str = Field(examples=[ID])
    host: str
    pid: int
    version: str
    state: str = Field(description="alive, stopping, leaving, stopped or dead")
    queues: list[str]
    executor: str | None = Field(description="It runs the jobs that are handed over to this executor, and takes from no queue.")
    slots: int = Field(description="How many jobs it runs at once; 0: it only looks after the others.")
    held: int = Field(description="Jobs that it executes.")
    jobs: list[HeldJob] = Field(description="The longest running of them.")
    started_at: datetime
    stopped_at: datetime | None
    beat: int | None
    beat_at: datetime | None = Field(description="Its last sign of life, by the database's clock.")
    beat_age: float | None = Field(description="Seconds.")
    silent: bool = Field(description="It is alive as far as is known, and has not beaten for the setting silent_after.")
    trouble: dict[str, Any] = Field(
        description="What it reports about its own health (a blocked loop, failing background loops, a store that was away, "
        "lost slots), or how it ended; {} where all is well."
    )


class WorkerList(Model):
    """Workers: the living first, then the latest."""

    workers: list[WorkerLine]
    living: int
    slots: int = Field(description="Of all living workers.")
    held: int
    now: datetime


def is_living(row: Mapping[str, Any]) -> bool:
    """Whether a worker is not known to have ended."""
    return row["stopped_at"] is None and row["state"] in workers.ALIVE


def beat_age(row: Mapping[str, Any], now: datetime) -> float | None:
    """Seconds since a worker's last beat, by the database's clock; None where it has not beaten."""
    return None if row["beat_at"] is None else max((now - row["beat_at"]).total_seconds(), 0.0)


def is_silent(row: Mapping[str, Any], now: datetime, silent_after: float) -> bool:
    """Whether a living worker has not beaten for ``silent_after`` seconds.

    This is for display. A worker's death is judged by its beat number, not by this.
    """
    age = beat_age(row, now)
    return is_living(row) and (age is None or age > silent_after)


def read(conn: Connection, now: datetime, silent_after: float, *, limit: int = 100) -> WorkerList:
    """Read workers and the jobs that each executes.

    Args:
        conn: a connection for reading.
        now: the database's time, UTC.
        silent_after: seconds without a beat after which a living worker is shown as silent.
        limit: how many workers to return.
    """
    held: dict[str | None, list[Any]] = defaultdict(list)
    for job in workers.jobs_held(conn, limit=HELD):
        held[job.worker].append(job)
    found = [_line(row, held[row["id"]], now, silent_after) for row in workers.everyone(conn, limit=limit)]
    living = [one for one in found if one.state in workers.ALIVE]
    return WorkerList(
        workers=found, living=len(living), slots=sum(one.slots for one in living), held=sum(one.held for one in living),
        now=now,
    )  # fmt: skip


def _line(row: Mapping[str, Any], held: Sequence[Any], now: datetime, silent_after: float) -> WorkerLine:
    known = {name: row[name] for name in ("id", "host", "pid", "version", "state", "slots", "started_at", "stopped_at", "executor")}
    return WorkerLine(
        **known, queues=parsed(row["queues"]), held=len(held), jobs=[HeldJob.model_validate(one) for one in held[:SHOWN]],
        beat=row["beat"], beat_at=row["beat_at"], beat_age=beat_age(row, now), silent=is_silent(row, now, silent_after),
        trouble=_trouble(row["detail"]),
    )  # fmt: skip


def _trouble(text: str | None) -> dict[str, Any]:
    found = masked(parsed(text))
    return _rendered(found) if isinstance(found, dict) else {}


def _rendered(value: Any) -> Any:
    """The texts of a worker's detail in the language of the reader."""
    if isinstance(value, dict):
        return {name: _rendered(one) for name, one in value.items()}
    return render(value) if isinstance(value, str) else value
