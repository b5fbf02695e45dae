"""The audit over the network: what people did, newest first, whoever did it and wherever it is kept; page by page."""

from __future__ import annotations

from datetime import timedelta

from api_app import problem

from jobtrail.queries.monitoring import audit
from jobtrail.testing import drain


def entries(client, **params):
    answer = client.get("/api/audit", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()["entries"]


def pages(client, **params):
    found, before = [], None
    for _ in range(100):
        told = client.get("/api/audit", params={**params, **({"before": before} if before else {})}).json()
        found.append(told["entries"])
        before = told["next"]
        if before is None:
            return found
    raise AssertionError("the pages do not end")


def deeds(app_jobs, client, ann):
    """Things that two people did, in order."""
    job = app_jobs.get(client.post("/api/jobs", json={"task": "fail", "args": {}, "reason": "a try"}).json()["job"]["id"])
    drain(app_jobs)
    ann.post(f"/api/jobs/{job.id}/retry", json={"reason": "once more"})
    drain(app_jobs)
    client.post("/api/queues/default/pause", json={"reason": "disk full"})
    client.post("/api/queues/default/resume", json={})
    new = ann.post(f"/api/jobs/{job.id}/rerun", json={"mode": "full"}).json()["job"]["id"]
    client.post("/api/schedules", json={"name": "nightly", "task": "add", "rule": "0 3 * * *", "args": {"a": 1}})
    return job.id, new


def test_submissions_moves_and_actions_of_people_stand_in_one_row_newest_first(app_jobs, client, seen_as):
    job, new = deeds(app_jobs, client, seen_as("admin"))
    told = entries(client)
    assert [(one["name"], one["actor"], one["job"], one["target"]) for one in told] == [
        ("schedule_added", "person:local", None, "nightly"), ("rerun", "person:ann", new, None),
        ("queue_resumed", "person:local", None, "default"), ("queue_paused", "person:local", None, "default"),
        ("retried", "person:ann", job, None), ("submitted", "person:local", job, None),
    ]  # fmt: skip
    assert [one["reason"] for one in told] == [None, None, None, "disk full", "once more", "a try"]
    assert told[1]["detail"] == {"task": "fail", "rerun_of": job, "mode": "full"}
    assert len({one["id"] for one in told}) == 6


def test_what_was_done_to_a_job_says_what_the_job_is_about(app_jobs, client):
    of = {"source": "weather/EWR", "period": "2013-02"}
    job = client.post("/api/jobs", json={"task": "fail", "args": {}, **of}).json()["job"]["id"]
    client.post(f"/api/jobs/{job}/cancel", json={})
    client.post("/api/queues/default/pause", json={})
    told = [(one["name"], one["task"], one["source"], one["period"], one["file"]) for one in entries(client)]
    about = ("fail", "weather/EWR", "2013-02", None)
    assert told == [("queue_paused", None, None, None, None), ("cancelled", *about), ("submitted", *about)]


def test_what_machines_do_is_not_there(app_jobs, client):
    app_jobs.task_named("flaky").enqueue()
    app_jobs.schedules.add("nightly", "add", "0 3 * * *", args={"a": 1}, actor="program")
    drain(app_jobs)
    assert entries(client) == []


def test_filters_by_who_what_and_since_when(app_jobs, client, seen_as):
    deeds(app_jobs, client, seen_as("admin"))
    assert [one["name"] for one in entries(client, actor="person:ann")] == ["rerun", "retried"]
    assert len(entries(client, actor="person:*")) == 6
    assert entries(client, actor="person:an") == []
    assert [one["actor"] for one in entries(client, name="queue_paused")] == ["person:local"]
    assert [one["name"] for one in entries(client, name="submitted")] == ["submitted"]
    since = app_jobs.store.now() + timedelta(hours=1)
    assert entries(client, since=since.isoformat()) == []
    assert len(entries(client, since=(since - timedelta(hours=2)).isoformat())) == 6


def test_pages_go_on_where_they_ended_and_nothing_is_lost_or_twice(app_jobs, client, seen_as):
    deeds(app_jobs, client, seen_as("admin"))
    whole = [one["id"] for one in entries(client)]
    for limit in (1, 2, 4, 6):
        told = pages(client, limit=limit)
        assert [one["id"] for page in told for one in page] == whole
        assert all(len(page) <= limit for page in told)


def test_between_much_that_machines_did_a_page_looks_so_far_and_the_next_one_goes_on(app_jobs, client, seen_as, monkeypatch):
    first = deeds(app_jobs, client, seen_as("admin"))[0]
    app_jobs.task_named("add").using(actor="program").enqueue_many({"a": n} for n in range(40))
    for job in app_jobs.task_named("add").using(delay=600).enqueue_many({"a": n} for n in range(15)):
        job.cancel(actor="program")
    whole = [one["id"] for one in entries(client)]
    monkeypatch.setattr(audit, "LOOKED_AT", 10)
    told = pages(client, limit=5)
    assert told[0] == []
    assert [one["id"] for page in told for one in page] == whole
    assert told[-1][-1]["job"] == first


def test_a_place_that_is_none_is_told(client):
    for before in ("x", "1.2", "1.2.3.4", "1.2.notanid", "99999999999999999999..", "-1.."):
        problem(client.get("/api/audit", params={"before": before}), 422, "invalid-filter")
    problem(client.get("/api/audit", params={"since": "2026-01-01T00:00:00"}), 422)
