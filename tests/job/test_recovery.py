"""What becomes of the jobs of a dead worker: the suspects rule, strikes, on_interrupt, and a stop that was under way."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from json import loads

import pytest

from jobtrail.job.model import Status
from jobtrail.job.retry import Retry
from jobtrail.job.transitions import Subject
from jobtrail.job.worker_loss import STRIKES, Lost, charged, decide, recover

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOW = "its worker was silent for 15 s"


def job(**rest) -> Subject:
    return Subject("job-1", 3, **{"attempt": 1, "max_attempts": 1, "unit": "u", **rest})


@pytest.mark.parametrize(
    ("ran", "who"),
    [
        ([("a", False)], "a"),
        ([("a", True)], "a"),
        ([("a", False), ("b", False)], None),
        ([("a", False), ("b", True), ("c", False)], "b"),
        ([("a", True), ("b", True), ("c", False)], None),
        ([(str(n), False) for n in range(250)], None),
        ([], None),
    ],
)
def test_only_who_died_alone_or_was_the_one_suspect_is_charged(ran, who):
    assert charged(ran) == who


def test_a_lost_job_is_interrupted_and_runs_again_as_a_suspect_its_attempt_counted():
    first, second = recover(Lost(job()), guilty=True, how=HOW, now=NOW)
    assert (first.name, first.to, first.reason, first.actor) == ("interrupted", "interrupted", HOW, "upkeep")
    assert first.values["suspect"] is True
    assert "attempt" not in first.values, "the lost attempt counts"
    assert (second.name, second.to, second.leaves) == ("recovered", "pending", (Status.INTERRUPTED,))
    assert second.values["strikes"] == 1
    assert second.values["max_attempts"] == 2, "the limit makes room for one more"
    assert second.values["run_at"] == NOW


def test_who_is_not_guilty_gets_no_strike():
    _, second = recover(Lost(job(strikes=2)), guilty=False, how=HOW, now=NOW)
    assert (second.to, second.values["strikes"]) == ("pending", 2)


def test_three_strikes_and_it_has_failed_whatever_its_task_wants():
    for how in ("requeue", "hold", "fail"):
        *_, last = recover(Lost(job(strikes=STRIKES - 1), how), guilty=True, how=HOW, now=NOW)
        assert (last.to, last.values["strikes"]) == ("failed", 3)
        assert loads(last.values["error"])["message"] == f"killed its worker 3 times ({HOW})"
        assert last.frees_unit


def test_on_interrupt_fail_ends_it():
    _, last = recover(Lost(job(), "fail"), guilty=False, how=HOW, now=NOW)
    assert (last.name, last.to, last.values["outcome"]) == ("recovered", "failed", "error")
    assert loads(last.values["error"])["message"] == f"worker lost ({HOW})"
    assert last.values["finished_at"] == NOW


def test_on_interrupt_hold_leaves_it_interrupted_for_a_person():
    (only,) = recover(Lost(job(), "hold"), guilty=False, how=HOW, now=NOW)
    assert only.to == "interrupted"
    assert not only.frees_unit
    assert decide(Lost(job(status=Status.INTERRUPTED), "hold"), strikes=0, how=HOW, now=NOW) == []


def test_a_job_left_interrupted_is_taken_up():
    (only,) = decide(Lost(job(status=Status.INTERRUPTED)), strikes=1, how=HOW, now=NOW)
    assert (only.to, only.values["strikes"]) == ("pending", 1)


def test_cancelled_and_its_worker_died_means_cancelled():
    (only,) = recover(Lost(job(status=Status.CANCELLING, stop_cause="cancel")), guilty=True, how=HOW, now=NOW)
    assert (only.name, only.to, only.values["note"]) == ("stopped", "cancelled", HOW)


@pytest.mark.parametrize("cause", ["timeout", "stall"])
def test_over_its_limit_and_its_worker_died_means_another_attempt_by_the_policy_as_a_suspect(cause):
    stopping = job(status=Status.CANCELLING, stop_cause=cause, attempt=1, max_attempts=2, strikes=1)
    policy = Retry(attempts=2, wait=30)
    (only,) = recover(Lost(stopping, "requeue", policy=policy), guilty=True, how=HOW, now=NOW)
    assert (only.to, only.values["run_at"]) == ("pending", NOW + timedelta(seconds=30))
    assert (only.values["suspect"], only.values["strikes"]) == (True, 2)
    assert loads(only.values["error"])["message"] == f"stopped by its {cause} limit; {HOW}"


@pytest.mark.parametrize(
    ("attempt", "strikes", "policy"),
    [(2, 0, Retry(attempts=2)), (1, STRIKES - 1, Retry(attempts=2)), (1, 0, None)],
    ids=["no attempts left", "third strike", "its task is not known"],
)
def test_or_the_end(attempt, strikes, policy):
    stopping = job(status=Status.CANCELLING, stop_cause="timeout", attempt=attempt, max_attempts=2, strikes=strikes)
    (only,) = recover(Lost(stopping, "requeue", policy), guilty=True, how=HOW, now=NOW)
    assert (only.to, only.values["outcome"]) == ("failed", "error")
