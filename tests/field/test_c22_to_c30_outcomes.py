"""C-22, C-23, C-25, C-26, C-29, C-30: retries, values, earned progress, periods, items."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import textwrap
import uuid
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from trails import until

from jobtrail import AlreadyActive, InvalidArguments, InvalidOption, Retry
from jobtrail.commands.job_fields import stored_row
from jobtrail.job import transitions
from jobtrail.job.model import new_id
from jobtrail.job.retry import Exponential
from jobtrail.job.transitions import Subject
from jobtrail.store import jobs as store_jobs
from jobtrail.testing import MovableClock, drain

# -- C-22, C-23 ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [2, 5, 1e6])
@pytest.mark.parametrize("cap", [3600, None])
def test_c22_delays_never_fall_pass_the_cap_or_raise(factor, cap):
    """C-22: attempts 1 to 2,000; without a cap a sane limit applies."""
    policy = Retry(attempts=None, wait=Exponential(1.0, factor, jitter=False), max_delay=cap)
    delays = [policy.delay(attempt, None)[0] for attempt in range(1, 2001)]
    assert delays == sorted(delays)
    assert delays[0] == 1.0
    assert delays[-1] == (cap or 30 * 86_400)


def test_c22_a_job_at_its_thousandth_attempt_is_still_there(make_jobs):
    """C-22: the job is planned again, not lost, and not at once."""
    clock = MovableClock()
    jobs = make_jobs(clock=clock)

    @jobs.task(retry=Retry(attempts=2000, wait=Exponential(jitter=False)))
    def load():
        raise OSError("again")

    job = load.enqueue()
    jobs.store.write(lambda conn: conn.exec_driver_sql("UPDATE jobtrail_jobs SET attempt = 1500, run_no = 1500"))
    drain(jobs)
    row = stored_row(job.refresh())
    assert (row.status, row.attempt) == ("pending", 1501)
    assert (row.run_at - clock.now()).total_seconds() == 3600


@pytest.mark.parametrize(
    ("declared", "for_one", "executions"),
    [(1, None, 1), (2, None, 2), (4, None, 4), (None, None, 1), (3, 1, 1), (1, 3, 3), (3, Retry(attempts=2, wait=0), 2)],
)
def test_c23_the_number_of_executions_is_what_was_said(jobs, declared, for_one, executions):
    """C-23: attempts count executions everywhere; what is said for one job wins in both directions."""
    ran = []
    fast = None if declared is None else Retry(attempts=declared, wait=0)

    @jobs.task(retry=fast)
    def load(ctx):
        ran.append((ctx.attempt, ctx.max_attempts))
        raise ValueError("always")

    one = load if for_one is None else load.using(retry=for_one if isinstance(for_one, Retry) else Retry(attempts=for_one, wait=0))
    job = one.enqueue()
    assert job.max_attempts == executions
    drain(jobs, delayed=True)
    assert ran == [(n, executions) for n in range(1, executions + 1)]
    assert (job.refresh().status, job.attempt) == ("failed", executions)


def test_c23_no_limit_is_said_by_a_policy(make_jobs):
    """C-23: unlimited is possible and explicit; it shows as no number."""
    clock = MovableClock()
    jobs = make_jobs(clock=clock)

    @jobs.task(retry=Retry(attempts=None, wait=1))
    def load():
        raise ValueError

    job = load.enqueue()
    for _ in range(12):
        drain(jobs)
        clock.move(seconds=2)
    assert (job.refresh().status, job.attempt, job.max_attempts) == ("pending", 12, None)


@pytest.mark.parametrize("bad", [0, -1, "3", 2.5, True])
def test_c23_bad_numbers_are_refused_by_name(jobs, bad):
    """C-23: refused when registered, and when submitted, with the field's name."""
    with pytest.raises(InvalidOption, match="attempts"):
        Retry(attempts=bad)
    with pytest.raises(InvalidOption, match="retry"):
        jobs.task(retry=bad)(lambda: None)


# -- C-25 ----------------------------------------------------------------------------------------------


class Thing:
    pass


def itself():
    value = []
    value.append(value)
    return value


VALUES = {
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "minus inf": lambda: float("-inf"),
    "decimal": lambda: Decimal("1.10"),
    "aware": lambda: datetime(2026, 5, 1, tzinfo=UTC),
    "naive": lambda: datetime(2026, 5, 1),
    "uuid": lambda: uuid.UUID(int=5),
    "bytes": lambda: b"\xff",
    "set": lambda: {1},
    "int key": lambda: {1: "a"},
    "tuple key": lambda: {(1, 2): "a"},
    "large": lambda: 2**70,
    "itself": itself,
    "object": Thing,
    "nul": lambda: "a\x00b\ud800",
}


def strict(text):
    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize("name", VALUES)
def test_c25_a_result_that_is_not_json_is_stored_as_far_as_it_is_and_the_job_stays_completed(jobs, name):
    """C-25: the body runs once; what is stored is strict JSON; both databases alike."""
    ran = []

    @jobs.task(retry=3)
    def load(ctx):
        ran.append(1)
        ctx.set_progress(5, metadata={"value": VALUES[name]()})
        return {"a": [1, 2, 3, VALUES[name]()], "good": "kept"}

    job = load.enqueue()
    drain(jobs)
    assert (ran, job.refresh().status) == ([1], "completed")
    strict(stored_row(job).result)
    assert job.result()["good"] == "kept"
    assert job.result()["a"][:3] == [1, 2, 3]
    if name == "large":
        assert job.result()["a"][3] == 2**70
    if name in {"nan", "bytes", "set", "itself", "object"}:
        assert "$.a[3]" in job.note


@pytest.mark.parametrize("name", [name for name in VALUES if name not in {"large", "nul"}])
def test_c25_an_argument_that_does_not_come_back_is_refused_with_its_path(jobs, name):
    """C-25: refused at submission, before anything is queued."""

    @jobs.task
    def load(a):
        pass

    with pytest.raises(InvalidArguments) as error:
        load.enqueue({"b": [0, VALUES[name]()]})
    assert "$.a.b[1]" in str(error.value)
    assert jobs.find() == []


# -- C-26 ----------------------------------------------------------------------------------------------

CHILD = """
import os, signal, sys
from jobtrail import JobTrail
from jobtrail.testing import drain
jobs = JobTrail(sys.argv[1], flush_interval=0.02)
@jobs.task(retry=9)
def load(ctx):
    for item in ctx.items(range(100), durable=True):
        with item:
            if item.value == 40:
                os.kill(os.getpid(), signal.SIGKILL)
            with open(sys.argv[2], "a") as effects:
                effects.write(f"{item.value}\\n")
drain(jobs)
"""


def test_c26_an_attempt_that_dies_or_fails_early_loses_no_earned_item(jobs, url, tmp_path):
    """C-26: killed at item 40, failed before the first item, handed back while starting, then finished."""
    effects = tmp_path / "effects"

    @jobs.task(retry=9)
    def load(ctx):
        if ctx.run_no == 2:
            raise OSError("before the first item")
        for item in ctx.items(range(100)):
            with item, effects.open("a") as file:
                file.write(f"{item.value}\n")

    job = load.enqueue()
    child = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(CHILD), url, str(effects)], check=False, timeout=60
    )
    assert child.returncode == -signal.SIGKILL
    assert job.refresh().status == "running"
    assert job.item_counts()["ok"] == 40
    give_back(jobs, job)
    drain(jobs)  # fails before its first item
    assert (job.refresh().status, job.retry_reason) == ("pending", "OSError: before the first item")
    assert job.item_counts()["ok"] == 40
    job.run_now()
    jobs.store.write(lambda conn: store_jobs.claim(conn, jobs.store.dialect, "default", 1, new_id(), jobs.store.now()))
    give_back(jobs, job)  # interrupted while it was starting
    drain(jobs)
    assert (job.refresh().status, job.item_counts()) == ("completed", {"ok": 100, "failed": 0, "skipped": 0})
    done = [int(line) for line in effects.read_text().split()]
    assert done == list(range(100)), "an earned item was done again, or one was lost"


def give_back(jobs, job):
    """What recovery does with the job of a dead worker."""
    row = stored_row(job.refresh())
    now = jobs.store.now()
    move = transitions.handed_back(Subject.of(row), now, reason="its worker died", actor=transitions.UPKEEP)
    assert jobs.store.write(lambda conn: store_jobs.apply(conn, jobs.store.dialect, [move], now)) == []


# -- C-29 ----------------------------------------------------------------------------------------------


def test_c29_re_run_a_period_by_hand(jobs):
    """C-29, parts 1, 2, 3 and 5: only the failed items; refused while active, with the id; times never change."""
    worked, bad = [], {3, 7}

    @jobs.task
    def daily(ctx):
        for item in ctx.items(range(10)):
            with item:
                worked.append((str(ctx.period), item.value))
                if item.value in bad:
                    raise ValueError("bad")

    def of(day):
        return daily.using(source="shop", period=f"2026-05-{day:02d}")

    third = of(3).enqueue()
    drain(jobs)
    assert third.refresh().status == "partial"
    before = stored_row(third)
    bad.clear()
    worked.clear()
    repair = third.rerun("failed_items")
    with pytest.raises(AlreadyActive) as refused:
        third.rerun("failed_items")
    assert refused.value.job_id == repair.id
    drain(jobs)
    assert [value for _, value in worked] == [3, 7]
    assert repair.refresh().rerun_of == third.id
    assert stored_row(third.refresh()) == before

    again = repair.rerun("failed_items")
    with pytest.raises(AlreadyActive) as refused:
        repair.rerun("full")
    assert refused.value.job_id == again.id
    worked.clear()
    drain(jobs)
    assert (worked, again.refresh().status) == ([], "completed")

    sixth = of(6).enqueue()
    with pytest.raises(AlreadyActive) as refused:
        of(6).using(if_active="raise").enqueue()
    assert refused.value.job_id == sixth.id
    behind = of(6).using(if_active="queue").enqueue()
    assert behind.waits_for == sixth.id
    drain(jobs)

    jobs.store.write(lambda conn: forget(conn, [third.id, repair.id, again.id]))
    worked.clear()
    fresh = of(3).enqueue()
    drain(jobs)
    assert [value for _, value in worked] == list(range(10))
    assert fresh.refresh().status == "completed"


def forget(conn, ids):
    """The history goes, as retention does it; the unit stays."""
    for table, column in (("events", "job_id"), ("progress", "job_id"), ("jobs", "id")):
        for one in ids:
            conn.exec_driver_sql(f"DELETE FROM jobtrail_{table} WHERE {column} = '{one}'")


# -- C-30 ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcomes", "status", "note", "percent"),
    [
        ([], "completed", "nothing to do", None),
        (["failed"] * 10, "failed", "all 10 items failed", 100.0),
        (["skipped"] * 10, "completed", "all 10 items were skipped", 100.0),
        (["ok"] * 9 + ["failed"], "partial", "1 of 10 items failed", 100.0),
        (["ok"], "completed", None, 100.0),
        (["failed"], "failed", "the only item failed", 100.0),
        (["skipped"] * 5 + ["ok"] * 5, "completed", None, 100.0),
    ],
)
@pytest.mark.parametrize("batched", [False, True])
def test_c30_zero_items_all_failed_all_skipped(jobs, outcomes, status, note, percent, batched):
    """C-30: every one ends, with state, counts and percent; the unit says the same."""

    @jobs.task
    def load(ctx):
        if batched and "skipped" not in outcomes:
            for batch in ctx.batches(list(enumerate(outcomes)), 3, key=lambda pair: pair[0]):
                with batch as rows:
                    if any(outcome == "failed" for _, outcome in rows):
                        raise ValueError("bad")
            return
        for item in ctx.items(list(enumerate(outcomes)), key=lambda pair: pair[0]):
            with item:
                if item.value[1] == "failed":
                    raise ValueError("bad")
                if item.value[1] == "skipped":
                    item.skip("not ours")

    job = load.using(period="2013-02").enqueue()
    drain(jobs)
    assert (job.refresh().status, job.note) == (status, note)
    assert (job.items_ok, job.items_failed, job.items_skipped) == tuple(
        outcomes.count(name) for name in ("ok", "failed", "skipped")
    )
    assert (job.progress() or {}).get("percent") == percent
    assert until("a waiting caller is answered", lambda: job.wait(timeout=1)).status == status
