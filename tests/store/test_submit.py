"""Submissions that meet: units, the place behind, keys; each gets an answer and none an error."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from making import new_job, of_unit, unit

from jobtrail.database import tables
from jobtrail.job.model import Status
from jobtrail.store import jobs, units
from jobtrail.store.submissions import Rules

if TYPE_CHECKING:
    from making import Maker

    from jobtrail.store import Store


# -- units ---------------------------------------------------------------------------------------------


def test_the_same_work_is_the_same_job(make: Maker) -> None:
    first, second = make.unit_job(), make.unit_job()
    assert (first.created, second.created, second.id, second.why) == (True, False, first.id, None)
    assert make.count(tables.jobs) == make.count(tables.units) == 1


def test_other_arguments_are_told_who_is_active(make: Maker) -> None:
    first, second = make.unit_job(), make.unit_job(args='{"n": 2}')
    assert (second.created, second.in_way, second.why) == (False, first.id, "active")


def test_raise_tells_it_always(make: Maker) -> None:
    first, second = make.unit_job(), make.unit_job(if_active="raise")
    assert (second.created, second.in_way, second.why) == (False, first.id, "active")


def test_units_that_differ_do_not_meet(make: Maker) -> None:
    answers = [
        make.unit_job(unit("2013-02")),
        make.unit_job(unit("2013-03")),
        make.unit_job(unit("2013-02", source="weather/LGA")),
        make.unit_job(unit("2013-02", task="other")),
    ]
    assert all(answer.created for answer in answers)


def test_one_waits_behind_and_no_more(make: Maker) -> None:
    first = make.unit_job()
    second = make.unit_job(if_active="queue", args='{"n": 2}')
    same = make.unit_job(if_active="queue", args='{"n": 2}')
    third = make.unit_job(if_active="queue", args='{"n": 3}')
    assert (second.created, same.created, same.id) == (True, False, second.id)
    assert (third.created, third.in_way, third.why) == (False, second.id, "active")
    row = make.row(second.id)
    assert (row.waits_for, row.unit_lock, row.run_at) == (first.id, None, None)


@pytest.mark.parametrize("end", [Status.COMPLETED, Status.FAILED])
def test_the_end_passes_the_unit_on(make: Maker, end: Status) -> None:
    make.unit_job()
    second = make.unit_job(if_active="queue")
    (claim,) = make.claim()
    assert make.finish(claim, end) == []
    row = make.row(second.id)
    assert (row.waits_for, row.unit_lock) == (None, row.unit)
    assert [one.id for one in make.claim()] == [second.id]
    assert make.unit_job().id == second.id


def test_complete_already(make: Maker) -> None:
    one = unit()
    first = make.unit_job(one)
    (claim,) = make.claim()
    make.finish(claim)
    again = make.submit(of_unit(one), Rules(unit=one, if_done="skip"))
    assert (again.created, again.id, again.why) == (False, first.id, "done")
    assert make.submit(of_unit(one), Rules(unit=one)).created


def test_an_unfinished_unit_is_not_complete(make: Maker) -> None:
    one = unit()
    make.unit_job(one)
    (claim,) = make.claim()
    make.finish(claim, Status.PARTIAL)
    assert make.submit(of_unit(one), Rules(unit=one, if_done="raise")).created


def test_labels_are_kept_beside(make: Maker) -> None:
    make.submit(new_job(), Rules(labels={"b": "2", "a": "1"}))
    assert make.count(tables.job_labels) == 2


# -- keys ----------------------------------------------------------------------------------------------


def keyed(make: Maker, key: str = "k", digest: str = "d", *, hours: float = 1, **rest: Any) -> Any:
    """Submit under a key."""
    expires = make.store.now() + timedelta(hours=hours)
    return make.submit(rest.pop("new", None) or new_job(), Rules(idempotency=("sync", key, digest, expires), **rest))


def test_the_same_key_and_payload_is_the_same_job(make: Maker) -> None:
    first, second = keyed(make), keyed(make)
    assert (first.created, second.created, second.id, second.why) == (True, False, first.id, None)
    assert make.count(tables.jobs) == 1


def test_another_payload_under_the_key_is_told(make: Maker) -> None:
    first, second = keyed(make), keyed(make, digest="other")
    assert (second.created, second.in_way, second.why) == (False, first.id, "key")


def test_an_expired_key_is_free(make: Maker) -> None:
    first, second = keyed(make, hours=-1), keyed(make, digest="other")
    assert first.created
    assert second.created
    assert make.count(tables.idempotency_keys) == 1


def test_what_is_rolled_back_frees_the_key(store: Store, make: Maker) -> None:
    class Undone(Exception):
        pass

    def operation(conn: Any) -> None:
        store.submit_on(conn, new_job(), Rules(idempotency=("sync", "k", "d", store.now() + timedelta(hours=1))))
        raise Undone

    with pytest.raises(Undone):
        store.write(operation)
    assert make.count(tables.jobs) == make.count(tables.idempotency_keys) == 0
    assert keyed(make).created


def test_a_key_names_the_job_that_stands_for_it(make: Maker) -> None:
    one = unit()
    active = make.unit_job(one)
    met = keyed(make, new=of_unit(one), unit=one)
    assert (met.id, met.created) == (active.id, False)
    assert keyed(make, new=of_unit(one), unit=one).id == active.id


def test_a_refused_submission_leaves_the_key_free(make: Maker) -> None:
    one = unit()
    make.unit_job(one)
    assert keyed(make, new=of_unit(one, '{"n": 2}'), unit=one).why == "active"
    assert make.count(tables.idempotency_keys) == 0


# -- at once -------------------------------------------------------------------------------------------


def at_once(number: int, call: Any) -> list[Any]:
    """Call it in so many threads that start together."""
    gate = threading.Barrier(number)

    def one(index: int) -> Any:
        gate.wait()
        return call(index)

    with ThreadPoolExecutor(number) as pool:
        return list(pool.map(one, range(number)))


def test_fifty_at_once_are_one_active_job(store: Store, other: Store, make: Maker) -> None:
    one = unit()
    answers = at_once(50, lambda i: (store, other)[i % 2].submit(of_unit(one), Rules(unit=one)))
    assert len({answer.id for answer in answers}) == 1
    assert sum(answer.created for answer in answers) == 1
    assert {answer.why for answer in answers} == {None}
    with store.read() as conn:
        assert jobs.active_of_unit(conn, one.key) == answers[0].id
        assert units.get(conn, one.key) is not None
    assert make.count(tables.jobs) == 1


def test_fifty_at_once_under_one_key_are_one_job(store: Store, other: Store, make: Maker) -> None:
    rules = Rules(idempotency=("sync", "k", "d", store.now() + timedelta(hours=1)))
    answers = at_once(50, lambda i: (store, other)[i % 2].submit(new_job(), rules))
    assert len({answer.id for answer in answers}) == make.count(tables.jobs) == 1
    assert sum(answer.created for answer in answers) == 1


def test_at_once_behind_an_active_one(store: Store, other: Store, make: Maker) -> None:
    one = unit()
    make.unit_job(one)
    rules = Rules(unit=one, if_active="queue")
    answers = at_once(20, lambda i: (store, other)[i % 2].submit(of_unit(one), rules))
    assert len({answer.id for answer in answers}) == 1
    assert {answer.why for answer in answers} == {None}
    assert make.count(tables.jobs) == 2


def test_submitting_while_the_holder_ends(store: Store, other: Store, make: Maker) -> None:
    """Whoever meets a holder that ends just now gets the old one or a new one, never an error."""
    one = unit()
    for _ in range(5):
        make.unit_job(one)
        (claim,) = make.claim()

        def act(index: int, claim: Any = claim) -> Any:
            if index == 0:
                return make.finish(claim)
            return other.submit(of_unit(one), Rules(unit=one, if_active="queue" if index % 2 else "same"))

        _, *answers = at_once(8, act)
        assert {answer.why for answer in answers} == {None}
        for left in make.claim():
            make.finish(left)
        for left in make.claim():
            make.finish(left)
        with store.read() as conn:
            assert jobs.active_of_unit(conn, one.key) is None
        assert make.count(tables.jobs, tables.jobs.c.status != "completed") == 0
