"""What every test may use: a PostgreSQL server, a fresh database of each kind, and an honest word about what was left out."""

from __future__ import annotations

import gc
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from databases import needs_postgres, on_both, variant
from services import Unavailable, forget_old, fresh_database, postgres, skip_or_fail

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The address of a server in which databases may be created; without one the test is skipped, in CI it fails."""
    try:
        import psycopg  # noqa: F401
    except ImportError:
        skip_or_fail("psycopg is not installed")
    try:
        with postgres() as address:
            forget_old(address)
            yield address
    except Unavailable as error:
        skip_or_fail(str(error))


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """The address of a PostgreSQL database without tables, for one test."""
    with fresh_database(postgres_server) as address:
        yield address


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a database without tables, once of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'jobs.db'}"
    found: str = request.getfixturevalue("postgres_url")
    return found


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs a PostgreSQL, leave to the long form what runs there only for completeness, begin with the longest files."""
    for item in items:
        if needs_postgres(item):
            item.add_marker("postgres")
        if variant(item) == "postgresql" and not on_both(item):
            item.add_marker("long")
    items.sort(key=_turn)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Let the collector rest meanwhile: nothing that is collected is garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Keep the collector away from what stays until the end (modules, tests): looking through it took a fifth of the time."""
    gc.freeze()
    gc.set_threshold(10_000, 10, 20)


# Files that take long for few tests come first, so that no process ends long after the others.
FIRST = ("cli/test_demo", "console/test_actions", "console/test_pages", "faults", "console", "docs", "schedules", "cli", "plugins")


def _turn(item: pytest.Item) -> int:
    where = item.nodeid.removeprefix("tests/")
    return next((turn for turn, name in enumerate(FIRST) if where.startswith(name)), len(FIRST))


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable() -> Generator[None, Any, Any]:
    """Half a surrogate in a captured log must not end the worker that reports it: xdist sends nothing but UTF-8."""
    return _sendable((yield))


def _sendable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_sendable(name): _sendable(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_sendable(one) for one in value)
    return value


MAY_BE_REPEATED = 3  # tests of one run, where `--reruns` allows it


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """A run in which many tests pass only at their second try has failed."""
    reporter: Any = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and len(reporter.stats.get("rerun", [])) > MAY_BE_REPEATED and not session.exitstatus:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        reporter.write_line(f"\nmore than {MAY_BE_REPEATED} tests passed only at their second try: something is wrong")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line that says what was skipped, and why."""
    reasons = Counter(_reason(report) for report in terminalreporter.stats.get("skipped", []))
    if reasons:
        told = "; ".join(f"{number} × {reason}" for reason, number in reasons.most_common())
        terminalreporter.write_line(f"skipped: {told}")


def _reason(report: pytest.TestReport) -> str:
    where = report.longrepr
    return str(where[2] if isinstance(where, tuple) else where).removeprefix("Skipped: ")
