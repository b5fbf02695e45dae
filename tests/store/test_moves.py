"""Moves in the store: written only from the state and under the token they name; a refusal leaves a line."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from making import new_job, of_unit, subject, unit

from jobtrail.database import tables
from jobtrail.job import transitions
from jobtrail.job.items import ItemOutcome
from jobtrail.job.model import Outcome, Status, StopCause, new_id
from jobtrail.store import events, jobs, runs, units
from jobtrail.store.items import Recorded
from jobtrail.store.submissions import Rules

if TYPE_CHECKING:
    from making import Maker

    from jobtrail.store import Store


def trail(store: Store, job_id: str) -> list[tuple[str, str | None, str | None]]:
    """What the trail says of a job."""
    with store.read() as conn:
        return [(e.name, e.from_status, e.to_status) for e in events.of_job(conn, job_id)]


def test_a_success_stands_in_its_columns(store: Store, make: Maker) -> None:
    make.pending()
    (claim,) = make.claim()
    assert make.finish(claim, result='"x"', note="n", counts=(1, 2, 3)) == []
    row = make.row(claim.id)
    assert (row.status, row.outcome, row.result, row.note) == ("completed", Outcome.SUCCESS, '"x"', "n")
    assert (row.items_ok, row.items_failed, row.items_skipped) == (1, 2, 3)
    assert trail(store, claim.id) == []


def test_a_failure_has_a_line(store: Store, make: Maker) -> None:
    make.pending()
    (claim,) = make.claim()
    make.finish(claim, Status.FAILED, error="{}")
    assert trail(store, claim.id) == [("finished", "running", "failed")]


def test_a_wrong_run_number_moves_nothing_and_leaves_a_line(store: Store, make: Maker) -> None:
    make.pending()
    (claim,) = make.claim()
    stale = transitions.finished(subject(claim, run_no=claim.run_no + 1), store.now(), Status.COMPLETED)
    assert make.apply(stale) == [stale]
    assert make.row(claim.id).status is Status.RUNNING
    assert [name for name, *_ in trail(store, claim.id)] == ["refused"]


def test_a_wrong_state_moves_nothing_and_leaves_a_line(store: Store, make: Maker) -> None:
    make.pending()
    (claim,) = make.claim()
    make.finish(claim)
    again = transitions.retry_planned(subject(claim), store.now(), reason="late")
    assert make.apply(again) == [again]
    assert make.row(claim.id).status is Status.COMPLETED
    assert [name for name, *_ in trail(store, claim.id)] == ["refused"]


def test_a_job_that_is_gone_moves_nothing(store: Store, make: Maker) -> None:
    ghost = transitions.Subject(new_id(), 1)
    assert len(make.apply(transitions.finished(ghost, store.now(), Status.COMPLETED))) == 1


def test_good_and_stale_ones_in_one_group(store: Store, make: Maker) -> None:
    store.insert_alike(new_job(), [(new_id(), "{}") for _ in range(20)])
    claims = make.claim()
    stale = {claim.id for claim in claims[::3]}
    given = [
        transitions.finished(subject(c, run_no=c.run_no + (c.id in stale)), store.now(), Status.COMPLETED) for c in claims
    ]
    assert {move.job_id for move in make.apply(*given)} == stale
    assert {c.id for c in claims if make.row(c.id).status is Status.RUNNING} == stale


def test_the_same_move_twice_moves_once(store: Store, make: Maker) -> None:
    """Also within one group: the second finds another state."""
    make.pending()
    make.pending()
    one, two = make.claim()
    given = [transitions.finished(subject(c), store.now(), Status.FAILED, error="{}") for c in (one, two)]
    assert make.apply(*given) == []
    assert len(make.apply(*given)) == 2


@pytest.mark.parametrize("retries", [1, 3])
def test_a_retry_runs_under_a_new_number(store: Store, make: Maker, retries: int) -> None:
    make.pending()
    (claim,) = make.claim()
    for number in range(1, retries + 1):
        assert claim.run_no == claim.attempt == number
        make.apply(transitions.retry_planned(subject(claim), store.now(), reason="again"))
        (claim,) = make.claim()
    assert (claim.run_no, claim.attempt) == (retries + 1, retries + 1)
    assert claim.continues is None


def test_a_snooze_is_not_charged(store: Store, make: Maker) -> None:
    make.pending()
    (claim,) = make.claim()
    make.apply(transitions.snoozed(subject(claim), store.now(), reason="later"))
    (claim,) = make.claim()
    assert (claim.run_no, claim.attempt) == (2, 1)


# -- records behind the token --------------------------------------------------------------------------


def records(claim: object, run_no: int | None = None) -> runs.Records:
    """One of each."""
    one = runs.Records(claim.id, run_no or claim.run_no, claim.ledger)  # type: ignore[attr-defined]
    one.items = [Recorded("", "a", 0, ItemOutcome.OK)]
    one.progress = runs.Progress(10.0, 1, 10, "m", '{"x": 1}')
    one.log = [runs.LogChunk(0, 1, 5, "hello")]
    return one


def test_records_of_the_current_run_are_written(store: Store, make: Maker) -> None:
    make.pending()
    (claim,) = make.claim()
    assert store.write(lambda conn: runs.write(conn, store.dialect, records(claim), store.now()))
    with store.read() as conn:
        progress = runs.progress_of(conn, [claim.id])[claim.id]
        assert (progress["percent"], progress["metadata"]) == (10.0, {"x": 1})
        assert [chunk.text for chunk in runs.log_chunks(conn, claim.id)] == ["hello"]
        assert runs.last_log_seq(conn, claim.id) == 0


@pytest.mark.parametrize("how", ["other run", "ended"])
def test_records_of_an_overtaken_run_are_refused(store: Store, make: Maker, how: str) -> None:
    make.pending()
    (claim,) = make.claim()
    late = records(claim, claim.run_no + 1 if how == "other run" else None)
    if how == "ended":
        make.finish(claim)
    assert not store.write(lambda conn: runs.write(conn, store.dialect, late, store.now()))
    step = {"name": "s", "digest": "d", "result": "1", "seconds": 1.0, "now": store.now()}
    assert not store.write(lambda conn: runs.save_step(conn, store.dialect, late, **step))
    for table in (tables.items, tables.progress, tables.logs, tables.steps):
        assert make.count(table) == 0


def test_steps_are_found_by_name_and_digest(store: Store, make: Maker) -> None:
    make.pending()
    (claim,) = make.claim()
    mine = records(claim)
    for result in ("1", "2"):
        step = {"name": "load", "digest": "d", "result": result, "seconds": 1.0, "now": store.now()}
        assert store.write(lambda conn, step=step: runs.save_step(conn, store.dialect, mine, **step))
    with store.read() as conn:
        assert runs.find_step(conn, claim.ledger, "load", "d") == "2"
        assert runs.find_step(conn, claim.ledger, "load", "d", only_job=claim.id) == "2"
        assert runs.find_step(conn, claim.ledger, "load", "other") is None
        assert runs.find_step(conn, claim.ledger, "load", "d", only_job=new_id()) is None
        assert [step["name"] for step in runs.steps_of(conn, claim.ledger)] == ["load"]


def test_a_log_forgets_its_middle(store: Store, make: Maker) -> None:
    make.pending()
    (claim,) = make.claim()
    for seq in range(4):
        one = runs.Records(claim.id, claim.run_no, claim.ledger)
        one.log = [runs.LogChunk(seq, 1, 1, str(seq), dropped=1 if seq == 3 else 0)]
        one.forget_log = [1, 2] if seq == 3 else []
        store.write(lambda conn, one=one: runs.write(conn, store.dialect, one, store.now()))
    with store.read() as conn:
        assert [(c.seq, c.dropped) for c in runs.log_chunks(conn, claim.id)] == [(0, 0), (3, 1)]
        assert [c.seq for c in runs.log_chunks(conn, claim.id, after=0)] == [3]


# -- units ---------------------------------------------------------------------------------------------


def test_an_end_settles_the_unit_and_frees_it(store: Store, make: Maker) -> None:
    one = unit()
    job_id = make.unit_job(one).id
    (claim,) = make.claim()
    make.finish(claim, Status.PARTIAL, ledgers={job_id: (claim.ledger, (3, 1, 0))})
    with store.read() as conn:
        row = units.get(conn, one.key)
        assert row is not None
        assert jobs.active_of_unit(conn, one.key) is None
    assert (row.outcome, row.job_id, row.generation, row.active_job) == (Outcome.PARTIAL, job_id, job_id, None)
    assert (row.items_ok, row.items_failed, row.items_skipped) == (3, 1, 0)


def test_a_cancelled_job_leaves_the_truth(store: Store, make: Maker) -> None:
    one = unit()
    make.unit_job(one)
    (claim,) = make.claim()
    make.finish(claim)
    make.unit_job(one)
    (claim,) = make.claim()
    make.apply(transitions.stop_requested(subject(claim), store.now(), cause=StopCause.CANCEL, actor="me"))
    make.apply(transitions.stopped_by_cancel(subject(claim, status=Status.CANCELLING), store.now()))
    with store.read() as conn:
        assert units.get(conn, one.key).outcome is Outcome.SUCCESS  # type: ignore[union-attr]
        assert jobs.active_of_unit(conn, one.key) is None


def test_a_continuation_that_broke_at_once_leaves_the_outcome(store: Store, make: Maker) -> None:
    one = unit()
    first = make.unit_job(one).id
    (claim,) = make.claim()
    make.finish(claim, Status.PARTIAL, ledgers={first: (first, (3, 1, 0))})
    second = make.unit_job(one, generation=first, mode="failed_items", rerun_of=first).id
    (claim,) = make.claim()
    make.finish(claim, Status.FAILED, error="{}", ledgers={second: (first, None)})
    with store.read() as conn:
        row = units.get(conn, one.key)
    assert row is not None
    assert (row.outcome, row.items_failed, row.generation, row.job_id) == (Outcome.PARTIAL, 1, first, second)


def test_a_corrected_file_settles_the_unit_of_before_too(store: Store, make: Maker) -> None:
    old, new = unit("2013-02"), unit("2013-03")
    first = make.unit_job(old).id
    (claim,) = make.claim()
    make.finish(claim, Status.PARTIAL, ledgers={first: (first, (3, 1, 0))})
    make.submit(of_unit(new, generation=first), Rules(unit=new, linked_unit=old.key))
    (claim,) = make.claim()
    make.finish(claim, ledgers={claim.id: (first, (4, 0, 0))})
    with store.read() as conn:
        was, now = units.get(conn, old.key), units.get(conn, new.key)
    assert was is not None
    assert now is not None
    assert (was.linked_unit, now.linked_unit) == (new.key, old.key)
    assert was.outcome is now.outcome is Outcome.SUCCESS
    assert was.items_ok == now.items_ok == 4


def test_a_forced_end_keeps_the_unit_until_the_body_returned(store: Store, make: Maker) -> None:
    one = unit()
    make.unit_job(one)
    (claim,) = make.claim()
    make.apply(transitions.stop_requested(subject(claim), store.now(), cause=StopCause.CANCEL, actor="me"))
    stopping = subject(claim, status=Status.CANCELLING, stop_cause="cancel")
    assert make.apply(transitions.forced(stopping, store.now(), actor="me")) == []
    assert make.unit_job(one, '{"other": 1}').why == "active"
    ended = subject(claim, status=Status.CANCELLED)
    assert make.apply(transitions.body_returned(ended)) == []
    assert make.unit_job(one).created


def test_the_units_of_a_task_by_period(store: Store, make: Maker) -> None:
    for period in ("2013-03", "2013-01", "2013-02"):
        make.unit_job(unit(period))
    with store.read() as conn:
        found = units.of_task(conn, "sync")
        february = next(row for row in found if row.period == "2013-02")
        assert february.period_start is not None
        span = units.of_task(conn, "sync", start=february.period_start, end=february.period_start + timedelta(days=28))
    assert [row.period for row in found] == ["2013-01", "2013-02", "2013-03"]
    assert [row.period for row in span] == ["2013-02"]
    assert all(row.active_status is Status.PENDING for row in found)
