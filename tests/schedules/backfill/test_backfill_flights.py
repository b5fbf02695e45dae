"""The demonstration on real input: the weather of three airports, 2013, of which five months are deleted and filled again."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from jobtrail.cli.operate.demo import flights, part
from jobtrail.testing import drain

AIRPORTS = ("EWR", "JFK", "LGA")
YEAR = {"first": "2013-01", "last": "2013-12"}
ROWS = 26_115
PARTIAL = {"EWR 2013-02", "EWR 2013-03", "EWR 2013-08", "JFK 2013-05", "JFK 2013-07"}
DELETED = [("EWR", "2013-01"), ("EWR", "2013-12"), ("JFK", "2013-05"), ("LGA", "2013-06"), ("LGA", "2013-07")]

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def app(url, tmp_path):
    made = flights().make_app(url, tmp_path / "warehouse.db", part("demo.place").shipped_data())
    made.migrate()  # the tables of Office too
    yield made
    made.state.warehouse.close()
    made.close()


def filled(app, **options):
    parent = app.backfill("sync_weather", **YEAR, **options)
    drain(app, delayed=True, queues=["flights"], slots=2)
    return parent.refresh()


def delete(app, folder) -> None:
    """Five months are gone: from the record of units with their jobs, and (ten days of each) from the warehouse."""
    with app.store.database.connect() as conn, conn.begin():
        for airport, month in DELETED:
            unit = f"SELECT unit FROM jobtrail_units WHERE source = 'weather/{airport}' AND period = '{month}'"
            conn.exec_driver_sql(f"DELETE FROM jobtrail_jobs WHERE unit = ({unit})")
            conn.exec_driver_sql(f"DELETE FROM jobtrail_units WHERE unit = ({unit})")
    with closing(sqlite3.connect(folder / "warehouse.db", timeout=30)) as conn, conn:
        for airport, month in DELETED:
            conn.execute("DELETE FROM weather WHERE airport = ? AND time_hour LIKE ?", (airport, f"{month}-1%"))


@pytest.mark.long
def test_a_year_is_filled_repaired_and_filled_again_after_five_months_were_deleted(app, tmp_path):
    for airport in AIRPORTS:
        filled(app, sources=f"weather/{airport}", args={"airport": airport}, parallel=6)
    plan = app.backfill_plan("sync_weather", **YEAR)
    assert (len(plan.units), plan.counts["complete"], plan.counts["partial"]) == (36, 31, 5)

    app.state.warehouse.lenient = True
    repaired = filled(app, only="partial")
    assert {item.key.removeprefix("weather/") for item in repaired.items()} == PARTIAL
    assert repaired.status == "completed"
    assert app.backfill_plan("sync_weather", **YEAR).counts["complete"] == 36

    delete(app, tmp_path)
    assert app.state.warehouse.count("weather") < ROWS
    plan = app.backfill_plan("sync_weather", **YEAR)
    assert {state: number for state, number in plan.counts.items() if number} == {"complete": 31, "missing": 5}
    newest_first = [("EWR", "2013-12"), ("LGA", "2013-07"), ("LGA", "2013-06"), ("JFK", "2013-05"), ("EWR", "2013-01")]
    assert [unit.key for unit in plan.chosen] == [f"weather/{airport} {month}" for airport, month in newest_first]

    before = len(app.find("task:sync_weather", limit=1000))
    parent = app.backfill(plan, parallel=4, reason="five months were deleted")
    drain(app, delayed=True, queues=["flights"], slots=2)
    assert parent.refresh().status == "completed"
    assert parent.item_counts() == {"ok": 5, "failed": 0, "skipped": 0}
    assert len(app.find("task:sync_weather", limit=1000)) == before + 5, "what is complete was not run again"
    assert app.state.warehouse.count("weather") == ROWS
    children = [job for job in app.find("task:sync_weather", limit=1000) if job.parent == parent.id]
    assert all(job.arguments == {"airport": job.source.removeprefix("weather/")} for job in children)
    assert app.backfill_plan("sync_weather", **YEAR).counts["complete"] == 36
