"""The beat child: its statements do what the store's do, on each database, and it loads the driver alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from json import loads
from pathlib import Path

import pytest
from making import Maker
from sqlalchemy import select
from trails import until

from jobtrail.database.beats import connection_for
from jobtrail.database.tables import workers as table
from jobtrail.database.wakeup import DEAD
from jobtrail.recovery.beat_child import BeatChild
from jobtrail.store import workers

HEAVY = ("sqlalchemy", "pydantic", "alembic", "jobtrail.store", "jobtrail.commands", "logging", "asyncio")


@pytest.fixture
def worker(jobs):
    jobs.service.make_ready()
    maker = Maker(jobs.store)
    jobs.store.write(lambda conn: workers.register(conn, jobs.store.dialect, maker.worker, ["default"], 4, jobs.store.now()))
    return maker.worker


@pytest.fixture
def child(jobs):
    database = jobs.store.database
    return connection_for(str(database.path) if database.path else None, database.driver_arguments() if not database.path else None)


def row_of(jobs, worker):
    with jobs.store.read() as conn:
        return conn.execute(select(table).where(table.c.id == worker)).one()


def test_a_beat_raises_the_number_and_sets_the_time(jobs, worker, child):
    for _ in range(2):
        child.beat(worker)
    with jobs.store.read() as conn:
        assert [one.beat for one in workers.living(conn) if one.id == worker] == [2]
        assert abs(workers.beat_age(conn, worker, jobs.store.now())) < 5
    assert abs(child.now() - time.time()) < 5


def test_what_is_wrong_is_written_and_taken_back(jobs, worker, child):
    child.write_detail(worker, {"late": ["upkeep"]})
    assert loads(row_of(jobs, worker).detail) == {"late": ["upkeep"]}
    child.write_detail(worker, {})
    assert row_of(jobs, worker).detail is None


def test_death_is_marked_once_and_the_others_are_woken(jobs, worker, child):
    heard = []
    listener = jobs.store.wake.listener(heard.append)
    listener.start()
    try:
        time.sleep(0.3)  # LISTEN has no answer that could be waited for
        child.mark_dead(worker, "it is gone")
        until("the others have heard of it", lambda: any(DEAD in words for words in heard))
    finally:
        listener.stop()
    assert (row_of(jobs, worker).state, loads(row_of(jobs, worker).detail)) == ("dead", {"how": "it is gone"})
    child.mark_dead(worker, "once more")
    assert loads(row_of(jobs, worker).detail) == {"how": "it is gone"}


def test_a_worker_that_was_leaving_is_marked_as_one_that_left(jobs, worker, child):
    jobs.store.write(lambda conn: workers.set_state(conn, worker, "leaving"))
    child.mark_dead(worker, "it is gone")
    with jobs.store.read() as conn:
        assert workers.has_left(conn, worker)


def test_only_the_number_that_was_judged_is_marked_dead(jobs, worker, child):
    child.beat(worker)
    now = jobs.store.now()
    assert not jobs.store.write(lambda conn: workers.mark_dead(conn, worker, "silent", now, beat=0))
    assert jobs.store.write(lambda conn: workers.mark_dead(conn, worker, "silent", now, beat=1))


def test_a_removed_file_does_not_come_back(sqlite_url, tmp_path):
    child = connection_for(str(tmp_path / "gone.db"), None)
    assert not child.exists()
    with pytest.raises(Exception, match="unable to open"):
        child.beat("w")
    assert not (tmp_path / "gone.db").exists()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the system does not say what is stopped")
def test_a_stopped_parent_is_noted_at_the_next_beat_and_taken_back(jobs, worker):
    database = jobs.store.database
    place = {"path": str(database.path)} if database.path else {"arguments": database.driver_arguments()}
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as parent:
        try:
            beat = BeatChild({**place, "worker": worker, "interval": 0.0, "parent": parent.pid})
            beat._beat_if_due()
            assert row_of(jobs, worker).detail is None
            parent.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, parent.pid, os.WSTOPPED)
            beat._beat_if_due()
            told = loads(row_of(jobs, worker).detail)
            assert told.keys() == {"process_stopped_since", "by"}
            assert abs(told["process_stopped_since"] - jobs.store.now().timestamp()) < 5
            parent.send_signal(signal.SIGCONT)
            os.waitid(os.P_PID, parent.pid, os.WCONTINUED)
            beat.detail.hear([], {})
            beat._beat_if_due()
            assert row_of(jobs, worker).detail is None
        finally:
            parent.kill()


def test_it_loads_next_to_nothing():
    code = f"import jobtrail.recovery.beat_child, sys; print(*[name for name in {HEAVY!r} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == []
