"""Group commit: each caller its own commit, one writer thread, or the caller who finds the writer idle writes for all.

N threads submit one row each, again and again, and wait until it is durable; a group becomes one multi-row insert.
"""

from __future__ import annotations

import os
import queue
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any

import psycopg

from .common import arguments, cluster, create, race
from .insert import ONE, UNNEST
from .insert import rows_for as pg_rows
from .sqlite_hot import INDEXES, INSERT, TABLE, Raw, blob_id
from .sqlite_hot import rows_for as sqlite_rows

Write = Callable[[list[tuple[Any, ...]]], None]


class Own:
    """Every caller commits by itself, on a connection of its own."""

    def __init__(self, connect: Callable[[], Write]) -> None:
        self.connect = connect
        self.local = threading.local()

    def submit(self, row: tuple[Any, ...]) -> None:
        """Write one row."""
        if not hasattr(self.local, "write"):
            self.local.write = self.connect()
        self.local.write([row])

    def close(self) -> None:
        """Nothing to stop."""


class Writer:
    """One thread takes whatever has queued up."""

    def __init__(self, connect: Callable[[], Write]) -> None:
        self.write = connect()
        self.asked: queue.SimpleQueue[tuple[tuple[Any, ...], Future[None]] | None] = queue.SimpleQueue()
        self.thread = threading.Thread(target=self.work)
        self.thread.start()

    def work(self) -> None:
        """Group after group."""
        while (first := self.asked.get()) is not None:
            group = [first]
            while len(group) < 200 and not self.asked.empty():
                more = self.asked.get()
                if more is None:
                    self.asked.put(None)
                    break
                group.append(more)
            self.write([row for row, _ in group])
            for _, answer in group:
                answer.set_result(None)

    def submit(self, row: tuple[Any, ...]) -> None:
        """Queue one row and wait."""
        answer: Future[None] = Future()
        self.asked.put((row, answer))
        answer.result()

    def close(self) -> None:
        """Stop the thread."""
        self.asked.put(None)
        self.thread.join()


class Combining:
    """Who finds the writer idle writes, first its own row, then what queued up meanwhile; the last hands over."""

    def __init__(self, connect: Callable[[], Write]) -> None:
        self.write = connect()
        self.guard = threading.Lock()
        self.busy = False
        self.waiting: list[Any] = []

    def submit(self, row: tuple[Any, ...]) -> None:
        """Write, or be taken along; the first of those left over is told to write the next group."""
        with self.guard:
            if self.busy:
                turn = threading.Lock()
                turn.acquire()
                entry: list[Any] = [row, turn, False]
                self.waiting.append(entry)
            else:
                self.busy, entry = True, [row, None, False]
        if entry[1] is not None:
            entry[1].acquire()
            if entry[2]:
                return
        with self.guard:
            others = [other for other in self.waiting[:200] if other is not entry]
            del self.waiting[:200]
        self.write([row, *(other[0] for other in others)])
        for other in others:
            other[2] = True
            other[1].release()
        with self.guard:
            if self.waiting:
                self.waiting[0][1].release()
            else:
                self.busy = False

    def close(self) -> None:
        """Nothing to stop."""


def sqlite_writer(path: str) -> Write:
    """Durable writes of a group to SQLite."""
    import sqlite3

    db = Raw.__new__(Raw)
    db.db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
    db.db.execute("pragma journal_mode=wal")
    db.db.execute("pragma synchronous=full")

    def write(rows: list[tuple[Any, ...]]) -> None:
        if len(rows) == 1:
            db.db.execute(INSERT, rows[0])
            return
        db.db.execute("begin immediate")
        db.db.executemany(INSERT, rows)
        db.db.execute("commit")

    return write


def pg_writer(dsn: str) -> Write:
    """Durable writes of a group to PostgreSQL."""
    conn = psycopg.connect(dsn, autocommit=True)

    def write(rows: list[tuple[Any, ...]]) -> None:
        if len(rows) == 1:
            conn.execute(ONE, rows[0], prepare=True)
        else:
            conn.execute(UNNEST, [list(column) for column in zip(*rows, strict=True)], prepare=True)

    return write


def drive(kind: type[Own | Writer | Combining], connect: Callable[[], Write], make: Callable[[], tuple[Any, ...]],
          threads: int, seconds: float) -> float:
    """Durable submissions per second."""
    path = kind(connect)
    counts = [0] * threads
    gate = threading.Barrier(threads + 1)
    over = threading.Event()

    def caller(mine: int) -> None:
        path.submit(make())
        gate.wait()
        while not over.is_set():
            path.submit(make())
            counts[mine] += 1

    callers = [threading.Thread(target=caller, args=(n,)) for n in range(threads)]
    for thread in callers:
        thread.start()
    gate.wait()
    begin = time.perf_counter()
    time.sleep(seconds)
    over.set()
    spent, total = time.perf_counter() - begin, sum(counts)
    for thread in callers:
        thread.join()
    path.close()
    return total / spent


def main() -> None:
    """Print the tables."""
    args = arguments(rounds=3, tenths=8)
    kinds: dict[str, type[Own | Writer | Combining]] = {"own commit each": Own, "writer thread": Writer, "who finds it idle writes": Combining}
    with cluster() as dsn, psycopg.connect(dsn, autocommit=True) as conn, tempfile.TemporaryDirectory() as folder:
        create(conn)
        path = os.path.join(folder, "jobs.db")
        db = Raw(path)
        db.run(TABLE.format(id="blob", tail=""))
        for index in INDEXES:
            db.run(index)
        stores: dict[str, tuple[Callable[[], Write], Callable[[], tuple[Any, ...]]]] = {
            "SQLite": (partial(sqlite_writer, path), lambda: sqlite_rows(1, blob_id)[0]),
            "PostgreSQL": (partial(pg_writer, dsn), lambda: pg_rows(1)[0]),
        }
        for store, (connect, make) in stores.items():
            for threads in (1, 8, 50):
                race(f"8 {store}, {threads} threads, durable submissions/s", {
                    name: partial(drive, kind, connect, make, threads, args.tenths / 10) for name, kind in kinds.items()
                }, args.rounds)


if __name__ == "__main__":
    main()
