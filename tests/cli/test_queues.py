"""queues, queues pause, queues resume."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Answer

    Command = Callable[..., Answer]
    Make = Callable[..., str]


def test_what_waits_is_told_and_who_paused_it(jt: Command, submitted: Make) -> None:
    submitted("add", "-a", "a=1", "--queue", "slow")
    assert jt("queues", "pause", "slow", "--actor", "ann", "--reason", "disk full").out == "the queue 'slow' is paused\n"
    (slow,) = [one for one in jt("queues", "--json").json["queues"] if one["name"] == "slow"]
    assert (slow["due"], slow["paused"], slow["actor"], slow["reason"]) == (1, True, "ann", "disk full")
    shown = jt("queues", "list").out
    assert "slow" in shown
    assert "paused by ann: disk full" in shown
    assert "already" in jt("queues", "pause", "slow").out
    assert jt("queues", "resume", "slow", "--json").json == {"queue": "slow", "paused": False, "changed": True}


def test_a_queue_that_nobody_knows_is_not_paused(jt: Command, submitted: Make) -> None:
    submitted("add", "-a", "a=1", "--queue", "slow")
    answer = jt("queues", "pause", "slwo")
    assert answer.code == 1
    assert "there is no queue 'slwo'; there are:" in answer.err
    assert "slow" in answer.err
    assert [one["paused"] for one in jt("queues", "--json").json["queues"] if one["name"] == "slow"] == [False]
