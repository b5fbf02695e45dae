"""Schedules over the network: what comes next, what was missed, what was edited, and steering with a reason."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from api_app import add_tasks, problem
from trails import *  # noqa: F403 - fixtures

from jobtrail.job.masking import MASK
from jobtrail.testing import MovableClock, drain, tick

SECRET = "s3cr3t-XYZ"
NEW = {"name": "nightly", "task": "add", "rule": "0 3 * * *", "tz": "Europe/Berlin", "args": {"a": 1}, "reason": "as agreed"}


@pytest.fixture
def clock():
    return MovableClock(datetime(2026, 3, 28, 12, tzinfo=UTC))


@pytest.fixture
def app_jobs(make_jobs, clock):
    return add_tasks(make_jobs(clock=clock))


def added(client, **said):
    answer = client.post("/api/schedules", json={**NEW, **said})
    assert answer.status_code == 201, answer.text
    return answer.json()


def one(client, name="nightly", **params):
    return client.get(f"/api/schedules/{name}", params=params).json()


def test_a_schedule_is_added_and_told_in_two_languages_with_offsets_over_a_change_of_the_clock(client):
    told = added(client)
    assert told["words"] == {"en": "every day at 03:00 (Europe/Berlin)", "ru": "каждый день в 03:00 (Europe/Berlin)"}
    assert [moment["local"] for moment in told["following"][:2]] == ["2026-03-29T03:00:00+02:00", "2026-03-30T03:00:00+02:00"]
    assert (len(told["following"]), told["state"], told["origin"], told["zone"]) == (20, "active", "person", "Europe/Berlin")
    assert len(one(client, times=3)["following"]) == 3
    (line,) = client.get("/api/schedules").json()["schedules"]
    assert (line["name"], line["next"]["at"]) == ("nightly", "2026-03-29T01:00:00Z")
    (trail,) = told["trail"]
    assert (trail["name"], trail["actor"], trail["reason"]) == ("schedule_added", "person:local", "as agreed")


def test_a_rule_is_understood_before_it_is_used(client):
    told = client.post("/api/schedules/preview", json={"rule": "every 90 minutes", "tz": "Europe/Moscow"}).json()
    assert told["words"]["en"] == "every 1 hour 30 minutes"
    first, second = (datetime.fromisoformat(one["local"]) for one in told["following"][:2])
    assert second - first == timedelta(minutes=90)
    assert "hour" in problem(client.post("/api/schedules/preview", json={"rule": "0 25 * * *"}), 422, "invalid-schedule")["detail"]


def test_it_is_paused_resumed_and_run_now_and_each_is_in_its_trail(app_jobs, client):
    added(client)
    paused = client.post("/api/schedules/nightly/pause", json={"reason": "the source moves", "until": "2026-03-30T00:00:00Z"}).json()
    assert paused["state"] == "paused"
    assert (paused["paused"]["by"], paused["paused"]["reason"], paused["paused"]["until"]) == ("person:local", "the source moves", "2026-03-30T00:00:00Z")
    assert client.post("/api/schedules/nightly/resume", json={}).json()["state"] == "active"
    problem(client.post("/api/schedules/nightly/resume", json={}), 409, "conflict")
    job = app_jobs.get(client.post("/api/schedules/nightly/run-now", json={"reason": "now"}).json()["job"])
    assert (job.actor, job.reason) == ("person:local", "now")
    told = problem(client.post("/api/schedules/nightly/run-now", json={}), 409, "already-active")
    assert told["job"] == job.id
    drain(app_jobs)
    assert [line["name"] for line in one(client)["trail"]] == ["schedule_resumed", "schedule_paused", "schedule_added"]
    assert one(client)["slots"][0]["job"] == job.id


def test_missed_times_are_told_with_their_reason(app_jobs, client, clock):
    added(client, catch_up="skip", grace=60)
    clock.move(hours=48)
    tick(app_jobs)
    slots = client.get("/api/missed").json()["slots"]
    told = [(slot["schedule"], slot["planned"]["local"], slot["state"], slot["reason"]) for slot in slots]
    assert told == [
        ("nightly", "2026-03-30T03:00:00+02:00", "missed", "no scheduler was running"), ("nightly", "2026-03-29T03:00:00+02:00", "missed", "too late"),
    ]  # fmt: skip
    assert [slot["planned"] for slot in one(client)["slots"]] == [slot["planned"] for slot in slots]
    problem(client.get("/api/missed?since=2026-03-28T12:00:00"), 422)


def test_what_a_person_edits_of_a_declared_one_is_drift_until_the_codes_is_taken(app_jobs, client):
    app_jobs.schedules.declare(app_jobs.task_named("add"), "0 4 * * *", name="coded", args={"a": 1})
    assert client.get("/api/schedules").json()["declared_only"] == ["coded"]
    app_jobs.schedules.sync()
    told = client.patch("/api/schedules/coded", json={"rule": "0 5 * * *", "overlap": "queue", "reason": "too early"}).json()
    assert told["edited"]
    assert told["drift"]["changes"]["overlap"] == {"declared": "skip", "edited": "queue"}
    assert (told["drift"]["by"], told["drift"]["reason"]) == ("person:local", "too early")
    problem(client.delete("/api/schedules/coded"), 409, "conflict")
    assert client.post("/api/schedules/coded/take-code", json={}).json()["drift"] is None


def test_c17_secrets_among_its_arguments_are_masked_and_stay_what_they_are_when_sent_back(app_jobs, client):
    app_jobs.task(name="signs", secret={"pin"})(lambda *, pin, password, a=1: None)
    told = added(client, task="signs", args={"pin": SECRET, "password": SECRET, "a": 1})
    assert told["definition"]["args"] == {"pin": MASK, "password": MASK, "a": 1}
    changed = client.patch("/api/schedules/nightly", json={"args": {"pin": MASK, "password": MASK, "a": 2}}).json()
    assert changed["definition"]["args"]["a"] == 2
    assert app_jobs.schedules.get("nightly").definition.args == {"pin": SECRET, "password": SECRET, "a": 2}
    told = problem(client.post("/api/schedules", json={**NEW, "name": "copy", "args": {"a": MASK}}), 422, "invalid-arguments")
    assert told["detail"] == "$.args.a is masked; give its value"
    everything = json.dumps([one(client), client.get("/api/schedules").json(), changed])
    assert SECRET not in everything


def test_what_cannot_be_is_told_and_nothing_is_stored(client):
    for said, code in (({"rule": "61 * * * *"}, "invalid-schedule"), ({"task": "nope"}, "unknown-task"), ({"args": {}}, "invalid-arguments"), ({"colour": 1}, "invalid-request"), ({"catch_up": "some"}, "invalid-option")):  # fmt: skip
        problem(client.post("/api/schedules", json={**NEW, **said}), 422, code)
    assert client.get("/api/schedules").json()["schedules"] == []
    added(client)
    problem(client.post("/api/schedules", json=NEW), 409, "conflict")
    problem(client.get("/api/schedules/nothing"), 404, "not-found")
    problem(client.post("/api/schedules/nightly/pause", json={"until": "2026-04-01T00:00:00"}), 422)
    assert client.delete("/api/schedules/nightly", params={"reason": "done"}).status_code == 204
    problem(client.get("/api/schedules/nightly"), 404)


def test_who_may_do_what(client, seen_as):
    added(client)
    calls = {
        "operator": [("post", "/api/schedules/nightly/pause"), ("post", "/api/schedules/nightly/resume"), ("post", "/api/schedules/nightly/run-now")],
        "admin": [("post", "/api/schedules"), ("patch", "/api/schedules/nightly"), ("post", "/api/schedules/nightly/take-code"), ("delete", "/api/schedules/nightly")],
    }  # fmt: skip
    below = {"operator": "viewer", "admin": "operator"}
    for role, routes in calls.items():
        for method, path in routes:
            said = {} if method == "delete" else {"json": {}}
            problem(getattr(seen_as(below[role]), method)(path, **said), 403, "role-needed")
