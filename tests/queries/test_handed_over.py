"""What people see of a job that another system ran: its executor, the ids of each attempt, and who runs such jobs."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import update
from trails import until

from jobtrail import JobTrail
from jobtrail.cli import main
from jobtrail.database import tables
from jobtrail.executors.base import HandingOver

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobtrail.executors.base import Ticket
    from jobtrail.worker.handed.host import JobHost

WORKER = "celery@web-1"


class Elsewhere(HandingOver):
    """Another system, whose messages the tests bring."""

    name = "elsewhere"

    def send(self, tickets: Sequence[Ticket]) -> list[Ticket]:
        return list(tickets)

    def depth(self, queue: str) -> int:
        raise NotImplementedError


@pytest.fixture
def jobs(url: str) -> Iterator[JobTrail]:
    with closing(JobTrail(url, migrate=True, plugins=[], executor=Elsewhere(), poll_interval=0.1)) as app:

        @app.task(retry=2)
        def send(fails: bool = False) -> None:
            if fails:
                raise ValueError("no")

        yield app


@pytest.fixture
def host(jobs: JobTrail) -> Iterator[JobHost]:
    """One process of the other system."""
    found = jobs.host("elsewhere", slots=3, leads=False)
    found.start()
    until("the host is registered", lambda: jobs.queries.workers().living)
    yield found
    found.stop()


def bring(host: JobHost, job: str, token: int) -> bool:
    """Bring a ticket, as a message with an id of its own."""
    celery_id = f"{job}-{token}"
    return host.run(
        job, token, about={"celery_id": celery_id, "celery_worker": WORKER}, ids={"celery": celery_id}
    ).begun


def test_each_attempt_has_the_ids_of_its_message_and_counts_its_deliveries(
    jobs: JobTrail, host: JobHost, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    job = jobs.task_named("send").enqueue(fails=True).id
    assert bring(host, job, 1)
    jobs.store.write(lambda conn: conn.execute(update(tables.jobs).values(run_at=jobs.store.now())))
    assert bring(host, job, 2)
    assert not bring(host, job, 1)
    assert not bring(host, job, 2)
    assert not bring(host, job, 2)
    whole = jobs.queries.job(job)
    assert whole.executor == "elsewhere"
    first, second = whole.attempts
    assert (first.run_no, first.ids) == (1, {"celery_id": f"{job}-1", "celery_worker": WORKER})
    assert (second.run_no, second.ids["celery_id"]) == (2, f"{job}-2")
    assert (first.delivered_again, second.delivered_again) == (1, 2)
    assert [line.reason for line in whole.timeline if line.name == "begun_by"] == [
        f"{job}-1 {WORKER}", f"{job}-2 {WORKER}",
    ]  # fmt: skip
    assert main(["--database", url, "show", job]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "executor elsewhere" in shown
    assert f"{job}-2 {WORKER} 2" in shown
    assert main(["--database", url, "list"]) == 0
    assert "elsewhere" in capsys.readouterr().out
    assert main(["--database", url, "show", job, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["attempts"][1]["ids"]["celery_worker"] == WORKER


def test_a_job_is_found_by_the_id_of_its_message_before_and_after_it_begins(jobs: JobTrail, host: JobHost) -> None:
    job, other = (jobs.task_named("send").enqueue().id for _ in range(2))
    found = lambda text: [one.id for one in jobs.queries.jobs(text).jobs]
    assert found(f"celery:{job}-1") == [job], "a message that waits in the broker"
    assert bring(host, job, 1)
    for text in (f"celery:{job}-1", f"celery:{job}-*", f"label:celery={job}-1"):
        assert found(text) == [job]
    assert found(f"celery:{other[:8]}") == []
    assert found(f"-celery:{job}-1") == [other]


def test_a_job_that_was_sent_shows_when(jobs: JobTrail, url: str, capsys: pytest.CaptureFixture[str]) -> None:
    job, at = jobs.task_named("send").enqueue().id, jobs.store.now()
    jobs.store.write(lambda conn: conn.execute(update(tables.jobs).values(handed_at=at, handed_run=0)))
    assert jobs.queries.job(job).handed_over == at
    assert main(["--database", url, "show", job]) == 0
    assert f"handed over {at:%Y-%m-%d %H:%M:%S} UTC" in " ".join(capsys.readouterr().out.split())


def test_the_processes_of_the_executor_are_told_as_such(jobs: JobTrail, host: JobHost) -> None:
    (worker,) = jobs.queries.workers().workers
    assert (worker.executor, worker.queues, worker.slots) == ("elsewhere", [], 3)
    leader = jobs.host("elsewhere", slots=0)
    leader.start()
    try:
        until("the leader is registered", lambda: jobs.queries.workers().living == 2)
        assert jobs.queries.workers().slots == 3, "it runs no job"
    finally:
        leader.stop()
