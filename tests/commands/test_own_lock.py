"""A write that waits for a transaction of its own program says so, and at once where waiting cannot end."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.orm import Session
from trails import count_rows, until

from jobtrail import JobTrail, StoreUnavailable, UsageError
from jobtrail.database.sqlite import own_lock

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the system says who holds a lock in /proc/locks")


@pytest.fixture
def jobs(sqlite_url):
    with contextlib.closing(JobTrail(sqlite_url, submit_retry_seconds=0.1)) as jobs:
        jobs.service.make_ready()
        yield jobs


@pytest.fixture
def busy(monkeypatch):
    """How long a write waits in all; short, for what is expected to wait in vain."""
    monkeypatch.setattr("jobtrail.database.connection.SQLITE_BUSY_SECONDS", 1.0)


@pytest.fixture
def other_thread():
    """A thread of the program that does nothing: the caller is not alone."""
    over = threading.Event()
    thread = threading.Thread(target=over.wait, name="the program's")
    thread.start()
    yield
    over.set()
    thread.join()


def path_of(jobs):
    return jobs.store.database.path


@contextlib.contextmanager
def by_driver(jobs, **options):
    with contextlib.closing(sqlite3.connect(path_of(jobs), isolation_level=None, **options)) as own:
        own.execute("BEGIN IMMEDIATE")
        yield


@contextlib.contextmanager
def by_sqlalchemy(jobs):
    engine = create_engine(jobs.store.database.url)
    with engine.connect() as own:
        own.exec_driver_sql("CREATE TABLE IF NOT EXISTS mine (x)")
        own.commit()
        own.execute(text("INSERT INTO mine VALUES (1)"))
        yield
    engine.dispose()


@contextlib.contextmanager
def by_session(jobs):
    engine = create_engine(jobs.store.database.url)
    with Session(engine) as own:
        own.execute(text("CREATE TABLE IF NOT EXISTS mine (x)"))
        own.commit()
        own.execute(text("INSERT INTO mine VALUES (1)"))
        yield
    engine.dispose()


def write(jobs, how):
    task = jobs.tasks.find("work") or jobs.task(name="work")(lambda: None).task
    bound = jobs.task_named(task.name)
    return bound.enqueue() if how == "plain" else bound.using(source="s", period="2026-01").enqueue()


@pytest.mark.parametrize("how", ["plain", "unit"])
@pytest.mark.parametrize("holder", [by_driver, by_sqlalchemy, by_session])
@pytest.mark.usefixtures("other_thread")
def test_a_write_under_a_transaction_of_its_own_thread_is_refused_at_once(jobs, holder, how):
    with holder(jobs):
        began = time.monotonic()
        with pytest.raises(UsageError, match=r"this thread has begun itself.*using\(connection="):
            write(jobs, how)
        assert time.monotonic() - began < 5, "the limit of the wait is 10 s"
    write(jobs, how)
    assert count_rows(jobs) == 1


ALONE = """
import sqlite3, sys
from jobtrail import JobTrail
jobs = JobTrail(sys.argv[1])
work = jobs.task(name="work")(lambda: None)
own = sqlite3.connect(jobs.store.database.path, isolation_level=None, check_same_thread=False)
own.execute("BEGIN IMMEDIATE")
work.enqueue()
"""


def test_a_connection_for_all_threads_is_the_callers_where_there_is_no_other_thread(sqlite_url):
    program = [sys.executable, "-c", ALONE, sqlite_url]
    done = subprocess.run(program, capture_output=True, text=True, check=False, timeout=60)
    assert "this thread has begun itself" in done.stderr


@pytest.mark.usefixtures("other_thread", "busy")
def test_a_connection_that_another_thread_could_end_is_waited_for_and_named_truthfully(jobs):
    with by_driver(jobs, check_same_thread=False), pytest.raises(StoreUnavailable, match="of this process"):
        write(jobs, "plain")


@pytest.mark.parametrize("holder", [by_driver, by_sqlalchemy])
def test_a_transaction_of_another_thread_is_waited_for(jobs, monkeypatch, holder):
    asked, held = threading.Event(), threading.Event()
    plain = own_lock.held_by_caller

    def asks(path):
        found = plain(path)
        asked.set()
        return found

    monkeypatch.setattr(own_lock, "held_by_caller", asks)

    def hold():
        with holder(jobs):
            held.set()
            assert asked.wait(30)

    with ThreadPoolExecutor(1) as pool:
        holding = pool.submit(hold)
        assert held.wait(30)
        write(jobs, "plain")
        holding.result()
    assert count_rows(jobs) == 1


@pytest.mark.usefixtures("busy")
def test_a_transaction_of_another_program_is_called_so(jobs):
    code = (
        f"import sqlite3; c = sqlite3.connect({str(path_of(jobs))!r}, isolation_level=None); "
        "c.execute('BEGIN IMMEDIATE'); print('held', flush=True); input()"
    )
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        try:
            assert other.stdout.readline() == "held\n"
            with pytest.raises(StoreUnavailable, match="locked by another program"):
                write(jobs, "plain")
        finally:
            other.communicate("\n", timeout=30)
    until("it is free again", lambda: write(jobs, "plain"))
