"""A unit by a key of one's own: one active job of it, done once, run again as itself."""

from __future__ import annotations

import asyncio

import pytest

from jobtrail import AlreadyActive, AlreadyDone, InvalidOption


@pytest.fixture
def load(jobs):
    """A task."""

    @jobs.task
    def load(n: int = 1):
        return n

    return load


@pytest.fixture
def run_all(jobs):
    """Run a worker until nothing waits."""
    return lambda: asyncio.run(jobs.worker().run(burst=True))


def test_one_job_of_a_key_is_active(load):
    first = load.using(unit="tenant-7").enqueue(n=1)
    assert load.using(unit="tenant-7").enqueue(n=1).id == first.id
    with pytest.raises(AlreadyActive, match="tenant-7"):
        load.using(unit="tenant-7").enqueue(n=2)
    behind = load.using(unit="tenant-7", if_active="queue").enqueue(n=2)
    assert behind.id != first.id
    assert load.using(unit="tenant-8").enqueue(n=2).created
    assert load.using(unit="tenant-7", period="2013-02").enqueue(n=3).created, "with a period it is another unit"


def test_a_key_is_done_once_and_run_again_as_itself(load, run_all):
    first = load.using(unit="tenant-7").enqueue()
    run_all()
    assert load.using(unit="tenant-7", if_done="skip").enqueue().id == first.id
    with pytest.raises(AlreadyDone):
        load.using(unit="tenant-7", if_done="raise").enqueue()
    again = first.rerun(mode="full")
    with pytest.raises(AlreadyActive):
        load.using(unit="tenant-7", if_active="raise").enqueue()
    run_all()
    assert (again.refresh().status, load.using(unit="tenant-7", if_done="skip").enqueue().id) == ("completed", again.id)


def test_a_successor_has_a_key(load, jobs, run_all):
    other = load.using(unit="next")
    load.using().then(other).enqueue()
    run_all()
    found = jobs.find("task:load")[0]
    assert load.using(unit="next", if_done="skip").enqueue().id == found.id


@pytest.mark.parametrize("rule", [{"if_active": "queue"}, {"if_active": "raise"}, {"if_done": "skip"}])
def test_rules_about_a_unit_are_refused_where_there_is_none(load, jobs, rule):
    for refuse in (
        lambda: load.using(**rule).enqueue(),
        lambda: load.using(source="x", **rule).enqueue(),
        lambda: load.using(**rule).enqueue_many([{}]),
        lambda: jobs.enqueue_each([(load.using(**rule), {})]),
    ):
        with pytest.raises(InvalidOption, match=f"{next(iter(rule))} has an effect only with a unit: add period, file or unit"):
            refuse()
    assert jobs.find() == []


async def test_they_are_refused_on_an_event_loop(load, jobs):
    with pytest.raises(InvalidOption, match="only with a unit"):
        await load.using(if_done="skip").aenqueue()
    assert jobs.find() == []


@pytest.mark.parametrize("key", ["", " x", "a\n", 5])
def test_a_key_is_a_printable_text(load, key):
    with pytest.raises(InvalidOption, match="unit must be a printable text"):
        load.using(unit=key).enqueue()
