"""An idempotency key that outlives its job still answers: when it ended and how."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import inspect

from jobtrail import IdempotencyConflict, JobRemoved, NotFound
from jobtrail.database import migration
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


def test_a_database_of_the_first_schema_is_upgraded_with_its_keys(jobs, clock, work):
    work.using(idempotency_key="k").enqueue()
    with jobs.store.database.engine.connect() as conn:
        conn.exec_driver_sql("DROP TABLE jobtrail_sessions")
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
