"""The relay: what is due is sent once, what was lost is sent again and not too often, and one process does it."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from handing import Box
from sqlalchemy import select, update

from jobtrail import Limit, Retry
from jobtrail.commands.queues import set_paused
from jobtrail.database import leases
from jobtrail.database.tables import jobs as table
from jobtrail.database.wakeup import WORK
from jobtrail.errors import StoreUnavailable
from jobtrail.job.model import new_id
from jobtrail.recovery import relay as module
from jobtrail.recovery.relay import LeftBehind, TicketRelay
from jobtrail.store import workers
from jobtrail.store.tracked import ticket_claim
from jobtrail.store.tracked.ticket_claim import TicketClaim
from jobtrail.testing import MovableClock, drain

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobtrail import JobTrail

pytestmark = [pytest.mark.timeout(60), pytest.mark.both_databases]


class Bench:
    """An application, a box, relays of several workers, and one clock for all."""

    def __init__(self, make_jobs: Callable[..., JobTrail], monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock, self.box, self.seconds = MovableClock(), Box(), 0.0
        self.jobs = make_jobs(executor=self.box, clock=self.clock, scheduler_lease=10)
        self.jobs.make_ready()
        self.work = self.jobs.task(name="work", retry=Retry(attempts=2, wait=0))(lambda: None)
        self.workers: list[str] = []
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: self.seconds))
        self.relay = self.another()

    def another(self) -> TicketRelay:
        """The relay of another worker."""
        own, store = new_id(), self.jobs.store
        self.workers.append(own)
        store.write(lambda conn: workers.register(conn, store.dialect, own, ["default"], 1, store.now()))
        return TicketRelay(self.box, store, self.jobs.tasks, self.jobs.settings, lambda: own)

    def passes(self, seconds: float) -> None:
        """Let time pass."""
        self.seconds += seconds
        self.clock.move(seconds=seconds)

    def submit(self, number: int = 1, **options: Any) -> list[str]:
        """Submit jobs; their ids."""
        return [self.work.using(**options).enqueue().id for _ in range(number)]

    def begin(self, *ids: str) -> None:
        """As if a host had claimed them."""
        change = (
            update(table).where(table.c.id.in_(ids)).values(status="running", run_no=table.c.run_no + 1, worker=self.workers[0])
        )
        self.jobs.store.write(lambda conn: conn.execute(change))

    def column(self, name: str, job: str) -> Any:
        """A value of a job's row."""
        with self.jobs.store.read() as conn:
            return conn.execute(select(table.c[name]).where(table.c.id == job)).scalar()

    @property
    def sent(self) -> list[str]:
        """The jobs whose tickets were sent, in order."""
        return [one.job_id for one in self.box.sent]


@pytest.fixture
def bench(make_jobs: Callable[..., JobTrail], monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(make_jobs, monkeypatch)


def test_what_is_due_is_sent_once_and_in_order(bench: Bench) -> None:
    later = bench.submit(delay=timedelta(seconds=60))
    due = bench.submit(3)
    assert bench.relay.run_once() == 3
    assert bench.sent == due
    assert [one.token for one in bench.box.sent] == [1, 1, 1]
    assert bench.relay.run_once() == 0
    bench.passes(61)
    bench.box.waiting.clear()
    bench.begin(*due)
    assert bench.relay.run_once() == 1
    assert bench.sent[3:] == later


def test_more_than_one_batch(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BATCH", 2)
    due = bench.submit(5)
    assert bench.relay.run_once() == 5
    assert bench.sent == due


def test_a_crash_between_sending_and_marking_sends_twice(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ticket too many is harmless; one too few would be a lost job."""
    due = bench.submit(2)
    with monkeypatch.context() as patch:
        patch.setattr(module.hand_over, "mark_sent", lambda *given, **options: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            bench.relay.run_once()
    assert bench.relay.run_once() == 2
    assert bench.sent == due * 2


def test_a_job_that_begins_before_its_mark_keeps_no_mark(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    (job,) = bench.submit()
    send = bench.box.send

    def begins(tickets):
        found = send(tickets)
        bench.begin(job)
        return found

    monkeypatch.setattr(bench.box, "send", begins)
    bench.relay.run_once()
    assert bench.column("handed_run", job) is None
    change = update(table).where(table.c.id == job).values(status="pending", worker=None)
    bench.jobs.store.write(lambda conn: conn.execute(change))
    monkeypatch.setattr(bench.box, "send", send)
    bench.relay.run_once()
    assert bench.box.sent[-1].token == 2, "its next run is handed over by a ticket of its own"


def test_the_other_system_is_away(bench: Bench) -> None:
    due = bench.submit(2)
    bench.box.away = True
    for _ in range(2):
        with pytest.raises(ConnectionError):
            bench.relay.run_once()
    assert [bench.column("handed_run", job) for job in due] == [None, None]
    bench.box.away = False
    assert bench.relay.run_once() == 2


def test_it_goes_away_in_the_middle_of_a_batch(bench: Bench) -> None:
    """What was not sent is sent as soon as it is back: nobody refused that queue."""
    due = bench.submit(5)
    bench.box.takes = 2
    assert bench.relay.run_once() == 2
    with pytest.raises(ConnectionError):
        bench.relay.run_once()
    bench.box.away, bench.box.takes = False, None
    assert bench.relay.run_once() == 3
    assert bench.sent == due


def test_a_queue_that_is_refused_does_not_block_the_others(bench: Bench) -> None:
    bench.box.refuses = {"bad"}
    bad, good = bench.submit(3, queue="bad"), bench.submit(3)
    bench.submit(2, queue="bad")
    assert bench.relay.run_once() == 3
    assert bench.sent == good
    bench.box.refuses.clear()
    bench.passes(module.REFUSED_FOR - 5)
    more = bench.submit()
    bench.relay.run_once()
    assert set(more) <= set(bench.sent)
    assert not set(bad) & set(bench.sent), "it is tried again after half a minute"
    bench.passes(6)
    bench.relay.run_once()
    assert set(bad) <= set(bench.sent)


def test_a_queue_that_is_paused_is_not_sent(bench: Bench) -> None:
    set_paused(bench.jobs.service, "default", paused=True, actor="test")
    due = bench.submit(2)
    assert bench.relay.run_once() == 0
    set_paused(bench.jobs.service, "default", paused=False, actor="test")
    assert bench.relay.run_once() == 2
    assert bench.sent == due


def test_lost_tickets_are_sent_again_and_not_too_often(bench: Bench) -> None:
    due = bench.submit(4)
    bench.relay.run_once()
    del bench.box.waiting[:2]
    bench.passes(6)
    assert bench.relay.run_once() == 0, "they may be on their way"
    bench.passes(6)
    assert bench.relay.run_once() == 2
    assert bench.sent == [*due, *due[:2]], "the oldest first"
    bench.passes(6)
    assert bench.relay.run_once() == 0, "now as many wait there as were handed over"
    sent = 0
    for _ in range(100):
        bench.box.waiting.clear()
        bench.passes(6)
        sent += bench.relay.run_once()
    assert 4 * 4 <= sent <= 4 * 10, "in ten minutes each is sent again a few times, with growing pauses"
    assert len(bench.relay._sent) == 4
    bench.begin(*due)
    bench.submit()
    bench.relay.run_once()
    bench.passes(2 * module.LONGEST + 1)
    bench.relay.run_once()
    assert not set(due) & set(bench.relay._sent), "what began is forgotten"


def test_a_lost_ticket_of_a_later_run_is_not_held_up_by_an_earlier_one(bench: Bench) -> None:
    (job,) = bench.submit()
    bench.relay.run_once()
    for _ in range(5):
        bench.box.waiting.clear()
        bench.passes(60)
        bench.relay.run_once()
    bench.begin(job)
    change = update(table).where(table.c.id == job).values(status="pending", worker=None)
    bench.jobs.store.write(lambda conn: conn.execute(change))
    bench.relay.run_once()
    bench.box.waiting.clear()
    bench.passes(12)
    before = len(bench.sent)
    bench.relay.run_once()
    assert [one.token for one in bench.box.sent[before:]] == [2]


def test_a_system_that_cannot_count(bench: Bench) -> None:
    bench.box.counts = False
    due = bench.submit(2)
    bench.relay.run_once()
    bench.passes(60)
    assert bench.relay.run_once() == 0
    bench.passes(module.LOST_AFTER.total_seconds())
    assert bench.relay.run_once() == 2
    assert bench.sent == due * 2


def test_what_waits_in_a_paused_queue_is_not_lost(bench: Bench) -> None:
    bench.submit(2)
    bench.relay.run_once()
    bench.box.waiting.clear()
    set_paused(bench.jobs.service, "default", paused=True, actor="test")
    bench.passes(60)
    assert bench.relay.run_once() == 0


def test_the_lease_moves_when_its_holder_dies(bench: Bench) -> None:
    other = bench.another()
    first = bench.submit()
    assert bench.relay.run_once() == 1
    second = bench.submit()
    assert other.run_once() == 0, "one process does it"
    bench.passes(9)
    assert other.run_once() == 0
    bench.passes(2)
    assert other.run_once() == 1, "the holder was silent for the life of a lease"
    assert bench.sent == [*first, *second]
    third = bench.submit()
    assert bench.relay.run_once() == 0, "and finds that another process does it"
    store = bench.jobs.store
    store.write(lambda conn: workers.mark_dead(conn, bench.workers[1], "gone", store.now()))
    assert bench.relay.run_once() == 1, "at once, where the holder is known to be dead"
    assert bench.sent[2:] == third


def test_a_relay_that_stops_lets_another_go_on_at_once(bench: Bench) -> None:
    other = bench.another()
    bench.relay.run_once()
    bench.relay.stop()
    bench.submit()
    assert other.run_once() == 1
    with bench.jobs.store.read() as conn:
        held = leases.everyone(conn, bench.jobs.store.now())
    assert [(name, holder) for name, holder, _ in held] == [("relay:box", bench.workers[1])]


def test_the_store_is_away(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    due = bench.submit(2)
    bench.relay.run_once()
    more = bench.submit()

    def away(*given: Any, **options: Any) -> None:
        raise StoreUnavailable("away")

    with monkeypatch.context() as patch:
        patch.setattr(bench.jobs.store, "write", away)
        with pytest.raises(StoreUnavailable):
            bench.relay.run_once()
    bench.relay.run_once()
    assert bench.sent == [*due, *more, *more], "sent before the mark that was refused, so sent twice"


def test_jobs_of_tasks_that_are_not_handed_over_any_more_are_taken_back(
    bench: Bench, make_jobs: Callable[..., JobTrail]
) -> None:
    waiting, running = bench.submit(2), bench.submit()
    other = bench.jobs.task(name="stays")(lambda: None).enqueue().id
    bench.relay.run_once()
    bench.begin(*running)
    newer = make_jobs(executors=[bench.box], clock=bench.clock)
    newer.task(name="work")(lambda: None)
    newer.task(name="stays", executor="box")(lambda: None)
    relay = TicketRelay(bench.box, newer.store, newer.tasks, newer.settings, lambda: bench.workers[0])
    bench.passes(6)
    words: list[frozenset[str]] = []
    newer.store.wake.subscribe(words.append)
    relay.run_once()
    assert [bench.column("executor", job) for job in waiting] == [None, None]
    assert frozenset({WORK}) in words, "our workers need not wait for their next look"
    assert bench.column("executor", running[0]) == "box", "it runs there"
    assert bench.column("executor", other) == "box"


class Leaver:
    """An application that knows the tasks of a bench, and not its executor; with one worker of the queue default."""

    def __init__(self, bench: Bench, make_jobs: Callable[..., JobTrail]) -> None:
        self.jobs, self.own = make_jobs(clock=bench.clock, silent_after=15), new_id()
        self.work = self.jobs.task(name="work")(lambda: None)
        store = self.jobs.store
        store.write(lambda conn: workers.register(conn, store.dialect, self.own, ["default"], 1, store.now()))
        self.left = LeftBehind(store, self.jobs.tasks, self.jobs.settings.silent_after, lambda: self.own)


@pytest.fixture
def leaver(bench: Bench, make_jobs: Callable[..., JobTrail]) -> Leaver:
    return Leaver(bench, make_jobs)


def test_an_executor_that_was_removed_leaves_its_jobs_to_our_workers(bench: Bench, leaver: Leaver) -> None:
    sent, late, running = bench.submit(), bench.submit(delay=600), bench.submit()
    elsewhere = bench.submit(queue="mail")
    unknown = bench.jobs.task(name="stays")(lambda: None).enqueue().id
    bench.relay.run_once()
    bench.begin(*running)
    unsent = bench.submit()
    assert [leaver.left.run_once(float(at)) for at in (0, 20, 40)] == [0, 0, 0], "its relay lives"
    bench.relay.stop()
    assert leaver.left.run_once(50.0) == 0, "another process may begin to relay"
    assert leaver.left.run_once(64.0) == 0
    assert leaver.left.run_once(65.0) == 3
    assert [bench.column("executor", job) for job in (*sent, *late, *unsent)] == [None] * 3
    assert bench.column("executor", running[0]) == "box", "it runs there"
    assert bench.column("executor", elsewhere[0]) == "box", "this worker does not serve its queue"
    assert bench.column("executor", unknown) == "box", "this worker does not know its task"
    with bench.jobs.store.read() as conn:
        assert module.hand_over.executors_of_pending(conn) == ["box"]


def test_a_relay_that_comes_back_keeps_its_jobs(bench: Bench, leaver: Leaver) -> None:
    waiting = bench.submit()
    assert leaver.left.run_once(0.0) == 0
    bench.relay.run_once()
    assert leaver.left.run_once(16.0) == 0
    bench.relay.stop()
    assert leaver.left.run_once(17.0) == 0, "the time without a relay begins anew"
    assert bench.column("executor", waiting[0]) == "box"


def test_a_worker_of_an_executor_that_is_gone_is_no_relay(bench: Bench, leaver: Leaver) -> None:
    bench.submit()
    bench.relay.run_once()
    store = bench.jobs.store
    store.write(lambda conn: workers.mark_dead(conn, bench.workers[0], "gone", store.now()))
    assert [leaver.left.run_once(at) for at in (0.0, 15.0)] == [0, 1]


def test_a_task_that_is_still_handed_over_stays(bench: Bench) -> None:
    (job,) = bench.submit()
    left = LeftBehind(bench.jobs.store, bench.jobs.tasks, 15, lambda: bench.workers[0])
    assert [left.run_once(at) for at in (0.0, 30.0)] == [0, 0]
    assert bench.column("executor", job) == "box"


def claimed(bench: Bench, job: str, worker: str) -> object:
    """What becomes of the ticket of a job's first run."""
    store = bench.jobs.store
    ticket = TicketClaim(job, 1, worker, "box")
    return store.write(lambda conn: ticket_claim.claim(conn, store.dialect, ticket, store.now()))


def test_what_was_taken_back_runs_in_a_worker_and_its_ticket_begins_nothing(bench: Bench, leaver: Leaver) -> None:
    (job,) = bench.submit()
    bench.relay.run_once()
    bench.relay.stop()
    assert [leaver.left.run_once(at) for at in (0.0, 15.0)] == [0, 1]
    claim = claimed(bench, job, bench.workers[0])
    assert claim == module.hand_over.Refusal.ELSEWHERE
    drain(leaver.jobs)
    assert leaver.jobs.get(job).status == "completed"


def test_upkeep_takes_back(bench: Bench, make_jobs: Callable[..., JobTrail]) -> None:
    """The turn is part of the upkeep of every worker."""
    (job,) = bench.submit()
    newer = make_jobs(clock=bench.clock, silent_after=1, beat_interval=0.2, sweep_interval=0.2)
    newer.task(name="work")(lambda: 5)
    newer.make_ready()
    worker = newer.worker(slots=1)
    thread = threading.Thread(target=lambda: asyncio.run(worker.run()))
    thread.start()
    try:
        assert newer.get(job).result(timeout=20) == 5
    finally:
        worker.stop()
        thread.join(20)


def test_so_many_tickets_are_sent_as_places_are_free_and_a_ticket_takes_one_only_where_it_is(bench: Bench) -> None:
    limits = [Limit("tenant:{tenant}", running=2), Limit("api", rate=3, per=60)]
    work = bench.jobs.task(name="limited", limits=limits)(lambda tenant: None)
    jobs = [work.enqueue(tenant=tenant).id for tenant in "aaaab"]
    others = bench.submit(2)
    assert bench.relay.run_once() == 5
    assert set(bench.sent) == {*others, *jobs[:2], jobs[4]}
    assert bench.relay.run_once() == 0, "the places are promised by tickets that were sent"
    store = bench.jobs.store

    def begin(job: str) -> object:
        return claimed(bench, job, bench.workers[0])

    begun = [*jobs[:2], jobs[4]]
    assert [isinstance(begin(job), module.hand_over.Refusal) for job in begun] == [False] * 3
    assert begin(jobs[2]) is module.hand_over.Refusal.LIMIT, "a ticket from elsewhere begins nothing either"
    done = update(table).where(table.c.id.in_(begun)).values(status="completed")
    store.write(lambda conn: conn.execute(done))
    assert bench.relay.run_once() == 0, "three have started in this minute"
    bench.passes(60)
    assert bench.relay.run_once() == 2
    assert set(bench.sent[5:]) == set(jobs[2:4])
