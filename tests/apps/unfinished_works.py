"""Functions that return work which nobody does; a child process imports this module to find its tasks."""

from __future__ import annotations

import functools
import itertools
from concurrent.futures import ThreadPoolExecutor

from jobtrail import JobTrail

app = JobTrail("sqlite:///never-opened.db")
done: list[str] = []


async def work():
    done.append("work")


def lazily():
    done.append("work")
    yield 1


async def lazily_async():
    done.append("work")
    yield 1


def timed(function):
    """A plain decorator, as people write them for plain functions."""

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


class Promise:
    def __await__(self):
        return work().__await__()


def future():
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(int)


def several_futures():
    with ThreadPoolExecutor(1) as pool:
        return [pool.submit(int), pool.submit(int)]


async def forgets_to_await():
    return work()


async def running_task():
    import asyncio

    return asyncio.get_running_loop().create_task(asyncio.sleep(3600))


WORKS = {
    "decorated": timed(work),
    "cached": functools.cache(lambda: work()),
    "lambda": lambda: work(),
    "promise": Promise,
    "forgets_to_await": forgets_to_await,
    "running_task": running_task,
    "future": future,
    "several_futures": several_futures,
    "list": lambda: [work(), work()],
    "dict": lambda: {"a": 1, "b": work()},
    "generator": lambda: lazily(),
    "expression": lambda: (done.append(x) for x in "ab"),
    "async_generator": lambda: lazily_async(),
    "decorated_generator": timed(lazily),
    "map": lambda: map(done.append, "ab"),
    "chain": lambda: itertools.chain(map(done.append, "ab")),
}


@app.task(executor="process")
def in_child(*, kind: str):
    found = WORKS[kind]()
    return found


@app.task(executor="process")
@timed
async def in_child_decorated():
    return 1


@app.task(executor="process")
async def in_child_async():
    return work()


@app.task(executor="process")
def cleaned_up_in_child(ctx, *, folder: str):
    from pathlib import Path

    async def clean():
        Path(folder, "cleaned").touch()

    ctx.on_cleanup(lambda: clean())
