"""Sessions that the server ends while nobody uses them: nothing fails, and nobody hears of it."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from contextlib import closing

import psycopg
import pytest
from test_settings import with_settings
from trails import until

from jobtrail import JobTrail, StoreUnavailable
from jobtrail.database.statement_timeout import time_limit
from jobtrail.testing import drain


def sessions(server, url):
    """How many sessions of jobtrail the database has."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND application_name = 'jobtrail'"
    with psycopg.connect(server) as conn:
        return conn.execute(query, [url.rsplit("/", 1)[1]]).fetchone()[0]


def end_sessions(server, url):
    """As an administrator does, or a restart."""
    query = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s AND application_name = 'jobtrail'"
    with psycopg.connect(server, autocommit=True) as conn:
        conn.execute(query, [url.rsplit("/", 1)[1]])


@pytest.mark.parametrize("by", ["idle_session_timeout", "pg_terminate_backend"])
def test_a_lone_write_after_its_session_was_ended_succeeds_at_once(by, new_database, postgres_server):
    """A lone statement is never sent twice, so the end of an idle session is noticed before it is sent."""
    url = new_database()
    if by == "idle_session_timeout":
        with_settings(url, {by: "'200ms'"})
    with closing(JobTrail(url, submit_retry_seconds=0.001)) as jobs:

        @jobs.task
        def load() -> int:
            return 7

        for _ in range(2):
            job = load.enqueue()
            if by == "pg_terminate_backend":
                end_sessions(postgres_server, url)
            until("the server has ended all sessions", lambda: sessions(postgres_server, url) == 0)
            load.enqueue()
        drain(jobs)
        assert job.result(timeout=5) == 7


def test_ended_sessions_are_one_line_in_the_log_of_a_worker(new_database, postgres_server, caplog):
    """Every session of a worker at work is ended, those that read in a transaction too; the pool has nothing to say."""
    caplog.set_level(logging.WARNING)
    url = new_database()
    with closing(JobTrail(url, poll_interval=0.05, sweep_interval=0.1)) as jobs:
        began, gate = threading.Event(), threading.Event()

        @jobs.task
        def load() -> None:
            began.set()
            gate.wait(20)

        job = load.enqueue()
        thread = threading.Thread(target=lambda: drain(jobs, beat="thread"))
        thread.start()
        try:
            assert began.wait(20)
            held = [jobs.store.database.engine.connect() for _ in range(3)]
            with pytest.raises(StoreUnavailable), jobs.store.read() as conn, time_limit(conn, 20):
                end_sessions(postgres_server, url)
                conn.exec_driver_sql("SELECT 1")
            for conn in held:
                conn.close()
        finally:
            gate.set()
            thread.join(20)
        assert job.result(timeout=10) is None
    assert [one.name for one in caplog.records if not one.name.startswith("jobtrail.")] == []
    assert [one.getMessage() for one in caplog.records if one.exc_info] == []
    said = Counter(one.getMessage() for one in caplog.records)
    assert not said or max(said.values()) == 1, said


def test_a_beat_and_a_listener_do_not_mind_the_limit_for_idle_sessions(new_database, postgres_server, caplog):
    """The beat takes a new session without a word; the session that listens is kept, because it is idle by design."""
    caplog.set_level(logging.INFO, "jobtrail")
    url = with_settings(new_database(), {"idle_session_timeout": "'200ms'"})
    with closing(JobTrail(url, beat_interval=0.5)) as jobs:
        heard = []
        listener = jobs.store.wake.listener(heard.append)
        worker = jobs.worker(beat="thread")
        worker.session.begin()
        listener.start()
        try:
            with psycopg.connect(url, autocommit=True) as conn:
                beat = "SELECT beat FROM jobtrail_beats WHERE worker = %s"
                until("it beats", lambda: conn.execute(beat, [worker.id]).fetchone()[0] >= 5)
                until("it listens", lambda: heard)
                conn.execute("NOTIFY jobtrail_wake, 'queues'")
                until("the word is heard", lambda: frozenset({"queues"}) in heard)
            assert heard.count(frozenset({"work", "dead"})) == 1, "it had to listen anew"
        finally:
            listener.stop()
            worker.session.stopping()
            worker.session.end(living=set())
    assert "failed" not in caplog.text
