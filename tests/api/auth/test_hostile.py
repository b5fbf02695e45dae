"""What no page sends: NULs, halves of characters, moments beyond the calendar, numbers that are none. Nothing of it is a 500."""

from __future__ import annotations

import json

from api_app import problem

from jobtrail.testing import drain

NUL, HALF = "\x00", "\ud800"
LOOKS = [
    "/api/units?task=%00", "/api/units?task=load&source=%00", "/api/units?task=load&first=%00", "/api/units/%00",
    "/api/units/files?task=%00", "/api/units?task=load&zoom=hour&first=9999", "/api/units?task=load&zoom=year&first=0001&last=0300",
    "/api/units?task=load&skip=99999999999999", "/api/questions/%00", "/api/tasks/%00", "/api/schedules/%00", "/api/schedules/x%00y",
    "/api/errors/%00", "/api/errors?hours=nan", "/api/errors/matrix?hours=8784", "/api/audit?actor=%00", "/api/audit?name=%00",
    "/api/audit?actor=%00*", "/api/audit?since=9999-12-31T23:59:59-12:00", "/api/audit?since=0001-01-01T00:00:00%2B14:00",
    "/api/audit?before=1.2.01978f3e-0000-7000-8000-000000000000", "/api/missed?since=0001-01-01T00:00:00%2B14:00",
    "/api/stats/series?task=%00", "/api/stats/series?hours=0.00001", "/api/stats/series?hours=8784", "/api/stats/series?hours=inf",
    "/api/live/events?topic=%00", "/api/live/events?topic=job&job=%00", "/api/live/events?topic=jobs&filter=status:%00",
]  # fmt: skip
DAILY = {"name": "x", "task": "add", "rule": "0 3 * * *", "args": {"a": 1}}
DEEDS = [
    ("/api/bulk/preview", {"action": "retry", "filter": NUL}),
    ("/api/bulk/preview", {"action": "retry", "filter": f"task:{NUL}"}),
    ("/api/bulk/preview", {"action": "retry", "ids": [NUL * 36]}),
    ("/api/bulk", {"action": "retry", "filter": "status:failed", "digest": "0" * 32, "at": "0001-01-01T00:00:00+14:00"}),
    ("/api/bulk", {"action": "retry", "filter": "status:failed", "digest": "0" * 32, "at": "2026-01-01T00:00:00Z", "reason": NUL + HALF}),
    ("/api/units/preview", {"task": NUL, "first": "2013"}),
    ("/api/units/preview", {"task": "load", "first": "2013", "sources": [NUL]}),
    ("/api/units/preview", {"task": "load", "first": "2013", "sources": []}),
    ("/api/units/backfill", {"task": "load", "first": "2013", "sources": ["a"], "args": {"rows": NUL + HALF}, "reason": NUL}),
    ("/api/questions/01978f3e-0000-7000-8000-000000000000/answer", {"value": NUL + HALF}),
    ("/api/schedules", {**DAILY, "name": NUL}),
    ("/api/schedules", {**DAILY, "task": "fail", "args": {"message": NUL + HALF}}),
    ("/api/schedules", {**DAILY, "labels": {NUL: "a"}}),
    ("/api/schedules", {**DAILY, "source": NUL}),
    ("/api/schedules", {**DAILY, "tz": NUL}),
    ("/api/schedules", {**DAILY, "window": 1e308}),
    ("/api/schedules", {**DAILY, "rule": "at 0001-01-01T00:00+14:00"}),
    ("/api/schedules", {**DAILY, "ends_at": "9999-12-31T23:59:59-12:00"}),
    ("/api/schedules/x/pause", {"until": "9999-12-31T23:59:59-12:00"}),
    ("/api/schedules/x/pause", {"reason": NUL + HALF}),
    ("/api/schedules/preview", {"rule": "every 999999999999 days"}),
    ("/api/schedules/preview", {"rule": "0 3 * * *", "tz": "../etc"}),
    ("/api/queues/%00/pause", {}),
    ("/api/queues/default/pause", {"reason": NUL + HALF}),
    ("/api/jobs", {"task": "fail", "args": {"message": NUL + HALF, HALF: 1}}),
    ("/api/jobs", {"task": "add", "args": {"a": 1}, "run_at": "9999-12-31T23:59:59-12:00"}),
]


def post(client, path, said):
    """As bytes: half a character cannot be sent otherwise."""
    return client.post(path, content=json.dumps(said).encode(), headers={"Content-Type": "application/json"})


def test_what_no_page_sends_is_refused_or_kept_and_every_page_can_still_be_shown(app_jobs, client):
    app_jobs.task_named("fail").enqueue(message=f"a {HALF} half and a {NUL}")
    drain(app_jobs)
    for path in LOOKS:
        assert client.get(path).status_code < 500, path
    for path, said in DEEDS:
        assert post(client, path, said).status_code < 500, (path, said)
    job = post(client, "/api/jobs", {"task": "fail", "args": {"x": HALF}}).json()["job"]["id"]
    for path in (
        f"/api/jobs/{job}", "/api/jobs", "/api/schedules", "/api/schedules/x", "/api/queues", "/api/workers", "/api/tasks",
        "/api/audit", "/api/errors", "/api/stats", "/api/stats/needs", "/api/stats/series", "/api/questions",
    ):  # fmt: skip
        assert client.get(path).status_code == 200, path
    assert client.get(f"/api/jobs/{job}").json()["arguments"] == {"x": "\\ud800"}


def test_a_moment_beyond_the_calendar_is_refused_in_words_and_stores_nothing(app_jobs, client):
    app_jobs.schedules.add("x", "add", "0 3 * * *", args={"a": 1})
    told = problem(client.post("/api/schedules/x/pause", json={"until": "9999-12-31T23:59:59-12:00"}), 422, "invalid-request")
    assert "must be in the years 1900 to 2999" in told["detail"]
    assert client.get("/api/schedules/x").json()["state"] == "active"
