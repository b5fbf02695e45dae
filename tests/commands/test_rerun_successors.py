"""What follows a job that is run again: nothing by default, what was declared for it by wish, and never anything twice."""

from __future__ import annotations

import pytest

from jobtrail import Context
from jobtrail.testing import drain


@pytest.fixture
def chain(jobs):
    """``load`` is followed by ``report`` (declared) and ``notify`` (named by its body); what ran is noted."""
    jobs.ran, jobs.bad = [], False

    @jobs.task
    def load(ctx: Context) -> int:
        jobs.ran.append("load")
        ctx.schedule_next("notify", on="ended")
        ctx.schedule_next("count", {"n": len(jobs.ran)}, on="success")
        if jobs.bad:
            raise ValueError
        return 5

    @jobs.task
    def report(*, rows: int) -> None:
        jobs.ran.append(f"report {rows}")

    @jobs.task
    def archive() -> None:
        jobs.ran.append("archive")

    @jobs.task
    def notify() -> None:
        jobs.ran.append("notify")

    @jobs.task
    def count(*, n: int) -> None:
        jobs.ran.append(f"count {n}")

    return load.using(source="s", period="2013-02").then(report.then(archive), result_as="rows")


ALL = ["archive", "count 1", "load", "notify", "report 5"]


def test_a_rerun_starts_only_what_the_body_names_itself(jobs, chain):
    first = chain.enqueue()
    drain(jobs)
    assert sorted(jobs.ran) == ALL
    jobs.ran.clear()
    again = first.rerun()
    drain(jobs)
    assert sorted(jobs.ran) == ["count 1", "load", "notify"]
    assert {one["task"] for one in again.successors()} == {"notify", "count"}


@pytest.mark.parametrize("mode", ["full", "resume"])
def test_a_rerun_with_successors_starts_them_all_once(jobs, chain, mode):
    first = chain.enqueue()
    drain(jobs)
    before = {one["job"] for one in first.successors()}
    jobs.ran.clear()
    again = first.rerun(mode, with_successors=True)
    drain(jobs)
    assert sorted(jobs.ran) == ALL, "those of successors too"
    came = {one["task"]: jobs.get(one["job"]) for one in again.successors()}
    assert not before & {job.id for job in came.values()}
    assert came["report"].parent == again.id
    assert came["report"].source == "s"


def test_a_rerun_whose_body_names_nothing_is_followed_too(jobs):
    @jobs.task
    def plain() -> int:
        return 1

    first = plain.then(plain).enqueue()
    drain(jobs)
    again = first.rerun(with_successors=True)
    drain(jobs)
    assert [one["state"] for one in again.successors()] == ["submitted"]


def test_one_that_was_skipped_follows_the_rerun(jobs, chain):
    jobs.bad = True
    first = chain.enqueue()
    drain(jobs)
    assert {one["task"]: one["state"] for one in first.successors()}["report"] == "skipped"
    jobs.bad = False
    jobs.ran.clear()
    first.rerun(with_successors=True)
    drain(jobs)
    assert "report 5" in jobs.ran


def test_a_job_that_is_retried_has_each_successor_once(jobs, chain):
    """What came does not come twice; of what the body names, its last run decides."""
    jobs.bad = True
    job = chain.enqueue()
    drain(jobs)
    assert jobs.ran == ["load", "notify"]
    jobs.bad = False
    job.retry()
    drain(jobs)
    assert sorted(jobs.ran) == ["archive", "count 3", "load", "load", "notify", "report 5"]
    assert sorted((one["task"], one["state"]) for one in job.successors()) == [
        ("count", "skipped"),
        ("count", "submitted"),
        ("notify", "submitted"),
        ("report", "submitted"),
    ]
