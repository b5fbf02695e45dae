"""Errors by fingerprint: groups, a matrix of task by error by time, and jobs that nobody has run again.

Everything reads jobs created since a moment. Groups are found through the index of fingerprints, so the time depends
on the number of groups, not of jobs. The matrix reads the newest jobs only and reports how many.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta
from json import loads
from typing import TYPE_CHECKING, Any

from pydantic import Field
from sqlalchemy import bindparam, func, or_, select, text, union_all
from sqlalchemy import text as sql

from jobtrail.database.tables import jobs, workers
from jobtrail.database.types import Id
from jobtrail.errors import NotFound
from jobtrail.job.failure import HANDLINGS, MEND, UNHANDLED, error_state
from jobtrail.messages import Message
from jobtrail.queries.base import ID, CappedCount, MaskedText, Model
from jobtrail.store import events
from jobtrail.store.search.search import OPEN, smallest_id, summary

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Connection

KINDS = 5_000  # fingerprints that are looked at
COUNT_CAP = 10_000  # of each
NEWEST = 4_000  # jobs of the matrix
TASKS_LOOKED_AT = 20  # newest jobs of a kind, beside those of the matrix
RETURNED_LOOKED_AT = 1_000  # newest jobs of a kind
MOST_TASKS = 100  # that a group names
MOST_LINES = 20  # tasks, and kinds, that a matrix names
FAILING = ("failed", "partial", "interrupted")
UNRESOLVED_LOOKED_AT = 2_000  # newest jobs of a status
EVER = timedelta(days=100 * 366)
SUMMARY = 1600  # characters of an error, as it is stored


class ErrorHandling(Model):
    """What was last said of an error."""

    action: str = Field(description="acknowledge, mute, mend or reopen.")
    at: datetime
    actor: str
    reason: MaskedText | None
    until: datetime | None = Field(description="The end of a mute.")
    version: str | None = Field(description="In which it is said to be mended.")


class ErrorGroup(Model):
    """The jobs whose current error has one fingerprint; errors of one cause have the same fingerprint."""

    fingerprint: str = Field(examples=["9b1f0c6c2a34d5e8"], description="Find its jobs by error:FINGERPRINT.")
    error: MaskedText | None = Field(description="Type and beginning of the message, of the newest.")
    jobs: CappedCount
    tasks: list[str] = Field(description="Of the newest of them, the most frequent first; at most 100.")
    more_tasks: int = Field(description="How many tasks are known beside those.")
    first_job: str = Field(examples=[ID])
    first_at: datetime = Field(description="When the first job was made that is kept with it.")
    last_job: str = Field(examples=[ID])
    last_at: datetime = Field(description="When the newest job ended.")
    last_task: str
    last_source: MaskedText | None
    last_period: str | None
    last_status: str
    state: str = Field(description="open, acknowledged, muted, mended, or returned: mended, and a later run failed with it.")
    handling: ErrorHandling | None = Field(description="What was last said of it; null for nothing.")


class ErrorGroups(Model):
    """Groups of errors with a job created since then, the group of the newest job first."""

    kinds: list[ErrorGroup]
    all: int = Field(description="How many groups there are.")
    open: int = Field(description="How many of them are open or have returned.")
    more: bool = Field(description="There may be groups that were not read.")
    since: datetime
    now: datetime


class ErrorMatrixCell(Model):
    """How many jobs of a task failed with an error in a part of the time."""

    task: str
    fingerprint: str
    part: int
    jobs: int


class ErrorMatrix(Model):
    """Task by error by time, from the newest jobs; ``part`` n begins n × ``seconds`` after ``since``."""

    since: datetime
    seconds: float
    parts: int
    cells: list[ErrorMatrixCell]
    errors: dict[str, MaskedText | None] = Field(description="By fingerprint: type and message.")
    looked_at: int = Field(description="Jobs that were counted.")
    more: bool = Field(description="There are older ones since then that were not.")
    left_out: int = Field(description="Jobs of tasks and errors that are not among the 20 most frequent.")
    now: datetime


# -- groups ------------------------------------------------------------------------------------------

# One look into the index for each fingerprint, however many jobs have it.
_EACH = text(
    f"WITH RECURSIVE each(fingerprint, place) AS ("  # noqa: S608 - constants
    f"SELECT (SELECT min(fingerprint) FROM {jobs.name} WHERE fingerprint IS NOT NULL), 1 "
    f"UNION ALL SELECT (SELECT min(j.fingerprint) FROM {jobs.name} AS j WHERE j.fingerprint > each.fingerprint), place + 1 "
    f"FROM each WHERE each.fingerprint IS NOT NULL AND place <= {KINDS}) "
    f"SELECT each.fingerprint AS fingerprint, "
    f"(SELECT j.id FROM {jobs.name} AS j WHERE j.fingerprint = each.fingerprint ORDER BY j.id DESC LIMIT 1) AS last, "
    f"(SELECT j.id FROM {jobs.name} AS j WHERE j.fingerprint = each.fingerprint ORDER BY j.id LIMIT 1) AS first "
    f"FROM each WHERE each.fingerprint IS NOT NULL"
).columns(fingerprint=jobs.c.fingerprint.type, last=Id, first=Id)
_of_kind = jobs.c.fingerprint == bindparam("fingerprint")
_COUNT = select(func.count()).select_from(
    select(jobs.c.id).where(_of_kind, jobs.c.id >= bindparam("since")).limit(bindparam("cap")).subquery()
)
_newest = (
    select(jobs.c.task)
    .where(_of_kind, jobs.c.id >= bindparam("since"))
    .order_by(jobs.c.id.desc())
    .limit(TASKS_LOOKED_AT)
    .subquery()
)
_TASKS = select(_newest.c.task).distinct().order_by(_newest.c.task)
_lately = (
    select(jobs.c.started_at, jobs.c.worker).where(_of_kind).order_by(jobs.c.id.desc()).limit(RETURNED_LOOKED_AT).subquery()
)
_mended = bindparam("mended", type_=jobs.c.started_at.type)
_RETURNED = (
    select(_lately.c.started_at)
    .outerjoin(workers, workers.c.id == _lately.c.worker)
    .where(_lately.c.started_at > _mended, or_(workers.c.id.is_(None), workers.c.started_at > _mended))
    .limit(1)
)
_ROW = (
    jobs.c.id, jobs.c.task, jobs.c.source, jobs.c.period, jobs.c.status, jobs.c.created_at, jobs.c.finished_at,
    func.substr(jobs.c.error, 1, SUMMARY).label("error"),
)  # fmt: skip


def groups(
    conn: Connection,
    since: datetime,
    now: datetime,
    *,
    limit: int = 50,
    cap: int = COUNT_CAP,
    fingerprint: str | None = None,
    unhandled: bool = False,
) -> ErrorGroups:
    """Read the groups of errors that have a job created since a moment, the group of the newest job first.

    Args:
        conn: a connection for reading.
        since: jobs created before are not counted.
        now: the database's time, UTC.
        limit: how many groups to return.
        cap: where the count of a group's jobs stops.
        fingerprint: read this group only.
        unhandled: leave out groups that are acknowledged, muted or mended.
    """
    edge = smallest_id(since)
    each = conn.execute(_EACH).all()
    found = sorted((row for row in each if row.last >= edge), key=lambda row: row.last, reverse=True)
    handled = _handlings(conn, fingerprint)
    states = {row.fingerprint: _state(conn, row.fingerprint, handled.get(row.fingerprint), now) for row in found}
    wanted = [row for row in found if not unhandled or states[row.fingerprint] in UNHANDLED]
    chosen = [row for row in wanted if fingerprint in (None, row.fingerprint)][:limit]
    rows = _rows(conn, {one for row in chosen for one in (row.first, row.last)})
    tasks: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in _failing(conn, since, NEWEST)[0]:
        tasks[row.fingerprint][row.task] += 1
    read = [
        _group(conn, row, rows, edge, cap, tasks[row.fingerprint], states[row.fingerprint], handled.get(row.fingerprint))
        for row in chosen
        if {row.first, row.last} <= rows.keys()
    ]
    open_ = sum(state in UNHANDLED for state in states.values())
    return ErrorGroups(kinds=read, all=len(found), open=open_, more=len(each) > KINDS, since=since, now=now)


def group(conn: Connection, now: datetime, fingerprint: str) -> ErrorGroup:
    """Read one group of errors.

    Raises:
        NotFound: if no job has an error with this fingerprint.
    """
    found = groups(conn, now - EVER, now, fingerprint=fingerprint)
    if not found.kinds:
        raise NotFound(Message("queries.no-error-group", fingerprint=fingerprint))
    return found.kinds[0]


def _group(
    conn: Connection, found: Any, rows: dict[str, Any], edge: str, cap: int, failing: Counter[str], state: str,
    handling: ErrorHandling | None,
) -> ErrorGroup:  # fmt: skip
    wanted = {"fingerprint": found.fingerprint}
    number = conn.execute(_COUNT, {**wanted, "since": edge, "cap": cap + 1}).scalar_one()
    first, last = rows[found.first], rows[found.last]
    tasks = _most_of(failing, None)
    tasks += [task for task in conn.execute(_TASKS, {**wanted, "since": edge}).scalars() if task not in failing]
    return ErrorGroup(
        fingerprint=found.fingerprint, jobs=CappedCount(number=min(number, cap), more=number > cap),
        tasks=tasks[:MOST_TASKS], more_tasks=max(0, len(tasks) - MOST_TASKS), first_job=first.id, first_at=first.created_at,
        last_job=last.id, last_at=last.finished_at or last.created_at, last_task=last.task, last_source=last.source,
        last_period=last.period, last_status=last.status, error=summary(last.error),
        state=state, handling=handling,
    )  # fmt: skip


def _handlings(conn: Connection, fingerprint: str | None) -> dict[str, ErrorHandling]:
    actions = {name: action for action, name in HANDLINGS.items()}
    found = {}
    for target, row in events.newest_actions(conn, actions, target=fingerprint).items():
        detail = loads(row.detail) if row.detail else {}
        found[target] = ErrorHandling(
            action=actions[row.name], at=row.at, actor=row.actor, reason=row.reason, until=detail.get("until"),
            version=detail.get("version"),
        )  # fmt: skip
    return found


def _state(conn: Connection, fingerprint: str, handling: ErrorHandling | None, now: datetime) -> str:
    if handling is None:
        return error_state(None, now, until=None, returned=False)
    returned = handling.action == MEND and _has_returned(conn, fingerprint, handling.at)
    return error_state(handling.action, now, until=handling.until, returned=returned)


def _has_returned(conn: Connection, fingerprint: str, mended_at: datetime) -> bool:
    """Whether a run that began since has failed with it in a worker that was started since: older ones have the old code."""
    return conn.execute(_RETURNED, {"fingerprint": fingerprint, "mended": mended_at}).first() is not None


def _rows(conn: Connection, ids: Iterable[str]) -> dict[str, Any]:
    wanted = sorted(ids)
    return {row.id: row for row in conn.execute(select(*_ROW).where(jobs.c.id.in_(wanted)))} if wanted else {}


# -- the matrix --------------------------------------------------------------------------------------


_when = func.coalesce(jobs.c.finished_at, jobs.c.created_at).label("at")
# Each status by itself: so the newest of it are the end of its part of the index.
_FAILING = union_all(
    *(
        select(
            select(jobs.c.id, jobs.c.task, jobs.c.fingerprint, _when)
            .where(sql(OPEN), sql(f"status = '{status}'"), jobs.c.id >= bindparam("since", type_=Id))
            .order_by(jobs.c.id.desc())
            .limit(bindparam("newest"))
            .subquery()
        )
        for status in FAILING
    )
)


def matrix(conn: Connection, since: datetime, now: datetime, *, parts: int = 24, newest: int = NEWEST) -> ErrorMatrix:
    """Count which task failed with which error when, from the newest jobs created since a moment, by the time of their end."""
    seconds = max((now - since).total_seconds(), 1.0) / parts
    rows, more = _failing(conn, since, newest)
    tasks = _most(row.task for row in rows)
    errors = _most(row.fingerprint for row in rows)
    counted = Counter(
        (row.task, row.fingerprint, _part(row.at, since, seconds, parts))
        for row in rows
        if row.task in tasks and row.fingerprint in errors
    )
    cells = [
        ErrorMatrixCell(task=task, fingerprint=fingerprint, part=part, jobs=number)
        for (task, fingerprint, part), number in sorted(counted.items())
    ]
    named = {fingerprint: next(row.id for row in rows if row.fingerprint == fingerprint) for fingerprint in errors}
    told = _rows(conn, named.values())
    texts = {fingerprint: summary(told[one].error) if one in told else None for fingerprint, one in named.items()}
    return ErrorMatrix(
        since=since, seconds=seconds, parts=parts, cells=cells, errors=texts, looked_at=len(rows), more=more,
        left_out=len(rows) - counted.total(), now=now,
    )  # fmt: skip


def of_task(conn: Connection, task: str, since: datetime, *, limit: int) -> list[tuple[str, str | None, int]]:
    """The most frequent errors of a task, as the matrix counts them: (fingerprint, type and message, jobs)."""
    rows = [row for row in _failing(conn, since, NEWEST)[0] if row.task == task]
    newest = {row.fingerprint: row.id for row in reversed(rows)}
    told = _rows(conn, newest.values())
    return [
        (fingerprint, summary(told[newest[fingerprint]].error) if newest[fingerprint] in told else None, number)
        for fingerprint, number in Counter(row.fingerprint for row in rows).most_common(limit)
    ]


def _failing(conn: Connection, since: datetime, newest: int) -> tuple[list[Any], bool]:
    """The newest jobs that stand in a failing status with an error, and whether there are older ones."""
    rows = conn.execute(_FAILING, {"since": smallest_id(since), "newest": newest + 1}).all()
    rows = sorted(rows, key=lambda row: row.id, reverse=True)
    return [row for row in rows[:newest] if row.fingerprint is not None], len(rows) > newest


def _most(words: Iterable[str]) -> list[str]:
    return _most_of(Counter(words), MOST_LINES)


def _most_of(counted: Counter[str], most: int | None) -> list[str]:
    return [word for word, _ in counted.most_common(most)]


def _part(at: datetime, since: datetime, seconds: float, parts: int) -> int:
    return min(max(int((at - since) / timedelta(seconds=seconds)), 0), parts - 1)


# -- what is open ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class UnresolvedJob:
    """A job that failed, was partial or was interrupted, and that nobody has run again."""

    id: str
    task: str
    source: str | None
    period: str | None
    status: str
    fingerprint: str | None
    at: datetime
    items_failed: int | None
    attempt: int
    max_attempts: int | None
    note: str | None
    stored_error: str | None

    @property
    def error(self) -> str | None:
        """Type and beginning of the message of its error."""
        return summary(self.stored_error)


# The newest are looked at first and asked then: whoever has run all of them again must not wait for all to be asked.
_newest_unresolved = (
    select(
        jobs.c.id, jobs.c.task, jobs.c.source, jobs.c.period, jobs.c.status, jobs.c.fingerprint, _when,
        jobs.c.items_failed, jobs.c.attempt, jobs.c.max_attempts, jobs.c.note, jobs.c.unit,
        func.substr(jobs.c.error, 1, SUMMARY).label("error"),
    )
    .where(sql(OPEN), jobs.c.status == bindparam("status"), jobs.c.id >= bindparam("since", type_=Id))
    .order_by(jobs.c.id.desc())
    .limit(UNRESOLVED_LOOKED_AT)
    .subquery()
)  # fmt: skip
_again = jobs.alias("again")


def _taken_up(*how: Any) -> Any:
    return select(_again.c.id).where(*how, _again.c.status != "cancelled").exists()


_UNRESOLVED = (
    select(*(column for column in _newest_unresolved.c if column.name != "unit"))
    .where(
        ~_taken_up(_again.c.rerun_of == _newest_unresolved.c.id, _again.c.rerun_of.is_not(None)),
        or_(
            _newest_unresolved.c.unit.is_(None),
            ~_taken_up(_again.c.unit == _newest_unresolved.c.unit, _again.c.id > _newest_unresolved.c.id),
        ),
    )
    .order_by(_newest_unresolved.c.id.desc())
    .limit(bindparam("limit"))
)


def unresolved(conn: Connection, since: datetime, *, statuses: Sequence[str] = FAILING, limit: int = 500) -> list[UnresolvedJob]:
    """Jobs made since a moment that failed, came in partly or were interrupted, and were not run again: newest of each status.

    The newest `UNRESOLVED_LOOKED_AT` of a status are looked at.
    """
    found: list[UnresolvedJob] = []
    for status in statuses:
        given = {"status": status, "since": smallest_id(since), "limit": limit}
        found += [UnresolvedJob(*row) for row in conn.execute(_UNRESOLVED, given)]
    return found
