"""Input files: what is accepted, what is refused with which sentence, and what happens when one changes."""

from __future__ import annotations

import os
import threading
from datetime import timedelta
from json import loads
from types import SimpleNamespace

import process_tasks
import pytest
from trails import count_rows, event

from jobtrail import InvalidFile, InvalidOption
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


# -- files that are not whole ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.csv.part", "a.TMP", "a.csv.crdownload", "a.csv~", ".a.csv", "a.filepart"])
def test_a_name_of_an_unfinished_file_is_refused_and_renaming_it_helps(jobs, load, tmp_path, name):
    path = tmp_path / name
    path.write_text("x")
    refused(jobs, load, path, [name, "not finished", "rename"])
    load.using(file=path.rename(tmp_path / "a.csv")).enqueue()
    assert count_rows(jobs) == 1


@pytest.mark.parametrize(("marker", "name"), [(".done", "a.csv.done"), ("_SUCCESS", "_SUCCESS")])
def test_a_file_without_its_marker_is_refused(jobs, tmp_path, marker, name):
    load = jobs.task(name="load", ready_marker=marker)(lambda ctx: None)
    (tmp_path / "a.csv").write_text("x")
    refused(jobs, load, tmp_path / "a.csv", ["not ready", name])
    (tmp_path / name).touch()
    load.using(file=tmp_path / "a.csv").enqueue()
    assert count_rows(jobs) == 1


@pytest.mark.parametrize("marker", ["", "a/b", ".", 5])
def test_a_marker_that_is_no_name_is_refused(jobs, marker):
    with pytest.raises(InvalidOption, match="ready_marker"):
        jobs.task(name="load", ready_marker=marker)(lambda ctx: None)


@pytest.mark.parametrize(
    ("settle", "age", "waits"),
    [(0.25, 1.0, [0.25]), (0.25, 60.0, []), (5.0, 1.0, [4.0]), (timedelta(seconds=30), 20.0, [10.0]), (5.0, 6.0, [])],
)
def test_the_quiet_time_is_the_tasks_and_only_the_rest_is_waited_for(jobs, tmp_path, monkeypatch, settle, age, waits):
    load = jobs.task(name="load", settle=settle)(lambda ctx: None)
    path = tmp_path / "a.csv"
    path.write_text("x")
    now = path.stat().st_mtime + age
    waited = []
    monkeypatch.setattr("jobtrail.commands.input_files.time", SimpleNamespace(time=lambda: now, sleep=waited.append))
    load.using(file=path).enqueue()
    assert waited == pytest.approx(waits)


def test_a_row_within_the_quiet_time_refuses_the_file(jobs, tmp_path, monkeypatch):
    load = jobs.task(name="load", settle=3)(lambda ctx: None)
    path = tmp_path / "a.csv"
    path.write_text("x")

    def wait(_seconds):
        path.write_text("x\ny")

    clock = SimpleNamespace(time=lambda: path.stat().st_mtime, sleep=wait)
    monkeypatch.setattr("jobtrail.commands.input_files.time", clock)
    refused(jobs, load, path, ["still being written"])


def test_the_quiet_time_is_set_from_outside(make_jobs, tmp_path):
    config = tmp_path / "jobtrail.toml"
    config.write_text('[tasks.load]\nsettle = 7\nready_marker = ".ok"\n')
    load = make_jobs(config=config).task(name="load")(lambda ctx: None)
    assert (load.task.settle, load.task.ready_marker) == (7.0, ".ok")


def growing(path, rows, *, then):
    """A body that reads its file; ``then`` happens before it has returned."""
    read = path.read_text().splitlines()
    rows += read
    then(path)
    return len(read)


def append(path):
    with path.open("a") as file:
        file.write("4\n")


def replaced(path):
    new = path.with_name("new")
    new.write_text("9\n9\n9\n")
    os.utime(new, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    new.replace(path)


@pytest.mark.parametrize("change", [append, replaced])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_file_that_changes_while_it_is_read_completes_no_job(jobs, tmp_path, change, is_async):
    path, rows = tmp_path / "a.csv", []
    path.write_text("1\n2\n3\n")

    @jobs.task(retry=3)
    def load(ctx):
        for item in ctx.items([1, 2, 3]):
            with item:
                pass
        return growing(path, rows, then=change)

    @jobs.task
    async def load_async():
        return growing(path, rows, then=change)

    job = (load_async if is_async else load).using(file=path).enqueue()
    drain(jobs)
    assert (job.refresh().status, rows) == ("failed", ["1", "2", "3"])
    assert job.error["type"].endswith("InputChanged")
    assert "while the job ran" in job.error["message"]
    assert job.attempt == 1
    assert "while the job ran" in event(job, "input_changed").reason


def test_a_task_may_accept_a_file_that_changes_while_it_is_read(jobs, tmp_path):
    path, rows = tmp_path / "a.csv", []
    path.write_text("1\n2\n3\n")
    load = jobs.task(name="load", on_input_change="accept")(lambda ctx: growing(path, rows, then=append))
    job = load.using(file=path).enqueue()
    drain(jobs)
    assert (job.refresh().status, job.result()) == ("completed", 3)
    assert event(job, "input_changed").reason.startswith("accepted: ")


@pytest.mark.parametrize("then", ["touch", "unlink", "rewrite"])
def test_a_file_with_the_same_content_or_moved_away_has_not_changed(jobs, tmp_path, then):
    path, rows = tmp_path / "a.csv", []
    path.write_text("1\n")

    def change(path):
        if then == "rewrite":
            path.write_text(path.read_text())
        else:
            getattr(path, then)()

    job = jobs.task(name="load")(lambda ctx: growing(path, rows, then=change)).using(file=path).enqueue()
    drain(jobs)
    assert job.refresh().status == "completed"


@pytest.mark.skipif(os.name == "nt", reason="children are told by POSIX signals")
def test_a_file_that_changes_while_a_child_process_reads_it_completes_no_job(jobs, tmp_path):
    jobs.tasks.add(process_tasks.app.tasks.get("read_a_growing_file"))
    path = tmp_path / "a.csv"
    path.write_text("1\n2\n3\n")
    job = jobs.task_named("read_a_growing_file").using(file=path).enqueue()
    drain(jobs, slots=1)
    assert (job.refresh().status, path.read_text()) == ("failed", "1\n2\n3\n4\n")
    assert "while the job ran" in job.error["message"]
