"""An error that nobody foresaw, in any loop of a worker: the worker goes on, says it once, and shows it."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from json import loads

import pytest
from trails import until

from jobtrail import JobTrail, every
from jobtrail.recovery import heartbeat, retention, upkeep
from jobtrail.recovery.beat_child import BeatChild
from jobtrail.runtime.recorder import Flusher
from jobtrail.schedules.scheduler import Scheduler
from jobtrail.store import jobs as store_jobs
from jobtrail.store import queues, workers
from jobtrail.worker.session import WorkerSession


class Unforeseen(Exception):
    """An error of a driver that no table knows."""


class Broken:
    """Stands for a function, and raises while ``on`` is set."""

    def __init__(self, original):
        self.original, self.on, self.calls = original, True, 0

    def __call__(self, *args, **kwargs):
        if self.on:
            self.calls += 1
            raise Unforeseen("no table knows it")
        return self.original(*args, **kwargs)

    def __get__(self, owner, kind=None):
        return self if owner is None else lambda *args, **kwargs: self(owner, *args, **kwargs)


LOOPS = {
    "turn": (store_jobs, "claim"),
    "comparison": (WorkerSession, "compare"),
    "look at the queues": (queues, "paused"),
    "look for the next job": (store_jobs, "next_due"),
    "tick": (heartbeat.ThreadBeat, "tick"),
    "beat": (workers, "beat"),
    "upkeep": (upkeep.Upkeep, "run_once"),
    "retention": (retention.RetentionLoop, "run_once"),
    "scheduler": (Scheduler, "run_once"),
    "flusher": (Flusher, "run_once"),
    "listener": (WorkerSession, "listen"),
}
SHOWN = [name for name in LOOPS if name not in ("tick", "beat")]  # these two write what is shown


@pytest.fixture
def worker(sqlite_url, monkeypatch):
    """A worker with everything that runs beside it, in a thread of its own."""
    monkeypatch.setattr(retention, "FIRST_AFTER", 0.1)
    jobs = JobTrail(sqlite_url, poll_interval=0.05, beat_interval=0.1, sweep_interval=0.1, flush_interval=0.05)

    @jobs.schedule(every(hours=1))
    @jobs.task
    def load() -> int:
        return 7

    ending = []

    async def work():
        one = jobs.worker(beat="thread")
        ending.append(one.stop)
        await one.run()

    thread = jobs.test_thread = threading.Thread(target=lambda: asyncio.run(work()), daemon=True)
    yield jobs
    for stop in ending:
        stop()
    thread.join(20)
    jobs.close()
    assert not thread.is_alive()


@pytest.mark.parametrize("name", LOOPS)
def test_a_worker_outlives_an_error_that_nobody_foresaw(name, worker, monkeypatch, caplog):
    """It is repeated and logged once; the row of the worker names it; afterwards all works."""
    caplog.set_level(logging.WARNING, "jobtrail")
    owner, attribute = LOOPS[name]
    broken = Broken(getattr(owner, attribute))
    monkeypatch.setattr(owner, attribute, broken)
    worker.test_thread.start()

    def again():
        if name == "listener":
            worker.store.wake._tell_others(None, "work")
        return broken.calls >= 3

    until("the loop has failed three times", again, timeout=20)
    if name in SHOWN:
        until("the row of the worker names it", lambda: name in _detail(worker).get("failing", {}))
        assert "Unforeseen" in _detail(worker)["failing"][name]
    assert worker.test_thread.is_alive()
    broken.on = False
    job = worker.task_named("load").enqueue()
    assert job.result(timeout=20) == 7
    until("it is said that it works again", lambda: "works again" in caplog.text)
    said = [one for one in caplog.records if "Unforeseen: no table knows it" in one.getMessage()]
    assert len(said) == 1, [one.getMessage() for one in said]


def _detail(jobs):
    with jobs.store.read() as conn:
        rows = conn.exec_driver_sql("SELECT detail FROM jobtrail_workers WHERE state = 'alive'").scalars().all()
    return loads(rows[0]) if rows and rows[0] else {}


@pytest.mark.parametrize("part", ["_beat_if_due", "_listen"])
def test_a_beat_process_outlives_an_error_that_nobody_foresaw(part, sqlite_url, monkeypatch, capfd):
    """A dead beat process would look like a dead worker."""
    broken = Broken(getattr(BeatChild, part))
    broken.__name__ = part
    monkeypatch.setattr(BeatChild, part, broken)
    child = BeatChild({"path": sqlite_url.removeprefix("sqlite:///"), "worker": "w", "interval": 0.05, "parent": os.getpid()})
    child._listening = False
    monkeypatch.setattr(child, "_parent_is_gone", lambda: False)
    thread = threading.Thread(target=child.run)
    thread.start()
    until("it has failed three times", lambda: broken.calls >= 3)
    assert thread.is_alive()
    child.stopped = True
    thread.join(10)
    assert capfd.readouterr().err.count("Unforeseen: no table knows it") == 1
