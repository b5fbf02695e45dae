"""C-41: what a signal does to a worker that has a short job, a long one that listens, and one that does not."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

import pytest
from fleet import Fleet, fleet, until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.timeout(240)
DRAIN, COOPERATE, SUPERVISOR = 1.5, 0.5, 10.0  # seconds; the last is where a supervisor would send SIGKILL


@pytest.fixture
def one(sqlite_url: str, tmp_path: Path) -> Iterator[Fleet]:
    with fleet(sqlite_url, tmp_path, graceful_shutdown_timeout=DRAIN, cancel_timeout=COOPERATE) as made:
        yield made


def started(one: Fleet, number: int) -> None:
    until(f"{number} bodies have begun", lambda: len(one.diary("start")) >= number)


def left(one: Fleet, process: object, within: float) -> float:
    """Wait for its end; how long that took."""
    begun = time.monotonic()
    process.popen.wait(within)
    return time.monotonic() - begun


def test_one_signal_drains_then_hands_back_and_a_restart_goes_on(one: Fleet) -> None:
    worker = one.start("-c", "3")
    short = one.submit("quick", seconds=0.7)
    listens = one.submit("cooperative")
    ignores = one.submit("deaf", seconds=60)
    started(one, 3)
    waits = one.submit("quick")
    worker.signal(signal.SIGTERM)
    left(one, worker, SUPERVISOR)
    assert worker.popen.returncode == 0
    rows = one.rows()
    assert rows[short].status == "completed", "what ends within the drain ends in order"
    assert rows[waits].run_no == 0, "nothing new is claimed"
    for job in (listens, ignores):
        assert rows[job].status == "pending"
        assert rows[job].attempt == 0, "a hand-back is not charged"
        events = one.jobs.get(job).events()
        assert any("interrupted by shutdown" in (event.reason or "") for event in events)
    assert one.state_of(worker.pid) == "stopped"
    again = one.start("-c", "5")
    until("both run again", lambda: {x["job"] for x in one.diary("start") if x["run"] == 2} == {listens, ignores})
    again.kill()


def test_a_second_signal_hands_back_at_once(one: Fleet) -> None:
    one.settings = {"graceful_shutdown_timeout": 60, "cancel_timeout": 60}
    worker = one.start("-c", "2")
    jobs = [one.submit("cooperative"), one.submit("deaf", seconds=60)]
    started(one, 2)
    worker.signal(signal.SIGTERM)
    until("it is stopping", lambda: one.state_of(worker.pid) == "stopping")
    worker.signal(signal.SIGTERM)
    left(one, worker, SUPERVISOR)
    rows = one.rows()
    assert [(rows[job].status, rows[job].attempt) for job in jobs] == [("pending", 0)] * 2
    assert one.state_of(worker.pid) == "stopped"


@pytest.mark.long
def test_ctrl_c_twice(one: Fleet) -> None:
    one.settings = {"graceful_shutdown_timeout": 60, "cancel_timeout": 60}
    worker = one.start("-c", "1")
    job = one.submit("deaf", seconds=60)
    started(one, 1)
    worker.signal(signal.SIGINT)
    until("it is stopping", lambda: one.state_of(worker.pid) == "stopping")
    worker.signal(signal.SIGINT)
    left(one, worker, SUPERVISOR)
    assert one.rows()[job].status == "pending"
    assert one.state_of(worker.pid) == "stopped"


@pytest.mark.parametrize("after", [0.0, 0.6])
def test_a_signal_during_start_up(one: Fleet, after: float) -> None:
    job = one.submit("cooperative")
    worker = one.start(wait=False)
    time.sleep(after)
    worker.signal(signal.SIGTERM)
    left(one, worker, SUPERVISOR + 20)
    row = one.rows()[job]
    assert (row.status, row.attempt) == ("pending", 0)
    assert one.state_of(worker.pid) in {None, "stopped", "dead"}


@pytest.mark.long
def test_three_rollouts_in_a_row_charge_nothing(one: Fleet) -> None:
    job = one.submit("cooperative")
    for number in range(1, 4):
        worker = one.start()
        started(one, number)
        worker.signal(signal.SIGTERM)
        left(one, worker, SUPERVISOR)
    assert (one.rows()[job].status, one.rows()[job].attempt) == ("pending", 0)
