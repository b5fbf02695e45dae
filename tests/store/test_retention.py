"""Retention (case C-39): what is old goes in chunks and leaves no orphans; what is active, referred to or true stays."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest
from making import new_job, of_unit, subject, unit
from sqlalchemy import select, union, update

from jobtrail.config import Settings
from jobtrail.database import tables
from jobtrail.errors import InvalidOption
from jobtrail.job import transitions
from jobtrail.job.items import ItemOutcome
from jobtrail.job.model import Outcome, Status
from jobtrail.store import retention, runs, units, workers
from jobtrail.store.items import Recorded
from jobtrail.store.removal import ledgers
from jobtrail.store.retention import Retention, run_once
from jobtrail.store.submissions import Rules

if TYPE_CHECKING:
    from making import Maker

    from jobtrail.store import Store

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
LONG_AGO = NOW - timedelta(days=400)
POLICY = Retention.of(Settings())
JOB_TABLES = (tables.events, tables.logs, tables.progress, tables.job_labels, tables.item_history)


@pytest.fixture(autouse=True)
def old_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids as they were made 400 days ago, one millisecond after the other."""
    import making

    made = iter(range(1, 1_000_000))

    def old_id() -> str:
        millis = int(LONG_AGO.timestamp() * 1000) + next(made)
        return str(UUID(int=(millis << 80) | (7 << 76) | (2 << 62) | millis))

    monkeypatch.setattr(making, "new_id", old_id)


@pytest.fixture
def old(store: Store, make: Maker) -> Any:
    """Makes a job that ended long ago, with everything that can hang on one."""

    def job(
        to: Status = Status.COMPLETED, *, days: float = 400, unit_of: Any = None, items: Any = (), **rest: Any
    ) -> str:
        new = of_unit(unit_of, **rest) if unit_of else new_job(**rest)
        store.submit(new, Rules(unit=unit_of, labels={"tenant": "acme"}))
        (claim,) = make.claim()
        records = runs.Records(claim.id, claim.run_no, claim.ledger)
        records.items = [Recorded("", str(i), i, ItemOutcome(outcome)) for i, outcome in enumerate(items)]
        records.progress = runs.Progress(50.0)
        records.log = [runs.LogChunk(0, 1, 1, "x")]
        store.write(lambda conn: runs.write(conn, store.dialect, records, NOW))
        step = {"name": "s", "digest": "d", "result": "1", "seconds": 1.0, "now": NOW}
        store.write(lambda conn: runs.save_step(conn, store.dialect, records, **step))
        ended = NOW - timedelta(days=days)
        if to is Status.CANCELLED:
            make.apply(transitions.stop_requested(subject(claim), ended, cause=transitions.StopCause.CANCEL, actor="me"))
            make.apply(transitions.stopped_by_cancel(subject(claim), ended))
        else:
            make.apply(transitions.finished(subject(claim), ended, to), ledgers={claim.id: (claim.ledger, None)})
        times = {"started_at": ended - timedelta(seconds=30), "run_at": ended - timedelta(seconds=40)}
        store.write(lambda conn: conn.execute(update(tables.jobs).where(tables.jobs.c.id == claim.id).values(times)))
        return claim.id

    return job


def ids(store: Store) -> set[str]:
    """All jobs."""
    with store.read() as conn:
        return set(conn.execute(select(tables.jobs.c.id)).scalars())


def assert_no_orphans(store: Store) -> None:
    """Nothing that hangs on a job has lost it, and no ledger stands without a job or an open unit."""
    with store.read() as conn:
        for table in JOB_TABLES:
            alone = select(table.c.job_id).where(table.c.job_id.not_in(select(tables.jobs.c.id)))
            assert conn.execute(alone).all() == [], table.name
        for table in (tables.items, tables.steps):
            stands = union(
                select(tables.jobs.c.id),
                select(tables.jobs.c.generation).where(tables.jobs.c.generation.is_not(None)),
                select(tables.units.c.generation).where(tables.units.c.outcome != "success"),
            )
            alone = select(table.c.generation).where(table.c.generation.not_in(stands))
            assert conn.execute(alone).all() == [], table.name


def test_by_status_and_age(store: Store, make: Maker, old: Any) -> None:
    gone = {old(), old(Status.CANCELLED, days=31), old(Status.FAILED, days=91), old(Status.PARTIAL, days=91)}
    kept = {old(days=29), old(Status.FAILED, days=89), old(Status.PARTIAL, days=89), old(Status.CANCELLED, days=1)}
    pruned = run_once(store, POLICY, NOW)
    assert (pruned.total, ids(store)) == (4, kept)
    assert pruned.jobs == {"completed": 1, "cancelled": 1, "failed": 1, "partial": 1}
    assert gone.isdisjoint(kept)
    assert_no_orphans(store)
    assert make.count(tables.logs) == len(kept)
    assert run_once(store, POLICY, NOW).total == 0


def test_none_keeps_for_ever(store: Store, old: Any) -> None:
    kept = {old(), old(Status.FAILED)}
    assert run_once(store, Retention(None, None, None, None), NOW).total == 0
    assert ids(store) == kept


def test_a_number_that_is_no_time_is_refused() -> None:
    for wrong in (-1, True, float("nan"), "30"):
        with pytest.raises(InvalidOption, match="retention of failed jobs"):
            replace(POLICY, failed=wrong)  # type: ignore[arg-type]


def test_c39_the_active_and_what_they_refer_to_stay(store: Store, make: Maker, old: Any) -> None:
    rerun, parent, root, telling, alone = old(), old(), old(), old(), old()
    active = {
        make.pending(rerun_of=rerun),
        make.pending(parent=parent, root=root),
        make.pending(generation=telling),
    }
    kept = {rerun, parent, root, telling}
    assert run_once(store, POLICY, NOW, chunk=2).total == 1
    assert ids(store) == kept | active
    assert alone not in kept
    assert make.count(tables.steps) == len(kept)


def test_a_forced_end_whose_body_still_runs_stays(store: Store, make: Maker) -> None:
    one = make.unit_job()
    (claim,) = make.claim()
    make.apply(transitions.stop_requested(subject(claim), LONG_AGO, cause=transitions.StopCause.CANCEL, actor="me"))
    stopping = subject(claim, status=Status.CANCELLING, stop_cause="cancel")
    assert make.apply(transitions.forced(stopping, LONG_AGO, actor="me")) == []
    assert run_once(store, POLICY, NOW).total == 0
    assert ids(store) == {one.id}


def test_units_stay_and_an_open_one_keeps_its_ledger(store: Store, make: Maker, old: Any) -> None:
    whole, open_ = unit("2013-02"), unit("2013-03")
    old(unit_of=whole, items=["ok", "ok"])
    failed = old(Status.PARTIAL, unit_of=open_, items=["ok", "failed"])
    old(items=["ok", "failed"])
    run_once(store, POLICY, NOW)
    assert ids(store) == set()
    with store.read() as conn:
        assert units.get(conn, whole.key).outcome is Outcome.SUCCESS  # type: ignore[union-attr]
        assert units.get(conn, open_.key).job_id == failed  # type: ignore[union-attr]
        assert set(conn.execute(select(tables.items.c.generation)).scalars()) == {failed}
    assert make.count(tables.items) == 2
    assert_no_orphans(store)

    again = old(unit_of=open_, items=["ok", "ok"], days=1)
    pruned = run_once(store, POLICY, NOW)
    assert (pruned.total, pruned.ledgers) == (0, 1)
    assert ids(store) == {again}
    with store.read() as conn:
        assert set(conn.execute(select(tables.items.c.generation)).scalars()) == {again}
    assert_no_orphans(store)


def test_a_ledger_stays_while_a_job_of_its_telling_does(store: Store, make: Maker, old: Any) -> None:
    one = unit()
    first = old(Status.PARTIAL, unit_of=one, items=["ok", "failed"])
    old(unit_of=one, generation=first, items=["ok", "ok"], days=1)
    assert run_once(store, POLICY, NOW).total == 1
    assert make.count(tables.items, tables.items.c.generation == first) == 2
    assert_no_orphans(store)


def test_c39_what_was_removed_is_counted(store: Store, old: Any) -> None:
    for _ in range(3):
        old()
    old(Status.FAILED)
    run_once(store, POLICY, NOW, chunk=2)
    with store.read() as conn:
        found = {row["status"]: row for row in retention.totals(conn, LONG_AGO - timedelta(days=1))}
    assert (found["completed"]["jobs"], found["failed"]["jobs"]) == (3, 1)
    assert found["completed"]["hour"] == (NOW - timedelta(days=400)).replace(minute=0)
    assert found["completed"]["run_seconds"] == pytest.approx(90)
    assert found["completed"]["wait_seconds"] == pytest.approx(30)


def test_c39_what_stops_a_pass_loses_nothing_and_the_next_goes_on(store: Store, make: Maker, old: Any) -> None:
    for _ in range(7):
        old(items=["ok"])
    chunks = iter([False, True])
    assert run_once(store, POLICY, NOW, chunk=2, wait=lambda _seconds: next(chunks)).total == 4
    assert_no_orphans(store)

    def killed(_seconds: float) -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_once(store, POLICY, NOW, chunk=2, wait=killed)
    assert_no_orphans(store)
    assert run_once(store, POLICY, NOW, chunk=2).total == 1
    with store.read() as conn:
        assert sum(row["jobs"] for row in retention.totals(conn, LONG_AGO - timedelta(days=1))) == 7
    assert make.count(tables.items) == make.count(tables.steps) == 0


def test_kept_jobs_at_the_front_do_not_stop_a_pass(store: Store, make: Maker, old: Any) -> None:
    for _ in range(5):
        make.pending(rerun_of=old(), run_at=NOW + timedelta(days=9999))
    old()
    assert run_once(store, POLICY, NOW, chunk=2).total == 1


def test_c39_two_at_once_count_each_job_once(store: Store, other: Store, old: Any) -> None:
    for _ in range(30):
        old()
    done = [threading.Thread(target=run_once, args=(one, POLICY, NOW), kwargs={"chunk": 3}) for one in (store, other)]
    for thread in done:
        thread.start()
    for thread in done:
        thread.join()
    run_once(store, POLICY, NOW)
    assert ids(store) == set()
    with store.read() as conn:
        assert sum(row["jobs"] for row in retention.totals(conn, LONG_AGO - timedelta(days=1))) == 30
    assert_no_orphans(store)


def test_a_retry_and_its_removal_do_not_both_happen(store: Store, make: Maker, old: Any) -> None:
    """The row is locked before it is looked at: a job that somebody retries now is passed over."""
    job_id = old(Status.FAILED)
    make.apply(transitions.retried(subject_of(make, job_id), NOW, actor="me"))
    assert run_once(store, POLICY, NOW).total == 0
    assert ids(store) == {job_id}


def subject_of(make: Maker, job_id: str) -> Any:
    """A job in its state, as the moves see it."""
    row = make.row(job_id)
    return transitions.Subject(row.id, row.run_no, row.attempt, row.status, row.unit, row.max_attempts)


def test_keys_go_when_they_have_expired(store: Store, make: Maker) -> None:
    for number in range(5):
        expires = NOW + timedelta(hours=number - 3)
        store.submit(new_job(), Rules(idempotency=("sync", f"k{number}", "d", expires)))
    pruned = run_once(store, POLICY, NOW, chunk=2)
    assert (pruned.keys, make.count(tables.idempotency_keys)) == (4, 1)
    assert run_once(store, POLICY, NOW).keys == 0


def test_c39_jobs_that_end_meanwhile_wait_for_no_clean_up(store: Store, other: Store, make: Maker, old: Any) -> None:
    """In committed chunks: nobody waits a second for a lock, and each pass of a chunk makes progress."""
    for _ in range(30):
        old(Status.COMPLETED)
    waiting = [make.pending() for _ in range(40)]
    ended = threading.Event()
    cleaning = threading.Thread(target=lambda: (run_once(other, POLICY, NOW, chunk=3), ended.set()))
    cleaning.start()
    waits = []
    while not ended.is_set() or not waits:
        began = time.monotonic()
        claims = make.claim(1)
        for claim in claims:
            make.apply(transitions.finished(subject(claim), NOW, Status.COMPLETED))
        waits.append(time.monotonic() - began)
    cleaning.join()
    assert max(waits) < 1.0, f"an ending job waited {max(waits):.2f} s"
    assert ids(store) == set(waiting)


def test_after_each_chunk_it_rests_four_times_as_long(store: Store, old: Any) -> None:
    for _ in range(6):
        old()
    rests: list[float] = []
    began = time.monotonic()
    assert run_once(store, POLICY, NOW, chunk=2, wait=lambda seconds: rests.append(seconds) or False).total == 6
    assert len(rests) >= 3
    assert 0 < sum(rests) <= 4 * (time.monotonic() - began)
    assert sum(rests) > 2 * (time.monotonic() - began), "only what lies between the chunks is left out"


def test_c39_where_two_may_write_at_once_nobody_waits_for_a_chunk(store: Store, make: Maker) -> None:
    if store.database.is_sqlite:
        pytest.skip("SQLite has one writer at a time")
    inside = []

    def chunk(_conn: Any) -> str:
        inside.append(make.pending())  # a write of the same process, in the middle of it
        return "done"

    assert store.write_beside(chunk) == "done"
    assert ids(store) == set(inside)


# -- submitters ------------------------------------------------------------------------------------------


def test_c39_a_ledger_of_many_items_goes_some_rows_at_a_time(
    store: Store, make: Maker, old: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of 100,000 items in one transaction kept every other writer of a SQLite database waiting."""
    monkeypatch.setattr(ledgers, "ROWS", 10)
    old(items=["ok"] * 35)
    old(items=["ok"] * 5)
    left, write = [make.count(tables.items)], store.write_beside

    def counted(operation: Any) -> Any:
        found = write(operation)
        left.append(make.count(tables.items))
        return found

    monkeypatch.setattr(store, "write_beside", counted)
    pruned = run_once(store, POLICY, NOW, wait=lambda _: False)
    assert max(before - after for before, after in pairwise(left)) <= 10
    assert (left[-1], pruned.total, pruned.ledgers) == (0, 2, 2)
    assert_no_orphans(store)


@pytest.mark.parametrize("after", [1, 2, 3])
def test_c39_a_pass_that_ends_within_a_ledger_leaves_it_to_the_next(
    store: Store, make: Maker, old: Any, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    monkeypatch.setattr(ledgers, "ROWS", 10)
    old(items=["ok"] * 35)
    rests = iter(range(1, 100))
    run_once(store, POLICY, NOW, wait=lambda _: next(rests) >= after)
    assert (ids(store), make.count(tables.items)) == (set(), 35 - 10 * after)
    run_once(store, POLICY, NOW)
    assert_no_orphans(store)


def test_what_items_were_goes_with_the_job_that_recorded_it(store: Store, make: Maker, old: Any) -> None:
    one = unit()
    first = old(Status.PARTIAL, unit_of=one, items=["ok", "failed", "failed"])
    second = old(Status.PARTIAL, unit_of=one, generation=first, items=["ok", "failed", "failed"], days=1)
    third = old(unit_of=one, generation=first, items=["ok", "ok", "ok"], days=1)
    assert make.count(tables.item_history) == 6
    assert run_once(store, POLICY, NOW).total == 1
    assert ids(store) == {second, third}
    assert make.count(tables.item_history, tables.item_history.c.job_id == second) == 3
    assert make.count(tables.items) == 3, "the truth stays"
    assert_no_orphans(store)


def test_much_history_goes_some_rows_at_a_time_and_the_next_pass_goes_on(
    store: Store, make: Maker, old: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledgers, "ROWS", 10)
    one = unit()
    first = old(Status.PARTIAL, unit_of=one, items=["failed"] * 35)
    old(unit_of=one, generation=first, items=["ok"] * 35, days=1)
    left, write = [35], store.write_beside

    def counted(operation: Any) -> Any:
        found = write(operation)
        left.append(make.count(tables.item_history))
        return found

    monkeypatch.setattr(store, "write_beside", counted)
    run_once(store, POLICY, NOW, wait=lambda _: left[-1] < 20)
    assert left[-1] == 15, "the pass was ended"
    run_once(store, POLICY, NOW, wait=lambda _: False)
    assert left[-1] == 0
    assert max(before - after for before, after in pairwise(left)) <= 10
    assert_no_orphans(store)


def test_rows_of_processes_without_a_kept_job_go(store: Store, make: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    def heard(name: str, days: float, pid: int = 4_000_000) -> str:
        one = str(UUID(int=hash(name) & (2**128 - 1)))
        monkeypatch.setattr(workers.os, "getpid", lambda: pid)
        store.write(lambda conn: workers.add_submitter(conn, store.dialect, one, NOW - timedelta(days=days)))
        return one

    gone = heard("gone", 400)
    lately = heard("lately", 91)
    kept = heard("kept", 400)
    again = heard("again", 400)
    assert heard("again", 1) == again
    works = heard("works", 400, pid=77)
    store.write(lambda conn: workers.register(conn, store.dialect, make.worker, ["default"], 1, NOW))
    make.pending(submitter=kept)

    def known() -> set[str]:
        with store.read() as conn:
            return set(conn.execute(select(tables.submitters.c.id)).scalars())

    everybody = {gone, lately, kept, again, works}
    assert known() >= everybody
    for policy in (Retention(None, None, None, None), replace(POLICY, completed=None)):
        assert run_once(store, policy, NOW).submitters == 0
    assert run_once(store, POLICY, NOW, chunk=2).submitters == 1
    assert everybody - known() == {gone}
