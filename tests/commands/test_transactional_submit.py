"""`using(connection=…)`: the job is there when the caller commits, never was when he does not, and delays nobody."""

from __future__ import annotations

import asyncio
import contextlib
import statistics
import threading
import time

import pytest
from sqlalchemy import create_engine, event, text
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session
from trails import count_rows, until

from jobtrail import AlreadyActive, InvalidOption
from jobtrail.commands import transactional_submit
from jobtrail.testing import drain


@pytest.fixture
def engine(url):
    made = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with made.begin() as conn:
        conn.execute(text("CREATE TABLE IF NOT EXISTS orders (id INTEGER)"))
        conn.execute(text("DELETE FROM orders"))
    yield made
    made.dispose()


@pytest.fixture
def note(jobs):
    @jobs.task
    def note(what):
        jobs.ran.append(what)

    jobs.ran = []
    return note


@contextlib.contextmanager
def caller(engine, kind):
    """The caller's own transaction, as a Connection or a Session."""
    with contextlib.closing(engine.connect() if kind == "connection" else Session(engine)) as one:
        yield one


def orders(engine):
    with engine.connect() as conn:
        return conn.execute(text("SELECT count(*) FROM orders")).scalar()


@pytest.mark.parametrize("kind", ["connection", "session"])
def test_the_job_is_there_with_the_callers_commit_and_not_before(jobs, note, engine, kind):
    with caller(engine, kind) as mine:
        mine.execute(text("INSERT INTO orders VALUES (1)"))
        job = note.using(connection=mine).enqueue("a")
        assert job.created
        assert count_rows(jobs) == 0
        mine.commit()
    assert job.refresh().status == "pending"
    assert orders(engine) == 1
    drain(jobs)
    assert jobs.ran == ["a"]


@pytest.mark.parametrize("kind", ["connection", "session"])
def test_after_a_rollback_there_never_was_a_job(jobs, note, engine, kind):
    with caller(engine, kind) as mine:
        mine.execute(text("INSERT INTO orders VALUES (1)"))
        note.using(connection=mine).enqueue("gone")
        note.using(connection=mine, source="s", period="2013-02").enqueue("gone")
        mine.rollback()
        assert count_rows(jobs) == 0
        mine.execute(text("INSERT INTO orders VALUES (2)"))
        kept = note.using(connection=mine, source="s", period="2013-02").enqueue("kept")
        mine.commit()
    assert [job.id for job in jobs.find()] == [kept.id]
    drain(jobs)
    assert jobs.ran == ["kept"]


@pytest.mark.parametrize("kind", ["connection", "session"])
def test_an_error_in_the_callers_block_rolls_the_job_back(jobs, note, engine, kind):
    opened = engine.begin() if kind == "connection" else Session(engine)
    with pytest.raises(RuntimeError, match="his own"), opened as mine:
        note.using(connection=mine).enqueue("gone")
        raise RuntimeError("his own")
    assert count_rows(jobs) == 0


def test_several_jobs_in_one_transaction_with_the_first_write_being_ours(jobs, note, engine):
    with engine.begin() as mine:
        made = [note.using(connection=mine).enqueue(n) for n in range(5)]
    assert sorted(job.id for job in jobs.find()) == sorted(job.id for job in made)


def test_one_connection_used_for_transaction_after_transaction_submits_each_job_once(jobs, note, engine):
    with engine.connect() as mine:
        for n in range(3):
            note.using(connection=mine).enqueue(n)
            mine.commit()
            mine.execute(text("INSERT INTO orders VALUES (1)"))
            mine.commit()
            note.using(connection=mine).enqueue("gone")
            mine.rollback()
    drain(jobs)
    assert sorted(jobs.ran) == [0, 1, 2]


@pytest.mark.parametrize("kind", ["connection", "session"])
def test_async_connections_and_sessions(jobs, note, url, engine, kind):
    async def main():
        address = url.replace("postgresql://", "postgresql+psycopg://").replace("sqlite://", "sqlite+aiosqlite://")
        async_engine = create_async_engine(address)
        try:
            for commit in (True, False):
                mine = AsyncSession(async_engine) if kind == "session" else await async_engine.connect()
                await mine.execute(text("INSERT INTO orders VALUES (1)"))
                job = await note.using(connection=mine).aenqueue(commit)
                assert await asyncio.to_thread(count_rows, jobs) == (0 if commit else 1)
                await (mine.commit() if commit else mine.rollback())
                await mine.close()
                made.append(job)
        finally:
            await async_engine.dispose()

    made = []
    asyncio.run(main())
    assert [job.id for job in jobs.find()] == [made[0].id]
    assert orders(engine) == 1
    drain(jobs)
    assert jobs.ran == [True]


LOCK_WAIT = 0.1  # seconds that a group of writes waits for a lock; whoever does not wait takes a few milliseconds


@pytest.mark.parametrize("unit", [True, False])
@pytest.mark.parametrize("seconds", [0.6, pytest.param(30, marks=pytest.mark.long)])
def test_an_open_submission_delays_nobody(jobs, note, engine, unit, seconds):
    def using(period):
        return note.using(source="s", period=period) if unit else note

    waits = []
    with engine.connect() as mine:
        using("2013-01").using(connection=mine).enqueue("held")
        end = time.monotonic() + seconds
        month = 2
        while time.monotonic() < end:
            began = time.monotonic()
            using(f"2014-{month % 12 + 1:02d}").enqueue("other")
            waits.append(time.monotonic() - began)
            month += 1
            time.sleep(0.005 if seconds > 1 else 0)  # so that a long hold does not mean sixty thousand jobs
        drain(jobs)  # a worker settles and claims meanwhile
        assert len(jobs.ran) == month - 2 if not unit else jobs.ran
        mine.commit()
    assert statistics.median(waits) < LOCK_WAIT, "they wait for the lock of the open transaction"
    drain(jobs)
    assert "held" in jobs.ran


def test_somebody_who_wants_the_very_unit_that_is_held_does_not_stall_the_others(jobs, note, engine):
    """On PostgreSQL he waits for the open transaction; the others go on beside him."""
    with engine.connect() as mine:
        note.using(source="s", period="2013-01", connection=mine).enqueue("held")
        answers = []
        rival = threading.Thread(
            target=lambda: answers.append(note.using(source="s", period="2013-01").enqueue("held").id)
        )
        rival.start()
        time.sleep(0.15)  # he is inside by now, or answered already
        waits = []
        for n in range(30):
            began = time.monotonic()
            note.using(source="s", period=f"20{n + 20}").enqueue("other")
            waits.append(time.monotonic() - began)
        mine.rollback()
    rival.join(10)
    assert statistics.median(waits) < LOCK_WAIT, "they wait for the lock of the open transaction"
    assert jobs.get(answers[0]).status == "pending"


def test_the_active_job_of_a_unit_is_met_inside_the_transaction_too(jobs, note, engine):
    first = note.using(source="s", period="2013-02").enqueue("a")
    with engine.connect() as mine:
        again = note.using(source="s", period="2013-02", connection=mine).enqueue("a")
        assert (again.id, again.created) == (first.id, False)
        with pytest.raises(AlreadyActive):
            note.using(source="s", period="2013-02", connection=mine).enqueue("b")
        mine.execute(text("INSERT INTO orders VALUES (1)"))
        mine.commit()
    assert orders(engine) == 1
    assert count_rows(jobs) == 1


def test_closing_without_commit_is_a_rollback(jobs, note, engine):
    with engine.connect() as mine:
        note.using(connection=mine).enqueue("gone")
    with Session(engine) as mine:
        note.using(connection=mine).enqueue("gone")
    assert count_rows(jobs) == 0


def test_a_savepoint_that_is_rolled_back_takes_its_submissions_with_it(jobs, note, engine):
    with engine.connect() as mine, mine.begin():
        note.using(connection=mine).enqueue("outer")
        with mine.begin_nested():
            note.using(connection=mine).enqueue("inner")
        with contextlib.suppress(RuntimeError), mine.begin_nested():
            with mine.begin_nested():
                note.using(connection=mine).enqueue("gone")
            raise RuntimeError
    drain(jobs)
    assert sorted(jobs.ran) == ["inner", "outer"]


def test_two_submissions_of_one_unit_in_one_transaction_are_one_job(jobs, note, engine):
    with engine.begin() as mine:
        one = note.using(source="s", period="2013-02", connection=mine).enqueue("a")
        two = note.using(source="s", period="2013-02", connection=mine).enqueue("a")
    assert one.id == two.id
    assert (one.created, two.created) == (True, False)
    assert count_rows(jobs) == 1


def test_on_sqlite_another_may_come_first_before_the_commit(jobs, note, engine, url):
    if not url.startswith("sqlite"):
        pytest.skip("PostgreSQL writes the row at once, so the other one waits")
    with engine.connect() as mine:
        held = note.using(source="s", period="2013-02", connection=mine).enqueue("a")
        other = note.using(source="t", period="2013-02", connection=mine).enqueue("a")
        first = note.using(source="s", period="2013-02").enqueue("a")
        mine.commit()
    assert (held.id, held.created) == (first.id, False)
    assert other.refresh().status == "pending"
    with engine.connect() as mine:
        mine.execute(text("SELECT 1"))
        note.using(source="u", period="2013-02", connection=mine).enqueue("a")
        second = note.using(source="u", period="2013-02").enqueue("b")
        with pytest.raises(AlreadyActive) as conflict:
            mine.commit()
        mine.rollback()
    assert conflict.value.job_id == second.id
    assert count_rows(jobs) == 3


def test_a_key_is_free_again_after_a_rollback(jobs, note, engine):
    with engine.connect() as mine:
        note.using(idempotency_key="k", connection=mine).enqueue("a")
        mine.rollback()
    job = note.using(idempotency_key="k").enqueue("b")
    assert job.created


def test_what_is_no_connection_or_one_of_another_database_is_refused(jobs, note, tmp_path, url):
    with pytest.raises(InvalidOption, match="Session or Connection"):
        note.using(connection="no").enqueue("a")
    if url.startswith("postgresql"):
        other = create_engine(f"sqlite:///{tmp_path}/other.db")
        with other.connect() as conn, pytest.raises(InvalidOption, match="sqlite"):
            note.using(connection=conn).enqueue("a")
        other.dispose()


# -- who is told ------------------------------------------------------------------------------------------------


async def test_a_worker_of_another_application_hears_of_it_after_the_commit(make_jobs, engine):
    """Not at its next poll, which is far off here."""
    worker, submitter = make_jobs(poll_interval=30.0), make_jobs()
    begun = []

    @worker.task
    def note(what):
        begun.append(time.monotonic())

    task = submitter.task(name="note")(lambda what: None)
    async with worker.running(beat=None):
        await asyncio.sleep(0.3)  # it sleeps by now
        for number in range(1, 4):
            with caller(engine, "session") as mine:
                task.using(connection=mine).enqueue("a")
                assert len(begun) < number
                mine.commit()
                committed = time.monotonic()
                await asyncio.to_thread(until, "it runs", lambda number=number: len(begun) == number, timeout=10)
            assert begun[-1] - committed < 1.0


def test_nobody_is_told_of_what_was_not_committed(jobs, note, engine, url, monkeypatch):
    """SQLite writes at the commit; where that fails there is nothing to hear."""
    if not url.startswith("sqlite"):
        return
    monkeypatch.setattr(transactional_submit, "GIVES_UP", 0.3)
    told, waited = [], threading.Event()
    jobs.store.wake.subscribe(told.append)
    with caller(engine, "connection") as mine:
        note.using(connection=mine).enqueue("a")
        told.clear()
        event.listen(mine, "commit", lambda conn: (_ for _ in ()).throw(RuntimeError("the host's own check")))
        with pytest.raises(RuntimeError):
            mine.commit()
        mine.rollback()
    waited.wait(0.5)
    assert told == []
    assert count_rows(jobs) == 0
