"""What is masked for somebody cannot be searched, sorted or compared by them either."""

from __future__ import annotations

from contextlib import closing

import pytest
from live_server import Live, serving

from jobtrail.api import Person
from jobtrail.testing import drain

SECRET = "hunter2"
ADDRESS = f"https://ann:{SECRET}@example.org/data"
FILTERS = [
    "args.password:h*", "args.db.token:hunter2", "args.pin:hunter*", "args.mirror:https://ann:h*", "hunter", SECRET,
    f'"{ADDRESS}"', "source:https://ann:h*", f'source:"{ADDRESS}"', "label:api_key=h*", "label:mirror=https://ann:h*",
    f'unit:"fail {ADDRESS} 2024-01"', "error:hunter2", f"task:fail {SECRET}", "-source:https://ann:h*", "-hunter2",
    "-label:api_key=h*", "-args.password:h*", 'source:https://ann:h* source:"https://ann:***@example.org/data"',
]  # fmt: skip


@pytest.fixture
def planted(app_jobs):
    """Two jobs that differ in their secrets only, so that no filter may tell one from the other."""
    for secret in (SECRET, "another"):
        address = f"https://ann:{secret}@example.org/data"
        app_jobs.task_named("fail").using(
            source=address, period="2024-01", labels={"api_key": secret, "mirror": address}, reason=f"see {address}"
        ).enqueue(
            message=f"{address} pin={secret}", password=secret, pin=secret, db={"token": secret}, mirror=address
        )  # fmt: skip
    drain(app_jobs)
    return app_jobs


def numbers(client, text):
    """How many jobs each route finds that answers a filter."""
    listed = client.get("/api/jobs", params={"q": text, "count": True}).json()
    counted = client.get("/api/jobs/counts", params={"q": text}).json()["all"]["number"]
    meant = client.post("/api/bulk/preview", json={"action": "cancel", "filter": text})
    return {len(listed["jobs"]), listed["count"]["number"], counted, *([meant.json()["jobs"]] if meant.is_success else [])}


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_who_is_shown_masks_cannot_tell_jobs_apart_by_their_secrets(planted, seen_as, role):
    client = seen_as(role)
    found = {text: numbers(client, text) for text in FILTERS}
    assert {text: number for text, number in found.items() if number not in ({0}, {2})} == {}


def test_names_that_a_task_declares_secret_are_not_searched_in_sources_and_labels_either(app_jobs, seen_as):
    for secret in (SECRET, "another"):
        app_jobs.task_named("fail").using(source=f"api?pin={secret}", labels={"pin": secret}).enqueue()
    for text in ("source:api?pin=h*", "-source:api?pin=h*", "label:pin=h*", f"pin={SECRET}"):
        assert numbers(seen_as("operator"), text) in ({0}, {2}), text
    assert SECRET not in seen_as("operator").get("/api/jobs").text


def test_an_admin_and_the_program_search_what_is_stored(planted, seen_as):
    for text in ("args.password:h*", "source:https://ann:h*", "label:api_key=h*"):
        assert numbers(seen_as("admin"), text) == {1}
        assert len(planted.find(text)) == 1


def test_what_is_no_secret_is_found_by_everybody(planted, seen_as):
    planted.task_named("load").using(source="weather/EWR", labels={"team": "blue"}).enqueue(rows=7)
    for text in ("source:weather/*", "label:team=blue", "args.rows:7", "ewr", "-task:fail"):
        assert numbers(seen_as("operator"), text) == {1}
    assert numbers(seen_as("viewer"), "args.mirror:https://ann:*") == {2}


def test_a_live_topic_is_searched_with_the_role_of_who_watches(planted):
    for role, found in (("viewer", 0), ("admin", 1)):
        app = planted.asgi(login=lambda _request, role=role: Person("ann", role))
        with serving(app) as server, closing(Live(server)) as page:
            assert len(page.snapshot("jobs", filter="args.password:h*")["order"]) == found


def test_sources_are_found_and_sorted_as_they_are_shown(planted, seen_as):
    client = seen_as("viewer")
    for prefix, found in (("https://ann:", 2), ("https://ann:h", 0), ("https://ann:***@", 2)):
        assert client.get("/api/units", params={"task": "fail", "source": prefix}).json()["sources"] == found


def test_the_digest_of_a_preview_does_not_depend_on_secrets(planted, seen_as):
    def digest(secret):
        args = {"message": "x", "password": secret, "pin": secret}
        said = {"task": "fail", "first": "2024-02", "sources": ["a"], "step": "month", "args": args}
        answer = seen_as("operator").post("/api/units/preview", json=said)
        assert answer.status_code == 200, answer.text
        assert secret not in answer.text
        return answer.json()["digest"]

    assert digest("s3cr3t-A") == digest("s3cr3t-B")
