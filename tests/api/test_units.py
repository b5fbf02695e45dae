"""Coverage over the network: what is loaded for which period, the gaps, one unit, and filling with a preview."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from api_app import problem

from jobtrail.queries import coverage
from jobtrail.store.units import UnitRow
from jobtrail.testing import drain

NOW = datetime(2013, 6, 15, tzinfo=UTC)


def load(jobs, source, *periods, **args):
    made = [jobs.task_named("load").using(source=source, period=period).enqueue(**args) for period in periods]
    drain(jobs)
    return made


def shown(client, **params):
    answer = client.get("/api/units", params={"task": "load", **params})
    assert answer.status_code == 200, answer.text
    return answer.json()


def states(row, columns):
    found = {cell["column"]: cell["state"] for cell in row["cells"]}
    return {columns[place]["period"]: state for place, state in sorted(found.items())}


# -- the grid ------------------------------------------------------------------------------------------


def test_sources_by_months_with_their_states_and_gaps(app_jobs, client):
    load(app_jobs, "A", "2013-01", "2013-04")
    load(app_jobs, "A", "2013-02", rows=3, bad=1)
    load(app_jobs, "B", "2013-02", rows=2, bad=2)
    app_jobs.task_named("load").using(source="B", period="2013-03", delay=600).enqueue()
    told = shown(client)
    assert (told["zoom"], told["sources"], told["next"], told["more"], len(told["columns"])) == ("month", 2, None, False, 12)
    a, b = told["rows"]
    assert (a["source"], states(a, told["columns"])) == ("A", {"2013-01": "complete", "2013-02": "partial", "2013-04": "complete"})
    assert (b["source"], states(b, told["columns"])) == ("B", {"2013-02": "failed", "2013-03": "active"})
    assert (a["missing"], b["missing"]) == (9, 10)
    assert a["counts"] == {"complete": 2, "partial": 1}
    partial = a["cells"][1]["unit"]
    assert (partial["items"], partial["outcome"], partial["period"]) == ({"ok": 2, "failed": 1, "skipped": 0}, "partial", "2013-02")
    assert b["cells"][1]["unit"]["status"] == "pending"


def test_years_gather_months_and_days_look_into_one(app_jobs, client):
    load(app_jobs, "A", "2012-12", "2013-01", "2013-02")
    load(app_jobs, "A", "2013-03", rows=2, bad=1)
    years = shown(client, zoom="year")
    assert [column["period"] for column in years["columns"]] == ["2012", "2013"]
    last = years["rows"][0]["cells"][1]
    assert (last["state"], last["counts"], last["expected"], last["unit"]) == ("partial", {"complete": 2, "partial": 1}, 12, None)
    days = shown(client, zoom="day", first="2013-02")
    assert len(days["columns"]) == 28
    assert {cell["unit"]["period"] for cell in days["rows"][0]["cells"]} == {"2013-02"}


def test_sources_come_page_by_page_and_by_their_beginning(app_jobs, client):
    for source in ("a/1", "a/2", "a/3", "b/1"):
        load(app_jobs, source, "2013-01")
    first = shown(client, source="a/", limit=2)
    assert ([row["source"] for row in first["rows"]], first["sources"], first["next"]) == (["a/1", "a/2"], 3, 2)
    second = shown(client, source="a/", limit=2, skip=2)
    assert ([row["source"] for row in second["rows"]], second["next"]) == (["a/3"], None)


def test_what_has_no_units_is_empty_and_what_is_not_there_is_told(app_jobs, client):
    assert shown(client)["rows"] == []
    assert client.get("/api/units/tasks").json() == {"tasks": []}
    problem(client.get("/api/units?task=nothing"), 404, "not-found")
    problem(client.get("/api/units?task=load&zoom=decade"), 422, "invalid-option")
    problem(client.get("/api/units?task=load&first=2013-13"), 422, "invalid-period")
    assert "1,461 columns" in problem(client.get("/api/units?task=load&zoom=day&first=2010&last=2013"), 422)["detail"]
    problem(client.get("/api/units?task=load&first=2013&last=2012"), 422, "invalid-period")


def test_one_unit_tells_its_jobs_newest_first_and_files_are_listed(app_jobs, client, tmp_path):
    (job,) = load(app_jobs, "A", "2013-01")
    again = job.rerun("full")
    drain(app_jobs)
    path = tmp_path / "planes.csv"
    path.write_text("a,b\n")
    read = app_jobs.task_named("read").using(file=path).enqueue()
    drain(app_jobs)
    told = client.get(f"/api/units/{job.unit}").json()
    assert (told["task"], told["unit"]["state"], [one["id"] for one in told["jobs"]]) == ("load", "complete", [again.id, job.id])
    (file,) = client.get("/api/units/files?task=read").json()["files"]
    assert (file["job"], file["period"], len(file["sha256"]), file["text"]) == (read.id, None, 64, "read planes.csv")
    problem(client.get("/api/units/nothing"), 404)


def unit(period, source="A", outcome="success"):
    from jobtrail.job.model import Outcome
    from jobtrail.job.period import Period

    span = Period.parse(period)
    return UnitRow(
        f"{source} {period}", "t", source, span.text, span.start, span.end, None, "", None, Outcome(outcome), None, None, None,
        None, None, NOW,
    )  # fmt: skip


def test_of_what_lies_in_the_future_nothing_is_missing_yet():
    laid = coverage.columns("month", "2013-05", "2013-08", None, "UTC", NOW)
    assert [column.over for column in laid] == [True, False, False, False]
    (row,) = coverage.rows(laid, ["A"], [unit("2013-06-01"), unit("2013-06-02")], NOW)
    assert len(row.gaps) == 1
    assert row.cells[0].expected == 14  # of June so many days are over


@pytest.mark.parametrize(
    ("text", "grain"),
    [("2013", "year"), ("2013-02", "month"), ("2013-W07", "week"), ("2013-02-12", "day"), ("2013-02-12T03", "hour"),
     ("2013-02[Europe/Vienna]", "month"), ("2013-02-11/2013-02-14", None), (None, None)],
)  # fmt: skip
def test_the_grain_of_a_period_is_seen_by_how_it_is_written(text, grain):
    assert coverage.grain_of(text) == grain


# -- filling -------------------------------------------------------------------------------------------

RANGE = {"task": "load", "first": "2013-01", "last": "2013-04", "sources": ["A"], "order": "oldest"}


def test_a_range_is_shown_first_and_then_filled_by_a_tracked_job_once(app_jobs, client):
    load(app_jobs, "A", "2013-01")
    load(app_jobs, "A", "2013-02", rows=3, bad=1)
    plan = client.post("/api/units/preview", json=RANGE).json()
    assert (plan["chosen"], plan["ways"]) == (3, {"failed_items": 1, "submit": 2})
    assert {name: plan["counts"][name] for name in ("complete", "partial", "missing")} == {"complete": 1, "partial": 1, "missing": 2}
    assert [one["period"] for one in plan["units"]] == ["2013-02", "2013-03", "2013-04"]
    made = client.post("/api/units/backfill", json={**RANGE, "parallel": 2, "reason": "the source is back"})
    again = client.post("/api/units/backfill", json={**RANGE, "parallel": 2})
    assert (made.status_code, again.status_code) == (201, 200)
    assert again.json() == {"job": made.json()["job"], "created": False}
    problem(client.post("/api/units/backfill", json={**RANGE, "parallel": 3}), 409, "already-active")
    job = app_jobs.get(made.json()["job"])
    assert (job.actor, job.reason) == ("person:local", "the source is back")
    drain(app_jobs, delayed=True)
    assert [cell["column"] for cell in shown(client)["rows"][0]["cells"]] == [0, 1, 2, 3]


def test_a_backfill_with_the_digest_of_a_preview_runs_what_was_shown_or_nothing(app_jobs, client):
    load(app_jobs, "A", "2013-01")
    shown_first = client.post("/api/units/preview", json=RANGE).json()
    assert client.post("/api/units/preview", json=RANGE).json()["digest"] == shown_first["digest"]
    load(app_jobs, "A", "2013-02")
    problem(client.post("/api/units/backfill", json={**RANGE, "digest": shown_first["digest"]}), 409, "preview-changed")
    shown_again = client.post("/api/units/preview", json=RANGE).json()
    assert (shown_again["chosen"], shown_again["digest"] == shown_first["digest"]) == (2, False)
    made = client.post("/api/units/backfill", json={**RANGE, "digest": shown_again["digest"]})
    assert made.status_code == 201


def test_what_cannot_be_filled_is_told_and_a_mask_is_no_argument(app_jobs, client, seen_as):
    for said, code in (
        ({"first": "nonsense"}, "invalid-period"), ({"only": ["all of it"]}, "invalid-option"), ({"task": "nope"}, "unknown-task"),
        ({"args": {"rows": "•••"}}, "invalid-arguments"), ({"step": "decade"}, "invalid-option"), ({"colour": 1}, "invalid-request"),
    ):  # fmt: skip
        problem(client.post("/api/units/preview", json={**RANGE, **said}), 422, code)
    for role in ("viewer", None):
        assert seen_as(role).post("/api/units/backfill", json=RANGE).status_code in {401, 403}
    assert app_jobs.find("task:jobtrail.backfill") == []
