"""One reader of the trail: each line once, also one that was numbered before others and committed after them."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta

import pytest
from making import Maker
from sqlalchemy import delete

from jobtrail.database import tables
from jobtrail.job import transitions
from jobtrail.queries import trail_reader
from jobtrail.store import Store, events

MINUTE = timedelta(minutes=1)


@pytest.fixture
def read(store):
    reader = trail_reader.TrailReader()

    def look(**later):
        with store.read() as conn:
            return [line.reason for line in reader.read(conn, store.now() + timedelta(**later))]

    look()
    return look


def say(store, *reasons, at=None):
    rows = [events.note("01978f3e-0000-7000-8000-000000000000", at or store.now(), "stuck", reason=one) for one in reasons]
    store.write(lambda conn: events.append(conn, store.dialect, rows))


def test_what_was_there_before_is_not_told_and_what_comes_is_told_once(store, read):
    say(store, "a", "b")
    assert read() == ["a", "b"]
    assert read() == []
    say(store, "c")
    assert read() == ["c"]


def test_one_that_begins_behind_a_line_is_told_what_came_after_it(store):
    say(store, "a", "b", "c")
    with store.read() as conn:
        first = events.after(conn, 0)[0].id
        found = trail_reader.TrailReader(first).read(conn, store.now())
    assert [line.reason for line in found] == ["b", "c"]


def test_a_line_that_is_committed_behind_later_ones_is_told_when_it_appears(store, read):
    """SQLite has one writer, so numbers rise with commits there; PostgreSQL gives numbers before."""
    if store.dialect.name == "sqlite":
        say(store, "late", "soon")
        assert read() == ["late", "soon"]
        return
    with closing(store.database.own_connection()) as slow:
        slow.exec_driver_sql("BEGIN")
        line = events.note("01978f3e-0000-7000-8000-000000000000", store.now(), "stuck", reason="late")
        events.append(slow, store.dialect, [line])
        say(store, "soon")
        assert read() == ["soon"]
        assert read() == []
        slow.exec_driver_sql("COMMIT")
    assert read() == ["late"]
    assert read() == []


def test_a_gap_is_waited_for_ten_seconds_and_no_longer(store, read):
    say(store, "a", "gone", "b")
    read()
    say(store, "c", "rolled back", "d")
    store.write(lambda conn: conn.execute(delete(tables.events).where(tables.events.c.reason == "rolled back")))
    assert read() == ["c", "d"]
    assert read(seconds=9) == []
    assert read(seconds=60) == []
    say(store, "e")
    assert read(seconds=60) == ["e"]


def test_many_lines_come_in_portions_and_none_is_left_out(store, read, monkeypatch):
    reader = trail_reader.TrailReader(0)
    say(store, *(str(n) for n in range(25)))
    with store.read() as conn:
        found = [line.reason for _ in range(4) for line in reader.read(conn, store.now(), limit=10)]
    assert found == [str(n) for n in range(25)]


def test_what_was_missed_is_given_with_what_stands_closely_before(store):
    now = store.now()
    say(store, "old", at=now - MINUTE)
    say(store, "close", at=now - timedelta(seconds=3))
    say(store, "known", at=now)
    say(store, "missed")
    with store.read() as conn:
        known = next(line.id for line in events.after(conn, 0) if line.reason == "known")
        assert [line.reason for line in trail_reader.missed_since(conn, known)] == ["close", "missed"]
        assert trail_reader.missed_since(conn, known, limit=0) is None
        assert trail_reader.missed_since(conn, 10**12) is None
        assert [line.reason for line in trail_reader.missed_since(conn, 0)] == ["old", "close", "known", "missed"]


def test_a_pruned_trail_says_that_it_does_not_know(store):
    say(store, "a", "b", "c", "d")
    store.write(lambda conn: conn.execute(delete(tables.events).where(tables.events.c.reason.in_(["a", "b"]))))
    with store.read() as conn:
        (third, *_) = events.after(conn, 0)
        assert trail_reader.missed_since(conn, third.id - 1) is None
        assert [line.reason for line in trail_reader.missed_since(conn, third.id)] == ["d"]


def test_moves_are_lines_too(store: Store, make: Maker, read):
    job = make.row(make.pending())
    make.apply(transitions.cancelled(transitions.Subject(job.id, job.run_no, status=job.status), store.now(), actor="ann", reason="why"))
    assert read() == ["why"]
