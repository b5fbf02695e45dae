"""What follows the end of jobs: successors and groups, written in the transaction of the end."""

from __future__ import annotations

from collections import defaultdict
from json import dumps, loads
from typing import TYPE_CHECKING, Any

from sqlalchemy import Text, cast, delete, exists, func, insert, select, update

from jobtrail.database.tables import group_members, groups, jobs, releases, successors
from jobtrail.database.wakeup import RELEASE
from jobtrail.job.model import ACTIVE, FINAL, Outcome, Status, new_id
from jobtrail.job.successor import Successor, outcome_of_group, shown_ends
from jobtrail.messages import Message

from . import events, submissions
from .submissions import WAITING, Rules, declare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.database.dialects import Dialect
    from jobtrail.job.model import NewJob
    from jobtrail.job.transitions import Move

SUBMITTED, SKIPPED, REFUSED = "submitted", "skipped", "refused"
CHUNK = 200  # successors that come in one transaction
_ACTIVE = [status.value for status in ACTIVE]


# -- declared before the end ---------------------------------------------------------------------------


def follow_existing(conn: Connection, job_id: str) -> Status | None:
    """Somebody waits for the end of this job from now on; None where it is active, else the state that it ended in.

    Its row is locked until the caller's commit, so its end comes before this or sees it.
    """
    mine = update(jobs).where(jobs.c.id == job_id, jobs.c.status.in_(_ACTIVE)).values(followed=True)
    if conn.execute(mine).rowcount == 1:
        return None
    status = conn.execute(select(jobs.c.status).where(jobs.c.id == job_id)).scalar_one()
    conn.execute(update(jobs).where(jobs.c.id == job_id).values(followed=True))  # a retry lets it end again
    return Status(status)


def attach(
    conn: Connection, dialect: Dialect, job_id: str, following: Sequence[Successor], now: datetime
) -> list[dict[str, Any]]:
    """Declare successors of a job that is stored already; those whose end has been come at once.

    One that was declared for this job before (the same in everything but its id) is not declared again. Returns what
    became of each, as `of_job` tells it.
    """
    ended = follow_existing(conn, job_id)
    there = {_likeness(one["successor"]): one["id"] for one in of_job(conn, job_id)}
    new = [one for one in following if _likeness(one) not in there]
    declare(conn, dialect, new, now, after=job_id)
    if ended in FINAL:
        mine = {one.id for one in new}
        _End(conn, dialect, now).of_job(job_id, ended, [row for row in _waiting_for(conn, [job_id]) if row.id in mine])
    ids = {one.id for one in new} | {there[_likeness(one)] for one in following if _likeness(one) in there}
    return [one for one in of_job(conn, job_id) if one["id"] in ids]


def _likeness(successor: Successor) -> str:
    plain = {**successor.to_plain(), "id": "", "run": None}
    plain["next"] = [_likeness(one) for one in successor.next]
    return dumps(plain, sort_keys=True)


# -- at the end ----------------------------------------------------------------------------------------


def after_ends(
    conn: Connection,
    dialect: Dialect,
    ended: Sequence[Move],
    followed: set[str],
    now: datetime,
    wake: Callable[..., None] | None = None,
) -> None:
    """All that comes after these moves, which have just been written and end their jobs.

    Where that are over `CHUNK` successors more than ends, they are left to `release`.
    """
    end = _End(conn, dialect, now)
    for move in ended:
        if move.follow:
            declared = [Successor.from_plain(one) for one in move.follow]
            declare(conn, dialect, _not_come(conn, move, declared), now, after=move.job_id)
    wanted = sorted({move.job_id for move in ended if move.follow or move.job_id in followed})
    rows = defaultdict(list)
    states = {move.job_id: move.to for move in ended}
    most = CHUNK + len(wanted)
    found = _waiting_for(conn, wanted, limit=most + 1)
    if len(found) > most:
        _leave_to_release(conn, dialect, states, wanted)
        found = []
        if wake is not None:
            wake(RELEASE)
    for row in found:
        rows[row.after].append(row)
    came = sum(end.of_job(job_id, states[job_id], rows[job_id]) for job_id in wanted if rows[job_id])
    came += end.of_groups({job_id: states[job_id] for job_id in wanted if job_id in followed})
    if came and wake is not None:
        wake()


def _leave_to_release(conn: Connection, dialect: Dialect, states: Mapping[str, Status], job_ids: Sequence[str]) -> None:
    mine = (successors.c.after.in_(list(job_ids)), successors.c.state.in_((WAITING, SKIPPED)))
    ended = sorted(conn.execute(select(successors.c.after).where(*mine).distinct()).scalars())
    rows = [(new_id(), job_id, states[job_id].value) for job_id in ended]
    dialect.insert_many(conn, releases, ("id", "after", "status"), rows)


def are_left_to_release(conn: Connection) -> bool:
    """Whether an end has left successors to `release`."""
    return conn.execute(select(releases.c.id).limit(1)).first() is not None


def release(conn: Connection, dialect: Dialect, now: datetime, wake: Callable[[], None]) -> bool:
    """Let the next `CHUNK` successors of the oldest ends come that left them for later; any process may.

    A job that was retried meanwhile may have ended again: its earlier end comes first.

    Returns:
        False where nothing is left, or other processes are at it.
    """
    earlier = releases.alias()
    first_of_job = ~exists().where(earlier.c.after == releases.c.after, earlier.c.id < releases.c.id)
    oldest = select(releases).where(first_of_job).order_by(releases.c.id).limit(CHUNK)
    if conn.dialect.name == "postgresql":
        oldest = oldest.with_for_update(skip_locked=True, of=releases)
    end, left, over = _End(conn, dialect, now), CHUNK, []
    for row in conn.execute(oldest).all():
        found = _waiting_for(conn, [row.after], passed=row.passed, limit=left)
        if found and end.of_job(row.after, Status(row.status), found):
            wake()
        if len(found) == left:
            conn.execute(update(releases).where(releases.c.id == row.id).values(passed=found[-1].id))
            left = 0
            break
        over.append(row.id)
        left -= len(found)
    if over:
        conn.execute(delete(releases).where(releases.c.id.in_(over)))
    return bool(over) or not left


def _not_come(conn: Connection, move: Move, declared: list[Successor]) -> list[Successor]:
    """Without those that an earlier run named and that came then: a job that is retried ends again."""
    if move.run_no == 1:
        return declared
    there = [one for one in of_job(conn, move.job_id) if one["state"] == SUBMITTED and one["successor"].run is not None]
    came = {_likeness(one["successor"]) for one in there}
    return [one for one in declared if _likeness(one) not in came]


def reopen(conn: Connection, job_ids: Iterable[str]) -> None:
    """Members of unfinished groups run again: the groups wait for them anew."""
    unfinished = select(groups.c.id).where(groups.c.finished_at.is_(None))
    mine = (group_members.c.job_id.in_(list(job_ids)), group_members.c.group_id.in_(unfinished))
    conn.execute(update(group_members).where(*mine).values(status=None))


def _waiting_for(
    conn: Connection, job_ids: Sequence[str], *, passed: str | None = None, limit: int | None = None
) -> Sequence[Any]:
    """Skipped ones too: a job that was retried may end as they want.

    Not those that an earlier run has named: this run has said what follows it.
    """
    if not job_ids:
        return []
    query = select(successors).where(successors.c.after.in_(list(job_ids)), successors.c.state.in_((WAITING, SKIPPED)))
    if passed is not None:
        query = query.where(successors.c.id > passed)
    if conn.dialect.name == "postgresql":
        query = query.with_for_update()
    found = conn.execute(query.order_by(successors.c.id).limit(limit)).all()
    return [row for row in found if row.state == WAITING or Successor.from_json(row.template).run is None]


class _End:
    """The ends that are written in one transaction."""

    def __init__(self, conn: Connection, dialect: Dialect, now: datetime) -> None:
        self._conn = conn
        self._dialect = dialect
        self._now = now
        self._plain: dict[tuple[str, ...], list[tuple[Successor, NewJob]]] = defaultdict(list)

    def of_job(self, job_id: str, status: Status, rows: Sequence[Any]) -> int:
        """How many successors came."""
        row = self._conn.execute(
            select(jobs.c.task, jobs.c.root, jobs.c.result, jobs.c.run_no).where(jobs.c.id == job_id)
        ).one()
        lines = []
        for one in rows:
            following = Successor.from_json(one.template)
            if not following.comes_after(status):
                why_not = Message("store.job-is", task=row.task, job=job_id, status=status)
                lines.append(self._skipped(one, following, why_not))
                continue
            why = Message("store.follows", task=row.task, status=status, job=job_id).stored
            new = following.job(self._now, parent=job_id, root=row.root or job_id, why=why, result=row.result)
            lines.append(self._submit(following, new))
        self._write_plain()
        came: int = sum(line["state"] == SUBMITTED for line in lines)
        told = [
            events.note(
                job_id, self._now, _EVENT[line["state"]], run_no=row.run_no, actor="jobtrail",
                reason=line["reason"], detail={"task": line["task"], "job": line["job"]},
            )
            for line in lines
        ]  # fmt: skip
        events.append(self._conn, self._dialect, told)
        return came

    def _skipped(self, row: Any, following: Successor, why: Message) -> dict[str, Any]:
        reason = Message("store.comes-on", ends=following.ends, why=why).stored
        self._settle(row.id, SKIPPED, None, reason)
        return {"state": SKIPPED, "task": following.task, "job": None, "reason": reason}

    def _submit(self, following: Successor, new: NewJob) -> dict[str, Any]:
        """What becomes of a successor; one that cannot meet another job is written by `_write_plain`."""
        unit = following.unit()
        labels = _labels(following.new)
        if unit is None and not labels:
            self._plain[tuple(submissions.shape(new))].append((following, new))
            return {"state": SUBMITTED, "task": following.task, "job": new.id, "reason": None}
        rules = Rules(unit=unit, if_active=following.if_active, if_done=following.if_done, labels=labels)
        answer = submissions.submit(self._conn, self._dialect, new, rules, self._now)
        state, reason = SUBMITTED, None
        if answer.why is not None and answer.why != "done":
            state, reason = REFUSED, Message("store.unit-in-the-way", job=answer.in_way).stored
        elif not answer.created:
            reason = Message("store.stands-for-it", job=answer.id).stored
        self._settle(following.id, state, answer.id if state == SUBMITTED else None, reason)
        if answer.created and following.next:
            declare(self._conn, self._dialect, following.next, self._now, after=new.id)
        return {"state": state, "task": following.task, "job": answer.id, "reason": reason}

    def _write_plain(self) -> None:
        """Write those that cannot meet another job, all of one shape together."""
        for alike in self._plain.values():
            submissions.insert_plain(self._conn, self._dialect, [new for _, new in alike], self._now)
            settled = [(one.id, SUBMITTED, new.id, None, self._now) for one, new in alike]
            self._dialect.update_many(self._conn, successors, ("id",), ("state", "job_id", "reason", "at"), settled)
            for one, new in alike:
                if one.next:
                    declare(self._conn, self._dialect, one.next, self._now, after=new.id)
        self._plain.clear()

    def _settle(self, successor: str, state: str, job_id: str | None, reason: str | None) -> None:
        values = {"state": state, "job_id": job_id, "reason": reason, "at": self._now}
        self._conn.execute(update(successors).where(successors.c.id == successor).values(values))

    # -- groups ----------------------------------------------------------------------------------------

    def of_groups(self, states: Mapping[str, Status]) -> int:
        """Members have ended; a group whose last ones they are ends too. How many successors came."""
        if not states:
            return 0
        found = self._conn.execute(
            select(group_members.c.group_id, group_members.c.job_id).where(group_members.c.job_id.in_(list(states)))
        )
        members = defaultdict(list)
        for row in found:
            members[row.group_id].append(row.job_id)
        return sum(self.of_group(group, {one: states[one] for one in members[group]}) for group in sorted(members))

    def of_group(self, group: str, states: Mapping[str, Status]) -> int:
        """Write how members ended, with the group's row held, so that one of two last ones sees that all have."""
        query = select(groups.c.finished_at).where(groups.c.id == group)
        if self._conn.dialect.name == "postgresql":
            query = query.with_for_update()
        row = self._conn.execute(query).first()
        if row is None or row.finished_at is not None:
            return 0
        for job_id, status in states.items():
            mine = (group_members.c.group_id == group, group_members.c.job_id == job_id)
            self._conn.execute(update(group_members).where(*mine).values(status=status.value))
        left = select(group_members.c.job_id).where(group_members.c.group_id == group, group_members.c.status.is_(None))
        if self._conn.execute(left.limit(1)).first() is not None:
            return 0
        return self._group_over(group)

    def _group_over(self, group: str) -> int:
        members = self._conn.execute(
            select(group_members.c.status, jobs.c.result)
            .outerjoin(jobs, jobs.c.id == group_members.c.job_id)
            .where(group_members.c.group_id == group)
            .order_by(group_members.c.position)
        ).all()
        outcome = outcome_of_group(row.status for row in members)
        done = update(groups).where(groups.c.id == group)
        self._conn.execute(done.values(finished_at=self._now, outcome=outcome.value))
        waiting = select(successors).where(successors.c.group_id == group, successors.c.state == WAITING)
        return sum(
            self._after_group(row, group, outcome, [one.result for one in members])
            for row in self._conn.execute(waiting).all()
        )

    def _after_group(self, row: Any, group: str, outcome: Outcome, results: list[str | None]) -> int:
        following = Successor.from_json(row.template)
        why = Message("store.group-ended", group=group, outcome=outcome)
        if not following.comes_after_group(outcome):
            self._skipped(row, following, why)
            return 0
        reason = Message("store.follows-group", why=why).stored
        new = following.job(self._now, parent=group, root=group, why=reason, result=results)
        line = self._submit(following, new)
        self._write_plain()
        return int(line["state"] == SUBMITTED)


_EVENT = {SUBMITTED: "followed", SKIPPED: "not_followed", REFUSED: "not_followed"}


def _labels(new: Mapping[str, Any]) -> dict[str, str] | None:
    return loads(new["labels"]) if new.get("labels") else None


# -- groups and reading --------------------------------------------------------------------------------


def open_group(
    conn: Connection,
    dialect: Dialect,
    group: str,
    members: Sequence[tuple[str, Status | None]],
    following: Sequence[Successor],
    now: datetime,
    *,
    name: str | None,
    actor: str | None,
) -> int:
    """Store a group of (job, the state that it has ended in already); an empty or ended one is over at once.

    Returns how many follow-ups came at once.
    """
    values = {"id": group, "name": name, "total": len(members), "created_at": now, "actor": actor}
    conn.execute(insert(groups).values(values))
    rows = [(group, job_id, place, status.value if status else None) for place, (job_id, status) in enumerate(members)]
    if rows:
        dialect.insert_many(conn, group_members, ("group_id", "job_id", "position", "status"), rows)
    declare(conn, dialect, following, now, group=group)
    return _End(conn, dialect, now).of_group(group, {})


def of_job(conn: Connection, job_id: str) -> list[dict[str, Any]]:
    """The successors that were declared for a job, with what became of them."""
    found = conn.execute(select(successors).where(successors.c.after == job_id).order_by(successors.c.id))
    return [_shown(row) for row in found]


def _shown(row: Any) -> dict[str, Any]:
    following = Successor.from_json(row.template)
    return {
        "id": row.id, "task": following.task, "on": shown_ends(row.ends.split(",")), "state": row.state, "job": row.job_id,
        "reason": row.reason, "successor": following,
    }  # fmt: skip


def group_of(conn: Connection, group: str) -> dict[str, Any] | None:
    """A group with its counts by the state that members ended in (None: not ended) and its follow-ups."""
    row = conn.execute(select(groups).where(groups.c.id == group)).first()
    if row is None:
        return None
    count = func.count().label("count")
    by_status = select(group_members.c.status, count).where(group_members.c.group_id == group)
    counts = {one.status: one.count for one in conn.execute(by_status.group_by(group_members.c.status))}
    following = conn.execute(select(successors).where(successors.c.group_id == group).order_by(successors.c.id))
    return {**dict(row._mapping), "counts": counts, "following": [_shown(one) for one in following]}


def groups_ending_with(conn: Connection, ending: str) -> list[str]:
    """The ids of the groups, at most two, that are this or end so."""
    like = cast(groups.c.id, Text).endswith(ending.lower(), autoescape=True)
    return list(conn.execute(select(groups.c.id).where(like).limit(2)).scalars())


def standing_of_group(conn: Connection, group: str) -> dict[str | None, int]:
    """How many members of a group stand in each status now; None: removed since."""
    by_status = (
        select(jobs.c.status, func.count())
        .select_from(group_members.outerjoin(jobs, jobs.c.id == group_members.c.job_id))
        .where(group_members.c.group_id == group)
        .group_by(jobs.c.status)
    )
    return {row[0]: row[1] for row in conn.execute(by_status)}


def page_of_group(conn: Connection, group: str, *, after: int, limit: int) -> list[Any]:
    """Members with a position from ``after`` on, in the order of their submission; removed ones have no task."""
    query = (
        select(
            group_members.c.position, group_members.c.job_id, jobs.c.task, jobs.c.source, jobs.c.period, jobs.c.file,
            jobs.c.started_at, jobs.c.finished_at, func.coalesce(jobs.c.status, group_members.c.status).label("status"),
        )
        .select_from(group_members.outerjoin(jobs, jobs.c.id == group_members.c.job_id))
        .where(group_members.c.group_id == group, group_members.c.position >= after)
        .order_by(group_members.c.position)
        .limit(limit)
    )  # fmt: skip
    return list(conn.execute(query))


def groups_of_job(conn: Connection, job_id: str) -> list[str]:
    """The groups that a job is a member of."""
    found = conn.execute(select(group_members.c.group_id).where(group_members.c.job_id == job_id))
    return list(found.scalars())


def members_of(conn: Connection, group: str) -> list[str]:
    """The jobs of a group, in the order of their submission."""
    mine = select(group_members.c.job_id).where(group_members.c.group_id == group)
    return list(conn.execute(mine.order_by(group_members.c.position)).scalars())
