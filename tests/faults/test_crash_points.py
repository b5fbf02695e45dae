"""SIGKILL at each named point: no job lost, none completed twice, no item lost, few repeated."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING

import pytest
import warm
from fleet import Fleet, check, fleet

from jobtrail.errors import InvalidOption
from jobtrail.testing import crash, recover

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.timeout(240)
COUNT = 40
POINTS = ("claim_answer_lost", "claimed", "step:prepare", "item:7", "before_settle", "settle_answer_lost", "after_settle")
DONE_BEFORE = {"settle_answer_lost", "after_settle"}
LATE = 0.25 + 0.15  # seconds: what the recorder promises, and the write itself

ON_SQLITE = pytest.mark.parametrize("url", ["sqlite"], indirect=True)


@pytest.fixture
def one(url: str, tmp_path: Path) -> Iterator[Fleet]:
    with fleet(url, tmp_path) as made:
        yield made


def crash_and_recover(one: Fleet, at: str) -> None:
    import works

    environment = {key: value for key, value in one.environment().items() if key in {"FAULTS_DIARY", "PYTHONPATH"}}
    with warm.crashes():
        crash(one.jobs, app="works:jobs", at=at, environment=environment)
    works.jobs.store = works.jobs.service.store = one.jobs.store
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAULTS_DIARY", str(one.diary_path))
        works._diary = None
        recover(works.jobs)


CASES = [(kind, at) for kind in ("sqlite", "postgresql") for at in POINTS]


@pytest.mark.parametrize(("url", "at"), CASES, indirect=["url"])
def test_nothing_is_lost_at(one: Fleet, at: str) -> None:
    job = one.submit("listed", count=COUNT)
    crash_and_recover(one, at)
    check(one, [job])
    row = one.rows()[job]
    starts = len(one.diary("start"))
    assert row.attempt == (1 if at in DONE_BEFORE else 2)
    assert starts == {"claim_answer_lost": 1, "claimed": 1}.get(at, row.attempt)
    assert one.jobs.get(job).status == "completed"
    assert {line["key"] for line in one.diary("item")} == set(range(COUNT))
    assert len(one.jobs.get(job).items(outcome="ok")) == COUNT
    if at not in {"claim_answer_lost", "claimed"}:
        assert len(one.diary("step")) == 1, "a kept step is not repeated"


@pytest.mark.parametrize(
    ("url", "durable", "pause"),
    [("sqlite", True, 0.0), ("sqlite", False, 0.02), ("postgresql", False, 0.02), ("postgresql", True, 0.0)],
    indirect=["url"],
)
def test_few_items_are_repeated(one: Fleet, durable: bool, pause: float) -> None:
    job = one.submit("listed", count=COUNT, durable=durable, pause=pause)
    crash_and_recover(one, "item:30")
    check(one, [job])
    lines = one.diary("item")
    times = Counter(line["key"] for line in lines)
    assert set(times) == set(range(COUNT)), "an item was lost"
    repeated = [key for key, number in times.items() if number > 1]
    if durable:
        assert len(repeated) <= 1
    died_at = max(line["at"] for line in lines if line["run"] == 1)
    assert all(died_at - line["at"] <= LATE for line in lines if line["run"] == 1 and line["key"] in repeated)


@ON_SQLITE
def test_a_point_that_there_is_not(one: Fleet) -> None:
    with pytest.raises(InvalidOption, match="before_settle"):
        crash(one.jobs, app="works:jobs", at="nowhere")


@ON_SQLITE
def test_a_point_that_is_not_reached(one: Fleet) -> None:
    one.submit("quick")
    environment = {"FAULTS_DIARY": str(one.diary_path), "PYTHONPATH": one.environment()["PYTHONPATH"]}
    with pytest.raises(AssertionError, match="did not reach the point 'item:3'"):
        crash(one.jobs, app="works:jobs", at="item:3", environment=environment)


def test_a_worker_in_production_knows_no_points() -> None:
    code = "import jobtrail.cli.operate.worker, jobtrail.worker.worker, sys; print('jobtrail.testing' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False"]
