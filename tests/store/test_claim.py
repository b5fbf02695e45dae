"""The claim: due jobs only, most urgent first, then oldest due; never one twice, never beyond the limit."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import TYPE_CHECKING

from making import new_job, of_unit, unit

from jobtrail.job.model import new_id
from jobtrail.store import jobs
from jobtrail.store.jobs import Marks
from jobtrail.store.submissions import Rules

if TYPE_CHECKING:
    from making import Maker

    from jobtrail.store import Store


def test_most_urgent_first_then_oldest_due(store: Store, make: Maker) -> None:
    now = store.now()
    order = [(0, 1), (0, 0), (5, 9), (5, 3), (9, 5)]
    ids = [make.pending(priority=p, run_at=now - timedelta(minutes=m)) for p, m in reversed(order)][::-1]
    assert [claim.id for claim in make.claim(2)] == ids[:2]
    assert [claim.id for claim in make.claim()] == ids[2:]


def test_not_before_its_time(store: Store, make: Maker) -> None:
    at = store.now() + timedelta(hours=1)
    job_id = make.pending(run_at=at)
    assert make.claim() == []
    assert [claim.id for claim in make.claim(now=at)] == [job_id]


def test_own_queue_only(make: Maker) -> None:
    make.pending(queue="slow")
    assert make.claim() == []
    assert len(make.claim(queue="slow")) == 1


def test_a_claim_carries_what_a_run_needs(make: Maker) -> None:
    one = unit()
    make.submit(of_unit(one, '{"n": 1}', generation=(telling := new_id()), context="{}"), Rules(unit=one))
    (claim,) = make.claim()
    row = make.row(claim.id)
    assert (claim.run_no, claim.attempt, claim.args, claim.unit) == (1, 1, '{"n": 1}', one.key)
    assert (claim.ledger, claim.context, claim.fresh) == (telling, "{}", False)
    assert (row.status, row.run_no, row.worker, row.started_at) == ("running", 1, make.worker, claim.started_at)


def test_never_beyond_the_limit(store: Store, make: Maker) -> None:
    for priority in range(10):
        store.insert_alike(new_job(priority=priority), [(new_id(), "{}") for _ in range(3)])
    assert len(make.claim(7)) == 7
    assert len(make.claim(1)) == 1
    assert len(make.claim(100)) == 22


def test_what_another_has_locked_is_passed_over(store: Store, other: Store, make: Maker) -> None:
    """On SQLite the second waits for the first instead: there is one writer at a time."""
    store.insert_alike(new_job(), [(new_id(), "{}") for _ in range(4)])
    now = store.now()
    if store.database.is_sqlite:
        first = make.claim(2)
    else:
        with store.database.engine.connect() as conn:
            conn.exec_driver_sql("BEGIN")
            first = jobs.claim(conn, store.dialect, "default", 2, make.worker, now)
            second = other.write(lambda c: jobs.claim(c, other.dialect, "default", 4, new_id(), now))
            conn.exec_driver_sql("ROLLBACK")
        assert len(second) == 2
        assert {c.id for c in first}.isdisjoint(c.id for c in second)
        first = second
    rest = other.write(lambda c: jobs.claim(c, other.dialect, "default", 4, new_id(), now))
    assert len(rest) == 2
    assert {c.id for c in first}.isdisjoint(c.id for c in rest)


def test_many_claimers_get_each_job_once(store: Store, other: Store) -> None:
    store.insert_alike(new_job(), [(new_id(), "{}") for _ in range(200)])
    claimed: list[str] = []

    def take(one: Store) -> None:
        worker = new_id()
        while got := one.write(
            lambda c: jobs.claim(c, one.dialect, "default", 7, worker, one.now() + timedelta(hours=1))
        ):
            assert len(got) <= 7
            claimed.extend(claim.id for claim in got)

    threads = [threading.Thread(target=take, args=(one,)) for one in (store, other) * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(claimed) == len(set(claimed)) == 200


def test_the_marks_hide_nothing_for_longer_than_a_look(store: Store, make: Maker) -> None:
    marks, now = Marks(), store.now()
    late = new_job(run_at=now - timedelta(hours=1))
    store.insert(new_job(run_at=now))

    def claim(monotonic: float) -> list[str]:
        found = store.write(lambda c: jobs.claim(c, store.dialect, "default", 5, make.worker, now, marks, monotonic))
        return [one.id for one in found]

    assert len(claim(0.0)) == 1
    store.insert(late)
    early = claim(0.5)
    assert early in ([], [late.id])
    assert early + claim(1.0) == [late.id]


def test_a_marked_claim_goes_on_where_it_was(store: Store, make: Maker) -> None:
    marks, now = Marks(), store.now()
    store.insert_alike(new_job(run_at=now), [(new_id(), "{}") for _ in range(10)])
    got = [
        store.write(lambda c: jobs.claim(c, store.dialect, "default", 4, make.worker, now, marks, 0.0))
        for _ in range(4)
    ]
    assert [len(claims) for claims in got] == [4, 4, 2, 0]
