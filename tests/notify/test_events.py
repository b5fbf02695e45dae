"""An announced event is written with the change that it tells, once, without secrets, or not at all."""

from __future__ import annotations

import importlib.util
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import select

from jobtrail import JobTrail
from jobtrail.errors import InvalidOption
from jobtrail.notify import Announcement, announce, announce_all, tables
from jobtrail.store import Store

if TYPE_CHECKING:
    from typing import Any


def stored(store: Store) -> list[Any]:
    with store.read() as conn:
        return list(conn.execute(select(tables.events).order_by(tables.events.c.id)))


@pytest.mark.both_databases
def test_the_migration_makes_the_tables(jobs: JobTrail):
    path = next(Path(tables.__file__).with_name("migrations").glob("versions/0001_*.py"))
    spec = importlib.util.spec_from_file_location("first", path)
    first = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(first)

    def migrate(conn: Any) -> list[Any]:
        context = MigrationContext.configure(
            conn, opts={"include_name": lambda name, kind, _: kind != "table" or name.startswith("notify_")}
        )
        with Operations.context(context):
            first.upgrade()
        found = compare_metadata(context, tables.metadata)
        tables.metadata.drop_all(conn)
        return found

    assert jobs.store.write(migrate) == []


@pytest.mark.both_databases
def test_an_event_is_stored_with_the_change_or_not_at_all(notified: Store):
    now = notified.now()

    def change(conn: Any, *, fails: bool = False) -> None:
        announce(conn, "module.error", "parser", {"silent": 900}, now)
        if fails:
            raise ZeroDivisionError

    notified.write(change)
    with pytest.raises(ZeroDivisionError):
        notified.write(lambda conn: change(conn, fails=True))
    (row,) = stored(notified)
    assert (row.kind, row.subject, row.resolved, row.at, row.processed_at) == ("module.error", "parser", False, now, None)
    assert loads(row.facts) == {"silent": 900}


@pytest.mark.both_databases
def test_an_occurrence_is_stored_once(notified: Store):
    def twice(conn: Any) -> None:
        for silent in (1, 2):
            announce(conn, "module.error", "parser", {"silent": silent}, notified.now(), key="office:7")

    notified.write(twice)
    assert [loads(row.facts)["silent"] for row in stored(notified)] == [1]


@pytest.mark.both_databases
def test_five_hundred_events_are_one_statement_in_their_order(notified: Store):
    many = [Announcement("module.error", f"m{i}", {}, notified.now()) for i in range(500)]
    notified.write(lambda conn: announce_all(conn, many))
    assert [row.subject for row in stored(notified)] == [f"m{i}" for i in range(500)]


def test_secrets_are_masked_before_they_are_stored(notified: Store):
    facts = {"password": "hunter2", "url": "https://me:hunter2@example.org", "deep": [{"api_key": "hunter2"}]}
    notified.write(lambda conn: announce(conn, "module.error", "parser", facts, notified.now()))
    assert "hunter2" not in stored(notified)[0].facts


@pytest.mark.parametrize(
    ("kind", "subject", "aware", "wrong"),
    [("error", "x", True, "kind"), ("Module.Error", "x", True, "kind"), ("module.error", "", True, "subject"),
     ("module.error", "x" * 201, True, "subject"), ("module.error", "x", False, "aware")],
)  # fmt: skip
def test_what_is_no_event_is_refused_before_anything_is_stored(notified: Store, kind, subject, aware, wrong):
    at = notified.now() if aware else notified.now().replace(tzinfo=None)
    with pytest.raises(InvalidOption, match=wrong):
        notified.write(lambda conn: announce(conn, kind, subject, {}, at))
    assert stored(notified) == []
