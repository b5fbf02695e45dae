"""The store is locked, read-only, or restarted in the middle of a recovery: nothing is lost, nothing runs twice."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from typing import TYPE_CHECKING

import psycopg
import pytest
from fleet import Fleet, check, fleet, until

from jobtrail.database.connection import SQLITE_BUSY_SECONDS

if TYPE_CHECKING:
    from pathlib import Path

    from services import Cluster

pytestmark = pytest.mark.timeout(240)
QUICK = {"beat_interval": 0.4, "silent_after": 1.6, "sweep_interval": 0.4}  # instead of 5, 15 and 2 s


def once_each(one: Fleet, jobs: list[str]) -> None:
    check(one, jobs)
    assert {row.run_no for row in one.rows().values()} == {1}


@pytest.mark.long
@pytest.mark.parametrize("seconds", [SQLITE_BUSY_SECONDS + 2, pytest.param(40, marks=pytest.mark.long)])
def test_c05_sqlite_locked_longer_than_any_busy_timeout(sqlite_url: str, tmp_path: Path, seconds: float) -> None:
    with fleet(sqlite_url, tmp_path, **QUICK) as one:
        workers = one.start_many(2)
        jobs = [one.submit("quick", seconds=1.0) for _ in range(6)]
        jobs += [one.submit("gentle", seconds=1.0) for _ in range(4)]
        until("all bodies have begun", lambda: len(one.diary("start")) == 10)
        with contextlib.closing(sqlite3.connect(tmp_path / "jobs.db", isolation_level=None, timeout=5)) as conn:
            conn.execute("BEGIN IMMEDIATE")
            time.sleep(seconds)
            conn.execute("ROLLBACK")
        one.drained()
        once_each(one, jobs)
        assert [one.state_of(worker.pid) for worker in workers] == ["alive", "alive"]
        once_each(one, [*jobs, _runs(one)])


def _runs(one: Fleet) -> str:
    """A new job runs without a restart by hand."""
    job = one.submit("quick")
    one.drained()
    return job


@pytest.mark.long
def test_c63_postgresql_turns_read_only(own_url: str, tmp_path: Path) -> None:
    name = own_url.rsplit("/", 1)[1]
    with fleet(own_url, tmp_path, **QUICK) as one, psycopg.connect(own_url, autocommit=True) as conn:
        workers = one.start_many(2)
        jobs = [one.submit("quick", seconds=1.0) for _ in range(10)]
        until("all bodies have begun", lambda: len(one.diary("start")) == 10)
        conn.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        conn.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        until("all bodies have ended", lambda: len(one.diary("end")) == 10)
        time.sleep(3)
        assert one.unfinished() == 10, "nothing can be written"
        conn.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")
        one.drained()
        once_each(one, jobs)
        assert [one.state_of(worker.pid) for worker in workers] == ["alive", "alive"]
        until("it can be submitted again", lambda: _submitted(one, jobs))
        one.drained()
        once_each(one, jobs)


def _submitted(one: Fleet, jobs: list[str]) -> bool:
    jobs.append(one.submit("quick"))
    return True


@pytest.mark.long
def test_c59_the_database_blinks_in_the_middle_of_a_recovery(
    own_url: str, own_server: Cluster, tmp_path: Path
) -> None:
    with fleet(own_url, tmp_path, slots=250) as one:
        dying = one.start()
        jobs = [one.submit("once_long") for _ in range(250)]
        until("250 bodies run", lambda: len(one.diary("start")) == 250, timeout=60)
        dying.kill()
        one.settings = {}
        one.start(wait=False)
        one.start(wait=False)
        until("the recovery has begun", lambda: _recovered(one) > 0, timeout=40)
        own_server.restart()
        jobs += [one.submit("quick") for _ in range(50)]
        one.drained(timeout=120)
        check(one, jobs)
        rows = one.rows()
        assert {rows[job].run_no for job in jobs[250:]} == {1}, "what runs here is not recovered"
        assert {rows[job].attempt for job in jobs[:250]} == {2}, "each is adopted once"


def _recovered(one: Fleet) -> int:
    return sum(1 for row in one.rows().values() if row.status == "pending" or row.run_no > 1)


@pytest.mark.long
def test_c43_killed_while_the_store_stays_away_what_was_done_is_not_repeated(
    own_url: str, own_server: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with fleet(own_url, tmp_path, spool_after=0.5, beat_interval=1.0, silent_after=4.0) as one:
        survivor = one.start("-q", "nothing", wait=False)  # finds the other one dead
        dying = one.start()
        until("it is registered", lambda: one.state_of(survivor.pid) == "alive")
        jobs = [one.submit("quick", seconds=2.0) for _ in range(10)]
        until("all run", lambda: len(one.diary("start")) == 10)
        own_server.stop()
        until("all have ended", lambda: len(one.diary("end")) == 10)
        until("their ends are kept", lambda: _kept_ends(tmp_path) == 10)
        dying.kill()
        own_server.start()
        until("they are written", lambda: {one.rows()[job].status for job in jobs} == {"completed"}, timeout=40)
        assert {one.rows()[job].run_no for job in jobs} == {1}
        once_each(one, jobs)
        until("the file is gone", lambda: _kept_ends(tmp_path) == 0)


def _kept_ends(folder: Path) -> int:
    return sum(len(path.read_text().splitlines()) for path in (folder / "state").rglob("*.jsonl"))
