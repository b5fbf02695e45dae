"""Maintenance of schedules: end pauses, record ended jobs, note unknown tasks, quarantine, repair after clock changes."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from jobtrail.database import leases
from jobtrail.messages import Message, render
from jobtrail.store import events, schedules
from jobtrail.store.schedules import MISSED, Slot

from .definition import ScheduleDefinition
from .dispatcher import BY
from .leader import PREFIX
from .planner import UNKNOWN, UnreadableSchedule, newest_between
from .rules.rules import Every
from .state import StateReader, failures_after, pause_reason, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection

    from jobtrail.job.task import Tasks
    from jobtrail.store import Store
    from jobtrail.store.schedules import ScheduleRow

    from .rules.rules import Rule

PAGE = 500
BACK = timedelta(seconds=1)  # a clock that goes back by less is only being adjusted
# The span of an ended pause stays in the row: planned times in it are reported as paused.
RESUMED = {"state": schedules.ACTIVE, "paused_by": None, "paused_reason": None, "failures_in_row": 0}
_log = logging.getLogger("jobtrail.schedules")


class Maintenance:
    """Maintains the schedules of one store. Every write is guarded, so several processes may do it at once."""

    def __init__(self, store: Store, tasks: Tasks, lease: float) -> None:
        self._store = store
        self._tasks = tasks
        self._lease = timedelta(seconds=lease)
        self._states = StateReader()

    def run_once(self, tasks: Iterable[str], now: datetime) -> None:
        """Run one turn.

        Args:
            tasks: Names of the tasks with active or paused schedules.
            now: Time of the turn (UTC).

        Raises:
            StoreUnavailable: If the database is not reachable.
        """
        self._end_pauses(now)
        self._settle(now)
        for task in tasks:
            if self._tasks.find(task) is None:
                self._miss_unknown(task, now)

    # -- pauses --------------------------------------------------------------------------------------

    def _end_pauses(self, now: datetime) -> None:
        with self._store.read() as conn:
            over = schedules.whose_pause_is_over(conn, now)
        if over:
            self._store.write(partial(self._end_all, over, now))

    def _end_all(self, over: list[ScheduleRow], now: datetime, conn: Connection) -> None:
        for row in over:
            self._end_pause(conn, row, now)

    def _end_pause(self, conn: Connection, row: ScheduleRow, now: datetime) -> None:
        if schedules.change(conn, row, now, RESUMED):
            self._append_event(conn, row, now, "schedule_resumed", Message("schedules.pause-over").stored)

    # -- jobs that have ended ------------------------------------------------------------------------

    def _settle(self, now: datetime) -> None:
        with self._store.read() as conn:
            ended = schedules.with_ended_runs(conn, PAGE)
        if ended:
            self._store.write(partial(self._settle_all, ended, now))

    def _settle_all(self, ended: list[tuple[ScheduleRow, str]], now: datetime, conn: Connection) -> None:
        for row, outcome in ended:
            self._settle_one(conn, row, outcome, now)

    def _settle_one(self, conn: Connection, row: ScheduleRow, outcome: str, now: datetime) -> None:
        failures = failures_after(row, outcome)
        if not schedules.settle(conn, row, outcome, failures):
            return
        reason = pause_reason(row, failures, self._limit(row))
        if reason is None:
            return
        paused = {"state": schedules.PAUSED, "paused_by": BY, "paused_reason": reason}
        if schedules.change(conn, row, now, {**paused, "paused_at": now, "paused_until": None}):
            _log.warning("the schedule '%s' pauses: %s", row.name, render(reason, "en"))
            self._append_event(conn, row, now, "schedule_paused", reason)

    def _limit(self, row: ScheduleRow) -> int | None:
        try:
            return self._states.definition_and_rule(row)[0].pause_after_failures
        except ValueError:
            return None  # an unreadable schedule is quarantined when it is due

    # -- unknown tasks -------------------------------------------------------------------------------

    def _miss_unknown(self, task: str, now: datetime) -> None:
        """Note missed times of a task that is unknown here and that no process leads for.

        The schedules stay as they are. A process that knows the task later catches up by the schedule's ``catch_up``.
        """
        with self._store.read() as conn:
            led = {name for name, _, _ in leases.everyone(conn, now)}
            rows = [] if PREFIX + task in led else schedules.of_task(conn, task)
        overdue = [row for row in rows if row.next_at is not None and now - row.next_at > self._lease]
        for row in overdue:
            if row.state == schedules.ACTIVE:
                self._store.write(partial(self._miss_one, row, now))

    def _miss_one(self, row: ScheduleRow, now: datetime, conn: Connection) -> None:
        if schedules.miss_the_task(conn, row, now):
            _log.warning("the schedule '%s' asks for the task '%s', which no process knows", row.name, row.task)
            reason = Message("schedules.task-unknown", task=row.task).stored
            self._append_event(conn, row, now, "schedule_without_task", reason)
        read = self._read(conn, row, now)
        if read is None or row.next_at is None:
            return
        noted = schedules.latest_missed_slot(conn, row.id, UNKNOWN)
        came, _, _ = newest_between(read[1], max(row.next_at, noted or row.next_at), now)
        if noted is None:
            came.insert(0, row.next_at)
        missed = [Slot(row.id, one, MISSED, UNKNOWN, None, None, now) for one in came]
        schedules.put_free_slots(conn, self._store.dialect, missed)

    def _read(self, conn: Connection, row: ScheduleRow, now: datetime) -> tuple[ScheduleDefinition, Rule] | None:
        try:
            return self._states.definition_and_rule(row)
        except ValueError as error:
            self._quarantine(conn, row, error, now)
            return None

    # -- unreadable rows -----------------------------------------------------------------------------

    def quarantine(self, one: UnreadableSchedule, now: datetime) -> None:
        """Pause a schedule that cannot be read, with one event; its row stays."""
        self._store.write(lambda conn: self._quarantine(conn, one.row, one.error, now))

    def _quarantine(self, conn: Connection, row: ScheduleRow, error: Exception, now: datetime) -> None:
        reason = unreadable(error)
        values = {"state": schedules.PAUSED, "paused_by": BY, "paused_reason": reason.stored, "paused_at": now}
        if schedules.change(conn, row, now, {**values, "paused_until": None, "due_at": None}):
            _log.error("the schedule '%s' is paused: %s", row.name, reason)
            self._append_event(conn, row, now, "schedule_paused", reason.stored)

    # -- clocks that went back -----------------------------------------------------------------------

    def count_anew(self, tasks: Iterable[str], now: datetime) -> int:
        """Let intervals count from now where the clock went back and they would wait too long.

        Only the leader of these tasks may call it: another process could just have advanced their next times.

        Returns:
            The number of schedules changed.
        """
        with self._store.read() as conn:
            rows = [row for task in tasks for row in schedules.of_task(conn, task)]
        now = max(now, self._store.now())
        far = [row for row in rows if self._waits_too_long(row, now)]
        if far:
            self._store.write(partial(self._count_all, far, now))
        return len(far)

    def _count_all(self, far: list[ScheduleRow], now: datetime, conn: Connection) -> None:
        for row in far:
            self._count_one(conn, row, now)

    def _waits_too_long(self, row: ScheduleRow, now: datetime) -> bool:
        try:
            definition, rule = self._states.definition_and_rule(row)
        except ValueError:
            return False
        if not isinstance(definition.rule, Every) or definition.rule.start is not None or row.next_at is None:
            return False
        return row.next_at - now > definition.rule.interval + BACK and isinstance(rule, Every)

    def _count_one(self, conn: Connection, row: ScheduleRow, now: datetime) -> None:
        definition, _ = self._states.definition_and_rule(row)
        anchor = now.replace(microsecond=max(1, now.microsecond))  # so that no slot of the repeated time is met again
        at = definition.rule.anchored(anchor).next_after(anchor)
        changed = {"anchor": anchor, "next_at": at, "due_at": at}
        if schedules.change(conn, row, now, changed):
            _log.warning("the clock went back; the schedule '%s' counts from now", row.name)

    def _append_event(self, conn: Connection, row: ScheduleRow, now: datetime, name: str, reason: str) -> None:
        line: tuple[Any, ...] = events.note(row.id, now, name, actor=BY, reason=reason, detail={"schedule": row.name})
        events.append(conn, self._store.dialect, [line])


def is_quarantined(row: ScheduleRow) -> bool:
    """Return whether a schedule is paused because its definition could not be read."""
    return row.state == schedules.PAUSED and row.paused_by == BY and row.next_at is not None and row.due_at is None
