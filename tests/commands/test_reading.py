"""Reading stored jobs in Python: pages, order, counts, labels and context, and the twins for an event loop."""

from __future__ import annotations

import inspect
import keyword
import threading

import pytest

from jobtrail import Context, InvalidFilter, InvalidOption, Job, JobTrail
from jobtrail.commands.groups import Group
from jobtrail.commands.task_handle import BoundTask
from jobtrail.queries.facade import Queries
from jobtrail.schedules.service import Schedules
from jobtrail.store.search import scan_filter
from jobtrail.testing import drain

# What does not wait for the database: it declares, works in memory, or makes what runs.
NO_WAIT = {
    JobTrail: {"task", "schedule", "task_named", "worker", "host", "asgi", "metrics", "running", "lifespan", "before_removal"},
    BoundTask: {"using", "then", "submission"},
    Schedules: {"declare", "from_table", "from_celery", "scheduler", "accompany"},
    Queries: {"shared"},
}
OWNERS = (JobTrail, Job, BoundTask, Group, Schedules, Queries)


def twin_of(name: str) -> str:
    return f"a{name}_" if keyword.iskeyword(f"a{name}") else f"a{name}"


def methods(owner) -> dict[str, object]:
    found = {name: getattr(owner, name) for name in dir(owner) if not name.startswith("_")}
    return {name: value for name, value in found.items() if inspect.isfunction(value) and name not in NO_WAIT.get(owner, ())}


@pytest.mark.parametrize("owner", OWNERS, ids=lambda one: one.__name__)
def test_every_method_that_waits_has_a_twin_with_the_same_parameters(owner):
    found = methods(owner)
    asynchronous = {
        name for name, value in found.items() if inspect.iscoroutinefunction(value) or inspect.isasyncgenfunction(value)
    }
    waits = found.keys() - asynchronous
    assert waits
    assert {twin_of(name) for name in waits} == asynchronous
    for name in waits:
        ours, twins = (inspect.signature(found[one]).parameters.values() for one in (name, twin_of(name)))
        assert [(one.name, one.kind, one.default) for one in ours] == [(one.name, one.kind, one.default) for one in twins], name


@pytest.fixture
def app(make_jobs):
    jobs = make_jobs()

    @jobs.task
    def note(ctx: Context, *, n: int = 0) -> dict:
        return {"labels": ctx.labels, "context": ctx.context, "n": n}

    return jobs


@pytest.mark.both_databases
async def test_twins_do_the_same_in_a_thread(app):
    note = app.task_named("note")
    job = await note.using(run_at=None, source="a").aenqueue(n=1)
    assert (await job.arefresh()).source == "a"
    assert [one.id for one in await app.afind("source:a")] == [job.id]
    assert [one.id async for one in app.aeach()] == [job.id]
    assert (await app.acount()).number == 1
    assert (await job.acancel(reason="enough")).status == "cancelled"
    assert [event.name for event in await job.aevents()] == [event.name for event in job.events()]
    (again,) = await app.aenqueue_each([(note, {"n": 2})])
    group = await app.agroup([(note, {"n": 3})])
    assert len(await group.ajobs()) == 1
    assert (await app.queries.ajobs(limit=1)).jobs[0].id != job.id
    assert await app.schedules.alist() == []
    with pytest.raises(InvalidFilter):
        await app.afind("nothing:here")
    seen = []
    app.service.find = lambda *_args, **_kwargs: seen.append(threading.current_thread())
    await app.afind()
    assert seen != [threading.current_thread()]
    assert again.created


@pytest.mark.both_databases
def test_find_says_when_there_is_more_and_goes_on_in_both_orders(app):
    made = [job.id for job in app.task_named("note").enqueue_many({"n": n} for n in range(7))]
    assert [job.id for job in app.find()] == made[::-1]
    assert app.find().next is None
    assert app.find(limit=7).next is None
    for order, edge, expected in (("newest", "before", made[::-1]), ("oldest", "after", made)):
        read, place = [], {}
        while True:
            page = app.find(limit=3, order=order, **place)
            read += [job.id for job in page]
            if page.next is None:
                break
            place = {edge: page.next}
        assert read == expected
        assert [job.id for job in app.each(order=order)] == expected
    assert [job.id for job in app.find(after=made[1], before=made[4])] == [made[3], made[2]]
    with pytest.raises(InvalidOption, match="newest"):
        app.find(order="best")


def test_more_than_a_page_is_read_once(app, monkeypatch):
    monkeypatch.setattr("jobtrail.commands.service.PAGE", 3)
    made = [job.id for job in app.task_named("note").enqueue_many({"n": n} for n in range(8))]
    read = []
    monkeypatch.setattr(Job, "_read", lambda self: read.append(self))
    found = app.find(limit=7)
    assert [(job.id, job.arguments["n"]) for job in found] == [(made[n], n) for n in range(7, 0, -1)]
    assert read == [], "rows came with the page"
    assert found.next == made[1]


def test_a_scan_begins_with_the_oldest(app, monkeypatch):
    monkeypatch.setattr(scan_filter, "NEWEST", 4)
    monkeypatch.setattr(scan_filter, "FIRST", 2)
    made = [job.id for job in app.task_named("note").enqueue_many({"n": n % 2} for n in range(9))]
    page = app.queries.jobs("args.n:1", order="oldest")
    assert [line.id for line in page.jobs] == [made[1], made[3]]
    assert page.next == made[3]
    assert "oldest-searched" in page.note
    assert [job.id for job in app.each("args.n:1", order="oldest")] == made[1::2]


def test_a_body_reads_its_labels_and_context_and_successors_inherit_them(make_jobs):
    jobs = make_jobs()

    @jobs.task
    def last(ctx: Context, *, n: int = 0) -> dict:
        return {"labels": ctx.labels, "context": ctx.context}

    @jobs.task
    def first(ctx: Context) -> dict:
        ctx.schedule_next(last)
        return {"labels": ctx.labels, "context": ctx.context}

    task = first.then(last.using(labels={"tenant": "b", "step": "2"}, context={"more": 1}).then(last))
    job = task.using(labels={"tenant": "a", "run": "x"}, context={"request": {"id": 7}}).enqueue()
    drain(jobs)
    job.then(last, {"n": 1})
    drain(jobs)
    whole = {"labels": {"tenant": "a", "run": "x"}, "context": {"request": {"id": 7}}}
    assert job.result() == whole
    assert job.labels == whole["labels"]
    own = {"labels": {"tenant": "b", "run": "x", "step": "2"}, "context": {"request": {"id": 7}, "more": 1}}
    after = [one.result() for one in jobs.find("task:last", order="oldest")]
    assert sorted(after, key=str) == sorted([whole, whole, own, own], key=str)
    assert {one.id for one in jobs.find("label:tenant=b label:step=2")} == {
        one.id for one in jobs.find("task:last") if one.labels["tenant"] == "b"
    }
    assert jobs.queries.job(job.id).options is None, "labels are shown once"
