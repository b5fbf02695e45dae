"""What people did, newest first: their moves in the trail, their submissions, and what is no move of a job.

Three streams are read side by side, each in the order of its ids, and put together by their times. Who acted has no
index, so each page looks at a bounded number of lines; where that ends it, ``next`` goes on behind them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate
from json import loads
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import and_, or_, select
from sqlalchemy.sql.expression import null

from jobtrail.database.tables import actions, events, jobs
from jobtrail.errors import InvalidFilter
from jobtrail.store.search.grammar import ID
from jobtrail.store.search.search import smallest_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from sqlalchemy import ColumnElement, Connection

LOOKED_AT = 5_000  # lines of each stream, for one page
MACHINES = ("worker", "upkeep", "program", "scheduler")
MACHINE_PREFIXES = ("schedule:", "job:")
SUBMITTED, RERUN = "submitted", "rerun"
_STREAMS = ("events", "actions", "jobs")


@dataclass(frozen=True, slots=True)
class Entry:
    """Somebody did something: ``name`` is that of the event or action; submitted and rerun stand for new jobs.

    id: its own, to tell it from others. job_id: the job (or schedule) that it was done to; target: what else it was done to, by its name.
    """

    id: str
    at: datetime
    actor: str
    name: str
    job_id: str | None = None
    target: str | None = None
    reason: str | None = None
    detail: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Page:
    """Entries, newest first. ``next``: where the following page begins, None at the end; ``until``: how far back it looked."""

    entries: list[Entry]
    next: str | None
    until: datetime | None


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which entries: of an actor (``person:ann``, or ``token:*`` by its beginning), of a name, made since a moment."""

    actor: str | None = None
    name: str | None = None
    since: datetime | None = None


class _Line(NamedTuple):
    key: str
    entry: Entry


class _Looked(NamedTuple):
    """What a stream gave; ``last`` and ``until`` are of the last line that was looked at, None where it came to its end."""

    lines: list[_Line]
    last: str | None
    until: datetime | None

    def in_order(self) -> Iterator[tuple[datetime, _Line]]:
        """The lines with times that never rise: those of concurrent transactions stand a little out of order."""
        return zip(accumulate((line.entry.at for line in self.lines), min), self.lines, strict=True)


def page(conn: Connection, wanted: Wanted, *, before: str | None = None, limit: int = 100) -> Page:
    """What people did, from behind the place ``before``.

    Raises: InvalidFilter for a place that is none.
    """
    places = _places(before)
    looked = {name: _LOOKS[name](conn, wanted, places[name], limit + 1) for name in _STREAMS}
    # What lies behind the place to which a stream was read must wait until it was read further.
    open_ends = [one.until for one in looked.values() if one.until is not None]
    horizon = max(open_ends, default=None)
    together = [(at, name, line) for name, one in looked.items() for at, line in one.in_order()]
    together.sort(key=lambda given: given[0], reverse=True)
    shown = [given for given in together if horizon is None or given[0] >= horizon][:limit]
    ended = horizon is None and len(shown) == len(together)
    following = None if ended else _following(places, looked, shown)
    return Page([line.entry for _, _, line in shown], following, horizon)


def jobs_of(conn: Connection, entries: Sequence[Entry]) -> dict[str, Any]:
    """What the jobs of these entries are about, by id: task, source, period, file. Some may be gone."""
    ids = {one.job_id for one in entries if one.job_id is not None}
    query = select(jobs.c.id, jobs.c.task, jobs.c.source, jobs.c.period, jobs.c.file).where(jobs.c.id.in_(ids))
    return {row.id: row for row in conn.execute(query)} if ids else {}


def _places(before: str | None) -> dict[str, str]:
    if before is None:
        return dict.fromkeys(_STREAMS, "")
    parts = before.split(".")
    good = len(parts) == 3 and all(not part or (part.isdigit() and len(part) < 19) for part in parts[:2])
    if not good or (parts[2] and not ID.fullmatch(parts[2])):
        message = f"a page of the audit begins at a 'next' that was given; '{before[:60]}' is none"
        raise InvalidFilter(message)
    return dict(zip(_STREAMS, parts, strict=True))


def _following(places: dict[str, str], looked: dict[str, _Looked], shown: list[tuple[datetime, str, _Line]]) -> str:
    found = []
    for name in _STREAMS:
        mine = [line.key for _, stream, line in shown if stream == name]
        one = looked[name]
        all_shown = len(mine) == len(one.lines)
        found.append(one.last if all_shown and one.last is not None else (mine[-1] if mine else places[name]))
    return ".".join(found)


# -- the streams -------------------------------------------------------------------------------------


def is_person(actor: Any) -> ColumnElement[bool]:
    """Whether a column names somebody who is none of our own."""
    ours = or_(actor.in_(MACHINES), *(actor.startswith(prefix, autoescape=True) for prefix in MACHINE_PREFIXES))
    return and_(actor.is_not(null()), ~ours)


def _of(actor: Any, wanted: Wanted) -> list[ColumnElement[bool]]:
    if wanted.actor is None:
        return []
    if wanted.actor.endswith("*"):
        return [actor.startswith(wanted.actor[:-1], autoescape=True)]
    return [actor == wanted.actor]


def _events(conn: Connection, wanted: Wanted, before: str, limit: int) -> _Looked:
    newest = select(events).order_by(events.c.id.desc()).limit(LOOKED_AT)
    if before:
        newest = newest.where(events.c.id < int(before))
    edge = conn.execute(newest.with_only_columns(events.c.id, events.c.at).offset(LOOKED_AT - 1).limit(1)).first()
    one = newest.subquery()
    query = select(one).where(is_person(one.c.actor), *_of(one.c.actor, wanted)).order_by(one.c.id.desc())
    if wanted.name is not None:
        query = query.where(one.c.name == wanted.name)
    if wanted.since is not None:
        query = query.where(one.c.at >= wanted.since)
    rows = conn.execute(query.limit(limit)).all()
    lines = [_Line(str(row.id), _of_event(row)) for row in rows]
    return _ended(lines, limit, edge, wanted)


def _of_event(row: Any) -> Entry:
    detail = loads(row.detail) if row.detail else {}
    return Entry(f"event-{row.id}", row.at, row.actor, row.name, row.job_id, detail.get("schedule"), row.reason, detail)


def _actions(conn: Connection, wanted: Wanted, before: str, limit: int) -> _Looked:
    query = select(actions).where(*_of(actions.c.actor, wanted)).order_by(actions.c.id.desc())
    if before:
        query = query.where(actions.c.id < int(before))
    if wanted.name is not None:
        query = query.where(actions.c.name == wanted.name)
    if wanted.since is not None:
        query = query.where(actions.c.at >= wanted.since)
    rows = conn.execute(query.limit(limit)).all()
    return _ended([_Line(str(row.id), _of_action(row)) for row in rows], limit, None, wanted)


def _of_action(row: Any) -> Entry:
    detail = loads(row.detail) if row.detail else {}
    return Entry(f"action-{row.id}", row.at, row.actor, row.name, None, row.target, row.reason, detail)


def _jobs(conn: Connection, wanted: Wanted, before: str, limit: int) -> _Looked:
    if wanted.name not in (None, SUBMITTED, RERUN):
        return _Looked([], None, None)
    columns = (jobs.c.id, jobs.c.created_at, jobs.c.actor, jobs.c.reason, jobs.c.rerun_of, jobs.c.mode, jobs.c.task)
    newest = select(*columns).order_by(jobs.c.id.desc()).limit(LOOKED_AT)
    if before:
        newest = newest.where(jobs.c.id < before)
    if wanted.since is not None:
        newest = newest.where(jobs.c.id >= smallest_id(wanted.since))
    edge = conn.execute(
        newest.with_only_columns(jobs.c.id, jobs.c.created_at.label("at")).offset(LOOKED_AT - 1).limit(1)
    ).first()
    one = newest.subquery()
    query = select(one).where(is_person(one.c.actor), *_of(one.c.actor, wanted)).order_by(one.c.id.desc())
    if wanted.name is not None:
        query = query.where(one.c.rerun_of.is_(None) if wanted.name == SUBMITTED else one.c.rerun_of.is_not(None))
    lines = [_Line(row.id, _of_job(row)) for row in conn.execute(query.limit(limit))]
    return _ended(lines, limit, edge, wanted)


def _of_job(row: Any) -> Entry:
    told = {"task": row.task} | ({} if row.rerun_of is None else {"rerun_of": row.rerun_of, "mode": row.mode})
    name = SUBMITTED if row.rerun_of is None else RERUN
    return Entry(f"job-{row.id}", row.created_at, row.actor, name, row.id, None, row.reason, told)


def _ended(lines: list[_Line], limit: int, edge: Any, wanted: Wanted) -> _Looked:
    if len(lines) == limit:
        return _Looked(lines, lines[-1].key, min(line.entry.at for line in lines))
    if edge is None or (wanted.since is not None and edge.at < wanted.since):
        return _Looked(lines, None, None)
    return _Looked(lines, str(edge.id), edge.at)


_LOOKS: dict[str, Callable[[Any, Wanted, str, int], _Looked]] = {
    "events": _events, "actions": _actions, "jobs": _jobs,
}  # fmt: skip
