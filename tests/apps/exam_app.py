"""The tasks of `process_tasks`, and some that follow each other, on the executor that the environment names."""

from __future__ import annotations

import os
from dataclasses import replace

import process_tasks

from jobtrail import Context, JobTrail

EXECUTOR = os.environ.get("EXAM_EXECUTOR", "local")
SETTINGS = {"poll_interval": 0.1, "cancel_timeout": 1.0}
celery_app = None


def make(url: str, executor: str) -> JobTrail:
    """An application whose tasks run there."""
    global celery_app
    if executor != "celery":
        made = JobTrail(url, executor=executor, **SETTINGS)
    else:
        from celery import Celery

        from jobtrail.integrations.celery import CeleryExecutor

        celery_app = Celery("exam", broker=os.environ["EXAM_BROKER"])
        celery_app.conf.update(worker_prefetch_multiplier=1, broker_connection_retry_on_startup=True)
        made = JobTrail(url, executor=CeleryExecutor(celery_app), **SETTINGS)
    for task in (*process_tasks.app.tasks.all(), *_own.tasks.all()):
        own = replace(task, executor=None, memory_limit=None)
        made.tasks.add(made.executors.resolved(own))
    made.state.word = "of the child"
    return made


_own = JobTrail("sqlite:///never-opened.db")


@_own.task
def add(x: int, y: int) -> int:
    """A plain function."""
    return x + y


@_own.task
def double(value: int) -> int:
    """Takes a result."""
    return 2 * value


@_own.task
def total(values: list[int]) -> int:
    """Takes the results of a group."""
    return sum(value for value in values if value is not None)


@_own.task
async def aadd(x: int, y: int) -> int:
    """A coroutine."""
    return x + y


@_own.task
def load(ctx: Context, path: str) -> int:
    """Fails for the items that are named in a file."""
    with open(path, encoding="utf-8") as file:
        bad = {line.strip() for line in file}
    for item in ctx.items(range(6), key=str):
        with item:
            if str(item.value) in bad:
                raise ValueError(f"bad {item.value}")
    return 6


if "EXAM_URL" in os.environ:
    app = make(os.environ["EXAM_URL"], EXECUTOR)
