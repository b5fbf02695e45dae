"""Bulk actions: shown with the exact number, done once however often it is pressed, tracked, stopped, found again after a crash."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from api_app import problem
from sqlalchemy import update
from trails import actions, names, until

from jobtrail.commands import bulk
from jobtrail.database import tables
from jobtrail.messages import Message
from jobtrail.testing import drain

FAILED = {"action": "retry", "filter": "status:failed"}


def preview(client, **said):
    answer = client.post("/api/bulk/preview", json=said)
    assert answer.status_code == 200, answer.text
    return answer.json()


def start(client, shown, **said):
    return client.post("/api/bulk", json={**said, "digest": shown["digest"], "at": shown["at"]})


def failing(jobs, number=6, **using):
    made = jobs.task_named("fail").using(**using).enqueue_many([{}] * number)
    drain(jobs)
    return made


def retried(job):
    return names(job).count("retried")


# -- pressed twice -------------------------------------------------------------------------------------


def test_c67_retry_all_failed_pressed_by_two_and_again_later_retries_each_once(app_jobs, client, seen_as):
    sources = failing(app_jobs, 12)
    app_jobs.task_named("add").enqueue(a=1)
    drain(app_jobs)
    shown = preview(client, **FAILED)
    assert (shown["jobs"], shown["acts"], shown["skipped"], shown["more"]) == (12, 12, [], False)
    late = failing(app_jobs, 1)[0]
    ann = seen_as("operator")
    with ThreadPoolExecutor(2) as pool:
        pressed = list(pool.map(lambda who: start(who, shown, **FAILED, reason="the disk is free"), (client, ann)))
    assert sorted(one.status_code for one in pressed) == [200, 201]
    assert len({one.json()["job"] for one in pressed}) == 1
    drain(app_jobs)
    again = start(client, shown, **FAILED)
    assert (again.status_code, again.json()) == (200, {"job": pressed[0].json()["job"], "created": False})
    drain(app_jobs)
    assert [retried(job) for job in sources] == [1] * 12
    assert retried(late) == 0
    assert len(app_jobs.find("task:jobtrail.bulk")) == 1


def test_c67_who_pressed_and_why_is_recorded_with_each_job_and_in_the_audit(app_jobs, client):
    (source,) = failing(app_jobs, 1)
    made = start(client, preview(client, **FAILED), **FAILED, reason="the disk is free").json()["job"]
    drain(app_jobs)
    line = next(event for event in source.events() if event.name == "retried")
    assert line.actor == "person:local"
    assert line.reason == f"the disk is free (by job {made})"
    (told,) = actions(app_jobs, "bulk_started")
    assert (told["actor"], told["target"], told["reason"]) == ("person:local", made, "the disk is free")
    assert told["detail"] == {"action": "retry", "mode": None, "filter": "status:failed", "jobs": 1}


def test_c67_what_cannot_be_is_counted_with_its_reason_before_and_left_alone(app_jobs, client):
    load = app_jobs.task_named("load")
    old = load.using(source="A", period="2013-01").enqueue(rows=2, bad=1)
    drain(app_jobs)
    newer = old.rerun("full")
    drain(app_jobs)
    held = load.using(source="B", period="2013-01").enqueue(rows=2, bad=1)
    drain(app_jobs)
    active = load.using(source="B", period="2013-01").enqueue(rows=9)
    done = app_jobs.task_named("add").enqueue(a=1)
    ids = [old.id, newer.id, held.id, active.id, done.id]
    shown = preview(client, action="retry", ids=ids)
    told = {one["reason"]: (one["jobs"], one["example"]) for one in shown["skipped"]}
    assert shown["acts"] == 1
    assert told == {
        "its unit has a newer job": (1, old.id), "its unit has an active job": (1, held.id), "is pending": (2, active.id),
    }  # fmt: skip
    start(client, shown, action="retry", ids=ids)
    drain(app_jobs)
    assert [retried(app_jobs.get(one)) for one in ids] == [0, 1, 0, 0, 0]


def test_c67_a_job_that_ran_again_before_its_turn_is_skipped_with_the_reason(app_jobs, client):
    first, second = failing(app_jobs, 2)
    made = start(client, preview(client, **FAILED), **FAILED).json()["job"]
    app_jobs.store.write(lambda conn: conn.execute(update(tables.jobs).where(tables.jobs.c.id == first.id).values(run_no=9)))
    drain(app_jobs)
    assert (retried(first), retried(second)) == (0, 1)
    items = {item.key: (str(item.outcome), item.reason) for item in app_jobs.get(made).items()}
    assert items == {first.id: ("skipped", "has run again meanwhile"), second.id: ("ok", None)}
    assert app_jobs.get(made).status == "completed"


def test_c67_after_a_crash_between_deed_and_record_the_deed_is_found(app_jobs, client):
    sources = failing(app_jobs, 3)
    made = start(client, preview(client, **FAILED), **FAILED).json()["job"]
    reason = Message("worker.by-job", reason=Message("worker.bulk-action"), job=str(made)).stored
    sources[0].retry(reason, actor="person:local")
    app_jobs.store.write(lambda conn: conn.execute(update(tables.jobs).where(tables.jobs.c.id == made).values(run_no=1)))
    drain(app_jobs)
    assert [retried(job) for job in sources] == [1, 1, 1]
    assert [str(item.outcome) for item in app_jobs.get(made).items()] == ["ok"] * 3


# -- the actions ---------------------------------------------------------------------------------------


def test_each_is_run_again_once_and_linked_and_another_press_skips_it(app_jobs, client):
    said = {"action": "rerun", "mode": "full", "filter": "status:failed task:fail"}
    sources = failing(app_jobs, 3)
    made = start(client, preview(client, **said), **said).json()["job"]
    drain(app_jobs)
    for source in sources:
        (new,) = app_jobs.find(f"rerun_of:{source.id}")
        assert (new.parent, new.actor, new.mode) == (made, "person:local", "full")
    shown = preview(client, action="rerun", mode="full", ids=[source.id for source in sources])
    assert (shown["acts"], shown["skipped"][0]["reason"]) == (0, "was run again already")
    problem(start(client, shown, action="rerun", mode="full", ids=[source.id for source in sources]), 409)


def test_two_actions_that_mean_the_same_job_run_it_again_once(app_jobs, client):
    one, two = failing(app_jobs, 2)
    for ids in ([one.id, two.id], [one.id]):
        said = {"action": "rerun", "mode": "full", "ids": ids}
        assert start(client, preview(client, **said), **said).status_code == 201
    drain(app_jobs)
    assert [len(app_jobs.find(f"rerun_of:{job.id}")) for job in (one, two)] == [1, 1]


def test_what_waits_is_cancelled_and_what_waits_for_its_time_is_due(app_jobs, client):
    add = app_jobs.task_named("add")
    waiting = [add.using(delay=3600).enqueue(a=n) for n in range(3)]
    said = {"action": "run_now", "ids": [waiting[0].id]}
    start(client, preview(client, **said), **said)
    drain(app_jobs)
    assert [job.refresh().status for job in waiting] == ["completed", "pending", "pending"]
    said = {"action": "cancel", "filter": "task:add status:pending,completed".replace(",completed", " status:completed")}
    shown = preview(client, **said)
    assert (shown["acts"], shown["skipped"]) == (2, [{"reason": "has ended", "jobs": 1, "example": waiting[0].id}])
    start(client, shown, **said)
    drain(app_jobs)
    assert [job.refresh().status for job in waiting] == ["completed", "cancelled", "cancelled"]


def test_it_is_stopped_and_what_it_has_not_reached_is_not_touched_and_it_can_be_started_again(app_jobs, client):
    sources = failing(app_jobs, 20)
    shown = preview(client, **FAILED)
    made = app_jobs.get(start(client, shown, **FAILED, per_second=10).json()["job"])
    worker = threading.Thread(target=lambda: drain(app_jobs, slots=1))
    worker.start()
    until("some are done", lambda: sum(map(retried, sources)) >= 2)
    client.post(f"/api/jobs/{made.id}/cancel", json={})
    worker.join(20)
    assert made.refresh().status == "cancelled"
    done = sum(map(retried, sources))
    assert 2 <= done < 20
    again = start(client, shown, **FAILED)
    assert again.status_code == 201
    drain(app_jobs)
    assert [retried(job) for job in sources] == [1] * 20


# -- refused -------------------------------------------------------------------------------------------


def test_of_what_was_shown_only_what_has_not_changed_since_is_meant_and_nothing_that_joined(app_jobs, client):
    first, second = failing(app_jobs, 2)
    shown = preview(client, **FAILED)
    first.retry()
    drain(app_jobs)
    late = failing(app_jobs, 1)[0]
    assert start(client, shown, **FAILED).status_code == 201
    drain(app_jobs)
    assert [retried(job) for job in (first, second, late)] == [1, 1, 0]


def test_where_nothing_is_left_of_what_was_shown_it_says_so(app_jobs, client):
    (source,) = failing(app_jobs, 1)
    shown = preview(client, **FAILED)
    source.retry()
    told = problem(start(client, shown, action="retry", ids=[source.id]), 409, "conflict")
    assert told["detail"] == "No selected job can be changed: has changed since it was shown"
    assert app_jobs.find("task:jobtrail.bulk") == []


def test_what_cannot_be_is_refused_in_words(client):
    for said, why in (
        ({"action": "retry"}, "say which jobs are meant"),
        ({"action": "retry", "filter": "status:failed", "ids": []}, "say which jobs are meant"),
        ({"action": "retry", "filter": "  "}, "every job"),
        ({"action": "retry", "filter": "stat:failed"}, "a filter has no key"),
        ({"action": "retry", "ids": ["x"]}, "'x' is not the id of a job"),
        ({"action": "retry", "ids": []}, "1 to 10,000"),
        ({"action": "retry", "ids": ["x"] * 10_001}, "ids"),
        ({"action": "rerun", "filter": "status:failed"}, "needs one: full"),
        ({"action": "cancel", "mode": "full", "filter": "status:failed"}, "mode= belongs"),
        ({"action": "delete", "filter": "status:failed"}, "action"),
    ):
        assert why in problem(client.post("/api/bulk/preview", json=said), 422)["detail"]


def test_only_operators_act_in_bulk(app_jobs, client, seen_as):
    failing(app_jobs, 1)
    shown = preview(client, **FAILED)
    for role, status in (("viewer", 403), (None, 401)):
        assert seen_as(role).post("/api/bulk/preview", json=FAILED).status_code == status
        assert start(seen_as(role), shown, **FAILED).status_code == status
    assert app_jobs.find("task:jobtrail.bulk") == []


def test_of_more_than_it_takes_the_newest_are_meant_and_it_says_so(app_jobs, client, monkeypatch):
    monkeypatch.setattr(bulk, "MOST_JOBS", 3)
    ids = [job.id for job in app_jobs.task_named("add").using(delay=60).enqueue_many({"a": n} for n in range(5))]
    said = {"action": "cancel", "filter": "task:add"}
    shown = preview(client, **said)
    assert (shown["jobs"], shown["more"]) == (3, True)
    start(client, shown, **said)
    drain(app_jobs)
    assert [app_jobs.get(one).status for one in sorted(ids)] == ["pending"] * 2 + ["cancelled"] * 3
