"""What is answered about workers and queues."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from pydantic import Field

from jobtrail.job.masking import masked
from jobtrail.messages import render
from jobtrail.queries.base import ID, Model, masked_text, parsed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SILENT = 15.0  # seconds; after that a worker is judged (by its beat number, not by this)


class Held(Model):
    """A job that a worker executes."""

    id: str = Field(examples=[ID])
    task: str
    source: str | None
    period: str | None
    queue: str
    status: str = Field(description="running, cancelling, or the end that was forced while its body runs on")
    attempt: int
    started_at: datetime | None
    body_running: bool


class Worker(Model):
    """A life of a worker process; a new one begins at every start."""

    id: str = Field(examples=[ID])
    host: str
    pid: int
    version: str
    state: str = Field(description="alive, stopping, leaving, stopped or dead")
    queues: list[str]
    slots: int
    held: int = Field(description="Jobs that it executes.")
    jobs: list[Held] = Field(description="The longest running of them.")
    started_at: datetime
    stopped_at: datetime | None
    beat: int | None
    beat_at: datetime | None = Field(description="Its last sign of life, by the database's clock.")
    beat_age: float | None = Field(description="Seconds.")
    silent: bool = Field(description="It lives as far as is known, and has not beaten for 15 s.")
    trouble: dict[str, Any] = Field(
        description="What it says is not well with it (a blocked loop, failing chores, a store that was away, lost slots), "
        "or how it ended; {} where all is well."
    )


class Workers(Model):
    """Workers: those that live first, then the latest lives."""

    workers: list[Worker]
    living: int
    slots: int = Field(description="Of all that live.")
    held: int
    now: datetime


class Queue(Model):
    """A queue: what waits in it and runs, and whether somebody has paused it."""

    name: str = Field(examples=["default"])
    due: int = Field(description="Waits for a slot; stops at 100,000.")
    later: int = Field(description="Waits for its time; stops at 100,000.")
    running: int
    oldest: datetime | None = Field(description="Since when the first one is due.")
    workers: int = Field(description="How many living workers take from it.")
    slots: int = Field(description="Their slots, which they may share with other queues.")
    paused: bool
    actor: str | None = Field(description="Who paused or resumed it last.")
    reason: str | None
    at: datetime | None
    rate: float = Field(description="Jobs that ended in a second of the last five minutes.")
    drained_in: float | None = Field(description="Seconds, if it goes on so; null where nothing ended lately.")


class Queues(Model):
    """All queues, by name."""

    queues: list[Queue]
    now: datetime


def worker(row: Mapping[str, Any], held: Sequence[Any], number: int, now: datetime) -> Worker:
    """A life of a worker; ``held`` are some of its jobs, ``number`` how many there are."""
    alive = row["stopped_at"] is None and row["state"] in {"alive", "stopping", "leaving"}
    age = None if row["beat_at"] is None else max((now - row["beat_at"]).total_seconds(), 0.0)
    return Worker(
        id=row["id"], host=row["host"], pid=row["pid"], version=row["version"], state=row["state"],
        queues=parsed(row["queues"]), slots=row["slots"], held=number, jobs=[_held(one) for one in held],
        started_at=row["started_at"], stopped_at=row["stopped_at"], beat=row["beat"], beat_at=row["beat_at"],
        beat_age=age, silent=alive and (age is None or age > SILENT), trouble=_trouble(row["detail"]),
    )  # fmt: skip


def _trouble(text: str | None) -> dict[str, Any]:
    found = masked(parsed(text))
    if not isinstance(found, dict):
        return {}
    return {name: render(value) if isinstance(value, str) else value for name, value in found.items()}


def _held(row: Any) -> Held:
    return Held(
        id=row.id, task=row.task, source=masked_text(row.source), period=row.period, queue=row.queue, status=row.status,
        attempt=row.attempt, started_at=row.started_at, body_running=row.body_running,
    )  # fmt: skip


def queue(row: Mapping[str, Any], workers: int, slots: int, rate: float, drained_in: float | None) -> Queue:
    """A queue."""
    names = ("name", "due", "later", "running", "oldest", "paused", "actor", "at")
    known = {name: row[name] for name in names}
    return Queue(**known, reason=masked_text(row["reason"]), workers=workers, slots=slots, rate=rate, drained_in=drained_in)
