"""What the tests of engine and field cases share: `jobs` and `make_jobs` on each database, and waiting for facts."""

from __future__ import annotations

import shutil
import time
from contextlib import closing
from json import loads
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from services import database_name, empty_database
from sqlalchemy import select

from jobtrail import JobTrail
from jobtrail.database import migration, tables
from jobtrail.database.connection import Database

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

QUICK = {"poll_interval": 0.1}


def until(what: str, fact: Callable[[], Any], *, timeout: float = 15.0, every: float = 0.01) -> Any:
    """Wait until ``fact()`` is true and give what it gave; the test fails with ``what`` it waited for."""
    end = time.monotonic() + timeout
    while not (found := fact()):
        if time.monotonic() > end:
            pytest.fail(f"waited {timeout:g} s in vain until {what}")
        time.sleep(every)
    return found


def names(job: Any) -> list[str]:
    """The moves in a job's trail."""
    return [event.name for event in job.events()]


def event(job: Any, name: str) -> Any:
    """The last event of this name in a job's trail."""
    found = [one for one in job.events() if one.name == name]
    assert found, f"there is no '{name}' in the trail, only {names(job)}"
    return found[-1]


def actions(jobs: JobTrail, name: str) -> list[dict[str, Any]]:
    """What people did that is no move of one job, as it is kept, newest first."""
    query = select(tables.actions).where(tables.actions.c.name == name).order_by(tables.actions.c.id.desc())
    with jobs.store.read() as conn:
        return [{**row._mapping, "detail": loads(row.detail) if row.detail else {}} for row in conn.execute(query)]


def count_rows(jobs: JobTrail, table: str = "jobs") -> int:
    """How many rows a table has."""
    with jobs.store.read() as conn:
        number: int = conn.exec_driver_sql(f"SELECT count(*) FROM {getattr(tables, table)}").scalar()
    return number


@pytest.fixture(scope="session")
def new_database(postgres_server: str) -> Iterator[Callable[[], str]]:
    """Makes PostgreSQL databases, migrated, from one template; all are dropped at the end."""
    import psycopg

    stem = database_name(uuid4().hex[:8])
    base = postgres_server.rsplit("/", 1)[0]
    made = [f"{stem}_template"]
    with psycopg.connect(postgres_server, autocommit=True) as conn:
        conn.execute(f"CREATE DATABASE {made[0]}")
    with closing(Database(f"{base}/{made[0]}")) as database:
        migration.upgrade(database)

    def make() -> str:
        name = f"{stem}_{len(made)}"
        with psycopg.connect(postgres_server, autocommit=True) as conn:
            conn.execute(f"CREATE DATABASE {name} TEMPLATE {made[0]} STRATEGY FILE_COPY")
            conn.execute(f"ALTER DATABASE {name} SET synchronous_commit = off")
        made.append(name)
        return f"{base}/{name}"

    yield make
    with psycopg.connect(postgres_server, autocommit=True) as conn:
        for name in made:
            conn.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


@pytest.fixture(scope="session")
def _shared_database(new_database: Callable[[], str]) -> str:
    return new_database()


@pytest.fixture
def postgres_url(_shared_database: str) -> Iterator[str]:
    """A PostgreSQL database with all tables and no rows; emptied after the test."""
    yield _shared_database
    empty_database(_shared_database)


@pytest.fixture(scope="session")
def _migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("migrated") / "jobs.db"
    with closing(Database(f"sqlite:///{path}")) as database:
        migration.upgrade(database)
    return path


@pytest.fixture
def sqlite_url(_migrated_file: Path, tmp_path: Path) -> str:
    """A SQLite database with all tables and no rows."""
    shutil.copy(_migrated_file, tmp_path / "jobs.db")
    return f"sqlite:///{tmp_path / 'jobs.db'}"


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    """An empty migrated database, once of each kind."""
    found: str = request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_url")
    return found


@pytest.fixture
def make_jobs(url: str) -> Iterator[Callable[..., JobTrail]]:
    """Makes application objects over the same database; settings as for `JobTrail`."""
    made: list[JobTrail] = []

    def make(**settings: Any) -> JobTrail:
        made.append(JobTrail(url, **{**QUICK, **settings}))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def jobs(make_jobs: Callable[..., JobTrail]) -> JobTrail:
    """An application object over an empty database."""
    return make_jobs()
