"""From what became of the items to what became of the job."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobtrail.errors import InvalidOption, UsageError
from jobtrail.job.items import Counts, FailedItemsLimit, ItemOutcome, item_key, outcome_of
from jobtrail.messages import render

some = st.integers(0, 50)


def test_counts():
    both = Counts(1, 2, 3) + Counts(4, 0, 1)
    assert both == Counts(5, 2, 4)
    assert both.total == 11
    assert Counts(3, 1, 0).share_failed == 0.25
    assert Counts().share_failed == 0.0
    assert ItemOutcome("ok") is ItemOutcome.OK


# -- the outcome -------------------------------------------------------------------------------------


def judge(ok=0, failed=0, skipped=0, unreached=False, stopped=None, has_items=True):
    status, note = outcome_of(
        Counts(ok, failed, skipped), unreached=unreached, stopped_reason=stopped, has_items=has_items
    )
    return status, note and render(note)


@pytest.mark.parametrize(
    ("given_", "status", "note"),
    [
        ({"has_items": False}, "completed", None),
        ({}, "completed", "nothing to do"),
        ({"ok": 1}, "completed", None),
        ({"ok": 9, "skipped": 1}, "completed", None),
        ({"skipped": 10}, "completed", "all 10 items were skipped"),
        ({"skipped": 1}, "completed", "the only item was skipped"),
        ({"failed": 10}, "failed", "all 10 items failed"),
        ({"failed": 1}, "failed", "the only item failed"),
        ({"ok": 9, "failed": 1}, "partial", "1 of 10 items failed"),
        ({"failed": 1, "skipped": 2}, "partial", "1 of 3 items failed"),
        ({"ok": 3, "unreached": True}, "partial", "the loop was left early after 3 items"),
        ({"failed": 1, "unreached": True}, "partial", "the loop was left early after 1 item, 1 of them failed"),
        ({"unreached": True}, "partial", "the loop was left early after 0 items"),
        ({"ok": 3, "unreached": True, "stopped": "quota"}, "completed", "stopped: quota"),
        (
            {"ok": 3, "failed": 1, "unreached": True, "stopped": "quota"},
            "partial",
            "1 of 4 items failed; stopped: quota",
        ),
        ({"failed": 2, "unreached": True, "stopped": "quota"}, "failed", "all 2 items failed; stopped: quota"),
        ({"unreached": True, "stopped": ""}, "completed", "stopped by the body"),
    ],
)
def test_outcome(given_, status, note):
    assert judge(**given_) == (status, note)


@given(some, some, some)
def test_success_is_told_only_without_failures(ok, failed, skipped):
    status, _ = judge(ok, failed, skipped)
    assert (status == "completed") == (failed == 0)
    assert (status == "failed") == (failed > 0 and ok + skipped == 0)


# -- the limit of failures ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "limit"),
    [
        (None, None),
        (0, FailedItemsLimit(count=0)),
        (1, FailedItemsLimit(count=1)),
        (1.0, FailedItemsLimit(share=1.0)),
        (0.1, FailedItemsLimit(share=0.1)),
        (FailedItemsLimit(count=3), FailedItemsLimit(count=3)),
    ],
)
def test_limits(value, limit):
    assert FailedItemsLimit.parse(value) == limit


@pytest.mark.parametrize("bad", [True, False, -1, 0.0, -0.5, 1.5, 2.0, float("nan"), float("inf"), "3", [1]])
def test_refused_limits(bad):
    with pytest.raises(InvalidOption, match="max_failed_items"):
        FailedItemsLimit.parse(bad)


@pytest.mark.parametrize(
    ("limit", "counts", "expected", "exceeded"),
    [
        (0, Counts(5, 0, 0), None, False),
        (0, Counts(5, 1, 0), None, True),
        (3, Counts(0, 3, 0), None, False),
        (3, Counts(0, 4, 0), None, True),
        (0.1, Counts(0, 10, 0), 100, False),
        (0.1, Counts(0, 11, 0), 100, True),
        (0.29, Counts(0, 29, 0), 100, False),
        (0.5, Counts(0, 19, 0), None, False),
        (0.5, Counts(0, 20, 0), None, True),
        (0.5, Counts(10, 10, 0), None, False),
        (0.5, Counts(9, 10, 2), None, False),
        (0.5, Counts(9, 11, 0), None, True),
        (0.5, Counts(0, 3, 0), 0, True),
        (0.5, Counts(), 0, False),
        (1.0, Counts(0, 100, 0), 100, False),
    ],
)
def test_exceeded(limit, counts, expected, exceeded):
    assert FailedItemsLimit.parse(limit).exceeded(counts, expected) is exceeded


# -- keys --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "key"),
    [
        ("EWR", "EWR"),
        ("", ""),
        (7, "7"),
        (2**70, str(2**70)),
        (date(2013, 2, 1), "2013-02-01"),
        (datetime(2013, 2, 1, 5), "2013-02-01T05:00:00"),
        (datetime(2013, 2, 1, 5, tzinfo=UTC), "2013-02-01T05:00:00Z"),
        (datetime(2013, 2, 1, 5, tzinfo=timezone(timedelta(hours=5))), "2013-02-01T00:00:00Z"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (("EWR", 3, date(2013, 2, 1)), '["EWR",3,"2013-02-01"]'),
        ((1, ("é", 2)), '[1,["é",2]]'),
        (ItemOutcome.OK, "ok"),
        ("nul\x00 \udc80", "nul\\x00 \\udc80"),
    ],
)
def test_keys(value, key):
    assert item_key(value) == key


@pytest.mark.parametrize("bad", [None, True, 1.5, b"x", [1], {"a": 1}, object(), (1, None), (1, True)])
def test_refused_keys(bad):
    with pytest.raises(UsageError, match="key of an item"):
        item_key(bad)


@given(st.text(st.characters(), max_size=2_000) | st.tuples(st.text(min_size=300), st.text(min_size=300)))
def test_a_key_fits_and_can_be_stored(value):
    key = item_key(value)
    assert len(key) <= 512
    assert "\x00" not in key
    key.encode()


def test_long_keys_stay_different():
    keys = {item_key("x" * 600 + end) for end in "abc"}
    assert len(keys) == 3
    assert all(key.startswith("xxx") for key in keys)
