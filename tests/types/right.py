"""Right uses: a type checker must find nothing here. They are read by `scripts/check_types.py`, not run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any, assert_type

from pydantic import BaseModel

from jobtrail import AsyncContext, BoundTask, Context, Job, JobTrail, Partial, Retry
from jobtrail.commands.groups import Group
from jobtrail.commands.job_handle import JobList
from jobtrail.job.model import Outcome
from jobtrail.worker.run import Run

jobs = JobTrail()


class Choice(BaseModel):
    column: str


@jobs.task
def add(a: int, b: int = 1) -> int:
    return a + b


@jobs.task(kind="sync", retry=Retry(attempts=3), timeout=timedelta(minutes=1), priority=2, queue="slow", executor="process")
def load(ctx: Context, *, airport: str, rows: int = 0) -> dict[str, int]:
    choice = ctx.ask("column", "Which column?", Choice, expires=timedelta(days=1))  # 1
    assert_type(choice, Choice)
    assert_type(ctx.ask("sure", "Sure?", bool), bool)  # 2
    assert_type(ctx.ask("map", "Which?", Choice, kind="mapping", columns=["a"]), dict[str, str | None])  # 3
    free: Any = ctx.ask("free", "What?", {"type": "string"})  # 4
    assert_type(ctx.step("add", add, 1, 2), int)  # 5
    ctx.schedule_next(add, {"a": 1})
    ctx.set_progress(done=1, total=2)
    assert_type(ctx.labels, dict[str, str])
    return {airport: rows + len(str(free))}


@jobs.task(retry=3, on_interrupt="hold", secret=["password"], options={"rate": 5})
async def fetch(ctx: AsyncContext, url: str, *, password: str | None = None) -> list[str]:
    assert_type(await ctx.ask("column", "Which?", Choice), Choice)  # 6
    return [url, password or ""]


@jobs.task
async def plain(n: int) -> str:
    return str(n)


@jobs.schedule("0 3 * * *", args={"n": 1})
@jobs.task(name="nightly")
def night(n: int) -> Partial | None:
    return Partial(n, "half") if n else None


def submissions() -> None:
    assert_type(add.enqueue(1), Job[int])  # 7
    assert_type(add.enqueue(a=1, b=2).result(), int)  # 8
    assert_type(load.enqueue(airport="EWR").result(timeout=5), dict[str, int])  # 9
    assert_type(load.using(source="w", period="2013-02", labels={"a": "b"}).enqueue(airport="EWR", rows=2), Job[dict[str, int]])  # 10
    assert_type(fetch.enqueue("x", password="y"), Job[list[str]])  # 11
    assert_type(plain.using(delay=timedelta(seconds=3), if_active="queue").enqueue(n=3).wait(), Job[str])  # 12
    assert_type(add.enqueue_many([{"a": 1}]), list[Job[int]])  # 13
    assert_type(add.then(load, {"airport": "EWR"}, on="failure").enqueue(1), Job[int])  # 14
    assert_type(night.enqueue(1).result(), Partial | None)  # 15
    add.using(run_at=datetime.now(UTC), priority=1, retry=Retry(attempts=2), timeout=5.0, idempotency="params").enqueue(1)  # 16


async def waits() -> None:
    assert_type(await add.aenqueue(1), Job[int])  # 17
    assert_type(await (await fetch.aenqueue("x")).aresult(), list[str])  # 18
    job = add.enqueue(1)
    assert_type(await job.arefresh(), Job[int])  # 19
    assert_type(await job.acancel(reason="no"), Job[int])  # 20
    assert_type(await job.await_(timeout=3), Job[int])  # 21
    found: JobList = await jobs.afind("status:failed", limit=3, order="oldest")  # 22
    assert_type(found.next, str | None)
    async for one in jobs.aeach("task:add"):  # 23
        assert_type(one.id, str)


def calls() -> None:
    """A task keeps the type of its function."""
    assert_type(add(1, 2), int)  # 24
    running: Callable[[int], Coroutine[Any, Any, str]] = plain  # 25
    waiting: Awaitable[str] = plain(1)  # 26
    print(running, waiting)


def handles(anything: BoundTask, typed: BoundTask[[int], str]) -> Group:
    anything.enqueue(1, "x", y=None)  # 27
    assert_type(typed.enqueue(1).result(), str)
    group = jobs.group([(add, {"a": 1}), (load.using(source="x"), {"airport": "EWR"})], then=night, result_as="n")  # 28
    outcome: Outcome = group.wait(timeout=1)  # 29
    print(outcome)
    jobs.enqueue_each([(add, {"a": 1}), (plain, {"n": 2})])  # 30
    return group


async def middleware(run: Run, call_next: Callable[[Run], Awaitable[Any]]) -> Any:
    return await call_next(run)


JobTrail(middleware=[middleware])
