"""``jobtrail backfill`` as a person types it: looked at first, then submitted, waited for, stopped."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from trails import until

from jobtrail.cli import main
from jobtrail.cli.input.waiting import _reported, _words
from jobtrail.progress_bar import facts
from jobtrail.queries.jobs.job_list import progress

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import filling_app  # noqa: E402

RANGE = ("backfill", "load", "--from", "2013-01", "--to", "2013-04")
EWR = ("--source", "w/EWR", "--with", '{"airport": "EWR"}')


@dataclass(frozen=True)
class Answer:
    """What a command said and with which code it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON value on standard output."""
        return json.loads(self.out)


@pytest.fixture
def jobs(sqlite_url):
    made = filling_app.make(sqlite_url)
    yield made
    made.close()


@pytest.fixture
def jt(jobs, sqlite_url, capsys, monkeypatch, tmp_path):
    """The command over the database of ``jobs``."""
    monkeypatch.setenv("JOBTRAIL_APP", "filling_app:from_environment")
    monkeypatch.setenv("JOBTRAIL_URL", sqlite_url)
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> Answer:
        capsys.readouterr()
        code = main(words)
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return Answer(code, out, err)

    return run


@contextmanager
def working(jobs, slots=2):
    """A worker while the block goes on."""
    worker = []

    async def work():
        worker.append(jobs.worker(beat=None, slots=slots))
        await worker[0].run()

    thread = threading.Thread(target=lambda: asyncio.run(work()), daemon=True)
    thread.start()
    until("there is a worker", lambda: worker)
    yield
    worker[0].stop()
    thread.join(30)


def test_a_dry_run_shows_counts_and_units_and_stores_nothing(jt, jobs):
    answer = jt(*RANGE, *EWR, "--dry-run", "--parallel", "2", "--order", "oldest")
    assert answer.code == 0
    lines = answer.out.splitlines()
    assert lines[0] == "load 2013-01 to 2013-04: 4 units, 1 source × 4 months"
    assert lines[1].split() == ["source", "missing", "to", "run"]
    assert lines[2].split() == ["w/EWR", "4", "4"]
    assert "nothing of the source 'w/EWR' is recorded yet" in lines
    assert "4 to run (4 submitted), oldest first, 2 at a time:" in lines
    assert [line.split()[:2] for line in lines[-4:]] == [[f"2013-0{month}", "w/EWR"] for month in (1, 2, 3, 4)]
    assert jobs.find() == []


def test_for_programs_it_is_one_value(jt, jobs):
    dry = jt(*RANGE, *EWR, "--dry-run", "--json").json
    assert dry["counts"] == {"missing": 4, "failed": 0, "partial": 0, "complete": 0, "active": 0}
    assert dry["ways"] == {"submit": 4}
    assert dry["chosen"] == 4
    assert dry["units"][0] == {
        "source": "w/EWR", "period": "2013-04", "state": "missing", "way": "submit", "job": None,
    }  # fmt: skip
    assert (dry["by_source"][0]["chosen"], dry["new_sources"]) == (4, ["w/EWR"])
    made = jt(*RANGE, *EWR, "--json", "--reason", "a new airport").json
    assert (made["job"]["task"], made["created"]) == ("jobtrail.backfill", True)
    stored = jobs.get(made["job"]["id"])
    assert stored.reason == "a new airport"
    assert stored.actor.startswith("person:")


def test_waited_for_it_tells_how_it_ended(jt, jobs):
    with working(jobs):
        done = jt(*RANGE, *EWR, "--wait")
        assert done.code == 0
        assert "completed" in done.out.splitlines()[-1]
        assert jt(*RANGE, *EWR, "--wait").out.splitlines()[-1] == "nothing to do: no unit is missing"
        bad = jt(*RANGE, "--source", "w/X", "--with", '{"airport": "nowhere"}', "--wait", "--json")
        assert bad.code == 1
        assert bad.json["job"]["status"] == "failed"
    again = jt(*RANGE, "--only", "failed", "--dry-run")
    assert "4 to run (4 run again in full), newest first" in again.out
    assert len(jobs.find("task:jobtrail.backfill")) == 2


def test_pressed_twice_it_says_so(jt):
    first = jt(*RANGE, *EWR)
    assert "submitted: pending" in first.out
    second = jt(*RANGE, *EWR)
    assert (second.code, "is under way already: pending" in second.out) == (0, True)
    assert first.out.splitlines()[-1] == second.out.splitlines()[-1]
    other = jt(*RANGE, *EWR, "--parallel", "9")
    assert (other.code, "has an active job with other arguments" in other.err) == (1, True)


def test_cancelled_it_says_what_goes_on(jt, jobs, monkeypatch, tmp_path):
    gate = tmp_path / "gate"
    monkeypatch.setenv("FILLING_GATE", str(gate))
    parent = jobs.backfill("load", first="2013-01", last="2013-04", sources="s", args={"airport": "x"})
    with working(jobs, slots=1):
        until("one has begun", lambda: jobs.find("task:load status:running"))
        until("it sleeps", lambda: parent.refresh().status == "pending")
        answer = jt("cancel", parent.id)
        gate.touch()
        until("the one that had begun has ended", lambda: not jobs.find("task:load status:running"))
    assert "is cancelled; the one unit that had begun goes on: cancelled" in answer.out
    states = sorted(str(job.status) for job in jobs.find("task:load"))
    assert states == ["cancelled", "cancelled", "cancelled", "completed"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--source", "w/EWR"), "the arguments for the source 'w/EWR' are not known"),
        ((), "no source of 'load' is recorded yet; name it with sources=[…] (--source)"),
        (("--with", "{"), "--with is not JSON"),
        (("--with", "[1]"), "--with must be one JSON object"),
        (("--with", '{"plane": 1}'), "has no argument 'plane'"),
        ((*EWR, "--only", "broken"), "only must be one of missing, failed, partial, all"),
        ((*EWR, "--parallel", "0"), "parallel must be a whole number from 1 to 1,000; it is 0"),
        ((*EWR, "--step", "decade"), "step must be one of year, month, week, day, hour"),
        ((*EWR, "--to", "2012-12"), "the last period, 2012-12, begins before the first, 2013-01"),
    ],
)
def test_what_cannot_be_is_one_sentence(jt, jobs, words, sentence):
    answer = jt(*RANGE, *words)
    assert answer.code == 2
    assert sentence in answer.err
    assert len(answer.err.splitlines()) == 1
    assert jobs.find() == []


def test_an_unknown_task_names_those_that_there_are(jt):
    answer = jt("backfill", "lod", "--from", "2013", "--to", "2013")
    assert (answer.code, answer.err) == (2, "jobtrail: no task is called 'lod'; the tasks are: load\n")


def test_its_own_task_is_not_listed(jt):
    assert "jobtrail.backfill" not in jt("tasks").out


def test_the_bar_goes_on_while_it_sleeps():
    """Between two looks its job is pending; what it last told is shown."""
    told = {"done": 3, "total": 36, "message": "4 under way", "percent": 8.3}
    job = SimpleNamespace(queue="default")
    line = SimpleNamespace(status="pending", started_at=object(), progress=progress(told, now=datetime.now(UTC)))
    assert facts(*_reported(line)) == ["8 %", "3/36"]
    assert _words(line, job, 9.0) == "4 under way"
    line.started_at = line.progress = None
    assert _reported(line) == ()
    assert _words(line, job, 9.0) == "pending: is a worker on queue 'default'?"
