"""list, show, items, log, tasks, coverage."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Answer

    Command = Callable[..., Answer]
    Make = Callable[..., str]


def test_an_empty_list(jt: Command) -> None:
    assert "no jobs" in jt("list").out
    page = jt("list", "--json").json
    assert page.pop("now").endswith("Z")
    assert page == {"jobs": [], "count": {"number": 0, "more": False}, "next": None, "searched": None, "note": None}


def test_a_list_shows_what_stands_where(jt: Command, submitted: Make, ran: Make) -> None:
    partial = ran("load", "--source", "shop/A", "--period", "2013-02", "-a", "bad=1")
    failed = ran("fail", "-a", "message=broken [red]thing[/red]\x1b[2J")
    waiting = submitted("add", "-a", "a=1", "--delay", "300")
    out = jt("list").out
    for job_id in (partial, failed, waiting):
        assert job_id[-8:] in out
    assert "1 of 4 items failed" in out
    assert "RuntimeError: broken [red]thing[/red]\\x1b[2J" in out
    assert "\x1b" not in out
    assert "showing 3 of 3" in out


def test_a_list_is_filtered_and_paged(jt: Command, submitted: Make) -> None:
    ids = [submitted("add", "-a", f"a={n}") for n in range(3)]
    submitted("fail")
    page = jt("list", "task:add", "--limit", "2", "--json").json
    assert [job["id"] for job in page["jobs"]] == ids[:0:-1]
    assert page["count"] == {"number": 3, "more": False}
    rest = jt("list", "task:add", "--before", page["next"][-8:], "--json").json
    assert [job["id"] for job in rest["jobs"]] == ids[:1]
    text = jt("list", "task:add", "-n", "2").out
    assert f"showing 2 of 3; go on with --before {ids[1][-8:]}" in text


def test_a_value_with_blanks_stays_one_value(jt: Command, submitted: Make) -> None:
    submitted("fail", "-a", "message=a disk is full")
    submitted("fail", "-a", "message=full of disks a lot")
    assert len(jt("list", "disk is full", "--json").json["jobs"]) == 1
    assert len(jt("list", "args.message:a disk is full", "--json").json["jobs"]) == 1


def test_show_tells_everything(jt: Command, ran: Make) -> None:
    first = ran(
        "load",
        "--source",
        "shop/A",
        "--period",
        "2013-02",
        "-a",
        "bad=2",
        "--label",
        "tenant=acme",
        "--reason",
        "try it",
    )
    assert jt("rerun", first, "--mode", "failed_items", "--reason", "corrected").code == 0
    jt("worker", "--burst")
    out = jt("show", first[-8:]).out
    for words in ("load shop/A 2013-02", "partial", "submitted", "started", "finished", "try it", "tenant", "2 failed",
                  "=row 0 [bold]has no price[/bold]", "Lineage", "← this job", "failed_items", first):  # fmt: skip
        assert words in out, words
    seen = jt("show", first, "--json").json
    assert [line["name"] for line in seen["timeline"]] == ["submitted", "started", "finished"]
    assert seen["items"] == {"ok": 2, "failed": 2, "skipped": 0}
    assert [one["mode"] for one in seen["reruns"]] == ["failed_items"]
    assert seen["created_at"].endswith("Z")


def test_show_masks_secrets_and_shows_the_error(jt: Command, ran: Make) -> None:
    job_id = ran("fail", "-a", "password=geheim", "-a", "message=at postgresql://u:geheim@host/db")
    for words in (("show", job_id), ("show", job_id, "--json"), ("list",), ("list", "--json")):
        out = jt(*words).out
        assert "geheim" not in out
        assert "RuntimeError" in out
    assert "Traceback (most recent call last)" in jt("show", job_id).out
    assert "Traceback" not in jt("show", job_id, "--no-traceback").out


def test_show_of_a_success_has_its_end_once(jt: Command, ran: Make) -> None:
    seen = jt("show", ran("add", "-a", "a=1"), "--json").json
    assert [line["name"] for line in seen["timeline"]] == ["submitted", "started", "finished"]
    assert [(one["attempt"], one["outcome"]) for one in seen["attempts"]] == [(1, "completed")]
    assert seen["result"] == 2


def test_show_of_a_retried_job_has_every_attempt(jt: Command, ran: Make) -> None:
    job_id = ran("fail")
    jt("retry", job_id)
    jt("worker", "--burst")
    seen = jt("show", job_id, "--json").json
    names = [line["name"] for line in seen["timeline"]]
    assert names == ["submitted", "started", "finished", "retried", "started", "finished"]
    assert [one["attempt"] for one in seen["attempts"]] == [1, 2]


def test_items_as_table_json_and_csv(jt: Command, ran: Make) -> None:
    job_id = ran("load", "-a", "rows=3", "-a", "bad=1")
    assert "showing 3 of 3 items: 2 ok, 1 failed" in jt("items", job_id).out
    failed = jt("items", job_id, "--failed", "--json").json["items"]
    assert [(item["key"], item["outcome"]) for item in failed] == [("0", "failed")]
    rows = list(csv.DictReader(io.StringIO(jt("items", job_id, "--csv").out)))
    assert [row["outcome"] for row in rows] == ["failed", "ok", "ok"]
    assert rows[0]["reason"] == "'=row 0 [bold]has no price[/bold]"
    assert jt("items", job_id, "--csv", "--json").code == 2


def test_log_is_printed_safely(jt: Command, ran: Make) -> None:
    job_id = ran("slow", "-a", "seconds=0")
    out = jt("log", job_id).out
    assert "begins with \\x1b[31mred\\x1b[0m [bold]text[/bold]" in out
    assert any("begins with" in one["text"] for one in jt("log", job_id, "--json").json["records"])
    assert jt("log", job_id, "--follow").out == out


def test_tasks(jt: Command) -> None:
    out = jt("tasks").out
    assert "(a: int, b: int = 1)" in out
    assert [task["name"] for task in jt("tasks", "--json").json] == ["add", "fail", "flaky", "load", "read", "slow"]


def test_coverage_shows_states_and_gaps(jt: Command, submitted: Make, ran: Make) -> None:
    for period, bad in (("2013-01", 0), ("2013-02", 1), ("2013-05", 4)):
        submitted("load", "--source", "shop/A", "--period", period, "-a", f"bad={bad}")
    ran("load", "--source", "shop/B", "--period", "2013-03")
    lines = jt("coverage", "load").out.splitlines()
    assert lines[2].split() == ["01", "02", "03", "04", "05"]
    assert lines[3].split() == ["shop/A", "2013", "██", "▒▒", "·", "·", "✗"]
    assert lines[4].split() == ["shop/B", "2013", "·", "·", "██", "·", "·"]
    seen = jt("coverage", "load", "--json").json
    one, two = seen["rows"]
    assert (one["counts"], one["missing"]) == ({"complete": 1, "partial": 1, "failed": 1}, 2)
    assert (two["counts"], two["missing"]) == ({"complete": 1}, 4)
    assert gaps(seen) == ["2013-03", "2013-04"]
    assert lines[-1].split() == ["█", "2", "complete", "▒", "1", "partial", "✗", "1", "failed", "·", "6", "missing"]


def gaps(seen: dict[str, Any]) -> list[str]:
    """The periods that the first source lacks."""
    known = {cell["column"] for cell in seen["rows"][0]["cells"]}
    return [column["period"] for place, column in enumerate(seen["columns"]) if column["over"] and place not in known]


def test_coverage_of_a_range(jt: Command, ran: Make) -> None:
    ran("load", "--source", "shop/A", "--period", "2013-02")
    seen = jt("coverage", "load", "--from", "2013-01", "--to", "2013-04", "--json").json
    assert gaps(seen) == ["2013-01", "2013-03", "2013-04"]
    assert gaps(jt("coverage", "load", "--from", "2012-12", "--json").json) == ["2012-12", "2013-01"]
    assert jt("coverage", "load", "--from", "2013-13").code == 2


def test_coverage_of_hours_and_zones_has_its_gaps(jt: Command, submitted: Make) -> None:
    for hour in ("00", "23"):
        submitted("load", "--source", "A", "--period", f"2013-02-01T{hour}")
    seen = jt("coverage", "load", "--json").json
    assert (seen["zoom"], seen["rows"][0]["missing"]) == ("hour", 22)
    assert "22 missing" in jt("coverage", "load").out
    for month in ("2013-01", "2013-04"):
        submitted("read", "--source", "A", "--period", f"{month}[Europe/Berlin]")
    seen = jt("coverage", "read", "--json").json
    assert (seen["zoom"], seen["rows"][0]["missing"]) == ("month", 2)


def test_coverage_of_days_weeks_files(jt: Command, submitted: Make, ran: Make, tmp_path: object) -> None:
    for period in ("2013-01-31", "2013-02-02", "2013-W07", "2013-02-01/2013-02-11"):
        submitted("load", "--period", period)
    seen = jt("coverage", "load", "--json").json
    assert (seen["zoom"], gaps(seen)) == ("day", [])
    assert [column["period"] for column in seen["columns"]][:2] == ["2013-01-31", "2013-02-01"]
    assert gaps(jt("coverage", "load", "--zoom", "day", "--to", "2013-02-20", "--json").json) == ["2013-02-18", "2013-02-19", "2013-02-20"]
    path = f"{tmp_path}/input.csv"
    with open(path, "w", encoding="utf-8") as file:
        file.write("1,2\n")
    ran("read", "--file", path)
    assert "input.csv" in jt("coverage", "read").out


@pytest.mark.parametrize("command", ["show", "items", "log", "retry", "cancel", "rerun", "run-now"])
def test_what_is_not_there(jt: Command, submitted: Make, command: str) -> None:
    submitted("add", "-a", "a=1")
    answer = jt(command, "ffffffffffff")
    assert (answer.code, answer.out) == (1, "")
    assert answer.err == "jobtrail: there is no job 'ffffffffffff'\n"


def test_an_ending_that_several_jobs_have(jt: Command, submitted: Make) -> None:
    for n in range(17):  # of seventeen ids two end alike
        submitted("add", "-a", f"a={n}")
    ids = [job["id"] for job in jt("list", "--json").json["jobs"]]
    endings = [one[-1] for one in ids]
    twice = next(one for one in endings if endings.count(one) > 1)
    answer = jt("show", twice)
    assert answer.code == 1
    assert answer.err.startswith(f"jobtrail: several jobs end with '{twice}': ")


def test_a_narrow_terminal_keeps_ids_whole(jt: Command, ran: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    job_id = ran("fail", "--source", "a/long/name/of/a/source", "--period", "2013-02", "-a", f"message={'long ' * 30}")
    monkeypatch.setenv("COLUMNS", "60")
    out = jt("list").out
    assert job_id[-8:] in out
    assert "a/long/name/of/a/source" in out
    assert "failed" in out
    assert job_id in jt("show", job_id).out


def test_no_word_gives_help(bare: Command) -> None:
    answer = bare()
    assert answer.code == 0
    assert "Change:" in answer.out


def test_an_error_is_acknowledged_muted_mended_and_reopened(jt: Command, ran: Make) -> None:
    ran("fail", "-a", "message=disk full")
    (kind,) = jt("errors", "--json").json["kinds"]
    of = ("error", kind["fingerprint"])
    assert "open" in jt(*of).out
    assert jt(*of, "--acknowledge", "--reason", "known", "--json").json["state"] == "acknowledged"
    told = jt(*of, "--mended", "2.4.1").out
    assert "mended" in told
    assert "2.4.1" in told
    assert jt(*of, "--mute", "3d", "--json").json["state"] == "muted"
    assert jt(*of, "--reopen", "--json").json["state"] == "open"
    for wrong in (("--acknowledge",), ("--mute", "soon"), ("--acknowledge", "--reopen", "--reason", "x")):
        assert jt(*of, *wrong).code != 0
    assert jt("error", "0123456789abcdef", "--reopen").code != 0
