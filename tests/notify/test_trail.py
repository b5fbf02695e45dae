"""The trail is read without a gap: in any order of commits, twice, by two readers, and after numbers began anew."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta

import pytest
from sqlalchemy import delete, select

from jobtrail.database.tables import events as trail
from jobtrail.job.model import new_id
from jobtrail.notify import AlertRule, tables
from jobtrail.queries.monitoring import trail_window
from jobtrail.queries.monitoring.trail_window import TrailPosition
from jobtrail.store import Store, events
from jobtrail.testing import drain

RULES = [AlertRule("all", kinds="job.*", group=0)]


def line(store: Store, name: str = "finished", to: str = "failed", job: str | None = None):
    """The values of a line of the trail."""
    return (job or new_id(), store.now(), name, "running", to, 1, None, None, None)


def write(store: Store, *lines) -> None:
    store.write(lambda conn: events.append(conn, store.dialect, list(lines)))


def read(store: Store, position: TrailPosition, seen=(), *, after: float = 0.0):
    with store.read() as conn:
        return trail_window.read(conn, position, store.now() + timedelta(seconds=after), seen=seen)


def begin(store: Store) -> TrailPosition:
    with store.read() as conn:
        return trail_window.begin(conn, store.now())


@pytest.fixture
def store(url: str):
    with closing(Store(url)) as one:
        yield one


@pytest.mark.both_databases
def test_only_lines_that_somebody_may_be_told_are_read(store):
    position = begin(store)
    wanted = [line(store), line(store, to="partial"), line(store, "interrupted", "interrupted"), line(store, "asked", "awaiting_input"),
              line(store, "slot_missed", None)]  # fmt: skip
    write(store, line(store, "snoozed", "pending"), *wanted, line(store, "released", "pending"))
    found, _ = read(store, position)
    assert [one.job_id for one in found] == [one[0] for one in wanted]


@pytest.mark.both_databases
def test_the_floor_rises_to_the_newest_line_and_stays(store):
    position = begin(store)
    write(store, line(store))
    for second in range(1, 7):
        found, position = read(store, position, after=second)
    assert found == []
    with store.read() as conn:
        newest = conn.execute(select(trail.c.id).order_by(trail.c.id.desc())).scalar()
    assert position.floor == position.high == newest
    assert read(store, position, after=60)[1].fence is None  # who waits for nothing begins no transactions


@pytest.mark.postgres
def test_a_line_that_is_committed_behind_a_later_one_is_read(postgres_url):
    """The first transaction takes its number, waits, and commits after ten turns of the reader."""
    with closing(Store(postgres_url)) as store, store.database.engine.connect() as slow:
        position, seen, got = begin(store), set(), []
        slow.exec_driver_sql("BEGIN")
        early, late = line(store), line(store)
        events.append(slow, store.dialect, [early])
        write(store, late)
        for second in range(10):
            found, position = read(store, position, seen, after=second)
            got += [one.job_id for one in found]
            seen |= {one.id for one in found}
        assert got == [late[0]]
        slow.exec_driver_sql("COMMIT")
        found, position = read(store, position, seen)
        assert [one.job_id for one in found] == [early[0]]
        # A reader that remembers nothing reads from the floor again, and misses neither.
        again, _ = read(store, TrailPosition.from_json(position.to_json()))
        assert {early[0], late[0]} >= {one.job_id for one in again}
        for second in range(11, 17):
            found, position = read(store, position, after=second)
        assert found == []
        assert position.floor == position.high


@pytest.mark.postgres
def test_a_transaction_that_is_open_for_too_long_is_not_waited_for(postgres_url):
    with closing(Store(postgres_url)) as store, store.database.engine.connect() as slow:
        position = begin(store)
        slow.exec_driver_sql("BEGIN")
        events.append(slow, store.dialect, [line(store)])
        write(store, line(store))
        for second in range(5):
            _, position = read(store, position, after=second)
        held = position.floor
        assert held < position.high
        later = store.now() + trail_window.LONGEST + timedelta(seconds=1)
        with store.read() as conn:
            for _ in range(2):
                _, position = trail_window.read(conn, position, later)
                later += trail_window.LONGEST + timedelta(seconds=1)
        assert position.floor == position.high
        slow.exec_driver_sql("ROLLBACK")


@pytest.mark.postgres
def test_a_transaction_that_is_younger_than_the_last_that_ended_is_waited_for(postgres_url):
    """A snapshot ends behind the last transaction that has ended; a younger one may hold a lower number already."""
    with closing(Store(postgres_url)) as store:
        with store.database.engine.connect() as old, store.database.engine.connect() as young:
            position = begin(store)
            early, seen = line(store), set()
            for conn in (old, young):
                conn.exec_driver_sql("BEGIN")
            events.append(old, store.dialect, [line(store)])
            events.append(young, store.dialect, [early])
            events.append(old, store.dialect, [line(store)])
            old.exec_driver_sql("COMMIT")
            for second in range(8):
                found, position = read(store, position, seen, after=second)
                seen |= {one.id for one in found}
            assert len(seen) == 2
            young.exec_driver_sql("COMMIT")
            found, position = read(store, position, seen, after=9)
            assert [one.job_id for one in found] == [early[0]]


@pytest.mark.postgres
@pytest.mark.parametrize("writers", [8])
def test_no_line_is_missed_while_many_write(postgres_url, writers):
    """Transactions of random length on several connections; the reader forgets everything now and then."""
    import random
    import threading

    chance, stop, written = random.Random(7), threading.Event(), []
    with closing(Store(postgres_url)) as store:
        position = begin(store)

        def work(number: int) -> None:
            own = random.Random(number)
            with store.database.engine.connect() as conn:
                for _ in range(60):
                    mine = [line(store) for _ in range(own.randint(1, 4))]
                    conn.exec_driver_sql("BEGIN")
                    for one in mine:
                        events.append(conn, store.dialect, [one])
                        stop.wait(own.random() * 0.01)
                    keep = own.random() < 0.8
                    conn.exec_driver_sql("COMMIT" if keep else "ROLLBACK")
                    written.extend([one[0] for one in mine] if keep else [])

        threads = [threading.Thread(target=work, args=(i,)) for i in range(writers)]
        for thread in threads:
            thread.start()
        got: set[str] = set()
        seen: set[int] = set()
        while any(thread.is_alive() for thread in threads) or position.floor < position.high:
            if chance.random() < 0.2:
                seen = set()
            found, position = read(store, position, seen)
            got |= {one.job_id for one in found}
            seen |= {one.id for one in found}
        for _ in range(4):
            found, position = read(store, position, seen)
            got |= {one.job_id for one in found}
        assert got == set(written)


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_numbers_that_begin_anew_are_read(url):
    with closing(Store(url)) as store:
        write(store, *[line(store) for _ in range(20)])
        position = begin(store)
        store.write(lambda conn: conn.execute(delete(trail)))
        new = line(store)
        write(store, new)
        found, position = read(store, position)
        assert [one.job_id for one in found] == [new[0]]
        assert read(store, position)[0] == []


@pytest.mark.both_databases
def test_a_position_that_goes_back_tells_nothing_twice(telling):
    world = telling(rules=RULES)

    @world.jobs.task
    def load() -> None:
        raise RuntimeError

    load.enqueue_many([{}] * 5)
    with world.jobs.store.read() as conn:
        before = conn.execute(select(tables.positions).where(tables.positions.c.source == "trail")).one()
    drain(world.jobs)
    world.turn(1)
    for _ in range(3):
        back = {"position": before.position, "detail": before.detail}
        world.jobs.store.write(lambda conn, back=back: conn.execute(tables.positions.update().where(tables.positions.c.source == "trail").values(back)))
        world.jobs.notify._memory.lines.clear()
        world.turn(1)
    assert len(world.rows(tables.events)) == 5
    assert sum(row.events for row in world.rows(tables.deliveries)) == 5


@pytest.mark.both_databases
def test_two_leaders_decide_once(telling):
    """A leader that was overtaken finishes its turn beside the new one."""
    from concurrent.futures import ThreadPoolExecutor

    first = telling(rules=[AlertRule("modules", kinds="module.error", group=0)])
    second = telling(clock=first.clock, rules=[AlertRule("modules", kinds="module.error", group=0)])
    for turn in range(5):
        for i in range(20):
            first.announce(subject=f"m{turn}-{i}")
        with ThreadPoolExecutor(2) as pool:
            for done in [pool.submit(world.jobs.notify.turn) for world in (first, second)]:
                done.result()
        first.turn(1)
    told = first.rows(tables.delivery_events)
    assert len(told) == len({row.event_id for row in told}) == 100
    assert sum(row.events for row in first.rows(tables.deliveries)) == 100
