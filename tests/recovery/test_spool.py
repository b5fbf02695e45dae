"""Ends that the store would not take: kept in a file, and written once, by the next worker or by whoever finds this one dead."""

from __future__ import annotations

import asyncio
import errno
import sqlite3
import stat
import threading
import time
from dataclasses import fields
from datetime import UTC, datetime

import pytest
from making import Maker, subject
from trails import names, until

from jobtrail import Context, JobTrail
from jobtrail.commands.job_fields import stored_row
from jobtrail.database import connection
from jobtrail.errors import StoreUnavailable
from jobtrail.job import transitions
from jobtrail.job.items import ItemOutcome
from jobtrail.job.model import Status
from jobtrail.job.transitions import Move, Subject
from jobtrail.recovery import end_writer, spool
from jobtrail.recovery.run_end import RunEnd
from jobtrail.recovery.upkeep import Upkeep
from jobtrail.store import workers
from jobtrail.store.items import Recorded
from jobtrail.store.runs import LogChunk, Progress, Records
from jobtrail.worker import turns


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(connection, "SQLITE_BUSY_SECONDS", 0.05)
    monkeypatch.setattr(turns, "BACK_OFF", (0.01, 0.05))


def test_c63_an_end_that_cannot_be_written_waits_in_a_file_and_is_not_repeated(sqlite_url, impatient):
    jobs = JobTrail(sqlite_url, poll_interval=0.1, graceful_shutdown_timeout=0.3, cancel_timeout=0.1)
    bodies, may_end = [], threading.Event()

    @jobs.task
    def load(ctx: Context):
        bodies.append(1)
        for item in ctx.items(["a", "b"]):
            with item:
                if item.value == "b":
                    raise ValueError("b is bad")
        may_end.wait(10)
        return {"rows": 2}

    job = load.using(source="s", period="2013-02").enqueue()
    stranger = sqlite3.connect(jobs.store.database.path, isolation_level=None, timeout=5, check_same_thread=False)

    async def locked_at_the_end():
        async with jobs.running():
            while not bodies:
                await asyncio.sleep(0.01)
            await asyncio.to_thread(stranger.execute, "BEGIN IMMEDIATE")
            may_end.set()

    asyncio.run(locked_at_the_end())
    (kept,) = spool.folder_of(jobs.store).glob("*.jsonl")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert job.refresh().status == "running"
    stranger.execute("ROLLBACK")

    async def next_one():
        await jobs.worker().run(burst=True)

    asyncio.run(next_one())
    assert (job.refresh().status, job.run_no, bodies) == ("partial", 1, [1])
    assert job.item_counts() == {"ok": 1, "failed": 1, "skipped": 0}
    assert names(job) == ["finished"]
    assert not kept.exists()
    jobs.close()


def test_what_was_given_away_meanwhile_is_refused(sqlite_url, impatient):
    jobs = JobTrail(sqlite_url)

    @jobs.task
    def load():
        return "new"

    job = load.enqueue()

    async def burst():
        await jobs.worker(beat=None).run(burst=True)

    asyncio.run(burst())
    row = stored_row(job.refresh())
    late = transitions.finished(Subject.of(row), row.finished_at, Status.COMPLETED, result='"old"')
    spool.keep(jobs.store, [RunEnd(late)])
    assert end_writer.replay(jobs.store, "w") == 0
    assert job.refresh().result() == "new"
    assert list(spool.folder_of(jobs.store).parent.glob("*-spool")) == []
    jobs.close()


def test_nothing_of_an_end_is_left_out_of_the_file(jobs):
    now = datetime(2026, 11, 29, 12, tzinfo=UTC)
    move = Move(
        "finished", "j", 3, (Status.RUNNING, Status.CANCELLING), Status.PARTIAL, {"finished_at": now, "note": "\udc80"},
        actor="engine", reason="r", unit="u", keeps_unit=True, detail={"attempt": 1}, asks={"name": "q"},
        follow=({"task": "next", "on": "ended"},), about=("load", "default", "w/A", now, now),
    )  # fmt: skip
    records = Records(
        "j", 3, "g", [Recorded("l", "k", 0, ItemOutcome.FAILED, "why", "ValueError")], Progress(1.5, 1, 2, "m", "{}"),
        [LogChunk(0, 1, 2, "text", 4)], [7], [("input_changed", "both")],
    )  # fmt: skip
    assert all(getattr(move, f.name) != f.default for f in fields(Move)), "each field says something"
    one = RunEnd(move, records, ("g", (1, 2, 3)), instead={"cancel": move}, note=("stuck", "no sign"), body_over=False, suspect=True)
    path = spool.keep(jobs.store, [one, RunEnd(move)])
    assert spool.read(path) == [one, RunEnd(move)]


def maker_of(jobs):
    jobs.service.make_ready()
    maker = Maker(jobs.store)
    jobs.store.write(
        lambda conn: workers.register(conn, jobs.store.dialect, maker.worker, ["default"], 20, jobs.store.now())
    )
    return maker


@pytest.fixture(autouse=True)
def _own_state_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


class Beat:
    def written_within(self, seconds):
        return True


def test_who_finds_a_worker_dead_writes_its_ends_before_its_jobs_run_again(jobs):
    """C-43: killed while the store was away; the work was done, so it is not repeated."""
    jobs.task(name="work")(lambda: "again")
    maker = maker_of(jobs)
    done, lost = (jobs.task_named("work").enqueue() for _ in range(2))
    claims = {claim.id: claim for claim in maker.claim()}
    ended = transitions.finished(subject(claims[done.id]), jobs.store.now(), Status.COMPLETED, result='"once"')
    path = spool.keep(jobs.store, [RunEnd(ended)], maker.worker)
    upkeep = Upkeep(jobs.store, jobs.tasks, jobs.settings, Beat(), lambda: "me")
    other = maker_of(jobs)
    third = jobs.task_named("work").enqueue()
    other.claim()
    jobs.store.write(lambda conn: workers.mark_dead(conn, other.worker, "gone", jobs.store.now()))
    upkeep.run_once(0.0)
    assert third.refresh().status == "pending"
    assert path.exists(), "who lives writes its own"
    jobs.store.write(lambda conn: workers.mark_dead(conn, maker.worker, "gone", jobs.store.now()))
    upkeep.run_once(2.0)
    assert (done.refresh().status, done.result(), lost.refresh().status) == ("completed", "once", "pending")
    assert not path.parent.exists()


def test_an_end_that_cannot_be_stored_keeps_neither_the_others_nor_upkeep(jobs, monkeypatch, caplog):
    jobs.task(name="work")(lambda: "again")
    maker = maker_of(jobs)
    good, bad = (jobs.task_named("work").enqueue() for _ in range(2))
    claims = {claim.id: claim for claim in maker.claim()}
    ends = [
        RunEnd(transitions.finished(subject(claims[one.id]), jobs.store.now(), Status.COMPLETED, result='"x"'))
        for one in (good, bad)
    ]
    path = spool.keep(jobs.store, ends)
    settle = end_writer.write_ends

    def fails(conn, store, ended, *rest):
        if any(one.job_id == bad.id for one in ended):
            raise ZeroDivisionError("a bad row")
        return settle(conn, store, ended, *rest)

    monkeypatch.setattr(end_writer, "write_ends", fails)
    assert end_writer.replay(jobs.store, "me") == 1
    assert (good.refresh().status, bad.refresh().status) == ("completed", "running")
    assert path.with_suffix(".bad").exists(), "nothing is thrown away"
    assert "its end was refused" in caplog.text
    assert end_writer.replay(jobs.store, "me") == 1
    assert (bad.refresh().status, bad.result()) == ("completed", "x")


def test_items_of_an_end_that_is_replayed_twice_are_in_the_history_once(jobs):
    """A worker dies between the commit and the removal of its file; meanwhile a re-run records an item again."""
    jobs.task(name="work")(lambda: None)
    maker, first = maker_of(jobs), jobs.task_named("work").enqueue()

    def end(job, *recorded):
        (claim,) = maker.claim()
        items = [Recorded("items", key, place, ItemOutcome(word), why) for place, (key, word, why) in enumerate(recorded)]
        move = transitions.finished(subject(claim), jobs.store.now(), Status.PARTIAL, counts=(0, len(items), 0))
        return RunEnd(move, Records(job.id, claim.run_no, claim.ledger, items=items))

    def replayed(one):
        spool.keep(jobs.store, [one])
        return end_writer.replay(jobs.store, "me")

    once = end(first, ("a", "failed", "no price"), ("b", "failed", "no date"))
    assert [replayed(once), replayed(once)] == [1, 0]
    second = first.refresh().rerun("failed_items")
    again = end(second, ("a", "failed", "still no price"), ("b", "ok", None))
    assert [replayed(again), replayed(again), replayed(once)] == [1, 0, 0]
    assert [one.reason for one in first.items()] == ["no price", "no date"]
    assert [(one.reason, one.outcome.value) for one in second.items()] == [("still no price", "failed"), (None, "ok")]
    assert [(one.job_id, one.reason) for one in first.item_history("a")] == [
        (first.id, "no price"), (second.id, "still no price"),
    ]  # fmt: skip


def test_two_that_replay_a_file_write_each_end_once(jobs, monkeypatch):
    """A second replay, begun while the first one writes, leaves the file to it."""
    jobs.task(name="work")(lambda: None)
    maker, job = maker_of(jobs), jobs.task_named("work").enqueue()
    (claim,) = maker.claim()
    spool.keep(jobs.store, [RunEnd(transitions.finished(subject(claim), jobs.store.now(), Status.PARTIAL, result='"x"'))])
    plain, second = end_writer.write_group, []

    def write_group(*given):
        written = plain(*given)
        monkeypatch.setattr(end_writer, "write_group", plain)
        second.append(end_writer.replay(jobs.store, "second"))  # before the file is removed
        return written

    monkeypatch.setattr(end_writer, "write_group", write_group)
    assert (end_writer.replay(jobs.store, "first"), second) == (1, [0])
    assert names(job) == ["finished"]


def test_another_may_have_written_the_file_meanwhile(jobs, tmp_path):
    jobs.service.make_ready()
    assert end_writer._replay(jobs.store, tmp_path / "gone.jsonl") == 0


async def test_what_waits_for_too_long_is_kept_in_a_file_too(make_jobs, monkeypatch):
    monkeypatch.setattr(turns, "BACK_OFF", (0.01, 0.05))
    jobs, away, go = make_jobs(spool_after=0.3), threading.Event(), threading.Event()

    @jobs.task
    def work(n):
        assert go.wait(20)
        return n

    found = [work.enqueue(n=n) for n in range(3)]
    await asyncio.to_thread(jobs.service.make_ready)
    plain = jobs.store.awrite

    async def awrite(*args, **rest):
        if away.is_set():
            raise StoreUnavailable("the server has gone")
        return await plain(*args, **rest)

    def kept():
        return [one for path in spool.folder_of(jobs.store).glob("*.jsonl") for one in spool.read(path)]

    monkeypatch.setattr(jobs.store, "awrite", awrite)
    async with jobs.running(beat=None):
        await asyncio.to_thread(until, "all run", lambda: {str(job.refresh().status) for job in found} == {"running"})
        away.set()
        went = time.monotonic()
        go.set()
        await asyncio.to_thread(until, "they are kept", lambda: {one.move.job_id for one in kept()} == {job.id for job in found})
        assert time.monotonic() - went >= 0.3, "a short outage costs no file"
        away.clear()
        await asyncio.to_thread(until, "they are written", lambda: {str(job.refresh().status) for job in found} == {"completed"})
        await asyncio.to_thread(until, "the file is gone", lambda: not spool.folder_of(jobs.store).exists())
    assert [names(job) for job in found] == [[], [], []], "each was written once"


def test_very_many_are_kept_at_once(jobs, monkeypatch):
    monkeypatch.setattr(spool, "MOST", 3)
    jobs.service.make_ready()
    move = Move("finished", "j", 1, (Status.RUNNING,), Status.COMPLETED, {})
    waiting = spool.SpoolCopy(jobs.store, "w", after=60.0)
    assert not waiting.update([])
    assert not waiting.update([RunEnd(move)] * 2)
    assert waiting.update([RunEnd(move)] * 3)
    assert not waiting.update([RunEnd(move)] * 3), "nothing new"
    assert waiting.update([RunEnd(move)] * 4)
    (path,) = spool.folder_of(jobs.store).glob("*")
    assert path.name == "w.jsonl"
    waiting.remove()
    assert not path.exists()


def test_a_disk_that_is_full_does_not_end_the_worker(jobs, monkeypatch, caplog):
    jobs.service.make_ready()

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(spool, "keep", full)
    waiting = spool.SpoolCopy(jobs.store, "w", after=0.0)
    assert not waiting.update([RunEnd(Move("finished", "j", 1, (Status.RUNNING,), Status.COMPLETED, {}))])
    assert "cannot be kept in a file either" in caplog.text


def test_a_spool_that_others_can_write_to_or_that_is_a_link_is_neither_read_nor_written(jobs, tmp_path, caplog):
    """Whoever can write there could make up the ends of runs."""
    job = jobs.task(name="work")(lambda: None).enqueue()
    ended = transitions.finished(subject(maker_of(jobs).claim()[0]), jobs.store.now(), Status.COMPLETED, result='"x"')
    path = spool.keep(jobs.store, [RunEnd(ended)])
    folder = path.parent
    assert (folder.stat().st_mode & 0o777, path.stat().st_mode & 0o777) == (0o700, 0o600)

    def refused():
        caplog.clear()
        assert spool.files(jobs.store) == []
        assert "chmod 700" in caplog.text
        with pytest.raises(PermissionError, match="chmod 700"):
            spool.keep(jobs.store, [RunEnd(ended)])

    for mode in (0o770, 0o707):
        folder.chmod(mode)
        refused()
    folder.chmod(0o700)
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    refused()
    folder.unlink()
    (tmp_path / "elsewhere").rename(folder)
    assert spool.files(jobs.store) == [path]
    assert job.refresh().status == "running"


def test_a_file_for_which_the_disk_has_no_room_leaves_no_part_of_it(jobs, monkeypatch):
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(spool.os, "fsync", full)
    end = RunEnd(transitions.finished(Subject("01890a5d-ac96-774b-bcce-b302099a8057", 1), datetime.now(UTC), Status.COMPLETED))
    with pytest.raises(OSError, match="No space"):
        spool.keep(jobs.store, [end])
    assert list(spool.folder_of(jobs.store).iterdir()) == []
