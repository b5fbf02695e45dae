"""Is it still quick with a million jobs?   python -m bench.million [--jobs 1000000] [--items 5] [--databases sqlite,postgresql]

Fills a database with jobs of 300 tasks over two years (most completed, every sixth failed with one of a hundred errors,
some partial, half of the newest 8 % waiting, every second of these due), with items of the partial ones (one has 100,000), units and open
failures. Then asks the API for what the console asks for, one page after the other and all of them many times, and prints
for each the first answer, the median and the 95th percentile in milliseconds: alone, and while a worker process executes
what another process submits. Of that worker it prints how long a job waited for it, alone and while pages are asked for.
With a browser (chromium) and a built console it also prints after how many seconds a fresh browser shows the list and
the overview. Takes some minutes and about 1.5 GB for a million jobs. `--url` asks a database that was filled before, or fills and keeps it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import random
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from json import dumps
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import select

from bench.run import postgresql, sqlite
from jobtrail import JobTrail
from jobtrail.database import migration, tables
from jobtrail.job.failure import describe
from jobtrail.job.period import Period
from jobtrail.job.unit import unit_of
from jobtrail.store.totals import ends, folding

TASKS, SOURCES, ERRORS, CHUNK = 300, 40, 100, 20_000
MANY_ITEMS = 100_000  # of one job
PACE = 0.02  # seconds between two jobs that are submitted to the worker
ALONE_FOR = 15.0  # seconds
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SHOWN = {"list": ("#/jobs", "tbody tr"), "overview": ("#/", "canvas")}
PAGES = {
    "list, newest": "/api/jobs?limit=50",
    "list, failed": "/api/jobs?q=status:failed&limit=50",
    "list, task, status and period": "/api/jobs?q=task:task_007 status:failed period:2025*&limit=50",
    "list, task and source": "/api/jobs?q=task:task_007 source:source/3&limit=50",
    "list, free text": "/api/jobs?q=weather&limit=50",
    "list, older page": "/api/jobs?limit=50&before={old}",
    "list, last page": "/api/jobs?limit=50&before={oldest}",
    "job": "/api/jobs/{job}",
    "items of a job": "/api/jobs/{partial}/items?outcome=failed",
    "job with 100,000 items": "/api/jobs/{big}",
    "its failed items": "/api/jobs/{big}/items?outcome=failed",
    "overview, numbers": "/api/stats",
    "overview, over time": "/api/stats/series?hours=24",
    "overview, a week": "/api/stats/series?hours=168",
    "overview, a week of a task": "/api/stats/series?hours=168&task=task_007",
    "overview, a year": "/api/stats/series?hours=8784",
    "list, ended within": "/api/jobs?q=status:failed ended:2026-03-01/2026-03-02&limit=50",
    "overview, what is needed": "/api/stats/needs",
    "coverage": "/api/units?task=task_007&first=2025-01-01&last=2025-12-31",
    "errors": "/api/errors",
    "errors, matrix": "/api/errors/matrix",
    "audit": "/api/audit",
    "tasks": "/api/tasks",
    "workers": "/api/workers",
    "queues": "/api/queues",
    "retry all failed, preview": "/api/bulk/preview",
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
        self.partial, self.big, self.units = "", "", {}

    def run(self) -> None:
        """All of it."""
        step = (self.end - self.begin) / self.count
        for first in range(0, self.count, CHUNK):
            rows, items = [], []
            for number in range(first, min(first + CHUNK, self.count)):
                rows += [self.job(number, self.begin + number * step, items)]
            self.app.store.write(lambda conn, rows=rows, items=items: self.write(conn, rows, items))
        units = list(self.units.values())
        for first in range(0, len(units), CHUNK):
            self.app.store.write(lambda conn, first=first: self.write_units(conn, units[first : first + CHUNK]))
        folding.run_once(self.app.store, self.app.store.now())
        # As autovacuum leaves it.
        with self.app.store.database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
            conn.exec_driver_sql("ANALYZE" if self.app.store.database.is_sqlite else "VACUUM (ANALYZE)")

    def write(self, conn: Any, rows: list[Any], items: list[Any]) -> None:
        dialect = self.app.store.dialect
        dialect.insert_many(conn, tables.jobs, _JOB, rows)
        ends.count(conn, ends.ended(conn, [row[0] for row in rows]))
        if items:
            columns = ("generation", "loop", "key", "position", "outcome", "reason", "error_type", "job_id", "run_no", "tries", "at")
            dialect.insert_many(conn, tables.items, columns, items)

    def write_units(self, conn: Any, rows: list[Any]) -> None:
        columns = (
            "unit", "task", "source", "period", "period_start", "period_end", "text", "generation", "outcome", "job_id", "changed_at",
        )  # fmt: skip
        self.app.store.dialect.insert_many(conn, tables.units, columns, rows)

    def job(self, number: int, at: datetime, items: list[Any]) -> tuple[Any, ...]:
        chance, made = self.random.random(), identity(at, self.random)
        task, source = f"task_{number % TASKS:03}", f"source/{number % SOURCES}"
        status, outcome = "completed", "success"
        if number >= self.count * 0.92 and number % 4 < 2:
            status, outcome = "pending", None
        elif chance < 0.16:
            status, outcome = "failed", "error"
        elif chance < 0.19:
            status, outcome = "partial", "partial"
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
            many = self.items * 30  # about as many items as `--items` for each job, all at the partial ones
            if not self.big:
                self.big, many = made, MANY_ITEMS
            self.partial = made
            counts = (many - 3, 3, 0)
            items += [
                (made, "items", f"row {n}", n, "failed" if n < 3 else "ok", "not possible" if n < 3 else None, None, made, 1, 1, at)
                for n in range(many)
            ]
        ended = status != "pending"
        return (
            made, task, dumps({"airport": "EWR", "number": number}), "default" if number % 10 else "slow", 5, status, outcome,
            1 if ended else 0, 1 if ended else 0, 3, at, at if ended else None, at + timedelta(seconds=3) if ended else None,
            at if ended or number % 2 else at + timedelta(days=3650), source, period, unit, error.to_json() if error else None,
            error.fingerprint if error else None, None, *counts,
        )  # fmt: skip


class Beside:
    """A worker process with jobs of its own, which another process submits one by one, all the time."""

    def __init__(self, app: JobTrail, url: str) -> None:
        self._app, self._url = app, url

    @contextlib.contextmanager
    def working(self) -> Iterator[None]:
        """While the block goes on."""
        command, root = [sys.executable, "-m", "bench.million", "--url", self._url], Path(__file__).parent.parent
        started = [subprocess.Popen([*command, part], cwd=root) for part in ("--work", "--feed")]
        try:
            self._until_it_works()
            yield
        finally:
            for process in reversed(started):
                process.kill()
                process.wait(10)

    def _until_it_works(self) -> None:
        end = time.monotonic() + 60
        while not self._app.find("queue:drained status:completed after:1m", limit=1):
            if time.monotonic() > end:
                message = "the worker did not begin within 60 s"
                raise SystemExit(message)
            time.sleep(0.1)

    def waits(self, since: datetime) -> list[float]:
        """Milliseconds between the submission and the start of each job since then."""
        jobs = tables.jobs.c
        query = select(jobs.created_at, jobs.started_at).where(
            jobs.task == "nothing", jobs.created_at >= since, jobs.started_at.is_not(None)
        )
        with self._app.store.read() as conn:
            return [1000 * (row.started_at - row.created_at).total_seconds() for row in conn.execute(query)]


def own_task(app: JobTrail) -> Any:
    """The task of the worker beside."""
    return app.task(name="nothing", queue="drained")(lambda: None)


def work(url: str) -> None:
    """The worker beside, until it is stopped."""
    app = application(url)
    own_task(app)
    asyncio.run(app.worker(queues=["drained"], beat="child").run())


def feed(url: str) -> None:
    """Submit, until it is stopped."""
    task = own_task(JobTrail(url))
    while True:
        task.enqueue()
        time.sleep(PACE)


@contextlib.contextmanager
def serving(url: str) -> Iterator[str]:
    """The console in a process of its own, while the block goes on; gives its address."""
    command, root = [sys.executable, "-m", "bench.million", "--url", url, "--serve"], Path(__file__).parent.parent
    process = subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait(10)


def serve(url: str) -> None:
    """The console, until it is stopped; says its address."""
    from jobtrail.api.server import create_api
    from jobtrail.api.serving import listen, server_for

    one = listen("127.0.0.1", 0)
    print(f"http://127.0.0.1:{one.getsockname()[1]}/", flush=True)
    asyncio.run(server_for(create_api(application(url))).serve(sockets=[one]))


def in_browser(url: str, rounds: int = 11) -> dict[str, list[float]]:
    """Seconds from the address to the first row of the list, and to the charts of the overview; each in a fresh profile.

    The first visit of each is the server's first, too, and is not counted.
    """
    from playwright.sync_api import sync_playwright

    found: dict[str, list[float]] = {}
    browser_path = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if browser_path is None:
        return found
    with serving(url) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        for name, (path, there) in SHOWN.items():
            for number in range(rounds + 1):
                page = browser.new_context().new_page()
                begun = time.monotonic()
                page.goto(address + path)
                page.locator(there).first.wait_for()
                if number:
                    found.setdefault(name, []).append(time.monotonic() - begun)
                page.context.close()
        browser.close()
    return found


def ask(client: Any, values: dict[str, str], rounds: int) -> dict[str, tuple[float, list[float], int]]:
    """Of each page: the first answer, the following ones (ms), and the status. Between two answers lie all other pages."""
    found: dict[str, tuple[float, list[float], int]] = {}
    for _ in range(rounds + 1):
        for name, address in PAGES.items():
            begun = time.perf_counter()
            if address.endswith("preview"):
                answer = client.post(address, json={"action": "retry", "filter": "status:failed"})
            else:
                answer = client.get(address.format(**values))
            taken = 1000 * (time.perf_counter() - begun)
            if name in found:
                found[name][1].append(taken)
            else:
                found[name] = (taken, [], answer.status_code)
    return found


def spread(values: list[float]) -> tuple[float, float]:
    """Median and 95th percentile."""
    return statistics.median(values), statistics.quantiles(values, n=20)[-1]


def application(url: str) -> JobTrail:
    """With the tasks whose jobs are filled in; nothing is removed while it is looked at."""
    app = JobTrail(url, keep_completed=None, keep_cancelled=None, keep_failed=None, keep_partial=None)
    for number in range(TASKS):
        app.task(name=f"task_{number:03}")(lambda airport, number: None)
    return app


def one(app: JobTrail, query: Any) -> str:
    """The id of one job."""
    with app.store.read() as conn:
        return str(conn.execute(query.limit(1)).scalar_one())


def places(app: JobTrail) -> dict[str, str]:
    """The jobs whose pages are looked at."""
    ids, items = tables.jobs.c, tables.items.c
    ordered = select(ids.id).order_by(ids.id)
    first, last = (one(app, query) for query in (ordered, select(ids.id).order_by(ids.id.desc())))
    middle = f"{(int(first[:8], 16) + int(last[:8], 16)) // 2:08x}{first[8:]}"
    partial = select(ids.id).where(tables.jobs.c.status == "partial")
    return {
        "old": middle, "oldest": one(app, ordered.offset(40)), "job": one(app, ordered.where(ids.id > middle)),
        "partial": one(app, partial.order_by(ids.id.desc())), "big": one(app, select(items.job_id).where(items.position == MANY_ITEMS - 1)),
    }  # fmt: skip


def measure(url: str, count: int, items: int, rounds: int) -> None:
    """Fill where it is empty, ask, print."""
    from starlette.testclient import TestClient

    from jobtrail.api.server import create_api

    app, begun = application(url), time.monotonic()
    migration.upgrade(app.store.database)
    if not app.find("", limit=1):
        Filling(app, count, items).run()
        print(f"filled with {count:,} jobs in {time.monotonic() - begun:.0f} s", flush=True)
    values, beside = places(app), Beside(app, url)
    with TestClient(create_api(app), base_url="http://127.0.0.1", client=("127.0.0.1", 50000), headers={"X-Jobtrail": "1"}) as client:
        gc.freeze()  # as `jobtrail serve` does
        alone = ask(client, values, rounds)
        with beside.working():
            since = app.store.now()
            time.sleep(ALONE_FOR)
            between = app.store.now()
            waits = beside.waits(since)
            busy = ask(client, values, rounds)
            time.sleep(1.0)
            waits_busy = beside.waits(between)
    print("| page | status | first | p50 | p95 | p50 beside a worker | p95 |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name in PAGES:
        (first, values_alone, status), (_, values_busy, _) = alone[name], busy[name]
        cells = (first, *spread(values_alone), *spread(values_busy))
        print(f"| {name} | {status} | " + " | ".join(f"{cell:.1f}" for cell in cells) + " |")
    for what, found in (("nothing else", waits), ("pages asked for", waits_busy)):
        p50, p95 = spread(found)
        print(f"with {what}, {len(found):,} jobs waited for the worker: p50 {p50:.1f} ms, p95 {p95:.1f} ms, longest {max(found):.0f} ms")
    app.close()
    for name, seconds in in_browser(url).items():
        print(f"a fresh browser shows the {name} after {statistics.median(seconds):.2f} s (median; longest {max(seconds):.2f} s)")


def main() -> None:
    """One table for each database."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1_000_000)
    parser.add_argument("--items", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--databases", default="sqlite,postgresql")
    parser.add_argument("--url", help="a database to ask, or to fill and keep, instead")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--feed", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    part = next((one for one in (work, feed, serve) if getattr(given, one.__name__)), None)
    if part is not None:
        part(given.url)
    elif given.url:
        measure(given.url, given.jobs, given.items, given.rounds)
    else:
        kinds: dict[str, Any] = {"sqlite": sqlite, "postgresql": postgresql}
        for name in given.databases.split(","):
            with kinds[name]() as make:
                print(f"\n{name}\n")
                measure(make(0), given.jobs, given.items, given.rounds)


if __name__ == "__main__":
    main()
