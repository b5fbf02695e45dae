"""What has been kept long enough goes, in small committed chunks: history goes, the truth stays.

After each chunk there is a rest of four times as long, so that jobs wait for a clean-up for a chunk at most, and a fifth of
the time; on PostgreSQL they do not wait at all, for it has a connection of its own.

Removed are ended jobs of a status's age with all that was written about them. Never removed are active jobs,
what an active job refers to, units, and the ledger of a unit that is not complete (or a later re-run would not
know what is done). What items were before goes with the job that recorded it. What was removed is counted in `job_totals` in the same transaction, a job that was retried
once for each of its ends. A reference to a removed job is no error: it is shown as pruned.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from json import dumps, loads
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import delete, func, insert, literal, select, text

from jobtrail.database.tables import (
    group_members,
    groups,
    idempotency_keys,
    item_history,
    job_totals,
    jobs,
    submitters,
    successors,
    task_retention,
    workers,
)
from jobtrail.errors import InvalidOption
from jobtrail.job.model import Status
from jobtrail.job.task import KEPT, LONGEST_KEPT, Task
from jobtrail.messages import Message

from .removal import ledgers, needs
from .removal.ledgers import LEDGERS, empty, remove_history, with_a_job
from .removal.rows import COLUMNS, ended, named_by_units, remember_with_units, remove
from .search.search import OPEN, smallest_id
from .submissions import remember_removed
from .workers import ALIVE

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection

    from jobtrail.config import Settings

    from .store import Store

CHUNK = 100
REST = 4.0  # times as long as a chunk took
STILL_SUBMITS = timedelta(days=2)  # who submits says so once a day
FIRST_ID = "00000000-0000-0000-0000-000000000000"
_log = logging.getLogger("jobtrail.retention")
Before = Callable[[Sequence[str]], None]  # takes the ids of a chunk; an exception keeps it


@dataclass(frozen=True, slots=True)
class Retention:
    """Days for which ended jobs are kept, by status; None keeps them for ever. `Settings` has the defaults.

    ``tasks`` has the days of tasks with a time of their own, by task and status.
    """

    completed: float | None
    cancelled: float | None
    failed: float | None
    partial: float | None
    tasks: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)

    @classmethod
    def of(cls, settings: Settings) -> Retention:
        """Return the retention that the settings say."""
        return cls(**{status: getattr(settings, f"keep_{status}") for status in KEPT})

    def __post_init__(self) -> None:
        """Refuse a number that is no time."""
        for status in KEPT:
            value = getattr(self, status)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= LONGEST_KEPT:
                raise InvalidOption(Message("store.bad-retention", status=status, value=repr(value)))

    def edges(self, now: datetime) -> list[Edge]:
        """What goes when: for each status the jobs of most tasks, then those of each task with its own time."""
        found: list[Edge] = []
        for status in KEPT:
            own = {task: kept[status] for task, kept in sorted(self.tasks.items()) if status in kept}
            days: float | None = getattr(self, status)
            if days is not None:
                found.append(Edge(Status(status), now - timedelta(days=days), None, tuple(own)))
            found += [Edge(Status(status), now - timedelta(days=kept), task) for task, kept in own.items() if kept is not None]
        return found


def declare(conn: Connection, tasks: Iterable[Task]) -> None:
    """Store how long these tasks keep their jobs, so that a process that does not know a task removes no more than that."""
    told = {task.name: dumps(task.kept) if task.kept else None for task in tasks}
    there = {row.task: row.kept for row in conn.execute(select(task_retention))}
    for name in sorted(told):
        kept = told[name]
        if kept != there.get(name):
            conn.execute(delete(task_retention).where(task_retention.c.task == name))
            if kept is not None:
                conn.execute(insert(task_retention).values(task=name, kept=kept))


def declared(conn: Connection) -> dict[str, dict[str, float | None]]:
    """How long tasks keep their jobs, by task and status, where they say so themselves."""
    return {row.task: loads(row.kept) for row in conn.execute(select(task_retention))}


class Edge(NamedTuple):
    """Jobs of a status that ended before a moment go: those of a task, or of all tasks without the ``others``."""

    status: Status
    before: datetime
    task: str | None = None
    others: tuple[str, ...] = ()

    @property
    def of_tasks(self) -> list[ColumnElement[bool]]:
        """The condition on the task."""
        if self.task is not None:
            return [jobs.c.task == self.task]
        return [jobs.c.task.not_in(self.others)] if self.others else []


@dataclass(slots=True)
class Pruned:
    """What a pass removed."""

    jobs: Counter[str] = field(default_factory=Counter)
    kept: int = 0  # by a function that is called before the removal
    ledgers: int = 0
    keys: int = 0
    submitters: int = 0

    @property
    def total(self) -> int:
        """All jobs."""
        return self.jobs.total()


def _sleep(seconds: float) -> bool:
    time.sleep(seconds)
    return False


class _Rest:
    """Called after each chunk; True ends the pass."""

    def __init__(self, wait: Callable[[float], bool]) -> None:
        self._wait = wait
        self._since = time.monotonic()

    def __call__(self) -> bool:
        over = self._wait(REST * (time.monotonic() - self._since))
        self._since = time.monotonic()
        return over


def old_enough(conn: Connection, policy: Retention, now: datetime) -> dict[str, int]:
    """Count the jobs of each status that are past their age; some may have to stay because others refer to them."""
    counted: Counter[str] = Counter()
    for edge in policy.edges(now):
        ended = (jobs.c.status == edge.status.value, jobs.c.finished_at < edge.before, *edge.of_tasks)
        counted[edge.status.value] += conn.execute(select(func.count()).select_from(jobs).where(*ended)).scalar_one()
    return {status: number for status, number in counted.items() if number}


def run_once(
    store: Store,
    policy: Retention,
    now: datetime,
    *,
    chunk: int = CHUNK,
    wait: Callable[[float], bool] = _sleep,
    before: Before | None = None,
) -> Pruned:
    """Remove all that is due, chunk by chunk.

    ``wait`` is called after each chunk with the seconds of its rest, and ends the pass by returning True. Whatever
    stops a pass, the next one goes on; two at once take different rows. ``before`` is called with the ids of each chunk,
    outside of any transaction; where it raises, the chunk stays until the next pass.
    """
    pruned, pause = Pruned(), _Rest(wait)
    edges = policy.edges(now)
    for edge in edges:
        if _prune_jobs(store, edge, chunk, pause, pruned, before):
            return pruned
    newest = max((edge.before for edge in edges), default=None)
    if newest is not None and _prune_superseded(store, newest, chunk, pause, pruned):
        return pruned
    if newest is not None and _prune_history(store, newest, chunk, pause):
        return pruned
    if newest is not None:
        _prune_groups(store, newest, chunk, pause)
    _prune_keys(store, now, chunk, pause, pruned)
    if edges and policy.completed is not None:
        _prune_submitters(store, min(edge.before for edge in edges) - STILL_SUBMITS, chunk, pause, pruned)
    return pruned


# -- jobs --------------------------------------------------------------------------------------------


def _prune_jobs(
    store: Store, edge: Edge, chunk: int, pause: Callable[[], bool], pruned: Pruned, before: Before | None
) -> bool:
    after: str | None = FIRST_ID
    while after is not None:
        only = None if before is None else _announced(store, edge, after, chunk, before, pruned)
        after, removed, gone = store.write_beside(_chunk_of_jobs(store, edge, after, chunk, only))
        pruned.jobs[edge.status.value] += removed
        if _empty(store, gone, pause, pruned) or (after is not None and pause()):
            return True
    return False


def _announced(store: Store, edge: Edge, after: str, chunk: int, before: Before, pruned: Pruned) -> set[str]:
    """Call ``before`` with the jobs that are about to go; returns those that may."""
    with store.read() as conn:
        ids = [row.id for row in _due(conn, edge, after, chunk, lock=False)]
        going = [one for one in ids if one not in _kept(conn, ids)]
    try:
        if going:
            before(going)
    except Exception:
        _log.exception("%s ended jobs stay, because a function that is called before their removal failed", len(going))
        pruned.kept += len(going)
        return set()
    return set(going)


def _chunk_of_jobs(store: Store, edge: Edge, after: str, chunk: int, only: Container[str] | None) -> Any:
    def operation(conn: Connection) -> tuple[str | None, int, set[str]]:
        found = _due(conn, edge, after, chunk)
        if not found:
            return None, 0, set()
        # Asked in a second statement, when their rows are locked: who re-runs one of them locks it first.
        kept = _kept(conn, [row.id for row in found])
        if only is not None:
            kept |= {row.id for row in found if row.id not in only}
        named = named_by_units(conn, [row for row in found if row.id not in kept])
        kept |= named.busy  # a unit whose row is being changed may name another job next time
        going = [row for row in found if row.id not in kept]
        if going:
            remember_with_units(conn, named, going)
            remember_removed(conn, [ended(row) for row in going])
            remove(conn, store, going)
        return found[-1].id, len(going), {row.generation or row.id for row in going}

    return operation


def _kept(conn: Connection, ids: Sequence[str]) -> set[str]:
    return {*needs.by_active(conn, ids), *needs.by_open_groups(conn, ids)}


def _empty(store: Store, gone: set[str], pause: Callable[[], bool], pruned: Pruned) -> bool:
    removed, over = empty(store, gone, pause)
    pruned.ledgers += removed
    return over


def _due(conn: Connection, edge: Edge, after: str, chunk: int, *, lock: bool = True) -> Sequence[Any]:
    """The oldest ended jobs behind ``after``. Ids tell when a job was made, so the walk ends at the edge."""
    query = (
        select(*COLUMNS)
        .where(
            jobs.c.id > after,
            jobs.c.id < smallest_id(edge.before),
            jobs.c.status == edge.status.value,
            jobs.c.finished_at < edge.before,
            jobs.c.unit_lock.is_(None),
            jobs.c.body_running.is_(False),
            *edge.of_tasks,
        )
        .order_by(jobs.c.id)
        .limit(chunk)
    )
    if edge.status is not Status.COMPLETED:
        query = query.where(text(OPEN))
    return conn.execute(query.with_for_update(skip_locked=True) if lock else query).all()


# -- ledgers -----------------------------------------------------------------------------------------


def _prune_superseded(store: Store, edge: datetime, chunk: int, pause: Callable[[], bool], pruned: Pruned) -> bool:
    """Ledgers that outlived their jobs for the sake of a unit, which has been told anew meanwhile."""
    for table in LEDGERS:
        after: str | None = FIRST_ID
        while after is not None:
            with store.read() as conn:
                found = _distinct(conn, table.c.generation, after, smallest_id(edge), chunk)
                alone = set(found) - with_a_job(conn, found) if found else set()
            after = found[-1] if found else None
            if _empty(store, alone, pause, pruned) or (after is not None and pause()):
                return True
    return False


def _prune_history(store: Store, edge: datetime, chunk: int, pause: Callable[[], bool]) -> bool:
    """What items were in jobs that are gone, some rows at a time; True ends the pass."""
    after: str | None = FIRST_ID
    while after is not None:
        with store.read() as conn:
            found = _distinct(conn, item_history.c.job_id, after, smallest_id(edge), chunk)
            there = set(conn.execute(select(jobs.c.id).where(jobs.c.id.in_(found))).scalars()) if found else set()
        after, gone = found[-1] if found else None, [job for job in found if job not in there]
        while gone and store.write_beside(partial(remove_history, of=gone)) == ledgers.ROWS:
            if pause():
                return True
        if after is not None and pause():
            return True
    return False


def _distinct(conn: Connection, column: Any, after: str, before: str, limit: int) -> list[str]:
    """The next values of an id column, each found by one look into an index that begins with it."""
    first = select(column).where(column > after, column < before).order_by(column).limit(1)
    walk = select(first.scalar_subquery().label("value"), literal(1).label("place")).cte("walk", recursive=True)
    following = select(column).where(column > walk.c.value, column < before).order_by(column).limit(1)
    walk = walk.union_all(
        select(following.scalar_subquery(), walk.c.place + 1).where(walk.c.value.is_not(None), walk.c.place < limit)
    )
    query = select(walk.c.value).where(walk.c.value.is_not(None)).order_by(walk.c.place)
    return list(conn.execute(query).scalars())


# -- groups ------------------------------------------------------------------------------------------


def _prune_groups(store: Store, edge: datetime, chunk: int, pause: Callable[[], bool]) -> None:
    """Groups whose members are gone, or that never had any."""

    def operation(conn: Connection) -> int:
        members = select(group_members.c.job_id).where(group_members.c.group_id == groups.c.id)
        old = select(groups.c.id).where(groups.c.finished_at < edge, ~members.exists()).limit(chunk)
        going = list(conn.execute(old.with_for_update(skip_locked=True)).scalars())
        conn.execute(delete(successors).where(successors.c.group_id.in_(going)))
        return conn.execute(delete(groups).where(groups.c.id.in_(going))).rowcount if going else 0

    while store.write_beside(operation) == chunk:
        if pause():
            return


# -- keys --------------------------------------------------------------------------------------------


def _prune_keys(store: Store, now: datetime, chunk: int, pause: Callable[[], bool], pruned: Pruned) -> None:
    def operation(conn: Connection) -> int:
        table = idempotency_keys
        old = select(table.c.scope, table.c.key).where(table.c.expires_at <= now).limit(chunk)
        found = conn.execute(old.with_for_update(skip_locked=True)).all()
        for row in found:
            conn.execute(delete(table).where(table.c.scope == row.scope, table.c.key == row.key))
        return len(found)

    while removed := store.write_beside(operation):
        pruned.keys += removed
        if pause():
            return


# -- submitters --------------------------------------------------------------------------------------


def _prune_submitters(
    store: Store, before: datetime, chunk: int, pause: Callable[[], bool], pruned: Pruned
) -> None:
    """Processes of which no kept job is known any more; a job of theirs is older than they were last heard of."""
    after: str | None = FIRST_ID
    while after is not None:
        with store.read() as conn:
            old = _old_submitters(conn, before, after, chunk)
            of_old_jobs = select(jobs.c.submitter).where(
                jobs.c.id < smallest_id(before + STILL_SUBMITS), jobs.c.submitter.in_(old)
            )
            needed = set(conn.execute(of_old_jobs.distinct()).scalars()) if old else set()
        going = [one for one in old if one not in needed]
        if going:
            pruned.submitters += store.write_beside(partial(_remove_submitters, going=going, before=before))
        after = old[-1] if old else None
        if after is not None and pause():
            return


def _old_submitters(conn: Connection, before: datetime, after: str, limit: int) -> list[str]:
    runs_here = select(workers.c.id).where(
        workers.c.host == submitters.c.host, workers.c.pid == submitters.c.pid, workers.c.state.in_(ALIVE)
    )
    query = select(submitters.c.id).where(submitters.c.at < before, submitters.c.id > after, ~runs_here.exists())
    return list(conn.execute(query.order_by(submitters.c.id).limit(limit)).scalars())


def _remove_submitters(conn: Connection, going: list[str], before: datetime) -> int:
    return conn.execute(delete(submitters).where(submitters.c.id.in_(going), submitters.c.at < before)).rowcount


def totals(conn: Connection, since: datetime) -> list[dict[str, Any]]:
    """What is known of removed jobs, by hour of their end, task and status."""
    query = select(job_totals).where(job_totals.c.hour >= since).order_by(*job_totals.primary_key.columns)
    return [dict(row._mapping) for row in conn.execute(query)]
