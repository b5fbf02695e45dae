"""From rows that are due to what is to be done about them: read, compared with the run before, and planned."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jobtrail.store import schedules

from .definition import Definition
from .planner import Plan, Standing, plan

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.job.task import Task, Tasks
    from jobtrail.store.schedules import ScheduleRow

    from .rules.rules import Rule

_log = logging.getLogger("jobtrail.schedules")


@dataclass(slots=True)
class Due:
    """A schedule that is due, and its plan. ``outcome``: how its last job ended, where that is news. ``pausing``: why it pauses now."""

    row: ScheduleRow
    task: Task
    definition: Definition
    standing: Standing
    plan: Plan
    outcome: str | None
    failures: int
    pausing: str | None


@dataclass(frozen=True, slots=True)
class Broken:
    """A schedule that cannot be read or planned, and why."""

    row: ScheduleRow
    why: str


def definition_of(row: ScheduleRow) -> Definition:
    """The definition as it is in force: as declared, with what a person changed.

    Raises: InvalidSchedule, ValueError when what is stored cannot be read.
    """
    return declared_of(row).with_changes(edits_of(row))


def declared_of(row: ScheduleRow) -> Definition:
    """The definition as declared.

    Raises: InvalidSchedule, ValueError when what is stored cannot be read.
    """
    return Definition.from_json(json.loads(row.definition))


def edits_of(row: ScheduleRow) -> dict[str, Any]:
    """What a person changed, as JSON values by word."""
    changes: dict[str, Any] = json.loads(row.edits)["changes"] if row.edits else {}
    return changes


def rule_of(definition: Definition, row: ScheduleRow) -> Rule:
    """The rule, counted from where this schedule counts."""
    return definition.rule.anchored(row.anchor)


class Standings:
    """Reads schedules; what was read once is read again only when it has changed."""

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks
        self._known: dict[str, tuple[int, Definition, Rule]] = {}

    def of(self, conn: Connection, rows: Sequence[ScheduleRow], now: datetime) -> tuple[list[Due], list[Broken]]:
        """What is to be done about each of the rows; and those about which nothing can be."""
        states = schedules.states_of_jobs(conn, [row.last_job for row in rows if row.last_job is not None])
        due: list[Due] = []
        broken: list[Broken] = []
        for row in rows:
            try:
                due.append(self._one(conn, row, states, now))
            except Exception as error:  # a bad row holds up no other one
                broken.append(Broken(row, str(error) or type(error).__name__))
        return due, broken

    def read(self, row: ScheduleRow) -> tuple[Definition, Rule]:
        """Definition and rule of a row.

        Raises: InvalidSchedule, ValueError when what is stored cannot be read.
        """
        known = self._known.get(row.id)
        if known is None or known[0] != row.version:
            definition = definition_of(row)
            known = self._known[row.id] = (row.version, definition, rule_of(definition, row))
        return known[1], known[2]

    def _one(self, conn: Connection, row: ScheduleRow, states: Mapping[str, str], now: datetime) -> Due:
        definition, rule = self.read(row)
        status = states.get(row.last_job) if row.last_job is not None else None
        outcome = status if row.last_outcome is None and status in schedules.ENDED else None
        failures = failures_after(row, outcome)
        limit = definition.pause_after_failures
        if limit is not None and definition.overlap == "allow":
            failures = schedules.failures_in_row(conn, row.id, limit, row.paused_until)
        pausing = pause_reason(row, failures, limit)
        standing = Standing(
            definition=definition,
            rule=rule,
            key=row.id,
            next_at=row.next_at or now,
            runs=row.runs,
            active=row.last_job if status is not None and status not in schedules.ENDED else None,
            held=row.waits_for is not None,
            paused=pausing is not None or _paused_now(row, now),
            paused_from=row.paused_at if pausing is None else row.next_at,
            paused_until=row.paused_until if pausing is None else None,
            unknown=row.unknown_since is not None,
        )
        return Due(row, self._tasks.get(row.task), definition, standing, plan(standing, now), outcome, failures, pausing)


def failures_after(row: ScheduleRow, outcome: str | None) -> int:
    """Failures in a row, when the last job ended so."""
    if outcome == "failed":
        return row.failures_in_row + 1
    return 0 if outcome in {"completed", "partial"} else row.failures_in_row


def pause_reason(row: ScheduleRow, failures: int, limit: int | None) -> str | None:
    """Why a schedule that goes on is to pause."""
    if limit is None or failures < limit or row.state != schedules.ACTIVE:
        return None
    return f"{failures} failures in a row"


def _paused_now(row: ScheduleRow, now: datetime) -> bool:
    return row.state == schedules.PAUSED and (row.paused_until is None or now < row.paused_until)
