"""Whatever is killed in the middle of a backfill: no unit is lost and none has two jobs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import warm
from trails import until

from jobtrail.commands.job_fields import stored_row
from jobtrail.testing import crash, recover

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import filling_app  # noqa: E402

APP = "filling_app:jobs"
RANGE = {"first": "2013-01", "last": "2013-06", "sources": ["w/EWR", "w/JFK"]}
UNITS = 12


@pytest.fixture
def diary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "diary"
    path.touch()
    monkeypatch.setenv("FILLING_DIARY", str(path))
    return path


@pytest.fixture
def jobs(url: str):
    made = filling_app.make(url)
    yield made
    made.close()


def balance(jobs, parent, diary: Path) -> None:
    """What must be true afterwards, wherever the process died."""
    parent.refresh()
    assert (parent.status, parent.item_counts()) == ("completed", {"ok": UNITS, "failed": 0, "skipped": 0})
    children = jobs.find("task:load", limit=1000)
    assert len(children) == UNITS, "no unit has two jobs"
    assert len({job.unit for job in children}) == UNITS
    assert {job.parent for job in children} == {parent.id}
    assert {str(job.status) for job in children} == {"completed"}
    runs = Counter(line.rsplit(" ", 2)[0] for line in diary.read_text().splitlines())
    begun = {f"{job.source} {stored_row(job).period}": job.run_no for job in children}
    assert set(runs) == set(begun)
    assert all(runs[unit] <= begun[unit] for unit in runs), "no run began twice"


@pytest.mark.parametrize("point", ["step:plan", "settle_answer_lost"])
def test_killed_at_a_point_of_the_engine(jobs, diary, point):
    parent = jobs.backfill("load", **RANGE, args={"airport": "x"})
    with warm.crashes():
        crash(jobs, app=APP, at=point, environment={"FILLING_DIARY": str(diary)}, arguments=["-c", "2"])
    recover(jobs, slots=2)
    balance(jobs, parent, diary)


@pytest.mark.parametrize("number", [1, 6])
def test_killed_between_a_submission_and_its_record(jobs, diary, number):
    """The sixth is submitted by a later look, beside units that have ended and are not recorded yet."""
    parent = jobs.backfill("load", **RANGE, args={"airport": "x"}, parallel=4)
    variables = {"FILLING_DIES_AFTER": str(number), "FILLING_DIARY": str(diary)}
    with warm.crashes():
        crash(jobs, app=APP, at="item:99", environment=variables, arguments=["-c", "1"])
    assert len(jobs.find("task:load")) == number
    recover(jobs, slots=1)
    balance(jobs, parent, diary)


def start(url: str, diary: Path, folder: Path) -> subprocess.Popen[bytes]:
    paths = os.pathsep.join([str(HERE), *(path for path in sys.path if path)])
    variables = {**os.environ, "PYTHONPATH": paths, "JOBTRAIL_URL": url, "FILLING_DIARY": str(diary)}
    command = [sys.executable, "-m", "jobtrail", "--app", APP, "worker", "-c", "3"]
    return subprocess.Popen(command, env=variables, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.mark.parametrize("kills", [(4,), pytest.param((1, 4, 7), marks=pytest.mark.long)])
def test_workers_are_killed_in_the_middle(jobs, url, diary, tmp_path, kills):
    parent = jobs.backfill("load", **RANGE, args={"airport": "x", "seconds": 0.15}, parallel=4)
    for enough in kills:
        worker = start(url, diary, tmp_path)
        try:
            until(f"{enough} units are complete", lambda: len(jobs.find("task:load status:completed")) >= enough, timeout=40)
        finally:
            worker.send_signal(signal.SIGKILL)
            worker.wait()
        assert parent.refresh().active
    last = start(url, diary, tmp_path)
    try:
        parent.wait(40)
    finally:
        last.terminate()
        last.wait(30)
    balance(jobs, parent, diary)
