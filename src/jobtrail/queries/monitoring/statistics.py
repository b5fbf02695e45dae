"""Counts and ages of the store at one moment, cheap to read: for metrics and the overview.

Every count except that of the ends uses a partial index and stops at a cap: a number equal to its cap means "that many or
more".
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, func, literal, literal_column, select, union_all
from sqlalchemy import text as sql

from jobtrail.database.tables import DUE, HANDED, LIMITED, beats, events, job_totals, jobs, workers
from jobtrail.database.types import Moment
from jobtrail.job.model import FINAL, LEAST_URGENT, MOST_URGENT, Status
from jobtrail.store.queues import executors, waiting_queues
from jobtrail.store.search.search import OPEN
from jobtrail.store.workers import ALIVE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection, Label, Select, Subquery

CAP = 100_000  # of each count through an index
ROW_CAP = 10_000  # where a count needs the rows themselves
OPEN_STATES = (
    Status.AWAITING_INPUT, Status.AWAITING_MAPPING, Status.INTERRUPTED, Status.FAILED, Status.PARTIAL, Status.CANCELLED,
)  # fmt: skip
_ASKING = f"{OPEN} AND status IN ('awaiting_input', 'awaiting_mapping')"
_BEHIND = "status = 'pending' AND waits_for IS NOT NULL"
_SUSPECT = "suspect AND status IN ('pending', 'running', 'cancelling')"
_HELD = "status IN ('running', 'cancelling')"
_FINAL = sorted(status.value for status in FINAL)


@dataclass(frozen=True, slots=True)
class QueueBacklog:
    """What waits in a queue: for a slot or another system, and for its time.

    Attributes:
        oldest: Since when the first of them is due.
        unclaimed: Since when the first of those is due that workers take.
        handed: By executor that jobs are handed over to, since when the first of them is due; None where none is.
    """

    queue: str
    due: int
    later: int
    oldest: datetime | None
    unclaimed: datetime | None = None
    handed: dict[str, datetime | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Aside:
    """What is pending in a queue and not among its due and later jobs.

    Attributes:
        behind: Another job has to end first.
        alone: Jobs that may have ended their worker; they run one at a time.
    """

    behind: int = 0
    alone: int = 0


@dataclass(frozen=True, slots=True)
class LivingWorker:
    """A worker that is not known to have ended; ``beat_at`` is its last sign of life, by the store's clock."""

    id: str
    host: str
    pid: int
    state: str
    slots: int
    beat_at: datetime | None


@dataclass(frozen=True, slots=True)
class StoreSnapshot:
    """The store at one moment. ``open`` names every state of `OPEN_STATES`; counts stop at `CAP`.

    ``behind``: pending, and another job has to end first. ``suspects``: pending, and run one at a time.
    ``held`` is (status, task, queue, jobs) of what workers hold, ``asking`` (status, task, jobs) of `ROW_CAP` at most.
    """

    waiting: list[QueueBacklog]
    behind: int
    suspects: int
    held: list[tuple[str, str, str, int]]
    open: dict[str, int]
    asking: list[tuple[str, str, int]]
    workers: list[LivingWorker]


def snapshot(conn: Connection, now: datetime, *, cap: int = CAP) -> StoreSnapshot:
    """Read a snapshot: a few statements, and one for each queue."""
    return StoreSnapshot(
        waiting=waiting(conn, now, cap=cap),
        behind=behind(conn, cap=cap),
        suspects=conn.execute(_count_suspects, {"cap": cap}).scalar_one(),
        held=held(conn),
        open={row.status: row.number for row in conn.execute(_count_open, {"cap": cap})},
        asking=[_plain(row) for row in conn.execute(_count_asking)],
        workers=[LivingWorker(*row) for row in conn.execute(_living)],
    )


def waiting(conn: Connection, now: datetime, *, cap: int = CAP) -> list[QueueBacklog]:
    """What waits in each queue; queues in which nothing does are not named."""
    return [waiting_in(conn, queue, now, cap=cap) for queue in waiting_queues(conn, cap=cap)]


def heads(found: Iterable[QueueBacklog]) -> list[datetime]:
    """Since when the first of each queue waits."""
    return [one.oldest for one in found if one.oldest is not None]


def oldest_waiting(conn: Connection, now: datetime) -> dict[str, datetime]:
    """By queue, since when the longest waiting job that workers take is due; queues without one are not named."""
    found: dict[str, datetime] = {}
    for queue in waiting_queues(conn):
        first = conn.execute(_first_of_queue, {"queue": queue, "now": now}).scalar()
        if first is not None:
            found[queue] = first
    return found


def behind(conn: Connection, *, cap: int = CAP) -> int:
    """How many wait for the end of another job."""
    return int(conn.execute(_count_behind, {"cap": cap}).scalar_one())

def aside(conn: Connection, *, cap: int = ROW_CAP) -> dict[str, Aside]:
    """What is pending beside `waiting`, by queue; both together are all pending jobs. Each kind is counted up to ``cap``."""
    found: dict[str, Aside] = {}
    for queue, waits, number in conn.execute(_count_aside, {"cap": cap}):
        one = found.get(queue, Aside())
        found[queue] = replace(one, behind=number) if waits else replace(one, alone=number)
    return found


def held(conn: Connection) -> list[tuple[str, str, str, int]]:
    """What workers hold: (status, task, queue, jobs)."""
    return [_plain(row) for row in conn.execute(_count_held)]


def _plain(row: Any) -> Any:
    return tuple(row)


# -- what waits ----------------------------------------------------------------------------------------


def waiting_in(conn: Connection, queue: str, now: datetime, *, cap: int = CAP) -> QueueBacklog:
    """What waits in one queue."""
    about = {"queue": queue, "now": now, "cap": cap}
    rows = [*conn.execute(_look_at_queue, about), conn.execute(_look_at_limited, about).one()]
    unclaimed = _first_due(rows, now)
    elsewhere = {name: conn.execute(_look_at_handed, about | {"executor": name}).one() for name in executors(conn, queue)}
    handed = {name: _first_due([row], now) for name, row in elsewhere.items()}
    due, later = (min(sum(row[place] for row in (*rows, *elsewhere.values())), cap) for place in (0, 1))
    firsts = [at for at in (unclaimed, *handed.values()) if at is not None]
    return QueueBacklog(queue, due, later, min(firsts, default=None), unclaimed, handed)


def _first_due(rows: Iterable[Any], now: datetime) -> datetime | None:
    return min((row.oldest for row in rows if row.oldest is not None and row.oldest <= now), default=None)


def _of_priority(priority: int) -> Select[Any]:
    """The index knows a due time within a priority only."""
    return _look_at(
        select(jobs.c.run_at).where(sql(DUE), jobs.c.queue == bindparam("queue"), jobs.c.priority == literal(priority))
    )


def _look_at(here: Select[Any]) -> Select[Any]:
    moment = bindparam("now", type_=Moment)
    due = _capped(here.where(jobs.c.run_at <= moment))
    later = _capped(here.where(jobs.c.run_at > moment))
    first = here.order_by(jobs.c.run_at).limit(1).scalar_subquery()
    return select(due.label("due"), later.label("later"), first.label("oldest"))


def _capped(query: Select[Any]) -> Any:
    return select(func.count()).select_from(_first_of(query)).scalar_subquery()


def _first_of(query: Select[Any]) -> Subquery:
    return query.limit(bindparam("cap")).subquery()


_look_at_queue = union_all(*(_of_priority(priority) for priority in range(MOST_URGENT, LEAST_URGENT + 1)))
_look_at_limited = _look_at(select(jobs.c.run_at).where(sql(LIMITED), jobs.c.queue == bindparam("queue")))
_look_at_handed = _look_at(
    select(jobs.c.run_at).where(
        sql(HANDED), jobs.c.queue == bindparam("queue"), jobs.c.executor == bindparam("executor")
    )
)
def _first_due_where(*where: Any) -> Select[Any]:
    due = (jobs.c.run_at <= bindparam("now", type_=Moment), jobs.c.queue == bindparam("queue"))
    return select(func.min(jobs.c.run_at).label("run_at")).where(*where, *due)


_firsts = union_all(
    *(_first_due_where(sql(DUE), jobs.c.priority == priority) for priority in range(MOST_URGENT, LEAST_URGENT + 1)),
    _first_due_where(sql(LIMITED)),
).subquery()
_first_of_queue = select(func.min(_firsts.c.run_at))
_count_behind = select(_capped(select(jobs.c.waits_for).where(sql(_BEHIND))))
_alone = select(jobs.c.queue).where(
    sql(_SUSPECT), sql("status = 'pending'"), jobs.c.waits_for.is_(None), jobs.c.executor.is_(None)
)
_count_suspects = select(_capped(_alone))
_count_aside = union_all(
    *(
        select(one.c.queue, literal(waits), func.count()).group_by(one.c.queue)
        for one, waits in ((_first_of(select(jobs.c.queue).where(sql(_BEHIND))), True), (_first_of(_alone), False))
    )
)

# -- what is being done, and what stands open ----------------------------------------------------------

_count_held = (
    select(jobs.c.status, jobs.c.task, jobs.c.queue, func.count())
    .where(sql(_HELD))
    .group_by(jobs.c.status, jobs.c.task, jobs.c.queue)
)
_count_open = union_all(
    *(
        select(
            literal(status.value).label("status"),
            _capped(select(jobs.c.id).where(sql(OPEN), sql(f"status = '{status.value}'"))).label("number"),
        )
        for status in OPEN_STATES
    )
)
_some_asking = select(jobs.c.status, jobs.c.task).where(sql(_ASKING)).limit(ROW_CAP).subquery()
_count_asking = select(_some_asking.c.status, _some_asking.c.task, func.count()).group_by(
    _some_asking.c.status, _some_asking.c.task
)
_living = (
    select(workers.c.id, workers.c.host, workers.c.pid, workers.c.state, workers.c.slots, beats.c.at)
    .join(beats, beats.c.worker == workers.c.id, isouter=True)
    .where(workers.c.state.in_(ALIVE))
)

# -- tasks -------------------------------------------------------------------------------------------

# One look into the index for each task, however many jobs it has.
_NEWEST = sql(
    f"WITH RECURSIVE each(task) AS (SELECT (SELECT min(task) FROM {jobs.name}) "  # noqa: S608 - constants
    f"UNION ALL SELECT (SELECT min(j.task) FROM {jobs.name} AS j WHERE j.task > each.task) "
    f"FROM each WHERE each.task IS NOT NULL) "
    f"SELECT (SELECT j.id FROM {jobs.name} AS j WHERE j.task = each.task ORDER BY j.id DESC LIMIT 1) AS id "
    f"FROM each WHERE task IS NOT NULL"
).columns(id=jobs.c.id.type)
_LAST = (jobs.c.id, jobs.c.task, jobs.c.status, jobs.c.outcome, jobs.c.created_at, jobs.c.finished_at)
TASKS_AT_ONCE = 500


def newest_jobs(conn: Connection) -> dict[str, Any]:
    """The newest job of each task that has any: id, task, status, outcome, created_at, finished_at."""
    ids = list(conn.execute(_NEWEST).scalars())
    found: dict[str, Any] = {}
    for begin in range(0, len(ids), TASKS_AT_ONCE):
        query = select(*_LAST).where(jobs.c.id.in_(ids[begin : begin + TASKS_AT_ONCE]))
        found |= {row.task: row for row in conn.execute(query)}
    return found


# -- what has ended ------------------------------------------------------------------------------------

# An expression, or SQLite would read every row by way of its index of tasks.
_task: Label[str] = literal_column("jobtrail_jobs.task || ''").label("task")
# One statement, so one snapshot: a job that retention removes meanwhile is either a row here or in the totals.
_parts = union_all(
    select(_task, jobs.c.status, func.count().label("number"))
    .where(jobs.c.status.in_(_FINAL))
    .group_by(_task, jobs.c.status),
    select(job_totals.c.task, job_totals.c.status, func.sum(job_totals.c.jobs)).group_by(
        job_totals.c.task, job_totals.c.status
    ),
    select(jobs.c.task, events.c.from_status, func.count())
    .join(jobs, jobs.c.id == events.c.job_id)
    .where(events.c.name == "retried", events.c.from_status.in_(_FINAL))
    .group_by(jobs.c.task, events.c.from_status),
).subquery()
_ends = select(_parts.c.task, _parts.c.status, func.sum(_parts.c.number)).group_by(_parts.c.task, _parts.c.status)


def ends(conn: Connection) -> dict[tuple[str, str], int]:
    """How often a job of a task has ended in a status, since the first day, by (task, status). It never goes down.

    Counted are the jobs that stand in a final status, those that retention has removed, and the ends that a
    retry has taken back. It reads every job, so the time it takes grows with their number.
    """
    return {(row[0], row[1]): int(row[2]) for row in conn.execute(_ends)}
