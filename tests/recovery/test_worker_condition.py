"""What a worker says of its health in its row: read by other processes, written when it changes, nothing where all is well."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from datetime import datetime

import pytest
from trails import until

from jobtrail.errors import StoreUnavailable
from jobtrail.job.model import new_id
from jobtrail.recovery import heartbeat as beat_module
from jobtrail.recovery.background_loop import Health
from jobtrail.recovery.heartbeat import StoreDetail
from jobtrail.recovery.worker_condition import Condition
from jobtrail.recovery.worker_detail import WorkerDetail
from jobtrail.store import workers

QUICK = {"beat_interval": 0.1, "sweep_interval": 0.1}


async def soon(what, fact, timeout=15.0):
    return await asyncio.to_thread(until, what, fact, timeout=timeout)


def detail(jobs, worker_id=None):
    """What stands in the row of a worker, the newest where none is named."""
    with jobs.store.read() as conn:
        rows = [one for one in workers.everyone(conn) if worker_id in {None, one["id"]}]
    return json.loads(rows[0]["detail"]) if rows and rows[0]["detail"] else {}


def status(job):
    return job.refresh().status


def test_it_names_what_is_wrong_and_no_durations_so_it_changes_seldom(jobs, caplog):
    one = Condition(jobs.store.now)
    well = [Health("beat", 0.1, None, late=False), Health("upkeep", 3.0, None, late=False)]
    assert one.detail(well) == {}
    ill = [Health("beat", 99.0, None, late=True), Health("upkeep", 3.0, "ValueError: a bad row", late=False)]
    assert one.detail(ill) == one.detail(ill) == {"failing": {"upkeep": "ValueError: a bad row"}, "late": ["beat"]}
    one.back()
    assert one.detail(well) == {}, "it was not away"
    one.away("the server has gone")
    assert one.detail(well)["store_away"]["until"] is None
    one.back()
    told = one.detail(well)["store_away"]
    assert told["why"] == "the server has gone"
    assert datetime.fromisoformat(told["since"]) <= datetime.fromisoformat(told["until"])
    one.back()
    assert one.detail(well)["store_away"] == told, "it came back once"
    one.slots_lost(["a", "b"], 4)
    one.slots_lost(["a", "b"], 4)
    assert one.detail(well)["slots_lost"] == {"lost": 2, "of": 4, "by": ["a", "b"]}
    one.slots_lost([], 4)
    assert "slots_lost" not in one.detail(well)
    assert caplog.text.count("2 of 4 slots are lost to bodies that do not stop: a, b") == 1
    assert "all slots are back" in caplog.text


def test_it_is_written_when_it_has_changed_and_only_then(jobs, monkeypatch):
    jobs.service.make_ready()
    store, me, written = jobs.store, new_id(), []
    store.write(lambda conn: workers.register(conn, store.dialect, me, ["default"], 4, store.now()))
    note = workers.note
    monkeypatch.setattr(beat_module.workers, "note", lambda *args: (written.append(args[2]), note(*args)))
    one = WorkerDetail(5.0)
    with store.read() as conn:
        for told in ({}, {}, {"late": ["upkeep"]}, {"late": ["upkeep"]}, {}, {}):
            one.hear([], told)
            one.write(StoreDetail(store, conn), me)
    assert written == [{"late": ["upkeep"]}, {}]
    assert detail(jobs) == {}
    one.heard_at = time.monotonic() - 9.0
    with store.read() as conn:
        one.write(StoreDetail(store, conn), me)
        assert detail(jobs) == {}
        one.heard_at -= 2.0
        one.write(StoreDetail(store, conn), me)
        one.write(StoreDetail(store, conn), me)
    assert time.time() - detail(jobs)["loop_blocked_since"] == pytest.approx(11.0, abs=2)
    assert len(written) == 3


@pytest.mark.parametrize("beat", ["thread", "child"])
async def test_an_upkeep_that_fails_says_so_and_says_when_it_works_again(make_jobs, monkeypatch, beat):
    """C-70: the loop that looks after the others does not die in silence."""
    monkeypatch.setattr("jobtrail.worker.worker.TICK", 0.05)
    jobs, broken = make_jobs(**QUICK), threading.Event()
    await asyncio.to_thread(jobs.service.make_ready)
    worker = jobs.worker(beat=beat)
    turn = worker.session._upkeep._recover

    def fails():
        if broken.is_set():
            raise ValueError("a bad row")
        return turn()

    monkeypatch.setattr(worker.session._upkeep, "_recover", fails)
    broken.set()
    running = asyncio.create_task(worker.run(), name="worker")
    try:
        await soon("it says so", lambda: detail(jobs, worker.id) == {"failing": {"upkeep": "ValueError: a bad row"}})
        broken.clear()
        await soon("it works again", lambda: detail(jobs, worker.id) == {})
    finally:
        worker.stop()
        await running


async def test_a_worker_says_when_it_was_without_its_store(make_jobs, monkeypatch):
    monkeypatch.setattr("jobtrail.worker.worker.TICK", 0.05)
    jobs, away = make_jobs(**QUICK), threading.Event()
    await asyncio.to_thread(jobs.service.make_ready)
    plain = jobs.store.awrite

    async def awrite(*args, **rest):
        if away.is_set():
            raise StoreUnavailable("the server has gone")
        return await plain(*args, **rest)

    monkeypatch.setattr(jobs.store, "awrite", awrite)
    async with jobs.running(beat="thread"):
        away.set()
        told = await soon("it says so", lambda: detail(jobs).get("store_away"))
        assert (told["until"], told["why"]) == (None, "the server has gone")
        away.clear()
        await soon("it says that it is back", lambda: detail(jobs)["store_away"]["until"])
    assert detail(jobs) == {}, "it has ended in order"


async def test_a_blocked_loop_is_told_of_where_a_thread_beats_too(make_jobs, monkeypatch):
    monkeypatch.setattr("jobtrail.recovery.worker_detail.BLOCKED_AFTER", 0.3)
    monkeypatch.setattr("jobtrail.worker.worker.TICK", 0.05)
    jobs, gate = make_jobs(**QUICK), threading.Event()

    @jobs.task
    async def blocks():
        assert gate.wait(20)

    job, seen = blocks.enqueue(), []

    def look():
        seen.append(until("it says what blocks", lambda: detail(jobs).get("by")))
        gate.set()

    thread = threading.Thread(target=look)
    async with jobs.running(beat="thread"):
        thread.start()
        await soon("it has ended", lambda: status(job) == "completed")
        await soon("it is well again", lambda: detail(jobs) == {})
    thread.join()
    assert seen == [[job.id]]


async def test_c69_all_slots_lost_to_hung_bodies_is_an_alert(make_jobs, monkeypatch, caplog):
    """4 of 4: the quick ones behind them wait, and the row says why; when a body comes back they run."""
    monkeypatch.setattr("jobtrail.worker.worker.TICK", 0.05)
    jobs, gate = make_jobs(**QUICK, slots=4, cancel_timeout=0.2), threading.Event()
    hung = jobs.task(name="hung", timeout=0.1)(gate.wait)
    stuck = [hung.enqueue().id for _ in range(4)]
    quick = jobs.task(name="quick")(lambda: "done")
    async with jobs.running(beat="thread"):
        behind = quick.enqueue_many([{}] * 20)
        told = await soon("the alert stands in the row", lambda: detail(jobs).get("slots_lost", {}).get("lost") == 4)
        told = detail(jobs)["slots_lost"]
        assert (told["of"], sorted(told["by"])) == (4, sorted(stuck))
        assert "4 of 4 slots are lost to bodies that do not stop" in caplog.text
        assert {str(status(job)) for job in behind} == {"pending"}
        gate.set()
        await soon("the quick ones run", lambda: {str(status(job)) for job in behind} == {"completed"})
        await soon("it is well again", lambda: detail(jobs) == {})
