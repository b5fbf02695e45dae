"""Workers killed at random moments, several at a time: short here, 200 kills by `make faults`."""

from __future__ import annotations

import random
import time
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import pytest
from fleet import Balance, Fleet, Process, check, fleet, until

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.timeout(240)
ITEMS = 20
LATE = 0.25 + 0.25  # seconds: what the recorder promises, and the write itself on a busy machine


def kill_at_random(one: Fleet, kills: int, workers: int) -> tuple[Balance, int]:
    """Keep ``workers`` busy and kill those that have work; the balance at the end, and how many were killed."""
    ids: list[str] = []
    killed = 0
    one.start_many(workers, "-c", "4")
    for number in range(kills):
        ids += [one.submit("listed", count=ITEMS, durable=n % 2 == 0, pause=0.01) for n in range(6)]
        busy = until("bodies run somewhere", lambda: _busy(one), timeout=60)
        time.sleep(random.uniform(0.0, 0.4))
        for victim in random.sample(busy, min(len(busy), 2 if number % 5 == 4 else 1)):
            victim.kill()
            killed += 1
        while len(one.living()) < workers:
            one.start("-c", "4", wait=False)
    one.drained(timeout=120)
    found = check(one, ids)
    check_items(one, ids)
    return found, killed


def _busy(one: Fleet) -> list[Process]:
    """Living workers in which a body has begun and not ended."""
    open_runs = {(line["job"], line["run"]): line["pid"] for line in one.diary("start")}
    for line in one.diary("end"):
        open_runs.pop((line["job"], line["run"]), None)
    return [process for process in one.living() if process.pid in open_runs.values()]


def check_items(one: Fleet, ids: list[str]) -> None:
    """None lost; repeated only what was younger than the recorder's promise when its worker died."""
    of_job = defaultdict(list)
    for line in one.diary("item"):
        of_job[line["job"]].append(line)
    rows = one.rows()
    for job in ids:
        lines = of_job[job]
        if rows[job].status != "completed":
            continue
        assert {line["key"] for line in lines} == set(range(ITEMS)), "an item was lost"
        assert len(one.jobs.get(job).items(outcome="ok")) == ITEMS
        times = Counter(line["key"] for line in lines)
        died_at = {run: max(line["at"] for line in lines if line["run"] == run) for run in {x["run"] for x in lines}}
        repeated = [x for x in lines if times[x["key"]] > 1 and any(y["key"] == x["key"] and y["run"] > x["run"] for y in lines)]
        assert all(died_at[line["run"]] - line["at"] <= LATE for line in repeated), repeated
        if one.jobs.get(job).arguments.get("durable"):
            per_run = Counter(line["run"] for line in repeated)
            assert max(per_run.values(), default=0) <= 1


@pytest.mark.parametrize("url", ["sqlite", "postgresql"], indirect=True)
@pytest.mark.parametrize("kills", [2, pytest.param(5, marks=pytest.mark.long)])
def test_workers_are_killed_while_they_work(url: str, tmp_path: Path, kills: int) -> None:
    with fleet(url, tmp_path) as one:
        kill_at_random(one, kills, 2)
