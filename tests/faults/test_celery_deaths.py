"""Celery's processes die, stand still, or are renewed: no job is lost, and no body begins that the record does not know."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import psutil
import pytest
from crew import Crew, check, children_of, crew
from fleet import until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.timeout(240), pytest.mark.long]


@pytest.fixture
def one(sqlite_url: str, broker: str, tmp_path: Path) -> Iterator[Crew]:
    with crew(sqlite_url, broker, tmp_path) as made:
        yield made


def test_a_child_is_killed(one: Crew) -> None:
    one.start()
    job, other = one.submit("once_long"), one.submit("cooperative", seconds=8)
    child = one.begun(job)
    one.begun(other)
    os.kill(child, signal.SIGKILL)
    one.ended(job, other)
    assert one.rows()[other].run_no == 1, "the body in the other child is left alone"
    check(one, [job, other])


def test_the_whole_worker_is_killed_with_prefetched_messages(one: Crew) -> None:
    first, second = one.start(), None
    long = [one.submit("once_long") for _ in range(2)]
    for job in long:
        one.begun(job)
    waiting = [one.submit("quick") for _ in range(12)]
    until("all tickets are sent", lambda: one.are_sent(*waiting))
    os.killpg(first.pid, signal.SIGKILL)
    second = one.start()
    one.ended(*long, *waiting, timeout=30)
    check(one, [*long, *waiting])
    assert second.popen.poll() is None


def test_the_main_process_alone_is_killed(one: Crew) -> None:
    first = one.start()
    job = one.submit("quick", seconds=3)
    one.begun(job)
    first.kill()
    one.start()
    after = one.submit("quick")
    one.ended(job, after)
    check(one, [job, after])


def test_a_child_that_stands_still_is_killed(one: Crew) -> None:
    """Its main process knows that it was declared dead; no body goes on beside the run that follows."""
    one.start()
    job = one.submit("once_long", seconds=1)
    child = one.begun(job)
    os.kill(child, signal.SIGSTOP)
    assert one.begun(job, 2) != child
    until("it is killed", lambda: not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE)
    after = [one.submit("quick") for _ in range(4)]
    one.ended(job, *after)
    assert [x["run"] for x in one.diary("start") if x["job"] == job] == [1, 2]
    check(one, [job, *after])


def test_a_worker_that_stood_still_comes_too_late(one: Crew) -> None:
    """It was stopped for longer than its lease, another worker has its job, and the end that it reports is refused."""
    still = one.start(pool="threads")
    job = one.submit("once_long", seconds=1)
    one.begun(job)
    still.signal(signal.SIGSTOP)
    one.start()
    one.ended(job)
    ended = one.rows()[job]
    still.signal(signal.SIGCONT)
    until("its body has ended too", lambda: [x["run"] for x in one.diary("end") if x["job"] == job] == [2, 1])
    until("it goes on under a new identity", lambda: one.state_of(still.pid) == "alive")
    after = [one.submit("quick") for _ in range(8)]
    one.ended(*after)
    assert one.rows()[job] == ended
    assert ended.run_no == 2
    check(one, [job, *after])


def test_children_that_run_one_job_each(one: Crew) -> None:
    one.start("--max-tasks-per-child", "1")
    jobs = [one.submit("quick") for _ in range(8)]
    one.ended(*jobs, timeout=40)
    assert len({x["pid"] for x in one.diary("start")}) == 8
    assert {one.rows()[job].run_no for job in jobs} == {1}
    check(one, jobs)


def test_a_body_kills_its_process_again_and_again(one: Crew) -> None:
    one.start()
    killer = one.submit("killer", always=True)
    others = [one.submit("quick") for _ in range(10)]
    one.ended(*others)
    one.ended(killer, status="failed", timeout=40)
    row = one.rows()[killer]
    assert (row.strikes, row.run_no) == (3, 3)
    check(one, [killer, *others])


def test_one_of_two_workers_is_killed_with_prefetched_messages(one: Crew) -> None:
    """The other one takes its jobs; nobody restarts the first."""
    workers = [one.start(number=1) for _ in range(2)]
    long = [one.submit("once_long") for _ in range(2)]
    pids = [one.begun(job) for job in long]
    waiting = [one.submit("quick") for _ in range(12)]
    until("all tickets are sent", lambda: one.are_sent(*waiting))
    victim = next(worker for worker in workers if pids[0] in children_of(worker.pid))
    os.killpg(victim.pid, signal.SIGKILL)
    one.jobs.get(long[1]).cancel()
    one.ended(long[0], *waiting, timeout=40)
    check(one, [long[0], *waiting])


@pytest.mark.parametrize("point", ["claim_answer_lost", "claimed", "before_settle", "settle_answer_lost", "after_settle"])
def test_a_child_dies_between_two_steps(redis_url: str, sqlite_url: str, tmp_path: Path, point: str) -> None:
    with crew(sqlite_url, redis_url, tmp_path) as one:
        one.start(FAULTS_POINT=point)
        jobs = [one.submit("quick") for _ in range(6)]
        one.ended(*jobs)
        assert (tmp_path / "diary.died").exists()
        again = sum(one.rows()[job].run_no == 2 for job in jobs)
        assert again == (point not in {"settle_answer_lost", "after_settle"})
        check(one, jobs)
