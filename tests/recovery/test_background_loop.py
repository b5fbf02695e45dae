"""C-70: a loop of ours that fails, hangs or is told to stop; whatever its turn raises, it goes on and says so."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
import time

import pytest
from trails import until

from jobtrail.recovery.background_loop import BackgroundLoop

RAISED = [ValueError("a bad row"), asyncio.CancelledError("a foreign task"), SystemExit(3), KeyboardInterrupt(),
          GeneratorExit(), MemoryError("none left"), StopIteration(7)]  # fmt: skip


class Turns:
    """Counts turns; raises what it is told to, then works."""

    def __init__(self, *raises: BaseException) -> None:
        self.raises = list(raises)
        self.at: list[float] = []

    def __call__(self) -> None:
        self.at.append(time.monotonic())
        if self.raises:
            raise self.raises.pop(0)


@pytest.fixture
def chore():
    made = []

    def make(turn, interval=0.02, **rest) -> BackgroundLoop:
        made.append(BackgroundLoop("counting", turn, interval, **rest))
        return made[-1]

    yield make
    for one in made:
        one.stop(1.0)


@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
def test_it_goes_on_after_any_exception_and_says_why(chore, error, caplog):
    turns = Turns(error)
    with caplog.at_level(logging.WARNING, "jobtrail.worker"):
        one = chore(turns)
        one.start()
        until("it turns again", lambda: len(turns.at) >= 3)
        until("it works again", lambda: one.health().failing is None)
    told = [record.getMessage() for record in caplog.records]
    assert told[0] == f"counting failed and is repeated: {type(error).__name__}: {error}"
    assert told[1:] == ["counting works again"]


def test_one_reason_is_told_once_and_the_pauses_grow(chore, caplog):
    turns = Turns(*[ValueError("the same")] * 5, ValueError("another"))
    with caplog.at_level(logging.WARNING, "jobtrail.worker"):
        one = chore(turns, 0.03)
        one.start()
        until("it works", lambda: len(turns.at) >= 8, timeout=10)
    pauses = [b - a for a, b in zip(turns.at, turns.at[1:], strict=False)]
    assert pauses[4] > pauses[0] * 2
    assert pauses[4] >= 0.03 * 1.5**5 * 0.95
    assert pauses[6] < pauses[5], "it is back at its interval"
    told = [record.getMessage() for record in caplog.records]
    assert [text for text in told if "the same" in text] == ["counting failed and is repeated: ValueError: the same"]


def test_health_tells_what_fails_and_that_it_is_late(chore):
    turns = Turns(*[ValueError("no")] * 1000)
    one = chore(turns, 0.01, late_after=0.2)
    one.start()
    assert one.health().late is False
    until("it is late", lambda: one.health().late, timeout=5)
    health = one.health()
    assert (health.name, health.failing) == ("counting", "ValueError: no")
    assert health.since_last_pass > 0.2


def test_a_turn_that_hangs_is_late(chore):
    gate = threading.Event()
    one = chore(gate.wait, 0.01, late_after=0.1)
    one.start()
    until("it is late", lambda: one.health().late, timeout=5)
    assert one.health().failing is None
    gate.set()
    until("it is in time again", lambda: not one.health().late, timeout=5)


def test_by_default_it_is_late_after_three_intervals_and_five_seconds():
    one = BackgroundLoop("counting", lambda: None, 2.0)
    one._last_pass = time.monotonic() - 10.9
    assert one.health().late is False
    one._last_pass = time.monotonic() - 11.1
    assert one.health().late is True


def test_woken_it_turns_at_once_also_when_it_was_woken_during_a_turn(chore):
    turns = Turns()
    one = chore(turns, 60.0)
    one.start()
    until("the first turn", lambda: len(turns.at) == 1)
    one.wake()
    until("the second", lambda: len(turns.at) == 2, timeout=5)

    begun, gate, seen = threading.Event(), threading.Event(), []

    def slow() -> None:
        seen.append(1)
        begun.set()
        gate.wait(5)

    two = chore(slow, 60.0)
    two.start()
    begun.wait(5)
    two.wake()
    gate.set()
    until("a turn for the word that came meanwhile", lambda: len(seen) == 2, timeout=5)


def test_stopped_it_ends_within_its_time_even_in_a_long_pause(chore):
    turns = Turns()
    one = chore(turns, 60.0)
    one.start()
    until("the first turn", lambda: turns.at)
    began = time.monotonic()
    one.stop(5.0)
    assert time.monotonic() - began < 2
    assert not one._thread.is_alive()
    assert len(turns.at) == 1, "it does not turn once more because it was woken to end"


def test_stopped_while_it_hangs_the_caller_is_not_held_up(chore):
    gate = threading.Event()
    one = chore(gate.wait, 0.01)
    one.start()
    began = time.monotonic()
    one.stop(0.2)
    assert 0.1 < time.monotonic() - began < 3
    gate.set()


def test_it_may_be_stopped_from_its_own_turn(chore):
    done = []

    def turn() -> None:
        done.append(1)
        one.stop()

    one = chore(turn, 0.01)
    one.start()
    until("its thread has ended", lambda: not one._thread.is_alive(), timeout=5)
    assert done == [1]


def test_nothing_depends_on_luck_with_garbage_collection():
    turns, over = Turns(), threading.Event()

    def turn() -> None:
        turns()
        if over.is_set():
            time.sleep(3600)  # a daemon: it ends with the process

    BackgroundLoop("forgotten", turn, 0.01).start()
    before = len(turns.at)
    for _ in range(3):
        gc.collect()
    until("it goes on without a reference", lambda: len(turns.at) > before + 3, timeout=5)
    over.set()
    (thread,) = [one for one in threading.enumerate() if one.name == "jobtrail-forgotten"]
    assert thread.daemon
