"""Executors that are written outside: the ones of the documentation, and one that starts a process for each job."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import threading
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from trails import event, names, until

from jobtrail import Context, InvalidOption, JobTrail
from jobtrail.executors import registry
from jobtrail.executors.base import HandingOver

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "write-an-executor.md"
SOURCES = Path(__file__).parents[2] / "src"


@pytest.fixture(scope="module")
def page():
    """The classes of the page, as they stand there."""
    found: dict[str, object] = {"threading": threading}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL):
        exec(compile(block, "write-an-executor.md", "exec"), found)
    return found


def work(jobs):
    """Run a worker until nothing waits for it."""
    asyncio.run(jobs.worker(slots=2).run(burst=True))


def test_an_executor_in_a_worker_runs_the_body(page, url):
    jobs = JobTrail(url, executor=page["InlineExecutor"](), migrate=True)

    @jobs.task
    def here(ctx: Context, word: str):
        ctx.set_progress(100)
        return [word, threading.current_thread() is threading.main_thread()]

    job = here.enqueue(word="a")
    work(jobs)
    assert job.result(timeout=5) == ["a", True]
    jobs.close()


@pytest.fixture
def handed(page, url):
    """An application whose jobs are handed over to threads of this program, and a worker that only relays."""
    jobs = JobTrail(url, executor=page["ThreadsExecutor"](), migrate=True, poll_interval=0.1)
    executor = jobs.executors.handing_over()["threads"]
    jobs.make_ready()
    executor.start()
    until("the host leads", lambda: executor.host.worker is not None and executor.host.worker.ready.is_set())
    yield jobs
    executor.host.stop()
    jobs.close()


def test_a_job_is_handed_over_and_runs_where_its_ticket_came(handed):
    @handed.task(retry=2)
    def there(ctx: Context, word: str):
        if ctx.attempt == 1:
            ctx.request_retry(0, "once more")
        return [word, threading.current_thread().name]

    job = there.enqueue(word="a")
    word, thread = job.result(timeout=20)
    assert (word, job.refresh().attempt) == ("a", 2)
    assert thread.startswith("Thread-"), "the thread that the executor started"
    assert names(job).count("begun_by") == 2
    assert event(job, "begun_by").actor == "threads"


def test_a_ticket_that_comes_twice_changes_nothing_and_is_counted(handed):
    @handed.task
    def once():
        return 1

    job = once.enqueue()
    job.result(timeout=20)
    executor = handed.executors.handing_over()["threads"]
    done = executor.host.run(job.id, 1)
    assert (done.begun, done.refused) == (False, "taken")
    assert names(job).count("delivered_again") == 1
    assert executor.host.run("00000000-0000-0000-0000-000000000000", 1).refused == "gone"


class ProcessForEach(HandingOver):
    """Starts ``jobtrail execute`` for each ticket, as a Kubernetes job would."""

    name = "pods"

    def __init__(self, url, folder):
        self.processes = []
        self._url, self._folder = url, folder

    def send(self, tickets):
        paths = os.pathsep.join([str(SOURCES), str(Path(__file__).parents[1] / "apps")])
        environment = {**os.environ, "PYTHONPATH": paths, "POD_URL": self._url}
        for one in tickets:
            command = [sys.executable, "-m", "jobtrail", "--app", "pod_app:app", "execute", one.job_id, "--token", str(one.token)]
            self.processes.append(subprocess.Popen(command, env=environment, cwd=self._folder))
        return list(tickets)

    def depth(self, queue):
        del queue


def test_a_process_for_each_job(sqlite_url, tmp_path):
    executor = ProcessForEach(sqlite_url, tmp_path)
    jobs = JobTrail(sqlite_url, executors=[executor], poll_interval=0.1)
    import pod_app

    tasks = pod_app.declare(jobs)
    worker = jobs.worker()
    thread = threading.Thread(target=lambda: asyncio.run(worker.run()))
    thread.start()
    try:
        sums, ends = tasks["add"].enqueue(x=1, y=2), tasks["ends_its_process"].enqueue()
        assert sums.result(timeout=30) == 3
        until("it was given up or failed", lambda: not ends.refresh().active, timeout=40)
        assert [one.wait(20) for one in executor.processes[:1]] == [0]
        again = subprocess.run([*executor.processes[0].args], env={**os.environ, "POD_URL": sqlite_url, "PYTHONPATH": os.pathsep.join([str(SOURCES), str(Path(__file__).parents[1] / "apps")])}, cwd=tmp_path, timeout=30, check=False, capture_output=True, text=True)  # fmt: skip
        assert again.returncode == 3, again.stderr
        assert "already" in again.stdout
    finally:
        worker.stop()
        thread.join(30)
        for one in executor.processes:
            one.kill()
            one.wait()
    assert (sums.refresh().attempt, ends.status) == (1, "failed")
    assert "is gone" in ends.error["message"]


def test_an_executor_is_found_by_its_entry_point(monkeypatch, sqlite_url, page):
    class Found(page["InlineExecutor"]):
        name = "found"
        given = None

        @classmethod
        def from_options(cls, options):
            cls.given = options
            return cls()

    point = EntryPoint("found", "nowhere:Found", registry.ENTRY_POINTS)
    monkeypatch.setattr(EntryPoint, "load", lambda self: Found)
    monkeypatch.setattr(registry, "entry_points", lambda group: [point])
    monkeypatch.setenv("JOBTRAIL_EXECUTOR__FOUND__QUEUES", "5")
    monkeypatch.setenv("JOBTRAIL_EXECUTOR", "found")
    jobs = JobTrail(sqlite_url)

    @jobs.task
    def there():
        return 1

    assert there.task.executor == "found"
    assert Found.given == {"queues": 5}
    with pytest.raises(InvalidOption, match="there is no executor 'other'; there are found, local, process"):
        jobs.task(executor="other", name="x")(lambda: None)
    with pytest.raises(InvalidOption, match="must be the name of an executor"):
        JobTrail(sqlite_url, executor=object())
