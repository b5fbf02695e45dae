"""Python, the API and the command line give the same answer to every query about units, schedules and the system."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any

import pytest
from starlette.testclient import TestClient

from jobtrail import JobTrail
from jobtrail.cli import main
from jobtrail.commands.queues import set_paused
from jobtrail.store import tokens
from jobtrail.testing import MovableClock, drain, tick

APP = """
from jobtrail import JobTrail
from parity_tasks import add_tasks
jobs = add_tasks(JobTrail({url!r}, plugins=[]))
"""
TASKS = """
from jobtrail import Limit

def add_tasks(jobs):
    @jobs.task(kind="sync", limits=[Limit("{source}", running=2)])
    def load(ctx, *, rows: int = 3, bad: int = 0, password: str = "x"):
        "Load the weather of an airport."
        for item in ctx.items(range(rows), key=str):
            with item:
                if item.value < bad:
                    raise ValueError("no temperature at postgresql://u:s3cret@h/db")

    @jobs.task
    def ask(ctx):
        return ctx.ask("column", "Which?", {"type": "object", "properties": {"password": {"type": "string"}}}, remember=True)

    @jobs.task
    def fail():
        raise RuntimeError("postgresql://u:s3cret@h/db is away")

    return jobs
"""
# What depends on the moment of the read.
MOVING = {"now", "since", "beat_age", "rate", "drained_in", "points"}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A database with jobs of every kind, and the module that the command line opens."""
    folder = tmp_path_factory.mktemp("parity")
    url = f"sqlite:///{folder / 'jobs.db'}"
    (folder / "parity_tasks.py").write_text(TASKS)
    (folder / "parity_app.py").write_text(APP.format(url=url))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        patch.setenv("JOBTRAIL_APP", "parity_app:jobs")
        for name in ("JOBTRAIL_URL", "COLUMNS"):
            patch.delenv(name, raising=False)
        _fill(url)
        import parity_app

        yield parity_app.jobs
        parity_app.jobs.close()


def _fill(url: str) -> None:
    from parity_tasks import add_tasks

    clock = MovableClock(datetime(2026, 3, 28, 23, 0, tzinfo=UTC))
    jobs = add_tasks(JobTrail(url, plugins=[], clock=clock))
    load = jobs.task_named("load")
    for source, period, bad in (("w/A", "2013-01", 0), ("w/A", "2013-02", 1), ("w/B", "2013-04", 3)):
        load.using(source=source, period=period, actor="person:ann").enqueue(bad=bad, password="s3cret")
    for task in ("ask", "ask", "fail"):
        jobs.task_named(task).enqueue()
    drain(jobs)
    asked, *_ = jobs.find("status:awaiting_input")
    asked.answer({"password": "s3cret"}, actor="person:ann")
    drain(jobs)
    jobs.schedules.add("nightly", "load", "30 * * * *", tz="Europe/Berlin", actor="person:eva", args={"password": "s3cret"})
    clock.move(hours=4)
    tick(jobs)
    load.using(source="w/A", period="2013-02-11T05", queue="slow").enqueue()
    set_paused(jobs.service, "slow", paused=True, actor="person:ann", reason="disk full")
    jobs.store.write(
        lambda conn: tokens.create(conn, jobs.store.dialect, jobs.store.now(), name="ann", role="viewer", actor="person:ann")
    )
    jobs.close()


@pytest.fixture
def get(world):
    """Ask the API, as somebody on its machine."""
    client = TestClient(world.asgi(), "http://127.0.0.1", client=("127.0.0.1", 50_000))

    def ask(path: str) -> Any:
        answer = client.get(f"/api/{path}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    yield ask
    client.close()


@pytest.fixture
def command(world, capsys):
    """Ask the command line with --json."""

    def ask(*words: str) -> Any:
        capsys.readouterr()
        code = main([*words, "--json"])
        out, err = capsys.readouterr()
        assert code == 0, err
        return json.loads(out)

    return ask


def settled(value: Any) -> Any:
    """The answer without what depends on the moment of the read."""
    if isinstance(value, dict):
        return {key: settled(one) for key, one in value.items() if key not in MOVING}
    return [settled(one) for one in value] if isinstance(value, list) else value


def job_of(jobs: JobTrail, text: str) -> str:
    return jobs.find(text)[0].id


# The query, the path of the API, the words of the command line (None where there is no such route or command).
QUERIES = {
    "coverage": (lambda q: q.coverage("load", entire=True), "units?task=load&entire=true", ("coverage", "load")),
    "coverage of a range": (
        lambda q: q.coverage("load", zoom="year", first="2012", last="2013", source="w/A", entire=True),
        "units?task=load&zoom=year&first=2012&last=2013&source=w/A&entire=true",
        ("coverage", "load", "--zoom", "year", "--from", "2012", "--to", "2013", "--source", "w/A"),
    ),
    "unit tasks": (lambda q: q.unit_tasks(), "units/tasks", None),
    "files": (lambda q: q.files("load"), "units/files?task=load", None),
    "questions": (lambda q: q.questions(limit=200), "questions?limit=200", ("questions",)),
    "remembered answers": (lambda q: q.remembered_answers(), "questions/remembered", ("questions", "--remembered")),
    "schedules": (lambda q: q.schedules(), "schedules", ("schedules",)),
    "schedule": (lambda q: q.schedule("nightly"), "schedules/nightly", ("schedules", "show", "nightly")),
    "next times": (
        lambda q: q.schedule("nightly", times=3), "schedules/nightly?times=3", ("schedules", "next", "nightly", "-n", "3")
    ),
    "missed": (lambda q: q.missed(limit=50), "missed?limit=50", ("schedules", "missed")),
    "missed of one": (
        lambda q: q.missed("nightly", limit=2), "missed?name=nightly&limit=2", ("schedules", "missed", "nightly", "-n", "2")
    ),
    "workers": (lambda q: q.workers(), "workers", None),
    "queues": (lambda q: q.queues(), "queues", ("queues",)),
    "limits": (lambda q: q.limits(), "limits", ("limits", "list")),
    "statistics": (lambda q: q.statistics(), "stats", None),
    "series": (lambda q: q.series(48), "stats/series?hours=48", None),
    "attention": (lambda q: q.attention(), "stats/needs", None),
    "errors": (lambda q: q.errors(9_000), "errors?hours=8784", None),
    "error matrix": (lambda q: q.error_matrix(24, parts=6), "errors/matrix?parts=6", None),
    "audit": (lambda q: q.audit(limit=500), "audit?limit=500", None),
    "audit of one": (lambda q: q.audit(actor="person:a*"), "audit?actor=person:a*", None),
    "tasks": (lambda q: q.tasks(), "tasks", None),
    "task": (lambda q: q.task("load"), "tasks/load", None),
    "task history": (lambda q: q.task_history("load"), "stats/task?name=load", None),
    "tokens": (lambda q: q.tokens(), None, ("token", "list")),
}  # fmt: skip


@pytest.mark.parametrize("name", QUERIES)
def test_the_answers_are_the_same(name, world, get, command):
    query, path, words = QUERIES[name]
    answer = settled(query(world.queries).model_dump(mode="json"))
    if path is not None:
        assert settled(get(path)) == answer
    if words is not None:
        assert settled(command(*words)) == answer
    assert answer
    assert "s3cret" not in json.dumps(answer)


def test_a_unit_is_the_same(world, get):
    (cell, *_) = world.queries.coverage("load", zoom="month", entire=True).rows[0].cells
    answer = world.queries.unit(cell.unit.unit)
    assert get(f"units/{cell.unit.unit}") == answer.model_dump(mode="json")
    assert answer.unit.state == "complete"


def test_questions_are_the_same(world, get, command):
    (line,) = world.queries.questions().questions
    answer = world.queries.question(line.id).model_dump(mode="json")
    assert get(f"questions/{line.id}") == answer
    assert command("questions", "--job", line.job) == {"questions": [answer]}
    assert world.queries.questions_of_job(line.job).model_dump(mode="json") == {"questions": [answer]}


def test_one_error_is_the_same(world, get):
    for group in world.queries.errors(9_000).kinds:
        assert world.queries.error(group.fingerprint) == group
        assert get(f"errors/{group.fingerprint}") == group.model_dump(mode="json")


def test_a_rule_is_explained_alike(world):
    client = TestClient(world.asgi(), "http://127.0.0.1", client=("127.0.0.1", 50_000), headers={"X-Jobtrail": "1"})
    answer = client.post("/api/schedules/preview", json={"rule": "0 3 * * *", "tz": "Europe/Berlin"}).json()
    assert world.queries.preview_rule("0 3 * * *", "Europe/Berlin").model_dump(mode="json") == answer


def test_a_backfill_is_shown_alike(world, command):
    client = TestClient(world.asgi(), "http://127.0.0.1", client=("127.0.0.1", 50_000), headers={"X-Jobtrail": "1"})
    selection = {"first": "2013-01", "last": "2013-06", "only": ["missing"]}
    answer = world.queries.backfill("load", **selection).model_dump(mode="json")
    assert client.post("/api/units/preview", json={"task": "load", **selection}).json() == answer
    assert command("backfill", "load", "--from", "2013-01", "--to", "2013-06", "--dry-run") == answer
    assert answer["counts"]["missing"] > 0
    assert "s3cret" not in json.dumps(answer)


def test_every_query_is_compared(world):
    """A query without a comparison would be one more that may disagree."""
    from pathlib import Path

    facade = type(world.queries)
    own = {name for name in vars(facade) if not name.startswith("_") and callable(getattr(facade, name))}
    own -= {f"a{name}" for name in own}
    text = Path(__file__).read_text("utf-8")
    compared = set(re.findall(r"\b(?:q|world\.queries)\.(\w+)\(", text))
    assert own - {"of", "shared"} - compared == set()
