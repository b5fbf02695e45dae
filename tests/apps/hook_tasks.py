"""An application whose hook notes where it is entered, for threads, coroutines and child processes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading

from jobtrail import JobTrail

entered: list[str] = []


def place() -> str:
    """The process, the thread and the asyncio task of the caller."""
    try:
        task: object = id(asyncio.current_task())
    except RuntimeError:
        task = None
    return f"{os.getpid()}/{threading.get_ident()}/{task}"


@contextlib.contextmanager
def noting(task):
    entered.append(f"{task.name} in {place()}")
    if task.name == "refused":
        raise ValueError("the hook's own")
    yield
    entered.append(f"{task.name} out {place()}")


jobs = JobTrail(os.environ.get("JOBTRAIL_URL", "sqlite:///unused.db"), around_body=noting, plugins=[])


@jobs.task
def plain() -> dict[str, list[str] | str]:
    return {"place": place(), "entered": list(entered)}


@jobs.task
async def coroutine() -> dict[str, list[str] | str]:
    return {"place": place(), "entered": list(entered)}


@jobs.task(executor="process")
def child() -> dict[str, list[str] | str]:
    return {"place": place(), "entered": list(entered)}


@jobs.task
def refused() -> None: ...
