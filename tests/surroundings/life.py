"""The life of jobs from submission to retention, as each kind of surroundings must allow it."""

from __future__ import annotations

import threading
import time
from contextlib import closing, contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from trails import count_rows, until

from jobtrail import Context, JobTrail, every
from jobtrail.job.model import Status
from jobtrail.store import retention
from jobtrail.testing import MovableClock, drain, tick

if TYPE_CHECKING:
    from collections.abc import Iterator

QUICK = {"poll_interval": 0.1, "flush_interval": 0.05, "beat_interval": 0.5, "sweep_interval": 0.5}


class Gate:
    """A task whose bodies wait until the gate is open, then load three items.

    Attributes:
        load: the task; it returns its argument.
        ran: the arguments of all bodies that began.
        open: set to let them go on.
    """

    def __init__(self, jobs: JobTrail) -> None:
        ran: list[int] = []
        began, gate = threading.Event(), threading.Event()

        @jobs.task(retry=1)
        def load(ctx: Context, n: int) -> int:
            ran.append(n)
            began.set()
            gate.wait(30)
            for item in ctx.items(range(3)):
                with item:
                    pass
            return n

        self.load, self.ran, self.open = load, ran, gate
        self._jobs, self._began = jobs, began

    @contextmanager
    def drained(self, **options: Any) -> Iterator[threading.Thread]:
        """Run the jobs in a thread, once the first body waits at the gate; it is open at the end."""
        thread = threading.Thread(target=lambda: drain(self._jobs, **options))
        thread.start()
        try:
            assert self._began.wait(20), "no job was claimed"
            yield thread
        finally:
            self.open.set()
            thread.join(30)


def live(url: str, **settings: Any) -> JobTrail:
    """Submit, claim, items, a step, progress, a question, a cancellation, a schedule and retention; raises where one fails.

    Returns: the closed application object.
    """
    jobs = JobTrail(url, **{**QUICK, **settings})
    with closing(jobs):
        _items_and_questions(jobs)
        _cancellation(jobs)
        _retention(jobs)
    clock = MovableClock()
    later = JobTrail(url, clock=clock, **{**QUICK, **settings})
    with closing(later):
        _schedule(later, clock)
    return jobs


def _items_and_questions(jobs: JobTrail) -> None:
    @jobs.task(retry=1)
    def load(ctx: Context, n: int) -> int:
        ctx.set_progress(percent=50, message="half — наполовину")
        for item in ctx.items(range(3), durable=True):
            with item:
                ctx.log.info("item %d: 'a\\b'", item.value)
        step = ctx.step("fetch", lambda: "C:\\new\\'x'")
        assert step == "C:\\new\\'x'"
        return n

    @jobs.task(retry=1)
    def ask(ctx: Context) -> int:
        return ctx.ask("number", "Which number?", int)

    made = [load.enqueue(n=n) for n in range(8)]  # more than a connection needs before it prepares statements
    made.append(load.using(source="weather/EWR", period="2013-02").enqueue(n=8))
    made += load.enqueue_many([{"n": n} for n in range(9, 18)])  # enough for COPY
    question = ask.enqueue()
    drain(jobs)
    assert [job.result(timeout=10) for job in made] == list(range(18))
    for job in made:
        assert (job.status, job.attempt, job.items_ok) == (Status.COMPLETED, 1, 3), job.status
        assert job.log().count("'a\\b'") == 3
        assert job.progress()["message"] == "half — наполовину"
    assert question.status == Status.AWAITING_INPUT
    question.answer(7)
    drain(jobs)
    assert question.result(timeout=10) == 7
    assert len(jobs.find("status:completed source:weather/*")) == 1


def _cancellation(jobs: JobTrail) -> None:
    """A worker of its own process life: beat, upkeep, wake-up."""
    began = threading.Event()

    @jobs.task(retry=1)
    def endless(ctx: Context) -> None:
        began.set()
        while True:
            ctx.check_cancelled()
            time.sleep(0.02)

    job = endless.enqueue()
    thread = threading.Thread(target=lambda: drain(jobs, beat="thread"))
    thread.start()
    try:
        assert began.wait(20), "the job was not claimed"
        jobs.get(job.id).cancel()
        until("the job is cancelled", lambda: jobs.get(job.id).status == Status.CANCELLED)
    finally:
        thread.join(20)
    assert not thread.is_alive()


def _retention(jobs: JobTrail) -> None:
    rows = count_rows(jobs)
    kept = retention.Retention.of(jobs.settings)
    retention.run_once(jobs.store, kept, jobs.store.now() + timedelta(days=365), wait=lambda _seconds: False)
    assert count_rows(jobs) < rows


def _schedule(jobs: JobTrail, clock: MovableClock) -> None:
    @jobs.schedule(every(minutes=5))
    @jobs.task
    def nightly() -> int:
        return 1

    tick(jobs)
    clock.move(minutes=6)
    assert tick(jobs) == 1
    drain(jobs)
    assert [job.status for job in jobs.find("task:nightly")] == [Status.COMPLETED]
