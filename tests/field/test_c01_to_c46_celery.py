"""C-01, C-02, C-14, C-15, C-18, C-42, C-43, C-45, C-46 for jobs that Celery runs, in real workers."""

from __future__ import annotations

import contextlib
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1] / "faults"))

import pytest
from brokers import amqp_base, amqp_url, broker, redis_base, redis_url  # noqa: F401 - fixtures
from celery_works import Elsewhere
from crew import Crew, check, children_of, crew
from fleet import until
from tcp_proxy import proxy_of

from jobtrail import JobTrail

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.timeout(240), pytest.mark.long]


@pytest.fixture
def one(sqlite_url: str, redis_url: str, tmp_path: Path) -> Iterator[Crew]:  # noqa: F811
    with crew(sqlite_url, redis_url, tmp_path) as made:
        yield made


def starts(one: Crew, job: str) -> int:
    return sum(1 for line in one.diary("start") if line["job"] == job)


def test_c01_a_job_that_kills_its_process_is_given_up_and_the_others_flow(one: Crew) -> None:
    """C-01: each death is counted and recorded, the message is not delivered for ever, ten jobs behind it are done."""
    one.start()
    killer = one.submit("killer", always=True)
    behind = [one.submit("quick") for _ in range(10)]
    one.ended(*behind)
    one.ended(killer, status="failed", timeout=60)
    assert starts(one, killer) == one.rows()[killer].run_no == 3
    assert [event.run_no for event in one.events(killer, "begun_by")] == [1, 2, 3]
    check(one, [killer, *behind])


def test_c02_a_delay_longer_than_the_visibility_timeout_is_one_execution(one: Crew) -> None:
    """C-02: the delay stays in our table; a body longer than the timeout is delivered again, which is counted and no more."""
    for _ in range(2):
        one.start(number=1, FAULTS_VISIBILITY="5")
    delayed = one.submit("quick", delay=12)
    long = one.submit("quick", seconds=15)
    one.begun(long)
    assert one.handed_run(delayed) is None, "the broker does not know it yet"
    one.ended(delayed, long, timeout=40)
    assert (starts(one, delayed), starts(one, long)) == (1, 1)
    assert len(one.events(long, "delivered_again")) >= 1
    check(one, [delayed, long])


def test_c14_a_task_that_no_worker_knows_goes_back_and_fails_visibly(one: Crew) -> None:
    """C-14: nothing is thrown away with a line in a log; wrong arguments fail at once, with the name of the argument."""
    one.settings |= {"put_back_limit": 2, "put_back_delay": 0.5}
    with contextlib.closing(JobTrail(one.url, executor=Elsewhere())) as older:
        retired = older.task(name="retired")(lambda: None).enqueue().id
        renamed = older.task(name="quick")(lambda *, secs: None).enqueue(secs=1).id
    one.start()
    one.ended(retired, renamed, status="failed")
    assert "retired" in one.rows()[retired].error
    assert "secs" in one.rows()[renamed].error


@pytest.mark.parametrize("pool", ["prefork", "threads"])
def test_c15_errors_that_cannot_be_pickled_or_printed(one: Crew, pool: str) -> None:
    """C-15: they end their job as a ValueError would, and the worker goes on."""
    one.start(pool=pool)
    jobs = [
        one.submit("raising", how=how) for how in ("value", "text", "large", "exit", "interrupt", "group", "circle")
    ]
    after = [one.submit("quick") for _ in range(4)]
    one.ended(*jobs, status="failed", timeout=30)
    one.ended(*after)
    assert {starts(one, job) for job in jobs} == {1}
    assert max(len(one.rows()[job].error) for job in jobs) < 100_000
    check(one, after)


def test_c42_the_application_was_used_before_its_processes_were_forked(one: Crew) -> None:
    """C-42: a query and a submission at import, then a prefork pool: children have their own connections and loops."""
    one.start(FAULTS_USED_BEFORE="1", number=3)
    jobs = [one.submit("quick") for _ in range(12)]
    one.ended(*jobs)
    early = next(job for job in one.rows() if job not in jobs)
    one.ended(early)
    assert {one.rows()[job].run_no for job in [*jobs, early]} == {1}
    check(one, [*jobs, early])


def test_c43_the_result_backend_is_away(one: Crew) -> None:
    """C-43: the truth is in our store alone; a backend that does not answer delays nothing."""
    one.celery = "result_backend=redis://127.0.0.1:1/0 task_track_started=True"
    one.start()
    begun = time.monotonic()
    jobs = [one.submit("quick") for _ in range(6)]
    one.ended(*jobs)
    assert time.monotonic() - begun < 15
    check(one, jobs)


def test_c45_the_hard_limit(one: Crew) -> None:
    """C-45: a body that sleeps, refuses, or blocks in C is over soon after its limit, counted once, and the pool is whole."""
    worker = one.start(number=3)
    sleeps, refuses, blocks = (one.submit(task, timeout=1) for task in ("once_long", "stubborn", "computing"))
    one.ended(sleeps, refuses, status="failed", timeout=30)
    one.ended(blocks, timeout=40)
    assert [(one.rows()[job].attempt, starts(one, job)) for job in (sleeps, refuses)] == [(1, 1)] * 2
    assert starts(one, blocks) == one.rows()[blocks].run_no == 2
    until("the pool is whole", lambda: len(children_of(worker.pid)) == 3)
    after = [one.submit("quick", seconds=1) for _ in range(9)]
    one.ended(*after)
    check(one, after)


@pytest.mark.parametrize("pool", ["prefork", "threads"])
def test_c46_a_worker_whose_connection_is_reset_three_times_goes_on(
    broker: str,  # noqa: F811
    sqlite_url: str,
    tmp_path: Path,
    pool: str,
) -> None:
    """C-46: within three seconds; afterwards jobs run, or the row of the worker says that they do not."""
    with proxy_of(broker) as proxy, crew(sqlite_url, proxy.address(broker), tmp_path) as one:
        one.start(pool=pool)
        jobs = [one.submit("quick", seconds=0.2) for _ in range(20)]
        one.begun(jobs[0])
        for _ in range(3):
            proxy.cut()
            jobs.append(one.submit("quick"))
            time.sleep(1)
        one.ended(*jobs, timeout=30)
        assert {one.rows()[job].run_no for job in jobs} == {1}
        check(one, jobs)
