"""Limits hold while workers on two machines are killed: no key runs or starts more than it may, none starves, no job is lost."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from fleet import Fleet, Process, check, fleet, until
from sqlalchemy import text

if TYPE_CHECKING:
    from pathlib import Path

KEYS, WORKERS, RUNNING, PER = "abc", 8, 3, 1.0
SETTINGS = {"beat_interval": 0.5, "silent_after": 3.0, "sweep_interval": 0.3, "poll_interval": 0.2}
# A run began when it was claimed. It ended with its job, or with the line of the trail that has its beginning.
RUNS = {
    "sqlite": "SELECT limits, started_at / 1e6 AS began, finished_at / 1e6 AS ended FROM jobtrail_jobs UNION ALL "
    "SELECT jobs.limits, (julianday(detail ->> 'started_at') - 2440587.5) * 86400.0, events.at / 1e6 "
    "FROM jobtrail_events AS events JOIN jobtrail_jobs AS jobs ON jobs.id = job_id "
    "WHERE detail ->> 'started_at' IS NOT NULL AND name <> 'refused' AND to_status IN ('interrupted', 'pending')",
    "postgresql": "SELECT limits, extract(epoch FROM started_at) AS began, extract(epoch FROM finished_at) AS ended FROM jobtrail_jobs "
    "UNION ALL SELECT jobs.limits, extract(epoch FROM (detail::json ->> 'started_at')::timestamptz), extract(epoch FROM events.at) "
    "FROM jobtrail_events AS events JOIN jobtrail_jobs AS jobs ON jobs.id = job_id "
    "WHERE detail::json ->> 'started_at' IS NOT NULL AND name <> 'refused' AND to_status IN ('interrupted', 'pending')",
}
CLOCKS = 0.003  # seconds by which the clocks of two workers differ
MOST_AT_ONCE = (
    "WITH runs AS ({runs}), steps AS (SELECT limits, began AS at, 1 AS step FROM runs UNION ALL "
    "SELECT limits, ended - {clocks}, -1 FROM runs WHERE ended IS NOT NULL) SELECT max(number) FROM "
    "(SELECT sum(step) OVER (PARTITION BY limits ORDER BY at, step) AS number FROM steps) AS found"
)
SHORTEST = (
    "WITH runs AS ({runs}) SELECT min(later - began) FROM "
    "(SELECT began, lead(began, {rate}) OVER (PARTITION BY limits ORDER BY began) AS later FROM runs) AS found"
)


def start(one: Fleet, number: int, monkeypatch: pytest.MonkeyPatch, *, wait: bool = False) -> Process:
    """Start a worker, every second one on another machine."""
    monkeypatch.setenv("FAULTS_MACHINE", "" if number % 2 else "another-machine")
    return one.start("-c", "4", wait=wait)


def kill(victim: Process, *, machine: bool) -> None:
    """Kill a worker; with its machine, nobody is left to say so."""
    child = victim.beat_child() if machine else None
    victim.kill()
    if child is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)


def submit(one: Fleet, number: int) -> list[str]:
    import limited_works

    limited_works.jobs.store = limited_works.jobs.service.store = one.jobs.store
    found = limited_works.limited.enqueue_many([{"key": key} for _ in range(number) for key in KEYS])
    return [job.id for job in found]


def kill_at_random(one: Fleet, seconds: float, monkeypatch: pytest.MonkeyPatch) -> int:
    """Kill a worker now and then until the time is over or all is done; how many were killed."""
    end, killed, started = time.monotonic() + seconds, 0, WORKERS
    while time.monotonic() < end and one.unfinished():
        time.sleep(random.uniform(0.3, 1.5) if seconds < 60 else random.uniform(1, 5))
        kill(random.choice(one.living()), machine=killed % 2 == 0)
        killed += 1
        start(one, started, monkeypatch)
        started += 1
    return killed


@pytest.mark.both_databases
@pytest.mark.parametrize("url", ["sqlite", "postgresql"], indirect=True)
@pytest.mark.parametrize(
    ("jobs_of_a_key", "rate", "seconds"),
    [(100, 25, 4), pytest.param(10_000, 50, 300, marks=[pytest.mark.long, pytest.mark.timeout(1500)])],
)
def test_limits_hold_while_workers_of_two_machines_are_killed(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs_of_a_key: int, rate: int, seconds: int
) -> None:
    monkeypatch.setenv("FAULTS_RATE", str(rate))
    with fleet(url, tmp_path, **SETTINGS) as one:
        one.app = "limited_works:jobs"
        for number in range(WORKERS):
            start(one, number, monkeypatch)
        until("the workers are there", lambda: sum(one.state_of(worker.pid) == "alive" for worker in one.living()) == WORKERS, timeout=60)
        ids = submit(one, jobs_of_a_key)
        killed = kill_at_random(one, seconds, monkeypatch)
        one.drained(timeout=1000 if seconds > 100 else 60)
        assert killed >= 2
        assert check(one, ids).lost == 0
        held(one, "sqlite" if url.startswith("sqlite") else "postgresql", rate)
        ended = Counter(line["key"] for line in one.diary("end")[: len(ids) // 2])
        assert min(ended[key] for key in KEYS) > len(ids) / 12, f"a key starved: {ended}"


def held(one: Fleet, database: str, rate: int) -> None:
    """No moment has more runs of a key than may run, and no span more starts than may start; told by the trail."""
    runs = RUNS[database]
    with one.jobs.store.read() as conn:
        most = conn.execute(text(MOST_AT_ONCE.format(runs=runs, clocks=CLOCKS).replace(":", "\\:"))).scalar()
        shortest = conn.execute(text(SHORTEST.format(runs=runs, rate=rate).replace(":", "\\:"))).scalar()
    assert 1 < most <= RUNNING
    assert shortest is not None
    assert float(shortest) > PER - 1e-3
