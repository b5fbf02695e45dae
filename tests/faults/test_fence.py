"""A worker that was frozen cannot publish after its successor (rule 5): SIGSTOP, a second run, SIGCONT."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from fleet import fleet, until
from sqlalchemy import text

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.timeout(120)
QUICK = {"beat_interval": 0.4, "silent_after": 1.6, "sweep_interval": 0.4}


def is_writable(url: str) -> bool:
    """SQLite has one writer at a time: whoever is frozen within a write would keep all others from writing."""
    if not url.startswith("sqlite"):
        return True
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"), timeout=0)) as conn:
        try:
            conn.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return False
    return True


def freeze(pids: list[int], url: str) -> None:
    """Stop these processes, none of them within a write."""
    while True:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        if is_writable(url):
            return
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        time.sleep(0.02)


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.long)])
def test_a_frozen_worker_cannot_publish_after_its_successor(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    url = request.getfixturevalue("sqlite_url" if kind == "sqlite" else "own_url")
    with fleet(url, tmp_path, **QUICK) as workers:
        workers.jobs.store.write(lambda conn: conn.execute(text("CREATE TABLE published (run integer)")) and None)
        first = workers.start()
        go = tmp_path / "go"
        job = workers.submit("fenced", table="published", go=str(go))
        until("the first run has begun", lambda: workers.diary("start"))
        child = until("the worker has a beat process", first.beat_child)
        freeze([first.pid, child], url)
        try:
            workers.start()
            until("the second run has ended", lambda: workers.jobs.get(job).status == "completed", timeout=40)
            go.touch()
        finally:
            for pid in (first.pid, child):
                os.kill(pid, signal.SIGCONT)
        until("the first run tries to publish", lambda: {line["run"] for line in workers.diary("publishes")} == {1, 2}, timeout=30)
        until("its late word is refused", lambda: any(one.name == "refused" for one in workers.jobs.get(job).events()), timeout=30)
        with workers.jobs.store.read() as conn:
            runs = list(conn.execute(text("SELECT run FROM published")).scalars())
        assert runs == [2]
        assert {line["run"] for line in workers.diary("end")} == {2}
