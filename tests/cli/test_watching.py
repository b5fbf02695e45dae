"""watch, workers, errors, completion, rerun --arg, and what --wait shows."""

from __future__ import annotations

import io
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

from jobtrail import JobTrail
from jobtrail.job.items import Pace
from jobtrail.progress_bar import ProgressBar, facts

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Answer

    Command = Callable[..., Answer]
    Make = Callable[..., str]

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("reported", "seconds", "told"),
    [
        ({"done": 420, "total": 1000}, 42, ["42 %", "420/1,000", "10.0/s", "-0:00:58"]),
        ({"percent": 25.0}, 10, ["25 %", "-0:00:30"]),
        ({"done": 5000}, 10, ["5,000", "500/s"]),
        ({"done": 0, "total": 3}, 10, ["0 %", "0/3"]),
        ({"percent": 250}, 10, ["100 %", "-0:00:00"]),
        ({"done": 1, "total": 2}, None, ["50 %", "1/2"]),
        ({}, 10, []),
    ],
)
def test_the_pace_is_that_since_the_start(reported: dict[str, Any], seconds: int | None, told: list[str]) -> None:
    since = None if seconds is None else NOW - timedelta(seconds=seconds)
    assert facts(reported, Pace.of(reported, since, NOW)) == told


@pytest.mark.parametrize(("width", "has", "has_not"), [(120, ("━", "10.0/s", "reading"), ()), (80, ("━", "10.0/s"), ("reading",)), (40, ("42 %",), ("━", "10.0/s"))])  # fmt: skip
def test_the_bar_fits_the_terminal(width: int, has: tuple[str, ...], has_not: tuple[str, ...]) -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=width, height=20)
    reported = {"done": 420, "total": 1000}
    with ProgressBar("load", console) as bar:
        bar.update("reading", reported, Pace.of(reported, NOW - timedelta(seconds=42), NOW))
        bar._bar.refresh()
    out = console.file.getvalue()
    assert [word for word in has if word not in out] == []
    assert [word for word in has_not if word in out] == []


def test_without_a_terminal_there_is_a_line_for_every_tenth() -> None:
    console = Console(file=io.StringIO(), width=80)
    with ProgressBar("load", console) as bar:
        for done in range(101):
            reported = {"done": done, "total": 100}
            bar.update("reading", reported, Pace.of(reported, NOW - timedelta(seconds=10), NOW))
    lines = console.file.getvalue().splitlines()
    assert len(lines) == 11
    assert lines[5] == "load 50 % 50/100 5.0/s -0:00:10 reading"


def test_a_list_and_a_job_show_the_progress_of_what_runs(jt: Command, submitted: Make, url: str) -> None:
    job_id = submitted("load")
    _as_running(url, job_id)
    assert "25 %, 1/4" in jt("list").out
    assert "25 %, 1/4" in jt("show", job_id).out
    (line,) = jt("list", "--json").json["jobs"]
    assert line["progress"]["per_second"] > 0
    assert line["progress"]["seconds_left"] > 0


def _as_running(url: str, job_id: str) -> None:
    """As after a claim by a worker that has reported one of four rows."""
    from jobtrail.database import tables

    jobs = JobTrail(url)
    now = jobs.store.now()

    def write(conn: Any) -> None:
        conn.execute(tables.jobs.update().values(status="running", run_no=1, started_at=now - timedelta(seconds=5)))
        conn.execute(tables.progress.insert().values(job_id=job_id, run_no=1, done=1, total=4, last_heartbeat_at=now))

    jobs.store.write(write)
    jobs.close()


def test_watch_ends_when_nothing_is_active(jt: Command, submitted: Make, ran: Make, url: str) -> None:
    ran("fail")
    assert jt("watch", "--until-done").out == ""
    job_id = submitted("load")
    jobs = JobTrail(url)

    def cancel() -> None:
        jobs.get(job_id).cancel()

    timer = threading.Timer(0.5, cancel)
    timer.start()
    lines = jt("watch", "--until-done", "--every", "0.1").out.splitlines()
    timer.join()
    jobs.close()
    assert [line.split(") ")[1] for line in lines] == ["pending", "cancelled"]
    assert jt("watch", "task:load", "--until-done", "--json").json["jobs"][0]["id"] == job_id


@pytest.mark.usefixtures("jt")
def test_ctrl_c_is_the_end_of_watch(process: Callable[..., subprocess.Popen[str]], submitted: Make) -> None:
    import signal

    job_id = submitted("add", "-a", "a=1", "--delay", "300")
    watching = process("watch")
    assert job_id[-8:] in watching.stdout.readline()
    watching.send_signal(signal.SIGINT)
    assert watching.wait(20) == 0


def test_workers_and_errors_are_those_of_the_console(jt: Command, ran: Make) -> None:
    assert "no worker" in jt("workers").out
    assert "no job has failed" in jt("errors").out
    failed = ran("fail", "-a", "message=broken")
    assert "1 living" not in jt("workers").out
    assert jt("workers", "--json").json["workers"][0]["state"] == "stopped"
    out = jt("errors").out
    assert "RuntimeError: broken" in out
    (kind,) = jt("errors", "--json").json["kinds"]
    assert kind["fingerprint"] in out
    assert [job["id"] for job in jt("list", f"error:{kind['fingerprint']}", "--json").json["jobs"]] == [failed]


def test_a_rerun_may_change_an_argument(jt: Command, ran: Make) -> None:
    old = ran("add", "-a", "a=1", "-a", "b=5")
    new = jt("rerun", old, "-a", "a=2", "--json").json["job"]["id"]
    assert jt("show", new, "--json").json["arguments"] == {"a": 2, "b": 5}
    wrong = jt("rerun", old, "-a", "c=2")
    assert wrong.code == 2
    assert "'c'" in wrong.err


def test_completion_is_for_four_shells(jt: Command, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for shell in ("bash", "zsh", "fish", "powershell"):
        assert "_JOBTRAIL_COMPLETE" in jt("completion", shell).out
    assert jt("completion", "tcsh").code == 2
    for name, value in (("_JOBTRAIL_COMPLETE", "complete_bash"), ("COMP_WORDS", "jobtrail work"), ("COMP_CWORD", "1")):
        monkeypatch.setenv(name, value)
    from jobtrail.cli import main

    try:
        main([])
    except SystemExit as stop:
        assert not stop.code
    assert capsys.readouterr().out.split() == ["workers", "worker"]


@pytest.mark.parametrize("package", ["typer", "rich"])
@pytest.mark.parametrize("words", [["list"], ["--help"], ["submit", "x", "--wait"]])
def test_a_missing_extra_is_one_sentence(package: str, words: list[str]) -> None:
    code = f"import sys; sys.modules['{package}'] = None; from jobtrail.cli import main; sys.exit(main({words!r}))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=50)
    assert (told.returncode, told.stdout) == (1, "")
    assert told.stderr == f"jobtrail: this needs the extra jobtrail[cli], which is not installed ({package} is missing)\n"


def test_an_argument_that_does_not_fit_is_refused(jt: Command, ran: Make) -> None:
    for words in (("submit", "add", "-a", "a=abc"), ("rerun", ran("add", "-a", "a=1"), "-a", "a=abc")):
        answer = jt(*words)
        assert answer.code == 2
        assert "$.a does not fit int: Input should be a valid integer" in answer.err
