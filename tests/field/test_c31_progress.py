"""C-31: progress called for every row; nonsense; the last value; bounded writes."""

from __future__ import annotations

import threading
import time

import pytest
from sqlalchemy import event as sql_event
from trails import until

from jobtrail import Context
from jobtrail.testing import drain


def test_c31_a_hundred_thousand_calls_are_cheap_bounded_and_keep_the_last_value(jobs):
    """C-31: the call costs microseconds, the writes are bounded, the last value before the end is stored."""

    @jobs.task
    def load(ctx: Context):
        began = time.perf_counter()
        for n in range(1, 100_001):
            ctx.set_progress(done=n, total=100_000, message=f"row {n}")
        took.append(time.perf_counter() - began)

    took, writes = [], []
    job = load.enqueue()
    sql_event.listen(
        jobs.store.database.engine,
        "before_cursor_execute",
        lambda _c, _cur, statement, *_: writes.append(statement) if "progress" in statement.lower() else None,
    )
    drain(jobs)
    assert took[0] / 100_000 < 40e-6, f"{took[0] / 0.1:.1f} µs for one call"
    assert len(writes) <= 4 * took[0] + 3, f"{len(writes)} writes in {took[0]:.1f} s"
    progress = job.progress()
    assert (progress["percent"], progress["done"], progress["total"], progress["message"]) == (
        100.0, 100_000, 100_000, "row 100000",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("call", "percent", "done", "total"),
    [
        ({"percent": 150}, 100.0, None, None),
        ({"percent": -5}, 0.0, None, None),
        ({"percent": float("nan")}, None, None, None),
        ({"percent": float("inf")}, 100.0, None, None),
        ({"percent": "abc"}, None, None, None),
        ({"percent": object()}, None, None, None),
        ({"percent": 10**400}, None, None, None),
        ({"done": 3, "total": 0}, None, 3, 0),
        ({"done": 5, "total": 4}, 100.0, 5, 4),
        ({"done": -3, "total": 4}, 0.0, 0, 4),
        ({"done": "x", "total": None}, None, None, None),
        ({"done": 10**30, "total": 10**31}, 100.0, 2**31 - 1, 2**31 - 1),
        ({"percent": 5, "message": 17}, 5.0, None, None),
        ({"percent": 5, "metadata": {"a": {1, 2}}}, 5.0, None, None),
        ({"percent": 5, "metadata": {"a": "x" * 1_000_000}}, 5.0, None, None),
    ],
)
def test_c31_nonsense_is_clamped_or_shown_as_not_known_and_never_raises(jobs, call, percent, done, total):
    """C-31: 150 %, -5, NaN, "abc", n = 0 and others; raw counts are kept."""

    @jobs.task
    def load(ctx: Context):
        ctx.set_progress(**call)
        return "ok"

    job = load.enqueue()
    drain(jobs)
    assert job.result() == "ok"
    found = job.progress()
    assert (found["percent"], found["done"], found["total"]) == (percent, done, total)


def test_c31_values_that_cannot_be_printed_do_not_raise_into_the_job(jobs):
    """C-31: a message whose text raises, numbers that raise."""

    class Bad:
        def __str__(self):
            raise RuntimeError("no text")

        __repr__ = __str__

        def __float__(self):
            raise RuntimeError("no number")

        __int__ = __float__

    @jobs.task
    def load(ctx: Context):
        ctx.set_progress(Bad(), Bad(), Bad(), done=Bad(), total=Bad())
        ctx.heartbeat(Bad())
        ctx.set_progress(50, "\x00\ud800")
        return "ok"

    job = load.enqueue()
    drain(jobs)
    assert job.result() == "ok"
    assert job.progress()["percent"] == 50.0


def test_c31_progress_is_seen_while_the_body_runs_and_the_last_call_before_the_end_is_kept(jobs):
    """C-31: visible from other connections; a total that grows, a value that goes back."""

    @jobs.task
    def load(ctx: Context):
        ctx.set_progress(done=1, total=2, message="a")
        half.wait(10)
        ctx.set_progress(done=1, total=10, message="b")
        ctx.set_progress(7.5, "last")

    half = threading.Event()
    job = load.enqueue()
    worker = threading.Thread(target=drain, args=(jobs,))
    worker.start()
    try:
        until("half of it is seen", lambda: (job.progress() or {}).get("percent") == 50.0)
        assert job.refresh().status == "running"
        assert job.progress()["last_heartbeat_at"] is not None
    finally:
        half.set()
        worker.join(10)
    assert (job.progress()["percent"], job.progress()["message"]) == (7.5, "last")


def test_c31_a_heartbeat_is_kept_and_leaves_the_progress_as_it_was(jobs):
    """C-31: a sign of life without a number does not wipe out the numbers."""

    @jobs.task
    def load(ctx: Context):
        ctx.set_progress(done=3, total=4, message="three")
        ctx.heartbeat()

    job = load.enqueue()
    drain(jobs)
    found = job.progress()
    assert (found["percent"], found["done"], found["total"], found["message"]) == (75.0, 3, 4, "three")


def test_c31_five_jobs_at_once(jobs):
    """C-31: the writes stay bounded for several busy jobs together."""

    @jobs.task
    def load(ctx: Context, n):
        for i in range(5_000):
            ctx.set_progress(done=i + 1, total=5_000, message=str(n))

    made = [load.enqueue(n) for n in range(5)]
    drain(jobs)
    for n, job in enumerate(made):
        assert job.refresh().status == "completed"
        assert (job.progress()["done"], job.progress()["message"]) == (5_000, str(n))
