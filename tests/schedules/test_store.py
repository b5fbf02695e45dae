"""Schedules, slots and leases in the store: guarded, and once."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from jobtrail.database import leases
from jobtrail.errors import DuplicateRow
from jobtrail.job.model import new_id
from jobtrail.schedules.definition import ScheduleDefinition
from jobtrail.schedules.initial_position import new_row
from jobtrail.schedules.rules.rules import every
from jobtrail.store import schedules
from jobtrail.store.schedules import MISSED, SUBMITTED, Slot

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
TEN = timedelta(seconds=10)


@pytest.fixture
def store(jobs):
    return jobs.store


@pytest.fixture
def row(store):
    """A schedule every ten seconds, stored at noon."""
    made = a_row("s")
    store.write(lambda conn: schedules.add(conn, store.dialect, [made]))
    return made


def a_row(name, task="work"):
    return new_row(name, task, "person", ScheduleDefinition(every(seconds=10)), '{"rule": {}}', NOON)


def read(store, name="s"):
    with store.read() as conn:
        return schedules.named(conn, name)


def slot(row, planned, state=SUBMITTED, **rest):
    values = {"reason": None, "job_id": None, "through": None, **rest}
    return Slot(row.id, planned, state, at=NOON, **values)


def test_a_row_comes_back_as_it_was_stored(store, row):
    assert read(store) == row
    assert (row.next_at, row.due_at, row.anchor) == (NOON + TEN, NOON + TEN, NOON)


def test_a_name_is_stored_once(store, row):
    other, new = a_row("s"), a_row("t")
    assert store.write(lambda conn: schedules.add(conn, store.dialect, [other, new])) == {new.id}
    assert (read(store), read(store, "t")) == (row, new)


def test_only_what_goes_on_and_has_come_is_due_the_longest_due_first(store, row):
    rows = [replace(a_row(f"s{number}"), due_at=NOON + number * TEN) for number in range(3)]
    rows += [replace(a_row("retired"), state="retired"), replace(a_row("other", "else"))]
    store.write(lambda conn: schedules.add(conn, store.dialect, rows))
    with store.read() as conn:
        assert [one.name for one in schedules.due(conn, ["work"], NOON + TEN, 10)] == ["s0", "s", "s1"]
        assert [one.name for one in schedules.due(conn, ["work"], NOON + TEN, 1)] == ["s0"]
        assert schedules.next_due(conn, ["work"], NOON + TEN) == NOON + 2 * TEN
        assert schedules.overview(conn) == {"work": NOON, "else": NOON + TEN}


def test_the_look_at_what_is_due_uses_its_index(store, row):
    store.write(lambda conn: schedules.add(conn, store.dialect, [a_row(f"s{number}") for number in range(3000)]))
    store.write(lambda conn: conn.exec_driver_sql("UPDATE jobtrail_schedules SET due_at = NULL WHERE name <> 's'"))
    condition = "state IN ('active', 'paused') AND due_at <= "
    with store.read() as conn:
        if store.database.is_sqlite:
            plan = conn.exec_driver_sql(f"EXPLAIN QUERY PLAN SELECT * FROM jobtrail_schedules WHERE {condition} 1").all()
        else:
            conn.exec_driver_sql("ANALYZE jobtrail_schedules")
            plan = conn.exec_driver_sql(f"EXPLAIN SELECT * FROM jobtrail_schedules WHERE {condition} now()").all()
    assert "jobtrail_schedules_due" in str(plan)


def test_a_change_names_what_it_leaves(store, row):
    assert store.write(lambda conn: schedules.change(conn, row, NOON, {"state": "paused"}))
    assert not store.write(lambda conn: schedules.change(conn, row, NOON, {"state": "retired"}))
    assert (read(store).state, read(store).version) == ("paused", 2)
    assert not store.write(lambda conn: schedules.remove(conn, row))


def test_what_was_changed_since_it_was_read_is_not_unchanged(store, row):
    other = a_row("t")
    store.write(lambda conn: schedules.add(conn, store.dialect, [other]))
    store.write(lambda conn: schedules.change(conn, other, NOON, {"state": "paused"}))
    assert store.write(lambda conn: schedules.unchanged(conn, [row, other])) == {row.id}
    moved = replace(row, next_at=NOON)
    assert store.write(lambda conn: schedules.unchanged(conn, [moved])) == set()


def test_the_outcome_of_a_job_is_kept_only_while_it_is_the_last(store, row):
    job = new_id()
    store.write(lambda conn: schedules.change(conn, row, NOON, {"last_job": job}))
    assert store.write(lambda conn: schedules.settle(conn, read(store), "failed", 1))
    assert not store.write(lambda conn: schedules.settle(conn, read(store), "failed", 2))
    assert not store.write(lambda conn: schedules.settle(conn, replace(read(store), last_job=new_id()), "completed", 0))
    assert (read(store).last_outcome, read(store).failures_in_row) == ("failed", 1)


def test_a_slot_is_stored_once(store, row):
    store.write(lambda conn: schedules.put_slots(conn, store.dialect, [slot(row, NOON)]))
    with pytest.raises(DuplicateRow):
        store.write(lambda conn: schedules.put_slots(conn, store.dialect, [slot(row, NOON + TEN), slot(row, NOON)]))
    with store.read() as conn:
        assert schedules.slots_of(conn, row.id) == [slot(row, NOON)]
    store.write(lambda conn: schedules.put_free_slots(conn, store.dialect, [slot(row, NOON, MISSED), slot(row, NOON + TEN)]))
    with store.read() as conn:
        assert [one.state for one in schedules.slots_of(conn, row.id)] == [SUBMITTED, SUBMITTED]


def test_which_slots_are_taken(store, row):
    many = [slot(row, NOON + number * TEN, MISSED, reason="down") for number in range(600)]
    store.write(lambda conn: schedules.put_slots(conn, store.dialect, many))
    asked = [(row.id, NOON + number * TEN) for number in range(598, 602)]
    with store.read() as conn:
        assert schedules.taken_slots(conn, asked) == dict.fromkeys(asked[:2], "down")


def test_only_missed_slots_are_taken_back(store, row):
    store.write(lambda conn: schedules.put_slots(conn, store.dialect, [slot(row, NOON), slot(row, NOON + TEN, MISSED)]))
    store.write(lambda conn: schedules.take_back_slots(conn, [(row.id, NOON), (row.id, NOON + TEN)]))
    with store.read() as conn:
        assert schedules.slots_of(conn, row.id) == [slot(row, NOON)]


def test_slots_in_pages_latest_first(store, row):
    store.write(lambda conn: schedules.put_slots(conn, store.dialect, [slot(row, NOON + number * TEN) for number in range(5)]))
    with store.read() as conn:
        first = schedules.slots_of(conn, row.id, limit=2)
        second = schedules.slots_of(conn, row.id, limit=2, before=first[-1].planned_at)
    assert [one.planned_at for one in (*first, *second)] == [NOON + number * TEN for number in (4, 3, 2, 1)]


def test_two_connections_cannot_hold_one_lease(store):
    a, b = new_id(), new_id()
    until = NOON + timedelta(seconds=30)
    assert store.write(lambda conn: leases.take(conn, store.dialect, ["x", "y"], a, NOON, until)) == {"x": 1, "y": 1}
    assert store.write(lambda conn: leases.take(conn, store.dialect, ["x", "z"], b, NOON, until)) == {"z": 1}
    with store.read() as conn:
        assert leases.free(conn, ["x", "y", "z", "new"], b, NOON) == {"z", "new"}
        assert {name: holder for name, holder, _ in leases.everyone(conn, NOON)} == {"x": a, "y": a, "z": b}
    store.write(lambda conn: leases.give_up(conn, {"x": 1, "y": 7}))
    with store.read() as conn:
        assert leases.free(conn, ["x", "y"], b, NOON) == {"x"}
