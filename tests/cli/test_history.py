"""`jobtrail delete`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Answer

    Command = Callable[..., Answer]
    Make = Callable[..., str]


def test_delete_shows_first_and_deletes_what_was_shown(jt: Command, submitted: Make, ran: Make) -> None:
    ran("add", "-a", "a=1")
    waiting = submitted("add", "-a", "a=2", "--delay", "300")
    shown = jt("delete", "task:add", "--dry-run", "--json").json
    assert (shown["jobs"], shown["more"], shown["dry_run"]) == (1, False, True)
    assert shown["skipped"] == [{"reason": "is pending", "jobs": 1, "example": waiting}]
    told = jt("delete", "task:add")
    assert told.code == 1, "without a terminal nothing is deleted unasked"
    assert "would delete: 1 job" in told.out
    assert f"--digest {shown['digest']}" in told.out
    assert jt("delete", "task:add", "--digest", "0" * 32).code != 0
    done = jt("delete", "task:add", "--digest", shown["digest"], "--actor", "person:dpo")
    assert "deleted: 1 job" in done.out
    assert [job["id"] for job in jt("list", "--json").json["jobs"]] == [waiting]
    assert "would delete: 0 jobs" in jt("delete", "task:add", "--dry-run").out


def test_delete_all_that_match_without_asking(jt: Command, ran: Make) -> None:
    ran("add", "-a", "a=1")
    assert jt("delete", "task:add", "--yes", "--json").json["jobs"] == 1
    assert jt("delete", "", "--yes").code != 0
