"""Jobs over the network: listed, shown whole, submitted, steered; and what is said where that cannot be."""

from __future__ import annotations

import csv
import io
import json
import time
from datetime import UTC, datetime, timedelta

import pytest
from api_app import problem

from jobtrail.commands.job_fields import stored_row
from jobtrail.job.masking import MASK
from jobtrail.store.retention import Retention, run_once
from jobtrail.testing import drain

SECRET = "s3cr3t-XYZ"
URL = f"postgresql://u:{SECRET}@h/db"


def actions(whole):
    return {one["name"]: one for one in whole["actions"]}


# -- the list ------------------------------------------------------------------------------------------


def test_the_list_goes_page_by_page_newest_first_and_counts(app_jobs, client):
    ids = [job.id for job in app_jobs.task_named("add").enqueue_many({"a": n} for n in range(5))]
    seen, before = [], None
    while True:
        page = client.get("/api/jobs", params={"limit": 2, "count": True} | ({"before": before} if before else {})).json()
        assert page["count"] == {"number": 5, "more": False}
        seen += [one["id"] for one in page["jobs"]]
        before = page["next"]
        if before is None:
            break
    assert seen == sorted(ids, reverse=True)


def test_jobs_are_counted_by_status_whatever_the_filter_says_of_it(app_jobs, client):
    app_jobs.task_named("add").enqueue_many({"a": n} for n in range(3))
    app_jobs.task_named("fail").enqueue()
    drain(app_jobs)
    app_jobs.task_named("add").enqueue(a=1)
    told = client.get("/api/jobs/counts", params={"q": "status:failed"}).json()
    assert {name: one["number"] for name, one in told["status"].items() if one["number"]} == {"completed": 3, "failed": 1, "pending": 1}
    assert told["all"] == {"number": 5, "more": False}
    assert client.get("/api/jobs/counts", params={"q": "task:fail"}).json()["all"]["number"] == 1
    problem(client.get("/api/jobs/counts", params={"q": "no:such"}), 422, "invalid-filter")


def test_the_filter_is_that_of_the_terminal_and_a_wrong_one_is_told_in_words(app_jobs, client):
    app_jobs.task_named("add").enqueue(a=1)
    app_jobs.task_named("fail").enqueue()
    drain(app_jobs)
    found = client.get("/api/jobs", params={"q": "status:failed"}).json()["jobs"]
    assert [(one["task"], one["status"], one["error"]) for one in found] == [("fail", "failed", "jobtrail.errors.PermanentError: no way")]
    assert "a filter has no key 'stat:'" in problem(client.get("/api/jobs?q=stat:failed"), 422, "invalid-filter")["detail"]


def test_a_search_that_takes_too_long_is_given_up_in_words(app_jobs, clients):
    app_jobs.task_named("add").enqueue_many({"a": n} for n in range(300))
    client = clients()
    client.app.state.context.search_seconds = 0.001
    from sqlalchemy import text

    from jobtrail.queries.jobs import job_list

    def slow(conn, *_, **__):
        many = "SELECT count(*) FROM jobtrail_jobs a, jobtrail_jobs b, jobtrail_jobs c"
        conn.execute(text(many)).scalar()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(job_list.search, "find", slow)
        begun = time.monotonic()
        told = problem(client.get("/api/jobs"), 503, "too-slow")
    assert "say more in the filter" in told["detail"]
    assert time.monotonic() - begun < 5
    client.app.state.context.search_seconds = 5
    assert client.get("/api/jobs").status_code == 200  # the connection is as good as before


# -- one job -------------------------------------------------------------------------------------------


def test_one_job_tells_its_attempts_items_and_what_can_be_done(app_jobs, client):
    job = app_jobs.task_named("load").using(source="shop", period="2013-02", actor="person:ann", reason="first").enqueue(bad=1)
    drain(app_jobs)
    whole = client.get(f"/api/jobs/{job.id}").json()
    assert (whole["status"], whole["items"]) == ("partial", {"ok": 3, "failed": 1, "skipped": 0})
    assert [line["name"] for line in whole["timeline"]] == ["submitted", "started", "finished"]
    assert whole["timeline"][0] | {"at": 0} == {
        "at": 0, "name": "submitted", "to": "pending", "actor": "person:ann", "reason": "first", "run_no": None,
    }  # fmt: skip
    (attempt,) = whole["attempts"]
    assert attempt["outcome"] == "partial"
    assert attempt["seconds"] >= 0
    assert whole["unit_of"]["outcome"] == "partial"
    offered = actions(whole)
    assert {name for name, one in offered.items() if one["allowed"]} == {
        "retry", "rerun_failed_items", "rerun_resume", "rerun_full", "rerun_changed",
    }  # fmt: skip
    assert offered["rerun_failed_items"]["count"] == 1
    assert offered["cancel"]["why_not"] == "it has ended: it is partial"
    assert offered["rerun_file"]["code"] == "no-file"


def test_attempts_have_error_worker_and_the_next_time(app_jobs, client):
    job = app_jobs.task_named("flaky").enqueue()
    drain(app_jobs)
    whole = client.get(f"/api/jobs/{job.id}").json()
    (attempt,) = whole["attempts"]
    assert attempt["error"] == "ConnectionError: not today"
    assert attempt["worker"]
    assert attempt["next_at"] is not None
    assert (whole["status"], whole["attempt"], whole["max_attempts"]) == ("pending", 1, 3)
    assert actions(whole)["run_now"]["allowed"]


def test_a_job_that_asks_tells_its_question(app_jobs, client):
    job = app_jobs.task_named("asks").enqueue()
    drain(app_jobs)
    whole = client.get(f"/api/jobs/{job.id}").json()
    assert [(one["name"], one["state"]) for one in whole["questions"]] == [("go_on", "open")]
    assert actions(whole)["answer"]["allowed"]
    assert actions(whole)["cancel"]["words"] == "ends it and closes its question"


def test_the_newer_job_of_the_unit_is_named_where_it_stands_in_the_way(app_jobs, client):
    bound = app_jobs.task_named("load").using(source="shop", period="2013-02")
    old = bound.enqueue(bad=1)
    drain(app_jobs)
    new = client.post(f"/api/jobs/{old.id}/rerun", json={"mode": "full"}).json()["job"]["id"]
    offered = actions(client.get(f"/api/jobs/{old.id}").json())
    assert (offered["retry"]["code"], offered["retry"]["job"]) == ("in-way", new)
    assert (offered["rerun_full"]["code"], offered["rerun_full"]["job"]) == ("in-way", new)
    drain(app_jobs)
    offered = actions(client.get(f"/api/jobs/{old.id}").json())
    assert (offered["retry"]["code"], offered["retry"]["job"]) == ("not-newest", new)
    assert offered["rerun_full"]["allowed"]


def test_what_is_offered_is_what_is_done(app_jobs, client):
    """An action that is offered is not refused, and one that is not offered is refused, in every state that is met here."""
    bound = {name: app_jobs.task_named(name) for name in ("load", "fail", "asks", "add")}
    met = [bound["load"].enqueue(bad=1), bound["fail"].enqueue(), bound["asks"].enqueue(), bound["load"].enqueue()]
    drain(app_jobs)
    met.append(bound["add"].using(delay=3600).enqueue(a=1))
    cancelled = bound["add"].using(delay=3600).enqueue(a=2)
    cancelled.cancel()
    met.append(cancelled)
    ways = {"retry": ("retry", {}), "run_now": ("run-now", {}), "rerun_full": ("rerun", {"mode": "full"}), "cancel": ("cancel", {})}
    for job in met:
        for name, (path, body) in ways.items():
            offered = actions(client.get(f"/api/jobs/{job.id}").json())[name]["allowed"]
            answer = client.post(f"/api/jobs/{job.id}/{path}", json=body)
            assert (answer.status_code < 300) is offered, (job.task, name, answer.text)


def test_a_page_that_has_not_changed_is_not_sent_again(app_jobs, client):
    job = app_jobs.task_named("add").using(delay=3600).enqueue(a=1)
    first = client.get(f"/api/jobs/{job.id}")
    tag = first.headers["etag"]
    again = client.get(f"/api/jobs/{job.id}", headers={"If-None-Match": tag})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    job.run_now()
    changed = client.get(f"/api/jobs/{job.id}", headers={"If-None-Match": f'"other", W/{tag}'})
    assert changed.status_code == 200
    assert changed.headers["etag"] != tag


def test_a_job_is_found_by_the_ending_of_its_id_and_a_strange_one_is_not(app_jobs, client):
    job = app_jobs.task_named("add").enqueue(a=1)
    assert client.get(f"/api/jobs/{job.id[-8:]}").json()["id"] == job.id
    for other in ("nothing", "%00", "0" * 36, "a" * 5000, "01%25"):
        problem(client.get(f"/api/jobs/{other}"), 404, "not-found")


# -- submitting ----------------------------------------------------------------------------------------


def test_a_job_is_submitted_with_who_and_why(app_jobs, client):
    at = datetime.now(UTC) + timedelta(hours=1)
    answer = client.post("/api/jobs", json={
        "task": "load", "args": {"rows": 2}, "source": "shop", "period": "2013-02", "priority": 2, "run_at": at.isoformat(),
        "labels": {"tenant": "acme"}, "reason": "asked by mail",
    })  # fmt: skip
    assert answer.status_code == 201
    row = stored_row(app_jobs.get(answer.json()["job"]["id"]))
    assert answer.headers["location"] == f"jobs/{row.id}"
    assert (row.actor, row.reason, row.source, row.period, row.priority) == ("person:local", "asked by mail", "shop", "2013-02", 2)
    assert json.loads(row.labels) == {"tenant": "acme"}
    assert abs((row.run_at - at).total_seconds()) < 0.001


def test_the_same_key_gives_the_same_job_and_another_payload_a_conflict(app_jobs, client):
    key = {"Idempotency-Key": "monday"}
    first = client.post("/api/jobs", json={"task": "add", "args": {"a": 1}}, headers=key)
    second = client.post("/api/jobs", json={"task": "add", "args": {"a": 1}}, headers=key)
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json()["job"]["id"] == second.json()["job"]["id"]
    told = problem(client.post("/api/jobs", json={"task": "add", "args": {"a": 2}}, headers=key), 409, "idempotency-conflict")
    assert told["job"] == first.json()["job"]["id"]


def test_an_active_job_of_the_unit_stands_in_the_way_by_its_id(app_jobs, client):
    said = {"task": "load", "source": "shop", "period": "2013-02"}
    first = client.post("/api/jobs", json=said).json()["job"]["id"]
    assert client.post("/api/jobs", json=said).json() | {"job": 0} == {"job": 0, "created": False}
    told = problem(client.post("/api/jobs", json=said | {"if_active": "raise"}), 409, "already-active")
    assert told["job"] == first
    assert first in told["detail"]


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"task": "nobody"}, 422, "no task is called 'nobody'"),
        ({"task": "add"}, 422, "needs the argument 'a'"),
        ({"task": "add", "args": {"a": 1, "c": 2}}, 422, "has no argument 'c'"),
        ({"task": "load", "period": "february"}, 422, "february"),
        ({"task": "add", "args": {"a": "abc"}}, 422, "$.a does not fit"),
        ({"task": "add", "args": {"a": MASK}}, 422, "is a mask and not a value"),
        ({"task": "add", "args": {"a": 1}, "priority": 77}, 422, "priority"),
        ({"task": "add", "args": {"a": 1}, "run_at": "2013-02-01T00:00:00"}, 422, "run_at"),
        ({"task": "add", "args": {"a": 1}, "colour": "red"}, 422, "colour"),
        ({"task": "read", "file": {}}, 422, "either upload or path"),
        ({"task": "read", "file": {"path": "/etc/passwd"}}, 422, "no file of the server may be named here"),
        ({"task": "read", "file": {"upload": "0" * 36}}, 404, "there is no upload"),
        ({"task": "add", "args": {"a": 1}, "source": "a\0b"}, 422, "source"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_said_in_words_and_nothing_is_stored(app_jobs, client, body, status, words):
    told = problem(client.post("/api/jobs", json=body), status)
    assert words in json.dumps(told, ensure_ascii=False)
    assert client.get("/api/jobs").json()["jobs"] == []


# -- steering ------------------------------------------------------------------------------------------


def test_a_retry_is_in_the_trail_with_who_and_why(app_jobs, seen_as):
    job = app_jobs.task_named("fail").enqueue()
    drain(app_jobs)
    assert seen_as("operator").post(f"/api/jobs/{job.id}/retry", json={"reason": "again, please\0"}).json()["job"]["status"] == "pending"
    event = job.events()[-1]
    assert (event.name, event.actor) == ("retried", "person:ann")
    assert event.reason.startswith("again, please")
    told = problem(seen_as("operator").post(f"/api/jobs/{job.id}/retry"), 409, "illegal-move")
    assert (told["job"], told["detail"]) == (job.id, f"job {job.id} is pending and cannot be retried")


def test_asking_to_stop_twice_is_safe_and_the_end_is_forced_only_when_that_is_said(app_jobs, client):
    job = app_jobs.task_named("add").enqueue(a=1)
    with app_jobs.store.read() as conn:  # as a worker would have it
        conn.exec_driver_sql("UPDATE jobtrail_jobs SET status = 'running', run_no = 1")
    assert client.post(f"/api/jobs/{job.id}/cancel", json={"reason": "wrong month"}).json()["job"]["status"] == "cancelling"
    told = problem(client.post(f"/api/jobs/{job.id}/cancel"), 409, "illegal-move")
    assert "has been asked to stop already" in told["detail"]
    assert actions(client.get(f"/api/jobs/{job.id}").json())["force"]["allowed"]
    assert client.post(f"/api/jobs/{job.id}/cancel", json={"force": True}).json()["job"]["status"] == "cancelled"


def test_a_rerun_with_changed_arguments_keeps_what_is_masked(app_jobs, client):
    job = app_jobs.task_named("fail").using(source="s", period="2013").enqueue(
        message="x", password=SECRET, dsn=URL, deep={"api_key": SECRET, "list": [{"token": SECRET}, 2]}, pin=77
    )
    drain(app_jobs)
    shown = client.get(f"/api/jobs/{job.id}").json()["arguments"]
    assert SECRET not in json.dumps(shown)
    assert shown["pin"] == MASK
    shown["message"] = "y"
    shown["deep"]["list"][1] = 3
    new = client.post(f"/api/jobs/{job.id}/rerun", json={"args": shown, "reason": "corrected"})
    assert new.status_code == 201
    stored = app_jobs.get(new.json()["job"]["id"])
    assert stored.arguments == {
        "message": "y", "password": SECRET, "dsn": URL, "deep": {"api_key": SECRET, "list": [{"token": SECRET}, 3]}, "pin": 77,
    }  # fmt: skip
    assert (stored.rerun_of, stored.reason, stored.actor) == (job.id, "corrected", "person:local")


def test_a_rerun_of_chosen_items(app_jobs, client):
    job = app_jobs.task_named("load").using(source="s", period="2013").enqueue()
    drain(app_jobs)
    keys = [item["key"] for item in client.get(f"/api/jobs/{job.id}/items").json()["items"]][:2]
    new = client.post(f"/api/jobs/{job.id}/rerun", json={"items": [{"key": keys[1]}, {"key": keys[0], "loop": "items"}]})
    assert new.status_code == 201
    drain(app_jobs)
    told = client.get(f"/api/jobs/{new.json()['job']['id']}/items").json()["items"]
    assert [item["key"] for item in told] == keys
    problem(client.post(f"/api/jobs/{job.id}/rerun", json={"items": [{"key": "nonsense"}]}), 404, "not-found")


@pytest.mark.parametrize("moved", [{"note": MASK}, {"dsn": "postgresql://u:***@elsewhere/db"}, {"deep": {"x": [MASK]}}])
def test_a_mask_is_never_stored_where_it_hides_nothing(app_jobs, client, moved):
    job = app_jobs.task_named("fail").enqueue(password=SECRET, dsn=URL)
    drain(app_jobs)
    told = problem(client.post(f"/api/jobs/{job.id}/rerun", json={"args": moved}), 422, "invalid-arguments")
    assert "is a mask and not a value" in told["detail"]


# -- secrets -------------------------------------------------------------------------------------------


def test_c17_no_secret_is_in_any_answer(app_jobs, client):
    fail = app_jobs.task_named("fail").using(
        source=URL, period="2013", labels={"api_token": SECRET, "dsn": URL}, context={"cookie": SECRET, "url": URL}, reason=URL
    )
    job = fail.enqueue(message=f"cannot reach {URL}", password=SECRET, dsn=URL, deep={"api_key": SECRET})
    drain(app_jobs)
    client.post(f"/api/jobs/{job.id}/retry", json={"reason": URL})
    drain(app_jobs)
    new = client.post(f"/api/jobs/{job.id}/rerun", json={"reason": URL}).json()["job"]["id"]
    addresses = ["/api/jobs", f"/api/jobs?q={SECRET}", "/metrics", "/api/me"]
    parts = ("", "/log", "/log.txt", "/items", "/items.csv", "/events", "/lineage")
    addresses += [f"/api/jobs/{one}{part}" for one in (job.id, new) for part in parts]
    addresses += [f"/api/jobs/{SECRET}", f"/api/jobs?q={SECRET}:x"]
    for address in addresses:
        answer = client.get(address)
        echoed = (f"'{SECRET}", f"{SECRET}:'", f'"id": "{SECRET}"', f'"key": "{SECRET}"')  # what was asked for, in a sentence and its parameters
        text = answer.text
        for one in echoed:
            text = text.replace(one, "")
        assert SECRET not in text, address
    assert app_jobs.get(new).arguments["password"] == SECRET  # the job itself has the true value


def test_c17_what_a_task_marks_is_masked_in_its_questions_too(app_jobs, client):
    @app_jobs.task(secret={"pin"})
    def asks_pin(ctx):
        schema = {"type": "object", "properties": {"pin": {"type": "string"}, "password": {"type": "string"}}}
        return ctx.ask("pin", "Which?", schema)["pin"]

    job = asks_pin.enqueue()
    drain(app_jobs)
    (asked,) = client.get(f"/api/jobs/{job.id}").json()["questions"]
    answer = client.post(f"/api/questions/{asked['id']}/answer", json={"value": {"pin": SECRET, "password": SECRET}})
    assert answer.status_code == 200, answer.text
    for told in (answer, client.get(f"/api/questions/{asked['id']}"), client.get(f"/api/jobs/{job.id}")):
        assert SECRET not in told.text
        assert MASK in told.text
    drain(app_jobs)
    assert job.refresh().result() == SECRET


# -- what is inside ------------------------------------------------------------------------------------


def test_items_go_page_by_page_by_outcome_and_as_csv_without_formulas(app_jobs, client):
    job = app_jobs.task_named("load").enqueue(rows=7, bad=3)
    drain(app_jobs)
    seen, after = [], None
    while True:
        page = client.get(f"/api/jobs/{job.id}/items", params={"limit": 3} | ({"after": after} if after else {})).json()
        seen += page["items"]
        after = page["next"]
        if after is None:
            break
    assert [one["key"] for one in seen] == [str(n) for n in range(7)]
    failed = client.get(f"/api/jobs/{job.id}/items", params={"outcome": "failed"}).json()["items"]
    assert [(one["key"], one["reason"]) for one in failed] == [(str(n), f"=row {n} has no price") for n in range(3)]
    answer = client.get(f"/api/jobs/{job.id}/items.csv", params={"outcome": "failed"})
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"].startswith("attachment")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [row["reason"] for row in rows] == [f"'=row {n} has no price" for n in range(3)]
    problem(client.get(f"/api/jobs/{job.id}/items", params={"after": "WzEsMl0="}), 422, "usage-error")


def test_the_log_is_read_in_parts_followed_searched_and_downloaded(app_jobs, client):
    @app_jobs.task
    def talk(ctx):
        for n in range(50):
            ctx.log.log(30 if n % 10 == 0 else 20, "line %d <script>", n)
            if n % 10 == 9:
                ctx.heartbeat()
        try:
            raise ValueError("odd")
        except ValueError:
            ctx.log.exception("it was odd")

    job = talk.enqueue()
    drain(app_jobs)
    log = client.get(f"/api/jobs/{job.id}/log").json()
    assert len(log["records"]) == 51
    assert log["records"][-1]["level"] == "ERROR"
    assert log["records"][-1]["text"].endswith("ValueError: odd")
    assert (log["earlier"], log["later"], log["dropped"]) == (False, False, 0)
    followed = client.get(f"/api/jobs/{job.id}/log", params={"after": log["last"]}).json()
    assert followed["records"] == []
    warned = client.get(f"/api/jobs/{job.id}/log", params={"level": "WARNING"}).json()["records"]
    assert len(warned) == 6
    found = client.get(f"/api/jobs/{job.id}/log", params={"search": "LINE 4"}).json()["records"]
    assert len(found) == 11
    text = client.get(f"/api/jobs/{job.id}/log.txt")
    assert text.headers["content-type"] == "text/plain; charset=utf-8"
    assert text.text.count("<script>") == 50


def test_a_log_with_a_gap_says_where_lines_are_missing(make_jobs, url):
    from starlette.testclient import TestClient

    jobs = make_jobs(log_limit=2000, flush_interval=0.01)

    @jobs.task
    def talk(ctx):
        for n in range(300):
            ctx.log.info("line %d", n)
            if n % 50 == 49:
                ctx.set_progress(n / 3)
                time.sleep(0.05)

    job = talk.enqueue()
    drain(jobs)
    client = TestClient(jobs.asgi(), "http://127.0.0.1", client=("127.0.0.1", 1))
    log = client.get(f"/api/jobs/{job.id}/log").json()
    assert log["dropped"] > 0
    assert log["records"][0]["text"].endswith("line 0")
    assert log["records"][-1]["text"].endswith("line 299")
    first_after = next(one for one in log["records"] if one["seq"] == log["gap_before"])
    before = [one for one in log["records"] if one["seq"] < log["gap_before"]]
    number = int(first_after["text"].rsplit(" ", 1)[1]) - int(before[-1]["text"].rsplit(" ", 1)[1]) - 1
    assert number == log["dropped"]
    assert f"… {log['dropped']:,} lines dropped …" in client.get(f"/api/jobs/{job.id}/log.txt").text
    tail = client.get(f"/api/jobs/{job.id}/log", params={"limit": 1}).json()
    assert tail["earlier"]
    rest = client.get(f"/api/jobs/{job.id}/log", params={"before": tail["first"]}).json()
    assert [*rest["records"], *tail["records"]] == log["records"]


def test_the_trail_goes_page_by_page(app_jobs, client):
    job = app_jobs.task_named("fail").enqueue()
    for _ in range(3):
        drain(app_jobs)
        job.retry()
    first = client.get(f"/api/jobs/{job.id}/events", params={"limit": 2}).json()
    rest = client.get(f"/api/jobs/{job.id}/events", params={"after": first["next"]}).json()
    assert [one["name"] for one in (*first["events"], *rest["events"])] == ["finished", "retried"] * 3
    assert rest["next"] is None


def test_the_kin_of_a_job(app_jobs, client):
    first = app_jobs.task_named("load").using(source="s", period="2013").then(app_jobs.task_named("add"), {"a": 1}, on="ended").enqueue(bad=1)
    drain(app_jobs)
    second = client.post(f"/api/jobs/{first.id}/rerun", json={"mode": "failed_items"}).json()["job"]["id"]
    kin = client.get(f"/api/jobs/{first.id}/lineage").json()
    assert [one["id"] for one in kin["reruns"]] == [second]
    assert [(one["task"], one["state"], one["status"]) for one in kin["successors"]] == [("add", "submitted", "completed")]
    back = client.get(f"/api/jobs/{second}/lineage").json()
    assert [(one["id"], one["mode"]) for one in back["reran"]] == [(first.id, None)]
    follower = kin["successors"][0]["job"]
    assert [one["id"] for one in client.get(f"/api/jobs/{follower}").json()["ancestors"]] == [first.id]


def test_a_key_whose_job_was_removed_is_gone_and_says_how_the_job_ended(app_jobs, client):
    send = {"json": {"task": "add", "args": {"a": 1}}, "headers": {"Idempotency-Key": "k"}}
    job_id = client.post("/api/jobs", **send).json()["job"]["id"]
    drain(app_jobs)
    finished = app_jobs.get(job_id).finished_at
    run_once(app_jobs.store, Retention(0, 0, 0, 0), app_jobs.store.now() + timedelta(minutes=1))
    told = problem(client.post("/api/jobs", **send), 410, "job-removed")
    assert (told["job"], told["job_status"], told["outcome"]) == (job_id, "completed", "success")
    assert datetime.fromisoformat(told["finished_at"]) == finished
    assert "its details are removed" in told["detail"]


def test_a_complete_unit_whose_job_was_removed_says_how_the_job_ended(app_jobs, client):
    send = {"task": "add", "args": {"a": 1}, "source": "s", "period": "2013-02", "if_done": "skip"}
    job_id = client.post("/api/jobs", json=send).json()["job"]["id"]
    drain(app_jobs)
    run_once(app_jobs.store, Retention(0, 0, 0, 0), app_jobs.store.now() + timedelta(minutes=1))
    told = problem(client.post("/api/jobs", json=send), 410, "job-removed")
    assert (told["job"], told["job_status"], told["outcome"]) == (job_id, "completed", "success")
