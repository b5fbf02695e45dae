"""PostgreSQL: does a claim stay cheap beside a million better-ranked future jobs, and behind a forgotten snapshot?

Each figure is the median time of one claim of 100 (autocommit, durable), settles not included.
"""

from __future__ import annotations

import statistics
import time
from datetime import datetime
from functools import partial
from typing import Any

import psycopg

from .common import (
    CLAIM,
    LONG_AGO,
    PICK,
    SETTLE_CLAIM,
    arguments,
    cluster,
    create,
    fill,
    outcomes,
    race,
    uuid7,
)

PLAIN = CLAIM.replace(PICK, """
    select j.id, j.ctid from jobs j
    where j.status = 'pending' and j.queue = %(queue)s and j.run_at >= %(mark)s and j.run_at <= now()
    order by j.priority, j.run_at limit %(n)s for update skip locked""")
BASE = {"queue": "default", "n": 100, "worker": uuid7()}


def claims(conn: psycopg.Connection, statement: str, mark: object = LONG_AGO, times: int = 15) -> float:
    """Median milliseconds of a claim; several statements may be measured on one table by turns."""
    cursor = conn.cursor(binary=True)
    spent = []
    for _ in range(times):
        begin = time.perf_counter()
        rows = cursor.execute(statement, BASE | {"mark": mark}, prepare=True).fetchall()
        spent.append((time.perf_counter() - begin) * 1000)
        assert len(rows) == 100, len(rows)
    return statistics.median(spent)


def work_off(conn: psycopg.Connection, count: int) -> datetime:
    """Claim and settle so many jobs; give the run_at of the last one, the low-water mark."""
    cursor = conn.cursor(binary=True)
    rows: list[tuple[Any, ...]] = []
    mark: object = LONG_AGO
    for _ in range(count // 500):
        rows = [row[1:] for row in cursor.execute(
            SETTLE_CLAIM, BASE | {"n": 500, "mark": mark} | outcomes(rows), prepare=True) if row[0]]
        mark = max(row[-1] for row in rows)
    assert isinstance(mark, datetime)
    return mark


def main() -> None:
    """Print the tables."""
    args = arguments(rounds=3, future=1_000_000, done=100_000)
    with cluster("max_wal_size=4GB") as dsn, psycopg.connect(dsn, autocommit=True) as conn:
        due = "now() - interval '1 hour' + g * interval '1 ms'"
        shapes = {"lateral over priorities": CLAIM, "plain order by priority, run_at": PLAIN}
        create(conn, indexes=("pending", "running"))
        fill(conn, 3 * 15 * 100 * args.rounds, due=due)
        race("4a Claim 100, quiet table, ms", {
            name: partial(claims, conn, text) for name, text in shapes.items()}, args.rounds, "ms")
        fill(conn, args.future, due="now() + interval '1 day' + g * interval '1 ms'", priority="0")
        fill(conn, 3 * 15 * 100 * args.rounds, due=due)
        race(f"4b Claim 100 beside {args.future:,} better-ranked future jobs, ms", {
            name: partial(claims, conn, text) for name, text in shapes.items()}, args.rounds, "ms")

        create(conn, indexes=("pending", "running"))
        fill(conn, args.done + 3 * 15 * 100 * args.rounds, due=due)
        with psycopg.connect(dsn) as forgotten:
            forgotten.execute("set transaction isolation level repeatable read")
            forgotten.execute("select count(*) from jobs where priority = 0")
            mark = work_off(conn, args.done)
            race(f"4c Claim 100 behind a forgotten snapshot, {args.done:,} jobs later, ms", {
                "lateral, from the mark": lambda: claims(conn, CLAIM, mark),
                "lateral, no mark": lambda: claims(conn, CLAIM),
                "plain, no mark": lambda: claims(conn, PLAIN),
            }, args.rounds, "ms")


if __name__ == "__main__":
    main()
