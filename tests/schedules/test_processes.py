"""Schedules in real processes: several on one database, leaders killed, restarts, a locked database, words between processes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from trails import until

from jobtrail import JobTrail
from jobtrail.database import connection
from jobtrail.database.tables import jobs as jobs_table
from jobtrail.database.tables import slots as slots_table
from jobtrail.database.tables import workers as workers_table
from jobtrail.schedules.scheduler import SchedulerLoop
from jobtrail.schedules.state import definition_of, rule_of
from jobtrail.store import schedules

APPS = Path(__file__).parents[1] / "apps"
SECOND = timedelta(seconds=1)


@contextlib.contextmanager
def process(command, url, tmp_path, **environment):
    """A program of its own over the database; ended with its whole group."""
    log = open(tmp_path / "log", "ab")
    variables = {
        **os.environ, "CLOCK_URL": url, "CLOCK_DIARY": str(tmp_path / "diary"), "JOBTRAIL_CONFIG": "",
        "PYTHONPATH": str(APPS), "JOBTRAIL_APP": "clock_app:jobs", **environment,
    }  # fmt: skip
    started = subprocess.Popen(command, env=variables, cwd=tmp_path, stdout=log, stderr=log, start_new_session=True)
    try:
        yield started
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGKILL)
        started.wait()
        log.close()


def said(tmp_path):
    return (tmp_path / "log").read_text(errors="replace")[-4000:]


# -- web servers with several workers --------------------------------------------------------------------


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def server(name):
    """The command of a web server with four workers."""
    port, python = str(free_port()), sys.executable
    uvicorn = [python, "-m", "uvicorn", "clock_app:app", "--port", port, "--workers", "4", "--log-level", "warning"]
    gunicorn = [python, "-m", "gunicorn", "clock_app:app", "-b", f"127.0.0.1:{port}", "-w", "4", "-k", "uvicorn.workers.UvicornWorker"]
    return {"uvicorn": uvicorn, "gunicorn": gunicorn, "gunicorn --preload": [*gunicorn, "--preload"]}[name]


def kill_leaders(jobs, seconds, every):
    """Kill the process that decides, again and again; how many were."""
    killed, end = 0, time.monotonic() + seconds
    next_kill = time.monotonic() + every
    while time.monotonic() < end:
        time.sleep(min(0.2, max(0.0, next_kill - time.monotonic())))
        if time.monotonic() < next_kill:
            continue
        pid = leader_pid(jobs)
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
            killed += 1
            next_kill = time.monotonic() + every
    return killed


def leader_pid(jobs):
    """The process of the worker that decides, as everybody can read."""
    leaders = set(jobs.schedules.leaders().values())
    with jobs.store.read() as conn:
        alive = conn.execute(
            workers_table.select().where(workers_table.c.id.in_(leaders), workers_table.c.state == "alive")
        ).all()
    return alive[0].pid if alive else None


def check_each_slot_once(jobs, name, least):
    """Every second from the first to the last slot is there, with one job each and nothing missed."""
    found = sorted(jobs.schedules.slots(name, limit=100_000), key=lambda slot: slot.planned_at)
    planned = [slot.planned_at for slot in found]
    assert planned == [planned[0] + number * SECOND for number in range(len(planned))]
    assert {slot.state for slot in found} == {"submitted"}, [slot for slot in found if slot.state != "submitted"][:5]
    with jobs.store.read() as conn:
        options = list(conn.execute(jobs_table.select().with_only_columns(jobs_table.c.options)).scalars())
    counted = Counter(options)
    assert len(options) == len(planned) >= least
    assert max(counted.values()) == 1


def follow_a_server(name, jobs, url, tmp_path, seconds, every):
    with process(server(name), url, tmp_path, CLOCK_WEB="1", CLOCK_USED_BEFORE_FORK="1") as started:
        until("a first job is made", lambda: slots_of(jobs), timeout=30)
        killed = kill_leaders(jobs, seconds, every)
        before = len(slots_of(jobs))
        until("it goes on", lambda: len(slots_of(jobs)) > before + 1, timeout=30)
        started.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            started.wait(timeout=15)
    assert killed >= int(seconds / every) - 1 > 0
    check_each_slot_once(jobs, "second", least=int(seconds * 0.9))


def slots_of(jobs):
    with jobs.store.read() as conn:
        return conn.execute(slots_table.select().with_only_columns(slots_table.c.planned_at)).all()


SERVERS = [("uvicorn", "sqlite_url"), ("gunicorn", "postgres_url"), ("gunicorn --preload", "postgres_url")]


@pytest.mark.timeout(150)
def test_c09_c10_web_workers_run_each_slot_once_while_a_leader_is_killed(sqlite_url, tmp_path):
    with contextlib.closing(JobTrail(sqlite_url)) as jobs:
        follow_a_server("uvicorn", jobs, sqlite_url, tmp_path, seconds=5, every=2.5)


@pytest.mark.long
@pytest.mark.timeout(150)
@pytest.mark.parametrize(("name", "where"), SERVERS, ids=[name for name, _ in SERVERS])
def test_c09_c10_four_web_workers_run_each_slot_once_while_leaders_are_killed(name, where, request, tmp_path):
    url = request.getfixturevalue(where)
    with contextlib.closing(JobTrail(url)) as jobs:
        follow_a_server(name, jobs, url, tmp_path, seconds=9, every=3)


@pytest.mark.long
@pytest.mark.timeout(500)
@pytest.mark.parametrize(
    ("name", "where"), [*SERVERS, ("uvicorn", "postgres_url"), ("gunicorn --preload", "sqlite_url")]
)
def test_c09_c10_five_minutes_with_the_leader_killed_every_twenty_seconds(name, where, request, tmp_path):
    url = request.getfixturevalue(where)
    with contextlib.closing(JobTrail(url)) as jobs:
        follow_a_server(name, jobs, url, tmp_path, seconds=300, every=20)


# -- restarts --------------------------------------------------------------------------------------------


def worker():
    return [sys.executable, "-m", "jobtrail", "worker"]


@pytest.mark.long
@pytest.mark.timeout(150)
def test_a_kill_in_the_middle_of_a_thousand_schedules_loses_and_doubles_none(url, tmp_path):
    """From one second to one month; the process is killed while it fires, and another one goes on."""
    with contextlib.closing(JobTrail(url)) as jobs:
        with process(worker(), url, tmp_path, CLOCK_SCHEDULES="many"):
            until("some hundred have fired", lambda: len(slots_of(jobs)) > 700, timeout=40)
            far = {one.name: one.next_at for one in jobs.schedules.list() if int(one.name[1:]) % 10 > 5}
        at_kill = len(slots_of(jobs))
        with process(worker(), url, tmp_path, CLOCK_SCHEDULES="many") as started:
            until("it goes on", lambda: len(slots_of(jobs)) > at_kill + 700, timeout=40)
            started.send_signal(signal.SIGTERM)
            started.wait(timeout=30)
        found = jobs.schedules.list()
        assert len(found) == 1000
        kept = {one.name: one.next_at for one in found if one.name in far}
        assert sum(kept[name] == far[name] for name in far) >= len(far) - 1
        with jobs.store.read() as conn:
            everything = [check_without_gap(conn, one.row) for one in found]
            made = conn.execute(jobs_table.select().with_only_columns(jobs_table.c.id)).all()
    assert sum(everything) == len(made) > 1400


def check_without_gap(conn, row):
    """The slots of a schedule are the rule's own times from the first to the next, each once; how many made a job."""
    found = schedules.slots_of(conn, row.id, limit=10_000)
    planned = [slot.planned_at for slot in reversed(found)]
    rule = rule_of(definition_of(row), row)
    assert row.next_at is not None
    expected = list(rule.between(row.anchor, row.next_at))
    assert [*planned, row.next_at] == expected, row.name
    assert {slot.state for slot in found} <= {"submitted"}
    assert len({slot.job_id for slot in found}) == len(found)
    return len(found)


# -- in this process ---------------------------------------------------------------------------------------


async def wait_for(what, fact, timeout=15.0):
    return await asyncio.to_thread(until, what, fact, timeout=timeout)


async def test_c05_a_locked_database_neither_ends_nor_freezes_the_scheduler(sqlite_url, monkeypatch):
    """Another program holds the write lock for longer than the busy timeout, while jobs run and times come."""
    monkeypatch.setattr(connection, "SQLITE_BUSY_SECONDS", 0.3)
    jobs = JobTrail(sqlite_url, poll_interval=0.1)
    ran = []

    @jobs.schedule("every 1 second", overlap="allow")
    @jobs.task
    def work(ctx):
        ran.append(ctx.slot)

    def count():
        return len([slot for slot in jobs.schedules.slots("work", limit=1000) if slot.state == "submitted"])

    async with jobs.running():
        await wait_for("it runs", lambda: len(ran) >= 2)
        path = jobs.store.database.path
        with contextlib.closing(sqlite3.connect(path, isolation_level=None, timeout=10)) as other:
            other.execute("BEGIN IMMEDIATE")
            before = count()
            await asyncio.sleep(2)
            assert count() == before
            other.execute("ROLLBACK")
        await wait_for("it goes on", lambda: count() >= before + 3)
        await asyncio.to_thread(jobs.schedules.pause, "work")
        await wait_for("all have run", lambda: not jobs.find("status:pending") and not jobs.find("status:running"))
    submitted = [slot for slot in jobs.schedules.slots("work", limit=1000) if slot.state == "submitted"]
    found = sorted(slot.planned_at for slot in submitted)
    assert found == [found[0] + number * SECOND for number in range(len(found))]
    jobs_made = jobs.find("task:work", limit=1000)
    assert {job.status.value for job in jobs_made} == {"completed"}
    assert sorted(ran) == found, "each slot was run once, and none is done without being marked so"
    jobs.close()


async def test_what_another_process_changes_is_seen_at_once(make_jobs):
    """The worker sleeps for as long as it may; a word after the commit wakes its scheduler."""
    jobs, other = make_jobs(poll_interval=5.0, scheduler_lease=60.0), make_jobs()

    @jobs.schedule("0 3 1 1 *")
    @jobs.task
    def work(ctx):
        """Done."""

    async with jobs.running() as running:
        await wait_for("it is stored", lambda: _there(other))
        assert running is jobs
        await wait_for("somebody leads", jobs.schedules.leaders)
        await asyncio.sleep(0.3)
        began = time.monotonic()
        await asyncio.to_thread(other.schedules.edit, "work", rule="every 1 second")
        await wait_for("it runs", lambda: jobs.schedules.slots("work"))
        assert time.monotonic() - began < 3.5


def _there(jobs):
    return [one for one in jobs.schedules.list() if one.name == "work"]


async def test_nothing_is_fired_after_the_worker_was_told_to_stop(make_jobs):
    """While it drains, its scheduler is silent already, and another one may lead at once (C-41)."""
    jobs = make_jobs(graceful_shutdown_timeout=3.0)
    goes_on = asyncio.Event()

    @jobs.schedule("every 1 second", overlap="allow")
    @jobs.task
    async def work(ctx):
        await goes_on.wait()

    async with jobs.running():
        await wait_for("a job runs", lambda: jobs.find("status:running"))
        jobs.stop()
        await wait_for("it has let go", lambda: not jobs.schedules.leaders())
        made = len(slots_of(jobs))
        await asyncio.sleep(1.3)
        assert len(slots_of(jobs)) == made
        goes_on.set()


async def test_the_life_of_a_worker_shows_the_scheduler_among_its_loops(make_jobs):
    jobs = make_jobs()
    worker_ = jobs.worker()
    async with jobs.service.running(worker_):
        await wait_for("it has turned", lambda: [one for one in worker_.session.health() if one.name == "scheduler"])
        (health,) = [one for one in worker_.session.health() if one.name == "scheduler"]
        assert (health.failing, health.late) == (None, False)


def test_c70_a_scheduler_whose_turn_fails_once_goes_on():
    turns = []

    class Fails:
        def run_once(self):
            turns.append(datetime.now())
            if len(turns) == 1:
                raise ValueError("one unexpected error")
            return type("Turn", (), {"wait": 0.01})()

        def give_up(self):
            """Nothing."""

    beside = SchedulerLoop(Fails(), lambda: None, 0.01)
    beside.start()
    until("it turns again", lambda: len(turns) > 3)
    assert beside.health().failing is None
    beside.stop()


def test_a_forked_process_starts_a_scheduler_of_its_own(sqlite_url, tmp_path):
    """What the parent had is not used: the child leads with its own worker."""
    code = f"""
import asyncio, os, sys
os.environ["CLOCK_URL"] = {sqlite_url!r}
os.environ["CLOCK_DIARY"] = {str(tmp_path / "diary")!r}
sys.path.insert(0, {str(APPS)!r})
import clock_app
clock_app.jobs.schedules.sync()
clock_app.jobs.schedules.scheduler().run_once()
if os.fork():
    sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
async def work():
    async with clock_app.jobs.running():
        for _ in range(300):
            await asyncio.sleep(0.1)
            if os.path.exists({str(tmp_path / "diary")!r}):
                return
asyncio.run(work())
sys.exit(0 if os.path.exists({str(tmp_path / "diary")!r}) else 3)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path, timeout=50)
    assert done.returncode == 0, done.stderr
