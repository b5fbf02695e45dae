"""Schedules and their planned times as tables and lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from rich.text import Text

from jobtrail.messages import Message, current_language, tr

from .tables import PlainTable, pairs, plain_table
from .text import clean, number, short, span, tail
from .views import because

if TYPE_CHECKING:
    from datetime import datetime

    from jobtrail.cli.session import Session
    from jobtrail.queries.schedules import MissedSlots, ScheduleDetail, ScheduleLine, ScheduleList

COLOURS = {"active": "green", "paused": "yellow", "retired": "dim", "finished": "dim"}
TIMES_SHOWN = 5
SLOTS_SHOWN = 15
EVENTS_SHOWN = 10


def local(moment: datetime | None, zone: str) -> str:
    """A time in the zone, with its offset: "2026-03-29 03:00 +02:00"."""
    if moment is None:
        return ""
    here = moment.astimezone(ZoneInfo(zone))
    clock = f"{here:%H:%M}" if not here.second and not here.microsecond else f"{here:%H:%M:%S}"
    return f"{here:%Y-%m-%d} {clock} {here.isoformat()[-6:]}"


def next_time(one: ScheduleLine) -> str:
    """The next planned time in the schedule's zone."""
    return "" if one.next is None else local(one.next.at, one.zone)


def rule_words(one: ScheduleLine) -> str:
    """The rule in words, in the reader's language."""
    return one.words[current_language()]


def schedule_table(found: ScheduleList) -> PlainTable:
    """A table with a line for each schedule."""
    table = plain_table("name", "state", "task", "when", "next", "last", "note", rest="note")
    for one in found.schedules:
        table.add_row(
            Text(short(one.name, 40)),
            Text(*state_text(one)),
            Text(short(one.task, 30)),
            Text(short(rule_words(one), 44)),
            Text(next_time(one), "dim" if one.state == "paused" else ""),
            Text(_last(one, found.now)),
            Text(note(one), "yellow"),
        )
    return table


def state_text(one: ScheduleLine | ScheduleDetail) -> tuple[str, str]:
    """The name of a schedule's state and its colour."""
    return tr("names.schedule", name=one.state), COLOURS.get(one.state, "")


def _last(one: ScheduleLine, now: datetime) -> str:
    status = tr("names.state", name=one.last_status) if one.last_status else ""
    if one.last_at is None:
        return status
    return tr("cli.ago", what=status or Message("cli.ran"), span=span(now - one.last_at))


def note(one: ScheduleLine) -> str:
    """What an administrator should know about a schedule."""
    notes = [one.problem] if one.problem else []
    if one.unknown_since is not None:
        notes.append(tr("cli.task-unknown-since", task=one.task, since=local(one.unknown_since, one.zone)))
    if one.paused is not None:
        told = tr("cli.paused-by", who=one.paused.by)
        if one.paused.until:
            told = tr("cli.paused-by-until", who=one.paused.by, until=local(one.paused.until, one.zone))
        notes.append(because(told, one.paused.reason))
    if one.waits_for is not None:
        notes.append(tr("cli.waits-for-job", job=tail(one.waits_for)))
    if one.missed_in_row:
        notes.append(tr("cli.missed-in-a-row", count=one.missed_in_row))
    if one.failures_in_row > 1:
        notes.append(tr("schedules.failures-in-a-row", failures=one.failures_in_row))
    if one.edited:
        notes.append(because(tr("cli.edited-by", who=one.edited_by), ", ".join(one.edited_options)))
    return clean("; ".join(notes))


def missed_table(found: MissedSlots) -> PlainTable:
    """A table of planned times that did not run."""
    table = plain_table("schedule", "planned", "up_to", "why", "in_its_way", rest="why")
    for slot in found.slots:
        zone = slot.zone
        table.add_row(
            Text(short(slot.schedule, 40)), Text(local(slot.planned.at, zone)), Text(local(slot.through, zone)),
            Text(short(slot.reason, 100)), Text(f"…{tail(slot.job)}" if slot.job else ""),
        )  # fmt: skip
    return table


def show_one(session: Session, found: ScheduleDetail) -> None:
    """Print everything about one schedule."""
    session.say((found.name, "bold"), "  ", state_text(found), "  ", (note(found), "yellow"))
    session.console.print(pairs(_facts(found)))
    _show_drift(session, found)
    if found.following:
        session.say("")
        session.say((tr("names.field", name="next"), "bold"))
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
        ("declared_by", tr("names.origin", name=found.origin)),
        ("runs", number(found.runs)),
    ]
    facts += [(name, str(value)) for name, value in options.items() if name != "rule"]
    if found.last_job is not None:
        status = tr("names.state", name=found.last_status) if found.last_status else ""
        facts.append(("last_job", f"{found.last_job}  {status}"))
    return facts


def _rule_text(options: dict[str, Any]) -> str:
    rule = options.get("rule", {})
    return str(rule.get("text") or rule.get("kind") or "")


def _show_drift(session: Session, found: ScheduleDetail) -> None:
    drift = found.drift
    if drift is None:
        return
    session.say("")
    edited = tr("cli.edited-by", who=drift.by)
    session.say((edited, "bold"), (f" {drift.at or ''} {drift.reason or ''}", "dim"))
    for name, change in drift.changes.items():
        session.say(f"  {tr('names.field', name=name)}: ", (_value(name, change.declared), "dim"), " → ", _value(name, change.edited))
    session.say((f"  {tr('cli.take-code')}", "dim"))


def _value(name: str, value: Any) -> str:
    from jobtrail.schedules.rules.rules import Rule
    from jobtrail.schedules.rules.wording import words

    return words(Rule.from_json(value), current_language()) if name == "rule" else clean(str(value))


def _show_slots(session: Session, found: ScheduleDetail) -> None:
    if not found.slots:
        return
    session.say("")
    table = plain_table("planned", "what", "why", "job", rest="why")
    for slot in found.slots[:SLOTS_SHOWN]:
        state = tr("names.state", name=slot.state)
        if slot.through:
            state = tr("cli.up-to", what=state, time=local(slot.through, found.zone))
        colour = "" if slot.state == "submitted" else "yellow"
        table.add_row(
            Text(local(slot.planned.at, found.zone)), Text(state, colour),
            Text(short(slot.reason, 100)), Text(f"…{tail(slot.job)}" if slot.job else ""),
        )  # fmt: skip
    table.show(session.console)


def _show_trail(session: Session, found: ScheduleDetail) -> None:
    session.say("")
    table = plain_table("trail", "what", "who", "why", rest="why")
    for event in found.trail[:EVENTS_SHOWN][::-1]:
        table.add_row(
            Text(local(event.at, found.zone)), Text(tr("names.event", name=event.name)),
            Text(short(tr("names.actor", name=event.actor or ""), 30)), Text(short(event.reason, 100)),
        )  # fmt: skip
    table.show(session.console)
