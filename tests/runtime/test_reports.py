"""What a body reports while it runs: progress and log."""

from __future__ import annotations

import asyncio
import logging
import threading

import pytest
from trails import until

from jobtrail import Context
from jobtrail.runtime.log_capture import line_of
from jobtrail.testing import drain
from jobtrail.worker.child.reports import RemoteRecorder

log = logging.getLogger("shop.import")


def test_log_lines_of_a_plain_body_land_in_its_log_with_time_level_and_logger(jobs):
    @jobs.task
    def load(ctx: Context):
        ctx.log.info("begins with %s", "EWR")
        log.warning("row %d is odd", 7)
        try:
            raise KeyError("temp")
        except KeyError:
            log.exception("no temperature")

    job = load.enqueue()
    drain(jobs)
    assert job.refresh().status == "completed"
    lines = job.log().splitlines()
    assert lines[0].endswith("Z INFO begins with EWR")
    assert lines[1].endswith("Z WARNING shop.import: row 7 is odd")
    assert "KeyError: 'temp'" in job.log()


def test_a_line_that_cannot_be_formatted_is_kept_as_it_is():
    record = logging.LogRecord("shop", logging.INFO, __file__, 1, "%d rows", ("not a number",), None)
    assert "'%d rows' (could not be formatted)" in line_of(record)


def test_log_lines_of_an_async_body_and_of_its_threads(jobs):
    @jobs.task
    async def load(ctx):
        log.warning("on the loop")
        await asyncio.to_thread(log.warning, "in a thread")
        await asyncio.gather(asyncio.create_task(child()))

    async def child():
        log.warning("in a task")

    job = load.enqueue()
    drain(jobs)
    for text in ("on the loop", "in a thread", "in a task"):
        assert job.log().count(text) == 1


@pytest.mark.parametrize("is_async", [False, True])
def test_two_jobs_at_once_do_not_mix_their_logs(jobs, is_async):
    barrier = threading.Barrier(2, timeout=10)

    if is_async:

        @jobs.task
        async def load(name):
            for n in range(50):
                log.warning("%s says %d", name, n)
                await asyncio.sleep(0)
            await asyncio.to_thread(barrier.wait)
    else:

        @jobs.task
        def load(name):
            barrier.wait()
            for n in range(50):
                log.warning("%s says %d", name, n)
            barrier.wait()

    one, two = load.enqueue("anna"), load.enqueue("bert")
    drain(jobs)
    for job, own, other in ((one, "anna", "bert"), (two, "bert", "anna")):
        assert job.refresh().status == "completed"
        assert job.log().count(f"{own} says") == 50
        assert other not in job.log()


def test_the_log_of_a_retry_goes_on_behind_the_first_attempts_log(jobs):
    @jobs.task(retry={"attempts": 2, "wait": {"kind": "fixed", "seconds": 0}})
    def load(ctx: Context):
        ctx.log.info("attempt %d", ctx.attempt)
        if ctx.attempt == 1:
            raise ValueError

    job = load.enqueue()
    drain(jobs, delayed=True)
    assert [line.rsplit(" ", 2)[1:] for line in job.log().splitlines()] == [["attempt", "1"], ["attempt", "2"]]


def test_a_log_is_capped_and_keeps_its_beginning_and_its_end(make_jobs):
    jobs = make_jobs(log_limit=10_000, flush_interval=0.01)

    @jobs.task
    def chatter(ctx: Context):
        for n in range(20_000):
            ctx.log.info("line %06d", n)

    job = chatter.enqueue()
    drain(jobs)
    text = job.log()
    assert 5_000 < len(text.encode()) <= 10_200
    assert "line 000000" in text
    assert "line 019999" in text
    kept = sum("INFO line" in line for line in text.splitlines())
    dropped = sum(int(line.split()[1].replace(",", "")) for line in text.splitlines() if "lines dropped" in line)
    assert dropped > 0
    assert kept + dropped == 20_000


def test_the_cap_holds_for_all_attempts_together(make_jobs):
    jobs = make_jobs(log_limit=4_000, flush_interval=0.01)

    @jobs.task(retry={"attempts": 6, "wait": {"kind": "fixed", "seconds": 0}})
    def chatter(ctx: Context):
        for n in range(30):
            ctx.log.info("attempt %d line %02d", ctx.attempt, n)
        raise ValueError("again")

    job = chatter.enqueue()
    drain(jobs, delayed=True)
    text = job.log()
    assert len(text.encode()) <= 4_100
    assert "attempt 1 line 00" in text
    assert "attempt 6 line 29" in text
    kept = sum("INFO attempt" in line for line in text.splitlines())
    dropped = [int(line.split()[1].replace(",", "")) for line in text.splitlines() if "lines dropped" in line]
    assert len(dropped) == 1
    assert kept + dropped[0] == 180


def test_a_log_is_seen_while_the_body_runs(jobs):
    @jobs.task
    def slow(ctx: Context):
        ctx.log.info("half way")
        go.wait(10)

    go = threading.Event()
    job = slow.enqueue()
    worker = threading.Thread(target=drain, args=(jobs,))
    worker.start()
    try:
        until("the log of the running job is seen", lambda: "half way" in job.log())
        assert job.refresh().status == "running"
    finally:
        go.set()
        worker.join(10)


def test_log_text_that_a_database_refuses_is_made_safe(jobs):
    @jobs.task
    def load(ctx: Context):
        ctx.log.info("nul \x00 and surrogate \ud800 and ü")

    job = load.enqueue()
    drain(jobs)
    assert job.refresh().status == "completed"
    assert "and ü" in job.log()
    assert "\x00" not in job.log()


# -- from a child process ------------------------------------------------------------------------------


class Line:
    """The line to the worker: what it carried, and what the body does while it carries."""

    def __init__(self):
        self.sent, self.meanwhile = [], []
        self.wire = self

    def send(self, batch):
        self.sent.append(batch)
        if self.meanwhile:
            self.meanwhile.pop()()


@pytest.fixture
def child():
    line = Line()
    return RemoteRecorder({"prior": [], "tried_again": [], "no": 1}, line), line


def test_what_a_child_says_while_its_words_are_being_sent_is_not_lost(child):
    recorder, line = child
    recorder.progress(done=1, total=2)
    line.meanwhile.append(lambda: (recorder.progress(done=2, total=2), recorder.log("the last row")))
    recorder.send()
    recorder.stop()
    assert [one["progress"] for one in line.sent] == [[{"done": 1, "total": 2}], [{"done": 2, "total": 2}]]
    assert [one["log"] for one in line.sent] == [[], ["the last row"]]


def test_however_often_and_variously_a_child_reports_one_report_waits_and_means_the_same(child):
    recorder, line = child
    for number in range(1000):
        recorder.progress(percent=50, message="half")
        recorder.progress(done=number, total=1000)
        recorder.progress(metadata={"row": number})
    recorder.progress()  # a heartbeat changes nothing
    recorder.send()
    assert line.sent[0]["progress"] == [{"message": "half", "done": 999, "total": 1000, "metadata": {"row": 999}}]
    recorder.progress()
    recorder.send()
    recorder.send()
    assert [one["progress"] for one in line.sent[1:]] == [[{}]]
