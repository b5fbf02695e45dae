"""`using(connection=…)` with every driver that users of SQLAlchemy have: one exam for all."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import asynccontextmanager, closing, contextmanager
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import create_engine, text
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session
from sqlalchemy.pool import NullPool
from trails import count_rows

from jobtrail import AlreadyActive, InvalidOption, JobTrail
from jobtrail.testing import drain

SYNC = [("sqlite", "pysqlite"), *(("postgresql", name) for name in ("psycopg", "psycopg2", "pg8000"))]
ASYNC = [("sqlite", "aiosqlite"), ("postgresql", "psycopg"), ("postgresql", "asyncpg")]
pytestmark = [pytest.mark.timeout(60), pytest.mark.both_databases]
sync = pytest.mark.parametrize(("url", "driver"), SYNC, indirect=["url"])
asynchronous = pytest.mark.parametrize(("url", "driver"), ASYNC, indirect=["url"])


@pytest.fixture
def address(url: str, driver: str, jobs) -> str:
    """The same database, for the caller's driver."""
    return f"{url.partition(':')[0]}+{driver}:{url.partition(':')[2]}"


@pytest.fixture
def own(address: str):
    """Opens a transaction of the caller's."""
    engine = create_engine(address, poolclass=NullPool)

    @contextmanager
    def opened(kind: str):
        with engine.connect() if kind == "connection" else Session(engine) as one:
            yield one

    yield opened
    engine.dispose()


@pytest.fixture
def own_async(address: str):
    """The same for an event loop."""

    @asynccontextmanager
    async def opened(kind: str):
        engine = create_async_engine(address, poolclass=NullPool)
        try:
            async with engine.connect() if kind == "connection" else AsyncSession(engine) as one:
                yield one
        finally:
            await engine.dispose()

    return opened


@pytest.fixture
def load(jobs: JobTrail) -> Any:
    @jobs.task
    def load(what):
        jobs.ran.append(what)

    jobs.ran = []
    return load


# Each submits in its own way; all of a job that the store writes must go through the caller's driver.
WAYS: dict[str, Callable[[Any, Any], Any]] = {
    "plain": lambda load, mine: load.using(connection=mine),
    "unit": lambda load, mine: load.using(connection=mine, source="weather/EWR", period="2013-02"),
    "labels": lambda load, mine: load.using(connection=mine, labels={"user": "ann"}, context={"why": "50 % off: ü"}),
    "key": lambda load, mine: load.using(connection=mine, idempotency_key="order-7"),
    "later": lambda load, mine: load.using(connection=mine, delay=timedelta(hours=1), priority=2, queue="slow"),
    "chain": lambda load, mine: load.using(connection=mine).then(load, {"what": "next"}),
}


each_way = pytest.mark.parametrize(("way", "kind"), [*((way, "connection") for way in WAYS), ("unit", "session")])


@sync
@each_way
def test_sync(jobs, load, own, way: str, kind: str) -> None:
    with own(kind) as mine:
        WAYS[way](load, mine).enqueue("gone")
        mine.rollback()
        job = WAYS[way](load, mine).enqueue("kept")
        assert count_rows(jobs) == 0
        mine.commit()
    assert [one.id for one in jobs.find("status:pending")][-1:] == [job.id]
    if way == "labels":
        assert [one.id for one in jobs.find("label:user=ann")] == [job.id]
    if way != "later":
        drain(jobs)
        assert jobs.ran == (["kept", "next"] if way == "chain" else ["kept"])


@asynchronous
@each_way
def test_async(jobs, load, own_async, way: str, kind: str) -> None:
    async def main() -> Any:
        async with own_async(kind) as mine:
            await WAYS[way](load, mine).aenqueue("gone")
            await mine.rollback()
            job = await WAYS[way](load, mine).aenqueue("kept")
            await mine.commit()
            return job

    job = asyncio.run(main())
    assert [one.id for one in jobs.find("status:pending")][-1:] == [job.id]
    if way != "later":
        drain(jobs)
        assert jobs.ran == (["kept", "next"] if way == "chain" else ["kept"])


@sync
def test_savepoints(jobs, load, own) -> None:
    with own("connection") as mine:
        load.using(connection=mine).enqueue("a")
        outer = mine.begin_nested()
        load.using(connection=mine).enqueue("b")
        inner = mine.begin_nested()
        load.using(connection=mine).enqueue("c")
        inner.rollback()
        outer.commit()
        with pytest.raises(RuntimeError), mine.begin_nested():
            load.using(connection=mine).enqueue("d")
            raise RuntimeError
        mine.commit()
    drain(jobs)
    assert sorted(jobs.ran) == ["a", "b"]


@sync
def test_another_job_of_the_unit(jobs, load, own) -> None:
    first = load.using(source="weather/EWR", period="2013-02").enqueue("a")
    with own("connection") as mine:
        same = WAYS["unit"](load, mine).enqueue("a")
        with pytest.raises(AlreadyActive):
            WAYS["unit"](load, mine).enqueue("b")
    assert (same.id, same.created) == (first.id, False)


@sync
def test_a_database_without_the_tables(load, own, url: str, tmp_path) -> None:
    if url.startswith("sqlite"):
        engine = create_engine(f"sqlite:///{tmp_path}/other.db")
        with engine.connect() as mine, pytest.raises(InvalidOption, match="has no tables of jobtrail"):
            load.using(connection=mine).enqueue("a")
            mine.commit()
        engine.dispose()
        return
    with own("connection") as mine:
        mine.execute(text("SET search_path TO pg_catalog"))
        with pytest.raises(InvalidOption, match="has no tables of jobtrail"):
            load.using(connection=mine).enqueue("a")


@pytest.mark.parametrize("url", ["sqlite", "postgresql"], indirect=True)
def test_flask_sqlalchemy(jobs, load, url: str) -> None:
    app = Flask("shop")
    app.config["SQLALCHEMY_DATABASE_URI"] = url.replace("postgresql:", "postgresql+psycopg:")
    db = SQLAlchemy(app)
    with app.app_context():
        load.using(connection=db.session).enqueue("gone")
        db.session.rollback()
        load.using(connection=db.session).enqueue("kept")
        db.session.commit()
        db.engine.dispose()
    drain(jobs)
    assert jobs.ran == ["kept"]


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_what_is_no_connection_of_sqlalchemy(load, url: str) -> None:
    with closing(sqlite3.connect(":memory:")) as raw, pytest.raises(InvalidOption, match="takes a SQLAlchemy Session"):
        load.using(connection=raw)
