"""A seat in the main thread of a process: signals end the body, not the thread that has to see its end stored."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
import warm

TESTS = Path(__file__).parents[2]
pytestmark = pytest.mark.timeout(60)


def run(url: str, case: str, folder: Path) -> tuple[int, str]:
    """Run one case; its exit code and what it said."""
    paths = os.pathsep.join(str(TESTS / name) for name in ("support", "apps", "../src"))
    done = warm.run(str(TESTS / "apps/seat_app.py"), url, case, cwd=folder, env={**os.environ, "PYTHONPATH": paths})
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("case", "wanted"),
    [
        ("limit", ["stopped timeout", "left", "lives None", "failed 1", "TimeoutError"]),
        ("limit_slow_clean_up", ["stopped timeout", "cleaned up", "left", "lives None", "failed 1"]),
        ("cancel", ["stopped cancel", "left", "lives None", "cancelled 1"]),
        ("limit_await", ["lives None", "failed 1", "TimeoutError"]),
        ("cancel_await", ["lives None", "cancelled 1"]),
        ("term", ["stopped shutdown", "left", "terminated None", "pending 0"]),
        ("term_await", ["terminated None", "pending 0"]),
        ("foreign", ["the handler of before", "left", "lives None", "failed 1", "a limit of the other system"]),
        ("own_signals", ["SIGTERM of before", "stopped cancel", "cancelled 1"]),
    ],
)
def test_a_body_is_ended(sqlite_url: str, tmp_path: Path, case: str, wanted: list[str]) -> None:
    code, said = run(sqlite_url, case, tmp_path)
    assert code == 0, said
    assert [word for word in wanted if word not in said] == [], said


@pytest.mark.parametrize("case", ["limit_refuse", "cancel_refuse"])
def test_a_body_that_refuses_is_killed_with_its_process(sqlite_url: str, tmp_path: Path, case: str) -> None:
    code, said = run(sqlite_url, case, tmp_path)
    assert code in {-signal.SIGKILL, 128 + signal.SIGKILL}, said
    assert said.count("caught StopSignal") == 1, "it is asked once"
