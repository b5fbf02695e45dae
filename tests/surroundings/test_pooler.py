"""pgbouncer in transaction mode: jobs live there, nothing is left in its sessions, and a direct connection pays nothing."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
import threading
from contextlib import closing
from urllib.parse import urlsplit

import psycopg
import pytest
from life import live
from pgbouncer import start_pgbouncer
from sqlalchemy import event
from trails import until

from jobtrail import InvalidOption, JobTrail, StoreError, StoreUnavailable
from jobtrail.database import migration
from jobtrail.database.beats import connection_for
from jobtrail.database.connection import Database
from jobtrail.testing import drain

KEPT = """
SELECT current_setting('lock_timeout'), current_setting('idle_in_transaction_session_timeout'),
    current_setting('statement_timeout'), current_setting('default_transaction_isolation'),
    (SELECT count(*) FROM pg_prepared_statements), (SELECT count(*) FROM pg_listening_channels()),
    (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'), (SELECT count(*) FROM pg_cursors),
    (SELECT count(*) FROM pg_class WHERE relpersistence = 't')
"""
NOTHING = ("0", "0", "0", "serializable", 0, 0, 0, 0, 0)


def test_jobs_live_behind_pgbouncer(new_database, pgbouncer):
    """Prepared statements, limits, COPY, a worker with its beat and upkeep; found out without a setting."""
    url = pgbouncer(new_database())
    assert live(url).store.database.pooled is True


def test_nothing_is_left_for_the_next_client_and_no_transaction_needs_a_second_session(new_database, postgres_server):
    """The pool has one session: what is set, prepared or locked there is seen by the next client, and nesting would block."""
    url = new_database()
    name = url.rsplit("/", 1)[1]
    with psycopg.connect(postgres_server, autocommit=True) as conn:
        conn.execute(f"ALTER DATABASE {name} SET default_transaction_isolation = serializable")
    with start_pgbouncer(url, default_pool_size="1", query_wait_timeout="5") as through:
        live(through)
        with psycopg.connect(through, autocommit=True, prepare_threshold=None) as other:
            assert other.execute(KEPT).fetchone() == NOTHING
            assert other.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = %s", [name]).fetchone() == (1,)


def test_a_migration_runs_through_pgbouncer(postgres_url, pgbouncer):
    """Its lock belongs to the transaction."""
    with closing(Database(pgbouncer(postgres_url))) as database:
        assert migration.state(database).current


@pytest.mark.parametrize("given", ["setting", "address", "environment"])
def test_the_mode_can_be_said(given, new_database, monkeypatch):
    """`pooler` as a setting, as a parameter of the address, and in the environment; the driver never sees it."""
    url = new_database()
    if given == "environment":
        monkeypatch.setenv("JOBTRAIL_POOLER", "true")
    address = f"{url}?pooler=true&application_name=shop" if given == "address" else url
    with closing(JobTrail(address, **({"pooler": True} if given == "setting" else {}))) as jobs:
        assert jobs.find() == []
        assert jobs.store.database.pooled is True
    with closing(JobTrail(f"{url}?pooler=true", pooler=False, config=None)) as jobs:
        jobs.find()
        assert jobs.store.database.pooled is False


def test_a_wrong_mode_is_refused():
    """The sentence names the value."""
    with pytest.raises(InvalidOption, match="true or false; it is 'maybe'"):
        JobTrail("postgresql://nobody@127.0.0.1:1/none?pooler=maybe")
    with pytest.raises(InvalidOption, match="pooler"):
        JobTrail("postgresql://nobody@127.0.0.1:1/none", pooler="maybe")
    with pytest.raises(InvalidOption, match="notify_url"):
        JobTrail("postgresql://nobody@127.0.0.1:1/none", notify_url=5)


def test_an_error_that_only_a_pooler_causes_corrects_a_wrong_mode(new_database, pgbouncer):
    """`pooler=False` behind a pooler: statements fail as an outage until one of them proves the pooler."""
    with closing(JobTrail(pgbouncer(new_database()), pooler=False)) as jobs:

        @jobs.task
        def load() -> int:
            return 7

        def read() -> bool:
            try:
                jobs.get(job.id)
            except StoreUnavailable as error:
                told.append(str(error))
            except StoreError as error:
                pytest.fail(f"a pooler is no fault of a statement: {error}")
            return jobs.store.database.pooled is True

        told: list[str] = []
        job = load.enqueue()
        held = [jobs.store.database.engine.connect() for _ in range(3)]
        for conn in held:
            conn.close()
        until("an error proves the pooler", read)
        drain(jobs)
        assert job.result(timeout=5) == 7


def test_pgbouncer_is_waited_for_like_the_server(new_database):
    """Its own errors (here: no session became free in time) are an outage."""
    with start_pgbouncer(new_database(), default_pool_size="1", query_wait_timeout="1") as through, \
            psycopg.connect(through, autocommit=True) as other, closing(JobTrail(through)) as jobs:  # fmt: skip
        other.execute("BEGIN")
        other.execute("SELECT 1")
        with pytest.raises(StoreUnavailable):
            jobs.find()
        other.execute("COMMIT")
        assert jobs.find() == []


def test_start_options_that_a_pooler_refuses_are_named(new_database, pgbouncer):
    """`options=-c …` in the address: the sentence says what to do instead."""
    with closing(JobTrail(f"{pgbouncer(new_database())}?options=-csearch_path%3Dshop")) as jobs:
        with pytest.raises(StoreUnavailable, match="ALTER ROLE"):
            jobs.find()


# -- waking ------------------------------------------------------------------------------------------


def _heard_by(jobs: JobTrail) -> tuple[object, threading.Event]:
    heard, listening = threading.Event(), threading.Event()

    def callback(_words: frozenset[str]) -> None:
        (heard if listening.is_set() else listening).set()

    listener = jobs.store.wake.listener(callback)
    listener.start()
    return listener, heard


def test_workers_are_woken_through_a_direct_address(new_database, pgbouncer):
    """`notify_url`: a submission through the pooler is heard."""
    direct = new_database()
    with closing(JobTrail(pgbouncer(direct), notify_url=direct)) as jobs, closing(JobTrail(pgbouncer(direct))) as other:

        @other.task
        def load() -> int:
            return 7

        listener, heard = _heard_by(jobs)
        try:
            until("the word is heard", lambda: load.enqueue() and heard.wait(0.2))
        finally:
            listener.stop()


def test_without_a_direct_address_a_worker_polls_and_says_so_once(new_database, pgbouncer, caplog):
    """LISTEN would hear nothing, and stay in a session of others."""
    caplog.set_level(logging.INFO, "jobtrail.store")
    direct = new_database()
    with closing(JobTrail(pgbouncer(direct))) as jobs:
        listener, _ = _heard_by(jobs)
        until("it is said", lambda: "set notify_url to a direct address" in caplog.text)
        listener.stop()
    with psycopg.connect(direct) as conn:
        found = conn.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()"
        ).fetchone()
    assert found == (0,)
    assert caplog.text.count("notify_url") == 1


def test_the_beat_process_beats_behind_pgbouncer(new_database, pgbouncer):
    """Its own connection, which prepares nothing."""
    url = new_database()
    with closing(JobTrail(url)) as jobs, closing(Database(pgbouncer(url))) as database:
        worker = jobs.worker()
        worker.session.begin()
        try:
            children = [connection_for(None, database.driver_arguments()) for _ in range(2)]
            for _ in range(8):  # more often than a driver needs before it prepares a statement
                for child in children:
                    child.beat(worker.id)
        finally:
            worker.session.stopping()
            worker.session.end(living=set())


@pytest.mark.long
def test_a_worker_process_lives_behind_pgbouncer(new_database, pgbouncer, tmp_path, monkeypatch):
    """`jobtrail worker` with its beat process: it ends a job, it beats, it complains about nothing."""
    url = pgbouncer(new_database())
    (tmp_path / "shop_app.py").write_text(
        "from jobtrail import JobTrail\n"
        f"jobs = JobTrail({url!r}, poll_interval=0.1, beat_interval=0.2)\n"
        "@jobs.task\n"
        "def load(n):\n"
        "    return n\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import shop_app

    command = [sys.executable, "-m", "jobtrail", "--app", "shop_app:jobs"]
    worker = subprocess.Popen([*command, "worker"], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    try:
        made = [shop_app.load.enqueue(n=n) for n in range(30)]
        assert [job.result(timeout=30) for job in made] == list(range(30))
        beats = [0]

        def beaten() -> bool:
            with shop_app.jobs.store.read() as conn:
                beats.append(conn.exec_driver_sql("SELECT beat FROM jobtrail_beats").scalar() or 0)
            return beats[-1] > 8  # more than a driver needs before it prepares a statement

        until("the worker beats", beaten, timeout=30)
        doctor = subprocess.run([*command, "doctor"], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert "through a pooler in transaction mode" in doctor.stdout
        assert "poll every 0.1 s" in doctor.stdout
    finally:
        worker.terminate()
        _, said = worker.communicate(timeout=30)
        shop_app.jobs.close()
        sys.modules.pop("shop_app")
    assert worker.returncode == 0
    assert not re.search("error|failed|Traceback|away", said, re.IGNORECASE), said


# -- what it costs -----------------------------------------------------------------------------------


def _statements(url: str) -> list[str]:
    """The first words of what one lone submission sends, once the connection is there."""
    sent: list[str] = []
    with closing(JobTrail(url)) as jobs:

        @jobs.task
        def load() -> int:
            return 7

        load.enqueue()
        event.listen(
            jobs.store.database.engine, "before_cursor_execute", lambda *given: sent.append(given[2].split()[0])
        )
        load.enqueue()
    return sent


def test_a_direct_connection_pays_nothing(new_database, pgbouncer):
    """One statement and the word to the workers; behind a pooler a transaction with its limits."""
    url = new_database()
    assert _statements(url) == ["INSERT", "NOTIFY"]
    assert _statements(pgbouncer(url)) == ["BEGIN", "INSERT", "COMMIT", "NOTIFY"]


def test_pgbouncer_hands_out_process_numbers_of_its_own(pgbouncer, new_database):
    """What the detection relies on; a direct connection gets the server's."""
    url = new_database()
    for address, same in ((url, True), (pgbouncer(url), False)):
        with psycopg.connect(address, autocommit=True) as conn:
            real = conn.execute("SELECT pg_backend_pid()").fetchone()[0]
            assert (real == conn.info.backend_pid) is same, urlsplit(address).port
