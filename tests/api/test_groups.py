"""Groups over the network: how the members stand now, in the order of their submission, and the filter that finds them."""

from __future__ import annotations

from api_app import problem
from sqlalchemy import delete
from trails import *  # noqa: F403 - fixtures

from jobtrail.database import tables
from jobtrail.job.model import new_id
from jobtrail.testing import drain


def failing_group(jobs, *, more=0):
    add, fail = jobs.task_named("add"), jobs.task_named("fail")
    members = [(add, {"a": 1}), (fail, {"message": "no"}), *[(add.using(delay=3600), {"a": 1})] * more]
    return jobs.group(members, then=add, params={"a": 5}, name="February")


def test_a_group_its_list_and_its_jobs_tell_the_same_numbers(app_jobs, client):
    group = failing_group(app_jobs, more=2)
    app_jobs.task_named("add").enqueue(a=9)
    drain(app_jobs)
    told = client.get(f"/api/groups/{group.id}").json()
    assert (told["name"], told["total"], told["ended"], told["outcome"]) == ("February", 4, 2, None)
    assert told["status"] == {"completed": 1, "failed": 1, "pending": 2}
    assert [one["job"] for one in told["members"]] == [job.id for job in group.jobs()]
    counts = client.get("/api/jobs/counts", params={"q": f"group:{group.id}"}).json()
    assert {status: one["number"] for status, one in counts["status"].items() if one["number"]} == told["status"]
    assert counts["all"]["number"] == told["total"]
    (seen,) = client.get(f"/api/jobs/{told['members'][0]['job']}").json()["groups"]
    assert {name: seen[name] for name in ("id", "total", "ended", "status")} == {
        name: told[name] for name in ("id", "total", "ended", "status")
    }
    (following,) = told["successors"]
    assert (following["task"], following["state"], following["job"]) == ("add", "waiting", None)


def test_a_member_that_is_retried_after_the_end_is_not_counted_as_ended(app_jobs, client):
    group = failing_group(app_jobs)
    drain(app_jobs)
    assert client.get(f"/api/groups/{group.id}").json()["ended"] == 2
    asked = {"action": "retry", "filter": f"group:{group.id} status:failed"}
    shown = client.post("/api/bulk/preview", json=asked).json()
    assert (shown["jobs"], shown["acts"]) == (1, 1)
    group.jobs()[1].retry()
    told = client.get(f"/api/groups/{group.id}").json()
    assert (told["ended"], told["status"], told["outcome"]) == (1, {"completed": 1, "pending": 1}, "partial")


def test_members_come_in_pages_and_those_that_were_removed_keep_their_end(app_jobs, client):
    group = failing_group(app_jobs, more=3)
    drain(app_jobs)
    first, second, third, *_ = (job.id for job in group.jobs())
    app_jobs.store.write(lambda conn: conn.execute(delete(tables.jobs).where(tables.jobs.c.id == first)))
    page = client.get(f"/api/groups/{group.id}?limit=2").json()
    assert [(one["job"], one["status"], one["removed"]) for one in page["members"]] == [
        (first, "completed", True),
        (second, "failed", False),
    ]
    assert (page["ended"], page["status"], page["next"]) == (2, {"failed": 1, "pending": 3}, 2)
    rest = client.get(f"/api/groups/{group.id}?after={page['next']}").json()
    assert (rest["members"][0]["job"], len(rest["members"]), rest["next"]) == (third, 3, None)


def test_a_group_that_is_not_there(client, seen_as):
    problem(client.get(f"/api/groups/{new_id()}"), 404)
    problem(client.get("/api/groups/nonsense"), 404)
    assert client.get("/api/jobs", params={"q": f"group:{new_id()}"}).json()["jobs"] == []
    assert seen_as(None).get(f"/api/groups/{new_id()}").status_code == 401
