"""Python, the API and the command line give the same answer to every query about jobs."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from starlette.testclient import TestClient

from jobtrail import JobTrail
from jobtrail.cli import main
from jobtrail.errors import NotFound
from jobtrail.job.model import Mode
from jobtrail.queries.jobs.queries import JobQueries
from jobtrail.testing import drain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

APP = """
from jobtrail import JobTrail

jobs = JobTrail({url!r}, plugins=[])


@jobs.task(kind="sync")
def load(ctx, *, rows: int = 3, bad: int = 0, password: str = "x"):
    ctx.log.warning("connecting to postgresql://u:s3cret@h/db")
    ctx.step("download", list, ["a"])
    ctx.set_progress(50, "from ftp://u:s3cret@h")
    for item in ctx.items(range(rows), key=str):
        with item:
            if item.value < bad:
                raise ValueError("no temperature at postgresql://u:s3cret@h/db")
    return {{"token": "s3cret"}}


@jobs.task
def ask(ctx):
    return ctx.ask("column", "Which of ftp://u:s3cret@h?", {{"type": "string"}})


@jobs.task
def fail():
    raise RuntimeError("postgresql://u:s3cret@h/db is away")


@jobs.task
def report():
    pass
"""
OPERATOR = {"X-Jobtrail": "1"}


@pytest.fixture
def jobs(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[JobTrail]:
    """An application over a database with jobs of every kind; the command line opens the same."""
    (tmp_path / "parity_jobs_app.py").write_text(APP.format(url=url))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("JOBTRAIL_APP", "parity_jobs_app:jobs")
    monkeypatch.delenv("JOBTRAIL_URL", raising=False)
    sys.modules.pop("parity_jobs_app", None)
    import parity_jobs_app

    found: JobTrail = parity_jobs_app.jobs
    found.migrate()
    _fill(found)
    yield found
    found.close()
    sys.modules.pop("parity_jobs_app", None)


def _fill(jobs: JobTrail) -> None:
    task = jobs.task_named
    load = task("load").using(
        source="w/A", actor="person:ann", labels={"tenant": "acme"}, context={"api_key": "s3cret"}
    )
    load.using(period="2013-01").then(task("report")).enqueue(bad=2, password="s3cret")
    jobs.group([(task("report"), {}), (task("fail"), {})], then=task("report"), name="night")
    task("ask").using(reason="see ftp://u:s3cret@h").enqueue()
    drain(jobs)
    partial, *_ = jobs.find("status:partial")
    partial.rerun("failed_items", reason="corrected")
    drain(jobs)
    task("fail").using(delay=3600).enqueue()
    load.using(period="2013-02").enqueue()


@pytest.fixture
def get(jobs: JobTrail) -> Iterator[Callable[[str], Any]]:
    """Ask the API, as somebody on its machine."""
    client = TestClient(jobs.asgi(), "http://127.0.0.1", client=("127.0.0.1", 50_000), headers=OPERATOR)

    def ask(path: str) -> Any:
        answer = client.get(f"/api/jobs{path}")
        assert answer.status_code == 200, answer.text
        return answer.json() if "json" in answer.headers["content-type"] else answer.text

    yield ask
    client.close()


@pytest.fixture
def command(jobs: JobTrail, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Ask the command line; what it prints."""

    def ask(*words: str) -> str:
        capsys.readouterr()
        code = main([*words])
        out, err = capsys.readouterr()
        assert code == 0, err
        return out

    return ask


def _without_now(answer: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in answer.items() if key != "now"}


# By the name of the query: how Python asks for the job {id}, the path of the API, and the words of the command line.
OF_A_JOB: dict[str, tuple[Callable[[JobQueries, str], Any], str, tuple[str, ...] | None]] = {
    "job": (lambda q, job: q.job(job), "/{id}", ("show", "{id}")),
    "items": (lambda q, job: q.items(job, limit=1000), "/{id}/items?limit=1000", ("items", "{id}")),
    "failed items": (
        lambda q, job: q.items(job, outcome="failed", limit=2),
        "/{id}/items?outcome=failed&limit=2",
        ("items", "{id}", "--failed", "-n", "2"),
    ),
    "log": (lambda q, job: q.log(job, limit=20_000), "/{id}/log?limit=20000", ("log", "{id}")),
    "events": (lambda q, job: q.events(job), "/{id}/events", None),
    "lineage": (lambda q, job: q.lineage(job), "/{id}/lineage", None),
}
LISTS: dict[str, tuple[Callable[[JobQueries], Any], str, tuple[str, ...] | None]] = {
    "all": (lambda q: q.jobs(count=True), "?count=true", ("list",)),
    "a page": (
        lambda q: q.jobs("task:load,report", limit=2, count=True),
        "?q=task:load,report&limit=2&count=true",
        ("list", "task:load,report", "-n", "2"),
    ),
    "a search": (lambda q: q.jobs("temperature", count=True), "?q=temperature&count=true", ("list", "temperature")),
    "counts": (lambda q: q.job_counts("task:fail"), "/counts?q=task:fail", None),
    "all counts": (lambda q: q.job_counts(), "/counts", None),
}


def test_python_the_api_and_the_command_line_give_the_same_answers(
    jobs: JobTrail, get: Callable[[str], Any], command: Callable[..., str]
) -> None:
    told: list[str] = []
    for name, (query, path, words) in LISTS.items():
        answer = query(jobs.queries).model_dump(mode="json")
        assert _without_now(get(path)) == _without_now(answer), name
        if words is not None:
            assert _without_now(json.loads(command(*words, "--json"))) == _without_now(answer), name
        told.append(json.dumps(answer))
    for job in jobs.find():
        for name, (query, path, words) in OF_A_JOB.items():
            answer = query(jobs.queries, job.id).model_dump(mode="json")
            assert get(path.format(id=job.id)) == answer, (name, job)
            if words is not None:
                assert json.loads(command(*(word.format(id=job.id) for word in words), "--json")) == answer, (name, job)
            told.append(json.dumps(answer))
    assert "s3cret" not in "".join(told)
    assert "w/A" in told[0]


def test_texts_are_the_same(jobs: JobTrail, get: Callable[[str], Any], command: Callable[..., str]) -> None:
    first = next(job for job in jobs.find("status:partial") if job.rerun_of is None)
    text = jobs.queries.log_text(first.id)
    assert "u:***@h" in text
    assert get(f"/{first.id}/log.txt") == command("log", first.id) == text
    lines = "".join(jobs.queries.items_csv(first.id)).splitlines()
    assert get(f"/{first.id}/items.csv").splitlines() == command("items", first.id, "--csv").splitlines() == lines
    assert len(lines) == 4


def test_the_header_the_items_and_the_files_of_a_job_agree_after_its_reruns(
    jobs: JobTrail, get: Callable[[str], Any], command: Callable[..., str]
) -> None:
    """A job with two failed items, a re-run in which both fail again, and one in which one is fixed."""
    old = next(job for job in jobs.find("status:partial") if job.rerun_of is None)
    (again,) = [job for job in jobs.find("status:partial") if job.rerun_of == old.id]
    fixed = again.rerun("failed_items", args=json.dumps({"rows": 3, "bad": 1}))
    drain(jobs)
    for job in (old, again, fixed):
        header = jobs.queries.job(job.id).items.model_dump()
        (line,) = [one for one in jobs.queries.jobs("task:load").jobs if one.id == job.id]
        assert line.items.model_dump() == header
        listed = jobs.queries.items(job.id, limit=1000)
        assert Counter(one.outcome for one in listed.items) == Counter(header), job
        assert get(f"/{job.id}/items")["items"] == listed.model_dump(mode="json")["items"]
        rows = list(csv.DictReader(io.StringIO("".join(jobs.queries.items_csv(job.id)))))
        assert [(row["key"], row["outcome"]) for row in rows] == [(one.key, one.outcome) for one in listed.items]
        assert [(one.key, one.outcome) for one in job.items()] == [(one.key, one.outcome) for one in listed.items]
        assert Counter(job.item_counts()) == Counter(header)

    reasons = [(one.key, one.reason, one.since and (one.since.outcome, one.since.job)) for one in jobs.queries.items(old.id).items]
    why = "no temperature at postgresql://u:***@h/db"
    assert reasons == [("0", why, ("failed", fixed.id)), ("1", why, ("ok", fixed.id)), ("2", None, None)]
    told = command("items", old.id)
    assert "showing 3 of 3 items: 1 ok, 2 failed" in told
    assert f"ok in {fixed.id[-8:]}" in told
    assert f"ok in {fixed.id[-8:]}" in command("show", old.id)
    rows = list(csv.DictReader(io.StringIO(command("items", old.id, "--csv"))))
    assert [(row["since_outcome"], row["since_job"]) for row in rows] == [("failed", fixed.id), ("ok", fixed.id), ("", "")]
    assert "showing 3 of 3 items: 2 ok, 1 failed" in command("items", old.id, "--generation")
    assert [one["outcome"] for one in get(f"/{fixed.id}/items?generation=true")["items"]] == ["failed", "ok", "ok"]
    assert fixed.item_counts(generation=True) == {"ok": 2, "failed": 1, "skipped": 0}


def test_an_item_shows_all_that_it_was(
    jobs: JobTrail, get: Callable[[str], Any], command: Callable[..., str]
) -> None:
    old = next(job for job in jobs.find("status:partial") if job.rerun_of is None)
    (again,) = [job for job in jobs.find("status:partial") if job.rerun_of == old.id]
    again.retry()
    drain(jobs)
    fixed = again.rerun("failed_items", args=json.dumps({"rows": 3, "bad": 0}))
    drain(jobs)
    found = jobs.queries.item_history(fixed.id, "1")
    assert [(one.outcome, one.job, one.attempt) for one in found.records] == [
        ("failed", old.id, 1), ("failed", again.id, 1), ("failed", again.id, 2), ("ok", fixed.id, 1),
    ]  # fmt: skip
    assert {one.reason for one in found.records[:3]} == {"no temperature at postgresql://u:***@h/db"}
    for job in (old, again, fixed):
        assert get(f"/{job.id}/items/history?key=1") == found.model_dump(mode="json")
        assert json.loads(command("items", job.id, "--key", "1", "--json")) == found.model_dump(mode="json")
        assert [one.job_id for one in job.item_history(1)] == [old.id, again.id, again.id, fixed.id]
    told = command("items", old.id, "--key", "1")
    assert told.count("no temperature") == 3
    assert fixed.id[-8:] in told
    with pytest.raises(NotFound, match="no item '9'"):
        jobs.queries.item_history(old.id, "9")
    assert old.item_history(9) == []


def test_a_group_is_the_same_everywhere(jobs: JobTrail, get: Callable[[str], Any], command: Callable[..., str]) -> None:
    load = jobs.task_named("load")
    group = jobs.group([(load, {"rows": 1}), (load, {"rows": 2, "bad": 1})], then=load, name="two")
    drain(jobs)
    found = jobs.queries.group(group.id)
    expected = found.model_dump(mode="json", exclude={"now"})
    answers = [get(f"/../groups/{group.id}"), json.loads(command("group", group.id[-12:], "--json"))]
    assert [{name: answer[name] for name in expected} for answer in answers] == [expected, expected]
    told = command("group", group.id)
    assert all(job.id[-8:] in told for job in group.jobs())
    assert "two" in told


def test_find_each_and_count_are_the_list(jobs: JobTrail, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = [line.id for line in jobs.queries.jobs().jobs]
    monkeypatch.setattr("jobtrail.commands.service.PAGE", 2)
    assert [job.id for job in jobs.find()] == [job.id for job in jobs.each()] == listed
    assert [job.id for job in jobs.find(limit=3, before=listed[1])] == listed[2:5]
    assert jobs.count() == jobs.queries.job_count() == jobs.queries.jobs(count=True).count
    assert jobs.count("task:load").number == len(jobs.find("task:load"))


def test_find_does_not_read_each_job_again(jobs: JobTrail) -> None:
    from sqlalchemy import event

    statements: list[str] = []
    engine = jobs.store.database.engine
    event.listen(engine, "before_cursor_execute", lambda *given: statements.append(given[2]))
    found = jobs.find()
    assert {job.status for job in found}
    assert len(found) > 5
    assert len([one for one in statements if one.lstrip().upper().startswith("SELECT")]) <= 3


def test_actions_are_those_of_the_page_and_of_bulk_previews(jobs: JobTrail) -> None:
    from jobtrail.commands.bulk import Wanted

    for job in jobs.find():
        answer = jobs.queries.actions(job.id)
        assert answer.actions == jobs.queries.job(job.id).actions
        allowed = {one.name: one.allowed for one in answer.actions}
        reran = any(one.rerun_of == job.id for one in jobs.find())
        bulk = {"retry": Wanted("retry", ids=[job.id]), "cancel": Wanted("cancel", ids=[job.id])}
        if not reran:  # a bulk action runs a job again only once
            bulk |= {f"rerun_{mode}": Wanted("rerun", ids=[job.id], mode=mode) for mode in (one.value for one in Mode)}
        for name, selection in bulk.items():
            assert jobs.queries.bulk_preview(selection).acts == int(allowed[name]), (name, job)


def test_every_query_is_compared() -> None:
    own = {name for name in vars(JobQueries) if not name.startswith("_") and callable(getattr(JobQueries, name))}
    own -= {f"a{name}" for name in own}
    compared = {"jobs", "job_counts", "job_count", "job", "items", "items_csv", "item_history", "log", "log_text", "events", "lineage", "group"}
    assert own == compared | {"actions", "bulk_preview", "job_id"}
