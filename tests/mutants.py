"""Deliberate breaks in twelve rooms, one at a time in a copy of the source: the short tests of the room must catch each.

    python -m tests.mutants [NAME ...] [--list]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
COPIED = ("src", "tests", "examples", "docs", "pyproject.toml", "README.md")


@dataclass(frozen=True)
class Mutant:
    """A text of one file that is replaced by another, and the tests that must notice."""

    name: str
    file: str
    before: str
    after: str
    tests: tuple[str, ...]


MUTANTS = (
    Mutant(
        "job: one attempt too many", "job/retry.py",
        "max_attempts is None or attempt < max_attempts", "max_attempts is None or attempt <= max_attempts",
        ("tests/job/test_retry.py",),
    ),
    Mutant(
        "store: a write of an old run is accepted", "store/runs.py",
        "jobs.c.id == job_id, jobs.c.run_no == run_no, jobs.c.status.in_", "jobs.c.id == job_id, jobs.c.status.in_",
        ("tests/store", "tests/runtime"),
    ),
    Mutant(
        "database: a held lease is given away", "database/leases.py",
        "or_(mine, leases.c.expires_at <= now, gone)", "or_(mine, leases.c.expires_at >= EPOCH, gone)",
        ("tests/schedules/test_leader.py",),
    ),
    Mutant(
        "database: a failed group is not written one by one", "database/writer.py",
        "            self._write_alone(request)\n", "            request.future.set_exception(self.database.translate(error))\n",
        ("tests/store/test_writer.py",),
    ),
    Mutant(
        "runtime: a doubled key is taken", "runtime/item_loops.py",
        "if key in self._seen:", "if key in ():",
        ("tests/runtime/test_items_and_steps.py",),
    ),
    Mutant(
        "commands: a retry does not look for what is in the way", "commands/rerun.py",
        "        obstacle = against_retry(_state_in_unit(conn, row))\n", "        obstacle = None\n",
        ("tests/commands/test_rerun.py",),
    ),
    Mutant(
        "recovery: only a rising beat number is a sign of life", "recovery/liveness.py",
        "if beat != sign.beat:", "if beat is None or sign.beat > beat:",
        ("tests/recovery/test_liveness.py",),
    ),
    Mutant(
        "schedules: a cron rule is read in UTC", "schedules/rules/rules.py",
        "zone = ZoneInfo(self.zone)\n        try:\n            return self._next_time_of_day", 'zone = ZoneInfo("UTC")\n        try:\n            return self._next_time_of_day',
        ("tests/schedules/rules",),
    ),
    Mutant(
        "worker: a slot is not given back", "worker/claiming/slots.py",
        "        self._taken[queue] -= 1\n", "        self._taken[queue] -= 0\n",
        ("tests/worker/test_queues.py", "tests/worker/test_attempts.py"),
    ),
    Mutant(
        "cli: the command's JSON is not the API's", "cli/commands/coverage.py",
        "session.json(jobs.queries.coverage(task, **asked, skip=skip, limit=limit))",
        "session.json(jobs.queries.coverage(task, **asked, skip=skip + 1, limit=limit))",
        ("tests/queries/test_parity_monitoring.py",),
    ),
    Mutant(
        "queries: a cell may be a formula", "queries/csv_cell.py",
        "if text.startswith(FORMULA)", "if text.startswith(chr(0))",
        ("tests/api/test_jobs.py", "tests/cli/test_looking.py"),
    ),
    Mutant(
        "api: every role may do everything", "api/auth/access.py",
        "ROLES.index(self.role) >= ROLES.index(role)", "self.role in ROLES",
        ("tests/api/auth/test_access.py",),
    ),
    Mutant(
        "job: secrets are shown", "job/masking.py",
        "MASK if inner is not None and is_secret(str(key), marked) else", "",
        ("tests/api/test_jobs.py", "tests/cli/test_questions.py"),
    ),
    Mutant(
        "search: rows are compared as they are stored", "store/search/masked_view.py",
        "found[name] = _masked_json(value, marked) if name in _JSON else mask_text(value, marked)", "found[name] = value",
        ("tests/api/auth/test_masked_search.py",),
    ),
    Mutant(
        "search: an address with a password is compared by its index", "store/search/masked_view.py",
        'not_(or_(column.like("%://%@%"), behind_names))', "not_(behind_names)",
        ("tests/api/auth/test_masked_search.py",),
    ),
    Mutant(
        "search: a secret behind its name is compared by its index", "store/search/masked_view.py",
        'not_(or_(column.like("%://%@%"), behind_names))', 'not_(column.like("%://%@%"))',
        ("tests/api/auth/test_masked_search.py",),
    ),
    Mutant(
        "search: names that a task marks are forgotten", "store/search/masked_view.py",
        "(*STEMS, *sorted(self.names))", "STEMS",
        ("tests/api/auth/test_masked_search.py",),
    ),
    Mutant(
        "api: a body in pieces has no end", "api/bodies.py",
        "            if left < 0:\n", "            if left < -(1 << 40):\n",
        ("tests/api/auth/test_guard.py",),
    ),
    Mutant(
        "api: the size that a header names is not looked at", "api/bodies.py",
        "int(length[:20]) > limit", "int(length[:20]) > limit << 20",
        ("tests/api/auth/test_guard.py",),
    ),
    Mutant(
        "api: a body may take for ever", "api/bodies.py",
        "asyncio.timeout(seconds)", "asyncio.timeout(seconds + 3600)",
        ("tests/api/auth/test_guard.py",),
    ),
    Mutant(
        "api: JSON may be nested deeply", "api/bodies.py",
        "any(depth > DEPTH for", "any(depth > 10**9 for",
        ("tests/api/auth/test_guard.py",),
    ),
    Mutant(
        "api: brackets in strings are counted", "api/bodies.py",
        '_STRING.sub(b"", body)', "body",
        ("tests/api/auth/test_guard.py",),
    ),
    Mutant(
        "api: bodies are not bounded", "api/auth/guard.py",
        "bounded(receive, scope.get(_LIMIT, PLAIN))", "receive",
        ("tests/api/auth/test_guard.py",),
    ),
    Mutant(
        "api: a logout ends nothing on the server", "store/tokens.py",
        "delete(sessions).where(sessions.c.digest == digest_of(text))", "delete(sessions).where(sessions.c.digest == text)",
        ("tests/api/auth/test_access.py",),
    ),
    Mutant(
        "api: a session outlives its time", "store/tokens.py",
        "sessions.c.expires_at > now)", "sessions.c.expires_at != now)",
        ("tests/api/auth/test_access.py",),
    ),
    Mutant(
        "api: a session outlives its token", "store/tokens.py",
        "select(tokens).where(condition, tokens.c.revoked_at.is_(None))", "select(tokens).where(condition)",
        ("tests/api/auth/test_access.py",),
    ),
    Mutant(
        "commands: a group may write to the uploads", "private_folder.py",
        "stat.S_IWGRP | stat.S_IWOTH", "stat.S_IWOTH",
        ("tests/api/test_uploads.py",),
    ),
    Mutant(
        "commands: the folder of somebody else is taken", "private_folder.py",
        "found.st_uid == os.geteuid() and ", "",
        ("tests/api/test_uploads.py",),
    ),
    Mutant(
        "commands: a folder that is a link is taken", "private_folder.py",
        "os.lstat(folder)", "os.stat(folder)",
        ("tests/api/test_uploads.py",),
    ),
    Mutant(
        "recovery: a spool of others is read", "recovery/spool.py",
        "if not is_private(folder):", "if folder is None:",
        ("tests/recovery/test_spool.py",),
    ),
    Mutant(
        "recovery: a spool of others is written", "recovery/spool.py",
        "    check_private(folder)\n", "",
        ("tests/recovery/test_spool.py",),
    ),
    Mutant(
        "store: a unit forgets its removed job", "store/retention.py",
        "            remember_with_units(conn, named, going)\n", "",
        ("tests/commands/test_removed_jobs.py",),
    ),
    Mutant(
        "store: a unit remembers a job that is not its last", "store/units.py",
        '"changed_at": now, "removed": None}', '"changed_at": now}',
        ("tests/commands/test_removed_jobs.py",),
    ),
    Mutant(
        "api: marked names are not looked for in texts", "api/auth/guard.py",
        ", masking_names(self.context.queries.context.secret_names)", "",
        ("tests/api/test_planted_secret.py",),
    ),
    Mutant(
        "job: the stem of a name is missing", "job/masking.py",
        '"dsn", "jwt", "kennwort",', '"dsn", "jwt",',
        ("tests/job/test_failure.py",),
    ),
    Mutant(
        "job: a secret before another pair is prose", "job/masking.py",
        r"""(?![\w-]++[\"']?[ \t]{0,2}(?:=|:(?!//)))""", "",
        ("tests/job/test_failure.py",),
    ),
)  # fmt: skip


def copy_of(folder: Path) -> Path:
    """Copy what the tests need; the built console and Node's packages stay where they are."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__", "node_modules", "images"))
        else:
            shutil.copy(source, folder / name)
    return folder


def apply(mutant: Mutant, copy: Path) -> str:
    """Break the copy; returns the source as it was.

    Raises: SystemExit if the text is not there exactly once.
    """
    path = copy / "src" / "jobtrail" / mutant.file
    source = path.read_text("utf-8")
    if source.count(mutant.before) != 1:
        sys.exit(f"{mutant.name}: {mutant.file} holds {source.count(mutant.before)} times: {mutant.before.strip()}")
    path.write_text(source.replace(mutant.before, mutant.after), "utf-8")
    return source


def is_caught(mutant: Mutant, copy: Path) -> bool:
    """Run the room's short tests; a failure of a test catches it, an error of pytest itself ends everything.

    Raises: SystemExit if the tests could not be run.
    """
    environment = {**os.environ, "PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "not postgres and not long", *mutant.tests]
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    failed = next((line for line in done.stdout.splitlines() if line.startswith("FAILED tests")), None)
    if done.returncode not in {0, 1} or (done.returncode and not failed):
        sys.exit(f"{mutant.name}: the tests could not be run\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    print(f"{'caught' if failed else 'MISSED'}  {mutant.name}  {(failed or '').partition(' - ')[0]}", flush=True)
    return failed is not None


def main() -> int:
    """Try the mutants that are named, or all; the exit code is 1 if one was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="*", help="a part of a mutant's name")
    parser.add_argument("--list", action="store_true", help="list them and end")
    given = parser.parse_args()
    chosen = [one for one in MUTANTS if not given.name or any(part in one.name for part in given.name)]
    if given.list:
        print("\n".join(one.name for one in chosen))
        return 0
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="jobtrail-mutants-") as folder:
        copy = copy_of(Path(folder))
        caught = 0
        for mutant in chosen:
            source = apply(mutant, copy)
            caught += is_caught(mutant, copy)
            (copy / "src" / "jobtrail" / mutant.file).write_text(source, "utf-8")
    print(f"{caught} of {len(chosen)} caught in {time.monotonic() - began:.0f} s")
    return int(caught < len(chosen))


if __name__ == "__main__":
    sys.exit(main())
