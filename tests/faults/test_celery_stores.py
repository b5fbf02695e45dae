"""The store goes away while Celery runs our jobs, and its processes fork while it is in use."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import psycopg
import pytest
from crew import RIGHT_WITHIN, check, crew
from fleet import until

if TYPE_CHECKING:
    from pathlib import Path

    from services import Cluster

pytestmark = [pytest.mark.timeout(240), pytest.mark.long]
PATIENCE = 5.0  # seconds that a process waits for a claim before its message goes back


@pytest.mark.parametrize("how", ["stopped", "crashed"])
def test_postgresql_is_away(own_server: Cluster, own_url: str, broker: str, tmp_path: Path, how: str) -> None:
    """While jobs wait, while a body ends, and while a message is taken whose job cannot be claimed."""
    with crew(own_url, broker, tmp_path, silent_after=15) as one:
        worker = one.start()
        short, long = one.submit("quick", seconds=4), one.submit("gentle", seconds=4, timeout=60)
        for job in (short, long):
            one.begun(job)
        waiting = [one.submit("quick", timeout=20) for _ in range(10)]
        until("all tickets are sent", lambda: one.are_sent(*waiting))
        with psycopg.connect(own_url, autocommit=True) as conn:
            conn.execute("CHECKPOINT")  # the server does not wait for its disk at a commit
        own_server.stop(signal.SIGINT if how == "stopped" else signal.SIGQUIT)
        until("both bodies have ended", lambda: len(one.diary("end")) == 2)
        begun = time.monotonic()
        until("a message went back", lambda: time.monotonic() > begun + PATIENCE + 3, timeout=30)
        own_server.start()
        one.ended(short, long, *waiting, timeout=RIGHT_WITHIN)
        assert {row.run_no for row in one.rows().values()} == {1}, one.told()
        check(one, [short, long, *waiting])
        assert worker.popen.poll() is None


def test_a_worker_that_starts_while_the_store_is_away(
    own_server: Cluster, own_url: str, redis_url: str, tmp_path: Path
) -> None:
    with crew(own_url, redis_url, tmp_path) as one:
        jobs = [one.submit("quick") for _ in range(5)]
        own_server.stop()
        worker = one.start(wait=False)
        try:
            until("it is up", lambda: "ready." in worker.said(), timeout=40)
        finally:
            own_server.start()
        one.ended(*jobs, timeout=2 * RIGHT_WITHIN)
        check(one, jobs)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_children_are_forked_from_a_process_that_works(
    request: pytest.FixtureRequest, redis_url: str, tmp_path: Path, kind: str
) -> None:
    """The main process has threads that use the store, and forks a child for every second job, and where one is killed."""
    url = request.getfixturevalue(f"{'own' if kind == 'postgresql' else kind}_url")
    with crew(url, redis_url, tmp_path) as one:
        worker = one.start("--max-tasks-per-child", "2", number=3)
        jobs = [one.submit("quick", seconds=0.05) for _ in range(24)]
        victim = one.submit("once_long")
        os.kill(one.begun(victim, timeout=40), signal.SIGKILL)
        one.ended(*jobs, victim, timeout=60)
        assert {one.rows()[job].run_no for job in jobs} == {1}
        assert worker.popen.poll() is None
        check(one, [*jobs, victim])
