"""What an administrator allows: a schema of its own, a role without rights on a table, too few connections, no writes."""

from __future__ import annotations

import contextlib
from contextlib import closing

import psycopg
import pytest
from life import QUICK, Gate, live
from services import fresh_database
from test_sessions import end_sessions
from test_settings import with_settings
from trails import until

from jobtrail import JobTrail
from jobtrail.database import migration
from jobtrail.database.connection import Database
from jobtrail.worker import turns


@pytest.fixture
def role(postgres_server):
    """A role that owns nothing."""
    name = "jobtrail_test_role"
    with psycopg.connect(postgres_server, autocommit=True) as conn:
        conn.execute(f"CREATE ROLE {name} LOGIN")
    yield name
    with psycopg.connect(postgres_server, autocommit=True) as conn:
        for (database,) in conn.execute("SELECT datname FROM pg_database WHERE datname LIKE 'jobtrail_test%'").fetchall():
            with psycopg.connect(postgres_server.rsplit("/", 1)[0] + f"/{database}", autocommit=True) as one:
                one.execute(f"DROP OWNED BY {name}")
        conn.execute(f"DROP ROLE {name}")


def as_role(url, role, schema="public"):
    """The address for a role that may use the tables of a schema."""
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute(f"GRANT USAGE ON SCHEMA {schema} TO {role}")
        conn.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {role}")
        conn.execute(f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO {role}")
    return url.replace("://postgres@", f"://{role}@")


def test_a_job_lives_in_a_schema_of_its_own_without_the_rights_of_its_owner(postgres_server, role):
    """`search_path` on the database, tables migrated by somebody else."""
    with fresh_database(postgres_server) as url:
        with psycopg.connect(url, autocommit=True) as conn:
            conn.execute("CREATE SCHEMA shop")
            conn.execute("REVOKE ALL ON SCHEMA public FROM PUBLIC")
        with_settings(url, {"search_path": "shop"})
        with closing(Database(url)) as database:
            migration.upgrade(database)
        live(as_role(url, role, "shop"))
        with psycopg.connect(url) as conn:
            found = conn.execute("SELECT DISTINCT schemaname FROM pg_tables WHERE tablename LIKE 'jobtrail%'").fetchall()
        assert found == [("shop",)]


@contextlib.contextmanager
def no_rights(server, url, role):
    """The role may not write items."""
    with psycopg.connect(url.replace(f"://{role}@", "://postgres@"), autocommit=True) as conn:
        conn.execute(f"REVOKE INSERT ON jobtrail_items FROM {role}")
        yield
        conn.execute(f"GRANT INSERT ON jobtrail_items TO {role}")


@contextlib.contextmanager
def no_writes(server, url, role):
    """An administrator makes the database read-only."""
    name = url.rsplit("/", 1)[1]
    with psycopg.connect(server, autocommit=True) as conn:
        conn.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        end_sessions(server, url)
        yield
        conn.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")


@contextlib.contextmanager
def no_connections(server, url, role):
    """All connections that the role may have are taken, as when max_connections is reached."""
    with psycopg.connect(server, autocommit=True) as conn, psycopg.connect(url):
        conn.execute(f"ALTER ROLE {role} CONNECTION LIMIT 1")
        end_sessions(server, url)
        yield
        conn.execute(f"ALTER ROLE {role} CONNECTION LIMIT -1")


@pytest.mark.parametrize(
    ("outage", "said"),
    [
        (no_rights, "permission denied for table jobtrail_items. Grant the role the rights on all tables"),
        (no_writes, "is read-only now"),
        (no_connections, "too many connections"),
    ],
)
def test_a_job_outlives_what_an_administrator_does(outage, said, new_database, postgres_server, role, monkeypatch, caplog):
    """Its body runs on and once, its end waits, the reason is said in words, and all goes on without a restart."""
    monkeypatch.setattr(turns, "BACK_OFF", (0.02, 0.1))
    url = as_role(new_database(), role)
    with closing(JobTrail(url, submit_retry_seconds=0.001, **QUICK)) as jobs:
        gate = Gate(jobs)
        job = gate.load.enqueue(n=1)
        with gate.drained() as thread:
            with outage(postgres_server, url, role):
                gate.open.set()
                until("the reason is said", lambda: said in caplog.text)
                assert thread.is_alive()
            until("all is written", lambda: not thread.is_alive())
        assert (job.result(timeout=10), job.attempt, job.items_ok) == (1, 1, 3)
        assert gate.ran == [1]
