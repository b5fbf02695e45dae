"""Office in an application: its tables, tasks, schedules, beats, and what its settings say of modules."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import func, insert, select
from watched import NOON

from jobtrail import InvalidOption, JobTrail
from jobtrail.notify import tables as notify_tables
from jobtrail.office import Office
from jobtrail.office.rules import UnknownModule
from jobtrail.office.tables import metrics_hourly, office_metadata, status_history
from jobtrail.testing import drain, tick

both = pytest.mark.both_databases


def statuses(jobs):
    return {one.module: one.status for one in jobs.office.all().modules}


def history(jobs, name="parser"):
    """("12:05:00", from, to), oldest first."""
    return [(f"{line.at:%H:%M:%S}", line.was, line.to) for line in reversed(jobs.office.history(name))]


@both
def test_the_migration_makes_the_tables_of_the_metadata(jobs):
    with jobs.store.read() as conn:
        context = MigrationContext.configure(
            conn, opts={"include_name": lambda name, kind, _: kind != "table" or name in office_metadata.tables, "compare_type": False}
        )
        assert compare_metadata(context, office_metadata) == []


def test_tasks_and_schedules_have_exactly_these_names(jobs):
    names = {task.name for task in jobs.plugins["office"].tasks}
    assert names == {"office_cleanup_history", "office_check_heartbeat", "office_aggregate_metrics", "office_notify_errors"}
    jobs.schedules.sync()
    assert {one.name: one.words["en"] for one in jobs.queries.schedules().schedules if one.name.startswith("office")} == {
        "office_cleanup_history": "every day at 03:00 (UTC)",
        "office_check_heartbeat": "every 5 minutes",
        "office_aggregate_metrics": "every hour (UTC)",
    }


def test_schedules_can_be_changed_and_left_out(make_office):
    jobs = make_office(schedules={"office_cleanup_history": "30 4 * * *", "office_aggregate_metrics": None})
    jobs.schedules.sync()
    found = {one.name for one in jobs.queries.schedules().schedules}
    assert "office_aggregate_metrics" not in found
    with pytest.raises(InvalidOption, match="office_other"):
        Office(schedules={"office_other": "0 1 * * *"})


@pytest.mark.parametrize(
    "options",
    [
        {"warn_after": 900, "error_after": 300}, {"modules": {"a b": {}}}, {"modules": {"parser": {"wait": 1}}}, {"history_hours": 1},
        {"blind_after": 1}, {"quiet_hours": "night"}, {"recovery_beats": 0}, {"metrics_days": 0}, {"modules": {"parser": {"warn_after": 900}}},
    ],
)  # fmt: skip
def test_wrong_settings_are_refused(options):
    with pytest.raises(InvalidOption):
        Office(**options)


def walk(jobs, clock, seconds, step=10):
    """Let the time pass until so many seconds after noon, with a turn of the loop after each step."""
    while clock.now() < NOON + timedelta(seconds=seconds):
        clock.set(min(clock.now() + timedelta(seconds=step), NOON + timedelta(seconds=seconds)))
        jobs.office.turn()


@both
def test_one_module_from_ok_to_error_and_back_by_the_loop_alone(jobs, clock):
    for second in (0, 60, 120):
        walk(jobs, clock, second)
        jobs.office.beat("parser", rows=second)
        jobs.office.flush()
    walk(jobs, clock, 1090, step=1)
    jobs.office.beat("parser")
    assert history(jobs)[2:] == [("12:07:00", "ok", "warning"), ("12:17:00", "warning", "error"), ("12:18:10", "error", "ok")]


@both
def test_the_walk_and_its_figures(jobs, clock):
    """ok at 12:00, silent from 12:10; warning 12:15, error 12:25, back 12:40, and on to the next hour."""
    for minute in range(11):
        walk(jobs, clock, 60 * minute)
        jobs.office.beat("parser", rows=minute)
        jobs.office.flush()
    walk(jobs, clock, 2400)
    jobs.office.beat("parser", rows=99)
    for minute in range(42, 61, 2):
        walk(jobs, clock, 60 * minute)
        jobs.office.beat("parser")
        jobs.office.flush()
    assert history(jobs) == [
        ("12:00:00", None, "new"), ("12:00:00", "new", "ok"), ("12:15:00", "ok", "warning"), ("12:25:00", "warning", "error"),
        ("12:40:00", "error", "ok"),
    ]  # fmt: skip
    jobs.task_named("office_aggregate_metrics").enqueue()
    drain(jobs)
    with jobs.store.read() as conn:
        rows = conn.execute(select(metrics_hourly).where(metrics_hourly.c.hour == NOON)).all()
    assert {row.measure: row.value for row in rows} == {
        "minutes.ok": 35, "minutes.warning": 10, "minutes.error": 15, "beats": 21, "flips": 4, "longest_gap": 1800,
        "number.rows": (sum(range(11)) + 99) / 12,
    }  # fmt: skip


def test_the_tasks_do_their_work_as_jobs(jobs, clock):
    jobs.office.beat("parser")
    clock.move(minutes=5)
    checked = jobs.task_named("office_check_heartbeat").enqueue()
    drain(jobs)
    assert checked.result() == {"warning": 1}
    old = [{"recorded_at": NOON - timedelta(days=2), "module": "gone", "from": "ok", "to": "ok"} for _ in range(7)]
    jobs.store.write(lambda conn: conn.execute(insert(status_history), old))
    cleaned = jobs.task_named("office_cleanup_history").enqueue()
    drain(jobs)
    assert cleaned.result() == {"deleted_rows": 7}
    with jobs.store.read() as conn:
        assert conn.execute(select(func.count()).select_from(status_history)).scalar() == 3


def test_the_scheduler_runs_the_check_every_five_minutes(jobs, clock):
    tick(jobs)
    jobs.office.beat("parser")
    clock.move(minutes=5)
    tick(jobs)
    drain(jobs)
    assert statuses(jobs) == {"parser": "warning"}
    assert [job.status for job in jobs.find("task:office_check_heartbeat")][:1] == ["completed"]


def test_a_module_that_turns_to_error_submits_the_task_that_tells(jobs, clock):
    jobs.office.beat("parser")
    jobs.office.beat("sync")
    clock.move(minutes=15)
    jobs.office.turn()
    (job,) = jobs.find("task:office_notify_errors")
    assert job.arguments == {"modules": ["parser", "sync"]}
    jobs.office.beat("other")
    jobs.office.beat("other", status="error", message="no disk")
    assert len(jobs.find("task:office_notify_errors")) == 2
    jobs.office.beat("other", status="error")
    assert len(jobs.find("task:office_notify_errors")) == 2


# -- what the settings say of modules ----------------------------------------------------------------------


@both
def test_named_modules_are_watched_from_the_start_and_others_are_refused(make_office, clock):
    jobs = make_office(clock=clock, modules={"parser": {"warn_after": 60, "error_after": 120}, "sync": {}})
    jobs.office.turn()
    assert statuses(jobs) == {"parser": "new", "sync": "new"}
    with pytest.raises(UnknownModule, match="parser, sync"):
        jobs.office.beat("pasrer")
    for _ in range(3):
        clock.move(seconds=30)
        jobs.office.turn()
    assert statuses(jobs) == {"parser": "warning", "sync": "new"}


@both
def test_other_settings_change_the_modules_and_remove_those_that_they_no_longer_name(make_office, clock):
    first = make_office(clock=clock, modules=["parser", "sync", "old"])
    first.office.turn()
    first.office.beat("parser")
    first.office.set_limits("sync", warn_after=10, error_after=20)
    clock.move(seconds=61)
    second = make_office(clock=clock, warn_after=60, error_after=70, modules=["parser", "sync"])
    second.office.sync()
    found = {one.module: (one.status, one.warn_after) for one in second.office.all().modules}
    assert found == {"parser": ("warning", 60), "sync": ("new", 10)}
    assert history(second, "old")[-1] == ("12:01:01", "new", "removed")
    second.office.set_limits("sync")
    assert second.office.get("sync").module.warn_after == 60


def test_the_file_of_the_operator_changes_the_settings(office_url, tmp_path, clock):
    def opened(text):
        (tmp_path / "jobtrail.toml").write_text(text)
        return JobTrail(office_url, plugins=[Office(modules=["sync"])], config=tmp_path / "jobtrail.toml", clock=clock)

    jobs = opened("[plugins.office]\nwarn_after = 20\n[plugins.office.modules.parser]\nwarn_after = 30\nerror_after = 60\n")
    jobs.office.turn()
    found = {one.module: (one.warn_after, one.error_after) for one in jobs.office.all().modules}
    assert found == {"parser": (30, 60)}
    jobs.close()
    for wrong, word in (("warn_after = 2000", "less than"), ("warn = 5", "no setting 'warn'")):
        jobs = opened(f"[plugins.office]\n{wrong}\n")
        with pytest.raises(InvalidOption, match=word):
            jobs.office.turn()
        jobs.close()


def test_a_pause_survives_new_settings(make_office, clock):
    first = make_office(clock=clock)
    first.office.beat("parser")
    first.office.pause("parser", reason="new disk", actor="ann")
    second = make_office(clock=clock, warn_after=60, error_after=70)
    second.office.sync()
    clock.move(hours=5)
    second.office.turn()
    one = second.office.get("parser").module
    assert (one.status, one.pause_reason, one.pause_actor, one.warn_after) == ("paused", "new disk", "ann", 60)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("a/b", {}), ("", {}), ("x" * 101, {}), (5, {}), ("-a", {}), ("_a", {}), ("p", {"status": "new"}), ("p", {"status": "broken"}),
        ("p", {"message": "x" * 2001}), ("p", {"at": NOON.replace(tzinfo=None)}), ("p", {"rows": float("nan")}), ("p", {"rows": True}),
        ("p", {"rows": "5"}), ("p", {"numbers": {f"n{place}": 1 for place in range(21)}}), ("p", {"numbers": {"a b": 1}}),
    ],
)  # fmt: skip
def test_wrong_beats_are_refused_before_anything_is_stored(jobs, name, given):
    with pytest.raises(InvalidOption):
        jobs.office.beat(name, **given)
    assert statuses(jobs) == {}


def test_a_time_of_the_future_counts_as_now_and_is_said(jobs, clock):
    answer = jobs.office.beat("parser", at=NOON + timedelta(hours=1))
    assert answer.ahead == 3600
    one = jobs.office.get("parser").module
    assert (one.last_activity, one.ahead) == (NOON, 3600)
    clock.move(minutes=5)
    jobs.office.turn()
    assert statuses(jobs) == {"parser": "warning"}


# -- jobs report for their module --------------------------------------------------------------------------


def test_jobs_report_for_the_module_of_their_task(jobs):
    fails = []

    @jobs.task(module="weather")
    def load():
        if fails:
            raise ValueError("no file")
        return {"rows": 5}

    load.enqueue()
    drain(jobs)
    jobs.office.flush()
    one = jobs.office.get("weather").module
    assert one.status == "ok"
    assert set(one.numbers) == {"seconds"}
    fails.append(1)
    load.enqueue()
    drain(jobs)
    one = jobs.office.get("weather").module
    assert (one.status, one.message) == ("warning", "ValueError: no file")
    fails.clear()
    load.enqueue()
    drain(jobs)
    assert statuses(jobs) == {"weather": "ok"}


def test_a_job_runs_also_if_its_module_may_not_report(make_office, clock):
    jobs = make_office(clock=clock, modules=["parser"])

    @jobs.task(module="weather")
    async def load():
        await asyncio.sleep(0)
        return 5

    job = load.enqueue()
    drain(jobs)
    assert job.result() == 5


def test_a_job_that_runs_long_keeps_reporting(jobs, monkeypatch):
    monkeypatch.setattr("jobtrail.office.activity.EVERY", 0.01)
    seen = []

    @jobs.task(module="weather")
    async def load():
        for _ in range(1000):
            await asyncio.sleep(0.01)
            jobs.office.flush()
            if jobs.office.get("weather").module.beats >= 4:
                seen.append(True)
                return

    load.enqueue()
    drain(jobs)
    assert seen


def test_a_task_without_office_may_not_name_a_module(url):
    jobs = JobTrail(url, plugins=[])
    with pytest.raises(InvalidOption, match="module"):
        jobs.task(module="weather")(lambda: None)
    jobs.close()


# -- telling -----------------------------------------------------------------------------------------------


@both
def test_an_error_and_its_end_are_told_to_the_administrators_once(jobs, clock):
    jobs.office.beat("parser")
    walk(jobs, clock, 900)
    drain(jobs)
    (job,) = jobs.find("task:office_notify_errors")
    assert job.result()["events"] == 2
    tell(jobs, clock)
    (told,) = inbox(jobs)
    assert "parser" in told.title
    jobs.office.beat("parser")
    tell(jobs, clock)
    assert len(inbox(jobs)) == 2
    tell(jobs, clock)
    assert len(inbox(jobs)) == 2


def tell(jobs, clock):
    """A turn of the notifications when the time for grouping is over."""
    jobs.notify.turn()
    clock.move(minutes=10)
    jobs.notify.turn()
    drain(jobs)


def inbox(jobs):
    with jobs.store.read() as conn:
        return conn.execute(select(notify_tables.inbox)).all()


def test_the_live_topic_does_not_change_with_the_time_alone(jobs, clock):
    jobs.office.beat("parser", rows=5)
    jobs.office.beat("sync")
    (topic,) = jobs.plugins["office"].plugin.topics.values()
    assert topic.name == "modules"
    before = topic.function(jobs, "")
    assert [(one["module"], one["status"], one["numbers"]) for one in before] == [("parser", "ok", {"rows": 5}), ("sync", "ok", {})]
    clock.move(seconds=10)
    assert topic.function(jobs, "") == before
    assert len(topic.function(jobs, "sync")) == 1


def test_beats_that_are_collected_are_stored_when_the_application_is_closed(jobs, make_office, clock):
    jobs.office.beat("parser")
    jobs.office.beat("parser")
    jobs.close()
    assert make_office(clock=clock).office.get("parser").module.beats == 2
