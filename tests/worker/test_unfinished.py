"""A job is not completed when its function returned work that nobody did: a coroutine, a Future, a generator."""

from __future__ import annotations

import asyncio
import functools
import os
import warnings

import pytest
import unfinished_works
from unfinished_works import WORKS, lazily, lazily_async, work

from jobtrail import InvalidOption, Plugin
from jobtrail.testing import MovableClock, drain, inline, tick

REFUSED = "nobody awaits|nobody waits|nobody reads"


@pytest.fixture(autouse=True)
def _nothing_done():
    """No work is done in these tests, and nothing is left for the interpreter to warn of."""
    unfinished_works.done.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def ended(jobs, job):
    drain(jobs)
    job.refresh()
    return job.status, (job.error or {}).get("message", "")


def assert_refused(jobs, job):
    status, message = ended(jobs, job)
    assert status == "failed"
    assert "returned" in message
    assert any(words in message for words in REFUSED.split("|")), message
    assert job.attempt == 1, "another attempt would return the same"
    assert unfinished_works.done == []


@pytest.mark.parametrize("kind", sorted(WORKS))
def test_a_body_that_returns_work_fails_and_says_how_to_declare_it(jobs, kind):
    assert_refused(jobs, jobs.task(name=kind, retry=3)(WORKS[kind]).enqueue())


@pytest.mark.skipif(os.name == "nt", reason="children are told by POSIX signals")
def test_a_body_in_a_child_process_that_returns_work_fails(jobs, tmp_path):
    for task in unfinished_works.app.tasks.all():
        jobs.tasks.add(task)
    named = jobs.task_named
    refused = [named("in_child").enqueue(kind=kind) for kind in ("lambda", "future", "list", "generator", "map")]
    refused += [named("in_child_decorated").enqueue(), named("in_child_async").enqueue()]
    cleaned = named("cleaned_up_in_child").enqueue(folder=str(tmp_path))
    drain(jobs, slots=1)
    for job in refused:
        assert_refused(jobs, job.refresh())
    assert cleaned.refresh().status == "completed"
    assert (tmp_path / "cleaned").exists()


def generator_of_object():
    class Works:
        def __call__(self):
            yield 1

    return Works()


@pytest.mark.parametrize(
    "function",
    [lazily, lazily_async, functools.partial(lazily), generator_of_object(), staticmethod(lazily)],
    ids=["generator", "async generator", "partial", "object", "staticmethod"],
)
def test_a_generator_function_is_refused_where_it_is_declared(jobs, function):
    with pytest.raises(InvalidOption, match="is a generator function"):
        jobs.task(name="lazy")(function)
    with pytest.raises(InvalidOption, match="is a generator function"):
        Plugin("lazy").task(name="lazy")(function)


def test_what_has_no_name_or_cannot_be_called_is_refused(jobs):
    with pytest.raises(InvalidOption, match="give the task a name"):
        jobs.task(functools.partial(work))
    with pytest.raises(InvalidOption, match="bound method"):
        jobs.task(name="bound")(classmethod(work))


class Async:
    async def __call__(self):
        return "object"

    @classmethod
    async def bound(cls):
        return "bound"

    @staticmethod
    async def static():
        return "static"


@pytest.mark.parametrize(
    ("function", "result"),
    [
        (Async(), "object"),
        (functools.partial(Async()), "object"),
        (Async.bound, "bound"),
        (vars(Async)["static"], "static"),
    ],
    ids=["object", "partial", "classmethod", "staticmethod"],
)
def test_a_callable_that_is_async_is_awaited(jobs, function, result):
    job = jobs.task(name="async")(function).enqueue()
    assert ended(jobs, job)[0] == "completed"
    assert job.result() == result


def test_a_decorator_that_runs_the_coroutine_is_a_plain_function(jobs):
    async def answer():
        return 42

    @functools.wraps(answer)
    def synchronous():
        return asyncio.run(answer())

    job = jobs.task(synchronous).enqueue()
    assert ended(jobs, job)[0] == "completed"
    assert job.result() == 42


@pytest.mark.parametrize("value", [open, iter([1])], ids=["file", "list iterator"])
def test_an_iterator_over_what_is_there_is_no_work(jobs, tmp_path, value):
    path = tmp_path / "x"
    path.touch()

    def body():
        if value is not open:
            return value
        with open(path) as file:
            return file

    assert ended(jobs, jobs.task(body).enqueue())[0] == "completed"


# -- middleware ----------------------------------------------------------------------------------------


async def returns_it(run, call_next):
    return call_next(run)


async def forgets_it(run, call_next):
    call_next(run)


@pytest.mark.parametrize("wrong", [returns_it, forgets_it])
@pytest.mark.parametrize("place", [0, 1])
def test_a_middleware_that_does_not_await_the_body_completes_nothing(jobs, wrong, place):
    async def passes(run, call_next):
        return await call_next(run)

    layers = [passes, passes]
    layers[place] = wrong
    job = jobs.task(name="work", middleware=layers)(lambda: unfinished_works.done.append("work")).enqueue()
    status, message = ended(jobs, job)
    assert (status, unfinished_works.done) == ("failed", [])
    assert "return await call_next(run)" in message


def test_a_middleware_may_answer_in_the_bodys_place(jobs):
    async def answers(_run, _call_next):
        return "cached"

    async def passes(run, call_next):
        return await call_next(run)

    job = jobs.task(name="work", middleware=[passes, answers])(lambda: 1).enqueue()
    assert ended(jobs, job)[0] == "completed"
    assert job.result() == "cached"


def test_a_middleware_that_answers_with_work_completes_nothing(jobs):
    async def answers(_run, _call_next):
        return work()

    assert_refused(jobs, jobs.task(name="work", middleware=[answers])(lambda: 1).enqueue())


# -- steps and hooks -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["decorated", "lambda", "future", "list", "generator", "async_generator", "map"])
def test_a_step_that_returns_work_is_not_kept(jobs, kind):
    @jobs.task
    def body(ctx):
        ctx.step("first", WORKS[kind])

    job = body.enqueue()
    status, message = ended(jobs, job)
    assert status == "failed"
    assert "the function of the step 'first' returned" in message


@pytest.mark.parametrize("kind", ["decorated", "lambda", "promise"])
def test_a_step_of_an_async_body_awaits_what_its_function_returned(jobs, kind):
    @jobs.task
    async def body(ctx):
        await ctx.step("first", WORKS[kind])

    assert ended(jobs, body.enqueue())[0] == "completed"
    assert unfinished_works.done == ["work"]


@pytest.mark.parametrize("kind", ["future", "generator", "async_generator", "map"])
def test_a_step_of_an_async_body_that_returns_work_is_not_kept(jobs, kind):
    @jobs.task
    async def body(ctx):
        await ctx.step("first", WORKS[kind])

    status, message = ended(jobs, body.enqueue())
    assert status == "failed"
    assert "the function of the step 'first' returned" in message


def test_a_cleanup_that_returns_a_coroutine_is_awaited(jobs):
    @jobs.task
    def body(ctx):
        ctx.on_cleanup(lambda: work())

    assert ended(jobs, body.enqueue())[0] == "completed"
    assert unfinished_works.done == ["work"]


def test_a_cleanup_that_is_a_generator_is_told_beside_the_end(jobs):
    @jobs.task
    def body(ctx):
        ctx.on_cleanup(lazily)

    job = body.enqueue()
    assert ended(jobs, job)[0] == "completed"
    assert "on_cleanup raised" in job.note


def test_on_cancel_refuses_a_coroutine_function(jobs):
    @jobs.task
    async def body(ctx):
        ctx.on_cancel(work)

    status, message = ended(jobs, body.enqueue())
    assert status == "failed"
    assert "on_cancel() takes a plain function" in message


def test_the_tasks_of_schedules_and_plugins_are_no_exception(make_jobs):
    plugin, clock = Plugin("lazy"), MovableClock()
    of_plugin = plugin.task(name="work")(WORKS["lambda"])
    jobs = make_jobs(plugins=[plugin], clock=clock)
    jobs.schedule("every 1 minute")(jobs.task(name="scheduled")(WORKS["map"]))
    job = jobs.task_named("lazy.work").enqueue()
    tick(jobs)
    clock.move(minutes=1)
    assert (of_plugin.name, tick(jobs)) == ("lazy.work", 1)
    for one in (job, *jobs.find("task:scheduled")):
        assert_refused(jobs, one)


def test_a_job_that_a_test_runs_inline_is_no_exception(jobs):
    with inline(jobs):
        job = jobs.task(name="work")(WORKS["lambda"]).enqueue()
    assert job.status == "failed"
