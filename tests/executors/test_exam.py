"""The exam of executors: what a task does is the same in threads, in child processes and in a Celery worker."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import threading
import time
from dataclasses import replace
from pathlib import Path

import exam_app
import process_tasks
import pytest
import warm
from brokers import redis_database
from trails import event, names, until

from jobtrail.cli.operate import doctor
from jobtrail.cli.operate.doctor_executors import handed_over
from jobtrail.commands.job_fields import stored_row

APPS = Path(__file__).parents[1] / "apps"
SOURCES = Path(__file__).parents[2] / "src"
ENDS_BODIES = ("process", "celery")  # these can interrupt a plain function, and kill what does not heed that


@contextlib.contextmanager
def worker_of(jobs):
    """A worker in a thread, for the executors that need no other program."""
    jobs.make_ready()
    worker = jobs.worker(slots=3)
    thread = threading.Thread(target=lambda: asyncio.run(worker.run()))
    thread.start()
    try:
        yield worker
    finally:
        worker.stop()
        thread.join(30)
        assert not thread.is_alive()


@contextlib.contextmanager
def celery_worker(url, folder, broker):
    """A Celery worker with three children."""
    environment = {
        **os.environ, "EXAM_URL": url, "EXAM_EXECUTOR": "celery", "EXAM_BROKER": broker,
        "PYTHONPATH": f"{SOURCES}{os.pathsep}{APPS}",
    }  # fmt: skip
    process = warm.start(
        "-m", "celery", "-A", "exam_app:celery_app", "worker", "-c", "3", "-l", "INFO", "--without-mingle",
        cwd=folder, env=environment, log=folder / "celery.log", imported=warm.CELERY,
    )  # fmt: skip
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(30)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, 9)
    assert process.returncode == 0, (folder / "celery.log").read_text()


@pytest.fixture(scope="module", params=["local", "process", "celery", "postgresql"])
def crew(request, tmp_path_factory):
    """An application and what runs its jobs, started once for the tests of this file; "postgresql" are child processes on it."""
    executor, folder = request.param, tmp_path_factory.mktemp("exam")
    if executor == "postgresql":
        executor, url = "process", request.getfixturevalue("new_database")()
    else:
        shutil.copy(request.getfixturevalue("_migrated_file"), folder / "jobs.db")
        url = f"sqlite:///{folder}/jobs.db"
    if executor != "celery":
        with contextlib.closing(exam_app.make(url, executor)) as jobs, worker_of(jobs) as worker:
            yield executor, jobs, worker.children
        return
    server = request.getfixturevalue("redis_base")
    with redis_database(server) as broker, pytest.MonkeyPatch.context() as patch:
        patch.setenv("EXAM_BROKER", broker)
        with contextlib.closing(exam_app.make(url, executor)) as jobs, celery_worker(url, folder, broker):
            yield executor, jobs, list


@pytest.fixture
def jobs(crew):
    """The application."""
    return crew[1]


@pytest.fixture
def executor(crew):
    """Where its bodies run."""
    return crew[0]


@pytest.fixture
def children(crew):
    """Tells the child processes of our own worker."""
    return crew[2]


def start(jobs, name, /, using=None, **args):
    return jobs.task_named(name).using(**(using or {})).enqueue(**args)


def ended(*made):
    for job in made:
        with contextlib.suppress(Exception):
            job.result(timeout=40)
        job.refresh()
        assert not job.active, f"{job.task} is {job.status}: {names(job)}"
    return made[0] if len(made) == 1 else made


# -- what a body reports -------------------------------------------------------------------------------


def test_context_items_steps_progress_logs_and_results(jobs, executor, tmp_path):
    (tmp_path / "in.csv").write_text("a,b\n")
    who = start(jobs, "who", word="ü")
    about = start(jobs, "about", {"source": "weather/EWR", "period": "2013-02"})
    filed = start(jobs, "about", {"source": "weather/EWR", "file": tmp_path / "in.csv"})
    number = start(jobs, "no_context", number=3)
    loop = start(jobs, "loop", count=50, bad=[7, 8])
    durable = start(jobs, "loop", count=5, durable=True)
    numbers = start(jobs, "aloop", count=4)
    early, stopped = start(jobs, "left_early"), start(jobs, "left_early", reason="enough")
    kept = start(jobs, "steps", path=str(tmp_path / "downloads"))
    talks, partial, snoozes = start(jobs, "talks"), start(jobs, "partial"), start(jobs, "snoozes")
    not_json, again = start(jobs, "not_json"), start(jobs, "asks_again")
    retryable, permanent = start(jobs, "retryable"), start(jobs, "permanent")
    ended(loop, durable, early, partial, permanent)
    told = who.result(timeout=30)
    assert (told["word"], told["attempt"], told["state"]) == ("ü", 1, "of the child")
    assert (told["pid"] == os.getpid()) == (executor == "local")
    assert (told["parent"] == os.getpid()) == (executor == "process")
    assert about.result(timeout=30) == [about.id, "weather/EWR", "2013-02", None, 1, 1]
    assert filed.result(timeout=30)[3] == "in.csv"
    assert number.result(timeout=30) == 6
    assert numbers.result(timeout=30) == 6
    assert kept.result(timeout=30) == [[1, 2, 3], [3]]
    assert ended(snoozes).result() == "awake"
    assert ended(again).result() == "done"
    assert ended(retryable).result() == 2
    ended(not_json, talks, stopped)
    assert (loop.status, loop.items_ok, loop.items_failed) == ("partial", 48, 2)
    assert sorted(item.key for item in loop.items(outcome="failed")) == ["7", "8"]
    assert loop.items(outcome="failed")[0].error_type == "ValueError"
    assert (durable.status, durable.items_ok) == ("completed", 5)
    assert (early.status, stopped.status) == ("partial", "completed")
    assert stopped.note == "stopped: enough"
    assert (tmp_path / "downloads").read_text() == "downloaded\n"
    assert (partial.status, partial.note) == ("partial", "two were missing")
    assert "$.thing" in not_json.note
    assert (snoozes.attempt, again.attempt) == (1, 2)
    assert (permanent.status, permanent.attempt) == ("failed", 1)
    assert "by the job's logger" in talks.log()
    assert "process_tasks: by a logger of the module" in talks.log()
    assert (talks.progress()["percent"], talks.progress()["message"]) == (50.0, "half")


def test_whatever_is_raised_is_a_failure_and_a_child_survives_it(jobs, executor, children):
    """C-15, C-18: nothing is pickled; exits are failed attempts; what runs bodies goes on."""
    start(jobs, "who").result(timeout=30)
    before = set(children())
    assert bool(before) == (executor == "process")
    made = {name: start(jobs, "raises", name=name) for name in process_tasks.RAISED}
    others = [start(jobs, "araises", name=name) for name in process_tasks.RAISED if name != "enormous"]
    ended(*made.values(), *others)
    assert before <= set(children())
    assert len(children()) <= 4, "one for each slot, and one that begins"
    assert start(jobs, "no_context", number=1).result(timeout=30) == 2
    for name, job in made.items():
        _, words = process_tasks.RAISED[name]
        assert (job.status, job.attempt) == ("failed", 2), name
        assert words in f"{job.error['type']} {job.error['message']}", name
        assert len(stored_row(job).error.encode()) <= 65_536
        assert "process_tasks.py" in job.error["traceback"], name
        assert "jobtrail.worker" not in job.error["traceback"], name
    assert {job.status for job in others} == {"failed"}
    assert made["extra"].error["type"] == "process_tasks.NeedsMore"
    assert stored_row(made["plain"]).fingerprint == made["plain"].error["fingerprint"]


# -- what comes before and after -----------------------------------------------------------------------


def test_delays_chains_groups_questions_and_reruns(jobs, tmp_path):
    late = start(jobs, "add", {"delay": 1.0}, x=1, y=1)
    add, double, total = (jobs.task_named(name) for name in ("add", "double", "total"))
    chained = add.using().then(double, result_as="value").enqueue(x=3, y=4)
    jobs.group([(add, {"x": n, "y": n}) for n in range(5)], then=total, result_as="values", name="sums")
    asks = start(jobs, "asking")
    coroutine = start(jobs, "aadd", x=5, y=6)
    (bad := tmp_path / "bad").write_text("2\n4\n")
    loaded = ended(start(jobs, "load", path=str(bad)))
    assert (loaded.status, loaded.items_failed) == ("partial", 2)
    bad.write_text("")
    again = ended(loaded.rerun(mode="failed_items"))
    assert (again.status, again.items_ok) == ("completed", 2)
    until("it asks", lambda: asks.refresh().status == "awaiting_input", timeout=30)
    asks.answer(7)
    assert asks.result(timeout=30) == [7, "downloaded"]
    assert coroutine.result(timeout=30) == 11
    ended(chained)
    follower = until("it follows", lambda: jobs.find("task:double"), timeout=30)[0]
    assert follower.result(timeout=30) == 14
    summed = until("the group ends", lambda: jobs.find("task:total"), timeout=30)[0]
    assert summed.result(timeout=30) == 20
    assert ended(late).result() == 2
    assert (late.started_at - late.created_at).total_seconds() > 0.9  # it is stored a little after its time was set


# -- limits and cancels --------------------------------------------------------------------------------


def test_a_timeout_ends_a_sleep_and_a_body_that_never_listens(jobs, executor):
    if executor not in ENDS_BODIES:
        pytest.skip("a plain function in a thread cannot be ended")
    sleeps, never = start(jobs, "sleeps_too_long"), start(jobs, "never_listens")
    ended(sleeps, never)
    for job in (sleeps, never):
        assert job.status == "failed"
        assert "time" in job.error["message"], "it names the limit"
        assert event(job, "stop_requested").detail["cause"] == "timeout"
    assert (sleeps.error["type"], sleeps.error["message"]) == ("TimeoutError", "timed out after 0.5 s")
    assert "time.sleep(seconds)" in sleeps.error["traceback"]
    assert "the sleep was left" in sleeps.log()
    assert start(jobs, "no_context", number=1).result(timeout=30) == 2


def test_a_cancel_ends_what_waits_what_listens_and_what_is_async(jobs):
    listens, coroutine = start(jobs, "until_cancelled"), start(jobs, "acancelled")
    waits = start(jobs, "add", {"delay": 600}, x=1, y=1)
    for job in (listens, coroutine):
        until("it has begun", lambda job=job: job.refresh().progress(), timeout=30)
    for job in (listens, coroutine, waits):
        job.cancel(reason="enough")
    ended(listens, coroutine, waits)
    assert {job.status for job in (listens, coroutine, waits)} == {"cancelled"}
    assert "cleaned up" in listens.log()
    assert "cancelled in the coroutine" in coroutine.log()
    assert waits.attempt == 0


def test_a_cancel_ends_a_body_that_is_deaf(jobs, executor):
    if executor not in ENDS_BODIES:
        pytest.skip("a plain function in a thread cannot be ended")
    deaf = start(jobs, "deaf")
    until("it has begun", lambda: deaf.refresh().progress(), timeout=30)
    pid = int(deaf.progress()["message"])
    time.sleep(0.6)  # it is inside the C call now
    deaf.cancel()
    ended(deaf)
    assert deaf.status == "cancelled"
    until("its process is gone", lambda: not _alive(pid))
    assert start(jobs, "no_context", number=1).result(timeout=30) == 2


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_a_celery_run_is_linked_to_its_message(jobs, executor):
    job = ended(start(jobs, "add", x=1, y=1))
    begun = [one for one in job.events() if one.name == "begun_by"]
    assert [one.detail["celery_id"] for one in begun] == ([f"{job.id}-1"] if executor == "celery" else [])
    assert ("begun_by" in names(job)) == (executor == "celery")


# -- for people ----------------------------------------------------------------------------------------


SOUND = {"celery", "1 Celery worker answers", "queue default (in Celery celery)"}


def test_doctor_asks_the_broker_and_the_workers(jobs, executor):
    if executor != "celery":
        pytest.skip("no other system is asked")
    ended(start(jobs, "add", x=1, y=2))
    jobs.executors.find("celery").app.conf.broker_transport_options = {"visibility_timeout": 2}
    limited = replace(jobs.task_named("add").task, name="limited", timeout=5.0)
    if jobs.tasks.find("limited") is None:
        jobs.tasks.add(limited)

    def look():
        with jobs.store.read() as conn:
            now = jobs.store.now()
            seen = doctor._workers(jobs, conn, now)
            return {one.told.split(":")[0]: one for one in handed_over(jobs, conn, now, seen)}

    try:
        until("all children are there and a worker answers", lambda: SOUND <= look().keys() and " 3 processes" in look()["celery"].told, timeout=40)
        found = look()
    finally:
        jobs.executors.find("celery").app.conf.broker_transport_options = {}
    assert found["celery"].told == "celery: 3 processes run jobs; 0 handed over and not begun"
    assert found["1 Celery worker answers"].state == "ok"
    assert found["queue default (in Celery celery)"].told.endswith("0 messages wait")
    assert any("visibility_timeout is 2" in one.told and one.state == "note" for one in found.values())
