"""Workers and queues over the network: who lives and what they do, and a queue that is paused at once, with a reason."""

from __future__ import annotations

import json
import threading
from datetime import timedelta

from api_app import problem
from sqlalchemy import update
from trails import until

from jobtrail import Limit
from jobtrail.database import tables
from jobtrail.job.model import Status
from jobtrail.testing import drain


def queue(client, name="default"):
    return next(one for one in client.get("/api/queues").json()["queues"] if one["name"] == name)


def test_a_worker_is_told_with_its_beat_its_slots_and_what_it_executes(app_jobs, client):
    go_on = threading.Event()

    @app_jobs.task
    def waits():
        go_on.wait(20)

    job = waits.using(source="A", period="2013-02").enqueue()
    worker = app_jobs.worker(slots=3, beat="thread")
    thread = threading.Thread(target=lambda: __import__("asyncio").run(worker.run()))
    app_jobs.service.make_ready()
    thread.start()
    try:
        until("it runs", lambda: job.refresh().status is Status.RUNNING)
        told = client.get("/api/workers").json()
        (one,) = told["workers"]
        assert (one["state"], one["slots"], one["queues"], one["held"], one["silent"]) == ("alive", 3, ["default"], 1, False)
        assert 0 <= one["beat_age"] < 15
        assert [(held["id"], held["task"], held["source"], held["period"]) for held in one["jobs"]] == [(job.id, "waits", "A", "2013-02")]
        assert (told["living"], told["slots"], told["held"]) == (1, 3, 1)
        assert (queue(client)["workers"], queue(client)["slots"], queue(client)["running"]) == (1, 3, 1)
    finally:
        go_on.set()
        worker.stop()
        thread.join()
    (gone,) = client.get("/api/workers").json()["workers"]
    assert (gone["state"], gone["jobs"], gone["silent"]) == ("stopped", [], False)


def test_those_that_live_come_first_a_silent_one_is_marked_and_its_trouble_is_told(app_jobs, client):
    for _ in range(2):
        app_jobs.task_named("add").enqueue(a=1)
        drain(app_jobs, beat="thread")
    detail = json.dumps({"store_away": {"why": "no route to postgresql://u:s3cr3t-XYZ@h/db"}})

    def change(conn):
        first = conn.execute(tables.workers.select().order_by(tables.workers.c.started_at)).first().id
        conn.execute(update(tables.workers).where(tables.workers.c.id == first).values(state="alive", stopped_at=None, detail=detail))
        conn.execute(update(tables.beats).values(at=app_jobs.store.now() - timedelta(seconds=40)))
        return first

    first = app_jobs.store.write(change)
    answer = client.get("/api/workers")
    one = answer.json()["workers"][0]
    assert (one["id"], one["silent"]) == (first, True)
    assert one["beat_age"] >= 40
    assert one["trouble"]["store_away"]["why"] == "no route to postgresql://u:***@h/db"
    assert "s3cr3t" not in answer.text


def test_a_queue_is_paused_with_a_reason_and_gives_no_work_until_it_is_resumed(app_jobs, client):
    job = app_jobs.task_named("add").using(queue="slow").enqueue(a=1)
    answer = client.post("/api/queues/slow/pause", json={"reason": "disk full"})
    assert answer.status_code == 200
    told = queue(client, "slow")
    assert (told["due"], told["paused"], told["actor"], told["reason"]) == (1, True, "person:local", "disk full")
    drain(app_jobs, queues=["slow"])
    assert job.refresh().status is Status.PENDING
    (need,) = [one for one in client.get("/api/stats/needs").json()["needs"] if one["queue"] == "slow"]
    assert (need["kind"], need["text"], need["count"]) == ("paused", "disk full", 1)
    client.post("/api/queues/slow/resume", json={})
    drain(app_jobs, queues=["slow"])
    assert job.refresh().status is Status.COMPLETED
    assert [entry["name"] for entry in client.get("/api/audit").json()["entries"]] == ["queue_resumed", "queue_paused"]


def test_every_queue_of_a_known_task_is_listed_and_an_unknown_one_is_not_paused(app_jobs, client, seen_as):
    app_jobs.task(name="mails", queue="mail")(lambda: None)
    assert [one["name"] for one in client.get("/api/queues").json()["queues"]] == ["default", "mail"]
    assert "there are: default, mail" in problem(client.post("/api/queues/mial/pause", json={}), 404, "not-found")["detail"]
    assert client.post("/api/queues/mail/pause", json={}).status_code == 200
    for role, status in (("viewer", 403), (None, 401)):
        assert seen_as(role).post("/api/queues/mail/resume", json={}).status_code == status
    assert queue(client, "mail")["paused"]


def test_a_limit_is_changed_at_once_and_recorded(app_jobs, client):
    @app_jobs.task(limits=[Limit("{queue}/{tenant}", running=1)])
    def send(*, tenant: str) -> None:
        """Nothing."""

    send.enqueue_many([{"tenant": "a"}] * 3)
    name = "{queue}/{tenant}"
    (line,) = client.get("/api/limits").json()["limits"]
    assert (line["name"], line["now"]["running"], line["waiting"]) == (name, 1, 3)
    assert line["keys"] == [{"key": "default/a", "running": 0, "waiting": 3, "free": 1, "next_at": None}]
    given = {"running": None, "rate": 2, "per": 3600, "reason": "their server is slow"}
    (line,) = client.put(f"/api/limits/{name}", json=given).json()["limits"]
    assert (line["now"], line["declared"]["running"]) == ({"running": None, "rate": 2, "per": 3600.0}, 1)
    assert (line["actor"] is not None, line["reason"]) == (True, "their server is slow")
    assert len(drain(app_jobs)) == 2
    (key,) = client.get("/api/limits").json()["limits"][0]["keys"]
    assert (key["free"], key["waiting"], key["next_at"] is not None) == (0, 1, True)
    (line,) = client.post(f"/api/limits/{name}/reset", json={}).json()["limits"]
    assert (line["now"], line["actor"]) == (line["declared"], None)
    assert len(drain(app_jobs)) == 1
    told = client.get("/api/audit").json()["entries"]
    assert [one["name"] for one in told if one["name"].startswith("limit")] == ["limit_reset", "limit_set"]
    problem(client.put("/api/limits/nobody", json={"running": 1}), 404)
    problem(client.put(f"/api/limits/{name}", json={"running": 0}), 422)
