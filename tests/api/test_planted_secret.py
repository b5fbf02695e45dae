"""A secret in fifteen forms and many places is found in no answer, page, log, table, metric, trace or export."""

from __future__ import annotations

import contextlib
import re

import pytest
from api_app import HERE, OURS
from live_server import Live, serving
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from starlette.testclient import TestClient
from trails import QUICK

from jobtrail import JobTrail, Limit, PermanentError, Retry
from jobtrail.store import events
from jobtrail.testing import drain

SECRET = "s3cr3tXyZ9"
FORMS = [
    f"password2={SECRET}", f"db_password_old: {SECRET}", f"passwort={SECRET}", f"auth={SECRET}", f"bearer {SECRET}",
    f"otp={SECRET}", f"pwd1={SECRET}", f"https://h.example/x?token={SECRET}", f"https://h.example/x?a=1&api_key={SECRET}",
    f"https://{SECRET}@h.example/x", f"ftp://ann:a/{SECRET}@h.example/x", f"dsn=postgresql://ann:{SECRET}@db/x",
    f'{{"client_secret": "{SECRET}"}}', f"pin={SECRET}", f"kundennummer: {SECRET}",
]  # fmt: skip
NAMES = ("password2", "db_password_old", "passwort", "auth", "bearer", "otp", "pwd1", "dsn", "apiKey", "pin", "kundennummer")

ASKED = {"/api/units": {"task": "planted"}, "/api/stats/task": {"name": "planted"}}


def planted(ctx, *, text, **named):
    """Use a secret wherever a task can."""
    ctx.log.warning("see %s", text)
    with contextlib.suppress(ZeroDivisionError):
        1 / 0
    try:
        raise ValueError(text)
    except ValueError:
        ctx.log.exception("it failed")
    ctx.set_progress(0.5, message=text, metadata={"url": text, **named})
    for item in ctx.items([text], key=str):
        with item:
            raise PermanentError(text)
    ctx.step(text[:100], lambda: text)
    answer = ctx.ask("which", text, {"type": "object", "properties": {"password2": {"type": "string"}, "note": {"type": "string"}}})
    try:
        raise ValueError(text)
    except ValueError as error:
        error.add_note(text)
        raise KeyError(text, answer["note"]) from error


def returns(*, text, **named):
    """Return a secret."""
    return {"text": text, "deep": [{text: named}]}


@pytest.fixture
def world(sqlite_url, tmp_path):
    """An application whose jobs hold the secret in their arguments, texts, labels, context, answers and ends."""
    spans = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    jobs = JobTrail(
        sqlite_url, tracing=provider, upload_folder=tmp_path / "uploads", secret_names=["kundennummer"],
        **QUICK,
    )  # fmt: skip
    jobs.task(secret={"pin"}, retry=Retry(attempts=1))(planted)
    jobs.task(secret={"pin"}, limits=[Limit("of:{text}", running=1)])(returns)
    with contextlib.closing(jobs), TestClient(jobs.asgi(), HERE, client=("127.0.0.1", 1), headers=OURS) as client:
        for number, form in enumerate(FORMS):
            _plant(jobs, number, form)
        drain(jobs)
        for one in client.get("/api/questions").json()["questions"]:
            value = {"password2": SECRET, "note": FORMS[0]}
            said = client.post(f"/api/questions/{one['id']}/answer", json={"value": value, "reason": FORMS[1], "remember": True})
            assert said.status_code == 200, said.text
        drain(jobs)
        _say(client)
        yield jobs, client, spans


def _plant(jobs, number, form):
    named = {name: SECRET for name in NAMES}
    given = {"text": form, **named, "deep": [{"x": form, **named}]}
    labels = {"url": form[:150], "password2": SECRET}
    said = {"source": form[:150], "labels": labels, "context": {"url": form, **named}, "reason": form}
    returns = jobs.task_named("returns")
    jobs.group([(returns.using(**said), {"text": form})], then=returns, params={"text": form, **named}, name=form)
    returns.using(source="later", delay=3600).enqueue(text=form)  # waits with its key of a limit
    for name in ("planted", "returns"):
        jobs.task_named(name).using(**said, period=f"2024-01-{number + 1:02}").enqueue(**given)
    jobs.schedules.add(f"schedule{number}", "returns", "0 3 * * *", args=given, labels=labels, reason=form, actor="person:ann")
    store = jobs.store
    detail = {"url": form, "password2": SECRET, "deep": [{"dsn": SECRET}]}
    store.write(lambda conn: events.record_action(
        conn, store.dialect, store.now(), actor="person:ann", name="queue_paused", target=form, reason=form, detail=detail
    ))  # fmt: skip


def _say(client):
    """Give the secret as a reason wherever a person gives one after the jobs have ended."""
    for form, one in zip(FORMS, client.get("/api/errors").json()["kinds"], strict=False):
        said = client.post(f"/api/errors/{one['fingerprint']}/handling", json={"action": "acknowledge", "reason": form})
        assert said.status_code == 200, said.text
    for form in FORMS:
        said = client.put("/api/limits/of:{text}", json={"running": 2, "reason": form})
        assert said.status_code == 200, said.text
    asked = {"filter": f'source:"{FORMS[0]}"'}
    shown = client.post("/api/deletion/preview", json=asked).json()
    said = client.post("/api/deletion", json={**asked, "digest": shown["digest"], "at": shown["at"], "reason": FORMS[1]})
    assert said.status_code == 201, said.text


def addresses(client):
    """Each address of the description that is read, with everything that there is in its place."""
    jobs = [one["id"] for one in client.get("/api/jobs", params={"limit": 500}).json()["jobs"]]
    details = [client.get(f"/api/jobs/{job}").json() for job in jobs]
    found = {
        "job_id": jobs,
        "question": [one["id"] for job in details for one in job["questions"]],
        "unit": sorted({job["unit"] for job in details if job["unit"]}),
        "name": ["planted", "returns", *(f"schedule{n}" for n in range(len(FORMS)))],
        "group_id": sorted({group["id"] for job in details for group in job["groups"]}),
        "fingerprint": [one["fingerprint"] for one in client.get("/api/errors").json()["kinds"]],
    }
    for path, by_method in client.get("/api/openapi.json").json()["paths"].items():
        if "get" not in by_method or path.startswith("/api/live"):
            continue
        names = re.findall(r"{(\w+)}", path)
        assert set(names) <= found.keys() | {"station"}, f"the test does not know what stands in {path}"
        for value in found[names[0]] if names else [""]:
            yield re.sub(r"{\w+}", value, path)


def test_a_planted_secret_is_in_nothing_that_is_shown(world):
    jobs, client, spans = world
    seen = [(path, client.get(path, params=ASKED.get(path))) for path in addresses(client)]
    seen += [(path, client.get(path)) for path in ("/", "/jobs", "/api/units?task=returns")]
    assert len({path for path, _ in seen}) > 150
    shown = [(path, re.findall(f".{{0,60}}{SECRET}", answer.text)[:3]) for path, answer in seen if SECRET in answer.text]
    assert shown == []
    assert sum(answer.status_code == 200 for _, answer in seen) > 150
    assert "***" in "".join(answer.text for _, answer in seen)
    assert SECRET not in jobs.metrics().text()
    told = "".join(span.to_json() for span in spans.get_finished_spans())
    assert "run planted" in told
    assert SECRET not in told


def test_a_planted_secret_is_not_told_live(world):
    jobs, client, _ = world
    job = client.get("/api/jobs", params={"q": "task:planted"}).json()["jobs"][0]["id"]
    with serving(jobs.asgi()) as server, contextlib.closing(Live(server)) as page:
        for topic in ("jobs", "stats", "needs", "questions", "schedules", "workers"):
            page.snapshot(topic)
        page.snapshot("job", job=job)
        page.say(type="subscribe", id="events", topic="events", after=0)
        page.until("the trail is told", lambda told: told["type"] == "events" and told.get("events"))
        assert len(page.parts["jobs"]) > len(FORMS)
        assert SECRET not in str(page.messages)
