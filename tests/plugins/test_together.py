"""Plug-ins that use each other, names without a prefix, and services: `jobs.<plug-in>`."""

from __future__ import annotations

import os
import textwrap
import threading
from typing import TYPE_CHECKING, Any

import pytest
from starlette.testclient import TestClient

from jobtrail import InvalidOption, JobTrail, Plugin
from jobtrail.api import create_api
from jobtrail.cli import main
from jobtrail.cli.program import program
from jobtrail.plugins import taken
from jobtrail.testing import drain

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobtrail.plugins.registry import Plugins


def reasons(plugins: Plugins) -> dict[str, str]:
    return {one.name: one.reason for one in plugins.broken}


def pair() -> tuple[Plugin, Plugin]:
    """(base, above), of which the second uses the first."""
    base = Plugin("base")
    base.task(name="send")(lambda: "sent")
    above = Plugin("above", uses=[base])
    above.task(name="look")(lambda: "looked")
    return base, above


# -- uses ------------------------------------------------------------------------------------------------


def test_what_a_plugin_uses_is_mounted_with_it_and_once(make_jobs: Callable[..., JobTrail]) -> None:
    base, above = pair()
    jobs = make_jobs(plugins=[above, Plugin("third", uses=[base, above])])
    assert set(jobs.plugins) == {"above", "third", "base"}
    job = jobs.task_named("base.send").enqueue()
    drain(jobs)
    assert job.result() == "sent"
    assert list(make_jobs(plugins=[base, above]).plugins) == ["base", "above"]
    assert list(make_jobs(plugins=[base]).plugins) == ["base"]


def test_one_that_the_program_gives_itself_is_used_instead(make_jobs: Callable[..., JobTrail]) -> None:
    own = Plugin("base", version="9")
    jobs = make_jobs(plugins=[pair()[1], own])
    assert jobs.plugins["base"].plugin is own


def test_installed_plugins_may_use_each_other(install: Any, make_jobs: Callable[..., JobTrail]) -> None:
    install("base", "from jobtrail import Plugin\nplugin = Plugin('base')", package="z-base")
    install("above", "from jobtrail import Plugin\nfrom z_base import plugin as base\nplugin = Plugin('above', uses=[base])")
    jobs = make_jobs()
    assert (set(jobs.plugins), jobs.plugins.broken) == ({"base", "above"}, ())


def test_who_uses_what_is_left_out_is_left_out_and_takes_back_what_only_it_needed(
    install: Any, make_jobs: Callable[..., JobTrail]
) -> None:
    install(
        "above",
        """
        from jobtrail import Plugin
        base, bad = Plugin("base"), Plugin("bad")
        base.task(name="send")(lambda: None)
        bad.task(name="own", plain=True)(lambda: None)
        plugin = Plugin("above", uses=[base, bad])
        """,
    )
    early = make_jobs()
    early.task(name="own")(lambda: None)
    assert (list(early.plugins), early.tasks.find("base.send")) == ([], None)
    assert "two tasks are called 'own'" in reasons(early.plugins)["above"]

    late = make_jobs()
    assert set(late.plugins) == {"base", "bad", "above"}
    late.task(name="own")(lambda: None)
    assert (list(late.plugins), late.tasks.find("base.send")) == ([], None)
    assert reasons(late.plugins) == {
        "bad": "the application has a task 'own' of its own",
        "above": "it uses the plug-in 'bad', which is left out",
    }


def test_something_else_that_is_used_is_refused() -> None:
    with pytest.raises(InvalidOption, match="'above' uses 'base', which is not a Plugin"):
        Plugin("above", uses=["base"])  # type: ignore[list-item]


# -- names without a prefix ------------------------------------------------------------------------------


def plain() -> Plugin:
    plugin = Plugin("office")
    plugin.schedule("0 3 * * *")(plugin.task(plain=True, name="office_cleanup", aliases=["old"])(lambda: {"deleted": 3}))

    @plugin.route("/modules/{name}", role="viewer", plain=True)
    def module(jobs: JobTrail, name: str) -> dict[str, str]:
        return {"module": name}

    plugin.route("/modules/{name}", role="viewer")(lambda jobs, name: {"below": name})

    @plugin.command("beat", plain=True)
    def beat(jobs: JobTrail, name: str) -> None:
        """Report that a module lives."""
        print("beat", name)

    return plugin


def test_a_task_and_a_route_may_stand_without_the_name_of_their_plugin(make_jobs: Callable[..., JobTrail]) -> None:
    jobs = make_jobs(plugins=[plain()])
    job = jobs.task_named("old").enqueue()
    drain(jobs)
    assert (job.task, job.result()) == ("office_cleanup", {"deleted": 3})
    assert [task for _, task, _, _ in jobs.plugins.schedules()] == ["office_cleanup"]
    client = TestClient(create_api(jobs, local=True), base_url="http://127.0.0.1:8000", client=("127.0.0.1", 5))
    assert client.get("/api/modules/parser").json() == {"module": "parser"}
    assert client.get("/api/plugins/office/modules/parser").json() == {"below": "parser"}
    assert "/api/modules/{name}" in client.get("/api/openapi.json").json()["paths"]


def test_a_command_may_too(tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    source = """
        from jobtrail import JobTrail, Plugin
        plugin = Plugin("office")
        plugin.command("other")(lambda jobs: print("other"))

        @plugin.command("beat", plain=True)
        def beat(jobs, name: str):
            '''Report that a module lives.'''
            print("beat", name)

        jobs = JobTrail("sqlite:///jobs.db", plugins=[plugin])
    """
    (tmp_path / "plain_app.py").write_text(textwrap.dedent(source))
    for name in [one for one in os.environ if one.startswith("JOBTRAIL_")]:
        monkeypatch.delenv(name)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    app = ("--app", "plain_app:jobs")
    assert (main([*app, "beat", "parser"]), capsys.readouterr().out) == (0, "beat parser\n")
    assert main([*app, "beat", "--help"]) == 0
    assert "Report that a module lives." in capsys.readouterr().out
    assert (main([*app, "office", "other"]), capsys.readouterr().out) == (0, "other\n")
    assert main([*app, "office", "beat", "parser"]) == 2


@pytest.mark.parametrize(
    ("declare", "reason"),
    [
        (lambda p: p.task(name="jobtrail.backfill", plain=True)(lambda: None), "two tasks are called 'jobtrail.backfill'"),
        (lambda p: p.task(name="office_cleanup", plain=True)(lambda: None), "two tasks are called 'office_cleanup'"),
        (lambda p: p.route("/jobs/{id}/mine", plain=True)(print), "the path /api/jobs is taken"),
        (lambda p: p.route("/modules", plain=True)(print), "the path /api/modules is taken"),
        (lambda p: p.command("worker", plain=True)(print_all), "the command 'worker' is taken"),
        (lambda p: p.command("beat", plain=True)(print_all), "the command 'beat' is taken"),
        (lambda p: p.command("office", plain=True)(print_all), "the command 'office' is taken"),
    ],
)
def test_a_name_that_is_taken_leaves_the_plugin_out_with_the_reason(
    install: Any, make_jobs: Callable[..., JobTrail], monkeypatch: pytest.MonkeyPatch, declare: Any, reason: str
) -> None:
    install("late", "from jobtrail import Plugin\nplugin = Plugin('late')")
    import jobtrail_late

    declare(jobtrail_late.plugin)
    jobs = make_jobs(plugins=[plain(), "auto"])
    assert list(jobs.plugins) == ["office"]
    assert reason in reasons(jobs.plugins)["late"]
    with pytest.raises(InvalidOption):
        make_jobs(plugins=[plain(), jobtrail_late.plugin])


def print_all(jobs: JobTrail) -> None:
    """A function for commands."""


def test_a_plugin_with_the_name_of_a_plain_command_is_left_out(install: Any, make_jobs: Callable[..., JobTrail]) -> None:
    install("beat", "from jobtrail import Plugin\nplugin = Plugin('beat')")
    assert "the command 'beat' is taken" in reasons(make_jobs(plugins=[plain(), "auto"]).plugins)["beat"]


@pytest.mark.parametrize("path", ["/", "/{name}/x"])
def test_a_plain_path_begins_with_a_name(path: str) -> None:
    with pytest.raises(InvalidOption, match="such a path begins with a name"):
        Plugin("office").route(path, plain=True)


def test_a_plain_command_is_not_called_as_its_plugin() -> None:
    with pytest.raises(InvalidOption, match="give it another name"):
        Plugin("office").command("office", plain=True)


def test_the_names_that_are_taken_are_those_that_there_are(make_jobs: Callable[..., JobTrail]) -> None:
    """A new route or command of jobtrail belongs into `plugins/taken.py`, else a plug-in could hide behind it."""
    assert set(program().commands) == taken.COMMANDS
    app = create_api(make_jobs(plugins=()))
    paths = {str(getattr(route, "path", "")) for route in app.router.routes}
    assert {path.split("/")[2] for path in paths if path.startswith("/api/")} | {"plugins"} == taken.PATHS


# -- services --------------------------------------------------------------------------------------------


def test_a_service_is_made_once_for_each_application_and_only_when_it_is_asked_for(
    make_jobs: Callable[..., JobTrail],
) -> None:
    made: list[JobTrail] = []
    plugin = Plugin("office")

    @plugin.service
    def service(jobs: JobTrail) -> list[JobTrail]:
        made.append(jobs)
        return [jobs]

    one, two = make_jobs(plugins=[plugin]), make_jobs(plugins=[plugin], config=None)
    assert made == []
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(one.office)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [one]
    assert all(each is one.office for each in found)
    assert one.plugins["office"].service is one.office
    assert two.office == [two]


def test_something_else_is_an_attribute_error_that_says_so(install: Any, make_jobs: Callable[..., JobTrail]) -> None:
    install("bad", "1 / 0")
    jobs = make_jobs(plugins=[Plugin("shy"), "auto"])
    for name in ("offise", "shy"):
        with pytest.raises(AttributeError, match=f"JobTrail has no attribute '{name}', and no mounted plug-in of this name"):
            getattr(jobs, name)
    with pytest.raises(AttributeError, match="the plug-in of this name is left out: ZeroDivisionError"):
        _ = jobs.bad
    assert jobs.plugins["shy"].service is None
    assert not hasattr(jobs, "offise")


def test_asking_for_a_private_name_looks_for_no_plugins(make_jobs: Callable[..., JobTrail], install: Any) -> None:
    install("loud", "raise BaseException('imported')")
    jobs = make_jobs()
    assert not hasattr(jobs, "_repr_html_")
    assert jobs._plugins._looks is True


def test_an_error_inside_a_property_is_not_taken_for_a_missing_plugin(
    make_jobs: Callable[..., JobTrail], monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = make_jobs(plugins=())
    monkeypatch.setattr(JobTrail, "tasks", property(lambda _self: [].nothing))  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="'list' object has no attribute 'nothing'"):
        _ = jobs.tasks


def test_a_service_is_closed_with_the_application_if_it_was_made(url: str, caplog: pytest.LogCaptureFixture) -> None:
    closed = []

    class Mail:
        def close(self) -> None:
            closed.append(self)
            raise RuntimeError("half sent")

    plugin = Plugin("mail")
    plugin.service(lambda _jobs: Mail())
    unused = JobTrail(url, plugins=[plugin])
    unused.close()
    assert closed == []
    jobs = JobTrail(url, plugins=[plugin])
    service = jobs.mail
    jobs.close()
    assert closed == [service]
    assert "half sent" in caplog.text
