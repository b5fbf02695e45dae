"""The initial position of a new or changed schedule: its anchor and its next time, which a change must not lose."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from jobtrail.job.model import new_id
from jobtrail.store import schedules
from jobtrail.store.schedules import ScheduleRow

from .rules.rules import jittered
from .state import ScheduleState

if TYPE_CHECKING:
    from .definition import ScheduleDefinition


@dataclass(frozen=True, slots=True)
class InitialPosition:
    """The anchor from which a schedule counts, its next planned time, and when that is due (with jitter)."""

    anchor: datetime
    next_at: datetime | None
    due_at: datetime | None

    def values(self) -> dict[str, Any]:
        """Return the position as columns."""
        return {"anchor": self.anchor, "next_at": self.next_at, "due_at": self.due_at}


def new_row(name: str, task: str, origin: str, definition: ScheduleDefinition, text: str, now: datetime) -> ScheduleRow:
    """Return the row of a new schedule, which counts from this second."""
    identity = new_id()
    position = initial_position(definition, identity, now.replace(microsecond=0), now)
    return ScheduleRow(
        id=identity, name=name, task=task, definition=text, edits=None, origin=origin,
        state=schedules.ACTIVE if position.next_at else schedules.FINISHED,
        paused_by=None, paused_reason=None, paused_at=None, paused_until=None,
        anchor=position.anchor, next_at=position.next_at, due_at=position.due_at, waits_for=None, unknown_since=None,
        last_at=None, last_job=None, last_outcome=None, runs=0, failures_in_row=0, missed_in_row=0,
        version=1, created_at=now, changed_at=now,
    )  # fmt: skip


def initial_position(definition: ScheduleDefinition, key: str, anchor: datetime, now: datetime) -> InitialPosition:
    """Return the position at the first planned time after ``now``, counted from ``anchor``."""
    state = ScheduleState(definition, definition.rule.anchored(anchor), key, now)
    following = state.first_after(now)
    return InitialPosition(anchor, following, state.due(following) if following else None)


def position_after_change(row: ScheduleRow, before: ScheduleDefinition | None, after: ScheduleDefinition, now: datetime) -> dict[str, Any]:
    """Return the columns that change with the definition.

    A planned time that is reached and not handled yet stays. With the same rule the next time stays too. A new rule
    counts from the last run, so that a deploy every day cannot postpone a weekly run for ever.
    """
    if row.next_at is not None and row.next_at <= now:
        return {}
    same_rule = before is not None and before.rule == after.rule
    if same_rule and row.next_at is not None:
        over = after.ends_at is not None and row.next_at > after.ends_at
        return _finished() if over else {"due_at": jittered(row.next_at, after.jitter, row.id)}
    position = initial_position(after, row.id, row.anchor if same_rule else row.last_at or row.anchor, now)
    if position.next_at is None or (after.max_runs is not None and row.runs >= after.max_runs):
        return {**_finished(), "anchor": position.anchor}
    return {**position.values(), "waits_for": None, **_reactivated(row)}


def _finished() -> dict[str, Any]:
    return {"next_at": None, "due_at": None, "state": schedules.FINISHED}


def _reactivated(row: ScheduleRow) -> dict[str, Any]:
    """Reactivate a finished schedule; one that was paused before it was retired is paused again."""
    if row.state in {schedules.FINISHED, schedules.RETIRED}:
        return {"state": schedules.PAUSED if row.paused_by else schedules.ACTIVE}
    return {}
