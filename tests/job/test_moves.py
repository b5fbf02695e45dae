"""The table of states and moves, held against DESIGN's own; each constructor's columns; what the end of a body means."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product
from json import loads

import pytest

from jobtrail.errors import IllegalMove
from jobtrail.job import transitions
from jobtrail.job.items import Counts
from jobtrail.job.model import ACTIVE, FINAL, Status, StopCause
from jobtrail.job.outcome import NO_ITEMS, HandedBack, Ledger, NotKnownHere, Raised, Returned, SnoozeAsked, decide
from jobtrail.job.retry import Retry
from jobtrail.job.transitions import TABLE, Subject
from jobtrail.messages import render

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(seconds=30)

# The table of states, written out by hand: (from, to) -> the moves that lead there.
DESIGN = """
pending          pending            run_now released
pending          running            claimed
pending          cancelled          cancelled
running          completed          finished
running          partial            finished
running          failed             finished
running          pending            retry_planned snoozed put_back handed_back
running          awaiting_input     asked
running          awaiting_mapping   asked
running          cancelling         stop_requested
running          interrupted        interrupted held
awaiting_input   pending            answered default_taken
awaiting_mapping pending            answered default_taken
awaiting_input   failed             question_expired
awaiting_mapping failed             question_expired
awaiting_input   cancelled          cancelled
awaiting_mapping cancelled          cancelled
cancelling       completed          finished
cancelling       partial            finished
cancelling       failed             finished stopped forced
cancelling       cancelled          stopped forced
cancelling       pending            stopped
interrupted      pending            recovered retried
interrupted      failed             recovered
interrupted      cancelled          cancelled
failed           pending            retried
partial          pending            retried
cancelled        pending            retried
failed           failed             body_returned
cancelled        cancelled          body_returned
"""
LEGAL = {
    (name, Status(line.split()[0]), Status(line.split()[1]))
    for line in DESIGN.strip().splitlines()
    for name in line.split()[2:]
}
# The table has a row for all (from, to) of one move; these two of its corners are no sentence of DESIGN's,
# and no constructor makes them.
CORNERS = {("body_returned", Status.FAILED, Status.CANCELLED), ("body_returned", Status.CANCELLED, Status.FAILED)}
EVERY = [(name, start, to) for name in TABLE if name != "submitted" for start, to in product(Status, Status)]


def test_the_table_is_designs():
    assert {one for one in EVERY if one[1] in TABLE[one[0]][0] and one[2] in TABLE[one[0]][1]} - CORNERS == LEGAL
    assert TABLE["submitted"] == ((), (Status.PENDING,))


@pytest.mark.parametrize("name", [name for name in TABLE if name != "submitted"])
def test_every_change_that_the_table_does_not_know_is_refused(name):
    for start, to in product(Status, Status):
        if (name, start, to) in LEGAL | CORNERS:
            transitions.check_legal(name, [start], to)
        else:
            with pytest.raises(IllegalMove) as refused:
                transitions.check_legal(name, [start], to)
            assert f"'{name}'" in str(refused.value)
            assert str(start) in str(refused.value)
            assert str(to) in str(refused.value)


def test_one_wrong_state_among_those_left_is_enough():
    with pytest.raises(IllegalMove, match="pending"):
        transitions.check_legal("finished", [Status.RUNNING, Status.PENDING], Status.COMPLETED)


def test_no_move_leaves_a_final_state_but_a_retry_and_the_return_of_a_body():
    assert {name for name, start, _ in LEGAL if start in FINAL} == {"retried", "body_returned"}
    assert {name for name, start, to in LEGAL if start is Status.COMPLETED} == set()


JOB = Subject(
    "job-1", 7, attempt=2, unit="u", max_attempts=5, started_at=NOW, worker="w-1", hand_backs=3, put_backs=4, strikes=1
)


def of(status: Status, **rest):
    return replace(JOB, status=status, **rest)


RUNNING, CANCELLING, PENDING = of(Status.RUNNING), of(Status.CANCELLING), of(Status.PENDING)
ASKING, FAILED, INTERRUPTED = of(Status.AWAITING_INPUT), of(Status.FAILED), of(Status.INTERRUPTED)
BY_CANCEL = of(Status.CANCELLING, stop_cause="cancel")
BY_TIMEOUT = of(Status.CANCELLING, stop_cause="timeout")
MADE = {
    "run_now": (transitions.run_now(PENDING, NOW, actor="ann"), "pending", "pending", {"run_at": NOW}),
    "released": (
        transitions.released(PENDING, NOW, after="x"),
        "pending", "pending", {"run_at": NOW, "waits_for": None, "unit_lock": "u"},
    ),
    "cancelled": (
        transitions.cancelled(ASKING, NOW, actor="ann"),
        "awaiting_input", "cancelled", {"finished_at": NOW, "outcome": None, "stop_cause": "cancel", "run_at": None},
    ),
    "finished": (
        transitions.finished(RUNNING, NOW, Status.PARTIAL, result="1", note="n", counts=(1, 2, 3)),
        "running cancelling", "partial",
        {"outcome": "partial", "finished_at": NOW, "result": "1", "note": "n", "error": None, "fingerprint": None,
         "items_ok": 1, "items_failed": 2, "items_skipped": 3},
    ),
    "retry_planned": (
        transitions.retry_planned(RUNNING, LATER, reason="r", error="e", fingerprint="f"),
        "running", "pending",
        {"run_at": LATER, "error": "e", "fingerprint": "f", "retry_reason": "r", "suspect": False},
    ),
    "snoozed": (
        transitions.snoozed(RUNNING, LATER, reason="r"),
        "running", "pending",
        {"run_at": LATER, "attempt": 1, "retry_reason": "r", "suspect": False},
    ),
    "put_back": (
        transitions.put_back(RUNNING, LATER, reason="r"),
        "running", "pending", {"run_at": LATER, "attempt": 1, "put_backs": 5, "retry_reason": "r"},
    ),
    "handed_back": (
        transitions.handed_back(RUNNING, NOW, reason="r"),
        "running", "pending",
        {"run_at": NOW, "attempt": 1, "hand_backs": 4, "retry_reason": "r"},
    ),
    "held": (transitions.held(RUNNING, reason="r"), "running", "interrupted", {"attempt": 1, "suspect": False, "retry_reason": "r"}),
    "finished, not by the body": (
        transitions.unfinished(RUNNING, NOW, error="e", fingerprint="f", reason="r", counts=(1, 0, 0)),
        "running", "failed",
        {"outcome": "error", "finished_at": NOW, "error": "e", "fingerprint": "f", "items_ok": 1, "items_failed": 0,
         "items_skipped": 0},
    ),
    "asked": (
        transitions.asked(RUNNING, {"name": "which?", "kind": "mapping"}),
        "running", "awaiting_mapping", {"run_at": None, "attempt": 1, "suspect": False},
    ),
    "answered": (transitions.answered(ASKING, NOW, actor="ann", question="q"), "awaiting_input", "pending", {"run_at": NOW}),
    "default_taken": (transitions.default_taken(ASKING, NOW, question="q"), "awaiting_input", "pending", {"run_at": NOW}),
    "question_expired": (
        transitions.question_expired(ASKING, NOW, question="q", error="e", fingerprint="f"),
        "awaiting_input", "failed", {"outcome": "error", "finished_at": NOW, "error": "e", "fingerprint": "f"},
    ),
    "stop_requested": (
        transitions.stop_requested(RUNNING, NOW, cause=StopCause.STALL, actor="engine"),
        "running", "cancelling", {"stop_cause": "stall", "stop_at": NOW + timedelta(seconds=60)},
    ),
    "stopped, cancel": (
        transitions.stopped_by_cancel(CANCELLING, NOW, result="1", note="n", counts=(3, 2, 1)),
        "cancelling", "cancelled",
        {"outcome": None, "finished_at": NOW, "result": "1", "note": "n", "items_ok": 3, "items_failed": 2,
         "items_skipped": 1},
    ),
    "stopped, limit, end": (
        transitions.stopped_by_limit(CANCELLING, NOW, error="e", fingerprint="f", retry_at=None, reason="r", counts=(1, 0, 0)),
        "cancelling", "failed",
        {"outcome": "error", "finished_at": NOW, "error": "e", "fingerprint": "f", "items_ok": 1, "items_failed": 0,
         "items_skipped": 0},
    ),
    "stopped, limit, again": (
        transitions.stopped_by_limit(CANCELLING, NOW, error="e", fingerprint="f", retry_at=LATER, reason="r"),
        "cancelling", "pending",
        {"run_at": LATER, "error": "e", "fingerprint": "f", "retry_reason": "r", "stop_cause": None, "stop_at": None,
         "suspect": False},
    ),
    "stopped, limit, its worker dead": (
        transitions.stopped_by_limit(CANCELLING, NOW, error="e", fingerprint="f", retry_at=LATER, reason="r", strikes=2),
        "cancelling", "pending",
        {"run_at": LATER, "error": "e", "fingerprint": "f", "retry_reason": "r", "stop_cause": None, "stop_at": None,
         "suspect": True, "strikes": 2},
    ),
    "forced, cancel": (
        transitions.forced(BY_CANCEL, NOW, actor="ann"),
        "cancelling", "cancelled", {"outcome": None, "finished_at": NOW, "error": None, "body_running": True},
    ),
    "forced, timeout": (
        transitions.forced(BY_TIMEOUT, NOW, actor="upkeep", error="e"),
        "cancelling", "failed", {"outcome": "error", "finished_at": NOW, "error": "e", "body_running": True},
    ),
    "body_returned": (transitions.body_returned(FAILED), "failed", "failed", {"body_running": False}),
    "interrupted": (transitions.interrupted(RUNNING, reason="r"), "running", "interrupted", {"suspect": True}),
    "recovered, again": (
        transitions.requeued(of(Status.INTERRUPTED, attempt=5), NOW, reason="r", strikes=2),
        "interrupted", "pending",
        {"run_at": NOW, "strikes": 2, "max_attempts": 6, "retry_reason": "r"},
    ),
    "recovered, given up": (
        transitions.given_up(INTERRUPTED, NOW, error="e", fingerprint="f", reason="r", strikes=3),
        "interrupted", "failed",
        {"outcome": "error", "finished_at": NOW, "error": "e", "fingerprint": "f", "strikes": 3},
    ),
    "retried": (
        transitions.retried(of(Status.FAILED, attempt=5), NOW, actor="ann"),
        "failed", "pending",
        {"run_at": NOW, "unit_lock": "u", "outcome": None, "finished_at": None, "stop_cause": None, "stop_at": None,
         "suspect": False, "strikes": 0, "retry_reason": "@job.retried", "continues": "failed:7", "max_attempts": 6,
         "items_ok": None, "items_failed": None, "items_skipped": None},
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", MADE)
def test_each_constructor_fills_exactly_its_columns(what):
    move, leaves, to, values = MADE[what]
    assert move.name == what.split(",")[0]
    assert [str(state) for state in move.leaves] == leaves.split()
    assert move.to == to
    assert dict(move.values) == values
    assert (move.job_id, move.run_no, move.unit) == ("job-1", 7, "u")


def test_there_is_a_constructor_for_every_move_but_those_of_submission_and_claim():
    assert {what.split(",")[0] for what in MADE} == set(TABLE) - {"submitted", "claimed"}


@pytest.mark.parametrize("what", MADE)
def test_the_unit_is_free_after_every_end_but_a_forced_one_until_its_body_has_returned(what):
    move = MADE[what][0]
    assert move.frees_unit is (move.to in FINAL and move.name != "forced")
    assert move.settles is (move.to in FINAL and move.name != "body_returned")
    assert replace(move, unit=None).frees_unit is False


def test_the_trail_of_a_run_names_attempt_start_and_worker():
    assert transitions.interrupted(RUNNING, reason="r").detail == {
        "attempt": 2, "started_at": NOW.isoformat(), "worker": "w-1",
    }  # fmt: skip
    planned = transitions.retry_planned(RUNNING, LATER, reason="r", error="e")
    assert planned.detail["run_at"] == LATER.isoformat()
    assert planned.detail["error"] == "e"


def test_a_job_without_a_limit_of_attempts_keeps_none():
    free = of(Status.INTERRUPTED, max_attempts=None)
    assert transitions.requeued(free, NOW, reason="r", strikes=0).values["max_attempts"] is None
    assert transitions.retried(of(Status.FAILED, max_attempts=None), NOW, actor="a").values["max_attempts"] is None
    assert transitions.requeued(INTERRUPTED, NOW, reason="r", strikes=0).values["max_attempts"] == 5, "there was room"


@pytest.mark.parametrize("make", [
    lambda: transitions.run_now(RUNNING, NOW, actor="a"),
    lambda: transitions.cancelled(RUNNING, NOW, actor="a"),
    lambda: transitions.retry_planned(CANCELLING, NOW, reason="r"),
    lambda: transitions.snoozed(CANCELLING, NOW, reason="r"),
    lambda: transitions.asked(CANCELLING, {"name": "q", "kind": "input"}),
    lambda: transitions.handed_back(CANCELLING, NOW, reason="r"),
    lambda: transitions.stop_requested(PENDING, NOW, cause=StopCause.CANCEL, actor="a"),
    lambda: transitions.retried(of(Status.COMPLETED), NOW, actor="a"),
    lambda: transitions.retried(RUNNING, NOW, actor="a"),
    lambda: transitions.interrupted(PENDING, reason="r"),
    lambda: transitions.finished(RUNNING, NOW, Status.FAILED) and transitions.body_returned(of(Status.COMPLETED)),
])  # fmt: skip
def test_a_constructor_refuses_a_job_in_another_state(make):
    with pytest.raises(IllegalMove):
        make()


# -- what the end of a body means ----------------------------------------------------------------------

ENDS = {
    "returned": Returned('"x"', None),
    "partial": Returned('"x"', None, partial=True, partial_reason="half"),
    "raised": Raised('{"message": "e"}', "f", "ValueError: e", retry=True, delay=30),
    "raised for good": Raised('{"message": "e"}', "f", "ValueError: e", retry=False, delay=0),
    "snooze": SnoozeAsked(30, "later"),
    "unknown": NotKnownHere("e", "f", 30, final=False),
    "unknown at last": NotKnownHere("e", "f", 30, final=True),
    "handed back": HandedBack("interrupted by shutdown"),
    "fails": HandedBack("interrupted by shutdown", on_shutdown="fail"),
    "is held": HandedBack("interrupted by shutdown", on_shutdown="hold"),
}
# (end, cause of the stop) -> move and state, with attempts left / without.
WITHOUT_CAUSE = {
    "returned": ("finished completed", "finished completed"),
    "partial": ("finished partial", "finished partial"),
    "raised": ("retry_planned pending", "finished failed"),
    "raised for good": ("finished failed", "finished failed"),
    "snooze": ("snoozed pending", "snoozed pending"),
    "unknown": ("put_back pending", "put_back pending"),
    "unknown at last": ("finished failed", "finished failed"),
    "handed back": ("handed_back pending", "handed_back pending"),
    "fails": ("finished failed", "finished failed"),
    "is held": ("held interrupted", "held interrupted"),
}
CANCEL = dict.fromkeys(ENDS, ("stopped cancelled", "stopped cancelled"))
LIMIT = {
    **dict.fromkeys(ENDS, ("stopped pending", "stopped failed")),
    "returned": WITHOUT_CAUSE["returned"],
    "partial": WITHOUT_CAUSE["partial"],
    "raised for good": ("stopped failed", "stopped failed"),
}
CASES = [
    (end, cause, noticed, left)
    for end, cause, noticed, left in product(ENDS, (None, "cancel", "timeout", "stall"), (False, True), (True, False))
    if cause is not None or not noticed
]


def expected(end, cause, noticed, left):
    table = {None: WITHOUT_CAUSE, "cancel": CANCEL, "timeout": LIMIT, "stall": LIMIT}[cause]
    if cause == "cancel" and not noticed and end in {"returned", "partial"}:
        table = WITHOUT_CAUSE  # the body finished first: its result counts
    return table[end][0 if left else 1]


@pytest.mark.parametrize(("end", "cause", "noticed", "left"), CASES)
def test_what_an_end_means(end, cause, noticed, left):
    job = replace(JOB, attempt=2, max_attempts=5 if left else 2, stop_cause=cause, stop_noticed=noticed)
    job = replace(job, status=Status.RUNNING)
    move = decide(job, ENDS[end], NO_ITEMS, Retry(attempts=5), NOW)
    assert f"{move.name} {move.to}" == expected(end, cause, noticed, left)
    for start in move.leaves:
        transitions.check_legal(move.name, [start], move.to)
    if move.to in FINAL:
        assert move.values["finished_at"] == NOW
    else:
        assert move.values.get("run_at", NOW) >= NOW
        assert move.to in ACTIVE


@pytest.mark.parametrize("end", ["returned", "partial"])
def test_what_a_body_still_returned_after_a_cancel_is_kept(end):
    job = replace(JOB, stop_cause="cancel", stop_noticed=True)
    assert decide(job, ENDS[end], NO_ITEMS, Retry(), NOW).values["result"] == '"x"'


def test_what_a_body_raised_after_a_cancel_is_noted():
    job = replace(JOB, stop_cause="cancel", stop_noticed=True)
    assert decide(job, ENDS["raised"], NO_ITEMS, Retry(), NOW).values["note"] == "ValueError: e"


@pytest.mark.parametrize("end", ["snooze", "handed back"])
def test_the_error_names_the_limit_where_the_body_did_not(end):
    job = replace(JOB, stop_cause="stall", max_attempts=2)
    move = decide(job, ENDS[end], NO_ITEMS, Retry(), NOW)
    assert loads(move.values["error"])["message"] == "stopped by its stall limit"


ITEMS = [
    (Ledger(True, Counts(3, 0, 0)), "completed", None),
    (Ledger(True, Counts(2, 0, 1)), "completed", None),
    (Ledger(True, Counts(2, 1, 0)), "partial", "1 of 3 items failed"),
    (Ledger(True, Counts(0, 3, 0)), "failed", "all 3 items failed"),
    (Ledger(True, Counts(0, 0, 3)), "completed", "all 3 items were skipped"),
    (Ledger(True, Counts(0, 0, 0)), "completed", "nothing to do"),
    (Ledger(True, Counts(3, 0, 0), unreached=True), "partial", "left early"),
    (Ledger(True, Counts(3, 0, 0), unreached=True, stopped_reason="enough"), "completed", "stopped: enough"),
]


@pytest.mark.parametrize(("ledger", "to", "note"), ITEMS)
@pytest.mark.parametrize("cause", [None, "timeout"])
def test_the_items_give_the_outcome_of_a_returned_body(ledger, to, note, cause):
    job = replace(JOB, stop_cause=cause)
    move = decide(job, Returned('"x"', None), replace(ledger, own=ledger.counts), Retry(), NOW)
    assert (move.name, move.to) == ("finished", to)
    assert note is None or note in render(move.values["note"])


@pytest.mark.parametrize(
    ("counts", "own", "to", "note"),
    [
        (Counts(9, 1, 0), Counts(1, 1, 0), "partial", "1 of 2 items failed"),
        (Counts(8, 2, 0), Counts(1, 0, 0), "partial", "2 items of other jobs of its generation have failed"),
        (Counts(7, 3, 0), Counts(0, 1, 0), "partial", "the only item failed; 2 items of other jobs of its generation have failed"),
        (Counts(9, 0, 0), Counts(1, 0, 0), "completed", None),
        (Counts(9, 0, 0), Counts(0, 0, 0), "completed", "nothing to do"),
    ],
)
def test_a_job_that_continues_others_is_judged_by_all_items_and_its_note_is_about_its_own(counts, own, to, note):
    move = decide(replace(JOB, stop_cause=None), Returned(), Ledger(True, counts, own), Retry(), NOW)
    assert move.to == to
    assert (move.values["note"] and render(move.values["note"])) == note
    assert (move.values["items_ok"], move.values["items_failed"]) == (own.ok, own.failed), "a job shows what it did itself"


@pytest.mark.parametrize(
    ("cause", "left", "to"),
    [(None, True, "pending"), (None, False, "partial"), ("cancel", True, "partial"), ("timeout", True, "partial")],
)
def test_a_partial_outcome_is_retried_only_by_policy_with_attempts_left_and_never_after_a_stop(cause, left, to):
    job = replace(JOB, attempt=2, max_attempts=3 if left else 2, stop_cause=cause)
    ledger = Ledger(True, Counts(2, 1, 0), Counts(2, 1, 0))
    move = decide(job, Returned(), ledger, Retry(attempts=3, on_partial=True, wait=30), NOW)
    assert move.to == to
    if to == "pending":
        assert move.values["continues"] == "failed:7"
        assert move.values["run_at"] == LATER
