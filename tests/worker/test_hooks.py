"""`around_body` is entered where the body runs; `on_worker_start` and `on_worker_stop` frame a worker's life."""

from __future__ import annotations

import asyncio

import hook_tasks
import pytest

from jobtrail import JobTrail
from jobtrail.executors.hooks import Hooks
from jobtrail.testing import drain


@pytest.fixture
def app(jobs, monkeypatch):
    hook_tasks.entered.clear()
    jobs.service.hooks = hook_tasks.jobs.service.hooks
    return jobs


@pytest.mark.parametrize("name", ["plain", "coroutine", "child"])
def test_the_hook_is_entered_in_the_bodys_own_thread_task_or_child_process(app, name):
    made = app.task(executor="process" if name == "child" else "local")(getattr(hook_tasks, name).task.function)
    job = made.enqueue()
    drain(app)
    result = job.result(timeout=5)
    assert result["entered"] == [f"{name} in {result['place']}"]
    if name != "child":
        assert hook_tasks.entered == [f"{name} in {result['place']}", f"{name} out {result['place']}"]


def test_what_the_hook_raises_is_the_error_of_the_job(app):
    job = app.task(hook_tasks.refused.task.function).enqueue()
    drain(app)
    assert job.refresh().status == "failed"
    assert "the hook's own" in str(job.error)


def test_an_async_hook_is_entered_by_coroutines(jobs):
    seen = []

    class Both:
        def __init__(self, task):
            self.task = task

        def __enter__(self):
            seen.append("thread")

        def __exit__(self, *_):
            seen.append("out")

        async def __aenter__(self):
            await asyncio.sleep(0)
            seen.append("task")

        async def __aexit__(self, *_):
            seen.append("out")

    jobs.service.hooks = Hooks(around_body=Both)
    jobs.task(name="plain")(lambda: None).enqueue()
    drain(jobs)

    @jobs.task
    async def coroutine(): ...

    coroutine.enqueue()
    drain(jobs)
    assert seen == ["thread", "out", "task", "out"]


def test_a_worker_starts_after_its_hook_and_stops_before_the_other(tmp_path):
    order = []

    async def start():
        jobs.state.pool = asyncio.get_running_loop()
        order.append("start")

    async def stop():
        order.append("stop")
        raise RuntimeError("keeps no worker from ending")

    jobs = JobTrail(f"sqlite:///{tmp_path}/jobs.db", on_worker_start=start, on_worker_stop=stop, plugins=[])

    @jobs.task
    async def body(ctx):
        order.append("body" if ctx.state.pool is asyncio.get_running_loop() else "another loop")

    body.enqueue()
    drain(jobs)
    assert order == ["start", "body", "stop"]
    jobs.close()


def test_a_worker_whose_start_hook_raises_claims_nothing(tmp_path):
    async def start():
        raise RuntimeError("no pool")

    jobs = JobTrail(f"sqlite:///{tmp_path}/jobs.db", on_worker_start=start, plugins=[])
    job = jobs.task(name="body")(lambda: None).enqueue()
    with pytest.raises(RuntimeError, match="no pool"):
        drain(jobs)
    assert job.refresh().status == "pending"
    jobs.close()
