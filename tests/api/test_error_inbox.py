"""Errors as an inbox: acknowledged, muted, mended, and back on regression; each step is an entry of the audit."""

from __future__ import annotations

from datetime import timedelta

import pytest
from api_app import problem
from trails import *  # noqa: F403 - fixtures
from trails import actions

from jobtrail.testing import drain


@pytest.fixture
def failed(app_jobs, client):
    """An error that a job has, and its fingerprint."""
    app_jobs.task_named("fail").enqueue(message="disk full")
    drain(app_jobs)
    (kind,) = client.get("/api/errors").json()["kinds"]
    return kind["fingerprint"]


@pytest.fixture
def say(client, failed):
    """Says something of it, and gives how it stands then."""

    def send(action, **given):
        answer = client.post(f"/api/errors/{failed}/handling", json={"action": action, **given})
        assert answer.status_code == 200, answer.text
        return answer.json()

    return send


def standing(client):
    """How many are open, and the states of those that are listed with and without the handled ones."""
    whole, open_ = client.get("/api/errors").json(), client.get("/api/errors?unhandled=true").json()
    assert whole["open"] == open_["open"]
    return whole["open"], [one["state"] for one in whole["kinds"]], [one["state"] for one in open_["kinds"]]


@pytest.mark.both_databases
def test_an_error_is_open_until_somebody_acknowledges_it_and_again_when_it_is_reopened(app_jobs, client, failed, say):
    assert standing(client) == (1, ["open"], ["open"])
    told = say("acknowledge", reason="the disk is ordered")
    assert (told["state"], told["handling"]["reason"], told["handling"]["action"]) == (
        "acknowledged",
        "the disk is ordered",
        "acknowledge",
    )
    app_jobs.task_named("fail").enqueue(message="disk full")
    drain(app_jobs)
    assert standing(client) == (0, ["acknowledged"], [])
    assert say("reopen")["state"] == "open"
    assert standing(client) == (1, ["open"], ["open"])
    names = [entry["name"] for entry in client.get("/api/audit").json()["entries"] if entry["target"] == failed]
    assert names == ["error_reopened", "error_acknowledged"]
    (entry,) = actions(app_jobs, "error_acknowledged")
    assert (entry["target"], entry["reason"]) == (failed, "the disk is ordered")


def test_a_mute_ends_by_itself(app_jobs, client, failed, say):
    until = app_jobs.store.now() + timedelta(hours=1)
    assert say("mute", until=until.isoformat())["state"] == "muted"
    assert standing(client) == (0, ["muted"], [])
    from jobtrail.queries.monitoring import error_groups

    with app_jobs.store.read() as conn:
        later = error_groups.groups(conn, until - timedelta(days=7), until)
    assert (later.open, later.kinds[0].state) == (1, "open")


@pytest.mark.both_databases
def test_what_is_mended_comes_back_with_a_run_of_a_worker_that_was_started_afterwards(app_jobs, client, say, make_jobs):
    told = say("mend", version="2.4.1")
    assert (told["state"], told["handling"]["version"]) == ("mended", "2.4.1")
    assert standing(client) == (0, ["mended"], [])
    app_jobs.task_named("fail").enqueue(message="disk full")
    drain(app_jobs)  # by a worker of its own
    assert standing(client) == (1, ["returned"], ["returned"])
    assert say("mend", version="2.4.2")["state"] == "mended"


def test_a_worker_that_still_has_the_old_code_brings_nothing_back(app_jobs, client, say):
    import asyncio

    async def old_worker_runs():
        async with app_jobs.running():
            app_jobs.task_named("fail").enqueue(message="disk full")
            await wait_for(lambda: app_jobs.count("status:failed").number == 2)
            say("mend", version="3")
            app_jobs.task_named("fail").enqueue(message="disk full")
            await wait_for(lambda: app_jobs.count("status:failed").number == 3)

    async def wait_for(fact):
        for _ in range(1000):
            if fact():
                return
            await asyncio.sleep(0.01)
        pytest.fail("waited in vain")

    asyncio.run(old_worker_runs())
    assert standing(client) == (0, ["mended"], [])


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({"action": "acknowledge"}, 422),
        ({"action": "mute"}, 422),
        ({"action": "mute", "until": "2001-01-01T00:00:00Z"}, 422),
        ({"action": "mend"}, 422),
        ({"action": "reopen", "version": "1"}, 422),
        ({"action": "forget"}, 422),
    ],
)
def test_what_an_action_needs_is_asked_for(client, failed, given, status):
    problem(client.post(f"/api/errors/{failed}/handling", json=given), status)
    assert standing(client)[0] == 1


def test_only_operators_say_something_and_only_of_errors_that_there_are(client, seen_as, failed):
    given = {"action": "reopen"}
    problem(seen_as("viewer").post(f"/api/errors/{failed}/handling", json=given), 403)
    problem(client.post("/api/errors/0123456789abcdef/handling", json=given), 404)
    told = seen_as("operator").post(f"/api/errors/{failed}/handling", json=given).json()
    assert told["handling"]["actor"] == "person:ann"
