"""A host and its tickets: whatever comes twice, too early or too late, a job runs once and its thread is let go."""

from __future__ import annotations

import asyncio
import threading
import time
from functools import partial

import pytest
from handing import Box, Hosted
from trails import event, names, until

from jobtrail import Retry
from jobtrail.commands.queues import set_paused
from jobtrail.errors import StoreUnavailable
from jobtrail.store.tracked.hand_over import Refusal
from jobtrail.worker.handed import host as host_module
from jobtrail.worker.handed import seat as seat_module

pytestmark = [pytest.mark.timeout(60), pytest.mark.both_databases]


def refusals(*found):
    until("every ticket has an answer", lambda: all(found))
    return [one[0].refused for one in found]


def started(job):
    until("the job runs", lambda: job.refresh().status == "running")


def test_a_ticket_runs_its_job_in_the_thread_that_brings_it(hosted: Hosted):
    ran = []
    task = hosted.jobs.task(name="where")(lambda: ran.append(threading.current_thread()))
    job = task.enqueue()
    found = hosted.start().bring(job.id)
    assert refusals(found) == [None]
    assert found[0].begun
    assert ran == hosted.threads
    assert job.refresh().status == "completed"
    assert "begun_by" in names(job)


def test_a_coroutine_runs_on_the_loop_of_the_host(hosted: Hosted):
    @hosted.jobs.task(name="gentle")
    async def gentle():
        await asyncio.sleep(0)
        return threading.current_thread().name

    job = gentle.enqueue()
    assert refusals(hosted.start().bring(job.id)) == [None]
    assert job.refresh().result() == "jobtrail-host"


def test_a_ticket_that_comes_twice_is_counted_and_changes_nothing(hosted: Hosted, slow):
    job = slow.enqueue(seconds=0.5)
    first = hosted.start().bring(job.id)
    started(job)
    again = [hosted.bring(job.id) for _ in range(3)]
    assert refusals(*again) == [Refusal.TAKEN] * 3
    assert not first, "the first one still runs"
    assert refusals(first, hosted.bring(job.id)) == [None, Refusal.TAKEN]
    assert (job.refresh().status, job.run_no) == ("completed", 1)
    assert names(job).count("delivered_again") == 4


def test_tickets_that_come_at_once(hosted: Hosted):
    job = hosted.jobs.task(name="work")(lambda: None).enqueue()
    found = [hosted.bring(job.id) for _ in range(4)]
    hosted.start()
    assert sorted(map(str, refusals(*found))) == ["None", "taken", "taken", "taken"]
    assert (job.refresh().status, job.run_no) == ("completed", 1)


def test_the_next_run_begins_while_the_thread_of_the_last_one_leaves(hosted: Hosted, monkeypatch):
    """In a pool of threads the ticket of the retry may come before the first thread has left its seat."""
    tries = []
    leave, held = seat_module.Seat.leave, threading.Event()

    def slowly(self):
        if len(tries) == 1:
            threading.Thread(target=lambda: (held.wait(10), leave(self)), daemon=True).start()
        else:
            leave(self)

    monkeypatch.setattr(seat_module.Seat, "leave", slowly)

    @hosted.jobs.task(name="again", retry=Retry(attempts=2, wait=0))
    def again():
        tries.append(1)
        if len(tries) == 1:
            raise ValueError("not yet")

    job = again.enqueue()
    first = hosted.start().bring(job.id)
    until(
        "the first run has ended",
        lambda: "retry_scheduled" in names(job) or (job.refresh().status == "pending" and job.run_no == 1),
    )
    assert refusals(hosted.bring(job.id, 2)) == [None]
    assert (job.refresh().status, job.run_no, len(tries)) == ("completed", 2, 2)
    held.set()
    assert refusals(first) == [None]


@pytest.mark.parametrize("why", ["postponed", "paused"])
def test_a_ticket_that_comes_too_early_is_handed_over_again_later(hosted: Hosted, why: str):
    from datetime import timedelta

    jobs = hosted.jobs
    task = jobs.task(name="work")(lambda: None)
    job = task.using(delay=timedelta(hours=1)).enqueue() if why == "postponed" else task.enqueue()
    if why == "paused":
        set_paused(jobs.service, "default", paused=True, actor="test")
    mark(jobs, job)
    hosted.start()
    until("the host knows the paused queues", lambda: why != "paused" or hosted.host.worker.paused_queues)
    assert refusals(hosted.bring(job.id)) == [Refusal.EARLY]
    assert handed_run(jobs, job) is None
    assert "delivered_again" not in names(job)


def test_tickets_of_jobs_that_have_ended_are_gone_or_run_elsewhere(hosted: Hosted):
    jobs = hosted.jobs
    task = jobs.task(name="work")(lambda: None)
    ended, gone, elsewhere = task.enqueue(), task.enqueue(), task.enqueue()
    ended.cancel()
    from sqlalchemy import delete, update

    from jobtrail.database.tables import jobs as table

    jobs.store.write(lambda conn: conn.execute(update(table).where(table.c.id == elsewhere.id).values(executor=None)))
    gone.cancel()
    jobs.store.write(lambda conn: conn.execute(delete(table).where(table.c.id == gone.id)))
    hosted.start()
    found = [hosted.bring(one.id) for one in (ended, gone, elsewhere)]
    assert refusals(*found) == [Refusal.ENDED, Refusal.GONE, Refusal.ELSEWHERE]


def test_the_answer_of_a_claim_is_lost(hosted: Hosted, monkeypatch):
    """The claim is committed and the connection breaks: the second try finds its own claim."""
    from jobtrail.worker.turns import Turns

    write, lost = Turns._write_turn, []

    async def loses_the_first(self, ends, wants, tickets, *, looks):
        found = await write(self, ends, wants, tickets, looks=looks)
        if found[1] and not lost:
            lost.append(1)
            raise StoreUnavailable("the answer was lost")
        return found

    monkeypatch.setattr(Turns, "_write_turn", loses_the_first)
    job = hosted.jobs.task(name="work")(lambda: "done").enqueue()
    assert refusals(hosted.start().bring(job.id)) == [None]
    assert lost
    assert (job.refresh().status, job.run_no, job.result()) == ("completed", 1, "done")


def test_a_ticket_goes_back_where_the_store_stays_away(hosted: Hosted, monkeypatch):
    job = hosted.jobs.task(name="work")(lambda: None).enqueue()

    async def away(self, *given, **options):
        raise StoreUnavailable("away")

    from jobtrail.worker.turns import Turns

    hosted.start()
    with monkeypatch.context() as patch:
        patch.setattr(Turns, "_write_turn", away)
        patch.setattr(hosted.host, "_seat", partial(hosted.host._seat, patience=0.2))
        assert refusals(hosted.bring(job.id)) == [Refusal.AWAY]
    assert job.refresh().status == "pending"
    assert refusals(hosted.bring(job.id)) == [None]
    assert job.refresh().status == "completed"


def test_a_ticket_that_comes_before_the_worker_runs_goes_back_too(hosted: Hosted):
    hosted.host._seat = partial(hosted.host._seat, patience=0.1)
    job = hosted.jobs.task(name="work")(lambda: None).enqueue()
    assert refusals(hosted.bring(job.id)) == [Refusal.AWAY]
    assert job.refresh().status == "pending"


def test_an_end_that_the_store_does_not_take_at_once_keeps_its_thread(hosted: Hosted, monkeypatch):
    from jobtrail.worker.turns import Turns

    write, refused = Turns._write_turn, threading.Event()

    async def away_at_ends(self, ends, wants, tickets, *, looks):
        if ends and not back.is_set():
            refused.set()
            raise StoreUnavailable("away")
        return await write(self, ends, wants, tickets, looks=looks)

    back = threading.Event()
    monkeypatch.setattr(Turns, "_write_turn", away_at_ends)
    job = hosted.jobs.task(name="work")(lambda: "done").enqueue()
    found = hosted.start().bring(job.id)
    until("an end was refused", refused.is_set)
    assert not found
    back.set()
    assert refusals(found) == [None]
    assert job.refresh().result() == "done"


def test_a_worker_that_fails_is_replaced_and_lets_its_threads_go(hosted: Hosted, slow, monkeypatch):
    monkeypatch.setattr(host_module, "PAUSE", 0.05)
    job = slow.enqueue()
    found = hosted.start().bring(job.id)
    started(job)
    failed = hosted.host.worker

    async def broken(*given, **options):
        raise KeyError("broken")

    monkeypatch.setattr(failed, "_compare", broken)
    until(
        "another worker takes its place", lambda: hosted.host.worker is not failed and hosted.host.worker.ready.is_set()
    )
    until("its thread is let go", lambda: found)
    row = job.refresh()
    assert (row.status, row.attempt) == ("pending", 0)
    after = hosted.jobs.task(name="work")(lambda: "done").enqueue()
    assert refusals(hosted.bring(after.id)) == [None]


def test_a_deaf_body_outlives_its_worker_and_its_thread_is_let_go(hosted: Hosted, monkeypatch):
    """The worker that failed keeps its run until it ends; the thread does not wait for a worker that is gone."""
    monkeypatch.setattr(host_module, "PAUSE", 0.05)
    job = hosted.jobs.task(name="deaf")(lambda: time.sleep(2.5)).enqueue()
    found = hosted.start().bring(job.id)
    started(job)
    failed = hosted.host.worker

    async def broken(*given, **options):
        raise KeyError("broken")

    monkeypatch.setattr(failed, "_compare", broken)
    assert refusals(found) == [None]
    until("its end is stored", lambda: job.refresh().status == "completed")
    assert job.run_no == 1
    after = hosted.jobs.task(name="work")(lambda: "done").enqueue()
    assert refusals(hosted.bring(after.id)) == [None]


def test_a_host_that_stops_hands_back_and_refuses(hosted: Hosted, slow):
    job = slow.enqueue()
    found = hosted.start().bring(job.id)
    started(job)
    hosted.host.stop()
    until("the thread is let go", lambda: found)
    row = job.refresh()
    assert (row.status, row.attempt) == ("pending", 0)
    assert event(job, "handed_back").reason
    assert refusals(hosted.bring(job.id, 2)) == [Refusal.STOPPING]


def test_a_cancel_reaches_the_body(hosted: Hosted, slow):
    job = slow.enqueue()
    found = hosted.start().bring(job.id)
    started(job)
    job.cancel()
    assert refusals(found) == [None]
    assert job.refresh().status == "cancelled"


def test_a_task_that_is_not_known_here(hosted: Hosted, make_jobs, box: Box):
    elsewhere = make_jobs(executor=Box())
    job = elsewhere.task(name="unknown")(lambda: None).enqueue()
    assert refusals(hosted.start().bring(job.id)) == [None]
    assert job.refresh().status == "pending", "another process may know it"


def mark(jobs, job):
    from sqlalchemy import update

    from jobtrail.database.tables import jobs as table

    now = jobs.store.now()
    jobs.store.write(
        lambda conn: conn.execute(update(table).where(table.c.id == job.id).values(handed_run=0, handed_at=now))
    )


def handed_run(jobs, job):
    from sqlalchemy import select

    from jobtrail.database.tables import jobs as table

    with jobs.store.read() as conn:
        return conn.execute(select(table.c.handed_run).where(table.c.id == job.id)).scalar()
