"""A backfill at work: each unit once, as many at a time as said, stoppable, repeatable, and right after a retry."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from trails import event, names, until

from jobtrail import AlreadyActive, Context, JobTrail
from jobtrail.commands.job_fields import stored_row
from jobtrail.schedules.backfill import runner
from jobtrail.schedules.backfill.backfill import TASK
from jobtrail.testing import MovableClock, drain

YEAR = {"first": "2013-01", "last": "2013-06"}


class World:
    """What the task `load` does, and what it saw."""

    def __init__(self, jobs: JobTrail) -> None:
        self.ran: list[str] = []
        self.broken: set[str] = set()
        self.bad: set[str] = set()
        self.gate = threading.Event()
        self.gate.set()
        self.now = self.most = 0
        self.lock = threading.Lock()
        self.jobs = jobs
        self.load = jobs.task(name="load")(self.body())

    def body(self):
        def load(ctx: Context, *, airport: str = "EWR"):
            period = str(ctx.period)
            with self.lock:
                self.ran.append(period)
                self.now += 1
                self.most = max(self.most, self.now)
            try:
                self.gate.wait(20)
                if period in self.broken:
                    raise RuntimeError(f"no answer for {period}")
                for item in ctx.items(range(3)):
                    with item:
                        if period in self.bad and item.value == 1:
                            raise ValueError("bad row")
            finally:
                with self.lock:
                    self.now -= 1

        return load

    def fill(self, **words):
        return self.jobs.backfill(self.load, **{**YEAR, "sources": "s", **words})

    def children(self, parent):
        found = self.jobs.find("task:load", limit=1000)
        return sorted((job for job in found if job.parent == parent.id), key=lambda job: job.id)


@pytest.fixture
def world(jobs) -> World:
    return World(jobs)


def run(jobs, **worker):
    return drain(jobs, delayed=True, **{"slots": 1, **worker})


def items_of(job):
    return {item.key: item.outcome.value for item in job.items()}


class Working:
    """A worker in a thread while the block goes on."""

    def __init__(self, jobs: JobTrail, **worker) -> None:
        self.thread = threading.Thread(target=lambda: self.work(jobs, worker), daemon=True)

    def work(self, jobs, worker):
        async def forever():
            self.worker = jobs.worker(**{"beat": None, **worker})
            self.ready.set()
            await self.worker.run()

        asyncio.run(forever())

    def __enter__(self):
        self.ready = threading.Event()
        self.thread.start()
        assert self.ready.wait(10)
        return self

    def __exit__(self, *_):
        self.worker.stop()
        self.thread.join(30)


# -- it fills ----------------------------------------------------------------------------------------


def test_a_worker_with_one_slot_fills_all_and_each_unit_once(jobs, world):
    parent = world.fill(parallel=4, reason="a new airport")
    run(jobs, slots=1)
    parent.refresh()
    assert (parent.status, parent.outcome) == ("completed", "success")
    assert parent.result() == {"task": "load", "units": 6, "jobs": 6}
    assert Counter(world.ran) == Counter([f"2013-0{month}" for month in range(1, 7)])
    assert [item.key for item in parent.items()] == [f"s 2013-0{month}" for month in range(6, 0, -1)]
    progress = parent.progress()
    assert (progress["done"], progress["total"], progress["percent"]) == (6, 6, 100.0)
    assert parent.attempt == 1, "its looks are no attempts"
    assert jobs.backfill_plan(world.load, **YEAR).counts["complete"] == 6


def test_children_name_their_parent_and_run_in_the_order_asked_for(jobs, world):
    parent = world.fill(order="oldest", parallel=1)
    run(jobs)
    assert world.ran == [f"2013-0{month}" for month in range(1, 7)]
    for child in world.children(parent):
        assert (child.parent, child.root) == (parent.id, parent.id)
        assert child.actor == f"job:{parent.id}"
        assert child.reason == "backfill of 2013-01 to 2013-06"
    assert len(world.children(parent)) == 6


@pytest.mark.parametrize("parallel", [1, 3])
def test_no_more_than_parallel_are_active_at_a_time(jobs, world, parallel):
    world.gate.clear()
    parent = world.fill(parallel=parallel)
    with Working(jobs, slots=8):
        until("so many run", lambda: world.now == parallel)
        until("it has looked again", lambda: names(parent).count("snoozed") >= 2)
        assert len(world.children(parent)) == parallel
        world.gate.set()
        parent.wait(30)
    assert world.most == parallel
    assert len(world.ran) == 6


def test_it_sleeps_longer_the_longer_its_units_take(jobs, world):
    now = jobs.store.now()
    fill = runner.BackfillRunner.__new__(runner.BackfillRunner)
    fill._store, fill._ctx = jobs.store, type("Ctx", (), {"set_progress": lambda self, **_: None})()
    pauses = [fill._pause(0, 9, [now - timedelta(seconds=age), now]).seconds for age in (0, 10, 1000)]
    assert pauses == [pytest.approx(0.2), pytest.approx(5, abs=0.5), 60.0]


def test_the_end_of_a_unit_wakes_it(make_jobs):
    """By a clock that stands still it would sleep for ever."""
    jobs = make_jobs(clock=MovableClock())
    parent = World(jobs).fill(parallel=2)
    drain(jobs, slots=1)
    assert parent.refresh().status == "completed"
    assert names(parent).count("snoozed") <= 6


def test_it_runs_where_its_units_run(jobs):
    @jobs.task(queue="heavy", priority=2)
    def load(ctx: Context):
        pass

    parent = jobs.backfill(load, **YEAR)
    assert (parent.queue, parent.priority) == ("heavy", 2)
    drain(jobs, delayed=True, queues=["heavy"])
    assert parent.refresh().status == "completed"


# -- twice -------------------------------------------------------------------------------------------


def test_pressed_twice_at_once_it_is_one(make_jobs):
    worlds = [World(make_jobs()) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        parents = list(pool.map(World.fill, worlds))
    assert len({parent.id for parent in parents}) == 1
    assert [parent.created for parent in parents].count(True) == 1
    run(worlds[0].jobs, slots=4)
    assert Counter(worlds[0].ran).most_common(1)[0][1] == 1


def test_the_same_with_other_options_is_refused_while_it_goes_on(world):
    parent = world.fill()
    with pytest.raises(AlreadyActive, match=parent.id):
        world.fill(only="all")
    assert world.fill(sources=["t"]).id != parent.id, "other sources are other work"


def test_repeated_it_goes_on_with_what_is_missing(jobs, world):
    run_first = world.fill(last="2013-03")
    run(jobs)
    again = world.fill()
    run(jobs)
    assert again.refresh().status == "completed"
    assert list(items_of(again)) == ["s 2013-06", "s 2013-05", "s 2013-04"]
    assert max(Counter(world.ran).values()) == 1
    nothing = world.fill()
    assert nothing.id not in {run_first.id, again.id}
    run(jobs)
    assert (nothing.refresh().status, nothing.note) == ("completed", "nothing to do")


def test_two_that_overlap_never_double_a_unit(jobs, world):
    one, two = world.fill(last="2013-04"), world.fill(first="2013-03")
    run(jobs, slots=3)
    assert {one.refresh().status, two.refresh().status} == {"completed"}
    assert Counter(world.ran) == Counter([f"2013-0{month}" for month in range(1, 7)])
    outcomes = Counter([*items_of(one).values(), *items_of(two).values()])
    assert outcomes["ok"] == 6
    assert outcomes["failed"] == 0


# -- what is active already --------------------------------------------------------------------------


def test_an_active_unit_is_not_in_the_plan_and_one_that_became_active_is_waited_for(jobs, world):
    active = world.load.using(source="s", period="2013-06", delay=0.0).enqueue()
    parent = world.fill(first="2013-05")
    active.cancel()
    mine = world.load.using(source="s", period="2013-05").enqueue(airport="EWR")
    assert jobs.backfill_plan(world.load, first="2013-05", last="2013-06", sources="s").counts["active"] == 1
    run(jobs)
    assert world.ran.count("2013-05") == 1
    assert mine.refresh().status == "completed"
    assert parent.refresh().status == "completed"


def test_a_unit_that_others_took_meanwhile_is_waited_for_or_left_to_them(jobs, world, monkeypatch):
    """Between the plan and its turn: the same work is waited for, other arguments are left alone."""
    parent = world.fill(parallel=1, args={"airport": "EWR"})
    taken = []

    def take(self, *_):
        if not taken:
            for period, airport, delay in (("2013-05", "EWR", 0.5), ("2013-04", "JFK", 600)):
                taken.append(world.load.using(source="s", period=period, delay=delay).enqueue(airport=airport))
        return plain(self, *_)

    plain = runner.BackfillRunner._open
    monkeypatch.setattr(runner.BackfillRunner, "_open", take)
    with Working(jobs, slots=1):
        parent.wait(30)
    outcome = items_of(parent.refresh())
    assert outcome.pop("s 2013-04") == "skipped"
    assert outcome.pop("s 2013-05") == "skipped"
    assert set(outcome.values()) == {"ok"}
    reasons = {item.key: item.reason for item in parent.items("skipped")}
    assert reasons == {
        "s 2013-05": f"complete meanwhile, by job {taken[0].id}",
        "s 2013-04": f"active with other arguments: job {taken[1].id}",
    }
    assert max(Counter(world.ran).values()) == 1


def test_a_unit_that_was_completed_between_the_look_and_the_submission_is_not_run(jobs, world, monkeypatch):
    other = world.load.using(source="s", period="2013-06").enqueue().cancel()
    parent = world.fill()
    plain = runner.BackfillRunner._after_arguments

    def completed_just_now(self, unit, *rest):
        if unit.position == 0:
            done = f"UPDATE jobtrail_units SET outcome = 'success', job_id = '{other.id}' WHERE unit = '{other.unit}'"
            with jobs.store.database.connect() as conn, conn.begin():
                conn.exec_driver_sql(done)
        return plain(self, unit, *rest)

    monkeypatch.setattr(runner.BackfillRunner, "_after_arguments", completed_just_now)
    run(jobs)
    assert "2013-06" not in world.ran
    assert [item.reason for item in parent.refresh().items("skipped")] == [f"complete meanwhile, by job {other.id}"]


def test_a_unit_whose_body_was_left_running_is_waited_for(jobs, world):
    """A forced end keeps the unit until the body has returned; the backfill's job comes after it, never beside it."""
    world.gate.clear()
    held = world.load.using(source="s", period="2013-06").enqueue()
    with Working(jobs, slots=4):
        until("it runs", lambda: world.now == 1)
        held.cancel()
        held.cancel("by force")
        assert held.refresh().body_running
        parent = world.fill(first="2013-06")
        until("it has looked twice", lambda: names(parent).count("snoozed") >= 2)
        assert world.children(parent) == []
        world.gate.set()
        assert parent.wait(30).status == "completed"
    assert world.most == 1


# -- failed and partial ------------------------------------------------------------------------------


def test_what_failed_is_told_and_only_that_runs_again_by_a_retry(jobs, world):
    world.broken, world.bad = {"2013-02", "2013-03"}, {"2013-04"}
    parent = world.fill(parallel=2)
    run(jobs)
    assert (parent.refresh().status, parent.note) == ("partial", "3 of 6 items failed")
    failed = {item.key: (item.reason, item.error_type) for item in parent.items("failed")}
    child = {str(stored_row(job).period): job.id for job in world.children(parent)}
    assert failed == {
        "s 2013-02": (f"job {child['2013-02']} is failed: no answer for 2013-02", "RuntimeError"),
        "s 2013-03": (f"job {child['2013-03']} is failed: no answer for 2013-03", "RuntimeError"),
        "s 2013-04": (f"job {child['2013-04']} is partial: 1 of 3 items failed", None),
    }
    world.ran.clear()
    world.broken, world.bad = {"2013-02"}, set()
    parent.retry("the server is back")
    run(jobs)
    assert sorted(world.ran) == ["2013-02", "2013-03", "2013-04"]
    assert parent.refresh().status == "partial"
    assert items_of(parent)["s 2013-03"] == items_of(parent)["s 2013-04"] == "ok"
    world.ran.clear()
    world.broken = set()
    parent.retry()
    run(jobs)
    assert (world.ran, parent.refresh().status) == (["2013-02"], "completed")
    modes = {(stored_row(job).period, job.mode) for job in world.children(parent) if job.mode}
    assert modes == {("2013-02", "full"), ("2013-03", "full"), ("2013-04", "failed_items")}


def test_a_rerun_of_failed_items_runs_the_failed_units_again(jobs, world):
    world.broken = {"2013-02"}
    first = world.fill()
    run(jobs)
    world.broken = set()
    world.ran.clear()
    again = first.refresh().rerun("failed_items")
    run(jobs)
    assert world.ran == ["2013-02"]
    assert again.refresh().status == "completed"
    assert again.item_counts(generation=True) == {"ok": 6, "failed": 0, "skipped": 0}


@pytest.mark.parametrize(("only", "mode", "ends", "ways"), [
    ("failed", None, "completed", {"2013-02": "full"}),
    ("partial", None, "completed", {"2013-04": "failed_items"}),
    ("failed,partial", "resume", "partial", {"2013-02": "resume", "2013-04": "resume"}),  # keeps the failed item
    ("all", None, "completed",
     {"2013-02": "full", "2013-04": "failed_items", **{f"2013-0{m}": "full" for m in (1, 3, 5, 6)}}),
])  # fmt: skip
def test_existing_units_are_run_again_as_their_state_asks(jobs, world, only, mode, ends, ways):
    world.broken, world.bad = {"2013-02"}, {"2013-04"}
    world.fill()
    run(jobs)
    world.broken, world.bad = set(), set()
    again = world.fill(only=only, mode=mode)
    run(jobs)
    assert again.refresh().status == ends
    assert {stored_row(job).period: job.mode for job in world.children(again)} == ways
    assert all(job.rerun_of for job in world.children(again))


def test_given_arguments_replace_those_of_the_job_that_is_run_again(jobs, world):
    world.broken = {"2013-02"}
    world.fill(first="2013-02", last="2013-02", args={"airport": "old"})
    run(jobs)
    again = world.fill(first="2013-02", last="2013-02", only="failed", args={"airport": "new"})
    run(jobs)
    assert [job.arguments for job in world.children(again)] == [{"airport": "new"}]


def test_a_failed_unit_whose_job_was_pruned_is_submitted_anew(jobs, world):
    world.broken = {"2013-02"}
    world.fill(first="2013-02", last="2013-02")
    run(jobs)
    with jobs.store.database.connect() as conn, conn.begin():
        conn.exec_driver_sql("DELETE FROM jobtrail_jobs WHERE task = 'load'")
    world.broken = set()
    again = world.fill(first="2013-02", last="2013-02", only="failed")
    run(jobs)
    assert again.refresh().status == "completed"
    assert [job.rerun_of for job in world.children(again)] == [None]


def test_a_unit_that_cannot_be_submitted_fails_and_the_others_go_on(make_jobs, jobs, world):
    """In a rollout: the task's arguments have changed between the plan and the work."""
    parent = world.fill(parallel=2, args={"airport": "EWR"})
    newer = make_jobs()

    @newer.task(name="load")
    def changed(ctx: Context, *, station: str):
        pass

    run(newer)
    assert parent.refresh().status == "failed"
    assert {item.error_type for item in parent.items("failed")} == {"InvalidArguments"}
    assert "has no argument 'airport'" in parent.items("failed")[0].reason


def test_a_worker_that_does_not_know_the_task_leaves_it_to_another(make_jobs, jobs, world):
    parent = world.fill(first="2013-06")
    stranger = make_jobs(put_back_delay=0.2)
    drain(stranger)
    assert parent.refresh().status == "pending"
    assert event(parent, "snoozed").reason == "the worker of the backfill does not know the task 'load'"
    run(jobs)
    assert parent.refresh().status == "completed"


# -- stopping ----------------------------------------------------------------------------------------


def test_cancelled_while_it_sleeps_it_takes_what_waits_with_it_and_what_runs_goes_on(jobs, world):
    world.gate.clear()
    parent = world.fill(parallel=3)
    with Working(jobs, slots=2):
        until("two run and one waits", lambda: world.now == 2 and len(world.children(parent)) == 3)
        until("it sleeps", lambda: parent.refresh().status == "pending" and parent.started_at)
        assert parent.cancel("enough", actor="person:ann").status == "cancelled"
        states = Counter(str(child.status) for child in world.children(parent))
        assert states == {"running": 2, "cancelled": 1}
        waiting = next(child for child in world.children(parent) if child.status == "cancelled")
        assert event(waiting, "cancelled").reason == f"with job {parent.id}"
        assert event(waiting, "cancelled").actor == "person:ann"
        world.gate.set()
        until("both have ended", lambda: world.now == 0)
        until("no job is active", lambda: not jobs.find("status:running") and not jobs.find("status:pending"))
    assert len(world.ran) == 2
    assert Counter(str(child.refresh().status) for child in world.children(parent)) == {"completed": 2, "cancelled": 1}


def test_cancelled_in_the_middle_of_a_look_it_submits_no_more(jobs, world, monkeypatch):
    parent = world.fill(parallel=4)
    plain = runner.BackfillRunner._after_arguments

    def cancelled_before_the_third(self, unit, *rest):
        if unit.position == 2:
            jobs.get(parent.id).cancel("enough")
        return plain(self, unit, *rest)

    monkeypatch.setattr(runner.BackfillRunner, "_after_arguments", cancelled_before_the_third)
    run(jobs)
    assert parent.refresh().status == "cancelled"
    assert [str(child.status) for child in world.children(parent)] == ["cancelled", "cancelled"]
    assert world.ran == []


def test_a_run_that_was_overtaken_submits_nothing(jobs, world, monkeypatch):
    """A worker that was paused and is taken for dead wakes up in the middle of a look."""
    parent = world.fill(parallel=4)
    plain = runner.BackfillRunner._after_arguments

    def overtaken(self, unit, *rest):
        monkeypatch.setattr(runner.BackfillRunner, "_after_arguments", plain)
        with jobs.store.database.connect() as conn, conn.begin():
            conn.exec_driver_sql(f"UPDATE jobtrail_jobs SET run_no = run_no + 1 WHERE id = '{parent.id}'")
        return plain(self, unit, *rest)

    monkeypatch.setattr(runner.BackfillRunner, "_after_arguments", overtaken)
    drain(jobs)
    assert world.children(parent) == []


def test_after_a_cancel_a_retry_or_the_same_again_goes_on(jobs, world):
    for go_on in (lambda parent: parent.retry(), lambda parent: world.fill()):
        world.ran.clear()
        world.gate.clear()
        world.fill(only="all", first="2013-06")  # so that something is complete
        with Working(jobs, slots=1):
            parent = world.fill(parallel=2)
            until("one runs", lambda: world.now == 1)
            until("it sleeps", lambda: parent.refresh().status == "pending" and len(world.children(parent)) >= 1)
            parent.cancel()
            world.gate.set()
            until("nothing runs", lambda: not jobs.find("status:running"))
        second = go_on(parent.refresh())
        run(jobs)
        assert second.refresh().status == "completed"
        assert jobs.backfill_plan(world.load, **YEAR).counts["complete"] == 6
        with jobs.store.database.connect() as conn, conn.begin():
            for table in ("units", "jobs", "items", "steps"):
                conn.exec_driver_sql(f"DELETE FROM jobtrail_{table}")


def test_a_child_that_somebody_cancels_counts_as_failed(jobs, world):
    parent = world.fill(first="2013-05", parallel=1)
    world.gate.clear()
    with Working(jobs, slots=1):
        until("one runs", lambda: world.now == 1)
        world.children(parent)[0].cancel("wrong month")
        world.gate.set()
        parent.wait(30)
    states = {stored_row(child).period: str(child.refresh().status) for child in world.children(parent)}
    assert states["2013-05"] == "completed"
    assert len(world.children(parent)) == 2, "it is not submitted behind the person's back"


def test_a_parent_that_is_nobodys_own_keeps_its_children_when_it_is_cancelled(jobs, world):
    mother = world.load.using(source="m", period="2013-01", delay=60).enqueue()
    child = world.load.using(source="m", period="2013-02", delay=60, parent=mother.id).enqueue()
    mother.cancel()
    assert child.refresh().status == "pending"


def test_the_task_is_there_but_not_among_the_applications_own(jobs, world):
    assert [task.name for task in jobs.tasks.all()] == ["load"]
    assert jobs.tasks.get(TASK).kind == "backfill"


def test_the_words_of_the_trail(jobs, world):
    world.gate.clear()
    parent = world.fill(parallel=2)
    with Working(jobs, slots=2):
        until("it sleeps", lambda: "snoozed" in names(parent))
        assert event(parent, "snoozed").reason == "0 of 6 units done, 2 under way"
        progress = until("progress is told", lambda: parent.progress())
        assert (progress["done"], progress["total"], progress["message"]) == (0, 6, "2 under way")
        world.gate.set()
        parent.wait(30)
