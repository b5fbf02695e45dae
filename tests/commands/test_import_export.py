"""History moves: what was exported is imported as it was, by its own time, once, and counts as if it had ended here."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime

import pytest
from sqlalchemy import select
from trails import actions

from jobtrail import Context, InvalidOption, InvalidRecords, Limit, PermanentError
from jobtrail.database import tables
from jobtrail.queries.history import tables as tables_of_history
from jobtrail.store.search.search import smallest_id
from jobtrail.testing import drain

pytestmark = pytest.mark.both_databases
OLD = "2013-02-01T03:00:00+00:00"
ROW = {"task": "load", "status": "completed", "finished_at": OLD}


@pytest.fixture
def works(jobs):
    """An application whose jobs have everything that is exported."""

    @jobs.task(secret={"pin"}, limits=[Limit("loads:{bad}", running=5)])
    def load(ctx: Context, *, bad: int = 0, pin: str = "", asks: bool = False) -> dict:
        ctx.log.info("loading")
        ctx.step("fetch", lambda: {"n": 3})
        if asks:
            ctx.ask("column", "Which?", str)
        for item in ctx.items([f"row {n}" for n in range(3)], key=str):
            with item:
                if item.value.endswith(tuple(str(n) for n in range(bad))):
                    raise PermanentError("no price")
        return {"rows": 3}

    @jobs.task
    def fail() -> None:
        raise ValueError("token=hunter2 is wrong")

    first = load.using(source="weather/EWR", period="2013-02", labels={"tenant": "acme"}, context={"who": "me"}).enqueue(bad=2, pin="1234")
    load.using(source="weather/EWR", unit="own-7").enqueue()
    asking = load.enqueue(asks=True)
    fail.using(labels={"tenant": "acme"}).enqueue()
    load.using(delay=3600).enqueue().cancel("not now")
    drain(jobs)
    asking.answer("third")
    first.rerun("failed_items")
    load.using(delay=3600).enqueue()
    drain(jobs)
    return jobs


def dumped(records):
    return [json.dumps(one) for one in records]


@pytest.mark.parametrize("secrets", [True, False])
def test_export_import_export_is_identical(works, make_jobs, tmp_path, secrets):
    exported = dumped(works.export(secrets=secrets))
    assert len(exported) == 6, "the job that waits is no history"
    assert secrets is ("1234" in "".join(exported))
    other = type(works)(f"sqlite:///{tmp_path / 'other.db'}")
    done = other.import_ended([json.loads(one) for one in exported], actor="person:ann", reason="moving")
    assert (done.jobs, done.there, done.refused) == (6, 0, 0)
    assert dumped(other.export(secrets=secrets)) == exported
    again = other.import_ended(json.loads(one) for one in exported)
    assert (again.jobs, again.there) == (0, 6)
    assert dumped(other.export(secrets=secrets)) == exported
    with other.store.read() as conn, works.store.read() as mine:
        query = select(tables.units.c.unit, tables.units.c.outcome, tables.units.c.job_id, tables.units.c.generation).order_by("unit")
        assert conn.execute(query).all() == mine.execute(query).all()
    (told,) = actions(other, "jobs_imported")
    assert (told["actor"], told["reason"], told["detail"]) == ("person:ann", "moving", {"jobs": 6, "there": 0, "refused": 0})
    other.close()


def test_a_simple_row_becomes_a_job_of_its_own_time(jobs):
    row = {
        **ROW, "key": "loads-17", "source": "shop/7", "period": "2013-01", "started_at": "2013-02-01T02:59:00Z", "labels": {"old_id": "17"},
        "args": {"shop": 7}, "items": [{"key": "a", "outcome": "ok"}, {"key": "b", "outcome": "failed", "reason": "no price"}],
        "log": [{"text": "hello\n"}], "status": "partial",
    }  # fmt: skip
    jobs.import_ended([row], actor="person:ann")
    (job,) = jobs.find("label:old_id=17")
    assert smallest_id(datetime(2013, 2, 1, 2, 59, tzinfo=UTC)) <= job.id < smallest_id(datetime(2013, 2, 1, 3, tzinfo=UTC))
    assert (job.status, job.outcome, job.source, job.arguments) == ("partial", "partial", "shop/7", {"shop": 7})
    assert {item.key: str(item.outcome) for item in job.items()} == {"a": "ok", "b": "failed"}
    assert job.item_counts() == {"ok": 1, "failed": 1, "skipped": 0}
    assert [event.name for event in job.events()] == ["imported"]
    assert job.log() == "hello\n"
    shown = jobs.queries.job(job.id)
    assert "imported" in [line.name for line in shown.timeline]
    assert shown.unit_of.outcome == "partial"
    assert shown.unit_of.job == job.id
    (total,) = [row for row in jobs.queries.coverage("load", first="2013-01", last="2013-01").rows]
    assert total.source == "shop/7"
    with jobs.store.read() as conn:
        counted = {row.level: row.jobs for row in conn.execute(select(tables.end_totals))}
    assert counted == {"all": 1, "queue": 1, "task": 1, "source": 1}


def test_an_older_record_changes_nothing_of_what_is_true_of_its_unit(jobs):
    @jobs.task
    def load() -> None:
        pass

    new = load.using(source="s", period="2013-01").enqueue()
    drain(jobs)
    failed = {**ROW, "status": "failed", "source": "s", "period": "2013-01", "error": "it broke"}
    jobs.import_ended([failed])
    assert jobs.queries.job(new.id).unit_of.outcome == "success"
    assert jobs.queries.job(new.id).unit_of.job == new.id


@pytest.mark.parametrize("rows", [[{**ROW, "key": "a"}, {**ROW, "key": "a"}], [ROW, ROW]])
def test_the_same_record_is_one_job(jobs, rows):
    assert jobs.import_ended(rows).jobs == 1
    assert jobs.import_ended(iter(rows)).there == 2
    assert len(jobs.find()) == 1


BAD = [
    ({"status": "running"}, "status", "must be one of cancelled, completed, failed, partial"),
    ({"finished_at": "2013-02-01T03:00:00"}, "finished_at", "has no time zone"),
    ({"finished_at": "yesterday"}, "finished_at", "must be a time such as"),
    ({"finished_at": None}, "finished_at", "is missing"),
    ({"colour": "red"}, "colour", "there is no such field"),
    ({"id": "8d1c1c5e-7c83-4d0a-9a55-0d3b8d3d1b53"}, "id", "UUID of version 7"),
    ({"items": [{"key": "a", "outcome": "good"}]}, "items[0].outcome", "must be one of"),
    ({"items": "a"}, "items", "list of objects"),
    ({"started_at": "2014-01-01T00:00:00Z"}, "started_at", "later than finished_at"),
    ({"outcome": "error"}, "outcome", "does not fit the status completed"),
    ({"priority": True}, "priority", "a number of 0 or more"),
    ({"args": [1]}, "args", "must be an object"),
    ({"args": {"x": float("nan")}}, "args", "is not JSON"),
    ({"period": "2013-13"}, "period", "2013-13"),
    ({"labels": {"a": 1}}, "labels", "label"),
    ({"file": {"path": "x"}}, "file", "path, size and sha256"),
    ({"error": 5}, "error", "must be a text"),
    ({"task": ""}, "task", "1 to 500"),
]


@pytest.mark.parametrize(("wrong", "field", "why"), BAD, ids=[f"{field}{n}" for n, (_, field, _) in enumerate(BAD)])
def test_what_is_wrong_is_told_with_its_place_and_nothing_is_stored(jobs, wrong, field, why):
    rows = [{**ROW, "key": "good"}, {**ROW, **wrong}]
    with pytest.raises(InvalidRecords, match="1 of 2 records") as told:
        jobs.import_ended(rows)
    (problem,) = told.value.problems
    assert (problem.number, problem.field) == (2, field)
    assert why in str(problem.why)
    assert jobs.find() == []
    done = jobs.import_ended(rows, skip_bad=True)
    assert (done.jobs, done.refused, done.problems[0].field) == (1, 1, field)


def test_a_dry_run_stores_nothing(jobs):
    assert jobs.import_ended([ROW], dry_run=True).jobs == 1
    assert jobs.find() == []
    assert actions(jobs, "jobs_imported") == []


def test_an_imported_job_is_run_again_and_removed_like_any_other(jobs):
    @jobs.task
    def load(*, n: int) -> int:
        return n

    jobs.import_ended([{**ROW, "status": "failed", "source": "s", "period": "2013-01", "args": {"n": 5}, "error": {"type": "E", "message": "m"}}])
    (old,) = jobs.find()
    old.retry()
    drain(jobs)
    assert old.refresh().result() == 5
    new = old.rerun("full")
    drain(jobs)
    assert new.refresh().result() == 5
    assert jobs.delete("task:load").jobs == 2


def test_parquet_without_its_extra_is_one_sentence(jobs, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InvalidOption, match=r"need the extra jobtrail\[parquet\]"):
        tables_of_history.write_parquet(tmp_path / "jobs.parquet", jobs.export())


def test_parquet_has_times_as_times(works, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="the extra parquet is not installed")
    assert tables_of_history.write_parquet(tmp_path / "jobs.parquet", works.export()) == 6
    rows = parquet.read_table(tmp_path / "jobs.parquet").to_pylist()
    ended = {job.id: job.finished_at for job in works.find() if not job.active}
    assert {row["id"]: row["finished_at"] for row in rows} == ended
    assert {json.loads(row["args"]).get("bad") for row in rows if row["status"] == "partial"} == {2}
