"""SQLite (WAL, synchronous=FULL): transactions, id and row storage, the shape of the claim, SQLAlchemy's share, inserts.

Each drain figure works in batches of 100 through a fresh file with all indexes of the jobs table.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import sqlalchemy as sa

from .common import arguments, race, uuid7

TABLE = """create table jobs (
    id {id} primary key not null, task text not null, queue text not null default 'default',
    priority integer not null default 5, status text not null default 'pending', outcome text,
    run_no integer not null default 0, attempt integer not null default 0, max_attempts integer not null default 3,
    run_at integer, args text not null default '{{}}', unit text, unit_lock text, generation {id}, source text,
    worker {id}, submitter {id}, created_at integer not null default 0, started_at integer, finished_at integer,
    result text, error text, waits_for {id}, rerun_of {id}, schedule text, stop_cause text, deadline integer,
    question {id}, fingerprint text, labels text){tail}"""
INDEXES = (
    "create index jobs_pending on jobs (queue, priority, run_at, id) where status = 'pending' and run_at is not null",
    "create index jobs_running on jobs (worker) where status in ('running', 'cancelling')",
    "create unique index jobs_unit_lock on jobs (unit_lock) where unit_lock is not null",
    "create index jobs_task on jobs (task, id)",
    "create index jobs_source on jobs (source, id) where source is not null",
    "create index jobs_odd on jobs (status, id) where status not in ('pending', 'running', 'completed')",
)
INSERT = ("insert into jobs (id, task, priority, status, run_at, args, submitter, created_at) "
          "values (?, 'sync_weather', 5, 'pending', ?, ?, ?, ?)")
SETTLE = ("update jobs set status = ?, outcome = ?, result = ?, error = ?, finished_at = ?, unit_lock = null "
          "where id = ? and status = ? and run_no = ?")
ONE_PRIORITY = ("select id from jobs where status = 'pending' and queue = ? and priority = ? "
                "and run_at >= ? and run_at <= ? order by run_at, id limit ?")
UNION = ("select id from (" + " union all ".join(
    f"select * from (select id, priority, run_at from jobs where status = 'pending' and queue = ?1 and priority = {p} "
    "and run_at >= ?2 and run_at <= ?3 order by run_at, id limit ?4)" for p in range(10)) + ") limit ?4")
PLAIN = ("select id from jobs where status = 'pending' and queue = ?1 and run_at >= ?2 and run_at <= ?3 "
         "order by priority, run_at, id limit ?4")
GIVEN = "returning id, run_no, task, args, attempt, priority, run_at"
TAKE = "update jobs set status = 'running', run_no = run_no + 1, worker = ?5, started_at = ?3 where id in ({}) " + GIVEN
TAKE_ONE = "update jobs set status = 'running', run_no = run_no + 1, worker = ?, started_at = ? where id = ? " + GIVEN

Rows = list[Sequence[Any]]


def now() -> int:
    """Microseconds since 1970."""
    return time.time_ns() // 1000


class Raw:
    """The standard library's driver, statements sent as they are."""

    def __init__(self, path: str) -> None:
        self.db = sqlite3.connect(path, isolation_level=None, cached_statements=256)
        self.db.execute("pragma journal_mode=wal")
        self.db.execute("pragma synchronous=full")
        self.run: Callable[..., Any] = self.db.execute
        self.many: Callable[..., Any] = self.db.executemany

    def begin(self) -> None:
        """Take the write lock."""
        self.run("begin immediate")

    def commit(self) -> None:
        """Make it durable."""
        self.run("commit")

    def close(self) -> None:
        """Close the file."""
        self.db.close()


class ThroughSqlalchemy(Raw):
    """The same statements through SQLAlchemy's exec_driver_sql."""

    def __init__(self, path: str) -> None:
        self.engine = sa.create_engine(f"sqlite:///{path}", poolclass=sa.StaticPool, isolation_level=None,
                                       connect_args={"isolation_level": None, "cached_statements": 256})
        self.conn = self.engine.connect()
        self.run("pragma journal_mode=wal").close()
        self.run("pragma synchronous=full").close()

    def run(self, statement: str, values: tuple[Any, ...] = ()) -> Any:
        """One statement."""
        return self.conn.exec_driver_sql(statement, values)

    def many(self, statement: str, values: list[tuple[Any, ...]]) -> Any:
        """One statement for many rows."""
        return self.conn.exec_driver_sql(statement, values)

    def close(self) -> None:
        """Close the file."""
        self.conn.close()
        self.engine.dispose()


def text_id() -> str:
    """An id as 36 letters."""
    return str(uuid7())


def blob_id() -> bytes:
    """An id as 16 bytes."""
    return uuid7().bytes


def rows_for(count: int, make: Callable[[], Any], padding: int = 0) -> list[tuple[Any, ...]]:
    """Rows for INSERT; padding makes the arguments larger."""
    submitter, at, more = make(), now(), "x" * padding
    return [(make(), at, f'{{"airport": "EWR", "month": {n}, "more": "{more}"}}', submitter, at) for n in range(count)]


def claim_union(store: Raw, n: int, worker: Any, shape: str = UNION) -> Rows:
    """One UPDATE whose subselect looks at each priority."""
    return store.run(TAKE.format(shape), ("default", 0, now(), n, worker)).fetchall()  # type: ignore[no-any-return]


def claim_loop(store: Raw, n: int, worker: Any) -> Rows:
    """A small SELECT for each priority until there are enough, then UPDATE by key, one by one."""
    at, found = now(), []  # type: int, Rows
    for priority in range(10):
        found += store.run(ONE_PRIORITY, ("default", priority, 0, at, n - len(found))).fetchall()
        if len(found) >= n:
            break
    return [row for (key,) in found for row in store.run(TAKE_ONE, (worker, at, key)).fetchall()]


def claim_in(store: Raw, n: int, worker: Any) -> Rows:
    """A small SELECT for each priority, then one UPDATE … WHERE id IN (?, ?, …)."""
    at, found = now(), []  # type: int, Rows
    for priority in range(10):
        found += store.run(ONE_PRIORITY, ("default", priority, 0, at, n - len(found))).fetchall()
        if len(found) >= n:
            break
    marks = ",".join("?" * len(found))
    return store.run(  # type: ignore[no-any-return]
        f"update jobs set status = 'running', run_no = run_no + 1, worker = ?, started_at = ? where id in ({marks}) {GIVEN}",
        (worker, at, *(key for (key,) in found))).fetchall()


def drain(folder: str, count: int, batch: int = 100, *, store: type[Raw] = Raw, make: Callable[[], Any] = blob_id,
          tail: str = "", claim: Callable[[Raw, int, Any], Rows] = claim_union, transactions: int = 1,
          indexes: Sequence[str] = INDEXES, padding: int = 0) -> float:
    """Jobs per second through a fresh file."""
    path = os.path.join(folder, uuid.uuid4().hex)
    db = store(path)
    db.run(TABLE.format(id="text" if make is text_id else "blob", tail=tail))
    for index in indexes:
        db.run(index)
    db.begin()
    db.many(INSERT, rows_for(count, make, padding))
    db.commit()
    worker, done, settled = make(), [], 0  # type: Any, Rows, int
    begin = time.perf_counter()
    while True:
        db.begin()
        if done:
            at = now()
            settled += db.many(SETTLE, [
                ("completed", "success", '{"rows": 31}', None, at, row[0], "running", row[1]) for row in done]).rowcount
            if transactions == 2:
                db.commit()
                db.begin()
        done = claim(db, batch, worker)
        db.commit()
        if not done:
            break
    spent = time.perf_counter() - begin
    assert settled == count, (settled, count)
    db.close()
    os.remove(path)
    return count / spent


def insert(folder: str, count: int, chunk: int, *, store: type[Raw] = Raw, make: Callable[[], Any] = blob_id,
           tail: str = "", explicit: bool = True) -> float:
    """Rows per second, building them included."""
    path = os.path.join(folder, uuid.uuid4().hex)
    db = store(path)
    db.run(TABLE.format(id="text" if make is text_id else "blob", tail=tail))
    for index in INDEXES:
        db.run(index)
    begin = time.perf_counter()
    for _ in range(count // chunk):
        rows = rows_for(chunk, make)
        if explicit:
            db.begin()
        if chunk == 1:
            db.run(INSERT, rows[0])
        else:
            db.many(INSERT, rows)
        if explicit:
            db.commit()
    spent = time.perf_counter() - begin
    db.close()
    os.remove(path)
    return count / spent


def main() -> None:
    """Print the tables."""
    args = arguments(rounds=3, jobs=20_000)
    with tempfile.TemporaryDirectory() as folder:
        run = partial(drain, folder, args.jobs)
        race("6a SQLite, settle 100 + claim 100, jobs/s", {
            "one transaction, id BLOB(16), rowid table, one UNION": run,
            "two transactions": partial(run, transactions=2),
            "id TEXT(36)": partial(run, make=text_id),
            "WITHOUT ROWID": partial(run, tail=" without rowid"),
            "id TEXT(36), WITHOUT ROWID": partial(run, make=text_id, tail=" without rowid"),
            "claim: small selects, UPDATE by key in Python": partial(run, claim=claim_loop),
            "claim: small selects, one UPDATE … IN": partial(run, claim=claim_in),
            "claim: plain ORDER BY priority": partial(run, claim=partial(claim_union, shape=PLAIN)),
            "through SQLAlchemy exec_driver_sql": partial(run, store=ThroughSqlalchemy),
            "pending index alone": partial(run, indexes=INDEXES[:1]),
            "batch 10": partial(run, batch=10),
            "batch 500": partial(run, batch=500),
        }, args.rounds)
        large = partial(drain, folder, args.jobs // 4, padding=4000)
        race("6d SQLite, arguments of 4 kB, settle 100 + claim 100, jobs/s", {
            "BLOB(16), rowid table": large,
            "BLOB(16), WITHOUT ROWID": partial(large, tail=" without rowid"),
        }, args.rounds)
        race("6e SQLite, the best together, jobs/s", {
            "BLOB(16), WITHOUT ROWID, UNION": partial(run, tail=" without rowid"),
            "BLOB(16), WITHOUT ROWID, UPDATE … IN": partial(run, tail=" without rowid", claim=claim_in),
            "BLOB(16), WITHOUT ROWID, UPDATE … IN, pending and running alone": partial(
                run, tail=" without rowid", claim=claim_in, indexes=INDEXES[:2]),
            "BLOB(16), WITHOUT ROWID, UPDATE … IN, without the index on task": partial(
                run, tail=" without rowid", claim=claim_in, indexes=[i for i in INDEXES if "jobs_task" not in i]),
            "BLOB(16), WITHOUT ROWID, UPDATE … IN, through SQLAlchemy": partial(
                run, tail=" without rowid", claim=claim_in, store=ThroughSqlalchemy),
        }, args.rounds)
        race("6b SQLite, 1,000 rows per transaction, rows/s", {
            "BLOB(16)": partial(insert, folder, 20_000, 1000),
            "TEXT(36)": partial(insert, folder, 20_000, 1000, make=text_id),
            "BLOB(16), WITHOUT ROWID": partial(insert, folder, 20_000, 1000, tail=" without rowid"),
            "BLOB(16), through SQLAlchemy": partial(insert, folder, 20_000, 1000, store=ThroughSqlalchemy),
        }, args.rounds)
        race("6c SQLite, lone insert, rows/s", {
            "autocommit": partial(insert, folder, 2000, 1, explicit=False),
            "BEGIN IMMEDIATE … COMMIT": partial(insert, folder, 2000, 1),
            "autocommit, through SQLAlchemy": partial(insert, folder, 2000, 1, explicit=False, store=ThroughSqlalchemy),
            "BEGIN IMMEDIATE … COMMIT, through SQLAlchemy": partial(insert, folder, 2000, 1, store=ThroughSqlalchemy),
        }, args.rounds)


if __name__ == "__main__":
    main()
