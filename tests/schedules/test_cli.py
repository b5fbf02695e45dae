"""`jobtrail schedules`: looking and steering as at a terminal."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from jobtrail import JobTrail
from jobtrail.cli import main
from jobtrail.cli.rendering.schedule_views import local
from jobtrail.testing import MovableClock, drain, tick

APP = """
from jobtrail import JobTrail
jobs = JobTrail({url!r})

@jobs.schedule("0 3 1 * *", tz="Europe/Moscow", source="weather/EWR", period="previous month")
@jobs.task
def monthly(ctx):
    return str(ctx.period)

@jobs.schedule("0 9 * * 1-5", tz="Europe/Berlin", name="report")
@jobs.task
def work(number: int = 0):
    return number
"""


@pytest.fixture
def jt(sqlite_url, tmp_path, monkeypatch, capsys):
    """The command over a database in which the schedules of an application are stored."""
    name = f"app_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(APP.format(url=sqlite_url))
    for variable in ("JOBTRAIL_URL", "COLUMNS"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("JOBTRAIL_APP", f"{name}:jobs")
    monkeypatch.chdir(tmp_path)
    __import__(name).jobs.schedules.sync()

    def run(*words, code=0):
        capsys.readouterr()
        got = main(words)
        out, err = capsys.readouterr()
        assert got == code, out + err
        assert "Traceback" not in err
        return out if code == 0 else err

    return run


@pytest.fixture
def past(sqlite_url):
    """A schedule of a task ``work`` in which a run and three missed times lie behind."""
    clock = MovableClock(datetime(2026, 3, 28, 23, 0, tzinfo=UTC))
    jobs = JobTrail(sqlite_url, clock=clock)
    jobs.task(name="work")(_work)
    jobs.schedules.add("nightly", "work", "30 * * * *", tz="Europe/Berlin", actor="person:eva")
    clock.move(minutes=31)
    tick(jobs)
    drain(jobs)
    clock.move(hours=3, minutes=20)
    tick(jobs)
    jobs.close()
    return jobs


def _work(number: int = 0):
    return number


def test_the_list_shows_state_words_and_the_local_time_with_its_offset(jt):
    told = jt("schedules")
    assert "on day 1 of every month at 03:00 (Europe/Mo" in told
    assert "03:00 +03:00" in told
    assert "09:00 +0" in told
    assert told == jt("schedules", "list")


def test_the_list_for_programs(jt):
    found = {one["name"]: one for one in json.loads(jt("schedules", "--json"))["schedules"]}
    assert set(found) == {"monthly", "report"}
    monthly = json.loads(jt("schedules", "show", "monthly", "--json"))
    assert (monthly["definition"]["period"], monthly["drift"]) == ("previous month", None)
    assert (found["report"]["state"], found["report"]["origin"], found["report"]["edited"]) == ("active", "code", False)


def test_the_offset_tells_what_the_local_time_alone_would_hide():
    """Over both nights of Berlin."""
    spring, autumn = datetime(2026, 3, 29, 0, 30, tzinfo=UTC), datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    hour = timedelta(hours=1)
    assert [local(at, "Europe/Berlin")[11:] for at in (spring, spring + hour)] == ["01:30 +01:00", "03:30 +02:00"]
    assert [local(at, "Europe/Berlin")[11:] for at in (autumn, autumn + hour)] == ["02:30 +02:00", "02:30 +01:00"]


def test_next_times(jt):
    told = jt("schedules", "next", "report", "-n", "3")
    assert len([line for line in told.splitlines() if " 09:00 +0" in line]) == 3
    assert len(json.loads(jt("schedules", "next", "monthly", "-n", "12", "--json"))["following"]) == 12


def test_missed_times_are_listed_with_their_reason(jt, past):
    told = jt("schedules", "missed")
    lines = [line for line in told.splitlines() if line.startswith("nightly")]
    assert len(lines) == 2
    assert "2026-03-29 01:30 +01:00" in told
    assert "2026-03-29 03:30 +02:00" in told
    assert all("no scheduler was running" in line for line in lines)
    assert [one["reason"] for one in json.loads(jt("schedules", "missed", "nightly", "--json"))["slots"]] == ["no scheduler was running"] * 2
    assert "nothing was missed" in jt("schedules", "missed", "report")


def test_show_tells_everything(jt, past):
    told = jt("schedules", "show", "nightly")
    for words in ("declared by", "person", "2026-03-29", "submitted", "missed", "added", "person:eva"):
        assert words in told
    for_programs = json.loads(jt("schedules", "show", "nightly", "--json"))
    assert len(for_programs["following"]) == 20
    assert {slot["state"] for slot in for_programs["slots"]} == {"submitted", "missed"}


def test_c62_a_job_shows_its_planned_time_beside_its_actual_one(jt, past):
    job = json.loads(jt("schedules", "show", "nightly", "--json"))["last_job"]
    told = jt("show", job)
    assert "planned for" in told
    assert "2026-03-29 02:30:00 UTC" in told


def test_a_schedule_is_added_edited_paused_resumed_and_removed(jt):
    jt(
        "schedules", "add", "extra", "--task", "work", "--rule", "every 90 minutes", "--tz", "Asia/Almaty", "--arg", "number=7",
        "--grace", "15m", "--window", "7d", "--overlap", "queue", "--max-runs", "5", "--reason", "a try", "--actor", "person:eva",
    )  # fmt: skip
    made = json.loads(jt("schedules", "show", "extra", "--json"))
    assert made["definition"]["args"] == {"number": 7}
    assert (made["definition"]["grace"], made["definition"]["window"], made["zone"]) == (900.0, 604800.0, "Asia/Almaty")
    jt("schedules", "edit", "extra", "--grace", "none", "--rule", "0 5 * * *")
    edited = json.loads(jt("schedules", "show", "extra", "--json"))
    assert (edited["definition"]["grace"], edited["definition"]["rule"]["zone"]) == (None, "Asia/Almaty")
    until = (datetime.now(UTC) + timedelta(days=30)).strftime("%Y-%m-%dT00:00")
    told = jt("schedules", "pause", "extra", "--until", until, "--reason", "holidays", "--actor", "person:eva")
    assert "extra is paused" in told
    listed = jt("schedules")
    assert f"paused by person:eva until {until[:10]} 00:00 +05:00: holidays" in listed
    assert "goes on" in jt("schedules", "resume", "extra")
    assert "is removed" in jt("schedules", "remove", "extra", "--reason", "done")
    assert "there is no schedule 'extra'" in jt("schedules", "show", "extra", code=1)


def test_what_is_edited_of_a_declared_one_is_shown_and_can_be_let_go(jt):
    jt("schedules", "edit", "report", "--rule", "30 9 * * 1-5", "--reason", "too early", "--actor", "person:eva")
    told = jt("schedules", "show", "report")
    assert "edited by person:eva" in told
    assert "at 09:00 (Europe/Berlin) → every day from Monday to Friday at 09:30 (Europe/Berlin)" in told
    assert "edited by person:eva: rule" in jt("schedules")
    assert "is as the program declares it" in jt("schedules", "edit", "report", "--take-code")
    assert json.loads(jt("schedules", "show", "report", "--json"))["drift"] is None


def test_run_now_submits_a_job(jt):
    job = json.loads(jt("schedules", "run-now", "report", "--actor", "person:eva", "--json"))["job"]
    assert (job["task"], job["status"]) == ("work", "pending")
    assert "is active" in jt("schedules", "run-now", "report", code=1)


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("add", "x", "--task", "work", "--rule", "61 * * * *"), 2, "the minute '61'"),
        (("add", "x", "--task", "nope", "--rule", "@daily"), 2, "no task is called 'nope'"),
        (("add", "x", "--task", "work", "--rule", "@daily", "--tz", "Mars/X"), 2, "the time zone 'Mars/X' is unknown"),
        (("add", "x", "--task", "work", "--rule", "@daily", "--arg", "y=1"), 2, "work.* has no argument 'y'"),
        (("add", "x", "--task", "work", "--rule", "@daily", "--grace", "soon"), 2, "--grace must be a duration"),
        (("add", "x", "--task", "work", "--rule", "@daily", "--ends-at", "soon"), 2, "--ends-at must be a time"),
        (("add", "report", "--task", "work", "--rule", "@daily"), 1, "there is a schedule 'report' already"),
        (("edit", "report"), 2, "nothing to edit was given"),
        (("pause", "report", "--until", "2020-01-01T00:00"), 2, "later than now"),
        (("resume", "report"), 1, "is active and cannot be resumed"),
        (("remove", "report"), 1, "remove it there, or pause it"),
        (("show", "nothing"), 1, "there is no schedule 'nothing'"),
        (("next", "nothing"), 1, "there is no schedule 'nothing'"),
    ],
)
def test_what_cannot_be_is_one_sentence(jt, words, code, sentence):
    import re

    assert re.search(sentence, jt("schedules", *words, code=code))
