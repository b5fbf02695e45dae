"""Jobs: claimed, moved, read. After its submission the only place where a job's row changes."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from sqlalchemy import Text, bindparam, cast, or_, select, text, update

from jobtrail.database.dialects import CLAIMED, PRIORITIES, Mark
from jobtrail.database.tables import DUE, jobs, workers
from jobtrail.errors import NotFound
from jobtrail.job.model import ACTIVE, WAITING_FOR_A_PERSON, Claim, JobRow, Outcome, Status
from jobtrail.job.task import OWN_TASKS
from jobtrail.messages import Message

from . import events, questions, successors, units
from .totals import ends
from .workers import ALIVE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.database.dialects import Dialect
    from jobtrail.job.transitions import Move

# The conditions of partial indexes, as the indexes have them: SQLite sees no implication in bound values.
HELD = text("jobtrail_jobs.status IN ('running', 'cancelling')")
SUSPECT = text("jobtrail_jobs.suspect AND jobtrail_jobs.status IN ('pending', 'running', 'cancelling')")
BODY = text("jobtrail_jobs.body_running")
_by_id = cast(jobs.c.id, Text)  # an expression, or SQLite would read the whole table in the order of its key
_ROW = tuple(f.name for f in fields(JobRow))


# -- claim and moves ---------------------------------------------------------------------------------


class Marks:
    """Low-water marks of the claim, one for each priority: what lies below was handed out already.

    Dead rows at the front of the index then cost nothing; a full look each second finds what was
    committed late behind a mark.
    """

    def __init__(self, full_look_every: float = 1.0) -> None:
        self.every = full_look_every
        self._marks: dict[str, list[Mark | None]] = {}
        self._looked: dict[str, float] = {}

    def of(self, queue: str, monotonic: float) -> list[Mark | None]:
        """The marks to claim with now."""
        if monotonic - self._looked.get(queue, float("-inf")) >= self.every:
            self._looked[queue] = monotonic
            self._marks[queue] = [None] * 10
        return self._marks[queue]

    def advance(self, queue: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Take over what a claim returned."""
        marks = self._marks[queue]
        for row in rows:
            marks[row[-2]] = (row[-1], str(row[0]))


def claim(
    conn: Connection,
    dialect: Dialect,
    queue: str,
    limit: int,
    worker: str,
    now: datetime,
    marks: Marks | None = None,
    monotonic: float = 0.0,
    without: Sequence[str] = (),
) -> list[Claim]:
    """Hand out up to ``limit`` due jobs of a queue, ``without`` those of some tasks: most urgent first, then oldest due."""
    places: list[Mark | None] = marks.of(queue, monotonic) if marks else [None] * 10
    rows = dialect.claim(conn, queue, limit, worker, now, places, without)
    if marks:
        marks.advance(queue, rows)
    return [Claim(*(*row[: len(CLAIMED)], now, row[-1])) for row in rows]


def apply(
    conn: Connection,
    dialect: Dialect,
    moves: Sequence[Move],
    now: datetime,
    *,
    ledgers: Mapping[str, tuple[str, tuple[int, int, int] | None]] | None = None,
    wake: Callable[..., None] | None = None,
) -> list[Move]:
    """Write moves, each with its trail and what follows for its unit, in the caller's transaction.

    ``ledgers`` gives, by job id, the generation and the combined item counts of runs that ended; ``wake`` is
    called where this made other jobs due. Returns the
    moves that moved nothing, because the row is in another state or under a newer run: that is an answer,
    and it is put into the trail.
    """
    groups: dict[tuple[Any, ...], list[Move]] = defaultdict(list)
    for move in moves:
        groups[move.name, move.leaves, move.to, tuple(move.values), move.frees_unit].append(move)
    lines: list[tuple[Any, ...]] = []
    refused: list[Move] = []
    ended: list[Move] = []
    done: list[Move] = []
    followed: set[str] = set()
    undone = _ends_undone(conn, moves)
    for (_, leaves, to, columns, frees), group in groups.items():
        names = (*columns, "unit_lock") if frees else columns
        tail = (None,) if frees else ()
        rows = sorted(((move.job_id, move.run_no, *move.values.values(), *tail) for move in group), key=_first)
        moved = dialect.move_jobs(conn, names, leaves, to, rows)
        if len(moved.ids) != len(group):
            refused += [move for move in group if move.job_id not in moved.ids]
        followed |= moved.followed
        for move in group:
            if move.job_id in moved.ids:
                done.append(move)
                left = _left(leaves, stopping=move.job_id in moved.stopping)
                if events.has_line(move, left):
                    lines.append(events.row_of(move, now, left))
                if move.unit is not None and (frees or move.settles):
                    ended.append(move)
    lines += [events.row_of(move, now, move.leaves[0], name="refused") for move in refused]
    for move in sorted(ended, key=_unit):
        lines += _after_end(conn, move, now, ledgers or {})
    events.append(conn, dialect, lines)
    _count_ends(conn, done, undone)
    _what_follows(conn, dialect, done, followed, now, wake)
    return refused


def _ends_undone(conn: Connection, moves: Sequence[Move]) -> list[ends.End]:
    """The ends that a retry is about to take back."""
    ids = [move.job_id for move in moves if move.name == "retried"]
    return ends.ended(conn, ids, lock=True) if ids else []


def _count_ends(conn: Connection, done: Sequence[Move], undone: Sequence[ends.End]) -> None:
    settled = [move for move in done if move.settles]
    if settled:
        ends.count_moves(conn, settled)
    if undone:
        again = {move.job_id for move in done if move.name == "retried"}
        ends.count(conn, (end for end in undone if end.id in again), -1)


def _left(leaves: tuple[Status, ...], *, stopping: bool) -> Status:
    """The state that a row has left; of running and cancelling the row itself tells which."""
    if len(leaves) == 1:
        return leaves[0]
    return Status.CANCELLING if stopping else Status.RUNNING


def _what_follows(
    conn: Connection,
    dialect: Dialect,
    done: Sequence[Move],
    followed: set[str],
    now: datetime,
    wake: Callable[..., None] | None,
) -> None:
    """Questions and successors of moves that were written."""
    asking = [move for move in done if move.asks is not None]
    if asking:
        questions.ask(conn, dialect, asking, now)
    for move in done:
        if move.name == "cancelled" and move.leaves[0] in WAITING_FOR_A_PERSON:
            questions.close_of_jobs(conn, [move.job_id], now, actor=move.actor, reason=move.reason or "cancelled")
    settled = [move for move in done if move.settles and (move.follow or move.job_id in followed)]
    if settled:
        successors.after_ends(conn, dialect, settled, followed, now, wake)
        if wake_parents(conn, [move.job_id for move in settled], now) and wake is not None:
            wake()
    again = [move.job_id for move in done if move.name == "retried" and move.job_id in followed]
    if again:
        successors.reopen(conn, again)


def _after_end(
    conn: Connection, move: Move, now: datetime, ledgers: Mapping[str, tuple[str, tuple[int, int, int] | None]]
) -> list[tuple[Any, ...]]:
    generation, counts = ledgers.get(move.job_id, (move.job_id, None))
    if move.settles and move.to is not Status.CANCELLED and move.unit is not None:
        broke = move.to is Status.FAILED and generation != move.job_id and counts is None
        units.settle(
            conn,
            move.unit,
            generation=generation,
            outcome=Outcome(move.values["outcome"]),
            job_id=move.job_id,
            counts=counts,
            now=now,
            keep_outcome=broke,
        )
    return _release(conn, move.job_id, now) if move.frees_unit else []


def _release(conn: Connection, ended: str, now: datetime) -> list[tuple[Any, ...]]:
    """Whoever waits behind the ended job takes the unit over and is due."""
    waiting = conn.execute(
        select(jobs.c.id, jobs.c.run_no).where(jobs.c.waits_for == ended, jobs.c.status == "pending")
    ).first()
    if waiting is None:
        return []
    conn.execute(
        update(jobs)
        .where(jobs.c.id == waiting.id, jobs.c.status == "pending", jobs.c.waits_for == ended)
        .values(unit_lock=jobs.c.unit, waits_for=None, run_at=now)
    )
    return [events.note(waiting.id, now, "released", run_no=waiting.run_no, actor="upkeep", detail={"after": ended})]


def _first(row: tuple[Any, ...]) -> Any:
    return row[0]


def _unit(move: Move) -> str:
    return move.unit or ""


# -- reading -----------------------------------------------------------------------------------------


_GET = select(*(jobs.c[name] for name in _ROW)).where(jobs.c.id == bindparam("id"))
_GET_LOCKED = _GET.with_for_update()
_RERUNS = select(*(jobs.c[name] for name in _ROW)).where(jobs.c.rerun_of == bindparam("id")).order_by(jobs.c.id)
_NEWEST_OF_UNIT = select(jobs.c.id).where(jobs.c.unit == bindparam("unit")).order_by(jobs.c.id.desc()).limit(1)
_ACTIVE_OF_UNIT = select(jobs.c.id).where(jobs.c.unit_lock == bindparam("unit"))
_ACTIVE_OF_GENERATION = (
    select(jobs.c.id)
    .where(jobs.c.generation == bindparam("generation"), jobs.c.status.in_(sorted(ACTIVE)))
    .limit(1)
)


def get(conn: Connection, job_id: str, *, lock: bool = False) -> JobRow | None:
    """One job by its whole id; ``lock`` holds its row until the end of the transaction."""
    row = conn.execute(_GET_LOCKED if lock and conn.dialect.name == "postgresql" else _GET, {"id": job_id}).first()
    return None if row is None else read(row)


def read(row: Any) -> JobRow:
    """A job from a row of all its columns."""
    values = {name: getattr(row, name) for name in _ROW}
    values["status"] = Status(values["status"])
    values["outcome"] = Outcome(values["outcome"]) if values["outcome"] else None
    return JobRow(**values)


def set_values(conn: Connection, job_id: str, values: Mapping[str, Any]) -> None:
    """Set columns of a job that its state does not depend on; the caller holds its row."""
    conn.execute(update(jobs).where(jobs.c.id == job_id).values(**values))


def columns() -> list[Any]:
    """What `read` wants to be selected."""
    return [jobs.c[name] for name in _ROW]


def newest_of_unit(conn: Connection, unit: str) -> str | None:
    """The id of the unit's newest job."""
    newest: str | None = conn.execute(_NEWEST_OF_UNIT, {"unit": unit}).scalar()
    return newest


def active_of_unit(conn: Connection, unit: str) -> str | None:
    """The id of the job that holds the unit."""
    active: str | None = conn.execute(_ACTIVE_OF_UNIT, {"unit": unit}).scalar()
    return active


def active_of_generation(conn: Connection, generation: str) -> str | None:
    """The id of an active job that writes into a telling."""
    active: str | None = conn.execute(_ACTIVE_OF_GENERATION, {"generation": generation}).scalar()
    return active


def reruns_of(conn: Connection, job_id: str) -> list[JobRow]:
    """The jobs that re-run this one, oldest first."""
    return [read(row) for row in conn.execute(_RERUNS, {"id": job_id})]


def waiting_children(conn: Connection, parent: str) -> list[JobRow]:
    """The jobs that this one has submitted and that wait to be run, locked until the commit; oldest first."""
    query = select(*columns()).where(jobs.c.parent == parent, jobs.c.status == "pending").order_by(jobs.c.id)
    if conn.dialect.name == "postgresql":
        query = query.with_for_update()
    return [read(row) for row in conn.execute(query)]


def wake_parents(conn: Connection, ended: Sequence[str], now: datetime) -> bool:
    """One of jobtrail's own jobs that sleeps until its children have ended is due now: a hint, it would look by itself."""
    parents = select(jobs.c.parent).where(jobs.c.id.in_(ended), jobs.c.parent.is_not(None))
    asleep = select(jobs.c.id).where(
        jobs.c.id.in_(parents), jobs.c.status == "pending", jobs.c.run_at > now, jobs.c.task.startswith(OWN_TASKS)
    )
    if conn.dialect.name == "postgresql":
        asleep = asleep.with_for_update(skip_locked=True)
    found = conn.execute(asleep).scalars().all()
    if found:
        conn.execute(update(jobs).where(jobs.c.id.in_(found), jobs.c.status == "pending").values(run_at=now))
    return bool(found)


def ending_with(conn: Connection, ending: str, *, limit: int = 3) -> list[str]:
    """Ids that end with these characters: the newest 20,000 jobs are looked at first, then all."""
    text = ending.lower()
    newest = select(jobs.c.id).order_by(jobs.c.id.desc()).limit(20_000).subquery()
    for source in (newest.c.id, jobs.c.id):
        like = cast(source, Text).like(f"%{_escaped(text)}", escape="\\")
        found = conn.execute(select(source).where(like).limit(limit)).scalars().all()
        if found:
            return [str(one) for one in found]
    return []


def resolve(conn: Connection, job_id: str) -> JobRow:
    """The job with this id, or the only one whose id ends with these characters.

    Raises:
        NotFound: if there is none, or if several ids end so.
    """
    row, found = None, []
    if _ID_PART.fullmatch(job_id):
        row = get(conn, job_id.lower()) if _ID.fullmatch(job_id) else None
        found = ending_with(conn, job_id) if row is None else []
        if len(found) > 1:
            raise NotFound(Message("commands.several-jobs", id=job_id, found=", ".join(found)))
    row = get(conn, found[0]) if found else row
    if row is None:
        raise NotFound(Message("commands.no-job-ending", id=job_id[:50]))
    return row


def get_many(conn: Connection, job_ids: Sequence[str]) -> dict[str, JobRow]:
    """The jobs with these ids that exist, by id; one statement."""
    rows = conn.execute(select(*columns()).where(jobs.c.id.in_(list(job_ids)))) if job_ids else ()
    return {row.id: read(row) for row in rows}


_ID_PART = re.compile(r"[0-9a-fA-F-]{1,36}")
_ID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def something_waits(conn: Connection, queues: Sequence[str], due_by: datetime | None = None) -> bool:
    """Does a job wait in one of these queues for its time, or, with ``due_by``, is one without limits due by then?"""
    query = select(jobs.c.id).where(
        jobs.c.status == "pending",
        jobs.c.run_at.is_not(None),
        jobs.c.executor.is_(None),
        jobs.c.queue.in_(list(queues)),
    )
    if due_by is not None:
        query = query.where(jobs.c.run_at <= due_by, jobs.c.limits.is_(None))
    return conn.execute(query.limit(1)).first() is not None


# One index look for each priority, however many jobs wait for later.
_FIRST = "SELECT run_at FROM {table} WHERE {due} AND queue = :queue AND priority = {priority} ORDER BY run_at LIMIT 1"
_FIRSTS = [_FIRST.format(table=jobs.name, due=DUE, priority=priority) for priority in PRIORITIES]
_EACH = " UNION ALL ".join(f"SELECT * FROM ({first}) AS p{place}" for place, first in enumerate(_FIRSTS))  # noqa: S608
_NEXT_DUE = text(f"SELECT min(run_at) AS run_at FROM ({_EACH}) AS found").columns(run_at=jobs.c.run_at.type)  # noqa: S608


def next_due(conn: Connection, queues: Sequence[str]) -> datetime | None:
    """When the next waiting job of these queues is due (perhaps already); None where none waits for a time."""
    found = [conn.execute(_NEXT_DUE, {"queue": queue}).scalar() for queue in queues]
    return min((moment for moment in found if moment is not None), default=None)


def asked_to_stop(conn: Connection, worker: str) -> list[tuple[str, int, str | None]]:
    """(id, run_no, cause) of a worker's jobs that somebody asked to stop."""
    found = conn.execute(
        select(jobs.c.id, jobs.c.run_no, jobs.c.stop_cause).where(
            jobs.c.worker == worker, jobs.c.status == "cancelling", HELD
        )
    )
    return [(row.id, row.run_no, row.stop_cause) for row in found]


def lost(conn: Connection, *, after: str | None = None, limit: int = 200) -> list[JobRow]:
    """Running jobs whose worker is known to be dead, has ended, or is nobody's, in pages by id."""
    alive = select(workers.c.id).where(workers.c.state.in_(ALIVE))
    query = select(*columns()).where(HELD, or_(jobs.c.worker.is_(None), jobs.c.worker.not_in(alive)))
    if after is not None:
        query = query.where(_by_id > after)
    return [read(row) for row in conn.execute(query.order_by(_by_id).limit(limit))]


def left_interrupted(conn: Connection, *, after: str | None = None, limit: int = 200) -> list[JobRow]:
    """Jobs in the state interrupted because their worker died, in pages by id; not those held at its shutdown."""
    query = select(*columns()).where(jobs.c.status == "interrupted", jobs.c.suspect)
    if after is not None:
        query = query.where(jobs.c.id > after)
    return [read(row) for row in conn.execute(query.order_by(jobs.c.id).limit(limit))]


def over_their_stop(conn: Connection, now: datetime, *, limit: int = 200) -> list[JobRow]:
    """Jobs that were asked to stop and have not, by their time."""
    query = select(*columns()).where(jobs.c.status == "cancelling", HELD, jobs.c.stop_at <= now)
    return [read(row) for row in conn.execute(query.order_by(_by_id).limit(limit))]


SUSPECTS = 20  # that a worker looks through for one whose limits allow it


def claim_suspect(
    conn: Connection,
    dialect: Dialect,
    queues: Sequence[str],
    worker: str,
    now: datetime,
    admits: Callable[[str], bool] | None = None,
) -> list[Claim]:
    """Hand out one suspect, if any is due; the caller has no other suspect in his process.

    ``admits`` takes the places of a suspect with limits, if it may start.
    """
    due = (
        select(jobs.c.id, jobs.c.limits)
        .where(
            SUSPECT,
            jobs.c.status == "pending",
            jobs.c.queue.in_(list(queues)),
            jobs.c.run_at <= now,
            jobs.c.executor.is_(None),
        )
        .order_by(jobs.c.run_at)
        .limit(SUSPECTS)
    )
    if dialect.name == "postgresql":
        due = due.with_for_update(skip_locked=True)
    refused: set[str] = set()
    for row in conn.execute(due).all():
        if row.limits is None or (row.limits not in refused and (admits is None or admits(row.limits))):
            return claim_one(conn, row.id, worker, now)
        refused.add(row.limits)
    return []


def claim_one(conn: Connection, job_id: str, worker: str, now: datetime) -> list[Claim]:
    """Hand out this job if it is pending."""
    changed = conn.execute(
        update(jobs)
        .where(jobs.c.id == job_id, jobs.c.status == "pending")
        .values(
            status="running",
            run_no=jobs.c.run_no + 1,
            attempt=jobs.c.attempt + 1,
            worker=worker,
            started_at=now,
        )
    ).rowcount
    if changed != 1:
        return []
    row = conn.execute(select(*(jobs.c[name] for name in CLAIMED)).where(jobs.c.id == job_id)).one()
    return [Claim(*(*row, now))]


def held_by(conn: Connection, worker: str) -> list[tuple[str, int]]:
    """(id, run_no) of the jobs that the store believes to run on a worker."""
    found = conn.execute(select(jobs.c.id, jobs.c.run_no).where(jobs.c.worker == worker, HELD))
    return [(row.id, row.run_no) for row in found]


def lost_by_worker(conn: Connection) -> dict[str | None, list[tuple[str, bool]]]:
    """(id, suspect) of all that `lost` pages through, by worker: who ran beside whom when it died."""
    alive = select(workers.c.id).where(workers.c.state.in_(ALIVE))
    query = select(jobs.c.worker, jobs.c.id, jobs.c.suspect).where(
        or_(HELD, BODY), or_(jobs.c.worker.is_(None), jobs.c.worker.not_in(alive))
    )
    found: dict[str | None, list[tuple[str, bool]]] = defaultdict(list)
    for row in conn.execute(query):
        found[row.worker].append((row.id, row.suspect))
    return found


def bodies_gone(conn: Connection, *, limit: int = 200) -> list[JobRow]:
    """Jobs with a forced end whose body was still running when its worker ended."""
    alive = select(workers.c.id).where(workers.c.state.in_(ALIVE))
    query = select(*columns()).where(BODY, or_(jobs.c.worker.is_(None), jobs.c.worker.not_in(alive)))
    return [read(row) for row in conn.execute(query.order_by(_by_id).limit(limit))]
