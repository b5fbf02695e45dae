"""Items, batches and steps: each outcome recorded, nothing done twice, and mistakes told in a sentence."""

from __future__ import annotations

import threading

import pytest
from trails import until

from jobtrail import Context, InvalidOption, RetryableError, Snooze, Status
from jobtrail.commands.job_fields import stored_row
from jobtrail.testing import drain


def counts(job):
    found = job.item_counts(generation=True)
    return found["ok"], found["failed"], found["skipped"]


# -- items ---------------------------------------------------------------------------------------------


def test_each_item_has_its_outcome_reason_and_place_and_drives_the_progress(jobs):
    @jobs.task
    def load(ctx: Context):
        for item in ctx.items([10, 20, 30, 40], key=lambda v: f"row {v}"):
            with item as value:
                if value == 20:
                    raise ValueError("20 is odd")
                if value == 30:
                    item.skip("not ours")
                if value == 40:
                    item.fail("no price")

    job = load.enqueue()
    drain(jobs)
    assert (job.refresh().status, job.note) == ("partial", "2 of 4 items failed")
    assert [(i.key, i.outcome, i.reason, i.error_type) for i in job.items()] == [
        ("row 10", "ok", None, None),
        ("row 20", "failed", "20 is odd", "ValueError"),
        ("row 30", "skipped", "not ours", None),
        ("row 40", "failed", "no price", None),
    ]
    assert [i.key for i in job.items("failed")] == ["row 20", "row 40"]
    assert (job.items_ok, job.items_failed, job.items_skipped) == (1, 2, 1)
    assert (job.progress()["done"], job.progress()["total"], job.progress()["percent"]) == (4, 4, 100.0)


def test_items_in_an_async_body(jobs):
    @jobs.task
    async def load(ctx):
        for item in ctx.items(range(5)):
            with item:
                if item.value == 2:
                    raise ValueError("two")

    job = load.enqueue()
    drain(jobs)
    assert job.refresh().status == "partial"
    assert counts(job) == (4, 1, 0)


def fails_with(jobs, body, words):
    job = jobs.task(body).enqueue()
    drain(jobs)
    assert job.refresh().status == "failed"
    for word in words:
        assert word in job.error["message"]
    return job


def test_an_item_that_is_not_entered_is_an_error_that_says_so(jobs):
    def load(ctx: Context):
        for item in ctx.items(["a", "b"]):
            _ = item.value

    fails_with(jobs, load, ["'a'", "was not entered", "with item"])


def test_the_last_item_not_entered_is_an_error_too(jobs):
    def load(ctx: Context):
        for item in ctx.items(["a", "b"]):
            if item.value == "a":
                with item:
                    pass

    fails_with(jobs, load, ["'b'", "was not entered"])


def test_continue_before_entering_is_an_error(jobs):
    def load(ctx: Context):
        for item in ctx.items(["a", "b"]):
            if item.value == "a":
                continue
            with item:
                pass

    fails_with(jobs, load, ["'a'", "was not entered"])


def test_a_batch_that_is_not_entered_is_an_error(jobs):
    def load(ctx: Context):
        for _batch in ctx.batches(["a", "b"], 2):
            pass

    fails_with(jobs, load, ["was not entered", "with batch"])


def test_a_doubled_key_is_an_error_that_names_it(jobs):
    def load(ctx: Context):
        for item in ctx.items([("k", 1), ("k", 2)], key=lambda pair: pair[0]):
            with item:
                pass

    fails_with(jobs, load, ["'k'", "key of its own"])


def test_two_loops_without_a_name_are_an_error(jobs):
    def load(ctx: Context):
        for item in ctx.items([1]):
            with item:
                pass
        for item in ctx.items([2]):
            with item:
                pass

    fails_with(jobs, load, ["'items'", "name="])


def test_two_loops_with_names_keep_apart(jobs):
    @jobs.task
    def load(ctx: Context):
        for item in ctx.items([1, 2]):
            with item:
                pass
        for item in ctx.items([1, 2], name="again"):
            with item:
                if item.value == 2:
                    raise ValueError("x")

    job = load.enqueue()
    drain(jobs)
    assert counts(job) == (3, 1, 0)
    assert job.refresh().status == "partial"


@pytest.mark.parametrize("key", [None, 1.5, object(), ["a"], True])
def test_a_key_of_a_type_that_cannot_be_kept_is_an_error(jobs, key):
    def load(ctx: Context):
        for item in ctx.items(["a"], key=lambda _: key):
            with item:
                pass

    fails_with(jobs, load, ["key"])


def test_break_leaves_the_rest_unreached_and_the_job_partial(jobs):
    @jobs.task
    def load(ctx: Context):
        for item in ctx.items(range(10)):
            with item:
                pass
            if item.value == 3:
                break

    job = load.enqueue()
    drain(jobs)
    assert (job.refresh().status, counts(job)) == ("partial", (4, 0, 0))
    assert "left early after 4 items" in job.note


def test_break_inside_the_block_records_the_item(jobs):
    @jobs.task
    def load(ctx: Context):
        for item in ctx.items(range(10)):
            with item:
                break

    job = load.enqueue()
    drain(jobs)
    assert (job.refresh().status, counts(job)) == ("partial", (1, 0, 0))


def test_stop_makes_leaving_early_a_success_and_tells_the_reason(jobs):
    @jobs.task
    def load(ctx: Context):
        for item in ctx.items(range(10)):
            with item:
                pass
            if item.value == 3:
                ctx.stop("the day is over")
                break

    job = load.enqueue()
    drain(jobs)
    assert (job.refresh().status, counts(job)) == ("completed", (4, 0, 0))
    assert "the day is over" in job.note


def test_retry_passes_through_with_item_and_the_item_stays_open(jobs):
    @jobs.task(retry={"attempts": 3, "wait": {"kind": "fixed", "seconds": 0}})
    def load(ctx: Context):
        for item in ctx.items(["a", "b", "c"]):
            with item:
                worked.append(item.value)
                if item.value == "b" and ctx.attempt == 1:
                    ctx.request_retry(reason="later")
                if item.value == "c" and ctx.attempt == 2:
                    raise RetryableError("busy", delay=0)

    worked = []
    job = load.enqueue()
    drain(jobs, delayed=True)
    assert worked == ["a", "b", "b", "c", "c"]
    assert (job.refresh().status, counts(job)) == ("completed", (3, 0, 0))


def test_an_error_outside_of_the_items_blocks_fails_the_attempt_and_the_next_goes_on(jobs):
    @jobs.task(retry={"attempts": 2, "wait": {"kind": "fixed", "seconds": 0}})
    def load(ctx: Context):
        for item in ctx.items(["a", "b", "c"]):
            with item:
                worked.append(item.value)
            if item.value == "b" and ctx.attempt == 1:
                raise OSError("between")

    worked = []
    job = load.enqueue()
    drain(jobs, delayed=True)
    assert worked == ["a", "b", "c"]
    assert job.refresh().status == "completed"


def test_durable_items_are_in_the_store_before_the_body_goes_on(make_jobs):
    jobs = make_jobs(flush_interval=60.0)

    @jobs.task
    def load(ctx: Context):
        for item in ctx.items(["a", "b"], durable=True):
            seen.append(counts(job))
            with item:
                pass
        seen.append(counts(job))

    seen = []
    job = load.enqueue()
    drain(jobs)
    assert seen == [(0, 0, 0), (1, 0, 0), (2, 0, 0)]


def test_other_items_are_in_the_store_soon(jobs):
    @jobs.task
    def load(ctx: Context):
        for item in ctx.items(["a", "b"]):
            with item:
                pass
            if item.value == "a":
                go.wait(20)

    go = threading.Event()
    job = load.enqueue()
    worker = threading.Thread(target=drain, args=(jobs,))
    worker.start()
    try:
        until("the first item is recorded while the body still runs", lambda: counts(job) == (1, 0, 0), timeout=5)
    finally:
        go.set()
        worker.join(20)


@pytest.mark.parametrize(("limit", "worked"), [(2, 3), (0, 1), (0.25, 26), (1.0, 100)])
def test_max_failed_items_as_number_and_share_stops_the_body_and_fails_the_job(jobs, limit, worked):
    @jobs.task(max_failed_items=limit, retry=5)
    def load(ctx: Context):
        for item in ctx.items(range(100)):
            with item:
                tried.append(item.value)
                raise ValueError("bad")

    tried = []
    job = load.enqueue()
    drain(jobs)
    assert len(tried) == worked
    assert (job.refresh().status, job.attempt) == ("failed", 1)
    if worked < 100:
        assert "max_failed_items" in job.error["message"]
        assert str(limit) in job.error["message"]
    assert job.items_failed == worked


@pytest.mark.parametrize("bad", [-1, 1.5, "3", True, float("nan"), 0.0])
def test_a_bad_max_failed_items_is_refused(jobs, bad):
    with pytest.raises(InvalidOption, match="max_failed_items"):
        jobs.task(max_failed_items=bad)(lambda: None)


# -- batches -------------------------------------------------------------------------------------------


def test_a_batch_is_recorded_as_a_whole_and_after_an_error_runs_again_one_by_one(jobs):
    @jobs.task
    def load(ctx: Context):
        for batch in ctx.batches(range(10), 4):
            with batch as rows:
                given.append(list(rows))
                if 5 in rows:
                    raise ValueError("5 is bad")
                saved.extend(rows)

    given, saved = [], []
    job = load.enqueue()
    drain(jobs)
    assert given == [[0, 1, 2, 3], [4, 5, 6, 7], [4], [5], [6], [7], [8, 9]]
    assert saved == [0, 1, 2, 3, 4, 6, 7, 8, 9]
    assert counts(job) == (9, 1, 0)
    assert [(i.key, i.reason) for i in job.items("failed")] == [("5", "5 is bad")]
    assert job.progress()["done"] == 10


def test_batches_skip_what_is_done_and_stay_full(jobs):
    @jobs.task
    def load(ctx: Context, bad=(3,)):
        for batch in ctx.batches(range(8), 4):
            with batch as rows:
                given.append(list(rows))
                if not lenient and 3 in rows:
                    raise ValueError("3")

    given, lenient = [], []
    job = load.enqueue()
    drain(jobs)
    given.clear()
    lenient.append(True)
    again = job.rerun("failed_items")
    drain(jobs)
    assert given == [[3]]
    assert (again.refresh().status, counts(again)) == ("completed", (8, 0, 0))


@pytest.mark.parametrize("size", [0, -1, 2.5, True, "4"])
def test_a_bad_batch_size_is_an_error(jobs, size):
    def load(ctx: Context):
        for batch in ctx.batches([1], size):
            with batch:
                pass

    fails_with(jobs, load, ["size of a batch"])


def test_durable_batches(make_jobs):
    jobs = make_jobs(flush_interval=60.0)

    @jobs.task
    def load(ctx: Context):
        for batch in ctx.batches(range(4), 2, durable=True):
            seen.append(counts(job))
            with batch:
                pass

    seen = []
    job = load.enqueue()
    drain(jobs)
    assert seen == [(0, 0, 0), (2, 0, 0)]


# -- steps ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_async", [False, True])
def test_a_steps_result_is_kept_and_the_next_attempt_does_not_repeat_it(jobs, is_async):
    def download(airport, *, days):
        called.append((airport, days))
        return {"rows": [1, 2, days]}

    async def adownload(airport, *, days):
        return download(airport, days=days)

    policy = {"attempts": 3, "wait": {"kind": "fixed", "seconds": 0}}
    if is_async:

        @jobs.task(retry=policy)
        async def load(ctx):
            found = await ctx.step("download", adownload, "EWR", days=3)
            other = await ctx.step("download", download, "JFK", days=3)
            if ctx.attempt < 3:
                raise ValueError("later")
            return [found, other]
    else:

        @jobs.task(retry=policy)
        def load(ctx):
            found = ctx.step("download", download, "EWR", days=3)
            other = ctx.step("download", download, "JFK", days=3)
            if ctx.attempt < 3:
                raise ValueError("later")
            return [found, other]

    called = []
    job = load.enqueue()
    drain(jobs, delayed=True)
    assert job.result() == [{"rows": [1, 2, 3]}] * 2
    assert called == [("EWR", 3), ("JFK", 3)]


def test_a_step_that_raised_is_repeated(jobs):
    @jobs.task(retry={"attempts": 2, "wait": {"kind": "fixed", "seconds": 0}})
    def load(ctx: Context):
        return ctx.step("flaky", flaky)

    def flaky():
        called.append(1)
        if len(called) == 1:
            raise OSError("once")
        return "ok"

    called = []
    job = load.enqueue()
    drain(jobs, delayed=True)
    assert (job.result(), len(called)) == ("ok", 2)


def test_a_steps_result_that_is_not_json_is_an_error_with_the_path(jobs):
    def load(ctx: Context):
        ctx.step("download", lambda: {"rows": [{"price": 1}, {"price": {1, 2}}]})

    job = fails_with(jobs, load, ["'download'", "$.rows[1].price"])
    assert job.error["type"].endswith("StepError")


def test_a_step_whose_arguments_cannot_be_compared_is_an_error(jobs):
    def load(ctx: Context):
        ctx.step("download", lambda _: 1, object())

    fails_with(jobs, load, ["'download'", "object"])


def test_a_first_run_and_a_later_run_get_the_same_value_of_a_step(jobs):
    @jobs.task(retry={"attempts": 2, "wait": {"kind": "fixed", "seconds": 0}})
    def load(ctx: Context):
        seen.append(ctx.step("pair", lambda: (1, (2, 3))))
        if ctx.attempt == 1:
            raise ValueError

    seen = []
    load.enqueue()
    drain(jobs, delayed=True)
    assert seen[0] == seen[1]
    assert type(seen[0]) is type(seen[1])


@pytest.mark.parametrize("leaves", ["ask", "snooze", "raise"])
def test_a_run_that_gives_failed_items_again_goes_on_giving_them_each_once(make_jobs, leaves):
    """Also when it asked, snoozed or failed in between; and what the job recorded in all its runs is counted."""
    jobs, given, broken = make_jobs(), [], {"a", "b", "c", "d"}

    @jobs.task(retry={"attempts": 2, "wait": {"kind": "fixed", "seconds": 0}})
    def load(ctx: Context):
        left = False
        for item in ctx.items(["a", "b", "c", "d", "ok"], durable=True):
            with item:
                given.append(item.value)
                if item.value in broken:
                    raise LookupError(item.value)
            if ctx.job_id != first.id and item.value == "b" and ctx.run_no == 1:
                left = True
                break
        if left and leaves == "ask":
            ctx.ask("go on", "Go on?", bool)
        if left and leaves == "snooze":
            return Snooze(0)
        if left:
            raise ValueError
        return None

    bound = load.using(source="s", period="2013-02")
    first = bound.enqueue()
    drain(jobs)
    assert first.item_counts() == {"ok": 1, "failed": 4, "skipped": 0}
    given.clear()
    broken -= {"b", "c", "d"}
    again = first.rerun("failed_items")
    drain(jobs)
    if leaves == "ask":
        again.answer(True)
    drain(jobs, delayed=True)
    assert given == ["a", "b", "c", "d"], "each failed one once"
    row = stored_row(again.refresh())
    assert (row.status, row.items_ok, row.items_failed) == (Status.PARTIAL, 3, 1)
    given.clear()
    again.retry()
    drain(jobs)
    assert given == ["a"], "a retry is a new order"
