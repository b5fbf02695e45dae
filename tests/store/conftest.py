"""The store's exam is written once and taken by each database: `store` is an empty, migrated one."""

from __future__ import annotations

import shutil
from contextlib import closing
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from making import Maker
from services import database_name

from jobtrail.database import migration
from jobtrail.database.connection import Database
from jobtrail.database.tables import metadata
from jobtrail.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def make_database(postgres_server: str) -> Iterator[Callable[[], str]]:
    """Makes empty databases on the server; all are dropped at the end."""
    import psycopg

    made: list[str] = []

    def make() -> str:
        name = database_name(uuid4().hex[:12])
        with psycopg.connect(postgres_server, autocommit=True) as conn:
            conn.execute(f"CREATE DATABASE {name}")
        made.append(name)
        return f"{postgres_server.rsplit('/', 1)[0]}/{name}"

    yield make
    with psycopg.connect(postgres_server, autocommit=True) as conn:
        for name in made:
            conn.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a database without tables."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'jobs.db'}"
    made: str = request.getfixturevalue("make_database")()
    return made


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with all tables, to be copied."""
    path = tmp_path_factory.mktemp("migrated") / "jobs.db"
    with closing(Database(f"sqlite:///{path}")) as database:
        migration.upgrade(database)
    return path


@pytest.fixture(scope="session")
def migrated_url(make_database: Callable[[], str]) -> str:
    """A PostgreSQL database with all tables, emptied after each test."""
    url = make_database()
    with closing(Database(url)) as database:
        migration.upgrade(database)
    return url


@pytest.fixture(params=["sqlite", "postgresql"])
def migrated(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a database with all tables and no rows."""
    if request.param == "sqlite":
        path = tmp_path / "jobs.db"
        shutil.copy(request.getfixturevalue("migrated_file"), path)
        yield f"sqlite:///{path}"
        return
    url: str = request.getfixturevalue("migrated_url")
    yield url
    with closing(Database(url)) as database, database.connect() as conn:
        conn.exec_driver_sql("; ".join(f"DELETE FROM {name}" for name in metadata.tables))


@pytest.fixture
def store(migrated: str) -> Iterator[Store]:
    """An empty store, once on each database."""
    with closing(Store(migrated)) as one:
        yield one


@pytest.fixture
def other(migrated: str) -> Iterator[Store]:
    """Another process's view of the same store: connections, writer and clock of its own."""
    with closing(Store(migrated)) as one:
        yield one


@pytest.fixture
def make(store: Store) -> Maker:
    """Makes jobs and moves them."""
    return Maker(store)
