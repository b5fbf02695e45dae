"""``jobtrail office …`` and ``jobtrail beat``."""

from __future__ import annotations

import json

import pytest

from jobtrail.cli import main


@pytest.fixture
def run(office_url, tmp_path, monkeypatch, capsys):
    """Runs a command over the database; returns what it printed."""
    (tmp_path / "watching.py").write_text(
        f"from jobtrail import JobTrail\nfrom jobtrail.office import Office\njobs = JobTrail({office_url!r}, plugins=[Office()])\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("JOBTRAIL_APP", "watching:jobs")

    def command(*words, code=0):
        assert main(list(words)) == code, capsys.readouterr()
        return capsys.readouterr().out

    yield command
    import sys

    module = sys.modules.pop("watching", None)
    if module is not None:
        module.jobs.close()


def test_a_beat_is_stored_when_the_command_returns(run):
    assert run("beat", "parser", "--message", "5 files", "--number", "rows=120", "--number", "bad=2") == "parser is ok; its beat is stored\n"
    shown = json.loads(run("office", "show", "parser", "--json"))
    assert (shown["module"]["beats"], shown["module"]["numbers"]) == (1, {"rows": 120, "bad": 2})
    assert json.loads(run("beat", "parser", "--json")) == {"module": "parser", "status": "ok", "stored": True}
    run("beat", "parser", "--status", "wrong", code=2)
    run("beat", "parser", "--number", "rows", code=2)


def test_list_show_and_change(run):
    assert "no modules yet" in run("office", "list")
    run("office", "register", "parser", "--warn-after", "60", "--error-after", "90")
    run("beat", "parser", "--status", "warning", "--message", "disk\nnearly full")
    listed = run("office", "list").splitlines()
    assert listed[0].split() == ["module", "status", "last", "activity", "message"]
    assert listed[1].split() == ["parser", "warning", "0", "s", "disk", "nearly", "full"]
    run("office", "pause", "parser", "--minutes", "5", "--reason", "new disk")
    shown = run("office", "show", "parser")
    assert "paused until" in shown
    assert "new disk" in shown
    assert "ok → warning" in shown or "new → warning" in shown
    run("office", "resume", "parser")
    run("office", "limits", "parser", "--error-after", "500", "--quiet-hours", "22:00-06:00")
    assert "quiet hours: 22:00-06:00" in run("office", "show", "parser")
    run("office", "limits", "parser", "--warn-after", "900", code=2)
    run("office", "remove", "parser")
    run("office", "show", "parser", code=1)
    run("office", "pause", "parser", "--minutes", "5", "--until", "2030-01-01T00:00+00:00", code=2)


def test_the_sql_is_printed(run):
    text = run("office", "sql")
    assert "office_module_status" in text
    assert "DELETE FROM office_module_status_history" in text
    assert "DELETE" not in run("office", "sql", "--what", "check")
    run("office", "sql", "--what", "other", code=2)


def test_in_russian(run, monkeypatch):
    monkeypatch.setenv("JOBTRAIL_LANG", "ru")
    assert "сигнал записан" in run("beat", "parser")
    assert "последняя активность" in run("office", "list")
