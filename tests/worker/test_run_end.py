"""The end of a run: decided before the transaction, written by what the row says, and never lost where it cannot be stored."""

from __future__ import annotations

from dataclasses import replace

import pytest
from making import Maker, subject
from sqlalchemy import text
from trails import event, names

from jobtrail import Retry
from jobtrail.errors import StoreUnavailable, ValueNotStorable
from jobtrail.job import outcome as outcomes
from jobtrail.job import transitions
from jobtrail.job.items import ItemOutcome
from jobtrail.job.model import Status, StopCause
from jobtrail.recovery import end_writer, spool
from jobtrail.recovery.end_writer import EndWriter
from jobtrail.recovery.run_end import RunEnd, write_ends
from jobtrail.store import workers
from jobtrail.store.items import Recorded
from jobtrail.store.runs import Records

RAISED = outcomes.Raised('{"message": "e"}', "f", "e", retry=True, delay=10)
POLICY = Retry(attempts=3)


@pytest.fixture(autouse=True)
def _own_spool(tmp_path, monkeypatch):
    """A spool for each test: tests on PostgreSQL share one database."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def maker(jobs):
    jobs.service.make_ready()
    made = Maker(jobs.store)
    jobs.store.write(lambda conn: workers.register(conn, jobs.store.dialect, made.worker, ["default"], 20, jobs.store.now()))
    return made


@pytest.fixture
def running(jobs, maker):
    """A running job, and its claim."""
    job = jobs.task(name="work", retry=POLICY)(lambda: None).enqueue()
    (claim,) = maker.claim()
    return job, claim


def decided(jobs, claim, outcome, **about):
    job = replace(subject(claim), max_attempts=3, **about)
    now = jobs.store.now()
    move = outcomes.decide(job, outcome, outcomes.NO_ITEMS, POLICY, now)
    return RunEnd(move, instead=outcomes.decide_instead(move, job, outcome, outcomes.NO_ITEMS, POLICY, now))


def write(jobs, *ends):
    return jobs.store.write(lambda conn: write_ends(conn, jobs.store, ends, jobs.store.now()))


def ask_to_stop(maker, claim, cause):
    move = transitions.stop_requested(subject(claim), maker.store.now(), cause=cause, actor="ann")
    assert maker.apply(move) == []


@pytest.mark.parametrize("to", ["completed", "partial", "failed"])
def test_the_trail_has_the_state_that_was_left(jobs, maker, running, to):
    job, claim = running
    end = transitions.finished(subject(claim), jobs.store.now(), Status(to), error="{}" if to == "failed" else None)
    ask_to_stop(maker, claim, StopCause.CANCEL)
    assert write(jobs, RunEnd(end)) == []
    assert (event(job, "finished").from_status, event(job, "finished").to_status) == ("cancelling", to)


def test_a_success_that_nobody_asked_to_stop_has_no_line(jobs, running):
    job, claim = running
    assert write(jobs, decided(jobs, claim, outcomes.Returned())) == []
    assert names(job) == []


@pytest.mark.parametrize(
    ("cause", "status"), [(StopCause.CANCEL, "cancelled"), (StopCause.TIMEOUT, "pending"), (StopCause.STALL, "pending")]
)
def test_what_was_asked_meanwhile_is_written_in_the_same_transaction(jobs, maker, running, cause, status):
    job, claim = running
    end = decided(jobs, claim, RAISED)
    assert end.move.name == "retry_planned"
    ask_to_stop(maker, claim, cause)
    assert write(jobs, end) == []
    assert str(job.refresh().status) == status
    assert event(job, "stopped").from_status == "cancelling"


def test_a_cancel_wins_over_a_limit(jobs, maker, running):
    job, claim = running
    end = decided(jobs, claim, RAISED, stop_cause="timeout", status=Status.CANCELLING)
    assert (end.move.name, end.move.to) == ("stopped", Status.PENDING)
    ask_to_stop(maker, claim, StopCause.CANCEL)
    assert write(jobs, end) == []
    assert str(job.refresh().status) == "cancelled"


def test_an_end_that_is_written_before_its_own_request_to_stop_is_not_lost(jobs, maker, running):
    """Moves are written in groups: the end of one job may bring its group before the requests to stop of others."""
    job, claim = running
    request = transitions.stop_requested(subject(claim), jobs.store.now(), cause=StopCause.TIMEOUT, actor="engine")
    end = decided(jobs, claim, RAISED, stop_cause="timeout", status=Status.CANCELLING)
    assert write(jobs, end, RunEnd(request, body_over=False)) == []
    assert str(job.refresh().status) == "pending"


def test_the_body_of_a_forced_end_has_returned(jobs, maker, running):
    job, claim = running
    ask_to_stop(maker, claim, StopCause.CANCEL)
    row = replace(subject(claim), status=Status.CANCELLING, stop_cause="cancel")
    assert maker.apply(transitions.forced(row, jobs.store.now(), actor="ann")) == []
    assert write(jobs, replace(decided(jobs, claim, RAISED), body_over=False)) != [], "its body still runs"
    assert write(jobs, decided(jobs, claim, RAISED)) == []
    assert names(job)[-1] == "body_returned"


def test_an_end_that_is_written_twice_changes_nothing(jobs, running):
    job, claim = running
    end = decided(jobs, claim, RAISED)
    assert write(jobs, end) == []
    assert write(jobs, end) == [end]
    assert (str(job.refresh().status), job.attempt) == ("pending", 1)


# -- what the store does not take ----------------------------------------------------------------------------


@pytest.fixture
def broken(monkeypatch):
    """Ends of these jobs cannot be stored: in no form, or only without their values."""
    found = {"never": set(), "only bare": set(), "away": False}

    def refuses(conn, store, ends, now):
        if found["away"]:
            raise StoreUnavailable("gone")
        for one in ends:
            whole = one.move.values.get("result") is not None
            if one.job_id in found["never"] or (whole and one.job_id in found["only bare"]):
                raise ZeroDivisionError("a bug")
        return write_ends(conn, store, ends, now)

    monkeypatch.setattr(end_writer, "write_ends", refuses)
    return found


def test_the_others_are_written_and_the_bad_one_without_its_values(jobs, maker, broken):
    task = jobs.task(name="work")(lambda: None)
    found = [task.enqueue() for _ in range(3)]
    claims = {claim.id: claim for claim in maker.claim()}
    broken["only bare"].add(found[1].id)
    writer = EndWriter(jobs.store, maker.worker, 60.0)
    ends = [decided(jobs, claims[job.id], outcomes.Returned('"x"')) for job in found]
    assert writer.write_each(ends) == []
    assert [str(job.refresh().status) for job in found] == ["completed"] * 3
    assert [job.result() for job in found] == ["x", None, "x"]
    assert f"{found[1].id}-1.refused" in found[1].note
    assert writer.stuck == []


def test_values_that_a_fault_kept_out_are_written_once_it_is_mended(jobs, maker, running, broken):
    job, claim = running
    broken["only bare"].add(job.id)
    writer = EndWriter(jobs.store, maker.worker, 60.0)
    recorded = [Recorded("items", "a", 0, ItemOutcome.OK)]
    records = Records(job.id, 1, claim.ledger, items=recorded)
    assert writer.write_each([replace(decided(jobs, claim, outcomes.Returned('"x"')), records=records)]) == []
    assert (str(job.refresh().status), job.result(), list(job.items())) == ("completed", None, [])
    (kept,) = spool.files(jobs.store, suffix=spool.REFUSED)
    assert kept.stat().st_mode & 0o077 == 0
    assert end_writer.replay(jobs.store, "another") == 1
    assert (job.refresh().result(), job.note, [one.key for one in job.items()]) == ("x", None, ["a"])
    assert names(job)[-1] == "result_restored"
    assert not kept.exists()
    assert end_writer.replay(jobs.store, "another") == 0


def test_values_are_kept_while_the_fault_lasts(jobs, maker, running, broken, monkeypatch):
    job, claim = running
    broken["only bare"].add(job.id)
    EndWriter(jobs.store, maker.worker, 60.0).write_each([decided(jobs, claim, outcomes.Returned('"x"'))])
    monkeypatch.setattr(end_writer, "complete", lambda *_: 1 / 0)
    assert end_writer.replay(jobs.store, "another") == 0
    assert len(spool.files(jobs.store, suffix=spool.REFUSED)) == 1


def test_values_of_a_job_that_runs_again_are_kept_for_people(jobs, maker, running, broken):
    job, claim = running
    broken["only bare"].add(job.id)
    EndWriter(jobs.store, maker.worker, 60.0).write_each([decided(jobs, claim, outcomes.Returned('"x"'))])
    jobs.store.write(lambda conn: conn.execute(text("UPDATE jobtrail_jobs SET run_no = 2")))
    assert end_writer.replay(jobs.store, "another") == 0
    assert job.refresh().result() is None
    assert [path.name for path in spool.files(jobs.store, suffix=".bad")] == [f"{job.id}-1.bad"]


def test_a_value_that_no_database_takes_is_dropped(jobs, maker, running, monkeypatch):
    job, claim = running

    def refuses(conn, store, ends, now):
        if ends[0].move.values.get("result") is not None:
            raise ValueNotStorable("a row that is too large")
        return write_ends(conn, store, ends, now)

    monkeypatch.setattr(end_writer, "write_ends", refuses)
    EndWriter(jobs.store, maker.worker, 60.0).write_each([decided(jobs, claim, outcomes.Returned('"x"'))])
    assert (str(job.refresh().status), job.result()) == ("completed", None)
    assert "ValueNotStorable" in job.note
    assert spool.files(jobs.store, suffix=spool.REFUSED) == []


def test_an_end_that_cannot_be_stored_at_all_is_kept_and_tried_again(jobs, maker, running, broken):
    job, claim = running
    broken["never"].add(job.id)
    writer = EndWriter(jobs.store, maker.worker, 60.0)
    assert writer.write_each([decided(jobs, claim, outcomes.Returned('"x"'))]) == []
    assert [one.job_id for one in writer.stuck] == [job.id]
    (kept,) = spool.folder_of(jobs.store).glob("*.jsonl")
    assert kept.stem == maker.worker
    writer.retry_stuck()
    assert writer.stuck, "not before its time"
    broken["never"].clear()
    writer.retry_stuck(now=float("inf"))
    assert (writer.stuck, str(job.refresh().status), job.result()) == ([], "completed", "x")
    assert not kept.exists()


def test_an_outage_makes_no_end_bare(jobs, maker, running, broken):
    job, claim = running
    writer = EndWriter(jobs.store, maker.worker, 60.0)
    end = decided(jobs, claim, outcomes.Returned('"x"'))
    broken["away"] = True
    assert writer.write_each([end]) == [end]
    assert (writer.stuck, str(job.refresh().status)) == ([], "running")


async def test_a_worker_with_an_end_that_cannot_be_stored_goes_on_and_keeps_the_job(make_jobs, monkeypatch):
    """It is neither handed back nor run again, and others are executed beside it."""
    jobs = make_jobs(beat_interval=0.1, graceful_shutdown_timeout=1.0)
    task = jobs.task(name="work")(lambda n: n)
    bad = task.enqueue(n=0)

    def refuses(conn, store, ends, now):
        if any(one.job_id == bad.id for one in ends):
            raise ZeroDivisionError("a bug")
        return write_ends(conn, store, ends, now)

    monkeypatch.setattr(end_writer, "write_ends", refuses)
    monkeypatch.setattr("jobtrail.worker.turns.write_ends", refuses)
    monkeypatch.setattr("jobtrail.worker.turns.BACK_OFF", (0.01, 0.05))
    async with jobs.running():
        good = [task.enqueue(n=n) for n in range(1, 4)]
        for job in good:
            assert await job.aresult(timeout=20) is not None
        monkeypatch.setattr(end_writer, "write_ends", write_ends)
    assert (str(bad.refresh().status), bad.result(), bad.run_no) == ("completed", 0, 1)
