"""Items: the newest outcome of a key stands, counts and pages read it, a re-run finds what was left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jobtrail.database import tables
from jobtrail.job.items import Counts, ItemOutcome
from jobtrail.job.model import new_id
from jobtrail.store import items
from jobtrail.store.items import Recorded

if TYPE_CHECKING:
    from making import Maker

    from jobtrail.store import Store

OK, FAILED, SKIPPED = ItemOutcome.OK, ItemOutcome.FAILED, ItemOutcome.SKIPPED


class Ledger:
    """One telling in one store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.id = new_id()
        self.job = new_id()

    def record(self, *recorded: Recorded, job: str | None = None, run_no: int = 1) -> None:
        """Write outcomes."""
        self.store.write(
            lambda conn: items.record(
                conn, self.store.dialect, self.id, job or self.job, run_no, recorded, self.store.now()
            )
        )

    def read(self, function: Any, **rest: Any) -> Any:
        """Ask a function of `items` about this telling."""
        with self.store.read() as conn:
            return function(conn, self.id, **rest)


@pytest.fixture
def ledger(store: Store) -> Ledger:
    """An empty telling."""
    return Ledger(store)


def test_the_newest_outcome_stands_and_tries_are_counted(ledger: Ledger) -> None:
    ledger.record(Recorded("rows", "a", 0, FAILED, "no price", "ValueError"), Recorded("rows", "b", 1, OK))
    again = new_id()
    ledger.record(Recorded("rows", "a", 0, OK), job=again, run_no=2)
    first, second = ledger.read(items.page)
    assert (first.key, first.outcome, first.reason, first.error_type) == ("a", OK, None, None)
    assert (first.tries, first.job_id, first.run_no) == (2, again, 2)
    assert (second.tries, second.job_id) == (1, ledger.job)
    assert ledger.read(items.counts) == Counts(2, 0, 0)
    assert ledger.read(items.counts, job_id=again) == Counts(1, 0, 0)


def test_one_key_twice_in_one_batch_is_its_last_outcome(ledger: Ledger) -> None:
    ledger.record(Recorded("", "a", 0, OK), Recorded("", "a", 0, FAILED))
    assert ledger.read(items.counts) == Counts(0, 1, 0)


def test_loops_and_tellings_are_apart(store: Store, ledger: Ledger) -> None:
    ledger.record(Recorded("one", "a", 0, OK), Recorded("two", "a", 0, FAILED))
    Ledger(store).record(Recorded("one", "a", 0, SKIPPED))
    assert [row[:3] for row in sorted(ledger.read(items.of_ledger))] == [("one", "a", OK), ("two", "a", FAILED)]
    assert ledger.read(items.counts) == Counts(1, 1, 0)


def test_what_is_gone_is_closed_as_skipped(ledger: Ledger) -> None:
    ledger.record(Recorded("", "a", 0, FAILED, "boom", "ValueError"))
    ledger.record(Recorded("", "a", 0, SKIPPED, "gone"))
    (row,) = ledger.read(items.page)
    assert (row.outcome, row.reason, row.error_type) == (SKIPPED, "gone", None)


def test_pages_follow_the_input(ledger: Ledger) -> None:
    wanted = [("a", 0, "z"), ("a", 1, "y"), ("a", 1, "é"), ("b", 0, "x"), ("b", 5, "a")]
    ledger.record(*(Recorded(loop, key, position, OK) for loop, position, key in reversed(wanted)))
    seen: list[tuple[str, int, str]] = []
    while page := ledger.read(items.page, limit=2, after=seen[-1] if seen else None):
        seen += [(row.loop, row.position, row.key) for row in page]
    assert sorted(seen) == sorted(wanted)
    assert [place[:2] for place in seen] == sorted(place[:2] for place in wanted)


def test_failed_ones_only(ledger: Ledger) -> None:
    ledger.record(*(Recorded("", str(i), i, FAILED if i % 3 == 0 else OK) for i in range(9)))
    assert [row.key for row in ledger.read(items.page, outcome=FAILED)] == ["0", "3", "6"]
    assert ledger.read(items.page, job_id=new_id()) == []


def test_many_at_once(ledger: Ledger, make: Maker) -> None:
    ledger.record(*(Recorded("", str(i), i, OK) for i in range(5000)))
    assert ledger.read(items.counts) == Counts(5000, 0, 0)
    assert make.count(tables.items) == 5000
