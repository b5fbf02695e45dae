"""Bodies in child processes: they really end, and their death is not the worker's; `test_exam` says that they report as others do."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import process_tasks
import pytest
from trails import event, until

from jobtrail import InvalidOption, JobTrail

pytestmark = pytest.mark.skipif(os.name == "nt", reason="children are told by POSIX signals")
APPS = Path(__file__).parents[1] / "apps"


def with_tasks(jobs):
    """The tasks of `process_tasks` on this application."""
    for task in process_tasks.app.tasks.all():
        jobs.tasks.add(task)
    return jobs


@pytest.fixture
def own(make_jobs):
    """An application over this test's database, for a worker of its own; short waits."""
    return with_tasks(make_jobs(cancel_timeout=1.0))


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def module_url(request, tmp_path_factory):
    """A migrated database for the tests of this file."""
    if request.param == "postgresql":
        return request.getfixturevalue("new_database")()
    shutil.copy(request.getfixturevalue("_migrated_file"), path := tmp_path_factory.mktemp("process") / "jobs.db")
    return f"sqlite:///{path}"


@pytest.fixture(scope="module")
def crew(module_url):
    """An application and its worker with warm children, started once for the tests of this file."""
    jobs = with_tasks(JobTrail(module_url, poll_interval=0.1, cancel_timeout=1.0))
    with contextlib.closing(jobs), working(jobs, slots=4) as worker:
        yield jobs, worker


@pytest.fixture
def app(crew):
    """The application that the crew works for; nothing runs any more after the test."""
    jobs, worker = crew
    yield jobs
    until("nothing runs", lambda: not worker.running)


@pytest.fixture
def worker(crew):
    """The crew's worker."""
    return crew[1]


@contextlib.contextmanager
def working(jobs: JobTrail, **options):
    """A worker in a thread of its own; afterwards none of its children is left."""
    worker, over = jobs.worker(**options), threading.Event()
    jobs.service.make_ready()

    def run():
        with contextlib.suppress(asyncio.CancelledError):
            asyncio.run(worker.run())
        over.set()

    thread = threading.Thread(target=run)
    thread.start()
    seen = set()
    try:
        yield worker
    finally:
        seen |= set(worker.children())
        worker.stop()
        assert over.wait(30), "the worker did not stop"
        thread.join()
        assert worker.children() == []
        assert [pid for pid in seen if alive(pid)] == []


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def start(jobs, name, /, using=None, **args):
    return jobs.task_named(name).using(**(using or {})).enqueue(**args)


def ended(*made):
    for job in made:
        with contextlib.suppress(Exception):
            job.result(timeout=30)
        job.refresh()
        assert not job.active, f"{job.task} is {job.status}"
    return made[0] if len(made) == 1 else made


def warm(jobs):
    """Have a child that has imported everything, so that short limits are about bodies."""
    return start(jobs, "who").result(timeout=30)


# -- limits --------------------------------------------------------------------------------------------


def test_a_timeout_ends_a_sleep_a_block_in_c_and_a_body_that_never_listens(app, worker, tmp_path):
    """C-45, C-69: the state names the limit, the log is kept, the capacity is back, 10 later jobs run side by side."""
    (tmp_path / "meeting").mkdir()
    warm(app)
    sleeps = start(app, "sleeps_too_long")
    ended(sleeps)
    block, never = start(app, "blocks_in_c"), start(app, "never_listens")
    beside = start(app, "naps", seconds=0.1)
    ended(block, never, beside)
    together = [start(app, "meets", folder=str(tmp_path / "meeting"), peers=3) for _ in range(3)]
    assert len({job.result(timeout=40) for job in together}) == 3, "the capacity is not back"
    quick = [start(app, "naps", seconds=0.01) for _ in range(10)]
    ended(*quick)
    assert len(worker.running) == 0
    for job in (sleeps, block, never):
        assert job.status == "failed"
        limit = process_tasks.app.tasks.get(job.task).timeout
        assert (job.error["type"], job.error["message"]) == ("TimeoutError", f"timed out after {limit:g} s")
        assert event(job, "stop_requested").detail["cause"] == "timeout"
    assert "time.sleep(seconds)" in sleeps.error["traceback"]
    assert "the sleep was left" in sleeps.log()
    assert "killed" in block.error["traceback"]
    assert never.attempt == 2
    assert beside.status == "completed"
    assert {job.status for job in quick} == {"completed"}


def test_a_cancel_ends_what_listens_what_is_async_and_what_is_deaf(app):
    listens, coroutine = start(app, "until_cancelled"), start(app, "acancelled")
    deaf, parent = start(app, "deaf"), start(app, "deaf", children=True)
    for job in (listens, coroutine, deaf, parent):
        until("it has begun", lambda job=job: job.refresh().progress(), timeout=30)
    pid, grandchild = int(deaf.progress()["message"]), int(parent.progress()["message"])
    assert alive(pid)
    assert alive(grandchild)
    began = time.monotonic()
    for job in (listens, coroutine):
        job.cancel(reason="enough")
    ended(listens, coroutine)
    assert time.monotonic() - began < 10
    time.sleep(0.6)  # both are inside the C call now
    deaf.cancel()
    parent.cancel()
    ended(deaf, parent)
    until("its process is gone", lambda: not alive(pid))
    until("what it started is gone", lambda: not alive(grandchild))
    assert start(app, "no_context", number=1).result(timeout=30) == 2
    assert {job.status for job in (listens, coroutine, deaf, parent)} == {"cancelled"}
    assert "cleaned up" in listens.log()
    assert "cancelled in the coroutine" in coroutine.log()


def test_a_memory_limit_ends_the_body_and_not_its_neighbours(app):
    fine = start(app, "hungry", megabytes=40)
    beside = start(app, "naps", seconds=0.5)
    over = start(app, "hungry", megabytes=400)
    again = start(app, "hungry", megabytes=40)
    mapped = start(app, "hungry_beside_the_heap")
    ended(fine, beside, over, again, mapped)
    assert fine.status == beside.status == again.status == "completed"
    assert over.status == mapped.status == "failed"
    assert over.error["type"] == mapped.error["type"] == "MemoryError"
    assert over.error["message"].startswith("memory limit 128 MB")
    assert mapped.error["message"].startswith("memory limit 96 MB")
    assert "bytearray(" in over.error["traceback"]


# -- death ---------------------------------------------------------------------------------------------


def test_the_death_of_a_child_is_the_attempts_death_and_not_the_workers(app, worker):
    """C-01: each death is a charged attempt of the job, with its signal; all else goes on."""
    beside = start(app, "naps", seconds=1.0)
    killed, exited, once = start(app, "kills_itself"), start(app, "exits_hard"), start(app, "dies_once")
    silent = start(app, "exits_hard", code=0)
    ended(beside, killed, exited, once, silent)
    deaf = start(app, "deaf")
    until("it has begun", lambda: deaf.refresh().progress(), timeout=30)
    os.kill(int(deaf.progress()["message"]), signal.SIGKILL)
    ended(deaf)
    assert start(app, "no_context", number=1).result(timeout=30) == 2
    assert worker.running == {}
    assert beside.status == "completed"
    for job, words in ((killed, "killed by signal 9"), (exited, "exited with code 3 (os._exit)"), (silent, "code 0")):
        assert (job.status, job.attempt) == ("failed", 2)
        assert job.error["type"] == "jobtrail.errors.ProcessDied"
        assert words in job.error["message"]
        assert words in event(job, "retry_planned").reason
    assert killed.log().count("the last words") == 2
    assert (deaf.status, deaf.error["message"]) == ("failed", "killed by signal 9 (SIGKILL)")
    assert (once.status, once.result(), once.items_ok) == ("completed", "alive", 3)
    assert "signal 11" in event(once, "retry_planned").reason


def test_children_are_used_again_up_to_their_limit(own):
    with working(own, slots=1) as worker:
        pids = [start(own, "pid").result(timeout=30) for _ in range(4)]
        assert start(own, "local_pid").result(timeout=30) == os.getpid()
        assert os.getpid() not in worker.children()
    assert pids[0] == pids[1] != pids[2] == pids[3]


def test_a_worker_that_stops_ends_its_children_and_gives_their_jobs_back(make_jobs):
    jobs = with_tasks(make_jobs(cancel_timeout=0.6, graceful_shutdown_timeout=0.3))
    with working(jobs, slots=3):
        deaf, listens, idle = start(jobs, "deaf"), start(jobs, "until_cancelled"), start(jobs, "who")
        idle.result(timeout=30)
        for job in (deaf, listens):
            until("it has begun", lambda job=job: job.refresh().progress(), timeout=30)
        time.sleep(0.6)
        pids = [int(deaf.progress()["message"])]
        began = time.monotonic()
    assert time.monotonic() - began < 15
    assert not any(alive(pid) for pid in pids)
    for job in (deaf, listens):
        assert (job.refresh().status, job.attempt) == ("pending", 0)
        assert "shutdown" in event(job, "handed_back").reason


def test_a_child_dies_with_its_parent(own, url):
    """Also one that holds the interpreter's lock, when the worker is killed and cannot say anything."""
    code = f"""
        import asyncio, sys
        sys.path.insert(0, {str(APPS)!r})
        import process_tasks
        from jobtrail import JobTrail
        jobs = JobTrail({url!r}, poll_interval=0.1)
        for task in process_tasks.app.tasks.all():
            jobs.tasks.add(task)
        asyncio.run(jobs.worker(slots=2).run())
    """
    deaf, idle = start(own, "deaf"), start(own, "who")
    worker = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)])
    try:
        pids = [idle.result(timeout=30)["pid"]]
        until("it has begun", lambda: deaf.refresh().progress(), timeout=30)
        pids.append(int(deaf.progress()["message"]))
        time.sleep(0.6)
        assert all(alive(pid) for pid in pids)
    finally:
        worker.kill()
        worker.wait()
    until("the children are gone", lambda: not any(alive(pid) for pid in pids), timeout=10)


# -- registration --------------------------------------------------------------------------------------


def plain():
    return None


def test_what_could_not_work_is_refused_where_the_task_is_registered(tmp_path):
    jobs = JobTrail(f"sqlite:///{tmp_path}/jobs.db")

    def inside():
        return None

    with pytest.raises(InvalidOption, match="top level of a module"):
        jobs.task(executor="process")(inside)
    with pytest.raises(InvalidOption, match="local, process"):
        jobs.task(executor="thread")(plain)
    with pytest.raises(InvalidOption, match="executor='process'"):
        jobs.task(memory_limit="512MB")(plain)
    for wrong in ("much", 5, "1 KB", True, -1):
        with pytest.raises(InvalidOption, match="memory_limit must be"):
            jobs.task(executor="process", memory_limit=wrong)(plain)
    with pytest.raises(InvalidOption, match="max_jobs_per_child"):
        jobs.task(executor="process", max_jobs_per_child=0)(plain)
    made = jobs.task(executor="process", memory_limit="1.5 GB")(plain)
    assert made.task.memory_limit == 1_610_612_736
    assert made() is None
