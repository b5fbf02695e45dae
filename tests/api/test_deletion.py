"""Deletion over the network: for administrators, shown first, by a tracked job that deletes what was shown."""

from __future__ import annotations

from api_app import problem
from trails import actions

from jobtrail.testing import drain


def failing(jobs, number, message="no way"):
    made = jobs.task_named("fail").enqueue_many([{"message": message}] * number)
    drain(jobs)
    return made


def shown(client, **said):
    answer = client.post("/api/deletion/preview", json=said)
    assert answer.status_code == 200, answer.text
    return answer.json()


def begin(client, seen, **said):
    return client.post("/api/deletion", json={**said, "digest": seen["digest"], "at": seen["at"]})


def test_only_an_administrator_may(app_jobs, client, seen_as):
    failing(app_jobs, 1)
    seen = shown(client, filter="task:fail")
    for role in ("viewer", "operator"):
        problem(seen_as(role).post("/api/deletion/preview", json={"filter": "task:fail"}), 403)
        problem(begin(seen_as(role), seen, filter="task:fail"), 403)
    problem(client.post("/api/bulk/preview", json={"filter": "task:fail", "action": "delete"}), 422)


def test_what_was_shown_is_deleted_and_the_audit_tells_it(app_jobs, client):
    gone = failing(app_jobs, 3)
    seen = shown(client, filter="task:fail")
    assert (seen["acts"], seen["jobs"], seen["skipped"]) == (3, 3, [])
    (late,) = failing(app_jobs, 1)
    gone[0].retry()
    drain(app_jobs)
    answer = begin(client, seen, filter="task:fail", reason="request 17")
    assert answer.status_code == 201
    drain(app_jobs)
    assert {job.id for job in app_jobs.find("task:fail")} == {late.id, gone[0].id}
    job = app_jobs.get(answer.json()["job"])
    assert job.result() == {"action": "delete", "jobs": 2, "this_run": {"deleted": 2}}
    (told,) = actions(app_jobs, "jobs_deleted")
    assert (told["actor"], told["target"], told["reason"]) == ("person:local", job.id, "request 17")
    assert told["detail"] == {"filter": "task:fail", "jobs": 2}
    assert begin(client, seen, filter="task:fail").json() == {"job": job.id, "created": False}


def test_the_filter_can_be_concealed_everywhere(app_jobs, client):
    failing(app_jobs, 1)
    seen = shown(client, filter='args.message:"no way"')
    made = begin(client, seen, filter='args.message:"no way"', conceal_filter=True).json()["job"]
    drain(app_jobs)
    told = [one["detail"]["filter"] for name in ("bulk_started", "jobs_deleted") for one in actions(app_jobs, name)]
    assert [one[:7] for one in told] == ["sha256:"] * 2
    assert app_jobs.get(made).arguments["filter"] == told[0]
