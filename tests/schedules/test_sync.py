"""What is declared meets what is stored: only differences are written, and no next time, pause or edit is lost."""

from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone

import pytest
from ticking import NOON, Ticking, at
from trails import count_rows

from jobtrail import JobTrail, Plugin
from jobtrail.errors import Conflict, InvalidArguments, InvalidOption, InvalidSchedule, NotFound, UnknownTask
from jobtrail.schedules.rules.rules import calendar_interval, every


@pytest.fixture
def ticking(make_jobs):
    return Ticking(make_jobs)


def deploy(make_jobs, ticking, *declared, tasks=("work",)):
    """Another version of the program: these schedules of ``work``, as (rule, options)."""
    jobs = make_jobs(clock=ticking.clock)
    bound = {name: jobs.task(name=name)(_work) for name in tasks}
    for rule, options in declared:
        jobs.schedule(rule, **{"name": "s", **options})(bound["work"])
    jobs.schedules.sync()
    return jobs


def _work(ctx, number: int = 0):
    return number


# -- deploys ---------------------------------------------------------------------------------------------


def test_a_restart_writes_nothing_and_keeps_every_next_time(make_jobs):
    ticking = Ticking(make_jobs)
    rules = ["every 1 second", "every 90 minutes", "*/7 * * * *", "0 3 1 * *", calendar_interval(months=1, hour=3)]
    for number, rule in enumerate(rules * 20):
        ticking.jobs.schedule(rule, name=f"s{number}")(ticking.work)
    ticking.jobs.schedules.sync()
    before = {one.name: one.row for one in ticking.jobs.schedules.list()}
    trail = count_rows(ticking.jobs, "events")
    ticking.clock.move(seconds=0.4)
    for _ in range(3):
        assert not ticking.jobs.schedules.sync()
    assert {one.name: one.row for one in ticking.jobs.schedules.list()} == before
    assert count_rows(ticking.jobs, "events") == trail


def test_new_ones_are_added_and_gone_ones_retired_with_their_history(make_jobs, ticking):
    ticking.declare("*/10 * * * *")
    ticking.turn("12:10:01")
    newer = deploy(make_jobs, ticking, ("*/5 * * * *", {"name": "new"}))
    assert {one.name: one.state for one in newer.schedules.list()} == {"new": "active", "s": "retired"}
    assert ticking.ran() == ["12:10"]
    ticking.turn("12:20:01")
    assert ticking.ran() == ["12:10"]
    assert ticking.events()[-1] == "schedule_retired"


def test_a_retired_one_that_comes_back_goes_on_with_its_pause(make_jobs, ticking):
    ticking.declare("*/10 * * * *")
    ticking.jobs.schedules.pause("s", reason="quarter end")
    deploy(make_jobs, ticking)
    back = deploy(make_jobs, ticking, ("*/10 * * * *", {}))
    assert (back.schedules.get("s").state, back.schedules.get("s").next_at) == ("paused", at("12:10"))


def test_a_process_without_the_task_retires_nothing(make_jobs, ticking):
    """It cannot tell what was removed from what it has not loaded (C-61)."""
    ticking.declare("*/10 * * * *")
    deploy(make_jobs, ticking, tasks=("other",))
    assert ticking.get().state == "active"


def test_changed_options_keep_the_next_time_and_the_pause(make_jobs, ticking):
    ticking.declare("every 90 minutes", args={"number": 1})
    ticking.clock.set(at("12:40"))
    ticking.jobs.schedules.pause("s", reason="maintenance", actor="person:eva")
    newer = deploy(make_jobs, ticking, ("every 90 minutes", {"args": {"number": 2}, "grace": 900}))
    found = newer.schedules.get("s")
    assert (found.next_at, found.state, found.row.paused_reason) == (at("13:30"), "paused", "maintenance")
    assert found.definition.args == {"number": 2}


def test_another_rule_counts_on_from_the_last_run(make_jobs, ticking):
    """A weekly interval must come although there is a deploy every day."""
    ticking.declare("every 60 minutes")
    ticking.turn("13:00:01")
    ticking.clock.set(at("13:20"))
    newer = deploy(make_jobs, ticking, ("every 90 minutes", {}))
    assert newer.schedules.get("s").next_at == at("14:30")


def test_a_time_that_came_while_the_program_was_exchanged_is_not_lost(make_jobs, ticking):
    ticking.declare("*/10 * * * *")
    ticking.clock.set(at("12:10:20"))
    newer = deploy(make_jobs, ticking, ("0 * * * *", {}))
    newer.schedules.scheduler().run_once()
    assert ticking.ran() == ["12:10"]
    assert newer.schedules.get("s").next_at == at("13:00")


def test_the_day_that_a_calendar_rule_counts_from_stays(make_jobs):
    ticking = Ticking(make_jobs, start=at("12:00", NOON.replace(month=1, day=31)))
    ticking.declare(calendar_interval(months=1, hour=3))
    deploy(make_jobs, ticking, (calendar_interval(months=1, hour=3), {"grace": 900}))
    days = [moment.day for moment in ticking.jobs.schedules.next("s", 4)]
    assert days == [28, 31, 30, 31]


def test_several_processes_that_start_at_once_store_each_schedule_once(make_jobs, ticking):
    ticking.declare("every 10 seconds")
    for _ in range(3):
        deploy(make_jobs, ticking, ("every 10 seconds", {}))
    assert count_rows(ticking.jobs, "schedules") == 1
    assert ticking.events() == ["schedule_added"]


def test_a_start_with_a_thousand_schedules_is_quick(make_jobs):
    """And one where nothing has changed writes nothing."""
    jobs = make_jobs()
    task = jobs.task(name="work")(_work)
    for number in range(1000):
        rule = ("every 1 second", "*/5 * * * *", "30 2 * * 1-5", "every 7 days", "0 3 1 * *")[number % 5]
        jobs.schedule(rule, name=f"s{number}", args={"number": number}, tz="Europe/Berlin")(task)
    jobs.service.make_ready()
    began = time.process_time()
    jobs.schedules.sync()
    first = time.process_time() - began
    jobs.schedules.sync()
    assert first < 2.0
    assert time.process_time() - began - first < 1.0


# -- what a person changed ---------------------------------------------------------------------------------


def test_an_edit_stays_through_a_deploy_and_shows_as_drift(make_jobs, ticking):
    ticking.declare("0 3 * * *", grace=120)
    ticking.jobs.schedules.edit("s", rule="0 5 * * *", actor="person:eva", reason="the source is late")
    newer = deploy(make_jobs, ticking, ("0 4 * * *", {"grace": 300}))
    found = newer.schedules.get("s")
    assert (found.definition.rule.text, found.definition.grace) == ("0 5 * * *", 300)
    assert set(found.drift.changes) == {"rule"}
    assert (found.drift.changes["rule"][0]["text"], found.drift.by, found.drift.reason) == (
        "0 4 * * *", "person:eva", "the source is late",
    )  # fmt: skip


def test_taking_the_codes_lets_go_of_the_edit(ticking):
    ticking.declare("0 3 * * *")
    ticking.jobs.schedules.edit("s", rule="0 5 * * *")
    found = ticking.jobs.schedules.take_code("s", actor="person:eva")
    assert (found.drift, found.definition.rule.text) == (None, "0 3 * * *")
    assert found.next_at == at("03:00", NOON + timedelta(days=1))
    assert ticking.events()[-1] == "schedule_as_declared"


def test_an_edit_that_the_code_takes_over_is_drift_no_more(make_jobs, ticking):
    ticking.declare("0 3 * * *")
    ticking.jobs.schedules.edit("s", rule="0 5 * * *")
    newer = deploy(make_jobs, ticking, ("0 5 * * *", {}))
    assert newer.schedules.get("s").drift is None


def test_an_edit_back_to_what_is_declared_is_no_drift(ticking):
    ticking.declare("0 3 * * *", grace=120)
    ticking.jobs.schedules.edit("s", grace=900)
    assert ticking.jobs.schedules.edit("s", grace=120).drift is None


def test_what_a_person_had_added_is_his_drift_when_the_code_declares_it(make_jobs, ticking):
    ticking.jobs.schedules.add("s", "work", "0 5 * * *", grace=900, actor="person:eva")
    newer = deploy(make_jobs, ticking, ("0 3 * * *", {}))
    found = newer.schedules.get("s")
    assert found.origin == "code"
    assert (found.definition.rule.text, found.definition.grace) == ("0 5 * * *", 900)
    assert set(found.drift.changes) == {"rule", "grace"}


def test_a_person_s_own_schedule_is_left_alone_by_deploys(make_jobs, ticking):
    ticking.jobs.schedules.add("mine", ticking.work, every(minutes=5), actor="person:eva")
    deploy(make_jobs, ticking)
    assert ticking.get("mine").state == "active"
    assert ticking.jobs.schedules.edit("mine", grace=900).drift is None


def test_a_declared_one_cannot_be_removed_and_a_retired_one_can(make_jobs, ticking):
    ticking.declare("0 3 * * *")
    with pytest.raises(Conflict, match="is declared by the program .code.; remove it there, or pause it"):
        ticking.jobs.schedules.remove("s")
    identity = ticking.get().id
    deploy(make_jobs, ticking)
    ticking.jobs.schedules.remove("s", actor="person:eva", reason="not needed")
    with pytest.raises(NotFound):
        ticking.jobs.schedules.get("s")
    with ticking.jobs.store.read() as conn:
        from jobtrail.store import events

        last = events.of_job(conn, identity)[-1]
    assert (last.name, last.actor, last.reason, last.detail["schedule"]) == (
        "schedule_removed", "person:eva", "not needed", "s",
    )  # fmt: skip


# -- from a table, from Celery ---------------------------------------------------------------------------


def test_schedules_from_a_table_of_settings(ticking):
    ticking.jobs.schedules.from_table(
        [
            {"task": "work", "rule": "0 3 * * *", "tz": "Europe/Moscow", "args": {"number": 5}},
            {"task": "work", "rule": "every 5 minutes", "name": "often", "overlap": "allow"},
        ]
    )
    ticking.jobs.schedules.sync()
    assert {one.name: one.origin for one in ticking.jobs.schedules.list()} == {"work": "settings", "often": "settings"}
    assert ticking.get("work").next_at == at("00:00", NOON + timedelta(days=1))


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ({"task": "work"}, "entry 2 of the table of schedules: an entry needs 'task' and 'rule'"),
        ({"task": "nope", "rule": "0 3 * * *"}, "entry 2 of the table of schedules: no task is called 'nope'"),
        ({"task": "work", "rule": "0 3 * *"}, "entry 2 of the table of schedules: the cron text .* has 4 fields"),
        ({"task": "work", "rule": "0 3 * * *", "args": {"x": 1}}, "entry 2 .*: work.* has no argument 'x'"),
        ("nothing", "entry 2 of the table of schedules: an entry needs 'task' and 'rule'"),
    ],
)
def test_a_wrong_entry_of_a_table_is_named_and_none_is_taken(ticking, entry, sentence):
    with pytest.raises(InvalidSchedule, match=sentence):
        ticking.jobs.schedules.from_table([{"task": "work", "rule": "0 4 * * *"}, entry])
    assert not ticking.jobs.schedules.sync()


def test_a_celery_beat_schedule_moves_over_as_it_is(ticking):
    beat = {
        "every-half-minute": {"task": "shop.tasks.work", "schedule": 30.0, "args": (16,)},
        "nightly": {
            "task": "work", "schedule": timedelta(hours=24), "kwargs": {"number": 2},
            "options": {"queue": "slow", "priority": 9, "expires": 120},
        },
        "off": {"task": "work", "schedule": 5.0, "enabled": False},
    }  # fmt: skip
    ticking.jobs.schedules.from_celery(beat)
    ticking.jobs.schedules.sync()
    assert {one.name for one in ticking.jobs.schedules.list()} == {"every-half-minute", "nightly"}
    nightly = ticking.get("nightly").definition
    assert (nightly.args, nightly.queue, nightly.grace, nightly.catch_up) == ({"number": 2}, "slow", 120.0, "skip")
    ticking.turn("12:00:30")
    assert ticking.jobs.find("task:work")[0].arguments == {"number": 16}


def test_a_beat_entry_whose_task_is_not_there_is_named(ticking):
    with pytest.raises(InvalidSchedule, match="the entry 'n' of the beat schedule: no task is called 'shop.gone'"):
        ticking.jobs.schedules.from_celery({"n": {"task": "shop.gone", "schedule": 30.0}})
    ticking.jobs.schedules.from_celery({"n": {"task": "shop.gone", "schedule": 30.0}}, tasks={"shop.gone": "work"})
    ticking.jobs.schedules.sync()
    assert ticking.get("n").task == "work"


# -- wrong input -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "options", "error", "sentence"),
    [
        ("61 * * * *", {}, InvalidSchedule, "the minute '61'"),
        ("every 0 seconds", {}, InvalidSchedule, "an interval must be at least one second"),
        (timedelta(seconds=-5), {}, InvalidSchedule, "an interval must be at least one second"),
        ("0 3 * * *", {"tz": "Europe/Berlim"}, InvalidSchedule, "did you mean Europe/Berlin"),
        ("0 3 * * *", {"args": {"x": 1}}, InvalidArguments, "work.* has no argument 'x'"),
        ("0 3 * * *", {"args": {"number": object()}}, InvalidArguments, r"\$.number"),
        ("0 3 * * *", {"catch_up": "twice"}, InvalidOption, "catch_up must be one of one, all, skip"),
        ("0 3 * * *", {"overlap": "both"}, InvalidOption, "overlap must be one of skip, queue, cancel_running, allow"),
        ("0 3 * * *", {"window": 0}, InvalidSchedule, "window must be a number of seconds, at least 1"),
        ("0 3 * * *", {"jitter": -1}, InvalidSchedule, "jitter must be a number of seconds, at least 0"),
        ("0 3 * * *", {"max_runs": 0}, InvalidSchedule, "max_runs must be a whole number, at least 1"),
        ("0 3 * * *", {"pause_after_failures": 1.5}, InvalidSchedule, "pause_after_failures must be a whole number"),
        ("0 3 * * *", {"ends_at": "tomorrow"}, InvalidSchedule, "ends_at must be a datetime with a time zone"),
        ("0 3 * * *", {"period": "last month"}, InvalidSchedule, "the period of a schedule must be a rule"),
        ("0 3 * * *", {"priority": 12}, InvalidOption, "priority must be a whole number from 0"),
        ("0 3 * * *", {"if_done": "raise"}, InvalidOption, "if_done must be one of run, skip"),
        ("0 3 * * *", {"name": ""}, InvalidOption, "the name of a schedule must be a printable text"),
        ("0 3 * * *", {"labels": {"k": 5}}, InvalidOption, "the label 'k'"),
        ("0 3 * * *", {"labels": {"k=v": "w"}}, InvalidOption, "a label's key must not contain '='"),
        ("0 3 * * *", {"labels": ["k"]}, InvalidOption, "at most 20 texts by name"),
    ],
)
def test_wrong_input_is_refused_where_it_is_declared(tmp_path, rule, options, error, sentence):
    jobs = JobTrail(f"sqlite:///{tmp_path}/none.db")
    task = jobs.task(name="work")(_work)
    with pytest.raises(error, match=sentence):
        jobs.schedule(rule, **options)(task)
    assert not (tmp_path / "none.db").exists()


def test_two_schedules_of_one_name_are_refused(tmp_path):
    jobs = JobTrail(f"sqlite:///{tmp_path}/none.db")
    task = jobs.schedule("0 3 * * *")(jobs.task(name="work")(_work))
    with pytest.raises(InvalidSchedule, match="two schedules are called 'work'; give one of them another name"):
        jobs.schedule("0 4 * * *")(task)


def test_what_is_added_at_run_time_is_checked_too(ticking):
    schedules = ticking.jobs.schedules
    with pytest.raises(UnknownTask, match="no task is called 'nope'; the tasks are: .*work"):
        schedules.add("n", "nope", "0 3 * * *")
    with pytest.raises(InvalidSchedule, match="would never run: no time of it lies ahead"):
        schedules.add("n", "work", NOON - timedelta(days=1))
    schedules.add("n", "work", "0 3 * * *")
    with pytest.raises(Conflict, match="there is a schedule 'n' already"):
        schedules.add("n", "work", "0 4 * * *")
    with pytest.raises(InvalidArguments):
        schedules.edit("n", args={"x": 1})
    with pytest.raises(InvalidSchedule, match="a schedule has no option 'graze'"):
        schedules.edit("n", graze=5)
    with pytest.raises(InvalidSchedule, match="nothing to edit"):
        schedules.edit("n")
    with pytest.raises(InvalidSchedule, match="until must be a datetime with a time zone, later than now"):
        schedules.pause("n", until=NOON - timedelta(hours=1))
    with pytest.raises(InvalidSchedule, match="before the year 3000"):
        schedules.pause("n", until=datetime(9999, 12, 31, 23, tzinfo=timezone(-timedelta(hours=12))))
    with pytest.raises(Conflict, match="is active and cannot be resumed"):
        schedules.resume("n")
    with pytest.raises(NotFound, match="there is no schedule 'x'"):
        schedules.pause("x")
    assert schedules.get("n").definition.args == {}


def test_a_declared_one_that_no_worker_has_stored_says_so(ticking):
    ticking.jobs.schedule("0 3 * * *", name="later")(ticking.work)
    with pytest.raises(NotFound, match="'later' is declared but not stored yet; a starting worker stores it"):
        ticking.jobs.schedules.get("later")
    assert ticking.jobs.schedules.declared_only() == ["later"]


# -- secrets -----------------------------------------------------------------------------------------------


def test_secrets_among_the_arguments_are_hidden_wherever_they_are_told(make_jobs):
    """Named like one, marked by the task, or inside an address; and a mask that comes back changes nothing."""
    jobs = make_jobs(clock=Ticking(make_jobs).clock)

    @jobs.task(secret={"pin"})
    def call(password: str, pin: int, url: str = "", size: int = 1):
        """Call somebody."""

    known = {"password": "hunter2", "pin": 4711, "url": "https://eva:geheim@host/x"}
    jobs.schedule("0 3 * * *", args=known)(call)
    jobs.schedules.sync()
    jobs.schedules.edit("call", args={"password": "•••", "pin": "•••", "url": "https://eva:***@host/x", "size": 2})
    jobs.schedules.add("mine", "call", "0 4 * * *", args=known)
    found = jobs.schedules.get("call")
    assert found.definition.args == {**known, "size": 2}
    seen = jobs.queries.schedule("call")
    assert seen.definition["args"] == {"password": "•••", "pin": "•••", "url": "https://eva:***@host/x", "size": 2}
    told = [seen, jobs.queries.schedules()]
    told += [event.detail for name in ("call", "mine") for event in jobs.schedules.events(name)]
    for secret in ("hunter2", "4711", "geheim"):
        assert secret not in str(told)
    with pytest.raises(InvalidArguments, match="is masked; give its value"):
        jobs.schedules.edit("mine", args={"password": {"new": "•••"}, "pin": 1})


# -- plug-ins ------------------------------------------------------------------------------------------------


def test_the_schedules_of_a_plug_in_are_stored_and_a_wrong_one_is_left_out_and_told(make_jobs, caplog):
    plugin = Plugin("weather")

    @plugin.schedule("every 6 hours", overlap="queue")
    @plugin.task
    def sync():
        """Sync."""

    @plugin.schedule("every 6 hours", args={"x": 1})
    @plugin.task
    def broken():
        """Its schedule gives it what it does not take."""

    plugin.schedule("every 1 hour")(sync)  # of the same name
    jobs = make_jobs(plugins=[plugin])
    jobs.schedules.sync()
    (found,) = jobs.schedules.list()
    assert (found.origin, found.task, found.definition.overlap) == ("plugin:weather", "weather.sync", "queue")
    assert caplog.text.count("a schedule of the plug-in 'weather' is left out") == 2
