"""PostgreSQL: settle and claim in two transactions, one transaction, or one statement; how to send and read the values.

Each figure drains a fresh one-table store in batches of 100 over one psycopg connection.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import psycopg

from .common import (
    CLAIM,
    LONG_AGO,
    SETTLE,
    SETTLE_CLAIM,
    SETTLE_CLAIM_CTID,
    arguments,
    cluster,
    create,
    fill,
    outcomes,
    race,
    uuid7,
)

RECORD = "id uuid, run_no int, leaves text, status text, outcome text, result text, error text"
UNNEST = SETTLE[SETTLE.index("from unnest"):SETTLE.index("where")]
AS_JSON = f"from json_to_recordset(%(doc)s::text::json) as s({RECORD})\n    "
# Only what did not move comes back: usually nothing.
REFUSED = SETTLE_CLAIM.replace(
    "union all select false, id, run_no, null, null, null, null, null from settled",
    "union all select false, id, null, null, null, null, null, null from unnest(%(ids)s::uuid[]) as s(id)\n"
    "    where not exists (select from settled where settled.id = s.id)")
COUNTED = SETTLE_CLAIM.replace(
    "union all select false, id, run_no, null, null, null, null, null from settled",
    "union all select false, null, count(*)::int, null, null, null, null, null from settled")
COUNTED_CTID = COUNTED.replace("j.id = picked.id", "j.ctid = picked.ctid")
ONE_JSON = COUNTED.replace(UNNEST, AS_JSON)

Step = Callable[[psycopg.Connection, psycopg.Cursor, dict[str, object], Sequence[tuple[Any, ...]]], tuple[int, list[tuple[Any, ...]]]]


def two(conn: psycopg.Connection, cursor: psycopg.Cursor, base: dict[str, object], done: Sequence[tuple[Any, ...]]) -> tuple[int, list[tuple[Any, ...]]]:
    """Two autocommit statements."""
    moved = len(cursor.execute(SETTLE, outcomes(done), prepare=True).fetchall()) if done else 0
    return moved, cursor.execute(CLAIM, base, prepare=True).fetchall()


def one(conn: psycopg.Connection, cursor: psycopg.Cursor, base: dict[str, object], done: Sequence[tuple[Any, ...]]) -> tuple[int, list[tuple[Any, ...]]]:
    """Both in one transaction."""
    with conn.transaction():
        return two(conn, cursor, base, done)


def piped(conn: psycopg.Connection, cursor: psycopg.Cursor, base: dict[str, object], done: Sequence[tuple[Any, ...]]) -> tuple[int, list[tuple[Any, ...]]]:
    """Both in one transaction, sent without waiting."""
    with conn.pipeline(), conn.transaction():
        settled = conn.cursor(binary=True).execute(SETTLE, outcomes(done), prepare=True)
        cursor.execute(CLAIM, base, prepare=True)
    return len(settled.fetchall()), cursor.fetchall()


def single(statement: str, conn: psycopg.Connection, cursor: psycopg.Cursor, base: dict[str, object], done: Sequence[tuple[Any, ...]]) -> tuple[int, list[tuple[Any, ...]]]:
    """One autocommit statement that gives the settled rows too."""
    rows = cursor.execute(statement, base | outcomes(done), prepare=True).fetchall()
    return sum(1 for row in rows if not row[0]), [row[1:] for row in rows if row[0]]


def unprepared(conn: psycopg.Connection, cursor: psycopg.Cursor, base: dict[str, object], done: Sequence[tuple[Any, ...]]) -> tuple[int, list[tuple[Any, ...]]]:
    """The same, planned each time (as behind a pooler that keeps no prepared statements)."""
    rows = cursor.execute(SETTLE_CLAIM, base | outcomes(done), prepare=False).fetchall()
    return sum(1 for row in rows if not row[0]), [row[1:] for row in rows if row[0]]


def refused(conn: psycopg.Connection, cursor: psycopg.Cursor, base: dict[str, object], done: Sequence[tuple[Any, ...]]) -> tuple[int, list[tuple[Any, ...]]]:
    """One statement that gives back only the settlements that were refused."""
    rows = cursor.execute(REFUSED, base | outcomes(done), prepare=True).fetchall()
    lost = sum(1 for row in rows if not row[0])
    return len(done) - lost, [row[1:] for row in rows if row[0]]


def counted(conn: psycopg.Connection, cursor: psycopg.Cursor, base: dict[str, object], done: Sequence[tuple[Any, ...]],
            statement: str = COUNTED) -> tuple[int, list[tuple[Any, ...]]]:
    """One statement that gives back how many were settled; who was refused is asked only if the number differs."""
    rows = cursor.execute(statement, base | outcomes(done), prepare=True).fetchall()
    return rows[-1][2], [row[1:] for row in rows[:-1]]


def document(conn: psycopg.Connection, cursor: psycopg.Cursor, base: dict[str, object], done: Sequence[tuple[Any, ...]]) -> tuple[int, list[tuple[Any, ...]]]:
    """The same, the outcomes sent as one JSON document."""
    doc = json.dumps([{"id": str(r[0]), "run_no": r[1], "leaves": "running", "status": "completed", "outcome": "success",
                       "result": '{"rows": 31}'} for r in done])
    rows = cursor.execute(ONE_JSON, base | {"doc": doc}, prepare=True).fetchall()
    return rows[-1][2], [row[1:] for row in rows[:-1]]


def drain(conn: psycopg.Connection, count: int, batch: int, step: Step, *, binary: bool = True) -> float:
    """Jobs per second through a fresh table."""
    create(conn)
    fill(conn, count)
    cursor = conn.cursor(binary=binary)
    base: dict[str, object] = {"queue": "default", "n": batch, "worker": uuid7(), "mark": LONG_AGO}
    moved, rows = 0, []  # type: int, list[tuple[Any, ...]]
    begin = time.perf_counter()
    while True:
        settled, rows = step(conn, cursor, base, rows)
        moved += settled
        if not rows:
            break
    spent = time.perf_counter() - begin
    assert moved == count, (moved, count)
    return count / spent


def main() -> None:
    """Print the tables."""
    args = arguments(rounds=3, jobs=15_000)
    with cluster() as dsn, psycopg.connect(dsn, autocommit=True) as conn:
        run = partial(drain, conn, args.jobs, 100)
        race("3 Settle 100 + claim 100, jobs/s", {
            "two transactions, two statements": partial(run, two),
            "one transaction, two statements": partial(run, one),
            "one transaction, pipeline": partial(run, piped),
            "one statement, settled ids returned": partial(run, partial(single, SETTLE_CLAIM)),
            "… text results": partial(run, partial(single, SETTLE_CLAIM), binary=False),
            "… not prepared": partial(run, unprepared),
            "… claim joined by ctid": partial(run, partial(single, SETTLE_CLAIM_CTID)),
            "one statement, refused ids returned": partial(run, refused),
            "one statement, number settled returned": partial(run, counted),
            "… and claim joined by ctid": partial(run, partial(counted, statement=COUNTED_CTID)),
            "… outcomes as one JSON document": partial(run, document),
        }, args.rounds)
        race("3 One statement (number returned) by batch, jobs/s", {
            f"batch {size}": partial(drain, conn, args.jobs if size > 9 else args.jobs // 15, size, counted)
            for size in (100, 1, 10, 50, 200, 500)
        }, args.rounds)


if __name__ == "__main__":
    main()
