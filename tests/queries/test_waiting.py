"""Why a pending job does not run: each reason, the same in a list, on the job's page and in the terminal."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import update

from jobtrail import JobTrail, Limit
from jobtrail.cli import main
from jobtrail.database import leases, tables
from jobtrail.executors.base import HandingOver
from jobtrail.job.model import new_id
from jobtrail.store import queues, workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from jobtrail.executors.base import Ticket

QUEUE = "mail"


class Elsewhere(HandingOver):
    """Another system, which runs nothing."""

    name = "elsewhere"

    def send(self, tickets: Sequence[Ticket]) -> list[Ticket]:
        return list(tickets)

    def depth(self, queue: str) -> int:
        raise NotImplementedError


@pytest.fixture
def jobs(url: str) -> Iterator[JobTrail]:
    with closing(JobTrail(url, migrate=True, plugins=[], executors=[Elsewhere()])) as app:

        @app.task(queue=QUEUE, retry=3)
        def send() -> None: ...

        @app.task(queue=QUEUE, limits=[Limit("server:{to}", running=1), Limit("{to}", rate=2, per=60)])
        def send_limited(to: str) -> None: ...

        @app.task(queue=QUEUE, retry=3, executor="elsewhere")
        def send_elsewhere() -> None: ...

        yield app


@pytest.fixture
def put(jobs: JobTrail) -> Callable[..., None]:
    """Change the row of a job."""

    def change(job_id: str, **values: Any) -> None:
        table = tables.jobs
        jobs.store.write(lambda conn: conn.execute(update(table).where(table.c.id == job_id).values(**values)))

    return change


def begin_worker(jobs: JobTrail, slots: int, *, executor: str | None = None) -> str:
    worker, store = new_id(), jobs.store
    served = [] if executor else [QUEUE, "other"]
    store.write(
        lambda conn: workers.register(conn, store.dialect, worker, served, slots, store.now(), executor=executor)
    )
    return worker


def send(jobs: JobTrail, task: str = "send") -> str:
    return jobs.task_named(task).enqueue().id


def lead(jobs: JobTrail, worker: str, seconds: float) -> None:
    """Hold the lease of the process that hands jobs over."""
    store, now = jobs.store, jobs.store.now()
    until = now + timedelta(seconds=seconds)
    store.write(lambda conn: leases.take(conn, store.dialect, ["relay:elsewhere"], worker, now, until))


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


def test_a_limit_is_named_with_its_key_and_what_runs_or_when_the_next_may_start(
    jobs: JobTrail, put: Callable[..., None]
) -> None:
    first, job = (jobs.task_named("send_limited").enqueue(to="acme").id for _ in range(2))
    assert reasons(jobs, job)[0] == "no-worker", "that comes first"
    worker, store = begin_worker(jobs, 4), jobs.store
    assert reasons(jobs, job)[0] == "next"
    put(first, status="running", worker=worker, started_at=store.now())
    code, words, helps = reasons(jobs, job)
    assert (code, helps) == ("limit", "change_limit")
    assert words == "is due; the limit server:{to} lets 1 with the key server:acme run at once, and 1 run"
    put(first, status="completed")
    row = ("{to}", "acme", f"[[{int(store.now().timestamp() * 1_000_000)}, 2]]", store.now())
    store.write(lambda conn: store.dialect.insert_many(conn, tables.limit_starts, ("name", "key", "used", "at"), [row]))
    found = jobs.queries.job(job).why_waiting
    assert found is not None
    assert (found.code, found.limit, found.until and found.until > store.now()) == ("limit", "{to}", True)
    assert "the limit {to} lets 2 with the key acme start in 60 s, the next one at 20" in found.words


def test_a_job_behind_another_names_it(jobs: JobTrail, put: Callable[..., None]) -> None:
    first, then = send(jobs), send(jobs)
    put(then, waits_for=first, run_at=None)
    found = jobs.queries.job(then).why_waiting
    assert found is not None
    assert (found.code, found.job) == ("behind", first)


def test_a_job_that_is_to_be_handed_over_tells_since_when_and_whether_anybody_does(jobs: JobTrail) -> None:
    job = send(jobs, "send_elsewhere")
    code, words, helps = reasons(jobs, job)
    assert (code, helps) == ("no-relay", "start_worker")
    assert words.endswith("; no living worker or process of elsewhere hands it over")
    worker = begin_worker(jobs, 0)
    lead(jobs, worker, 60)
    code, words, helps = reasons(jobs, job)
    assert (code, helps) == ("not-handed", None), "a worker of ours hands over too, and serves the queue or not"
    assert "not handed over to elsewhere since 20" in words
    lead(jobs, worker, -1)
    assert reasons(jobs, job)[0] == "no-relay"


def test_a_job_that_was_handed_over_tells_when_and_whether_anybody_could_begin_it(
    jobs: JobTrail, put: Callable[..., None]
) -> None:
    job, at = send(jobs, "send_elsewhere"), jobs.store.now()
    put(job, handed_run=0, handed_at=at)
    begin_worker(jobs, 4)
    begin_worker(jobs, 0, executor="elsewhere")
    code, words, _ = reasons(jobs, job)
    assert code == "no-host", "our worker takes none, and a process without slots only leads"
    assert words.endswith("not begun; no living process of elsewhere runs jobs")
    begin_worker(jobs, 1, executor="elsewhere")
    code, words, _ = reasons(jobs, job)
    assert code == "handed"
    assert words.startswith("handed over to elsewhere at 20")
    (line,) = jobs.queries.jobs().jobs
    assert (line.executor, line.handed_over) == ("elsewhere", at)


def test_a_job_that_is_handed_over_waits_for_pauses_times_and_others_as_any(
    jobs: JobTrail, put: Callable[..., None]
) -> None:
    job, store = send(jobs, "send_elsewhere"), jobs.store
    paused = {"paused": True, "actor": "person:ada", "reason": None}
    store.write(lambda conn: queues.set_paused(conn, store.dialect, QUEUE, store.now(), **paused))
    assert reasons(jobs, job)[0] == "paused"
    put(job, run_at=store.now() + timedelta(hours=1))
    assert reasons(jobs, job)[::2] == ("later", "run_now")
    put(job, attempt=1, run_no=1, handed_run=0, handed_at=store.now())
    assert reasons(jobs, job)[0] == "retry"
    put(job, run_at=store.now())
    paused["paused"] = False
    store.write(lambda conn: queues.set_paused(conn, store.dialect, QUEUE, store.now(), **paused))
    assert reasons(jobs, job)[0] == "no-relay", "the ticket of the run before says nothing of the next one"


def test_a_queue_of_handed_over_jobs_is_served_by_processes_of_the_executor(jobs: JobTrail) -> None:
    send(jobs, "send_elsewhere")
    begin_worker(jobs, 4)
    (mail,) = (one for one in jobs.queries.queues().queues if one.name == QUEUE)
    assert (mail.due, mail.workers, mail.slots, mail.executors) == (1, 1, 4, ["elsewhere"])
    (need,) = jobs.queries.attention().needs
    assert (need.kind, need.queue, need.count) == ("no_worker", QUEUE, 1)
    assert need.text == "no living process of elsewhere runs jobs"
    begin_worker(jobs, 2, executor="elsewhere")
    (mail,) = (one for one in jobs.queries.queues().queues if one.name == QUEUE)
    assert (mail.workers, mail.slots) == (2, 6)
    assert jobs.queries.attention().needs == []


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
    assert main(["--database", url, "show", send(jobs, "send_elsewhere")]) == 0
    assert "ни один исполнитель и ни один процесс elsewhere его не передаёт" in " ".join(capsys.readouterr().out.split())
