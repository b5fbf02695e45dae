"""Limits and cancels of jobs that Celery runs: what is asked to stop, stops, and the record says why."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from crew import Crew, check, crew
from fleet import until

from jobtrail.errors import IllegalMove

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.timeout(240), pytest.mark.long]
STARTED = 40.0  # seconds


@pytest.fixture
def one(sqlite_url: str, broker: str, tmp_path: Path) -> Iterator[Crew]:
    with crew(sqlite_url, broker, tmp_path) as made:
        yield made


def starts(one: Crew, job: str) -> int:
    return sum(1 for line in one.diary("start") if line["job"] == job)


def test_limits_end_bodies_that_sleep_refuse_or_compute(one: Crew) -> None:
    """A body that sleeps is interrupted, one that catches everything is killed, and so is one that computes in C."""
    one.start(number=4)
    sleeping, waiting = one.submit("once_long", timeout=1), one.submit("gentle", timeout=1)
    one.ended(sleeping, waiting, status="failed", timeout=STARTED)
    for job in (sleeping, waiting):
        assert "1" in one.rows()[job].error
        assert "TimeoutError" in one.rows()[job].error
        assert starts(one, job) == 1
    stubborn, computing = one.submit("stubborn", timeout=1), one.submit("computing", timeout=1)
    one.ended(stubborn, status="failed", timeout=STARTED)
    one.ended(computing, timeout=STARTED)
    assert [line["error"] for line in one.diary("caught")] == ["StopSignal"], "it is asked once, then killed"
    assert [(starts(one, job), one.rows()[job].run_no) for job in (stubborn, computing)] == [(1, 1), (2, 2)]
    after = [one.submit("quick") for _ in range(4)]
    one.ended(*after)
    check(one, after)


def test_cancels_before_during_and_after(one: Crew) -> None:
    worker = one.start(number=3)
    heeds, deaf, waits = one.submit("cooperative"), one.submit("once_long"), one.submit("gentle")
    for job in (heeds, deaf, waits):
        one.begun(job)
    behind = one.submit("quick")
    until("its ticket is sent", lambda: one.are_sent(behind))
    for job in (behind, heeds, deaf, waits):
        one.jobs.get(job).cancel()
    one.ended(behind, heeds, deaf, waits, status="cancelled")
    after = one.submit("quick")
    one.ended(after)
    with pytest.raises(IllegalMove):
        one.jobs.get(after).cancel()
    assert one.rows()[after].status == "completed"
    assert starts(one, behind) == 0
    assert {starts(one, job) for job in (heeds, deaf, waits)} == {1}
    assert worker.popen.poll() is None


def test_a_body_that_refuses_a_cancel_is_killed(one: Crew) -> None:
    one.start()
    job = one.submit("stubborn")
    one.begun(job)
    one.jobs.get(job).cancel()
    one.ended(job, status="cancelled")
    assert starts(one, job) == 1
    after = [one.submit("quick") for _ in range(4)]
    one.ended(*after)
    check(one, after)


def test_messages_that_celery_revokes(one: Crew) -> None:
    """Revoked before it begins, and terminated while it runs: both are cancels."""
    one.start(number=2)
    running = [one.submit("once_long"), one.submit("gentle")]
    for job in running:
        one.begun(job)
    waiting = one.submit("quick")
    until("its ticket is sent", lambda: one.are_sent(waiting))
    one.client.control.revoke(f"{waiting}-1")
    for job in running:
        one.client.control.revoke(f"{job}-1", terminate=True)
    one.ended(waiting, *running, status="cancelled")
    assert starts(one, waiting) == 0
    after = [one.submit("quick") for _ in range(4)]
    one.ended(*after)
    check(one, after)


def test_celerys_own_soft_limit_reaches_a_body_without_a_limit(one: Crew) -> None:
    one.celery = "task_soft_time_limit=1"
    one.start()
    begun = time.monotonic()
    job, longer = one.submit("once_long"), one.submit("quick", seconds=3, timeout=20)
    one.ended(job, status="failed")
    assert "SoftTimeLimitExceeded" in one.rows()[job].error
    one.ended(longer)
    assert time.monotonic() - begun < STARTED


@pytest.mark.parametrize("pool", ["solo", "threads"])
def test_limits_and_cancels_without_children(one: Crew, pool: str) -> None:
    """In one process a plain body that does not listen is interrupted in the pool solo alone."""
    worker = one.start(pool=pool)
    heeds, waits = one.submit("cooperative"), one.submit("gentle", timeout=1)
    one.begun(heeds)
    one.jobs.get(heeds).cancel()
    one.ended(heeds, status="cancelled")
    one.ended(waits, status="failed")
    if pool == "solo":
        sleeping = one.submit("once_long", timeout=1)
        one.ended(sleeping, status="failed")
    after = [one.submit("quick") for _ in range(4)]
    one.ended(*after)
    check(one, after)
    assert worker.popen.poll() is None
