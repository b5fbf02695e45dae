"""A bulk action whose worker is killed in the middle is taken up by another, and does nothing twice (C-67)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from trails import names, until

from jobtrail.testing import drain

APPS = Path(__file__).parents[1] / "apps"


@pytest.fixture
def start_worker(url):
    started = []

    def start():
        path = os.pathsep.join([str(APPS), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "BULK_URL": url, "PYTHONPATH": path}
        command = [sys.executable, "-m", "jobtrail", "worker", "--app", "bulk_app:jobs", "--concurrency", "4"]
        started.append(subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        return started[-1]

    yield start
    for one in started:
        if one.poll() is None:
            one.kill()
        one.wait()


def test_c67_killed_in_the_middle_each_source_has_one_new_attempt_at_the_end(app_jobs, client, start_worker):
    sources = app_jobs.task_named("fail").enqueue_many([{}] * 30)
    drain(app_jobs)
    said = {"action": "retry", "filter": "status:failed task:fail"}
    shown = client.post("/api/bulk/preview", json=said).json()
    pressed = {**said, "digest": shown["digest"], "at": shown["at"], "per_second": 25}
    made = app_jobs.get(client.post("/api/bulk", json=pressed).json()["job"])

    def done():
        return sum("retried" in names(source) for source in sources)

    worker = start_worker()
    until("it is in the middle", lambda: 5 <= done() < 25, timeout=30)
    os.kill(worker.pid, signal.SIGKILL)
    worker.wait()
    assert done() < 30
    assert client.post("/api/bulk", json=pressed).json() == {"job": made.id, "created": False}
    start_worker()
    until("it has ended", lambda: made.refresh().status == "completed", timeout=40)
    assert [names(source).count("retried") for source in sources] == [1] * 30
    assert {str(item.outcome) for item in made.items()} == {"ok"}
