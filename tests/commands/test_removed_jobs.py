"""An idempotency key or a unit that outlives its job still answers: when it ended and how."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import inspect, update

from jobtrail import AlreadyDone, IdempotencyConflict, JobRemoved, NotFound
from jobtrail.database import migration
from jobtrail.database.tables import units
from jobtrail.store.retention import Retention, run_once
from jobtrail.testing import MovableClock, drain

pytestmark = pytest.mark.both_databases
KEPT = Retention(completed=1, cancelled=1, failed=1, partial=1)


def prune(jobs, clock):
    """A week later: jobs are removed after a day, keys after a month."""
    clock.move(days=7)
    return run_once(jobs.store, KEPT, clock.now(), wait=lambda _: False).total


@pytest.fixture
def clock():
    return MovableClock()


@pytest.fixture
def jobs(make_jobs, clock):
    return make_jobs(clock=clock, idempotency_seconds=timedelta(days=30).total_seconds())


@pytest.fixture
def work(jobs):
    @jobs.task
    def work(fails=False):
        if fails:
            raise ValueError("it fails")
        return "secret"

    return work


@pytest.mark.parametrize(("fails", "status", "outcome"), [(False, "completed", "success"), (True, "failed", "error")])
def test_the_submission_tells_when_the_removed_job_ended_and_how(jobs, clock, work, fails, status, outcome):
    first = work.using(idempotency_key="k").enqueue(fails=fails)
    other = work.using(idempotency_key="l").enqueue()
    drain(jobs)
    finished = first.refresh().finished_at
    assert prune(jobs, clock) == 2
    again = work.using(idempotency_key="k").enqueue(fails=fails)
    assert (again.id, again.created, again.removed) == (first.id, False, True)
    for job in (again, again.refresh(), again.wait(timeout=5)):
        assert (job.status, job.outcome, job.finished_at, job.task) == (status, outcome, finished, "work")
    for read in (again.result, lambda: again.arguments, lambda: again.error, lambda: again.created_at):
        with pytest.raises(JobRemoved, match=f"has ended \\({status}\\).*its details are removed") as told:
            read()
    assert (told.value.job_id, told.value.status, told.value.outcome) == (first.id, status, outcome)
    assert told.value.finished_at == finished
    assert isinstance(told.value, NotFound)
    assert work.using(idempotency_key="l").enqueue().id == other.id
    assert jobs.find("") == [], "nothing has run again"


def test_inside_a_transaction_of_the_caller_it_is_the_same(jobs, clock, work):
    first = work.using(idempotency_key="k").enqueue()
    drain(jobs)
    prune(jobs, clock)
    with jobs.store.database.engine.connect() as conn:
        again = work.using(idempotency_key="k", connection=conn).enqueue()
        assert (again.id, again.removed, again.status) == (first.id, True, "completed")


def test_another_payload_is_refused_and_an_expired_key_is_free(jobs, clock, work):
    first = work.using(idempotency_key="k").enqueue()
    drain(jobs)
    prune(jobs, clock)
    with pytest.raises(IdempotencyConflict):
        work.using(idempotency_key="k").enqueue(fails=True)
    clock.move(days=30)
    again = work.using(idempotency_key="k").enqueue()
    assert (again.created, again.removed) == (True, False)
    assert again.id != first.id
    assert work.using(idempotency_key="k").enqueue().removed is False


def back_to_0005(conn):
    """Undo what later versions of the schema added."""
    for table in ("jobtrail_end_totals", "jobtrail_item_history", "jobtrail_limits", "jobtrail_limit_starts", "jobtrail_releases", "jobtrail_task_retention"):
        conn.exec_driver_sql(f"DROP TABLE {table}")
    for index in ("due", "limited", "limited_held", "limited_to_hand_over", "to_hand_over", "handed_over", "handed"):
        conn.exec_driver_sql(f"DROP INDEX jobtrail_jobs_{index}")
    added = (("jobs", "limits"), ("jobs", "executor"), ("jobs", "handed_at"), ("jobs", "handed_run"), ("workers", "executor"), ("workers", "tasks"))
    for table, column in added:
        conn.exec_driver_sql(f"ALTER TABLE jobtrail_{table} DROP COLUMN {column}")
    conn.exec_driver_sql(
        "CREATE INDEX jobtrail_jobs_due ON jobtrail_jobs (queue, priority, run_at, id)"
        " WHERE status = 'pending' AND run_at IS NOT NULL AND NOT suspect"
    )


def test_a_database_of_the_first_schema_is_upgraded_with_its_keys(jobs, clock, work):
    work.using(idempotency_key="k").enqueue()
    with jobs.store.database.engine.connect() as conn:
        back_to_0005(conn)
        conn.exec_driver_sql("DROP TABLE jobtrail_sessions")
        conn.exec_driver_sql("ALTER TABLE jobtrail_tokens DROP COLUMN bound_to")
        conn.exec_driver_sql("ALTER TABLE jobtrail_units DROP COLUMN removed")
        conn.exec_driver_sql("DROP INDEX ix_jobtrail_idempotency_keys_job_id")
        conn.exec_driver_sql("ALTER TABLE jobtrail_idempotency_keys DROP COLUMN removed")
        conn.exec_driver_sql(f"UPDATE {migration.VERSION_TABLE} SET version_num = '0001'")
        conn.commit()
    assert migration.upgrade(jobs.store.database)
    assert migration.state(jobs.store.database).current
    with jobs.store.database.connect() as conn:
        indexes = inspect(conn).get_indexes("jobtrail_idempotency_keys")
    assert ["job_id"] in [one["column_names"] for one in indexes]
    drain(jobs)
    prune(jobs, clock)
    assert work.using(idempotency_key="k").enqueue().removed


# -- units -----------------------------------------------------------------------------------------------


def of_month(work, **using):
    return work.using(source="s", period="2013-02", **using)


def test_a_complete_unit_tells_when_its_removed_job_ended(jobs, clock, work):
    first = of_month(work).enqueue()
    drain(jobs)
    finished = first.refresh().finished_at
    assert prune(jobs, clock) == 1
    again = of_month(work, if_done="skip").enqueue()
    assert (again.id, again.created, again.removed) == (first.id, False, True)
    for job in (again, again.refresh(), again.wait(timeout=5)):
        assert (job.status, job.outcome, job.finished_at, job.task) == ("completed", "success", finished, "work")
    with pytest.raises(JobRemoved, match=r"has ended \(completed\).*its details are removed"):
        again.result()
    with pytest.raises(AlreadyDone, match=f"by job {first.id}, which ended at .*; its details are removed") as told:
        of_month(work, if_done="raise").enqueue()
    assert told.value.job_id == first.id
    with jobs.store.database.engine.connect() as conn:
        foreseen = of_month(work, if_done="skip", connection=conn).enqueue()
        assert (foreseen.id, foreseen.removed, foreseen.status) == (first.id, True, "completed")
    assert jobs.find("") == [], "nothing has run again"


def test_a_key_that_met_a_complete_unit_remembers_its_removed_job(jobs, clock, work):
    first = of_month(work).enqueue()
    drain(jobs)
    prune(jobs, clock)
    for _ in range(2):
        again = of_month(work, if_done="skip", idempotency_key="k").enqueue()
        assert (again.id, again.removed, again.status) == (first.id, True, "completed")


def test_a_new_job_of_the_unit_takes_the_place_of_the_removed_one(jobs, clock, work):
    first = of_month(work).enqueue()
    drain(jobs)
    prune(jobs, clock)
    second = of_month(work).enqueue()
    assert second.id != first.id
    drain(jobs)
    again = of_month(work, if_done="skip").enqueue()
    assert (again.id, again.removed, again.result()) == (second.id, False, "secret")


def test_units_of_two_contents_of_a_file_both_remember(jobs, clock, tmp_path):
    """What a correction completes stands under the content before it too, and both name the same job."""
    path = tmp_path / "rows.csv"

    @jobs.task
    def load(ctx):
        for item in ctx.items(Path(ctx.file.path).read_text().split(), key=lambda value: value[0]):
            with item:
                int(item.value[1:])

    path.write_text("a1 bx")
    first = load.using(file=path).enqueue()
    drain(jobs)
    path.write_text("a1 b2")
    second = first.rerun("failed_items", file=path)
    drain(jobs)
    assert second.refresh().status == "completed"
    prune(jobs, clock)
    with jobs.store.read() as conn:
        named = conn.execute(units.select()).all()
    assert len(named) == 2
    assert all(row.removed for row in named), named


def test_retention_waits_for_no_unit_that_is_being_changed(jobs, clock, work):
    """It keeps the job for its next pass, or who completes the unit and retention would wait for each other."""
    if jobs.store.database.is_sqlite:
        pytest.skip("SQLite has one writer")
    first = of_month(work).enqueue()
    drain(jobs)
    with jobs.store.database.engine.connect() as conn:
        conn.exec_driver_sql("BEGIN")
        conn.execute(update(units).values(linked_unit=None))
        assert prune(jobs, clock) == 0
        conn.rollback()
    assert prune(jobs, clock) == 1
    assert of_month(work, if_done="skip").enqueue().id == first.id


def test_units_of_jobs_that_were_removed_before_the_upgrade_know_when_they_were_complete(jobs, clock, work):
    first = of_month(work).enqueue()
    drain(jobs)
    finished = first.refresh().finished_at
    prune(jobs, clock)
    kept = work.using(source="t", period="2013-02").enqueue()
    drain(jobs)
    with jobs.store.database.engine.connect() as conn:
        back_to_0005(conn)
        conn.exec_driver_sql("ALTER TABLE jobtrail_tokens DROP COLUMN bound_to")
        conn.exec_driver_sql("ALTER TABLE jobtrail_units DROP COLUMN removed")
        conn.exec_driver_sql(f"UPDATE {migration.VERSION_TABLE} SET version_num = '0003'")
        conn.commit()
    assert migration.upgrade(jobs.store.database)
    again = of_month(work, if_done="skip").enqueue()
    assert (again.id, again.removed, again.status, again.outcome) == (first.id, True, "completed", "success")
    assert abs(again.finished_at - finished) < timedelta(seconds=1)
    there = work.using(source="t", period="2013-02", if_done="skip").enqueue()
    assert (there.id, there.removed) == (kept.id, False)
