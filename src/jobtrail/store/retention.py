"""What has been kept long enough goes, in small committed chunks: history goes, the truth stays.

After each chunk there is a rest of four times as long, so that jobs wait for a clean-up for a chunk at most, and a fifth of
the time; on PostgreSQL they do not wait at all, for it has a connection of its own.

Removed are ended jobs of a status's age with all that was written about them. Never removed are active jobs,
what an active job refers to, units, and the ledger of a unit that is not complete (or a later re-run would not
know what is done). What items were before goes with the job that recorded it. What was removed is counted in `job_totals` in the same transaction, a job that was retried
once for each of its ends. A reference to a removed job is no error: it is shown as pruned.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field, fields
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import delete, func, literal, or_, select, text, tuple_

from jobtrail.database.tables import (
    events,
    group_members,
    groups,
    idempotency_keys,
    item_history,
    items,
    job_labels,
    job_totals,
    jobs,
    logs,
    progress,
    questions,
    steps,
    submitters,
    successors,
    units,
    workers,
)
from jobtrail.errors import InvalidOption
from jobtrail.job.model import ACTIVE, FINAL, Outcome, RemovedJob, Status
from jobtrail.messages import Message

from . import units as stored_units
from .search.search import OPEN, smallest_id
from .submissions import remember_removed
from .workers import ALIVE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.config import Settings

    from .store import Store

CHUNK = 100
ROWS = 2_000  # of ledgers in one transaction
REST = 4.0  # times as long as a chunk took
STILL_SUBMITS = timedelta(days=2)  # who submits says so once a day
FIRST_ID = "00000000-0000-0000-0000-000000000000"
_ABOUT_A_JOB = (events, logs, progress, job_labels, questions)
_LEDGERS = (items, steps)
_FINAL = sorted(status.value for status in FINAL)
_ACTIVE = [status.value for status in ACTIVE]
_TOTALS = ("hour", "task", "status", "jobs", "run_seconds", "wait_seconds")
_ADD_TOTALS = "ON CONFLICT (hour, task, status) DO UPDATE SET " + ", ".join(
    f"{name} = {job_totals.name}.{name} + excluded.{name}" for name in _TOTALS[3:]
)


@dataclass(frozen=True, slots=True)
class Retention:
    """Days for which ended jobs are kept, by status; None keeps them for ever. `Settings` has the defaults."""

    completed: float | None
    cancelled: float | None
    failed: float | None
    partial: float | None

    @classmethod
    def of(cls, settings: Settings) -> Retention:
        """Return the retention that the settings say."""
        return cls(**{f.name: getattr(settings, f"keep_{f.name}") for f in fields(cls)})

    def __post_init__(self) -> None:
        """Refuse a number that is no time."""
        for f in fields(self):
            value = getattr(self, f.name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 100_000:
                raise InvalidOption(Message("store.bad-retention", status=f.name, value=repr(value)))

    def edges(self, now: datetime) -> dict[Status, datetime]:
        """By status the moment before which its jobs must have ended to go."""
        given = {Status(f.name): getattr(self, f.name) for f in fields(self)}
        return {status: now - timedelta(days=days) for status, days in given.items() if days is not None}


@dataclass(slots=True)
class Pruned:
    """What a pass removed."""

    jobs: Counter[str] = field(default_factory=Counter)
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
    counted = {
        status.value: conn.execute(
            select(func.count()).where(jobs.c.status == status.value, jobs.c.finished_at < edge)
        ).scalar_one()
        for status, edge in policy.edges(now).items()
    }
    return {status: number for status, number in counted.items() if number}


def run_once(
    store: Store,
    policy: Retention,
    now: datetime,
    *,
    chunk: int = CHUNK,
    wait: Callable[[float], bool] = _sleep,
) -> Pruned:
    """Remove all that is due, chunk by chunk.

    ``wait`` is called after each chunk with the seconds of its rest, and ends the pass by returning True. Whatever
    stops a pass, the next one goes on; two at once take different rows.
    """
    pruned, pause = Pruned(), _Rest(wait)
    edges = policy.edges(now)
    if _prune_jobs(store, edges, chunk, pause, pruned):
        return pruned
    if edges and _prune_superseded(store, max(edges.values()), chunk, pause, pruned):
        return pruned
    if edges and _prune_history(store, max(edges.values()), chunk, pause):
        return pruned
    if edges:
        _prune_groups(store, max(edges.values()), chunk, pause)
    _prune_keys(store, now, chunk, pause, pruned)
    if edges and policy.completed is not None:
        _prune_submitters(store, min(edges.values()) - STILL_SUBMITS, chunk, pause, pruned)
    return pruned


# -- jobs --------------------------------------------------------------------------------------------


def _prune_jobs(
    store: Store, edges: dict[Status, datetime], chunk: int, pause: Callable[[], bool], pruned: Pruned
) -> bool:
    for status, edge in edges.items():
        after: str | None = FIRST_ID
        while after is not None:
            after, removed, ledgers = store.write_beside(_chunk_of_jobs(store, status, edge, after, chunk))
            pruned.jobs[status.value] += removed
            if _empty(store, ledgers, pause, pruned) or (after is not None and pause()):
                return True
    return False


def _chunk_of_jobs(store: Store, status: Status, edge: datetime, after: str, chunk: int) -> Any:
    def operation(conn: Connection) -> tuple[str | None, int, set[str]]:
        found = _due(conn, status, edge, after, chunk)
        if not found:
            return None, 0, set()
        # Asked in a second statement, when their rows are locked: who re-runs one of them locks it first.
        kept = _referred_to(conn, [row.id for row in found])
        named = _named_by_units(conn, [row for row in found if row.id not in kept])
        kept |= named.busy  # a unit whose row is being changed may name another job next time
        going = [row for row in found if row.id not in kept]
        if going:
            _remember_with_units(conn, named, going)
            _remove(conn, store, going)
        return found[-1].id, len(going), {row.generation or row.id for row in going}

    return operation


def _due(conn: Connection, status: Status, edge: datetime, after: str, chunk: int) -> Sequence[Any]:
    """The oldest ended jobs behind ``after``. Ids tell when a job was made, so the walk ends at the edge."""
    query = (
        select(
            jobs.c.id, jobs.c.task, jobs.c.status, jobs.c.outcome, jobs.c.generation, jobs.c.unit,
            jobs.c.created_at, jobs.c.run_at, jobs.c.started_at, jobs.c.finished_at,
        )
        .where(
            jobs.c.id > after,
            jobs.c.id < smallest_id(edge),
            jobs.c.status == status.value,
            jobs.c.finished_at < edge,
            jobs.c.unit_lock.is_(None),
            jobs.c.body_running.is_(False),
        )
        .order_by(jobs.c.id)
        .limit(chunk)
    )  # fmt: skip
    if status is not Status.COMPLETED:
        query = query.where(text(OPEN))
    return conn.execute(query.with_for_update(skip_locked=True)).all()


def _referred_to(conn: Connection, ids: list[str]) -> set[str]:
    kept: set[str] = set()
    for column in (jobs.c.rerun_of, jobs.c.waits_for, jobs.c.parent, jobs.c.root, jobs.c.generation):
        # A job is no reason to keep itself: its first telling bears its own id.
        query = select(column).where(column.in_(ids), jobs.c.status.in_(_ACTIVE), column != jobs.c.id)
        kept.update(conn.execute(query).scalars())
    return kept | _in_open_groups(conn, ids)


def _in_open_groups(conn: Connection, ids: list[str]) -> set[str]:
    """What follows a group takes the results of its members."""
    query = select(group_members.c.job_id).join(groups, groups.c.id == group_members.c.group_id)
    return set(conn.execute(query.where(group_members.c.job_id.in_(ids), groups.c.finished_at.is_(None))).scalars())


def _remove(conn: Connection, store: Store, going: Sequence[Any]) -> None:
    ids = [row.id for row in going]
    store.dialect.insert_many(conn, job_totals, _TOTALS, _totals(going, _retried_ends(conn, ids)), _ADD_TOTALS)
    remember_removed(conn, [_ended(row) for row in going])
    for table in _ABOUT_A_JOB:
        conn.execute(delete(table).where(table.c.job_id.in_(ids)))
    conn.execute(delete(successors).where(successors.c.after.in_(ids)))
    conn.execute(delete(group_members).where(group_members.c.job_id.in_(ids)))
    conn.execute(delete(jobs).where(jobs.c.id.in_(ids)))


def _named_by_units(conn: Connection, going: Sequence[Any]) -> stored_units.NamedJobs:
    of_units = [row for row in going if row.unit is not None]
    generations = [row.generation or row.id for row in of_units]
    return stored_units.naming(conn, [row.id for row in of_units], [row.unit for row in of_units], generations)


def _remember_with_units(conn: Connection, named: stored_units.NamedJobs, going: Sequence[Any]) -> None:
    by_id = {row.id: _ended(row) for row in going}
    stored_units.remember_removed(conn, {unit: by_id[job] for unit, job in named.units.items() if job in by_id})


def _ended(row: Any) -> RemovedJob:
    outcome = Outcome(row.outcome) if row.outcome else None
    return RemovedJob(row.id, row.task, Status(row.status), outcome, row.finished_at)


def _retried_ends(conn: Connection, ids: list[str]) -> list[tuple[str, str, int]]:
    """The ends that a retry has undone, as (job id, status, count): they are counted with the jobs that are removed."""
    query = (
        select(events.c.job_id, events.c.from_status, func.count())
        .where(events.c.job_id.in_(ids), events.c.name == "retried", events.c.from_status.in_(_FINAL))
        .group_by(events.c.job_id, events.c.from_status)
    )
    return [(row[0], row[1], row[2]) for row in conn.execute(query)]


def _totals(going: Sequence[Any], retried: Iterable[tuple[str, str, int]]) -> list[tuple[Any, ...]]:
    sums: dict[tuple[Any, ...], list[float]] = {}
    hours = {row.id: (row.finished_at.replace(minute=0, second=0, microsecond=0), row.task) for row in going}
    for job_id, status, number in retried:
        sums.setdefault((*hours[job_id], status), [0, 0.0, 0.0])[0] += number
    for row in going:
        one = sums.setdefault((*hours[row.id], row.status), [0, 0.0, 0.0])
        one[0] += 1
        if row.started_at is not None:
            one[1] += max((row.finished_at - row.started_at).total_seconds(), 0.0)
            one[2] += max((row.started_at - (row.run_at or row.created_at)).total_seconds(), 0.0)
    return [(*key, *values) for key, values in sorted(sums.items())]


# -- ledgers -----------------------------------------------------------------------------------------


class _Emptied(NamedTuple):
    ledgers: int
    more: bool


def _empty(store: Store, ledgers: set[str], pause: Callable[[], bool], pruned: Pruned) -> bool:
    """Remove what stands in these ledgers, some rows at a time, for one may have millions; True ends the pass.

    The jobs are gone by then. What a crash leaves is found by `_prune_superseded`.
    """
    emptied = store.write_beside(partial(_remove_rows, ledgers=ledgers)) if ledgers else _Emptied(0, more=False)
    pruned.ledgers += emptied.ledgers
    while emptied.more:
        if pause():
            return True
        emptied = store.write_beside(partial(_remove_rows, ledgers=ledgers))
    return False


def _remove_rows(conn: Connection, ledgers: set[str]) -> _Emptied:
    """Items and steps go when no job has this telling any more and no unfinished unit stands on it."""
    going = ledgers - _with_a_job(conn, ledgers)
    going -= _with_an_open_unit(conn, going) if going else set()
    left = ROWS
    for table in _LEDGERS:
        if going and left > 0:
            key = table.primary_key.columns
            some = select(*key).where(table.c.generation.in_(sorted(going))).limit(left)
            left -= conn.execute(delete(table).where(tuple_(*key).in_(some))).rowcount
    return _Emptied(len(going), left <= 0)


def _with_a_job(conn: Connection, ledgers: Iterable[str]) -> set[str]:
    wanted = list(ledgers)
    found = set(conn.execute(select(jobs.c.id).where(jobs.c.id.in_(wanted))).scalars())
    return found | set(conn.execute(select(jobs.c.generation).where(jobs.c.generation.in_(wanted))).scalars())


def _with_an_open_unit(conn: Connection, ledgers: Iterable[str]) -> set[str]:
    not_complete = or_(units.c.outcome.is_(None), units.c.outcome != Outcome.SUCCESS.value)
    query = select(units.c.generation).where(units.c.generation.in_(list(ledgers)), not_complete)
    return set(conn.execute(query).scalars())


def _prune_superseded(store: Store, edge: datetime, chunk: int, pause: Callable[[], bool], pruned: Pruned) -> bool:
    """Ledgers that outlived their jobs for the sake of a unit, which has been told anew meanwhile."""
    for table in _LEDGERS:
        after: str | None = FIRST_ID
        while after is not None:
            with store.read() as conn:
                found = _distinct(conn, table.c.generation, after, smallest_id(edge), chunk)
                alone = set(found) - _with_a_job(conn, found) if found else set()
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
        while gone and store.write_beside(partial(_remove_history, of=gone)) == ROWS:
            if pause():
                return True
        if after is not None and pause():
            return True
    return False


def _remove_history(conn: Connection, of: Sequence[str]) -> int:
    key = item_history.primary_key.columns
    some = select(*key).where(item_history.c.job_id.in_(of)).limit(ROWS)
    return conn.execute(delete(item_history).where(tuple_(*key).in_(some))).rowcount


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
