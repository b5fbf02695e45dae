"""The task function of a backfill: it records which units have ended, submits more of them, and snoozes.

It must not wait inside its run: on a worker with one slot its children would never get one. So each run is
short, and the store has what the next one needs: the list (a step), the ended units (items), and the children
(jobs whose ``parent`` it is). After a lost run the next one continues from there.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from json import dumps, loads
from typing import TYPE_CHECKING, Any

from jobtrail.commands.rerun import rerun_on
from jobtrail.commands.using import Using
from jobtrail.errors import Conflict, StoreError, UsageError
from jobtrail.job.items import ItemOutcome
from jobtrail.job.json_value import decode
from jobtrail.job.model import Mode, Snooze, Status, Submitted
from jobtrail.job.period import Period
from jobtrail.job.retry import Exponential, Retry
from jobtrail.job.task import Task
from jobtrail.job.unit import Unit
from jobtrail.messages import Message, stored
from jobtrail.runtime.context import Context
from jobtrail.store import events, items, jobs, units
from jobtrail.store.search import relations

from .backfill import (
    ACTIVE,
    COMPLETE,
    MISSING,
    MOST_UNITS,
    SUBMIT,
    TASK,
    BackfillSelection,
    arguments_of,
    key_of,
    list_units,
    state_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.commands.service import Service
    from jobtrail.job.model import JobRow
    from jobtrail.runtime.item_loops import ItemLoop
    from jobtrail.store.units import UnitRow

SHORTEST, LONGEST = 0.2, 60.0  # seconds between two runs
MOST_OF_A_REASON = 300  # characters; a reason in its stored form must not be cut
PATIENCE = Retry(attempts=None, on=(StoreError,), wait=Exponential(maximum=60.0))


def task_of(service: Service) -> Task:
    """Return the task ``jobtrail.backfill``, which every application has."""

    def backfill(ctx: Context, *, selection: dict[str, Any], parallel: int) -> Any:
        """Run units of another task, a few at a time; submitted by ``jobs.backfill()``."""
        return BackfillRunner(service, ctx, BackfillSelection.from_json(selection), parallel).run()

    return Task.made(TASK, backfill, {"kind": "backfill", "retry": PATIENCE})


@dataclass(frozen=True, slots=True)
class UnitResult:
    """The final outcome of a unit."""

    outcome: ItemOutcome
    reason: str
    error_type: str | None = None


@dataclass(frozen=True, slots=True)
class UnitRunning:
    """A job has been running for the unit since this moment."""

    since: datetime


@dataclass(frozen=True, slots=True)
class UnitDue:
    """The unit must run: as a new job, or as a re-run of a job in a mode, with that job's context."""

    way: str = SUBMIT
    job: str = ""
    context: str | None = None


@dataclass(frozen=True, slots=True)
class OpenUnit:
    """A unit of the plan without a final outcome."""

    position: int
    source: str | None
    period: str
    again: bool

    @property
    def key(self) -> str:
        """The key of its item."""
        return key_of(self.source, self.period)


@dataclass(slots=True)
class BackfillRecord:
    """The recorded state of a backfill job: its row, the outcome of each unit, and the failed units to run again.

    ``turn`` is the number of the run after which a person last retried the job; units that failed before run again.
    """

    row: JobRow
    outcomes: Mapping[str, ItemOutcome]
    again: set[str] = field(default_factory=set)
    turn: int = 0

    def is_settled(self, key: str) -> bool:
        """Return whether the unit has an outcome and is not run again."""
        return key in self.outcomes and key not in self.again


class BackfillRunner:
    """One run of a backfill job: it submits units, a few at a time, and records their outcomes."""

    def __init__(self, service: Service, ctx: Context, selection: BackfillSelection, parallel: int) -> None:
        self._service = service
        self._store = service.store
        self._ctx = ctx
        self._selection = selection
        self._parallel = parallel

    def run(self) -> Any:
        """Record outcomes and submit units. Return a snooze until the next look, or the counts at the end."""
        task = self._service.tasks.find(self._selection.task)
        if task is None:
            why = Message("schedules.backfill-task-unknown", task=self._selection.task)
            return Snooze(self._service.settings.put_back_delay, why.stored)
        listed = self._ctx.step("plan", self._listed)
        loop = self._ctx.items(listed, key=str)
        ledger = self._read_ledger(loop.recorded)
        opened = self._open(listed, ledger)
        done = len(listed) - len(opened)
        waiting: list[datetime] = []
        for unit in opened:
            if len(waiting) >= self._parallel:
                break
            found = self._advance(unit, task, ledger)
            if found is None:
                return Snooze(SHORTEST, Message("schedules.backfill-taken-over").stored)
            if isinstance(found, UnitRunning):
                waiting.append(found.since)
            else:
                loop.record(unit.key, unit.position, found.outcome, found.reason, found.error_type)
                done += 1
        if done < len(listed):
            return self._pause(done, len(listed), waiting)
        self._close(loop, listed)
        return {"task": task.name, "units": len(listed), "jobs": self._number_of_children()}

    def _close(self, loop: ItemLoop[Any], listed: list[list[Any]]) -> None:
        """End the loop: every unit has its outcome, or there was none."""
        if listed:
            loop.exhausted = True
            message = Message("schedules.all-units-ended").stored
            self._ctx.set_progress(done=len(listed), total=len(listed), message=message)
        else:
            list(loop)

    # -- what there is -------------------------------------------------------------------------------

    def _listed(self) -> list[list[Any]]:
        """Return the chosen units and those that failed in an earlier job of this chain: [number of the source, period]."""
        with self._store.read() as conn:
            row = self._own_row(conn)
            failed = {one.key for one in items.page(conn, row.ledger, outcome=ItemOutcome.FAILED, limit=MOST_UNITS)}
            found = list_units(conn, self._selection)
        numbers = {source: number for number, source in enumerate(self._selection.sources)}
        return [
            [numbers[unit.source], unit.period.text] for unit in found if unit.way is not None or unit.key in failed
        ]

    def _own_row(self, conn: Connection) -> JobRow:
        row = jobs.get(conn, self._ctx.job_id)
        if row is None:
            self._ctx.check_cancelled()
            raise StoreError(Message("commands.no-job", job=self._ctx.job_id))
        return row

    def _read_ledger(self, outcomes: Mapping[str, ItemOutcome]) -> BackfillRecord:
        with self._store.read() as conn:
            row = self._own_row(conn)
            turn = self._turn(conn)
            again: set[str] = set()
            if ItemOutcome.FAILED in outcomes.values():
                failed = items.page(conn, row.ledger, outcome=ItemOutcome.FAILED, limit=MOST_UNITS)
                inherits = row.mode == Mode.FAILED_ITEMS.value
                again = {one.key for one in failed if (one.run_no <= turn if one.job_id == row.id else inherits)}
        return BackfillRecord(row, outcomes, again, turn)

    def _turn(self, conn: Connection) -> int:
        return events.last_retried_run(conn, self._ctx.job_id)

    def _open(self, listed: list[list[Any]], ledger: BackfillRecord) -> list[OpenUnit]:
        found = []
        for position, (number, period) in enumerate(listed):
            source = self._selection.sources[number]
            key = key_of(source, period)
            if not ledger.is_settled(key):
                found.append(OpenUnit(position, source, period, key in ledger.again))
        return found

    # -- one unit ------------------------------------------------------------------------------------

    def _advance(self, unit: OpenUnit, task: Task, ledger: BackfillRecord) -> UnitResult | UnitRunning | None:
        """Submit the unit if it is due. Return its result or the job's start; None if this run may not submit any more."""
        key = Unit(task.name, unit.source, Period.parse(unit.period)).key
        with self._store.read() as conn:
            found = self._look(conn, unit, key, ledger)
        if not isinstance(found, UnitDue):
            return found
        self._ctx.check_cancelled()
        try:
            return self._submit(unit, task, ledger, found)
        except UsageError as error:
            return UnitResult(ItemOutcome.FAILED, stored(error), type(error).__name__)

    def _look(self, conn: Connection, unit: OpenUnit, key: str, ledger: BackfillRecord) -> UnitResult | UnitRunning | UnitDue:
        child = relations.newest_child(conn, self._ctx.job_id, key)
        if child is not None and child.active:
            return UnitRunning(child.created_at)
        if child is not None:
            counts = not unit.again and child.status is not Status.CANCELLED
            if counts or _turn_of(child) == ledger.turn:
                return verdict_of(child)
        row = units.get(conn, key)
        state = state_of(row)
        if row is None or state == MISSING:
            wanted = unit.again or self._selection.wants(MISSING)
            return UnitDue() if wanted else UnitResult(ItemOutcome.SKIPPED, Message("schedules.unit-gone").stored)
        if state == ACTIVE:
            return self._held(conn, row)
        if unit.again or self._selection.wants(state):
            old = jobs.get(conn, row.job_id) if row.job_id else None
            return UnitDue() if old is None else UnitDue(self._selection.way_of(state, old.id), old.id, old.context)
        if state == COMPLETE:
            return UnitResult(ItemOutcome.SKIPPED, Message("schedules.complete-meanwhile", job=row.job_id).stored)
        why = Message("schedules.unit-ended-meanwhile", state=state, job=row.job_id)
        return UnitResult(ItemOutcome.FAILED, why.stored)

    def _held(self, conn: Connection, row: UnitRow) -> UnitResult | UnitRunning:
        """Another job runs the unit. Wait for it if it has the same arguments."""
        holder = jobs.get(conn, row.active_job) if row.active_job else None
        if holder is None:
            return UnitRunning(self._store.now())
        wanted = self._selection.args
        if wanted is not None and decode(holder.args) != dict(wanted):
            return UnitResult(ItemOutcome.SKIPPED, Message("schedules.active-otherwise", job=holder.id).stored)
        return UnitRunning(holder.created_at)

    # -- submission ----------------------------------------------------------------------------------

    def _submit(self, unit: OpenUnit, task: Task, ledger: BackfillRecord, due: UnitDue) -> UnitRunning | None:
        """Store the unit's job. Return None and store nothing if the backfill was cancelled or a newer run owns it.

        Raises:
            UsageError: If the job is not valid.

        """
        store = self._after_arguments(unit, task, ledger) if due.way == SUBMIT else self._as_rerun(ledger, due)

        def operation(conn: Connection) -> UnitRunning | None:
            mine = jobs.get(conn, self._ctx.job_id, lock=True)
            if mine is None or mine.run_no != self._ctx.run_no or mine.status is not Status.RUNNING:
                return None
            answer = store(conn)
            in_way = answer.job_id if isinstance(answer, Conflict) else answer.in_way
            other = jobs.get(conn, in_way) if in_way else None  # submitted meanwhile; the next run finds it
            return UnitRunning(other.created_at if other else self._store.now())

        return self._store.write(operation)

    def _after_arguments(self, unit: OpenUnit, task: Task, ledger: BackfillRecord) -> Callable[[Connection], Submitted]:
        with self._store.read() as conn:
            args = arguments_of(conn, task, self._selection, unit.source)
        using = Using(
            source=unit.source,
            period=unit.period,
            if_done="run" if self._selection.wants(COMPLETE) or unit.again else "skip",
            parent=self._ctx.job_id,
            root=ledger.row.root,
            context=self._context(ledger),
            actor=self._actor,
            reason=self._reason,
        )
        prepared = self._service._prepare(task, args, using)
        new = replace(prepared.new, followed=True)
        return lambda conn: self._store.submit_on(conn, new, prepared.rules)

    def _as_rerun(self, ledger: BackfillRecord, due: UnitDue) -> Callable[[Connection], Submitted | Conflict]:
        said: dict[str, Any] = {
            "parent": self._ctx.job_id,
            "root": ledger.row.root or self._ctx.job_id,
            "context": dumps({**decode(due.context or "{}"), **self._context(ledger)}),
            "actor": self._actor,
            "reason": self._reason,
            "submitter": self._service.submitter,
            "followed": True,
        }
        if self._selection.args is not None:
            said["args"] = dumps(dict(self._selection.args))
        return lambda conn: rerun_on(conn, self._store, due.job, Mode(due.way), **said)

    def _context(self, ledger: BackfillRecord) -> dict[str, Any]:
        return {"backfill": {"job": self._ctx.job_id, "turn": ledger.turn}}

    @property
    def _actor(self) -> str:
        return f"job:{self._ctx.job_id}"

    @property
    def _reason(self) -> str:
        return Message("schedules.backfill-of", first=self._selection.first, last=self._selection.last).stored

    # -- progress --------------------------------------------------------------------------------

    def _pause(self, done: int, total: int, waiting: list[datetime]) -> Snooze:
        """Snooze for half of the age of the oldest job: long jobs are looked at rarely, short ones are noticed soon."""
        age = (self._store.now() - min(waiting)).total_seconds() if waiting else 0.0
        message = Message("schedules.units-active", active=len(waiting)).stored
        self._ctx.set_progress(done=done, total=total, message=message)
        why = Message("schedules.units-done", done=done, total=total, active=len(waiting))
        return Snooze(min(max(age / 2, SHORTEST), LONGEST), why.stored)

    def _number_of_children(self) -> int:
        with self._store.read() as conn:
            return relations.count_children(conn, self._ctx.job_id)


# -- children ----------------------------------------------------------------------------------------


def _turn_of(child: JobRow) -> int:
    context = loads(child.context) if child.context else {}
    return int(context.get("backfill", {}).get("turn", 0))


def verdict_of(child: JobRow) -> UnitResult:
    """Return the result of a unit whose job has ended."""
    if child.status is Status.COMPLETED:
        return UnitResult(ItemOutcome.OK, Message("schedules.by-job", job=child.id).stored)
    error = loads(child.error) if child.error else {}
    reason = error.get("sentence") or error.get("message") or child.note
    if reason and len(reason) > MOST_OF_A_REASON:
        reason = (error.get("message") or reason)[:MOST_OF_A_REASON]
    why = Message("commands.because", reason=reason) if reason else None
    ended = Message("schedules.unit-job-ended", job=child.id, status=child.status, why=why)
    return UnitResult(ItemOutcome.FAILED, ended.stored, error.get("type"))
