"""Input files: what is accepted, what is refused with which sentence, and what happens when one changes."""

from __future__ import annotations

import os
import threading
from json import loads

import pytest
from trails import count_rows, event

from jobtrail import InvalidFile
from jobtrail.commands.job_fields import stored_row
from jobtrail.testing import drain


@pytest.fixture
def load(jobs):
    @jobs.task
    def load(ctx):
        jobs.seen.append((ctx.file.name, ctx.file.size, ctx.file.sha256))

    jobs.seen = []
    return load


def refused(jobs, task, path, words):
    with pytest.raises(InvalidFile) as error:
        task.using(file=path).enqueue()
    for word in words:
        assert word in str(error.value)
    assert "Traceback" not in str(error.value)
    assert count_rows(jobs) == 0


def test_a_body_sees_its_file(jobs, load, tmp_path):
    path = tmp_path / "planes ü.csv"
    path.write_text("a,b\n")
    job = load.using(file=path).enqueue()
    drain(jobs)
    assert job.refresh().status == "completed"
    assert jobs.seen[0][:2] == ("planes ü.csv", 4)
    assert len(jobs.seen[0][2]) == 64


def test_the_same_content_under_another_name_is_the_same_unit(jobs, load, tmp_path):
    for name, text in (("a.csv", "1"), ("b.csv", "1"), ("c.csv", "2")):
        (tmp_path / name).write_text(text)
    a, b, c = (load.using(source="s", file=str(tmp_path / name)).enqueue() for name in ("a.csv", "b.csv", "c.csv"))
    assert (b.id == a.id, c.id == a.id) == (True, False)


def test_missing_folder_pipe_and_names_with_line_breaks_are_refused(jobs, load, tmp_path):
    refused(jobs, load, tmp_path / "missing.csv", ["there is no file", "missing.csv"])
    refused(jobs, load, tmp_path, ["is a folder"])
    os.mkfifo(tmp_path / "pipe")
    refused(jobs, load, tmp_path / "pipe", ["not a regular file"])
    (tmp_path / "a\nb.csv").write_text("x")
    refused(jobs, load, tmp_path / "a\nb.csv", ["line break", r"a\nb.csv"])
    refused(jobs, load, str(tmp_path / "a\x00b"), ["cannot be shown"])
    refused(jobs, load, "", ["folder"])
    (tmp_path / "plain").write_text("x")
    refused(jobs, load, tmp_path / "plain" / "below", ["plain/below"])


def test_an_unreadable_file_is_refused(jobs, load, tmp_path, monkeypatch):
    path = tmp_path / "secret.csv"
    path.write_text("x")
    path.chmod(0)
    if os.access(path, os.R_OK):  # root reads everything

        def denied(self, *_args, **_options):
            raise PermissionError(13, "Permission denied", str(self))

        monkeypatch.setattr("pathlib.Path.open", denied)
    refused(jobs, load, path, ["cannot be read", "Permission denied"])


def test_a_file_that_is_still_growing_is_refused(jobs, load, tmp_path):
    path = tmp_path / "growing.csv"
    path.write_text("begin\n")
    stop = threading.Event()

    def write():
        while not stop.wait(0.02):
            with path.open("a") as file:
                file.write("more\n")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        refused(jobs, load, path, ["still being written"])
    finally:
        stop.set()
        writer.join()
    load.using(file=path).enqueue()
    assert count_rows(jobs) == 1


@pytest.mark.parametrize("change", ["content", "same size", "gone", "folder"])
def test_a_file_changed_before_the_run_fails_the_job_and_is_not_retried(jobs, tmp_path, change):
    @jobs.task(retry=5)
    def load(ctx):
        ran.append(1)

    ran = []
    path = tmp_path / "a.csv"
    path.write_text("first")
    job = load.using(file=path).enqueue()
    if change == "gone":
        path.unlink()
    elif change == "folder":
        path.unlink()
        path.mkdir()
    else:
        path.write_text("other" if change == "same size" else "something longer")
    drain(jobs)
    assert (job.refresh().status, job.attempt, ran) == ("failed", 1, [])
    assert job.error["type"].endswith("InputChanged")
    assert "a.csv" in job.error["message"]


def test_a_task_may_accept_a_changed_file_and_the_trail_shows_both(jobs, tmp_path):
    @jobs.task(on_input_change="accept")
    def load(ctx):
        return [ctx.file.size, ctx.file.sha256]

    path = tmp_path / "a.csv"
    path.write_text("first")
    job = load.using(file=path).enqueue()
    path.write_text("something longer")
    drain(jobs)
    size, now = job.result()
    assert size == 16
    told = event(job, "input_changed").reason
    assert told.startswith("accepted: ")
    assert now in told
    assert loads(stored_row(job).file)["sha256"] in told
