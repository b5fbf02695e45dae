"""The SQLite file is deleted or replaced while it is in use: nothing is acknowledged that stands in no file."""

import os
import sqlite3
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Barrier

import pytest

from jobtrail import JobTrail, StoreUnavailable
from jobtrail.database import wakeup


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


# -- descriptors that other code closes ----------------------------------------------------------------

on_linux = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs the list of descriptors")


def steal(path, ending, taker):
    """Close the descriptors of the file, as `open(5)` in a body does; another file gets their numbers."""
    wanted = os.stat(f"{path}{ending}")
    found = [int(name) for name in os.listdir("/dev/fd")]
    stolen = [one for one in found if Path(f"/proc/self/fd/{one}").exists() and os.path.samestat(os.fstat(one), wanted)]
    assert stolen
    for number in stolen:
        os.dup2(taker, number)
    return stolen


@pytest.fixture
def taker(tmp_path):
    """A file of other code."""
    with (tmp_path / "taker").open("wb") as file:
        yield file.fileno()
        assert (tmp_path / "taker").read_bytes() == b"", "nothing was written into it"


@on_linux
@pytest.mark.parametrize("ending", ["", "-wal"])
def test_descriptors_that_other_code_closed_are_noticed_and_opened_again(app, path, taker, ending):
    load = app.task_named("load")
    first = load.enqueue(n=0)
    assert [job.id for job in app.find()] == [first.id]
    stolen = steal(path, ending, taker)
    again = load.enqueue(n=1)
    assert {job.id for job in app.find()} == {first.id, again.id}
    app.store.writer.close()
    app.store.database.engine.dispose()
    assert stored(path) == [first.id, again.id]
    assert all(os.path.samestat(os.fstat(one), os.fstat(taker)) for one in stolen), "the file of other code is open"


@on_linux
def test_a_write_whose_descriptor_was_closed_meanwhile_is_not_acknowledged(app, path, taker):
    app.task_named("load").enqueue(n=0)
    with pytest.raises(StoreUnavailable, match="closed a descriptor of it during a write"):
        app.store.write(lambda conn: conn.exec_driver_sql("SELECT 1") and steal(path, "-wal", taker))
    app.task_named("load").enqueue(n=1)
    assert len(stored(path)) == 2


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the system does not name what is open")
def test_the_file_of_the_commits_is_looked_at_without_asking_for_its_times(app, path, monkeypatch):
    """Whoever asks for the times of a file makes the next write to it slower, on Linux since 6.13."""
    load = app.task_named("load")
    load.enqueue(n=0)
    asked = []
    plain = os.fstat
    monkeypatch.setattr(os, "fstat", lambda number: asked.append(os.readlink(f"/proc/self/fd/{number}")) or plain(number))
    for n in range(5):
        load.enqueue(n=n)
    assert f"{path}-wal" not in asked


def test_a_new_file_and_those_beside_it_are_readable_by_their_owner_only(tmp_path):
    path = tmp_path / "new.db"
    jobs = JobTrail(f"sqlite:///{path}")
    jobs.task(name="add")(lambda: None)
    jobs.task_named("add").enqueue()
    found = {one.name: oct(one.stat().st_mode & 0o777) for one in tmp_path.iterdir() if one.is_file()}
    jobs.close()
    assert "new.db" in found
    assert set(found.values()) == {"0o600"}, found


def test_the_folder_of_the_sockets_is_used_only_if_nobody_else_can_place_anything_there(app, path, tmp_path):
    """A link to a folder of somebody else's files had these removed, because nobody listens on them."""
    files = tmp_path / "files"
    files.mkdir(mode=0o700)
    (files / "thesis.txt").write_text("x")
    folder = wakeup.folder_of(path)
    folder.symlink_to(files)
    woken = app.store.wake.listener(lambda words: None)
    load = app.task_named("load")
    load.enqueue(n=1)
    woken.start()
    assert [one.name for one in files.iterdir()] == ["thesis.txt"]
    folder.unlink()
    files.rename(folder)
    load.enqueue(n=2)
    assert [one.name for one in folder.iterdir()] == ["thesis.txt"], "no socket"
    folder.chmod(0o770)
    woken.start()
    assert len(list(folder.iterdir())) == 1
    folder.chmod(0o700)
    woken.start()
    assert len(list(folder.iterdir())) == 2
    woken.stop()


@on_linux
def test_a_connection_of_other_code_to_the_same_file_may_be_closed(app, path):
    app.task_named("load").enqueue(n=0)
    app.store.writer.close()
    other = sqlite3.connect(path)
    other.execute("SELECT 1 FROM jobtrail_jobs")
    before = app.store.write(lambda conn: conn.connection.dbapi_connection)
    assert app.store.write(lambda conn: other.close() or conn.connection.dbapi_connection) is before
    assert app.store.write(lambda conn: conn.connection.dbapi_connection) is before


def test_connections_that_are_opened_at_once_know_their_own_descriptors(app, path):
    """What another thread opened meanwhile was taken for one's own: its close then looked like a loss."""
    database, begin = app.store.database, Barrier(8)

    def opened(_):
        begin.wait(10)
        return database.own_connection()

    with ThreadPoolExecutor(8) as pool:
        for _ in range(10):
            made = list(pool.map(opened, range(8)))
            known = [conn.connection.dbapi_connection.files.files for conn in made]
            times = Counter(number for files in known for number in files)
            common = {files[number] for files in known for number in files if times[number] > 1}
            index = Path(f"{path}-shm").stat()
            assert common <= {(index.st_dev, index.st_ino)}
            for conn in made:
                conn.close()
