"""Workers and submitters: one row for each life of a process."""

from __future__ import annotations

import getpass
import os
import socket
import sys
from importlib.metadata import PackageNotFoundError, version
from json import dumps, loads
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, case, delete, select, text, union_all, update

from jobtrail.database.beats import LEFT, MARK_DEAD, RAISE_BEAT, WRITE_DETAIL
from jobtrail.database.tables import beats, jobs, submitters, workers
from jobtrail.messages import Message

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.database.dialects import Dialect

_WORKER = (
    "id", "host", "boot", "pid", "pid_namespace", "process_start", "version", "queues", "slots", "started_at", "state",
    "executor", "tasks",
)  # fmt: skip
ALIVE = ("alive", "stopping", "leaving")
_BEAT = text(RAISE_BEAT).bindparams(bindparam("now", type_=beats.c.at.type))
_MARK_DEAD = text(MARK_DEAD).bindparams(bindparam("now", type_=beats.c.at.type))
_DETAIL = text(WRITE_DETAIL)
_SUBMITTER = ("id", "host", "pid", "program", "user", "version", "at")


def register(
    conn: Connection,
    dialect: Dialect,
    worker: str,
    queues: Sequence[str],
    slots: int,
    now: datetime,
    *,
    executor: str | None = None,
    tasks: Sequence[str] | None = None,
) -> None:
    """A worker begins to live. What proves its death on the same host stands with it: boot, namespace, pid, start.

    Args:
        conn: An open connection.
        dialect: Of the database.
        worker: Its id.
        queues: The queues that it takes jobs from.
        slots: How many jobs it runs at once; 0 for a process that only leads.
        now: The database's time, UTC.
        executor: The executor whose jobs it runs, where they come by tickets.
        tasks: Names of the tasks that it knows; None where nobody has to know.
    """
    row = (
        worker, socket.gethostname(), boot_id(), os.getpid(), pid_namespace(), process_start(os.getpid()), our_version(),
        dumps(list(queues)), slots, now, "alive", executor,
        None if tasks is None else dumps(list(tasks)),
    )  # fmt: skip
    dialect.insert_many(conn, workers, _WORKER, [row], "ON CONFLICT (id) DO NOTHING")
    dialect.insert_many(conn, beats, ("worker", "beat", "at"), [(worker, 0, now)], "ON CONFLICT (worker) DO NOTHING")


def serve(conn: Connection, worker: str, queues: Sequence[str], slots: int) -> None:
    """A worker that is registered serves these queues from now on."""
    conn.execute(update(workers).where(workers.c.id == worker).values(queues=dumps(list(queues)), slots=slots))


def knowing(conn: Connection, tasks: Collection[str], besides: str) -> set[tuple[str, str]]:
    """Return the (queue, task) of these tasks that another worker takes from a queue; ``besides`` is not asked."""
    others = select(workers.c.queues, workers.c.tasks).where(
        workers.c.state == "alive", workers.c.id != besides, workers.c.executor.is_(None), workers.c.tasks.is_not(None)
    )
    return {
        (queue, task)
        for row in conn.execute(others)
        for task in set(loads(row.tasks)).intersection(tasks)
        for queue in loads(row.queues)
    }


def beat(conn: Connection, worker: str, now: datetime) -> bool:
    """Raise a worker's number: one narrow row, no index but its key. False where the worker is not known (any more)."""
    return conn.execute(_BEAT, {"worker": worker, "now": now}).rowcount == 1


def beat_age(conn: Connection, worker: str, now: datetime) -> float | None:
    """Seconds since a worker's last beat, by the store's clock; None where it is not known."""
    at = conn.execute(select(beats.c.at).where(beats.c.worker == worker)).scalar()
    return None if at is None else float((now - at).total_seconds())


def living(conn: Connection) -> list[Any]:
    """Workers that are not known to have ended: id, beat, and what proves a death on the same host."""
    query = select(
        workers.c.id, beats.c.beat, workers.c.boot, workers.c.pid_namespace, workers.c.pid, workers.c.process_start
    ).join(beats, beats.c.worker == workers.c.id)
    return list(conn.execute(query.where(workers.c.state.in_(ALIVE))))


def queues_of(conn: Connection, worker: str) -> list[str]:
    """The queues that a worker takes jobs from; none if it is not registered."""
    found = conn.execute(select(workers.c.queues).where(workers.c.id == worker)).scalar()
    return [] if found is None else [str(name) for name in loads(found)]


def served_queues(conn: Connection) -> set[str]:
    """The queues that living workers serve."""
    found = conn.execute(select(workers.c.queues).where(workers.c.state.in_(ALIVE))).scalars()
    return {name for text in found for name in loads(text)}


def state_of(conn: Connection, worker: str) -> str | None:
    """alive, stopping, stopped, dead, or None where nobody knows it."""
    state: str | None = conn.execute(select(workers.c.state).where(workers.c.id == worker)).scalar()
    return state


def how_it_ended(conn: Connection, worker: str) -> str | None:
    """What is known of a worker's end, in words."""
    row = conn.execute(select(workers.c.state, workers.c.detail).where(workers.c.id == worker)).first()
    if row is None:
        return None
    if row.state == "stopped":
        return Message("recovery.worker-ended").stored
    known = loads(row.detail).get("how") if row.detail else None
    return str(known or Message("recovery.worker-dead").stored)


def has_left(conn: Connection, worker: str) -> bool:
    """Did it end in order, but for bodies that could not be stopped?"""
    return conn.execute(select(workers.c.detail).where(workers.c.id == worker)).scalar() == LEFT


def mark_dead(conn: Connection, worker: str, how: str, now: datetime, *, beat: int | None = None) -> bool:
    """Declare a worker dead, only if its number is still the one that was judged (it may have woken up meanwhile)."""
    values = {"worker": worker, "now": now, "beat": beat, "left": LEFT, "detail": dumps({"how": how})}
    return conn.execute(_MARK_DEAD, values).rowcount == 1


def stuck_on_host(
    conn: Connection, boot: str | None, namespace: str | None, pids: Sequence[int], stop_before: datetime
) -> list[tuple[int, str | None]]:
    """Processes of one host, of these ids, that do not end by themselves: process id and start.

    The newest worker of each was declared dead, or holds a job whose stop may be forced by ``stop_before``.
    """
    rows = conn.execute(
        select(workers.c.id, workers.c.pid, workers.c.process_start, workers.c.state).where(
            workers.c.boot == boot, workers.c.pid_namespace == namespace, workers.c.pid.in_(list(pids))
        )
    )
    newest = {row.pid: row for row in sorted(rows, key=lambda row: str(row.id))}
    held = select(jobs.c.worker).where(
        jobs.c.status == "cancelling", jobs.c.worker.in_([row.id for row in newest.values()]), jobs.c.stop_at <= stop_before
    )
    asked = set(conn.execute(held).scalars()) if newest else set()
    return [(row.pid, row.process_start) for row in newest.values() if row.state == "dead" or row.id in asked]


def note(conn: Connection, worker: str, detail: Mapping[str, Any] | None) -> None:
    """Write what is wrong with a living worker: a blocked loop, failing background loops, an outage, lost slots."""
    conn.execute(_DETAIL, {"worker": worker, "detail": dumps(detail) if detail else None})


def everyone(conn: Connection, *, limit: int = 200) -> list[dict[str, Any]]:
    """Workers as an administrator sees them: those that live, then the others, the newest life first."""
    query = select(workers, beats.c.beat, beats.c.at.label("beat_at")).join(
        beats, beats.c.worker == workers.c.id, isouter=True
    )
    gone = case((workers.c.state.in_(ALIVE), 0), else_=1)
    found = conn.execute(query.order_by(gone, workers.c.started_at.desc()).limit(limit))
    return [dict(row._mapping) for row in found]


def jobs_held(conn: Connection, *, limit: int = 1000) -> list[Any]:
    """The jobs that workers execute, the longest running first; the body of a forced end that runs on is among them."""
    columns = ("id", "worker", "task", "source", "period", "queue", "status", "attempt", "started_at", "body_running")
    held = [
        select(*(jobs.c[name] for name in columns)).where(text(condition))
        for condition in (
            "status IN ('running', 'cancelling')",
            "body_running AND status NOT IN ('running', 'cancelling')",
        )
    ]
    together = union_all(*held).subquery()
    return list(conn.execute(select(together).order_by(together.c.started_at, together.c.id).limit(limit)))


def forget(conn: Connection, before: datetime) -> int:
    """Remove the rows of workers that ended before a moment and hold no job."""
    held = select(jobs.c.worker).where(
        text("jobtrail_jobs.status IN ('running', 'cancelling')"), jobs.c.worker.is_not(None)
    )
    gone = select(workers.c.id).where(
        workers.c.state.in_(("dead", "stopped")), workers.c.stopped_at < before, workers.c.id.not_in(held)
    )
    conn.execute(delete(beats).where(beats.c.worker.in_(gone)))
    return conn.execute(
        delete(workers).where(
            workers.c.state.in_(("dead", "stopped")), workers.c.stopped_at < before, workers.c.id.not_in(held)
        )
    ).rowcount


def set_state(conn: Connection, worker: str, state: str) -> None:
    """A living worker says what it is about to do."""
    conn.execute(update(workers).where(workers.c.id == worker, workers.c.state.in_(ALIVE)).values(state=state))


def stopped(conn: Connection, worker: str, now: datetime) -> None:
    """A worker ended in order."""
    conn.execute(update(workers).where(workers.c.id == worker).values(state="stopped", stopped_at=now, detail=None))


def add_submitter(conn: Connection, dialect: Dialect, submitter: str, now: datetime) -> None:
    """What is the same for all jobs of a process, stored once; said again, it tells that the process still submits."""
    program = Path(sys.argv[0]).name if sys.argv and sys.argv[0] else None
    row = (submitter, socket.gethostname(), os.getpid(), program, _user(), our_version(), now)
    dialect.insert_many(conn, submitters, _SUBMITTER, [row], "ON CONFLICT (id) DO UPDATE SET at = excluded.at")


def our_version() -> str:
    """The version of jobtrail that runs here."""
    try:
        found: str | None = version("jobtrail")  # None where the metadata may not be read
    except PackageNotFoundError:
        found = None
    return found or "unknown"


def boot_id() -> str | None:
    """What this machine's start is called, where the system tells it."""
    return _first_line("/proc/sys/kernel/random/boot_id")


def pid_namespace() -> str | None:
    """In which namespace our pid is meant; in containers everybody is pid 1."""
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return None


def process_start(pid: int) -> str | None:
    """When a process of this pid started, in the system's ticks; None where there is none or nobody tells.

    A process that has ended and that its parent has not waited for (a zombie, as below a container's first process) is none;
    one whose first thread has ended before the others looks alike, but for their number.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    # The name in parentheses may hold spaces; the 22nd field counts from behind it.
    fields = stat.rsplit(")", 1)[-1].split()
    ended = fields[0] in {"Z", "X"} and int(fields[17]) <= 1
    return None if ended else fields[19]


def _first_line(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="ascii").strip()
    except OSError:
        return None


def _user() -> str | None:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return None
