"""What is counted for those who measure: cheap where it can be, exact where it must be, and never going down."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from making import Maker, subject, unit
from sqlalchemy import update

from jobtrail.database import tables
from jobtrail.job import transitions
from jobtrail.job.model import Status
from jobtrail.queries.monitoring import statistics
from jobtrail.store import jobs, retention, workers
from jobtrail.store.search import search

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from jobtrail.store import Store

NOTHING_KEPT = retention.Retention(0, 0, 0, 0)


@pytest.fixture
def standing(store: Store) -> Callable[..., statistics.StoreSnapshot]:
    def look(now: datetime | None = None, **rest: Any) -> statistics.StoreSnapshot:
        with store.read() as conn:
            return statistics.snapshot(conn, now or store.now(), **rest)

    return look


@pytest.fixture
def ends(store: Store) -> Callable[[], dict[tuple[str, str], int]]:
    def count() -> dict[tuple[str, str], int]:
        with store.read() as conn:
            return statistics.ends(conn)

    return count


def put(store: Store, job_id: str, **values: Any) -> None:
    store.write(lambda conn: conn.execute(update(tables.jobs).where(tables.jobs.c.id == job_id).values(**values)))


def retry(make: Maker, job_id: str) -> None:
    row = make.row(job_id)
    job = transitions.Subject(id=row.id, run_no=row.run_no, attempt=row.attempt, status=row.status)
    assert make.apply(transitions.retried(job, make.store.now(), actor="t")) == []


def prune(store: Store, chunk: int = 100) -> int:
    now = store.now() + timedelta(seconds=5)
    return retention.run_once(store, NOTHING_KEPT, now, chunk=chunk, wait=lambda _rest: False).total


def test_an_empty_store_is_told_as_empty(standing: Any, ends: Any) -> None:
    found = standing()
    assert (found.waiting, found.behind, found.suspects, found.held, found.asking, found.workers) == (
        [],
        0,
        0,
        [],
        [],
        [],
    )
    assert found.open == dict.fromkeys(statistics.OPEN_STATES, 0)
    assert ends() == {}


def test_what_waits_is_counted_by_queue_whatever_its_priority(store: Store, make: Maker, standing: Any) -> None:
    now = store.now()
    for priority in (0, 5, 9):
        make.pending(run_at=now - timedelta(seconds=10 + priority), priority=priority)
        make.pending(run_at=now + timedelta(seconds=60), priority=priority)
    make.pending(queue="other", run_at=now + timedelta(hours=1))
    make.ended("done", queue="third")
    other, default = sorted(standing(now).waiting, key=lambda one: one.due)
    assert (default.queue, default.due, default.later) == ("default", 3, 3)
    assert default.oldest == now - timedelta(seconds=19)
    assert (other.queue, other.due, other.later, other.oldest) == ("other", 0, 1, None)


def test_what_waits_for_another_job_or_for_a_turn_alone_is_not_due(store: Store, make: Maker, standing: Any) -> None:
    make.unit_job(unit())
    make.unit_job(unit(), '{"other": 1}', if_active="queue")
    put(store, make.pending(), suspect=True)
    found = standing()
    assert (found.waiting[0].due, found.behind, found.suspects) == (1, 1, 1)


def test_what_is_handed_over_is_counted_in_its_queue_whether_its_ticket_was_sent_or_not(
    store: Store, make: Maker, standing: Any
) -> None:
    now = store.now()
    make.pending(run_at=now - timedelta(seconds=5))
    put(store, make.pending(run_at=now - timedelta(seconds=9)), executor="celery")
    put(store, make.pending(run_at=now - timedelta(seconds=7)), executor="celery", handed_run=0, handed_at=now)
    put(store, make.pending(run_at=now - timedelta(seconds=20), queue="other"), executor="rq", suspect=True)
    put(store, make.pending(run_at=now + timedelta(hours=1)), executor="rq")
    found = standing(now)
    default, other = sorted(found.waiting, key=lambda one: one.queue)
    assert (default.queue, default.due, default.later) == ("default", 3, 1)
    assert (default.oldest, default.unclaimed) == (now - timedelta(seconds=9), now - timedelta(seconds=5))
    assert default.handed == {"celery": now - timedelta(seconds=9), "rq": None}
    assert (other.due, other.unclaimed, other.handed) == (1, None, {"rq": now - timedelta(seconds=20)})
    assert found.suspects == 0, "a suspect that is handed over is due as any"
    with store.read() as conn:
        assert statistics.oldest_waiting(conn, now) == {"default": now - timedelta(seconds=5)}, "of what workers take"
        assert search.in_status(conn, Status.PENDING).number == 5
        assert search.count(conn, "status:pending queue:other", now=now).number == 1
        assert len(search.find(conn, "status:pending", now=now).rows) == 5
        assert jobs.next_due(conn, ["default", "other"]) == now - timedelta(seconds=5)
        assert not jobs.something_waits(conn, ["other"])


def test_a_count_of_what_is_handed_over_stops_at_its_cap_and_reads_no_row_of_others(
    store: Store, make: Maker, standing: Any
) -> None:
    for _ in range(3):
        put(store, make.pending(), executor="celery")
        put(store, make.pending(queue="other"), executor="celery", handed_run=0, handed_at=store.now())
    assert [one.due for one in standing(cap=2).waiting] == [2, 2]


def test_a_count_stops_at_its_cap(make: Maker, standing: Any) -> None:
    for priority in range(3):
        make.pending(priority=priority)
        make.pending(priority=priority)
        make.ended(to=Status.FAILED, queue="other")
    found = standing(cap=2)
    assert (found.waiting[0].due, found.open["failed"]) == (2, 2)


def test_what_is_held_asked_and_left_over(store: Store, make: Maker, standing: Any) -> None:
    make.pending("load")
    make.pending("load", queue="big")
    make.claim()
    make.claim(queue="big")
    for task, status in (("map", "awaiting_mapping"), ("map", "awaiting_mapping"), ("ask", "awaiting_input")):
        put(store, make.pending(task), status=status, run_at=None)
    put(store, make.pending(), status="interrupted")
    put(store, make.pending(), status="cancelled")
    for status in (Status.FAILED, Status.PARTIAL, Status.COMPLETED):
        make.ended(to=status)
    found = standing()
    assert sorted(found.held) == [("running", "load", "big", 1), ("running", "load", "default", 1)]
    assert sorted(found.asking) == [("awaiting_input", "ask", 1), ("awaiting_mapping", "map", 2)]
    assert found.open == {
        "awaiting_input": 1, "awaiting_mapping": 2, "interrupted": 1, "failed": 1, "partial": 1, "cancelled": 1,
    }  # fmt: skip


def test_workers_are_told_with_their_last_sign_of_life(store: Store, make: Maker, standing: Any) -> None:
    first, second = make.worker, "01a228f3-603b-7394-bb25-a584229d7853"
    now = store.now()
    for worker in (first, second):
        store.write(lambda conn, w=worker: workers.register(conn, store.dialect, w, ["default"], 7, now))
    store.write(lambda conn: workers.beat(conn, first, now + timedelta(seconds=3)))
    store.write(lambda conn: workers.stopped(conn, second, now))
    (living,) = standing().workers
    assert (living.id, living.slots, living.state) == (first, 7, "alive")
    assert living.beat_at == now + timedelta(seconds=3)


# -- ends ----------------------------------------------------------------------------------------------


def test_an_end_counts_once_whatever_retries_and_retention_do(store: Store, make: Maker, ends: Any) -> None:
    job = make.ended(to=Status.FAILED)
    make.ended()
    assert ends() == {("sync", "failed"): 1, ("sync", "completed"): 1}
    retry(make, job)
    assert ends() == {("sync", "failed"): 1, ("sync", "completed"): 1}
    (claim,) = make.claim()
    make.finish(claim, Status.PARTIAL)
    told = {("sync", "failed"): 1, ("sync", "partial"): 1, ("sync", "completed"): 1}
    assert ends() == told
    retry(make, job)
    assert prune(store) == 1
    assert ends() == told
    (claim,) = make.claim()
    make.apply(transitions.finished(subject(claim), store.now(), Status.FAILED))
    told["sync", "failed"] = 2
    assert ends() == told
    assert prune(store) == 1
    assert ends() == told
    assert make.count(tables.jobs) == 0


def test_no_look_meets_a_job_twice_or_not_at_all_while_it_is_removed(store: Store, make: Maker, ends: Any) -> None:
    for _ in range(60):
        make.ended()
    pruning = threading.Thread(target=prune, args=(store, 1))
    pruning.start()
    looks = []
    while pruning.is_alive() or not looks:
        looks.append(sum(ends().values()))
    pruning.join()
    assert set(looks) == {60}
    assert make.count(tables.jobs) == 0
