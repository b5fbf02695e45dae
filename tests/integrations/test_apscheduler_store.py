"""The job store keeps what APScheduler's own stores keep, as JSON, and several schedulers fire each planned time once."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta

import aps_functions
import pytest
from apscheduler.job import Job
from apscheduler.jobstores.base import ConflictingIdError, JobLookupError
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.calendarinterval import CalendarIntervalTrigger
from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.date import DateTrigger
from apscheduler.triggers.interval import IntervalTrigger
from together import together
from trails import until

from jobtrail.errors import InvalidArguments, InvalidSchedule
from jobtrail.integrations.apscheduler import JobTrailJobStore, apscheduler_plugin

pytestmark = pytest.mark.both_databases
THEN = datetime(2999, 1, 1, tzinfo=UTC)
SCHEDULER = BackgroundScheduler(timezone="UTC")  # never started: a job asks it for its time zone


def at(*parts):
    return datetime(*parts, tzinfo=UTC)


def made(moment=THEN, *, func="aps_functions:note", paused=False, trigger=None, **options):
    given = {"args": (), "kwargs": {}, "misfire_grace_time": 1, "coalesce": False, "max_instances": 1, "executor": "default"}
    job = Job(SCHEDULER, trigger=trigger or DateTrigger(moment), func=func, **{**given, **options})
    job._modify(next_run_time=None if paused else moment)
    return job


@pytest.fixture
def new_store(make_jobs):
    jobs = make_jobs(plugins=[apscheduler_plugin()])
    jobs.migrate()

    def make(**options):
        store = JobTrailJobStore(make_jobs(plugins=[apscheduler_plugin()]), **options)
        store.start(None, "kept")
        return store

    return make


@pytest.fixture
def store(new_store):
    return new_store()


def ids(jobs):
    return [job.id for job in jobs]


# -- what a job store does ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "func",
    [
        aps_functions.Station.load_all,
        "aps_functions:Station.load_all",
        "aps_functions:station.load",
    ],
)
def test_functions_come_back(store, func):
    store.add_job(made(func=func, id="a", kwargs={"a": 1, "b": 2}))
    job = store.lookup_job("a")
    assert job.func(*job.args, **job.kwargs) == 3


def test_a_job_comes_back_as_it_was_in_another_process(store, new_store):
    trigger = CronTrigger(hour="3,5", day="last", timezone="Europe/Berlin", jitter=3)
    job = made(trigger=trigger, id="a", args=[1, ["x"]], kwargs={"k": None}, name="nightly", max_instances=4, coalesce=True)
    store.add_job(job)
    found = new_store().lookup_job("a")
    assert found == job
    for name in ("name", "func", "func_ref", "max_instances", "coalesce", "misfire_grace_time", "executor", "next_run_time"):
        assert getattr(found, name) == getattr(job, name), name
    assert (list(found.args), found.kwargs) == ([1, ["x"]], {"k": None})
    assert repr(found.trigger) == repr(trigger)
    assert store.lookup_job("b") is None


def test_all_jobs_are_sorted_and_paused_ones_last(store):
    for name, moment, paused in (("c", at(2016, 5, 3), False), ("b", at(2013, 8, 14), False), ("a", at(2013, 7, 11), True)):
        store.add_job(made(moment, id=name, paused=paused))
    assert ids(store.get_all_jobs()) == ["b", "c", "a"]
    assert store.get_next_run_time() == at(2013, 8, 14)


def test_due_jobs_are_those_up_to_now_to_the_microsecond(store):
    for micro in (401, 402, 400):
        store.add_job(made(at(2014, 7, 7, 0, 0, 0, micro), id=str(micro)))
    assert store.get_due_jobs(at(2014, 7, 6)) == []
    assert ids(store.get_due_jobs(at(2014, 7, 7, 0, 0, 0, 401))) == ["400", "401"]
    assert ids(store.get_due_jobs(at(2014, 7, 8))) == ["402"]
    assert store.get_next_run_time() is None


def test_an_id_is_taken_once_and_unknown_ones_are_said(store):
    store.add_job(made(id="a"))
    with pytest.raises(ConflictingIdError):
        store.add_job(made(id="a"))
    for change in (lambda: store.update_job(made(id="b")), lambda: store.remove_job("b")):
        with pytest.raises(JobLookupError):
            change()


def test_a_job_is_replaced_moved_paused_and_removed(store):
    for name in ("a", "b", "c"):
        store.add_job(made(at(2014, 2, 26), id=name))
    store.update_job(made(at(2016, 5, 4), id="a", max_instances=6))
    moved = store.lookup_job("b")
    moved.next_run_time = at(2013, 8, 13)
    store.update_job(moved)
    assert ids(store.get_all_jobs()) == ["b", "c", "a"]
    assert store.lookup_job("a").max_instances == 6
    paused = store.lookup_job("b")
    paused.next_run_time = None
    store.update_job(paused)
    assert store.get_next_run_time() == at(2014, 2, 26)
    store.remove_job("c")
    assert ids(store.get_all_jobs()) == ["a", "b"]
    store.remove_all_jobs()
    assert store.get_all_jobs() == []


def test_only_what_changed_is_written_so_two_changes_both_stay(store, new_store):
    store.add_job(made(id="a", kwargs={"k": 1}, max_instances=1))
    mine, theirs = store.lookup_job("a"), new_store().lookup_job("a")
    theirs.max_instances = 7
    theirs.next_run_time = at(2030, 1, 1)
    store.update_job(theirs)
    mine.name = "renamed"
    store.update_job(mine)
    found = store.lookup_job("a")
    assert (found.name, found.max_instances, found.next_run_time) == ("renamed", 7, at(2030, 1, 1))


def test_a_job_whose_function_is_not_here_stays_for_those_who_have_it(store, monkeypatch):
    store.add_job(made(at(2013, 8, 14), id="gone", func="aps_functions:other"))
    store.add_job(made(at(2014, 2, 26), id="here"))
    monkeypatch.delattr(aps_functions, "other")
    assert ids(store.get_all_jobs()) == ["here"]
    assert store.get_next_run_time() == at(2014, 2, 26)
    monkeypatch.undo()
    assert ids(store.get_all_jobs()) == ["gone", "here"]


def test_stores_of_other_names_are_apart(store, new_store):
    store.add_job(made(id="a"))
    new_store(name="reports").add_job(made(id="a"))
    new_store(name="reports").remove_all_jobs()
    assert ids(store.get_all_jobs()) == ["a"]


# -- what cannot be kept --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "why"),
    [
        ({"func": lambda: None}, InvalidArguments, "no reference"),
        ({"func": aps_functions.station.load, "args": (1, 2)}, InvalidArguments, "method of an object"),
        ({"args": (object(),)}, InvalidArguments, "args"),
        ({"kwargs": {"at": THEN}}, InvalidArguments, "kwargs"),
        ({"trigger": CronTrigger(hour=3, timezone=datetime.strptime("+0330", "%z").tzinfo)}, InvalidSchedule, "no name"),
    ],
)
def test_what_is_not_json_is_refused_before_anything_is_stored(store, options, error, why):
    with pytest.raises(error, match=why):
        store.add_job(made(id="a", **options))
    assert store.lookup_job("a") is None


# -- planned times --------------------------------------------------------------------------------------


def test_a_planned_time_is_given_to_one_scheduler(store, new_store):
    store.add_job(made(at(2024, 1, 1), id="a", trigger=IntervalTrigger(hours=1, start_date=at(2024, 1, 1), timezone="UTC")))
    stores = [new_store() for _ in range(3)]
    seen = [one._read() for one in stores]
    assert [len(one) for one in seen] == [1, 1, 1]
    now = at(2024, 1, 1, 0, 30)
    found = [[(job, version, [at(2024, 1, 1)], at(2024, 1, 1, 1)) for job, version in one] for one in seen]
    claims = [one._jobs.store.write(lambda conn, one=one, given=given: one._claim(given, conn)) for one, given in zip(stores, found, strict=True)]
    assert Counter(map(len, claims)) == {1: 1, 0: 2}
    assert [one.get_due_jobs(now) for one in stores] == [[], [], []]


def test_coalesced_times_are_rows_with_the_reason(store):
    trigger = IntervalTrigger(hours=1, start_date=at(2024, 1, 1), timezone="UTC")
    store.add_job(made(at(2024, 1, 1), id="a", trigger=trigger, coalesce=True))
    [job] = store.get_due_jobs(at(2024, 1, 1, 3, 30))
    assert job._get_run_times(at(2024, 1, 1, 5))[-1] == at(2024, 1, 1, 3)
    assert store.get_next_run_time() == at(2024, 1, 1, 4)
    slots = store._jobs.aps.slots("a")
    assert [(one.planned_at.hour, one.state) for one in slots] == [(3, "submitted"), (2, "missed"), (1, "missed"), (0, "missed")]
    assert {one.reason for one in store._jobs.aps.missed("a")} == {"run together with a later time (coalesce)"}


def test_a_long_outage_is_a_thousand_rows_and_one_for_the_rest(store):
    trigger = IntervalTrigger(seconds=1, start_date=at(2024, 1, 1), timezone="UTC")
    store.add_job(made(at(2024, 1, 1), id="a", trigger=trigger, coalesce=True))
    store.get_due_jobs(at(2024, 1, 1, 1))
    missed = store._jobs.aps.missed("a", limit=5000)
    assert len(missed) == 1001
    assert (missed[-1].planned_at, missed[-1].through) == (at(2024, 1, 1), at(2024, 1, 1, 0, 43, 19))


def test_the_calendar_counts_in_its_own_zone_after_a_restart(store, new_store):
    trigger = CalendarIntervalTrigger(months=1, start_date="2024-01-01", timezone="Asia/Tokyo")
    first = trigger.get_next_fire_time(None, at(2023, 1, 1))
    store.add_job(made(first, id="a", trigger=trigger))
    new_store().get_due_jobs(at(2024, 1, 10))
    assert new_store().get_next_run_time() == trigger.get_next_fire_time(first, first)


# -- real schedulers ------------------------------------------------------------------------------------


def test_a_scheduler_records_what_was_too_late_or_in_the_way(make_jobs):
    jobs = make_jobs(migrate=True)
    aps_functions.release.clear()
    aps_functions.ran.clear()
    scheduler = BackgroundScheduler(timezone="UTC", jobstores={"default": JobTrailJobStore(jobs, poll=0.1)})
    scheduler.start()
    try:
        late = datetime.now(UTC) - timedelta(hours=1)
        scheduler.add_job("aps_functions:note", "date", run_date=late, id="late", misfire_grace_time=1)
        scheduler.add_job("aps_functions:waits", "interval", seconds=0.3, id="waits", max_instances=1)
        until("both are recorded", lambda: {one.schedule for one in jobs.aps.missed()} == {"late", "waits"})
        reasons = {one.schedule: one.reason for one in jobs.aps.missed()}
        assert reasons == {"late": "too late", "waits": "the previous job had not ended"}
        assert aps_functions.ran == [("waits",)]
    finally:
        aps_functions.release.set()
        scheduler.shutdown()


PROGRAM = """
import json, sys, time, types
from datetime import UTC, datetime, timedelta
from apscheduler.schedulers.background import BackgroundScheduler
from jobtrail import JobTrail
from jobtrail.integrations.apscheduler import JobTrailJobStore

fired = []
def fire(number):
    fired.append(number)

sys.modules["fire_program"] = types.ModuleType("fire_program")
sys.modules["fire_program"].fire = fire

url, adds = sys.argv[1], sys.argv[2] == "adds"
jobs = JobTrail(url, migrate=True)
store = JobTrailJobStore(jobs, poll=0.05)
scheduler = BackgroundScheduler(timezone="UTC", jobstores={"default": store}, job_defaults={"misfire_grace_time": None, "coalesce": False})
print("ready", flush=True)
sys.stdin.readline()
scheduler.start()
if adds:
    start = datetime.now(UTC) + timedelta(seconds=0.4)
    times = {"start_date": start, "end_date": start + timedelta(seconds=0.95), "seconds": 0.1}
    for number in range(6):
        scheduler.add_job("fire_program:fire", "interval", args=[number], id=str(number), max_instances=20, **times)
end = time.monotonic() + 30
while time.monotonic() < end and len(jobs.aps.slots(limit=100)) < 60:
    time.sleep(0.05)
scheduler.shutdown()
print(json.dumps(fired))
"""


def test_two_processes_on_one_store_fire_each_time_once(make_jobs, url):
    make_jobs(plugins=[apscheduler_plugin()]).migrate()
    told = together(PROGRAM, [url, "adds"], [url, "looks"])
    fired = [json.loads(one.splitlines()[-1]) for one in told]
    assert Counter(fired[0] + fired[1]) == dict.fromkeys(range(6), 10)
    assert all(fired), "one of them fired nothing, so it did not see what the other had added"
