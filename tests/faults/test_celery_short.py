"""One Celery worker over Redis, and the faults that cost little; `test_celery_*` have them all on both brokers."""

from __future__ import annotations

import os
import shutil
import signal
from typing import TYPE_CHECKING

import pytest
from brokers import redis_database
from crew import Crew, check, crew
from fleet import until
from services import Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def one(_migrated_file: Path, redis_base: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crew]:
    """A worker with four children, for all tests of this file."""
    folder = tmp_path_factory.mktemp("crew")
    shutil.copy(_migrated_file, folder / "jobs.db")
    try:
        with redis_database(redis_base) as broker, crew(f"sqlite:///{folder}/jobs.db", broker, folder) as made:
            made.start(number=4)
            yield made
    except Unavailable as error:
        pytest.skip(str(error))


def starts(one: Crew, job: str) -> int:
    return sum(1 for line in one.diary("start") if line["job"] == job)


def test_jobs_of_all_kinds_run_once(one: Crew) -> None:
    jobs = [one.submit(task, seconds=0.1) for task in ("quick", "gentle", "cooperative") for _ in range(4)]
    one.ended(*jobs)
    assert {one.rows()[job].run_no for job in jobs} == {1}
    check(one, jobs)


def test_limits_cancels_and_a_revoked_message(one: Crew) -> None:
    limited, waits = one.submit("once_long", timeout=0.5), one.submit("gentle", timeout=0.5)
    deaf, revoked = one.submit("once_long"), one.submit("once_long")
    for job in (deaf, revoked):
        one.begun(job)
    one.jobs.get(deaf).cancel()
    one.client.control.revoke(f"{revoked}-1", terminate=True)
    one.ended(limited, waits, status="failed")
    one.ended(deaf, revoked, status="cancelled")
    assert "Soft time limit" not in one.processes[-1].said(), "the process ends its bodies itself"
    assert {starts(one, job) for job in (limited, waits, deaf, revoked)} == {1}


def test_a_child_is_killed_and_a_ticket_comes_twice(one: Crew) -> None:
    killed, twice = one.submit("once_long"), one.submit("cooperative", seconds=2)
    os.kill(one.begun(killed), signal.SIGKILL)
    one.begun(twice)
    one.client.send_task("jobtrail.run", (twice, 1))
    until("it is counted", lambda: one.events(twice))
    one.ended(killed, twice)
    assert (one.rows()[killed].run_no, one.rows()[twice].run_no) == (2, 1)
    check(one, [killed, twice])


def test_a_cold_end_hands_back(one: Crew) -> None:
    worker = one.processes[-1]
    jobs = [one.submit("once_long"), one.submit("gentle")]
    for job in jobs:
        one.begun(job)
    until("the main process knows", lambda: one.are_known(*jobs))
    worker.signal(signal.SIGQUIT)
    until("the worker has ended", lambda: worker.popen.poll() is not None)
    assert [(one.rows()[job].status, one.rows()[job].attempt) for job in jobs] == [("pending", 0)] * 2, one.told()
