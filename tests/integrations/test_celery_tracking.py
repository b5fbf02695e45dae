"""Task runs of real Celery workers over a real Redis become jobs, and stay true when processes are killed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from brokers import redis_database
from celery import Celery, signals
from celery.exceptions import Reject, WorkerLostError
from celery_site import Site
from trails import until

from jobtrail import JobTrail, track_celery
from jobtrail.config import Settings
from jobtrail.errors import IllegalMove, InvalidOption, StoreUnavailable
from jobtrail.integrations.celery import journal
from jobtrail.integrations.celery.declaration import Selection
from jobtrail.integrations.celery.executing.checks import RUN_TASK
from jobtrail.integrations.celery.process import ProcessRecord
from jobtrail.integrations.celery.task_run import RunEnds, TaskRun
from jobtrail.integrations.celery.tracking import MARK
from jobtrail.job.items import Counts
from jobtrail.job.model import new_id
from jobtrail.job.outcome import Ledger, Returned

pytest.importorskip("redis")


@pytest.fixture
def site(redis_url: str, tmp_path: Path) -> Iterator[Site]:
    found = Site(redis_url, f"sqlite:///{tmp_path / 'jobs.db'}", tmp_path)
    try:
        yield found
    finally:
        found.close()


@pytest.fixture(scope="module")
def shared(redis_base: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site with one worker and one child, for the tests that end no process."""
    folder = tmp_path_factory.mktemp("shared")
    with redis_database(redis_base) as broker, contextlib.closing(Site(broker, f"sqlite:///{folder / 'jobs.db'}", folder)) as found:
        found.worker(concurrency=1)
        yield found


def said(site: Site, job) -> str:
    """Type, message and traceback of a job's failure."""
    found = site.jobs.queries.job(job.id).failure
    return f"{found.type}: {found.message}\n{found.traceback}" if found else ""


@pytest.mark.parametrize("pool", ["prefork", pytest.param("threads", marks=pytest.mark.long), pytest.param("solo", marks=pytest.mark.long)])
def test_each_run_becomes_a_job_with_its_result_error_retries_items_and_family(request: pytest.FixtureRequest, pool):
    site = request.getfixturevalue("shared" if pool == "prefork" else "site")
    if pool != "prefork":
        site.worker(pool)
    before = {job.id for job in site.jobs.find("celery:*")}

    def made(text: str):
        return [job for job in site.jobs.find(text) if job.id not in before]

    sent = {name: site.send(*what) for name, what in {
        "add": ("add", 1), "load": ("load", "EWR", "2013-02-01"), "again": ("again", 2), "boom": ("boom",), "family": ("family",),
    }.items()}  # fmt: skip
    done = {name: site.ended(one) for name, one in sent.items()}

    assert (done["add"].status, done["add"].result(), done["add"].attempt) == ("completed", 3, 1)
    assert site.jobs.queries.job(done["add"].id).arguments == {"a": 1}
    assert done["load"].status == "partial"
    detail = site.jobs.queries.job(done["load"].id)
    assert (detail.kind, detail.source, detail.period) == ("parser", "EWR", "2013-02-01")
    assert (detail.items.ok, detail.items.failed) == (2, 1)
    assert "reading EWR" in done["load"].log()
    assert (done["again"].status, done["again"].attempt) == ("completed", 3)
    assert done["boom"].status == "failed"
    assert "bad row" in said(site, done["boom"])
    children = site.until(lambda: [job for job in made("task:add") if job.id != done["add"].id][1:], "both children")
    assert {site.jobs.queries.job(one.id).root for one in children} == {done["family"].id}
    assert len(made("celery:*")) == 7


@pytest.mark.long
def test_a_killed_child_a_hard_limit_and_a_killed_worker_end_their_jobs_with_the_cause(site: Site):
    worker = site.worker(concurrency=1)
    just_before = [site.send("add", number) for number in range(20)]  # the same child is killed right after them
    died, limited = site.send("die"), site.send("hard")
    first, second = site.ended(died), site.ended(limited)
    assert {site.ended(one).status for one in just_before} == {"completed"}
    assert (first.status, second.status) == ("failed", "failed")
    error = site.until(
        lambda: (found := said(site, first)) and "SIGKILL" in found and found, "the signal is known"
    )
    assert "WorkerLostError" in error
    assert "TimeLimitExceeded" in said(site, second)

    held = site.send("wait", "held")
    site.until(lambda: site.job(held), "it runs")
    os.killpg(worker.pid, signal.SIGKILL)
    worker.wait()
    site.worker()
    lost = site.ended(held)
    assert lost.status == "failed"
    assert "WorkerLostError" in said(site, lost)


def test_a_rerun_is_sent_by_the_worker_and_no_worker_of_jobtrail_takes_it(shared: Site):
    site = shared
    with pytest.raises(InvalidOption, match="celery:"):
        site.jobs.worker(queues=["celery:celery"])
    first = site.ended(site.send("add", 4, b=5))
    again = first.rerun("full")
    done = site.until(lambda: (job := site.jobs.get(again.id)).status == "completed" and job, "the re-run has ended")
    assert done.result() == 9
    assert site.jobs.queries.job(again.id).rerun_of == first.id
    with pytest.raises(IllegalMove, match="full only"):
        first.rerun("failed_items")

    moment = site.ended(str(site.client.send_task("anything", [datetime(2013, 2, 1, tzinfo=UTC)]).id))  # JSON for Celery alone
    large = site.ended(site.send("anything", "x" * 300_000))
    for job in (moment, large):
        assert job.status == "completed"
        with pytest.raises(IllegalMove, match="could not be stored"):
            job.rerun("full")

    failed = site.ended(site.send("boom"))
    failed.retry()
    site.until(lambda: (job := site.jobs.get(failed.id)).status == "failed" and job.attempt == 2, "it was tried again")


def test_a_cancel_reaches_the_body_and_excluded_and_sampled_tasks_leave_no_job(shared: Site):
    site = shared
    held = site.send("wait", "held")
    job = site.until(lambda: (found := site.job(held)) and found.status == "running" and found, "it runs")
    job.cancel()
    assert site.ended(held).status == "cancelled"
    quiet = [site.send("noise.tick"), site.send("often.ok")]
    assert site.ended(site.send("often.bad")).status == "failed"
    assert [site.job(one) for one in quiet] == [None, None]


@pytest.mark.long
def test_tasks_run_on_while_the_store_is_away_and_the_record_catches_up(site: Site):
    import sqlite3

    site.worker(concurrency=1)
    site.ended(site.send("add", 0))
    blocker = sqlite3.connect(site.folder / "jobs.db", isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    sent = [site.send("wait", f"w{number}", 0.01) for number in range(10)]
    site.until(lambda: all((site.folder / f"w{number}.begun").exists() for number in range(10)), "all ran")
    assert [site.job(one) for one in sent] == [None] * 10
    time.sleep(14)  # longer than a write waits for a lock
    blocker.execute("ROLLBACK")
    assert {site.ended(one, 40).status for one in sent} == {"completed"}


def test_what_the_store_did_not_take_is_written_once_it_is_back(tmp_path: Path, monkeypatch):
    url = f"sqlite:///{tmp_path / 'jobs.db'}"
    record = ProcessRecord(url, Settings(), 100)
    jobs = JobTrail(url)
    real, refused, away = record.store.write, [], [True]

    def write(operation, **options):
        if away and isinstance(operation, partial):
            refused.append(operation)
            raise StoreUnavailable("away")
        return real(operation, **options)

    monkeypatch.setattr(record.store, "write", write)
    run = TaskRun("some-id", new_id(), "add", "celery:celery", "{}", "{}", {})
    record.begins(run)
    record.ends(RunEnds(run, Returned("3")))
    try:
        end = time.monotonic() + 20
        while not refused and time.monotonic() < end:
            time.sleep(0.02)
        assert refused
        assert jobs.find("celery:some-id") == []
        away.clear()
        while not (found := jobs.find("celery:some-id")) and time.monotonic() < end:
            time.sleep(0.02)
        assert [job.result() for job in found] == [3]
    finally:
        record.stop()
        jobs.close()


def test_the_task_that_runs_our_own_jobs_is_not_recorded_a_second_time():
    assert Selection.of((), {}).excludes(RUN_TASK)
    assert not Selection.of((), {}).excludes("shop.run")


def test_a_main_process_that_calls_a_rejected_message_a_failure_changes_no_job(tmp_path: Path):
    """Celery 5.7 does, after the process of the task has said that it gave its message back."""
    url = f"sqlite:///{tmp_path / 'jobs.db'}"
    app = Celery("shop", broker="memory://", set_as_current=False)

    @app.task(name="load", shared=False)
    def task():
        """It does nothing."""

    track_celery(app, url)
    tracker = getattr(app, MARK)
    try:
        for name, error in (("rejected", Reject("not here", requeue=False)), ("lost", WorkerLostError("signal 9 (SIGKILL)"))):
            signals.task_failure.send(sender=task, task_id=name, exception=error, args=(), kwargs={})
        with contextlib.closing(JobTrail(url)) as jobs:
            until("the lost one is recorded", lambda: jobs.find("celery:lost"))
            assert [job.status for job in jobs.find("celery:*")] == ["failed"]
    finally:
        tracker.process.stop()


def test_the_journal_keeps_what_the_items_of_a_run_say():
    run = TaskRun("some-id", new_id(), "load", "celery:celery", "{}", "{}", {})
    counts = Counts(2, 1, 0)
    run.kept_ledger = Ledger(has_items=True, counts=counts, own=counts, never=frozenset({("items", "b"), ("items", "a")}))
    [read] = journal._reports([json.loads(journal._line(journal._plain(RunEnds(run, Returned("3")))))])
    assert read.run.ledger() == run.kept_ledger
