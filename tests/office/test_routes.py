"""The routes of modules: what a card needs, who may do what, tokens of one module."""

from __future__ import annotations

from datetime import timedelta

import pytest
from starlette.testclient import TestClient
from watched import NOON

from jobtrail.office.aggregation import Change
from jobtrail.office.views import bar_of, bar_start
from jobtrail.store import tokens


@pytest.fixture
def ann(jobs):
    """Somebody on this machine: an administrator."""
    return TestClient(jobs.asgi(), headers={"X-Jobtrail": "1"}, base_url="http://127.0.0.1", client=("127.0.0.1", 5000))


def with_token(jobs, role, bound_to=None):
    values = {"name": role, "role": role, "actor": "test", "bound_to": bound_to}
    jobs.make_ready()
    _, text = jobs.store.write(lambda conn: tokens.create(conn, jobs.store.dialect, jobs.store.now(), **values))
    return TestClient(jobs.asgi(local=False), headers={"Authorization": f"Bearer {text}"})


def test_a_beat_and_the_card_that_comes_of_it(jobs, ann, clock):
    answer = ann.post("/api/modules/parser/activity", json={"message": "5 files", "numbers": {"rows": 120}})
    assert answer.json() == {"module": "parser", "status": "ok", "stored": True, "ahead": 0.0}
    assert ann.post("/api/modules/parser/activity", json={}).json()["stored"] is False
    assert ann.post("/api/modules/parser/activity", json={"wait": True}).json()["stored"] is True
    clock.move(minutes=6)
    found = ann.get("/api/modules").json()
    (one,) = found["modules"]
    assert (one["module"], one["status"], one["stale"], one["age"], one["message"]) == ("parser", "ok", True, 360, "5 files")
    assert one["numbers"] == {"rows": 120}
    assert (len(one["bar"]), one["bar"][-1], one["bar"][-2]) == (96, "o", "-")
    assert found["counts"] == {"ok": 1}
    assert found["watched_at"] is None
    jobs.office.turn()
    found = ann.get("/api/modules").json()
    assert (found["watched_at"], found["watch_by"]) == ("2026-03-02T12:06:00Z", "2026-03-02T12:06:30Z")
    assert (found["modules"][0]["status"], found["modules"][0]["bar"][-1]) == ("warning", "w")


def test_one_module_with_history_and_hours(jobs, ann, clock):
    jobs.office.beat("parser", rows=3)
    clock.move(minutes=30)
    found = ann.get("/api/modules/parser").json()
    assert [(line["from"], line["to"], line["reason"]) for line in found["history"]] == [
        ("new", "ok", "first report"), (None, "new", "registered"),
    ]  # fmt: skip
    assert len(found["hours"]) == 24
    last = found["hours"][-1]
    assert (last["complete"], last["figures"]["minutes.ok"]["value"], last["figures"]["number.rows"]["most"]) == (False, 30, 3)
    assert ann.get("/api/modules/nobody").status_code == 404


def test_the_history_in_pages_and_in_the_language_of_the_reader(jobs, ann, clock):
    jobs.office.beat("parser")
    for _ in range(4):
        clock.move(seconds=1)
        jobs.office.pause("parser")
        clock.move(seconds=1)
        jobs.office.resume("parser")
    first = ann.get("/api/modules/parser/history?limit=4").json()["history"]
    rest = ann.get("/api/modules/parser/history", params={"before": first[-1]["at"]}, headers={"Accept-Language": "ru"}).json()["history"]
    assert (len(first), len(rest)) == (4, 6)
    assert rest[0]["reason"] == "возобновлён"


def test_the_day_of_the_clock_change_has_25_hours(jobs, ann, clock):
    jobs.office.beat("parser")
    clock.set(NOON.replace(month=11))
    found = ann.get("/api/modules/parser/hours?day=2026-10-25&tz=Europe/Berlin").json()["hours"]
    assert (len(found), found[0]["hour"], found[-1]["hour"]) == (25, "2026-10-24T22:00:00Z", "2026-10-25T22:00:00Z")
    assert len(ann.get("/api/modules/parser/hours?day=2026-03-29&tz=Europe/Berlin").json()["hours"]) == 23
    assert len(ann.get("/api/modules/parser/hours").json()["hours"]) == 24
    assert ann.get("/api/modules/parser/hours?day=never").status_code == 422
    assert ann.get("/api/modules/parser/hours?tz=Mars/Base").status_code == 422


def test_pause_resume_limits_register_and_remove(jobs, ann, clock):
    assert ann.post("/api/modules", json={"module": "parser", "warn_after": 60, "error_after": 90}).json()["status"] == "new"
    assert ann.post("/api/modules", json={"module": "parser"}).status_code == 422
    paused = ann.post("/api/modules/parser/pause", json={"minutes": 5, "reason": "new disk"}).json()
    assert (paused["status"], paused["pause_reason"], paused["pause_actor"]) == ("paused", "new disk", "person:local")
    assert paused["paused_until"] == "2026-03-02T12:05:00Z"
    assert ann.post("/api/modules/parser/pause", json={"until": "2020-01-01T00:00:00Z"}).status_code == 422
    assert ann.post("/api/modules/parser/resume").json()["status"] == "new"
    changed = ann.post("/api/modules/parser/limits", json={"warn_after": 20, "quiet_hours": "22:00-06:00"}).json()
    assert (changed["warn_after"], changed["error_after"], changed["quiet_hours"], changed["own_limits"]) == (20, 90, "22:00-06:00", True)
    assert ann.post("/api/modules/parser/limits", json={"warn_after": 900}).status_code == 422
    assert ann.post("/api/modules/parser/limits", json={}).json()["warn_after"] == 300
    assert ann.delete("/api/modules/parser").json() == {"removed": "parser"}
    assert ann.delete("/api/modules/parser").status_code == 404


@pytest.mark.parametrize(
    "sent",
    [
        {"status": "new"}, {"numbers": {"rows": "many"}}, {"at": "yesterday"}, {"at": "2026-01-01T00:00:00"}, {"message": "x" * 2001},
        {"other": 1}, {"numbers": {"a b": 1}}, [],
    ],
)  # fmt: skip
def test_wrong_beats_are_refused(jobs, ann, sent):
    assert ann.post("/api/modules/parser/activity", json=sent).status_code == 422
    assert jobs.office.all().modules == []


def test_who_may_do_what(jobs):
    jobs.office.beat("parser")
    viewer, operator, admin = (with_token(jobs, role) for role in ("viewer", "operator", "admin"))
    assert viewer.get("/api/modules").status_code == 200
    assert viewer.post("/api/modules/parser/activity", json={}).status_code == 403
    assert viewer.post("/api/modules/parser/pause", json={}).status_code == 403
    assert operator.post("/api/modules/parser/pause", json={}).status_code == 200
    assert operator.post("/api/modules/parser/limits", json={}).status_code == 403
    assert operator.delete("/api/modules/parser").status_code == 403
    assert admin.post("/api/modules/parser/limits", json={}).status_code == 200


def test_a_token_of_one_module_reports_for_it_and_does_nothing_else(jobs):
    jobs.office.beat("sync")
    module = with_token(jobs, "operator", "module:parser")
    assert module.post("/api/modules/parser/activity", json={}).status_code == 200
    assert module.post("/api/modules/sync/activity", json={}).status_code == 403
    assert module.get("/api/modules").status_code == 403
    assert module.post("/api/modules/parser/pause", json={}).status_code == 403


def test_a_beat_whose_store_is_away_is_told(jobs, ann, monkeypatch):
    from jobtrail.errors import StoreUnavailable

    ann.post("/api/modules/parser/activity", json={})
    ann.post("/api/modules/parser/activity", json={})

    def away(*_, **__):
        raise StoreUnavailable("away")

    with monkeypatch.context() as patched:
        patched.setattr(jobs.store.writer, "_write", away)
        with pytest.raises(StoreUnavailable):
            jobs.office.flush()
    assert ann.post("/api/modules/parser/activity", json={}).status_code == 503
    jobs.office.flush()
    assert ann.post("/api/modules/parser/activity", json={}).status_code == 200


def test_secrets_in_what_a_module_says_are_masked(jobs, ann):
    ann.post("/api/modules/parser/activity", json={"message": "postgresql://me:s3cr3t@host/db", "status": "warning"})
    text = ann.get("/api/modules").text + ann.get("/api/modules/parser").text
    assert "s3cr3t" not in text


def test_a_module_that_is_paused_is_not_asleep(jobs, ann, clock):
    jobs.office.beat("parser")
    jobs.office.pause("parser", until=NOON + timedelta(days=1))
    clock.move(hours=3)
    (one,) = ann.get("/api/modules").json()["modules"]
    assert (one["stale"], one["age"]) == (False, 10800)
    assert set(one["bar"][-12:]) == {"p"}


def test_a_bar_shows_the_worst_status_of_each_quarter_of_an_hour():
    start = bar_start(NOON + timedelta(minutes=7))
    assert start == NOON - timedelta(hours=23, minutes=45)
    changes = [
        Change(start + timedelta(minutes=20), None, "new"), Change(start + timedelta(minutes=22), "new", "ok"),
        Change(start + timedelta(minutes=31), "ok", "warning"), Change(start + timedelta(minutes=32), "warning", "ok"),
        Change(start + timedelta(minutes=45), "ok", "paused"), Change(start + timedelta(minutes=60), "paused", "error"),
        Change(start + timedelta(minutes=75), "error", "ok"), Change(start + timedelta(minutes=89), "ok", "removed"),
    ]  # fmt: skip
    bar = bar_of(start, NOON + timedelta(minutes=7), None, changes)
    assert (bar[:8], len(bar), set(bar[6:])) == ("-nwpeo--", 96, {"-"})
    assert bar_of(start, NOON + timedelta(minutes=7), "ok", []) == "o" * 96
