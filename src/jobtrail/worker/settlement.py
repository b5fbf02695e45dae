"""Ends of runs on their way into the store: what goes with the move, and what is left of it where that cannot be stored."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jobtrail.job import outcome as ends
from jobtrail.job import transitions
from jobtrail.job.model import Status, StopCause
from jobtrail.store import events, jobs, runs

from .run import finish, subject_of

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.job.model import JobRow
    from jobtrail.job.transitions import Move
    from jobtrail.store import Store
    from jobtrail.store.runs import Records

    from .run import Run


@dataclass(slots=True)
class Ended:
    """A run that is over and not yet written."""

    move: Move
    records: Records | None = None
    ledger: tuple[str, tuple[int, int, int] | None] | None = None
    run: Run | None = None
    ended: ends.Ended | None = None
    line: tuple[str, str] | None = None  # name and reason of a line of its own in the trail


def settle(conn: Connection, store: Store, ended: list[Ended], worker: str, now: datetime) -> list[Ended]:
    """Write ends with their records and lines; those that moved nothing are returned."""
    ledgers = {one.move.job_id: one.ledger for one in ended if one.ledger is not None}
    for one in ended:
        _let_cancel_win(conn, one, worker, now)
        _say(conn, store, one, now)
        if one.records is not None:
            runs.write(conn, store.dialect, one.records, now)
    moved = [one.move for one in ended]
    refused = {id(move) for move in jobs.apply(conn, store.dialect, moved, now, ledgers=ledgers, wake=store.wake.need)}
    if any(move.frees_unit or move.to is Status.PENDING for move in moved):
        store.wake.need()
    return [one for one in ended if id(one.move) in refused]


def _let_cancel_win(conn: Connection, one: Ended, worker: str, now: datetime) -> None:
    """A person may have cancelled what a limit stopped, before the worker was told of it."""
    if one.move.name != "stopped" or one.move.to is Status.CANCELLED or one.run is None or one.ended is None:
        return
    row = jobs.get(conn, one.move.job_id, lock=True)
    if row is not None and row.run_no == one.move.run_no and row.stop_cause == StopCause.CANCEL:
        one.run.stop.cause = row.stop_cause
        one.move = finish(one.run, one.ended, worker, now).move


def _say(conn: Connection, store: Store, one: Ended, now: datetime) -> None:
    """A line of its own, before the one of the move."""
    job_id, run_no = one.move.job_id, one.move.run_no
    if one.line is not None and runs.holds(conn, store.dialect, job_id, run_no):
        name, reason = one.line
        line = events.note(job_id, now, name, run_no=run_no, actor="engine", reason=reason)
        events.append(conn, store.dialect, [line])


def again(one: Ended, row: JobRow | None, worker: str, now: datetime) -> Ended | None:
    """What is left to be said by an end that was refused, from how the job stands: asked to stop, or forced, meanwhile."""
    if row is None or row.run_no != one.move.run_no or one.run is None:
        return None
    if row.body_running:
        job = replace(subject_of(one.run.claim, worker), status=row.status, unit=row.unit)
        return Ended(transitions.body_returned(job))
    if row.status is not Status.CANCELLING:
        return None
    one.run.stop.cause = row.stop_cause
    decided = finish(one.run, one.ended or ends.Returned(), worker, now)
    return Ended(decided.move, None, one.ledger)


def bare(one: Ended, error: Exception) -> Ended:
    """The same end without what could not be stored; the work is not repeated because of a write."""
    note = f"what the body returned could not be stored: {type(error).__name__}"
    values = {name: (None if name in {"result", "error", "note"} else value) for name, value in one.move.values.items()}
    if "note" in values:
        values["note"] = note
    move = replace(one.move, values=values, reason=None, detail=None)
    return Ended(move, None, one.ledger, one.run, one.ended)
