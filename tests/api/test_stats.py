"""Numbers over the network: how it stands, how it has gone on, what needs a person; counted."""

from __future__ import annotations

import time
from datetime import timedelta
from types import SimpleNamespace

import pytest
from sqlalchemy import update
from trails import *  # noqa: F403 - fixtures

from jobtrail.database import tables
from jobtrail.job.model import new_id
from jobtrail.queries import context, read_cache
from jobtrail.store.search import search
from jobtrail.store.search.search import smallest_id
from jobtrail.store.totals import durations, ends
from jobtrail.testing import drain

HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def _always_fresh(monkeypatch):
    monkeypatch.setattr(read_cache, "FRESH_FOR", 0.0)


def put(jobs, task, ago, **values):
    """A job that was made so long ago."""
    job = jobs.task_named(task).enqueue(**({"a": 1} if task == "add" else {}))
    now = jobs.store.now()
    made = now - ago
    identity = smallest_id(made)[:19] + new_id()[19:]
    given = {"id": identity, "created_at": made, "run_at": made, **values}
    jobs.store.write(lambda conn: conn.execute(update(tables.jobs).where(tables.jobs.c.id == job.id).values(given)))
    return identity


def ended(jobs, ago, *, waited=2.0, ran=10.0, status="completed", task="add"):
    """A job that was made so long ago and has ended, counted as it would have been."""
    made = jobs.store.now() - ago
    started = made + timedelta(seconds=waited)
    over = started + timedelta(seconds=ran)
    outcome = {"completed": "success", "partial": "partial", "failed": "error"}[status]
    job = put(jobs, task, ago, status=status, outcome=outcome, started_at=started, finished_at=over, run_no=1)
    jobs.store.write(lambda conn: ends.count(conn, ends.ended(conn, [job])))
    return job


def now(client):
    return client.get("/api/stats").json()


# -- how it stands -------------------------------------------------------------------------------------


def test_jobs_by_status_queues_and_workers_at_this_moment(app_jobs, client):
    add = app_jobs.task_named("add")
    add.enqueue_many([{"a": 1}] * 3)
    add.using(delay=600).enqueue(a=1)
    add.using(queue="slow").enqueue(a=1)
    for _ in range(2):
        ended(app_jobs, timedelta(seconds=30))
    told = now(client)
    assert told["status"]["pending"] == {"number": 5, "more": False}
    assert told["status"]["completed"]["number"] == 2
    assert {one["queue"]: (one["due"], one["later"]) for one in told["queues"]} == {"default": (3, 1), "slow": (1, 0)}
    assert told["oldest"] is not None
    assert (told["living"], told["slots"], told["held"], told["questions"], told["paused"]) == (0, 0, 0, 0, [])


def test_when_a_queue_is_empty_is_told_from_how_many_ended_lately(app_jobs, client):
    app_jobs.task_named("add").enqueue_many([{"a": 1}] * 6)
    for n in range(20):
        ended(app_jobs, timedelta(seconds=30 + 10 * n))
    told = now(client)
    (queue,) = told["queues"]
    assert 20 / 360 <= queue["rate"] <= 20 / 300, "the first of the five minutes is a whole one"
    assert told["drained_in"] == queue["drained_in"] == pytest.approx(6 / queue["rate"])


def test_when_nothing_ended_lately_nobody_knows_when_a_queue_is_empty(app_jobs, client):
    app_jobs.task_named("add").enqueue(a=1)
    ended(app_jobs, timedelta(minutes=8))
    assert now(client)["drained_in"] is None


# -- how it has gone on --------------------------------------------------------------------------------


def test_what_ended_is_counted_where_it_ended(app_jobs, client):
    past_the_minute = app_jobs.store.now().timestamp() % 60 - 5
    for status, ago in (("completed", 10), ("completed", 10), ("failed", 10), ("partial", 50), ("completed", 50)):
        ended(app_jobs, timedelta(minutes=ago, seconds=past_the_minute), status=status)
    ended(app_jobs, timedelta(minutes=70), waited=15 * 60, ran=60)  # made before, ended within
    told = client.get("/api/stats/series?hours=1").json()
    assert (told["step"], told["task"], told["queue"], told["source"]) == (60, None, None, None)
    total: dict[str, int] = {}
    for point in told["points"]:
        for status, number in point["finished"].items():
            total[status] = total.get(status, 0) + number
    assert total == {"completed": 4, "failed": 1, "partial": 1}
    busy = [point for point in told["points"] if sum(point["finished"].values()) == 3]
    assert len(busy) == 1
    assert busy[0]["wait"] == pytest.approx({"p50": 2.0, "p95": 2.0}, rel=0.04)
    assert busy[0]["run"]["p50"] == pytest.approx(10.0, rel=0.04)


def test_what_is_very_much_is_not_counted_each_second_and_what_is_little_is(app_jobs, client, monkeypatch):
    monkeypatch.setattr(context, "LONG", 5)
    monkeypatch.setattr(search.in_status, "__defaults__", (1,))
    add = app_jobs.task_named("add")
    add.enqueue_many([{"a": 1}] * 5)
    add.using(queue="slow").enqueue(a=1)
    for _ in range(2):
        ended(app_jobs, timedelta(seconds=30))

    def told():
        found, counts = now(client), client.get("/api/jobs/counts").json()
        assert counts["status"] == found["status"]
        return (
            {one["queue"]: one["due"] for one in found["queues"]},
            found["status"]["pending"]["number"],
            found["status"]["completed"],
        )

    before = told()
    assert before == ({"default": 5, "slow": 1}, 6, {"number": 1, "more": True})
    add.enqueue(a=1)
    assert told() == before
    drain(app_jobs, queues=["default"])
    add.using(queue="slow").enqueue(a=1)
    assert told() == ({"slow": 2}, 2, {"number": 1, "more": True})
    monkeypatch.setattr(search.in_status, "__defaults__", (9,))
    monkeypatch.setattr(
        read_cache, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + read_cache.STEADY_FOR[1])
    )
    assert told() == ({"slow": 2}, 2, {"number": 8, "more": False})


def test_one_task_queue_or_source_is_told_alone(app_jobs, client):
    add = app_jobs.task_named("add")
    ended(app_jobs, timedelta(minutes=5), task="fail", status="failed")
    add.using(queue="slow", source="w/A").enqueue(a=1)
    add.using(source="w/B").enqueue(a=1)
    drain(app_jobs, queues=["slow", "default"])
    for words, number in (
        ({"task": "fail"}, 1), ({"task": "add"}, 2), ({"queue": "slow"}, 1), ({"source": "w/B"}, 1),
        ({"source": "w/A", "queue": "default"}, 0), ({"source": "w/A", "queue": "slow", "task": "add"}, 1), ({"task": "nobody"}, 0),
    ):  # fmt: skip
        told = client.get("/api/stats/series", params={"hours": 1, **words}).json()
        assert sum(sum(point["finished"].values()) for point in told["points"]) == number, words
        assert {name: told[name] for name in words} == words


def test_many_ends_of_one_moment_are_all_counted(app_jobs, client):
    app_jobs.task_named("add").enqueue_many([{"a": 1}] * 178)
    app_jobs.task_named("fail").enqueue_many([{}] * 60)
    app_jobs.task_named("add").enqueue(a=1).cancel()
    drain(app_jobs)
    points = client.get("/api/stats/series?hours=24").json()["points"]
    total = {status: sum(point["finished"].get(status, 0) for point in points) for status in ("completed", "failed", "cancelled", "partial")}
    assert total == {"completed": 178, "failed": 60, "cancelled": 1, "partial": 0}


# -- what needs a person -------------------------------------------------------------------------------


def needs(client):
    return client.get("/api/stats/needs").json()["needs"]


def test_what_needs_a_person_comes_with_the_nearest_deadline_first_and_equal_failures_together(app_jobs, client):
    @app_jobs.task
    def asks_soon(ctx):
        return ctx.ask("go", "Go?", bool, expires=timedelta(hours=1))

    failed = app_jobs.task_named("fail").enqueue_many([{"message": "no file"}] * 3)
    partial = app_jobs.task_named("load").using(source="A", period="2013-01").enqueue(rows=3, bad=2)
    asking = [asks_soon.enqueue(), app_jobs.task_named("asks").enqueue()]
    drain(app_jobs)
    app_jobs.task_named("add").using(queue="nobody").enqueue(a=1)
    told = needs(client)
    assert (told[0]["kind"], told[0]["asks"], told[0]["job"]) == ("question", "input", asking[0].id)
    kinds = {one["kind"]: one for one in told}
    assert set(kinds) == {"question", "failed", "partial", "no_worker"}
    assert (kinds["failed"]["count"], kinds["failed"]["job"], kinds["failed"]["task"]) == (3, max(job.id for job in failed), "fail")
    found = client.get("/api/jobs", params={"q": kinds["failed"]["filter"]}).json()["jobs"]
    assert {job["id"] for job in found} == {job.id for job in failed}
    assert (kinds["partial"]["job"], kinds["partial"]["items_failed"], kinds["partial"]["period"]) == (partial.id, 2, "2013-01")
    assert (kinds["no_worker"]["queue"], kinds["no_worker"]["count"]) == ("nobody", 1)


def test_what_follows_a_deadline_is_the_same_in_the_overview_and_among_the_questions(app_jobs, client):
    @app_jobs.task
    def asks_with_default(ctx):
        return ctx.ask("go", "Go?", bool, expires=timedelta(hours=1), default=True)

    @app_jobs.task
    def asks_without(ctx):
        return ctx.ask("go", "Go?", bool, expires=timedelta(hours=1))

    asks_with_default.enqueue()
    asks_without.enqueue()
    drain(app_jobs)
    overview = {one["question"]: one["has_default"] for one in needs(client)}
    inbox = {one["id"]: one["has_default"] for one in client.get("/api/questions").json()["questions"]}
    assert overview == inbox
    assert sorted(overview.values()) == [False, True]


def test_what_was_taken_up_needs_nobody_any_more(app_jobs, client):
    (job,) = app_jobs.task_named("fail").enqueue_many([{}])
    drain(app_jobs)
    assert [one["kind"] for one in needs(client)] == ["failed"]
    job.rerun("full")
    assert [one["kind"] for one in needs(client)] == ["no_worker"]
    drain(app_jobs)
    assert len(needs(client)) == 1


def test_c37_numbers_are_for_viewers(seen_as):
    for path in ("/api/stats", "/api/stats/series", "/api/stats/needs", "/api/audit", "/api/errors", "/api/errors/matrix", "/api/workers", "/api/queues"):  # fmt: skip
        assert seen_as("viewer").get(path).status_code == 200, path
        assert seen_as(None).get(path).status_code == 401, path


def test_what_is_pending_is_the_sum_of_what_the_queues_show_and_of_what_a_list_counts(app_jobs, client):
    add = app_jobs.task_named("add")
    add.enqueue_many([{"a": 1}] * 3)
    add.using(delay=600, queue="slow").enqueue(a=1)
    for a in (1, 2):
        add.using(source="s", period="2013", queue="behind", if_active="queue").enqueue(a=a)
    put(app_jobs, "add", HOUR, suspect=True)
    told, queues = now(client), client.get("/api/queues").json()["queues"]
    parts = [(one["due"], one["later"], one["behind"], one["alone"]) for one in queues]
    sums = [sum(numbers) for numbers in zip(*parts, strict=True)]
    assert sums == [4, 1, 1, 1]
    assert (told["behind"], told["alone"], told["status"]["pending"]["number"]) == (1, 1, 7)
    assert client.get("/api/jobs/counts").json()["status"]["pending"]["number"] == 7
    assert client.get("/api/jobs?q=status:pending&count=true").json()["count"]["number"] == 7


# -- how a task has gone -----------------------------------------------------------------------------

DAY = timedelta(days=1)


def history(client, name="add"):
    return client.get("/api/stats/task", params={"name": name}).json()


def test_rates_and_durations_of_the_week_and_of_the_week_before(app_jobs, client):
    for day, ran, status in ((1, 10, "completed"), (2, 10, "completed"), (3, 10, "partial"), (4, 100, "failed")):
        ended(app_jobs, day * DAY, ran=ran, status=status)
    ended(app_jobs, 9 * DAY, ran=2, status="completed")
    ended(app_jobs, 16 * DAY, ran=5)  # neither of them
    ended(app_jobs, DAY, ran=7, task="load")
    told = history(client)
    assert told["week"]["finished"] == {"completed": 2, "failed": 1, "partial": 1}
    assert (told["week"]["ended"], told["week"]["success"], told["week"]["partial"]) == (4, 0.5, 0.25)
    assert told["week"]["run"] == pytest.approx({"p50": 10, "p95": 100, "p99": 100}, rel=0.04)
    assert (told["before"]["finished"], told["before"]["success"]) == ({"completed": 1}, 1.0)
    assert told["before"]["run"]["p50"] == pytest.approx(2, rel=0.04)
    shown = [(one["least"], one["most"], one["jobs"]) for one in told["durations"] if one["jobs"]]
    assert [jobs for *_, jobs in shown] == [3, 1]
    assert shown[0][0] <= 10 < shown[0][1]
    assert all(one["most"] == two["least"] for one, two in zip(told["durations"], told["durations"][1:], strict=False))
    assert [one["seconds"] for one in told["runs"]] == [5, 2, 100, 10, 10, 10]


def test_its_errors_are_those_of_the_page_of_errors_and_its_units_are_counted(app_jobs, client):
    fail, load = app_jobs.task_named("fail"), app_jobs.task_named("load")
    for message in ("disk full", "disk full", "no table"):
        fail.enqueue(message=message)
    for period, bad in (("2013-01", 0), ("2013-02", 1)):
        load.using(source="s", period=period).enqueue(bad=bad)
    drain(app_jobs)
    told = history(client, "fail")
    kinds = {one["fingerprint"]: one for one in client.get("/api/errors").json()["kinds"]}
    assert told["errors"]
    for one in told["errors"]:
        assert (one["error"], one["jobs"]) == (
            kinds[one["fingerprint"]]["error"],
            kinds[one["fingerprint"]]["jobs"]["number"],
        )
    assert sum(one["jobs"] for one in told["errors"]) == 3
    assert (history(client, "load")["units"], history(client, "load")["units_more"]) == (
        {"partial": 1, "success": 1},
        False,
    )


def test_a_task_that_has_never_run_is_empty_and_only_viewers_see_it(client, seen_as):
    told = history(client, "nobody")
    assert (told["week"]["ended"], told["week"]["success"], told["week"]["run"], told["durations"], told["runs"]) == (
        0,
        None,
        None,
        [],
        [],
    )
    assert seen_as(None).get("/api/stats/task?name=add").status_code == 401


@pytest.mark.parametrize("micros", [0, 1, 15, 16, 31, 32, 1000, 999_983, 86_400_000_000])
def test_a_class_begins_where_no_smaller_duration_has_it(micros):
    number = durations.class_of(micros)
    assert durations.begin_of(number) * 1e6 <= micros < durations.begin_of(number + 1) * 1e6 + 1e-6
