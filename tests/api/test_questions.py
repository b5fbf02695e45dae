"""Questions over the network: the inbox, forms and mappings, one answer, and what is said to whoever comes too late."""

from __future__ import annotations

from datetime import timedelta

import pytest
from api_app import problem
from pydantic import BaseModel

from jobtrail.job.masking import MASK
from jobtrail.queries.form_schemas import folded
from jobtrail.testing import drain


class Columns(BaseModel):
    """What a file of planes has."""

    tail: str
    year: int | None = None


@pytest.fixture
def asking(app_jobs):
    @app_jobs.task
    def maps(ctx):
        rows = [{"TailNum": "N1", "Built": "1999", "api_key": "s3cr3t-XYZ"}]
        return ctx.ask("columns", "Which column means what?", Columns, kind="mapping", columns=rows, expires=timedelta(days=2))

    @app_jobs.task
    def chooses(ctx):
        return ctx.ask("amount", "How much?", Form, default={"amount": 3, "password": "s3cr3t-XYZ"}, expires=timedelta(days=1)).model_dump()

    return app_jobs


class Form(BaseModel):
    """A form with all kinds of fields."""

    amount: int
    note: str | None = None
    password: str | None = None


def open_one(jobs, client, task):
    job = jobs.task_named(task).enqueue()
    drain(jobs)
    (line,) = [one for one in client.get("/api/questions").json()["questions"] if one["job"] == job.id]
    return job, line


def test_the_inbox_has_the_nearest_deadline_first_and_counts_all(asking, client):
    ids = {task: open_one(asking, client, task)[1]["id"] for task in ("asks", "maps", "chooses")}
    told = client.get("/api/questions").json()
    assert [one["id"] for one in told["questions"]] == [ids["chooses"], ids["maps"], ids["asks"]]
    assert told["count"] == 3
    assert client.get("/api/questions?limit=1").json()["count"] == 3
    mapping = told["questions"][1]
    assert (mapping["kind"], mapping["fields"], mapping["proposed"], mapping["has_default"]) == ("mapping", 2, 1, False)


def test_a_form_has_plain_fields_for_what_may_be_left_out_and_looking_changes_nothing(asking, client):
    job, line = open_one(asking, client, "chooses")
    for _ in range(3):
        told = client.get(f"/api/questions/{line['id']}").json()
    fields = told["form"]["properties"]
    assert fields["note"] == {"type": "string", "title": "Note", "x-nullable": True}
    assert told["form"]["required"] == ["amount"]
    assert told["default"] == {"amount": 3, "password": MASK}
    assert (told["state"], job.refresh().status, len(job.events())) == ("open", "awaiting_input", 1)


def test_a_mapping_has_columns_with_samples_targets_and_a_proposal_and_secrets_stay_hidden(asking, client):
    _, line = open_one(asking, client, "maps")
    answer = client.get(f"/api/questions/{line['id']}")
    editor = answer.json()["mapping"]
    assert editor["columns"] == [
        {"name": "TailNum", "samples": ["N1"]}, {"name": "Built", "samples": ["1999"]}, {"name": "api_key", "samples": [MASK]},
    ]  # fmt: skip
    assert [(one["name"], one["required"]) for one in editor["targets"]] == [("tail", True), ("year", False)]
    assert editor["proposal"]["tail"] == "TailNum"
    assert "s3cr3t-XYZ" not in answer.text


def test_an_answer_goes_on_with_the_job_and_one_that_does_not_fit_is_told_by_field(asking, client):
    job, line = open_one(asking, client, "maps")
    address = f"/api/questions/{line['id']}/answer"
    told = problem(client.post(address, json={"value": {"tail": "Nowhere", "wing": "Built"}}), 422, "answer-refused")
    assert {one["path"] for one in told["errors"]} == {"$.tail", "$.wing"}
    assert client.get("/api/questions").json()["count"] == 1
    good = client.post(address, json={"value": {"tail": "TailNum", "year": None}, "reason": "as last month"})
    assert (good.status_code, good.json()["state"], good.json()["actor"]) == (200, "answered", "person:local")
    drain(asking)
    assert job.result(timeout=1) == {"tail": "TailNum", "year": None}


def test_of_two_answers_one_counts_and_the_other_learns_who_was_first(asking, client, seen_as):
    _, line = open_one(asking, client, "asks")
    address = f"/api/questions/{line['id']}/answer"
    assert seen_as("operator").post(address, json={"value": True}).status_code == 200
    told = problem(client.post(address, json={"value": False}), 409, "already-answered")
    assert (told["actor"], told["at"][:2]) == ("person:ann", "20")
    assert client.post(address, json={"value": True}).status_code == 200  # the same answer once more


def test_what_nobody_waits_for_any_more_is_gone(asking, client):
    job, line = open_one(asking, client, "asks")
    job.cancel()
    problem(client.post(f"/api/questions/{line['id']}/answer", json={"value": True}), 410, "question-closed")
    assert client.get(f"/api/questions/{line['id']}").json()["state"] == "closed"
    problem(client.get("/api/questions/nothing"), 404)
    problem(client.get("/api/questions/01978f3e-0000-7000-8000-000000000000"), 404)


def test_a_masked_default_that_is_sent_back_is_what_it_was_and_another_mask_is_refused(asking, client):
    job, line = open_one(asking, client, "chooses")
    address = f"/api/questions/{line['id']}/answer"
    told = problem(client.post(address, json={"value": {"amount": 1, "note": MASK}}), 422, "answer-refused")
    assert told["errors"] == [{"path": "$.note", "detail": "is masked; give its value"}]
    answer = client.post(address, json={"value": {"amount": 5, "password": MASK}})
    assert answer.json()["answer"] == {"amount": 5, "password": MASK}
    drain(asking)
    assert job.result(timeout=1)["password"] == "s3cr3t-XYZ"


def test_only_operators_answer(asking, client, seen_as):
    job, line = open_one(asking, client, "asks")
    for role, status in (("viewer", 403), (None, 401)):
        assert seen_as(role).post(f"/api/questions/{line['id']}/answer", json={"value": True}).status_code == status
    assert job.refresh().status == "awaiting_input"


# -- folding -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "plain"),
    [
        ({"anyOf": [{"type": "integer"}, {"type": "null"}], "title": "N", "default": None}, {"type": "integer", "title": "N", "x-nullable": True}),
        ({"type": ["string", "null"]}, {"type": "string", "x-nullable": True}),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]}, {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-nullable": True}),
        ({"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}], "default": None}, {"$ref": "#/$defs/A", "x-nullable": True}),
        ({"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}, {"type": "array", "items": {"type": "integer", "x-nullable": True}}),
        ({"enum": [None, {"type": ["string", "null"]}]}, {"enum": [None, {"type": ["string", "null"]}]}),
        ({"properties": {"anyOf": {"type": "string"}}}, {"properties": {"anyOf": {"type": "string"}}}),
        ({"type": "null"}, {"type": "null"}),
        (True, True),
    ],
)  # fmt: skip
def test_what_may_be_null_is_folded_and_nothing_else(schema, plain):
    assert folded(schema) == plain
