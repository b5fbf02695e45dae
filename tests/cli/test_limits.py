"""limits list, set, lift and reset."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Answer

    Command = Callable[..., Answer]
    Make = Callable[..., str]


def test_a_limit_is_shown_changed_lifted_and_reset(jt: Command, submitted: Make) -> None:
    submitted("add", "-a", "a=1")
    assert "1 in" not in jt("limits").out
    shown = jt("limits", "list").out
    assert "a:{a}" in shown
    assert "2 at once" in shown
    assert "a:1" in shown
    set_ = jt("limits", "set", "adding", "--rate", "10", "--actor", "ann", "--reason", "a bigger contract")
    assert set_.out == "the limit 'adding' allows 10 in 60 s for each key\n"
    assert "10 in 60 s, changed by ann: a bigger contract" in jt("limits").out
    assert jt("limits", "set", "adding", "--running", "3", "--json").json["now"] == {"running": 3, "rate": 10, "per": 60.0}
    assert jt("limits", "lift", "adding").out == "the limit 'adding' allows any number for each key\n"
    assert jt("limits", "reset", "adding").out == "the limit 'adding' allows 50 in 60 s for each key\n"
    (line,) = [one for one in jt("limits", "--json").json["limits"] if one["name"] == "adding"]
    assert (line["actor"], line["waiting"], line["keys"]) == (None, 1, [
        {"key": "adding", "running": 0, "waiting": 1, "free": 50, "next_at": None},
    ])  # fmt: skip


def test_what_is_no_limit_or_no_number_is_refused(jt: Command, submitted: Make) -> None:
    submitted("add", "-a", "a=1")
    unknown = jt("limits", "set", "addign", "--rate", "10")
    assert (unknown.code, "there is no limit 'addign'; there are:" in unknown.err) == (1, True)
    wrong = jt("limits", "set", "adding", "--running", "0")
    assert wrong.code != 0
    assert "running must be a whole number from 1" in wrong.err


def test_a_re_run_with_other_arguments_has_their_keys(jt: Command, ran: Make) -> None:
    job_id = ran("add", "-a", "a=1")
    assert jt("rerun", job_id, "-a", "a=2").code == 0
    shown = {key["key"] for one in jt("limits", "--json").json["limits"] for key in one["keys"] if key["waiting"]}
    assert shown == {"a:2", "adding"}
