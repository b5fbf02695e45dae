"""What a run writes while it executes: items, steps, progress, log and deadline, each guarded by its run number."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from json import loads
from typing import TYPE_CHECKING, Any

from sqlalchemy import Text, and_, bindparam, cast, delete, func, select, text, update

from jobtrail.database.tables import jobs, logs, progress, steps
from jobtrail.messages import Message, render

from . import events, items
from .jobs import columns, read

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.database.dialects import Dialect
    from jobtrail.job.model import JobRow

# The condition of a partial index, as the index has it; a deadline that an earlier run wrote does not count.
_RUNNING = text("jobtrail_jobs.status IN ('running', 'cancelling')")
_OWN_DEADLINE = jobs.c.deadline_run == jobs.c.run_no
_by_id = cast(jobs.c.id, Text)  # an expression, or SQLite would read the whole table in the order of its key
_STEPS = ("generation", "name", "digest", "job_id", "run_no", "result", "seconds", "at")
_STEP_AGAIN = (
    "ON CONFLICT (generation, name, digest) DO UPDATE SET job_id = excluded.job_id, run_no = excluded.run_no, "
    "result = excluded.result, seconds = excluded.seconds, at = excluded.at"
)
_PROGRESS = ("job_id", "run_no", "percent", "done", "total", "message", "metadata", "last_heartbeat_at")
_PROGRESS_AGAIN = "ON CONFLICT (job_id) DO UPDATE SET " + ", ".join(f"{c} = excluded.{c}" for c in _PROGRESS[1:])
_LOGS = ("job_id", "seq", "run_no", "at", "lines", "bytes", "dropped", "text")
_LOG_AGAIN = "ON CONFLICT (job_id, seq) DO UPDATE SET " + ", ".join(f"{c} = excluded.{c}" for c in _LOGS[2:])


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a job is; ``percent`` 0 to 100 or None where it cannot be told."""

    percent: float | None = None
    done: int | None = None
    total: int | None = None
    message: str | None = None
    metadata: str | None = None


@dataclass(frozen=True, slots=True)
class LogChunk:
    """A piece of a job's log; ``dropped`` lines were left out before it (as written: of the whole log until then)."""

    seq: int
    lines: int
    bytes: int
    text: str
    dropped: int = 0


@dataclass(slots=True)
class Records:
    """What one run has to write now."""

    job_id: str
    run_no: int
    ledger: str
    items: list[items.Recorded] = field(default_factory=list)
    progress: Progress | None = None
    log: list[LogChunk] = field(default_factory=list)
    forget_log: list[int] = field(default_factory=list)
    # Name and reason of lines of the trail that are no moves.
    notes: list[tuple[str, str]] = field(default_factory=list)
    deadline: tuple[float, str] | None = None  # seconds from now, and its cause

    def __bool__(self) -> bool:
        """Is there anything to write?"""
        return bool(self.items or self.progress or self.log or self.forget_log or self.notes or self.deadline)


def holds(conn: Connection, dialect: Dialect, job_id: str, run_no: int) -> bool:
    """Is this run still the one that the store believes in? On PostgreSQL the answer stays true until the commit."""
    query = select(jobs.c.id).where(
        jobs.c.id == job_id, jobs.c.run_no == run_no, jobs.c.status.in_(("running", "cancelling"))
    )
    if dialect.name == "postgresql":
        query = query.with_for_update(read=True)
    return conn.execute(query).first() is not None


_HELD_BY = and_(
    jobs.c.id == bindparam("fenced_job"), jobs.c.run_no == bindparam("fenced_run"), jobs.c.status.in_(("running", "cancelling"))
)
_FENCE = {
    "postgresql": select(jobs.c.id).where(_HELD_BY).with_for_update(read=True),
    # A read alone would not keep others from claiming the job before this transaction ends.
    "sqlite": update(jobs).where(_HELD_BY).values(run_no=jobs.c.run_no).returning(jobs.c.id),
}


def fence(conn: Connection, job_id: str, run_no: int) -> bool:
    """Is this run still the one that the store believes in? The answer stays true until the end of the transaction.

    Args:
        conn: A connection of the application to this database, within its own transaction.
        job_id: The job.
        run_no: The run.
    """
    return conn.execute(_FENCE[conn.dialect.name], {"fenced_job": job_id, "fenced_run": run_no}).first() is not None


def write(conn: Connection, dialect: Dialect, records: Records, now: datetime) -> bool:
    """Write a run's records; False (and nothing written) when a newer run owns the job."""
    if records.deadline is not None:
        seconds, cause = records.deadline
        held = set_deadline(conn, records.job_id, records.run_no, now + timedelta(seconds=seconds), cause)
    else:
        held = holds(conn, dialect, records.job_id, records.run_no)
    if not held:
        return False
    write_unguarded(conn, dialect, records, now)
    return True


def write_unguarded(conn: Connection, dialect: Dialect, records: Records, now: datetime) -> None:
    """`write` for a caller who has just moved the row in the same transaction."""
    job_id, run_no = records.job_id, records.run_no
    items.record(conn, dialect, records.ledger, job_id, run_no, records.items, now)
    if records.notes:
        lines = [
            events.note(job_id, now, name, run_no=run_no, actor="worker", reason=reason)
            for name, reason in records.notes
        ]
        events.append(conn, dialect, lines)
    if records.progress is not None:
        p = records.progress
        row = (job_id, run_no, p.percent, p.done, p.total, p.message, p.metadata, now)
        dialect.insert_many(conn, progress, _PROGRESS, [row], _PROGRESS_AGAIN)
    if records.forget_log:
        conn.execute(delete(logs).where(logs.c.job_id == job_id, logs.c.seq.in_(records.forget_log)))
    if records.log:
        rows = [(job_id, c.seq, run_no, now, c.lines, c.bytes, c.dropped, c.text) for c in records.log]
        dialect.insert_many(conn, logs, _LOGS, rows, _LOG_AGAIN)


# -- steps -------------------------------------------------------------------------------------------


def save_step(
    conn: Connection,
    dialect: Dialect,
    records: Records,
    *,
    name: str,
    digest: str,
    result: str,
    seconds: float,
    now: datetime,
) -> bool:
    """Keep a step's result; False when a newer run owns the job."""
    if not holds(conn, dialect, records.job_id, records.run_no):
        return False
    row = (records.ledger, name, digest, records.job_id, records.run_no, result, seconds, now)
    dialect.insert_many(conn, steps, _STEPS, [row], _STEP_AGAIN)
    return True


def add_step(
    conn: Connection, dialect: Dialect, job_id: str, name: str, digest: str, result: str, now: datetime
) -> None:
    """A step of a job that has not run yet: what is known when it is submitted, in the same transaction."""
    dialect.insert_many(conn, steps, _STEPS, [(job_id, name, digest, job_id, 0, result, 0.0, now)], _STEP_AGAIN)


def find_step(conn: Connection, ledger: str, name: str, digest: str, *, only_job: str | None = None) -> str | None:
    """The kept result of a step as JSON text; with ``only_job`` only if that job recorded it."""
    query = select(steps.c.result).where(steps.c.generation == ledger, steps.c.name == name, steps.c.digest == digest)
    if only_job is not None:
        query = query.where(steps.c.job_id == only_job)
    result: str | None = conn.execute(query).scalar()
    return result


def steps_of(conn: Connection, ledger: str) -> list[dict[str, Any]]:
    """The steps of a telling, in the order in which they ended."""
    found = conn.execute(
        select(steps.c.name, steps.c.job_id, steps.c.run_no, steps.c.seconds, steps.c.at)
        .where(steps.c.generation == ledger)
        .order_by(steps.c.at, steps.c.name)
    )
    return [dict(row._mapping) for row in found]


# -- deadlines ---------------------------------------------------------------------------------------


def set_deadline(conn: Connection, job_id: str, run_no: int, at: datetime, cause: str) -> bool:
    """Store until when this run must end or give a sign of life.

    Returns:
        False when a newer run owns the job; nothing is written then.
    """
    mine = (jobs.c.id == job_id) & (jobs.c.run_no == run_no) & jobs.c.status.in_(("running", "cancelling"))
    values = {"deadline_at": at, "deadline_cause": cause, "deadline_run": run_no}
    return conn.execute(update(jobs).where(mine).values(values)).rowcount == 1


def past_deadline(conn: Connection, by: datetime, *, limit: int = 200) -> list[JobRow]:
    """Running jobs whose deadline has passed by ``by`` and which nobody has asked to stop, at most ``limit``."""
    over = (_RUNNING, jobs.c.status == "running", _OWN_DEADLINE, jobs.c.deadline_at <= by)
    return [read(row) for row in conn.execute(select(*columns()).where(*over).order_by(_by_id).limit(limit))]


# -- reading back ------------------------------------------------------------------------------------


def progress_of(conn: Connection, job_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Progress by job id, as far as any was reported."""
    found = conn.execute(select(progress).where(progress.c.job_id.in_(list(job_ids))))
    rows: dict[str, dict[str, Any]] = {}
    for row in found:
        values = dict(row._mapping)
        values["metadata"] = loads(values["metadata"]) if values["metadata"] else None
        rows[values.pop("job_id")] = values
    return rows


def log_chunks(conn: Connection, job_id: str, *, after: int = -1, limit: int = 1000) -> list[LogChunk]:
    """The pieces of a job's log in order, those behind ``after`` only; ``dropped`` is set where lines are missing."""
    found = conn.execute(
        select(logs.c.seq, logs.c.lines, logs.c.bytes, logs.c.text)
        .where(logs.c.job_id == job_id, logs.c.seq > after)
        .order_by(logs.c.seq)
        .limit(limit)
    ).all()
    chunks, before = [], after
    for row in found:
        gap = row.seq != before + 1
        chunks.append(LogChunk(row.seq, row.lines, row.bytes, row.text, _dropped(conn, job_id) if gap else 0))
        before = row.seq
    return chunks


def log_text(conn: Connection, job_id: str) -> str:
    """Read the log of a job as text, with a line where lines were dropped."""
    parts: list[str] = []
    for chunk in log_chunks(conn, job_id, limit=100_000):
        dropped = [render(Message("store.lines-dropped", count=chunk.dropped))] if chunk.dropped else []
        parts += [*dropped, chunk.text]
    return "\n".join(parts)


def _dropped(conn: Connection, job_id: str) -> int:
    """A piece is stored with the number of all lines that were left out until then; there is one gap."""
    return int(conn.execute(select(func.max(logs.c.dropped)).where(logs.c.job_id == job_id)).scalar() or 0)


def log_sizes(conn: Connection, job_id: str) -> list[tuple[int, int, int, int]]:
    """(seq, lines, bytes, lines left out until then) of each piece that is kept."""
    found = conn.execute(
        select(logs.c.seq, logs.c.lines, logs.c.bytes, logs.c.dropped)
        .where(logs.c.job_id == job_id)
        .order_by(logs.c.seq)
    )
    return [(row.seq, row.lines, row.bytes, row.dropped) for row in found]


def last_log_seq(conn: Connection, job_id: str) -> int:
    """The number of the last piece, -1 where there is none."""
    last = conn.execute(select(func.max(logs.c.seq)).where(logs.c.job_id == job_id)).scalar()
    return -1 if last is None else int(last)
