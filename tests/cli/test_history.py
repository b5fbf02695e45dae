"""`jobtrail delete`, `import` and `export`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

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


def test_export_and_import_move_history_by_files(jt: Command, bare: Command, ran: Make, tmp_path: Path) -> None:
    ran("add", "-a", "a=1", "--label", "x=1")
    ran("fail")
    lines, table = tmp_path / "jobs.jsonl", tmp_path / "jobs.csv"
    assert "exported: 2 jobs" in jt("export", "--to", str(lines)).out
    assert jt("export", "status:failed", "--to", str(table), "--json").json == {"jobs": 1}
    assert jt("export").out == lines.read_text(encoding="utf-8")
    other = f"sqlite:///{tmp_path / 'other.db'}"
    assert jt("import", str(lines), "--dry-run", "--json", "--database", other).json["jobs"] == 2
    assert "imported: 2 jobs; 0 there already, 0 refused" in jt("import", str(lines), "--database", other).out
    assert jt("import", str(table), "--json", "--database", other).json == {
        "jobs": 0, "there": 1, "refused": 0, "problems": [], "dry_run": False,
    }  # fmt: skip
    assert jt("export", "--database", other).out == lines.read_text(encoding="utf-8")
    assert "parquet" in jt("export", "--format", "parquet").err.lower()
    assert "is not known" in jt("export", "--format", "xml").err


def test_a_bad_file_is_refused_with_line_and_field(jt: Command, tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    good = '{"task": "load", "status": "completed", "finished_at": "2013-02-01T03:00:00Z"}'
    bad.write_text(f'{good}\n\n{{"task": "load"\n{good[:-1]}, "color": 1}}\n', encoding="utf-8")
    told = jt("import", str(bad))
    assert told.code != 0
    assert "line 3, -: is not JSON" in told.err
    assert "line 4, color: there is no such field" in told.err
    assert jt("list", "--json").json["jobs"] == []
    assert jt("import", str(bad), "--skip-bad", "--json").json["jobs"] == 1
    assert jt("import", str(tmp_path / "gone.jsonl")).code != 0


def test_a_csv_of_an_old_table_is_imported(jt: Command, tmp_path: Path) -> None:
    table = tmp_path / "old.csv"
    rows = ["task,status,finished_at,key,label.shop,arg.n,args,items_ok", "load,completed,2013-02-01T03:00:00Z,17,acme,5,,3"]
    table.write_text("\n".join(rows), encoding="utf-8")
    assert jt("import", str(table), "--json").json["jobs"] == 1
    (job,) = jt("list", "label:shop=acme", "--json").json["jobs"]
    assert job["items"]["ok"] == 3
    assert jt("show", job["id"], "--json").json["arguments"] == {"n": 5}
    table.write_text("\n".join([*rows, "load,completed,x,y,z,1,2,3,4"]), encoding="utf-8")
    assert "line 3, -: has more cells" in jt("import", str(table)).err
