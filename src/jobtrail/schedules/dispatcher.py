"""The dispatcher: write planned runs to the store, with jobs, slots, next times and events in one transaction."""

from __future__ import annotations

import contextlib
import logging
from collections import defaultdict
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from json import dumps, loads
from typing import TYPE_CHECKING, Any

from jobtrail.commands import submit
from jobtrail.commands.rerun import cancel
from jobtrail.commands.submit import Prepared
from jobtrail.commands.using import Using
from jobtrail.database import leases
from jobtrail.errors import Conflict, DuplicateRow, JobTrailError, NotFound, StoreUnavailable
from jobtrail.job.model import new_id
from jobtrail.job.period import periods_from_rule
from jobtrail.messages import Message
from jobtrail.store import events, schedules, submissions
from jobtrail.store.schedules import MISSED, SUBMITTED, Slot

from .celery_task import for_celery
from .planner import COMPLETE, OVERLAP, PAUSED, UNKNOWN, MissedTime

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.commands.service import Service
    from jobtrail.job.model import NewJob, Submitted
    from jobtrail.job.task import Task

    from .definition import ScheduleDefinition
    from .leader import Leader
    from .planner import DueSchedule

CHUNK = 500  # slots in one transaction, so that other writers do not wait long
PUT_OFF = timedelta(seconds=10)  # for a schedule that cannot be written
BY = "scheduler"
_log = logging.getLogger("jobtrail.schedules")


@dataclass(slots=True)
class DispatchResult:
    """What a turn wrote: the numbers of submitted jobs and missed slots, and whether another process now leads (``lost``)."""

    submitted: int = 0
    missed: int = 0
    lost: bool = False


@dataclass(slots=True)
class _Dispatch:
    """One schedule that is being written.

    Args:
        due: The schedule and its plan.
        prepared: The submission for each planned time.
        missed: Planned times that do not run.
        done: The slots that were written.
        busy: A job is in the way, so the schedule is due again in the next turn.

    """

    due: DueSchedule
    prepared: list[tuple[datetime, Prepared]] = field(default_factory=list)
    missed: list[MissedTime] = field(default_factory=list)
    done: list[Slot] = field(default_factory=list)
    busy: bool = False

    @property
    def size(self) -> int:
        return len(self.prepared) + len(self.missed) + 1

    @property
    def pairs(self) -> list[tuple[str, datetime]]:
        times = [*(planned for planned, _ in self.prepared), *(one.planned for one in self.missed)]
        return [(self.due.row.id, planned) for planned in times]


def using_of(definition: ScheduleDefinition, name: str, planned: datetime) -> Using:
    """Return the submission options of a planned time, which decides the period."""
    period = periods_from_rule(definition.period, planned, definition.rule.zone) if definition.period else None
    return Using(
        source=definition.source,
        period=period,
        labels=definition.labels or None,
        queue=definition.queue,
        priority=definition.priority,
        run_at=planned + timedelta(seconds=definition.delay) if definition.delay else None,
        if_active="queue" if definition.overlap == "queue" else "raise",
        if_done=definition.if_done,
        actor=f"schedule:{name}",
    )


def for_slot(prepared: Prepared, planned: datetime) -> Prepared:
    """Return a copy of a submission with a new job id and the planned time as its slot."""
    options = loads(prepared.new.options) if prepared.new.options else {}
    text = dumps({**options, "slot": planned.isoformat()})
    return Prepared(replace(prepared.new, id=new_id(), options=text), prepared.rules, prepared.plain)


class Dispatcher:
    """Writes plans to the store, as long as this process leads."""

    def __init__(self, service: Service, leader: Leader) -> None:
        self._service = service
        self._leader = leader
        self._templates: dict[str, tuple[int, Task, Prepared]] = {}
        self._cancelled: set[str] = set()
        self._logged: set[str] = set()

    def dispatch(self, due: Sequence[DueSchedule], now: datetime) -> DispatchResult:
        """Write all plans, a few hundred slots in one transaction.

        Raises:
            StoreUnavailable: If the database is not reachable; what is not written is due again in the next turn.
        """
        result = DispatchResult()
        for chunk in _chunks([self._prepare(one) for one in due]):
            self._write_chunk(chunk, now, result)
            if result.lost:
                self._leader.lost()
                return result
        for one in due:
            self._cancel(one)
        return result

    # -- what is submitted ---------------------------------------------------------------------------

    def _prepare(self, due: DueSchedule) -> _Dispatch:
        dispatch = _Dispatch(due, missed=list(due.plan.missed))
        for planned in due.plan.fires:
            try:
                prepared = self._service.carried_on(self._submission(due, planned))
                dispatch.prepared.append((planned, prepared))
            except (JobTrailError, ValueError) as error:  # a wrong argument, or a period out of range
                why = error if isinstance(error, JobTrailError) else str(error)[:300]
                dispatch.missed.append(MissedTime(planned, Message("schedules.slot-refused", error=why).stored))
        return dispatch

    def _submission(self, due: DueSchedule, planned: datetime) -> Prepared:
        definition = due.state.definition
        if definition.period is not None or definition.delay:
            return for_slot(self._checked(due, planned), planned)
        known = self._templates.get(due.row.id)
        if known is None or known[0] != due.row.version or known[1] is not due.task:
            known = self._templates[due.row.id] = (due.row.version, due.task, self._checked(due, planned))
        return for_slot(known[2], planned)

    def _checked(self, due: DueSchedule, planned: datetime) -> Prepared:
        service, definition = self._service, due.state.definition
        args = due.task.signature.accept(due.task.name, (), definition.args)
        using = using_of(definition, due.row.name, planned)
        prepared = submit.prepare(due.task, args, using, service.settings, service.store.now(), service.submitter)
        return for_celery(prepared, definition)

    # -- one transaction -----------------------------------------------------------------------------

    def _write_chunk(
        self, chunk: list[_Dispatch], now: datetime, result: DispatchResult, *, check_slots: bool = False
    ) -> None:
        """Write some schedules. ``check_slots`` reads the existing slots first, needed only after a key conflict."""
        try:
            written = self._service.store.write(partial(self._write, chunk, now, check_slots=check_slots))
        except StoreUnavailable:
            raise
        except DuplicateRow as error:
            if check_slots:
                self._write_each(chunk, now, result, error)
            else:
                self._write_chunk(chunk, now, result, check_slots=True)
            return
        except Exception as error:
            self._write_each(chunk, now, result, error)
            return
        if written is None:
            result.lost = True
            return
        for one in written:
            result.submitted += sum(slot.state == SUBMITTED for slot in one.done)
            result.missed += sum(slot.state == MISSED for slot in one.done)

    def _write_each(self, chunk: list[_Dispatch], now: datetime, result: DispatchResult, error: Exception) -> None:
        """Write each schedule alone, so that a bad one does not stop the others; put off the one that fails."""
        if len(chunk) > 1:
            for one in chunk:
                self._write_chunk([one], now, result, check_slots=True)
            return
        row = chunk[0].due.row
        if row.name not in self._logged:
            _log.error("schedule '%s' could not be dispatched; it is tried again", row.name, exc_info=error)
            self._logged.add(row.name)
        self._service.store.write(lambda conn: schedules.put_off(conn, row, now + PUT_OFF))

    def _write(
        self, chunk: list[_Dispatch], now: datetime, conn: Connection, *, check_slots: bool
    ) -> list[_Dispatch] | None:
        """Return the schedules written, without those changed meanwhile; None if another process leads."""
        if not leases.are_held(conn, self._leader.tokens({one.due.row.task for one in chunk})):
            return None
        same = schedules.unchanged(conn, [one.due.row for one in chunk])
        going = [one for one in chunk if one.due.row.id in same]
        for one in going:
            one.done, one.busy = [], False
        taken = schedules.taken_slots(conn, [pair for one in going for pair in one.pairs] if check_slots else [])
        self._submit(conn, going, taken, now)
        for one in going:
            one.done += [_missed_slot(one, missed, now) for missed in one.missed if _open(one, missed.planned, taken)]
        rows = [slot for one in going for slot in one.done]
        schedules.take_back_slots(
            conn, [pair for slot in rows if (pair := (slot.schedule_id, slot.planned_at)) in taken]
        )
        schedules.put_slots(conn, self._service.store.dialect, rows)
        advanced = [(one.due.row, _columns_after(one)) for one in going if not one.busy]
        schedules.advance(conn, self._service.store.dialect, advanced)
        self._append_events(conn, going, now)
        return going

    def _submit(
        self, conn: Connection, going: Sequence[_Dispatch], taken: dict[tuple[str, datetime], str | None], now: datetime
    ) -> None:
        store = self._service.store
        alike: dict[tuple[str, ...], list[NewJob]] = defaultdict(list)
        for one in going:
            for planned, prepared in one.prepared:
                if not _open(one, planned, taken):
                    continue
                if prepared.plain:
                    alike[tuple(submissions.shape(prepared.new))].append(prepared.new)
                    one.done.append(_slot(one, planned, SUBMITTED, now, job_id=prepared.new.id))
                else:
                    _record(one, planned, store.submit_on(conn, prepared.new, prepared.rules), now)
        for news in alike.values():
            submissions.insert_plain(conn, store.dialect, news, now)
        if alike:
            store.wake.need()

    def _append_events(self, conn: Connection, going: Sequence[_Dispatch], now: datetime) -> None:
        lines: list[tuple[Any, ...]] = []
        for one in going:
            row, pausing = one.due.row, one.due.last.pausing
            lines += _missed_events(one, now)
            if pausing is not None:
                _pause(conn, one, now)
                lines.append(_event(row, now, "schedule_paused", pausing))
            elif one.due.plan.next_at is None and not one.busy:
                lines.append(_event(row, now, "schedule_finished", None))
        events.append(conn, self._service.store.dialect, lines)

    # -- jobs in the way -----------------------------------------------------------------------------

    def _cancel(self, due: DueSchedule) -> None:
        """Cancel the active job, once: a second request would force it."""
        job_id = due.plan.cancel
        if job_id is None or job_id in self._cancelled:
            return
        self._cancelled.add(job_id)
        reason = Message("schedules.next-time-came", name=due.row.name).stored
        with contextlib.suppress(Conflict, NotFound):
            cancel(self._service.store, job_id, actor=f"schedule:{due.row.name}", reason=reason)


def _chunks(dispatches: list[_Dispatch]) -> list[list[_Dispatch]]:
    chunks: list[list[_Dispatch]] = []
    size = CHUNK
    for one in dispatches:
        if size + one.size > CHUNK:
            chunks.append([])
            size = 0
        chunks[-1].append(one)
        size += one.size
    return chunks


# -- slots -------------------------------------------------------------------------------------------


def _open(one: _Dispatch, planned: datetime, taken: dict[tuple[str, datetime], str | None]) -> bool:
    """Return whether the slot is free, or was only missed because the task was unknown."""
    pair = (one.due.row.id, planned)
    return pair not in taken or taken[pair] == UNKNOWN


def _slot(one: _Dispatch, planned: datetime, state: str, now: datetime, **rest: Any) -> Slot:
    values: dict[str, Any] = {"reason": None, "job_id": None, "through": None, **rest}
    return Slot(one.due.row.id, planned, state, at=now, **values)


def _missed_slot(one: _Dispatch, missed: MissedTime, now: datetime) -> Slot:
    return _slot(one, missed.planned, MISSED, now, reason=missed.reason, through=missed.through, job_id=missed.in_way)


def _record(one: _Dispatch, planned: datetime, answer: Submitted, now: datetime) -> None:
    """Record the result of one submission."""
    if answer.why == "busy":
        one.busy = True
    elif answer.created:
        one.done.append(_slot(one, planned, SUBMITTED, now, job_id=answer.id))
    else:
        reason = COMPLETE if answer.why == "done" else OVERLAP
        one.done.append(_slot(one, planned, MISSED, now, reason=reason, job_id=answer.in_way or answer.id))


def _columns_after(one: _Dispatch) -> dict[str, Any]:
    """Return the columns of the schedule after this turn."""
    row, plan = one.due.row, one.due.plan
    ran = [slot for slot in one.done if slot.state == SUBMITTED]
    last = max(ran, key=_planned_at, default=None)
    missed = [slot for slot in one.done if slot.state == MISSED]
    since = [slot for slot in missed if last is None or slot.planned_at > last.planned_at]
    outcome = one.due.last.outcome or row.last_outcome
    return {
        "next_at": plan.next_at,
        "due_at": plan.due_at,
        "waits_for": (last.job_id if last else one.due.state.active or row.last_job) if plan.waits else None,
        "unknown_since": None,
        "last_at": last.planned_at if last else row.last_at,
        "last_job": last.job_id if last else row.last_job,
        "last_outcome": None if last else outcome,
        "runs": row.runs + len(ran),
        "failures_in_row": one.due.last.failures,
        "missed_in_row": len(since) + (0 if last else row.missed_in_row),
        "state": schedules.FINISHED if plan.next_at is None else row.state,
    }


def _planned_at(slot: Slot) -> datetime:
    return slot.planned_at


def _pause(conn: Connection, one: _Dispatch, now: datetime) -> None:
    row = one.due.row
    values = {"state": schedules.PAUSED, "paused_by": BY, "paused_reason": one.due.last.pausing}
    schedules.change(conn, row, now, {**values, "paused_at": row.next_at, "paused_until": None})


# -- events ------------------------------------------------------------------------------------------


def _event(row: schedules.ScheduleRow, now: datetime, name: str, reason: str | None, **detail: Any) -> tuple[Any, ...]:
    return events.note(row.id, now, name, actor=BY, reason=reason, detail={"schedule": row.name, **detail})


def _missed_events(one: _Dispatch, now: datetime) -> list[tuple[Any, ...]]:
    """Return an event for the 1st, 10th, 100th, … missed time in a row; none for a pause, which was intended."""
    missed = sorted((slot for slot in one.done if slot.state == MISSED and slot.reason != PAUSED), key=_planned_at)
    if not missed:
        return []
    in_row = _columns_after(one)["missed_in_row"]
    before = max(0, in_row - len(missed))
    if in_row and len(str(before)) == len(str(in_row)) and before:
        return []
    counts = {"count": len(missed), "in_row": in_row}
    span = {"first": missed[0].planned_at.isoformat(), "last": missed[-1].planned_at.isoformat()}
    return [_event(one.due.row, now, "slot_missed", missed[-1].reason, **counts, **span)]
