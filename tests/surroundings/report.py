"""What happens under other people's settings: run the tests of this folder and write their table into the documentation.

    python -m tests.surroundings.report [--write]
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PAGE = ROOT / "docs" / "operating.md"
BEGIN, END = "<!-- surroundings: begin -->", "<!-- surroundings: end -->"
sys.path.insert(0, str(HERE))

from matrix import LONG, SHORT  # noqa: E402


@dataclass(frozen=True)
class Row:
    """A line of the table: what was set up, what happens, and the tests that show it."""

    what: str
    happens: str
    tests: str


LIVES = "a job lives from its submission to its retention"
RIGHTS = "test_a_job_outlives_what_an_administrator_does"
ROWS = (
    Row("pgbouncer, `pool_mode = transaction`", "recognised without a setting; no prepared statement, nothing left in a session; " + LIVES,
        r"test_jobs_live_behind|test_nothing_is_left|test_a_worker_process_lives_behind|test_the_beat_process_beats_behind"),
    Row("… without `notify_url`", "workers poll, and say so once", "test_without_a_direct_address"),
    Row("… with `notify_url`, a direct address", "workers are woken by LISTEN/NOTIFY", "test_workers_are_woken"),
    Row("… and `migrate`", "runs through it; its lock belongs to the transaction", "test_a_migration_runs"),
    Row("… and `pooler=False` by mistake", "the first error that only a pooler causes corrects it", "test_an_error_that_only_a_pooler_causes"),
    Row("… with no free session, or restarted", "an outage like one of the server", "test_pgbouncer_is_waited_for"),
    Row("… with `options=-c …` in the address", "refused by pgbouncer; the error names `ALTER ROLE … SET`", "test_start_options"),
    Row("`idle_session_timeout` between two submissions", "the lost session is noticed before the statement is sent; beat and listener go on",
        "test_a_lone_write_after|test_a_beat_and_a_listener"),
    Row("`pg_terminate_backend` on every session, or a restart", "one line in the log of the worker; the jobs go on", "test_ended_sessions"),
    Row("`search_path`, and a role that owns nothing", LIVES + " in that schema", "test_a_job_lives_in_a_schema"),
    Row("a role without the right to write one table", "an outage that names the missing right; the end of a run is kept and written later", RIGHTS + r"\[no_rights"),
    Row("`default_transaction_read_only = on`", 'an outage, "is read-only now"; the same', RIGHTS + r"\[no_writes"),
    Row("no connection left for the role (as with `max_connections`)", "an outage that names it; the same", RIGHTS + r"\[no_conn"),
    Row("`sslmode=require`, a streaming standby, a failover to it", "a standby is named and refuses writes with a sentence; with both hosts in the address the worker goes on at the promoted server",
        "test_a_standby_is_named"),
    Row("an error of a driver that nobody foresaw, in any loop of a worker", "logged once, shown by `doctor`, repeated with back-off; the worker goes on",
        "test_a_worker_outlives|test_a_beat_process_outlives"),
    *(Row(f"settings of the database: {case.name}" if case in SHORT else case.name, LIVES,
          r"test_a_job_lives_with_it\w*\[" + re.escape(case.name) + r"\]") for case in (*SHORT, *LONG)),
)  # fmt: skip


def outcomes() -> dict[str, str]:
    """Run the tests, long ones too: passed, failed or skipped by name."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "junit.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-m", "long or not long", str(HERE), f"--junitxml={file}"]
        subprocess.run(command, cwd=ROOT, check=False, stdout=subprocess.DEVNULL)
        found = {}
        for case in ET.parse(file).iter("testcase"):
            kinds = {child.tag for child in case}
            found[case.get("name", "")] = (
                "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
            )
        return found


def table(found: dict[str, str]) -> str:
    """The table; a row without a passed test does not say that something works."""
    lines = ["| surroundings | what happens | tests |", "| --- | --- | ---: |"]
    for row in ROWS:
        how = [outcome for name, outcome in found.items() if re.match(row.tests, name)]
        passed = how.count("passed")
        if not how or "failed" in how:
            happens = "**fails**"
        else:
            happens = row.happens if passed else "not tried: the server has no such setting"
        lines.append(f"| {row.what} | {happens} | {passed} |")
    return "\n".join(lines)


def write(text: str, page: Path = PAGE) -> None:
    """Replace what stands between the marks."""
    head, rest = page.read_text(encoding="utf-8").split(BEGIN)
    page.write_text(f"{head}{BEGIN}\n\n{text}\n\n{END}{rest.split(END)[1]}", encoding="utf-8")


def main() -> int:
    """Print the table, and write it where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    text = table(outcomes())
    print(text)
    if given.write:
        write(text)
    return int("**fails**" in text)


if __name__ == "__main__":
    sys.exit(main())
