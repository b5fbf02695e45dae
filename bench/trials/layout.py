"""PostgreSQL: one jobs table or a small queue table beside it; what does each index, fillfactor and events row cost?

Each figure drains a fresh table in batches of 100: one statement settles the last batch and claims the next.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import psycopg

from .common import (
    INDEXES,
    LONG_AGO,
    PICK,
    QUIET,
    SETTLE,
    SETTLE_CLAIM,
    SETTLE_CLAIM_CONSTANT,
    SETTLE_CLAIM_CTID,
    SETTLE_CLAIM_QUIET,
    arguments,
    cluster,
    create,
    fill,
    outcomes,
    race,
    uuid7,
)

EVENTS = """create table events (id bigserial primary key, job_id uuid not null, at timestamptz not null default now(),
    name text not null, run_no int not null, note text)"""
WITH_EVENTS = SETTLE_CLAIM.replace("select true as fresh", """, told as (
    insert into events (job_id, name, run_no, note)
    select id, 'finished', run_no, 'success' from settled union all select id, 'started', run_no, 'w' from claimed)
select true as fresh""").replace("j.run_at)\n, told", "j.run_at), told")

QUEUE = """create table queue (id uuid primary key, queue text not null, priority smallint not null,
    run_at timestamptz not null, status text not null default 'pending', run_no int not null default 0, worker uuid)"""
QUEUE_PICK = PICK.replace("from jobs j", "from queue j")
# The queue row lives until the job ends; the jobs row is written once, at the end.
KEPT = f"""
with gone as (
    delete from queue q using unnest(%(ids)s::uuid[], %(runs)s::int[], %(leaves)s::text[], %(statuses)s::text[],
        %(outcomes)s::text[], %(results)s::text[], %(errors)s::text[]) as s(id, run_no, leaves, status, outcome, result, error)
    where q.id = s.id and q.status = s.leaves and q.run_no = s.run_no returning s.*),
settled as (
    update jobs j set status = gone.status, outcome = gone.outcome, result = gone.result, error = gone.error,
        run_no = gone.run_no, worker = %(worker)s, finished_at = now(), unit_lock = null
    from gone where j.id = gone.id returning j.id, j.run_no),
picked as materialized ({QUEUE_PICK}),
taken as (update queue q set status = 'running', run_no = q.run_no + 1, worker = %(worker)s
    from picked where q.id = picked.id returning q.id, q.run_no)
select true as fresh, j.id, t.run_no, j.task, j.args, j.attempt, j.priority, j.run_at from taken t join jobs j using (id)
union all select false, id, run_no, null, null, null, null, null from settled
"""
# The queue row is deleted by the claim; the jobs row is written by claim and end, as in one table.
DELETED = f"""
with settled as ({SETTLE}), picked as materialized ({QUEUE_PICK}),
gone as (delete from queue q using picked where q.id = picked.id returning q.id),
claimed as (
    update jobs j set status = 'running', run_no = j.run_no + 1, worker = %(worker)s, started_at = now()
    from gone where j.id = gone.id
    returning j.id, j.run_no, j.task, j.args, j.attempt, j.priority, j.run_at)
select true as fresh, * from claimed
union all select false, id, run_no, null, null, null, null, null from settled
"""
AROUND_JOBS = ("unit_lock", "task", "source", "odd")


def drain(conn: psycopg.Connection, statement: str, count: int, *, indexes: Sequence[str] = tuple(INDEXES),
          storage: str = "fillfactor=100", full: bool = False, queue: bool = False, events: bool = False) -> float:
    """Jobs per second through a fresh table."""
    create(conn, indexes=indexes, storage=storage)
    conn.execute("drop table if exists queue, events")
    if events:
        conn.execute(EVENTS)
        conn.execute("create index on events (job_id, id)")
    if queue:
        conn.execute(QUEUE)
        conn.execute(INDEXES["pending"].format(name="queue"))
        conn.execute("create index on queue (worker) where status in ('running', 'cancelling')")
    fill(conn, count, full=full)
    if queue:
        conn.execute("insert into queue (id, queue, priority, run_at) select id, queue, priority, run_at from jobs")
        conn.execute("analyze queue")
    cursor = conn.cursor(binary=True)
    claimed: list[tuple[Any, ...]] = []
    settled, mark = 0, LONG_AGO
    base = {"queue": "default", "n": 100, "worker": uuid7()}
    begin = time.perf_counter()
    while True:
        rows = cursor.execute(statement, base | outcomes(claimed) | {"mark": mark}, prepare=True).fetchall()
        settled += sum(1 for row in rows if not row[0])
        claimed = [row[1:] for row in rows if row[0]]
        if not claimed:
            break
    spent = time.perf_counter() - begin
    assert settled == count, (settled, count)
    return count / spent


def layouts(conn: psycopg.Connection, jobs: int, rounds: int) -> None:
    """One table, two tables, events, and a table whose status stands in no index."""
    run = partial(drain, conn, SETTLE_CLAIM, jobs)
    race("1a Layout: settle 100 + claim 100, jobs/s", {
        "one table, all indexes": run,
        "one table, claim joined by ctid": partial(drain, conn, SETTLE_CLAIM_CTID, jobs),
        "one table, status that is left as a constant": partial(drain, conn, SETTLE_CLAIM_CONSTANT, jobs),
        "queue row until the end, jobs row written once": partial(drain, conn, KEPT, jobs, indexes=AROUND_JOBS, queue=True),
        "queue row until the end, no index on status in jobs": partial(
            drain, conn, KEPT, jobs, indexes=AROUND_JOBS[:-1], queue=True, storage="fillfactor=85"),
        "queue row deleted by the claim, jobs written twice": partial(
            drain, conn, DELETED, jobs, indexes=("running", *AROUND_JOBS), queue=True),
        "queue row deleted by the claim, no index on status in jobs, fillfactor 70": partial(
            drain, conn, DELETED, jobs, indexes=AROUND_JOBS[:-1], queue=True, storage="fillfactor=70"),
        "one table, and an events row each for start and finish": partial(drain, conn, WITH_EVENTS, jobs, events=True),
    }, rounds)
    quiet = partial(drain, conn, SETTLE_CLAIM_QUIET, jobs)
    race("1d One table, status in no index (settle stays on its page), jobs/s", {
        "all six": run,
        "status in no index, fillfactor 85": partial(quiet, indexes=QUIET, storage="fillfactor=85"),
        "status in no index, fillfactor 50": partial(quiet, indexes=QUIET, storage="fillfactor=50"),
        "status in no index, pending alone, fillfactor 50": partial(quiet, indexes=QUIET[:1], storage="fillfactor=50"),
    }, rounds)


def single_table(conn: psycopg.Connection, jobs: int, rounds: int) -> None:
    """Each index and fillfactor."""
    run = partial(drain, conn, SETTLE_CLAIM, jobs)
    race("1b Indexes of one table, jobs/s", {
        "all six": run,
        **{f"without {name}": partial(run, indexes=[i for i in INDEXES if i != name]) for name in list(INDEXES)[1:]},
        "pending alone": partial(run, indexes=["pending"]),
        "all six, every job with source and unit_lock": partial(run, full=True),
    }, rounds)
    race("1c Storage, jobs/s", {
        f"fillfactor {percent}": partial(run, storage=f"fillfactor={percent}") for percent in (100, 85, 70)
    }, rounds)


def vacuum(conn: psycopg.Connection, jobs: int, rounds: int) -> None:
    """Autovacuum that comes by each second."""
    run = partial(drain, conn, SETTLE_CLAIM, jobs)
    race(f"1e Autovacuum each second, {jobs:,} jobs in one go, jobs/s", {
        "as PostgreSQL has it": run,
        "off for this table": partial(run, storage="autovacuum_enabled=off"),
        "after 1 % of rows, no pauses": partial(
            run, storage="autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_cost_delay=0"),
    }, rounds)


def main() -> None:
    """Print the tables; --parts adds up 1 (layouts), 2 (indexes, storage), 4 (autovacuum)."""
    args = arguments(rounds=3, jobs=15_000, parts=7)
    if args.parts & 3:
        with cluster() as dsn, psycopg.connect(dsn, autocommit=True) as conn:
            if args.parts & 1:
                layouts(conn, args.jobs, args.rounds)
            if args.parts & 2:
                single_table(conn, args.jobs, args.rounds)
    if args.parts & 4:
        with cluster("autovacuum_naptime=1s") as dsn, psycopg.connect(dsn, autocommit=True) as conn:
            vacuum(conn, args.jobs * 3, args.rounds)


if __name__ == "__main__":
    main()
