"""`jobtrail metrics`: printed for people and programs, served until stopped; a worker serves those of its runs."""

from __future__ import annotations

import re
import signal
import subprocess
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ADDRESS = re.compile(r"metrics on (http://127\.0\.0\.1:\d+/metrics)")


@pytest.fixture
def begin(process: Callable[..., subprocess.Popen[str]]) -> Iterator[Callable[..., tuple[Any, str]]]:
    """Start a command that serves; the process and the address that it tells."""
    begun = []

    def start(*words: str) -> tuple[Any, str]:
        begun.append(process(*words))
        line = begun[-1].stderr.readline()
        found = ADDRESS.search(line)
        assert found is not None, line
        return begun[-1], found[1]

    yield start
    for one in begun:
        one.kill()
        one.communicate()


def fetch(address: str) -> str:
    with urllib.request.urlopen(address, timeout=15) as answer:
        text: str = answer.read().decode()
    return text


def test_they_are_printed_once(jt: Callable[..., Any], submitted: Callable[..., str]) -> None:
    submitted("add", "-a", "a=1")
    jt("worker", "--burst")
    submitted("add", "-a", "a=2")
    answer = jt("metrics")
    assert answer.code == 0
    assert 'jobtrail_jobs_ended_total{status="completed",task="add"} 1.0\n' in answer.out
    assert 'jobtrail_waiting_jobs{queue="default",when="now"} 1.0\n' in answer.out
    samples = {(one["name"], one["labels"].get("status")): one["value"] for one in jt("metrics", "--json").json}
    assert samples["jobtrail_jobs_ended_total", "completed"] == 1
    assert samples["jobtrail_jobs", "pending"] == 1


def test_they_need_no_application(
    bare: Callable[..., Any], jt: Any, submitted: Any, url: str, monkeypatch: Any
) -> None:
    submitted("add", "-a", "a=1")
    monkeypatch.delenv("JOBTRAIL_APP")
    assert 'jobtrail_jobs{status="pending"} 1.0\n' in bare("metrics", "--database", url).out


def test_they_are_served_until_stopped(begin: Callable[..., tuple[Any, str]], submitted: Callable[..., str]) -> None:
    submitted("add", "-a", "a=1")
    running, address = begin("metrics", "--serve", "--port", "0")
    assert 'jobtrail_jobs{status="pending"} 1.0\n' in fetch(address)
    submitted("add", "-a", "a=2")
    assert 'jobtrail_jobs{status="pending"} 2.0\n' in fetch(address)
    running.send_signal(signal.SIGTERM)
    assert running.wait(15) == 0


def test_a_worker_serves_those_of_its_runs(
    begin: Callable[..., tuple[Any, str]], submitted: Callable[..., str]
) -> None:
    running, address = begin("worker", "--metrics-port", "0")
    submitted("add", "-a", "a=1", "--wait")
    assert 'jobtrail_run_seconds_count{outcome="success",queue="default",task="add"} 1.0\n' in fetch(address)
    assert 'jobtrail_workers{state="alive"} 1.0\n' in fetch(address)
    running.send_signal(signal.SIGTERM)
    assert running.wait(15) == 0


def test_a_port_that_is_taken_ends_the_worker_before_it_works(
    begin: Any, submitted: Any, jt: Callable[..., Any]
) -> None:
    job = submitted("add", "-a", "a=1")
    _, address = begin("metrics", "--serve", "--port", "0")
    port = address.split(":")[2].split("/")[0]
    answer = jt("worker", "--burst", "--metrics-port", port)
    assert (answer.code, answer.err) == (
        2, f"jobtrail: metrics cannot be served on 127.0.0.1:{port}: Address already in use\n",
    )  # fmt: skip
    assert jt("show", job, "--json").json["status"] == "pending"
