"""What follows a job: successors and groups come once, after the ends that they want, whoever wrote the end."""

from __future__ import annotations

import asyncio
import threading
from datetime import UTC, datetime, timedelta

import pytest
from trails import count_rows, event, names, until

from jobtrail import Context, InvalidOption, Partial, PermanentError, ResultTimeout
from jobtrail.commands.job_fields import stored_row
from jobtrail.errors import InvalidArguments, TooLarge
from jobtrail.job import transitions
from jobtrail.job.model import Outcome, Status
from jobtrail.job.transitions import Subject
from jobtrail.recovery.upkeep import release
from jobtrail.store import jobs as store_jobs
from jobtrail.store import retention, successors, workers
from jobtrail.testing import MovableClock, drain, recover


@pytest.fixture
def clock():
    return MovableClock()


@pytest.fixture
def app(make_jobs, clock):
    return with_tasks(make_jobs(clock=clock))


def with_tasks(jobs):
    jobs.ran = []

    @jobs.task
    def load(ctx: Context, *, end="success", rows=2):
        if end == "partial":
            return Partial(rows, "half")
        if end == "failure":
            raise PermanentError("no")
        return list(range(rows))

    @jobs.task
    def publish(ctx: Context, *, rows=None, name="publish"):
        jobs.ran.append((name, ctx.source, ctx.period.text if ctx.period else None, rows))
        return name

    return jobs


def chained(app, **using):
    """`load` with one successor for each kind of end."""
    task = app.task_named("load").using(**using)
    for on in ("success", "partial", "failure", "cancelled", "ended"):
        task = task.then(app.task_named("publish"), {"name": on}, on=on)
    return task


def came(app):
    return sorted(name for name, *_ in app.ran)


@pytest.mark.parametrize(
    ("end", "status", "comes"),
    [
        ("success", Status.COMPLETED, ["ended", "success"]),
        ("partial", Status.PARTIAL, ["ended", "partial"]),
        ("failure", Status.FAILED, ["ended", "failure"]),
    ],
)
def test_c54_who_comes_after_which_end(app, end, status, comes):
    job = chained(app, source="weather/EWR", period="2013-02").enqueue(end=end)
    drain(app)
    assert job.refresh().status is status
    assert came(app) == comes
    assert {(source, period) for _, source, period, _ in app.ran} == {("weather/EWR", "2013-02")}, "inherited"
    told = {one["on"][0]: one for one in job.successors()}
    assert {on for on, one in told.items() if one["state"] == "submitted"} == set(comes)
    for on in set(told) - set(comes):
        assert told[on]["state"] == "skipped"
        assert told[on]["reason"] == f"comes on {on}; load {job.id} is {status}"
    for on in comes:
        row = stored_row(app.get(told[on]["job"]))
        assert (row.parent, row.root) == (job.id, job.id)
        assert row.reason == f"follows load {job.id}, which is {status}"
    assert names(job).count("followed") == 2
    assert names(job).count("not_followed") == 3


def test_many_successors_come_in_chunks_each_once(app, monkeypatch):
    monkeypatch.setattr(successors, "CHUNK", 3)
    task, publish = app.task_named("load"), app.task_named("publish")
    for place in range(8):
        using = [publish.using(period=f"200{place}"), publish.using(labels={"a": "b"}), publish.then(publish, {"name": "last"})][place % 3]
        task = task.then(using, {"name": f"{place}"}, on=("success", "failure", "ended")[place % 4 - 1])
    job = task.enqueue()
    worker = app.worker(beat=None)
    asyncio.run(turns_until_ended(worker, job))
    assert app.find("task:publish") == [], "nothing but the end was written in its transaction"
    assert {one["state"] for one in job.successors()} == {"waiting"}
    assert release(app.store) == 3
    drain(app)
    ended = [one for one in job.successors() if one["state"] != "skipped"]
    assert len(ended) == sum(one["on"] != ["failure"] for one in job.successors()) == 6
    assert len(app.find("task:publish", limit=50)) == len(ended) + sum(bool(one["successor"].next) for one in ended)
    assert names(job).count("followed") == 6
    assert names(job).count("not_followed") == 2
    assert release(app.store) == 0


async def turns_until_ended(worker, job):
    async with asyncio.timeout(10):
        while job.refresh().active:
            await worker.run_once()
            await asyncio.sleep(0.01)
    worker.close()


def test_a_job_that_is_retried_before_its_successors_have_come_is_followed_by_both_ends(app, monkeypatch):
    monkeypatch.setattr(successors, "CHUNK", 1)
    job = chained(app).enqueue(end="failure")
    asyncio.run(turns_until_ended(app.worker(beat=None), job))
    job.retry(actor="ann")
    job.cancel(actor="ann")
    drain(app)
    assert came(app) == ["cancelled", "ended", "failure"]


def test_c54_a_cancelled_job_starts_what_wants_to_come_then(app):
    job = chained(app).enqueue()
    job.cancel("stop", actor="ann")
    drain(app)
    assert came(app) == ["cancelled", "ended"]
    assert [one["state"] for one in job.successors()] == ["skipped"] * 3 + ["submitted"] * 2
    job.retry()
    drain(app)
    assert came(app) == ["cancelled", "ended", "success"], "retried, it ends again; what came does not come again"


@pytest.mark.parametrize("noticed", [True, False])
def test_a_body_that_is_cancelled_is_followed_by_what_it_named_for_every_end(app, noticed):
    @app.task
    def stops(ctx: Context):
        for on in ("ended", "cancelled", "success"):
            ctx.schedule_next("publish", {"name": on}, on=on)
        app.get(ctx.job_id).cancel("enough", actor="ann")
        while noticed:
            ctx.check_cancelled()

    job = app.task_named("stops").enqueue()
    drain(app)
    assert job.refresh().status is (Status.CANCELLED if noticed else Status.COMPLETED)
    assert came(app) == sorted(["ended", "cancelled" if noticed else "success"])


def test_c54_a_lost_worker_is_an_end_like_another(app):
    """Its worker is dead and the task says on_interrupt='fail': the successors of a failure come."""

    @app.task(on_interrupt="fail")
    def fragile(ctx: Context):
        """Never runs here."""

    task = app.task_named("fragile").then(app.task_named("publish"), {"name": "failure"}, on="failure")
    job = task.then(app.task_named("publish"), {"name": "ended"}, on="ended").enqueue()
    store, now = app.store, app.store.now()
    gone = job.id
    store.write(lambda c: workers.register(c, store.dialect, gone, ["default"], 1, now))
    (claim,) = store.write(lambda c: store_jobs.claim(c, store.dialect, "default", 5, gone, now))
    store.write(lambda c: workers.mark_dead(c, gone, "gone", now))
    assert claim.id == job.id
    recover(app)
    assert job.refresh().status is Status.FAILED
    assert came(app) == ["ended", "failure"]


def test_c54_a_timeout_is_a_failure(app):
    @app.task(timeout=0.05)
    async def slow(ctx):
        import asyncio

        await asyncio.sleep(30)

    job = app.task_named("slow").then(app.task_named("publish"), {"name": "failure"}, on="failure").enqueue()
    drain(app)
    assert job.refresh().status is Status.FAILED
    assert came(app) == ["failure"]


def test_c54_a_run_that_is_handed_back_at_shutdown_is_no_end(app):
    job = chained(app).enqueue()
    store, now = app.store, app.store.now()
    (claim,) = store.write(lambda c: store_jobs.claim(c, store.dialect, "default", 5, job.id, now))
    move = transitions.handed_back(Subject(claim.id, claim.run_no, claim.attempt), now, reason="interrupted by shutdown")
    assert store.write(lambda c: store_jobs.apply(c, store.dialect, [move], now)) == []
    assert {one["state"] for one in job.successors()} == {"waiting"}
    assert app.find("task:publish") == []
    drain(app)
    assert came(app) == ["ended", "success"], "it ends when it has run again"


def test_c54_attached_in_the_moment_in_which_it_ends(make_jobs):
    """Many times: it comes once, whether it was attached before the end or after it."""
    jobs = with_tasks(make_jobs())
    publish = jobs.task_named("publish")
    made = [jobs.task_named("load").enqueue() for _ in range(40)]
    done = threading.Event()
    attached = []

    def attach():
        for job in made:
            attached.append(job.then(publish, {"name": job.id}, on="success"))
        done.set()

    thread = threading.Thread(target=attach)
    thread.start()
    drain(jobs)
    thread.join()
    assert done.is_set()
    drain(jobs)
    assert sorted(name for name, *_ in jobs.ran) == sorted(job.id for job in made)


def test_attached_after_the_end_it_comes_at_once_if_it_was_its_end(app):
    job = app.task_named("load").enqueue()
    drain(app)
    late = job.then(app.task_named("publish"), {"name": "late"}, on="success")
    assert late is not None
    assert job.then(app.task_named("publish"), {"name": "never"}, on="failure") is None
    assert job.then(app.task_named("publish"), {"name": "late"}, on="success").id == late.id, "the same is declared once"
    drain(app)
    assert came(app) == ["late"]


def test_what_is_attached_keeps_to_the_settings_of_its_application(make_jobs):
    jobs = with_tasks(make_jobs(argument_limit=100))
    job = jobs.task_named("load").enqueue()
    with pytest.raises(TooLarge, match="100 bytes"):
        job.then(jobs.task_named("publish"), {"name": "x" * 200})
    assert job.successors() == []


def test_c54_a_retried_job_is_followed_once(app):
    calls = []

    @app.task
    def flaky(ctx: Context):
        calls.append(1)
        if len(calls) < 3:
            raise PermanentError("no")

    task = app.task_named("flaky")
    for on in ("failure", "success"):
        task = task.then(app.task_named("publish"), {"name": on}, on=on)
    job = task.enqueue()
    for _ in range(3):
        drain(app)
        if job.refresh().status is Status.FAILED:
            job.retry()
    assert came(app) == ["failure", "success"], "the failure came once although it failed twice"


def test_c54_a_parent_that_is_pruned_at_once_leaves_nobody_waiting(app):
    job = app.task_named("load").then(app.task_named("publish"), when=60).enqueue()
    drain(app)
    retention.run_once(app.store, retention.Retention(0, 0, 0, 0), app.store.now() + timedelta(seconds=1))
    (following,) = app.find("task:publish")
    assert following.parent == job.id
    following.run_now()
    drain(app)
    assert came(app) == ["publish"]


def test_an_attempt_that_is_tried_again_leaves_nothing_behind(app, clock):
    @app.task(retry=2)
    def twice(ctx: Context):
        ctx.schedule_next("publish", {"name": f"attempt {ctx.attempt}"})
        if ctx.attempt == 1:
            raise ValueError("again")

    app.task_named("twice").enqueue()
    drain(app)
    assert came(app) == []
    clock.move(hours=1)
    drain(app)
    assert came(app) == ["attempt 2"]


def test_schedule_next_inherits_and_may_be_told_otherwise(app):
    @app.task
    def first(ctx: Context):
        publish = app.task_named("publish")
        ctx.schedule_next(publish, {"name": "same"})
        ctx.schedule_next(publish, {"name": "other"}, source="b", period="2014-01")
        ctx.schedule_next(publish.using(labels={"k": "v"}), {"name": "none"}, source=None, period=None)
        ctx.schedule_next("publish", {"name": "result"}, result_as="rows", period=None)
        return {"n": 1}

    job = app.task_named("first").using(source="a", period="2013-01").enqueue()
    drain(app)
    assert sorted(app.ran, key=str) == sorted(
        [("same", "a", "2013-01", None), ("other", "b", "2014-01", None), ("none", None, None, None), ("result", "a", None, {"n": 1})],
        key=str,
    )
    assert len(app.find("label:k=v")) == 1
    assert job.refresh().status is Status.COMPLETED


@pytest.mark.parametrize(
    ("when", "due"),
    [("now", timedelta(0)), (timedelta(hours=2), timedelta(hours=2)), (30, timedelta(seconds=30))],
)
def test_when_it_is_due(app, when, due):
    job = app.task_named("load").then(app.task_named("publish"), when=when).enqueue()
    drain(app)
    (following,) = app.find("task:publish")
    assert following.run_at == job.refresh().finished_at + due


def test_a_moment_may_be_said(app):
    moment = datetime(2050, 1, 1, tzinfo=UTC)
    app.task_named("load").then(app.task_named("publish"), when=moment).enqueue()
    drain(app)
    assert app.find("task:publish")[0].run_at == moment


def test_a_chain_of_three_has_one_root(app):
    publish = app.task_named("publish")
    second = app.task_named("load").then(publish, {"name": "third"}, result_as="rows")
    job = app.task_named("load").using(source="a", period="2013-01").then(second, {"rows": 1}, period=None).enqueue()
    drain(app)
    assert app.ran == [("third", "a", None, [0])]
    third = stored_row(app.find("task:publish")[0])
    assert third.root == job.id
    assert app.get(third.parent).parent == job.id


@pytest.mark.parametrize(
    ("said", "error", "words"),
    [
        ({"on": "sometimes"}, InvalidOption, "on must be success, partial, failure or cancelled, several of them, or ended"),
        ({"on": ()}, InvalidOption, "on must be"),
        ({"when": -1}, InvalidOption, "when must be"),
        ({"when": datetime(2050, 1, 1)}, InvalidOption, "a datetime with a time zone"),
        ({"when": datetime(3000, 1, 1, tzinfo=UTC)}, InvalidOption, "in the years 1900 to 2999"),
        ({"params": {"nonsense": 1}}, InvalidArguments, "has no argument 'nonsense'"),
        ({"params": {"rows": 1}, "result_as": "rows"}, InvalidArguments, "is to be the result"),
        ({"result_as": "nonsense"}, InvalidArguments, "has no argument 'nonsense'"),
    ],
)
def test_what_cannot_follow_is_refused_before_anything_is_stored(app, said, error, words):
    with pytest.raises(error, match=words):
        app.task_named("load").then(app.task_named("publish"), **said).enqueue()
    assert count_rows(app) == 0
    assert count_rows(app, "successors") == 0


def test_c54_an_unknown_task_is_refused_where_it_is_named(app):
    @app.task
    def first(ctx: Context):
        ctx.schedule_next("nobody")

    job = app.task_named("first").enqueue()
    drain(app)
    assert job.error["type"].endswith("UnknownTask")
    with pytest.raises(InvalidOption, match="cannot be told delay="):
        app.task_named("load").then(app.task_named("publish").using(delay=3)).enqueue()


def test_a_successor_whose_unit_is_active_comes_behind_it(app):
    publish = app.task_named("publish")
    app.task_named("load").using(source="a", period="2013-01").then(publish, {"name": "after"}).enqueue()
    ahead = publish.using(source="a", period="2013-01", delay=3600).enqueue(name="ahead")
    drain(app)
    assert came(app) == []
    ahead.run_now()
    drain(app)
    assert [name for name, *_ in app.ran] == ["ahead", "after"]


def test_a_successor_that_cannot_come_says_why(app):
    publish = app.task_named("publish")
    job = app.task_named("load").using(source="a", period="2013-01").then(publish.using(if_active="raise")).enqueue()
    ahead = publish.using(source="a", period="2013-01", delay=3600).enqueue(name="ahead")
    drain(app)
    (told,) = job.successors()
    assert (told["state"], told["reason"]) == ("refused", f"job {ahead.id} of its unit is in the way")
    assert event(job, "not_followed").reason == told["reason"]


def test_a_second_submission_of_an_active_unit_declares_its_successors_once(app):
    task = app.task_named("load").using(source="a", period="2013-01").then(app.task_named("publish"))
    first, second = task.enqueue(), task.enqueue()
    assert first.id == second.id
    other = app.task_named("load").using(source="a", period="2013-01").then(app.task_named("publish"), {"name": "other"})
    other.enqueue()
    drain(app)
    assert came(app) == ["other", "publish"]


@pytest.mark.parametrize(
    ("items", "fails", "status", "follows"),
    [
        (0, 0, Status.COMPLETED, ["ended", "success"]),
        (10, 10, Status.FAILED, ["ended", "failure"]),
        (10, 1, Status.PARTIAL, ["ended", "partial"]),
        (1, 0, Status.COMPLETED, ["ended", "success"]),
    ],
)
def test_c30_each_end_of_a_job_with_items_is_followed(app, items, fails, status, follows):
    @app.task
    def counted(ctx: Context):
        for item in ctx.items(range(items)):
            with item:
                if item.value < fails:
                    raise ValueError
        return list(range(items))

    task = app.task_named("counted")
    for on in ("success", "partial", "failure", "ended"):
        task = task.then(app.task_named("publish"), {"name": on}, on=on, result_as="rows")
    job = task.enqueue()
    drain(app)
    assert job.refresh().status is status
    assert came(app) == follows
    assert all(rows == list(range(items)) for *_, rows in app.ran), "an empty list is a list, one item a list of one"


def test_c30_all_skipped_is_a_success_and_is_followed(app):
    @app.task
    def skips(ctx: Context):
        for item in ctx.items(range(3)):
            with item:
                item.skip("no need")

    job = app.task_named("skips").then(app.task_named("publish"), {"name": "next"}).enqueue()
    drain(app)
    assert job.refresh().status is Status.COMPLETED
    assert came(app) == ["next"]


# -- groups --------------------------------------------------------------------------------------------


def members(app, *ends):
    return [(app.task_named("load"), {"end": end}) for end in ends]


@pytest.mark.parametrize(
    ("ends", "outcome"),
    [
        (("success", "success"), Outcome.SUCCESS),
        (("success", "failure"), Outcome.PARTIAL),
        (("partial", "failure"), Outcome.PARTIAL),
        (("failure", "failure"), Outcome.ERROR),
        ((), Outcome.SUCCESS),
    ],
)
def test_a_group_is_followed_once_when_all_have_ended(app, ends, outcome):
    group = app.group(members(app, *ends), then=app.task_named("publish"), result_as="rows", name="night")
    drain(app)
    assert group.wait(5) is outcome
    rows = [{"success": [0, 1], "partial": 2, "failure": None}[end] for end in ends]
    assert app.ran == [("publish", None, None, rows)]
    assert [job.task for job in group.jobs()] == ["load"] * len(ends)
    assert sum(group.read()["counts"].values()) == len(ends)


def test_c30_an_empty_group_is_followed_at_once(app):
    group = app.group([], then=app.task_named("publish"), result_as="rows", on="success")
    assert group.outcome() is Outcome.SUCCESS
    assert app.find("task:publish")[0].status is Status.PENDING


def test_a_group_waits_for_its_last_member_and_goes_on_after_a_retry(app):
    group = app.group(members(app, "failure", "success"), then=app.task_named("publish"), on="ended")
    waits = app.group([(app.task_named("load").using(delay=3600), {}), *members(app, "failure")], then=app.task_named("publish"))
    drain(app)
    assert group.outcome() is Outcome.PARTIAL
    assert came(app) == ["publish"]
    assert waits.outcome() is None
    with pytest.raises(ResultTimeout):
        waits.wait(0.05)
    failed = next(job for job in waits.jobs() if job.status is Status.FAILED)
    failed.retry()
    assert waits.read()["counts"] == {None: 2}
    delayed = next(job for job in waits.jobs() if job.run_at > app.store.now())
    delayed.cancel()
    drain(app)
    assert waits.outcome() is Outcome.ERROR, "a cancelled member brought nothing"
    assert came(app) == ["publish", "publish"]


def test_a_group_takes_in_the_jobs_that_stand_for_its_submissions(app):
    active = app.task_named("load").using(source="a", period="2013-01").enqueue()
    group = app.group([(app.task_named("load").using(source="a", period="2013-01"), {})] * 2, then=app.task_named("publish"))
    assert [job.id for job in group.jobs()] == [active.id]
    drain(app)
    assert group.outcome() is Outcome.SUCCESS
    assert came(app) == ["publish"]


def test_members_that_end_together_in_many_workers_are_followed_once(make_jobs):
    jobs = with_tasks(make_jobs())
    groups = [jobs.group(members(jobs, *["success"] * 6), then=jobs.task_named("publish")) for _ in range(5)]
    threads = [threading.Thread(target=drain, args=(jobs,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    until("all groups are over", lambda: all(group.outcome() for group in groups))
    drain(jobs)
    assert came(jobs) == ["publish"] * 5


def test_a_group_keeps_its_members_until_it_is_over(app):
    group = app.group([*members(app, "success"), (app.task_named("load").using(delay=60), {})], then=app.task_named("publish"), result_as="rows")
    drain(app)
    later = app.store.now() + timedelta(days=1)
    retention.run_once(app.store, retention.Retention(0, 0, 0, 0), later)
    assert len(app.find("task:load")) == 2
    next(job for job in group.jobs() if job.status is Status.PENDING).run_now()
    drain(app)
    assert app.ran == [("publish", None, None, [[0, 1], [0, 1]])]
    retention.run_once(app.store, retention.Retention(0, 0, 0, 0), later)
    retention.run_once(app.store, retention.Retention(0, 0, 0, 0), later)
    with app.store.read() as conn:
        assert successors.group_of(conn, group.id) is None
    assert count_rows(app, "successors") == 0


def test_a_group_with_a_wrong_submission_stores_nothing(app):
    with pytest.raises(InvalidArguments):
        app.group([*members(app, "success"), (app.task_named("load"), {"nonsense": 1})], then=app.task_named("publish"))
    assert count_rows(app) == count_rows(app, "groups") == 0
