"""A streaming standby and a failover to it, over TLS with a certificate that the server signed itself."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from contextlib import closing

import psycopg
import pytest
from life import QUICK, Gate
from services import Cluster, Unavailable, free_port, skip_or_fail, start_postgres
from trails import until

from jobtrail import JobTrail, StoreUnavailable
from jobtrail.database import migration
from jobtrail.database.beats import connection_for
from jobtrail.database.connection import Database
from jobtrail.worker import turns

REPLICATED = {"wal_level": "replica", "max_wal_senders": "4", "synchronous_commit": "on"}


@pytest.fixture
def pair():
    """A primary with TLS and its streaming standby."""
    try:
        with start_postgres(**REPLICATED) as primary:
            _use_tls(primary)
            standby = Cluster(primary.folder / "standby", free_port(), primary.bin, REPLICATED)
            standby.folder.mkdir(mode=0o700)
            tools = (primary.bin / "initdb").resolve().parent
            command = [tools / "pg_basebackup", "-D", standby.folder / "data", "-d", primary.address, "-R", "-c", "fast", "-X", "stream"]
            primary._as_user(["chmod", "711", primary.folder], check=True)
            shutil.chown(standby.folder, primary.folder.owner(), primary.folder.group())
            primary._as_user([*command, "--no-sync"], check=True)
            try:
                standby.start()
                yield primary, standby
            finally:
                standby.stop()
    except Unavailable as error:
        skip_or_fail(str(error))


def _use_tls(server: Cluster) -> None:
    data = server.folder / "data"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=jobtrail.test"]
    command += ["-keyout", data / "server.key", "-out", data / "server.crt"]
    server._as_user(command, check=True, stderr=subprocess.DEVNULL)
    with psycopg.connect(server.address, autocommit=True) as conn:
        conn.execute("ALTER SYSTEM SET ssl = on")
        conn.execute("SELECT pg_reload_conf()")
    until("the server speaks TLS", lambda: _speaks_tls(server.address))


def _speaks_tls(address: str) -> bool:
    try:
        psycopg.connect(f"{address}?sslmode=require").close()
    except psycopg.OperationalError:
        return False
    return True


def _caught_up(primary: Cluster, standby: Cluster) -> bool:
    with psycopg.connect(primary.address) as one, psycopg.connect(standby.address) as other:
        written = one.execute("SELECT pg_current_wal_insert_lsn()").fetchone()[0]
        return other.execute("SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", [written]).fetchone()[0]


def test_a_standby_is_named_and_a_failover_is_lived_through(pair, monkeypatch, caplog):
    """With both hosts in the address the worker goes on at the promoted server; TLS all along, also for the beat process."""
    monkeypatch.setattr(turns, "BACK_OFF", (0.02, 0.1))
    primary, standby = pair
    hosts = f"127.0.0.1:{primary.port},127.0.0.1:{standby.port}"
    both = f"postgresql://postgres@{hosts}/postgres?target_session_attrs=read-write&sslmode=require"
    with closing(Database(both)) as database:
        migration.upgrade(database)
        assert f"PostgreSQL at {hosts}/postgres" in str(database.where)
        connection_for(None, database.driver_arguments()).now()
    with closing(JobTrail(both, **QUICK)) as jobs:
        gate = Gate(jobs)
        made = [gate.load.enqueue(n=n) for n in range(30)]
        with jobs.store.read() as conn:
            encrypted = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'jobtrail'"
            assert conn.exec_driver_sql(encrypted).scalar()
            assert conn.exec_driver_sql("SHOW synchronous_commit").scalar() == "on", "SIGQUIT would lose commits"
        with gate.drained(slots=4) as thread:
            until("the standby has it all", lambda: _caught_up(primary, standby))
            _says_what_it_is(standby)
            primary.stop(signal.SIGQUIT)
            gate.open.set()
            until("the outage is noticed", lambda: "the store is away" in caplog.text)
            with psycopg.connect(standby.address, autocommit=True) as conn:
                conn.execute("SELECT pg_promote()")
            until("all jobs end on the promoted server", lambda: not thread.is_alive(), timeout=30)
        assert [job.result(timeout=5) for job in made] == list(range(30))
        assert sorted(gate.ran) == list(range(30))
        gate.load.enqueue(n=1)


def _says_what_it_is(standby: Cluster) -> None:
    """Reads work, a write says why it does not."""
    with closing(JobTrail(standby.address, submit_retry_seconds=0.001)) as jobs:

        @jobs.task
        def load(n: int) -> int:
            return n

        assert len(jobs.find()) == 30
        with pytest.raises(StoreUnavailable, match="is a standby that takes no writes"):
            load.enqueue(n=1)
    command = [sys.executable, "-m", "jobtrail", "--database", standby.address, "doctor"]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    assert told.returncode == 1
    assert "the server is a standby, which takes no writes" in told.stdout
