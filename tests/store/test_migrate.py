"""The schema's versions: from scratch equals the tables, many at once, newer refused, half done goes on."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect
from together import together

from jobtrail.database import migration
from jobtrail.database.connection import Database
from jobtrail.database.tables import metadata
from jobtrail.errors import SchemaMismatch

if TYPE_CHECKING:
    from collections.abc import Iterator

MIGRATE = """
import sys
from jobtrail.database import migration as migrate
from jobtrail.database.connection import Database
database = Database(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
print("migrated" if migrate.upgrade(database) else "waited", migrate.state(database).version)
"""
KILLED = """
import os, sys
from jobtrail.database import migration as migrate
from jobtrail.database.connection import Database
from sqlalchemy import event
database = Database(sys.argv[1])

@event.listens_for(database.engine, "before_cursor_execute")
def die(conn, cursor, statement, *rest):
    if "jobtrail_logs" in statement:
        os._exit(9)

migrate.upgrade(database)
"""


@pytest.fixture
def database(empty_url: str) -> Iterator[Database]:
    """A database without tables."""
    with closing(Database(empty_url)) as one:
        yield one


def test_from_scratch_equals_the_tables(database: Database) -> None:
    migration.upgrade(database)
    with database.connect() as conn:
        context = MigrationContext.configure(
            conn,
            opts={"compare_type": True, "compare_server_default": True, "version_table": migration.VERSION_TABLE},
        )
        assert compare_metadata(context, metadata) == []


def test_indexes_equal_those_of_the_tables(database: Database) -> None:
    """Alembic does not compare the conditions of partial indexes."""
    migration.upgrade(database)
    migrated = _indexes(database)
    with database.engine.connect() as conn:
        metadata.drop_all(conn)
        metadata.create_all(conn)
    created = _indexes(database)
    assert migrated == created
    assert len(migrated) > 10


def _indexes(database: Database) -> dict[str, str]:
    if database.is_sqlite:
        # Items have no rowid, which only the table's own text says.
        query = (
            "SELECT name, sql FROM sqlite_master"
            " WHERE sql IS NOT NULL AND (type = 'index' OR name IN ('jobtrail_items', 'jobtrail_item_history'))"
        )
    else:
        query = "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'"
    with database.connect() as conn:
        found = {name: " ".join(sql.split()) for name, sql in conn.exec_driver_sql(query)}
    return {name: sql for name, sql in found.items() if not name.startswith(migration.VERSION_TABLE)}


def test_the_offline_text_runs_and_equals_the_tables(database: Database) -> None:
    text = migration.sql(database)
    assert migration.state(database).version is None, "offline changes nothing"
    with closing(database.engine.raw_connection()) as pooled:
        driver: Any = pooled.driver_connection
        if database.is_sqlite:
            driver.executescript(text)
        else:
            driver.execute(text)
    assert migration.state(database).current
    with database.connect() as conn:
        context = MigrationContext.configure(conn, opts={"version_table": migration.VERSION_TABLE})
        assert compare_metadata(context, metadata) == []


def test_five_processes_at_once_and_one_migrates(empty_url: str) -> None:
    said = sorted(one.strip() for one in together(MIGRATE, *[[empty_url]] * 5))
    assert said == [f"migrated {migration.HEAD}", *[f"waited {migration.HEAD}"] * 4]


def test_half_migrated_by_a_kill_goes_on(empty_url: str) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED, empty_url], check=False, timeout=30)
    assert killed.returncode == 9
    with closing(Database(empty_url)) as database:
        assert migration.state(database).version is None
        assert migration.upgrade(database)
        assert migration.state(database).current


def test_a_newer_schema_is_refused_with_both_versions(database: Database) -> None:
    migration.upgrade(database)
    with database.engine.connect() as conn:
        conn.exec_driver_sql(f"UPDATE {migration.VERSION_TABLE} SET version_num = '9999'")
    for refused in (migration.ensure, migration.upgrade):
        with pytest.raises(SchemaMismatch, match=r"schema 9999.*newer.*") as told:
            refused(database)
        assert migration.HEAD in str(told.value)


def test_without_tables_and_not_automatic_says_what_to_run(database: Database) -> None:
    with pytest.raises(SchemaMismatch, match=r"no tables of jobtrail.*run 'jobtrail migrate'"):
        migration.ensure(database, automatic=False)
    with database.connect() as conn:
        assert inspect(conn).get_table_names() == []


def test_ensure_migrates_where_that_is_automatic(database: Database) -> None:
    migration.ensure(database, automatic=True)
    migration.ensure(database, automatic=False)
    assert migration.state(database).current
