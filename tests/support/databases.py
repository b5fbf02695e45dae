"""Which tests run on both databases in the short form. Every other test runs there on SQLite, and on both in the long form."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

# A folder, a file or one test below tests/, and why PostgreSQL may answer differently there.
BOTH: dict[str, str] = {
    "store": "the SQL itself",
    "queries": "the SQL that people's answers come from",
    "api/test_jobs.py": "lists, filters and pages are SQL",
    "api/test_stats.py": "sums over time are SQL of each dialect",
    "api/test_units.py": "coverage is a grouped query",
    "api/test_audit.py": "the trail is read in pages",
    "api/test_failures.py": "errors are grouped in SQL",
    "api/auth/test_masked_search.py": "masked filters leave out rows by LIKE, which differs",
    "commands/test_transactional_submit.py": "submits inside a transaction of the caller's driver",
    "commands/test_successors.py": "who comes next is settled between transactions",
    "commands/test_rerun.py": "a new generation takes over the unit's lock",
    "runtime/test_items_and_steps.py": "the ledger is written by upsert",
    "worker/test_attempts.py": "each end of a run is one guarded statement",
    "worker/test_state_machine.py": "any order of events leaves the same rows",
    "worker/test_run_end.py": "what a guarded statement left is read differently",
    "recovery/test_beat_child.py": "its statements are text for each driver",
    "schedules/test_store.py": "slots are taken by upsert",
    "schedules/test_leader.py": "a lease is a race between transactions",
    "field/test_c27_c42_c58_together.py": "races between processes",
    "field/test_c63_store_away.py": "connections break differently",
}


def on_both(item: pytest.Item) -> bool:
    """Tell whether a test runs on both databases in the short form: by the table above or its mark `both_databases`."""
    if item.get_closest_marker("both_databases"):
        return True
    where = item.nodeid.removeprefix("tests/").partition("[")[0]
    return any(where == name or where.startswith((f"{name}/", f"{name}::")) for name in BOTH)


def needs_postgres(item: pytest.Item) -> bool:
    """Tell whether a test needs a PostgreSQL server."""
    return "postgres_server" in getattr(item, "fixturenames", ()) or variant(item) == "postgresql"


def variant(item: pytest.Item) -> str | None:
    """The database that a test of both was given: "sqlite" or "postgresql"; None for any other test."""
    values = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return next((name for name in ("postgresql", "sqlite") if name in [v for v in values if isinstance(v, str)]), None)
