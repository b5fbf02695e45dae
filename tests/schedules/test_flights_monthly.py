"""The demonstration's schedules: on the second of each month the weather of the month before, by the planned time."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from jobtrail.cli.operate.demo import flights, part
from jobtrail.commands.job_fields import stored_row
from jobtrail.job.model import Status
from jobtrail.testing import MovableClock, drain


@pytest.fixture
def app(sqlite_url, tmp_path, monkeypatch):
    clock = MovableClock(datetime(2013, 3, 1, tzinfo=UTC))
    made = flights().make_app(sqlite_url, tmp_path / "warehouse.db", part("demo.place").shipped_data())
    made.store.database.clock = clock
    made.moved = clock
    yield made
    made.state.warehouse.close()
    made.close()


def test_the_month_before_is_loaded_also_when_the_run_is_late(app):
    app.service.make_ready()
    app.schedules.sync()
    scheduler = app.schedules.scheduler()
    assert scheduler.run_once().submitted == 0
    app.moved.set(datetime(2013, 3, 3, 1, 0, tzinfo=UTC))  # planned for the second at 04:00, and late
    while scheduler.run_once().wait == 0:
        pass
    drain(app, queues=["flights"])
    loaded = {(job.source, stored_row(job).period, job.status) for job in app.find("task:sync_weather")}
    assert loaded == {
        ("weather/EWR", "2013-02", Status.PARTIAL),
        ("weather/JFK", "2013-02", Status.COMPLETED),
        ("weather/LGA", "2013-02", Status.COMPLETED),
    }
