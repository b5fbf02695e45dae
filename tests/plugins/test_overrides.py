"""Settings and task options that are set from outside the program: by `jobtrail.toml` and by variables."""

from __future__ import annotations

import logging
from contextlib import closing
from dataclasses import fields

import pytest
from trails import event, until

from jobtrail import InvalidOption, JobTrail, Limit, Plugin, Retry, RetryableError
from jobtrail.commands.job_fields import stored_row
from jobtrail.job.task import Task
from jobtrail.overrides import FIXED, OPTIONS, spelled
from jobtrail.testing import drain

AT_ONCE = {"attempts": 2, "wait": {"kind": "fixed", "seconds": 0}}


@pytest.fixture
def toml(tmp_path):
    """Write a `jobtrail.toml` and give its path."""

    def write(text):
        path = tmp_path / "jobtrail.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def weather(**options):
    plugin = Plugin("weather", options={"timeout": 60, "retry": Retry(attempts=3, never=(KeyError,)), **options})
    plugin.task(name="sync")(lambda: None)
    return plugin


# -- the file ----------------------------------------------------------------------------------------


def test_the_file_overrides_what_a_plugin_says_about_its_tasks(toml, lonely):
    path = toml("""
        [settings]
        slots = 3
        keep_completed = "none"

        [tasks."weather.sync"]
        retry = {attempts = 5}
        timeout = "none"
        queue = "slow"
        on_interrupt = "hold"
        priority = 1
    """)
    jobs = JobTrail(lonely, plugins=[weather()], config=path)
    task = jobs.tasks.get("weather.sync")
    assert (task.timeout, task.queue, task.on_interrupt, task.priority) == (None, "slow", "hold", 1)
    assert (jobs.settings.slots, jobs.settings.keep_completed) == (3, None)
    assert {one.option: (one.was, one.value) for one in jobs.overrides.done["weather.sync"]} == {
        "retry": ({"attempts": 3}, {"attempts": 5}),
        "timeout": (60.0, None),
        "queue": ("default", "slow"),
        "on_interrupt": ("requeue", "hold"),
        "priority": (5, 1),
    }
    assert jobs.overrides.done["weather.sync"][0].by == f'{path}, tasks."weather.sync".retry'


def test_which_errors_are_tried_again_stays_the_program_s(toml, lonely):
    path = toml("""
        [tasks."weather.sync".retry]
        attempts = "none"
        max_delay = 60
        wait = {kind = "exponential", base = 2, jitter = false}
    """)
    policy = JobTrail(lonely, plugins=[weather()], config=path).tasks.get("weather.sync").retry
    assert (policy.attempts, policy.max_delay, policy.never) == (None, 60.0, (KeyError,))
    assert policy.delay(2) == (4.0, None)
    path = toml('[tasks."weather.sync"]\nretry = {wait = 7}')
    policy = JobTrail(lonely, plugins=[weather()], config=path).tasks.get("weather.sync").retry
    assert (policy.attempts, policy.delay(1)) == (3, (7.0, None))


def test_the_program_s_own_tasks_are_overridden_too_and_what_was_submitted_goes_by_it(toml, make_jobs):
    path = toml('[tasks.load]\nqueue = "slow"\nretry = 4\npriority = 2')
    jobs = make_jobs(config=path)
    load = jobs.task(name="load", timeout=9)(lambda: None)
    row = stored_row(load.enqueue())
    assert (row.queue, row.max_attempts, row.priority, load.task.timeout) == ("slow", 4, 2, 9.0)


def test_an_option_that_middleware_reads_can_be_set_from_outside(toml, make_jobs):
    seen = []

    async def limited(run, call_next):
        seen.append(run.task.options)
        return await call_next(run)

    limited.options = ("tenant_limit", "mode")
    jobs = make_jobs(config=toml('[tasks.load]\ntenant_limit = 5\n[tasks."weather.sync"]\nmode = "mild"'),
                     middleware=[limited], plugins=[weather()])  # fmt: skip
    jobs.task(name="load", tenant_limit=3, mode="wild")(lambda: None).enqueue()
    jobs.task_named("weather.sync").enqueue()
    drain(jobs, slots=1)
    assert seen == [{"tenant_limit": 5, "mode": "wild"}, {"mode": "mild"}]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[setting]\nslots = 5", "has the table 'setting'; only the tables settings, tasks, plugins"),
        ("settings = 5", "settings must be a table; it is 5"),
        ("[settings]\nslots = 0", "settings.slots: the setting slots must be a number above 0; it is 0"),
        ("[settings]\nslot = 5", "settings.slot: there is no setting 'slot'"),
        ("[tasks]\nsync = 5", 'tasks."sync" must be a table; it is 5'),
        ('[tasks."weather.sync"]\ntimeout = "soon"', 'tasks."weather.sync".timeout: timeout must be a number of seconds'),
        ('[tasks."x.y"]\ntimeout = -1', 'tasks."x.y".timeout: timeout must be a number of seconds'),
        ('[tasks."x.y"]\nretry = {atempts = 3}', "retry has no 'atempts'; it may have: attempts, failed_items, max_delay"),
        ('[tasks."x.y"]\nretry = {wait = "long"}', "retry wait must be a number"),
        ('[tasks."x.y"]\nretry = {wait = {kind = "fixed"}}', "needs seconds"),
        ('[tasks."x.y"]\nretry = {wait = {kind = "exponential", jitter = "no"}}', "jitter must be true or false"),
        ('[tasks."x.y"]\nretry = {wait = {kind = "exponential", bas = 1}}', "retry wait has no 'bas'"),
        ('[tasks."x.y"]\nretry = "often"', "retry attempts must be a whole number"),
        ('[tasks."x.y"]\nretry = {on_partial = 1}', "on_partial must be True or False"),
        ('[tasks."x.y"]\non_interrupt = "explode"', "on_interrupt must be one of requeue, fail, hold"),
        ('[tasks."x.y"]\nqueue = "none\\n"', "queue must be a printable text"),
        ('[tasks."x.y"]\nzone = "Mars/North"', "zone must be the name of a time zone"),
        ('[tasks."x.y"]\nkind = 5', "kind must be a printable text"),
        ('[tasks."x.y"]\nmax_failed_items = 1.5', "max_failed_items must be"),
        ('[tasks."x.y"]\nmiddleware = ["x"]', "the option 'middleware' of a task can be set in the program only"),
        ('[tasks."x.y"]\nsecret = []', "the option 'secret' of a task can be set in the program only"),
        ("[tasks.weather.sync]\ntimeout = 5", 'quote a task name that has a dot: [tasks."weather.sync"]'),
        ("[tasks", "is not TOML"),
    ],
)
def test_a_wrong_name_or_value_is_refused_at_once_with_file_and_key(toml, lonely, text, words):
    path = toml(text)
    with pytest.raises(InvalidOption) as refused:
        JobTrail(lonely, config=path)
    assert words in str(refused.value)
    assert str(path) in str(refused.value)


def test_an_option_that_nobody_reads_is_refused_when_the_task_is_known(toml, lonely):
    path = toml("[tasks.load]\ntiemout = 5")
    with pytest.raises(InvalidOption) as refused:
        JobTrail(lonely, config=path).task(name="load")(lambda: None)
    assert f"{path}, tasks.\"load\".tiemout: the task 'load' has no option 'tiemout'; the options are: " in str(refused.value)


def test_options_that_do_not_go_together_are_refused_with_the_place(toml, lonely):
    path = toml('[tasks.load]\nmemory_limit = "512MB"')
    with pytest.raises(InvalidOption, match=r'tasks\."load"\.memory_limit: .*add executor='):
        JobTrail(lonely, config=path).task(name="load")(lambda: None)


def test_a_wrong_setting_for_a_found_plugin_is_the_operator_s_mistake_and_is_not_passed_over(toml, lonely, install):
    install("weather", "from jobtrail import Plugin\nplugin = Plugin('weather')\nplugin.task(name='sync')(lambda: None)")
    jobs = JobTrail(lonely, config=toml('[tasks."weather.sync"]\ntiemout = 5'))
    for _ in range(2):
        with pytest.raises(InvalidOption, match="tiemout"):
            jobs.worker()
        assert jobs._tasks.all() == []


def test_a_file_that_is_named_and_not_there_is_refused(tmp_path, lonely, monkeypatch):
    with pytest.raises(InvalidOption, match="config names .*nowhere.toml, which cannot be read: No such file"):
        JobTrail(lonely, config=tmp_path / "nowhere.toml")
    monkeypatch.setenv("JOBTRAIL_CONFIG", "nowhere.toml")
    with pytest.raises(InvalidOption, match="JOBTRAIL_CONFIG names nowhere.toml, which cannot be read"):
        JobTrail(lonely)


def test_the_variable_names_the_file_and_none_reads_nothing(toml, lonely, monkeypatch):
    monkeypatch.setenv("JOBTRAIL_CONFIG", str(toml("[settings]\nslots = 3")))
    monkeypatch.setenv("JOBTRAIL_TASK__LOAD__TIMEOUT", "5")
    by_variable, without = JobTrail(lonely), JobTrail(lonely, config=None)
    tasks = [jobs.task(name="load")(lambda: None).task for jobs in (by_variable, without)]
    assert [jobs.settings.slots for jobs in (by_variable, without)] == [3, 20]
    assert [task.timeout for task in tasks] == [5.0, None]


def test_a_file_in_the_working_directory_is_not_read_by_a_program(toml, lonely, monkeypatch, tmp_path):
    toml("[settings]\nslots = 3")
    monkeypatch.chdir(tmp_path)
    assert JobTrail(lonely).settings.slots == 20


def test_what_is_said_of_a_task_that_there_is_not_is_warned_of(toml, make_jobs, monkeypatch, caplog):
    monkeypatch.setenv("JOBTRAIL_TASK__LOST__TIMEOUT", "5")
    path = toml('[tasks."wether.sync"]\ntimeout = 5\n[tasks.fetch]\ntimeout = 5\n[tasks.load]\ntimeout = 5')
    jobs = make_jobs(config=path)
    jobs.task(name="load", aliases=["fetch"])(lambda: None)
    told = [
        f'{path}: no registered task has the name "wether.sync"',
        f'{path}: the task "fetch" is now called "load"',
        "JOBTRAIL_TASK__LOST__TIMEOUT: no registered task has this name",
    ]
    jobs.overrides = JobTrail("sqlite:///x.db", config=path).overrides
    assert [str(one) for one in jobs.overrides.unknown(jobs.tasks.find)] == told
    with caplog.at_level(logging.WARNING, "jobtrail.settings"):
        jobs.worker()
    assert [one.getMessage() for one in caplog.records] == told


# -- variables ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "variable"),
    [
        ("weather.sync", "WEATHER_SYNC"),
        ("my-task", "MY_TASK"),
        ("a__b", "A_B"),
        ("größe", "GR_SSE"),
        ("_x_", "X"),
    ],
)
def test_how_a_task_is_spelled(task, variable):
    assert spelled(task) == variable


def test_variables_override_the_file(toml, lonely, monkeypatch):
    path = toml('[tasks."weather.sync"]\ntimeout = 5\nqueue = "slow"\nretry = {attempts = 9, max_delay = 50}')
    for name, value in {
        "TIMEOUT": "6.5",
        "RETRY__ATTEMPTS": "7",
        "MAX_FAILED_ITEMS": "0.5",
        "ON_INTERRUPT": "hold",
        "KIND": '"sync"',
        "STALL_TIMEOUT": "none",
    }.items():
        monkeypatch.setenv(f"JOBTRAIL_TASK__WEATHER_SYNC__{name}", value)
    jobs = JobTrail(lonely, plugins=[weather(stall_timeout=9)], config=path)
    task = jobs.tasks.get("weather.sync")
    assert (task.timeout, task.queue, task.on_interrupt, task.kind) == (6.5, "slow", "hold", "sync")
    assert (task.retry.attempts, task.retry.max_delay, task.max_failed_items.share) == (7, 50.0, 0.5)
    assert task.stall_timeout is None
    assert {one.option: one.by for one in jobs.overrides.done["weather.sync"]}["timeout"].endswith("WEATHER_SYNC__TIMEOUT")


def test_a_whole_policy_and_its_parts(lonely, monkeypatch):
    monkeypatch.setenv("JOBTRAIL_TASK__WEATHER_SYNC__RETRY", "{attempts = 4, wait = 2}")
    monkeypatch.setenv("JOBTRAIL_TASK__WEATHER_SYNC__RETRY__ON_PARTIAL", "true")
    policy = JobTrail(lonely, plugins=[weather()]).tasks.get("weather.sync").retry
    assert (policy.attempts, policy.wait, policy.on_partial) == (4, 2.0, True)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("WEATHER_SYNC", "5", "is not of the form JOBTRAIL_TASK__<TASK>__<OPTION>"),
        ("WEATHER_SYNC__TIMEOUT__NOW", "5", "is not of the form"),
        ("__TIMEOUT", "5", "is not of the form"),
        ("WEATHER_SYNC__TIMEOUT", "soon", "timeout must be a number of seconds"),
        ("WEATHER_SYNC__TIMEOUT", "5\nslots = 3", "timeout must be a number of seconds"),
        ("WEATHER_SYNC__RETRY__ATEMPTS", "5", "retry has no 'atempts'"),
        ("WEATHER_SYNC__NAME", "other", "the option 'name' of a task can be set in the program only"),
        ("WEATHER_SYNC__TIEMOUT", "5", "the task 'weather.sync' has no option 'tiemout'"),
    ],
)
def test_a_wrong_variable_is_refused_by_its_name(lonely, monkeypatch, name, value, words):
    monkeypatch.setenv(f"JOBTRAIL_TASK__{name}", value)
    with pytest.raises(InvalidOption) as refused:
        JobTrail(lonely, plugins=[weather()])
    assert words in str(refused.value)
    assert str(refused.value).startswith(f"JOBTRAIL_TASK__{name}")


def test_a_variable_that_may_mean_two_tasks_is_refused(lonely, monkeypatch):
    monkeypatch.setenv("JOBTRAIL_TASK__WEATHER_SYNC__TIMEOUT", "5")
    jobs = JobTrail(lonely, plugins=[weather()])
    with pytest.raises(InvalidOption, match=r"may mean the task 'weather\.sync' or the task 'weather_sync'"):
        jobs.task(name="weather_sync")(lambda: None)


def test_every_option_is_either_the_program_s_alone_or_can_be_set():
    assert {f.name for f in fields(Task) if f.init} == FIXED | set(OPTIONS)


# -- what a run goes by ------------------------------------------------------------------------------


def test_a_run_goes_by_what_is_set_from_outside(toml, make_jobs):
    """Attempts from the submission, the wait from the policy, the limit of items: in this process and in one of its own."""
    import process_tasks

    path = toml("""
        [tasks.fails]
        retry = {attempts = 2, wait = 0}
        [tasks.loop]
        max_failed_items = 1
    """)
    jobs = make_jobs(config=path)

    @jobs.task(retry=Retry(wait=600))
    def fails(ctx):
        if ctx.attempt == 1:
            raise RetryableError
        return ctx.attempt

    job = fails.enqueue()
    drain(jobs)
    until("it has ended", lambda: (drain(jobs), job.refresh().status == "completed")[1])
    assert (job.result(), event(job, "retry_planned").name) == (2, "retry_planned")
    declared = process_tasks.app.tasks.get("loop")
    jobs._tasks.add(jobs.overrides.applied(declared))
    looped = jobs.task_named("loop").enqueue(count=10, bad=[2, 4, 6, 8])
    drain(jobs)
    assert looped.refresh().status == "failed"
    assert looped.item_counts()["failed"] == 2


def test_a_process_of_its_own_goes_by_the_policy_from_outside(toml, make_jobs, install, monkeypatch):
    site = install(
        "weather",
        """
        from jobtrail import Plugin, Retry
        plugin = Plugin("weather", options={"executor": "process", "retry": Retry(wait=600, never=(KeyError,))})

        @plugin.task
        def sync(ctx, *, bad: bool = False):
            if bad:
                raise KeyError("never tried again")
            if ctx.attempt == 1:
                raise ValueError
            ctx.schedule_next("weather.after", {"n": ctx.attempt})
            return ctx.attempt

        @plugin.task
        def after(*, n: int):
            return n
        """,
    )
    monkeypatch.setenv("PYTHONPATH", str(site))
    jobs = make_jobs(config=toml('[tasks."weather.sync"]\nretry = {attempts = 2, wait = 0}'))
    good, bad = (jobs.task_named("weather.sync").enqueue(bad=bad) for bad in (False, True))
    drain(jobs, delayed=True)
    assert (good.result(), bad.refresh().status, bad.attempt) == (2, "failed", 1)
    (after,) = jobs.find("task:weather.after")
    assert after.result() == 2


# -- one precedence ----------------------------------------------------------------------------------


def test_the_environment_wins_over_the_file_that_over_the_program_and_that_over_the_default(toml, lonely, monkeypatch):
    """In a program as in a command: the variable had been read by commands alone."""
    path = toml("[settings]\nslots = 3\npoll_interval = 0.5")
    monkeypatch.setenv("JOBTRAIL_SLOTS", "4")
    settings = JobTrail(lonely, config=path, slots=2, poll_interval=0.2, flush_interval=0.1).settings
    assert (settings.slots, settings.poll_interval, settings.flush_interval, settings.beat_interval) == (4, 0.5, 0.1, 5.0)
    assert JobTrail(lonely, config=None, slots=2).settings.slots == 2


def test_a_variable_is_read_as_its_settings_type(lonely, monkeypatch):
    for name, text in (("KEEP_COMPLETED", "none"), ("KEEP_FAILED", "7.5"), ("END_BLOCKED", "yes"), ("MIGRATE", "false")):
        monkeypatch.setenv(f"JOBTRAIL_{name}", text)
    settings = JobTrail(lonely).settings
    assert (settings.keep_completed, settings.keep_failed, settings.end_blocked, settings.migrate) == (None, 7.5, True, False)


@pytest.mark.parametrize(
    ("text", "words"),
    [("many", "JOBTRAIL_SLOTS has the value 'many', which is not of type int"), ("0", "JOBTRAIL_SLOTS: the setting slots must be")],
)
def test_a_wrong_variable_is_refused_by_name(lonely, monkeypatch, text, words):
    monkeypatch.setenv("JOBTRAIL_SLOTS", text)
    with pytest.raises(InvalidOption) as refused:
        JobTrail(lonely)
    assert words in str(refused.value)


# -- limits ------------------------------------------------------------------------------------------


def test_a_limit_from_outside_has_other_numbers_and_is_given_to_other_tasks(toml, lonely):
    path = toml("""
        [limits.partner-api]
        rate = 10
        per = 2

        [limits."source:{source}"]
        running = 3
        tasks = ["load"]
    """)
    with closing(JobTrail(lonely, plugins=[], config=path)) as jobs:
        jobs.task(name="send", limits=[Limit("partner-api", rate=1)])(lambda: None)
        jobs.task(name="load")(lambda: None)
        assert jobs.tasks.get("send").limits == (Limit("partner-api", rate=10, per=2),)
        assert jobs.tasks.get("load").limits == (Limit("source:{source}", running=3),)
        jobs.task_named("load").using(source="ftp").enqueue()
        (line, _) = jobs.queries.limits().limits[::-1]
        assert (line.name, line.now.running, [one.key for one in line.keys]) == ("source:{source}", 3, ["source:ftp"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("running = 0", r"limits.a: .*running must be a whole number from 1"),
        ("burst = 3", r"limits.a: .*'burst'"),
        ("tasks = '*'", "allows any number"),
        ("running = 1\ntasks = 5", "tasks must be a name"),
    ],
)
def test_a_limit_from_outside_that_cannot_be_is_refused_with_its_place(toml, lonely, text, said):
    with pytest.raises(InvalidOption, match=said):
        JobTrail(lonely, plugins=[], config=toml(f"[limits.a]\n{text}\n"))
