"""Why a pending job does not run: each reason, the same in a list, on the job's page and in the terminal."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import update

from jobtrail import JobTrail
from jobtrail.cli import main
from jobtrail.database import tables
from jobtrail.job.model import new_id
from jobtrail.store import queues, workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

QUEUE = "mail"


@pytest.fixture
def jobs(url: str) -> Iterator[JobTrail]:
    with closing(JobTrail(url, migrate=True, plugins=[])) as app:

        @app.task(queue=QUEUE, retry=3)
        def send() -> None: ...

        yield app


@pytest.fixture
def put(jobs: JobTrail) -> Callable[..., None]:
    """Change the row of a job."""

    def change(job_id: str, **values: Any) -> None:
        table = tables.jobs
        jobs.store.write(lambda conn: conn.execute(update(table).where(table.c.id == job_id).values(**values)))

    return change


def begin_worker(jobs: JobTrail, slots: int) -> str:
    worker = new_id()
    store = jobs.store
    store.write(lambda conn: workers.register(conn, store.dialect, worker, [QUEUE, "other"], slots, store.now()))
    return worker


def send(jobs: JobTrail) -> str:
    return jobs.task_named("send").enqueue().id


def reasons(jobs: JobTrail, job_id: str) -> tuple[str | None, str, str | None]:
    """The code, the words and what helps; the list and the page agree."""
    whole = jobs.queries.job(job_id)
    listed = {line.id: line.waiting for line in jobs.queries.jobs().jobs}
    assert whole.why_waiting is not None
    assert listed[job_id] == whole.waiting == whole.why_waiting.code
    return whole.why_waiting.code, whole.why_waiting.words, whole.why_waiting.helps


def test_no_worker(jobs: JobTrail) -> None:
    job = send(jobs)
    code, words, helps = reasons(jobs, job)
    assert (code, helps) == ("no-worker", "start_worker")
    assert words == "is due; no living worker takes jobs from the queue mail"


def test_a_paused_queue_is_named_with_who_paused_it_and_when(jobs: JobTrail) -> None:
    job, store = send(jobs), jobs.store
    begin_worker(jobs, 2)
    paused = {"paused": True, "actor": "person:ada", "reason": None}
    store.write(lambda conn: queues.set_paused(conn, store.dialect, QUEUE, store.now(), **paused))
    code, words, helps = reasons(jobs, job)
    assert (code, helps) == ("paused", "resume_queue")
    assert "the queue mail was paused by person:ada at 20" in words


def test_a_suspect_runs_alone_although_slots_are_free(jobs: JobTrail, put: Callable[..., None]) -> None:
    job, other = send(jobs), send(jobs)
    worker = begin_worker(jobs, 40)
    put(job, suspect=True)
    assert reasons(jobs, job)[:2] == (
        "alone", "is due; its worker died while it ran, so it runs alone in the next worker that looks for it",
    )  # fmt: skip
    put(other, suspect=True, status="running", worker=worker, started_at=jobs.store.now())
    found = jobs.queries.job(job).why_waiting
    assert found is not None
    assert (found.job, found.words.endswith("waits for another such job to end")) == (other, True)


def test_all_slots_taken_and_a_free_one(jobs: JobTrail, put: Callable[..., None]) -> None:
    job, running = send(jobs), [send(jobs) for _ in range(2)]
    worker = begin_worker(jobs, 2)
    assert reasons(jobs, job)[0] == "next"
    put(running[0], status="running", worker=worker, started_at=jobs.store.now() - timedelta(hours=1))
    assert reasons(jobs, job)[0] == "next"
    put(running[1], status="cancelling", worker=worker, started_at=jobs.store.now(), queue="other")
    code, words, _ = reasons(jobs, job)
    assert code == "busy", "slots are the worker's, whatever queue took them"
    assert "all 2 slots for the queue mail are taken, the oldest run began at" in words


def test_a_later_time_a_retry_and_a_task_that_nobody_knows(jobs: JobTrail, put: Callable[..., None]) -> None:
    job = jobs.task_named("send").using(delay=3600).enqueue().id
    assert reasons(jobs, job)[::2] == ("later", "run_now")
    put(job, attempt=1)
    code, words, _ = reasons(jobs, job)
    assert (code, words.startswith("attempt 2 starts at")) == ("retry", True)
    put(job, attempt=0, put_backs=2)
    code, words, helps = reasons(jobs, job)
    assert (code, helps) == ("unknown-task", "start_worker")
    assert "knows the task send (2 tries)" in words


def test_a_job_behind_another_names_it(jobs: JobTrail, put: Callable[..., None]) -> None:
    first, then = send(jobs), send(jobs)
    put(then, waits_for=first, run_at=None)
    found = jobs.queries.job(then).why_waiting
    assert found is not None
    assert (found.code, found.job) == ("behind", first)


def test_a_job_that_is_not_pending_waits_for_nothing(jobs: JobTrail, put: Callable[..., None]) -> None:
    job = send(jobs)
    put(job, status="completed")
    assert jobs.queries.job(job).why_waiting is None
    assert jobs.queries.jobs().jobs[0].waiting is None


def test_the_terminal_says_it_in_the_readers_language(
    jobs: JobTrail, url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = send(jobs)
    assert main(["--database", url, "show", job]) == 0
    assert "no living worker takes jobs from the queue mail" in " ".join(capsys.readouterr().out.split())
    monkeypatch.setenv("JOBTRAIL_LANG", "ru")
    assert main(["--database", url, "show", job]) == 0
    assert "не берёт задания из очереди mail" in " ".join(capsys.readouterr().out.split())
