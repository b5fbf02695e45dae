"""C-63: the store turns read-only, is locked or away while jobs run: bodies go on, run once, outcomes are written afterwards."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time

import pytest
from trails import count_rows, until

from jobtrail import JobTrail
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
