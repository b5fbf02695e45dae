"""submit, rerun, retry, cancel, run-now, worker."""

from __future__ import annotations

import contextlib
import getpass
import json
import re
import signal
import time
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from jobtrail import JobTrail
from jobtrail.store.retention import Retention, run_once

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Answer

    Command = Callable[..., Answer]
    Make = Callable[..., str]
    Start = Callable[..., subprocess.Popen[str]]


def until(told: str, fact: Callable[[], bool], seconds: float = 15.0) -> None:
    """Wait for a fact, not for a time."""
    end = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < end, told
        time.sleep(0.05)


def test_submit_tells_the_id(jt: Command) -> None:
    answer = jt("submit", "add", "-a", "a=1")
    assert answer.code == 0
    job_id = answer.out.splitlines()[-1]
    assert jt("show", job_id, "--json").json["actor"] == f"person:{getpass.getuser()}"


def test_a_key_whose_job_was_removed_tells_how_the_job_ended(jt: Command, ran: Make, url: str) -> None:
    words = ("add", "-a", "a=1", "--idempotency-key", "k")
    job_id = ran(*words)
    with contextlib.closing(JobTrail(url)) as jobs:
        run_once(jobs.store, Retention(0, 0, 0, 0), jobs.store.now() + timedelta(minutes=1))
    answer = jt("submit", *words)
    assert answer.code == 0
    assert f"job {job_id} has ended (completed)" in answer.out
    told = jt("submit", *words, "--json", "--wait")
    assert (told.code, told.json["removed"], told.json["created"]) == (0, True, False)
    assert (told.json["job"]["id"], told.json["job"]["status"]) == (job_id, "completed")


def test_values_are_json_where_they_parse(jt: Command, submitted: Make) -> None:
    job_id = submitted("fail", "-a", "message=NaN", "-a", 'password={"a": [1, null]}')
    assert jt("show", job_id, "--json").json["arguments"]["message"] == "NaN"
    whole = submitted(
        "add", "--args", '{"a": 2}', "-a", "b=3", "--label", "tenant=acme", "--queue", "q", "--priority", "1"
    )
    seen = jt("show", whole, "--json").json
    assert (seen["arguments"], seen["labels"]) == ({"a": 2, "b": 3}, {"tenant": "acme"})
    assert (seen["queue"], seen["priority"]) == ("q", 1)


def test_a_unit_is_submitted_once(jt: Command, submitted: Make) -> None:
    words = ("load", "--source", "A", "--period", "2013-02")
    first = submitted(*words)
    again = jt("submit", *words, "--json").json
    assert (again["job"]["id"], again["created"]) == (first, False)
    assert "is there already" in jt("submit", *words).out
    assert jt("submit", *words, "--if-active", "raise").code == 1
    assert jt("submit", *words, "-a", "rows=9").err.count("\n") == 1
    assert jt("submit", *words, "--if-active", "queue", "--json").json["created"] is True


def test_an_idempotency_key(jt: Command, submitted: Make) -> None:
    first = submitted("add", "-a", "a=1", "--idempotency-key", "k")
    assert submitted("add", "-a", "a=1", "--idempotency-key", "k") == first
    answer = jt("submit", "add", "-a", "a=2", "--idempotency-key", "k")
    assert answer.code == 1
    assert first in answer.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("nope",), "no task is called 'nope'"),
        (("add",), "needs the argument 'a'"),
        (("add", "-a", "a=1", "-a", "c=2"), "has no argument 'c'"),
        (("add", "-a", "a"), "--arg must be name=value"),
        (("add", "-a", "a=1", "-a", "a=2"), "given twice"),
        (("add", "--args", "{"), "--args is not JSON"),
        (("add", "--args", "[1]"), "must be one JSON object"),
        (("load", "--period", "2013-13"), "2013-13"),
        (("add", "-a", "a=1", "--priority", "12"), "priority"),
        (("add", "-a", "a=1", "--delay", "-3"), "delay"),
        (("add", "-a", "a=1", "--if-active", "perhaps"), "if_active"),
        (("read", "--file", "missing.csv"), "missing.csv"),
        (("add", "--nope"), "there is no option --nope"),
        ((), "TASK is missing"),
    ],
)  # fmt: skip
def test_wrong_usage_is_one_sentence(jt: Command, words: tuple[str, ...], told: str) -> None:
    answer = jt("submit", *words)
    assert (answer.code, answer.out) == (2, "")
    assert told in answer.err
    assert answer.err.startswith("jobtrail: ")
    assert answer.err.count("\n") == 1


def test_rerun_retry_cancel(jt: Command, submitted: Make, ran: Make) -> None:
    failed = ran("fail", "--period", "2013-02")
    new = jt("rerun", failed[-10:], "--reason", "again", "--json").json["job"]
    shown = jt("show", new["id"], "--json").json
    assert (new["rerun_of"], shown["mode"], shown["reason"]) == (failed, "full", "again")
    assert jt("rerun", failed).code == 1  # the unit is active
    assert jt("retry", failed).code == 1
    cancelled = jt("cancel", new["id"], "--reason", "enough", "--actor", "person:eve", "--json").json["job"]
    assert cancelled["status"] == "cancelled"
    line = jt("show", new["id"], "--json").json["timeline"][-1]
    assert (line["name"], line["actor"], line["reason"]) == ("cancelled", "person:eve", "enough")
    assert jt("cancel", new["id"]).code == 1
    assert jt("retry", new["id"]).code == 0
    assert jt("rerun", failed, "--mode", "sideways").code == 2


def test_rerun_of_chosen_items(jt: Command, submitted: Make, ran: Make) -> None:
    first = ran("load", "-a", "rows=4", "-a", "bad=1")
    new = jt("rerun", first, "--item", "2", "--item", "0", "--loop", "items", "--json").json["job"]
    jt("worker", "--burst")
    assert [item["key"] for item in jt("items", new["id"], "--json").json["items"]] == ["0", "2"]
    assert "has no item 'x'" in jt("rerun", first, "--item", "x").err


def test_run_now(jt: Command, submitted: Make) -> None:
    job_id = submitted("add", "-a", "a=1", "--delay", "3000")
    assert re.search(r"in (49:5\d|50:00)", jt("list").out)
    assert jt("run-now", job_id).code == 0
    told = jt("worker", "--burst", "--json").json
    assert told["jobs"] == {"completed": 1}
    assert jt("run-now", job_id).code == 1


def test_a_corrected_file(jt: Command, ran: Make, tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("1")
    (tmp_path / "two.csv").write_text("12")
    first = ran("read", "--file", "one.csv")
    second = jt("rerun", first, "--mode", "resume", "--file", "two.csv", "--json").json["job"]
    assert jt("show", second["id"], "--json").json["input"]["size"] == 2


def test_wait_has_the_result_and_the_exit_code(jt: Command, process: Start) -> None:
    worker = process("worker")
    try:
        good = jt("submit", "add", "-a", "a=1", "--wait", "--json")
        assert (good.code, good.json["status"], good.json["result"]) == (0, "completed", 2)
        bad = jt("submit", "fail", "--wait")
        assert bad.code == 1
        assert "failed" in bad.out
        assert "RuntimeError: no way" in bad.out
        again = jt("retry", jt("list", "task:fail", "--json").json["jobs"][0]["id"], "--wait")
        assert again.code == 1
    finally:
        worker.terminate()
        out, err = worker.communicate(timeout=10)
    assert worker.returncode == 0
    assert "1 completed" in out
    assert "slots" in err


def test_a_worker_that_only_drains(jt: Command, submitted: Make) -> None:
    for n in range(5):
        submitted("add", "-a", f"a={n}")
    submitted("add", "-a", "a=1", "--queue", "other")
    answer = jt("worker", "--burst", "--concurrency", "2")
    assert answer.code == 0
    assert "5 completed" in answer.out
    assert jt("worker", "--burst", "--queues", "other=1,default=2", "--json").json["jobs"] == {"completed": 1}


@pytest.mark.parametrize("queues", ["", ",", "a=0", "a=x", "a=1,b"])
def test_queues_that_are_none(jt: Command, queues: str) -> None:
    assert jt("worker", "--burst", "--queues", queues).code == 2


def running(jt: Command, job_id: str) -> Callable[[], bool]:
    return lambda: bool(jt("show", job_id, "--json").json["status"] == "running")


def test_sigterm_ends_a_worker_in_bounded_time(jt: Command, submitted: Make, process: Start) -> None:
    job_id = submitted("slow", "-a", "seconds=60")
    worker = process("worker", "--json")
    until("the job runs", running(jt, job_id))
    begun = time.monotonic()
    worker.send_signal(signal.SIGTERM)
    out, err = worker.communicate(timeout=30)
    assert time.monotonic() - begun < 15
    assert worker.returncode == 0
    assert json.loads(out)["jobs"] == {"pending": 1}
    assert "stopping: 1 running" in err
    assert "Traceback" not in err
    seen = jt("show", job_id, "--json").json
    assert (seen["status"], seen["attempt"], seen["timeline"][-1]["name"]) == ("pending", 0, "handed_back")


def test_a_second_signal_does_not_wait(
    jt: Command, submitted: Make, process: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOBTRAIL_GRACEFUL_SHUTDOWN_TIMEOUT", "60")
    job_id = submitted("slow", "-a", "seconds=60")
    worker = process("worker")
    until("the job runs", running(jt, job_id))
    worker.send_signal(signal.SIGINT)
    assert worker.stderr is not None
    while "stopping" not in worker.stderr.readline():
        pass
    begun = time.monotonic()
    worker.send_signal(signal.SIGINT)
    _, err = worker.communicate(timeout=30)
    assert time.monotonic() - begun < 12  # the drain alone would take sixty seconds
    assert "Traceback" not in err
    assert jt("show", job_id, "--json").json["status"] == "pending"
