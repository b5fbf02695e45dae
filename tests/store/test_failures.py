"""What a driver's error means: each row of both tables, and no driver's error reaches a caller."""

import sqlite3
from contextlib import closing

import psycopg
import pytest
from making import new_job
from sqlalchemy import insert, text
from sqlalchemy.exc import DBAPIError

from jobtrail.database import tables
from jobtrail.database.connection import Database
from jobtrail.database.failures import POSTGRESQL, SQLITE, Meaning, failure_of
from jobtrail.errors import DuplicateRow, StoreError, StoreUnavailable, ValueNotStorable

RAISED = {
    Meaning.AWAY: StoreUnavailable,
    Meaning.LOCKED: StoreUnavailable,
    Meaning.DUPLICATE: DuplicateRow,
    Meaning.VALUE: ValueNotStorable,
    Meaning.BUG: StoreError,
}


def pg_error(state, kind=psycopg.OperationalError):
    class Raised(kind):
        sqlstate = state

    Raised.__module__, Raised.__name__ = "psycopg.errors", kind.__name__
    return Raised("what the server said")


def sqlite_error(name):
    error = sqlite3.OperationalError("what SQLite said")
    error.sqlite_errorname = name
    return error


@pytest.mark.parametrize(("prefix", "meaning"), POSTGRESQL.items())
@pytest.mark.parametrize("wrapped", [True, False])
def test_each_sqlstate_of_the_table(prefix, meaning, wrapped):
    state = prefix.ljust(5, "9") if len(prefix) < 5 else prefix
    error = pg_error(state)
    found = failure_of(DBAPIError("SELECT 1", {}, error) if wrapped else error)
    assert (found.meaning, found.code) == (meaning, state)
    with closing(Database("postgresql://nobody@127.0.0.1:1/none")) as database:
        assert type(database.translate(error)) is RAISED[meaning]


@pytest.mark.parametrize(("name", "meaning"), SQLITE.items())
def test_each_result_code_of_sqlite(name, meaning, tmp_path):
    assert failure_of(sqlite_error(name)).meaning is meaning
    assert failure_of(sqlite_error(f"{name}_MORE")).meaning is SQLITE.get(f"{name}_MORE", SQLITE["_".join(name.split("_")[:2])])
    with closing(Database(f"sqlite:///{tmp_path}/jobs.db")) as database:
        assert type(database.translate(sqlite_error(name))) is RAISED[meaning]


@pytest.mark.parametrize(
    ("state", "lost"),
    [("57P01", True), ("57P05", True), ("08006", True), ("25006", True), ("57014", False), ("40001", False), ("22021", False)],
)
def test_only_what_ends_a_session_loses_the_connection(state, lost):
    assert failure_of(pg_error(state)).loses_connection is lost


def test_an_error_of_the_program_is_no_failure_of_the_database(store):
    error = ValueError("x")
    assert failure_of(error) is None
    assert store.database.translate(error) is error


@pytest.mark.parametrize("value", ["a\x00b", "half \ud800"])
def test_a_value_that_cannot_be_stored_is_named_as_such(store, value):
    if store.database.is_sqlite and "\x00" in value:
        pytest.skip("SQLite stores it")

    def write(conn):
        conn.execute(insert(tables.actions).values(at=store.now(), actor="a", name=value))

    with pytest.raises(ValueNotStorable):
        store.write(write)


def test_a_row_that_exists_is_named_as_such_by_insert_and_by_copy(store):
    new = [new_job() for _ in range(20)]
    store.insert(new[0])
    with pytest.raises(DuplicateRow):
        store.insert(new[0])
    rows = [(one.id, "{}") for one in new[1:]]
    store.insert_alike(new[0], rows)
    with pytest.raises(DuplicateRow):
        store.insert_alike(new[0], rows)


def test_a_statement_that_is_refused_is_no_driver_error(store):
    with pytest.raises(StoreError, match="refused a statement"):
        store.write(lambda conn: conn.execute(text("SELECT nonsense FROM jobtrail_jobs")))
    with pytest.raises(StoreError, match="refused a statement"), store.read() as conn:
        conn.execute(text("SELECT nonsense FROM jobtrail_jobs"))
