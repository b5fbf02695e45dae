"""A paused queue gives no work: every worker knows at once, and what runs goes on."""

from __future__ import annotations

import asyncio
import threading

from trails import actions, until

from jobtrail import Context
from jobtrail.database.wakeup import QUEUES
from jobtrail.job.model import Status
from jobtrail.store import queues
from jobtrail.testing import MovableClock, drain


def set_paused(jobs, name, *, paused):
    store = jobs.store

    def operation(conn):
        store.wake.need(QUEUES)
        return queues.set_paused(conn, store.dialect, name, store.now(), paused=paused, actor="ann", reason="disk full")

    return store.write(operation)


def test_nothing_is_claimed_from_a_paused_queue(jobs):
    @jobs.task
    def work(ctx: Context) -> None:
        """Nothing."""

    kept, runs = work.using(queue="slow").enqueue(), work.enqueue()
    assert set_paused(jobs, "slow", paused=True)
    assert not set_paused(jobs, "slow", paused=True), "it is so already"
    drain(jobs, queues=["slow", "default"])
    assert (kept.refresh().status, runs.refresh().status) == (Status.PENDING, Status.COMPLETED)
    assert set_paused(jobs, "slow", paused=False)
    drain(jobs, queues=["slow", "default"])
    assert kept.refresh().status is Status.COMPLETED


def test_a_running_worker_is_told_at_once(make_jobs):
    jobs = make_jobs(poll_interval=30.0)

    @jobs.task
    def work(ctx: Context) -> None:
        """Nothing."""

    worker = jobs.worker(beat=None)
    jobs.service.make_ready()
    thread = threading.Thread(target=lambda: asyncio.run(worker.run()))
    thread.start()
    until("it is ready", worker.ready.is_set)
    try:
        set_paused(jobs, "default", paused=True)
        until("the worker knows", lambda: worker._slots.paused == {"default"})
        job = work.enqueue()
        set_paused(jobs, "default", paused=False)
        until("it has run", lambda: job.refresh().status is Status.COMPLETED)
    finally:
        worker.stop()
        thread.join()


def test_what_waits_and_runs_in_each_queue(make_jobs):
    jobs = make_jobs(clock=MovableClock())
    jobs.task(name="work")(lambda: None)
    jobs.task_named("work").enqueue_many([{}] * 3)
    jobs.task_named("work").using(queue="slow", delay=60).enqueue()
    set_paused(jobs, "slow", paused=True)
    default, slow = jobs.queries.queues().queues
    (done,) = actions(jobs, "queue_paused")
    assert (default.name, default.due, default.later, default.paused) == ("default", 3, 0, False)
    assert (slow.name, slow.due, slow.later, slow.paused, slow.actor) == ("slow", 0, 1, True, "ann")
    assert (done["name"], done["target"], done["actor"], done["reason"]) == ("queue_paused", "slow", "ann", "disk full")


def test_a_slot_is_free_again_after_each_end(make_jobs):
    jobs = make_jobs(slots=1)

    @jobs.task
    def work(*, fails):
        if fails:
            raise ValueError

    ended = [work.enqueue(fails=n % 2 == 1) for n in range(5)]
    drain(jobs)
    assert [job.refresh().status for job in ended] == ["completed", "failed", "completed", "failed", "completed"]
