"""A commit whose answer was lost: the submission is read back by id, is stored once, and no driver's error comes out."""

import asyncio

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

pytestmark = pytest.mark.both_databases


class AnswerLost(Exception):
    """What the driver says when the connection breaks behind a commit."""

    sqlstate = "57P01"


AnswerLost.__module__ = "psycopg.errors"


@pytest.fixture
def lost(jobs, monkeypatch):
    """The next write is committed, and its answer is lost."""
    jobs.service.make_ready()
    writer, plain, left = jobs.store.writer, jobs.store.writer._in_transaction, [0]

    def in_transaction(group):
        answers = plain(group)
        if left[0]:
            left[0] -= 1
            raise OperationalError("COMMIT", {}, AnswerLost("terminating connection"), connection_invalidated=True)
        return answers

    monkeypatch.setattr(writer, "_in_transaction", in_transaction)
    return left


def stored(jobs):
    with jobs.store.read() as conn:
        return conn.execute(text("SELECT count(*) FROM jobtrail_jobs")).scalar_one()


WAYS = {
    "plain": lambda task, jobs: [task.enqueue(n=1)],
    "labels": lambda task, jobs: [task.using(labels={"tenant": "a"}).enqueue(n=1)],
    "unit": lambda task, jobs: [task.using(source="s", period="2013-02").enqueue(n=1)],
    "key": lambda task, jobs: [task.using(idempotency_key="k").enqueue(n=1)],
    "many": lambda task, jobs: task.enqueue_many([{"n": n} for n in range(20)]),
    "each": lambda task, jobs: jobs.enqueue_each([(task, {"n": n}) for n in range(3)]),
    "each of units": lambda task, jobs: jobs.enqueue_each(
        [(task.using(source="s", period=f"2013-0{n}"), {"n": n}) for n in range(1, 4)]
    ),
    "group": lambda task, jobs: jobs.group([(task, {"n": n}) for n in range(3)]).jobs(),
}
ASYNC_WAYS = {
    "plain": lambda task: task.aenqueue(n=1),
    "labels": lambda task: task.using(labels={"tenant": "a"}).aenqueue(n=1),
    "unit": lambda task: task.using(source="s", period="2013-02").aenqueue(n=1),
    "key": lambda task: task.using(idempotency_key="k").aenqueue(n=1),
    "many": lambda task: task.aenqueue_many([{"n": n} for n in range(20)]),
}


@pytest.fixture
def task(jobs):
    @jobs.task
    def load(*, n):
        return n

    return load


@pytest.mark.parametrize("way", WAYS)
def test_a_submission_whose_answer_is_lost_is_stored_once(jobs, task, lost, way):
    lost[0] = 1
    handles = WAYS[way](task, jobs)
    assert lost == [0]
    assert stored(jobs) == len(handles) == len({job.id for job in handles})
    assert all(job.created for job in handles) or way == "group"


@pytest.mark.parametrize("way", ASYNC_WAYS)
def test_on_an_event_loop_too(jobs, task, lost, way):
    lost[0] = 1
    handles = asyncio.run(ASYNC_WAYS[way](task))
    assert lost == [0]
    handles = handles if isinstance(handles, list) else [handles]
    assert stored(jobs) == len(handles)
    assert all(job.created for job in handles)
