"""Cancel, timeout, stall, shutdown: four causes, four visible ends (C-19, C-41, C-45, C-69); no body beside itself."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import asynccontextmanager, closing
from types import SimpleNamespace

import pytest
from making import Maker
from sqlalchemy import update
from trails import event, names, until

from jobtrail import AsyncContext, Context, IllegalMove, JobTrail, Retry
from jobtrail.cli.commands.actions import _words
from jobtrail.commands.job_fields import stored_row
from jobtrail.database.tables import jobs as table
from jobtrail.job.model import FINAL
from jobtrail.store import workers
from jobtrail.worker import turns as turns_module
from jobtrail.worker import worker as module
from jobtrail.worker.claiming import slots

LONG = 30.0


@asynccontextmanager
async def working(jobs, **options):
    """A worker on this loop; drains at the end of the block."""
    await asyncio.to_thread(jobs.service.make_ready)
    worker = jobs.worker(**{"beat": None, **options})
    running = asyncio.create_task(worker.run())
    try:
        yield worker
    finally:
        worker.stop()
        await running


async def soon(what, fact, timeout=15.0):
    return await asyncio.to_thread(until, what, fact, timeout=timeout)


def status(job):
    return job.refresh().status


class Bodies:
    """Counts bodies by name: how often begun, how many at a time at most, how many now."""

    def __init__(self):
        self.begun, self.most, self.now, self.lock = {}, {}, {}, threading.Lock()

    def __call__(self, name):
        bodies = self

        class Inside:
            def __enter__(self):
                with bodies.lock:
                    bodies.begun[name] = bodies.begun.get(name, 0) + 1
                    bodies.now[name] = bodies.now.get(name, 0) + 1
                    bodies.most[name] = max(bodies.most.get(name, 0), bodies.now[name])

            def __exit__(self, *_):
                with bodies.lock:
                    bodies.now[name] -= 1

        return Inside()


OVER = 1.5  # seconds that (b) and (f) go on in spite of all


def six(jobs, **options):
    """C-19's bodies: what a body may do when it is asked to stop. With ``quick`` set each ends at once."""
    bodies = Bodies()
    seen = SimpleNamespace(bodies=bodies, quick=False)

    async def a_sleeps():
        with bodies("a"):
            await asyncio.sleep(0 if seen.quick else LONG)

    async def b_carries_on():
        with bodies("b"):
            try:
                await asyncio.sleep(0 if seen.quick else LONG)
            except asyncio.CancelledError:
                end = time.monotonic() + OVER
                while time.monotonic() < end:
                    try:
                        await asyncio.sleep(0.05)
                    except asyncio.CancelledError:
                        pass
                return "late"

    async def c_returns_a_value():
        with bodies("c"):
            try:
                await asyncio.sleep(0 if seen.quick else LONG)
            except asyncio.CancelledError:
                return "half"

    async def d_raises_another():
        with bodies("d"):
            try:
                await asyncio.sleep(0 if seen.quick else LONG)
            except asyncio.CancelledError:
                raise ValueError("in its clean-up") from None

    async def e_cancels_itself():
        with bodies("e"):
            raise asyncio.CancelledError

    def f_blocks():
        with bodies("f"):
            time.sleep(0 if seen.quick else 0.4 + OVER)
            return "blocked"

    tasks = [a_sleeps, b_carries_on, c_returns_a_value, d_raises_another, e_cancels_itself, f_blocks]
    handles = [jobs.task(**options)(function).using(source="s", period="2013").enqueue() for function in tasks]
    return seen, dict(zip("abcdef", handles, strict=True))


async def test_six_bodies_that_time_out(make_jobs):
    jobs = make_jobs()
    seen, six_jobs = six(jobs, timeout=0.4, retry=Retry(attempts=2, wait=0.05))
    async with working(jobs):
        await soon("b is asked to stop", lambda: status(six_jobs["b"]) == "cancelling")
        await soon("f is asked to stop", lambda: status(six_jobs["f"]) == "cancelling")
        for still in "bf":
            row = stored_row(six_jobs[still])
            assert (row.stop_cause, row.run_no, row.unit_lock) == ("timeout", 1, row.unit)
        await soon("all have ended", lambda: {status(job) for job in six_jobs.values()} <= FINAL)
    ends = {name: str(status(job)) for name, job in six_jobs.items()}
    # b, c and f returned first, so their result counts, and the trail says what they had been asked.
    assert ends == {"a": "failed", "b": "completed", "c": "completed", "d": "failed", "e": "failed", "f": "completed"}
    assert {name: job.result() for name, job in six_jobs.items() if name in "bcf"} == {
        "b": "late", "c": "half", "f": "blocked",
    }  # fmt: skip
    assert seen.bodies.begun == {"a": 2, "b": 1, "c": 1, "d": 2, "e": 2, "f": 1}
    assert set(seen.bodies.most.values()) == {1}
    assert six_jobs["a"].error["message"] == "timed out after 0.4 s"
    assert six_jobs["d"].error["message"] == (
        "timed out after 0.4 s; while it stopped it raised ValueError: in its clean-up"
    )
    assert six_jobs["e"].error["type"] == "asyncio.exceptions.CancelledError", "an ordinary failure"
    for name in "abcdf":
        told = event(six_jobs[name], "stop_requested")
        assert (told.detail["cause"], told.reason, told.actor) == ("timeout", "timeout limit", "engine")
    assert names(six_jobs["a"]) == ["stop_requested", "stopped", "stop_requested", "stopped"]
    assert names(six_jobs["e"]) == ["retry_planned", "finished"]


async def test_six_bodies_that_a_person_cancels(make_jobs):
    jobs = make_jobs()
    seen, six_jobs = six(jobs, retry=Retry(attempts=3, wait=0.05))
    async with working(jobs):
        await soon("all have begun, and e has failed", lambda: len(seen.bodies.begun) == 6 and status(six_jobs["e"]) == "failed")
        for name in "abcdf":
            assert six_jobs[name].cancel("enough", actor="ann").status == "cancelling"
        with pytest.raises(IllegalMove):
            six_jobs["e"].cancel()
        await soon("a, c and d have stopped", lambda: {status(six_jobs[name]) for name in "acd"} == {"cancelled"})
        for still in "bf":
            row = stored_row(six_jobs[still].refresh())
            assert (row.status, row.stop_cause, row.unit_lock) == ("cancelling", "cancel", row.unit)
        await soon("all have ended", lambda: {status(job) for job in six_jobs.values()} <= FINAL)
    ends = {name: str(status(job)) for name, job in six_jobs.items()}
    assert ends == {
        "a": "cancelled", "b": "cancelled", "c": "cancelled", "d": "cancelled", "e": "failed",
        "f": "completed",  # it could not notice, and finished first: its result counts
    }  # fmt: skip
    assert (stored_row(six_jobs["b"]).result, stored_row(six_jobs["c"]).result) == ('"late"', '"half"'), "kept for inspection"
    assert six_jobs["d"].note == "ValueError: in its clean-up"
    assert seen.bodies.begun == {"a": 1, "b": 1, "c": 1, "d": 1, "e": 3, "f": 1}
    assert set(seen.bodies.most.values()) == {1}
    for name in "abcdf":
        told = event(six_jobs[name], "stop_requested")
        assert (told.detail["cause"], told.reason, told.actor) == ("cancel", "enough", "ann")


async def test_six_bodies_whose_worker_drains(make_jobs):
    jobs = make_jobs(graceful_shutdown_timeout=0.2, cancel_timeout=0.4)
    seen, six_jobs = six(jobs)
    async with working(jobs):
        await soon("all have begun", lambda: len(seen.bodies.begun) == 6 and status(six_jobs["e"]) == "failed")
        began = time.monotonic()
    assert time.monotonic() - began < 0.2 + 0.4 + 1.5, "it ends in bounded time whatever the bodies do"
    ends = {name: str(status(job)) for name, job in six_jobs.items()}
    assert ends == {
        "a": "pending", "b": "pending", "c": "completed", "d": "pending", "e": "failed", "f": "pending",
    }  # fmt: skip
    for name in "abdf":
        row = stored_row(six_jobs[name])
        assert (row.attempt, row.run_no, row.suspect) == (0, 1, False), "not charged"
        assert names(six_jobs[name]) == ["handed_back"]
        assert event(six_jobs[name], "handed_back").reason == "interrupted by shutdown"
    await soon("the last body has ended", lambda: not any(seen.bodies.now.values()))
    assert {str(status(six_jobs[name])) for name in "abdf"} == {"pending"}, "what they said late changes nothing"
    seen.quick = True
    async with working(jobs):
        await soon("all are done", lambda: {status(six_jobs[name]) for name in "abdf"} == {"completed"})
    assert {six_jobs[name].attempt for name in "abdf"} == {1}
    assert set(seen.bodies.most.values()) == {1}


async def test_three_roll_outs_in_a_row_use_up_no_attempt(make_jobs):
    jobs = make_jobs(graceful_shutdown_timeout=0.05, cancel_timeout=2.0)
    begun = []

    @jobs.task
    def long(ctx: Context):
        begun.append(ctx.attempt)
        while len(begun) < 4:
            ctx.check_cancelled()
            time.sleep(0.01)
        return "done"

    job = long.enqueue()
    for roll_out in range(1, 4):
        async with working(jobs):
            await soon("it runs", lambda n=roll_out: len(begun) == n)
        assert (status(job), job.run_no, job.attempt) == ("pending", roll_out, 0)
    async with working(jobs):
        await soon("it is done", lambda: status(job) == "completed")
    assert begun == [1, 1, 1, 1]
    assert (job.attempt, job.run_no) == (1, 4)


async def test_a_second_signal_hands_back_at_once(make_jobs):
    jobs = make_jobs(graceful_shutdown_timeout=60, cancel_timeout=60)
    gate = threading.Event()
    block = jobs.task(name="block")(gate.wait)
    job = block.enqueue()
    async with working(jobs) as worker:
        await soon("it runs", lambda: status(job) == "running")
        worker.stop()
        await asyncio.sleep(0.05)
        began = time.monotonic()
        await worker.hand_back_all()
        assert time.monotonic() - began < 3
        assert (status(job), job.attempt) == ("pending", 0)
        gate.set()


# -- functions to be called at a stop -------------------------------------------------------------------


@pytest.mark.parametrize("cause", ["cancel", "timeout", "shutdown", "none"])
async def test_on_cancel_is_called_at_a_stop_and_on_cleanup_at_every_end(make_jobs, cause):
    jobs = make_jobs(graceful_shutdown_timeout=0.1, cancel_timeout=2.0)
    called, limit = [], 0.3 if cause == "timeout" else None

    @jobs.task(timeout=limit)
    def plain(ctx: Context):
        stopped = threading.Event()
        ctx.on_cancel(lambda: (called.append("plain cancel"), stopped.set()))
        ctx.on_cleanup(lambda: called.append("plain cleanup"))
        called.append("in")
        if cause != "none":
            stopped.wait(10)
        ctx.check_cancelled()

    @jobs.task(timeout=limit)
    async def coroutine(ctx: AsyncContext):
        async def clean():
            called.append("async cleanup")

        ctx.on_cancel(lambda: called.append("async cancel"))
        ctx.on_cleanup(clean)
        called.append("in")
        await asyncio.sleep(0 if cause == "none" else LONG)

    both = [plain.enqueue(), coroutine.enqueue()]
    expected = {"cancel": "cancelled", "timeout": "failed", "shutdown": "pending", "none": "completed"}[cause]
    async with working(jobs):
        await soon("both are in", lambda: called.count("in") == 2)
        if cause == "cancel":
            for job in both:
                job.cancel()
        if cause != "shutdown":
            await soon("both have ended", lambda: {status(job) for job in both} == {expected})
    assert {str(status(job)) for job in both} == {expected}
    wanted = {"plain cleanup", "async cleanup"} | ({"plain cancel", "async cancel"} if cause != "none" else set())
    await soon("all were called", lambda: wanted <= set(called))
    assert {word for word in called if word != "in"} == wanted
    assert len(called) == len(wanted) + 2, "each once"


# -- cancel from elsewhere ---------------------------------------------------------------------------------


async def test_a_cancel_from_another_process_is_noticed_within_about_a_second(make_jobs, url):
    jobs = make_jobs(poll_interval=1.0)

    @jobs.task
    async def sleeps():
        await asyncio.sleep(LONG)

    job = sleeps.enqueue()
    async with working(jobs):
        await soon("it runs", lambda: status(job) == "running")
        with closing(JobTrail(url)) as elsewhere:
            elsewhere.get(job.id).cancel(actor="ann")
            began = time.monotonic()
        await soon("it has stopped", lambda: status(job) == "cancelled")
        assert time.monotonic() - began < 3.0


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_second_cancel_forces_the_end_and_the_row_says_that_the_body_runs_until_it_does_not(make_jobs, is_async):
    jobs = make_jobs()
    gate = threading.Event()

    async def stubborn():
        while not gate.is_set():
            try:
                await asyncio.sleep(0.02)
            except asyncio.CancelledError:
                pass

    task = jobs.task(name="stubborn")(stubborn if is_async else gate.wait)
    job = task.using(source="s", period="2013").enqueue()
    async with working(jobs):
        await soon("it runs", lambda: status(job) == "running")
        assert job.cancel().status == "cancelling"
        row = stored_row(job.cancel(actor="ann"))
        assert (row.status, row.body_running, row.unit_lock) == ("cancelled", True, row.unit)
        assert event(job, "forced").reason == "second cancel"
        behind = task.using(source="s", period="2013", if_active="queue").enqueue()
        await asyncio.sleep(0.4)
        assert status(behind) == "pending", "the unit is not free while the body runs"
        assert job.refresh().body_running
        gate.set()
        await soon("the row says that the body has ended", lambda: not job.refresh().body_running)
        await soon("the unit is free for the next", lambda: status(behind) == "completed")
    assert job.refresh().status == "cancelled"


async def test_a_person_who_cancels_what_a_limit_is_stopping_forces_it_and_the_error_names_the_limit(make_jobs):
    jobs = make_jobs()
    gate = threading.Event()
    block = jobs.task(name="block", timeout=0.1, retry=3)(gate.wait)
    job = block.enqueue()
    async with working(jobs):
        await soon("its limit has passed", lambda: status(job) == "cancelling")
        assert job.cancel(actor="ann").status == "failed"
        assert "timeout" in job.error["message"]
        gate.set()
        await soon("its body has ended", lambda: not job.refresh().body_running)
    assert (status(job), job.run_no) == ("failed", 1)


async def test_a_cancel_that_the_worker_was_not_told_of_wins_over_a_limit(make_jobs, url):
    """The person was first, the limit passes before the worker asks: no retry."""
    jobs = make_jobs(poll_interval=LONG)
    begun = []

    @jobs.task(timeout=1.0, retry=Retry(attempts=3, wait=0.01))
    async def sleeps():
        begun.append(1)
        await asyncio.sleep(LONG)

    job = sleeps.enqueue()
    async with working(jobs) as worker:
        worker.turns._looked_for_stops_at = time.monotonic()
        await soon("it runs", lambda: begun)
        worker.turns._look_for_stops_due = lambda: False
        job.cancel("mine", actor="ann")
        await soon("it has ended", lambda: status(job) in FINAL)
    assert (status(job), begun) == ("cancelled", [1])
    assert job.stop_cause == "cancel"


# -- stall ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_body_without_a_sign_of_life_is_stopped_and_the_trail_says_stuck(make_jobs, is_async):
    jobs = make_jobs()
    begun = []

    async def hangs(ctx: AsyncContext):
        begun.append(1)
        ctx.set_progress(10)
        await asyncio.sleep(LONG)

    def hangs_plainly(ctx: Context):
        begun.append(1)
        ctx.set_progress(10)
        while not ctx.cancelled:
            time.sleep(0.01)
        ctx.check_cancelled()

    task = jobs.task(stall_timeout=0.3, retry=Retry(attempts=2, wait=0.01))(hangs if is_async else hangs_plainly)
    job = task.enqueue()
    async with working(jobs):
        await soon("it has ended", lambda: status(job) in FINAL)
    assert (status(job), job.attempt, len(begun)) == ("failed", 2, 2)
    assert job.error["message"] == "gave no sign of life for 0.3 s"
    assert names(job) == ["stuck", "stop_requested", "stopped"] * 2
    assert event(job, "stop_requested").detail["cause"] == "stall"
    stuck = event(job, "stuck")
    assert (stuck.actor, stuck.run_no) == ("engine", 2)
    assert stuck.reason.startswith("no sign of life for ")


@pytest.mark.parametrize("sign", ["progress", "heartbeat", "log", "item", "step", "durable item"])
async def test_every_report_is_a_sign_of_life(make_jobs, sign):
    jobs = make_jobs()
    signs = []

    @jobs.task(stall_timeout=LONG)
    def reports(ctx: Context):
        recorder = ctx._recorder
        for item in ctx.items(["a"], durable=sign == "durable item"):
            with item:
                recorder.last_sign = 0.0
        if "item" not in sign:
            recorder.last_sign = 0.0
        if sign == "progress":
            ctx.set_progress(1)
        elif sign == "heartbeat":
            ctx.heartbeat()
        elif sign == "log":
            ctx.log.info("alive")
        elif sign == "step":
            ctx.step("one", lambda: 1)
        signs.append(time.monotonic() - recorder.last_sign)

    job = reports.enqueue()
    async with working(jobs):
        await soon("it has ended", lambda: status(job) in FINAL)
    assert status(job) == "completed"
    assert signs[0] < 5


async def test_a_body_that_gives_signs_may_take_longer_than_its_stall_limit(make_jobs, monkeypatch):
    monkeypatch.setattr(module, "TICK", 0.05)
    jobs = make_jobs()

    @jobs.task(stall_timeout=0.6)
    async def slow(ctx: AsyncContext):
        for n in range(15):
            ctx.set_progress(n)
            await asyncio.sleep(0.1)

    job = slow.enqueue()
    async with working(jobs):
        await soon("it has ended", lambda: status(job) in FINAL)
    assert (status(job), names(job)) == ("completed", [])


# -- never beside itself, and other trouble ------------------------------------------------------------------


async def test_a_job_given_away_and_back_does_not_start_beside_its_own_old_body(make_jobs, monkeypatch):
    """C-65: declared dead wrongly, and the same process claims the job again while its body blocks."""
    monkeypatch.setattr("jobtrail.worker.run_starter.BESIDE_ITSELF", 0.2)
    monkeypatch.setattr(slots, "SUSPECT_LOOK", 0.1)
    jobs = make_jobs(beat_interval=0.1, sweep_interval=0.2)
    gate, bodies = threading.Event(), Bodies()

    @jobs.task
    def blocks():
        with bodies("it"):
            gate.wait(20)

    job = blocks.enqueue()
    async with working(jobs, beat="thread") as worker:
        await soon("it runs", lambda: status(job) == "running")
        old = worker.id
        jobs.store.write(lambda conn: workers.mark_dead(conn, old, "judged wrongly", jobs.store.now()))
        await soon("it came back and was not begun", lambda: names(job).count("handed_back") >= 2)
        assert worker.id != old
        assert bodies.begun == {"it": 1}
        assert "still ends in this worker" in event(job, "handed_back").reason
        gate.set()
        await soon("the second run is done", lambda: status(job) == "completed")
        assert worker.running == {}
    assert (bodies.begun, bodies.most) == ({"it": 2}, {"it": 1})
    assert job.attempt == 2, "the lost run is charged, what was given back is not"


async def test_a_job_that_cannot_be_begun_fails_and_the_others_of_its_claim_run(make_jobs, url):
    jobs = make_jobs()
    work = jobs.task(name="work")(lambda: "done")
    found = [work.enqueue() for _ in range(3)]
    maker = Maker(jobs.store)
    jobs.store.write(
        lambda conn: conn.execute(update(table).where(table.c.id == found[0].id).values(options="{not json"))
    )
    async with working(jobs):
        await soon("all have ended", lambda: {status(job) for job in found} <= FINAL)
    assert [str(job.status) for job in found] == ["failed", "completed", "completed"]
    assert found[0].error["message"]
    assert maker.row(found[0].id).run_no == 1, "it is not tried for ever"


async def test_a_turn_that_fails_unexpectedly_does_not_end_the_worker(make_jobs, monkeypatch):
    """C-70: one exception of another kind than an outage."""
    jobs = make_jobs()
    work = jobs.task(name="work")(lambda: "done")
    broken = []

    def once(self, *args, **rest):
        if not broken:
            broken.append(1)
            raise ZeroDivisionError("a bad row")
        return plain(self, *args, **rest)

    plain = turns_module.Turns._transaction
    monkeypatch.setattr(turns_module.Turns, "_transaction", once)
    async with working(jobs):
        job = work.enqueue()
        await soon("it was done in spite of it", lambda: status(job) == "completed")
    assert broken


async def test_a_tick_that_fails_is_followed_by_the_next(make_jobs, monkeypatch):
    monkeypatch.setattr(module, "TICK", 0.02)
    jobs = make_jobs()
    ticks = []

    async with working(jobs, beat="thread") as worker:

        def tick(running, children):
            ticks.append(1)
            if len(ticks) == 1:
                raise OSError("no more processes")

        worker.session.tick = tick
        await soon("it ticks on", lambda: len(ticks) > 3)


async def test_hung_threads_leave_the_other_slots_working(make_jobs):
    """C-69: what is stuck keeps its slots, is shown as such, and quick ones run beside it."""
    jobs = make_jobs(slots=4)
    gate = threading.Event()
    block = jobs.task(name="block", timeout=0.1)(gate.wait)
    quick = jobs.task(name="quick")(lambda: "done")
    stuck = [block.enqueue() for _ in range(3)]
    async with working(jobs) as worker:
        await soon("the limits have passed", lambda: {status(job) for job in stuck} == {"cancelling"})
        many = quick.enqueue_many([{}] * 10)
        await soon("the quick ones ran in the slot that is left", lambda: {status(j) for j in many} == {"completed"})
        assert len(worker.running) == 3
        gate.set()
        await soon("the slots are back", lambda: not worker.running)


def at_top_level(): ...


def test_a_task_says_beforehand_whether_it_can_be_stopped(make_jobs):
    jobs = make_jobs()

    async def coroutine(): ...

    def with_context(ctx: Context): ...

    def plain(): ...

    tasks = [jobs.task(function).task for function in (coroutine, with_context, plain)]
    assert [task.stops_cooperatively for task in tasks] == [True, True, False]
    assert jobs.task(name="own process", executor="process")(at_top_level).task.stops_cooperatively
    job = SimpleNamespace(active=True, body_running=False)
    assert _words(job, tasks[0]) == "is asked to stop"
    assert "takes effect when its body ends" in _words(job, tasks[2])


async def test_what_cannot_be_stopped_keeps_its_run_in_a_process_that_goes_on(make_jobs):
    """C-41: embedded, the worker ends and the thread lives; nobody starts a second body until the process is gone."""
    jobs = make_jobs(graceful_shutdown_timeout=0.1, cancel_timeout=0.1, beat_interval=0.1)
    gate, bodies = threading.Event(), Bodies()

    @jobs.task
    def blocks():
        with bodies("it"):
            gate.wait(20)

    job = blocks.using(source="s", period="2013").enqueue()
    async with working(jobs, beat="thread") as worker:
        await soon("it runs", lambda: status(job) == "running")
    with jobs.store.read() as conn:
        assert workers.state_of(conn, worker.id) == "leaving"
    assert (status(job), stored_row(job).unit_lock) == ("running", job.unit)
    async with working(jobs, beat="thread"):
        await asyncio.sleep(0.5)
        assert (status(job), bodies.begun) == ("running", {"it": 1})
        jobs.store.write(lambda conn: workers.mark_dead(conn, worker.id, "its process is gone", jobs.store.now()))
        await soon("it is given back", lambda: "handed_back" in names(job))
        gate.set()
        await soon("it is done", lambda: status(job) == "completed")
    assert (job.attempt, job.run_no, stored_row(job).strikes) == (1, 2, 0), "not charged"
    assert names(job)[0] == "handed_back"
