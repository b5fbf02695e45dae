"""`ctx.fence`: a transaction of a run that was overtaken is refused, and none begins beside one that holds."""

from __future__ import annotations

import pytest
from sqlalchemy import Column, Integer, MetaData, Table, create_engine, select, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from jobtrail import AsyncContext, Context, InvalidOption
from jobtrail.database import tables
from jobtrail.database.connection import normalise
from jobtrail.errors import StopSignal
from jobtrail.testing import drain

pytestmark = pytest.mark.both_databases
published = Table("published", MetaData(), Column("run", Integer))


@pytest.fixture
def engine(url):
    made = create_engine(normalise(url))
    published.metadata.create_all(made)
    yield made
    published.metadata.drop_all(made)
    made.dispose()


def rows(engine) -> list[int]:
    with engine.connect() as conn:
        return list(conn.execute(select(published.c.run)).scalars())


def overtake(jobs, job_id) -> None:
    """What the store says once another worker has begun the job again."""
    statement = update(tables.jobs).where(tables.jobs.c.id == job_id).values(run_no=tables.jobs.c.run_no + 1)
    jobs.store.write(lambda conn: conn.execute(statement))


def test_the_transaction_of_the_run_that_owns_the_job_commits(jobs, engine):
    @jobs.task
    def publish(ctx: Context) -> None:
        with Session(engine) as session, session.begin():
            session.execute(published.insert().values(run=ctx.run_no))
            ctx.fence(session)

    @jobs.task
    async def apublish(ctx: AsyncContext) -> None:
        with engine.begin() as conn:
            conn.execute(published.insert().values(run=10 + ctx.run_no))
            await ctx.fence(conn)

    made = [publish.enqueue(), apublish.enqueue()]
    drain(jobs)
    assert [job.refresh().status for job in made] == ["completed"] * 2
    assert sorted(rows(engine)) == [1, 11]


def test_an_overtaken_run_cannot_publish(jobs, engine):
    left = []

    @jobs.task
    def publish(ctx: Context) -> None:
        overtake(jobs, ctx.job_id)
        try:
            with engine.begin() as conn:
                conn.execute(published.insert().values(run=ctx.run_no))
                try:
                    ctx.fence(conn)
                except Exception:
                    left.append("caught")
        except StopSignal as signal:
            left.append(str(signal.args[0]))
            raise

    publish.enqueue()
    drain(jobs)
    assert left == ["the job was asked to stop: overtaken by a newer run"]
    assert rows(engine) == []


def test_no_newer_run_begins_before_the_transaction_ends(jobs, engine):
    tried = []

    @jobs.task
    def publish(ctx: Context) -> None:
        with engine.begin() as conn:
            ctx.fence(conn)
            tried.append(claim_beside(engine, ctx.job_id))
        tried.append(claim_beside(engine, ctx.job_id))

    publish.enqueue()
    drain(jobs)
    assert tried == ["refused", "claimed"]


def claim_beside(engine, job_id) -> str:
    """Change the row as a claim does, in a transaction that is taken back, without waiting."""
    other = create_engine(engine.url, connect_args={"timeout": 0} if engine.dialect.name == "sqlite" else {})
    try:
        with other.connect() as conn:
            if conn.dialect.name == "postgresql":
                conn.exec_driver_sql("SET lock_timeout = '50ms'")
            conn.execute(update(tables.jobs).where(tables.jobs.c.id == job_id).values(run_no=tables.jobs.c.run_no + 1))
            conn.rollback()
            return "claimed"
    except DBAPIError:
        return "refused"
    finally:
        other.dispose()


def test_what_is_no_connection_is_refused(jobs):
    errors = []

    @jobs.task
    def publish(ctx: Context) -> None:
        try:
            ctx.fence(object())
        except InvalidOption as error:
            errors.append(str(error))

    publish.enqueue()
    drain(jobs)
    assert len(errors) == 1
