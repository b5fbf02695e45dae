"""What a plug-in may declare, and what is refused while it is declared: no application is needed for that."""

from __future__ import annotations

import pytest

from jobtrail import InvalidOption, JobTrail, Plugin, UsageError
from jobtrail.plugins.plugin import parts_of


@pytest.mark.parametrize("name", ["", "Weather", "weather.sync", "9lives", "weather sync", "-x", "x" * 51, None, 5])
def test_a_name_that_is_no_part_of_a_task_an_address_and_a_command_is_refused(name):
    with pytest.raises(InvalidOption, match="the name of a plug-in must be"):
        Plugin(name)


def test_a_task_is_called_after_its_plugin_and_stays_callable_as_itself():
    plugin = Plugin("weather")

    @plugin.task(aliases=["fetch"])
    def sync(a: int, *, b: int = 2):
        """Fetch it."""
        return a + b

    assert (sync.name, sync.task.aliases, sync(1, b=4)) == ("weather.sync", ("weather.fetch",), 5)
    assert plugin.task(name="other")(lambda: None).name == "weather.other"


def test_options_of_the_plugin_are_those_of_its_tasks_and_a_task_s_own_win():
    plugin = Plugin("weather", options={"retry": 3, "queue": "slow", "on_interrupt": "hold", "timeout": 60})

    @plugin.task(queue="fast")
    def sync():
        pass

    task = sync.task
    assert (task.retry.attempts, task.queue, task.on_interrupt, task.timeout) == (3, "fast", "hold", 60)


@pytest.mark.parametrize(
    ("declare", "words"),
    [
        (lambda p: p.task(tiemout=5)(lambda: None), "has no option 'tiemout'"),
        (lambda p: p.task(timeout=-1)(lambda: None), "timeout must be a number of seconds above 0"),
        (lambda p: (p.task(name="a")(lambda: None), p.task(name="a")(lambda: None)), "two tasks called 'a'"),
        (lambda p: p.task(executor="process")(lambda: None), "a child process cannot import"),
        (lambda p: p.schedule("0 6 * * *")(lambda: None), "write @plugin.schedule above @plugin.task"),
        (lambda p: p.schedule("0 6 * * *")(Plugin("other").task(test_options_of)), "not one of its tasks"),
        (lambda p: p.middleware(scope="everything")(print), "the scope of a middleware must be one of"),
        (lambda p: p.middleware("print"), "needs a function here; it has 'print'"),
        (lambda p: (p.channel("sms")(print), p.channel("sms")(print)), "two channels called 'sms'"),
        (lambda p: p.channel("S M S"), "the name of a channel must be"),
        (lambda p: p.channel("sms")("print"), "needs a function here; it has 'print'"),
        (lambda p: (p.route("/a/{x}")(print), p.route("/a/{y}")(print)), "two routes for GET /a/{y}"),
        (lambda p: p.route("a"), "a path begins with /"),
        (lambda p: p.route("/a/../b"), "a path begins with /"),
        (lambda p: p.route("/a//b"), "a path begins with /"),
        (lambda p: p.route("/a", method="LIST"), "the method of a route must be one of"),
        (lambda p: p.route("/a", role="anybody"), "the role of a route must be one of"),
        (lambda p: (p.command("go")(print_all), p.command("go")(print_all)), "two commands called 'go'"),
        (lambda p: p.command("go")(lambda: None), "does not take the application"),
    ],
)
def test_what_could_not_work_is_refused_where_it_is_declared(declare, words):
    with pytest.raises(InvalidOption) as refused:
        declare(Plugin("weather"))
    assert words in str(refused.value)


def test_options_of():
    """Stands for a task of another plug-in above."""


def print_all(jobs):
    print(jobs)


def test_the_same_route_for_another_method_and_a_closed_role_unless_said():
    plugin = Plugin("weather")
    plugin.route("/stations/{id}")(print)
    plugin.route("/stations/{id}", method="DELETE", role="operator")(print)
    assert parts_of(plugin)["routes"] == ["GET /stations/{id} (admin)", "DELETE /stations/{id} (operator)"]


def test_without_an_application_nothing_is_stored_and_the_refusal_says_what_to_call():
    plugin = Plugin("weather")

    @plugin.task
    def sync(n: int = 0):
        pass

    for submit in (sync.enqueue, lambda: sync.using(source="x").enqueue(n=1), lambda: sync.enqueue_many([{"n": 1}])):
        with pytest.raises(UsageError, match=r"jobs\.task_named\('weather\.sync'\)\.enqueue"):
            submit()
    with pytest.raises(UsageError, match="belongs to a plug-in"):
        sync.submission({})


async def test_nor_from_an_event_loop():
    plugin = Plugin("weather")

    @plugin.task
    def sync():
        pass

    with pytest.raises(UsageError, match="belongs to a plug-in"):
        await sync.aenqueue()
    with pytest.raises(UsageError, match="belongs to a plug-in"):
        await sync.aenqueue_many([{}])


def test_what_is_declared_after_the_mounting_is_refused_because_no_application_would_have_it(lonely):
    plugin = Plugin("weather")
    task = plugin.task(name="early")(lambda: None)
    JobTrail(lonely, plugins=[plugin]).close()
    for late in (
        lambda: plugin.task(lambda: None),
        lambda: plugin.schedule("@daily")(task),
        lambda: plugin.middleware(print),
        lambda: plugin.command("late")(print_all),
    ):
        with pytest.raises(InvalidOption, match="mounted already"):
            late()


def test_everything_that_a_plugin_brings_can_be_listed():
    plugin = Plugin("weather", version="1.2")

    @plugin.middleware(scope="application", options=["tenant"])
    async def watched(run, call_next):
        return await call_next(run)

    plugin.schedule("@daily", zone="Europe/Vienna")(plugin.task(name="sync", tenant="acme")(lambda: None))
    plugin.channel("sms")(print)
    plugin.command("go")(print_all)
    assert parts_of(plugin) == {
        "tasks": ["weather.sync"],
        "schedules": ["weather.sync: @daily"],
        "middleware": ["watched (application)"],
        "channels": ["weather.sms"],
        "routes": [],
        "commands": ["go"],
        "loops": [],
        "topics": [],
        "pages": [],
        "tables": [],
        "uses": [],
    }
    assert repr(plugin) == "<plug-in weather 1.2>"
