"""Celery's ways to end a worker: warm, soft, cold, by Ctrl-C, and rolling; jobs end in order or are handed back."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest
from crew import Crew, check, children_of, crew
from fleet import Process, until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.timeout(240), pytest.mark.long]
LEAVES_WITHIN = 25.0  # seconds


@pytest.fixture
def one(sqlite_url: str, broker: str, tmp_path: Path) -> Iterator[Crew]:
    with crew(sqlite_url, broker, tmp_path) as made:
        yield made


def leaves(one: Crew, worker: Process) -> None:
    """It ends, and its processes with it; the rows of its children say so."""
    children = children_of(worker.pid)
    until("the worker has ended", lambda: worker.popen.poll() is not None, timeout=LEAVES_WITHIN)
    for pid in children:
        until(f"the row of {pid} says so", lambda pid=pid: one.state_of(pid) in {"stopped", "dead", None})


def test_three_rolling_restarts(one: Crew) -> None:
    worker, jobs = one.start(), []
    for _ in range(3):
        running = one.submit("quick", seconds=2)
        jobs += [running, *(one.submit("quick", seconds=0.1) for _ in range(10))]
        one.begun(running)
        worker.signal(signal.SIGTERM)
        leaves(one, worker)
        assert one.rows()[running].status == "completed", "a warm shutdown lets it end"
        worker = one.start()
    one.ended(*jobs)
    assert {one.rows()[job].run_no for job in jobs} == {1}
    check(one, jobs)


@pytest.mark.parametrize("how", ["cold", "soft", "twice"])
def test_ends_that_do_not_wait(one: Crew, how: str) -> None:
    """What runs is handed back, not charged, and goes on in the next worker."""
    worker = one.start(number=3, FAULTS_SOFT_SHUTDOWN="2" if how == "soft" else "0")
    jobs = [one.submit("once_long"), one.submit("gentle", seconds=300), one.submit("cooperative", seconds=300)]
    short = one.submit("quick") if how == "soft" else None
    for job in jobs:
        one.begun(job)
    until("the main process knows", lambda: one.are_known(*jobs))
    worker.signal(signal.SIGINT if how == "twice" else signal.SIGQUIT)
    if how == "twice":
        until("it has heard", lambda: "Warm shutdown" in worker.said())
        worker.signal(signal.SIGINT)
    leaves(one, worker)
    assert [one.rows()[job].attempt for job in jobs] == [0] * 3, one.told()
    assert {one.rows()[job].status for job in jobs} == {"pending"}
    one.start(number=3)
    for job in jobs:
        one.begun(job, 2)
    for job in jobs[1:]:
        one.jobs.get(job).cancel()
    one.ended(jobs[0])
    one.ended(*jobs[1:], status="cancelled")
    check(one, [jobs[0], *([short] if short else [])])


def test_a_cold_shutdown_with_a_body_that_refuses(one: Crew) -> None:
    worker = one.start()
    job = one.submit("stubborn")
    one.begun(job)
    until("the main process knows", lambda: one.are_known(job))
    worker.signal(signal.SIGQUIT)
    leaves(one, worker)
    one.start()
    one.ended(job)
    check(one, [job])


def test_ctrl_c_waits_for_what_runs(one: Crew) -> None:
    worker = one.start()
    jobs = [one.submit("quick", seconds=2), one.submit("gentle", seconds=2)]
    for job in jobs:
        one.begun(job)
    os.killpg(worker.pid, signal.SIGINT)
    leaves(one, worker)
    assert {one.rows()[job].status for job in jobs} == {"completed"}
    check(one, jobs)


def test_a_service_manager_that_signals_every_process(one: Crew) -> None:
    """systemd sends SIGTERM to the children too, by default: their jobs are handed back, none is charged."""
    worker = one.start()
    jobs = [one.submit("once_long"), one.submit("gentle", seconds=2)]
    for job in jobs:
        one.begun(job)
    os.killpg(worker.pid, signal.SIGTERM)
    leaves(one, worker)
    one.start()
    one.ended(*jobs)
    assert {one.rows()[job].attempt for job in jobs} == {1}
    check(one, jobs)


@pytest.mark.parametrize("pool", ["solo", "threads"])
def test_a_warm_end_without_children(one: Crew, pool: str) -> None:
    worker = one.start(pool=pool)
    job = one.submit("quick", seconds=2)
    one.begun(job)
    worker.signal(signal.SIGTERM)
    leaves(one, worker)
    assert (one.rows()[job].status, one.rows()[job].run_no) == ("completed", 1)
    check(one, [job])
