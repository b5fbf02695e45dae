"""Schedules and their slots as tables and lines, from the models of the queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from rich.text import Text

from .tables import PlainTable, pairs, plain_table
from .text import clean, short, span, tail

if TYPE_CHECKING:
    from datetime import datetime

    from jobtrail.cli.session import Session
    from jobtrail.queries.schedules import MissedSlots, ScheduleDetail, ScheduleLine, ScheduleList

COLOURS = {"active": "green", "paused": "yellow", "retired": "dim", "finished": "dim"}
TIMES_SHOWN = 5
SLOTS_SHOWN = 15
EVENTS_SHOWN = 10


def local(moment: datetime | None, zone: str) -> str:
    """A moment as the clock of the zone shows it, with the offset: "2026-03-29 03:00 +02:00"."""
    if moment is None:
        return ""
    here = moment.astimezone(ZoneInfo(zone))
    clock = f"{here:%H:%M}" if not here.second and not here.microsecond else f"{here:%H:%M:%S}"
    return f"{here:%Y-%m-%d} {clock} {here.isoformat()[-6:]}"


def next_time(one: ScheduleLine) -> str:
    """The next planned time in the schedule's zone."""
    return "" if one.next is None else local(one.next.at, one.zone)


def rule_words(one: ScheduleLine) -> str:
    """The rule in words."""
    return one.words["en"]


def schedule_table(found: ScheduleList) -> PlainTable:
    """Schedules, one a line."""
    table = plain_table("name", "state", "task", "when", "next", "last", "note", rest="note")
    for one in found.schedules:
        table.add_row(
            Text(short(one.name, 40)),
            Text(one.state, COLOURS.get(one.state, "")),
            Text(short(one.task, 30)),
            Text(short(rule_words(one), 44)),
            Text(next_time(one), "dim" if one.state == "paused" else ""),
            Text(_last(one, found.now)),
            Text(note(one), "yellow"),
        )
    return table


def _last(one: ScheduleLine, now: datetime) -> str:
    if one.last_at is None:
        return one.last_status or ""
    return f"{one.last_status or 'ran'} {span(now - one.last_at)} ago"


def note(one: ScheduleLine) -> str:
    """What an administrator should know about a schedule."""
    notes = [one.problem] if one.problem else []
    if one.unknown_since is not None:
        notes.append(f"no process knows the task '{one.task}' since {local(one.unknown_since, one.zone)}")
    if one.paused is not None:
        until = f" until {local(one.paused.until, one.zone)}" if one.paused.until else ""
        why = f": {one.paused.reason}" if one.paused.reason else ""
        notes.append(f"paused by {one.paused.by}{until}{why}")
    if one.waits_for is not None:
        notes.append(f"waits for job …{tail(one.waits_for)}")
    if one.missed_in_row:
        notes.append(f"{one.missed_in_row:,} missed in a row")
    if one.failures_in_row > 1:
        notes.append(f"{one.failures_in_row:,} failures in a row")
    if one.edited:
        notes.append(f"edited by {one.edited_by}: {', '.join(one.edited_options)}")
    return clean("; ".join(notes))


def missed_table(found: MissedSlots) -> PlainTable:
    """Planned times that did not run."""
    table = plain_table("schedule", "planned", "up to", "why", "in its way", rest="why")
    for slot in found.slots:
        zone = slot.zone
        table.add_row(
            Text(short(slot.schedule, 40)), Text(local(slot.planned.at, zone)), Text(local(slot.through, zone)),
            Text(short(slot.reason, 100)), Text(f"…{tail(slot.job)}" if slot.job else ""),
        )  # fmt: skip
    return table


def show_one(session: Session, found: ScheduleDetail) -> None:
    """Everything about one schedule."""
    session.say((found.name, "bold"), "  ", (found.state, COLOURS.get(found.state, "")), "  ", (note(found), "yellow"))
    session.console.print(pairs(_facts(found)))
    _show_drift(session, found)
    if found.following:
        session.say("")
        session.say(("next", "bold"))
        for one in found.following[:TIMES_SHOWN]:
            session.say(f"  {local(one.at, found.zone)}")
    _show_slots(session, found)
    _show_trail(session, found)


def _facts(found: ScheduleDetail) -> list[tuple[str, str]]:
    options = found.definition or {}
    facts = [
        ("id", found.id),
        ("task", found.task),
        ("when", f"{rule_words(found)}  ({_rule_text(options)}, {found.zone})"),
        ("declared by", found.origin),
        ("runs", f"{found.runs:,}"),
    ]
    facts += [(name.replace("_", " "), str(value)) for name, value in options.items() if name != "rule"]
    if found.last_job is not None:
        facts.append(("last job", f"{found.last_job}  {found.last_status or ''}"))
    return facts


def _rule_text(options: dict[str, Any]) -> str:
    rule = options.get("rule", {})
    return str(rule.get("text") or rule.get("kind") or "")


def _show_drift(session: Session, found: ScheduleDetail) -> None:
    drift = found.drift
    if drift is None:
        return
    session.say("")
    session.say((f"edited by {drift.by}", "bold"), (f" {drift.at or ''} {drift.reason or ''}", "dim"))
    for name, change in drift.changes.items():
        session.say(f"  {name}: ", (_value(name, change.declared), "dim"), " → ", _value(name, change.edited))
    session.say(("  'jobtrail schedules edit --take-code' goes back to what the program declares", "dim"))


def _value(name: str, value: Any) -> str:
    from jobtrail.schedules.rules.rules import Rule
    from jobtrail.schedules.rules.wording import words

    return words(Rule.from_json(value)) if name == "rule" else clean(str(value))


def _show_slots(session: Session, found: ScheduleDetail) -> None:
    if not found.slots:
        return
    session.say("")
    table = plain_table("planned", "what", "why", "job", rest="why")
    for slot in found.slots[:SLOTS_SHOWN]:
        upto = f" up to {local(slot.through, found.zone)}" if slot.through else ""
        colour = "" if slot.state == "submitted" else "yellow"
        table.add_row(
            Text(local(slot.planned.at, found.zone)), Text(f"{slot.state}{upto}", colour),
            Text(short(slot.reason, 100)), Text(f"…{tail(slot.job)}" if slot.job else ""),
        )  # fmt: skip
    table.show(session.console)


def _show_trail(session: Session, found: ScheduleDetail) -> None:
    session.say("")
    table = plain_table("trail", "what", "who", "why", rest="why")
    for event in found.trail[:EVENTS_SHOWN][::-1]:
        table.add_row(
            Text(local(event.at, found.zone)), Text(event.name.removeprefix("schedule_").replace("_", " ")),
            Text(short(event.actor, 30)), Text(short(event.reason, 100)),
        )  # fmt: skip
    table.show(session.console)
