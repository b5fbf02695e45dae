"""What every test may use: a PostgreSQL server, and an honest word about what was left out."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

import pytest
from services import Unavailable, forget_old, postgres


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The address of a server in which databases may be created; without one the test is skipped, in CI it fails."""
    pytest.importorskip("psycopg")
    try:
        with postgres() as address:
            forget_old(address)
            yield address
    except Unavailable as error:
        if os.environ.get("CI"):
            pytest.fail(str(error))
        pytest.skip(str(error))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line that says what was skipped, and why."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(_reason(report) for report in skipped)
    if reasons:
        told = "; ".join(f"{number} × {reason}" for reason, number in reasons.most_common())
        terminalreporter.write_line(f"skipped: {told}")


def _reason(report: pytest.TestReport) -> str:
    where = report.longrepr
    return str(where[2] if isinstance(where, tuple) else where).removeprefix("Skipped: ")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport() -> Iterator[None]:
    """What a test printed may hold lone surrogates, which cannot be sent from a test process to the next."""
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    report.sections = [(name, _sendable(text)) for name, text in report.sections]


def _sendable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()
