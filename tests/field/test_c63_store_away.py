"""C-63: the store turns read-only, is locked or away while jobs run: bodies go on, run once, outcomes are written afterwards."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
import time

import process_tasks
import pytest
from trails import count_rows, until

from jobtrail import JobTrail, StoreUnavailable
from jobtrail.database import connection as database_module
from jobtrail.testing import drain
from jobtrail.worker import turns


@contextlib.contextmanager
def locked(url):
    """SQLite: somebody holds the write lock."""
    conn = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
    conn.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        conn.execute("ROLLBACK")
        conn.close()


def _turn_connections_away(conn, name):
    conn.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()", [name])


@contextlib.contextmanager
def read_only(url):
    """PostgreSQL: the database is read-only, and connections that knew it otherwise are ended."""
    import psycopg

    base, name = url.rsplit("/", 1)
    with psycopg.connect(f"{base}/postgres", autocommit=True) as conn:
        conn.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        _turn_connections_away(conn, name)
        try:
            yield
        finally:
            conn.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")
            _turn_connections_away(conn, name)


@contextlib.contextmanager
def away(url):
    """PostgreSQL: nobody gets a connection."""
    import psycopg

    base, name = url.rsplit("/", 1)
    with psycopg.connect(f"{base}/postgres", autocommit=True) as conn:
        conn.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        _turn_connections_away(conn, name)
        try:
            yield
        finally:
            conn.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")


@pytest.mark.parametrize("kind", ["sqlite locked", "postgresql read-only", "postgresql away"])
def test_c63_running_bodies_go_on_and_their_outcome_is_written_afterwards(kind, request, tmp_path, monkeypatch):
    """C-63: nothing new starts meanwhile; every body runs once; after the return all is written without a restart."""
    monkeypatch.setattr(database_module, "SQLITE_BUSY_SECONDS", 0.1)
    monkeypatch.setattr(turns, "BACK_OFF", (0.02, 0.1))
    sqlite = kind.startswith("sqlite")
    url = request.getfixturevalue("sqlite_url") if sqlite else request.getfixturevalue("new_database")()
    jobs = JobTrail(url, poll_interval=0.05, slots=4)
    outage = {"sqlite locked": locked, "postgresql read-only": read_only, "postgresql away": away}[kind]
    ran, gate, began = [], threading.Event(), threading.Semaphore(0)

    @jobs.task(retry=5)
    def load(ctx, n):
        ran.append(n)
        began.release()
        if n < 4:
            gate.wait(30)
        for item in ctx.items(range(3)):
            with item:
                ctx.log.info("job %d item %d", n, item.value)
        return n

    made = [load.enqueue(n) for n in range(12)]
    thread = threading.Thread(target=lambda: drain(jobs))
    thread.start()
    try:
        for _ in range(4):
            assert began.acquire(timeout=20)
        with outage(url):
            gate.set()
            time.sleep(0.8)  # the outage lasts
            assert sorted(ran) == [0, 1, 2, 3], "something new was started while nothing could be written"
            assert thread.is_alive()
        until("all is done after the return", lambda: not thread.is_alive(), timeout=40)
    finally:
        gate.set()
        thread.join(40)
    assert sorted(ran) == list(range(12)), "a body ran twice, or never"
    for n, job in enumerate(made):
        assert job.result(timeout=5) == n
        assert (job.attempt, job.items_ok) == (1, 3)
        assert job.log().count("item") == 3
    jobs.close()


def test_c63_a_submission_waits_a_while_and_is_stored_once(jobs, url, monkeypatch):
    """C-63: bounded patience of a submitter; the row is there once."""
    if not url.startswith("sqlite"):
        pytest.skip("the lock of a file")
    monkeypatch.setattr(database_module, "SQLITE_BUSY_SECONDS", 0.1)
    patient = JobTrail(url, submit_retry_seconds=10)

    @patient.task
    def load():
        pass

    with locked(url):
        thread = threading.Thread(target=load.enqueue)
        thread.start()
        time.sleep(0.5)
        assert thread.is_alive()
    thread.join(10)
    assert count_rows(jobs) == 1
    patient.close()


def _step(ctx):
    return ctx.step("fetch", lambda: 7)


def _durable_item(ctx):
    for item in ctx.items([7], durable=True):
        with item:
            pass
    return 7


def _step_of_an_item(ctx):
    for item in ctx.items([7]):
        with item:
            ctx.step("fetch", lambda: 7)
    return 7


def _ask(ctx):
    return ctx.ask("number", "Which number?", int)


WRITES = {"step": _step, "durable item": _durable_item, "step of an item": _step_of_an_item, "question": _ask}


@pytest.mark.parametrize("kind", ["sqlite locked", "postgresql read-only", "postgresql away"])
def test_c63_a_body_that_needs_the_store_is_handed_back_uncharged(kind, request, monkeypatch):
    """C-63: with one attempt, a step, a durable item or a question during an outage costs nothing; no item fails."""
    monkeypatch.setattr(database_module, "SQLITE_BUSY_SECONDS", 0.1)
    monkeypatch.setattr(turns, "BACK_OFF", (0.02, 0.1))
    sqlite = kind.startswith("sqlite")
    url = request.getfixturevalue("sqlite_url") if sqlite else request.getfixturevalue("new_database")()
    jobs = JobTrail(url, poll_interval=0.05, slots=8)
    outage = {"sqlite locked": locked, "postgresql read-only": read_only, "postgresql away": away}[kind]
    gate, began, raised = threading.Event(), threading.Semaphore(0), []

    @jobs.task(retry=1)
    def load(ctx, write):
        began.release()
        gate.wait(30)
        try:
            return WRITES[write](ctx)
        except Exception as error:
            raised.append(error)
            raise

    @jobs.task(retry=1)
    async def load_async(ctx):
        began.release()
        await asyncio.to_thread(gate.wait, 30)
        try:
            return await ctx.step("fetch", lambda: 7)
        except Exception as error:
            raised.append(error)
            raise

    @jobs.task(retry=1)
    def caught(ctx):
        began.release()
        gate.wait(30)
        try:
            return ctx.step("fetch", lambda: 8)
        except StoreUnavailable as error:
            raised.append(error)
            return 7

    made = [load.enqueue(write) for write in WRITES] + [load_async.enqueue(), caught.enqueue()]
    thread = threading.Thread(target=lambda: drain(jobs))
    thread.start()
    try:
        for _ in made:
            assert began.acquire(timeout=20)
        with outage(url):
            gate.set()
            # Reading goes on where only writing is refused, so a question is asked when its run ends.
            until("the bodies have seen the outage", lambda: len(raised) >= len(made) - (kind != "postgresql away"))
        until("all is done after the return", lambda: not thread.is_alive(), timeout=40)
    finally:
        gate.set()
        thread.join(40)
    assert {type(error) for error in raised} == {StoreUnavailable}
    made[3].answer(7)
    drain(jobs)
    for job in made:
        assert job.result(timeout=5) == 7
        assert (job.status, job.attempt, job.items_failed or 0) == ("completed", 1, 0)
    jobs.close()


def test_c63_a_body_in_a_child_process_is_handed_back_uncharged(sqlite_url, tmp_path, monkeypatch):
    """C-63: the same with executor="process": the child cannot save a step, and its run costs nothing."""
    monkeypatch.setattr(database_module, "SQLITE_BUSY_SECONDS", 0.1)
    monkeypatch.setattr(turns, "BACK_OFF", (0.02, 0.1))
    jobs = JobTrail(sqlite_url, poll_interval=0.05)
    jobs.tasks.add(process_tasks.app.tasks.get("save_when_told"))
    job = jobs.task_named("save_when_told").enqueue(folder=str(tmp_path))
    thread = threading.Thread(target=lambda: drain(jobs))
    thread.start()
    try:
        until("the body runs", (tmp_path / "began").exists, timeout=30)
        with locked(sqlite_url):
            (tmp_path / "go").touch()
            until("the body has seen the outage", lambda: (tmp_path / "raised").exists())
        until("all is done after the return", lambda: not thread.is_alive(), timeout=40)
    finally:
        (tmp_path / "go").touch()
        thread.join(40)
    assert (tmp_path / "raised").read_text() == "StoreUnavailable"
    assert job.result(timeout=5) == 7
    assert (job.status, job.attempt) == ("completed", 1)
    jobs.close()
