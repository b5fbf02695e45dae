"""What bodies do to their process is not done to the worker: processes that they fork, descriptors, process-wide state."""

from __future__ import annotations

import os
import subprocess
import sys

import body_tasks
import pytest
import slow_import_tasks

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
EXECUTORS = ("local", "process")  # one worker runs the bodies of both, one after the other


@pytest.fixture
def start(jobs):
    """Submit a task of `body_tasks`."""
    for task in (*body_tasks.app.tasks.all(), *slow_import_tasks.app.tasks.all()):
        jobs.tasks.add(task)
    return lambda name, **args: jobs.task_named(name).enqueue(**args)


@pytest.fixture
def burst(url, tmp_path):
    """Run `jobtrail worker` until no job waits."""

    def run(*, slots: int = 1, app: str = "body_tasks:app") -> None:
        command = [sys.executable, "-m", "jobtrail", "--app", app, "--database", url, "worker", "--burst", "-c", str(slots)]
        paths = os.pathsep.join(path for path in sys.path if path)
        environment = {**os.environ, "PYTHONPATH": paths}
        with (tmp_path / "worker.log").open("wb") as out:
            ended = subprocess.run(
                command, env=environment, cwd=tmp_path, timeout=50, check=False,
                stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            )  # fmt: skip
        assert ended.returncode == 0, (tmp_path / "worker.log").read_text()

    return run


# -- processes that a body forks -----------------------------------------------------------------------

ENDS = {
    "terminates_a_child": -15,
    "uses_a_pool": [1, 2],
    "forks": 0,
    "forks_a_child_that_raises": 1,
    "forks_a_child_that_exits": 3,
    "forks_on_the_loop": 0,
    "forks_and_awaits": 1,
}


def test_a_process_that_a_body_forks_neither_stops_the_worker_nor_answers_for_it(start, burst, tmp_path):
    of_both = {executor: {name: start(f"{name}-{executor}") for name in ENDS} for executor in EXECUTORS}
    burst()
    for made in of_both.values():
        assert {name: job.refresh().status for name, job in made.items()} == dict.fromkeys(ENDS, "completed")
        assert {name: job.result(timeout=5) for name, job in made.items()} == ENDS
        assert "said by the parent" in made["forks"].log()
        assert "said by the child" not in made["forks"].log()
    said = (tmp_path / "worker.log").read_text()
    assert said.count("ValueError: in the child") == 2
    assert said.count("cannot go on with the event loop of its parent") == 2


# -- descriptors ---------------------------------------------------------------------------------------


def test_a_body_that_closes_small_numbers_hits_nothing_of_the_worker(start, burst, tmp_path):
    made = []
    for executor in EXECUTORS:
        (taken := tmp_path / executor).mkdir()
        first, then = start(f"closes_low_numbers-{executor}", folder=str(taken)), start(f"process_id-{executor}")
        made.append((taken, first, then))
    burst()
    for taken, first, then in made:
        assert (first.refresh().status, then.refresh().status) == ("completed", "completed")
        assert first.result(timeout=5) == then.result(timeout=5), "the same process went on"
        assert {file.read_bytes() for file in taken.iterdir()} == {b""}, "nobody has written into other files"


# -- state of the process ------------------------------------------------------------------------------


def test_what_a_body_changes_of_its_process_is_set_back_for_the_next(start, burst):
    """Also the umask, in a child process."""
    looks = [("looks_at_its_process", executor, place) for executor in EXECUTORS for place in ("", "_on_the_loop")]
    made = [
        [start(f"{name}-{executor}") for name in (look, f"changes_its_process{place}", look)]
        for look, executor, place in [("umask", "process", ""), *looks]  # a look tells most before anything was changed
    ]
    burst()
    for before, changes, after in made:
        assert changes.refresh().status == "completed"
        assert after.result(timeout=5) == before.result(timeout=5)


def test_a_time_limit_counts_from_the_start_of_the_body_not_of_its_process(start, burst):
    job = start("quick")
    burst(app="slow_import_tasks:app")
    assert (job.refresh().status, job.result(timeout=5)) == ("completed", "done")
