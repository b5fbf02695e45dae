"""What goes wrong: the jobs that stand with an error, by its fingerprint, and in which task it came when.

Everything here looks at jobs that were made since a moment. Groups are found through the index of fingerprints, so
that their number and not that of the jobs decides how long it takes; the matrix looks at the newest jobs only, and
says how many it looked at.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, func, or_, select, text, union_all
from sqlalchemy import text as sql

from jobtrail.database.tables import jobs
from jobtrail.database.types import Id
from jobtrail.store.search.search import OPEN, smallest_id, summary

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

KINDS = 5_000  # fingerprints that are looked at
COUNT_CAP = 10_000  # of each
NEWEST = 4_000  # jobs of the matrix
TASKS_LOOKED_AT = 20  # newest jobs of a kind
MOST_LINES = 20  # tasks, and kinds, that a matrix names
FAILING = ("failed", "partial", "interrupted")
LEFT_LOOKED_AT = 2_000  # newest jobs of a status
SUMMARY = 1600  # characters of an error, as it is stored


@dataclass(frozen=True, slots=True)
class Kind:
    """The jobs that stand with one error; ``number`` stops at `COUNT_CAP`, and ``more`` says so.

    tasks: of the newest of them. first_job, first_at: the first of all that are kept; last_job and what follows: the
    newest one. error: type and beginning of the message of its error.
    """

    fingerprint: str
    number: int
    more: bool
    tasks: tuple[str, ...]
    first_job: str
    first_at: datetime
    last_job: str
    last_at: datetime
    last_task: str
    last_source: str | None
    last_period: str | None
    last_status: str
    error: str | None


@dataclass(frozen=True, slots=True)
class Kinds:
    """Kinds of errors, the last seen first; ``all`` is how many there are, ``more`` where not every one was looked at."""

    kinds: list[Kind]
    all: int
    more: bool


# -- kinds -------------------------------------------------------------------------------------------

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
_newest = select(jobs.c.task).where(_of_kind).order_by(jobs.c.id.desc()).limit(TASKS_LOOKED_AT).subquery()
_TASKS = select(_newest.c.task).distinct().order_by(_newest.c.task)
_ROW = (
    jobs.c.id, jobs.c.task, jobs.c.source, jobs.c.period, jobs.c.status, jobs.c.created_at, jobs.c.finished_at,
    func.substr(jobs.c.error, 1, SUMMARY).label("error"),
)  # fmt: skip


def kinds(
    conn: Connection, since: datetime, *, limit: int = 50, cap: int = COUNT_CAP, only: str | None = None
) -> Kinds:
    """The kinds of errors with a job made since a moment, that of the newest job first; ``only`` one fingerprint."""
    edge = smallest_id(since)
    each = conn.execute(_EACH).all()
    found = sorted((row for row in each if row.last >= edge), key=lambda row: row.last, reverse=True)
    chosen = [row for row in found if only in (None, row.fingerprint)][:limit]
    rows = _rows(conn, {one for row in chosen for one in (row.first, row.last)})
    told = [_kind(conn, row, rows, edge, cap) for row in chosen if {row.first, row.last} <= rows.keys()]
    return Kinds(told, len(found), len(each) > KINDS)


def _kind(conn: Connection, found: Any, rows: dict[str, Any], edge: str, cap: int) -> Kind:
    wanted = {"fingerprint": found.fingerprint}
    number = conn.execute(_COUNT, {**wanted, "since": edge, "cap": cap + 1}).scalar_one()
    first, last = rows[found.first], rows[found.last]
    return Kind(
        fingerprint=found.fingerprint, number=min(number, cap), more=number > cap,
        tasks=tuple(conn.execute(_TASKS, wanted).scalars()), first_job=first.id, first_at=first.created_at,
        last_job=last.id, last_at=last.finished_at or last.created_at, last_task=last.task, last_source=last.source,
        last_period=last.period, last_status=last.status, error=summary(last.error),
    )  # fmt: skip


def _rows(conn: Connection, ids: Iterable[str]) -> dict[str, Any]:
    wanted = sorted(ids)
    return {row.id: row for row in conn.execute(select(*_ROW).where(jobs.c.id.in_(wanted)))} if wanted else {}


# -- the matrix --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cell:
    """So many jobs of a task failed with one error in one part of the time."""

    task: str
    fingerprint: str
    part: int
    number: int


@dataclass(frozen=True, slots=True)
class Matrix:
    """Task by error by time: ``parts`` begin at ``since`` and are ``seconds`` long each.

    looked_at: how many jobs were counted; ``more`` where there are older ones that were not. errors: for each
    fingerprint type and message of the newest job's error. left_out: jobs of tasks or kinds that are not named.
    """

    since: datetime
    seconds: float
    parts: int
    cells: list[Cell]
    errors: dict[str, str | None]
    looked_at: int
    more: bool
    left_out: int


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


def matrix(conn: Connection, since: datetime, now: datetime, *, parts: int = 24, newest: int = NEWEST) -> Matrix:
    """When which task failed with which error, from the newest jobs made since a moment; by the time of their end."""
    seconds = max((now - since).total_seconds(), 1.0) / parts
    rows = conn.execute(_FAILING, {"since": smallest_id(since), "newest": newest + 1}).all()
    rows = sorted(rows, key=lambda row: row.id, reverse=True)
    more, rows = len(rows) > newest, [row for row in rows[:newest] if row.fingerprint is not None]
    tasks = _most(row.task for row in rows)
    errors = _most(row.fingerprint for row in rows)
    counted = Counter(
        (row.task, row.fingerprint, _part(row.at, since, seconds, parts))
        for row in rows
        if row.task in tasks and row.fingerprint in errors
    )
    cells = [Cell(*place, number) for place, number in sorted(counted.items())]
    named = {fingerprint: next(row.id for row in rows if row.fingerprint == fingerprint) for fingerprint in errors}
    told = _rows(conn, named.values())
    texts = {fingerprint: summary(told[one].error) if one in told else None for fingerprint, one in named.items()}
    return Matrix(since, seconds, parts, cells, texts, len(rows), more, len(rows) - counted.total())


def _most(words: Iterable[str]) -> list[str]:
    return [word for word, _ in Counter(words).most_common(MOST_LINES)]


def _part(at: datetime, since: datetime, seconds: float, parts: int) -> int:
    return min(max(int((at - since) / timedelta(seconds=seconds)), 0), parts - 1)


# -- what is open ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Left:
    """A job that has ended badly, or whose worker died, and that nobody has taken up again."""

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
_newest_left = (
    select(
        jobs.c.id, jobs.c.task, jobs.c.source, jobs.c.period, jobs.c.status, jobs.c.fingerprint, _when,
        jobs.c.items_failed, jobs.c.attempt, jobs.c.max_attempts, jobs.c.note, jobs.c.unit,
        func.substr(jobs.c.error, 1, SUMMARY).label("error"),
    )
    .where(sql(OPEN), jobs.c.status == bindparam("status"), jobs.c.id >= bindparam("since", type_=Id))
    .order_by(jobs.c.id.desc())
    .limit(LEFT_LOOKED_AT)
    .subquery()
)  # fmt: skip
_again = jobs.alias("again")


def _taken_up(*how: Any) -> Any:
    return select(_again.c.id).where(*how, _again.c.status != "cancelled").exists()


_LEFT = (
    select(*(column for column in _newest_left.c if column.name != "unit"))
    .where(
        ~_taken_up(_again.c.rerun_of == _newest_left.c.id, _again.c.rerun_of.is_not(None)),
        or_(
            _newest_left.c.unit.is_(None),
            ~_taken_up(_again.c.unit == _newest_left.c.unit, _again.c.id > _newest_left.c.id),
        ),
    )
    .order_by(_newest_left.c.id.desc())
    .limit(bindparam("limit"))
)


def left(conn: Connection, since: datetime, *, statuses: Sequence[str] = FAILING, limit: int = 500) -> list[Left]:
    """Jobs made since a moment that failed, came in partly or were interrupted, and were not run again: newest of each status.

    The newest `LEFT_LOOKED_AT` of a status are looked at.
    """
    found: list[Left] = []
    for status in statuses:
        given = {"status": status, "since": smallest_id(since), "limit": limit}
        found += [Left(*row) for row in conn.execute(_LEFT, given)]
    return found
