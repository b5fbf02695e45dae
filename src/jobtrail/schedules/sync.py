"""Sync: compare declared schedules with stored ones and write only the differences; next times and pauses stay."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from jobtrail.database.wakeup import SCHEDULES
from jobtrail.messages import Message
from jobtrail.store import events, schedules

from .definition import DEFAULTS
from .initial_position import new_row, position_after_change
from .maintenance import RESUMED, is_quarantined
from .state import declared_of, edits_of
from .view import masked_options

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.store import Store
    from jobtrail.store.schedules import ScheduleRow

    from .definition import ScheduleDefinition

PERSON = "person"
DEPLOY = "program"
TRIES = 5
_log = logging.getLogger("jobtrail.schedules")


@dataclass(frozen=True, slots=True)
class DeclaredSchedule:
    """A schedule as the program declares it.

    Args:
        name: Name of the schedule.
        task: Name of the task.
        definition: The definition.
        origin: code, settings, celery or plugin:NAME.
        secret: Names of the arguments that the task masks.

    """

    name: str
    task: str
    definition: ScheduleDefinition
    origin: str
    secret: frozenset[str] = frozenset()

    @property
    def text(self) -> str:
        """Return the definition as stored: JSON with sorted keys."""
        return json.dumps(self.definition.to_json(), sort_keys=True)


@dataclass(frozen=True, slots=True)
class ScheduleUpdate:
    """The columns to write to a stored schedule, and the event for it."""

    row: ScheduleRow
    values: Mapping[str, Any]
    event: str
    detail: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ScheduleDifferences:
    """New schedules, changes of stored ones, and warnings for the log."""

    new: tuple[ScheduleRow, ...] = ()
    changes: tuple[ScheduleUpdate, ...] = ()
    warnings: tuple[Message, ...] = ()

    def __bool__(self) -> bool:
        """Return whether there is anything to write."""
        return bool(self.new or self.changes)


def differences(
    stored: Iterable[ScheduleRow], declared: Iterable[DeclaredSchedule], knows: Callable[[str], bool], now: datetime
) -> ScheduleDifferences:
    """Return what must be written so that the store has what is declared.

    A stored schedule that is not declared is retired only if its task is known: a process that lacks the task cannot
    tell a removed schedule from one in a module it has not loaded.

    Args:
        stored: All rows.
        declared: The schedules of this program.
        knows: Function that returns whether this program has a task of that name.
        now: Current time (UTC).
    """
    rows = {row.name: row for row in stored}
    new: list[ScheduleRow] = []
    changes: list[ScheduleUpdate] = []
    warnings: list[Message] = []
    names = set()
    for one in declared:
        names.add(one.name)
        row = rows.get(one.name)
        if row is None:
            new.append(new_row(one.name, one.task, one.origin, one.definition, one.text, now))
        elif row.origin == PERSON and row.task != one.task:
            warnings.append(Message("schedules.name-of-person", name=one.name, task=row.task))
        else:
            changes += _changed(row, one, now)
    changes += [_retired(row) for row in rows.values() if row.name not in names and _is_gone(row, knows)]
    return ScheduleDifferences(tuple(new), tuple(changes), tuple(warnings))


def _is_gone(row: ScheduleRow, knows: Callable[[str], bool]) -> bool:
    return row.origin != PERSON and row.state in {schedules.ACTIVE, schedules.PAUSED} and knows(row.task)


def _retired(row: ScheduleRow) -> ScheduleUpdate:
    values = {"state": schedules.RETIRED, "next_at": None, "due_at": None, "waits_for": None, "unknown_since": None}
    return ScheduleUpdate(row, values, "schedule_retired", {})


def _changed(row: ScheduleRow, one: DeclaredSchedule, now: datetime) -> list[ScheduleUpdate]:
    """Return the change of a stored schedule that is declared, at most one."""
    back = row.state == schedules.RETIRED
    if not back and (row.definition, row.task, row.origin) == (one.text, one.task, one.origin):
        return []
    before, edits = _read(row)
    if row.origin == PERSON and before is not None:
        edits = _as_edits(before.to_json(), one.definition.to_json())
    left = {name: value for name, value in edits.items() if value != one.definition.to_json().get(name, DEFAULTS[name])}
    after = one.definition.with_changes(left)
    in_force = before.with_changes(edits) if before is not None and row.origin != PERSON else before
    values: dict[str, Any] = {"definition": one.text, "task": one.task, "origin": one.origin}
    values |= {"edits": _edited(row, left), **position_after_change(row, in_force, after, now)}
    if is_quarantined(row):
        values = {**RESUMED, "paused_at": None, "paused_until": None, "due_at": row.next_at, **values}
    detail = {} if row.definition == one.text else {"before": shown(row.definition, one.secret), "after": shown(one.text, one.secret)}
    return [ScheduleUpdate(row, values, "schedule_declared_again" if back else "schedule_changed", detail)]


def shown(text: str, marked: frozenset[str]) -> Any:
    """Return a stored definition for an event, with secrets masked."""
    try:
        return masked_options(json.loads(text), marked)
    except (ValueError, AttributeError):
        return None


def _read(row: ScheduleRow) -> tuple[ScheduleDefinition | None, dict[str, Any]]:
    try:
        return declared_of(row), edits_of(row)
    except (ValueError, KeyError, TypeError):
        return None, {}  # an unreadable row is overwritten


def _as_edits(stored: Mapping[str, Any], declared: Mapping[str, Any]) -> dict[str, Any]:
    """Return a person's own schedule as edits of what the program declares now."""
    words = {*stored, *declared}
    return {name: stored.get(name, DEFAULTS[name]) for name in words if stored.get(name) != declared.get(name)}


def _edited(row: ScheduleRow, left: Mapping[str, Any]) -> str | None:
    if not left:
        return None
    stored = json.loads(row.edits) if row.edits else {"by": PERSON, "at": row.created_at.isoformat()}
    return json.dumps({**stored, "changes": dict(left)})


# -- writing -----------------------------------------------------------------------------------------


def sync(store: Store, declared: Iterable[DeclaredSchedule], knows: Callable[[str], bool], now: datetime) -> ScheduleDifferences:
    """Write the differences and return them. Several processes may do it at once.

    Raises:
        StoreUnavailable: If the database is not reachable.
    """
    given = list(declared)
    found = ScheduleDifferences()
    for _ in range(TRIES):
        with store.read() as conn:
            found = differences(schedules.everyone(conn), given, knows, now)
        if not found or store.write(partial(_write, store, found, now)):
            break
    for warning in found.warnings:
        _log.warning("%s", warning)
    return found


def _write(store: Store, found: ScheduleDifferences, now: datetime, conn: Connection) -> bool:
    """Return False where another process wrote some of it first; then the caller compares again."""
    stored = schedules.add(conn, store.dialect, found.new)
    written = [one for one in found.changes if schedules.change(conn, one.row, now, one.values)]
    lines = [_event(row, now, "schedule_added", {}) for row in found.new if row.id in stored]
    lines += [_event(one.row, now, one.event, one.detail) for one in written]
    events.append(conn, store.dialect, lines)
    store.wake.need(SCHEDULES)
    return len(stored) == len(found.new) and len(written) == len(found.changes)


def _event(row: ScheduleRow, now: datetime, name: str, detail: Mapping[str, Any]) -> tuple[Any, ...]:
    return events.note(row.id, now, name, actor=DEPLOY, detail={"schedule": row.name, **detail})
