"""Numbers over the network: how it stands, how it has gone on, what needs a person; exact where it can be, marked where not."""

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
from jobtrail.queries.monitoring import charts
from jobtrail.store.search import search
from jobtrail.store.search.search import smallest_id
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
    made = jobs.store.now() - ago
    started = made + timedelta(seconds=waited)
    return put(jobs, task, ago, status=status, started_at=started, finished_at=started + timedelta(seconds=ran), run_no=1)


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
    assert queue["rate"] == pytest.approx(20 / 300)
    assert told["drained_in"] == queue["drained_in"] == pytest.approx(6 / queue["rate"])


def test_when_nothing_ended_lately_nobody_knows_when_a_queue_is_empty(app_jobs, client):
    app_jobs.task_named("add").enqueue(a=1)
    ended(app_jobs, timedelta(minutes=8))
    assert now(client)["drained_in"] is None


# -- how it has gone on --------------------------------------------------------------------------------


def test_what_was_submitted_and_ended_is_counted_where_it_happened(app_jobs, client):
    past_the_minute = app_jobs.store.now().timestamp() % 60 - 5
    for status, ago in (("completed", 10), ("completed", 10), ("failed", 10), ("partial", 50), ("completed", 50)):
        ended(app_jobs, timedelta(minutes=ago, seconds=past_the_minute), status=status)
    ended(app_jobs, timedelta(minutes=70), waited=15 * 60, ran=60)  # made before, ended within
    told = client.get("/api/stats/series?hours=1").json()
    assert (told["step"], told["sampled"], told["task"]) == (60, False, None)
    assert sum(point["submitted"] for point in told["points"]) == 5
    total: dict[str, int] = {}
    for point in told["points"]:
        for status, number in point["finished"].items():
            total[status] = total.get(status, 0) + number
    assert total == {"completed": 4, "failed": 1, "partial": 1}
    busy = [point for point in told["points"] if point["submitted"] == 3]
    assert len(busy) == 1
    assert busy[0]["wait"] == pytest.approx({"p50": 2.0, "p95": 2.0}, abs=0.2)
    assert busy[0]["run"]["p50"] == pytest.approx(10.0, abs=0.2)


def test_what_is_very_much_is_not_counted_each_second_and_what_is_little_is(app_jobs, client, monkeypatch):
    monkeypatch.setattr(context, "LONG", 5)
    monkeypatch.setattr(search.in_status, "__defaults__", (4,))
    add = app_jobs.task_named("add")
    add.enqueue_many([{"a": 1}] * 5)
    add.using(queue="slow").enqueue(a=1)
    for _ in range(2):
        ended(app_jobs, timedelta(seconds=30))

    def told():
        found, counts = now(client), client.get("/api/jobs/counts").json()
        assert counts["status"] == found["status"]
        return {one["queue"]: one["due"] for one in found["queues"]}, found["status"]["pending"], found["status"]["completed"]["number"]

    before = told()
    assert before == ({"default": 5, "slow": 1}, {"number": 4, "more": True}, 2)
    add.enqueue(a=1)
    assert told() == before
    drain(app_jobs, queues=["default"])
    add.using(queue="slow").enqueue(a=1)
    after = told()
    assert after == ({"slow": 2}, {"number": 4, "more": True}, 4)
    monkeypatch.setattr(read_cache, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + read_cache.STEADY_FOR[1]))
    assert told() == ({"slow": 2}, {"number": 2, "more": False}, 4)


def test_how_many_wait_and_run_is_an_average_and_at_the_end_as_it_is(app_jobs, client):
    for n in range(6):
        ended(app_jobs, timedelta(minutes=30, seconds=n * 10), waited=300, ran=600)
    app_jobs.task_named("add").enqueue_many([{"a": 1}] * 4)
    points = client.get("/api/stats/series?hours=1").json()["points"]
    assert max(point["waiting"] for point in points[:-1]) == 6
    assert max(point["running"] for point in points[:-1]) == 6
    assert (points[0]["waiting"], points[0]["running"]) == (0, 0)
    assert (points[-1]["waiting"], points[-1]["running"]) == (4, 0)


def test_one_task_is_told_alone(app_jobs, client):
    ended(app_jobs, timedelta(minutes=5), task="add")
    ended(app_jobs, timedelta(minutes=5), task="fail", status="failed")
    told = client.get("/api/stats/series?hours=1&task=fail").json()
    assert (sum(point["submitted"] for point in told["points"]), told["task"]) == (1, "fail")


def test_of_many_some_stand_for_all_and_the_numbers_keep_their_size(app_jobs, monkeypatch):
    """400 jobs within one stratum, of which a few are looked at."""
    for n in range(400):
        ended(app_jobs, timedelta(minutes=30, seconds=(n * 7) % 20), waited=1, ran=5, status="failed" if n % 4 == 0 else "completed")
    at = app_jobs.store.now()
    with app_jobs.store.read() as conn:
        told = charts.SeriesReader().read(conn, at, seconds=24 * 3600)
    assert told.sampled
    assert sum(point.submitted for point in told.points) == 400
    finished = {status: sum(point.finished.get(status, 0) for point in told.points) for status in ("completed", "failed")}
    assert finished["completed"] + finished["failed"] == pytest.approx(400, abs=4)
    assert 40 <= finished["failed"] <= 180


def test_a_backlog_older_than_the_window_counts_as_waiting_all_the_time_and_its_ends_are_seen(app_jobs, client):
    for _ in range(5):
        put(app_jobs, "add", 48 * HOUR)
    ended(app_jobs, 49 * HOUR, waited=49 * 3600 - 1200, ran=60)
    points = client.get("/api/stats/series?hours=1").json()["points"]
    assert [point["waiting"] for point in points] == [6] * 40 + [point["waiting"] for point in points[40:]]
    assert [point["waiting"] for point in points[-15:]] == [5] * 15
    assert sum(point["finished"].get("completed", 0) for point in points) == 1


def test_what_is_settled_is_not_read_again(app_jobs):
    for n in range(5):
        ended(app_jobs, timedelta(minutes=10 + n))
    reader = charts.SeriesReader()
    with app_jobs.store.read() as conn:
        first = reader.read(conn, app_jobs.store.now(), seconds=3600)
        looked = []
        original = charts._look
        charts._look = lambda conn, step, places, task: looked.extend(places) or original(conn, step, places, task)
        try:
            again = reader.read(conn, app_jobs.store.now(), seconds=3600)
        finally:
            charts._look = original
    assert len(looked) <= 4
    assert [point.finished for point in again.points][-30:] == [point.finished for point in first.points][-30:]


def test_what_may_have_changed_is_read_again_part_by_part_and_all_of_it_in_the_end(app_jobs, monkeypatch):
    for n in range(40):
        put(app_jobs, "add", timedelta(minutes=10 + n))
    clock, looked, original = [1000.0], [], charts._look
    monkeypatch.setattr(charts, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(charts, "_look", lambda conn, step, places, task: looked.extend(places) or original(conn, step, places, task))
    reader, at = charts.SeriesReader(), app_jobs.store.now()

    def tell(later):
        looked.clear()
        clock[0] += later
        with app_jobs.store.read() as conn:
            points = reader.read(conn, at, seconds=3600).points
        return set(looked), sum(sum(point.finished.values()) for point in points)

    everything, _ = tell(0)
    assert tell(charts.NEW_FOR / 2)[0] == set()
    end = {"status": "completed", "started_at": at - HOUR / 6, "finished_at": at - HOUR / 12, "run_no": 1}
    app_jobs.store.write(lambda conn: conn.execute(update(tables.jobs).values(end)))
    first, seen = tell(charts.OPEN_FOR)
    second, seen_later = tell(charts.NEW_FOR / 2)
    assert 0 < seen < 40
    assert len(first) <= charts.AGAIN + 2  # and the newest, which are read every time
    assert second
    assert not first & second
    assert seen_later == 40
    assert tell(charts.SETTLED_FOR * charts.PATIENCE)[0] == everything


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
