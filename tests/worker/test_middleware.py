"""C-55 as a table: what a middleware does after the body × how the run ends × whose hands call the body.

Whatever one of three middlewares does, the end is the body's, the body has run as often as its attempts, and each of the
other two has had its part before and its part after, once for each run and in the order of an onion.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from itertools import product

import middleware_tasks
import pytest
from middleware_tasks import BREAKS, ENDS
from trails import event, until

from jobtrail import JobTrail

PLACES = ("outer", "middle", "inner")
HANDS = ("sync", "alone")
SHORT = {"hook_timeout": 0.2, "cancel_timeout": 5, "graceful_shutdown_timeout": 0.1}
RETRY = {"attempts": 2, "wait": {"kind": "fixed", "seconds": 0}}
STATES = {
    "success": "completed",
    "retry": "completed",
    "failure": "failed",
    "cancel": "cancelled",
    "timeout": "failed",
    "shutdown": "pending",
}


def noting(calls, place):
    async def middleware(run, call_next):
        calls.append((run.claim.id, run.claim.run_no, f"{place} before"))
        try:
            return await call_next(run)
        finally:
            calls.append((run.claim.id, run.claim.run_no, f"{place} after"))

    return middleware


async def raises(run, call_next):
    try:
        await call_next(run)
    finally:
        raise RuntimeError("the hook's")


async def hangs(run, call_next):
    try:
        return await call_next(run)
    finally:
        await asyncio.sleep(60)


async def cancelled(run, call_next):
    try:
        await call_next(run)
    finally:
        raise asyncio.CancelledError


async def changes(run, call_next):
    await call_next(run)
    return "changed"


async def swallows(run, call_next):
    try:
        return await call_next(run)
    except BaseException:
        return "all is well"


BREAKING = {"raises": raises, "hangs": hangs, "cancelled": cancelled, "changes": changes, "swallows": swallows}


@contextlib.contextmanager
def working(jobs, **options):
    """A worker in a thread of its own."""
    jobs.service.make_ready()
    worker = jobs.worker(**options)
    thread = threading.Thread(target=lambda: asyncio.run(worker.run()))
    thread.start()
    try:
        yield worker
    finally:
        worker.stop()
        thread.join(30)
        assert not thread.is_alive(), "the worker did not stop"


def layers(calls, place, breaking):
    return [breaking if one == place else noting(calls, one) for one in PLACES]


def stopped_in_the_end(jobs, end, made, paths):
    """Cancel or await, as the end wants; the shutdown comes with the end of the block."""
    if end in {"cancel", "shutdown"}:
        until("all bodies run", lambda: all(path.exists() for path in paths), timeout=40)
    if end == "cancel":
        for job in made:
            job.cancel()
    if end != "shutdown":
        for job in made:
            job.wait(40)


@pytest.mark.parametrize("hands", HANDS)
@pytest.mark.parametrize("end", ENDS)
def test_c55_the_end_is_the_body_s_whatever_a_middleware_does_after_it(make_jobs, tmp_path, end, hands):
    calls, made = [], {}
    jobs = make_jobs(**SHORT)
    for breaks, place in product(BREAKS, PLACES):
        options = {"middleware": layers(calls, place, BREAKING[breaks]), "timeout": 0.4 if end == "timeout" else None}
        task = jobs.task(name=f"{breaks}_{place}", retry=RETRY if end == "retry" else 1, **options)
        made[breaks, place] = task(getattr(middleware_tasks, hands))
    paths = {one: tmp_path / task.name for one, task in made.items()}
    with working(jobs):
        made = {one: task.enqueue(end=end, path=str(paths[one])) for one, task in made.items()}
        stopped_in_the_end(jobs, end, made.values(), paths.values())
    for (breaks, place), job in made.items():
        check(job.refresh(), breaks, place, end, calls, paths[breaks, place])


@pytest.fixture
def in_processes(sqlite_url):
    """An application with what runs in child processes; the database has no part in that."""
    jobs = JobTrail(sqlite_url, poll_interval=0.1, **SHORT)
    yield jobs
    jobs.close()


@pytest.mark.parametrize("end", ENDS)
def test_c55_the_same_where_the_body_is_in_a_process(in_processes, tmp_path, end):
    """One child serves them all, one after the other, so the middleware that breaks stands in the middle only."""
    jobs, calls, made = in_processes, [], {}
    with contextlib.ExitStack() as stack:
        for breaks in {"shutdown": BREAKS[:1], "timeout": BREAKS[-1:]}.get(end, BREAKS):
            options = {"middleware": layers(calls, "middle", BREAKING[breaks]), "timeout": 2 if end == "timeout" else None}
            task = jobs.task(name=f"process_{breaks}", executor="process", retry=RETRY if end == "retry" else 1, **options)
            made[breaks] = task(middleware_tasks.sync)
        stack.enter_context(working(jobs, slots=1))
        for breaks, task in made.items():
            path = tmp_path / breaks
            made[breaks] = task.enqueue(end=end, path=str(path))
            stopped_in_the_end(jobs, end, [made[breaks]], [path])
    for breaks, job in made.items():
        check(job.refresh(), breaks, "middle", end, calls, tmp_path / breaks)


def check(job, breaks, place, end, calls, path):
    name, runs = job.task, [1, 2] if end == "retry" else [1]
    assert (name, job.status) == (name, STATES[end])
    if path.exists() or end != "timeout":  # a process may take all of the time for its start
        assert (name, path.read_text().split()) == (name, ["body"] * len(runs))
    noted = [one for one in PLACES if one != place]
    onion = [*(f"{one} before" for one in noted), *(f"{one} after" for one in reversed(noted))]
    for run_no in runs:
        assert (name, [word for job_id, number, word in calls if (job_id, number) == (job.id, run_no)]) == (name, onion)
    if end in {"success", "retry"}:
        assert (name, job.result(), job.attempt) == (name, "earned", len(runs))
        assert (name, "middleware raised" in (job.note or "")) == (name, breaks in {"raises", "hangs", "cancelled"})
    elif end == "failure":
        assert (name, job.error["message"]) == (name, "the body's")
    elif end == "timeout":
        assert job.error["message"].startswith("timed out after")
    elif end == "shutdown":
        assert (name, job.attempt, event(job, "handed_back").reason) == (name, 0, "interrupted by shutdown")


# -- before the body ---------------------------------------------------------------------------------


@pytest.mark.parametrize("hands", [*HANDS, "process"])
@pytest.mark.parametrize("end", ["cancel", "timeout", "shutdown"])
def test_c55_a_middleware_that_waits_before_the_body_can_be_stopped(make_jobs, tmp_path, end, hands):
    """The body never runs, and the parts after of those outside it do."""
    calls, waiting = [], threading.Event()

    async def waits(run, call_next):
        waiting.set()
        await asyncio.sleep(60)
        return await call_next(run)

    jobs = make_jobs(**SHORT)
    options = {"executor": "process"} if hands == "process" else {}
    options |= {"middleware": [noting(calls, "outer"), waits], "timeout": 0.5 if end == "timeout" else None}
    body = middleware_tasks.alone if hands == "alone" else middleware_tasks.sync
    task = jobs.task(name="process_waits", **options)(body)
    with working(jobs):
        job = task.enqueue(end=end, path=str(tmp_path / "bodies"))
        assert waiting.wait(20)
        if end == "cancel":
            job.cancel()
        if end != "shutdown":
            job.wait(20)
    assert job.refresh().status == STATES[end]
    assert [word for _, _, word in calls] == ["outer before", "outer after"]
    assert not (tmp_path / "bodies").exists()


def test_c55_a_body_does_not_begin_when_a_middleware_swallows_the_stop(make_jobs, tmp_path):
    """Whoever catches the cancel and calls on gets the stop again, in the body's place."""
    waiting = threading.Event()

    async def stubborn(run, call_next):
        waiting.set()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
        return await call_next(run)

    jobs = make_jobs(**SHORT)
    task = jobs.task(name="load", middleware=[stubborn])(middleware_tasks.sync)
    with working(jobs):
        job = task.enqueue(end="success", path=str(tmp_path / "bodies"))
        assert waiting.wait(20)
        job.cancel()
        job.wait(20)
    assert job.status == "cancelled"
    assert not (tmp_path / "bodies").exists()
