"""Schedules and their slots as JSON objects, tables and lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from rich.text import Text

from .tables import PlainTable, pairs, plain_table
from .text import clean, iso, short, span, tail

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from jobtrail import JobTrail
    from jobtrail.cli.session import Session
    from jobtrail.schedules.view import Schedule
    from jobtrail.store.schedules import Slot

COLOURS = {"active": "green", "paused": "yellow", "retired": "dim", "finished": "dim"}
SLOTS_SHOWN = 15
EVENTS_SHOWN = 10


def local(moment: datetime | None, zone: str) -> str:
    """A moment as the clock of the zone shows it, with the offset: "2026-03-29 03:00 +02:00"."""
    if moment is None:
        return ""
    here = moment.astimezone(ZoneInfo(zone))
    clock = f"{here:%H:%M}" if not here.second and not here.microsecond else f"{here:%H:%M:%S}"
    return f"{here:%Y-%m-%d} {clock} {here.isoformat()[-6:]}"


def schedule_json(found: Schedule, marked: frozenset[str] = frozenset()) -> dict[str, Any]:
    """A schedule for programs; secrets are masked, those that its task marks (``marked``) too."""
    row, drift = found.row, found.drift
    return {
        "id": row.id, "name": row.name, "task": row.task, "state": row.state, "origin": row.origin,
        "definition": found.told(marked) if found.definition else None, "problem": found.problem,
        "words": found.in_words(), "zone": found.zone, "next_at": iso(row.next_at), "due_at": iso(row.due_at),
        "last_at": iso(row.last_at), "last_job": row.last_job, "last_status": found.last_status, "runs": row.runs,
        "failures_in_row": row.failures_in_row, "missed_in_row": row.missed_in_row, "waits_for": row.waits_for,
        "task_missing_since": iso(row.unknown_since),
        "paused": {"by": row.paused_by, "reason": row.paused_reason, "until": iso(row.paused_until)}
        if row.state == "paused" else None,
        "drift": {
            "changes": {
                name: {"declared": ours, "edited": his} for name, (ours, his) in found.drift_told(marked).items()
            },
            "by": drift.by, "at": drift.at, "reason": drift.reason,
        } if drift else None,
    }  # fmt: skip


def schedule_table(found: Sequence[Schedule], now: datetime) -> PlainTable:
    """Schedules, one a line."""
    table = plain_table("name", "state", "task", "when", "next", "last", "note", rest="note")
    for one in found:
        table.add_row(
            Text(short(one.name, 40)),
            Text(one.state, COLOURS.get(one.state, "")),
            Text(short(one.task, 30)),
            Text(short(one.in_words(), 44)),
            Text(local(one.next_at, one.zone), "dim" if one.state == "paused" else ""),
            Text(_last(one, now)),
            Text(note(one), "yellow"),
        )
    return table


def _last(one: Schedule, now: datetime) -> str:
    if one.row.last_at is None:
        return one.last_status or ""
    return f"{one.last_status or 'ran'} {span(now - one.row.last_at)} ago"


def note(one: Schedule) -> str:
    """What somebody should know about it."""
    row, told = one.row, []
    if one.problem:
        told.append(one.problem)
    if row.unknown_since is not None:
        told.append(f"no process knows the task '{row.task}' since {local(row.unknown_since, one.zone)}")
    if row.state == "paused":
        until = f" until {local(row.paused_until, one.zone)}" if row.paused_until else ""
        why = f": {row.paused_reason}" if row.paused_reason else ""
        told.append(f"paused by {row.paused_by}{until}{why}")
    if row.waits_for is not None:
        told.append(f"waits for job …{tail(row.waits_for)}")
    if row.missed_in_row:
        told.append(f"{row.missed_in_row:,} missed in a row")
    if row.failures_in_row > 1:
        told.append(f"{row.failures_in_row:,} failures in a row")
    if one.drift is not None:
        told.append(f"edited by {one.drift.by}: {', '.join(one.drift.changes)}")
    return clean("; ".join(told))


def missed_table(found: Iterable[tuple[str, Slot]], zones: Mapping[str, str]) -> PlainTable:
    """Planned times that did not run."""
    table = plain_table("schedule", "planned", "up to", "why", "in its way", rest="why")
    for name, slot in found:
        zone = zones.get(name, "UTC")
        table.add_row(
            Text(short(name, 40)), Text(local(slot.planned_at, zone)), Text(local(slot.through, zone)),
            Text(short(slot.reason, 100)), Text(f"…{tail(slot.job_id)}" if slot.job_id else ""),
        )  # fmt: skip
    return table


def show_one(session: Session, jobs: JobTrail, found: Schedule) -> None:
    """Everything about one schedule."""
    session.say((found.name, "bold"), "  ", (found.state, COLOURS.get(found.state, "")), "  ", (note(found), "yellow"))
    marked = marks(jobs, found)
    session.console.print(pairs(_facts(found, marked)))
    if found.drift is not None:
        _show_drift(session, found, marked)
    times = jobs.schedules.next(found.name, 5)
    if times:
        session.say("")
        session.say(("next", "bold"))
        for one in times:
            session.say(f"  {local(one, found.zone)}")
    _show_slots(session, jobs, found)
    _show_trail(session, jobs, found)


def marks(jobs: JobTrail, found: Schedule) -> frozenset[str]:
    """What the schedule's task calls secret, where it is known here."""
    task = jobs.tasks.find(found.task)
    return task.secret if task is not None else frozenset()


def _facts(found: Schedule, marked: frozenset[str]) -> list[tuple[str, str]]:
    row, told = found.row, found.told(marked)
    facts = [
        ("id", row.id),
        ("task", row.task),
        ("when", f"{found.in_words()}  ({_rule_text(told)}, {found.zone})"),
        ("declared by", row.origin),
        ("runs", f"{row.runs:,}"),
    ]
    facts += [(name.replace("_", " "), str(value)) for name, value in told.items() if name != "rule"]
    if row.last_job is not None:
        facts.append(("last job", f"{row.last_job}  {found.last_status or ''}"))
    return facts


def _rule_text(told: Mapping[str, Any]) -> str:
    rule = told.get("rule", {})
    return str(rule.get("text") or rule.get("kind") or "")


def _show_drift(session: Session, found: Schedule, marked: frozenset[str]) -> None:
    drift = found.drift
    if drift is None:
        return
    session.say("")
    session.say((f"edited by {drift.by}", "bold"), (f" {drift.at or ''} {drift.reason or ''}", "dim"))
    for name, (ours, his) in found.drift_told(marked).items():
        session.say(f"  {name}: ", (_value(name, ours), "dim"), " → ", _value(name, his))
    session.say(("  'jobtrail schedules edit --take-code' goes back to what the program declares", "dim"))


def _value(name: str, value: Any) -> str:
    from jobtrail.schedules.rules.rules import Rule
    from jobtrail.schedules.rules.wording import words

    return words(Rule.from_json(value)) if name == "rule" else clean(str(value))


def _show_slots(session: Session, jobs: JobTrail, found: Schedule) -> None:
    slots = jobs.schedules.slots(found.name, limit=SLOTS_SHOWN)
    if not slots:
        return
    session.say("")
    table = plain_table("planned", "what", "why", "job", rest="why")
    for slot in slots:
        upto = f" up to {local(slot.through, found.zone)}" if slot.through else ""
        colour = "" if slot.state == "submitted" else "yellow"
        table.add_row(
            Text(local(slot.planned_at, found.zone)), Text(f"{slot.state}{upto}", colour),
            Text(short(slot.reason, 100)), Text(f"…{tail(slot.job_id)}" if slot.job_id else ""),
        )  # fmt: skip
    table.show(session.console)


def _show_trail(session: Session, jobs: JobTrail, found: Schedule) -> None:
    session.say("")
    table = plain_table("trail", "what", "who", "why", rest="why")
    for event in jobs.schedules.events(found.name)[-EVENTS_SHOWN:]:
        table.add_row(
            Text(local(event.at, found.zone)), Text(event.name.removeprefix("schedule_").replace("_", " ")),
            Text(short(event.actor, 30)), Text(short(event.reason, 100)),
        )  # fmt: skip
    table.show(session.console)
