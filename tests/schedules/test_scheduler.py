"""Turns of the scheduler by hand: overlap, periods, pauses, ends, bad rows, tasks that are gone, clocks that jump."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta

import pytest
from ticking import NOON, Ticking, at
from trails import count_rows

from jobtrail.commands.job_fields import stored_row
from jobtrail.database.tables import schedules as table
from jobtrail.errors import AlreadyActive
from jobtrail.store import jobs as store_jobs
from jobtrail.testing import drain


@pytest.fixture
def ticking(make_jobs):
    return Ticking(make_jobs)


# -- one run for each slot -----------------------------------------------------------------------------


def test_the_job_has_what_the_schedule_says(ticking):
    ticking.declare(
        "*/10 * * * *", args={"number": 7}, source="weather/EWR", labels={"tenant": "acme"}, queue="slow", priority=2
    )
    ticking.turn("12:10:01", run=False)
    (job,) = ticking.jobs.find("label:tenant=acme")
    row = stored_row(job)
    assert (row.queue, row.priority, row.source, row.actor) == ("slow", 2, "weather/EWR", "schedule:s")
    assert job.arguments == {"number": 7}
    assert row.labels == '{"tenant": "acme"}'


def test_more_schedules_than_one_turn_takes_are_followed_by_another_at_once(ticking):
    for number in range(1200):
        ticking.jobs.schedule("every 1 minute", name=f"s{number}", args={"number": number})(ticking.work)
    ticking.jobs.schedules.sync()
    ticking.clock.set(at("12:01:00"))
    first = ticking.scheduler.run_once()
    assert (first.submitted, first.wait) == (1000, 0.0)
    assert ticking.turn(run=False).submitted == 200
    assert ticking.turn("12:01:30", run=False).submitted == 0
    assert count_rows(ticking.jobs) == 1200


def test_a_turn_says_when_the_next_is_needed_and_never_sleeps_past_a_poll(make_jobs):
    ticking = Ticking(make_jobs, poll_interval=1.0)
    ticking.declare("every 1 minute")
    assert ticking.turn("12:00:10").wait == 1.0
    assert ticking.turn(at("12:00:59") + timedelta(milliseconds=750)).wait == pytest.approx(0.25)


def test_a_slot_that_was_run_is_never_run_again(ticking):
    """Somebody turns the next time back in the table: the slot's key has the last word."""
    ticking.declare("*/10 * * * *")
    ticking.turn("12:10:01")
    with ticking.jobs.store.read() as conn:
        conn.execute(table.update().values(next_at=at("12:10"), due_at=at("12:10")))
    assert ticking.turn("12:10:30").submitted == 0
    assert ticking.turn("12:20:01").submitted == 1
    assert ticking.slots_seen == [at("12:10"), at("12:20")]


def test_jitter_puts_off_each_slot_and_loses_none(ticking):
    ticking.declare("*/10 * * * *", jitter=300)
    due = []
    for minute in range(1, 61):
        turn = ticking.turn(NOON + timedelta(minutes=minute))
        due += [minute] * turn.submitted
    assert 4 <= len(due) <= 6
    assert ticking.slots_seen == [at(time) for time in ["12:10", "12:20", "12:30", "12:40", "12:50", "13:00"][: len(due)]]
    assert any(minute % 10 for minute in due)


def test_a_delay_starts_the_job_later_and_keeps_the_slot(ticking):
    ticking.declare("*/10 * * * *", delay=120)
    ticking.turn("12:10:01")
    assert ticking.slots_seen == []
    ticking.turn("12:12:01")
    assert ticking.slots_seen == [at("12:10")]


# -- overlap -------------------------------------------------------------------------------------------


def test_c11_a_run_longer_than_its_interval_is_alone_and_the_skipped_times_name_it(ticking):
    ticking.declare("every 10 seconds")
    ticking.declare("every 10 seconds", name="other")
    ticking.turn("12:00:10", run=False)
    held = ticking.get().row.last_job
    drain_only(ticking, "other")
    for second in (20, 30, 40):
        ticking.turn(f"12:00:{second}", run=False)
        drain_only(ticking, "other")
    skipped = [slot for slot in ticking.jobs.schedules.slots("s") if slot.state == "missed"]
    assert [slot.reason for slot in skipped] == ["the previous job had not ended"] * 3
    assert {slot.job_id for slot in skipped} == {held}
    assert len(ticking.ran("other")) == 4
    drain(ticking.jobs)
    ticking.turn("12:00:50")
    assert [slot.planned_at.second for slot in ticking.jobs.schedules.slots("s") if slot.state == "submitted"] == [50, 10]


def drain_only(ticking, name):
    """End the job of one schedule, whoever else waits."""
    job = ticking.jobs.get(ticking.get(name).row.last_job).refresh()
    if job.active:
        job.cancel()


def test_c11_skipped_times_are_told_at_the_first_and_the_tenth(ticking):
    ticking.declare("every 10 seconds")
    for number in range(1, 26):
        ticking.turn(NOON + timedelta(seconds=10 * number), run=False)
    assert ticking.events().count("slot_missed") == 2
    assert ticking.get().row.missed_in_row == 24


def test_queue_holds_one_time_back_until_the_run_before_has_ended(ticking):
    ticking.declare("every 10 seconds", overlap="queue")
    for second in (10, 20, 30, 40):
        ticking.turn(f"12:00:{second}", run=False)
    assert ticking.ran() == ["12:00"]
    assert ticking.get().row.waits_for == ticking.get().row.last_job
    drain(ticking.jobs)
    ticking.turn("12:00:41", run=False)
    assert [slot.planned_at.second for slot in ticking.jobs.schedules.slots("s") if slot.state == "submitted"] == [20, 10]
    assert [slot.planned_at.second for slot in ticking.jobs.schedules.slots("s") if slot.reason == "the previous job had not ended"] == [40, 30]


def test_cancel_running_ends_the_run_before_and_then_runs(ticking):
    ticking.declare("every 10 seconds", overlap="cancel_running")
    ticking.turn("12:00:10", run=False)
    first = ticking.jobs.get(ticking.get().row.last_job)
    ticking.turn("12:00:20", run=False)
    assert first.refresh().status == "cancelled"
    assert ticking.get().row.waits_for == first.id
    ticking.turn("12:00:22")
    assert ticking.slots_seen == [at("12:00:20")]


def test_cancel_running_asks_a_running_body_only_once(ticking):
    """A second asking would force its end while it goes on."""
    ticking.declare("every 10 seconds", overlap="cancel_running")
    ticking.turn("12:00:10", run=False)
    job = ticking.jobs.get(ticking.get().row.last_job)
    with ticking.jobs.store.read() as conn:
        store_jobs.claim(conn, ticking.jobs.store.dialect, "default", 1, job.id, ticking.clock.now())
    for second in (20, 22, 24):
        ticking.turn(f"12:00:{second}", run=False)
    assert job.refresh().status == "cancelling"
    assert [event.name for event in job.events()] == ["stop_requested"]


def test_allow_runs_beside(ticking):
    ticking.declare("every 10 seconds", overlap="allow")
    for second in (10, 20, 30):
        ticking.turn(f"12:00:{second}", run=False)
    assert len(ticking.jobs.find("status:pending")) == 3


# -- periods -------------------------------------------------------------------------------------------


def test_the_planned_time_decides_the_period_however_late_the_run(ticking):
    """Every first of the month at 03:00 in Moscow, run days late: it loads the month before, as read there."""
    ticking.declare("0 3 1 * *", tz="Europe/Moscow", source="weather/EWR", period="previous month", window=timedelta(days=7))
    ticking.turn(datetime(2026, 4, 4, 12, tzinfo=UTC))
    (job,) = ticking.jobs.find("task:work")
    assert stored_row(job).period == "2026-03[Europe/Moscow]"
    assert ticking.slots_seen == [datetime(2026, 4, 1, 0, tzinfo=UTC)]


def test_c29_a_period_that_is_complete_already_is_skipped_with_a_record_or_run_again(ticking):
    ticking.declare("0 * * * *", name="skips", period="previous hour", source="a", if_done="skip")
    ticking.declare("0 * * * *", name="runs", period="previous hour", source="b")
    for source in ("a", "b"):
        ticking.work.using(source=source, period="2026-03-02T12").enqueue()
    drain(ticking.jobs)
    ticking.turn("13:00:01")
    assert ticking.told("skips") == [("13:00", "complete already")]
    assert ticking.told("runs") == [("13:00", "ran")]
    assert len(ticking.jobs.find("source:b")) == 2


def test_c29_a_period_that_somebody_runs_now_is_not_run_beside(ticking):
    ticking.declare("0 * * * *", period="previous hour", source="a")
    by_hand = ticking.work.using(source="a", period="2026-03-02T12").enqueue()
    ticking.turn("13:00:01", run=False)
    (slot,) = ticking.jobs.schedules.slots("s")
    assert (slot.state, slot.reason, slot.job_id) == ("missed", "the previous job had not ended", by_hand.id)
    drain(ticking.jobs)
    ticking.turn("14:00:01")
    assert ticking.told() == [("13:00", "the previous job had not ended"), ("14:00", "ran")]


# -- pauses, failures, ends ----------------------------------------------------------------------------


def test_paused_times_are_rows_and_are_not_made_up_for(ticking):
    ticking.declare("*/10 * * * *")
    ticking.jobs.schedules.pause("s", reason="maintenance", actor="person:eva")
    for time in ("12:10:01", "12:20:01"):
        ticking.turn(time)
    ticking.clock.set(at("12:25"))
    ticking.jobs.schedules.resume("s", actor="person:eva")
    ticking.turn("12:30:01")
    assert ticking.told() == [("12:10", "paused"), ("12:20", "paused"), ("12:30", "ran")]
    assert ticking.events() == ["schedule_added", "schedule_paused", "schedule_resumed"]


def test_a_pause_while_nobody_schedules_is_told_apart_from_being_down(ticking):
    ticking.declare("*/10 * * * *")
    ticking.clock.set(at("12:25"))
    ticking.jobs.schedules.pause("s")
    ticking.clock.set(at("12:45"))
    ticking.jobs.schedules.resume("s")
    ticking.turn("12:50:01")
    assert ticking.told() == [
        ("12:10", "no scheduler was running"), ("12:20", "no scheduler was running"), ("12:30", "paused"), ("12:40", "paused"), ("12:50", "ran"),
    ]  # fmt: skip


def test_what_came_before_a_pause_and_was_not_run_does_not_run_in_it(ticking):
    ticking.declare("*/10 * * * *")
    ticking.clock.set(at("12:15"))
    ticking.jobs.schedules.pause("s")
    ticking.turn("12:16")
    assert ticking.told() == [("12:10", "no scheduler was running")]
    assert ticking.slots_seen == []


def test_a_pause_until_a_moment_ends_by_itself(ticking):
    ticking.declare("*/10 * * * *")
    ticking.jobs.schedules.pause("s", until=at("12:25"))
    for time in ("12:10:01", "12:20:01", "12:30:01"):
        ticking.turn(time)
    assert ticking.told() == [("12:10", "paused"), ("12:20", "paused"), ("12:30", "ran")]
    assert ticking.get().state == "active"
    assert ticking.events()[-1] == "schedule_resumed"


def test_it_pauses_after_failures_in_a_row_and_goes_on_when_resumed(ticking):
    ticking.declare("*/10 * * * *", pause_after_failures=2)
    ticking.fails = True
    for time in ("12:10:01", "12:20:01", "12:20:30"):
        ticking.turn(time)
    paused = ticking.get()
    assert (paused.state, paused.row.paused_by, paused.row.paused_reason) == ("paused", "scheduler", "2 failures in a row")
    ticking.turn("12:30:01")
    ticking.fails = False
    ticking.jobs.schedules.resume("s")
    ticking.turn("12:40:01")
    assert ticking.told() == [("12:10", "ran"), ("12:20", "ran"), ("12:30", "paused"), ("12:40", "ran")]


def test_a_success_between_failures_begins_the_count_anew(ticking):
    ticking.declare("*/10 * * * *", pause_after_failures=2)
    for minute, fails in ((10, True), (20, False), (30, True), (40, False)):
        ticking.fails = fails
        ticking.turn(f"12:{minute}:01")
    assert ticking.get().state == "active"
    assert len(ticking.ran()) == 4


def test_failures_are_counted_where_runs_overlap(ticking):
    """The run before goes on at each time, so that it is never seen to end."""
    ticking.declare("every 10 seconds", overlap="allow", pause_after_failures=2)
    ticking.fails = True
    for second in (10, 20, 30, 40):
        ticking.turn(f"12:00:{second}", run=False)
        jobs = sorted(ticking.jobs.find("status:pending"), key=lambda job: job.id)
        if len(jobs) > 1:
            _fail(ticking, jobs[0])
    assert ticking.get().state == "paused"
    assert len(ticking.ran()) == 3


def _fail(ticking, job):
    with ticking.jobs.store.read() as conn:
        conn.exec_driver_sql(f"UPDATE jobtrail_jobs SET status = 'failed', outcome = 'error' WHERE id = '{job.id}'")


def test_it_ends_after_its_last_run(ticking):
    ticking.declare("*/10 * * * *", max_runs=2)
    for time in ("12:10:01", "12:20:01", "12:30:01"):
        ticking.turn(time)
    assert ticking.ran() == ["12:10", "12:20"]
    assert ticking.get().state == "finished"
    assert ticking.events()[-1] == "schedule_finished"


def test_a_time_that_could_not_run_does_not_count_as_a_run(ticking):
    ticking.declare("every 10 seconds", max_runs=2)
    for second in (10, 20):
        ticking.turn(f"12:00:{second}", run=False)
    assert ticking.get().state == "active"
    drain(ticking.jobs)
    ticking.turn("12:00:30")
    assert ticking.get().state == "finished"
    assert len(ticking.slots_seen) == 2


def test_it_ends_at_its_date(ticking):
    ticking.declare("*/10 * * * *", ends_at=at("12:25"))
    for time in ("12:10:01", "12:20:01", "12:30:01"):
        ticking.turn(time)
    assert ticking.ran() == ["12:10", "12:20"]
    assert ticking.get().state == "finished"


# -- tasks that are gone -------------------------------------------------------------------------------


def test_c14_c61_a_task_that_vanished_warns_once_and_is_made_up_for_when_it_is_back(make_jobs, caplog):
    ticking = Ticking(make_jobs)
    ticking.declare("*/10 * * * *", catch_up="all")
    ticking.turn("12:10:01")
    ticking.scheduler.give_up()
    broken = make_jobs(clock=ticking.clock)  # a deploy without the task

    @broken.task
    def something_else():
        """Another task."""

    without = broken.schedules.scheduler()
    broken.schedules.sync()
    with caplog.at_level(logging.WARNING, "jobtrail.schedules"):
        for minute in (20, 30, 40):
            ticking.clock.set(at(f"12:{minute}:30"))
            without.run_once()
    assert len([record for record in caplog.records if "which no process knows" in record.message]) == 1
    gone = broken.schedules.get("s")
    assert (gone.state, gone.row.unknown_since) == ("active", at("12:20:30"))
    assert ticking.told() == [("12:10", "ran"), *[(f"12:{minute}", "task unknown") for minute in (20, 30, 40)]]
    ticking.turn("12:45")
    ticking.settle()
    assert ticking.ran() == ["12:10", "12:20", "12:30", "12:40"]
    assert ticking.get().row.unknown_since is None


def test_c61_who_lacks_the_task_does_not_keep_the_others_from_it(make_jobs):
    """A process that knows only another task is there first; the schedule is run by the one that has its task."""
    ticking = Ticking(make_jobs)
    ticking.declare("every 10 seconds")
    other = make_jobs(clock=ticking.clock)

    @other.task
    def report():
        """Another task."""

    other.schedules.add("r", "report", "every 10 seconds")
    without = other.schedules.scheduler()
    for second in range(10, 60, 10):
        ticking.clock.set(at(f"12:00:{second}"))
        without.run_once()
        ticking.turn()
    assert len(ticking.ran()) == 5
    assert len(ticking.ran("r")) >= 1
    assert set(ticking.jobs.schedules.leaders()) == {"work", "report"}


def test_c61_a_time_that_waits_is_not_taken_for_one_whose_task_is_gone(make_jobs):
    """It is overdue because the run before goes on; a process that lacks the task sees that somebody else leads."""
    ticking = Ticking(make_jobs)
    ticking.declare("every 10 seconds", overlap="queue")
    other = make_jobs(clock=ticking.clock)
    without = other.schedules.scheduler()
    for second in range(10, 70, 5):
        ticking.turn(NOON + timedelta(seconds=second), run=False)
        without.run_once()
    assert ticking.get().row.unknown_since is None
    assert ticking.told() == [("12:00", "ran")]


def test_c61_looking_editing_and_pausing_lose_nothing_where_the_task_is_not_there(make_jobs):
    ticking = Ticking(make_jobs)
    ticking.declare("*/10 * * * *")
    web = make_jobs(clock=ticking.clock)
    assert [one.name for one in web.schedules.list()] == ["s"]
    web.schedules.edit("s", grace=900, actor="person:eva")
    web.schedules.pause("s", actor="person:eva")
    web.schedules.resume("s", actor="person:eva")
    web.schedules.sync()
    web.schedules.scheduler().run_once()
    assert ticking.get().state == "active"
    ticking.turn("12:10:01")
    assert ticking.ran() == ["12:10"]


def test_arguments_that_the_task_takes_no_more_are_told_and_hold_up_nothing(make_jobs):
    ticking = Ticking(make_jobs)
    ticking.declare("*/10 * * * *", args={"number": 1})
    ticking.declare("*/10 * * * *", name="well")
    newer = make_jobs(clock=ticking.clock)
    ran = []

    @newer.task
    def work(ctx):
        ran.append(ctx.slot)

    ticking.clock.set(at("12:10:01"))
    newer.schedules.scheduler().run_once()
    drain(newer)
    (slot,) = newer.schedules.slots("s")
    assert slot.reason == "refused: work() has no argument 'number'"
    assert ran == [at("12:10")]


# -- rows that cannot be read ----------------------------------------------------------------------------


def test_c61_a_row_that_cannot_be_read_is_paused_and_told_and_holds_up_no_other(ticking, caplog):
    ticking.declare("*/10 * * * *")
    ticking.declare("*/10 * * * *", name="well")
    with ticking.jobs.store.read() as conn:
        conn.execute(table.update().where(table.c.name == "s").values(definition='{"rule": {"kind": "moon"}}'))
    ticking.scheduler = ticking.jobs.schedules.scheduler()
    for time in ("12:10:01", "12:20:01"):
        ticking.turn(time)
    broken = ticking.get()
    assert (broken.state, broken.row.paused_by) == ("paused", "scheduler")
    assert "cannot be read" in broken.problem
    assert len([record for record in caplog.records if "is paused" in record.message]) == 1
    assert ticking.ran("well") == ["12:10", "12:20"]
    ticking.jobs.schedules.sync()  # a deploy that declares it writes it anew
    ticking.turn("12:30:01")
    assert "12:30" in ticking.ran()


def test_a_schedule_that_cannot_be_written_is_put_off_and_holds_up_no_other(ticking, monkeypatch, caplog):
    from jobtrail.schedules import dispatcher

    ticking.declare("*/10 * * * *", args={"number": 13})
    ticking.declare("*/10 * * * *", name="well")
    whole = dispatcher.submissions.insert_plain

    def breaks(conn, dialect, new, now):
        if any('"number":13' in one.args for one in new):
            raise RuntimeError("this one cannot be written")
        whole(conn, dialect, new, now)

    monkeypatch.setattr(dispatcher.submissions, "insert_plain", breaks)
    ticking.turn("12:10:01")
    ticking.turn("12:10:12")
    assert ticking.ran("well") == ["12:10"]
    assert len([record for record in caplog.records if "could not be dispatched" in record.message]) == 1
    monkeypatch.undo()
    ticking.turn("12:10:30")
    assert ticking.ran() == ["12:10"]


# -- clocks that jump ------------------------------------------------------------------------------------


def test_c13_a_clock_that_goes_back_stops_no_interval_and_runs_no_slot_twice(ticking):
    ticking.declare("every 10 seconds", name="interval")
    ticking.declare("* * * * *", name="cron")
    for second in range(0, 130, 10):
        ticking.turn(NOON + timedelta(seconds=second))
    cron = ticking.ran("cron")
    intervals = len(ticking.ran("interval"))
    back = NOON - timedelta(hours=2)
    for second in range(0, 72, 10):
        ticking.turn(back + timedelta(seconds=second + 1))
    assert len(ticking.ran("interval")) == intervals + 6
    assert ticking.ran("cron") == cron
    ticking.turn(NOON + timedelta(minutes=2, seconds=30))
    ticking.turn(NOON + timedelta(minutes=3, seconds=1))
    assert ticking.ran("cron") == [*cron, "12:03"]


def test_c13_a_clock_that_goes_forward_follows_the_rule_once(ticking):
    ticking.declare("every 10 seconds", name="interval")
    ticking.declare("* * * * *", name="cron")
    ticking.turn("12:00:10")
    turn = ticking.turn("14:00:05")
    assert turn.submitted == 2
    assert len(ticking.ran("interval")) == 2
    assert ticking.ran("cron") == ["14:00"]


def test_c13_a_scheduler_that_starts_after_the_clock_went_back_waits_for_nothing(ticking):
    ticking.declare("every 10 seconds")
    ticking.turn(NOON + timedelta(hours=2))
    ticking.scheduler.give_up()
    ticking.clock.set(NOON)
    ticking.scheduler = ticking.jobs.schedules.scheduler()
    ticking.turn()
    ran = len(ticking.slots_seen)
    ticking.turn(NOON + timedelta(seconds=11))
    assert len(ticking.slots_seen) == ran + 1


# -- run now -----------------------------------------------------------------------------------------------


def test_run_now_makes_a_job_beside_the_planned_times(ticking):
    ticking.declare("*/10 * * * *", args={"number": 3}, period="previous day")
    ticking.clock.set(at("12:03"))
    job = ticking.jobs.schedules.run_now("s", actor="person:eva", reason="to see it")
    assert (job.actor, job.reason, stored_row(job).period) == ("person:eva", "to see it", "2026-03-01")
    drain(ticking.jobs)
    ticking.turn("12:10:01")
    assert ticking.told() == [("12:03", "ran"), ("12:10", "ran")]
    assert ticking.slots_seen == [at("12:03"), at("12:10")]


def test_run_now_is_refused_while_the_run_before_goes_on(ticking):
    ticking.declare("*/10 * * * *")
    ticking.turn("12:10:01", run=False)
    with pytest.raises(AlreadyActive, match="the previous run of the schedule 's' is active") as told:
        ticking.jobs.schedules.run_now("s")
    assert told.value.job_id == ticking.get().row.last_job
