"""What must not be taken for death, what must, and bodies that take their process with them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fleet import Fleet, check, fleet, until

from jobtrail.recovery.heartbeat import TICK
from jobtrail.recovery.worker_detail import blocked_after

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.timeout(240)
QUICK = {"beat_interval": 0.4, "silent_after": 1.6, "sweep_interval": 0.4}  # instead of 5, 15 and 2 s
BLOCKED_AFTER = blocked_after(QUICK["beat_interval"])


@pytest.fixture
def one(sqlite_url: str, tmp_path: Path) -> Iterator[Fleet]:
    with fleet(sqlite_url, tmp_path, **QUICK) as made:
        yield made


@pytest.mark.long
def test_c01_a_body_that_kills_its_worker_is_given_up_after_three(one: Fleet) -> None:
    bad = one.submit("killer")
    harmless = [one.submit("quick") for _ in range(10)]

    def supervised() -> bool:
        if not one.living():
            one.start(wait=False)
        return one.unfinished() == 0

    until("every job has ended", supervised, timeout=60)
    check(one, harmless)
    row = one.rows()[bad]
    assert row.status == "failed"
    assert "killed its worker 3 times" in row.error
    assert row.strikes == 3
    starts = len([line for line in one.diary("start") if line["job"] == bad])
    deaths = [event for event in one.jobs.get(bad).events() if event.name == "interrupted"]
    assert starts == row.attempt == len(deaths)
    assert starts <= 4, "only a death beside others is not charged, and that can happen once"


@pytest.mark.long
def test_c03_a_blocked_loop_and_a_held_interpreter_are_not_dead(one: Fleet) -> None:
    one.settings["silent_after"] = 5.0  # less than they are blocked, and more than a busy machine may keep a beat waiting
    # One slot each: nothing is claimed, and no lock of SQLite held, while the interpreter stands still. The last one watches.
    started = [one.start("-q", queue, "-c", "1", wait=False) for queue in ("computing", "holding", "nothing")]
    pids = [process.pid for process in started[:2]]
    until("all are registered", lambda: {one.state_of(process.pid) for process in started} == {"alive"}, timeout=40)
    jobs = [one.submit(task, queue=task, seconds=int(BLOCKED_AFTER) + 5) for task in ("computing", "holding")]

    def noted(pid: int) -> dict | None:
        row = one.worker(pid)
        told = json.loads(row.detail) if row.detail else {}
        return told if "loop_blocked_since" in told else None

    for pid, job in zip(pids, jobs, strict=True):
        found = until("the worker's row says what blocks", lambda pid=pid: noted(pid), timeout=30)
        assert found["by"] == [job]
        assert found["loop_blocked_since"] < time.time()
    one.drained(timeout=40)
    for job in jobs:
        row = one.rows()[job]
        assert (row.status, row.run_no) == ("completed", 1)
    assert [one.state_of(pid) for pid in pids] == ["alive", "alive"]
    until("the notes go", lambda: [noted(pid) for pid in pids] == [None, None])


@pytest.mark.long
def test_c19_a_worker_that_is_blocked_past_a_deadline_is_ended_where_that_is_wanted(one: Fleet) -> None:
    worker = one.start("--end-blocked")
    beside = one.submit("cooperative")
    until("one runs that has no limit", lambda: len(one.diary("start")) == 1)
    job = one.submit("blocking")
    until("the loop is blocked", lambda: len(one.diary("start")) == 2)
    begun = time.monotonic()
    worker.popen.wait(timeout=BLOCKED_AFTER + 20)
    assert time.monotonic() - begun > 2, "not before its deadline"
    assert worker.popen.returncode == -signal.SIGKILL
    until("it is dead", lambda: one.state_of(worker.pid) == "dead", timeout=5)
    one.jobs.get(beside).cancel(actor="ann")
    one.start()
    one.drained()
    told = [f"{event.reason} {event.detail}" for event in one.jobs.get(job).events()]
    assert any("its event loop was blocked for" in line and f"past the deadline of job {job}" in line for line in told)
    assert "is ended: its event loop was blocked" in worker.said()


def test_a_forked_grandchild_does_not_keep_its_worker_alive(one: Fleet) -> None:
    one.settings["silent_after"] = 60.0  # only the operating system can tell in time
    worker = one.start()
    job = one.submit("forking", seconds=60.0)
    forked = Path(f"{one.diary_path}.forked")
    until("it has forked", lambda: forked.exists() and forked.read_text())
    try:
        other = one.start()
        worker.kill()
        until("the death is noticed, whoever holds the pipe", lambda: one.state_of(worker.pid) == "dead")
        one.drained()
        assert [line["pid"] for line in one.diary("end")] == [other.pid]
        assert one.rows()[job].status == "completed"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(forked.read_text()), signal.SIGKILL)


def test_c69_hung_threads_do_not_keep_the_process(one: Fleet) -> None:
    one.settings |= {"graceful_shutdown_timeout": 1, "cancel_timeout": 0.5}
    worker = one.start("-c", "4")
    hung = [one.submit("hung") for _ in range(4)]
    until("four hang", lambda: len(one.diary("start")) == 4)
    behind = [one.submit("quick") for _ in range(20)]
    until("their limits have passed", lambda: all(one.rows()[job].status != "running" for job in hung))
    worker.signal(signal.SIGTERM)
    worker.popen.wait(20)
    assert all(one.rows()[job].status != "running" for job in hung)
    one.start()
    until("the others run elsewhere", lambda: all(one.rows()[job].status == "completed" for job in behind))


@pytest.mark.long
def test_what_a_body_in_a_process_has_started_ends_with_its_worker(one: Fleet) -> None:
    """The child dies with its parent at once; what it has started does not know of that, and its group tells the beat process."""
    worker = one.start()
    job = one.submit("starting")
    (start,) = until("its program runs", lambda: one.diary("start"))
    until("the beat process has heard of the child", lambda: time.time() - start["at"] > 2 * TICK)
    program = start["program"]
    os.kill(program, 0)
    worker.kill()
    until("the program is gone", lambda: _is_gone(program), timeout=10)
    one.start()
    one.drained()
    assert one.rows()[job].status == "completed"


def _is_gone(pid: int) -> bool:
    """Ended; that nobody may have collected it yet is no life."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[-1].split()[0] == "Z"
    return True
