"""Each invariant can fail: in a copy of a finished database one change breaks it, and nothing else is reported."""

from __future__ import annotations

import contextlib
import os
import random
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import campaign_app
import evidence
import invariants
import pytest
from people import Submitter

from jobtrail.database import migration
from jobtrail.database.connection import Database
from jobtrail.errors import Conflict
from jobtrail.store import retention
from jobtrail.testing import MovableClock, drain, tick

if TYPE_CHECKING:
    from pathlib import Path

    from jobtrail import JobTrail

NOBODY = "00000000-0000-0000-0000-000000000000"
PLAIN = """(SELECT id FROM jobtrail_jobs WHERE task = 'quick' AND status = 'completed' AND NOT followed AND parent IS NULL
    AND labels IS NULL AND id NOT IN (SELECT job_id FROM jobtrail_idempotency_keys) LIMIT 1)"""
FAILED = "(SELECT id FROM jobtrail_jobs WHERE task = 'flaky' AND status = 'failed' LIMIT 1)"
OF_UNIT = "(SELECT id FROM jobtrail_jobs WHERE unit IS NOT NULL AND status = 'completed' LIMIT 1)"
RERUN = "(SELECT id FROM jobtrail_jobs WHERE mode = 'failed_items' AND status = 'completed')"
WHOLE = "(SELECT id FROM jobtrail_jobs WHERE task = 'listed' AND status = 'completed' AND rerun_of IS NULL LIMIT 1)"
SECOND = "(SELECT id FROM jobtrail_schedules WHERE name = 'every second')"
# Of the removed jobs' slots, the second one in time.
OLD_SLOT = f"""(SELECT planned_at FROM jobtrail_slots s JOIN campaign_removed r ON r.job = s.job_id
    WHERE s.schedule_id = {SECOND} ORDER BY planned_at LIMIT 1 OFFSET 1)"""
BREAKS = {
    "what was acknowledged is stored": f"DROP TRIGGER campaign_removal; DELETE FROM jobtrail_jobs WHERE id = {PLAIN}",
    "one job for each idempotency key": f"""UPDATE jobtrail_idempotency_keys SET job_id = {PLAIN}
        WHERE key = (SELECT MIN(key) FROM jobtrail_idempotency_keys)""",
    "every job has ended or waits for a person": f"""UPDATE jobtrail_jobs
        SET status = 'pending', outcome = NULL, finished_at = NULL WHERE id = {PLAIN}""",
    "what runs has a living worker": f"UPDATE jobtrail_jobs SET body_running = 1 WHERE id = {PLAIN}",
    "no job has more attempts than it may": f"UPDATE jobtrail_jobs SET max_attempts = 0 WHERE id = {PLAIN}",
    "nobody failed who only met faults": f"UPDATE jobtrail_jobs SET error = '{{}}' WHERE id = {FAILED}",
    "a body starts once in each recorded run": f"""UPDATE campaign_marks SET run = 9
        WHERE job = {PLAIN} AND what = 'start'""",
    "what is completed came to its end in its last run": f"DELETE FROM campaign_marks WHERE job = {PLAIN} AND what = 'end'",
    "a recorded step is not repeated": """UPDATE campaign_marks SET what = 'step'
        WHERE what = 'stepped' AND name = 'download' AND run = 2""",
    "a recorded item is not repeated": f"""UPDATE campaign_marks SET what = 'durable', name = 'item 5'
        WHERE job = {RERUN} AND what = 'start'""",
    "what is completed has all its items": f"DELETE FROM jobtrail_items WHERE generation = {WHOLE} AND position = 3",
    "end and outcome agree with the state": f"UPDATE jobtrail_jobs SET outcome = 'partial' WHERE id = {PLAIN}",
    "the trail is a path through the table of moves": f"""UPDATE jobtrail_events SET name = 'forced'
        WHERE job_id = {FAILED} AND name = 'retry_planned'""",
    "the trail ends where the job is": f"""DELETE FROM jobtrail_events
        WHERE id = (SELECT MAX(id) FROM jobtrail_events WHERE job_id = {FAILED} AND to_status IS NOT NULL)""",
    "a unit has one active job, which holds its lock": f"UPDATE jobtrail_jobs SET unit_lock = unit WHERE id = {OF_UNIT}",
    "a unit knows that it is done": f"""UPDATE jobtrail_units SET outcome = NULL
        WHERE unit = (SELECT unit FROM jobtrail_jobs WHERE id = {OF_UNIT})""",
    "totals are what was removed": "UPDATE jobtrail_job_totals SET jobs = jobs + 1 WHERE task = 'quick'",
    "a slot has a job or a reason": f"UPDATE jobtrail_slots SET state = 'missed' WHERE planned_at = {OLD_SLOT}",
    "a job has one slot": f"""UPDATE jobtrail_slots SET job_id = (SELECT job_id FROM jobtrail_slots
        WHERE schedule_id = {SECOND} AND planned_at < {OLD_SLOT}) WHERE schedule_id = {SECOND} AND planned_at = {OLD_SLOT}""",
    "no planned time is left out": f"DELETE FROM jobtrail_slots WHERE schedule_id = {SECOND} AND planned_at = {OLD_SLOT}",
    "a follower is settled when its job has ended": "UPDATE jobtrail_successors SET state = 'waiting' WHERE state = 'skipped'",
    "a follower comes once": """DELETE FROM jobtrail_successors WHERE after IS NOT NULL AND state = 'skipped'""",
    "a group is settled once all its members have ended": "UPDATE jobtrail_groups SET outcome = NULL",
    "an open question has a job that waits for it": """UPDATE jobtrail_questions SET state = 'open', closed_at = NULL
        WHERE state = 'answered'""",
    "the spool is empty": "INSERT INTO campaign_files VALUES ('an end that was not written')",
    "every reference leads to a row": f"UPDATE jobtrail_jobs SET submitter = '{NOBODY}' WHERE id = {PLAIN}",
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database in which everything has happened once, also removal, and all has ended."""
    folder = tmp_path_factory.mktemp("finished")
    url = f"sqlite:///{folder / 'jobs.db'}"
    with closing(Database(url)) as database:
        migration.upgrade(database)
    evidence.prepare(url)
    diary = folder / "diary"
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "FAULTS_DIARY", str(diary))
        clock = MovableClock()
        with closing(campaign_app.application("both", url, clock=clock)) as jobs:
            submitter = Submitter(jobs, random.Random(1), rate=1.0, folder=folder)
            live(jobs, clock, submitter)
            store = jobs.store
            clock.move(seconds=9)
            retention.run_once(store, retention.Retention(*[5 / 86_400] * 4), store.now(), wait=lambda _: False)
            live(jobs, clock, submitter)
            with evidence.transaction(url) as conn:
                evidence.load(conn, submitter.told, diary, [])
    return folder / "jobs.db"


def live(jobs: JobTrail, clock: MovableClock, submitter: Submitter) -> None:
    """Every way to submit, once; then everything is brought to its end."""
    task = jobs.task_named
    for name in sorted(set(Submitter.KINDS) - {"isolated", "flaky", "backfill", "question"}):
        getattr(submitter, name)()
    task("quick").enqueue()
    asked = task("asks").enqueue()
    failing = task("flaky").then(task("follows"), on="success").enqueue(times=9)
    submitter._stored(failing, followers=1)
    partial = task("listed").enqueue(bad=2)
    task("listed").enqueue()
    jobs.schedules.sync()
    with contextlib.suppress(Conflict):
        jobs.schedules.pause("one at a time")
    with contextlib.suppress(Conflict):
        jobs.schedules.resume("every second")
    for _ in range(4):
        clock.move(seconds=1)
        tick(jobs)
    jobs.schedules.pause("every second")
    for _ in range(6):
        clock.move(seconds=4)
        drain(jobs, queues=["default", campaign_app.BULK], beat="thread")
        if asked.questions() and asked.questions()[-1].state == "open":
            asked.answer(3)
        if partial.refresh().status == "partial" and not jobs.find("task:listed status:active"):
            partial = partial.rerun("failed_items")
    failing.retry()
    for _ in range(3):
        clock.move(seconds=4)
        drain(jobs, queues=["default", campaign_app.BULK], beat="thread")


def broken(path: Path) -> dict[str, list[str]]:
    with evidence.transaction(f"sqlite:///{path}") as conn:
        return invariants.broken(conn)


def changed(finished: Path, folder: Path, statements: str) -> dict[str, list[str]]:
    """What is reported of a copy that was changed."""
    copy = folder / "copy.db"
    with closing(sqlite3.connect(finished)) as whole, closing(sqlite3.connect(copy)) as new:
        whole.backup(new)  # also what stands in the -wal file, where a connection is still open
    with evidence.transaction(f"sqlite:///{copy}") as conn:
        for statement in statements.split(";"):
            assert conn.exec_driver_sql(statement).rowcount != 0, "it changes nothing"
    return broken(copy)


def test_every_invariant_holds_in_a_database_in_which_all_went_well(finished: Path) -> None:
    assert broken(finished) == {}


def test_every_invariant_has_its_break() -> None:
    assert list(BREAKS) == list(invariants.INVARIANTS)


@pytest.mark.parametrize("name", BREAKS)
def test_a_break_is_reported_by_its_invariant_alone(name: str, finished: Path, tmp_path: Path) -> None:
    assert list(changed(finished, tmp_path, BREAKS[name])) == [name]


@pytest.mark.parametrize(("table", "column"), [(table, column) for table, column, _ in invariants.REFERENCES])
def test_a_reference_that_leads_nowhere_is_reported(table: str, column: str, finished: Path, tmp_path: Path) -> None:
    one = f"id = {PLAIN}" if table == "jobs" else f"{column} = (SELECT MAX({column}) FROM jobtrail_{table})"
    found = changed(finished, tmp_path, f"UPDATE jobtrail_{table} SET {column} = '{NOBODY}' WHERE {one}")
    assert f"{table}.{column} {NOBODY}" in found["every reference leads to a row"]
