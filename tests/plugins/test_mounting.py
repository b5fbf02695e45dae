"""Plug-ins in an application: found or handed in, under their own names, and left out with a reason when they are broken."""

from __future__ import annotations

import logging
import sys
import threading
from pathlib import Path

import pytest

from jobtrail import InvalidOption, JobTrail, Plugin, UsageError
from jobtrail.plugins import registry
from jobtrail.plugins.running import application
from jobtrail.testing import drain

GOOD = """
    from jobtrail import Plugin
    plugin = Plugin("weather", about="Weather.")

    @plugin.schedule("0 6 * * *", zone="Europe/Vienna")
    @plugin.task(retry=2)
    def sync(ctx, *, airport: str = "EWR"):
        return airport

    plugin.channel("sms")(print)
    plugin.route("/stations", role="viewer")(print)

    @plugin.command("go")
    def go(jobs):
        return 7
"""


def weather():
    plugin = Plugin("weather", version="1.0")

    @plugin.task
    def sync(ctx, *, airport: str = "EWR"):
        return [airport, ctx.attempt]

    return plugin


# -- found -------------------------------------------------------------------------------------------


def test_an_installed_plugin_is_found_and_its_tasks_run(install, make_jobs):
    install("weather", GOOD)
    jobs = make_jobs()
    job = jobs.task_named("weather.sync").enqueue(airport="JFK")
    drain(jobs)
    assert job.result() == "JFK"
    one = jobs.plugins["weather"]
    assert (one.version, one.package, list(jobs.plugins), jobs.plugins.broken) == ("2.5", "jobtrail-weather", ["weather"], ())
    assert [(p, t, r, dict(o)) for p, t, r, o in jobs.plugins.schedules()] == [
        ("weather", "weather.sync", "0 6 * * *", {"zone": "Europe/Vienna"})
    ]
    assert [name for name, _ in jobs.plugins.channels()] == ["weather.sms"]
    assert [(name, route.path, route.role) for name, route in jobs.plugins.routes()] == [("weather", "/stations", "viewer")]
    assert [(name, command.name) for name, command in jobs.plugins.commands()] == [("weather", "go")]


def test_plugins_are_looked_for_at_the_first_use_and_not_by_a_program_that_only_submits(make_jobs, monkeypatch):
    looked = []
    monkeypatch.setattr(registry, "installed", lambda: looked.append(1) or [])
    jobs = make_jobs()

    @jobs.task
    def own():
        pass

    own.enqueue()
    assert looked == []
    assert (jobs.tasks.find("nobody"), len(jobs.plugins), looked) == (None, 0, [1])


def test_with_an_empty_list_no_plugin_is_looked_for(install, make_jobs):
    install("weather", GOOD)
    jobs = make_jobs(plugins=())
    assert (len(jobs.plugins), jobs.tasks.find("weather.sync")) == (0, None)


# -- handed in ---------------------------------------------------------------------------------------


def test_one_object_may_be_in_two_applications_that_know_nothing_of_each_other(make_jobs):
    plugin = weather()
    one, two = make_jobs(plugins=[plugin]), make_jobs(plugins=[plugin], config=None)
    one.state.word, two.state.word = "one", "two"
    first = one.task_named("weather.sync").enqueue(airport="AAA")
    drain(two)
    assert first.result() == ["AAA", 1]
    assert one.plugins["weather"].plugin is two.plugins["weather"].plugin
    assert one.tasks is not two.tasks


def test_what_is_handed_in_comes_before_what_is_found(install, make_jobs):
    install("weather", GOOD)
    jobs = make_jobs(plugins=["auto", weather()])
    assert jobs.plugins["weather"].package is None
    (broken,) = jobs.plugins.broken
    assert (broken.name, broken.package, broken.reason) == (
        "weather",
        "jobtrail-weather",
        "another plug-in is called 'weather' already",
    )


@pytest.mark.parametrize(
    ("plugins", "words"),
    [
        ([5], "5 is of type int, not a Plugin"),
        (["weather"], "'weather' is of type str, not a Plugin"),
        (5, "plugins must be 'auto', a list of plug-ins, or"),
        (None, "plugins must be 'auto', a list of plug-ins, or"),
    ],
)
def test_something_else_that_is_handed_in_is_the_program_s_own_mistake(lonely, plugins, words):
    with pytest.raises(InvalidOption, match=words):
        JobTrail(lonely, plugins=plugins)


def test_two_of_one_name_that_are_handed_in_are_the_program_s_own_mistake(lonely):
    with pytest.raises(InvalidOption, match="another plug-in is called 'weather' already"):
        JobTrail(lonely, plugins=[weather(), weather()])


def test_a_task_of_the_application_with_the_name_of_a_handed_in_plugin_s_is_refused(make_jobs):
    jobs = make_jobs(plugins=[weather()])
    with pytest.raises(InvalidOption, match=r"two tasks are called 'weather\.sync'"):
        jobs.task(name="weather.sync")(lambda: None)


def test_what_follows_is_named_through_the_application_too(make_jobs):
    """Else it would go by what the plug-in says, whatever was set from outside, and also where it is not mounted."""
    plugin = weather()
    sync = plugin.tasks["sync"]
    jobs = make_jobs(plugins=[plugin])
    own = jobs.task(name="own")(lambda: None)
    job = own.enqueue()
    for follow in (lambda: own.then(sync), lambda: job.then(sync), lambda: jobs.group([(own, {})], then=sync)):
        with pytest.raises(UsageError, match=r"through the application: jobs\.task_named\('weather\.sync'\)"):
            follow()
    assert len(jobs.find()) == 1
    own.then(jobs.task_named("weather.sync")).enqueue()
    drain(jobs)
    assert [one.status for one in jobs.find("task:weather.sync")] == ["completed"]


def test_a_body_names_its_own_plugin_s_task_and_gets_the_application_s(make_jobs, monkeypatch):
    monkeypatch.setenv("JOBTRAIL_TASK__WEATHER_AFTER__PRIORITY", "1")
    plugin = Plugin("weather")
    after = plugin.task(name="after")(lambda: None)

    @plugin.task
    def sync(ctx):
        ctx.schedule_next(after)

    jobs = make_jobs(plugins=[plugin])
    jobs.task_named("weather.sync").enqueue()
    drain(jobs)
    (job,) = jobs.find("task:weather.after")
    assert (job.status, job.priority) == ("completed", 1)


# -- broken ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import no_such_module_at_all", "ModuleNotFoundError: No module named 'no_such_module_at_all'"),
        ("raise SystemExit(3)", "it calls exit (3) when it is imported"),
        ("raise BaseException('gone')", "BaseException: gone"),
        ("def broken(:", "SyntaxError: "),
        ("plugin = {}", "{} is of type dict, not a Plugin"),
        ("other = 1", "AttributeError: "),
        ("from jobtrail import Plugin\nplugin = Plugin('Bad Name')", "the name of a plug-in must be"),
        ("from jobtrail import Plugin\nplugin = Plugin('other')", "its entry point is called 'weather' and the plug-in 'other'"),
        (
            "from jobtrail import Plugin\nplugin = Plugin('weather')\nplugin.task(queue=5)(lambda: None)",
            "queue must be a printable text",
        ),
        ("class E(Exception):\n    def __str__(self): 1 / 0\nraise E", "E"),
    ],
)
def test_a_broken_plugin_is_told_with_its_name_and_takes_nothing_down(install, make_jobs, caplog, source, reason):
    install("weather", source)
    install("good", GOOD.replace('"weather"', '"good"'))
    jobs = make_jobs()

    @jobs.task
    def own():
        return "ran"

    job = own.enqueue()
    with caplog.at_level(logging.WARNING, "jobtrail.plugins"):
        drain(jobs)
    assert job.result() == "ran"
    (broken,) = jobs.plugins.broken
    assert (broken.name, broken.package) == ("weather", "jobtrail-weather")
    assert reason in broken.reason
    assert list(jobs.plugins) == ["good"]
    (told,) = [one.getMessage() for one in caplog.records if one.name == "jobtrail.plugins"]
    assert told.startswith("the plug-in 'weather' (package jobtrail-weather) is left out: ")


def test_a_user_s_ctrl_c_during_the_import_is_no_broken_plugin(install, make_jobs):
    install("weather", "raise KeyboardInterrupt")
    jobs = make_jobs()
    with pytest.raises(KeyboardInterrupt):
        jobs.plugins.load()


def test_the_first_of_two_packages_that_claim_one_name_is_used_whatever_the_order_on_the_path(install, make_jobs):
    install("weather", GOOD, package="z-weather")
    install("weather", GOOD, package="a-weather")
    jobs = make_jobs()
    (broken,) = jobs.plugins.broken
    assert (jobs.plugins["weather"].package, broken.package) == ("a-weather", "z-weather")
    assert broken.reason == "another plug-in is called 'weather' already (package a-weather)"


def test_a_plugin_whose_task_has_a_name_of_the_application_s_is_left_out_whole(install, make_jobs):
    install("weather", GOOD + "\n    plugin.task(name='zzz')(lambda: None)\n")
    jobs = make_jobs()
    own = jobs.task(name="weather.zzz")(lambda: "own")
    assert jobs.tasks.find("weather.zzz") is own.task
    assert jobs.tasks.find("weather.sync") is None
    assert "two tasks are called 'weather.zzz'" in jobs.plugins.broken[0].reason


def test_and_also_when_the_application_s_task_comes_after_the_first_look(install, make_jobs):
    install("weather", GOOD)
    jobs = make_jobs()
    assert list(jobs.plugins) == ["weather"]
    own = jobs.task(name="weather.sync")(lambda: "own")
    assert jobs.tasks.find("weather.sync") is own.task
    (broken,) = jobs.plugins.broken
    assert (list(jobs.plugins), broken.reason) == ([], "the application has a task 'weather.sync' of its own")


def test_metadata_that_nobody_can_read_takes_nothing_down(install, make_jobs, monkeypatch):
    import importlib.metadata

    def fail(**_):
        raise ValueError("invalid metadata")

    monkeypatch.setattr(importlib.metadata, "entry_points", fail)
    jobs = make_jobs()
    assert jobs.plugins.broken[0].reason == "ValueError: invalid metadata"


def test_a_plugin_that_asks_at_its_import_gets_what_there_is(install, make_jobs):
    """No endless look, no waiting for oneself."""
    jobs = make_jobs()
    sys.modules["the_application"] = type(sys)("the_application")
    sys.modules["the_application"].jobs = jobs
    install("weather", GOOD + "\n    from the_application import jobs\n    seen = list(jobs.plugins)\n")
    assert list(jobs.plugins) == ["weather"]
    assert sys.modules["jobtrail_weather"].seen == []
    del sys.modules["the_application"]


def test_many_threads_that_ask_at_once_get_the_same(install, make_jobs):
    install("weather", "import time; time.sleep(0.2)\n" + __import__("textwrap").dedent(GOOD))
    jobs, got = make_jobs(), []
    threads = [threading.Thread(target=lambda: got.append(jobs.tasks.find("weather.sync"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(one) for one in got}) == 1
    assert got[0] is not None


# -- middleware --------------------------------------------------------------------------------------


def noting(calls, name):
    async def middleware(run, call_next):
        calls.append((name, run.task.name))
        return await call_next(run)

    return middleware


def test_middleware_of_a_plugin_is_around_its_own_tasks_or_if_it_says_so_around_all(make_jobs):
    calls, plugin = [], Plugin("weather")
    plugin.middleware(noting(calls, "own"))
    plugin.middleware(scope="application")(noting(calls, "wide"))
    plugin.task(name="sync", middleware=[noting(calls, "task")])(lambda: None)
    jobs = make_jobs(plugins=[plugin], middleware=[noting(calls, "application")])
    other = jobs.task(name="other")(lambda: None)
    jobs.task_named("weather.sync").enqueue()
    drain(jobs)
    assert [name for name, _ in calls] == ["application", "wide", "own", "task"]
    calls.clear()
    other.enqueue()
    drain(jobs)
    assert [name for name, _ in calls] == ["application", "wide"]


def test_an_option_that_an_installed_plugin_reads_may_be_given_to_a_task_of_the_application(install, make_jobs):
    install(
        "limits",
        """
        from jobtrail import Plugin
        plugin = Plugin("limits")
        seen = []

        @plugin.middleware(scope="application", options=["tenant_limit"])
        async def limited(run, call_next):
            seen.append(run.task.options.get("tenant_limit"))
            return await call_next(run)
        """,
    )
    jobs = make_jobs()
    task = jobs.task(name="load", tenant_limit=3)(lambda: None)
    with pytest.raises(InvalidOption, match="tenant_limt"):
        jobs.task(tenant_limt=3)(lambda: None)
    task.enqueue()
    drain(jobs)
    assert sys.modules["jobtrail_limits"].seen == [3]


def test_a_task_of_a_plugin_runs_in_a_process_of_its_own(install, make_jobs, monkeypatch):
    """The child finds it in its module, with the plug-in's own options, and without an application."""
    site = install(
        "heavy",
        """
        import os
        from jobtrail import Plugin
        plugin = Plugin("heavy", options={"executor": "process", "max_failed_items": 1})

        @plugin.task
        def crunch(ctx, *, count: int):
            for item in ctx.items(range(count)):
                with item:
                    if item.value:
                        raise ValueError(item.value)
            return {"pid": os.getpid(), "word": getattr(ctx.state, "word", None)}
        """,
    )
    monkeypatch.setenv("PYTHONPATH", str(site))
    jobs = make_jobs()
    task = jobs.task_named("heavy.crunch")
    good, bad = task.enqueue(count=2), task.enqueue(count=5)
    drain(jobs)
    result = good.result()
    assert result["pid"] != __import__("os").getpid()
    assert result["word"] is None
    assert good.item_counts() == {"ok": 1, "failed": 1, "skipped": 0}
    assert bad.refresh().status == "failed"
    assert bad.item_counts()["failed"] == 2
    assert Path(sys.modules["jobtrail_heavy"].__file__).is_relative_to(site)


def test_a_task_finds_the_application_whose_job_it_does(make_jobs):
    seen = []
    plugin = Plugin("weather")

    @plugin.task
    def load() -> None:
        seen.append(application())

    first, second = make_jobs(plugins=[plugin]), make_jobs(plugins=[plugin])
    for jobs in (first, second):
        jobs.task_named("weather.load").enqueue()
        drain(jobs)
    assert seen == [first, second]
    with pytest.raises(UsageError, match="application"):
        application()
