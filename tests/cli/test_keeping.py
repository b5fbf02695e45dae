"""migrate, prune, doctor; how the application is named; what the database may do to us."""

from __future__ import annotations

import stat
import subprocess
import sys
import time
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import update

from jobtrail import JobTrail
from jobtrail.database import tables
from jobtrail.job.model import new_id
from jobtrail.store import workers

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Answer

    Command = Callable[..., Answer]
    Make = Callable[..., str]
    Start = Callable[..., subprocess.Popen[str]]


@pytest.mark.usefixtures("no_database")
def test_migrate(jt: Command, url: str) -> None:
    assert "CREATE TABLE" in jt("migrate", "--sql").out
    assert jt("migrate", "--sql", "--json").json["sql"]
    assert jt("migrate", "--json").json["migrated"] is True
    assert jt("migrate", "--json").json["migrated"] is False
    assert "there was nothing to do" in jt("migrate", "--database", url).out


@pytest.mark.usefixtures("no_database")
def test_the_first_submission_makes_the_tables(jt: Command, submitted: Make) -> None:
    job = submitted("add", "-a", "a=1")
    assert [one["id"] for one in jt("list", "--json").json["jobs"]] == [job]


def test_prune(jt: Command, submitted: Make, ran: Make) -> None:
    ran("add", "-a", "a=1")
    ran("fail")
    waiting = submitted("add", "-a", "a=2", "--delay", "300")
    assert jt("prune", "--dry-run", "--json").json == {"jobs": {}, "total": 0, "dry_run": True}
    assert "1 completed, 1 failed" in jt("prune", "--days", "0", "--dry-run").out
    assert jt("prune", "--days", "0", "--failed-days", "9", "--json").json["jobs"] == {"completed": 1}
    assert jt("prune", "--days", "0").out == "removed: 1 failed\n"
    assert [job["id"] for job in jt("list", "--json").json["jobs"]] == [waiting]
    assert jt("prune", "--days", "-1").code == 2


def test_prune_keeps_what_the_settings_keep(jt: Command, ran: Make, url: str, tmp_path: Path) -> None:
    """It deleted completed jobs after 30 days although the application keeps them for ever."""
    ran("add", "-a", "a=1")
    jobs = JobTrail(url)
    jobs.store.write(lambda conn: conn.execute(update(tables.jobs).values(finished_at=jobs.store.now() - timedelta(days=60))))
    jobs.close()
    (tmp_path / "jobtrail.toml").write_text('[settings]\nkeep_completed = "none"\n', encoding="utf-8")
    assert jt("prune", "--dry-run", "--json").json["jobs"] == {}
    assert jt("prune", "--completed-days", "30", "--dry-run", "--json").json["jobs"] == {"completed": 1}
    (tmp_path / "jobtrail.toml").unlink()
    assert jt("prune", "--dry-run", "--json").json["jobs"] == {"completed": 1}


def test_doctor_is_content(jt: Command, ran: Make) -> None:
    ran("add", "-a", "a=1")
    answer = jt("doctor")
    assert answer.code == 0
    assert "SQLite" in answer.out
    assert jt("doctor", "--json").json["ok"] is True


def test_doctor_sees_what_nobody_does(jt: Command, submitted: Make) -> None:
    submitted("add", "-a", "a=1", "--queue", "lonely")
    answer = jt("doctor")
    assert answer.code == 1
    assert "no worker serves lonely" in answer.out
    assert "jobtrail worker --queues lonely" in answer.out


def test_doctor_sees_a_task_that_nobody_knows(jt: Command, submitted: Make, url: str, tmp_path: Path) -> None:
    submitted("add", "-a", "a=1")
    (tmp_path / "other_shop.py").write_text(f"from jobtrail import JobTrail\njobs = JobTrail({url!r})\n")
    findings = {one["name"]: one for one in jt("doctor", "--json", "--app", "other_shop:jobs").json["findings"]}
    assert findings["tasks"]["state"] == "wrong"
    assert "add" in findings["tasks"]["told"]


def test_doctor_sees_a_dead_worker(jt: Command, submitted: Make, process: Start) -> None:
    job_id = submitted("slow")
    worker = process("worker")
    end = time.monotonic() + 15
    while jt("show", job_id, "--json").json["status"] != "running":
        assert time.monotonic() < end
        time.sleep(0.05)
    findings = {one["name"]: one for one in jt("doctor", "--json").json["findings"]}
    assert findings["workers"]["told"].startswith("1 alive")
    worker.kill()
    worker.communicate(timeout=10)
    answer = jt("doctor")
    assert answer.code == 1
    assert "1 marked as running on workers that are gone" in answer.out


def test_doctor_says_what_a_worker_says_of_itself(jt: Command, url: str) -> None:
    """C-69, C-70: read from the worker's row, by another process."""
    jobs = JobTrail(url)
    jobs.service.make_ready()
    store, me, now = jobs.store, new_id(), jobs.store.now()
    store.write(lambda conn: workers.register(conn, store.dialect, me, ["default"], 4, now))
    assert jt("doctor").code == 0
    told = {
        "failing": {"upkeep": "ValueError: a bad row"},
        "late": ["beat"],
        "slots_lost": {"lost": 4, "of": 4, "by": ["a", "b", "c", "d"]},
        "loop_blocked_since": now.timestamp() - 90,
        "process_stopped_since": now.timestamp() - 90,
        "by": ["e"],
        "store_away": {"since": (now - timedelta(seconds=100)).isoformat(), "until": now.isoformat(), "why": "gone"},
    }
    store.write(lambda conn: workers.note(conn, me, told))
    store.write(lambda conn: workers.set_state(conn, me, "leaving"))
    jobs.close()
    answer = jt("doctor")
    assert answer.code == 1
    findings = {one["name"]: one for one in jt("doctor", "--json").json["findings"]}
    who = f"worker …{me[-6:]} on "
    for name, state, words in (
        ("upkeep", "wrong", "its upkeep fails and is repeated: ValueError: a bad row"),
        ("beat", "wrong", "its beat has not completed a pass for long"),
        ("slots", "wrong", "4 of 4 slots are lost to bodies that do not stop: a, b, c, d"),
        ("loop", "note", "its event loop has been blocked for 1:3"),
        ("process", "wrong", "its process has been stopped (SIGSTOP, Ctrl-Z) for 1:3"),
        ("store", "note", "it was without the database for 1:40 until"),
    ):
        assert findings[name]["state"] == state
        assert words in findings[name]["told"]
        assert who[:8] in findings[name]["told"]
        assert words in answer.out
    assert "leaving: a body of it cannot be stopped" in findings["workers"]["told"]


def test_without_an_application(bare: Command) -> None:
    answer = bare("list")
    assert (answer.code, answer.out) == (2, "")
    assert "--app module:object or --database URL" in answer.err
    assert bare("tasks").code == 2
    assert bare("list", "--database", "sqlite:///nowhere.db").err == "jobtrail: there is no database file nowhere.db\n"


def test_a_database_alone_is_enough_to_look(jt: Command, submitted: Make, bare: Command, url: str,
                                            monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    job_id = submitted("add", "-a", "a=1")
    monkeypatch.delenv("JOBTRAIL_APP")
    assert job_id in bare("--database", url, "show", job_id).out
    assert bare("cancel", job_id, "--database", url).code == 0
    assert bare("submit", "add", "--database", url).code == 2
    monkeypatch.setenv("JOBTRAIL_URL", url)
    assert bare("list", "--json").json["count"]["number"] == 1


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ("shop", "not of the form module:object"),
        ("no_such_module:jobs", "there is no module 'no_such_module'"),
        ("shop:nothing", "the module 'shop' has no 'nothing'"),
        ("shop:number", "is of type int, not a JobTrail"),
        ("shop:broken", "calling 'shop:broken' failed: LookupError: no such tenant"),
        ("bad_import:jobs", "there is no module 'no_such_thing', which 'bad_import' imports"),
        ("bad_syntax:jobs", "importing 'bad_syntax' failed: SyntaxError"),
        ("bad_exit:jobs", "importing 'bad_exit' failed: SystemExit"),
    ],
)
def test_applications_that_are_none(jt: Command, tmp_path: Path, named: str, told: str) -> None:
    (tmp_path / "bad_import.py").write_text("import no_such_thing\n")
    (tmp_path / "bad_syntax.py").write_text("def\n")
    (tmp_path / "bad_exit.py").write_text("raise SystemExit(0)\n")
    answer = jt("tasks", "--app", named)
    assert answer.code == 2
    assert told in answer.err
    assert answer.err.count("\n") == 1


@pytest.mark.usefixtures("no_database")
def test_an_application_on_another_database(jt: Command, tmp_path: Path) -> None:
    other = f"sqlite:///{tmp_path}/other.db"
    assert jt("submit", "add", "-a", "a=1", "--database", other).code == 0
    assert jt("worker", "--burst", "--database", other, "--json").json["jobs"] == {"completed": 1}
    assert not (tmp_path / "shop.db").exists()


# -- what the database may do to us ------------------------------------------------------------------


def _one_sentence(answer: Answer, *told: str) -> None:
    assert (answer.code, answer.out) == (1, "")
    assert answer.err.count("\n") == 1, answer.err
    for words in told:
        assert words in answer.err


def test_a_folder(jt: Command, tmp_path: Path) -> None:
    (tmp_path / "folder.db").mkdir()
    _one_sentence(jt("list", "--app", "", "--database", f"sqlite:///{tmp_path}/folder.db"), "is a folder")


def test_no_database(jt: Command, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("Dear diary, today I was mistaken for a database. " * 100)
    for words in (("list",), ("migrate",), ("submit", "add", "-a", "a=1")):
        answer = jt(*words, "--database", f"sqlite:///{tmp_path}/notes.txt")
        _one_sentence(answer, "is not a SQLite database")


def test_a_read_only_file(jt: Command, submitted: Make, tmp_path: Path) -> None:
    job_id = submitted("add", "-a", "a=1")
    read_only = f"sqlite:///file:{tmp_path}/shop.db?mode=ro&uri=true"
    (tmp_path / "shop.db").chmod(stat.S_IREAD)
    assert jt("list", "--json", "--database", read_only).json["count"]["number"] == 1
    _one_sentence(jt("cancel", job_id, "--database", read_only), "is read-only")


HOLDS_LOCK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
"""


def test_a_locked_file_is_read_and_a_write_says_what_is_wrong(
    jt: Command, submitted: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jobtrail.database.connection.SQLITE_BUSY_SECONDS", 0.3)
    monkeypatch.setenv("JOBTRAIL_SUBMIT_RETRY_SECONDS", "0.5")
    job_id = submitted("add", "-a", "a=1")
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS_LOCK, tmp_path / "shop.db"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        assert other.stdout.readline() == b"held\n"
        assert jt("list", "--json").json["count"]["number"] == 1
        assert jt("show", job_id).code == 0
        begun = time.monotonic()
        _one_sentence(jt("submit", "add", "-a", "a=2"), "is locked by another program")
        _one_sentence(jt("cancel", job_id), "is locked by another program")
        assert time.monotonic() - begun < 10
        other.stdin.close()
    assert jt("cancel", job_id).code == 0


def test_postgresql_that_is_not_there(jt: Command) -> None:
    pytest.importorskip("psycopg")
    address = "postgresql://user:geheim@127.0.0.1:1/shop"
    answer = jt("list", "--database", address)
    _one_sentence(answer, "PostgreSQL at 127.0.0.1:1/shop cannot be reached")
    assert "geheim" not in answer.err
    answer = jt("doctor", "--database", address, "--json")
    assert answer.code == 1
    assert answer.json["findings"][0]["state"] == "wrong"


def test_doctor_says_that_nobody_cleans_up_on_postgresql(jt: Command, postgres_url: str) -> None:
    import psycopg

    assert jt("migrate", "--database", postgres_url).code == 0
    with psycopg.connect(postgres_url.replace("+psycopg", ""), autocommit=True) as conn:
        (is_on,) = conn.execute("SHOW autovacuum").fetchone() or ("",)
    told = [one["told"] for one in jt("doctor", "--database", postgres_url, "--json").json["findings"]]
    assert ("autovacuum is off on this server" in told) == (is_on == "off")


@pytest.mark.parametrize("address", ["mysql://host/db", "sqlite://", "nonsense"])
def test_addresses_that_are_none(bare: Command, address: str) -> None:
    assert bare("list", "--database", address).code == 2


def test_a_fault_of_ours_is_a_sentence_too(jt: Command, submitted: Make, monkeypatch: pytest.MonkeyPatch,
                                           capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    from jobtrail.cli import main

    submitted("add", "-a", "a=1")
    monkeypatch.setattr("jobtrail.store.search.search.find", lambda *_args, **_rest: 1 / 0)
    answer = jt("list")
    assert answer.code == 1
    assert (
        answer.err == "jobtrail: unexpected ZeroDivisionError: division by zero (run with --debug for the traceback)\n"
    )
    assert main(["list", "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err


# -- as a process ------------------------------------------------------------------------------------


def test_version_and_help(process: Start) -> None:
    out, _ = process("--version").communicate(timeout=20)
    assert out.startswith("jobtrail ")
    out, err = process("submit", "--help").communicate(timeout=20)
    assert "--idempotency-key" in out
    assert err == ""


def test_help_loads_no_database_library() -> None:
    code = "import sys; from jobtrail.cli import main; main(['--help']); sys.exit('sqlalchemy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def test_a_reader_who_has_seen_enough(jt: Command, ran: Make, tmp_path: Path, process: Start) -> None:
    job_id = ran("load", "-a", "rows=20000")
    reader = process("items", job_id, "--csv")
    assert reader.stdout is not None
    assert reader.stdout.readline().startswith("key,")
    reader.stdout.close()
    assert reader.wait(timeout=20) == 0
    assert reader.stderr is not None
    assert reader.stderr.read() == ""
