"""The example of a plug-in, installed as a real package: found by entry point, run by real commands, word for word in the docs."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import warm

from jobtrail import JobTrail

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "plugin"
PAGE = ROOT / "docs" / "how-to" / "write-a-plugin.md"
FENCE = re.compile(r"^```\w+ file=(?P<file>\S+)\n(?P<text>.*?)^```\s*$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """A folder into which the example was installed by pip, without a network."""
    folder = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    options = ["--no-index", "--no-deps", "--no-build-isolation", "--target", str(folder)]
    done = subprocess.run([*pip, *options, str(EXAMPLE)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not (EXAMPLE / "build").exists()
    return folder


@pytest.fixture
def jobtrail(site, tmp_path):
    """`python -m jobtrail` in an empty folder, as a process that finds the package."""
    (tmp_path / "program.py").write_text("from jobtrail import JobTrail\n\njobs = JobTrail('sqlite:///jobs.db')\n")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("JOBTRAIL_")}
    paths = os.pathsep.join((str(site), str(ROOT / "src")))
    base = {**kept, "PYTHONPATH": paths, "JOBTRAIL_APP": "program:jobs"}

    def run(*words, code=0, **environment):
        done = warm.run("-m", "jobtrail", *words, cwd=tmp_path, env={**base, **environment})
        assert done.returncode == code, f"{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
        return done.stdout

    return run


@pytest.fixture
def archive(tmp_path):
    """A folder with three files."""
    folder = tmp_path / "archive"
    (folder / "2013").mkdir(parents=True)
    for name in ("a.csv", "2013/b.csv", "2013/c.csv"):
        (folder / name).write_text(name)
    return folder


def test_the_page_shows_the_files_of_the_example_word_for_word():
    shown = {one["file"]: one["text"] for one in FENCE.finditer(PAGE.read_text(encoding="utf-8"))}
    there = {
        path.relative_to(EXAMPLE).as_posix(): path.read_text(encoding="utf-8")
        for path in EXAMPLE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert shown == there


def test_it_is_found_and_listed(jobtrail):
    (one,) = json.loads(jobtrail("plugins", "--json"))["plugins"]
    assert one == {
        "name": "checksums",
        "version": "1.0.0",
        "package": "jobtrail-checksums",
        "about": "Checks that the files of an archive have not changed.",
        "tasks": ["checksums.record", "checksums.verify"],
        "schedules": ["checksums.verify: 0 3 * * SUN"],
        "middleware": ["only_when_mounted (tasks)"],
        "channels": ["checksums.paper"],
        "routes": ["GET /bad (viewer)"],
        "commands": ["bad"],
        "loops": [],
        "topics": [],
        "pages": [],
        "tables": [],
        "uses": [],
    }
    tasks = {task["name"]: task for task in json.loads(jobtrail("tasks", "--json"))}
    assert (tasks["checksums.verify"]["executor"], tasks["checksums.verify"]["attempts"]) == ("process", 3)
    assert re.search(r"^Plug-ins:\n +checksums +", jobtrail("--help"), re.MULTILINE)


def test_its_tasks_run_as_real_processes_and_its_command_tells_what_they_found(jobtrail, archive):
    jobtrail("submit", "checksums.record")
    jobtrail("worker", "--burst")
    assert set(json.loads((archive / "checksums.json").read_text())) == {"a.csv", "2013/b.csv", "2013/c.csv"}
    (archive / "a.csv").write_text("changed")
    (archive / "2013" / "c.csv").unlink()
    jobtrail("submit", "checksums.verify", "--arg", "folder=archive")
    jobtrail("worker", "--burst")
    with contextlib.closing(JobTrail(f"sqlite:///{archive.parent / 'jobs.db'}", plugins=())) as jobs:
        assert [(job.task, job.status) for job in jobs.find()] == [
            ("checksums.verify", "partial"),
            ("checksums.record", "completed"),
        ]
    found = json.loads(jobtrail("checksums", "bad", "--json", code=1))
    assert {one["file"]: one["why"] for one in found} == {
        "a.csv": "its content has changed",
        "2013/c.csv": "[Errno 2] No such file or directory: 'archive/2013/c.csv'",
    }
    assert "plug-ins  checksums 1.0.0" in jobtrail("doctor")


def test_its_middleware_has_a_job_tried_again_while_the_disk_is_away(jobtrail):
    job = json.loads(jobtrail("submit", "checksums.verify", "--arg", "folder=nowhere", "--json"))["job"]
    policy = {"JOBTRAIL_TASK__CHECKSUMS_VERIFY__RETRY__WAIT": "0"}
    jobtrail("worker", "--burst", **policy)
    shown = json.loads(jobtrail("show", job["id"], "--json"))
    assert (shown["status"], shown["attempt"]) == ("failed", 3)
    assert shown["failure"]["message"] == "the folder nowhere is not there"
    verify = json.loads(jobtrail("tasks", "--json", **policy))[1]
    assert verify["overridden"]["retry"]["by"] == "JOBTRAIL_TASK__CHECKSUMS_VERIFY__RETRY__WAIT"


def test_settings_of_the_operator_change_its_tasks_without_its_code(jobtrail, tmp_path):
    (tmp_path / "jobtrail.toml").write_text('[tasks."checksums.verify"]\nqueue = "night"\nretry = {attempts = 7}\n')
    tasks = {task["name"]: task for task in json.loads(jobtrail("tasks", "--json"))}
    assert (tasks["checksums.verify"]["queue"], tasks["checksums.verify"]["attempts"]) == ("night", 7)
    job = json.loads(jobtrail("submit", "checksums.verify", "--json"))["job"]
    assert json.loads(jobtrail("show", job["id"], "--json"))["queue"] == "night"


def test_the_same_package_broken_is_told_and_everything_else_works(jobtrail, site, tmp_path):
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "jobtrail_checksums.py").write_text("import sys\nsys.exit('no licence')\n")
    paths = os.pathsep.join((str(broken), str(site), str(ROOT / "src")))
    jobtrail("worker", "--burst", PYTHONPATH=paths)
    told = jobtrail("doctor", code=1, PYTHONPATH=paths)
    assert "checksums (package jobtrail-checksums): it calls exit (no licence) when it is imported" in told
    assert "repair or remove the package jobtrail-checksums" in told
    jobtrail("checksums", "bad", code=2, PYTHONPATH=paths)
