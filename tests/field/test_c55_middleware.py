"""C-55: the work succeeded, the hook after it raised; middleware is an onion and decides nothing after the body."""

from __future__ import annotations

import asyncio
import time

import pytest
from trails import event

from jobtrail import InvalidOption
from jobtrail.testing import drain

AGAIN = {"attempts": 2, "wait": {"kind": "fixed", "seconds": 0}}


def noting(calls, name):
    async def middleware(run, call_next):
        calls.append(f"{name} before")
        try:
            return await call_next(run)
        finally:
            calls.append(f"{name} after")

    return middleware


def test_c55_order_is_an_onion_application_outside_task_inside(make_jobs):
    """C-55: composed once, in order; an after-part runs for every before-part that ran."""
    calls = []
    jobs = make_jobs(middleware=[noting(calls, "a"), noting(calls, "b")])

    @jobs.task(middleware=[noting(calls, "own")])
    def load(n):
        calls.append("body")
        return n

    @jobs.task
    async def aload():
        calls.append("abody")

    load.enqueue(1)
    drain(jobs)
    assert calls == ["a before", "b before", "own before", "body", "own after", "b after", "a after"]
    calls.clear()
    aload.enqueue()
    drain(jobs)
    assert calls == ["a before", "b before", "abody", "b after", "a after"]


@pytest.mark.parametrize("error", [ValueError("hook"), SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError()])
@pytest.mark.parametrize("is_async", [False, True])
def test_c55_an_error_after_the_body_is_noted_and_the_body_is_not_repeated(make_jobs, error, is_async):
    """C-55: after the body has returned, no hook can make the job run again; the error stands beside the outcome."""
    bodies = []

    async def breaks_after(run, call_next):
        await call_next(run)
        raise error

    jobs = make_jobs(middleware=[breaks_after])
    if is_async:

        @jobs.task(retry=AGAIN)
        async def load():
            bodies.append(1)
            return "earned"
    else:

        @jobs.task(retry=AGAIN)
        def load():
            bodies.append(1)
            return "earned"

    job = load.enqueue()
    drain(jobs, delayed=True)
    assert bodies == [1]
    assert job.result() == "earned"
    assert (job.status, job.outcome) == ("completed", "success")
    assert "middleware raised" in job.note


def test_c55_a_hook_that_hangs_after_the_body_has_a_limit(make_jobs):
    """C-55: hangs for 60 s; it has its own limit, the outcome is stored."""
    bodies = []

    async def hangs(run, call_next):
        value = await call_next(run)
        await asyncio.sleep(60)
        return value

    jobs = make_jobs(middleware=[hangs], hook_timeout=0.2)

    @jobs.task(retry=AGAIN)
    def load():
        bodies.append(1)
        return "earned"

    job = load.enqueue()
    began = time.monotonic()
    drain(jobs)
    assert time.monotonic() - began < 5
    assert (job.result(), bodies) == ("earned", [1])
    assert job.note


def test_c55_an_error_before_the_body_is_a_failed_attempt_without_the_body(make_jobs):
    """C-55: before-hook errors count as failed attempts; the outer after-parts run."""
    calls, bodies = [], []

    async def breaks_before(run, call_next):
        if run.claim.attempt == 1:
            raise OSError("no licence")
        return await call_next(run)

    jobs = make_jobs(middleware=[noting(calls, "outer"), breaks_before])

    @jobs.task(retry=AGAIN)
    def load(ctx):
        bodies.append(ctx.attempt)
        return "ok"

    job = load.enqueue()
    drain(jobs, delayed=True)
    assert bodies == [2]
    assert job.result() == "ok"
    assert event(job, "retry_planned").reason == "OSError: no licence"
    assert calls == ["outer before", "outer after"] * 2


def test_c55_the_bodys_error_stands_whatever_a_middleware_makes_of_it(make_jobs):
    """C-55: one that swallows the body's exception, one that raises another over it."""

    async def swallows(run, call_next):
        try:
            return await call_next(run)
        except ValueError:
            return "all is well"

    async def replaces(run, call_next):
        try:
            return await call_next(run)
        except ValueError as error:
            raise KeyError("other") from error

    for middleware in (swallows, replaces):
        jobs = make_jobs(middleware=[middleware])

        @jobs.task
        def load():
            raise ValueError("the body's")

        job = load.enqueue()
        drain(jobs)
        assert (job.refresh().status, job.error["message"]) == ("failed", "the body's")


def test_c55_the_bodys_value_stands_and_a_middleware_may_answer_in_its_place(make_jobs):
    """C-55: a changed result does not count once the body has returned; without a body the answer is the result."""

    async def changes(run, call_next):
        if run.arguments["cached"]:
            return "from the cache"
        await call_next(run)
        return "changed"

    bodies = []
    jobs = make_jobs(middleware=[changes])

    @jobs.task
    def load(cached):
        bodies.append(1)
        return "body"

    own, cached = load.enqueue(False), load.enqueue(True)
    drain(jobs)
    assert (own.result(), cached.result(), bodies) == ("body", "from the cache", [1])


@pytest.mark.parametrize("how", ["success", "second", "failure", "cancel", "timeout"])
def test_c55_each_end_calls_the_after_part_once(make_jobs, how):
    """C-55: first-try success, success after a retry, final failure, cancel, time-out."""
    ends = []

    async def watch(run, call_next):
        try:
            value = await call_next(run)
        except BaseException as error:
            ends.append(type(error).__name__)
            raise
        ends.append("returned")
        return value

    jobs = make_jobs(middleware=[watch])

    @jobs.task(retry=AGAIN if how == "second" else 1, timeout=0.2 if how == "timeout" else None)
    async def load(ctx):
        if how == "failure" or (how == "second" and ctx.attempt == 1):
            raise ValueError
        if how == "cancel":
            await asyncio.to_thread(job.cancel)
        if how in {"cancel", "timeout"}:
            await asyncio.sleep(20)

    job = load.enqueue()
    drain(jobs, delayed=True)
    expected = {
        "success": (["returned"], "completed"),
        "second": (["ValueError", "returned"], "completed"),
        "failure": (["ValueError"], "failed"),
        "cancel": (["CancelledError"], "cancelled"),
        "timeout": (["CancelledError"], "failed"),
    }
    assert (ends, job.refresh().status) == expected[how]


def test_c55_on_cleanup_runs_after_every_end_and_its_error_is_noted(make_jobs):
    """C-55: clean-up functions run however the body ended; an error there repeats nothing."""
    jobs, cleaned = make_jobs(), []

    @jobs.task
    def load(ctx, how):
        ctx.on_cleanup(lambda: cleaned.append(how))
        ctx.on_cleanup(lambda: 1 / 0)
        if how == "raise":
            raise ValueError
        return how

    good, bad = load.enqueue("return"), load.enqueue("raise")
    drain(jobs)
    assert sorted(cleaned) == ["raise", "return"]
    assert good.result() == "return"
    assert "ZeroDivisionError" in good.note
    assert bad.refresh().status == "failed"


def test_c55_a_middleware_declares_the_task_options_it_reads(make_jobs):
    """A misspelt option fails when the task is registered; a declared one reaches the middleware."""
    seen = []

    async def limited(run, call_next):
        seen.append(run.task.options.get("tenant_limit"))
        return await call_next(run)

    limited.options = ("tenant_limit",)
    jobs = make_jobs(middleware=[limited])

    @jobs.task(tenant_limit=3)
    def load():
        pass

    load.enqueue()
    drain(jobs)
    assert seen == [3]
    with pytest.raises(InvalidOption, match="tenant_limt"):
        jobs.task(tenant_limt=3)(lambda: None)
