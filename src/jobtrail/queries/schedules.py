"""Schedules as people see them: the list, one in detail, missed times, and what a rule means."""

from __future__ import annotations

from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from pydantic import Field

from jobtrail.errors import InvalidSchedule
from jobtrail.job.masking import masked
from jobtrail.messages import LANGUAGES, Message
from jobtrail.schedules.rules.rules import parse_rule
from jobtrail.schedules.rules.wording import words

from .base import ID, MaskedText, Model, parsed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobtrail.schedules.rules.rules import Rule
    from jobtrail.schedules.view import Edited, Schedule
    from jobtrail.store.events import Event
    from jobtrail.store.schedules import Slot

    from .context import QueryContext

TIMES, SLOTS, TRAIL = 20, 50, 50


class PlannedTime(Model):
    """A planned time, in UTC and as the clock of the schedule's zone shows it, with its offset."""

    at: datetime
    local: str = Field(examples=["2026-03-29T03:00:00+02:00"])


class SchedulePause(Model):
    """Who paused it, and why."""

    by: str | None
    reason: MaskedText | None
    at: datetime | None
    until: datetime | None


class ScheduleLine(Model):
    """A schedule as the list shows it."""

    name: str = Field(examples=["sync_weather"])
    id: str = Field(examples=[ID])
    task: str
    task_known: bool = Field(description="A process that is alive, or has lately been, knows the task.")
    state: str = Field(description="active, paused, retired (the program declares it no more) or finished")
    origin: str = Field(description="code, settings, celery, plugin:NAME or person")
    words: dict[str, str] = Field(examples=[{"en": "every day at 03:00 (UTC)", "ru": "каждый день в 03:00 (UTC)"}])
    zone: str
    next: PlannedTime | None
    last_at: datetime | None
    last_job: str | None
    last_status: str | None
    waits_for: str | None = Field(description="The job whose end it waits for.")
    runs: int
    failures_in_row: int
    missed_in_row: int
    paused: SchedulePause | None
    edited: bool = Field(description="A person changed what the program declares.")
    edited_by: str | None
    edited_options: list[str] = Field(description="What they changed.", examples=[["rule"]])
    unknown_since: datetime | None = Field(description="Since when no process knows its task.")
    problem: MaskedText | None = Field(description="Why its definition cannot be read.")


class ScheduleList(Model):
    """All stored schedules, by name."""

    schedules: list[ScheduleLine]
    declared_only: list[str] = Field(description="Declared by the program, and stored when a worker starts.")
    leaders: dict[str, str] = Field(description="Which worker decides about the schedules of which task.")
    now: datetime


class SlotLine(Model):
    """What became of a planned time; with ``through`` of all up to that moment."""

    planned: PlannedTime
    through: datetime | None
    state: str = Field(description="submitted or missed")
    reason: MaskedText | None
    job: str | None = Field(description="What ran it, or what was in its way.")
    at: datetime = Field(description="When that was noted.")


class MissedSlot(SlotLine):
    """A missed time of one of the schedules."""

    schedule: str
    zone: str = Field(description="Of the schedule.")


class MissedSlots(Model):
    """Planned times that did not run, noted last first."""

    slots: list[MissedSlot]


class ScheduleChange(Model):
    """An option of a schedule that a person changed."""

    declared: Any
    edited: Any


class ScheduleDrift(Model):
    """What a person changed of what the program declares."""

    changes: dict[str, ScheduleChange]
    by: str | None
    at: str | None
    reason: MaskedText | None


class ScheduleEvent(Model):
    """An event of a schedule's trail."""

    at: datetime
    name: str = Field(examples=["schedule_paused"])
    actor: str | None
    reason: MaskedText | None
    detail: dict[str, Any]


class ScheduleDetail(ScheduleLine):
    """A schedule in detail. ``definition`` is what is in force; secrets in its args are masked, and may be sent back so."""

    definition: dict[str, Any] | None
    following: list[PlannedTime] = Field(description="The next planned times.")
    slots: list[SlotLine] = Field(description="What became of the last ones, latest first.")
    drift: ScheduleDrift | None
    trail: list[ScheduleEvent] = Field(description="Latest first.")


class RulePreview(Model):
    """What a rule of time means, and its next times."""

    words: dict[str, str]
    zone: str
    following: list[PlannedTime]


# -- reading -----------------------------------------------------------------------------------------


def read_list(context: QueryContext) -> ScheduleList:
    """Read all schedules."""
    found = context.schedules
    return ScheduleList(
        schedules=[ScheduleLine(**_line(one)) for one in found.list()], declared_only=list(found.declared_only()),
        leaders=found.leaders(), now=context.now(),
    )  # fmt: skip


def read_one(context: QueryContext, name: str, times: int = TIMES) -> ScheduleDetail:
    """Read one schedule in detail.

    Args:
        context: the application.
        name: the schedule's name.
        times: how many of its next planned times to return.

    Raises:
        NotFound: if there is no such schedule.
    """
    found = context.schedules
    one, now = found.get(name), context.now()
    marked = context.marked(one.task)
    trail = sorted(found.events(name)[-TRAIL:], key=lambda event: event.id, reverse=True)
    return ScheduleDetail(
        **_line(one),
        definition=None if one.definition is None else masked(one.definition.to_json(), marked),
        following=[planned_time(at, one.zone) for at in one.next(times, now)],
        slots=[SlotLine(**_slot(each, one.zone)) for each in found.slots(name, limit=SLOTS)],
        drift=None if one.drift is None else _drift(one.drift, marked),
        trail=[_event(event, marked) for event in trail],
    )


def read_missed(
    context: QueryContext, *, name: str | None = None, since: datetime | None = None, limit: int = 100
) -> MissedSlots:
    """Read planned times that did not run, noted last first.

    Args:
        context: the application.
        name: of this schedule only.
        since: noted since this moment only.
        limit: how many to return.

    Raises:
        NotFound: if there is no schedule of this name.
    """
    found = context.schedules
    shown = found.list() if name is None else [found.get(name)]
    zones = {one.name: one.zone for one in shown}
    slots = []
    for one, slot in found.missed(since=since, limit=limit, name=name):
        zone = zones.get(one, "UTC")
        slots.append(MissedSlot(**_slot(slot, zone), schedule=one, zone=zone))
    return MissedSlots(slots=slots)


def preview_rule(context: QueryContext, text: str, tz: str | None = None) -> RulePreview:
    """Explain a rule and list its next times.

    Args:
        context: the application.
        text: cron text, ``every 5 minutes`` or ``at 2030-01-31T03:00Z``.
        tz: the zone of the rule; default UTC.

    Raises:
        InvalidSchedule: if the rule cannot be read.
    """
    rule, now = read_rule(text, tz), context.now()
    times = islice(_following(rule.anchored(now), now), TIMES)
    return RulePreview(
        words={language: words(rule, language) for language in LANGUAGES}, zone=rule.zone,
        following=[planned_time(at, rule.zone) for at in times],
    )  # fmt: skip


def read_rule(text: str, tz: str | None) -> Rule:
    """Parse the text of a rule.

    Raises:
        InvalidSchedule: if it cannot be read.
    """
    try:
        return parse_rule(text, tz)
    except OverflowError:
        raise InvalidSchedule(Message("queries.rule-out-of-range", rule=text[:100])) from None


def _following(rule: Rule, now: datetime) -> Iterator[datetime]:
    at = rule.next_after(now)
    while at is not None:
        yield at
        at = rule.next_after(at)


# -- from rows to models -----------------------------------------------------------------------------


def planned_time(at: datetime, zone: str) -> PlannedTime:
    """A planned time in UTC and in a zone."""
    return PlannedTime(at=at, local=at.astimezone(ZoneInfo(zone)).isoformat())


def _line(one: Schedule) -> dict[str, Any]:
    row = one.row
    paused = None
    if row.state == "paused":
        paused = SchedulePause(by=row.paused_by, reason=row.paused_reason, at=row.paused_at, until=row.paused_until)
    return {
        "name": row.name, "id": row.id, "task": row.task, "task_known": row.unknown_since is None, "state": row.state,
        "origin": row.origin, "words": {language: one.in_words(language) for language in LANGUAGES}, "zone": one.zone,
        "next": None if row.next_at is None else planned_time(row.next_at, one.zone), "last_at": row.last_at,
        "last_job": row.last_job, "last_status": one.last_status, "waits_for": row.waits_for, "runs": row.runs,
        "failures_in_row": row.failures_in_row, "missed_in_row": row.missed_in_row, "paused": paused,
        "edited": one.drift is not None, "edited_by": None if one.drift is None else one.drift.by,
        "edited_options": [] if one.drift is None else list(one.drift.changes), "unknown_since": row.unknown_since,
        "problem": one.problem,
    }  # fmt: skip


def _slot(one: Slot, zone: str) -> dict[str, Any]:
    return {
        "planned": planned_time(one.planned_at, zone), "through": one.through, "state": one.state, "reason": one.reason,
        "job": one.job_id, "at": one.at,
    }  # fmt: skip


def _drift(found: Edited, marked: frozenset[str]) -> ScheduleDrift:
    changes = {
        name: ScheduleChange(declared=masked(declared, marked), edited=masked(edited, marked))
        for name, (declared, edited) in found.changes.items()
    }
    return ScheduleDrift(changes=changes, by=found.by, at=found.at, reason=found.reason)


def _event(event: Event, marked: frozenset[str]) -> ScheduleEvent:
    detail = masked(_opened(event.detail), marked)
    return ScheduleEvent(at=event.at, name=event.name, actor=event.actor, reason=event.reason, detail=detail)


def _opened(detail: dict[str, Any]) -> dict[str, Any]:
    """A detail whose values may hold definitions as JSON text."""
    return {name: parsed(value) if _is_object(value) else value for name, value in detail.items()}


def _is_object(value: Any) -> bool:
    return isinstance(value, str) and value.startswith("{")
