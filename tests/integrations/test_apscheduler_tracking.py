"""What an existing scheduler runs becomes jobs, and runs where and how it ran before."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import threading
import time
from datetime import UTC, datetime, timedelta

import aps_functions
import pytest
import warm
from apscheduler.events import EVENT_JOB_ERROR, EVENT_JOB_EXECUTED
from apscheduler.jobstores.memory import MemoryJobStore
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.schedulers.background import BackgroundScheduler
from trails import until

from jobtrail.errors import StoreUnavailable
from jobtrail.integrations.apscheduler import JobTrailExecutor, JobTrailJobStore, track_apscheduler
from jobtrail.job.model import Status


@pytest.fixture
def tracked(make_jobs):
    """An application, and a scheduler of it that was there before."""
    jobs = make_jobs(migrate=True)
    scheduler = BackgroundScheduler(timezone="UTC", job_defaults={"misfire_grace_time": None})
    track_apscheduler(scheduler, jobs)
    scheduler.start()
    aps_functions.ran.clear()
    aps_functions.release.clear()
    yield jobs, scheduler
    aps_functions.release.set()
    scheduler.shutdown()


def ended(jobs, text, status=Status.COMPLETED):
    return until(f"{text} is {status}", lambda: next((one for one in jobs.find(text) if one.status == status), None))


def now():
    return datetime.now(UTC)


@pytest.mark.both_databases
def test_a_firing_is_a_job_with_its_result_its_log_and_its_planned_time(tracked):
    jobs, scheduler = tracked
    told, planned = [], now().replace(microsecond=0)
    scheduler.add_listener(told.append, EVENT_JOB_EXECUTED)

    def local():  # neither it nor the store of its job can be stored
        logging.getLogger("host").warning("from the host")
        return {"rows": 3, "thread": threading.current_thread().name}

    scheduler.add_job(local, "date", run_date=planned, id="report")
    job = ended(jobs, "source:report")
    result = job.result()
    assert (job.kind, job.attempt, job.queue, result["rows"]) == ("schedule", 1, "aps", 3)
    assert result["thread"].startswith("ThreadPoolExecutor")
    assert "from the host" in job.log()
    assert [one.retval for one in told] == [result]
    assert json.loads(job._row.options)["slot"] == planned.isoformat()


def test_an_error_is_recorded_and_told_as_before(tracked):
    jobs, scheduler = tracked
    told = []
    scheduler.add_listener(told.append, EVENT_JOB_ERROR)
    scheduler.add_job(aps_functions.fails, id="bad")
    job = ended(jobs, "source:bad", Status.FAILED)
    assert "broken on purpose" in str(job.error)
    until("the event is there", lambda: told)
    assert isinstance(told[0].exception, ValueError)


def test_jobs_that_come_and_go_are_recorded_and_the_store_stays(tracked):
    jobs, scheduler = tracked
    scheduler.add_job(aps_functions.note, "interval", seconds=0.2, args=["x"], id="dynamic", next_run_time=now())
    until("it ran twice", lambda: len(jobs.find("source:dynamic status:completed")) >= 2)
    assert scheduler.get_job("dynamic").func is aps_functions.note
    assert type(scheduler._jobstores["default"]) is MemoryJobStore
    scheduler.remove_job("dynamic")
    ran = len(aps_functions.ran)
    until("all are recorded", lambda: jobs.count("source:dynamic status:completed").number == ran)


def test_what_did_not_run_has_its_reason(tracked):
    jobs, scheduler = tracked
    scheduler.add_job(aps_functions.note, "date", run_date=now() - timedelta(hours=1), id="late", misfire_grace_time=1)
    scheduler.add_job(aps_functions.waits, "interval", seconds=0.2, id="waits")
    hour = timedelta(hours=1)
    scheduler.add_job(
        aps_functions.note, "interval", hours=1, start_date=now() - 3.5 * hour, next_run_time=now() - 3.5 * hour,
        id="outage", coalesce=True,
    )  # fmt: skip
    together = "run together with a later time (coalesce)"
    expected = {("late", "too late"), ("waits", "the previous job had not ended"), ("outage", together)}
    found = until("all are there", lambda: expected <= (seen := {(one.schedule, one.reason) for one in jobs.aps.missed()}) and seen)
    assert found - expected <= {("waits", together)}, "where the scheduler itself is late"
    assert len(jobs.aps.missed("outage")) == 3


def test_a_person_runs_it_again_by_the_reference_of_its_function(tracked):
    jobs, scheduler = tracked
    scheduler.add_job(aps_functions.fails, id="bad")
    job = ended(jobs, "source:bad", Status.FAILED)
    job.retry()
    until("it has failed again", lambda: (job.refresh() or job).attempt == 2 and job.status == Status.FAILED)
    assert "broken on purpose" in str(job.error)
    scheduler.add_job(lambda: 1 / 0, id="nameless")
    job = ended(jobs, "source:nameless", Status.FAILED)
    job.retry()
    until("it is refused", lambda: (job.refresh() or job).attempt == 2 and job.status == Status.FAILED)
    assert "cannot be run again" in str(job.error)


def test_a_store_that_is_away_stops_nothing(tracked, monkeypatch, caplog):
    jobs, scheduler = tracked
    scheduler.add_job(aps_functions.note, id="first")
    ended(jobs, "source:first")

    def away(*args, **kwargs):
        raise StoreUnavailable("away")

    with monkeypatch.context() as patch:
        patch.setattr(jobs.store, "write", away)
        scheduler.add_job(aps_functions.note, args=["unrecorded"], id="second")
        until("it ran", lambda: (("unrecorded",), {}) in aps_functions.ran)
    assert "is not recorded (1 so far)" in caplog.text
    scheduler.add_job(aps_functions.note, id="third")
    ended(jobs, "source:third")


def test_a_coroutine_runs_on_the_loop_of_its_host(make_jobs):
    jobs = make_jobs(migrate=True)
    seen = []

    async def fetch():
        await asyncio.sleep(0)
        logging.getLogger("host").warning("on the loop")
        seen.append(asyncio.get_running_loop())
        return 5

    async def host():
        scheduler = AsyncIOScheduler(timezone="UTC")
        scheduler.start()
        track_apscheduler(scheduler, jobs)  # also after its start
        scheduler.add_job(fetch, id="fetch")
        job = await asyncio.to_thread(ended, jobs, "source:fetch")
        scheduler.shutdown()
        return job, asyncio.get_running_loop()

    job, loop = asyncio.run(host())
    assert seen == [loop]
    assert job.result() == 5
    assert "on the loop" in job.log()


def test_the_store_and_the_executor_together_name_the_job_of_each_time(make_jobs):
    jobs = make_jobs(migrate=True)
    scheduler = BackgroundScheduler(
        timezone="UTC", jobstores={"default": JobTrailJobStore(jobs)}, executors={"default": JobTrailExecutor(jobs)}
    )
    scheduler.start()
    try:
        scheduler.add_job("aps_functions:note", id="report", args=[1])
        job = ended(jobs, "source:report")
        [slot] = jobs.aps.slots("report")
        assert (slot.state, slot.job_id) == ("submitted", job.id)
        assert scheduler.get_jobs() == []
    finally:
        scheduler.shutdown()


def test_shutdown_without_waiting_returns_at_once_and_the_end_is_recorded(make_jobs):
    jobs = make_jobs(migrate=True)
    scheduler = BackgroundScheduler(timezone="UTC")
    track_apscheduler(scheduler, jobs)
    scheduler.start()
    aps_functions.release.clear()
    scheduler.add_job(aps_functions.waits, id="long")
    ended(jobs, "source:long", Status.RUNNING)
    until("it waits", lambda: ("waits",) in aps_functions.ran)
    began = time.monotonic()
    scheduler.shutdown(wait=False)
    assert time.monotonic() - began < 5
    assert jobs.find("source:long")[0].status == Status.RUNNING
    aps_functions.release.set()
    ended(jobs, "source:long")


def test_a_record_that_was_handed_back_does_not_run_the_function_again(make_jobs, monkeypatch):
    jobs = make_jobs(migrate=True, beat_interval=0.2)
    scheduler = BackgroundScheduler(timezone="UTC")
    track_apscheduler(scheduler, jobs)
    scheduler.start()
    aps_functions.ran.clear()
    write, failed = jobs.store.write, []

    def answer_is_lost(operation, **options):
        answer = write(operation, **options)
        if threading.current_thread().name.startswith("ThreadPoolExecutor") and not failed:
            failed.append(True)
            raise StoreUnavailable("the answer to the commit is lost")
        return answer

    monkeypatch.setattr(jobs.store, "write", answer_is_lost)
    try:
        scheduler.add_job("aps_functions:note", id="report")
        job = ended(jobs, "source:report", Status.FAILED)
        assert "whether it ran to its end is not known" in str(job.error)
        assert len(aps_functions.ran) == 1
    finally:
        scheduler.shutdown()


KILLED = """
import os, signal, sys, time
from apscheduler.schedulers.background import BackgroundScheduler
from jobtrail import JobTrail
from jobtrail.integrations.apscheduler import track_apscheduler

jobs = JobTrail(sys.argv[1], migrate=True)
scheduler = BackgroundScheduler(timezone="UTC")
track_apscheduler(scheduler, jobs)
scheduler.start()
scheduler.add_job(os.kill, args=[os.getpid(), signal.SIGKILL.value], id="killed")
time.sleep(30)
"""


@pytest.mark.both_databases
def test_a_process_that_dies_leaves_a_failed_job_that_nobody_runs_again(make_jobs, url, tmp_path):
    (tmp_path / "killed.py").write_text(KILLED)
    done = warm.run("killed.py", url, cwd=tmp_path, env=dict(os.environ))
    assert done.returncode == -9
    jobs = make_jobs(migrate=True)
    assert [one.status for one in jobs.find("source:killed")] == [Status.RUNNING]
    scheduler = BackgroundScheduler(timezone="UTC")
    track_apscheduler(scheduler, jobs)
    scheduler.start()
    try:
        job = ended(jobs, "source:killed", Status.FAILED)
        assert job.attempt == 1
    finally:
        scheduler.shutdown()


def test_a_database_that_was_never_there_delays_nothing_for_long(make_jobs, monkeypatch):
    jobs = make_jobs(migrate=True)
    monkeypatch.setattr("jobtrail.integrations.apscheduler.tracker.START_WITHIN", 0.2)
    monkeypatch.setattr("jobtrail.integrations.apscheduler.tracker.PAUSE", 0.05)
    ready, away = jobs.make_ready, [True]

    def make_ready():
        if away:
            raise StoreUnavailable("away")
        ready()

    monkeypatch.setattr(jobs, "make_ready", make_ready)
    scheduler = BackgroundScheduler(timezone="UTC")
    track_apscheduler(scheduler, jobs)
    scheduler.start()
    aps_functions.ran.clear()
    try:
        scheduler.add_job(aps_functions.note, id="first")
        until("it ran", lambda: aps_functions.ran)
        away.clear()

        def recorded():
            scheduler.add_job(aps_functions.note, id="later", replace_existing=True)
            return jobs.find("source:later status:completed")

        until("it is recorded again", recorded, every=0.1)
    finally:
        scheduler.shutdown()
