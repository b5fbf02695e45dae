"""Tasks over the network: those that are known, those of stored jobs, and the form that starts one."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, Literal

from api_app import add_tasks, problem
from pydantic import BaseModel, Field

from jobtrail import Context, JobTrail
from jobtrail.queries.form_schemas import of_arguments
from jobtrail.testing import drain


class Window(BaseModel):
    """A span of hours."""

    first: int
    last: int | None = None


class Colour(Enum):
    """One of two."""

    RED = "red"
    BLUE = "blue"


def many(
    ctx: Context, *, airport: str, hours: Annotated[int, Field(ge=1, description="So many.")] = 24, window: Window | None = None,
    api_key: str = "s3cr3t-XYZ", colour: Colour = Colour.RED, way: Literal["up", "down"] = "up", anything: Any = (1,),
    untyped=7, unknown: "NotThere" = 3,  # noqa: F821, UP037
) -> None:  # fmt: skip
    """Takes many things.

    And says more of it at postgresql://u:s3cr3t-XYZ@h/db.
    """


def test_every_task_is_listed_known_or_not_with_its_last_job_and_schedules(app_jobs, client, make_jobs):
    old = make_jobs()
    old.task(name="gone")(lambda: None)
    job = old.task_named("gone").enqueue()
    failed = app_jobs.task_named("fail").enqueue()
    drain(app_jobs)
    app_jobs.schedules.add("nightly", "add", "0 3 * * *", args={"a": 1})
    told = {one["name"]: one for one in client.get("/api/tasks").json()["tasks"]}
    assert sorted(told) == ["add", "asks", "fail", "flaky", "gone", "load", "read"]
    assert (told["gone"]["known"], told["gone"]["last"]["id"]) == (False, job.id)
    assert (told["fail"]["last"]["id"], told["fail"]["last"]["status"]) == (failed.id, "failed")
    assert (told["add"]["schedules"], told["add"]["next_at"][11:16], told["add"]["last"]) == (1, "03:00", None)
    assert (told["load"]["kind"], told["load"]["description"]) == ("sync", "Load some rows, of which some are bad.")


def test_the_form_of_a_task_is_made_from_its_signature(app_jobs, client):
    app_jobs.task(many)
    answer = client.get("/api/tasks/many")
    told = answer.json()["arguments"]
    assert (told["required"], told["additionalProperties"]) == (["airport"], False)
    fields = told["properties"]
    assert fields["airport"] == {"type": "string", "title": "airport"}
    assert fields["hours"] == {"type": "integer", "minimum": 1, "description": "So many.", "title": "hours", "default": 24}
    assert fields["window"] == {"$ref": "#/$defs/Window", "title": "window", "x-nullable": True}
    assert fields["api_key"] == {"type": "string", "title": "api_key", "format": "password", "writeOnly": True}
    assert (fields["colour"]["enum"], fields["way"]["enum"], fields["way"]["default"]) == (["red", "blue"], ["up", "down"], "up")
    assert (fields["untyped"], fields["unknown"]) == ({"title": "untyped", "default": 7}, {"title": "unknown", "default": 3})
    assert told["$defs"]["Window"]["properties"]["last"] == {"type": "integer", "title": "Last", "x-nullable": True}
    assert "ctx" not in fields
    assert "s3cr3t-XYZ" not in answer.text


def test_what_takes_whatever_comes_says_so_and_marked_arguments_are_secret():
    jobs = JobTrail("sqlite:///nothing.db", plugins=[])
    task = jobs.task(name="open", secret={"pin"})(lambda pin, **rest: None).task
    schema = of_arguments(task)
    assert (schema["additionalProperties"], schema["properties"]["pin"]["format"]) == (True, "password")


def test_a_task_is_found_by_a_former_name_and_jobtrails_own_are_not_shown(app_jobs, client):
    app_jobs.task(name="sync/weather", aliases=("old",))(lambda: None)
    assert client.get("/api/tasks/old").json()["name"] == "sync/weather"
    assert client.get("/api/tasks/sync/weather").json()["aliases"] == ["old"]
    for name in ("jobtrail.bulk", "nothing"):
        problem(client.get(f"/api/tasks/{name}"), 404, "not-found")


def test_a_job_that_was_started_from_a_form_runs(app_jobs, client, make_jobs):
    made = client.post("/api/jobs", json={"task": "add", "args": {"a": 2, "b": 3}}).json()["job"]["id"]
    drain(add_tasks(make_jobs()))
    assert app_jobs.get(made).result(timeout=1) == 5
