"""The state of one schedule: read from its row and compared with its last job, ready for the planner."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jobtrail.errors import JobTrailError
from jobtrail.messages import Message
from jobtrail.store import schedules

from .definition import ScheduleDefinition
from .rules.rules import jittered

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.store.schedules import ScheduleRow

    from .rules.rules import Rule


@dataclass(frozen=True, slots=True)
class ScheduleState:
    """Everything the planner needs to know about one schedule.

    Args:
        definition: The definition in force.
        rule: Its rule, with a start.
        key: Seed of the jitter, the id of the schedule.
        next_at: The first planned time that is not handled yet.
        runs: Number of runs so far.
        active: Id of the last job while that job has not ended.
        held: ``next_at`` is already waiting for the active job.
        paused: The schedule is paused now.
        paused_from: Start of its last pause.
        paused_until: End of its last pause.
        unknown: No process knew its task.

    """

    definition: ScheduleDefinition
    rule: Rule
    key: str
    next_at: datetime
    runs: int = 0
    active: str | None = None
    held: bool = False
    paused: bool = False
    paused_from: datetime | None = None
    paused_until: datetime | None = None
    unknown: bool = False

    def due(self, planned: datetime) -> datetime:
        """Return the moment at which a planned time runs: the time plus the jitter."""
        return jittered(planned, self.definition.jitter, self.key)

    def first_after(self, moment: datetime) -> datetime | None:
        """Return the first planned time after a moment, or None when the schedule ends before it."""
        return self.before_end(self.rule.next_after(moment))

    def before_end(self, planned: datetime | None) -> datetime | None:
        """Return a planned time, or None when it lies after ``ends_at``."""
        ends = self.definition.ends_at
        return None if planned is None or (ends is not None and planned > ends) else planned


@dataclass(frozen=True, slots=True)
class LastRun:
    """The last job of a schedule, as it affects the schedule now.

    Args:
        outcome: How the job ended; None if that is recorded already or the job has not ended.
        failures: Number of failed jobs in a row.
        pausing: Why the schedule must pause because of them, as stored; None if it need not.

    """

    outcome: str | None
    failures: int
    pausing: str | None


# -- reading a row -----------------------------------------------------------------------------------


def definition_of(row: ScheduleRow) -> ScheduleDefinition:
    """Return the definition in force: the declared one with the edits of a person.

    Raises:
        InvalidSchedule, ValueError: If the stored JSON cannot be read.
    """
    return declared_of(row).with_changes(edits_of(row))


def declared_of(row: ScheduleRow) -> ScheduleDefinition:
    """Return the definition as declared.

    Raises:
        InvalidSchedule, ValueError: If the stored JSON cannot be read.
    """
    return ScheduleDefinition.from_json(json.loads(row.definition))


def edits_of(row: ScheduleRow) -> dict[str, Any]:
    """Return the options that a person changed, as JSON values."""
    changes: dict[str, Any] = json.loads(row.edits)["changes"] if row.edits else {}
    return changes


def unreadable(error: Exception) -> Message:
    """Return the message for a definition that cannot be read."""
    known = isinstance(error, JobTrailError)
    return Message("schedules.unreadable", error=error if known else (str(error) or type(error).__name__)[:300])


def rule_of(definition: ScheduleDefinition, row: ScheduleRow) -> Rule:
    """Return the rule, counted from the anchor of this schedule."""
    return definition.rule.anchored(row.anchor)


class StateReader:
    """Builds states from rows. A definition is parsed once for each version of its row."""

    def __init__(self) -> None:
        self._parsed: dict[str, tuple[int, ScheduleDefinition, Rule]] = {}

    def definition_and_rule(self, row: ScheduleRow) -> tuple[ScheduleDefinition, Rule]:
        """Return definition and anchored rule of a row.

        Raises:
            InvalidSchedule, ValueError: If the stored JSON cannot be read.
        """
        known = self._parsed.get(row.id)
        if known is None or known[0] != row.version:
            definition = definition_of(row)
            known = self._parsed[row.id] = (row.version, definition, rule_of(definition, row))
        return known[1], known[2]

    def read(
        self, conn: Connection, row: ScheduleRow, job_states: Mapping[str, str], now: datetime
    ) -> tuple[ScheduleState, LastRun]:
        """Return the state of a schedule and what its last job means for it.

        Args:
            conn: Connection, for the outcomes of earlier jobs.
            row: The schedule.
            job_states: Status of the last jobs, by job id.
            now: Time of the turn (UTC).

        Raises:
            InvalidSchedule, ValueError: If the stored JSON cannot be read.
        """
        definition, rule = self.definition_and_rule(row)
        status = job_states.get(row.last_job) if row.last_job is not None else None
        last = self._last_run(conn, row, definition, status)
        state = ScheduleState(
            definition=definition,
            rule=rule,
            key=row.id,
            next_at=row.next_at or now,
            runs=row.runs,
            active=row.last_job if status is not None and status not in schedules.ENDED else None,
            held=row.waits_for is not None,
            paused=last.pausing is not None or _is_paused(row, now),
            paused_from=row.paused_at if last.pausing is None else row.next_at,
            paused_until=row.paused_until if last.pausing is None else None,
            unknown=row.unknown_since is not None,
        )
        return state, last

    def _last_run(
        self, conn: Connection, row: ScheduleRow, definition: ScheduleDefinition, status: str | None
    ) -> LastRun:
        outcome = status if row.last_outcome is None and status in schedules.ENDED else None
        failures = failures_after(row, outcome)
        limit = definition.pause_after_failures
        if limit is not None and definition.overlap == "allow":
            failures = schedules.failures_in_row(conn, row.id, limit, row.paused_until)
        return LastRun(outcome, failures, pause_reason(row, failures, limit))


def failures_after(row: ScheduleRow, outcome: str | None) -> int:
    """Return the number of failures in a row once the last job ended with ``outcome``."""
    if outcome == "failed":
        return row.failures_in_row + 1
    return 0 if outcome in {"completed", "partial"} else row.failures_in_row


def pause_reason(row: ScheduleRow, failures: int, limit: int | None) -> str | None:
    """Return why an active schedule must pause, or None."""
    if limit is None or failures < limit or row.state != schedules.ACTIVE:
        return None
    return Message("schedules.failures-in-a-row", failures=failures).stored


def _is_paused(row: ScheduleRow, now: datetime) -> bool:
    return row.state == schedules.PAUSED and (row.paused_until is None or now < row.paused_until)
