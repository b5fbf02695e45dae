"""The SQLite file is deleted or replaced while it is in use: nothing is acknowledged that stands in no file."""

import sqlite3
from contextlib import closing

import pytest

from jobtrail import JobTrail, StoreUnavailable


@pytest.fixture
def path(tmp_path):
    return tmp_path / "jobs.db"


@pytest.fixture
def app(path):
    jobs = JobTrail(f"sqlite:///{path}", submit_retry_seconds=0.5)

    @jobs.task
    def load(*, n):
        return n

    with closing(jobs):
        yield jobs


def stored(path):
    with closing(sqlite3.connect(path)) as conn:
        return [row[0] for row in conn.execute("SELECT id FROM jobtrail_jobs ORDER BY id")]


def moved_away(path):
    away = path.with_name("away")
    away.mkdir()
    for file in path.parent.glob("jobs.db*"):
        file.rename(away / file.name)
    return away


def test_into_a_deleted_file_nothing_is_acknowledged(app, path):
    load = app.task_named("load")
    first = load.enqueue(n=0)
    away = moved_away(path)
    for n in range(3):
        with pytest.raises(StoreUnavailable, match="was deleted while it was in use"):
            load.enqueue(n=n)
        with pytest.raises(StoreUnavailable, match="was deleted while it was in use"):
            app.find()
    assert not path.exists(), "no new file was made in its place"
    for file in away.iterdir():
        file.rename(path.parent / file.name)
    again = load.enqueue(n=9)
    assert stored(path) == [first.id, again.id]


def replace(path):
    """Put a copy in its place, as a restored backup does."""
    with closing(sqlite3.connect(path)) as conn, closing(sqlite3.connect(path.with_name("copy.db"))) as copy:
        conn.backup(copy)
    for left in path.parent.glob("jobs.db-*"):
        left.unlink()
    path.with_name("copy.db").replace(path)


def test_a_replaced_file_is_named_once_and_used_from_then_on(app, path):
    load = app.task_named("load")
    load.enqueue(n=0)
    replace(path)
    with pytest.raises(StoreUnavailable, match="was replaced by another file"):
        app.store.write(lambda conn: None)
    jobs = [load.enqueue(n=n) for n in range(20)]
    assert set(stored(path)) >= {job.id for job in jobs}


def test_what_is_acknowledged_stands_in_the_file_that_replaced_it(app, path):
    load = app.task_named("load")
    load.enqueue(n=0)
    replace(path)
    jobs = [load.enqueue(n=n) for n in range(20)]
    assert set(stored(path)) >= {job.id for job in jobs}
