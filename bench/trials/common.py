"""What the trials share: a private PostgreSQL, the jobs table in its variants, rows, and interleaved rounds.

The server is started from installed binaries on a free loopback port with the default durability (fsync and
synchronous_commit on); JOBTRAIL_PG_BIN names their directory where it cannot be found.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import socket
import statistics
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import psycopg

COLUMNS = ("id", "task", "queue", "priority", "status", "run_at", "args", "submitter", "max_attempts")

JOBS = """
create table {name} (
    id uuid primary key, task text not null, queue text not null default 'default',
    priority smallint not null default 5, status text not null default 'pending', outcome text,
    run_no int not null default 0, attempt int not null default 0, max_attempts int not null default 3,
    run_at timestamptz default now(), args text not null default '{{}}', unit text, unit_lock text, generation uuid,
    source text, worker uuid, submitter uuid, created_at timestamptz not null default now(),
    started_at timestamptz, finished_at timestamptz, result text, error text,
    waits_for uuid, rerun_of uuid, schedule text, stop_cause text, deadline timestamptz, question uuid,
    fingerprint text, labels text
) with ({storage})
"""
INDEXES = {
    "pending": "create index on {name} (queue, priority, run_at, id) where status = 'pending' and run_at is not null",
    "running": "create index on {name} (worker) where status in ('running', 'cancelling')",
    "unit_lock": "create unique index on {name} (unit_lock) where unit_lock is not null",
    "task": "create index on {name} (task, id)",
    "source": "create index on {name} (source, id) where source is not null",
    "odd": "create index on {name} (status, id) where status not in ('pending', 'running', 'completed')",
}
# Without the status in any index PostgreSQL can keep the settled version on the same page (HOT) and write no index.
QUIET = ("due", "unit_lock", "task", "source")
DUE = "create index on {name} (queue, priority, run_at, id) where run_at is not null"
# One priority after the other, from a low-water mark: never reads past the rows it wants.
PICK = """
    select c.id, c.ctid from generate_series(0, 9) as p(priority) cross join lateral (
        select j.id, j.ctid, j.run_at from jobs j
        where j.status = 'pending' and j.queue = %(queue)s and j.priority = p.priority
          and j.run_at >= %(mark)s and j.run_at <= now()
        order by j.run_at, j.id limit %(n)s for update skip locked) c
    limit %(n)s
"""
# The status that is left comes as a value: written as a constant it lets the planner choose the index of running jobs
# and compare every running row with every row settled.
SETTLE = """
    update jobs j set status = s.status, outcome = s.outcome, result = s.result, error = s.error,
        finished_at = now(), unit_lock = null
    from unnest(%(ids)s::uuid[], %(runs)s::int[], %(leaves)s::text[], %(statuses)s::text[], %(outcomes)s::text[],
        %(results)s::text[], %(errors)s::text[]) as s(id, run_no, leaves, status, outcome, result, error)
    where j.id = s.id and j.status = s.leaves and j.run_no = s.run_no
    returning j.id, j.run_no
"""
CLAIM = f"""
    with picked as materialized ({PICK})
    update jobs j set status = 'running', run_no = j.run_no + 1, worker = %(worker)s, started_at = now()
    from picked where j.id = picked.id
    returning j.id, j.run_no, j.task, j.args, j.attempt, j.priority, j.run_at
"""
SETTLE_CLAIM = f"""
with settled as ({SETTLE}), picked as materialized ({PICK}), claimed as (
    update jobs j set status = 'running', run_no = j.run_no + 1, worker = %(worker)s, started_at = now()
    from picked where j.id = picked.id
    returning j.id, j.run_no, j.task, j.args, j.attempt, j.priority, j.run_at)
select true as fresh, * from claimed
union all select false, id, run_no, null, null, null, null, null from settled
"""
SETTLE_CLAIM_CONSTANT = SETTLE_CLAIM.replace("j.status = s.leaves", "j.status = 'running'")
SETTLE_CLAIM_CTID = SETTLE_CLAIM.replace("j.id = picked.id", "j.ctid = picked.ctid")
SETTLE_CLAIM_QUIET = SETTLE_CLAIM.replace("where j.status = 'pending' and j.queue", "where j.queue").replace(
    "started_at = now()", "started_at = now(), run_at = null")
LONG_AGO = "2000-01-01 00:00:00+00"


def arguments(rounds: int = 3, **extra: int) -> argparse.Namespace:
    """Command line of a trial: --rounds and its own sizes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=rounds)
    for name, value in extra.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    return parser.parse_args()


@contextlib.contextmanager
def cluster(*settings: str) -> Iterator[str]:
    """Start a private PostgreSQL, give its connection string, stop and remove it."""
    bins = os.environ.get("JOBTRAIL_PG_BIN") or os.path.dirname(shutil.which("initdb") or "")
    if not bins and shutil.which("pg_config"):
        bins = subprocess.run(["pg_config", "--bindir"], check=True, capture_output=True, text=True).stdout.strip()
    if not bins:
        raise SystemExit("set JOBTRAIL_PG_BIN to the directory that holds initdb and postgres")
    user = "postgres" if os.geteuid() == 0 else None
    folder = tempfile.mkdtemp(prefix="trial-pg-")
    if user:
        shutil.chown(folder, user)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    quiet = {"user": user, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": "/"}
    data = f"{folder}/data"
    initdb = [f"{bins}/initdb", "-D", data, "-A", "trust", "-U", "trial", "--no-locale", "-E", "UTF8"]
    subprocess.run(initdb, check=True, **quiet)  # type: ignore[call-overload]
    options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 " + " ".join(f"-c {s}" for s in settings)
    control = [f"{bins}/pg_ctl", "-D", data, "-w"]
    subprocess.run([*control, "-l", f"{folder}/log", "-o", options, "start"], check=True, **quiet)  # type: ignore[call-overload]
    try:
        yield f"host=127.0.0.1 port={port} user=trial dbname=postgres"
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], check=True, **quiet)  # type: ignore[call-overload]
        shutil.rmtree(folder, ignore_errors=True)


def uuid7() -> uuid.UUID:
    """A time-ordered id, made by the client."""
    value = (time.time_ns() // 1_000_000) << 80 | random.getrandbits(80)
    return uuid.UUID(int=value & ~(0xF << 76) & ~(0x3 << 62) | 0x7 << 76 | 0x2 << 62)


def create(conn: psycopg.Connection, *, indexes: Sequence[str] = tuple(INDEXES), storage: str = "fillfactor=100") -> None:
    """The jobs table afresh, with these indexes beside the primary key."""
    conn.execute("drop table if exists jobs cascade")
    conn.execute(JOBS.format(name="jobs", storage=storage))
    for index in indexes:
        conn.execute((INDEXES | {"due": DUE})[index].format(name="jobs"))


def fill(conn: psycopg.Connection, count: int, *, full: bool = False, status: str = "pending", due: str = "now()",
         priority: str = "5") -> None:
    """Put count jobs into the table; full also gives each a source and a unit lock."""
    conn.execute("checkpoint")  # before, not after: a job is mostly claimed soon after it was written
    conn.execute(
        f"""insert into jobs (id, task, priority, status, run_at, args, submitter, source, unit_lock)
        select (lpad(to_hex((extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0') || '7'
               || substr(md5(g::text), 1, 3) || '8' || substr(md5(random()::text), 1, 15))::uuid,
            'sync_weather', {priority}, %s, {due}, '{{"airport": "EWR", "month": ' || g || '}}', gen_random_uuid(),
            case when %s then 'weather/' || g %% 50 end, case when %s then 'u' || g end
        from generate_series(1, %s) g""", (status, full, full, count))
    conn.execute("analyze jobs")


def outcomes(claimed: Sequence[tuple[Any, ...]]) -> dict[str, object]:
    """Parameters that settle these rows (id first, run number second) as completed."""
    n = len(claimed)
    return {"ids": [r[0] for r in claimed], "runs": [r[1] for r in claimed], "leaves": ["running"] * n,
            "statuses": ["completed"] * n, "outcomes": ["success"] * n, "results": ['{"rows": 31}'] * n, "errors": [None] * n}


def race(title: str, variants: dict[str, Callable[[], float]], rounds: int, unit: str = "/s") -> dict[str, float]:
    """Run the variants in interleaved rounds; print medians and the ratio to the first as table rows."""
    seen: dict[str, list[float]] = {name: [] for name in variants}
    for turn in range(rounds):
        names = list(variants)
        for name in names[turn % len(names):] + names[:turn % len(names)]:
            seen[name].append(variants[name]())
    medians = {name: statistics.median(values) for name, values in seen.items()}
    base = next(iter(medians.values()))
    print(f"\n### {title}\n\n| variant | median (min–max) {unit} | ratio |\n| --- | --- | --- |")
    for name, values in seen.items():
        shape = ",.0f" if base >= 100 else ",.2f"
        print(f"| {name} | {medians[name]:{shape}} ({min(values):{shape}}–{max(values):{shape}}) | {medians[name] / base:.2f} |",
              flush=True)
    return medians
