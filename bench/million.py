"""Is it still quick with a million jobs?   python -m bench.million [--jobs 1000000] [--items 5] [--databases sqlite,postgresql]

Fills a database with jobs of 300 tasks over two years (most completed, some partial and failed with a hundred different
errors, a few waiting and asking), with items of the partial ones, units, totals and a trail. Then asks the API for what the
console asks for, each page many times, and prints the median and the 95th percentile in milliseconds; once alone, and once
beside a worker that drains jobs. Takes some minutes and about 1 GB for a million jobs.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from json import dumps
from typing import Any
from uuid import UUID

from bench.run import postgresql, sqlite
from jobtrail import JobTrail
from jobtrail.job.failure import describe
from jobtrail.job.period import Period
from jobtrail.job.unit import unit_of
from jobtrail.store import migrate, tables

TASKS, SOURCES, ERRORS, CHUNK = 300, 40, 100, 20_000
PAGES = {
    "list, newest": "/api/jobs?limit=50",
    "list, failed": "/api/jobs?q=status:failed&limit=50",
    "list, task and source": "/api/jobs?q=task:task_007 source:source/3&limit=50",
    "list, a period": "/api/jobs?q=period:2025-02-12&limit=50",
    "list, free text": "/api/jobs?q=weather&limit=50",
    "list, older page": "/api/jobs?limit=50&before={old}",
    "job": "/api/jobs/{job}",
    "items of a job": "/api/jobs/{partial}/items?outcome=failed",
    "overview, numbers": "/api/stats",
    "overview, over time": "/api/stats/series?hours=24",
    "overview, what is needed": "/api/stats/needs",
    "coverage": "/api/units?task=task_007&first=2025-01-01&last=2025-12-31",
    "errors": "/api/errors",
    "errors, matrix": "/api/errors/matrix",
    "audit": "/api/audit",
    "tasks": "/api/tasks",
    "workers": "/api/workers",
    "queues": "/api/queues",
}
_JOB = (
    "id", "task", "args", "queue", "priority", "status", "outcome", "run_no", "attempt", "max_attempts", "created_at",
    "started_at", "finished_at", "run_at", "source", "period", "unit", "error", "fingerprint", "note",
    "items_ok", "items_failed", "items_skipped",
)  # fmt: skip


def identity(moment: datetime, bits: random.Random) -> str:
    """A UUIDv7 of that moment."""
    value = int(moment.timestamp() * 1000) << 80 | bits.getrandbits(80)
    value = value & ~(0xF << 76) | (0x7 << 76)
    return str(UUID(int=value & ~(0x3 << 62) | (0x2 << 62)))


class Filling:
    """Rows of one chunk after the other."""

    def __init__(self, app: JobTrail, count: int, items: int) -> None:
        self.app, self.count, self.items = app, count, items
        self.random = random.Random(7)
        self.end = app.store.now() - timedelta(minutes=5)
        self.begin = self.end - timedelta(days=730)
        self.errors = [describe(ValueError(f"row {n}: wind speed {n} mph is not possible")) for n in range(ERRORS)]
        self.partial, self.units = "", {}

    def run(self) -> None:
        """All of it."""
        step = (self.end - self.begin) / self.count
        for first in range(0, self.count, CHUNK):
            rows, items = [], []
            for number in range(first, min(first + CHUNK, self.count)):
                rows += [self.job(number, self.begin + number * step, items)]
            self.app.store.write(lambda conn, rows=rows, items=items: self.write(conn, rows, items))
        self.app.store.write(self.write_units)
        with self.app.store.database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
            conn.exec_driver_sql("ANALYZE")

    def write(self, conn: Any, rows: list[Any], items: list[Any]) -> None:
        dialect = self.app.store.dialect
        dialect.insert_many(conn, tables.jobs, _JOB, rows)
        if items:
            columns = ("generation", "loop", "key", "position", "outcome", "reason", "error_type", "job_id", "run_no", "tries", "at")
            dialect.insert_many(conn, tables.items, columns, items)

    def write_units(self, conn: Any) -> None:
        columns = (
            "unit", "task", "source", "period", "period_start", "period_end", "text", "generation", "outcome", "job_id", "changed_at",
        )  # fmt: skip
        self.app.store.dialect.insert_many(conn, tables.units, columns, list(self.units.values()))

    def job(self, number: int, at: datetime, items: list[Any]) -> tuple[Any, ...]:
        chance, made = self.random.random(), identity(at, self.random)
        task, source = f"task_{number % TASKS:03}", f"source/{number % SOURCES}"
        status, outcome = "completed", "success"
        if chance < 0.02:
            status, outcome = "failed", "error"
        elif chance < 0.05:
            status, outcome = "partial", "partial"
        elif number >= self.count - 500:
            status, outcome = "pending", None
        error = self.errors[number % ERRORS] if status == "failed" else None
        period = unit = None
        if number % 2:
            period = f"{at:%Y-%m-%d}"
            found = unit_of(task, source, Period.parse(period), None)
            unit = found.key
            span = found.period
            self.units[unit] = (
                unit, task, source, period, span.start, span.end, found.text, made, outcome, made, at,
            )  # fmt: skip
        counts: tuple[Any, ...] = (None, None, None)
        if status == "partial":
            self.partial, many = made, self.items * 30  # as many items as `--items` for each job, all at the partial ones
            counts = (many - 3, 3, 0)
            items += [
                (made, "items", f"row {n}", n, "failed" if n < 3 else "ok", "not possible" if n < 3 else None, None, made, 1, 1, at)
                for n in range(many)
            ]
        ended = status != "pending"
        return (
            made, task, dumps({"airport": "EWR", "number": number}), "default" if number % 10 else "slow", 5, status, outcome,
            1 if ended else 0, 1 if ended else 0, 3, at, at if ended else None, at + timedelta(seconds=3) if ended else None,
            at if ended else at + timedelta(days=3650), source, period, unit, error.to_json() if error else None,
            error.fingerprint if error else None, None, *counts,
        )  # fmt: skip


@contextlib.contextmanager
def draining(app: JobTrail) -> Iterator[Callable[[], float]]:
    """A worker beside it that always has jobs; gives how many a second it ended so far."""
    import asyncio

    app.task(name="nothing", queue="drained")(lambda: None)
    worker, over, begun = app.worker(queues=["drained"], beat=None), threading.Event(), time.monotonic()
    ran = worker.seen = []

    def feed() -> None:
        while not over.is_set():
            app.task_named("nothing").enqueue_many([{}] * 200)
            over.wait(0.2)

    threads = [threading.Thread(target=lambda: asyncio.run(worker.run())), threading.Thread(target=feed)]
    for thread in threads:
        thread.start()
    try:
        yield lambda: len(ran) / (time.monotonic() - begun)
    finally:
        over.set()
        worker.stop()
        for thread in threads:
            thread.join()


def ask(client: Any, values: dict[str, str], rounds: int) -> dict[str, tuple[float, float, int]]:
    """Median, 95th percentile (ms) and status of each page."""
    found = {}
    for name, address in PAGES.items():
        taken, status = [], 0
        for _ in range(rounds):
            begun = time.perf_counter()
            status = client.get(address.format(**values)).status_code
            taken.append(1000 * (time.perf_counter() - begun))
        found[name] = (statistics.median(taken), statistics.quantiles(taken, n=20)[-1], status)
    return found


def measure(url: str, count: int, items: int, rounds: int) -> None:
    """Fill, ask, print."""
    from starlette.testclient import TestClient

    from jobtrail.api.server import create_api

    app = JobTrail(url)
    migrate.upgrade(app.store.database)
    for number in range(TASKS):
        app.task(name=f"task_{number:03}")(lambda airport, number: None)
    filling, begun = Filling(app, count, items), time.monotonic()
    filling.run()
    print(f"filled with {count:,} jobs in {time.monotonic() - begun:.0f} s", flush=True)
    middle = identity(filling.begin + (filling.end - filling.begin) / 2, random.Random(1))
    newest = app.find("status:completed", limit=1)[0].id
    values = {"old": middle, "job": newest, "partial": filling.partial}
    with TestClient(create_api(app), base_url="http://127.0.0.1", client=("127.0.0.1", 50000)) as client:
        alone = ask(client, values, rounds)
        with draining(app) as rate:
            beside = ask(client, values, rounds)
            ended = rate()
    for name in PAGES:
        (p50, p95, status), (busy50, busy95, _) = alone[name], beside[name]
        print(f"| {name} | {status} | {p50:.1f} | {p95:.1f} | {busy50:.1f} | {busy95:.1f} |")
    print(f"the worker beside it ended {ended:,.0f} jobs a second")
    app.close()


def main() -> None:
    """One table for each database."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1_000_000)
    parser.add_argument("--items", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--databases", default="sqlite,postgresql")
    given = parser.parse_args()
    for name in given.databases.split(","):
        with {"sqlite": sqlite, "postgresql": postgresql}[name]() as make:
            print(f"\n{name}\n\n| page | status | p50 | p95 | p50 beside a worker | p95 |\n| --- | ---: | ---: | ---: | ---: | ---: |")
            measure(make(0), given.jobs, given.items, given.rounds)


if __name__ == "__main__":
    main()
