"""The history of items: a job keeps the outcomes that it had, whatever later runs and jobs record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import event

from jobtrail.database import tables
from jobtrail.job.items import Counts, ItemOutcome
from jobtrail.job.model import new_id
from jobtrail.store import items
from jobtrail.store.items import Recorded

if TYPE_CHECKING:
    from making import Maker

    from jobtrail.store import Store

OK, FAILED, SKIPPED = ItemOutcome.OK, ItemOutcome.FAILED, ItemOutcome.SKIPPED


class Telling:
    """One generation in one store; its first job bears its id."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.id = new_id()

    def record(self, *recorded: Recorded, job: str | None = None, run_no: int = 1) -> None:
        """Write outcomes as a run of the first job, or of another one."""
        now = self.store.now()
        self.store.write(
            lambda conn: items.record(conn, self.store.dialect, self.id, job or self.id, run_no, recorded, now)
        )

    def shown(self, job: str | None = None, **rest: Any) -> list[tuple[str, str, str | None, int]]:
        """(key, outcome, reason, run) of the items of a job, in the order of the page."""
        with self.store.read() as conn:
            found = items.page(conn, self.id, job_id=job or self.id, **rest)
        return [(row.key, row.outcome.value, row.reason, row.run_no) for row in found]

    def counts(self, job: str | None = None) -> Counts:
        """The counts of a job."""
        with self.store.read() as conn:
            return items.counts(conn, self.id, job_id=job or self.id)

    def history(self, key: str) -> list[tuple[str, int, str, str | None, str | None]]:
        """(job, run, outcome, reason, error type) of one item, oldest first."""
        with self.store.read() as conn:
            found = items.history(conn, self.id, "", key)
        return [(row.job_id, row.run_no, row.outcome.value, row.reason, row.error_type) for row in found]


@pytest.fixture
def telling(store: Store) -> Telling:
    """An empty generation."""
    return Telling(store)


def failed(key: str, why: str, position: int = 0) -> Recorded:
    return Recorded("", key, position, FAILED, why, "ValueError")


def ok(key: str, position: int = 0) -> Recorded:
    return Recorded("", key, position, OK)


def test_a_rerun_leaves_the_old_job_as_it_was(telling: Telling) -> None:
    telling.record(ok("a", 0), failed("b", "no price", 1), failed("c", "no date", 2), failed("d", "no name", 3))
    before, second = telling.shown(), new_id()
    telling.record(failed("b", "still no price", 1), ok("c", 2), Recorded("", "d", -1, SKIPPED, "gone"), job=second)

    assert telling.shown() == before
    assert telling.counts() == Counts(1, 3, 0)
    assert telling.shown(outcome=FAILED) == before[1:]
    assert telling.shown(second) == [
        ("d", "skipped", "gone", 1), ("b", "failed", "still no price", 1), ("c", "ok", None, 1),
    ]  # fmt: skip
    assert telling.counts(second) == Counts(1, 1, 1)
    assert telling.history("b") == [
        (telling.id, 1, "failed", "no price", "ValueError"), (second, 1, "failed", "still no price", "ValueError"),
    ]  # fmt: skip
    assert telling.history("a") == [(telling.id, 1, "ok", None, None)]


def test_the_same_failure_in_another_job_stays_on_both(telling: Telling, make: Maker) -> None:
    second = new_id()
    telling.record(failed("a", "no price"))
    telling.record(failed("a", "no price"), job=second)
    assert telling.shown() == telling.shown(second) == [("a", "failed", "no price", 1)]
    assert make.count(tables.item_history) == 1


def test_attempts_of_one_job_show_its_last_state_and_the_item_all(telling: Telling) -> None:
    telling.record(ok("a", 0), failed("b", "no price", 1))
    telling.record(failed("b", "no price", 1), run_no=2)
    telling.record(ok("b", 1), run_no=3)
    assert telling.shown() == [("a", "ok", None, 1), ("b", "ok", None, 3)]
    assert telling.counts() == Counts(2, 0, 0)
    assert [one[1:4] for one in telling.history("b")] == [
        (1, "failed", "no price"), (2, "failed", "no price"), (3, "ok", None),
    ]  # fmt: skip
    second = new_id()
    telling.record(ok("b", 1), job=second)
    assert telling.shown() == [("a", "ok", None, 1), ("b", "ok", None, 3)], "the last of its runs, not an earlier one"


def test_what_comes_out_the_same_adds_no_row(telling: Telling, make: Maker) -> None:
    telling.record(ok("a"), Recorded("", "b", 1, SKIPPED, "no price yet"), failed("c", "no price"))
    telling.record(ok("a"), Recorded("", "b", 1, SKIPPED, "no price yet"), failed("c", "no price"))
    assert make.count(tables.item_history) == 0, "a run that is written twice"
    telling.record(ok("a"), Recorded("", "b", 1, SKIPPED, "no price yet"), run_no=2)
    assert make.count(tables.item_history) == 0
    telling.record(Recorded("", "b", 1, SKIPPED, "no date yet"), run_no=3)
    assert make.count(tables.item_history) == 1


def test_a_chain_of_three_reruns(telling: Telling) -> None:
    jobs = [telling.id, new_id(), new_id(), new_id()]
    for number, job in enumerate(jobs[:3]):
        telling.record(failed("a", f"reason {number}"), failed("b", f"reason {number}", 1), job=job)
    telling.record(ok("a"), failed("b", "reason 3", 1), job=jobs[3])
    for number, job in enumerate(jobs[:3]):
        assert telling.shown(job) == [("a", "failed", f"reason {number}", 1), ("b", "failed", f"reason {number}", 1)]
        assert telling.counts(job) == Counts(0, 2, 0)
    assert telling.shown(jobs[3]) == [("a", "ok", None, 1), ("b", "failed", "reason 3", 1)]
    assert [(job, why) for job, _, _, why, _ in telling.history("a")] == [
        (jobs[0], "reason 0"), (jobs[1], "reason 1"), (jobs[2], "reason 2"), (jobs[3], None),
    ]  # fmt: skip
    with telling.store.read() as conn:
        assert items.counts(conn, telling.id) == Counts(1, 1, 0), "the generation as it stands now"


def test_a_job_that_is_retried_after_its_rerun_shows_each_item_once(telling: Telling) -> None:
    second = new_id()
    telling.record(failed("a", "one"), failed("b", "one", 1))
    telling.record(failed("a", "two"), failed("b", "two", 1), job=second)
    telling.record(ok("a"), run_no=2)
    assert telling.shown() == [("a", "ok", None, 2), ("b", "failed", "one", 1)]
    assert telling.counts() == Counts(1, 1, 0)
    assert telling.shown(second) == [("a", "failed", "two", 1), ("b", "failed", "two", 1)]
    with telling.store.read() as conn:
        assert items.left_to_others(conn, telling.id, telling.id) == [("", "b", FAILED)]
    assert [one[2:4] for one in telling.history("a")] == [("failed", "one"), ("failed", "two"), ("ok", None)]


def test_pages_go_through_what_stands_and_what_was(telling: Telling) -> None:
    telling.record(*(failed(f"{i:02}", "no price", i) for i in range(20)))
    telling.record(*(ok(f"{i:02}", i) for i in range(0, 20, 3)), job=new_id())
    seen: list[str] = []
    place: tuple[str, int, str] | None = None
    while page := telling.shown(limit=6, after=place):
        seen += [key for key, *_ in page]
        place = ("", int(seen[-1]), seen[-1])
    assert seen == [f"{i:02}" for i in range(20)]


def test_other_generations_and_loops_are_apart(store: Store, telling: Telling) -> None:
    other = Telling(store)
    for one in (telling, other):
        one.record(Recorded("x", "a", 0, FAILED, "x"), Recorded("y", "a", 0, FAILED, "y"))
    telling.record(Recorded("x", "a", 0, OK), job=new_id())
    assert telling.shown() == other.shown() == [("a", "failed", "x", 1), ("a", "failed", "y", 1)]
    with store.read() as conn:
        assert len(items.history(conn, other.id, "x", "a")) == len(items.history(conn, telling.id, "y", "a")) == 1


@pytest.mark.parametrize("count", [2_000, pytest.param(100_000, marks=pytest.mark.long)])
def test_many_items_again_are_a_bounded_number_of_statements(telling: Telling, make: Maker, count: int) -> None:
    second = new_id()
    first = [failed(f"{i:06}", "no price", i) for i in range(count)]
    again = [ok(f"{i:06}", i) for i in range(count)]
    telling.record(*first)
    statements: list[str] = []
    event.listen(telling.store.database.engine, "before_cursor_execute", lambda *given: statements.append(given[2]))
    telling.record(*again, job=second)
    written = [one for one in statements if one.startswith("INSERT")]
    assert len(written) == 2, written
    assert make.count(tables.item_history) == count
    assert (telling.counts(), telling.counts(second)) == (Counts(0, count, 0), Counts(count, 0, 0))
    assert telling.shown(outcome=FAILED, limit=2) == [("000000", "failed", "no price", 1), ("000001", "failed", "no price", 1)]


def test_the_first_run_of_a_generation_looks_for_nothing(telling: Telling) -> None:
    statements: list[str] = []
    event.listen(telling.store.database.engine, "before_cursor_execute", lambda *given: statements.append(given[2]))
    telling.record(ok("a"), failed("b", "no price"))
    assert not [one for one in statements if "item_history" in one]
    telling.record(ok("b"), run_no=2)
    assert [one for one in statements if "item_history" in one], "what the test looks for is there to be found"
