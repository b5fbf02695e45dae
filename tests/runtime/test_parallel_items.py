"""Items side by side: the records, limits and stops of the loop, in threads and in tasks."""

from __future__ import annotations

import asyncio
import logging
import threading
import time

import pytest

from jobtrail import Context, Retry, RetryableError
from jobtrail.errors import StopSignal
from jobtrail.testing import drain


class Together:
    """How many ran at the same time, and what began."""

    def __init__(self):
        self.begun, self.now, self.most = [], 0, 0

    def __enter__(self):
        self.now += 1
        self.most = max(self.most, self.now)

    def __exit__(self, *_):
        self.now -= 1


def of_kind(jobs, kind, work, values, parallel=3, **options):
    """A job whose items are worked on by ``work(ctx, item)``, in threads or in tasks."""

    @jobs.task(name="load", **options)
    def plain(ctx: Context):
        ctx.items(values() if callable(values) else values).run(lambda item: work(ctx, item), parallel=parallel)

    async def load(ctx):
        async def one(item):
            await asyncio.sleep(0)
            work(ctx, item)

        await ctx.items(values() if callable(values) else values).run(one, parallel=parallel)

    if kind == "tasks":
        plain = jobs.task(name="load_async", **options)(load)
    return plain.enqueue()


both = pytest.mark.parametrize("kind", ["threads", "tasks"])


def outcomes(job):
    return [(item.key, item.outcome) for item in job.items(limit=100)]


def test_plain_functions_run_side_by_side_and_never_more(jobs):
    together, gate = Together(), threading.Barrier(3)

    def work(_, item):
        together.begun.append(item.key)
        logging.getLogger("shop").warning("working on %s", item.key)
        with together:
            gate.wait(10)

    job = of_kind(jobs, "threads", work, list("abcdef"))
    drain(jobs)
    assert (job.refresh().status, together.most) == ("completed", 3)
    assert outcomes(job) == [(key, "ok") for key in "abcdef"]
    assert all(f"working on {key}" in job.log() for key in "abcdef"), "each thread writes to the log of the job"
    assert job.progress()["done"] == 6


def test_coroutines_run_side_by_side_and_never_more(jobs):
    together = Together()

    @jobs.task
    async def load(ctx):
        async def one(item):
            with together:
                await asyncio.sleep(0.02 if item.value % 2 else 0.01)

        await ctx.items(range(9)).run(one, parallel=4)

    job = load.enqueue()
    drain(jobs)
    assert (job.refresh().status, together.most) == ("completed", 4)
    assert [item.key for item in job.items()] == [str(n) for n in range(9)], "in the order of the input"


@both
def test_outcomes_are_those_of_the_block_of_a_loop(jobs, kind):
    def work(_, item):
        if item.value == "b":
            raise ValueError("no b")
        if item.value == "c":
            item.skip("not ours")
        if item.value == "d":
            item.fail("no price")

    job = of_kind(jobs, kind, work, "abcd")
    drain(jobs)
    assert (job.refresh().status, job.note) == ("partial", "2 of 4 items failed")
    assert [(i.outcome, i.reason, i.error_type) for i in job.items()] == [
        ("ok", None, None), ("failed", "no b", "ValueError"), ("skipped", "not ours", None), ("failed", "no price", None),
    ]  # fmt: skip
    again = job.rerun("failed_items")
    drain(jobs)
    assert [i.key for i in again.items()] == ["b", "d"]


@both
def test_a_retry_ends_the_run_and_what_is_done_is_not_done_again(jobs, kind):
    seen = []

    def work(ctx, item):
        seen.append(item.key)
        if item.value == "c" and ctx.attempt == 1:
            raise RetryableError("busy", delay=0)

    job = of_kind(jobs, kind, work, "abcdefgh", parallel=1, retry=Retry(attempts=2, wait=0))
    drain(jobs)
    assert (job.refresh().status, job.attempt) == ("completed", 2)
    assert "".join(seen) == "abc" + "cdefgh"


ENDS = {"stop": "completed", "limit": "failed", "input": "failed", "twice": "failed"}


@pytest.mark.parametrize(
    ("kind", "ends", "status"),
    [(kind, ends, ENDS[ends]) for kind in ("threads", "tasks") for ends in ENDS] + [("threads", "cancel", "cancelled")],
)
def test_no_other_item_begins_when_the_run_is_to_end(jobs, kind, ends, status):
    begun = []

    def work(ctx, item):
        begun.append(item.key)
        if item.key < "2" or (item.key > "2" and ends != "cancel"):
            return
        if ends == "stop":
            ctx.stop("enough")
        if ends == "cancel":
            if item.key == "2":
                jobs.get(ctx.job_id).cancel(actor="ann")
            deadline = time.monotonic() + 10
            while not ctx.cancelled and time.monotonic() < deadline:
                time.sleep(0.01)
            ctx.check_cancelled()
        if ends == "limit":
            raise ValueError("bad")

    def values():
        for number in range(50):
            if ends == "input" and number == 3:
                raise OSError("disk")
            yield 0 if ends == "twice" and number == 3 else number

    options = {"max_failed_items": 0} if ends == "limit" else {}
    job = of_kind(jobs, kind, work, values, parallel=2, **options)
    drain(jobs)
    assert job.refresh().status == status
    assert 2 <= len(begun) <= 4, begun
    done = {key for key, outcome in outcomes(job) if outcome == "ok"}
    assert {"0", "1"} <= done, "what was done stays"
    if ends == "input":
        said = "the input of the loop 'items' raised OSError after item 3"
        assert job.error["type"] == "OSError"
        assert said in job.error["traceback"]
        assert said in job.log()


def test_coroutines_are_cancelled_with_their_job_and_stay_open(jobs):
    ended = []

    @jobs.task
    async def load(ctx):
        async def one(item):
            if item.value == 0:
                return
            try:
                if item.value == 2:
                    await asyncio.to_thread(jobs.get(ctx.job_id).cancel, actor="ann")
                await asyncio.sleep(30)
            finally:
                ended.append(item.key)

        await ctx.items(range(10)).run(one, parallel=2)

    job = load.enqueue()
    drain(jobs)
    assert job.refresh().status == "cancelled"
    assert (sorted(ended), outcomes(job)) == (["1", "2"], [("0", "ok")])


@pytest.mark.parametrize(
    ("parallel", "words"), [(0, "from 1 to 1000; it is 0"), (True, "it is True"), ("8", "it is '8'")]
)
def test_a_number_that_cannot_be_is_refused(jobs, parallel, words):
    job = of_kind(jobs, "threads", lambda *_: None, "ab", parallel=parallel)
    drain(jobs)
    assert words in job.refresh().error["message"]


def test_a_plain_body_cannot_await_its_items(jobs):
    async def one(_):
        """Never called."""

    @jobs.task
    def load(ctx: Context):
        ctx.items("ab").run(one)

    job = load.enqueue()
    drain(jobs)
    assert "cannot await the items of the loop 'items'" in job.refresh().error["message"]


def test_a_stop_that_a_function_raises_is_raised_in_the_body(jobs):
    seen = []

    @jobs.task
    def load(ctx: Context):
        def one(_):
            raise StopSignal("cancel")

        try:
            ctx.items("ab").run(one, parallel=1)
        except StopSignal as error:
            seen.append(str(error))
            raise

    load.enqueue()
    drain(jobs)
    assert seen
