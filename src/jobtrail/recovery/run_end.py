"""The end of a run: one value, and the guarded write that stores it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from jobtrail.job import transitions
from jobtrail.job.model import Status
from jobtrail.job.transitions import Subject
from jobtrail.messages import Message, render
from jobtrail.store import events, jobs, runs
from jobtrail.store.tracked import plain_end

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.job.model import JobRow
    from jobtrail.job.transitions import Move
    from jobtrail.store import Store
    from jobtrail.store.runs import Records


@dataclass(frozen=True, slots=True)
class RunEnd:
    """A run that is over, decided and not yet written.

    Attributes:
        move: the change of state, guarded by the states it leaves and the run's number.
        records: what the run reported last; written with the move.
        ledger: the generation of the job's unit, and the combined counts (ok, failed, skipped) of its items.
        instead: by stop cause, the move for a job that was asked to stop without the worker's knowledge.
        note: name and reason of a line of the trail that is written before the move's own.
        body_over: whether the body has returned. A request to stop, and a hand-back of a body that cannot be
            stopped, are written while it still runs.
        suspect: whether the job is suspected of having killed its worker.

    """

    move: Move
    records: Records | None = None
    ledger: tuple[str, tuple[int, int, int] | None] | None = None
    instead: Mapping[str, Move] = field(default_factory=dict)
    note: tuple[str, str] | None = None
    body_over: bool = True
    suspect: bool = False

    @property
    def job_id(self) -> str:
        """The job whose run it is."""
        return self.move.job_id

    @property
    def name(self) -> str:
        """The name of a file that holds this end alone."""
        return f"{self.job_id}-{self.move.run_no}"

    @property
    def is_plain(self) -> bool:
        """Whether it is the row alone that changes."""
        beside = self.records is not None or self.ledger is not None or self.note is not None
        return not beside and plain_end.is_plain(self.move)

    @property
    def kept_note(self) -> Message:
        """The note of a job whose end is stored bare, while its full form is in the spool."""
        return Message("recovery.result-kept", name=self.name)

    def without_values(self, note: str) -> RunEnd:
        """Return the same end without what a database may refuse: result, error, texts and records.

        The state is what counts: work that was done is not repeated because of a write about it.

        Args:
            note: the reason, in its stored form.

        """
        instead = {cause: _without_values(move, note) for cause, move in self.instead.items()}
        return replace(self, move=_without_values(self.move, note), records=None, instead=instead, note=None)


def _without_values(move: Move, note: str) -> Move:
    values = {name: (None if name in {"result", "error"} else value) for name, value in move.values.items()}
    if "note" in values:
        values["note"] = note
    return replace(move, values=values, reason=None, detail=None)


def write_ends(conn: Connection, store: Store, ends: Sequence[RunEnd], now: datetime) -> list[RunEnd]:
    """Write ends with their records and their lines of the trail, in the caller's transaction.

    Returns:
        The ends that changed nothing, because a newer run owns the job or the end was written before.

    """
    moves = [_move_of(conn, one) for one in ends]
    for one in ends:
        _write_note(conn, store, one, now)
        if one.records is not None:
            runs.write(conn, store.dialect, one.records, now)
    refused = _apply(conn, store, ends, moves, now)
    if not refused:
        return []
    again = [(one, move) for one in refused if (move := _move_for(one, jobs.get(conn, one.job_id, lock=True)))]
    if again:
        still = {id(one) for one in _apply(conn, store, [one for one, _ in again], [move for _, move in again], now)}
        done = {id(one) for one, _ in again} - still
        refused = [one for one in refused if id(one) not in done]
    return refused


def complete(conn: Connection, store: Store, end: RunEnd, now: datetime) -> bool:
    """Give a job that ended bare the values and records of its full end; write that where it has no end yet.

    Returns:
        False if the job does not have this end in its bare form any more, so that nothing was written.

    """
    row = jobs.get(conn, end.job_id, lock=True)
    if row is not None and row.run_no == end.move.run_no and row.status in end.move.leaves:
        return not write_ends(conn, store, [end], now)
    if row is None or row.run_no != end.move.run_no or row.note != render(end.kept_note):
        return False
    move = next((one for one in (end.move, *end.instead.values()) if one.to is row.status), None)
    if move is None:
        return False
    jobs.set_values(conn, row.id, {name: move.values.get(name) for name in ("result", "error", "note")})
    if end.records is not None:
        runs.write_unguarded(conn, store.dialect, end.records, now)
    line = events.note(row.id, now, "result_restored", run_no=row.run_no, actor="worker")
    events.append(conn, store.dialect, [line])
    return True


def _apply(
    conn: Connection, store: Store, ends: Sequence[RunEnd], moves: Sequence[Move], now: datetime
) -> list[RunEnd]:
    ledgers = {one.job_id: one.ledger for one in ends if one.ledger is not None}
    refused = {id(move) for move in jobs.apply(conn, store.dialect, moves, now, ledgers=ledgers, wake=store.wake.need)}
    if any(move.frees_unit or move.to is Status.PENDING for move in moves):
        store.wake.need()
    return [one for one, move in zip(ends, moves, strict=True) if id(move) in refused] if refused else []


def _move_of(conn: Connection, one: RunEnd) -> Move:
    """The end's move; for a stop at a limit the one for a cancel, where a person has cancelled the job meanwhile."""
    if one.move.name != "stopped" or not one.instead:
        return one.move
    row = jobs.get(conn, one.job_id, lock=True)
    if row is None or row.run_no != one.move.run_no:
        return one.move
    return one.instead.get(row.stop_cause or "", one.move)


def _move_for(one: RunEnd, row: JobRow | None) -> Move | None:
    """What a refused end still means for a row of the same run: it was asked to stop, or its end was forced."""
    if row is None or row.run_no != one.move.run_no or not one.body_over:
        return None
    if row.body_running:
        return transitions.body_returned(Subject.of(row))
    instead = one.instead.get(row.stop_cause or "") if row.status is Status.CANCELLING else None
    if instead is None and row.status in one.move.leaves:
        return one.move  # its own request to stop was written after it, in this transaction
    return instead


def _write_note(conn: Connection, store: Store, one: RunEnd, now: datetime) -> None:
    job_id, run_no = one.job_id, one.move.run_no
    if one.note is not None and runs.holds(conn, store.dialect, job_id, run_no):
        name, reason = one.note
        line = events.note(job_id, now, name, run_no=run_no, actor="engine", reason=reason)
        events.append(conn, store.dialect, [line])
