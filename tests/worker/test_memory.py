"""What a body leaves: its variables are released with its end, without the collector's help."""

from __future__ import annotations

import asyncio
import gc
import weakref

import process_tasks
import pytest

from jobtrail import PermanentError, Snooze
from jobtrail.testing import drain


class Rows:
    """Much memory."""


def chained(rows):
    try:
        raise KeyError("first")
    except KeyError as error:
        raise ValueError(str(rows)) from error


def grouped(rows):
    errors = []
    for _ in range(2):
        try:
            chained(rows)
        except ValueError as error:
            errors.append(error)
    raise ExceptionGroup("many", errors)


def kept(rows):
    error = PermanentError("kept in a variable of its own frame")
    raise error


def generated(rows):
    def lines():
        mine = rows
        yield 1
        raise ValueError(str(mine))

    list(lines())


ENDS = {"chained": chained, "grouped": grouped, "kept": kept, "generated": generated}


@pytest.fixture
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("end", [*ENDS, "snooze", "retry", "item", "step", "closure"])
@pytest.mark.parametrize("kind", ["thread", "coroutine"])
def test_the_variables_of_a_body_are_released_when_it_has_ended(jobs, kind, end):
    alive = []

    def body(ctx):
        rows = Rows()
        alive.append(weakref.ref(rows))
        if end == "snooze":
            return Snooze(3600)
        if end == "retry":
            ctx.request_retry(after=3600)
        if end == "item":
            for item in ctx.items([1, 2]):
                with item:
                    chained(rows)
        if end == "closure":
            ctx.on_cancel(lambda: (ctx, rows))
            ctx.on_cleanup(lambda: (ctx, rows))
            chained(rows)
        if end == "step":
            return ctx.step("step", chained, 1) if kind == "thread" else chained(rows)
        return ENDS[end](rows)

    async def abody(ctx):
        await asyncio.sleep(0)
        return body(ctx)

    task = jobs.task(name="work")(body if kind == "thread" else abody)
    task.enqueue_many({} for _ in range(5))
    drain(jobs, slots=2)
    assert len(alive) == 5
    assert [ref() for ref in alive if ref() is not None] == []


def test_a_child_process_releases_them_too(jobs):
    for name in ("fail_with_rows", "rows_left"):
        jobs.tasks.add(process_tasks.app.tasks.get(name))
    jobs.task_named("fail_with_rows").enqueue_many({} for _ in range(3))
    last = jobs.task_named("rows_left").enqueue()
    drain(jobs, slots=1)
    assert last.result() == [3, 0]
