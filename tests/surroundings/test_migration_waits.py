"""An upgrade behind somebody's lock says for whom it waits."""

from __future__ import annotations

import threading

import psycopg
from trails import until

from jobtrail import JobTrail
from jobtrail.database import migration


def test_an_upgrade_says_for_whom_it_waits(postgres_url, monkeypatch, caplog):
    """The session, its role and program, and its last statement; once for each session, until it lets go."""
    monkeypatch.setattr(migration, "SAID_AFTER", 0.1)
    jobs = JobTrail(postgres_url)
    with psycopg.connect(postgres_url, application_name="nightly dump") as other:
        other.execute("SELECT pg_advisory_xact_lock(%s)", [migration.ADVISORY_LOCK])
        thread = threading.Thread(target=jobs.migrate)
        thread.start()
        until("it is said", lambda: "waits for the session" in caplog.text)
        pid = other.info.backend_pid
        assert thread.is_alive()
        other.rollback()
    thread.join(20)
    assert not thread.is_alive()
    (line,) = [one.getMessage() for one in caplog.records if "waits for the session" in one.getMessage()]
    assert f"session {pid} of " in line
    assert "(nightly dump, idle in transaction since " in line
    assert "pg_advisory_xact_lock" in line
    jobs.close()
