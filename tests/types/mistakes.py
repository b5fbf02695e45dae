"""More than thirty mistakes: a type checker must find one in each line that ends in ``# wrong``, and nothing else."""

from __future__ import annotations

from datetime import timedelta

from pydantic import BaseModel

from jobtrail import AsyncContext, Context, JobTrail

jobs = JobTrail()


class Choice(BaseModel):
    column: str


@jobs.task
def add(a: int, b: int = 1) -> int:
    return a + b


@jobs.task(kind="sync")
def load(ctx: Context, *, airport: str, rows: int = 0) -> dict[str, int]:
    number: int = ctx.ask("column", "Which column?", Choice)  # wrong
    ctx.ask("column", "Which column?", Choice).colum  # wrong
    answer: bool = ctx.ask("map", "Which?", Choice, kind="mapping")  # wrong
    text: str = ctx.step("add", add, 1)  # wrong
    ctx.step("add", add.using, sauce="x") if ctx.labels["x"] + 1 else None  # wrong
    ctx.set_progress("half")  # wrong
    return {airport: rows + number + len(text) + answer}


@jobs.task
async def fetch(ctx: AsyncContext, url: str) -> list[str]:
    choice: Choice = ctx.ask("column", "Which?", Choice)  # wrong
    return [url, choice.column]


add.enqueue("x")  # wrong
add.enqueue()  # wrong
add.enqueue(1, 2, 3)  # wrong
add.enqueue(a=1, c=2)  # wrong
add.enqueue(b=2)  # wrong
load.enqueue("EWR")  # wrong
load.enqueue(airport=None)  # wrong
load.enqueue(airport="EWR", rows="many")  # wrong
fetch.enqueue(url=1)  # wrong
r1: str = add.enqueue(1).result()  # wrong
r2: list[str] = load.using(source="x").enqueue(airport="EWR").result()  # wrong
add.using(sauce="x")  # wrong
add.using(priority="high")  # wrong
add.using(if_active="maybe")  # wrong
add.using(labels={"a": 1})  # wrong
add.using(delay="soon").enqueue(1)  # wrong
add.using(source="x").enqueue("y")  # wrong
add.then("load")  # wrong
r3: str = add(1)  # wrong
load(airport="EWR")  # wrong
jobs.task(retires=3)  # wrong
jobs.task(timeout="long")  # wrong
jobs.task(on_interrupt="explode")  # wrong
jobs.group([(load, "EWR")])  # wrong
jobs.find(limit="all")  # wrong
jobs.find().nxt  # wrong


async def waits() -> None:
    await add.aenqueue("x")  # wrong
    r4: str = await (await fetch.aenqueue("x")).aresult()  # wrong
    await jobs.get("x").acancel(because="no")  # wrong
    r5: str = await add.enqueue(1).arefresh()  # wrong
    print(r4, r5, timedelta)
