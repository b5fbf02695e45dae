"""Where a new or changed schedule stands: what it counts from, and its next time, which a change must not lose."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from jobtrail.job.ids import new_id
from jobtrail.store import schedules
from jobtrail.store.schedules import ScheduleRow

from .planner import Standing, first_after
from .rules.rules import jittered

if TYPE_CHECKING:
    from .definition import Definition


@dataclass(frozen=True, slots=True)
class Place:
    """What a schedule counts from, its next planned time, and when that is due."""

    anchor: datetime
    next_at: datetime | None
    due_at: datetime | None

    def values(self) -> dict[str, Any]:
        """As columns."""
        return {"anchor": self.anchor, "next_at": self.next_at, "due_at": self.due_at}


def new_row(name: str, task: str, origin: str, definition: Definition, text: str, now: datetime) -> ScheduleRow:
    """A schedule that is stored for the first time: it counts from this second on."""
    identity = new_id()
    place = placed(definition, identity, now.replace(microsecond=0), now)
    return ScheduleRow(
        id=identity, name=name, task=task, definition=text, edits=None, origin=origin,
        state=schedules.ACTIVE if place.next_at else schedules.FINISHED,
        paused_by=None, paused_reason=None, paused_at=None, paused_until=None,
        anchor=place.anchor, next_at=place.next_at, due_at=place.due_at, waits_for=None, unknown_since=None,
        last_at=None, last_job=None, last_outcome=None, runs=0, failures_in_row=0, missed_in_row=0,
        version=1, created_at=now, changed_at=now,
    )  # fmt: skip


def placed(definition: Definition, key: str, anchor: datetime, now: datetime) -> Place:
    """The first time after now, counted from ``anchor``."""
    standing = Standing(definition, definition.rule.anchored(anchor), key, now)
    following = first_after(standing, now)
    return Place(anchor, following, standing.due(following) if following else None)


def moved(row: ScheduleRow, before: Definition | None, after: Definition, now: datetime) -> dict[str, Any]:
    """The columns that change with the definition.

    A time that has come and that nothing was done about stays. The next one stays where the rule is the same; another
    rule counts on from the last run, so that a deploy every day does not put a weekly run off for ever.
    """
    if row.next_at is not None and row.next_at <= now:
        return {}
    same_rule = before is not None and before.rule == after.rule
    if same_rule and row.next_at is not None:
        over = after.ends_at is not None and row.next_at > after.ends_at
        return _ended() if over else {"due_at": jittered(row.next_at, after.jitter, row.id)}
    place = placed(after, row.id, row.anchor if same_rule else row.last_at or row.anchor, now)
    if place.next_at is None or (after.max_runs is not None and row.runs >= after.max_runs):
        return {**_ended(), "anchor": place.anchor}
    return {**place.values(), "waits_for": None, **_going_on(row)}


def _ended() -> dict[str, Any]:
    return {"next_at": None, "due_at": None, "state": schedules.FINISHED}


def _going_on(row: ScheduleRow) -> dict[str, Any]:
    """A schedule that was over goes on; one that was paused before it was retired is paused again."""
    if row.state in {schedules.FINISHED, schedules.RETIRED}:
        return {"state": schedules.PAUSED if row.paused_by else schedules.ACTIVE}
    return {}
