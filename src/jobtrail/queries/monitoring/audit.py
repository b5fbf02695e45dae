"""The audit: what people did, newest first, from the trail, the submissions and the actions that concern no single job.

Three streams are read in the order of their ids and merged by time. The actor has no index, so each page reads a bounded
number of rows; where that bound ends a page, ``next`` continues behind it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from itertools import accumulate
from json import loads
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import Field
from sqlalchemy import and_, or_, select
from sqlalchemy.sql.expression import null

from jobtrail.database.tables import actions, events, jobs
from jobtrail.errors import InvalidFilter
from jobtrail.messages import Message
from jobtrail.queries.base import FileName, MaskedObject, MaskedText, Model
from jobtrail.store.search.grammar import ID
from jobtrail.store.search.search import smallest_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from sqlalchemy import ColumnElement, Connection

LOOKED_AT = 5_000  # lines of each stream, for one page
MACHINES = ("worker", "upkeep", "program", "scheduler")
MACHINE_PREFIXES = ("schedule:", "job:")
SUBMITTED, RERUN = "submitted", "rerun"
JOBS_AT_ONCE = 500
_ABOUT = (jobs.c.id, jobs.c.task, jobs.c.kind, jobs.c.source, jobs.c.period, jobs.c.file)
_STREAMS = ("events", "actions", "jobs")


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One action of a person, as it was read.

    Attributes:
        id: unique over the three streams.
        name: of the event or action; ``submitted`` and ``rerun`` are new jobs.
        job_id: the job (or schedule) it concerns.
        target: what else it concerns, by name.
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
class AuditRecords:
    """Records, newest first; ``next`` is where the following page begins, ``until`` how far back this one looked."""

    entries: list[AuditRecord]
    next: str | None
    until: datetime | None


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which entries: of an actor (``person:ann``, or ``token:*`` by prefix), of a name, since a moment."""

    actor: str | None = None
    name: str | None = None
    since: datetime | None = None


class AuditEntry(Model):
    """An action of a person: who did what to what, when and why."""

    id: str
    at: datetime
    actor: str = Field(examples=["person:ann"])
    name: str = Field(examples=["retried"], description="Of the event or action; submitted and rerun are new jobs.")
    job: str | None = Field(description="The job that it was done to, or that was made.")
    task: str | None = Field(description="Of the job; this and what follows null where it is gone.")
    source: MaskedText | None
    period: str | None
    file: FileName
    target: MaskedText | None = Field(description="What else it was done to: a queue, a schedule, a token.")
    reason: MaskedText | None
    detail: MaskedObject


class AuditPage(Model):
    """What people did, newest first. ``next`` is the ``before`` of the following page, null at the end."""

    entries: list[AuditEntry]
    next: str | None
    until: datetime | None = Field(description="How far back this page has looked.")


class _StreamLine(NamedTuple):
    key: str
    entry: AuditRecord


class _StreamPage(NamedTuple):
    """What a stream gave; ``last`` and ``until`` are of the last line that was looked at, None where it came to its end."""

    lines: list[_StreamLine]
    last: str | None
    until: datetime | None

    def in_order(self) -> Iterator[tuple[datetime, _StreamLine]]:
        """The lines with times that never rise: those of concurrent transactions stand a little out of order."""
        return zip(accumulate((line.entry.at for line in self.lines), min), self.lines, strict=True)


def page(conn: Connection, wanted: AuditFilter, *, before: str | None = None, limit: int = 100) -> AuditPage:
    """Read what people did, newest first.

    Args:
        conn: a connection for reading.
        wanted: which entries.
        before: the ``next`` of the page before.
        limit: how many entries to return.

    Raises:
        InvalidFilter: if ``before`` is not the ``next`` of a page.
    """
    found = records(conn, wanted, before=before, limit=limit)
    about = jobs_of(conn, {one.job_id for one in found.entries if one.job_id is not None})
    entries = [_entry(one, about.get(one.job_id or "")) for one in found.entries]
    return AuditPage(entries=entries, next=found.next, until=found.until)


def _entry(one: AuditRecord, job: Any) -> AuditEntry:
    of_schedule = one.target is not None and one.name.startswith("schedule_")
    return AuditEntry(
        id=one.id, at=one.at, actor=one.actor, name=one.name, job=None if of_schedule else one.job_id,
        task=job and job.task, source=job and job.source, period=job and job.period, file=job and job.file,
        target=one.target, reason=one.reason, detail=one.detail,
    )  # fmt: skip


def records(conn: Connection, wanted: AuditFilter, *, before: str | None = None, limit: int = 100) -> AuditRecords:
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
    return AuditRecords([line.entry for _, _, line in shown], following, horizon)


def jobs_of(conn: Connection, ids: Iterable[str]) -> dict[str, Any]:
    """Read task, kind, source, period and file of jobs, by id; jobs that are gone are left out."""
    wanted = sorted(ids)
    found: dict[str, Any] = {}
    for begin in range(0, len(wanted), JOBS_AT_ONCE):
        query = select(*_ABOUT).where(jobs.c.id.in_(wanted[begin : begin + JOBS_AT_ONCE]))
        found |= {row.id: row for row in conn.execute(query)}
    return found


def _places(before: str | None) -> dict[str, str]:
    if before is None:
        return dict.fromkeys(_STREAMS, "")
    parts = before.split(".")
    good = len(parts) == 3 and all(not part or (part.isdigit() and len(part) < 19) for part in parts[:2])
    if not good or (parts[2] and not ID.fullmatch(parts[2])):
        raise InvalidFilter(Message("queries.bad-audit-cursor", before=before[:60]))
    return dict(zip(_STREAMS, parts, strict=True))


def _following(places: dict[str, str], looked: dict[str, _StreamPage], shown: list[tuple[datetime, str, _StreamLine]]) -> str:
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


def _of(actor: Any, wanted: AuditFilter) -> list[ColumnElement[bool]]:
    if wanted.actor is None:
        return []
    if wanted.actor.endswith("*"):
        return [actor.startswith(wanted.actor[:-1], autoescape=True)]
    return [actor == wanted.actor]


def _events(conn: Connection, wanted: AuditFilter, before: str, limit: int) -> _StreamPage:
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
    lines = [_StreamLine(str(row.id), _of_event(row)) for row in rows]
    return _ended(lines, limit, edge, wanted)


def _of_event(row: Any) -> AuditRecord:
    detail = loads(row.detail) if row.detail else {}
    return AuditRecord(f"event-{row.id}", row.at, row.actor, row.name, row.job_id, detail.get("schedule"), row.reason, detail)


def _actions(conn: Connection, wanted: AuditFilter, before: str, limit: int) -> _StreamPage:
    query = select(actions).where(*_of(actions.c.actor, wanted)).order_by(actions.c.id.desc())
    if before:
        query = query.where(actions.c.id < int(before))
    if wanted.name is not None:
        query = query.where(actions.c.name == wanted.name)
    if wanted.since is not None:
        query = query.where(actions.c.at >= wanted.since)
    rows = conn.execute(query.limit(limit)).all()
    return _ended([_StreamLine(str(row.id), _of_action(row)) for row in rows], limit, None, wanted)


def _of_action(row: Any) -> AuditRecord:
    detail = loads(row.detail) if row.detail else {}
    return AuditRecord(f"action-{row.id}", row.at, row.actor, row.name, None, row.target, row.reason, detail)


def _jobs(conn: Connection, wanted: AuditFilter, before: str, limit: int) -> _StreamPage:
    if wanted.name not in (None, SUBMITTED, RERUN):
        return _StreamPage([], None, None)
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
    lines = [_StreamLine(row.id, _of_job(row)) for row in conn.execute(query.limit(limit))]
    return _ended(lines, limit, edge, wanted)


def _of_job(row: Any) -> AuditRecord:
    told = {"task": row.task} | ({} if row.rerun_of is None else {"rerun_of": row.rerun_of, "mode": row.mode})
    name = SUBMITTED if row.rerun_of is None else RERUN
    return AuditRecord(f"job-{row.id}", row.created_at, row.actor, name, row.id, None, row.reason, told)


def _ended(lines: list[_StreamLine], limit: int, edge: Any, wanted: AuditFilter) -> _StreamPage:
    if len(lines) == limit:
        return _StreamPage(lines, lines[-1].key, min(line.entry.at for line in lines))
    if edge is None or (wanted.since is not None and edge.at < wanted.since):
        return _StreamPage(lines, None, None)
    return _StreamPage(lines, str(edge.id), edge.at)


_LOOKS: dict[str, Callable[[Any, AuditFilter, str, int], _StreamPage]] = {
    "events": _events, "actions": _actions, "jobs": _jobs,
}  # fmt: skip
