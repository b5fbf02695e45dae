"""Attempts: retried with number, reason and next time to be seen; errors that are instructions; limits of time."""

from __future__ import annotations

import asyncio
import threading
import time
from datetime import timedelta

import pytest
from trails import event, names

from jobtrail import Context, InvalidOption, JobFailed, Partial, PermanentError, Retry, RetryableError, Snooze
from jobtrail.commands.job_fields import stored_row
from jobtrail.testing import MovableClock, drain


@pytest.fixture
def clock():
    return MovableClock()


@pytest.fixture
def jobs(make_jobs, clock):
    return make_jobs(clock=clock)


def test_a_failed_attempt_is_retried_with_number_reason_and_next_time_in_row_and_trail(jobs, clock):
    @jobs.task(retry=Retry(attempts=3, wait=60))
    def load(ctx: Context):
        seen.append((ctx.attempt, ctx.max_attempts))
        if ctx.attempt < 3:
            raise ConnectionError("the line is down")
        return "loaded"

    seen = []
    job = load.enqueue()
    drain(jobs)
    row = stored_row(job.refresh())
    assert (row.status, row.attempt, row.max_attempts) == ("pending", 1, 3)
    assert row.run_at == clock.now() + timedelta(seconds=60)
    assert row.retry_reason == "ConnectionError: the line is down"
    assert job.error["message"] == "the line is down"
    line = event(job, "retry_planned")
    assert line.reason == "ConnectionError: the line is down"
    assert line.detail["attempt"] == 1
    assert line.detail["run_at"] == row.run_at.isoformat()

    drain(jobs)
    assert seen == [(1, 3)], "it ran before its time"
    clock.move(seconds=61)
    drain(jobs)
    clock.move(seconds=61)
    drain(jobs)
    assert seen == [(1, 3), (2, 3), (3, 3)]
    assert job.result() == "loaded"
    assert (job.status, job.attempt, job.outcome) == ("completed", 3, "success")
    assert job.error is None
    assert names(job) == ["retry_planned", "retry_planned"]


def test_the_last_attempt_fails_the_job(jobs, clock):
    @jobs.task(retry=Retry(attempts=2, wait=1))
    def load():
        raise ValueError("never")

    job = load.enqueue()
    drain(jobs)
    clock.move(seconds=2)
    drain(jobs)
    row = stored_row(job.refresh())
    assert (row.status, row.outcome, row.attempt, row.run_no) == ("failed", "error", 2, 2)
    assert row.finished_at == clock.now()
    with pytest.raises(JobFailed, match="never"):
        job.result()


def test_no_retry_unless_one_is_asked_for(jobs):
    @jobs.task
    def load():
        raise ValueError("once")

    job = load.enqueue()
    drain(jobs)
    assert job.refresh().run_no == 1
    assert job.status == "failed"


def test_permanent_error_is_not_retried(jobs):
    @jobs.task(retry=5)
    def load():
        raise PermanentError("no such airport")

    job = load.enqueue()
    drain(jobs)
    assert (job.refresh().status, job.attempt) == ("failed", 1)


@pytest.mark.parametrize(
    ("policy", "error", "again"),
    [
        (Retry(attempts=3, on=(OSError,)), ValueError("x"), False),
        (Retry(attempts=3, on=(OSError,)), ConnectionError("x"), True),
        (Retry(attempts=3, never=(KeyError,)), KeyError("x"), False),
    ],
)
def test_the_policy_says_which_errors_are_retried(jobs, policy, error, again):
    @jobs.task(retry=policy)
    def load():
        raise error

    job = load.enqueue()
    drain(jobs)
    assert (job.refresh().status == "pending") is again


def test_retryable_error_names_its_own_delay(jobs, clock):
    @jobs.task(retry=Retry(attempts=3, wait=1000))
    def load():
        raise RetryableError("slow down", delay=30)

    job = load.enqueue()
    drain(jobs)
    assert job.refresh().run_at == clock.now() + timedelta(seconds=30)
    assert "slow down" in job.retry_reason


@pytest.mark.parametrize("is_async", [False, True])
def test_request_retry_passes_except_exception_and_counts_as_an_attempt(jobs, clock, is_async):
    if is_async:

        @jobs.task(retry=2)
        async def load(ctx):
            try:
                ctx.request_retry(after=45, reason="not published yet")
            except Exception:
                return "swallowed"
    else:

        @jobs.task(retry=2)
        def load(ctx):
            try:
                ctx.request_retry(after=45, reason="not published yet")
            except Exception:
                return "swallowed"

    job = load.enqueue()
    drain(jobs)
    assert (job.refresh().status, job.attempt, job.retry_reason) == ("pending", 1, "not published yet")
    assert job.run_at == clock.now() + timedelta(seconds=45)
    clock.move(seconds=46)
    drain(jobs)
    assert (job.refresh().status, job.attempt) == ("failed", 2)
    assert "not published yet" in job.error["message"]


def test_snooze_runs_again_later_and_is_not_charged(jobs, clock):
    @jobs.task
    def poll(ctx: Context):
        return Snooze(600, "no data yet") if ctx.run_no < 4 else "there"

    job = poll.enqueue()
    for _ in range(3):
        drain(jobs)
        assert (job.refresh().status, job.attempt) == ("pending", 0)
        assert job.run_at == clock.now() + timedelta(seconds=600)
        clock.move(seconds=601)
    drain(jobs)
    assert job.result() == "there"
    assert (job.run_no, job.attempt) == (4, 1)
    assert names(job) == ["snoozed"] * 3
    assert event(job, "snoozed").reason == "no data yet"


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), -5, "soon", None, 10**400])
def test_a_snooze_of_nonsense_never_loses_the_job(jobs, clock, seconds):
    @jobs.task
    def poll(ctx: Context):
        return Snooze(seconds) if ctx.run_no == 1 else "there"

    job = poll.enqueue()
    drain(jobs)
    row = stored_row(job.refresh())
    assert row.status in {"completed", "pending", "failed"}
    if row.status == "pending":
        assert row.run_at >= clock.now()
        assert row.run_at <= clock.now() + timedelta(days=3660)


def test_partial_by_return_value(jobs):
    @jobs.task
    def load():
        return Partial({"rows": 3}, "the source had half a day")

    job = load.enqueue()
    drain(jobs)
    assert job.result() == {"rows": 3}
    assert (job.status, job.outcome, job.note) == ("partial", "partial", "the source had half a day")
    assert event(job, "finished").to_status == "partial"


def test_a_partial_job_is_retried_where_the_policy_says_so(jobs, clock):
    @jobs.task(retry=Retry(attempts=2, wait=5, on_partial=True))
    def load(ctx: Context):
        for item in ctx.items(["a", "b", "c"]):
            with item:
                worked.append((ctx.attempt, item.value))
                if item.value == "b" and ctx.attempt == 1:
                    raise ValueError("b is bad")

    worked = []
    job = load.enqueue()
    drain(jobs)
    assert job.refresh().status == "pending"
    assert "1 of 3 items failed" in job.retry_reason
    clock.move(seconds=6)
    drain(jobs)
    assert worked == [(1, "a"), (1, "b"), (1, "c"), (2, "b")]
    assert job.refresh().status == "completed"
    assert job.item_counts() == {"ok": 3, "failed": 0, "skipped": 0}


def test_retry_of_this_one_job(jobs):
    @jobs.task(retry=5)
    def load():
        raise ValueError("x")

    never, often = load.using(retry=1).enqueue(), load.using(retry=Retry(attempts=9, wait=7)).enqueue()
    drain(jobs)
    assert (never.refresh().status, never.max_attempts) == ("failed", 1)
    assert (often.refresh().status, often.max_attempts) == ("pending", 9)


@pytest.mark.parametrize("bad", [0, -1, True, "3", 2.5, float("nan")])
def test_a_bad_number_of_attempts_is_refused_by_name_at_registration_and_at_submission(jobs, bad):
    with pytest.raises(InvalidOption, match="attempts"):
        jobs.task(retry=bad)(lambda: None)

    @jobs.task
    def load():
        pass

    with pytest.raises(InvalidOption, match="attempts"):
        load.using(retry=bad).enqueue()
    assert jobs.find() == []


# -- limits of time ------------------------------------------------------------------------------------


def test_an_async_body_over_its_limit_is_stopped_and_the_error_names_the_limit(make_jobs):
    jobs = make_jobs()

    @jobs.task(timeout=0.1)
    async def load():
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            stopped.append(time.monotonic())
            raise

    stopped = []
    job = load.enqueue()
    drain(jobs)
    assert stopped
    assert (job.refresh().status, job.outcome) == ("failed", "error")
    assert "timed out after 0.1 s" in job.error["message"]
    assert event(job, "stop_requested").detail["cause"] == "timeout"


def test_a_timed_out_attempt_is_retried(make_jobs):
    jobs = make_jobs()

    @jobs.task(timeout=0.1, retry=Retry(attempts=2, wait=0))
    async def load(ctx):
        if ctx.attempt == 1:
            await asyncio.sleep(30)
        return ctx.attempt

    job = load.enqueue()
    drain(jobs, delayed=True)
    assert job.result(timeout=5) == 2
    assert job.stop_cause is None
    assert "timeout" in job.retry_reason


def test_a_plain_body_over_its_limit_leaves_at_its_next_sign(make_jobs):
    jobs = make_jobs()

    @jobs.task(timeout=0.1)
    def load(ctx: Context):
        ctx.on_cancel(told.set)
        for _ in range(2000):
            time.sleep(0.005)
            ctx.check_cancelled()
        return "not stopped"

    told = threading.Event()
    job = load.enqueue()
    drain(jobs)
    assert job.refresh().status == "failed"
    assert "timed out after 0.1 s" in job.error["message"]
    assert told.is_set()


def test_a_body_that_finished_first_counts_although_its_limit_had_passed(make_jobs):
    jobs = make_jobs()

    @jobs.task(timeout=0.05)
    def load():
        time.sleep(0.3)
        return "done all the same"

    job = load.enqueue()
    drain(jobs)
    assert job.result() == "done all the same"
    assert job.status == "completed"
    assert "stop_requested" in names(job)


@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), "3", True])
def test_a_bad_timeout_is_refused(jobs, bad):
    with pytest.raises(InvalidOption, match="timeout"):
        jobs.task(timeout=bad)(lambda: None)
