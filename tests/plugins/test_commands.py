"""The command line with plug-ins: their own commands, their list, what doctor says, and what is set in the working directory."""

from __future__ import annotations

import json
import os
import textwrap

import pytest

from jobtrail.cli import main

APP = """
    from __future__ import annotations
    from typing import TYPE_CHECKING
    from jobtrail import JobTrail, Plugin

    if TYPE_CHECKING:
        from nowhere import Application

    plugin = Plugin("weather", version="1.0", about="Weather.")

    @plugin.task(timeout=60)
    def sync(ctx, *, airport: str = "EWR"):
        return airport

    @plugin.command("stations")
    def stations(jobs: Application, country: str, *, limit: int = 5, as_json: bool = False) -> int:
        '''List the stations of a country.'''
        print([type(jobs).__name__, country, limit, as_json])
        return 3

    @plugin.command("slow")
    async def slow(jobs):
        print("awaited")

    shy, hidden = Plugin("shy"), Plugin("list")
    hidden.command("all")(lambda jobs: print("all"))

    def make():
        return JobTrail("sqlite:///jobs.db", plugins=[plugin, shy, hidden, "auto"])

    def without():
        return JobTrail("sqlite:///jobs.db", plugins=())
"""


@pytest.fixture
def jt(tmp_path, monkeypatch, capsys, install):
    """The command in this process, in a folder with an application whose plug-ins are handed in."""
    site = install("good", "from jobtrail import Plugin\nplugin = Plugin('good')\nplugin.command('go')(lambda jobs: print('gone'))")
    (site / "weather_app.py").write_text(textwrap.dedent(APP))
    for name in [one for one in os.environ if one.startswith("JOBTRAIL_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("JOBTRAIL_APP", "weather_app:make")
    monkeypatch.chdir(tmp_path)

    def run(*words, code=0):
        capsys.readouterr()
        given = main(words)
        out, err = capsys.readouterr()
        assert (given, "Traceback" in err) == (code, False), err
        return out or err

    return run


def test_a_plugin_s_command_gets_the_application_its_options_and_gives_the_exit_code(jt):
    assert jt("weather", "stations", "AT", code=3) == "['JobTrail', 'AT', 5, False]\n"
    assert jt("weather", "stations", "AT", "--limit", "9", "--json", code=3) == "['JobTrail', 'AT', 9, True]\n"
    assert jt("weather", "slow") == "awaited\n"
    assert jt("--app", "weather_app:make", "good", "go") == "gone\n"


def test_they_have_help_and_usage_errors_like_all_others(jt):
    assert "stations  List the stations of a country." in jt("weather", "--help")
    told = jt("weather", "stations", "--help")
    assert "--limit" in told
    assert "--database URL" in told
    assert "as-json" not in told
    assert "country is missing" in jt("weather", "stations", code=2)
    assert "there is no command 'station'; did you mean stations?" in jt("weather", "station", code=2)
    assert "there is no command 'wether'" in jt("wether", code=2)


def test_an_installed_plugin_s_commands_need_no_application(jt, monkeypatch):
    monkeypatch.delenv("JOBTRAIL_APP")
    assert jt("good", "go", "--database", "sqlite:///jobs.db") == "gone\n"
    assert "this application does not use the plug-in 'good'" in jt("good", "go", "--app", "weather_app:without", code=2)


def test_what_brings_no_commands_says_so_and_a_command_of_ours_is_never_taken(jt):
    assert "the plug-in 'shy' has no commands" in jt("shy", code=2)
    jt("migrate")
    assert jt("list").startswith("no jobs")
    assert "'list' is a command of jobtrail, so the commands of the plug-in cannot be called" in jt("doctor")


def test_the_list_of_plugins(jt, install):
    install("bad", "import nothing_like_this")
    told = jt("plugins")
    assert "weather  1.0      handed in" in told
    assert "left out  bad (package jobtrail-bad): ModuleNotFoundError: No module named 'nothing_like_this'" in told
    (broken,) = json.loads(jt("plugins", "--json"))["broken"]
    assert (broken["name"], broken["package"]) == ("bad", "jobtrail-bad")
    assert "tasks       weather.sync" in jt("plugins", "weather")
    assert json.loads(jt("plugins", "weather", "--json"))["tasks"] == ["weather.sync"]
    assert "the plug-in is left out: bad (package jobtrail-bad)" in jt("plugins", "bad", code=1)
    assert "there is no plug-in 'nothing'" in jt("plugins", "nothing", code=1)
    assert "the plug-in is left out: bad (package jobtrail-bad): ModuleNotFoundError" in jt("bad", "go", code=2)
    assert "no plug-ins" in jt("plugins", "--app", "weather_app:without")


def test_a_file_in_the_working_directory_counts_for_commands_and_is_told(jt, tmp_path):
    path = tmp_path / "jobtrail.toml"
    path.write_text('[settings]\nslots = 3\n[tasks."weather.sync"]\ntimeout = 5\nretry = {attempts = 4}\n')
    told = jt("tasks")
    by = f'{path}, tasks."weather.sync".timeout'
    assert [line.split() for line in told.splitlines() if by in line] == [["weather.sync", "timeout", "5.0", "60.0", *by.split()]]
    assert json.loads(jt("tasks", "--json"))[0]["overridden"] == {
        "timeout": {"value": 5.0, "was": 60.0, "by": by},
        "retry": {"value": {"attempts": 4}, "was": {"attempts": 1}, "by": by.replace("timeout", "retry")},
    }
    assert "JOBTRAIL_CONFIG" not in os.environ
    jt("migrate")
    assert f"settings  {path}: 1 settings, 1 tasks" in jt("doctor")
    path.write_text('[tasks."wether.sync"]\ntimeout = 5\n')
    assert f'settings  {path}: no registered task has the name "wether.sync"' in jt("doctor", code=1)
    path.write_text('[tasks."weather.sync"]\ntimeout = "soon"\n')
    assert f"{by}: timeout must be a number of seconds above 0, or None ('none' in settings) for no limit" in jt("tasks", code=2)


def test_the_variable_is_stronger_than_the_working_directory(jt, tmp_path, monkeypatch):
    (tmp_path / "jobtrail.toml").write_text("[settings]\nslots = 0\n")
    other = tmp_path / "other.toml"
    other.write_text('[tasks."weather.sync"]\nqueue = "slow"\n')
    monkeypatch.setenv("JOBTRAIL_CONFIG", str(other))
    assert json.loads(jt("tasks", "--json"))[0]["queue"] == "slow"
    assert os.environ["JOBTRAIL_CONFIG"] == str(other)
