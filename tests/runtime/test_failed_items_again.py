"""`Retry(failed_items=True)`: failed items are tried again within the attempts, unless their error says that it cannot help."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from trails import event

from jobtrail import Context, PermanentError, Retry
from jobtrail.commands.job_fields import stored_row
from jobtrail.job.items import failed_again, failed_since, never_again
from jobtrail.testing import MovableClock, drain

POLICY = Retry(attempts=3, wait=0, never=KeyError, failed_items=True)


def loader(jobs, fails, policy=POLICY, batches=None):
    """A task over the items of ``fails``: by key the errors of its tries, one after the other; None is a success."""
    tries = Counter()

    def work(key):
        errors = fails[key]
        error = errors[min(tries[key], len(errors) - 1)]
        tries[key] += 1
        if error is not None:
            raise error

    @jobs.task(retry=policy)
    def load(ctx: Context):
        if batches:
            for batch in ctx.batches(fails, batches):
                with batch as keys:
                    for key in keys:
                        work(key)
        for item in () if batches else ctx.items(fails):
            with item as key:
                work(key)

    return load, tries


@pytest.mark.parametrize("batches", [None, 1])
def test_each_failed_item_is_tried_again_until_it_is_ok_or_cannot_be(jobs, batches):
    fails = {
        "ok": [None], "once": [ValueError("busy"), None], "always": [ValueError("bad")],
        "never": [KeyError("price")], "permanent": [PermanentError("gone")], "later": [ValueError("busy"), KeyError("x")],
    }  # fmt: skip
    load, tries = loader(jobs, fails, batches=batches)
    job = load.enqueue()
    drain(jobs)
    assert (job.refresh().status, job.attempt, job.note) == ("partial", 3, "4 of 6 items failed")
    assert tries == {"ok": 1, "once": 2, "always": 3, "never": 1, "permanent": 1, "later": 2}
    planned = [one for one in job.events() if one.name == "retry_planned"]
    assert [one.reason for one in planned] == [
        "5 of 6 items failed; 3 items are tried again", "4 of 6 items failed; 1 item is tried again",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("fails", "attempt", "status"),
    [
        ({"a": [ValueError(), None], "b": [ValueError(), None]}, 2, "completed"),
        ({"a": [ValueError()], "b": [ValueError()]}, 3, "failed"),
        ({"a": [PermanentError()], "b": [KeyError()]}, 1, "failed"),
        ({"a": [None], "b": [PermanentError()]}, 1, "partial"),
        ({"a": [None]}, 1, "completed"),
    ],
)
def test_the_attempts_that_it_takes(jobs, fails, attempt, status):
    load, _ = loader(jobs, fails)
    job = load.enqueue()
    drain(jobs)
    assert (job.refresh().status, job.attempt) == (status, attempt)


def test_without_it_failed_items_are_not_tried_again(jobs):
    load, tries = loader(jobs, {"a": [ValueError()], "b": [None]}, Retry(attempts=3, wait=0))
    job = load.enqueue()
    drain(jobs)
    assert (job.refresh().status, job.attempt, tries["a"]) == ("partial", 1, 1)


def test_the_delay_is_that_of_the_policy_and_a_person_s_retry_gives_all_that_failed(make_jobs):
    clock = MovableClock()
    jobs = make_jobs(clock=clock)
    load, tries = loader(jobs, {"a": [ValueError()], "b": [KeyError()]}, Retry(attempts=2, wait=60, never=KeyError, failed_items=True))
    job = load.enqueue()
    drain(jobs)
    assert job.refresh().status == "pending"
    assert (stored_row(job).run_at - clock.now()).total_seconds() == 60
    assert event(job, "retry_planned").reason == "all 2 items failed; 1 item is tried again"
    clock.move(seconds=61)
    drain(jobs)
    assert (job.refresh().status, tries["a"], tries["b"]) == ("failed", 2, 1)
    job.retry()
    drain(jobs)
    assert (tries["a"], tries["b"]) == (3, 2)


def test_items_side_by_side_are_tried_again_too(jobs):
    tries = Counter()

    @jobs.task(retry=POLICY)
    async def load(ctx):
        async def one(item):
            tries[item.value] += 1
            await asyncio.sleep(0)
            if item.value < 2:
                raise (KeyError if item.value else ValueError)

        await ctx.items(range(5)).run(one, parallel=3)

    load.enqueue()
    drain(jobs)
    assert tries == {0: 3, 1: 1, 2: 1, 3: 1, 4: 1}


def test_what_is_not_tried_again_is_kept_in_the_row_of_the_job():
    places = [("items", "a"), ("items", "b"), ("prices", "a")]
    said = failed_again(7, places[:2])
    assert (failed_since(said), never_again(said, places)) == (7, frozenset(places[:2]))
    assert (failed_again(7), never_again(failed_again(7), places), never_again(None, places)) == ("failed:7", frozenset(), frozenset())
