"""What is declared, compared with what is stored: only differences are written, and no next time or pause is lost."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from jobtrail.database.wakeup import SCHEDULES
from jobtrail.store import events, schedules

from .definition import DEFAULTS
from .initial_position import moved, new_row
from .maintenance import QUARANTINE, RESUMED
from .state import declared_of, edits_of
from .view import masked_words

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.store import Store
    from jobtrail.store.schedules import ScheduleRow

    from .definition import Definition

PERSON = "person"
DEPLOY = "program"
TRIES = 5
_log = logging.getLogger("jobtrail.schedules")


@dataclass(frozen=True, slots=True)
class Declared:
    """A schedule as the program has it; ``origin`` is code, settings, celery or plugin:NAME. secret: what its task hides."""

    name: str
    task: str
    definition: Definition
    origin: str
    secret: frozenset[str] = frozenset()

    @property
    def text(self) -> str:
        """The definition as it is stored."""
        return json.dumps(self.definition.to_json(), sort_keys=True)


@dataclass(frozen=True, slots=True)
class Change:
    """What is written about a stored schedule, and the line in its trail."""

    row: ScheduleRow
    values: Mapping[str, Any]
    event: str
    detail: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Differences:
    """New schedules, changes of stored ones, and what somebody should know."""

    new: tuple[ScheduleRow, ...] = ()
    changes: tuple[Change, ...] = ()
    warnings: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Is there anything to write?"""
        return bool(self.new or self.changes)


def differences(
    stored: Iterable[ScheduleRow], declared: Iterable[Declared], knows: Callable[[str], bool], now: datetime
) -> Differences:
    """What has to be written so that the store has what is declared.

    A stored schedule that is not declared is retired only where its task is known (``knows``): a process that lacks
    the task cannot tell what was removed from what it has not loaded.
    """
    rows = {row.name: row for row in stored}
    new: list[ScheduleRow] = []
    changes: list[Change] = []
    warnings: list[str] = []
    names = set()
    for one in declared:
        names.add(one.name)
        row = rows.get(one.name)
        if row is None:
            new.append(new_row(one.name, one.task, one.origin, one.definition, one.text, now))
        elif row.origin == PERSON and row.task != one.task:
            warnings.append(f"the schedule '{one.name}' is not used: a person has added one of this name for '{row.task}'")
        else:
            changes += _changed(row, one, now)
    changes += [_retired(row) for row in rows.values() if row.name not in names and _is_gone(row, knows)]
    return Differences(tuple(new), tuple(changes), tuple(warnings))


def _is_gone(row: ScheduleRow, knows: Callable[[str], bool]) -> bool:
    return row.origin != PERSON and row.state in {schedules.ACTIVE, schedules.PAUSED} and knows(row.task)


def _retired(row: ScheduleRow) -> Change:
    values = {"state": schedules.RETIRED, "next_at": None, "due_at": None, "waits_for": None, "unknown_since": None}
    return Change(row, values, "schedule_retired", {})


def _changed(row: ScheduleRow, one: Declared, now: datetime) -> list[Change]:
    """At most one change of a stored schedule that is declared."""
    back = row.state == schedules.RETIRED
    if not back and (row.definition, row.task, row.origin) == (one.text, one.task, one.origin):
        return []
    before, edits = _read(row)
    if row.origin == PERSON and before is not None:
        edits = _beside(before.to_json(), one.definition.to_json())
    left = {name: value for name, value in edits.items() if value != one.definition.to_json().get(name, DEFAULTS[name])}
    after = one.definition.with_changes(left)
    in_force = before.with_changes(edits) if before is not None and row.origin != PERSON else before
    values: dict[str, Any] = {"definition": one.text, "task": one.task, "origin": one.origin}
    values |= {"edits": _edited(row, left), **moved(row, in_force, after, now)}
    if (row.paused_reason or "").startswith(QUARANTINE):
        values = {**RESUMED, "paused_at": None, "paused_until": None, "due_at": row.next_at, **values}
    detail = {} if row.definition == one.text else {"before": shown(row.definition, one.secret), "after": shown(one.text, one.secret)}
    return [Change(row, values, "schedule_declared_again" if back else "schedule_changed", detail)]


def shown(text: str, marked: frozenset[str]) -> Any:
    """A stored definition for the trail, with secrets masked."""
    try:
        return masked_words(json.loads(text), marked)
    except (ValueError, AttributeError):
        return None


def _read(row: ScheduleRow) -> tuple[Definition | None, dict[str, Any]]:
    try:
        return declared_of(row), edits_of(row)
    except (ValueError, KeyError, TypeError):
        return None, {}  # it is written anew


def _beside(his: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
    """What a person had made himself, as changes of what the program declares now."""
    words = {*his, *ours}
    return {name: his.get(name, DEFAULTS[name]) for name in words if his.get(name) != ours.get(name)}


def _edited(row: ScheduleRow, left: Mapping[str, Any]) -> str | None:
    if not left:
        return None
    told = json.loads(row.edits) if row.edits else {"by": PERSON, "at": row.created_at.isoformat()}
    return json.dumps({**told, "changes": dict(left)})


# -- writing -----------------------------------------------------------------------------------------


def sync(store: Store, declared: Iterable[Declared], knows: Callable[[str], bool], now: datetime) -> Differences:
    """Write the differences; several processes may do it at once. What was written.

    Raises: StoreUnavailable.
    """
    given = list(declared)
    found = Differences()
    for _ in range(TRIES):
        with store.read() as conn:
            found = differences(schedules.everyone(conn), given, knows, now)
        if not found or store.write(partial(_write, store, found, now)):
            break
    for warning in found.warnings:
        _log.warning("%s", warning)
    return found


def _write(store: Store, found: Differences, now: datetime, conn: Connection) -> bool:
    """False where another process was quicker with some of it: then the rest is looked at anew."""
    stored = schedules.add(conn, store.dialect, found.new)
    written = [one for one in found.changes if schedules.change(conn, one.row, now, one.values)]
    lines = [_line(row, now, "schedule_added", {}) for row in found.new if row.id in stored]
    lines += [_line(one.row, now, one.event, one.detail) for one in written]
    events.append(conn, store.dialect, lines)
    store.wake.need(SCHEDULES)
    return len(stored) == len(found.new) and len(written) == len(found.changes)


def _line(row: ScheduleRow, now: datetime, name: str, detail: Mapping[str, Any]) -> tuple[Any, ...]:
    return events.note(row.id, now, name, actor=DEPLOY, detail={"schedule": row.name, **detail})
