"""The writer: one commit for many, the guilty one alone gets the error, one open transaction stalls nobody else."""

from __future__ import annotations

import asyncio
import os
import statistics
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from making import Maker, new_job, of_unit, unit, wait_until
from sqlalchemy import event, select
from together import together

from jobtrail.database import tables
from jobtrail.job.model import Status
from jobtrail.store import Store
from jobtrail.store.submissions import Rules

if TYPE_CHECKING:
    from collections.abc import Iterator

OPPOSITE = """
import sys
from contextlib import closing
from jobtrail.job.model import new_id
from jobtrail.job.model import NewJob
from jobtrail.job.period import Period
from jobtrail.job.unit import Unit
from jobtrail.store import Store
from jobtrail.store.submissions import Rules
from concurrent.futures import ThreadPoolExecutor

url, backwards = sys.argv[1], sys.argv[2] == "backwards"
with closing(Store(url)) as store, ThreadPoolExecutor(8) as pool:
    print("ready", flush=True)
    sys.stdin.readline()
    units = [Unit("sync", None, Period.parse(f"20{year:02}-{month:02}")) for year in range(10, 20) for month in range(1, 13)]
    if backwards:
        units.reverse()
    def submit(unit):
        return store.submit(NewJob(new_id(), "sync", "{}", unit=unit.key), Rules(unit=unit)).why
    assert set(pool.map(submit, units)) == {None}
    print("done", flush=True)
"""


@pytest.fixture
def busy(store: Store) -> Iterator[threading.Event]:
    """The writer is in the middle of a group until the event is set, so that requests queue up."""
    go, inside = threading.Event(), threading.Event()

    def hold(_conn: Any) -> None:
        inside.set()
        assert go.wait(10)

    store.writer.start(hold)
    assert inside.wait(10)
    yield go
    go.set()


@pytest.fixture
def commits(store: Store) -> list[str]:
    """Grows by one for each transaction of this store's connections."""
    said: list[str] = []

    @event.listens_for(store.database.engine, "before_cursor_execute")
    def note(_conn: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if statement.startswith("COMMIT"):
            said.append(statement)

    return said


def queued(store: Store, number: int) -> None:
    """Wait until so many requests stand in line."""
    wait_until(lambda: len(store.writer._queue) == number, f"{number} requests in line")


def test_what_queued_up_is_written_in_one_transaction(
    store: Store, make: Maker, busy: threading.Event, commits: list[str]
) -> None:
    with ThreadPoolExecutor(20) as pool:
        answers = [pool.submit(make.unit_job, unit(f"2013-{i % 12 + 1:02}", source=str(i))) for i in range(20)]
        queued(store, 20)
        busy.set()
        assert all(answer.result(10).created for answer in answers)
    assert len(commits) == 2, "that of the one that held the writer, and that of the group"
    assert make.count(tables.jobs) == 20


def test_plain_ones_of_one_shape_are_one_statement(store: Store, make: Maker, busy: threading.Event) -> None:
    with ThreadPoolExecutor(20) as pool:
        answers = [pool.submit(store.insert, new_job()) for _ in range(20)]
        queued(store, 20)
        busy.set()
        for answer in answers:
            answer.result(10)
    assert make.count(tables.jobs) == 20


def test_only_the_guilty_one_gets_the_error(store: Store, make: Maker, busy: threading.Event) -> None:
    class Guilty(Exception):
        pass

    def guilty(conn: Any) -> None:
        store.submit_on(conn, new_job("undone"), Rules(labels={"a": "b"}))
        raise Guilty

    good = [store.writer.start(lambda c: store.submit_on(c, new_job(), Rules(labels={"a": "b"}))) for _ in range(5)]
    bad = store.writer.start(guilty)
    good += [store.writer.start(lambda c: store.submit_on(c, new_job(), Rules(labels={"a": "b"}))) for _ in range(5)]
    busy.set()
    with pytest.raises(Guilty):
        bad.result(10)
    assert all(one.result(10).created for one in good)
    assert make.count(tables.jobs) == 10
    assert make.count(tables.jobs, tables.jobs.c.task == "undone") == 0


def test_a_doubled_id_hurts_its_owner_only(store: Store, make: Maker, busy: threading.Event) -> None:
    twice = new_job()
    with ThreadPoolExecutor(6) as pool:
        answers = [pool.submit(store.insert, one) for one in (new_job(), twice, new_job(), twice, new_job())]
        queued(store, 5)
        busy.set()
        failed = [answer for answer in answers if answer.exception(10) is not None]
    assert len(failed) == 1
    assert make.count(tables.jobs) == 4


def test_the_writer_serves_an_event_loop(store: Store, make: Maker) -> None:
    async def many() -> list[Any]:
        one = unit()
        submissions = [store.asubmit(of_unit(one), Rules(unit=one)) for _ in range(20)]
        inserts = [store.ainsert(new_job()) for _ in range(20)]
        await asyncio.gather(*inserts)
        return await asyncio.gather(*submissions)

    answers = asyncio.run(many())
    assert sum(answer.created for answer in answers) == 1
    assert make.count(tables.jobs) == 21


def test_an_error_leaves_the_writer_in_order(store: Store, make: Maker) -> None:
    def broken(conn: Any) -> None:
        conn.exec_driver_sql("SELECT nonsense FROM nowhere")

    for _ in range(3):
        with pytest.raises(Exception, match="nowhere"):
            store.write(broken)
    assert make.pending()


def test_close_writes_what_is_queued(migrated: str) -> None:
    store = Store(migrated)
    pending = [store.writer.start(lambda c: store.submit_on(c, new_job(), Rules())) for _ in range(50)]
    store.close()
    assert all(one.result(0).created for one in pending)
    with closing(Store(migrated)) as again:
        assert Maker(again).count(tables.jobs) == 50


def test_an_open_transaction_on_a_unit_delays_the_others_little(store: Store, other: Store, make: Maker) -> None:
    """Somebody submits inside a transaction of his own and goes to lunch: the rest of this process goes on."""
    if store.database.is_sqlite:
        pytest.skip("SQLite has one writer at a time; an open write transaction is for its owner to end")
    held = unit()
    with other.database.engine.connect() as lunch:
        lunch.exec_driver_sql("BEGIN")
        other.submit_on(lunch, of_unit(held), Rules(unit=held))
        blocked = [
            store.writer.start(lambda c: store.submit_on(c, of_unit(held), Rules(unit=held)), key=held.key)
            for _ in range(3)
        ]
        waits = []
        for number in range(30):
            began = time.monotonic()
            make.unit_job(unit(source=f"free/{number}"))
            waits.append(time.monotonic() - began)
        assert not any(one.done() for one in blocked)
        lunch.exec_driver_sql("COMMIT")
    ids = {one.result(10).id for one in blocked}
    assert len(ids) == 1
    assert make.count(tables.jobs, tables.jobs.c.unit == held.key) == 1
    assert statistics.median(waits) < 0.1, "the wait for a lock is 100 ms, and only the first pays it"


def test_a_unit_that_was_blocked_is_written_in_turn_again(store: Store, other: Store, make: Maker) -> None:
    if store.database.is_sqlite:
        pytest.skip("SQLite has one writer at a time")
    held = unit()
    with other.database.engine.connect() as lunch:
        lunch.exec_driver_sql("BEGIN")
        other.submit_on(lunch, of_unit(held), Rules(unit=held))
        blocked = store.writer.start(lambda c: store.submit_on(c, of_unit(held), Rules(unit=held)), key=held.key)
        wait_until(lambda: store.writer._blocked, "moved aside")
        lunch.exec_driver_sql("ROLLBACK")
    assert blocked.result(10).created
    wait_until(lambda: not store.writer._blocked, "nothing blocked any more")
    assert not make.unit_job(held).created


def test_two_processes_with_opposite_orders_do_not_deadlock(migrated: str) -> None:
    assert together(OPPOSITE, [migrated, "forwards"], [migrated, "backwards"]) == ["done\n", "done\n"]
    with closing(Store(migrated)) as store:
        assert Maker(store).count(tables.jobs) == 120


def test_a_lost_connection_is_replaced(store: Store, make: Maker) -> None:
    if store.database.is_sqlite:
        pytest.skip("a file is not lost")
    make.pending()
    pid = store.write(lambda conn: conn.exec_driver_sql("SELECT pg_backend_pid()").scalar_one())
    with store.read() as conn:
        conn.exec_driver_sql(f"SELECT pg_terminate_backend({pid})")
    assert make.pending(), "nothing was committed on the dead connection, so the write is repeated on a new one"
    assert store.write(lambda conn: conn.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()) != pid


def test_a_forked_child_writes_through_a_connection_of_its_own(store: Store, make: Maker) -> None:
    make.pending()
    child = os.fork()
    if child == 0:  # pragma: no cover - another process
        try:
            make.pending("child")
            os._exit(0)
        except BaseException:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert make.pending("parent")
    with store.read() as conn:
        tasks = list(conn.execute(select(tables.jobs.c.task).order_by(tables.jobs.c.task)).scalars())
    assert tasks == ["child", "parent", "sync"]
    assert make.row(make.pending()).status is Status.PENDING


def test_who_gave_up_leaves_the_others_their_answer(store: Store, make: Maker, busy: threading.Event) -> None:
    """A cancelled request is not written, and does not break the group that it stood in."""

    async def some() -> list[object]:
        requests = [asyncio.ensure_future(store.asubmit(new_job(), Rules())) for _ in range(3)]
        await asyncio.to_thread(queued, store, 3)
        requests[1].cancel()
        await asyncio.sleep(0)
        busy.set()
        return await asyncio.wait_for(asyncio.gather(*requests, return_exceptions=True), 10)

    first, second, third = asyncio.run(some())
    assert isinstance(second, asyncio.CancelledError)
    assert first.created  # type: ignore[attr-defined]
    assert third.created  # type: ignore[attr-defined]
    assert make.count(tables.jobs) == 2


def test_a_listener_in_trouble_takes_no_answer_away(store: Store, make: Maker) -> None:
    def trouble() -> None:
        message = "its loop is closed"
        raise RuntimeError(message)

    store.wake.subscribe(trouble)
    assert make.pending()
    store.insert(new_job())
    assert make.count(tables.jobs) == 2


def test_a_plain_job_waits_aside_for_a_locked_table(store: Store, other: Store, make: Maker) -> None:
    if store.database.is_sqlite:
        pytest.skip("SQLite has one writer at a time")
    make.pending()
    with other.database.engine.connect() as conn:
        conn.exec_driver_sql("BEGIN")
        conn.exec_driver_sql(f"LOCK TABLE {tables.jobs.name} IN SHARE MODE")
        with ThreadPoolExecutor(1) as pool:
            inserted = pool.submit(store.insert, new_job())
            wait_until(lambda: store.writer._side is not None, "moved aside")
            conn.exec_driver_sql("COMMIT")
            assert inserted.result(10) is None
    assert make.count(tables.jobs) == 2
