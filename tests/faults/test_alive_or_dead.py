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

from jobtrail.engine.beat import BLOCKED_AFTER

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.timeout(240)
QUICK = {"beat_interval": 0.4, "silent_after": 1.6, "sweep_interval": 0.4}  # instead of 5, 15 and 2 s


@pytest.fixture
def one(sqlite_url: str, tmp_path: Path) -> Iterator[Fleet]:
    with fleet(sqlite_url, tmp_path, **QUICK) as made:
        yield made


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


def test_c03_a_blocked_loop_and_a_held_interpreter_are_not_dead(one: Fleet) -> None:
    seconds = int(BLOCKED_AFTER) + 3
    first = one.start("-c", "1")
    computing = one.submit("computing", seconds=seconds)
    until("the loop is blocked", lambda: len(one.diary("start")) == 1)
    second = one.start("-c", "1")
    holding = one.submit("holding", seconds=seconds)
    until("the lock is held", lambda: len(one.diary("start")) == 2)
    one.start()

    def blocked(pid: int) -> dict | None:
        row = one.worker(pid)
        return json.loads(row.detail) if row.detail else None

    for process, job in ((first, computing), (second, holding)):
        noted = until("the worker's row says what blocks", lambda pid=process.pid: blocked(pid), timeout=30)
        assert noted["by"] == [job]
        assert noted["loop_blocked_since"] < time.time()
    one.drained(timeout=40)
    for job in (computing, holding):
        row = one.rows()[job]
        assert (row.status, row.run_no) == ("completed", 1)
    assert one.state_of(first.pid) == one.state_of(second.pid) == "alive"
    until("the note goes", lambda: blocked(first.pid) is None and blocked(second.pid) is None)


def test_a_forked_grandchild_does_not_keep_its_worker_alive(one: Fleet) -> None:
    worker = one.start()
    job = one.submit("forking", seconds=60.0)
    forked = Path(f"{one.diary_path}.forked")
    until("it has forked", lambda: forked.exists() and forked.read_text())
    try:
        other = one.start()
        died = time.monotonic()
        worker.kill()
        until("the death is noticed", lambda: one.state_of(worker.pid) == "dead")
        assert time.monotonic() - died < 5, "at once, whoever holds the pipe"
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
