"""C-14, C-15, C-18: renamed tasks, exceptions that cannot be shown, bodies that exit."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading

import pytest
from trails import event

from jobtrail import InvalidOption
from jobtrail.commands.job_fields import stored_row
from jobtrail.testing import MovableClock, drain

# -- C-14 ----------------------------------------------------------------------------------------------


def report(jobs, name, function, **options):
    return jobs.task(name=name, **options)(function)


def test_c14_an_unknown_task_goes_back_with_a_delay_and_ends_failed_and_can_be_run_again(make_jobs, caplog):
    """C-14: nothing is discarded; put back, bounded; then "failed: unknown task", visible; after the fix all 5 done."""
    clock = MovableClock()
    old = make_jobs(clock=clock)
    build = report(old, "report.build", lambda month: month)
    made = [build.enqueue(month) for month in range(5)]
    new = make_jobs(clock=clock, put_back_limit=3, put_back_delay=30)
    report(new, "report.make", lambda month, region: month)
    with caplog.at_level(logging.WARNING, "jobtrail"):
        drain(new)
        row = stored_row(made[0].refresh())
        assert (row.status, row.attempt, row.put_backs) == ("pending", 0, 1)
        assert (row.run_at - clock.now()).total_seconds() == 30
        for _ in range(5):
            clock.move(seconds=31)
            drain(new)
    for job in made:
        assert (job.refresh().status, job.attempt) == ("failed", 1)
        assert "unknown task" in job.error["message"]
        assert "report.build" in job.error["message"]
    warnings = [one for one in caplog.records if "report.build" in one.getMessage()]
    assert len(warnings) <= 5, "a warning at every try"
    again = [job.retry() for job in made]
    drain(old)
    assert [job.result() for job in again] == list(range(5))


def test_c14_another_version_of_the_worker_takes_what_was_put_back(make_jobs):
    """C-14: a rolling deploy; the old worker takes the old name."""
    clock = MovableClock()
    old, new = make_jobs(clock=clock), make_jobs(clock=clock)
    build = report(old, "report.build", lambda: "old")
    job = build.enqueue()
    drain(new)
    assert job.refresh().status == "pending"
    clock.move(seconds=31)
    drain(old)
    assert (job.result(), job.attempt) == ("old", 1)


def test_c14_wrong_arguments_for_the_new_code_fail_at_once_and_name_the_argument(make_jobs):
    """C-14: right name, wrong signature: no retry, the error names the argument; also on a retry after a deploy."""
    old, new = make_jobs(), make_jobs()
    job = report(old, "report", lambda month: 1, retry=5).enqueue(5)
    report(new, "report", lambda *, month, region: 1, retry=5)
    drain(new)
    assert (job.refresh().status, job.attempt) == ("failed", 1)
    assert "'region'" in job.error["message"]


def test_c14_an_alias_lets_a_renamed_task_run_what_is_queued(make_jobs):
    """C-14: aliases for renamed tasks."""
    old, new = make_jobs(), make_jobs()
    job = report(old, "report.build", lambda month: "old").enqueue(5)
    renamed = report(new, "report.make", lambda month: f"new {month}", aliases=["report.build"])
    drain(new)
    assert job.result() == "new 5"
    with pytest.raises(InvalidOption, match="report.build"):
        report(new, "report.build", lambda: 1)
    assert renamed.enqueue(1).task == "report.make"


# -- C-15 ----------------------------------------------------------------------------------------------


class NeedsMore(Exception):
    def __init__(self, code, *, where):
        super().__init__(code)
        self.where = where


class HoldsALock(Exception):
    def __init__(self):
        super().__init__("locked")
        self.lock = threading.Lock()


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("no text")

    __repr__ = __str__


class Enormous(Exception):
    def __str__(self):
        return "x" * 50_000_000


def looping():
    one, two = ValueError("one"), ValueError("two")
    one.__cause__, two.__cause__ = two, one
    return one


def local_class():
    class Local(Exception):
        pass

    return Local("made inside")


def deep():
    error = ValueError("bottom")
    for n in range(2_000):
        above = ValueError(f"level {n}")
        above.__cause__ = error
        error = above
    return error


VARIANTS = {
    "extra": (lambda: NeedsMore(5, where="here"), "5"),
    "lock": (HoldsALock, "locked"),
    "unprintable": (Unprintable, "<unprintable Unprintable>"),
    "enormous": (Enormous, "xxx"),
    "group": (lambda: ExceptionGroup("many", [ValueError(str(n)) for n in range(1000)]), "many"),
    "loop": (looping, "one"),
    "local": (local_class, "made inside"),
    "deep": (deep, "level 1999"),
    "nul": (lambda: ValueError("a\x00b\ud800c"), "a"),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_c15_whatever_is_raised_is_a_failure_that_can_be_stored_and_shown(jobs, name):
    """C-15: ends failed exactly as for a ValueError, in a thread and on the loop; the worker goes on."""
    make, words = VARIANTS[name]

    @jobs.task
    def load():
        raise make()

    @jobs.task
    async def aload():
        raise make()

    @jobs.task(retry={"attempts": 2, "wait": {"kind": "fixed", "seconds": 0}})
    def wrapped():
        raise OSError("outer") from make()

    @jobs.task
    def trivial():
        return 1

    made = [load.enqueue(), aload.enqueue(), wrapped.enqueue()]
    after = trivial.enqueue()
    drain(jobs, delayed=True)
    for job in made:
        assert job.refresh().status == "failed"
        assert len(stored_row(job).error.encode()) <= 65_536
        assert "\x00" not in stored_row(job).error
    assert words in made[0].error["message"]
    assert made[0].error["traceback"]
    assert made[2].attempt == 2
    assert after.result() == 1


# -- C-18 ----------------------------------------------------------------------------------------------


class Own(BaseException):
    pass


EXITS = {
    "exit 0": (lambda: sys.exit(0), "job called exit (0)"),
    "exit 3": (lambda: sys.exit(3), "job called exit (3)"),
    "exit text": (lambda: sys.exit("bye"), "bye"),
    "exit none": (sys.exit, "job called exit"),
    "keyboard": (lambda: raises(KeyboardInterrupt()), "KeyboardInterrupt"),
    "generator": (lambda: raises(GeneratorExit()), "GeneratorExit"),
    "own": (lambda: raises(Own("mine")), "mine"),
    "cancelled": (lambda: raises(asyncio.CancelledError()), "Cancelled"),
    "stop iteration": (lambda: raises(StopIteration(5)), ""),
}


def raises(error):
    raise error


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("name", EXITS)
def test_c18_sys_exit_is_a_failed_attempt(jobs, name, is_async):
    """C-18: exits, interrupts and other BaseExceptions are failed attempts with the normal retry; others go on."""
    leave, words = EXITS[name]
    attempts, gate = [], threading.Event()

    if is_async:

        @jobs.task(retry={"attempts": 2, "wait": {"kind": "fixed", "seconds": 0}})
        async def load(ctx):
            attempts.append(ctx.attempt)
            leave()
    else:

        @jobs.task(retry={"attempts": 2, "wait": {"kind": "fixed", "seconds": 0}})
        def load(ctx):
            attempts.append(ctx.attempt)
            leave()

    @jobs.task
    async def beside():
        while not gate.is_set():
            await asyncio.sleep(0.005)
        return "went on"

    @jobs.task
    def opener():
        while len(attempts) < 2 and not gate.wait(0.005):
            pass
        gate.set()
        return "went on"

    others = [beside.enqueue(), opener.enqueue()]
    job = load.enqueue()
    drain(jobs, delayed=True)
    assert attempts == [1, 2]
    assert (job.refresh().status, job.attempt) == ("failed", 2)
    assert words in f"{job.error['type']} {job.error['message']}"
    assert event(job, "finished").to_status == "failed"
    assert [other.result() for other in others] == ["went on"] * 2


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), Own("mine")])
def test_c18_an_exit_in_a_middleware_or_a_hook_is_a_failed_attempt(make_jobs, error):
    """C-18: also in a hook or middleware."""

    async def leaves(run, call_next):
        raise error

    jobs = make_jobs(middleware=[leaves])

    @jobs.task
    def load():
        pass

    job = load.enqueue()
    drain(jobs)
    assert job.refresh().status == "failed"
