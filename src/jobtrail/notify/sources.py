"""Where events come from beside those that are announced: the trail, and conditions that no line of it tells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from jobtrail.queries.monitoring import conditions
from jobtrail.queries.monitoring.trail_window import TrailLine, times_interrupted

from . import store
from .events import SUBJECT, Announcement
from .rules import DEADLINE, INTERRUPTED, SILENT, AlertRule

if TYPE_CHECKING:
    from sqlalchemy import Connection

TASK = "notify_deliver"  # its own failures are told by the state of the channel, or telling would never end
OF_STATE = {"failed": "job.failed", "partial": "job.partial", "interrupted": INTERRUPTED}
WAITING, MISSED, LOST, AWAY = "question.waiting", "schedule.missed", "worker.lost", "store.away"
_AWAITING = ("awaiting_input", "awaiting_mapping")
SAME_OUTAGE = 300  # seconds
LOOK_BACK = timedelta(minutes=10)  # of workers that died: their rows are written late by a clock of their own


def from_trail(conn: Connection, lines: Iterable[TrailLine], kinds: Callable[[str], bool]) -> list[Announcement]:
    """Return what lines of the trail announce, each under a key of its own, so that a line that is read twice is stored once.

    Args:
        conn: A connection for counting interruptions.
        lines: The lines.
        kinds: Whether any rule wants a kind.
    """
    found: list[Announcement] = []
    for line in lines:
        if line.task == TASK:
            continue
        found += [one for one in _of_line(conn, line) if kinds(one.kind)]
    return found


def _of_line(conn: Connection, line: TrailLine) -> list[Announcement]:
    if line.name == "slot_missed":
        return [_announcement(line, MISSED, str(line.detail.get("schedule") or line.job_id), **_counts(line))]
    found = []
    if line.from_status in _AWAITING and line.to_status not in _AWAITING:
        found = [_announcement(line, kind, line.job_id, resolved=True, **_job(line)) for kind in (WAITING, DEADLINE)]
    kind = OF_STATE.get(line.to_status or "")
    if kind is not None:
        times = times_interrupted(conn, line.job_id, line.id) if kind == INTERRUPTED else None
        found.append(_announcement(line, kind, line.job_id, **_job(line), times=times))
    elif line.name == "asked":
        found.append(_announcement(line, WAITING, line.job_id, **_job(line), question=line.detail.get("question")))
    return found


def _announcement(line: TrailLine, kind: str, subject: str, *, resolved: bool = False, **facts: Any) -> Announcement:
    given = {name: value for name, value in facts.items() if value is not None}
    return Announcement(kind, subject[:SUBJECT], given, line.at, resolved, f"trail:{line.id}:{line.job_id}:{kind}")


def _job(line: TrailLine) -> dict[str, Any]:
    about = {"job": line.job_id, "task": line.task, "source": line.source, "period": line.period}
    return {**about, "error": line.error, "reason": line.reason}


def _counts(line: TrailLine) -> dict[str, Any]:
    return {**{name: line.detail.get(name) for name in ("count", "in_row", "first", "last")}, "reason": line.reason}


# -- conditions -------------------------------------------------------------------------------------


def from_conditions(
    conn: Connection, rules: Sequence[AlertRule], begun: datetime, looked: datetime, now: datetime
) -> list[Announcement]:
    """Return what holds now; a condition that goes on has the key that it had, so it is announced once.

    Args:
        conn: A connection for reading.
        rules: All rules.
        begun: Since when notifications are on; what was before is not told.
        looked: When somebody looked last, perhaps before an outage.
        now: The time of the store.
    """
    found = [*_deadlines(conn, rules, now), *_silences(conn, rules, begun, now)]
    if _wanted(rules, LOST):
        found += _lost(conn, max(begun, looked - LOOK_BACK))
    if _wanted(rules, AWAY):
        found += _outages(conn, begun)
    return [*found, *_settled(conn, now)]


def _wanted(rules: Sequence[AlertRule], kind: str) -> bool:
    return any(rule.wants(kind) for rule in rules)


def _deadlines(conn: Connection, rules: Sequence[AlertRule], now: datetime) -> list[Announcement]:
    found = []
    for before in sorted({rule.before for rule in rules if rule.wants(DEADLINE)}):
        for one in conditions.near_deadlines(conn, now, before):
            facts = {
                "job": one.job, "task": one.task, "source": one.source, "question": one.name, "message": one.text,
                "deadline": f"{one.deadline:%Y-%m-%d %H:%M} UTC", "before": before,
            }  # fmt: skip
            found.append(Announcement(DEADLINE, one.job, facts, now, key=f"deadline:{one.question}:{before:g}"))
    return found


def _silences(conn: Connection, rules: Sequence[AlertRule], begun: datetime, now: datetime) -> list[Announcement]:
    found = []
    watched = {(rule.task, rule.since) for rule in rules if rule.task is not None and rule.since is not None}
    open_ones = {one.subject: one for one in store.open_of_kinds(conn, [SILENT])} if watched else {}
    for task, since in sorted(watched):
        last = conditions.last_run(conn, task, now)
        reference = max(last, begun) if last is not None else begun
        if now - reference >= timedelta(seconds=since):
            facts = {"task": task, "since": since, "last": f"{reference:%Y-%m-%d %H:%M} UTC"}
            found.append(Announcement(SILENT, task, facts, now, key=f"silent:{task}:{since:g}:{reference.isoformat()}"))
        elif task in open_ones:
            facts = {"task": task, "since": since}
            found.append(Announcement(SILENT, task, facts, now, resolved=True, key=f"heard:{open_ones[task].id}"))
    return found


def _lost(conn: Connection, since: datetime) -> list[Announcement]:
    return [
        Announcement(LOST, one.id, {"host": f"{one.host}, pid {one.pid}", "message": one.why}, one.at, key=f"lost:{one.id}")
        for one in conditions.lost_workers(conn, since)
    ]


def _outages(conn: Connection, begun: datetime) -> list[Announcement]:
    found = []
    for one in conditions.store_outages(conn):
        if one.since < begun:
            continue
        # Each worker of a host records the same outage, a moment earlier or later.
        key = f"away:{one.host}:{int(one.since.timestamp() // SAME_OUTAGE)}"
        facts = {"host": one.host, "message": one.why}
        found.append(Announcement(AWAY, one.host, facts, one.since, key=key))
        if one.until is not None:
            found.append(Announcement(AWAY, one.host, facts, one.until, resolved=True, key=f"{key}:over"))
    return found


def _settled(conn: Connection, now: datetime) -> list[Announcement]:
    """Open problems of jobs that need nobody any more: a success has no line in the trail."""
    open_ones = store.open_of_kinds(conn, OF_STATE.values())
    done = conditions.settled(conn, {one.subject for one in open_ones})
    return [
        Announcement(one.kind, one.subject, one.facts, now, resolved=True, key=f"settled:{one.id}")
        for one in open_ones
        if one.subject in done
    ]
