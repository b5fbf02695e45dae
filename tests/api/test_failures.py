"""Errors over the network: by their cause with counts, and when they came in which task; within bounds that are told."""

from __future__ import annotations

from datetime import timedelta

from api_app import problem
from sqlalchemy import update

from jobtrail.database import tables
from jobtrail.queries.monitoring import error_groups
from jobtrail.testing import drain

SECRET = "s3cr3t-XYZ"


def failing(jobs, *messages, task="fail"):
    made = [jobs.task_named(task).enqueue(message=one) for one in messages]
    drain(jobs)
    return made


def age(jobs, job, **by):
    """Make a job look as if it had ended earlier (when it was made stands in its id)."""
    then = jobs.store.now() - timedelta(**by)
    jobs.store.write(lambda conn: conn.execute(update(tables.jobs).where(tables.jobs.c.id == job.id).values(finished_at=then)))


def test_errors_of_one_cause_are_one_kind_that_of_the_newest_job_first(app_jobs, client):
    first, *_, last = failing(app_jobs, "no file", "no file", "no file")
    (other,) = failing(app_jobs, "no room")
    told = client.get("/api/errors").json()
    assert (told["all"], told["more"], len(told["kinds"])) == (2, False, 2)
    room, file = told["kinds"]
    assert (room["last_job"], file["jobs"], file["tasks"]) == (other.id, {"number": 3, "more": False}, ["fail"])
    assert (file["first_job"], file["last_job"], file["last_status"]) == (first.id, last.id, "failed")
    assert file["error"].endswith("PermanentError: no file")
    found = client.get("/api/jobs", params={"q": f"error:{file['fingerprint']}"}).json()["jobs"]
    assert len(found) == 3
    assert client.get(f"/api/errors/{file['fingerprint']}").json()["jobs"]["number"] == 3
    assert client.get("/api/errors?limit=1").json()["kinds"] == [room]


def test_a_job_that_came_right_counts_no_more_and_what_is_tried_again_does(app_jobs, client):
    app_jobs.task_named("flaky").enqueue()
    drain(app_jobs)
    (kind,) = client.get("/api/errors").json()["kinds"]
    assert (kind["last_status"], kind["last_task"]) == ("pending", "flaky")


def test_c17_passwords_in_messages_are_not_shown(app_jobs, client):
    failing(app_jobs, f"cannot reach postgresql://u:{SECRET}@h/db")
    for path in ("/api/errors", "/api/errors/matrix", "/api/stats/needs"):
        answer = client.get(path)
        assert SECRET not in answer.text
        assert "postgresql://u:***@h/db" in answer.text


def test_counts_stop_at_a_cap_and_say_so(app_jobs):
    failing(app_jobs, *["no file"] * 5)
    with app_jobs.store.read() as conn:
        now = app_jobs.store.now()
        (group,) = error_groups.groups(conn, now - timedelta(hours=1), now, cap=3).kinds
        later = error_groups.groups(conn, now + timedelta(hours=1), now)
    assert (group.jobs.number, group.jobs.more) == (3, True)
    assert (later.kinds, later.all) == ([], 0)


def test_the_matrix_tells_task_by_error_by_time_of_the_end(app_jobs, client):
    jobs = failing(app_jobs, "no file", "no file", "no room")
    age(app_jobs, jobs[0], hours=5, minutes=30)
    told = client.get("/api/errors/matrix?hours=6&parts=6").json()
    assert (told["parts"], told["seconds"], told["looked_at"], told["more"], told["left_out"]) == (6, 3600, 3, False, 0)
    by_error = {told["errors"][cell["fingerprint"]].rpartition(": ")[2]: [] for cell in told["cells"]}
    for cell in told["cells"]:
        by_error[told["errors"][cell["fingerprint"]].rpartition(": ")[2]].append((cell["task"], cell["part"], cell["jobs"]))
    assert by_error == {"no file": [("fail", 0, 1), ("fail", 5, 1)], "no room": [("fail", 5, 1)]}


def test_the_matrix_looks_at_the_newest_and_says_when_there_are_more(app_jobs):
    failing(app_jobs, *["no file"] * 6)
    now = app_jobs.store.now()
    with app_jobs.store.read() as conn:
        found = error_groups.matrix(conn, now - timedelta(hours=1), now, newest=4)
    assert (found.looked_at, found.more, sum(cell.jobs for cell in found.cells)) == (4, True, 4)


def test_what_is_left_is_what_nobody_has_taken_up(app_jobs):
    alone, again, unit = failing(app_jobs, "a", "b", "c")
    load = app_jobs.task_named("load").using(source="A", period="2013-01")
    old = load.enqueue(rows=2, bad=1)
    drain(app_jobs)
    again.rerun("full").cancel()  # a re-run that was cancelled has taken nothing up
    unit.rerun("full")
    newer = load.enqueue(rows=2, bad=1)
    drain(app_jobs)
    with app_jobs.store.read() as conn:
        found = error_groups.unresolved(conn, app_jobs.store.now() - timedelta(days=1))
    ids = {one.id for one in found}
    assert {alone.id, again.id, newer.id} <= ids
    assert ids.isdisjoint({unit.id, old.id})


def test_what_is_asked_wrongly_is_told(client):
    problem(client.get("/api/errors/0123456789abcdef"), 404, "not-found")
    for path in ("/api/errors?hours=0", "/api/errors?hours=1e9", "/api/errors/matrix?parts=9999", "/api/errors/XYZ"):
        problem(client.get(path), 422)
