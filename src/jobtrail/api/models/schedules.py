"""What is answered about schedules: the list, one whole, and the times that were missed."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from pydantic import Field

from jobtrail.job.masking import masked
from jobtrail.queries.base import ID, Model, masked_text, parsed
from jobtrail.schedules.rules.wording import LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jobtrail.schedules.view import Edited, Schedule
    from jobtrail.store.events import Event
    from jobtrail.store.schedules import Slot


class Moment(Model):
    """A planned time, in UTC and as the clock of the schedule's zone shows it, with its offset."""

    at: datetime
    local: str = Field(examples=["2026-03-29T03:00:00+02:00"])


class Paused(Model):
    """Who paused it, and why."""

    by: str | None
    reason: str | None
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
    next: Moment | None
    last_at: datetime | None
    last_job: str | None
    last_status: str | None
    waits_for: str | None = Field(description="The job whose end it waits for.")
    runs: int
    failures_in_row: int
    missed_in_row: int
    paused: Paused | None
    edited: bool = Field(description="A person changed what the program declares.")
    problem: str | None = Field(description="Why its definition cannot be read.")


class ScheduleList(Model):
    """All stored schedules, by name."""

    schedules: list[ScheduleLine]
    declared_only: list[str] = Field(description="Declared by the program, and stored when a worker starts.")
    leaders: dict[str, str] = Field(description="Which worker decides about the schedules of which task.")
    now: datetime


class SlotShape(Model):
    """What became of a planned time; with ``through`` of all up to that moment."""

    planned: Moment
    through: datetime | None
    state: str = Field(description="submitted or missed")
    reason: str | None
    job: str | None = Field(description="What ran it, or what was in its way.")
    at: datetime = Field(description="When that was noted.")


class MissedSlot(SlotShape):
    """A missed time of one of the schedules."""

    schedule: str


class Missed(Model):
    """Planned times that did not run, noted last first."""

    slots: list[MissedSlot]


class Change(Model):
    """A word of a schedule that a person changed."""

    declared: Any
    edited: Any


class Drift(Model):
    """What a person changed of what the program declares."""

    changes: dict[str, Change]
    by: str | None
    at: str | None
    reason: str | None


class Line(Model):
    """A line of a schedule's trail."""

    at: datetime
    name: str = Field(examples=["schedule_paused"])
    actor: str | None
    reason: str | None
    detail: dict[str, Any]


class ScheduleShape(ScheduleLine):
    """A schedule whole. ``definition`` is what is in force; secrets in its args are masked, and may be sent back so."""

    definition: dict[str, Any] | None
    following: list[Moment] = Field(description="The next planned times.")
    slots: list[SlotShape] = Field(description="What became of the last ones, latest first.")
    drift: Drift | None
    trail: list[Line] = Field(description="Latest first.")


class RuleShape(Model):
    """What a rule of time means."""

    words: dict[str, str]
    zone: str
    following: list[Moment]


def moment(at: datetime, zone: str) -> Moment:
    """A planned time."""
    return Moment(at=at, local=at.astimezone(ZoneInfo(zone)).isoformat())


def line(one: Schedule) -> ScheduleLine:
    """A line of the list."""
    return ScheduleLine(**_line(one))


def _line(one: Schedule) -> dict[str, Any]:
    row = one.row
    paused = None
    if row.state == "paused":
        paused = Paused(by=row.paused_by, reason=masked_text(row.paused_reason), at=row.paused_at, until=row.paused_until)
    return {
        "name": row.name, "id": row.id, "task": row.task, "task_known": row.unknown_since is None, "state": row.state,
        "origin": row.origin, "words": {language: one.in_words(language) for language in LANGUAGES}, "zone": one.zone,
        "next": None if row.next_at is None else moment(row.next_at, one.zone), "last_at": row.last_at,
        "last_job": row.last_job, "last_status": one.last_status, "waits_for": row.waits_for, "runs": row.runs,
        "failures_in_row": row.failures_in_row, "missed_in_row": row.missed_in_row, "paused": paused,
        "edited": one.drift is not None, "problem": masked_text(one.problem),
    }  # fmt: skip


def slot(one: Slot, zone: str) -> SlotShape:
    """What became of a planned time."""
    return SlotShape(**_slot(one, zone))


def missed(name: str, one: Slot, zone: str) -> MissedSlot:
    """The same, of one of the schedules."""
    return MissedSlot(**_slot(one, zone), schedule=name)


def _slot(one: Slot, zone: str) -> dict[str, Any]:
    return {
        "planned": moment(one.planned_at, zone), "through": one.through, "state": one.state, "reason": masked_text(one.reason),
        "job": one.job_id, "at": one.at,
    }  # fmt: skip


def schedule(
    one: Schedule, marked: frozenset[str], times: Iterable[datetime], slots: Iterable[Slot], trail: Iterable[Event]
) -> ScheduleShape:
    """A schedule whole."""
    return ScheduleShape(
        **_line(one),
        definition=None if one.definition is None else masked(one.definition.to_json(), marked),
        following=[moment(at, one.zone) for at in times],
        slots=[slot(each, one.zone) for each in slots],
        drift=None if one.drift is None else _drift(one.drift, marked),
        trail=[_trail(event, marked) for event in sorted(trail, key=lambda event: event.id, reverse=True)],
    )


def _drift(found: Edited, marked: frozenset[str]) -> Drift:
    changes = {
        name: Change(declared=masked(ours, marked), edited=masked(his, marked))
        for name, (ours, his) in found.changes.items()
    }
    return Drift(changes=changes, by=found.by, at=found.at, reason=masked_text(found.reason))


def _trail(event: Event, marked: frozenset[str]) -> Line:
    return Line(
        at=event.at,
        name=event.name,
        actor=event.actor,
        reason=masked_text(event.reason),
        detail=_detail(event.detail, marked),
    )


def _detail(detail: dict[str, Any], marked: frozenset[str]) -> dict[str, Any]:
    """Definitions may stand in it as JSON text."""
    found: dict[str, Any] = masked({name: _opened(value) for name, value in detail.items()}, marked)
    return found


def _opened(value: Any) -> Any:
    return parsed(value) if isinstance(value, str) and value.startswith("{") else value
