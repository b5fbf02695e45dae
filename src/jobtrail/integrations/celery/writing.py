"""From records to rows: one transaction for all that waits."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from json import dumps
from typing import TYPE_CHECKING, Any

from jobtrail.job import outcome as outcomes
from jobtrail.job import transitions
from jobtrail.job.failure import Failure
from jobtrail.job.model import Status, StopCause
from jobtrail.job.outcome import Returned
from jobtrail.job.retry import Retry
from jobtrail.job.transitions import Subject
from jobtrail.job.unit import unit_of
from jobtrail.messages import Message
from jobtrail.recovery.run_end import RunEnd, write_ends
from jobtrail.store import jobs, units
from jobtrail.store.tracked import rows

from .task_run import RunBegins, RunEnds, RunRow, SeenFromOutside, TaskRejected, TaskRetry

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from jobtrail.job.model import JobRow
    from jobtrail.job.transitions import Move
    from jobtrail.store import Store

    from .task_run import Report, TaskRun

SYSTEM = "celery"
ACTOR = "celery"
PATIENCE = 3.0  # seconds that a run waits for the end of the attempt before it, which another process writes
NO_RETRY = Retry()
_ALWAYS = (
    "id", "task", "kind", "queue", "priority", "max_attempts", "args", "options", "unit", "source", "period", "parent",
    "root", "context", "created_at", "run_at", "started_at", "worker", "run_no", "attempt", "status",
)  # fmt: skip
_ENDED = ("outcome", "finished_at", "result", "note")


class BatchWriter:
    """Writes records of one process in the caller's transaction.

    Args:
        store: The store.
        worker: The id of this process.
    """

    def __init__(self, store: Store, worker: str) -> None:
        self._store = store
        self._worker = worker

    def write(self, conn: Connection, batch: Sequence[Report]) -> list[Report]:
        """Write a batch; the records that have to wait for another process are returned."""
        now, monotonic = self._store.now(), time.monotonic()
        clock = _Clock(now, monotonic)
        ends = {report.run: report for report in batch if isinstance(report, RunEnds)}
        waiting: list[Report] = []
        fresh: list[TaskRun] = []
        for report in batch:
            if isinstance(report, RunBegins) and not report.run.skipped:
                how = self._begin_known(conn, report.run, clock) if report.run.known else "fresh"
                if how == "wait":
                    waiting.append(report)
                elif how == "fresh":
                    fresh.append(report.run)
        late = {report.run for report in waiting}
        done = self._insert(conn, fresh, ends, clock) if fresh else set()
        for run, report in ends.items():
            if run in late:
                waiting.append(report)
            elif run not in done and not run.skipped and run.row is not None:
                self._end(conn, report, clock)
        for report in batch:
            if isinstance(report, SeenFromOutside):
                self._outside(conn, report, clock)
        return waiting

    def write_left(self, conn: Connection, report: Report) -> None:
        """Write a record of a dead process, which may have written it already. This process has the dead one's id."""
        run = report.run
        row = self._find(conn, run) if run.row is None else jobs.get(conn, run.row.job_id, lock=True)
        held = row is not None and row.worker == self._worker and row.run_no > 0
        if isinstance(report, RunBegins):
            if row is not None and held:
                run.written(RunRow(row.id, row.run_no, row.attempt, self._worker, row.unit))
            else:
                run.known = row is not None
                run.begun = min(run.begun, time.monotonic() - PATIENCE)
                self.write(conn, [report])
            return
        if row is not None and held and row.status in {Status.RUNNING, Status.CANCELLING, Status.FAILED}:
            run.written(RunRow(row.id, row.run_no, row.attempt, self._worker, row.unit))
            if row.status is not Status.FAILED or _is_lost(row):
                self.write(conn, [report])

    # -- the beginning -------------------------------------------------------------------------------

    def _insert(
        self, conn: Connection, fresh: Sequence[TaskRun], ends: dict[TaskRun, RunEnds], clock: _Clock
    ) -> set[TaskRun]:
        """Insert runs that no row stands for; the plain successes among them with their end, and these are returned."""
        begun: list[tuple[Any, ...]] = []
        ended: list[tuple[Any, ...]] = []
        done: set[TaskRun] = set()
        for run in fresh:
            unit = self._unit(conn, run, clock.now)
            values = self._values(run, unit, clock)
            run.written(RunRow(run.job_id, 1, 1, self._worker, unit))
            end = ends.get(run)
            if end is not None and isinstance(end.outcome, Returned) and unit is None and run.recorder is None:
                outcome = end.outcome
                ended.append((*values, "completed", "success", clock.at(end.at), outcome.result, outcome.note))
                done.add(run)
            else:
                begun.append((*values, "running"))
        if begun:
            rows.insert(conn, self._store.dialect, _ALWAYS, begun)
        if ended:
            rows.insert(conn, self._store.dialect, (*_ALWAYS, *_ENDED), ended)
        rows.add_ids(conn, self._store.dialect, SYSTEM, [(run.celery_id, run.job_id) for run in fresh])
        return done

    def _insert_waiting(self, conn: Connection, run: TaskRun, clock: _Clock) -> None:
        """Insert a run that never began, as a job that waits at Celery."""
        begun = dict(zip(_ALWAYS, (*self._values(run, self._unit(conn, run, clock.now), clock), "pending"), strict=True))
        begun |= {"run_at": None, "started_at": None, "worker": None, "run_no": 0, "attempt": 0}
        rows.insert(conn, self._store.dialect, _ALWAYS, [tuple(begun.values())])
        rows.add_ids(conn, self._store.dialect, SYSTEM, [(run.celery_id, run.job_id)])

    def _unit(self, conn: Connection, run: TaskRun, now: datetime) -> str | None:
        described = run.described
        unit = unit_of(run.task, described.source, described.period, None)
        if unit is None:
            return None
        units.ensure(conn, self._store.dialect, unit, now)
        return unit.key

    def _values(self, run: TaskRun, unit: str | None, clock: _Clock) -> tuple[Any, ...]:
        started = clock.at(run.begun)
        sent = min(started, datetime.fromtimestamp(run.sent, UTC)) if run.sent is not None else started
        described = run.described
        context = dumps({**run.context, "describe_error": described.trouble} if described.trouble else run.context)
        return (
            run.job_id, run.task, described.kind, run.queue, 5, run.max_attempts, run.args, run.options, unit,
            described.source, described.period.text if described.period else None, run.parent, run.root, context, sent, sent,
            started, self._worker, 1, 1,
        )  # fmt: skip

    def _find(self, conn: Connection, run: TaskRun) -> JobRow | None:
        job_id: str | None = run.job_id
        if not run.stamped and run.known:
            job_id = rows.jobs_of(conn, SYSTEM, [run.celery_id]).get(run.celery_id)
        return jobs.get(conn, job_id, lock=True) if job_id is not None else None

    def _begin_known(self, conn: Connection, run: TaskRun, clock: _Clock) -> str:
        """Begin a run whose job may have a row: "begun", "fresh" where it has none, "wait" for the attempt before it."""
        row = self._find(conn, run)
        if row is None:
            return "fresh"
        if row.status in {Status.RUNNING, Status.CANCELLING}:
            if clock.monotonic - run.begun < PATIENCE:
                return "wait"
            self._close_earlier(conn, row, clock.now)
        elif row.status is Status.COMPLETED:
            run.skipped = True  # delivered again after its success, which stays what the record says
            return "begun"
        elif row.status is not Status.PENDING:
            self._reopen(conn, row, clock.now)
        self._begin(conn, row, run, clock)
        return "begun"

    def _begin(self, conn: Connection, row: JobRow, run: TaskRun, clock: _Clock) -> None:
        begun = rows.begin(conn, row.id, self._worker, clock.at(run.begun))
        if begun is None:
            run.skipped = True
            return
        rows.add_ids(conn, self._store.dialect, SYSTEM, [(run.celery_id, row.id)])
        run.written(RunRow(row.id, begun[0], begun[1], self._worker, row.unit))

    def _close_earlier(self, conn: Connection, row: JobRow, now: datetime) -> None:
        reason = Message("integrations.end-not-known").stored
        if row.status is Status.RUNNING:
            self._apply(conn, [_waits_at_celery(transitions.retry_planned(Subject.of(row), now, reason=reason))], now)
            return
        self._apply(conn, [transitions.stopped_by_cancel(Subject.of(row), now, note=reason)], now)
        self._reopen(conn, replace(row, status=Status.CANCELLED), now)

    def _reopen(self, conn: Connection, row: JobRow, now: datetime) -> None:
        """Celery delivers a task again whose job has ended."""
        reason = Message("integrations.delivered-again").stored
        move = transitions.retried(Subject.of(row), now, actor=ACTOR, reason=reason)
        values = {**move.values, "unit_lock": row.unit_lock}
        self._apply(conn, [replace(move, values=values)], now)

    # -- the end -------------------------------------------------------------------------------------

    def _end(self, conn: Connection, report: RunEnds, clock: _Clock) -> None:
        run, at = report.run, clock.at(report.at)
        end = _run_end(report, at)
        refused = write_ends(conn, self._store, [end], at) if end is not None else []
        if not refused or run.row is None:
            return
        row = jobs.get(conn, run.row.job_id, lock=True)
        late = row is not None and row.run_no == run.row.run_no and row.status is Status.FAILED and not row.body_running
        if row is None or not late:
            return
        # Declared lost while its process was silent, and it has ended all the same: the record says both.
        self._reopen(conn, row, clock.now)
        self._begin(conn, row, run, clock)
        again = _run_end(report, at)
        if again is not None:
            write_ends(conn, self._store, [again], at)

    def _apply(self, conn: Connection, moves: list[Move], now: datetime) -> None:
        jobs.apply(conn, self._store.dialect, moves, now, wake=self._store.wake.need)

    # -- from outside --------------------------------------------------------------------------------

    def _outside(self, conn: Connection, report: SeenFromOutside, clock: _Clock) -> None:
        run, now = report.run, clock.now
        if run.skipped:
            return
        row = self._find(conn, run)
        if row is None:
            self._insert(conn, [run], {}, clock) if report.began else self._insert_waiting(conn, run, clock)
            row = jobs.get(conn, run.job_id, lock=True)
        if row is None or row.status in {Status.COMPLETED, Status.PARTIAL, Status.CANCELLED}:
            return
        if report.failure is None:
            self._revoked(conn, row, report.reason, now)
        elif row.status is Status.FAILED:
            self._explain(conn, row, report, now)
        else:
            self._failed(conn, row, report, clock)

    def _revoked(self, conn: Connection, row: JobRow, reason: str, now: datetime) -> None:
        if row.status is Status.RUNNING:
            asked = transitions.stop_requested(Subject.of(row), now, cause=StopCause.CANCEL, actor=ACTOR, reason=reason)
            self._apply(conn, [asked], now)
            row = replace(row, status=Status.CANCELLING, stop_cause=StopCause.CANCEL.value)
        if row.status is Status.CANCELLING:
            self._apply(conn, [transitions.stopped_by_cancel(Subject.of(row), now, note=reason)], now)
            return
        if row.status is Status.FAILED:  # upkeep has found the process dead before
            self._reopen(conn, row, now)
            row = replace(row, status=Status.PENDING)
        self._apply(conn, [transitions.cancelled(Subject.of(row), now, actor=ACTOR, reason=reason)], now)

    def _failed(self, conn: Connection, row: JobRow, report: SeenFromOutside, clock: _Clock) -> None:
        if row.status is Status.PENDING:
            self._begin(conn, row, report.run, clock)
            row = jobs.get(conn, row.id, lock=True) or row
        self._apply(conn, [_failure_move(row, report, clock.now)], clock.now)

    def _explain(self, conn: Connection, row: JobRow, report: SeenFromOutside, now: datetime) -> None:
        """Upkeep was first: complete its error with what Celery knows, or reopen the job that Celery sends again."""
        if report.retry:
            self._reopen(conn, row, now)
            jobs.set_values(conn, row.id, {"run_at": None})
        elif report.failure is not None and _is_lost(row):
            found = report.failure
            jobs.set_values(conn, row.id, {"error": found.to_json(), "fingerprint": found.fingerprint})


def _is_lost(row: JobRow) -> bool:
    return Failure.from_json(row.error or "").type.endswith("WorkerLostError")


class _Clock:
    """The store's time for moments of the monotonic clock."""

    def __init__(self, now: datetime, monotonic: float) -> None:
        self.now = now
        self.monotonic = monotonic

    def at(self, moment: float) -> datetime:
        return self.now - timedelta(seconds=max(0.0, self.monotonic - moment))


def _waits_at_celery(move: Move) -> Move:
    """Pending without a due time: Celery has the message, jobtrail sends none."""
    return replace(move, values={**move.values, "run_at": None})


def _failure_move(row: JobRow, report: SeenFromOutside, now: datetime) -> Move:
    failure, job = report.failure, Subject.of(row)
    error, fingerprint = (failure.to_json(), failure.fingerprint) if failure is not None else (None, None)
    if report.retry and row.status is Status.RUNNING:
        planned = transitions.retry_planned(job, now, reason=report.reason, error=error, fingerprint=fingerprint)
        return _waits_at_celery(planned)
    return transitions.finished(job, now, Status.FAILED, error=error, fingerprint=fingerprint, reason=report.reason)


def _run_end(report: RunEnds, at: datetime) -> RunEnd | None:
    run, row, outcome = report.run, report.run.row, report.outcome
    if row is None:
        return None
    cause = run.stop.cause
    subject = Subject(
        row.job_id, row.run_no, row.attempt, Status.CANCELLING if cause else Status.RUNNING, row.unit, run.max_attempts,
        stop_cause=cause, stop_noticed=run.stop.noticed, worker=row.worker,
    )  # fmt: skip
    ledger = run.ledger()
    if run.recorder is not None and run.last is None:
        run.last = run.recorder.take_last()
    records = run.last
    if records is not None:
        records.run_no = row.run_no
    cancel = {StopCause.CANCEL.value: transitions.stopped_by_cancel(subject, at)}
    if cause is not None and isinstance(outcome, (TaskRetry, TaskRejected)):
        return RunEnd(cancel[StopCause.CANCEL.value], records)
    if isinstance(outcome, TaskRetry):
        move = transitions.retry_planned(
            subject, at, reason=outcome.reason, error=outcome.error, fingerprint=outcome.fingerprint
        )
        return RunEnd(_waits_at_celery(move), records, instead=cancel)
    if isinstance(outcome, TaskRejected):
        return RunEnd(
            _waits_at_celery(transitions.handed_back(subject, at, reason=outcome.reason)), records, instead=cancel
        )
    move = outcomes.decide(subject, outcome, ledger, NO_RETRY, at)
    instead = outcomes.decide_instead(move, subject, outcome, ledger, NO_RETRY, at)
    counts = (ledger.counts.ok, ledger.counts.failed, ledger.counts.skipped) if ledger.has_items else None
    return RunEnd(move, records, (row.job_id, counts) if row.unit else None, instead)
