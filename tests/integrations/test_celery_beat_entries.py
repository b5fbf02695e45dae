"""Entries of a beat schedule become declared schedules as they are, in the zone that Celery's settings give."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
import warm
from celery import Celery
from celery.beat import BeatLazyFunc, ScheduleEntry
from celery.schedules import crontab, schedule

from jobtrail import JobTrail
from jobtrail.config import Settings
from jobtrail.errors import InvalidSchedule
from jobtrail.integrations.celery.beat.entries import OPTIONS, BeatConversion
from jobtrail.schedules.rules.rules import Cron, every

BERLIN = "Europe/Berlin"


def application(**conf) -> Celery:
    app = Celery("shop", broker="memory://", set_as_current=False)
    app.conf.update(conf)

    @app.task(name="load", shared=False)
    def load(airport, day="today"):
        """Two arguments with names."""

    @app.task(name="any", shared=False)
    def anything(*args, **kwargs):
        """No names."""

    return app


def declared(entries, app=None, *, records=True):
    app = app or application()
    return BeatConversion(app, Settings(), lambda _: records).declared(entries)


def one(schedule_, app=None, **entry):
    [found] = declared({"nightly": {"task": "load", "schedule": schedule_, **entry}}, app)
    return found


def test_an_entry_keeps_its_arguments_and_options():
    options = {"queue": "slow", "priority": 9, "expires": 3600, "countdown": 60, "headers": {"a": 1}, "soft_time_limit": 5, "eta": None}
    found = one(crontab(minute=0, hour=3), args=("EWR",), kwargs={"day": "2013-02-01"}, options=options)
    definition = found.definition
    assert (found.name, found.task, found.origin) == ("nightly", "celery:shop/load", "celery")
    assert definition.rule == Cron("0 3 * * *", "UTC")
    assert definition.args == {"airport": "EWR", "day": "2013-02-01"}
    assert (definition.queue, definition.priority, definition.delay) == ("slow", 0, 60.0)
    assert (definition.overlap, definition.catch_up, definition.grace) == ("allow", "skip", 3600.0)
    assert definition.celery == {
        "app": "shop", "named": True, "queue": "celery", "most_urgent": 9, "tracked": True, "expires": 3600.0,
        "send": {"headers": {"a": 1}, "soft_time_limit": 5},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        (30, every(seconds=30)),
        (timedelta(hours=2), every(hours=2)),
        (schedule(timedelta(minutes=5)), every(minutes=5)),
        (crontab(0, 0, day_of_week="mon-fri"), Cron("0 0 * * MON-FRI", "UTC", both_days=True)),
        (crontab.from_string("*/5 4 * * 1"), Cron("*/5 4 * * 1", "UTC", both_days=True)),
    ],
)
def test_kinds_of_schedules(given, rule):
    assert one(given, args=["EWR"]).definition.rule.to_json() == rule.to_json()


def test_relative_intervals_run_at_whole_units():
    rule = one(timedelta(hours=1), args=["EWR"], relative=True).definition.rule
    assert rule.next_after(datetime(2026, 1, 1, 10, 20, tzinfo=UTC)) == datetime(2026, 1, 1, 11, tzinfo=UTC)


def test_arguments_without_names_and_tasks_that_are_not_imported():
    listed, unknown, plain = declared({
        "a": {"task": "any", "schedule": 60, "args": [1]},
        "b": {"task": "elsewhere.sync", "schedule": 60, "args": [1], "kwargs": {"x": 2}},
        "c": {"task": "elsewhere.sync", "schedule": 60, "kwargs": {"x": 2}},
    })  # fmt: skip
    assert (listed.definition.args, listed.definition.celery["named"]) == ({"args": [1], "kwargs": {}}, False)
    assert (unknown.definition.args, unknown.definition.celery["named"]) == ({"args": [1], "kwargs": {"x": 2}}, False)
    assert (plain.definition.args, plain.definition.celery["named"]) == ({"x": 2}, True)


def test_entries_of_other_schedulers_and_of_add_periodic_task():
    app = application()
    app.add_periodic_task(60.0, app.tasks["load"].s("EWR"), name="minutely", expires=30)
    entry = ScheduleEntry(name="old", task="load", schedule=schedule(60), args=("JFK",), options={"queue": "slow"}, app=app)
    old, minutely = declared({"old": entry, **app.conf.beat_schedule}, app)
    assert (old.definition.args, old.definition.queue) == ({"airport": "JFK"}, "slow")
    assert (minutely.definition.args, minutely.definition.celery["expires"]) == ({"airport": "EWR"}, 30.0)


def test_the_queue_is_that_of_the_routes_and_untracked_tasks_say_so():
    app = application(task_routes={"load": {"queue": "loads"}})
    [found] = declared({"n": {"task": "load", "schedule": 60, "args": ["EWR"]}}, app, records=False)
    assert (found.definition.queue, found.definition.celery["queue"], found.definition.celery["tracked"]) == (None, "loads", False)


def test_our_options_for_entries():
    app = application(**{OPTIONS: {"*": {"catch_up": "all"}, "nightly": {"grace": 300, "overlap": "queue"}}})
    definition = one(60, app, args=["EWR"]).definition
    assert (definition.catch_up, definition.grace, definition.overlap) == ("all", 300.0, "queue")
    for wrong in ({"nightly": {"catch_up": "sometimes"}}, {"daily": {}}, {"nightly": 1}, 5):
        with pytest.raises((InvalidSchedule, ValueError), match=r"catch_up|jobtrail_beat_options"):
            one(60, application(**{OPTIONS: wrong}), args=["EWR"])


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ({"schedule": SimpleNamespace(lat=1, lon=1, event="sunrise")}, "solar"),
        ({"schedule": crontab(nowfun=datetime.now)}, "nowfun"),
        ({"schedule": object()}, "not supported"),
        ({"schedule": 60, "args": [BeatLazyFunc(datetime.now)]}, "JSON"),
        ({"schedule": 60, "args": [datetime(2026, 1, 1)]}, "JSON"),
        ({"schedule": 60, "options": {"link": object()}}, "JSON"),
        ({"schedule": 60, "options": {"expires": datetime(2026, 1, 1)}}, "expires"),
        ({"schedule": 60, "options": "fast"}, "options"),
        ("load", "dictionary"),
    ],
)
def test_what_cannot_be_converted_is_refused_by_name(entry, why):
    entry = {"task": "load", **entry} if isinstance(entry, dict) else entry
    good = {"task": "load", "schedule": 60, "args": ["EWR"]}
    with pytest.raises(InvalidSchedule, match=why) as found:
        declared({"good": good, "bad": entry})
    assert "'bad'" in str(found.value)
    assert "'good'" not in str(found.value)


# -- zones -------------------------------------------------------------------------------------------


def next_times(rule, start, count):
    at, found = start, []
    for _ in range(count):
        at = rule.next_after(at)
        found.append(f"{at:%d %H:%M}")
    return found


IN_NEW_YORK = """
import json
from celery.schedules import crontab
from test_celery_beat_entries import ZONES, application, one

found = [one(crontab(minute=0, hour=3), application(**conf), args=["EWR"]).definition.rule.zone for conf, _ in ZONES]
print(json.dumps(found))
"""
ZONES = [
    ({}, "UTC"),
    ({"timezone": BERLIN}, BERLIN),
    ({"timezone": BERLIN, "enable_utc": False}, BERLIN),
    ({"enable_utc": False}, "America/New_York"),
]


def test_the_zone_of_crontabs_is_what_celery_reads_from_its_settings(tmp_path):
    """In a process of its own, because Celery reads the zone of the machine once."""
    (tmp_path / "program.py").write_text(IN_NEW_YORK, "utf-8")
    paths = (Path(__file__).parent, Path(warm.__file__).parent)
    env = {**os.environ, "TZ": "America/New_York", "PYTHONPATH": os.pathsep.join(map(str, paths))}
    done = warm.run("program.py", cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [zone for _, zone in ZONES]


def test_a_machine_whose_zone_has_no_name_is_refused():
    app = application()
    app.timezone = SimpleNamespace(utcoffset=None)
    with pytest.raises(InvalidSchedule, match="set timezone"):
        one(crontab(), app, args=["EWR"])


def test_a_crontab_in_the_zone_of_the_settings_follows_daylight_saving_time():
    """In Berlin the clock goes from 02:00 to 03:00 on 29 March, and from 03:00 to 02:00 on 25 October 2026."""
    rule = one(crontab(minute=0, hour=4), application(timezone=BERLIN), args=["EWR"]).definition.rule
    assert next_times(rule, datetime(2026, 3, 28, tzinfo=UTC), 3) == ["28 03:00", "29 02:00", "30 02:00"]
    assert next_times(rule, datetime(2026, 10, 24, tzinfo=UTC), 3) == ["24 02:00", "25 03:00", "26 03:00"]
    in_utc = one(crontab(minute=0, hour=4), application(), args=["EWR"]).definition.rule
    assert next_times(in_utc, datetime(2026, 3, 28, tzinfo=UTC), 3) == ["28 04:00", "29 04:00", "30 04:00"]


def test_a_time_that_the_clock_skips_or_shows_twice_runs_once():
    rule = one(crontab(minute=30, hour=2), application(timezone=BERLIN), args=["EWR"]).definition.rule
    spring = next_times(rule, datetime(2026, 3, 28, tzinfo=UTC), 3)
    autumn = next_times(rule, datetime(2026, 10, 24, tzinfo=UTC), 3)
    assert [one.split()[0] for one in spring] == ["28", "29", "30"]
    assert [one.split()[0] for one in autumn] == ["24", "25", "26"]


def test_a_declared_entry_is_stored_and_read_back(tmp_path):
    from jobtrail.schedules.sync import sync

    jobs = JobTrail(f"sqlite:///{tmp_path / 'jobs.db'}")
    jobs.make_ready()
    found = one(crontab(minute=0, hour=3), args=["EWR"], options={"headers": {"a": 1}})
    store = jobs.store
    sync(store, [found], lambda _: False, store.now())
    assert jobs.schedules.get("nightly").definition == found.definition
    assert not sync(store, [found], lambda _: False, store.now())
    jobs.schedules.edit("nightly", queue="slow", priority=2)
    job = jobs.schedules.run_now("nightly")
    detail = jobs.queries.job(job.id)
    assert (detail.task, detail.queue, detail.arguments) == ("load", "celery:slow", {"airport": "EWR"})
    assert job.status == "pending"
    jobs.close()
