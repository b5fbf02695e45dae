"""What Prometheus reads: the store as it stands, the runs of this process, and nothing that holds a scrape up."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request
from datetime import timedelta
from types import SimpleNamespace

import pytest
from prometheus_client.parser import text_string_to_metric_families
from trails import QUICK, until

from jobtrail import Context, JobTrail, Partial, PermanentError, RetryableError, Snooze, UsageError
from jobtrail.errors import StoreUnavailable
from jobtrail.queries.monitoring import statistics
from jobtrail.store.retention import Retention, run_once
from jobtrail.testing import MovableClock, drain
from jobtrail.worker.middleware import outcome_word


def told(metrics) -> dict:
    """Every sample by its name and the values of its labels, in the order of the labels' names."""
    return {
        (one.name, *(value for _, value in sorted(one.labels.items()))): one.value
        for family in text_string_to_metric_families(metrics.text())
        for one in family.samples
    }


def counts(metrics) -> dict:
    """How many runs were measured, by task and outcome."""
    return {
        (task, outcome): value
        for (name, *labels), value in told(metrics).items()
        if name == "jobtrail_run_seconds_count"
        for outcome, _, task in [labels]
    }


@pytest.fixture
def solo(sqlite_url):
    """An application for what has nothing to do with the kind of its database."""
    made = JobTrail(sqlite_url, **QUICK)
    yield made
    made.close()


# -- runs of this process ------------------------------------------------------------------------------


def test_a_run_is_measured_by_its_outcome(solo):
    metrics = solo.metrics()

    @solo.task
    def fine():
        return 1

    @solo.task
    async def bad():
        raise PermanentError("no")

    @solo.task
    def some(ctx: Context):
        for item in ctx.items([1, 2]):
            with item:
                assert item.value == 1

    @solo.task
    def part():
        return Partial(None, "half")

    @solo.task
    def later():
        return Snooze(3600)

    @solo.task(retry={"attempts": 2})
    def again(ctx: Context):
        ctx.request_retry(3600)

    for task in (fine, fine, bad, some, part, later, again):
        task.enqueue()
    drain(solo)
    assert counts(metrics) == {
        ("fine", "success"): 2,
        ("bad", "error"): 1,
        ("some", "partial"): 1,
        ("part", "partial"): 1,
        ("later", "snoozed"): 1,
        ("again", "retry"): 1,
    }


def test_a_timeout_is_a_stop(solo):
    metrics = solo.metrics()

    @solo.task(timeout=0.05)
    async def endless():
        import asyncio

        await asyncio.sleep(60)

    endless.enqueue()
    drain(solo)
    assert counts(metrics) == {("endless", "stopped"): 1}


def test_waiting_counts_from_when_a_job_was_due(make_jobs):
    clock = MovableClock()
    jobs = make_jobs(clock=clock)
    metrics = jobs.metrics()
    task = jobs.task(lambda: None, name="task")
    task.using(delay=60).enqueue()
    clock.move(seconds=150)
    drain(jobs)
    found = told(metrics)
    assert found["jobtrail_wait_seconds_sum", "default", "task"] == pytest.approx(90, abs=0.001)
    assert found["jobtrail_wait_seconds_count", "default", "task"] == 1


def test_a_body_in_a_process_is_measured_too(solo):
    import process_tasks

    metrics = solo.metrics()
    solo.tasks.add(process_tasks.app.tasks.get("no_context"))
    solo.task_named("no_context").enqueue(2)
    drain(solo)
    assert counts(metrics) == {("no_context", "success"): 1}


def test_an_inner_middleware_that_answers_or_refuses_is_seen(solo):
    async def refuses(run, call_next):
        raise PermanentError("not today")

    async def answers(run, call_next):
        return 5

    metrics = solo.metrics()
    solo.task(middleware=[refuses], name="one")(lambda: None).enqueue()
    solo.task(middleware=[answers], name="two")(lambda: None).enqueue()
    drain(solo)
    assert counts(metrics) == {("one", "error"): 1, ("two", "success"): 1}


def test_two_applications_know_nothing_of_each_other(solo, sqlite_url):
    one, two = solo, JobTrail(sqlite_url)
    assert one.metrics() is one.metrics()
    assert one.metrics().registry is not two.metrics().registry
    one.task(lambda: None, name="task").enqueue()
    drain(one)
    assert counts(one.metrics()) != {}
    assert counts(two.metrics()) == {}
    assert len(one.middleware) == 1
    two.close()


def test_a_word_for_what_no_policy_knows():
    run = SimpleNamespace(body_value=None)
    assert outcome_word(run, KeyboardInterrupt()) == "error"
    assert outcome_word(run, RetryableError("x")) == "error"


# -- the store -----------------------------------------------------------------------------------------


def test_the_store_is_told_as_it_stands(jobs):
    metrics = jobs.metrics()

    @jobs.task
    def bad():
        raise PermanentError("no")

    bad.enqueue()
    drain(jobs)
    bad.using(queue="big", delay=3600).enqueue()
    bad.using(queue="big").enqueue()
    metrics.count_ends()
    found = told(metrics)
    assert found["jobtrail_up",] == 1
    assert found["jobtrail_jobs", "pending"] == 2
    assert found["jobtrail_jobs", "failed"] == 1
    assert found["jobtrail_jobs", "running"] == 0
    assert found["jobtrail_waiting_jobs", "big", "now"] == 1
    assert found["jobtrail_waiting_jobs", "big", "later"] == 1
    assert 0 <= found["jobtrail_oldest_due_seconds", "big"] < 60
    assert found["jobtrail_jobs_ended_total", "failed", "bad"] == 1
    assert 0 <= found["jobtrail_jobs_ended_age_seconds",] < 60


def test_what_a_worker_holds_is_told_with_the_worker(jobs):
    metrics, seen = jobs.metrics(), {}

    @jobs.task
    def looks():
        seen.update(told(metrics))

    looks.enqueue()
    drain(jobs, beat="thread", slots=3)
    assert seen["jobtrail_running_jobs", "default", "running", "looks"] == 1
    assert seen["jobtrail_jobs", "running"] == 1
    assert seen["jobtrail_workers", "alive"] == 1
    (slots,) = [value for key, value in seen.items() if key[0] == "jobtrail_worker_slots"]
    (age,) = [value for key, value in seen.items() if key[0] == "jobtrail_worker_beat_age_seconds"]
    assert slots == 3
    assert 0 <= age < 15


def test_ends_never_go_down(jobs):
    metrics = jobs.metrics()

    @jobs.task
    def bad():
        raise PermanentError("no")

    job = bad.enqueue()
    drain(jobs)
    looks = []
    for step in (lambda: None, lambda: job.refresh().retry(), lambda: drain(jobs), lambda: prune(jobs)):
        step()
        metrics.count_ends()
        looks.append(told(metrics)["jobtrail_jobs_ended_total", "failed", "bad"])
    assert looks == [1, 1, 2, 2]
    assert jobs.find() == []


def prune(jobs):
    return run_once(jobs.store, Retention(0, 0, 0, 0), jobs.store.now() + timedelta(seconds=5))


def test_a_store_that_is_away_leaves_the_rest_readable(solo, monkeypatch, caplog):
    metrics = solo.metrics()
    solo.task(lambda: None, name="task").enqueue()
    drain(solo)

    def away():
        raise StoreUnavailable("the disk is gone")

    monkeypatch.setattr(solo.service, "make_readable", away)
    found = told(metrics)
    assert found["jobtrail_up",] == 0
    assert counts(metrics) == {("task", "success"): 1}
    assert not any(name.startswith("jobtrail_jobs") for name, *_ in found)
    assert "the disk is gone" in caplog.text


def test_a_scrape_does_not_wait_for_the_ends_to_be_counted(solo, monkeypatch):
    metrics = solo.metrics()
    begun, go, calls = threading.Event(), threading.Event(), []

    def slow(conn):
        calls.append(conn)
        begun.set()
        assert go.wait(15)
        return {("task", "completed"): 7}

    monkeypatch.setattr(statistics, "ends", slow)
    key = ("jobtrail_jobs_ended_total", "completed", "task")
    try:
        assert key not in told(metrics)
        assert begun.wait(15)
        assert key not in told(metrics)
        assert len(calls) == 1, "a second count began beside the first"
    finally:
        go.set()
    until("the count is told", lambda: told(metrics).get(key) == 7)
    assert told(metrics)[key] == 7
    assert len(calls) == 1, "after a long count comes a long rest"


def test_a_count_that_fails_is_told_in_the_log_and_made_again(solo, monkeypatch, caplog):
    metrics, real = solo.metrics(), statistics.ends

    def away(conn):
        raise StoreUnavailable("gone")

    monkeypatch.setattr(statistics, "ends", away)
    told(metrics)
    until("the log tells it", lambda: "cannot be counted" in caplog.text)
    monkeypatch.setattr(statistics, "ends", real)
    until("it is counted again", lambda: ("jobtrail_jobs_ended_age_seconds",) in told(metrics))


# -- served --------------------------------------------------------------------------------------------


@pytest.fixture
def served(solo):
    server = solo.metrics().serve(0)
    yield server
    server.shutdown()
    server.server_close()


def fetch(port, **headers):
    with urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}/metrics", headers=headers)) as answer:
        return answer.read().decode()


def test_it_is_served_on_this_machine_alone(served):
    assert served.server_address[0] == "127.0.0.1"
    assert "jobtrail_up 1.0" in fetch(served.server_port)
    assert "jobtrail_up 1.0" in fetch(served.server_port, Host=f"localhost:{served.server_port}")


def test_a_name_from_elsewhere_is_refused(served):
    with pytest.raises(urllib.error.HTTPError) as refused:
        fetch(served.server_port, Host="rebound.example")
    assert refused.value.code == 403


def test_a_port_that_is_taken_is_said(served, solo):
    with pytest.raises(UsageError, match=f"127.0.0.1:{served.server_port}: Address already in use"):
        solo.metrics().serve(served.server_port)


def test_the_registry_may_be_served_by_others(solo):
    from prometheus_client import make_wsgi_app

    body = b"".join(
        make_wsgi_app(solo.metrics().registry)({"REQUEST_METHOD": "GET", "PATH_INFO": "/"}, lambda *_: None)
    )
    assert b"jobtrail_up" in body
