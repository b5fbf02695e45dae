"""Names: what may be one, that composed and decomposed letters are the same, and that no argument takes ours."""

from __future__ import annotations

import unicodedata

import pytest

from jobtrail import InvalidArguments, InvalidOption, Retry, Snooze
from jobtrail.job import outcome
from jobtrail.testing import drain

COMPOSED, DECOMPOSED = (unicodedata.normalize(form, "café") for form in ("NFC", "NFD"))


@pytest.mark.parametrize("queue", ["a,b", " lead", "trail ", "tenant=acme", "..", ".", "", "a\nb", "x" * 201])
def test_a_queue_that_a_worker_could_not_be_told_is_refused(jobs, queue):
    task = jobs.task(name="work")(lambda: None)
    for declares in (lambda: task.using(queue=queue).enqueue(), lambda: jobs.task(name="other", queue=queue)(lambda: None)):
        with pytest.raises(InvalidOption, match=r"^queue must be "):
            declares()
    with pytest.raises(InvalidOption, match=r"^queue must be "):
        jobs.worker(queues=[queue])
    assert jobs.count().number == 0


@pytest.mark.parametrize("name", ["..", ".", " lead"])
def test_a_name_that_no_address_can_hold_is_refused(jobs, name):
    with pytest.raises(InvalidOption, match="must be a printable text"):
        jobs.task(name=name)(lambda: None)
    with pytest.raises(InvalidOption, match="source must be a printable text"):
        jobs.task(name="work")(lambda: None).using(source=name).enqueue()


def test_composed_and_decomposed_letters_are_the_same_name(jobs):
    task = jobs.task(name="work", queue=DECOMPOSED)(lambda: None)
    first = task.using(source=DECOMPOSED, period="2026-01", labels={"k": DECOMPOSED}).enqueue()
    second = task.using(source=COMPOSED, period="2026-01", labels={"k": COMPOSED}).enqueue()
    assert (second.id, second.created) == (first.id, False)
    assert (first.source, first.queue) == (COMPOSED, COMPOSED)
    for text in (f"source:{COMPOSED}", f"source:{DECOMPOSED}", f"queue:{DECOMPOSED}", f"label:k={DECOMPOSED}"):
        assert jobs.count(text).number == 1, text
    drain(jobs, queues=[DECOMPOSED])
    assert first.refresh().status == "completed"


def test_arguments_may_have_the_names_of_our_parameters(jobs):
    @jobs.task(name="work")
    def work(ctx, **given):
        return [given, ctx.step("step", lambda **inner: inner, name=1, function=2, self=3)]

    job = work.enqueue(self=1, args=2, kwargs=3, name=4)
    drain(jobs)
    assert job.result() == [{"self": 1, "args": 2, "kwargs": 3, "name": 4}, {"name": 1, "function": 2, "self": 3}]


def test_no_argument_takes_the_place_of_the_context(jobs):
    work = jobs.task(name="work")(lambda ctx, **given: [ctx.job_id, given])
    with pytest.raises(InvalidArguments, match="'ctx' is the context of the job"):
        work.enqueue(ctx=1)
    assert jobs.count().number == 0


@pytest.mark.parametrize("end", ["raise", "snooze", "partial"])
def test_a_delay_of_nothing_does_not_become_a_busy_loop(jobs, end):
    """As in Oban and Sidekiq, a job cannot be tried again without any delay for ever."""
    starts = []

    @jobs.task(name="work", retry=Retry(attempts=None, wait=0, on_partial=True))
    def work(ctx):
        starts.append(ctx.run_no)
        if end == "raise":
            raise ValueError("again")
        if end == "snooze":
            return Snooze(0)
        for item in ctx.items([1, 2]):
            with item:
                if item.value == 1:
                    raise ValueError("again")

    job = work.enqueue()
    drain(jobs)
    assert starts == list(range(1, outcome.RUNS_WITHOUT_DELAY + 1)), "the next run is not due yet"
    left = (job.refresh().run_at - jobs.store.now()).total_seconds()
    assert 0 < left <= outcome.LEAST_DELAY
